/* convolution in the compiled engine: which of the three kinds an HLO convolution is (forward, data
 * gradient, weight gradient), and which kernel computes it. The kind follows from base dilation
 * (holes in the input) and from the sizes of window and result; padding that no window reaches is
 * cut off first. The first kernel of a fixed order that accepts the problem is taken, im2col last,
 * so the choice follows from problem, processor and libraries alone. */
#include "ops/kernels/conv/native_convolution.h"

/* Operands with their dimension labels. A dimension without a role is left to the reference kernel,
 * which reports it. */
typedef struct conv_labels {
  const hlo_dim_labels_t *labels;
  const hlo_window_dim_t *window;
  const hlo_shape_t *lhs, *rhs, *out;
  int64_t lhs_strides[HLO_MAX_RANK], rhs_strides[HLO_MAX_RANK], out_strides[HLO_MAX_RANK];
  int64_t feature_groups, batch_groups;
} conv_labels_t;

static bool all_have_roles(const conv_labels_t *l) {
  int spatial = l->labels->spatial_rank;
  return spatial <= CONV_MAX_SPATIAL && l->lhs->rank == spatial + 2 &&
         l->rhs->rank == spatial + 2 && l->out->rank == spatial + 2;
}

static conv_array_t activations(const hlo_shape_t *shape, const int64_t *strides, int spatial,
                                const int64_t *dims, int64_t outer, int64_t inner) {
  conv_array_t array = {
      .dtype = shape->dtype, .outer = strides[outer], .inner = strides[inner], .count = 1};
  for (int d = 0; d < spatial; d++) array.spatial[d] = strides[dims[d]];
  for (int d = 0; d < shape->rank; d++) array.count *= shape->dims[d];
  return array;
}

/* Forward: the result is the destination. */
static bool read_forward(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_FORWARD;
  p->batch = l->lhs->dims[n->lhs_batch];
  p->groups = l->feature_groups;
  p->in_channels = l->rhs->dims[n->rhs_input_feature];
  p->out_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_SRC] =
      activations(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial, n->lhs_batch, n->lhs_feature);
  p->arrays[CONV_DST] =
      activations(l->out, l->out_strides, p->spatial, n->out_spatial, n->out_batch, n->out_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei = activations(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial, n->rhs_output_feature,
                     n->rhs_input_feature);
  wei->group = wei->outer * p->out_channels;
  for (int d = 0; d < p->spatial; d++) {
    p->in[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->out[d] = l->out->dims[n->out_spatial[d]];
    p->window[d] = l->window[d].size;
    p->stride[d] = l->window[d].stride;
    p->dilation[d] = l->window[d].window_dilation;
    p->low[d] = l->window[d].pad_low;
    wei->reversed[d] = l->window[d].reversal;
    if (l->window[d].base_dilation != 1) return false;
  }
  return l->batch_groups == 1;
}

/* Holes in the input: out[x] = sum over y, k of lhs[y] rhs[k'] where x = y * holes + k * dilation -
 * low, k' counted from the other end: the gradient of a forward convolution's input, lhs that of
 * its result. */
static bool read_data(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_DATA;
  p->batch = l->lhs->dims[n->lhs_batch];
  p->groups = l->feature_groups;
  p->out_channels = l->rhs->dims[n->rhs_input_feature];
  p->in_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_DST] =
      activations(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial, n->lhs_batch, n->lhs_feature);
  p->arrays[CONV_SRC] =
      activations(l->out, l->out_strides, p->spatial, n->out_spatial, n->out_batch, n->out_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei = activations(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial, n->rhs_input_feature,
                     n->rhs_output_feature);
  wei->group = wei->inner * p->in_channels;
  for (int d = 0; d < p->spatial; d++) {
    const hlo_window_dim_t *w = &l->window[d];
    p->in[d] = l->out->dims[n->out_spatial[d]];
    p->out[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->window[d] = w->size;
    p->stride[d] = w->base_dilation;
    p->dilation[d] = w->window_dilation;
    p->low[d] = (w->size - 1) * w->window_dilation - w->pad_low;
    wei->reversed[d] = !w->reversal;
    if (w->stride != 1) return false;
  }
  return l->batch_groups == 1;
}

/* The window is the gradient of a result, and the features are the batch: out[k] = sum over y of
 * lhs[k * stride + y * window dilation - low] rhs[y]. Groups of such are written as groups of the
 * batch. */
static bool read_weights(const conv_labels_t *l, conv_problem_t *p) {
  const hlo_dim_labels_t *n = l->labels;
  p->kind = CONV_WEIGHTS;
  p->batch = l->lhs->dims[n->lhs_feature];
  p->groups = l->batch_groups;
  p->in_channels = l->lhs->dims[n->lhs_batch] / p->groups;
  p->out_channels = l->rhs->dims[n->rhs_output_feature] / p->groups;
  p->arrays[CONV_SRC] =
      activations(l->lhs, l->lhs_strides, p->spatial, n->lhs_spatial, n->lhs_feature, n->lhs_batch);
  p->arrays[CONV_DST] = activations(l->rhs, l->rhs_strides, p->spatial, n->rhs_spatial,
                                    n->rhs_input_feature, n->rhs_output_feature);
  conv_array_t *wei = &p->arrays[CONV_WEI];
  *wei =
      activations(l->out, l->out_strides, p->spatial, n->out_spatial, n->out_feature, n->out_batch);
  wei->group = wei->outer * p->out_channels;
  for (int d = 0; d < p->spatial; d++) {
    const hlo_window_dim_t *w = &l->window[d];
    p->in[d] = l->lhs->dims[n->lhs_spatial[d]];
    p->out[d] = w->size;
    p->window[d] = l->out->dims[n->out_spatial[d]];
    p->stride[d] = w->window_dilation;
    p->dilation[d] = w->stride;
    p->low[d] = w->pad_low;
    if (w->base_dilation != 1 || w->reversal) return false;
  }
  return l->feature_groups == 1;
}

/* Padding at the high end that makes the sizes agree; where the window does not reach the end, the
 * rest is left out. */
static bool finish_padding(conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++) {
    int64_t reach = (p->window[d] - 1) * p->dilation[d] + 1;
    p->high[d] = (p->out[d] - 1) * p->stride[d] + reach - p->in[d] - p->low[d];
    if (p->high[d] < 0 && -p->high[d] < p->stride[d]) p->high[d] = 0;
  }
  return true;
}

/* Cuts off what no window sees: then no padding is negative. Where that is part of a result it is
 * zero. */
static void crop(conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++) {
    if (p->low[d] >= 0 && p->high[d] >= 0) continue;
    int64_t low = p->low[d] < 0 ? -p->low[d] : 0;
    int64_t high = p->high[d] < 0 ? -p->high[d] : 0;
    p->arrays[CONV_SRC].start += low * p->arrays[CONV_SRC].spatial[d];
    p->in[d] -= low + high;
    p->low[d] += low;
    p->high[d] += high;
    p->zero_first = p->kind == CONV_DATA;
  }
}

