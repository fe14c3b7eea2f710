/* Conversions of types: Cast and Bitcast. */
#include "tf/compile/tf_lower.h"

/* Cast. Floats become integers by truncation, numbers become bool by comparison with 0. Attribute
 * DstT is the new type. A complex number loses its imaginary part, except on the way to bool, where
 * both parts count. */
hr_status_t tf_lower_cast(tf_op_t *op) {
  hr_dtype_t to;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "DstT", &to));
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  if (to == HR_TUPLE) return tf_unsupported(op, "a cast to a type without arrays");
  if (hr_dtype_is_complex(x->shape->dtype) && !hr_dtype_is_complex(to) && to != HR_PRED)
    x = hlo_build_unary(op->b, HLO_REAL, x);
  return tf_out(op, 0, x ? hlo_build_convert(op->b, x, to) : NULL);
}

/* x's sizes, also dynamic ones, with another type of elements. */
static const hlo_shape_t *retyped(hlo_builder_t *b, expr_t x, hr_dtype_t dtype) {
  const hlo_shape_t *shape = NULL;
  if (!b->status)
    b->status = hlo_shape_with_dtype(&b->computation->module->arena, x->shape, dtype, &shape);
  return shape;
}

static expr_t recast(hlo_builder_t *b, expr_t x, const hlo_shape_t *shape) {
  if (!x || !shape) return NULL;
  return hlo_build(b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL);
}

/* The bits of a real array as another type. A size of more bytes takes the last dimension up, whose
 * numbers are one of the others; one of fewer bytes extends it. Both begin with the low bytes. */
static expr_t recast_last(hlo_builder_t *b, expr_t x, hr_dtype_t to) {
  int64_t dims[HLO_MAX_RANK];
  size_t from_bytes = hr_dtype_bytes(x->shape->dtype), to_bytes = hr_dtype_bytes(to);
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  int64_t last = dims[rank - 1] * (int64_t)from_bytes / (int64_t)to_bytes;
  if (x->shape->dtype == to) return x;
  if (to_bytes > from_bytes) {
    dims[rank - 1] = last;
    dims[rank] = (int64_t)(to_bytes / from_bytes);
    x = tf_reshape(b, x, rank + 1, dims);
  } else if (to_bytes < from_bytes) {
    dims[rank++] = (int64_t)(from_bytes / to_bytes);
  }
  if (to_bytes == from_bytes) return recast(b, x, retyped(b, x, to));
  x = recast(b, x, tf_shape(b, to, rank, dims));
  if (!x || to_bytes > from_bytes) return x;
  dims[rank - 2] = last;
  return tf_reshape(b, x, rank - 1, dims);
}

/* The two parts of complex numbers one after the other along a new last dimension, and back. */
static expr_t parts_of_complex(hlo_builder_t *b, expr_t x) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  dims[rank] = 1;
  expr_t parts[] = {tf_reshape(b, hlo_build_unary(b, HLO_REAL, x), rank + 1, dims),
                    tf_reshape(b, hlo_build_unary(b, HLO_IMAG, x), rank + 1, dims)};
  return tf_concat(b, 2, parts, rank);
}

/* Pairs of numbers along the last dimension become complex ones. */
static expr_t complex_of_parts(hlo_builder_t *b, expr_t x) {
  int rank = x->shape->rank;
  int64_t dims[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  dims[rank - 1] /= 2;
  dims[rank] = 2;
  x = tf_reshape(b, x, rank + 1, dims);
  if (!x) return NULL;
  expr_t real = tf_reshape(b, tf_slice_dim(b, x, rank, 0, 1), rank, dims);
  expr_t imag = tf_reshape(b, tf_slice_dim(b, x, rank, 1, 2), rank, dims);
  return hlo_build_binary(b, HLO_COMPLEX, real, imag);
}

/* Bitcast: attribute type. Another size splits the numbers along a new last dimension, or joins
 * those of the last. In between, the bytes of one group lie along the last dimension. */
hr_status_t tf_lower_bitcast(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_dtype_t to;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(tf_attr_dtype(op->arena, op->node, "type", &to));
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  if (to == HR_TUPLE || hr_dtype_table[to].bits % 8 || hr_dtype_table[x->shape->dtype].bits % 8)
    return tf_unsupported(op, "a bitcast of a type without bytes of its own");
  size_t from_bytes = hr_dtype_bytes(x->shape->dtype), to_bytes = hr_dtype_bytes(to);
  int rank = x->shape->rank;
  bool joins = to_bytes > from_bytes;
  if (rank + 2 >= HLO_MAX_RANK) return tf_unsupported(op, "%d dimensions", rank);
  if (joins && (!rank || x->shape->dims[rank - 1] != (int64_t)(to_bytes / from_bytes)))
    return tf_error(op, "the last dimension must hold the bytes of one number");
  for (int d = 0; d < rank; d++) dims[d] = x->shape->dims[d];
  rank -= joins;
  if (hr_dtype_is_complex(x->shape->dtype)) x = parts_of_complex(b, x);
  if (!x) return hlo_builder_finish(b);
  int64_t inner = 1;
  for (int d = rank; d < x->shape->rank; d++) inner *= x->shape->dims[d];
  dims[rank] = inner;
  x = tf_reshape(b, x, rank + 1, dims);
  if (x) x = recast_last(b, x, hr_dtype_is_complex(to) ? hr_dtype_real(to) : to);
  if (x && hr_dtype_is_complex(to)) x = complex_of_parts(b, x);
  dims[rank] = (int64_t)(from_bytes / to_bytes);
  return tf_out(op, 0, tf_reshape(b, x, rank + (to_bytes < from_bytes), dims));
}
