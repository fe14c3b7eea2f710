/* Reductions, products and normalisations. Sums of narrow floats accumulate in f32, as XLA:CPU
 * does. Products with batch dimensions become dot; Einsum is a dot, reductions and a transpose. */
#include <math.h>
#include <string.h>

#include "tf/tf_lower.h"

/* --- reductions --- */

/* Input 1 lists axes, which may be negative or occur twice; HLO wants each of them once. */
static hr_status_t reduction_dims(tf_op_t *op, int rank, hr_ints_t *out_dims) {
  hr_ints_t axes;
  int64_t *dims;
  int count = 0, at;
  bool seen[HLO_MAX_RANK] = {false};
  HR_TRY(tf_const_ints(op, 1, &axes));
  HR_TRY(HR_NEW_ARRAY(op->arena, axes.count, &dims));
  for (int64_t i = 0; i < axes.count; i++) {
    HR_TRY(tf_axis(op, axes.data[i], rank, &at));
    if (!seen[at]) dims[count++] = at;
    seen[at] = true;
  }
  *out_dims = (hr_ints_t){dims, count};
  return NULL;
}

/* Types whose sums would lose most of their digits. */
static bool is_narrow_float(hr_dtype_t dtype) { return dtype == HR_F16 || dtype == HR_BF16; }

/* The root of an integer is cut to one. */
static expr_t root_of(hlo_builder_t *b, expr_t x) {
  if (!x || !hr_dtype_is_integer(x->shape->dtype)) return e_sqrt(b, x);
  return hlo_build_convert(b, e_sqrt(b, hlo_build_convert(b, x, HR_F64)), x->shape->dtype);
}

/* x, a sum of elements of `all`, divided by their number along the dimensions. */
static expr_t divide_by_count(hlo_builder_t *b, expr_t x, expr_t all, hr_ints_t dims) {
  double fixed = 1;
  expr_t count = NULL;
  if (!x) return NULL;
  for (int64_t i = 0; i < dims.count; i++) {
    int d = (int)dims.data[i];
    bool is_dynamic = all->shape->dynamic && all->shape->dynamic[d];
    expr_t size = is_dynamic ? hlo_build_convert(b, tf_size_of(b, all, d), x->shape->dtype) : NULL;
    if (!is_dynamic) fixed *= (double)all->shape->dims[d];
    if (is_dynamic) count = count ? e_mul(b, count, size) : size;
  }
  x = e_div(b, x, e_number(b, fixed, x));
  return count ? e_div(b, x, tf_broadcast_like(b, count, x)) : x;
}

/* Sum, Prod, Max, Min, All, Any, Mean and EuclideanNorm; attribute keep_dims leaves sizes of 1.
 * Variant: opcode of the reducer; DIVIDE: mean; SQRT: Euclidean norm. Mean divides by the number of
 * elements that were added, EuclideanNorm is sqrt(sum |x|^2). */
hr_status_t tf_lower_reduce(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  hr_ints_t dims;
  bool keep;
  expr_t x = tf_in(op, 0), all = x;
  if (!x) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype;
  hlo_opcode_t variant = (hlo_opcode_t)op->row->variant;
  bool sums = variant == HLO_ADD || variant == HLO_DIVIDE || variant == HLO_SQRT;
  HR_TRY(tf_attr_bool(op->arena, op->node, "keep_dims", false, &keep));
  HR_TRY(reduction_dims(op, x->shape->rank, &dims));
  bool widen = is_narrow_float(dtype) && (sums || variant == HLO_MULTIPLY);
  if (widen) x = hlo_build_convert(b, x, HR_F32);
  if (variant == HLO_SQRT) x = e_mul(b, x, tf_conjugate(b, x));
  x = tf_reduce(op, sums ? HLO_ADD : variant, x, (int)dims.count, dims.data, keep);
  if (variant == HLO_DIVIDE) x = divide_by_count(b, x, all, dims);
  if (variant == HLO_SQRT) x = root_of(b, x);
  if (widen && x) x = hlo_build_convert(b, x, dtype);
  return tf_out(op, 0, x);
}

