/* Machine code for x86-64 with AVX-512 from the kernel IR, within a fraction of a millisecond a
 * kernel. What is not known here is left to LLVM, module by module: that is no error.
 *
 *   kir_module_create(&x64_kir_target, "kernels", &module);  ... build ...
 *   x64_compile(module, &object);
 *
 * Thread: any, a module each. */
#ifndef JIT_X64_H
#define JIT_X64_H

#include "base/buffer.h"
#include "jit/kir/kir.h"
#include "jit/target.h"

/* Builds what AVX-512 lacks from what it has (x64_expand.c). */
extern const kir_target_t x64_kir_target;

/* Is there code for this processor at all? */
bool x64_is_supported(const jit_target_t *target);
/* Has the processor instructions that count the set bits of vectors? */
bool x64_counts_bits(void);

/* The functions of a module for x64_kir_target as an ELF relocatable object, which object_loader.h
 * links; NULL: LLVM has to make it. Owner: the caller releases it. Errors: NO_MEMORY. */
hr_status_t x64_compile(kir_module_t *module, hr_buffer_t **out_object);

#endif
