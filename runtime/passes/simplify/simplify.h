/* The rules of the pass simplify, in families by op. A rule returns the replacement of the
 * instruction, or NULL: it does not apply, or the builder failed (which the builder reports later).
 * Operands and results are arrays of static sizes, except in the family of tuples. */
#ifndef PASS_SIMPLIFY_H
#define PASS_SIMPLIFY_H

#include "passes/lib/pass_match.h"

typedef hlo_instr_t *(*simplify_fn)(pass_rewrite_t *rewrite, hlo_instr_t *instr);

hlo_instr_t *simplify_arithmetic(pass_rewrite_t *rewrite,
                                 hlo_instr_t *instr); /* add, multiply, power, ... */
hlo_instr_t *simplify_logic(pass_rewrite_t *rewrite,
                            hlo_instr_t *instr); /* and, not, compare, select, ... */
hlo_instr_t *simplify_convert(pass_rewrite_t *rewrite,
                              hlo_instr_t *instr); /* convert, bitcast-convert, real, ... */
hlo_instr_t *simplify_splats(pass_rewrite_t *rewrite,
                             hlo_instr_t *instr); /* elementwise ops on broadcasts */
hlo_instr_t *simplify_movement(pass_rewrite_t *rewrite,
                               hlo_instr_t *instr); /* reshape, transpose, broadcast, ... */
hlo_instr_t *simplify_parts(pass_rewrite_t *rewrite,
                            hlo_instr_t *instr); /* slice, concatenate, pad, ... */
hlo_instr_t *simplify_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr);
hlo_instr_t *simplify_index_reduce(pass_rewrite_t *rewrite,
                                   hlo_instr_t *instr); /* reduce of values and indices */
hlo_instr_t *simplify_reshape_sink(pass_rewrite_t *rewrite,
                                   hlo_instr_t *instr); /* reshapes before elementwise ops */
hlo_instr_t *simplify_transpose_sink(pass_rewrite_t *rewrite,
                                     hlo_instr_t *instr); /* transposes before elementwise ops */
hlo_instr_t *simplify_slice_sink(pass_rewrite_t *rewrite,
                                 hlo_instr_t *instr); /* slices before what they read */
hlo_instr_t *simplify_int8_dot(pass_rewrite_t *rewrite,
                               hlo_instr_t *instr); /* dot and convolution of bytes */
hlo_instr_t *simplify_conv(pass_rewrite_t *rewrite,
                           hlo_instr_t *instr); /* operands and results of convolutions */
hlo_instr_t *simplify_conv_taps(pass_rewrite_t *rewrite,
                                hlo_instr_t *conv); /* convolutions of one channel */
hlo_instr_t *simplify_dots(pass_rewrite_t *rewrite,
                           hlo_instr_t *instr); /* dot, convolution as dot */
hlo_instr_t *simplify_dot_order(pass_rewrite_t *rewrite,
                                hlo_instr_t *instr); /* transposes within one operand of a dot */
hlo_instr_t *simplify_grouped_dot(pass_rewrite_t *rewrite,
                                  hlo_instr_t *instr); /* dot with repeated matrices */
hlo_instr_t *simplify_softmax_dot(pass_rewrite_t *rewrite,
                                  hlo_instr_t *instr); /* dot with a softmax */
hlo_instr_t *simplify_gates(pass_rewrite_t *rewrite,
                            hlo_instr_t *instr); /* dot over the middle of a large array */
hlo_instr_t *simplify_gather(pass_rewrite_t *rewrite, hlo_instr_t *instr);
hlo_instr_t *simplify_known_gather(pass_rewrite_t *rewrite,
                                   hlo_instr_t *instr); /* gather by constant indices */
hlo_instr_t *simplify_window(pass_rewrite_t *rewrite, hlo_instr_t *instr); /* reduce-window */
hlo_instr_t *simplify_sparse(pass_rewrite_t *rewrite,
                             hlo_instr_t *instr); /* sums with mostly zero arrays */
hlo_instr_t *simplify_softplus(pass_rewrite_t *rewrite,
                               hlo_instr_t *instr); /* exponential of a difference */
hlo_instr_t *simplify_choice(pass_rewrite_t *rewrite, hlo_instr_t *instr); /* conditional, map */
hlo_instr_t *simplify_structure(pass_rewrite_t *rewrite,
                                hlo_instr_t *instr); /* tuples, copies, loops that never run */

/* The convolution or reduce-window with another window and other operands. */
hlo_instr_t *simplify_build_windowed(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                                     hlo_instr_t *const *operands, const hlo_window_dim_t *dims,
                                     int rank, const hlo_shape_t *shape);

#endif
