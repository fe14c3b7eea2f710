/* Optionals, by which branches hand intermediate values to their gradients: OptionalFromValue and
 * OptionalGetValue are the value itself. The optionals of all branches share outputs, so that one
 * output may have an array of one shape from one branch and of another shape from the other: these
 * become vectors, of words if the types differ, and the gradient takes its own shape out of them,
 * given by its types and shapes.
 *
 *   then: f32[3]    else: f32[2,2]    ->    f32[4] */
#include "tf/lower/tf_optional.h"

/* --- arrays as vectors of one type --- */

/* The type of the vector if there are several: moving bits changes none of them. */
#define WORD HR_F32

static expr_t bitcast(hlo_builder_t *b, expr_t x, hr_dtype_t dtype, int rank, const int64_t *dims) {
  const hlo_shape_t *shape = x ? tf_shape(b, dtype, rank, dims) : NULL;
  return shape ? hlo_build(b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL) : NULL;
}

static hr_dtype_t unsigned_of(hr_dtype_t dtype) {
  return hr_dtype_bytes(dtype) == 2 ? HR_U16 : HR_U8;
}

/* A vector of complex numbers as one of pairs. */
static expr_t complex_parts(hlo_builder_t *b, expr_t x, int64_t count) {
  int64_t one[] = {count, 1}, all = 2 * count;
  expr_t parts[] = {tf_reshape(b, hlo_build_unary(b, HLO_REAL, x), 2, one),
                    tf_reshape(b, hlo_build_unary(b, HLO_IMAG, x), 2, one)};
  return parts[0] && parts[1] ? tf_reshape(b, tf_concat(b, 2, parts, 1), 1, &all) : NULL;
}

/* A vector as words; elements of less than 4 bytes have one each, so that the words of the first
 * elements come first. */
static expr_t to_words(hlo_builder_t *b, expr_t x) {
  if (!x || x->shape->dtype == WORD) return x;
  hr_dtype_t dtype = x->shape->dtype;
  int64_t count = x->shape->dims[0], pairs[] = {count, 2}, all = 2 * count;
  if (hr_dtype_is_complex(dtype)) return to_words(b, complex_parts(b, x, count));
  if (hr_dtype_bytes(dtype) == 8) return tf_reshape(b, bitcast(b, x, WORD, 2, pairs), 1, &all);
  if (hr_dtype_bytes(dtype) == 4) return bitcast(b, x, WORD, 1, &count);
  if (dtype != HR_PRED) x = bitcast(b, x, unsigned_of(dtype), 1, &count);
  return bitcast(b, hlo_build_convert(b, x, HR_U32), WORD, 1, &count);
}

/* A vector of `count` elements out of the words that they occupy. */
static expr_t from_words(hlo_builder_t *b, expr_t words, hr_dtype_t dtype, int64_t count) {
  int64_t pairs[] = {count, 2};
  if (!words || dtype == WORD) return words;
  if (hr_dtype_is_complex(dtype)) {
    hr_dtype_t part = dtype == HR_C64 ? HR_F32 : HR_F64;
    expr_t both = tf_reshape(b, from_words(b, words, part, 2 * count), 2, pairs);
    expr_t real = tf_reshape(b, tf_slice_dim(b, both, 1, 0, 1), 1, &count);
    expr_t imag = tf_reshape(b, tf_slice_dim(b, both, 1, 1, 2), 1, &count);
    return real && imag ? hlo_build_binary(b, HLO_COMPLEX, real, imag) : NULL;
  }
  if (hr_dtype_bytes(dtype) == 8)
    return bitcast(b, tf_reshape(b, words, 2, pairs), dtype, 1, &count);
  if (hr_dtype_bytes(dtype) == 4) return bitcast(b, words, dtype, 1, &count);
  words = bitcast(b, words, HR_U32, 1, &count);
  if (dtype == HR_PRED) return hlo_build_convert(b, words, HR_PRED);
  return bitcast(b, hlo_build_convert(b, words, unsigned_of(dtype)), dtype, 1, &count);
}

/* --- shapes --- */

/* Elements of a vector of `dtype` that has this array. */
static int64_t length_of(const hlo_shape_t *shape, hr_dtype_t dtype) {
  int64_t words = (int64_t)(hr_dtype_bytes(shape->dtype) + 3) / 4;
  return hlo_shape_elements(shape) * (shape->dtype == dtype ? 1 : words);
}

hr_status_t tf_alternatives_add(hr_arena_t *arena, const hlo_shape_t *shape,
                                const tf_alternatives_t **alternatives) {
  tf_alternatives_t *more;
  for (const tf_alternatives_t *at = *alternatives; at; at = at->rest)
    if (hlo_shape_equal(at->shape, shape)) return NULL;
  HR_TRY(HR_NEW(arena, &more));
  *more = (tf_alternatives_t){*alternatives, shape, shape->dtype, 0};
  if (more->rest && more->rest->dtype != shape->dtype) more->dtype = WORD;
  for (const tf_alternatives_t *at = more; at; at = at->rest)
    if (length_of(at->shape, more->dtype) > more->length)
      more->length = length_of(at->shape, more->dtype);
  *alternatives = more;
  return NULL;
}

expr_t tf_optional_encode(hlo_builder_t *b, expr_t x, const tf_alternatives_t *alternatives) {
  int64_t length = alternatives->length;
  if (!x) return tf_fill(b, 0, alternatives->dtype, 1, &length);
  int64_t count = hlo_shape_elements(x->shape);
  expr_t flat = tf_reshape(b, x, 1, &count);
  if (flat && flat->shape->dtype != alternatives->dtype) flat = to_words(b, flat);
  return flat ? tf_grow(b, flat, length - flat->shape->dims[0]) : NULL;
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

/* OptionalFromValue, of one component. An optional of a list or of another optional is that value
 * itself. */
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
  expr_t x = tf_slice_dim(op->b, tf_in(op, 0), 0, 0, length_of(shape, alternatives->dtype));
  if (shape->dtype != alternatives->dtype)
    x = from_words(op->b, x, shape->dtype, hlo_shape_elements(shape));
  return tf_out(op, 0, tf_reshape(op->b, x, shape->rank, shape->dims));
}

/* OptionalNone: an output without value. */
hr_status_t tf_lower_optional_none(tf_op_t *op) { return tf_need_outputs(op, 1); }
