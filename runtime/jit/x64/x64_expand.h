/* Shared by x64_expand.c and x64_expand_memory.c. */
#ifndef JIT_X64_EXPAND_H
#define JIT_X64_EXPAND_H

#include "jit/kir/kir.h"

/* Expands gathers, scatters, memmove and lane operations; NULL: the op needs no expansion. */
kir_value_t *x64_expand_memory(kir_builder_t *b, kir_op_t op, kir_type_t *type,
                               kir_value_t *const *args);

#endif
