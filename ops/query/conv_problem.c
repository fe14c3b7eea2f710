/* Reads a convolution as one of the three problems. Each reader maps the dimension numbers of the
 * op to roles and says whether the op has that form:
 *
 *   problem        lhs   rhs   result   condition             stride of the problem
 *   CONV_FORWARD   src   wei   dst      no base dilation      stride
 *   CONV_DATA      dst   wei   src      stride 1              base dilation
 *   CONV_WEIGHTS   src   dst   wei      no base dilation      window dilation
 *
 * An op can have two forms; is_gradient() decides by sizes. One with strides and base dilation is
 * CONV_FORWARD with holes in the input. Negative padding is removed by cropping, so that kernels
 * see paddings >= 0, except with holes. Attributes of the window are limited to 2^30, so
 * that no sum here overflows. Cost: O(rank). */
#include "ops/query/conv_problem.h"

/* Dimension numbers of the op. Every dimension must have a role; otherwise the reference kernel
 * reports the error. */
typedef struct conv_labels {
  const hlo_dim_labels_t *labels;
  const hlo_window_dim_t *window;
  const hlo_shape_t *lhs, *rhs, *out;
  int64_t lhs_strides[HLO_MAX_RANK], rhs_strides[HLO_MAX_RANK], out_strides[HLO_MAX_RANK];
  int64_t feature_groups, batch_groups;
} conv_labels_t;

static bool ranks_match_labels(const conv_labels_t *l) {
  int spatial = l->labels->spatial_rank;
  return spatial <= CONV_MAX_SPATIAL && l->lhs->rank == spatial + 2 &&
         l->rhs->rank == spatial + 2 && l->out->rank == spatial + 2;
}

static conv_array_t activation_strides(const hlo_shape_t *shape, const int64_t *strides,
                                       int spatial, const int64_t *dims, int64_t outer,
                                       int64_t inner) {
  conv_array_t array = {
      .dtype = shape->dtype, .outer = strides[outer], .inner = strides[inner], .count = 1};
  for (int d = 0; d < spatial; d++) array.spatial[d] = strides[dims[d]];
  for (int d = 0; d < shape->rank; d++) array.count *= shape->dims[d];
  return array;
}

/* The form as written: the result is the destination. True if the input has no holes. */
static bool read_forward(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_FORWARD;
  p->batch = l->lhs->dims[n->lhs_batch];
  p->groups = l->feature_groups;
  p->in_channels = l->rhs->dims[n->rhs_input_feature];
  p->out_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_SRC] = activation_strides(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial,
                                           n->lhs_batch, n->lhs_feature);
  p->arrays[CONV_DST] = activation_strides(l->out, l->out_strides, p->spatial, n->out_spatial,
                                           n->out_batch, n->out_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei = activation_strides(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial,
                            n->rhs_output_feature, n->rhs_input_feature);
  wei->group = wei->outer * p->out_channels;
  for (int d = 0; d < p->spatial; d++) {
    p->in[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->out[d] = l->out->dims[n->out_spatial[d]];
    p->window[d] = l->window[d].size;
    p->stride[d] = l->window[d].stride;
    p->dilation[d] = l->window[d].window_dilation;
    p->low[d] = l->window[d].pad_low;
    p->base[d] = l->window[d].base_dilation;
    wei->reversed[d] = l->window[d].reversal;
  }
  return l->batch_groups == 1 && !conv_has_holes(p);
}

/* Base dilation: out[x] = sum over y, k of lhs[y] rhs[k'] where x = y * base dilation + k *
 * dilation - low, and k' is k in reverse order. This is the gradient of a forward convolution's
 * input; lhs is the gradient of its result. */
static bool read_data(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_DATA;
  p->batch = l->lhs->dims[n->lhs_batch];
  p->groups = l->feature_groups;
  p->out_channels = l->rhs->dims[n->rhs_input_feature];
  p->in_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_DST] = activation_strides(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial,
                                           n->lhs_batch, n->lhs_feature);
  p->arrays[CONV_SRC] = activation_strides(l->out, l->out_strides, p->spatial, n->out_spatial,
                                           n->out_batch, n->out_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei = activation_strides(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial,
                            n->rhs_input_feature, n->rhs_output_feature);
  wei->group = wei->inner * p->in_channels;
  for (int d = 0; d < p->spatial; d++) {
    const hlo_window_dim_t *w = &l->window[d];
    p->in[d] = l->out->dims[n->out_spatial[d]];
    p->out[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->window[d] = w->size;
    p->stride[d] = w->base_dilation;
    p->dilation[d] = w->window_dilation;
    p->base[d] = 1;
    p->low[d] = (w->size - 1) * w->window_dilation - w->pad_low;
    wei->reversed[d] = !w->reversal;
    if (w->stride != 1) return false;
  }
  return l->batch_groups == 1;
}

/* The rhs is the gradient of a result, and the features are the batch: out[k] = sum over y of lhs[k
 * * stride + y * window dilation - low] rhs[y]. Groups of such an op are batch groups. */
static bool read_weights(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_WEIGHTS;
  p->batch = l->lhs->dims[n->lhs_feature];
  p->groups = l->batch_groups;
  p->in_channels = l->lhs->dims[n->lhs_batch] / p->groups;
  p->out_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_SRC] = activation_strides(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial,
                                           n->lhs_feature, n->lhs_batch);
  p->arrays[CONV_DST] = activation_strides(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial,
                                           n->rhs_input_feature, n->rhs_output_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei = activation_strides(l->out, l->out_strides, p->spatial, n->out_spatial, n->out_feature,
                            n->out_batch);
  wei->group = wei->outer * p->out_channels;
  for (int d = 0; d < p->spatial; d++) {
    const hlo_window_dim_t *w = &l->window[d];
    p->in[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->out[d] = w->size;
    p->window[d] = l->out->dims[n->out_spatial[d]];
    p->stride[d] = w->window_dilation;
    p->dilation[d] = w->stride;
    p->base[d] = 1;
    p->low[d] = w->pad_low;
    if (w->base_dilation != 1 || w->reversal) return false;
  }
  return l->feature_groups == 1;
}

/* Sets the high padding at which the sizes agree; elements beyond the last window are left out. */
static bool set_high_padding(conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++) {
    int64_t reach = (p->window[d] - 1) * p->dilation[d] + 1;
    p->high[d] =
        (p->out[d] - 1) * p->stride[d] + reach - (p->in[d] - 1) * p->base[d] - 1 - p->low[d];
    if (p->high[d] < 0 && -p->high[d] < p->stride[d]) p->high[d] = 0;
  }
  return true;
}

/* Crops elements that no window covers, so that no padding is negative. Cropped elements of a
 * result are zero. */
static void crop_negative_padding(conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++) {
    if ((p->low[d] >= 0 && p->high[d] >= 0) || conv_has_holes(p)) continue;
    int64_t low = p->low[d] < 0 ? -p->low[d] : 0;
    int64_t high = p->high[d] < 0 ? -p->high[d] : 0;
    p->arrays[CONV_SRC].start += low * p->arrays[CONV_SRC].spatial[d];
    p->in[d] -= low + high;
    p->low[d] += low;
    p->high[d] += high;
    p->zero_first = p->kind == CONV_DATA;
  }
}

static bool has_valid_sizes(const conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++)
    if (p->in[d] < 1 || p->out[d] < 1 || p->window[d] < 1 ||
        (!conv_has_holes(p) && (p->low[d] < 0 || p->high[d] < 0)))
      return false;
  return p->batch > 0 && p->groups > 0 && p->in_channels > 0 && p->out_channels > 0;
}

