/* Operations on shapes and the movement of elements: reshapes, slices, concatenation, padding.
 * Shapes, axes and sizes must be compile-time constants; Shape, Size and Rank give such. */
#include <string.h>

#include "tf/tf_lower.h"

/* Const, attribute value: a TensorProto. Strings stay on the edge as they are, for names of
 * files. */
hr_status_t tf_lower_const(tf_op_t *op) {
  tf_attr_proto_t attr;
  bool found;
  hlo_value_t *value;
  proto_list_t strings;
  HR_TRY(tf_attr_find(op->arena, op->node, "value", &attr, &found));
  if (!found) return tf_error(op, "the constant has no value");
  HR_TRY(tf_read_tensor(op->arena, attr.tensor, &value, &strings));
  if (value) return tf_out_value(op, 0, value);
  HR_TRY(tf_need_outputs(op, 1));
  op->outputs[0] = (tf_value_t){.kind = TF_VALUE_STRINGS, .strings = strings};
  return NULL;
}

/* --- facts about shapes --- */

/* Attribute out_type, s32 by default. */
static hr_status_t out_dtype(tf_op_t *op, hr_dtype_t *out_dtype) {
  HR_TRY(tf_attr_dtype(op->arena, op->node, "out_type", out_dtype));
  if (*out_dtype == HR_TUPLE) *out_dtype = HR_S32;
  return NULL;
}

/* Shape and ShapeN: one output per input. Shapes are static, so that the result is a constant. */
hr_status_t tf_lower_shape(tf_op_t *op) {
  hr_dtype_t dtype;
  HR_TRY(out_dtype(op, &dtype));
  for (int k = 0; k < op->input_count; k++) {
    const hlo_shape_t *shape = tf_in_shape(op, k);
    HR_TRY(hlo_builder_finish(op->b));
    HR_TRY(tf_out_ints(op, k, dtype, false, shape->rank, shape->dims));
  }
  return NULL;
}

/* Size: the number of elements. */
hr_status_t tf_lower_size(tf_op_t *op) {
  hr_dtype_t dtype;
  HR_TRY(out_dtype(op, &dtype));
  int64_t count = hlo_shape_elements(tf_in_shape(op, 0));
  HR_TRY(hlo_builder_finish(op->b));
  return tf_out_ints(op, 0, dtype, true, 1, &count);
}

/* Rank: the number of dimensions. */
hr_status_t tf_lower_rank(tf_op_t *op) {
  int64_t rank = tf_in_shape(op, 0)->rank;
  HR_TRY(hlo_builder_finish(op->b));
  return tf_out_ints(op, 0, HR_S32, true, 1, &rank);
}

/* Axes along which each operand was broadcast, for gradients.
 * BroadcastGradientArgs(s0, s1): r0 lists the dimensions of the joint shape along which operand
 * 0 has size 1 or none, over which its gradient is summed. */
hr_status_t tf_lower_broadcast_gradient_args(tf_op_t *op) {
  hr_ints_t shapes[2];
  int64_t axes[2][HLO_MAX_RANK];
  int64_t counts[2] = {0, 0};
  hlo_value_t *value;
  HR_TRY(tf_const_ints(op, 0, &shapes[0]));
  HR_TRY(tf_const_ints(op, 1, &shapes[1]));
  HR_TRY(tf_const(op, 0, &value));
  int64_t rank = shapes[0].count > shapes[1].count ? shapes[0].count : shapes[1].count;
  if (rank > HLO_MAX_RANK) return tf_error(op, "%ld dimensions", (long)rank);
  for (int64_t d = 0; d < rank; d++) {
    int64_t sizes[2];
    for (int s = 0; s < 2; s++) {
      int64_t at = d - (rank - shapes[s].count);
      sizes[s] = at < 0 ? 1 : shapes[s].data[at];
    }
    for (int s = 0; s < 2; s++)
      if (sizes[s] == 1) axes[s][counts[s]++] = d;
  }
  HR_TRY(tf_out_ints(op, 0, value->dtype, false, counts[0], axes[0]));
  return tf_out_ints(op, 1, value->dtype, false, counts[1], axes[1]);
}

/* BroadcastArgs(s0, s1): the joint shape of both. */
hr_status_t tf_lower_broadcast_args(tf_op_t *op) {
  hr_ints_t x, y;
  hlo_value_t *value;
  int64_t dims[HLO_MAX_RANK];
  HR_TRY(tf_const_ints(op, 0, &x));
  HR_TRY(tf_const_ints(op, 1, &y));
  HR_TRY(tf_const(op, 0, &value));
  int64_t rank = x.count > y.count ? x.count : y.count;
  if (rank > HLO_MAX_RANK) return tf_error(op, "%ld dimensions", (long)rank);
  for (int64_t d = 0; d < rank; d++) {
    int64_t xd = d - (rank - x.count);
    int64_t yd = d - (rank - y.count);
    int64_t xn = xd < 0 ? 1 : x.data[xd];
    int64_t yn = yd < 0 ? 1 : y.data[yd];
    if (xn != yn && xn != 1 && yn != 1) return tf_error(op, "the shapes do not broadcast");
    dims[d] = xn == 1 ? yn : xn;
  }
  return tf_out_ints(op, 0, value->dtype, false, rank, dims);
}

/* --- reshapes --- */

/* Reshape(tensor, shape): one size may be -1 and follows from the number of elements. */
hr_status_t tf_lower_reshape(tf_op_t *op) {
  hr_ints_t sizes;
  int64_t dims[HLO_MAX_RANK], known = 1;
  int open = -1;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 1, &sizes));
  if (sizes.count > HLO_MAX_RANK) return tf_error(op, "%ld dimensions", (long)sizes.count);
  for (int64_t d = 0; d < sizes.count; d++) {
    dims[d] = sizes.data[d];
    if (dims[d] == -1 && open >= 0) return tf_error(op, "two sizes are -1");
    if (dims[d] == -1)
      open = (int)d;
    else
      known *= dims[d];
  }
  int64_t total = hlo_shape_elements(x->shape);
  if (open >= 0) dims[open] = known ? total / known : 0;
  if ((open >= 0 ? known * dims[open] : known) != total)
    return tf_error(op, "%ld elements cannot have the new shape", (long)total);
  return tf_out(op, 0, tf_reshape(op->b, x, (int)sizes.count, dims));
}

