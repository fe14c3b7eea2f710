/* Modules of the kernel IR compiled by LLVM. Where hlorun is built without LLVM (llvm_none.c),
 * nothing can be. */
#ifndef JIT_LLVM_COMPILE_H
#define JIT_LLVM_COMPILE_H

#include "base/buffer.h"
#include "jit/kir/kir.h"
#include "jit/target.h"

extern const bool llvm_is_built;

struct LLVMOpaqueTargetMachine;

/* What a worker needs of LLVM: a target machine for good code and one for code that is made
 * quickly, each made by the first module that wants it. Zeroed at first. */
typedef struct llvm_worker {
  struct LLVMOpaqueTargetMachine *machines[2];
} llvm_worker_t;

typedef struct llvm_compile_options {
  const jit_target_t *target;
  /* Two thirds of the time, for code that is as good where little is computed from what is loaded
   * (jit_kernel_is_simple). */
  bool quick;
  void (*dump)(
      void *context,
      const char *text); /* text of LLVM's module, before it is compiled; NULL: not wanted */
  void *dump_context;
} llvm_compile_options_t;

/* Opens LLVM and makes this machine's code generator known to it; later calls return at once. It
 * stays open. Errors: UNAVAILABLE naming the package to install, or the function that the library
 * lacks. Thread: any. */
hr_status_t llvm_load(void);

/* The module as an ELF relocatable object. LLVM must be loaded.
 * Owner: the caller releases *out_object.
 * Errors: INTERNAL with what LLVM says if the module is not well-formed; UNSUPPORTED; NO_MEMORY.
 * Thread: any, a worker each. */
hr_status_t llvm_compile(const llvm_compile_options_t *options, llvm_worker_t *worker,
                         kir_module_t *module, hr_buffer_t **out_object);
void llvm_worker_end(llvm_worker_t *worker); /* accepts a zeroed one */

#endif
