/* Puts called computations in the place of their calls. */
#ifndef PASS_INLINE_H
#define PASS_INLINE_H

#include "ir/module.h"

typedef bool (*pass_inline_fn)(const hlo_computation_t *callee, const void *context);

/* Replaces each call in `computation` whose callee `wanted` says yes to, also those that come in with it. Fusions and
 * composites stay. Errors: NO_MEMORY. Cost: the size of what is put in. */
hr_status_t pass_inline(hlo_computation_t *computation, pass_inline_fn wanted, const void *context);

#endif