/* ExpandDims(input, dim): a size of 1 is put in front of dimension `dim`; -1 appends it. */
hr_status_t tf_lower_expand_dims(tf_op_t *op) {
  int64_t axis, dims[HLO_MAX_RANK];
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank + 1, &at));
  for (int d = 0; d <= x->shape->rank; d++)
    dims[d] = d == at ? 1 : x->shape->dims[d < at ? d : d - 1];
  return tf_out(op, 0, tf_reshape(op->b, x, x->shape->rank + 1, dims));
}

/* Squeeze: drops the sizes of 1 that squeeze_dims lists, or all of them. */
hr_status_t tf_lower_squeeze(tf_op_t *op) {
  hr_ints_t listed;
  bool drop[HLO_MAX_RANK] = {false};
  int64_t dims[HLO_MAX_RANK];
  int rank = 0, at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_ints(op->arena, op->node, "squeeze_dims", &listed));
  for (int64_t i = 0; i < listed.count; i++) {
    HR_TRY(tf_axis(op, listed.data[i], x->shape->rank, &at));
    if (x->shape->dims[at] != 1) return tf_error(op, "dimension %d has not the size 1", at);
    drop[at] = true;
  }
  for (int d = 0; d < x->shape->rank; d++)
    if (listed.count ? !drop[d] : x->shape->dims[d] != 1) dims[rank++] = x->shape->dims[d];
  return tf_out(op, 0, tf_reshape(op->b, x, rank, dims));
}

/* Transpose(x, perm); variant 1, ConjugateTranspose, conjugates too. */
hr_status_t tf_lower_transpose(tf_op_t *op) {
  hr_ints_t permutation;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 1, &permutation));
  if (permutation.count != x->shape->rank)
    return tf_error(op, "%ld dimensions to transpose of %d", (long)permutation.count,
                    x->shape->rank);
  expr_t result = tf_transpose(op->b, x, permutation.data);
  if (op->row->variant && hr_dtype_is_complex(x->shape->dtype))
    result = hlo_build_binary(op->b, HLO_COMPLEX, hlo_build_unary(op->b, HLO_REAL, result),
                              e_neg(op->b, hlo_build_unary(op->b, HLO_IMAG, result)));
  return tf_out(op, 0, result);
}

/* The place of each index goes where the index says. */
static hr_status_t invert_at_run_time(tf_op_t *op) {
  expr_t x = tf_in(op, 0), inverse;
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank != 1) return tf_error(op, "a permutation of %d dimensions", x->shape->rank);
  const int64_t *size = x->shape->dims;
  expr_t places = tf_iota(op->b, x->shape->dtype, 1, size, 0);
  expr_t indices = tf_reshape(op->b, x, 2, (int64_t[]){*size, 1});
  expr_t start = tf_fill(op->b, 0, x->shape->dtype, 1, size);
  HR_TRY(tf_scatter_nd(op, start, indices, places, HLO_COPY, &inverse));
  return tf_out(op, 0, inverse);
}

/* InvertPermutation: y[x[i]] = i. Duplicates are not looked for. */
hr_status_t tf_lower_invert_permutation(tf_op_t *op) {
  hr_ints_t in;
  int64_t *inverse;
  hlo_value_t *value;
  HR_TRY(tf_const_if_known(op, 0, &value));
  if (!value) return invert_at_run_time(op);
  HR_TRY(tf_const_ints(op, 0, &in));
  HR_TRY(HR_NEW_ARRAY(op->arena, in.count, &inverse));
  for (int64_t i = 0; i < in.count; i++) {
    if (in.data[i] < 0 || in.data[i] >= in.count) return tf_error(op, "no permutation");
    inverse[in.data[i]] = i;
  }
  return tf_out_ints(op, 0, value->dtype, false, in.count, inverse);
}

/* BroadcastTo(input, shape), aligned to the right. */
hr_status_t tf_lower_broadcast_to(tf_op_t *op) {
  hr_ints_t dims;
  HR_TRY(tf_const_ints(op, 1, &dims));
  return tf_out(op, 0, tf_broadcast(op->b, tf_in(op, 0), (int)dims.count, dims.data));
}

/* --- joining and splitting --- */

/* variant 0: the axis is the first input (Concat); 1: the last one (ConcatV2). */
hr_status_t tf_lower_concat(tf_op_t *op) {
  int count = op->input_count - 1;
  int first = op->row->variant ? 0 : 1;
  int64_t axis;
  int at, used = 0;
  expr_t *x;
  if (count < 1) return tf_error(op, "nothing to concatenate");
  HR_TRY(tf_const_int(op, op->row->variant ? count : 0, &axis));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &x));
  for (int k = 0; k < count; k++) {
    expr_t part = tf_in(op, first + k);
    if (!part) return hlo_builder_finish(op->b);
    HR_TRY(tf_axis(op, axis, part->shape->rank, &at));
    x[used++] = part;
  }
  return tf_out(op, 0, tf_concat(op->b, used, x, at));
}

/* ConcatOffset(concat_dim, shapes...): output k is where input k starts in the concatenation. */
hr_status_t tf_lower_concat_offset(tf_op_t *op) {
  int64_t axis, at = 0;
  HR_TRY(tf_const_int(op, 0, &axis));
  hr_dtype_t dtype = op->input_count > 1 ? tf_in_dtype(op, 1) : HR_S32;
  for (int k = 1; k < op->input_count; k++) {
    hr_ints_t dims;
    int64_t offsets[HLO_MAX_RANK] = {0};
    HR_TRY(tf_const_ints(op, k, &dims));
    if (dims.count > HLO_MAX_RANK) return tf_error(op, "too many dimensions");
    int d;
    HR_TRY(tf_axis(op, axis, (int)dims.count, &d));
    offsets[d] = at;
    at += dims.data[d];
    HR_TRY(tf_out_ints(op, k - 1, dtype, false, dims.count, offsets));
  }
  return NULL;
}

