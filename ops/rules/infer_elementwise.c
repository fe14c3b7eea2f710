/* Result shapes of elementwise ops: the sizes of the operands, which must agree. If one operand's
 * size is dynamic and another's static, the result has the static one. */
#include "ops/rules/constraint.h"

/* abs, real, imag: a complex type gives its real type. */
hr_status_t infer_real_part(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  return hlo_shape_with_dtype(arena, in[0], hr_dtype_real(in[0]->dtype), out_shape);
}

/* is-finite: sizes of the operand, elements of pred. */
hr_status_t infer_pred_like(hr_arena_t *arena, const hlo_instr_t *instr,
                            const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  return hlo_shape_with_dtype(arena, in[0], HR_PRED, out_shape);
}

/* The common sizes of operands `first` and `second`; a static size is preferred to a dynamic
 * one. */
static hr_status_t infer_common(hr_arena_t *arena, const hlo_instr_t *instr,
                                const hlo_shape_t *const *in, int first, int second,
                                const char *rule, hr_dtype_t dtype, const hlo_shape_t **out_shape) {
  OP_WANT(instr, hlo_shape_same_dims(in[first], in[second]), rule,
          "operands %d and %d are %s and %s, want equal sizes", first, second, OP_TEXT(in[first]),
          OP_TEXT(in[second]));
  if (!in[first]->dynamic && dtype == in[first]->dtype) {
    *out_shape = in[first];
    return NULL;
  }
  op_dims_t dims;
  op_dims_of(in[first], &dims);
  op_dims_refine(&dims, in[second]);
  return op_dims_shape(arena, dtype, &dims, out_shape);
}

/* Checks the element types of two operands. */
static hr_status_t want_equal_types(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                    int first, int second, const char *rule) {
  OP_WANT(instr, in[first]->dtype == in[second]->dtype, rule,
          "operands %d and %d have elements of types %s and %s, want equal types", first, second,
          hr_dtype_name(in[first]->dtype), hr_dtype_name(in[second]->dtype));
  return NULL;
}

/* C1: operands and result have equal types and sizes. */
hr_status_t infer_elementwise(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(want_equal_types(instr, in, 0, 1, "C1"));
  return infer_common(arena, instr, in, 0, 1, "C1", in[0]->dtype, out_shape);
}

/* f32 gives c64, f64 c128. */
hr_status_t infer_complex(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                          const hlo_shape_t **out_shape) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(want_equal_types(instr, in, 0, 1, "C1"));
  return infer_common(arena, instr, in, 0, 1, "C1", in[0]->dtype == HR_F64 ? HR_C128 : HR_C64,
                      out_shape);
}

/* Sizes of the operands, elements of pred. */
hr_status_t infer_compare(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                          const hlo_shape_t **out_shape) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(want_equal_types(instr, in, 0, 1, "C1"));
  return infer_common(arena, instr, in, 0, 1, "C2", HR_PRED, out_shape);
}

/* Bounds of a clamp and the predicate of a select may be scalars. */
static hr_status_t want_like_or_scalar(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                       int k, int like, const char *rule) {
  OP_WANT(instr, hlo_shape_is_scalar(in[k]) || hlo_shape_same_dims(in[k], in[like]), rule,
          "operand %d is %s, want a scalar or the sizes of %s", k, OP_TEXT(in[k]),
          OP_TEXT(in[like]));
  return NULL;
}

/* The result is like the clamped operand. */
hr_status_t infer_clamp(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                        const hlo_shape_t **out_shape) {
  (void)arena;
  HR_TRY(op_want_arrays(instr, in, "I1"));
  HR_TRY(want_like_or_scalar(instr, in, 0, 1, "C1"));
  HR_TRY(want_like_or_scalar(instr, in, 2, 1, "C2"));
  HR_TRY(want_equal_types(instr, in, 0, 1, "C3"));
  HR_TRY(want_equal_types(instr, in, 2, 1, "C3"));
  *out_shape = in[1];
  return NULL;
}

/* The result is like the two values. */
hr_status_t infer_select(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                         const hlo_shape_t **out_shape) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  OP_WANT(instr, in[0]->dtype == HR_PRED, "I1", "operand 0 is %s, want elements of type pred",
          OP_TEXT(in[0]));
  HR_TRY(want_like_or_scalar(instr, in, 0, 1, "C1"));
  HR_TRY(want_equal_types(instr, in, 1, 2, "C2"));
  return infer_common(arena, instr, in, 1, 2, "C2", in[1]->dtype, out_shape);
}