static bool is_whole(const conv_problem_t *p) {
  for (int d = 0; d < p->spatial; d++)
    if (p->low[d] < 0 || p->high[d] < 0 || p->in[d] < 1 || p->out[d] < 1 || p->window[d] < 1)
      return false;
  return p->batch > 0 && p->groups > 0 && p->in_channels > 0 && p->out_channels > 0;
}

/* Without spatial dimensions it is a product of matrices: a place of one. */
static void add_position(conv_problem_t *p) {
  if (p->spatial > 0) return;
  p->spatial = 1;
  p->in[0] = p->out[0] = p->window[0] = p->stride[0] = p->dilation[0] = 1;
  for (int r = 0; r < CONV_ROLES; r++) p->arrays[r].spatial[0] = 1;
}

/* Far from overflow, however absurd the window is. */
static bool is_sane(const conv_labels_t *l) {
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

static double size_of(const int64_t *sizes, int rank) {
  double size = 1;
  for (int d = 0; d < rank; d++) size *= (double)sizes[d];
  return size;
}

/* Whether the window moves in strides without holes: patches of an image. */
static bool has_steps(const conv_problem_t *forward) {
  bool steps = false, holes = false;
  for (int d = 0; d < forward->spatial; d++) {
    steps |= forward->stride[d] > 1;
    holes |= forward->dilation[d] > 1;
  }
  return steps && !holes;
}

/* A forward convolution whose window is much larger than its result is better computed as what it
 * most likely is: a gradient of weights. Where the two are about as large it is one if it has no
 * steps, and there are more channels than entries of the batch, read so. */
static bool is_gradient(const conv_labels_t *l, const conv_problem_t *forward) {
  double window = size_of(forward->window, forward->spatial),
         out = size_of(forward->out, forward->spatial);
  if (window > 4 * out || out > 4 * window) return window > out;
  if (has_steps(forward)) return false;
  return l->lhs->dims[l->labels->lhs_batch] > l->lhs->dims[l->labels->lhs_feature];
}

static bool read_problem(const conv_labels_t *l, conv_problem_t *p) {
  p->spatial = l->labels->spatial_rank;
  conv_problem_t other = *p;
  bool forward = read_forward(l, p);
  bool weights = read_weights(l, &other);
  if (weights && (!forward || is_gradient(l, p)))
    *p = other;
  else if (!forward && !read_data(l, p))
    return false;
  add_position(p);
  finish_padding(p);
  crop(p);
  p->flops = 2 * (double)p->batch * (double)p->groups * (double)p->in_channels *
             (double)p->out_channels * size_of(p->out, p->spatial) * size_of(p->window, p->spatial);
  return is_whole(p);
}

/* One of the kernels, with its plan. */
typedef struct conv_strategy {
  hr_status_t (*run)(const op_native_run_t *run, const void *plan, void *const *in,
                     void *const *out);
  const void *plan;
  size_t scratch_bytes;
} conv_strategy_t;

hr_status_t conv_problem_read(const op_step_t *step, conv_problem_t *problem, bool *out_fits) {
  const hlo_window_t *window = hlo_attr_window(step->instr);
  conv_labels_t l = {.labels = hlo_attr_labels(step->instr),
                     .window = window ? window->dims : NULL};
  l.lhs = step->in_shapes[0];
  l.rhs = step->in_shapes[1];
  l.out = step->out_shape;
  l.feature_groups = hlo_attr_int(step->instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  l.batch_groups = hlo_attr_int(step->instr, HLO_ATTR_BATCH_GROUP_COUNT);
  *out_fits = all_have_roles(&l) && is_sane(&l);
  if (!*out_fits) return NULL;
  loop_dense_strides(l.lhs->rank, l.lhs->dims, 1, l.lhs_strides);
  loop_dense_strides(l.rhs->rank, l.rhs->dims, 1, l.rhs_strides);
  loop_dense_strides(l.out->rank, l.out->dims, 1, l.out_strides);
  HR_TRY(matmul_types_init(step->instr, l.lhs->dtype, l.rhs->dtype, l.out->dtype, &problem->types));
  *out_fits = read_problem(&l, problem);
  if (problem->kind != CONV_WEIGHTS)
    problem->constant_weights = native_constant(step->instr->operands[1]);
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

/* Whether the labels give each dimension a role. */
static bool is_labelled(const hlo_instr_t *conv) {
  const hlo_window_t *window = hlo_attr_window(conv);
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  return labels && (window ? window->rank : 0) == labels->spatial_rank &&
         !hlo_attr_has(conv, HLO_ATTR_SPARSITY_CONFIG);
}

bool conv_orders_find(const hlo_instr_t *conv, conv_orders_t *orders) {
  const hlo_dim_labels_t *n = hlo_attr_labels(conv);
  if (!is_labelled(conv)) return false;
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

typedef hr_status_t (*conv_prepare_fn)(const op_native_target_t *target,
                                       const conv_problem_t *problem, op_native_step_t *out);
typedef hr_status_t (*conv_run_fn)(const op_native_run_t *run, const void *plan, void *const *in,
                                   void *const *out);

/* Kernels in order of preference: each makes a plan or declines. */
static const struct {
  conv_prepare_fn prepare;
  conv_run_fn run;
} kernels[] = {{conv_prepare_winograd, conv_run_winograd},
               {conv_prepare_direct_narrow, conv_run_direct_narrow},
               {conv_prepare_direct, conv_run_direct},
               {conv_prepare_weight_grad, conv_run_weight_grad},
               {conv_prepare_onednn, conv_run_onednn}};

/* Takes the first kernel that makes a plan. */
static hr_status_t prepare_problem(const op_native_target_t *target, const op_step_t *step,
                                   conv_strategy_t *strategy, op_native_step_t *out) {
  conv_problem_t *problem;
  bool fits;
  HR_TRY(HR_NEW(target->arena, &problem));
  HR_TRY(conv_problem_read(step, problem, &fits));
  if (!fits) return NULL;
  out->flops = problem->flops;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels && !out->plan; i++) {
    strategy->run = kernels[i].run;
    HR_TRY(kernels[i].prepare(target, problem, out));
  }
  return NULL;
}

static double array_bytes(const hlo_shape_t *shape) {
  double bytes = (double)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++) bytes *= (double)shape->dims[d];
  return bytes;
}

/* Signature of op_native_parts_t.fuse: the same plan. */
static hr_status_t follow_convolution(const op_native_target_t *target, const void *before,
                                      const op_native_grid_t *grid, op_native_step_t *out) {
  (void)target, (void)grid;
  out->plan = before;
  out->scratch_bytes = ((const conv_strategy_t *)before)->scratch_bytes;
  return NULL;
}

static hr_status_t prepare_native_convolution(const op_native_target_t *target,
                                              const op_step_t *step, op_native_step_t *out) {
  conv_strategy_t *strategy;
  if (!is_labelled(step->instr)) return NULL;
  HR_TRY(HR_NEW(target->arena, &strategy));
  HR_TRY(prepare_problem(target, step, strategy, out));
  if (!out->plan) {
    strategy->run = conv_run_im2col;
    HR_TRY(conv_prepare_im2col(target, step, out));
  }
  if (!out->plan) return NULL;
  strategy->plan = out->plan;
  strategy->scratch_bytes = out->scratch_bytes;
  out->plan = strategy;
  if (out->parts.grid.rows) out->parts.fuse = follow_convolution;
  out->bytes = array_bytes(step->in_shapes[0]) + array_bytes(step->in_shapes[1]) +
               array_bytes(step->out_shape);
  return NULL;
}

static hr_status_t run_native_convolution(const op_native_run_t *run, const void *plan,
                                          void *const *in, void *const *out) {
  const conv_strategy_t *strategy = plan;
  return strategy->run(run, strategy->plan, in, out);
}

const op_native_t native_convolution = {"convolution", prepare_native_convolution,
                                        run_native_convolution};