/* L2Loss: half the sum of squares over all dimensions. */
hr_status_t tf_lower_l2_loss(tf_op_t *op) {
  int64_t dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  for (int d = 0; d < x->shape->rank; d++) dims[d] = d;
  expr_t sum = tf_reduce(op, HLO_ADD, e_mul(op->b, x, x), x->shape->rank, dims, false);
  return tf_out(op, 0, sum ? e_mul(op->b, sum, e_number(op->b, 0.5, sum)) : NULL);
}

/* ArgMax and ArgMin(input, dimension), attribute output_type (default s64). The first index of the
 * extreme value: the least index among those that equal the extreme. NaN is larger than all
 * numbers, as in XLA. Variant: MAXIMUM or MINIMUM. */
hr_status_t tf_lower_arg(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t axis, dim;
  int at;
  hr_dtype_t dtype;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "output_type", &dtype));
  if (dtype == HR_TUPLE) dtype = HR_S64;
  dim = at;
  expr_t extreme = tf_reduce(op, (hlo_opcode_t)op->row->variant, x, 1, &dim, true);
  expr_t wide = tf_broadcast_like(b, extreme, x);
  expr_t hit = e_eq(b, x, wide);
  if (hr_dtype_is_float(x->shape->dtype)) hit = e_or(b, hit, e_ne(b, x, x));
  tf_sizes_t sizes = tf_sizes_of(b, x);
  expr_t index = tf_iota_sized(b, dtype, &sizes, at);
  if (!hit || !index) return hlo_builder_finish(b);
  expr_t last = e_number(b, (double)x->shape->dims[at], index);
  return tf_out(op, 0, tf_reduce(op, HLO_MINIMUM, e_select(b, hit, index, last), 1, &dim, false));
}

/* Cumsum and Cumprod(x, axis). Prefix sums and products as a window of the whole dimension, padded
 * in front. The window of size n ends at the element. `exclusive` leaves the element itself out by
 * a shift of one; `reverse` turns the array around before and after. */
hr_status_t tf_lower_cumulate(tf_op_t *op) {
  hlo_window_dim_t window[HLO_MAX_RANK];
  int64_t axis, dim;
  bool exclusive, reverse;
  int at;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_const_int(op, 1, &axis));
  HR_TRY(tf_axis(op, axis, x->shape->rank, &at));
  HR_TRY(tf_attr_bool(op->arena, op->node, "exclusive", false, &exclusive));
  HR_TRY(tf_attr_bool(op->arena, op->node, "reverse", false, &reverse));
  int64_t size = x->shape->dims[at];
  if (!size) return tf_out(op, 0, x);
  dim = at;
  hlo_opcode_t scalar_op = (hlo_opcode_t)op->row->variant;
  for (int d = 0; d < x->shape->rank; d++)
    window[d] =
        (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  window[at].size = size;
  window[at].pad_low = exclusive ? size : size - 1;
  window[at].pad_high = exclusive ? -1 : 0;
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  expr_t init = x ? tf_identity_value(op->b, scalar_op, x->shape->dtype) : NULL;
  x = tf_reduce_window(op, scalar_op, x, init, window);
  if (reverse) HR_TRY(tf_reverse(op, x, 1, &dim, &x));
  return tf_out(op, 0, x);
}

/* --- products --- */

/* One operand of a product with its last two dimensions exchanged, conjugated if wanted. */
static expr_t exchange_last(hlo_builder_t *b, expr_t x, bool transpose) {
  int64_t order[HLO_MAX_RANK];
  if (!x || !transpose) return x;
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) order[d] = d;
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  return tf_transpose(b, x, order);
}

static expr_t conjugate_if(hlo_builder_t *b, expr_t x, bool conjugate) {
  if (!x || !conjugate || !hr_dtype_is_complex(x->shape->dtype)) return x;
  return hlo_build_binary(b, HLO_COMPLEX, hlo_build_unary(b, HLO_REAL, x),
                          e_neg(b, hlo_build_unary(b, HLO_IMAG, x)));
}

/* Batched product; leading dimensions broadcast.
 * [.., m, k] times [.., k, n]: the last dimension of x is contracted with the one before the
 * last of y. */
