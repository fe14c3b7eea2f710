/* Shared by x64_expand*.c and x64_isa.c. */
#ifndef JIT_X64_EXPAND_H
#define JIT_X64_EXPAND_H

#include "jit/kir/kir.h"

/* The targets of kernels for AVX-512 and for AVX2. */
extern const kir_target_t x64_avx512_target, x64_avx2_target;

/* kir_target_t.expand for AVX-512. */
kir_value_t *x64_expand(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                        kir_value_t *const *args, int count);
/* kir_target_t.expand for AVX2: what it lacks of AVX-512, then x64_expand. */
kir_value_t *x64_expand_avx2(kir_builder_t *b, kir_op_t op, kir_type_t *type, int detail,
                             kir_value_t *const *args, int count);
/* Expands gathers, scatters, memmove and lane operations; NULL: the op needs no expansion. */
kir_value_t *x64_expand_memory(kir_builder_t *b, kir_op_t op, kir_type_t *type,
                               kir_value_t *const *args);
/* Are the upper 32 bits of the 64-bit lanes known to be 0? */
bool x64_is_low_half(const kir_value_t *value);

#endif
