/* The kernel IR as a module of LLVM. */
#ifndef JIT_KIR_TO_LLVM_H
#define JIT_KIR_TO_LLVM_H

#include "jit/kir/kir.h"
#include "jit/llvm/llvm_api.h"

/* Writes the functions of `from` into `to`, an empty module of `context`, each instruction in the
 * order in which it was built. LLVM must be loaded. Errors: NO_MEMORY. */
hr_status_t kir_to_llvm(kir_module_t *from, LLVMContextRef context, LLVMModuleRef to);

#endif
