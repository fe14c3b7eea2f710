/* Lowering of the kernel IR to an LLVM module. */
#ifndef JIT_KIR_TO_LLVM_H
#define JIT_KIR_TO_LLVM_H

#include "jit/kir/kir.h"
#include "jit/llvm/llvm_api.h"

/* Lowers the functions of `from` into `to`, an empty module of `context`, instructions in the order
 * of their construction. Requires: LLVM is loaded. Errors: NO_MEMORY. */
hr_status_t kir_to_llvm(kir_module_t *from, LLVMContextRef context, LLVMModuleRef to);

#endif
