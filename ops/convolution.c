/* convolution as matrix products. Input, kernel and result are brought into the orders
 *   input [batch][spatial...][feature]   kernel [window...][input feature][output feature]   result
 * [batch][spatial...][feature] and each group of features (or of the batch) is the product of the matrix of patches,
 * one row per place of the result, with its columns of the kernel. Patches are made a block at a time, so that memory
 * stays bounded. Where every group has one input feature (depthwise), patches would be tiny: these are summed directly,
 * all features of a place at once. Window reversal is a kernel read backwards. Source: StableHLO spec, convolution. */
#include <string.h>

#include "ops/constraint.h"
#include "ops/matmul.h"

typedef struct conv_plan {
  matmul_types_t types;
  matmul_order_t lhs_order, rhs_order, out_order; /* out_order: from the order above to the program's */
  int64_t lhs_count, rhs_count;
  int spatial_rank;
  hlo_window_dim_t *window;
  int64_t in_dims[HLO_MAX_RANK], out_dims[HLO_MAX_RANK]; /* spatial */
  int64_t in_strides[HLO_MAX_RANK];                      /* of the ordered input, in reals */
  int64_t in_batch_stride, in_batch, in_features;        /* features in elements */
  int64_t group_features, out_batch, out_features;       /* input features of a group; all output features */
  int64_t feature_groups, batch_groups;
  int64_t places, window_count; /* result places of one batch entry; elements of the window */
} conv_plan_t;

/* Picks dimensions in the order batch, spatial, feature (or spatial, input, output feature) by their labels. */
typedef struct conv_side {
  int rank;
  int64_t dims[HLO_MAX_RANK], strides[HLO_MAX_RANK];
} conv_side_t;

static hr_status_t side_add(const hlo_instr_t *instr, const hlo_shape_t *shape, int element_bytes, int64_t label,
                            uint32_t *seen, conv_side_t *side) {
  int64_t strides[HLO_MAX_RANK];
  if (label < 0 || label >= shape->rank || (*seen >> label & 1))
    return hlo_error(instr, "convolution C13", "dimension label %ld is missing, out of range or used twice",
                     (long)label);
  *seen |= 1u << label;
  loop_dense_strides(shape->rank, shape->dims, element_bytes, strides);
  side->dims[side->rank] = shape->dims[label];
  side->strides[side->rank++] = strides[label];
  return NULL;
}

/* Dimensions without a role may stand in the labels, but must not say anything. */
static hr_status_t check_unused(const hlo_instr_t *instr, const hlo_shape_t *shape, uint32_t seen) {
  for (int d = 0; d < shape->rank; d++)
    if (!(seen >> d & 1) && shape->dims[d] != 1)
      return hlo_unsupported(instr, "dimension %d has no role and size %ld, want 1", d, (long)shape->dims[d]);
  return NULL;
}

static hr_status_t order_side(const hlo_instr_t *instr, const hlo_shape_t *shape, int element_bytes, int64_t first,
                              const int64_t *spatial, int spatial_rank, int64_t second, int64_t last,
                              conv_side_t *out_side) {
  uint32_t seen = 0;
  *out_side = (conv_side_t){0};
  if (first >= 0) HR_TRY(side_add(instr, shape, element_bytes, first, &seen, out_side));
  for (int d = 0; d < spatial_rank; d++) HR_TRY(side_add(instr, shape, element_bytes, spatial[d], &seen, out_side));
  if (second >= 0) HR_TRY(side_add(instr, shape, element_bytes, second, &seen, out_side));
  HR_TRY(side_add(instr, shape, element_bytes, last, &seen, out_side));
  return check_unused(instr, shape, seen);
}

