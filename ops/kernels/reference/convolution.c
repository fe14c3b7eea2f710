/* Convolution by the reference engine: checks, plans, and matrix products. im2col.c generates the
 * im2col matrix a block at a time, so that memory stays bounded. A window with reversal reads the
 * kernel with negative strides. Source: StableHLO spec, convolution. */
#include "ops/kernels/reference/convolution.h"

#include <string.h>

#include "base/fp_mode.h"
#include "ops/rules/constraint.h"

/* The dimensions of an array in the order of the loops: batch, spatial dimensions, feature; for the
 * kernel spatial dimensions, input feature, output feature. Strides in bytes. */
typedef struct conv_side {
  int rank;
  int64_t dims[HLO_MAX_RANK], strides[HLO_MAX_RANK];
} conv_side_t;

/* Appends the dimension `label` of an array; each dimension may be used once. seen: mask of the
 * used dimensions. */
static hr_status_t side_add(const hlo_instr_t *instr, const hlo_shape_t *shape, int element_bytes,
                            int64_t label, uint32_t *seen, conv_side_t *side) {
  int64_t strides[HLO_MAX_RANK];
  if (label < 0 || label >= shape->rank || (*seen >> label & 1))
    return hlo_error(instr, "convolution C13",
                     "dimension label %ld is missing, out of range or used twice", (long)label);
  *seen |= 1u << label;
  loop_dense_strides(shape->rank, shape->dims, element_bytes, strides);
  side->dims[side->rank] = shape->dims[label];
  side->strides[side->rank++] = strides[label];
  return NULL;
}

/* Dimensions without a label must have size 1. */
static hr_status_t check_unused(const hlo_instr_t *instr, const hlo_shape_t *shape, uint32_t seen) {
  for (int d = 0; d < shape->rank; d++)
    if (!(seen >> d & 1) && shape->dims[d] != 1)
      return hlo_unsupported(instr, "dimension %d has no role and size %ld, want 1", d,
                             (long)shape->dims[d]);
  return NULL;
}

/* The dimensions of an array by their roles, in the order of the loops. */
typedef struct conv_roles {
  int64_t first; /* batch; -1: none */
  const int64_t *spatial;
  int spatial_rank;
  int64_t second; /* input feature of the kernel; -1: none */
  int64_t last;   /* feature, or output feature of the kernel */
} conv_roles_t;

static hr_status_t order_side(const hlo_instr_t *instr, const hlo_shape_t *shape, int element_bytes,
                              const conv_roles_t *roles, conv_side_t *out_side) {
  uint32_t seen = 0;
  *out_side = (conv_side_t){0};
  if (roles->first >= 0)
    HR_TRY(side_add(instr, shape, element_bytes, roles->first, &seen, out_side));
  for (int d = 0; d < roles->spatial_rank; d++)
    HR_TRY(side_add(instr, shape, element_bytes, roles->spatial[d], &seen, out_side));
  if (roles->second >= 0)
    HR_TRY(side_add(instr, shape, element_bytes, roles->second, &seen, out_side));
  HR_TRY(side_add(instr, shape, element_bytes, roles->last, &seen, out_side));
  return check_unused(instr, shape, seen);
}

/* Plans the input as [batch][spatial...][feature]. Strides of the plan count real numbers. */
static hr_status_t plan_lhs(const op_step_t *step, const hlo_dim_labels_t *labels,
                            conv_plan_t *plan) {
  conv_side_t side;
  int64_t reals[HLO_MAX_RANK];
  const hlo_shape_t *shape = step->in_shapes[0];
  const conv_roles_t roles = {labels->lhs_batch, labels->lhs_spatial, plan->spatial_rank, -1,
                              labels->lhs_feature};
  HR_TRY(order_side(step->instr, shape, plan->types.element_bytes, &roles, &side));
  HR_TRY(matmul_order_init(side.rank, side.dims, side.strides, plan->types.element_bytes,
                           &plan->lhs_order));
  HR_TRY(hlo_shape_count(shape, &plan->lhs_count));
  loop_dense_strides(side.rank, side.dims, plan->types.parts, reals);
  plan->in_batch = side.dims[0];
  plan->in_batch_stride = reals[0];
  plan->in_features = side.dims[side.rank - 1];
  for (int d = 0; d < plan->spatial_rank; d++) {
    plan->in_dims[d] = side.dims[1 + d];
    plan->in_strides[d] = reals[1 + d];
  }
  return NULL;
}

/* Plans the kernel. If the program leaves the kernel's size dynamic, the window gets the kernel's
 * actual size. */
static hr_status_t plan_rhs(const op_step_t *step, const hlo_dim_labels_t *labels,
                            conv_plan_t *plan) {
  conv_side_t side;
  const hlo_shape_t *shape = step->in_shapes[1], *declared = step->instr->operands[1]->shape;
  const conv_roles_t roles = {-1, labels->rhs_spatial, plan->spatial_rank,
                              labels->rhs_input_feature, labels->rhs_output_feature};
  HR_TRY(order_side(step->instr, shape, plan->types.element_bytes, &roles, &side));
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
  return matmul_order_init(side.rank, side.dims, side.strides, plan->types.element_bytes,
                           &plan->rhs_order);
}