/* Pack: joins arrays of equal shape along a new dimension `axis`. */
hr_status_t tf_lower_pack(tf_op_t *op) {
  int64_t axis, dims[HLO_MAX_RANK];
  int at = 0;
  expr_t *x;
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", 0, &axis));
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &x));
  for (int k = 0; k < op->input_count; k++) {
    expr_t part = tf_in(op, k);
    if (!part) return hlo_builder_finish(op->b);
    if (part->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
    HR_TRY(tf_axis(op, axis, part->shape->rank + 1, &at));
    for (int d = 0; d <= part->shape->rank; d++)
      dims[d] = d == at ? 1 : part->shape->dims[d < at ? d : d - 1];
    x[k] = tf_reshape(op->b, part, part->shape->rank + 1, dims);
  }
  return tf_out(op, 0, tf_concat(op->b, op->input_count, x, at));
}

/* Unpack: output i is element i along `axis`, without that dimension. */
hr_status_t tf_lower_unpack(tf_op_t *op) {
  int64_t axis, dims[HLO_MAX_RANK];
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", 0, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  for (int d = 0; d + 1 < x->shape->rank; d++) dims[d] = x->shape->dims[d < at ? d : d + 1];
  if (x->shape->dims[at] > TF_MAX_PARTS)
    return tf_unsupported(op, "%ld parts", (long)x->shape->dims[at]);
  HR_TRY(tf_need_outputs(op, (int)x->shape->dims[at]));
  for (int64_t i = 0; i < x->shape->dims[at]; i++) {
    expr_t part = tf_slice_dim(op->b, x, at, i, i + 1);
    HR_TRY(tf_out(op, (int)i, tf_reshape(op->b, part, x->shape->rank - 1, dims)));
  }
  return NULL;
}

/* variant 0: Split(axis, x); 1: SplitV(x, sizes, axis), of which one size may be -1. */
hr_status_t tf_lower_split(tf_op_t *op) {
  bool sized = op->row->variant;
  int64_t axis, count, start = 0, known = 0;
  int at;
  hr_ints_t sizes = {0};
  expr_t x = tf_in(op, sized ? 0 : 1);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_int(op, sized ? 2 : 0, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_int(op->arena, op->node, "num_split", 1, &count));
  if (sized) HR_TRY(tf_const_ints(op, 1, &sizes));
  if (sized) count = sizes.count;
  int64_t total = x->shape->dims[at];
  if (count < 1 || count > TF_MAX_PARTS || (!sized && total % count))
    return tf_error(op, "%ld parts", (long)count);
  HR_TRY(tf_need_outputs(op, (int)count));
  for (int64_t i = 0; i < sizes.count; i++) known += sizes.data[i] < 0 ? 0 : sizes.data[i];
  for (int64_t i = 0; i < count; i++) {
    int64_t size = sized ? sizes.data[i] : total / count;
    if (size < 0) size = total - known;
    if (size < 0 || start + size > total)
      return tf_error(op, "the sizes do not fit %ld", (long)total);
    HR_TRY(tf_out(op, (int)i, tf_slice_dim(op->b, x, at, start, start + size)));
    start += size;
  }
  return NULL;
}

/* The array joined with itself as often as each multiple says, for sizes known at run time only. */
static hr_status_t repeat_dynamic(tf_op_t *op, expr_t x, const int64_t *multiples) {
  for (int d = 0; d < x->shape->rank; d++) {
    expr_t *parts;
    int64_t count = multiples[d];
    if (count < 1 || count > TF_MAX_PARTS)
      return tf_unsupported(op, "%ld repetitions", (long)count);
    HR_TRY(HR_NEW_ARRAY(op->arena, count, &parts));
    for (int64_t i = 0; i < count; i++) parts[i] = x;
    x = tf_concat(op->b, (int)count, parts, d);
    if (!x) break;
  }
  return tf_out(op, 0, x);
}

/* A new dimension before each one that repeats: [2,3] by (1,4) is [2,1,3], [2,4,3], then [2,12]. */
static hr_status_t repeat_static(tf_op_t *op, expr_t x, const int64_t *multiples) {
  int64_t split[2 * HLO_MAX_RANK], repeated[2 * HLO_MAX_RANK], dims[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t size = x->shape->dims[d];
    if (multiples[d] < 0 || __builtin_mul_overflow(size, multiples[d], &dims[d]))
      return tf_error(op, "%ld repetitions", (long)multiples[d]);
    if (multiples[d] != 1) {
      split[rank] = 1;
      repeated[rank++] = multiples[d];
    }
    split[rank] = size;
    repeated[rank++] = size;
  }
  if (rank > HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  expr_t apart = tf_reshape(op->b, x, rank, split);
  expr_t all = tf_broadcast(op->b, apart, rank, repeated);
  return tf_out(op, 0, tf_reshape(op->b, all, x->shape->rank, dims));
}

/* Tile(input, multiples). */
hr_status_t tf_lower_tile(tf_op_t *op) {
  hr_ints_t multiples;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_const_ints(op, 1, &multiples));
  if (!x) return hlo_builder_finish(op->b);
  if (multiples.count != x->shape->rank)
    return tf_error(op, "%ld multiples", (long)multiples.count);
  return hlo_shape_is_dynamic(x->shape) ? repeat_dynamic(op, x, multiples.data)
                                        : repeat_static(op, x, multiples.data);
}

/* --- slices --- */

/* Slice(input, begin, size): size -1 means up to the end. Sizes must be constants. A start that
 * is known at run time only makes a dynamic slice, where -1 means the whole dimension. */
hr_status_t tf_lower_slice(tf_op_t *op) {
  hr_ints_t begin, size;
  hlo_value_t *known;
  int64_t limits[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  expr_t starts[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 2, &size));
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (size.count != x->shape->rank) return tf_error(op, "%ld sizes", (long)size.count);
  if (known) HR_TRY(tf_const_ints(op, 1, &begin));
  if (known && begin.count != size.count) return tf_error(op, "%ld starts", (long)begin.count);
  for (int d = 0; d < x->shape->rank; d++) {
    int64_t rest = x->shape->dims[d] - (known ? begin.data[d] : 0);
    sizes[d] = size.data[d] < 0 ? rest : size.data[d];
    if (known) limits[d] = begin.data[d] + sizes[d];
  }
  if (known) return tf_out(op, 0, tf_slice(op->b, x, begin.data, limits, NULL));
  for (int d = 0; d < x->shape->rank; d++)
    starts[d] = tf_reshape(op->b, tf_slice_dim(op->b, tf_in(op, 1), 0, d, d + 1), 0, NULL);
  return tf_out(op, 0, tf_dynamic_slice(op->b, x, starts, sizes));
}