static hr_status_t plan_lhs(const op_step_t *step, const hlo_dim_labels_t *labels, conv_plan_t *plan) {
  conv_side_t side;
  int64_t reals[HLO_MAX_RANK];
  const hlo_shape_t *shape = step->in_shapes[0];
  HR_TRY(order_side(step->instr, shape, plan->types.element_bytes, labels->lhs_batch, labels->lhs_spatial,
                    plan->spatial_rank, -1, labels->lhs_feature, &side));
  HR_TRY(matmul_order_init(side.rank, side.dims, side.strides, plan->types.element_bytes, &plan->lhs_order));
  HR_TRY(hlo_shape_count(shape, &plan->lhs_count));
  loop_dense_strides(side.rank, side.dims, plan->types.parts, reals);
  plan->in_batch = side.dims[0], plan->in_batch_stride = reals[0];
  plan->in_features = side.dims[side.rank - 1];
  for (int d = 0; d < plan->spatial_rank; d++) {
    plan->in_dims[d] = side.dims[1 + d];
    plan->in_strides[d] = reals[1 + d];
  }
  return NULL;
}

/* Where the program leaves the kernel's size open, the window has the size that the kernel turns out to have. */
static hr_status_t plan_rhs(const op_step_t *step, const hlo_dim_labels_t *labels, conv_plan_t *plan) {
  conv_side_t side;
  const hlo_shape_t *shape = step->in_shapes[1], *declared = step->instr->operands[1]->shape;
  HR_TRY(order_side(step->instr, shape, plan->types.element_bytes, -1, labels->rhs_spatial, plan->spatial_rank,
                    labels->rhs_input_feature, labels->rhs_output_feature, &side));
  HR_TRY(hlo_shape_count(shape, &plan->rhs_count));
  plan->window_count = 1;
  for (int d = 0; d < plan->spatial_rank; d++) {
    if (op_is_dynamic(declared, labels->rhs_spatial[d])) plan->window[d].size = side.dims[d];
    if (side.dims[d] != plan->window[d].size)
      return hlo_error(step->instr, "convolution C26", "window of size %ld, but the kernel has %ld",
                       (long)plan->window[d].size, (long)side.dims[d]);
    if (plan->window[d].reversal) side.strides[d] = -side.strides[d];
    plan->window_count *= side.dims[d];
  }
  plan->group_features = side.dims[side.rank - 2];
  plan->out_features = side.dims[side.rank - 1];
  return matmul_order_init(side.rank, side.dims, side.strides, plan->types.element_bytes, &plan->rhs_order);
}

/* The copy of the result goes the other way: the source is the ordered array, the strides are the destination's. */
static hr_status_t plan_out(const op_step_t *step, const hlo_dim_labels_t *labels, conv_plan_t *plan) {
  conv_side_t side;
  int bytes = (int)hr_dtype_bytes(plan->types.out);
  int64_t dense[HLO_MAX_RANK];
  HR_TRY(order_side(step->instr, step->out_shape, bytes, labels->out_batch, labels->out_spatial, plan->spatial_rank, -1,
                    labels->out_feature, &side));
  HR_TRY(matmul_order_init(side.rank, side.dims, side.strides, bytes, &plan->out_order));
  loop_dense_strides(side.rank, side.dims, bytes, dense);
  if (plan->out_order.needed) loop_copy_init(&plan->out_order.copy, bytes, side.rank, side.dims, side.strides, dense);
  plan->out_batch = side.dims[0];
  plan->places = 1;
  for (int d = 0; d < plan->spatial_rank; d++) {
    plan->out_dims[d] = side.dims[1 + d];
    plan->places *= side.dims[1 + d];
  }
  if (side.dims[side.rank - 1] != plan->out_features)
    return hlo_error(step->instr, "convolution C27", "%ld output features, but the kernel has %ld",
                     (long)side.dims[side.rank - 1], (long)plan->out_features);
  return NULL;
}

