/* Diagonals of whole tensors, vectors of three, patches of images, local response normalisation,
 * and vectors that describe data formats. */
#include <string.h>

#include "tf/lower/tf_window.h"

/* MatrixSetDiag(input, diagonal). Matrices whose main diagonal is replaced. The diagonal has
 * min(rows, columns) elements and is padded to the rows; row i then carries element i in all
 * columns, of which the mask takes column i. */
hr_status_t tf_lower_matrix_set_diag(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t column[HLO_MAX_RANK], low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0};
  expr_t x = tf_in(op, 0), diagonal = tf_in(op, 1);
  if (!x || !diagonal) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  if (rank < 2 || diagonal->shape->rank != rank - 1)
    return tf_error(op, "the diagonal does not fit");
  high[rank - 2] = x->shape->dims[rank - 2] - diagonal->shape->dims[rank - 2];
  diagonal = tf_pad(b, diagonal, tf_scalar(b, 0, x->shape->dtype), low, high, NULL);
  for (int d = 0; d < rank; d++) column[d] = d == rank - 1 ? 1 : x->shape->dims[d];
  diagonal = tf_broadcast_like(b, tf_reshape(b, diagonal, rank, column), x);
  expr_t row = tf_iota_like(b, HR_S32, x, rank - 2);
  expr_t place = tf_iota_like(b, HR_S32, x, rank - 1);
  return tf_out(op, 0, f_select(b, f_eq(b, row, place), diagonal, x));
}

/* True where row and column agree. */
static expr_t square_mask(hlo_builder_t *b, int64_t size) {
  int64_t dims[] = {size, size};
  return f_eq(b, tf_iota(b, HR_S32, 2, dims, 0), tf_iota(b, HR_S32, 2, dims, 1));
}

/* Diag. Sizes [d..., d...] with x where both halves of the index agree, 0 elsewhere. Seen as a
 * matrix of size elements by size elements, x lies on the main diagonal. */
hr_status_t tf_lower_diag(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t dims[HLO_MAX_RANK];
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank;
  int64_t size = hlo_shape_elements(x->shape), column[] = {size, 1}, wide[] = {size, size};
  if (2 * rank > HLO_MAX_RANK) return tf_error(op, "too many dimensions");
  for (int d = 0; d < 2 * rank; d++) dims[d] = x->shape->dims[d % rank];
  expr_t spread = tf_broadcast(b, tf_reshape(b, x, 2, column), 2, wide);
  if (!spread) return hlo_builder_finish(b);
  expr_t result = f_select(b, square_mask(b, size), spread, f_number(b, 0, spread));
  return tf_out(op, 0, tf_reshape(b, result, 2 * rank, dims));
}

/* DiagPart, the opposite of Diag: the sizes must be [d..., d...]. */
hr_status_t tf_lower_diag_part(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t size = 1, dim = 1;
  expr_t x = tf_in(op, 0);
  if (!x) return hlo_builder_finish(b);
  int rank = x->shape->rank / 2;
  for (int d = 0; d < rank; d++) {
    if (x->shape->rank % 2 || x->shape->dims[d] != x->shape->dims[d + rank])
      return tf_error(op, "the two halves of the sizes differ");
    size *= x->shape->dims[d];
  }
  int64_t square[] = {size, size};
  expr_t flat = tf_reshape(b, x, 2, square);
  if (!flat) return hlo_builder_finish(b);
  expr_t masked = f_select(b, square_mask(b, size), flat, f_number(b, 0, flat));
  expr_t sum = tf_reduce(op, HLO_ADD, masked, 1, &dim, false);
  return tf_out(op, 0, tf_reshape(b, sum, rank, x->shape->dims));
}

/* Cross. Products of vectors along the last dimension of 3. Component i is x[j] y[k] - x[k] y[j]
 * with j = i + 1 and k = i + 2 modulo 3. */
hr_status_t tf_lower_cross(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  expr_t x = tf_in(op, 0), y = tf_in(op, 1), parts[3];
  if (!x || !y) return hlo_builder_finish(b);
  int last = x->shape->rank - 1;
  if (last < 0 || x->shape->dims[last] != 3 || !hlo_shape_equal(x->shape, y->shape))
    return tf_error(op, "want two arrays of vectors of 3");
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    parts[i] =
        f_sub(b, f_mul(b, tf_slice_dim(b, x, last, j, j + 1), tf_slice_dim(b, y, last, k, k + 1)),
              f_mul(b, tf_slice_dim(b, x, last, k, k + 1), tf_slice_dim(b, y, last, j, j + 1)));
    if (!parts[i]) return hlo_builder_finish(b);
  }
  return tf_out(op, 0, tf_concat(b, 3, parts, last));
}

/* --- images --- */