/* One dimension of a strided slice. */
typedef struct strided_dim {
  int64_t begin;  /* first element, counted from 0 */
  int64_t stride; /* never 0; negative: backwards */
  int64_t count;  /* elements */
} strided_dim_t;

/* `dims` has one entry per dimension of x; `result` also has the new axes and lacks the shrunk
 * ones. */
typedef struct strided {
  int rank;
  strided_dim_t dims[HLO_MAX_RANK];
  int result_rank;
  int64_t result[HLO_MAX_RANK]; /* sizes after new and dropped axes */
} strided_t;

/* Python's rules: bounds are counted from the end if negative, then clamped to the array. A
 * backward slice may end at -1, before the first element. The count is ceil(span / |stride|). */
static strided_dim_t resolve_dim(int64_t size, int64_t begin, int64_t end, int64_t stride,
                                 bool no_begin, bool no_end) {
  int64_t low = stride > 0 ? 0 : -1;
  int64_t high = stride > 0 ? size : size - 1;
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  if (begin < low) begin = low;
  if (begin > high) begin = high;
  if (end < low) end = low;
  if (end > high) end = high;
  if (no_begin) begin = stride > 0 ? 0 : size - 1;
  if (no_end) end = stride > 0 ? size : -1;
  int64_t span = stride > 0 ? end - begin : begin - end;
  int64_t step = stride > 0 ? stride : -stride;
  return (strided_dim_t){begin, stride, span > 0 ? (span + step - 1) / step : 0};
}

/* Bit masks of the attributes, one bit per entry of begin, end and strides. */
typedef struct strided_masks {
  int64_t begin, end, ellipsis, new_axis, shrink;
} strided_masks_t;

/* begin_mask and end_mask: the bound is ignored. ellipsis_mask: "...". new_axis_mask: a size of
 * 1. shrink_axis_mask: one element, without its dimension. */
static hr_status_t read_masks(tf_op_t *op, strided_masks_t *m) {
  HR_TRY(tf_attr_int(op->arena, op->node, "begin_mask", 0, &m->begin));
  HR_TRY(tf_attr_int(op->arena, op->node, "end_mask", 0, &m->end));
  HR_TRY(tf_attr_int(op->arena, op->node, "ellipsis_mask", 0, &m->ellipsis));
  HR_TRY(tf_attr_int(op->arena, op->node, "new_axis_mask", 0, &m->new_axis));
  return tf_attr_int(op->arena, op->node, "shrink_axis_mask", 0, &m->shrink);
}

/* A dimension taken whole. */
static void keep_dim(strided_t *s, int64_t size) {
  s->dims[s->rank++] = (strided_dim_t){0, 1, size};
  s->result[s->result_rank++] = size;
}

/* Walks the entries of the specification; an ellipsis stands for all dimensions that are left. */
static hr_status_t resolve_strided(tf_op_t *op, int first, int rank, const int64_t *sizes,
                                   strided_t *out) {
  hr_ints_t begin, end, strides;
  strided_masks_t m;
  int specified = 0;
  *out = (strided_t){0};
  HR_TRY(tf_const_ints(op, first, &begin));
  HR_TRY(tf_const_ints(op, first + 1, &end));
  HR_TRY(tf_const_ints(op, first + 2, &strides));
  HR_TRY(read_masks(op, &m));
  if (rank + begin.count > HLO_MAX_RANK || end.count != begin.count || strides.count != begin.count)
    return tf_error(op, "begin, end and strides have different sizes");
  for (int64_t i = 0; i < begin.count; i++)
    specified += !(m.ellipsis >> i & 1) && !(m.new_axis >> i & 1);
  for (int64_t i = 0; i < begin.count; i++) {
    if (m.ellipsis >> i & 1) {
      for (int fill = rank - specified; fill > 0; fill--) keep_dim(out, sizes[out->rank]);
      continue;
    }
    if (m.new_axis >> i & 1) {
      out->result[out->result_rank++] = 1;
      continue;
    }
    if (out->rank >= rank || !strides.data[i]) return tf_error(op, "the slice does not fit");
    int64_t size = sizes[out->rank];
    bool shrink = m.shrink >> i & 1;
    int64_t at = begin.data[i] < 0 ? begin.data[i] + size : begin.data[i];
    if (shrink && (at < 0 || at >= size))
      return tf_error(op, "index %ld of %ld elements", (long)begin.data[i], (long)size);
    strided_dim_t dim = shrink ? (strided_dim_t){at, 1, 1}
                               : resolve_dim(size, begin.data[i], end.data[i], strides.data[i],
                                             m.begin >> i & 1, m.end >> i & 1);
    out->dims[out->rank++] = dim;
    if (!shrink) out->result[out->result_rank++] = dim.count;
  }
  while (out->rank < rank) keep_dim(out, sizes[out->rank]);
  return NULL;
}

/* Backward dimensions are reversed first, so that all strides are positive.
 * StridedSlice(input, begin, end, strides). Element 0 of a reversed dimension was its last one. */
hr_status_t tf_lower_strided_slice(tf_op_t *op) {
  strided_t s;
  int64_t reversed[HLO_MAX_RANK], starts[HLO_MAX_RANK], limits[HLO_MAX_RANK], steps[HLO_MAX_RANK];
  int count = 0;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(resolve_strided(op, 1, x->shape->rank, x->shape->dims, &s));
  for (int d = 0; d < s.rank; d++) {
    strided_dim_t dim = s.dims[d];
    bool backward = dim.stride < 0;
    if (backward) reversed[count++] = d;
    starts[d] = backward ? x->shape->dims[d] - 1 - dim.begin : dim.begin;
    steps[d] = backward ? -dim.stride : dim.stride;
    limits[d] = dim.count ? starts[d] + (dim.count - 1) * steps[d] + 1 : starts[d];
  }
  HR_TRY(tf_reverse(op, x, count, reversed, &x));
  x = tf_slice(op->b, x, starts, limits, steps);
  return tf_out(op, 0, tf_reshape(op->b, x, s.result_rank, s.result));
}