static hr_status_t check_groups(const hlo_instr_t *instr, conv_plan_t *plan) {
  plan->feature_groups = hlo_attr_int(instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  plan->batch_groups = hlo_attr_int(instr, HLO_ATTR_BATCH_GROUP_COUNT);
  int64_t f = plan->feature_groups, b = plan->batch_groups;
  if (f < 1 || b < 1 || (f > 1 && b > 1)) /* convolution C21-C23 */
    return hlo_error(instr, "convolution C23", "feature_group_count %ld, batch_group_count %ld, want 1 for one of them",
                     (long)f, (long)b);
  if (plan->in_features % f || plan->in_features / f != plan->group_features)
    return hlo_error(instr, "convolution C14", "%ld input features in %ld groups, but the kernel takes %ld",
                     (long)plan->in_features, (long)f, (long)plan->group_features);
  if (plan->out_features % (f * b))
    return hlo_error(instr, "convolution C15", "%ld output features, want a multiple of %ld", (long)plan->out_features,
                     (long)(f * b));
  if (plan->in_batch % b || plan->in_batch / b != plan->out_batch)
    return hlo_error(instr, "convolution C10", "a batch of %ld in %ld groups gives %ld, want an equal share",
                     (long)plan->in_batch, (long)b, (long)plan->out_batch);
  return NULL;
}

/* Positions in the dilated input must stay far from overflow, however absurd the window. */
static hr_status_t check_window(const hlo_instr_t *instr, const conv_plan_t *plan) {
  for (int d = 0; d < plan->spatial_rank; d++) {
    const hlo_window_dim_t *w = &plan->window[d];
    const int64_t limit = INT64_C(1) << 60;
    int64_t reach, span, size;
    if (w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1 || w->size < 0)
      return hlo_error(instr, "convolution C2", "strides and dilations must be positive");
    if (__builtin_mul_overflow(w->stride, plan->out_dims[d], &reach) || reach > limit ||
        __builtin_mul_overflow(w->window_dilation, w->size, &span) || span > limit ||
        __builtin_mul_overflow(w->base_dilation, plan->in_dims[d], &size) || size > limit || w->pad_low > limit ||
        w->pad_low < -limit)
      return hlo_error(instr, NULL, "the window reaches beyond all bounds");
  }
  return NULL;
}

static hr_status_t plan_conv(hr_arena_t *arena, const op_step_t *step, conv_plan_t *plan) {
  const hlo_instr_t *instr = step->instr;
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  const hlo_window_t *window = hlo_attr_window(instr);
  if (!labels) return hlo_error(instr, NULL, "dim_labels are missing");
  if (labels->spatial_rank > HLO_MAX_RANK - 2 || (window ? window->rank : 0) != labels->spatial_rank)
    return hlo_error(instr, NULL, "the window has %d dimensions, the labels %d", window ? window->rank : 0,
                     labels->spatial_rank);
  if (hlo_attr_has(instr, HLO_ATTR_SPARSITY_CONFIG)) return hlo_unsupported(instr, "sparse operands");
  HR_TRY(matmul_types_init(instr, step->in_shapes[0]->dtype, step->in_shapes[1]->dtype, step->out_shape->dtype,
                           &plan->types));
  plan->spatial_rank = labels->spatial_rank;
  HR_TRY(HR_NEW_ARRAY(arena, plan->spatial_rank, &plan->window));
  if (window) memcpy(plan->window, window->dims, (size_t)plan->spatial_rank * sizeof *plan->window);
  HR_TRY(plan_lhs(step, labels, plan));
  HR_TRY(plan_rhs(step, labels, plan));
  HR_TRY(plan_out(step, labels, plan));
  HR_TRY(check_groups(instr, plan));
  return check_window(instr, plan);
}

static hr_status_t prepare_conv(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  conv_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(plan_conv(arena, step, plan));
  *out_plan = plan;
  return NULL;
}

/* What the window sees from one place of the result: for each dimension and window element, the offset of the input
 * element below it, or -1 for padding and holes. */
typedef struct conv_view {
  const conv_plan_t *plan;
  int64_t *offsets[HLO_MAX_RANK]; /* in reals */
  const char *input;              /* first batch entry and feature of the group */
  int64_t unit;                   /* reals per window element: the group's features */
  int real_bytes;
  bool rows_merge; /* the innermost window dimension is one run of the input */
} conv_view_t;

static hr_status_t view_init(hr_arena_t *scratch, const conv_plan_t *plan, conv_view_t *view) {
  int last = plan->spatial_rank - 1;
  *view = (conv_view_t){.plan = plan, .unit = plan->group_features * plan->types.parts};
  view->real_bytes = (int)hr_dtype_bytes(plan->types.real);
  for (int d = 0; d <= last; d++) HR_TRY(HR_NEW_ARRAY(scratch, plan->window[d].size, &view->offsets[d]));
  view->rows_merge = last >= 0 && plan->feature_groups == 1 && plan->window[last].window_dilation == 1 &&
                     plan->window[last].base_dilation == 1;
  return NULL;
}

/* Fills in the offsets for a place (number within its batch entry). */
static void view_move(const conv_view_t *view, int64_t place) {
  const conv_plan_t *plan = view->plan;
  for (int d = plan->spatial_rank - 1; d >= 0; d--) {
    const hlo_window_dim_t *w = &plan->window[d];
    int64_t position = place % plan->out_dims[d] * w->stride - w->pad_low;
    place /= plan->out_dims[d];
    for (int64_t i = 0; i < w->size; i++, position += w->window_dilation) {
      bool hole = position < 0 || position % w->base_dilation || position / w->base_dilation >= plan->in_dims[d];
      view->offsets[d][i] = hole ? -1 : position / w->base_dilation * plan->in_strides[d];
    }
  }
}

/* A run of the patch: reals [0, size), of which [low, high) come from the input at `offset` + low, the rest are 0. */
typedef struct conv_run {
  int64_t size, low, high, offset;
} conv_run_t;

/* The offset of window element `at` in the first `rank` dimensions, -1 if it is not on the input. */
static int64_t offset_of(const conv_view_t *view, const int64_t *at, int rank) {
  int64_t offset = 0;
  for (int d = 0; d < rank; d++) {
    int64_t step = view->offsets[d][at[d]];
    if (step < 0) return -1;
    offset += step;
  }
  return offset;
}

/* With merged rows a run is a whole row of the window, else one element of it. */
static conv_run_t run_at(const conv_view_t *view, const int64_t *at) {
  int last = view->plan->spatial_rank - 1;
  conv_run_t run = {.size = view->unit};
  if (!view->rows_merge) {
    run.offset = offset_of(view, at, last + 1);
    run.high = run.offset < 0 ? 0 : run.size;
    return run;
  }
  const int64_t *row = view->offsets[last];
  int64_t width = view->plan->window[last].size, low = 0, high = width;
  run.size = width * view->unit;
  run.offset = offset_of(view, at, last);
  while (low < width && row[low] < 0) low++;
  while (high > low && row[high - 1] < 0) high--;
  if (run.offset < 0 || low == high) return run;
  run.low = low * view->unit, run.high = high * view->unit;
  run.offset += row[low] - run.low;
  return run;
}

/* Writes reals [first, first + count) of a run. */
static void copy_run(const conv_view_t *view, const conv_run_t *run, const char *input, int64_t first, int64_t count,
                     char *to) {
  int64_t low = run->low > first ? run->low : first, high = run->high < first + count ? run->high : first + count;
  size_t bytes = (size_t)view->real_bytes;
  if (low >= high) {
    memset(to, 0, (size_t)count * bytes);
    return;
  }
  memset(to, 0, (size_t)(low - first) * bytes);
  memcpy(to + (size_t)(low - first) * bytes, input + (run->offset + low) * (int64_t)bytes,
         (size_t)(high - low) * bytes);
  memset(to + (size_t)(high - first) * bytes, 0, (size_t)(first + count - high) * bytes);
}

/* Reals [first, first + count) of the patch seen by the view. */
static void write_patch(const conv_view_t *view, const char *input, int64_t first, int64_t count, char *to) {
  const conv_plan_t *plan = view->plan;
  int rank = plan->spatial_rank - (view->rows_merge ? 1 : 0);
  int64_t at[HLO_MAX_RANK] = {0}, size = view->unit * (view->rows_merge ? plan->window[rank].size : 1);
  int64_t number = first / size, skip = first % size;
  for (int d = rank - 1; d >= 0; d--) {
    at[d] = number % plan->window[d].size;
    number /= plan->window[d].size;
  }
  while (count > 0) {
    conv_run_t run = run_at(view, at);
    int64_t live = size - skip < count ? size - skip : count;
    copy_run(view, &run, input, skip, live, to);
    to += live * view->real_bytes;
    count -= live;
    skip = 0;
    for (int d = rank - 1; d >= 0 && ++at[d] == plan->window[d].size; d--) at[d] = 0;
  }
}

/* Rows of the matrix of patches, for the matrix product. */
static void fill_patches(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count, void *to) {
  const conv_view_t *view = context;
  const conv_plan_t *plan = view->plan;
  for (int64_t i = row; i < row + rows; i++) {
    const char *input = view->input + i / plan->places * plan->in_batch_stride * view->real_bytes;
    view_move(view, i % plan->places);
    write_patch(view, input, first, count, (char *)to + (i - row) * count * view->real_bytes);
  }
}

static hr_status_t conv_by_products(op_env_t *env, const conv_plan_t *plan, const char *lhs, const char *rhs,
                                    char *out) {
  const matmul_types_t *types = &plan->types;
  conv_view_t view;
  matmul_space_t *space;
  HR_TRY(view_init(env->scratch, plan, &view));
  int64_t groups = plan->feature_groups * plan->batch_groups, features = plan->out_features * types->parts;
  int64_t bytes = view.real_bytes;
  matmul_job_t job = {.real = types->real, .fill = fill_patches, .context = &view, .c_row = features, .c_col = 1};
  job.m = plan->out_batch * plan->places;
  job.n = features / groups;
  job.k = plan->window_count * view.unit;
  job.b_row = features, job.b_col = 1;
  HR_TRY(matmul_space_new(env->scratch, job.real, job.m, job.n, job.k, &space));
  for (int64_t g = 0; g < groups; g++) {
    int64_t start = plan->batch_groups > 1 ? g * plan->out_batch * plan->in_batch_stride : g * view.unit;
    view.input = lhs + start * bytes;
    job.b = rhs + g * job.n * bytes;
    job.c = out + g * job.n * bytes;
    matmul_run(&job, space);
  }
  return NULL;
}

/* out[g * q + j] += x[g] * w[g * q + j]: the features of one window element, q results per input feature. */
#define DEFINE_DEPTHWISE(NAME, T)                                                                      \
  static void NAME##_depthwise(const void *x, const void *w, void *out, int64_t features, int64_t q) { \
    const T *xs = x, *ws = w;                                                                          \
    T *to = out;                                                                                       \
    if (q == 1) {                                                                                      \
      for (int64_t g = 0; g < features; g++) to[g] += xs[g] * ws[g];                                   \
      return;                                                                                          \
    }                                                                                                  \
    for (int64_t g = 0; g < features; g++, to += q, ws += q)                                           \
      for (int64_t j = 0; j < q; j++) to[j] += xs[g] * ws[j];                                          \
  }
