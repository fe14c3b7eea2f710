/* Puts called computations in the place of their calls. */
#ifndef PASS_INLINE_CALLS_H
#define PASS_INLINE_CALLS_H

#include "ir/module.h"

typedef bool (*pass_inline_fn)(const hlo_instr_t *call, const void *context);

/* Replaces each call or fusion in `computation` that `wanted` says yes to, also those that come in
 * with it. What nothing uses goes away on the occasion. Errors: NO_MEMORY. Cost: the size of what
 * is put in, and the computation once for each level of nesting. */
hr_status_t pass_inline(hlo_computation_t *computation, pass_inline_fn wanted, const void *context);

#endif
