/* Rewrites all-gathers and reduce-scatters along any dimension to a new first dimension, so that
 * several can be combined into one instruction: along the first dimension the parts are contiguous
 * blocks.
 *
 *   f32[4,8] all-gather(f32[4,4]), dimensions={1}
 *     = f32[4,8] reshape(f32[4,2,4] transpose(f32[2,4,4] all-gather(f32[1,4,4]), dimensions={0}))
 */
#ifndef PASS_COMM_FRONT_H
#define PASS_COMM_FRONT_H

#include "passes/lib/pass_rewrite.h"

/* Is the collective along one dimension, and does the rank allow another dimension? */
bool comm_can_front(const hlo_instr_t *collective);
/* The operand of the rewritten collective, and the shape of its result. */
hlo_instr_t *comm_front_operand(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                                hlo_instr_t *x);
const hlo_shape_t *comm_front_shape(pass_rewrite_t *rewrite, const hlo_instr_t *collective);
/* The result of `collective` from the result of the rewritten one. */
hlo_instr_t *comm_front_result(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                               hlo_instr_t *x);

#endif