DEFINE_DEPTHWISE(f32, float)
DEFINE_DEPTHWISE(f64, double)
DEFINE_DEPTHWISE(u32, uint32_t)
DEFINE_DEPTHWISE(u64, uint64_t)

static void depthwise_place(const conv_view_t *view, const char *input, const char *rhs, char *out) {
  const conv_plan_t *plan = view->plan;
  int64_t at[HLO_MAX_RANK] = {0}, q = plan->out_features / plan->in_features;
  hr_dtype_t real = plan->types.real;
  for (int64_t i = 0; i < plan->window_count; i++) {
    int64_t offset = offset_of(view, at, plan->spatial_rank);
    const char *x = input + offset * view->real_bytes, *w = rhs + i * plan->out_features * view->real_bytes;
    if (offset >= 0)
      (real == HR_F32   ? f32_depthwise
       : real == HR_F64 ? f64_depthwise
       : real == HR_U32 ? u32_depthwise
                        : u64_depthwise)(x, w, out, plan->in_features, q);
    for (int d = plan->spatial_rank - 1; d >= 0 && ++at[d] == plan->window[d].size; d--) at[d] = 0;
  }
}

static hr_status_t conv_depthwise(op_env_t *env, const conv_plan_t *plan, const char *lhs, const char *rhs, char *out) {
  conv_view_t view;
  HR_TRY(view_init(env->scratch, plan, &view));
  int64_t row_bytes = plan->out_features * view.real_bytes;
  memset(out, 0, (size_t)(plan->out_batch * plan->places * row_bytes));
  for (int64_t place = 0; place < plan->places; place++) {
    view_move(&view, place);
    for (int64_t n = 0; n < plan->out_batch; n++)
      depthwise_place(&view, lhs + n * plan->in_batch_stride * view.real_bytes, rhs,
                      out + (n * plan->places + place) * row_bytes);
  }
  return NULL;
}