static expr_t batch_matmul(hlo_builder_t *b, expr_t x, expr_t y) {
  int64_t xd[HLO_MAX_RANK], yd[HLO_MAX_RANK], batch[HLO_MAX_RANK];
  if (!x || !y) return NULL;
  int xr = x->shape->rank, yr = y->shape->rank;
  int rank = xr > yr ? xr : yr;
  for (int d = 0; d < rank; d++) {
    int64_t xn = d < rank - xr ? 1 : x->shape->dims[d - (rank - xr)];
    int64_t yn = d < rank - yr ? 1 : y->shape->dims[d - (rank - yr)];
    bool is_batch = d < rank - 2;
    xd[d] = is_batch && xn == 1 ? yn : xn;
    yd[d] = is_batch && yn == 1 ? xn : yn;
    batch[d] = d;
  }
  x = tf_broadcast(b, x, rank, xd);
  y = tf_broadcast(b, y, rank, yd);
  int64_t last = rank - 1, before = rank - 2;
  return tf_dot(b, x, y, rank - 2, batch, batch, 1, &last, &before);
}

/* MatMul transposes by transpose_a and transpose_b. BatchMatMul (variant 1) has adj_x and adj_y,
 * which also conjugate. The result has the type Tout; SparseMatMul (variant 2) gives f32. */
hr_status_t tf_lower_matmul(tf_op_t *op) {
  bool batch = op->row->variant == 1;
  bool left, right;
  hr_dtype_t dtype;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "Tout", &dtype));
  if (op->row->variant == 2) dtype = HR_F32;
  HR_TRY(tf_attr_bool(op->arena, op->node, batch ? "adj_x" : "transpose_a", false, &left));
  HR_TRY(tf_attr_bool(op->arena, op->node, batch ? "adj_y" : "transpose_b", false, &right));
  expr_t x = tf_in(op, 0);
  expr_t y = tf_in(op, 1);
  if (!x || !y) return hlo_builder_finish(op->b);
  if (x->shape->rank < 2 || y->shape->rank < 2) return tf_error(op, "a product of vectors");
  bool narrows = hr_dtype_is_integer(dtype) && hr_dtype_is_float(x->shape->dtype);
  if (dtype != HR_TUPLE && !narrows) x = hlo_build_convert(op->b, x, dtype);
  if (dtype != HR_TUPLE && !narrows) y = hlo_build_convert(op->b, y, dtype);
  x = conjugate_if(op->b, exchange_last(op->b, x, left), batch && left);
  y = conjugate_if(op->b, exchange_last(op->b, y, right), batch && right);
  expr_t product = batch_matmul(op->b, x, y);
  return tf_out(op, 0, narrows && product ? hlo_build_convert(op->b, product, dtype) : product);
}

/* Labels of an Einstein sum; "..." becomes labels 128, 129, ... counted from the right.
 * Counting from the right makes the hidden dimensions of operands of different rank correspond. */
typedef struct labels {
  int count;
  int at[HLO_MAX_RANK];
} labels_t;

/* Reads the labels of one operand, up to ',' or "->", and leaves *at behind them. The rank of
 * the operand says how many dimensions "..." stands for. */
static hr_status_t read_labels(tf_op_t *op, const char **at, const char *end, int rank,
                               labels_t *out) {
  int letters = 0;
  const char *p = *at;
  for (; p < end && *p != ',' && *p != '-'; p++) letters += *p != '.' && *p != ' ';
  out->count = 0;
  for (; *at < p; ++*at) {
    if (**at == ' ') continue;
    if (**at == '.') {
      for (int hidden = rank - letters; hidden > 0 && out->count < HLO_MAX_RANK; hidden--)
        out->at[out->count++] = 127 + hidden;
      *at += 2;
    } else if (out->count < HLO_MAX_RANK) {
      out->at[out->count++] = **at;
    }
  }
  if (rank >= 0 && out->count != rank) return tf_error(op, "the equation does not fit the shapes");
  return NULL;
}

/* Dimension with this label; -1: none. */
static int find_label(const labels_t *labels, int label) {
  for (int i = 0; i < labels->count; i++)
    if (labels->at[i] == label) return i;
  return -1;
}

