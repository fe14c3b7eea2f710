/* Result shapes of ops with windows: convolution, reduce-window, select-and-scatter. The size of a
 * result dimension is the number of windows that fit the padded, dilated operand:
 *     floor((low + dilated + high - dilated window) / stride) + 1, or 0 if none fits. */
#include "ops/rules/constraint.h"

/* One of the three sides of a convolution: each of its dimensions is the batch (or output feature),
 * the feature or a spatial dimension, each once. */
static hr_status_t check_labels(const hlo_instr_t *instr, const char *rule, const char *side,
                                int rank, int64_t first, int64_t second, int spatial_rank,
                                const int64_t *spatial) {
  uint64_t seen = 0;
  hr_ints_t pair = {(const int64_t[]){first, second}, 2}, rest = {spatial, spatial_rank};
  HR_TRY(op_check_range(instr, rule, side, pair, rank));
  HR_TRY(op_check_range(instr, rule, side, rest, rank));
  HR_TRY(op_check_unique(instr, rule, side, pair, &seen));
  return op_check_unique(instr, rule, side, rest, &seen);
}

/* dim_labels determines the ranks: spatial dimensions and two more on each side. */
static hr_status_t check_conv_ranks(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                    const hlo_dim_labels_t *l) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  OP_WANT(instr, in[0]->rank == l->lhs_rank, "C12",
          "dim_labels names %d dimensions of operand 0, which is %s", l->lhs_rank, OP_TEXT(in[0]));
  OP_WANT(instr, in[1]->rank == l->rhs_rank, "C17",
          "dim_labels names %d dimensions of operand 1, which is %s", l->rhs_rank, OP_TEXT(in[1]));
  OP_WANT(instr, in[0]->rank == in[1]->rank, "C1", "operands of ranks %d and %d, want equal ranks",
          in[0]->rank, in[1]->rank);
  OP_WANT(instr, l->out_rank <= HLO_MAX_RANK, "C19",
          "the result has %d dimensions, want at most %d", l->out_rank, HLO_MAX_RANK);
  HR_TRY(check_labels(instr, "C13", "dim_labels of the input", l->lhs_rank, l->lhs_batch,
                      l->lhs_feature, l->spatial_rank, l->lhs_spatial));
  HR_TRY(check_labels(instr, "C18", "dim_labels of the kernel", l->rhs_rank, l->rhs_input_feature,
                      l->rhs_output_feature, l->spatial_rank, l->rhs_spatial));
  return check_labels(instr, "C20", "dim_labels of the output", l->out_rank, l->out_batch,
                      l->out_feature, l->spatial_rank, l->out_spatial);
}

/* Dynamic sizes are not checked here, but when the step runs. */
static hr_status_t want_multiple(const hlo_instr_t *instr, const char *rule,
                                 const hlo_shape_t *shape, int64_t d, int64_t count,
                                 const char *what) {
  OP_WANT(instr, op_is_dynamic(shape, d) || shape->dims[d] % count == 0, rule,
          "dimension %ld of %s, want a multiple of %s %ld", (long)d, OP_TEXT(shape), what,
          (long)count);
  return NULL;
}

/* With feature groups, each group of the kernel's output features reads a part of the input
 * features; with batch groups, each group of output features reads a part of the batch. */