/* Without spatial dimensions the op is a matrix product: adds one spatial dimension of size 1. */
static void add_position(conv_problem_t *p) {
  if (p->spatial > 0) return;
  p->spatial = 1;
  p->in[0] = 1;
  p->out[0] = 1;
  p->window[0] = 1;
  p->stride[0] = 1;
  p->dilation[0] = 1;
  p->base[0] = 1;
  for (int r = 0; r < CONV_ROLES; r++) p->arrays[r].spatial[0] = 1;
}

/* A single channel is as if channels were innermost. */
static void set_single_channels(conv_problem_t *p) {
  if (p->groups * p->in_channels == 1) p->arrays[CONV_SRC].inner = 1;
  if (p->groups * p->out_channels == 1) p->arrays[CONV_DST].inner = 1;
}

/* True if the window's attributes are far from overflow. */
static bool window_is_bounded(const conv_labels_t *l) {
  const int64_t limit = INT64_C(1) << 30;
  for (int d = 0; d < l->labels->spatial_rank; d++) {
    const hlo_window_dim_t *w = &l->window[d];
    if (w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1 || w->size < 1 ||
        w->stride > limit || w->base_dilation > limit || w->window_dilation > limit ||
        w->size > limit || w->pad_low > limit || w->pad_low < -limit)
      return false;
  }
  return l->feature_groups >= 1 && l->batch_groups >= 1;
}

static double element_count(const int64_t *sizes, int rank) {
  double size = 1;
  for (int d = 0; d < rank; d++) size *= (double)sizes[d];
  return size;
}

/* True for a window with strides and without dilation (patches of an image). */
static bool has_stride_only(const conv_problem_t *forward) {
  bool steps = false, holes = false;
  for (int d = 0; d < forward->spatial; d++) {
    steps |= forward->stride[d] > 1;
    holes |= forward->dilation[d] > 1;
  }
  return steps && !holes;
}

/* True for a forward convolution that is better computed as a gradient of weights: one whose window
 * is much larger than its result. If both are about as large, it is a gradient unless it has
 * strides without dilation, and if it has, read as a gradient, more channels than batch entries. */