/* Sums over labels that neither the other operand nor the result has. */
static expr_t reduce_free(tf_op_t *op, expr_t x, labels_t *own, const labels_t *other,
                          const labels_t *result) {
  int64_t dims[HLO_MAX_RANK];
  int count = 0, left = 0;
  for (int i = 0; i < own->count; i++) {
    bool needed = find_label(result, own->at[i]) >= 0 || find_label(other, own->at[i]) >= 0;
    if (needed)
      own->at[left++] = own->at[i];
    else
      dims[count++] = i;
  }
  own->count = left;
  return tf_reduce(op, HLO_ADD, x, count, dims, false);
}

/* Dimension i of the result repeats a label: x, which has each label once, becomes its diagonals,
 * with zeros beside them. */
static expr_t put_on_diagonals(hlo_builder_t *b, expr_t x, const labels_t *result) {
  tf_sizes_t sizes = {.rank = result->count};
  int64_t from[HLO_MAX_RANK], count = 0;
  for (int i = 0; i < result->count; i++)
    if (find_label(result, result->at[i]) == i) from[count++] = i;
  if (!x || count == result->count) return x;
  for (int k = 0; k < count; k++)
    for (int i = (int)from[k]; i < result->count; i++)
      if (result->at[i] == result->at[from[k]]) sizes.dims[i] = x->shape->dims[k];
  x = tf_broadcast_in_sized(b, x, &sizes, (hr_ints_t){from, count});
  for (int i = 0; x && i < result->count; i++) {
    int first = find_label(result, result->at[i]);
    if (first == i) continue;
    expr_t same = e_eq(b, tf_iota_like(b, HR_S32, x, first), tf_iota_like(b, HR_S32, x, i));
    x = e_select(b, same, x, e_number(b, 0, x));
  }
  return x;
}

/* `own` are the labels of x's dimensions. The transpose puts them in the order of the result. */
static hr_status_t order_result(tf_op_t *op, expr_t x, const labels_t *own,
                                const labels_t *result) {
  int64_t order[HLO_MAX_RANK];
  int count = 0;
  for (int i = 0; i < result->count; i++) {
    int from = find_label(own, result->at[i]);
    if (from < 0) return tf_unsupported(op, "an equation with labels that only the result has");
    if (find_label(result, result->at[i]) == i) order[count++] = from;
  }
  if (count != own->count) return tf_error(op, "an equation that does not fit its operands");
  return tf_out(op, 0, put_on_diagonals(op->b, tf_transpose(op->b, x, order), result));
}

/* Labels of both operands are batch dimensions if the result has them, else they are contracted.
 * The dot's dimensions are the batch ones, then those of x alone, then those of y alone. */
static hr_status_t einsum_pair(tf_op_t *op, expr_t x, expr_t y, labels_t in[2],
                               const labels_t *result) {
  int64_t xb[HLO_MAX_RANK], yb[HLO_MAX_RANK], xc[HLO_MAX_RANK], yc[HLO_MAX_RANK];
  int batch = 0, contract = 0;
  labels_t all = {0};
  if (in[0].count + in[1].count > HLO_MAX_RANK) return tf_unsupported(op, "so many labels");
  x = reduce_free(op, x, &in[0], &in[1], result);
  y = reduce_free(op, y, &in[1], &in[0], result);
  for (int i = 0; i < in[0].count; i++) {
    int k = find_label(&in[1], in[0].at[i]);
    if (k < 0) continue;
    bool is_batch = find_label(result, in[0].at[i]) >= 0;
    (is_batch ? xb : xc)[is_batch ? batch : contract] = i;
    (is_batch ? yb : yc)[is_batch ? batch : contract] = k;
    if (is_batch) all.at[all.count++] = in[0].at[i];
    *(is_batch ? &batch : &contract) += 1;
  }
  for (int i = 0; i < in[0].count; i++)
    if (find_label(&in[1], in[0].at[i]) < 0) all.at[all.count++] = in[0].at[i];
  for (int i = 0; i < in[1].count; i++)
    if (find_label(&in[0], in[1].at[i]) < 0) all.at[all.count++] = in[1].at[i];
  return order_result(op, tf_dot(op->b, x, y, batch, xb, yb, contract, xc, yc), &all, result);
}