/* ksizes, strides and rates are lists for NHWC, whose entries for batch and channels are 1. */
static hr_status_t window_list(tf_op_t *op, const char *name, int64_t out[2]) {
  hr_ints_t list;
  HR_TRY(tf_attr_ints(op->arena, op->node, name, &list));
  if (list.count != 4 || list.data[0] != 1 || list.data[3] != 1 || list.data[1] < 1 ||
      list.data[2] < 1 || list.data[1] > 4096 || list.data[2] > 4096)
    return tf_error(op, "attribute %s is not [1, rows, columns, 1]", name);
  out[0] = list.data[1];
  out[1] = list.data[2];
  return NULL;
}

/* ExtractImagePatches. Patches [batch, rows, columns, height width channels]: a strided slice for
 * each place in them. Entry (r, c) of a patch lies at (r, c) times `rates`; one strided slice of
 * the image takes that entry of all patches, and the slices are joined as channels. SAME pads with
 * zeros, with the odd element at the end. */
hr_status_t tf_lower_image_patches(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t size[2], stride[2], rate[2], low[4] = {0}, high[4] = {0}, results[2];
  hr_str_t padding;
  expr_t x = tf_in(op, 0), *parts;
  if (!x) return hlo_builder_finish(b);
  if (x->shape->rank != 4) return tf_error(op, "an image of %d dimensions", x->shape->rank);
  HR_TRY(window_list(op, "ksizes", size));
  HR_TRY(window_list(op, "strides", stride));
  HR_TRY(window_list(op, "rates", rate));
  HR_TRY(tf_attr_str(op->arena, op->node, "padding", "VALID", &padding));
  if (size[0] * size[1] > TF_MAX_PARTS)
    return tf_unsupported(op, "patches of %ld by %ld", (long)size[0], (long)size[1]);
  for (int s = 0; s < 2; s++) {
    int64_t reach = (size[s] - 1) * rate[s] + 1, from = x->shape->dims[s + 1];
    bool same = hr_str_is(padding, "SAME");
    results[s] = same ? (from + stride[s] - 1) / stride[s] : (from - reach + stride[s]) / stride[s];
    if (results[s] < 1) return tf_error(op, "a patch is larger than the image");
    int64_t more = (results[s] - 1) * stride[s] + reach - from;
    low[s + 1] = same && more > 0 ? more / 2 : 0;
    high[s + 1] = same && more > 0 ? more - more / 2 : 0;
  }
  x = tf_pad(b, x, tf_scalar(b, 0, x->shape->dtype), low, high, NULL);
  HR_TRY(HR_NEW_ARRAY(op->arena, size[0] * size[1], &parts));
  for (int64_t i = 0; i < size[0] * size[1] && x; i++) {
    int64_t at[] = {i / size[1] * rate[0], i % size[1] * rate[1]};
    int64_t starts[] = {0, at[0], at[1], 0}, steps[] = {1, stride[0], stride[1], 1};
    int64_t limits[] = {x->shape->dims[0], at[0] + (results[0] - 1) * stride[0] + 1,
                        at[1] + (results[1] - 1) * stride[1] + 1, x->shape->dims[3]};
    parts[i] = tf_slice(b, x, starts, limits, steps);
    if (!parts[i]) return hlo_builder_finish(b);
  }
  return tf_out(op, 0, x ? tf_concat(b, (int)(size[0] * size[1]), parts, 3) : NULL);
}

/* Attributes of LRN: half the width of the window over channels, and the constants of the
 * formula. */
typedef struct response {
  int64_t radius;
  double bias, alpha, beta;
} response_t;

static hr_status_t read_response(tf_op_t *op, response_t *out) {
  HR_TRY(tf_attr_int(op->arena, op->node, "depth_radius", 5, &out->radius));
  HR_TRY(tf_attr_float(op->arena, op->node, "bias", 1, &out->bias));
  HR_TRY(tf_attr_float(op->arena, op->node, "alpha", 1, &out->alpha));
  return tf_attr_float(op->arena, op->node, "beta", 0.5, &out->beta);
}

/* Sums over neighbouring channels.
 * The window has 2 radius + 1 channels, centred on its own; channels outside count as 0. */
