/* All-gathers and reduce-scatters along any dimension as such along a new first one, for several of
 * them to be one instruction: parts are blocks in a row there, whatever dimension they cut.
 *
 *   f32[4,8] all-gather(f32[4,4]), dimensions={1}
 *     = f32[4,8] reshape(f32[4,2,4] transpose(f32[2,4,4] all-gather(f32[1,4,4]), dimensions={0}))
 */
#ifndef PASS_COMM_FRONT_H
#define PASS_COMM_FRONT_H

#include "passes/lib/pass_rewrite.h"

/* Along one dimension, and there is room for one more. */
bool comm_can_front(const hlo_instr_t *collective);
/* What is sent instead of x, and the shape of what comes. */
hlo_instr_t *comm_front_operand(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                                hlo_instr_t *x);
const hlo_shape_t *comm_front_shape(pass_rewrite_t *rewrite, const hlo_instr_t *collective);
/* The result of `collective` from what came. */
hlo_instr_t *comm_front_result(pass_rewrite_t *rewrite, const hlo_instr_t *collective,
                               hlo_instr_t *x);

#endif
