/* Compilation of kernel IR modules by LLVM. In a build without LLVM (llvm_none.c) it always
 * fails. */
#ifndef JIT_LLVM_COMPILE_H
#define JIT_LLVM_COMPILE_H

#include "base/buffer.h"
#include "jit/kir/kir.h"
#include "jit/target.h"

extern const bool llvm_is_built;

struct LLVMOpaqueTargetMachine;

/* LLVM's state of a worker: one target machine for good code and one for quick compilation, each
 * created by the first module that needs it. Initialise with zeros. */
typedef struct llvm_worker {
  struct LLVMOpaqueTargetMachine *machines[2];
} llvm_worker_t;

typedef struct llvm_compile_options {
  const jit_target_t *target;
  /* Quick compilation: two thirds of the time, and equally good code for kernels with few ops per
   * load (jit_kernel_is_simple). */
  bool quick;
  void (*dump)(void *context, const char *text); /* callback with the text of LLVM's module before
                                                    compilation; NULL: none */
  void *dump_context;
} llvm_compile_options_t;

/* Opens LLVM and registers the host's code generator; later calls return at once. LLVM stays
 * open.
 * Errors:  UNAVAILABLE with the name of the package to install, or of the function that the
 *          library lacks.
 * Thread:  any. */
hr_status_t llvm_load(void);

/* Compiles the module to an ELF relocatable object. Requires: LLVM is loaded.
 * Owner:  the caller releases *out_object.
 * Errors: INTERNAL with LLVM's message if the module is not well-formed; UNSUPPORTED; NO_MEMORY.
 * Thread: any, one worker per thread. */
hr_status_t llvm_compile(const llvm_compile_options_t *options, llvm_worker_t *worker,
                         kir_module_t *module, hr_buffer_t **out_object);
void llvm_worker_end(llvm_worker_t *worker); /* accepts a zeroed worker */

#endif
