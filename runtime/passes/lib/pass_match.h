/* Predicates on instructions of static shape, and builders, for rewrite rules. */
#ifndef PASS_MATCH_H
#define PASS_MATCH_H

#include "passes/lib/pass_rewrite.h"

/* Are the result and all operands arrays of static sizes? */
bool pass_has_static_arrays(const hlo_instr_t *instr);
/* Is it a float type with infinities, NaN and both zeros: f16, bf16, f32, f64? Rules about rounding
 * assume these. */
bool pass_is_plain_float(hr_dtype_t dtype);
/* The value of all elements, if known and equal: of an integer or pred array; of a plain float
 * array. */
bool pass_splat_int(const hlo_instr_t *instr, int64_t *out_value);
bool pass_splat_float(const hlo_instr_t *instr, double *out_value);
/* Are all elements this number, in any real type? -0 is not 0. */
bool pass_is_number(const hlo_instr_t *instr, double number);
/* Are all elements the least (greatest) of their type, including infinities? */
bool pass_is_lowest(const hlo_instr_t *instr);
bool pass_is_highest(const hlo_instr_t *instr);
/* Is it the neutral element of `op` (add, multiply, minimum, maximum), up to the sign of zero? */
bool pass_is_neutral(hlo_opcode_t op, const hlo_instr_t *instr);

/* Is it certain that no element is -0, so that adding +0 is the identity? Conservative. */
bool pass_never_minus_zero(const hlo_instr_t *instr);

static inline bool pass_is_scalar_constant(const hlo_instr_t *instr) {
  return instr->op == HLO_CONSTANT && instr->literal && hlo_shape_is_scalar(instr->shape);
}
/* Is the body of a reduction or scatter one commutative op of its two parameters? */
bool pass_body_is_binary(const hlo_computation_t *body, hlo_opcode_t *out_op);
/* Are the sizes equal, in order, apart from dimensions of size 1? Then one shape is a reshape of
 * the other that moves no element across dimensions. */
bool pass_same_without_ones(const hlo_shape_t *a, const hlo_shape_t *b);
/* Does a transpose with this result keep the order of the dimensions larger than 1? Then it is a
 * reshape. */
bool pass_keeps_order(hr_ints_t permutation, const hlo_shape_t *result);

/* Is it a dynamic slice of so small a part of its operand that a copy of that is nothing beside
 * reading the whole? */
bool pass_is_small_part(const hlo_instr_t *instr);

/* A shape in the module's arena. NULL: out of memory, which the builder reports. */
const hlo_shape_t *pass_shape(pass_rewrite_t *rewrite, hr_dtype_t dtype, int rank,
                              const int64_t *dims);
/* A slice with stride 1 of some dimensions. */
hlo_instr_t *pass_build_slice(pass_rewrite_t *rewrite, hlo_instr_t *x, const hlo_slice_dim_t *dims);
/* x padded with the scalar `with`, dims[d] per dimension. */
hlo_instr_t *pass_build_pad(pass_rewrite_t *rewrite, hlo_instr_t *x, hlo_instr_t *with,
                            const hlo_padding_dim_t *dims);
/* x at index `at` of dimension d, without that dimension. */
hlo_instr_t *pass_build_element_slice(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t d,
                                      int64_t at);
hlo_instr_t *pass_build_transpose(pass_rewrite_t *rewrite, hlo_instr_t *x,
                                  const int64_t *permutation);
/* Is it a product of static arrays of one type, f32 or f64, without an algorithm of its own? */
bool pass_is_plain_dot(const hlo_instr_t *dot);
/* Does it reduce one static array to its own type, by one op whose order is free? */
bool pass_is_plain_reduce(const hlo_instr_t *reduce, hlo_opcode_t *out_op);
/* x with its last dimension as the first. */
hlo_instr_t *pass_build_with_last_first(pass_rewrite_t *rewrite, hlo_instr_t *x);
/* One array of this shape, of which parts[i] is index i of dimension `d`. */
hlo_instr_t *pass_build_joined(pass_rewrite_t *rewrite, const hlo_shape_t *shape, int64_t d,
                               hlo_instr_t *const *parts);
/* Can x be computed with permuted dimensions at no cost (transpose_sink.c)? It must be elementwise
 * on broadcasts of smaller arrays, or of arrays that keep their order, iotas or transposes, and
 * intermediate values must have no other uses. */
bool pass_transpose_is_free(pass_rewrite_t *rewrite, const hlo_instr_t *x, hr_ints_t permutation);
/* x transposed, with the transposes sunk to where they cost least. */
hlo_instr_t *pass_build_transposed(pass_rewrite_t *rewrite, hlo_instr_t *x, hr_ints_t permutation);
/* A broadcast of a scalar to `shape`. */
hlo_instr_t *pass_build_fill(pass_rewrite_t *rewrite, hlo_instr_t *scalar,
                             const hlo_shape_t *shape);
/* A reduction of some dimensions by one op. Its body is a new computation at the end of the
 * module's list, so pass_computations_order must follow. */
hlo_instr_t *pass_build_reduce(pass_rewrite_t *rewrite, hlo_opcode_t op, hlo_instr_t *x,
                               double init, int count, const int64_t *dims);
/* The same for a sum, from 0 on. */
hlo_instr_t *pass_build_sum(pass_rewrite_t *rewrite, hlo_instr_t *x, int count,
                            const int64_t *dims);
/* The same op with other operands. shape NULL: the shape is inferred. */
hlo_instr_t *pass_build_like(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                             hlo_instr_t *const *operands, const hlo_shape_t *shape);
/* The same, with the attribute `changed` replaced. */
hlo_instr_t *pass_build_with(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                             hlo_instr_t *const *operands, const hlo_shape_t *shape,
                             const hlo_attr_t *changed);

#endif
