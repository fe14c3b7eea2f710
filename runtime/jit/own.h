/* Own code generation: kernels of usual instructions, on processors with AVX-512, become machine code within a fraction
 * of a millisecond, without LLVM. What is not known here is left to LLVM, kernel by kernel: that is no error.
 *
 *   llvm_use(&own_api);  ... write a module ...  llvm_use(NULL);
 *   own_compile(module, &object);
 *
 * Thread: any, a module each. */
#ifndef JIT_OWN_H
#define JIT_OWN_H

#include "base/buffer.h"
#include "jit/own_ir.h"
#include "jit/target.h"

/* Is there code for this processor at all? */
bool own_is_able(const jit_target_t *target);
/* The module's functions as an ELF relocatable object, which object_loader.h links; NULL: LLVM has to make it.
 * Owner: the caller releases it. Errors: NO_MEMORY. */
hr_status_t own_compile(LLVMModuleRef module, hr_buffer_t **out_object);

#endif