/* Memory for the sums, and for the narrowed but not yet reordered result; each is the result's own where it can be. */
static hr_status_t conv_memory(hr_arena_t *scratch, const conv_plan_t *plan, hlo_value_t *out, void **out_sums,
                               void **out_narrow) {
  size_t bytes;
  *out_narrow = out->data;
  if (plan->out_order.needed) HR_TRY(hr_arena_alloc(scratch, plan->out_order.size_bytes, out_narrow));
  *out_sums = *out_narrow;
  if (matmul_is_widened(&plan->types, plan->types.out)) return NULL;
  HR_TRY(hr_size_product((size_t)out->count, (size_t)plan->types.element_bytes, &bytes));
  return hr_arena_alloc(scratch, bytes, out_sums);
}

static hr_status_t run_ordered(op_env_t *env, const conv_plan_t *plan, hlo_value_t *const *in, hlo_value_t *out) {
  const matmul_types_t *types = &plan->types;
  const void *lhs, *rhs;
  void *sums, *narrow;
  HR_TRY(conv_memory(env->scratch, plan, out, &sums, &narrow));
  if (plan->lhs_count == 0 || plan->rhs_count == 0) { /* sums of nothing */
    memset(out->data, 0, hlo_value_bytes(out));
    return NULL;
  }
  HR_TRY(matmul_widen(env->scratch, types, types->lhs, in[0]->data, plan->lhs_count, &lhs));
  HR_TRY(matmul_order_run(env->scratch, &plan->lhs_order, lhs, &lhs));
  HR_TRY(matmul_widen(env->scratch, types, types->rhs, in[1]->data, plan->rhs_count, &rhs));
  HR_TRY(matmul_order_run(env->scratch, &plan->rhs_order, rhs, &rhs));
  if (types->is_complex)
    HR_TRY(matmul_expand_complex(env->scratch, types, rhs, plan->rhs_count / plan->out_features, plan->out_features,
                                 &rhs));
  bool depthwise = plan->feature_groups > 1 && plan->group_features == 1 && !types->is_complex;
  HR_TRY((depthwise ? conv_depthwise : conv_by_products)(env, plan, lhs, rhs, sums));
  if (sums != narrow) matmul_narrow(types, sums, narrow, out->count);
  if (narrow != out->data) loop_copy_run(&plan->out_order.copy, out->data, narrow);
  return NULL;
}

static hr_status_t run_conv(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = out->count ? run_ordered(env, step->plan, in, out) : NULL;
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_convolution = {prepare_conv, run_conv};
