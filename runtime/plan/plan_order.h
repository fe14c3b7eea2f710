/* The order in which a computation's instructions run. */
#ifndef PLAN_PLAN_ORDER_H
#define PLAN_PLAN_ORDER_H

#include "ir/module.h"

/* Which computations must run for their effects: one flag per computation id. */
hr_status_t plan_find_effects(hr_arena_t *arena, const hlo_module_t *module,
                              const bool **out_has_effect);

/* Live instructions (needed by the root or by an effect) in program order, except that a
 * get-tuple-element directly follows its operand, so that the tuple dies at once and its elements
 * can be updated in place. */
hr_status_t plan_order(hr_arena_t *arena, const hlo_computation_t *computation,
                       const bool *has_effect, hlo_instr_t *const **out_order, int *out_count);

#endif