/* The diagonal of dimensions i and j with one label, which i keeps. */
static expr_t take_diagonal(tf_op_t *op, expr_t x, labels_t *labels, int i, int j) {
  hlo_builder_t *b = op->b;
  int64_t dim = j;
  if (!x) return NULL;
  if (x->shape->dims[i] != x->shape->dims[j]) return NULL;
  expr_t first = tf_iota_like(b, HR_S32, x, i);
  expr_t second = tf_iota_like(b, HR_S32, x, j);
  x = e_select(b, e_eq(b, first, second), x, e_number(b, 0, x));
  for (int k = j; k + 1 < labels->count; k++) labels->at[k] = labels->at[k + 1];
  labels->count--;
  return tf_reduce(op, HLO_ADD, x, 1, &dim, false);
}

/* Makes the labels of an operand differ: "ijj" becomes "ij". */
static hr_status_t take_diagonals(tf_op_t *op, expr_t *x, labels_t *labels) {
  for (int i = 0; i < labels->count; i++)
    for (int j = labels->count - 1; j > i; j--)
      if (labels->at[i] == labels->at[j]) {
        *x = take_diagonal(op, *x, labels, i, j);
        if (!*x) return tf_error(op, "sizes of a repeated label differ");
      }
  return NULL;
}

/* Einsum, attribute equation such as "ij,jk->ik", of one or two operands. Labels of the result
 * alone are not handled. `rank` is the largest number of hidden dimensions. */
hr_status_t tf_lower_einsum(tf_op_t *op) {
  hr_str_t equation;
  labels_t in[2] = {{0}, {0}}, result, none = {0};
  expr_t x[2] = {NULL, NULL};
  HR_TRY(tf_attr_str(op->arena, op->node, "equation", "", &equation));
  const char *at = equation.data, *end = at + equation.size;
  int rank = 0;
  if (op->input_count < 1 || op->input_count > 2)
    return tf_unsupported(op, "%d operands", op->input_count);
  for (int k = 0; k < op->input_count; k++) {
    x[k] = tf_in(op, k);
    if (!x[k]) return hlo_builder_finish(op->b);
    HR_TRY(read_labels(op, &at, end, x[k]->shape->rank, &in[k]));
    HR_TRY(take_diagonals(op, &x[k], &in[k]));
    for (int i = 0; i < in[k].count; i++)
      if (in[k].at[i] > 127 && in[k].at[i] - 127 > rank) rank = in[k].at[i] - 127;
    while (at < end && (*at == ',' || *at == '-' || *at == '>')) at++;
  }
  int letters = 0;
  bool dots = memchr(at, '.', (size_t)(end - at)) != NULL;
  for (const char *p = at; p < end; p++) letters += *p != '.' && *p != ' ';
  HR_TRY(read_labels(op, &at, end, letters + (dots ? rank : 0), &result));
  if (op->input_count == 2) return einsum_pair(op, x[0], x[1], in, &result);
  x[0] = reduce_free(op, x[0], &in[0], &none, &result);
  return order_result(op, x[0], &in[0], &result);
}

/* --- softmax and losses --- */

/* x minus its maximum along the last dimension.
 * The exponentials of the differences are at most 1 and do not overflow; the quotient is the
 * same. */
static expr_t shifted_logits(tf_op_t *op, expr_t x) {
  int64_t last = x->shape->rank - 1;
  expr_t top = tf_reduce(op, HLO_MAXIMUM, x, 1, &last, true);
  return e_sub(op->b, x, tf_broadcast_like(op->b, top, x));
}

/* `spread`: the sum is repeated over the shape of x. */
static expr_t sum_last(tf_op_t *op, expr_t x, bool spread) {
  if (!x) return NULL;
  int64_t last = x->shape->rank - 1;
  expr_t sum = tf_reduce(op, HLO_ADD, x, 1, &last, spread);
  return spread ? tf_broadcast_like(op->b, sum, x) : sum;
}

static hr_status_t check_logits(tf_op_t *op, expr_t x) {
  if (x && x->shape->rank < 1) return tf_error(op, "logits without classes");
  return NULL;
}