/* x, which has the slice's elements, in their places of an array of these sizes; zeros elsewhere.
 * A pad does it: `low` elements in front, stride - 1 between neighbours, `high` behind. */
static hr_status_t place_strided(tf_op_t *op, const strided_t *s, const int64_t *sizes, expr_t x,
                                 expr_t *out_x) {
  int64_t dims[HLO_MAX_RANK], low[HLO_MAX_RANK], high[HLO_MAX_RANK], gaps[HLO_MAX_RANK];
  int64_t reversed[HLO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < s->rank; d++) {
    int64_t step = s->dims[d].stride < 0 ? -s->dims[d].stride : s->dims[d].stride;
    bool backward = s->dims[d].stride < 0;
    dims[d] = s->dims[d].count;
    if (backward) reversed[count++] = d;
    low[d] = backward ? s->dims[d].begin - (dims[d] - 1) * step : s->dims[d].begin;
    if (!dims[d]) low[d] = 0;
    high[d] = sizes[d] - low[d] - (dims[d] ? (dims[d] - 1) * step + 1 : 0);
    gaps[d] = step - 1;
  }
  x = tf_reshape(op->b, x, s->rank, dims);
  HR_TRY(tf_reverse(op, x, count, reversed, &x));
  expr_t zero = x ? tf_scalar(op->b, 0, x->shape->dtype) : NULL;
  *out_x = tf_pad(op->b, x, zero, low, high, gaps);
  return NULL;
}

/* inputs: shape, begin, end, strides, dy: dy in the places of the slice, zeros elsewhere. */
hr_status_t tf_lower_strided_slice_grad(tf_op_t *op) {
  strided_t s;
  hr_ints_t shape;
  expr_t x;
  HR_TRY(tf_const_ints(op, 0, &shape));
  if (shape.count > HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(resolve_strided(op, 1, (int)shape.count, shape.data, &s));
  HR_TRY(place_strided(op, &s, shape.data, tf_in(op, 4), &x));
  return tf_out(op, 0, x);
}

/* x with the places of a slice with gaps replaced: a mask says where they are. */
static hr_status_t update_with_gaps(tf_op_t *op, const strided_t *s, expr_t *x, expr_t value) {
  hlo_builder_t *b = op->b;
  expr_t marks = tf_fill(b, 1, HR_PRED, s->result_rank, s->result);
  HR_TRY(place_strided(op, s, (*x)->shape->dims, value, &value));
  HR_TRY(place_strided(op, s, (*x)->shape->dims, marks, &marks));
  *x = e_select(b, marks, value, *x);
  return NULL;
}

/* The places of a slice without gaps. */
static hr_status_t update_dense(tf_op_t *op, const strided_t *s, expr_t *x, expr_t value) {
  int64_t dims[HLO_MAX_RANK], reversed[HLO_MAX_RANK];
  expr_t starts[HLO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < s->rank; d++) {
    strided_dim_t dim = s->dims[d];
    bool backward = dim.stride < 0;
    if (backward) reversed[count++] = d;
    dims[d] = dim.count;
    starts[d] = tf_scalar_int(op->b, backward ? dim.begin - dim.count + 1 : dim.begin, HR_S32);
  }
  value = tf_reshape(op->b, value, s->rank, dims);
  HR_TRY(tf_reverse(op, value, count, reversed, &value));
  *x = value ? tf_dynamic_update(op->b, *x, value, starts) : NULL;
  return NULL;
}

/* x with the places of a strided slice replaced. variant 0: TensorStridedSliceUpdate; 1:
 * ResourceStridedSliceAssign. inputs: x, begin, end, strides, value. */
hr_status_t tf_lower_strided_update(tf_op_t *op) {
  strided_t s;
  bool has_gaps = false;
  tf_resource_t *resource = NULL;
  expr_t x = tf_in(op, 0), value = tf_in(op, 4);
  if (!x || !value) return hlo_builder_finish(op->b);
  if (op->row->variant) HR_TRY(tf_resource_of(op, 0, &resource));
  HR_TRY(resolve_strided(op, 1, x->shape->rank, x->shape->dims, &s));
  for (int d = 0; d < s.rank; d++)
    has_gaps |= s.dims[d].count > 1 && s.dims[d].stride != 1 && s.dims[d].stride != -1;
  value = tf_broadcast(op->b, value, s.result_rank, s.result);
  HR_TRY(has_gaps ? update_with_gaps(op, &s, &x, value) : update_dense(op, &s, &x, value));
  return resource ? tf_set_variable(op, resource, x) : tf_out(op, 0, x);
}

/* --- padding --- */

/* Input 1 is [rank, 2]: elements before and after each dimension. */
static hr_status_t read_paddings(tf_op_t *op, int rank, int64_t *low, int64_t *high) {
  hr_ints_t paddings;
  HR_TRY(tf_const_ints(op, 1, &paddings));
  if (paddings.count != 2 * rank) return tf_error(op, "%ld paddings", (long)paddings.count);
  for (int d = 0; d < rank; d++) {
    low[d] = paddings.data[2 * d];
    high[d] = paddings.data[2 * d + 1];
  }
  return NULL;
}

/* Pad fills with 0; PadV2 (variant 1) with input 2. */
hr_status_t tf_lower_pad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_paddings(op, x->shape->rank, low, high));
  expr_t fill = op->row->variant ? tf_in(op, 2) : tf_scalar(op->b, 0, x->shape->dtype);
  return tf_out(op, 0, tf_pad(op->b, x, fill, low, high, NULL));
}