static expr_t sum_channels(tf_op_t *op, const response_t *r, expr_t x) {
  hlo_window_dim_t dims[4];
  if (!x) return NULL;
  for (int d = 0; d < 4; d++)
    dims[d] = (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  dims[3].size = 2 * r->radius + 1;
  dims[3].pad_low = r->radius;
  dims[3].pad_high = r->radius;
  return tf_reduce_window(op, HLO_ADD, x, tf_scalar(op->b, 0, x->shape->dtype), dims);
}

/* N = bias + alpha sum of x^2 over neighbouring channels. */
static expr_t response_norm(tf_op_t *op, const response_t *r, expr_t x) {
  hlo_builder_t *b = op->b;
  expr_t sum = sum_channels(op, r, f_mul(b, x, x));
  if (!sum) return NULL;
  return f_add(b, f_number(b, r->bias, sum), f_mul(b, f_number(b, r->alpha, sum), sum));
}

/* x / (bias + alpha sum of squares)^beta */
hr_status_t tf_lower_lrn(tf_op_t *op) {
  response_t r;
  expr_t x = tf_in(op, 0);
  HR_TRY(read_response(op, &r));
  if (!x) return hlo_builder_finish(op->b);
  if (x->shape->rank != 4 || r.radius < 0) return tf_error(op, "want four dimensions");
  expr_t norm = response_norm(op, &r, x);
  return tf_out(op, 0,
                norm ? f_mul(op->b, x, f_pow(op->b, norm, f_number(op->b, -r.beta, norm))) : NULL);
}

/* LRNGrad: dx = dy N^-beta - 2 alpha beta x sum(y dy / N), where the sum is over neighbours.
 * Inputs: dy, x, y. */
hr_status_t tf_lower_lrn_grad(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  response_t r;
  expr_t dy = tf_in(op, 0), x = tf_in(op, 1), y = tf_in(op, 2);
  HR_TRY(read_response(op, &r));
  if (!dy || !x || !y) return hlo_builder_finish(b);
  if (x->shape->rank != 4 || r.radius < 0) return tf_error(op, "want four dimensions");
  expr_t norm = response_norm(op, &r, x);
  if (!norm) return hlo_builder_finish(b);
  expr_t direct = f_mul(b, dy, f_pow(b, norm, f_number(b, -r.beta, norm)));
  expr_t shared = sum_channels(op, &r, f_div(b, f_mul(b, y, dy), norm));
  expr_t factor = f_mul(b, f_number(b, -2 * r.alpha * r.beta, x), x);
  return tf_out(op, 0, f_add(b, direct, f_mul(b, factor, shared)));
}

/* --- data formats --- */

/* places[i] is the position in dst_format of letter i of src_format. */
static hr_status_t format_places(tf_op_t *op, int64_t *places, int *out_count) {
  hr_str_t from, to;
  HR_TRY(tf_attr_str(op->arena, op->node, "src_format", "NHWC", &from));
  HR_TRY(tf_attr_str(op->arena, op->node, "dst_format", "NCHW", &to));
  if (from.size != to.size || from.size < 1 || from.size > 5)
    return tf_error(op, "formats of different sizes");
  *out_count = (int)from.size;
  for (size_t i = 0; i < from.size; i++) {
    const char *at = memchr(to.data, from.data[i], to.size);
    if (!at) return tf_error(op, "formats of different letters");
    places[i] = at - to.data;
  }
  return NULL;
}

/* DataFormatDimMap. Each dimension number of one format as that of the other. Negative numbers
 * count from the end. */
hr_status_t tf_lower_format_dim_map(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t places[5];
  int count;
  expr_t x = tf_in(op, 0), result = NULL;
  HR_TRY(format_places(op, places, &count));
  if (!x) return hlo_builder_finish(b);
  for (int i = 0; i < count; i++) {
    expr_t hit = f_or(b, f_eq(b, x, f_number(b, i, x)), f_eq(b, x, f_number(b, i - count, x)));
    expr_t place = f_number(b, (double)places[i], x);
    result = result ? f_select(b, hit, place, result) : place;
  }
  return tf_out(op, 0, result);
}

/* DataFormatVecPermute. Entries [n], or rows [n, 2], in the order of the other format; n may leave
 * out N and C. Entry i moves to the position of its letter. */
hr_status_t tf_lower_format_permute(tf_op_t *op) {
  hlo_builder_t *b = op->b;
  int64_t places[5];
  int count, kept = 0;
  expr_t x = tf_in(op, 0), parts[5] = {NULL};
  HR_TRY(format_places(op, places, &count));
  if (!x) return hlo_builder_finish(b);
  if (x->shape->rank < 1 || x->shape->dims[0] != count)
    return tf_unsupported(op, "vectors without all dimensions");
  for (int i = 0; i < count; i++) parts[places[i]] = tf_slice_dim(b, x, 0, i, i + 1);
  for (int i = 0; i < count; i++) kept += parts[i] != NULL;
  return kept == count ? tf_out(op, 0, tf_concat(b, count, parts, 0)) : hlo_builder_finish(b);
}

/* Zeros of the wanted sizes; variant 1, FakeParam: by the attribute shape. */
hr_status_t tf_lower_empty(tf_op_t *op) {
  int64_t dims[HLO_MAX_RANK];
  hr_dtype_t dtype;
  hr_ints_t sizes;
  int rank;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  if (dtype == HR_TUPLE) return tf_unsupported(op, "an array without numbers");
  if (op->row->variant) {
    HR_TRY(tf_attr_shape(op->arena, op->node, "shape", &rank, dims));
    for (int d = 0; d < rank; d++)
      if (dims[d] < 0) return tf_unsupported(op, "unknown sizes");
    if (rank < 0) return tf_unsupported(op, "an unknown rank");
    return tf_out(op, 0, tf_fill(op->b, 0, dtype, rank, dims));
  }
  HR_TRY(tf_const_ints(op, 0, &sizes));
  return tf_out(op, 0, tf_fill(op->b, 0, dtype, (int)sizes.count, sizes.data));
}