/* Softmax: e^x / sum e^x along the last dimension. LogSoftmax (variant 1): x - log(sum e^x),
 * from the shifted logits and not from the logarithm of a quotient, which may be 0. */
hr_status_t tf_lower_softmax(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  HR_TRY(check_logits(op, x));
  if (!x) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype;
  if (is_narrow_float(dtype)) x = hlo_build_convert(b, x, HR_F32);
  expr_t shifted = x ? shifted_logits(op, x) : NULL;
  expr_t powers = e_exp(b, shifted);
  expr_t sum = sum_last(op, powers, true);
  x = op->row->variant ? e_sub(b, shifted, e_log(b, sum)) : e_div(b, powers, sum);
  return tf_out(op, 0, x && x->shape->dtype != dtype ? hlo_build_convert(b, x, dtype) : x);
}

/* SoftmaxCrossEntropyWithLogits(features, labels): loss = sum labels (log(sum e^x) - x), backprop =
 * softmax - labels. Sparse labels are turned into rows with a single 1. Outputs: loss by row, and
 * the gradient with respect to the logits. Variant 1: labels are classes. */
hr_status_t tf_lower_cross_entropy(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0);
  expr_t labels = tf_in(op, 1);
  HR_TRY(check_logits(op, x));
  if (!x || !labels) return hlo_builder_finish(b);
  if (op->row->variant) {
    if (x->shape->rank != 2) return tf_error(op, "logits of %d dimensions", x->shape->rank);
    int64_t wide[] = {x->shape->dims[0], 1};
    expr_t classes = tf_broadcast_like(b, tf_reshape(b, labels, 2, wide), x);
    expr_t index = tf_iota_like(b, labels->shape->dtype, x, 1);
    expr_t hit = e_eq(b, classes, index);
    labels = hit ? hlo_build_convert(b, hit, x->shape->dtype) : NULL;
  } else {
    tf_broadcast_pair(b, &x, &labels);
    if (!x) return hlo_builder_finish(b);
  }
  expr_t shifted = shifted_logits(op, x);
  expr_t powers = e_exp(b, shifted);
  expr_t sum = sum_last(op, powers, true);
  expr_t terms = e_mul(b, labels, e_sub(b, e_log(b, sum), shifted));
  HR_TRY(tf_out(op, 0, sum_last(op, terms, false)));
  return tf_out(op, 1, e_sub(b, e_div(b, powers, sum), labels));
}

/* --- biases and batch normalisation --- */

/* Attribute data_format: NCHW and NCDHW have the channels second, others last. */
static hr_status_t channel_dim(tf_op_t *op, int rank, int *out_dim) {
  hr_str_t format;
  HR_TRY(tf_attr_str(op->arena, op->node, "data_format", "NHWC", &format));
  if (rank < 2) return tf_error(op, "an array of %d dimensions", rank);
  *out_dim = format.size > 1 && format.data[0] == 'N' && format.data[1] == 'C' ? 1 : rank - 1;
  return NULL;
}

/* A vector of channels over the shape of x. */
static expr_t spread_channels(hlo_builder_t *b, expr_t vector, expr_t x, int channel) {
  int64_t dims[HLO_MAX_RANK];
  if (!vector || !x) return NULL;
  for (int d = 0; d < x->shape->rank; d++) dims[d] = d == channel ? x->shape->dims[d] : 1;
  return tf_broadcast_like(b, tf_reshape(b, vector, x->shape->rank, dims), x);
}

/* All dimensions but that of the channels, for sums by channel. */
static int other_dims(expr_t x, int channel, int64_t *dims) {
  int count = 0;
  for (int d = 0; d < x->shape->rank; d++)
    if (d != channel) dims[count++] = d;
  return count;
}

/* BiasAdd(value, bias): the bias is a vector by channel. */
hr_status_t tf_lower_bias_add(tf_op_t *op) {
  int channel;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(channel_dim(op, x->shape->rank, &channel));
  return tf_out(op, 0, e_add(op->b, x, spread_channels(op->b, tf_in(op, 1), x, channel)));
}