/* Mirrored edges: REFLECT leaves the edge itself out, SYMMETRIC repeats it. */
hr_status_t tf_lower_mirror_pad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK];
  hr_str_t mode;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_str(op->arena, op->node, "mode", "REFLECT", &mode));
  HR_TRY(read_paddings(op, x->shape->rank, low, high));
  int64_t skip = hr_str_is(mode, "REFLECT") ? 1 : 0;
  for (int64_t d = 0; d < x->shape->rank; d++) {
    int64_t size = x->shape->dims[d];
    expr_t parts[3], mirrored;
    int count = 0;
    if (low[d] + skip > size || high[d] + skip > size)
      return tf_error(op, "padding beyond the array");
    HR_TRY(tf_reverse(op, x, 1, &d, &mirrored));
    if (low[d])
      parts[count++] = tf_slice_dim(op->b, mirrored, (int)d, size - skip - low[d], size - skip);
    parts[count++] = x;
    if (high[d]) parts[count++] = tf_slice_dim(op->b, mirrored, (int)d, skip, skip + high[d]);
    x = tf_concat(op->b, count, parts, (int)d);
    if (!x) return hlo_builder_finish(op->b);
  }
  return tf_out(op, 0, x);
}

/* Gradient of a mirrored edge: what lies in the edges is reversed and added to what it mirrors. */
hr_status_t tf_lower_mirror_pad_grad(tf_op_t *op) {
  int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK];
  hr_str_t mode;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_str(op->arena, op->node, "mode", "REFLECT", &mode));
  HR_TRY(read_paddings(op, x->shape->rank, low, high));
  int64_t skip = hr_str_is(mode, "REFLECT") ? 1 : 0;
  for (int64_t d = 0; d < x->shape->rank; d++) {
    int64_t total = x->shape->dims[d], size = total - low[d] - high[d];
    if (low[d] < 0 || high[d] < 0 || low[d] + skip > size || high[d] + skip > size)
      return tf_error(op, "padding beyond the array");
    expr_t sum = tf_slice_dim(op->b, x, (int)d, low[d], low[d] + size);
    for (int side = 0; side < 2; side++) {
      int64_t before[HLO_MAX_RANK] = {0}, after[HLO_MAX_RANK] = {0};
      int64_t width = side ? high[d] : low[d];
      expr_t edge = tf_slice_dim(op->b, x, (int)d, side ? total - width : 0, side ? total : width);
      if (!width || !edge) continue;
      HR_TRY(tf_reverse(op, edge, 1, &d, &edge));
      before[d] = side ? size - skip - width : skip;
      after[d] = size - width - before[d];
      edge = tf_pad(op->b, edge, tf_scalar(op->b, 0, x->shape->dtype), before, after, NULL);
      sum = e_add(op->b, sum, edge);
    }
    x = sum;
    if (!x) return hlo_builder_finish(op->b);
  }
  return tf_out(op, 0, x);
}

/* --- made arrays --- */

/* Fill(dims, value). */
hr_status_t tf_lower_fill(tf_op_t *op) {
  hr_ints_t dims;
  HR_TRY(tf_const_ints(op, 0, &dims));
  return tf_out(op, 0, tf_broadcast(op->b, tf_in(op, 1), (int)dims.count, dims.data));
}

/* The number of a constant scalar; true if its type is an integer. */
static bool value_number(const hlo_value_t *value, double *out_number) {
  if (value->dtype == HR_F32)
    *out_number = *(const float *)value->data;
  else if (value->dtype == HR_F64)
    *out_number = *(const double *)value->data;
  else
    *out_number = (double)hlo_value_int_at(value, 0);
  return hr_dtype_is_integer(value->dtype);
}

/* start, limit, delta: their values are needed for the size.
 * Range: ceil((limit - start) / delta) elements start + i delta. */
hr_status_t tf_lower_range(tf_op_t *op) {
  hlo_value_t *values[3];
  double numbers[3];
  for (int k = 0; k < 3; k++) {
    HR_TRY(tf_const(op, k, &values[k]));
    value_number(values[k], &numbers[k]);
  }
  double span = (numbers[1] - numbers[0]) / numbers[2];
  if (!(span > -1e15 && span < 1e15)) return tf_error(op, "a range without end");
  int64_t count = span > 0 ? (int64_t)__builtin_ceil(span) : 0;
  hr_dtype_t dtype = values[0]->dtype;
  expr_t steps = tf_iota(op->b, dtype, 1, &count, 0);
  expr_t delta = tf_broadcast(op->b, tf_in(op, 2), 1, &count);
  expr_t start = tf_broadcast(op->b, tf_in(op, 0), 1, &count);
  return tf_out(op, 0, e_add(op->b, start, e_mul(op->b, steps, delta)));
}

/* start + step i, and the end itself at the last place. */
static hr_status_t space_at_run_time(tf_op_t *op, int64_t count) {
  hlo_builder_t *b = op->b;
  expr_t start = tf_in(op, 0), stop = tf_in(op, 1);
  if (!start || !stop) return hlo_builder_finish(b);
  expr_t step = e_div(b, e_sub(b, stop, start), e_number(b, count > 1 ? count - 1 : 1, start));
  start = tf_broadcast(b, start, 1, &count);
  stop = tf_broadcast(b, stop, 1, &count);
  step = tf_broadcast(b, step, 1, &count);
  expr_t place = start ? tf_iota(b, start->shape->dtype, 1, &count, 0) : NULL;
  if (!place) return hlo_builder_finish(b);
  expr_t numbers = e_add(b, start, e_mul(b, step, place));
  expr_t is_last = e_eq(b, place, e_number(b, (double)(count - 1), place));
  return tf_out(op, 0, count > 1 ? e_select(b, is_last, stop, numbers) : numbers);
}

