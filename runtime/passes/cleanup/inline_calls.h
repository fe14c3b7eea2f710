/* Replaces calls and fusions by the bodies of the computations that they call. */
#ifndef PASS_INLINE_CALLS_H
#define PASS_INLINE_CALLS_H

#include "ir/module.h"

typedef bool (*pass_inline_fn)(const hlo_instr_t *call, const void *context);

/* Inlines each call or fusion of `computation` for which `wanted` returns true, also those in
 * inlined bodies. Dead instructions are removed as well.
 * Cost:   the inlined instructions, and the computation once per level of nesting.
 * Errors: NO_MEMORY. */
hr_status_t pass_inline(hlo_computation_t *computation, pass_inline_fn wanted, const void *context);

#endif