static bool is_gradient(const conv_labels_t *l, const conv_problem_t *forward) {
  double window = element_count(forward->window, forward->spatial),
         out = element_count(forward->out, forward->spatial);
  if (window > 4 * out || out > 4 * window) return window > out;
  if (has_stride_only(forward)) return false;
  return l->lhs->dims[l->labels->lhs_batch] > l->lhs->dims[l->labels->lhs_feature];
}

static bool read_problem(const conv_labels_t *l, conv_problem_t *p) {
  p->spatial = l->labels->spatial_rank;
  conv_problem_t weights = *p, data = *p;
  bool is_forward = read_forward(l, p);
  if (read_weights(l, &weights) && (!is_forward || is_gradient(l, p)))
    *p = weights;
  else if (!is_forward && read_data(l, &data))
    *p = data;
  else if (l->batch_groups != 1)
    return false;
  add_position(p);
  set_single_channels(p);
  set_high_padding(p);
  crop_negative_padding(p);
  p->flops = 2 * (double)p->batch * (double)p->groups * (double)p->in_channels *
             (double)p->out_channels * element_count(p->out, p->spatial) *
             element_count(p->window, p->spatial);
  return has_valid_sizes(p);
}

/* Strides in elements of a dense row-major array; they may wrap, but only if a size is 0. */
static void dense_strides(const hlo_shape_t *shape, int64_t *out_strides) {
  uint64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    out_strides[d] = (int64_t)stride;
    stride *= (uint64_t)shape->dims[d];
  }
}

hr_status_t conv_problem_read(const op_step_t *step, conv_problem_t *problem, bool *out_fits) {
  const hlo_window_t *window = hlo_attr_window(step->instr);
  conv_labels_t l = {.labels = hlo_attr_labels(step->instr),
                     .window = window ? window->dims : NULL};
  l.lhs = step->in_shapes[0];
  l.rhs = step->in_shapes[1];
  l.out = step->out_shape;
  l.feature_groups = hlo_attr_int(step->instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  l.batch_groups = hlo_attr_int(step->instr, HLO_ATTR_BATCH_GROUP_COUNT);
  *out_fits = ranks_match_labels(&l) && window_is_bounded(&l);
  if (!*out_fits) return NULL;
  dense_strides(l.lhs, l.lhs_strides);
  dense_strides(l.rhs, l.rhs_strides);
  dense_strides(l.out, l.out_strides);
  HR_TRY(matmul_types_init(step->instr, l.lhs->dtype, l.rhs->dtype, l.out->dtype, &problem->types));
  *out_fits = read_problem(&l, problem);
  if (problem->kind != CONV_WEIGHTS)
    problem->constant_weights = op_constant_data(step->instr->operands[1]);
  return NULL;
}

bool conv_is_plain(const conv_problem_t *p, conv_role_t role) {
  const conv_array_t *array = &p->arrays[role];
  const int64_t *sizes = role == CONV_SRC ? p->in : p->out;
  int64_t step = p->groups * (role == CONV_SRC ? p->in_channels : p->out_channels);
  bool plain = array->inner == 1 && array->start == 0;
  for (int d = p->spatial - 1; d >= 0; step *= sizes[d--]) plain &= array->spatial[d] == step;
  return plain && array->outer == step && array->count == p->batch * step;
}

static void list_order(int64_t outer, const int64_t *spatial, int rank, int64_t inner,
                       int64_t *out_dims) {
  out_dims[0] = outer;
  for (int d = 0; d < rank; d++) out_dims[d + 1] = spatial[d];
  out_dims[rank + 1] = inner;
}

bool conv_has_labels(const hlo_instr_t *conv) {
  const hlo_window_t *window = hlo_attr_window(conv);
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  return labels && (window ? window->rank : 0) == labels->spatial_rank &&
         !hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG);
}

bool conv_orders_find(const hlo_instr_t *conv, conv_orders_t *orders) {
  const hlo_dim_labels_t *n = hlo_attr_labels(conv);
  if (!conv_has_labels(conv)) return false;
  const hlo_shape_t *in[] = {conv->operands[0]->shape, conv->operands[1]->shape};
  op_step_t step = {.instr = conv, .in_shapes = in, .out_shape = conv->shape};
  conv_problem_t p = {.kind = CONV_FORWARD};
  bool fits = false;
  hr_status_t refused = conv_problem_read(&step, &p, &fits);
  hr_status_release(refused);
  if (refused || !fits) return false;
  bool weights = p.kind == CONV_WEIGHTS;
  *orders = (conv_orders_t){.matters = {true, weights, !weights}};
  list_order(weights ? n->lhs_feature : n->lhs_batch, n->lhs_spatial, n->spatial_rank,
             weights ? n->lhs_batch : n->lhs_feature, orders->dims[0]);
  list_order(n->rhs_input_feature, n->rhs_spatial, n->spatial_rank, n->rhs_output_feature,
             orders->dims[1]);
  list_order(n->out_batch, n->out_spatial, n->spatial_rank, n->out_feature, orders->dims[2]);
  return true;
}