/* LinSpace(start, stop, num): computed in double; the last element is exactly `stop`. */
hr_status_t tf_lower_lin_space(tf_op_t *op) {
  double start, stop;
  int64_t count;
  hlo_value_t *value, *known_start, *known_stop;
  HR_TRY(tf_const_int(op, 2, &count));
  if (count < 1) return tf_error(op, "%ld steps", (long)count);
  HR_TRY(tf_const_if_known(op, 0, &known_start));
  HR_TRY(tf_const_if_known(op, 1, &known_stop));
  hr_dtype_t type = tf_in_dtype(op, 0);
  if (!known_start || !known_stop || (type != HR_F32 && type != HR_F64))
    return space_at_run_time(op, count);
  HR_TRY(tf_const_float(op, 0, &start));
  HR_TRY(tf_const_float(op, 1, &stop));
  hr_dtype_t dtype = tf_in_dtype(op, 0);
  HR_TRY(hlo_builder_finish(op->b));
  HR_TRY(hlo_value_array(dtype, 1, &count, &value));
  double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;
  for (int64_t i = 0; i < count; i++) {
    double number = i + 1 == count && count > 1 ? stop : start + step * (double)i;
    if (dtype == HR_F64)
      ((double *)value->data)[i] = number;
    else
      ((float *)value->data)[i] = (float)number;
  }
  return tf_out_value(op, 0, value);
}

/* inputs: indices, depth, on_value, off_value.
 * OneHot: on_value where the index equals the place along the new dimension `axis`. */
hr_status_t tf_lower_one_hot(tf_op_t *op) {
  int64_t depth, axis, dims[HLO_MAX_RANK], wide[HLO_MAX_RANK];
  int at;
  expr_t indices = tf_in(op, 0);
  if (!indices) return hlo_builder_finish(op->b);
  int rank = indices->shape->rank + 1;
  if (indices->shape->rank >= HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  HR_TRY(tf_const_int(op, 1, &depth));
  HR_TRY(tf_attr_int(op->arena, op->node, "axis", -1, &axis));
  HR_TRY(tf_axis(op, axis, rank, &at));
  for (int d = 0; d < rank; d++) {
    wide[d] = d == at ? 1 : indices->shape->dims[d < at ? d : d - 1];
    dims[d] = d == at ? depth : wide[d];
  }
  expr_t wanted = tf_broadcast(op->b, tf_reshape(op->b, indices, rank, wide), rank, dims);
  expr_t hit = e_eq(op->b, wanted, tf_iota(op->b, indices->shape->dtype, rank, dims, at));
  return tf_out(op, 0,
                e_select(op->b, hit, tf_broadcast(op->b, tf_in(op, 2), rank, dims),
                         tf_broadcast(op->b, tf_in(op, 3), rank, dims)));
}

/* variant 0: Reverse with flags; 1: ReverseV2 with axes. */
hr_status_t tf_lower_reverse(tf_op_t *op) {
  hr_ints_t list;
  int64_t dims[HLO_MAX_RANK];
  int count = 0, at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_ints(op, 1, &list));
  for (int64_t i = 0; i < list.count && count < HLO_MAX_RANK; i++) {
    if (op->row->variant) {
      HR_TRY(tf_axis(op, list.data[i], x->shape->rank, &at));
      dims[count++] = at;
    } else if (list.data[i]) {
      dims[count++] = i;
    }
  }
  HR_TRY(tf_reverse(op, x, count, dims, &x));
  return tf_out(op, 0, x);
}

/* x twice along a dimension, from which the part that begins `shift` places before the middle is
 * taken. */
static expr_t roll_by(hlo_builder_t *b, expr_t x, int at, expr_t shift) {
  expr_t twice[] = {x, x}, starts[HLO_MAX_RANK];
  int64_t size = x->shape->dims[at];
  expr_t rest = e_rem(b, shift, e_number(b, (double)size, shift)), zero = e_number(b, 0, rest);
  rest = e_select(b, e_gt(b, rest, zero), e_sub(b, e_number(b, (double)size, rest), rest),
                  e_sub(b, zero, rest));
  for (int d = 0; d < x->shape->rank; d++) starts[d] = d == at ? rest : zero;
  return tf_dynamic_slice(b, tf_concat(b, 2, twice, at), starts, x->shape->dims);
}

/* Element i of a vector, or the scalar itself. */
static expr_t element_of(hlo_builder_t *b, expr_t x, int64_t i) {
  return x->shape->rank ? tf_reshape(b, tf_slice_dim(b, x, 0, i, i + 1), 0, NULL) : x;
}

static hr_status_t roll_at_run_time(tf_op_t *op) {
  hr_ints_t axes;
  int at;
  expr_t x = tf_in(op, 0), shifts = tf_in(op, 1);
  HR_TRY(tf_const_ints(op, 2, &axes));
  if (!x || !shifts) return hlo_builder_finish(op->b);
  if (shifts->shape->rank > 1 || (shifts->shape->rank && shifts->shape->dims[0] != axes.count))
    return tf_error(op, "as many shifts as axes are needed");
  for (int64_t i = 0; i < axes.count && x; i++) {
    HR_TRY(tf_axis(op, axes.data[i], x->shape->rank, &at));
    if (x->shape->dims[at]) x = roll_by(op->b, x, at, element_of(op->b, shifts, i));
  }
  return tf_out(op, 0, x);
}

/* Rotation along axes: the last `shift` elements come first. */
hr_status_t tf_lower_roll(tf_op_t *op) {
  hr_ints_t shifts, axes;
  hlo_value_t *known;
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_if_known(op, 1, &known));
  if (!known) return roll_at_run_time(op);
  HR_TRY(tf_const_ints(op, 1, &shifts));
  HR_TRY(tf_const_ints(op, 2, &axes));
  for (int64_t i = 0; i < axes.count && i < shifts.count && x; i++) {
    HR_TRY(tf_axis(op, axes.data[i], x->shape->rank, &at));
    int64_t size = x->shape->dims[at];
    int64_t shift = size ? ((shifts.data[i] % size) + size) % size : 0;
    if (!shift) continue;
    expr_t parts[] = {tf_slice_dim(op->b, x, at, size - shift, size),
                      tf_slice_dim(op->b, x, at, 0, size - shift)};
    x = tf_concat(op->b, 2, parts, at);
  }
  return tf_out(op, 0, x);
}

/* --- blocks --- */

/* variant 0: DepthToSpace, 1: SpaceToDepth, data format NHWC or NCHW.
 * The depth of a pixel is split as [block row, block column, channel] in both directions. NCHW
 * is turned to NHWC and back. */