/* Plans the result. Its copy goes in the other direction: the source is the ordered array, and the
 * strides are those of the destination. */
static hr_status_t plan_out(const op_step_t *step, const hlo_dim_labels_t *labels,
                            conv_plan_t *plan) {
  conv_side_t side;
  int bytes = (int)hr_dtype_bytes(plan->types.out);
  int64_t dense[HLO_MAX_RANK];
  const conv_roles_t roles = {labels->out_batch, labels->out_spatial, plan->spatial_rank, -1,
                              labels->out_feature};
  HR_TRY(order_side(step->instr, step->out_shape, bytes, &roles, &side));
  HR_TRY(matmul_order_init(side.rank, side.dims, side.strides, bytes, &plan->out_order));
  loop_dense_strides(side.rank, side.dims, bytes, dense);
  if (plan->out_order.needed)
    loop_copy_init(&plan->out_order.copy, bytes, side.rank, side.dims, side.strides, dense);
  plan->out_batch = side.dims[0];
  plan->positions = 1;
  for (int d = 0; d < plan->spatial_rank; d++) {
    plan->out_dims[d] = side.dims[1 + d];
    plan->positions *= side.dims[1 + d];
  }
  if (side.dims[side.rank - 1] != plan->out_features)
    return hlo_error(step->instr, "convolution C27", "%ld output features, but the kernel has %ld",
                     (long)side.dims[side.rank - 1], (long)plan->out_features);
  return NULL;
}

/* Checks that feature and batch groups divide their dimensions, and that at most one of the two
 * counts exceeds 1. */
