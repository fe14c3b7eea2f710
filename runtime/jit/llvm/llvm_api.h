/* LLVM, opened when the first kernel must be compiled: a program whose kernels are all cached never
 * loads it. LLVM is the module jit_llvm (llvm_module.h), which opens in 2 ms, or, if that was not
 * built, LLVM's shared library, which opens in 17 ms. Calls look like llvm_api.BuildFAdd(...); to
 * call another LLVM function, add its row to llvm_api.def. */
#ifndef JIT_LLVM_API_H
#define JIT_LLVM_API_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct llvm_api {
#define LLVM_FUNCTION(name) __typeof__(LLVM##name) *name;
#include "jit/llvm/llvm_api.def"
#undef LLVM_FUNCTION
} llvm_api_t;

extern llvm_api_t llvm_api; /* filled by llvm_load */

/* Is LLVM the module jit_llvm? LLVM's shared library lacks its settings (llvm_module.c). Requires:
 * llvm_load succeeded. */
bool llvm_is_module(void);

#endif
