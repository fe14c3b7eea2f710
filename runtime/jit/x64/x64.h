/* Machine code for x86-64 with AVX-512 or AVX2 from the kernel IR, within a fraction of a
 * millisecond per kernel. A module with unsupported operations is left to LLVM, which is no error.
 *
 *   kir_module_create(x64_kir_target(jit_target), "kernels", &module);  ... build ...
 *   x64_compile(module, &object);
 *
 * Thread: any, one module per thread. */
#ifndef JIT_X64_H
#define JIT_X64_H

#include "base/buffer.h"
#include "jit/kir/kir.h"
#include "jit/target.h"

/* Expands operations that the processor lacks into operations that it has (x64_expand.c); NULL: the
 * back end does not support the processor. */
const kir_target_t *x64_kir_target(const jit_target_t *target);

/* Does the back end support this processor? */
bool x64_is_supported(const jit_target_t *target);

/* Compiles a module for x64_kir_target to an ELF relocatable object, which object_loader.h links.
 * NULL: unsupported, LLVM must compile it.
 * Owner:   the caller releases the object.
 * Errors:  NO_MEMORY. */
hr_status_t x64_compile(kir_module_t *module, hr_buffer_t **out_object);

#endif