hr_status_t tf_lower_depth_space(tf_op_t *op) {
  int64_t block;
  hr_str_t format;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_attr_int(op->arena, op->node, "block_size", 2, &block));
  HR_TRY(tf_attr_str(op->arena, op->node, "data_format", "NHWC", &format));
  if (x->shape->rank != 4 || block < 1) return tf_unsupported(op, "data format or block size");
  static const int64_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};
  bool first = hr_str_is(format, "NCHW");
  if (first) x = tf_transpose(op->b, x, to_last);
  if (!x) return hlo_builder_finish(op->b);
  const int64_t *n = x->shape->dims;
  int64_t h = n[1], w = n[2], c = n[3];
  if (op->row->variant) {
    int64_t split[] = {n[0], h / block, block, w / block, block, c};
    int64_t joined[] = {n[0], h / block, w / block, block * block * c};
    static const int64_t order[] = {0, 1, 3, 2, 4, 5};
    x = tf_reshape(op->b, tf_transpose(op->b, tf_reshape(op->b, x, 6, split), order), 4, joined);
  } else {
    int64_t depth = c / (block * block);
    int64_t split[] = {n[0], h, w, block, block, depth};
    int64_t joined[] = {n[0], h * block, w * block, depth};
    static const int64_t order[] = {0, 1, 3, 2, 4, 5};
    x = tf_reshape(op->b, tf_transpose(op->b, tf_reshape(op->b, x, 6, split), order), 4, joined);
  }
  return tf_out(op, 0, first ? tf_transpose(op->b, x, to_first) : x);
}

/* Block sizes and edges: inputs 1 and 2; variant 1: one block size as an attribute for two spatial
 * dimensions, and edges as input 1. */
static hr_status_t read_blocks(tf_op_t *op, hr_ints_t *out_block, hr_ints_t *out_edges) {
  int64_t size;
  if (!op->row->variant) {
    HR_TRY(tf_const_ints(op, 1, out_block));
    return tf_const_ints(op, 2, out_edges);
  }
  HR_TRY(tf_attr_int(op->arena, op->node, "block_size", 2, &size));
  int64_t both[] = {size, size};
  HR_TRY(hr_arena_ints(op->arena, both, 2, out_block));
  return tf_const_ints(op, 1, out_edges);
}

/* SpaceToBatchND: pad, cut each spatial dimension into blocks, blocks in front of the batch.
 * The reshape makes [batch, h / bh, bh, w / bw, bw, ...]; the transpose moves bh, bw to the
 * front. */
hr_status_t tf_lower_space_to_batch(tf_op_t *op) {
  hr_ints_t block, paddings;
  int64_t low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
  int64_t split[HLO_MAX_RANK], order[HLO_MAX_RANK], joined[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_blocks(op, &block, &paddings));
  int m = (int)block.count, rank = x->shape->rank, at = 0;
  if (paddings.count != 2 * m || m + 1 > rank || rank + m > HLO_MAX_RANK)
    return tf_error(op, "%d blocks", m);
  for (int i = 0; i < m; i++)
    if (block.data[i] < 1) return tf_error(op, "a block of %ld", (long)block.data[i]);
  for (int i = 0; i < m; i++) {
    low[i + 1] = paddings.data[2 * i];
    high[i + 1] = paddings.data[2 * i + 1];
  }
  x = tf_pad(op->b, x, tf_scalar(op->b, 0, x->shape->dtype), low, high, NULL);
  if (!x) return hlo_builder_finish(op->b);
  split[at++] = x->shape->dims[0];
  joined[0] = x->shape->dims[0];
  for (int i = 0; i < m; i++) {
    split[at++] = x->shape->dims[i + 1] / block.data[i];
    split[at++] = block.data[i];
    joined[i + 1] = split[at - 2];
    joined[0] *= block.data[i];
  }
  for (int d = m + 1; d < rank; d++) {
    split[at++] = x->shape->dims[d];
    joined[d] = x->shape->dims[d];
  }
  for (int i = 0; i < m; i++) order[i] = 2 + 2 * i;
  order[m] = 0;
  for (int i = 0; i < m; i++) order[m + 1 + i] = 1 + 2 * i;
  for (int d = 2 * m + 1; d < at; d++) order[d] = d;
  x = tf_transpose(op->b, tf_reshape(op->b, x, at, split), order);
  return tf_out(op, 0, tf_reshape(op->b, x, rank, joined));
}

/* BatchToSpaceND: the opposite, then crops.
 * crops is [m, 2]: elements that are cut off at both ends of each spatial dimension. */
hr_status_t tf_lower_batch_to_space(tf_op_t *op) {
  hr_ints_t block, crops;
  int64_t split[HLO_MAX_RANK], order[HLO_MAX_RANK], joined[HLO_MAX_RANK];
  int64_t starts[HLO_MAX_RANK] = {0}, limits[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(read_blocks(op, &block, &crops));
  int m = (int)block.count, rank = x->shape->rank, at = 0;
  int64_t batch = x->shape->dims[0];
  if (crops.count != 2 * m || m + 1 > rank || rank + m > HLO_MAX_RANK)
    return tf_error(op, "%d blocks", m);
  for (int i = 0; i < m; i++)
    if (block.data[i] < 1) return tf_error(op, "a block of %ld", (long)block.data[i]);
  for (int i = 0; i < m; i++) {
    split[at++] = block.data[i];
    batch /= block.data[i];
  }
  split[at++] = batch;
  joined[0] = batch;
  order[0] = m;
  for (int d = 1; d < rank; d++) {
    split[at++] = x->shape->dims[d];
    joined[d] = x->shape->dims[d] * (d <= m ? block.data[d - 1] : 1);
    if (d <= m) {
      order[2 * d - 1] = m + d;
      order[2 * d] = d - 1;
    } else {
      order[m + d] = m + d;
    }
  }
  x = tf_transpose(op->b, tf_reshape(op->b, x, at, split), order);
  x = tf_reshape(op->b, x, rank, joined);
  for (int d = 0; d < rank; d++) {
    bool cropped = d >= 1 && d <= m;
    starts[d] = cropped ? crops.data[2 * (d - 1)] : 0;
    limits[d] = joined[d] - (cropped ? crops.data[2 * (d - 1) + 1] : 0);
  }
  return tf_out(op, 0, tf_slice(op->b, x, starts, limits, NULL));
}
