/* LLVM, opened when the first kernel has to be compiled: a program that finds its kernels in the
 * cache never pays for it. It is the module jit_llvm (llvm_module.h), which opens in 2 ms, or where
 * that was not built LLVM's own shared library, in 17. Calls look like llvm_api.BuildFAdd(...); to
 * call another function of LLVM, add its row to llvm_api.def. */
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

/* After llvm_load succeeded: is it the module, whose settings (llvm_module.c) LLVM's shared library
 * lacks? */
bool llvm_is_module(void);

#endif