/* BiasAddGrad: the sum over everything but the channels. */
hr_status_t tf_lower_bias_add_grad(tf_op_t *op) {
  int64_t dims[HLO_MAX_RANK];
  int channel;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(channel_dim(op, x->shape->rank, &channel));
  return tf_out(op, 0, tf_reduce(op, HLO_ADD, x, other_dims(x, channel, dims), dims, false));
}

/* Elements of each channel of x, as numbers like `like`. */
static expr_t count_by_channel(hlo_builder_t *b, expr_t x, int channel, expr_t like) {
  double fixed = (double)hlo_shape_elements(x->shape) / (double)x->shape->dims[channel];
  if (!like || !hlo_shape_is_dynamic(x->shape)) return e_number(b, fixed, like);
  expr_t count = e_div(b, tf_element_count(b, x), tf_size_of(b, x, channel));
  return tf_broadcast_like(b, hlo_build_convert(b, count, like->shape->dtype), like);
}

/* n / (n - 1), and 1 for a single element. */
static expr_t unbiased_factor(hlo_builder_t *b, expr_t n) {
  expr_t one = e_number(b, 1, n);
  return n ? e_div(b, n, e_max(b, e_sub(b, n, one), one)) : NULL;
}

/* Scale, offset and statistics are bf16 or f32 and computed with in f32. */
static expr_t wide_input(tf_op_t *op, int k) {
  expr_t x = tf_in(op, k);
  return x ? hlo_build_convert(op->b, x, HR_F32) : NULL;
}

/* FusedBatchNorm to V3: y = (x - mean) scale / sqrt(variance + epsilon) + offset by channel, in
 * f32. Without is_training, inputs 3 and 4 are used. With exponential_avg_factor f below 1, the
 * returned mean and variance are (1 - f) old + f new. Inputs: x, scale, offset, mean, variance.
 * Outputs: y, mean, variance, and the two for the gradient. In training the returned variance is
 * unbiased, the one for the gradient is not. */
hr_status_t tf_lower_batch_norm(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  double epsilon, factor;
  bool training;
  int channel;
  int64_t dims[HLO_MAX_RANK];
  expr_t in = tf_in(op, 0), scale = wide_input(op, 1), offset = wide_input(op, 2);
  expr_t mean = wide_input(op, 3), variance = wide_input(op, 4);
  if (!in || !variance) return hlo_builder_finish(b);
  HR_TRY(tf_attr_float(op->arena, op->node, "epsilon", 1e-4, &epsilon));
  HR_TRY(tf_attr_float(op->arena, op->node, "exponential_avg_factor", 1, &factor));
  HR_TRY(tf_attr_bool(op->arena, op->node, "is_training", true, &training));
  HR_TRY(channel_dim(op, in->shape->rank, &channel));
  expr_t x = in->shape->dtype == HR_F32 ? in : hlo_build_convert(b, in, HR_F32);
  expr_t used_mean = mean, used_variance = variance;
  if (training && x) {
    int count = other_dims(x, channel, dims);
    expr_t sum = tf_reduce(op, HLO_ADD, x, count, dims, false);
    expr_t n = count_by_channel(b, x, channel, sum);
    used_mean = e_div(b, sum, n);
    expr_t difference = e_sub(b, x, spread_channels(b, used_mean, x, channel));
    expr_t squares = tf_reduce(op, HLO_ADD, e_mul(b, difference, difference), count, dims, false);
    used_variance = e_div(b, squares, n);
    expr_t unbiased = e_mul(b, used_variance, unbiased_factor(b, n));
    expr_t rest = unbiased && factor != 1 ? e_number(b, 1 - factor, unbiased) : NULL;
    expr_t part = rest ? e_number(b, factor, unbiased) : NULL;
    mean = rest ? e_add(b, e_mul(b, rest, mean), e_mul(b, part, used_mean)) : used_mean;
    variance = rest ? e_add(b, e_mul(b, rest, variance), e_mul(b, part, unbiased)) : unbiased;
  }
  if (!used_variance) return hlo_builder_finish(b);
  expr_t inverse = e_rsqrt(b, e_add(b, used_variance, e_number(b, epsilon, used_variance)));
  expr_t slope = e_mul(b, inverse, scale);
  expr_t centred = e_sub(b, x, spread_channels(b, used_mean, x, channel));
  expr_t y = e_add(b, e_mul(b, centred, spread_channels(b, slope, x, channel)),
                   spread_channels(b, offset, x, channel));
  if (y && in->shape->dtype != HR_F32) y = hlo_build_convert(b, y, in->shape->dtype);
  HR_TRY(tf_out(op, 0, y));
  expr_t statistics[] = {mean, variance, used_mean, used_variance};
  for (int k = 0; k < 4; k++)
    HR_TRY(tf_out(op, k + 1, hlo_build_convert(b, statistics[k], tf_in_dtype(op, 1))));
  int64_t reserve_size = 0; /* only GPUs use the reserve space */
  return tf_out(op, 5, tf_fill(b, 0, tf_in_dtype(op, 1), 1, &reserve_size));
}