static hr_status_t check_conv_groups(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                     const hlo_dim_labels_t *l) {
  int64_t features = hlo_attr_int(instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  int64_t batches = hlo_attr_int(instr, HLO_ATTR_BATCH_GROUP_COUNT);
  OP_WANT(instr, features > 0, "C21", "feature_group_count %ld, want a positive one",
          (long)features);
  OP_WANT(instr, batches > 0, "C22", "batch_group_count %ld, want a positive one", (long)batches);
  OP_WANT(instr, features == 1 || batches == 1, "C23",
          "feature_group_count %ld and batch_group_count %ld, want one of them 1", (long)features,
          (long)batches);
  HR_TRY(want_multiple(instr, "C10", in[0], l->lhs_batch, batches, "batch_group_count"));
  HR_TRY(want_multiple(instr, "C11", in[0], l->lhs_feature, features, "feature_group_count"));
  int64_t inputs = in[0]->dims[l->lhs_feature] / features,
          wanted = in[1]->dims[l->rhs_input_feature];
  OP_WANT(instr,
          inputs == wanted || op_is_dynamic(in[0], l->lhs_feature) ||
              op_is_dynamic(in[1], l->rhs_input_feature),
          "C14", "the kernel %s takes %ld input features, want %ld", OP_TEXT(in[1]), (long)wanted,
          (long)inputs);
  HR_TRY(want_multiple(instr, "C15", in[1], l->rhs_output_feature, batches, "batch_group_count"));
  return want_multiple(instr, "C16", in[1], l->rhs_output_feature, features, "feature_group_count");
}

/* The result's size in a spatial dimension. It is open if the kernel's declared size is, until the
 * step runs. */
static hr_status_t push_conv_sizes(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                   const hlo_dim_labels_t *l, int i, op_dims_t *dims) {
  hlo_window_dim_t window = hlo_attr_window(instr)->dims[i];
  int64_t kernel = in[1]->dims[l->rhs_spatial[i]], out = l->out_spatial[i];
  bool is_open = op_is_dynamic(in[1], l->rhs_spatial[i]);
  if (op_is_dynamic(instr->operands[1]->shape, l->rhs_spatial[i])) window.size = kernel;
  OP_WANT(instr, is_open || window.size == kernel, NULL,
          "the window has size %ld in spatial dimension %d, and the kernel %ld; want equal sizes",
          (long)window.size, i, (long)kernel);
  dims->dynamic[out] = is_open || op_is_dynamic(in[0], l->lhs_spatial[i]);
  dims->sizes[out] = HLO_UNBOUNDED;
  if (is_open) return NULL;
  OP_WANT(instr, op_window_count(&window, in[0]->dims[l->lhs_spatial[i]], &dims->sizes[out]), "C25",
          "the result's size in spatial dimension %d overflows", i);
  return NULL;
}

/* Sizes of the result by role: batch from the input (divided by batch groups), features from the
 * kernel, spatial sizes from the window. */
static hr_status_t push_conv_dims(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                  const hlo_dim_labels_t *l, op_dims_t *dims) {
  int64_t batches = hlo_attr_int(instr, HLO_ATTR_BATCH_GROUP_COUNT),
          batch = in[0]->dims[l->lhs_batch];
  dims->rank = l->out_rank;
  for (int d = 0; d < dims->rank; d++) dims->sizes[d] = 1; /* dimensions without a role */
  dims->sizes[l->out_batch] = batch == HLO_UNBOUNDED ? batch : batch / batches;
  dims->dynamic[l->out_batch] = op_is_dynamic(in[0], l->lhs_batch);
  dims->sizes[l->out_feature] = in[1]->dims[l->rhs_output_feature];
  dims->dynamic[l->out_feature] = op_is_dynamic(in[1], l->rhs_output_feature);
  for (int i = 0; i < l->spatial_rank; i++) HR_TRY(push_conv_sizes(instr, in, l, i, dims));
  return NULL;
}

/* The rules list the labels of op_check_window in its order; the kernel may be empty. */
hr_status_t infer_convolution(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  static const op_window_rules_t rules = {"C2", "C25", "C3", "C6", "C8", true};
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  hr_ints_t precision = hlo_attr_ints(instr, HLO_ATTR_OPERAND_PRECISION);
  hr_dtype_t dtype = HR_PRED;
  op_dims_t dims = {.rank = 0};
  HR_TRY(check_conv_ranks(instr, in, labels));
  HR_TRY(op_check_window(instr, &rules, labels->spatial_rank));
  HR_TRY(check_conv_groups(instr, in, labels));
  OP_WANT(instr, precision.count <= 2, "C24", "operand_precision lists %ld values, want 2 at most",
          (long)precision.count);
  HR_TRY(op_contraction_dtype(instr, "C27", in[0]->dtype, in[1]->dtype, &dtype));
  HR_TRY(push_conv_dims(instr, in, labels, &dims));
  return op_dims_shape(arena, dtype, &dims, out_shape);
}

/* The shape of the windows of an operand, for a verified instruction; `rule` is for sizes that do
 * not fit. */
static hr_status_t op_window_shape(hr_arena_t *arena, const hlo_instr_t *instr, const char *rule,
                                   const hlo_shape_t *operand, hr_dtype_t dtype,
                                   const hlo_shape_t **out_shape) {
  const hlo_window_t *window = hlo_attr_window(instr);
  op_dims_t dims;
  op_dims_of(operand, &dims);
  for (int d = 0; d < dims.rank; d++)
    OP_WANT(instr, op_window_count(&window->dims[d], operand->dims[d], &dims.sizes[d]), rule,
            "the result's size in dimension %d overflows", d);
  return op_dims_shape(arena, dtype, &dims, out_shape);
}

/* The type of a result is the reducer's, which may be wider than the operand's. */
hr_status_t infer_reduce_window(hr_arena_t *arena, const hlo_instr_t *instr,
                                const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  static const op_window_rules_t rules = {"C4", "C5", "C7", "C9", "C11", false};
  int count = instr->operand_count / 2;
  const hlo_shape_t **shapes;
  HR_TRY(op_check_reduction(instr, in, &(op_reduction_rules_t){"C1", "C2", "C3"}));
  HR_TRY(op_check_window(instr, &rules, in[0]->rank));
  HR_TRY(HR_NEW_ARRAY(arena, count, &shapes));
  for (int k = 0; k < count; k++) {
    hr_dtype_t dtype = HR_PRED;
    HR_TRY(op_reducer_dtype(instr, "C13", op_body_of(instr), count, k, &dtype));
    HR_TRY(op_window_shape(arena, instr, "C15", in[0], dtype, &shapes[k]));
  }
  return op_results_shape(arena, count, shapes, out_shape);
}

/* The result has the operand's sizes; its type is that of the scatter computation. Other
 * constraints are checked in verify_body.c. */
hr_status_t infer_select_and_scatter(hr_arena_t *arena, const hlo_instr_t *instr,
                                     const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  hr_dtype_t dtype = HR_PRED;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  HR_TRY(op_reducer_dtype(instr, "C10", op_called(instr, HLO_ATTR_SCATTER), 1, 0, &dtype));
  return hlo_shape_with_dtype(arena, in[0], dtype, out_shape);
}
