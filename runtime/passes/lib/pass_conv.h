/* Convolutions with other dimension numbers or windows. */
#ifndef PASS_CONV_H
#define PASS_CONV_H

#include "passes/lib/pass_match.h"

enum { PASS_CONV_LHS, PASS_CONV_RHS, PASS_CONV_OUT, PASS_CONV_SIDES };

/* Has every dimension a role, and are its operands dense? */
bool pass_conv_is_plain(const hlo_instr_t *conv);
/* The same convolution of permuted arrays: places[side][d] is the new position of dimension d;
 * NULL: unchanged. Borrows all arguments. */
hlo_instr_t *pass_conv_relabel(pass_rewrite_t *rewrite, const hlo_instr_t *conv,
                               hlo_instr_t *const *operands, const hlo_shape_t *shape,
                               const int64_t *const positions[PASS_CONV_SIDES]);

#endif
