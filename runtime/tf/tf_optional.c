/* Optionals, in which gradients of branches hand over what was computed on the way:
 * OptionalFromValue and OptionalGetValue are the value itself. The optionals of all branches share
 * outputs, so that one output may have an array of one shape from one branch and of another shape
 * from the other: these become words, and the gradient takes that shape out of them which its types
 * and shapes say.
 *
 *   then: f32[3]    else: s64[2]    ->    u32[4] */
#include "tf/tf_optional.h"

/* --- arrays as words --- */

static expr_t bitcast(hlo_builder_t *b, expr_t x, hr_dtype_t dtype, int rank, const int64_t *dims) {
  const hlo_shape_t *shape = x ? tf_shape(b, dtype, rank, dims) : NULL;
  return shape ? hlo_build(b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL) : NULL;
}

/* Words per element; elements of less than 4 bytes have one each. */
static int64_t words_of(hr_dtype_t dtype) { return (hr_dtype_bytes(dtype) + 3) / 4; }

static hr_dtype_t unsigned_of(hr_dtype_t dtype) {
  return hr_dtype_bytes(dtype) == 2 ? HR_U16 : HR_U8;
}

/* A vector as u32. */
static expr_t to_words(hlo_builder_t *b, expr_t x) {
  if (!x) return NULL;
  hr_dtype_t dtype = x->shape->dtype;
  int64_t count = x->shape->dims[0], pairs[] = {count, 2}, all = 2 * count;
  if (dtype == HR_PRED) return hlo_build_convert(b, x, HR_U32);
  if (hr_dtype_is_complex(dtype)) {
    expr_t parts[] = {hlo_build_unary(b, HLO_REAL, x), hlo_build_unary(b, HLO_IMAG, x)};
    return to_words(b, tf_concat(b, 2, parts, 0));
  }
  if (hr_dtype_bytes(dtype) == 8) return tf_reshape(b, bitcast(b, x, HR_U32, 2, pairs), 1, &all);
  if (hr_dtype_bytes(dtype) == 4) return bitcast(b, x, HR_U32, 1, &count);
  return hlo_build_convert(b, bitcast(b, x, unsigned_of(dtype), 1, &count), HR_U32);
}

/* A vector of `count` elements out of as many words as these have. */
static expr_t from_words(hlo_builder_t *b, expr_t words, hr_dtype_t dtype, int64_t count) {
  int64_t pairs[] = {count, 2}, half = words_of(dtype) / 2 * count;
  if (!words) return NULL;
  if (dtype == HR_PRED) return hlo_build_convert(b, words, HR_PRED);
  if (hr_dtype_is_complex(dtype)) {
    hr_dtype_t part = dtype == HR_C64 ? HR_F32 : HR_F64;
    expr_t real = from_words(b, tf_slice_dim(b, words, 0, 0, half), part, count);
    expr_t imag = from_words(b, tf_slice_dim(b, words, 0, half, 2 * half), part, count);
    return hlo_build_binary(b, HLO_COMPLEX, real, imag);
  }
  if (hr_dtype_bytes(dtype) == 8)
    return bitcast(b, tf_reshape(b, words, 2, pairs), dtype, 1, &count);
  if (hr_dtype_bytes(dtype) == 4) return bitcast(b, words, dtype, 1, &count);
  return bitcast(b, hlo_build_convert(b, words, unsigned_of(dtype)), dtype, 1, &count);
}

/* --- shapes --- */

static int64_t words_of_shape(const hlo_shape_t *shape) {
  return hlo_shape_elements(shape) * words_of(shape->dtype);
}

hr_status_t tf_alternatives_add(hr_arena_t *arena, const hlo_shape_t *shape,
                                const tf_alternatives_t **alternatives) {
  tf_alternatives_t *more;
  for (const tf_alternatives_t *at = *alternatives; at; at = at->rest)
    if (hlo_shape_equal(at->shape, shape)) return NULL;
  HR_TRY(HR_NEW(arena, &more));
  int64_t words = words_of_shape(shape);
  if (*alternatives && (*alternatives)->words > words) words = (*alternatives)->words;
  *more = (tf_alternatives_t){*alternatives, shape, words};
  *alternatives = more;
  return NULL;
}

expr_t tf_optional_encode(hlo_builder_t *b, expr_t x, const tf_alternatives_t *alternatives) {
  int64_t words = alternatives->words;
  if (!x) return tf_fill(b, 0, HR_U32, 1, &words);
  int64_t count = hlo_shape_elements(x->shape);
  expr_t flat = to_words(b, tf_reshape(b, x, 1, &count));
  return flat ? tf_grow(b, flat, words - flat->shape->dims[0]) : NULL;
}

/* Whether a shape is one of those that the attributes allow; rank -1: any. */
static bool fits(const hlo_shape_t *shape, hr_dtype_t dtype, int rank, const int64_t *dims) {
  if (shape->dtype != dtype || (rank >= 0 && shape->rank != rank)) return false;
  for (int d = 0; d < rank; d++)
    if (dims[d] >= 0 && dims[d] != shape->dims[d]) return false;
  return true;
}

/* The shape that attributes output_types and output_shapes of one component say. */
static hr_status_t choose_shape(tf_op_t *op, const tf_alternatives_t *at, const hlo_shape_t **out) {
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(tf_attr_dtype_at(op->arena, op->node, "output_types", 0, &dtype));
  HR_TRY(tf_attr_shape_at(op->arena, op->node, "output_shapes", 0, &rank, dims));
  for (; at; at = at->rest) {
    if (!fits(at->shape, dtype, rank, dims)) continue;
    *out = at->shape;
    return NULL;
  }
  return tf_error(op, "no branch gives an optional of this type and shape");
}

/* --- operations --- */

/* OptionalFromValue, of one component. One of a list or of another optional is that itself. */
hr_status_t tf_lower_optional(tf_op_t *op) {
  if (op->input_count != 1) return tf_unsupported(op, "an optional of %d values", op->input_count);
  HR_TRY(tf_lower_identity(op));
  tf_value_t *out = &op->outputs[0];
  if (out->kind != TF_VALUE_ARRAY || out->alternatives) return NULL;
  expr_t x = tf_in(op, 0);
  return x ? tf_alternatives_add(op->arena, x->shape, &out->alternatives)
           : hlo_builder_finish(op->b);
}

/* OptionalGetValue. */
hr_status_t tf_lower_optional_value(tf_op_t *op) {
  const hlo_shape_t *shape;
  hr_dtype_t dtype;
  const tf_alternatives_t *alternatives = op->inputs[0]->alternatives;
  HR_TRY(tf_attr_dtype_at(op->arena, op->node, "output_types", 0, &dtype));
  if (!alternatives || !alternatives->rest || dtype == HR_TUPLE) {
    HR_TRY(tf_lower_identity(op));
    if (dtype != HR_TUPLE) op->outputs[0].alternatives = NULL;
    return NULL;
  }
  HR_TRY(choose_shape(op, alternatives, &shape));
  expr_t words = tf_slice_dim(op->b, tf_in(op, 0), 0, 0, words_of_shape(shape));
  expr_t x = from_words(op->b, words, shape->dtype, hlo_shape_elements(shape));
  return tf_out(op, 0, tf_reshape(op->b, x, shape->rank, shape->dims));
}

/* OptionalNone: an output without value. */
hr_status_t tf_lower_optional_none(tf_op_t *op) { return tf_need_outputs(op, 1); }