static hr_status_t check_groups(const hlo_instr_t *instr, conv_plan_t *plan) {
  plan->feature_groups = hlo_attr_int(instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  plan->batch_groups = hlo_attr_int(instr, HLO_ATTR_BATCH_GROUP_COUNT);
  int64_t f = plan->feature_groups, b = plan->batch_groups;
  if (f < 1 || b < 1 || (f > 1 && b > 1)) /* convolution C21-C23 */
    return hlo_error(instr, "convolution C23",
                     "feature_group_count %ld, batch_group_count %ld, want 1 for one of them",
                     (long)f, (long)b);
  if (plan->in_features % f || plan->in_features / f != plan->group_features)
    return hlo_error(instr, "convolution C14",
                     "%ld input features in %ld groups, but the kernel takes %ld",
                     (long)plan->in_features, (long)f, (long)plan->group_features);
  if (plan->out_features % (f * b))
    return hlo_error(instr, "convolution C15", "%ld output features, want a multiple of %ld",
                     (long)plan->out_features, (long)(f * b));
  if (plan->in_batch % b || plan->in_batch / b != plan->out_batch)
    return hlo_error(instr, "convolution C10",
                     "a batch of %ld in %ld groups gives %ld, want an equal share",
                     (long)plan->in_batch, (long)b, (long)plan->out_batch);
  return NULL;
}

/* Refuses windows for which positions in the dilated input might overflow. */
static hr_status_t check_window(const hlo_instr_t *instr, const conv_plan_t *plan) {
  for (int d = 0; d < plan->spatial_rank; d++) {
    const hlo_window_dim_t *w = &plan->window[d];
    const int64_t limit = INT64_C(1) << 60;
    int64_t reach, span, size;
    if (w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1 || w->size < 0)
      return hlo_error(instr, "convolution C2", "strides and dilations must be positive");
    if (__builtin_mul_overflow(w->stride, plan->out_dims[d], &reach) || reach > limit ||
        __builtin_mul_overflow(w->window_dilation, w->size, &span) || span > limit ||
        __builtin_mul_overflow(w->base_dilation, plan->in_dims[d], &size) || size > limit ||
        w->pad_low > limit || w->pad_low < -limit)
      return hlo_error(instr, NULL, "the window reaches beyond all bounds");
  }
  return NULL;
}

/* Checks all sizes that the loops rely on, and that the labels name every dimension once. */
hr_status_t conv_plan_init(const op_step_t *step, conv_plan_t *plan) {
  const hlo_instr_t *instr = step->instr;
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  const hlo_window_t *window = hlo_attr_window(instr);
  if (!labels) return hlo_error(instr, NULL, "dim_labels are missing");
  if (labels->spatial_rank > HLO_MAX_RANK - 2 ||
      (window ? window->rank : 0) != labels->spatial_rank)
    return hlo_error(instr, NULL, "the window has %d dimensions, the labels %d",
                     window ? window->rank : 0, labels->spatial_rank);
  if (hlo_attr_has(instr, HLO_ATTR_SPARSITY_CONFIG))
    return hlo_unsupported(instr, "sparse operands");
  HR_TRY(matmul_types_init(instr, step->in_shapes[0]->dtype, step->in_shapes[1]->dtype,
                           step->out_shape->dtype, &plan->types));
  plan->spatial_rank = labels->spatial_rank;
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
  HR_TRY(conv_plan_init(step, plan));
  *out_plan = plan;
  return NULL;
}

/* Makes a view with offsets of its own, in scratch memory. */
static hr_status_t view_new(hr_arena_t *scratch, const conv_plan_t *plan, conv_view_t *out_view) {
  int64_t *offsets;
  HR_TRY(HR_NEW_ARRAY(scratch, conv_view_offsets(plan), &offsets));
  conv_view_init(plan, offsets, out_view);
  return NULL;
}

/* Computes one product per group: the im2col matrix times the kernel columns of the group. */
static hr_status_t conv_by_products(op_env_t *env, const conv_plan_t *plan, const char *lhs,
                                    const char *rhs, char *out) {
  const matmul_types_t *types = &plan->types;
  conv_view_t view;
  matmul_space_t *space;
  HR_TRY(view_new(env->scratch, plan, &view));
  int64_t groups = plan->feature_groups * plan->batch_groups,
          features = plan->out_features * types->parts;
  int64_t bytes = view.real_bytes;
  matmul_job_t job = {.real = types->real,
                      .fill = conv_patches_fill,
                      .context = &view,
                      .c_row = features,
                      .c_col = 1};
  job.m = plan->out_batch * plan->positions;
  job.n = features / groups;
  job.k = plan->window_count * view.unit;
  job.b_row = features;
  job.b_col = 1;
  HR_TRY(matmul_space_new(env->scratch, job.real, job.m, job.n, job.k, &space));
  for (int64_t g = 0; g < groups; g++) {
    int64_t start =
        plan->batch_groups > 1 ? g * plan->out_batch * plan->in_batch_stride : g * view.unit;
    view.input = lhs + start * bytes;
    job.b = rhs + g * job.n * bytes;
    job.c = out + g * job.n * bytes;
    matmul_run(&job, space);
  }
  return NULL;
}

/* Computes a depthwise convolution directly: with one filter per feature, a product of matrices
 * would have single columns. */
static hr_status_t conv_depthwise(op_env_t *env, const conv_plan_t *plan, const char *lhs,
                                  const char *rhs, char *out) {
  conv_view_t view;
  HR_TRY(view_new(env->scratch, plan, &view));
  view.multiplies_padding = true;
  hr_fp_mode_t mode = hr_fp_mode_flush();
  conv_depthwise_rows(&view, 0, plan->out_batch * plan->positions, lhs, rhs, out);
  hr_fp_mode_set(mode);
  return NULL;
}

/* Allocates the sums, and the result before it is reordered. Both are the result's own buffer where
 * type and order permit. */
static hr_status_t conv_memory(hr_arena_t *scratch, const conv_plan_t *plan, hlo_value_t *out,
                               void **out_sums, void **out_narrow) {
  size_t bytes;
  *out_narrow = out->data;
  if (plan->out_order.needed)
    HR_TRY(hr_arena_alloc(scratch, plan->out_order.size_bytes, out_narrow));
  *out_sums = *out_narrow;
  if (matmul_is_widened(&plan->types, plan->types.out)) return NULL;
  HR_TRY(hr_size_product((size_t)out->count, (size_t)plan->types.element_bytes, &bytes));
  return hr_arena_alloc(scratch, bytes, out_sums);
}

/* Widens the operands and brings them into the order of the loops, computes the sums, narrows them
 * and brings them into the result's order. Without terms all results are 0. */
static hr_status_t compute_ordered(op_env_t *env, const conv_plan_t *plan, hlo_value_t *const *in,
                                   hlo_value_t *out) {
  const matmul_types_t *types = &plan->types;
  const void *lhs, *rhs;
  void *sums, *narrow;
  HR_TRY(conv_memory(env->scratch, plan, out, &sums, &narrow));
  if (plan->lhs_count == 0 || plan->rhs_count == 0) { /* empty sums */
    memset(out->data, 0, hlo_value_bytes(out));
    return NULL;
  }
  HR_TRY(matmul_widen(env->scratch, types, types->lhs, in[0]->data, plan->lhs_count, &lhs));
  HR_TRY(matmul_order_run(env->scratch, &plan->lhs_order, lhs, &lhs));
  HR_TRY(matmul_widen(env->scratch, types, types->rhs, in[1]->data, plan->rhs_count, &rhs));
  HR_TRY(matmul_order_run(env->scratch, &plan->rhs_order, rhs, &rhs));
  if (types->is_complex)
    HR_TRY(matmul_expand_complex(env->scratch, types, rhs, plan->rhs_count / plan->out_features,
                                 plan->out_features, &rhs));
  HR_TRY((conv_is_depthwise(plan) ? conv_depthwise : conv_by_products)(env, plan, lhs, rhs, sums));
  if (sums != narrow) matmul_narrow(types, sums, narrow, out->count);
  if (narrow != out->data) loop_copy_run(&plan->out_order.copy, out->data, narrow);
  return NULL;
}

static hr_status_t run_conv(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = out->count ? compute_ordered(env, step->plan, in, out) : NULL;
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_convolution = {prepare_conv, run_conv};