/* inputs: dy, x, scale, mean, variance (of FusedBatchNorm's reserve spaces).
 * With d = x - mean, r = 1 / sqrt(variance + epsilon) and means over all but the channels:
 *   dx = scale r (dy - mean(dy) - d r^2 mean(dy d))   in training, else scale r dy
 *   dscale = r sum(dy d)   doffset = sum(dy)
 * Outputs 3 and 4 are reserved and empty. */
hr_status_t tf_lower_batch_norm_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  double epsilon;
  bool training;
  int channel;
  int64_t dims[HLO_MAX_RANK];
  expr_t dy = tf_in(op, 0), x = tf_in(op, 1), scale = tf_in(op, 2);
  expr_t mean = wide_input(op, 3), variance = wide_input(op, 4);
  if (!dy || !x || !scale || !variance) return hlo_builder_finish(b);
  hr_dtype_t dtype = x->shape->dtype, wide = scale->shape->dtype; /* f16 and bf16 with f32 */
  dy = hlo_build_convert(b, dy, wide);
  x = hlo_build_convert(b, x, wide);
  if (!dy || !x) return hlo_builder_finish(b);
  HR_TRY(tf_attr_float(op->arena, op->node, "epsilon", 1e-4, &epsilon));
  HR_TRY(tf_attr_bool(op->arena, op->node, "is_training", true, &training));
  HR_TRY(channel_dim(op, x->shape->rank, &channel));
  int count = other_dims(x, channel, dims);
  expr_t inverse = e_rsqrt(b, e_add(b, variance, e_number(b, epsilon, variance)));
  expr_t centred = e_sub(b, x, spread_channels(b, mean, x, channel));
  expr_t sum_dy = tf_reduce(op, HLO_ADD, dy, count, dims, false);
  expr_t sum_dy_x = tf_reduce(op, HLO_ADD, e_mul(b, dy, centred), count, dims, false);
  expr_t slope = e_mul(b, scale, inverse);
  expr_t dx = dy;
  if (training && sum_dy && sum_dy_x) {
    expr_t size = count_by_channel(b, x, channel, sum_dy);
    expr_t mean_dy = e_div(b, sum_dy, size);
    expr_t along = e_mul(b, e_div(b, sum_dy_x, size), e_mul(b, inverse, inverse));
    dx = e_sub(b, e_sub(b, dy, spread_channels(b, mean_dy, x, channel)),
               e_mul(b, centred, spread_channels(b, along, x, channel)));
  }
  dx = e_mul(b, dx, spread_channels(b, slope, x, channel));
  HR_TRY(tf_out(op, 0, dx ? hlo_build_convert(b, dx, dtype) : NULL));
  expr_t d_scale = e_mul(b, sum_dy_x, inverse);
  if (!d_scale || !sum_dy) return hlo_builder_finish(b);
  HR_TRY(tf_out(op, 1, hlo_build_convert(b, d_scale, tf_in_dtype(op, 3))));
  HR_TRY(tf_out(op, 2, hlo_build_convert(b, sum_dy, tf_in_dtype(op, 3))));
  int64_t reserve_size = 0;
  HR_TRY(tf_out(op, 3, tf_fill(b, 0, HR_F32, 1, &reserve_size)));
  return tf_out(op, 4, tf_fill(b, 0, HR_F32, 1, &reserve_size));
}
