/* Rules of contractions, factorisations and normalisations: batch and free dimensions pass through,
 * contracted ones are reductions, matrices of factorisations and transformed dimensions are whole.
 * A convolution's spatial dimension has two factors, output position and tap, if their product fits
 * the input's size. */
#include "partition/rules/rule_builder.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Adds a factor for dimension `lhs` of operand 0 and `rhs` of operand 1; -1: not in the operand. */
static int add_shared(rule_builder_t *builder, int64_t lhs, int64_t rhs, spmd_factor_kind_t kind) {
  int64_t size = lhs >= 0 ? rule_size(builder, 0, (int)lhs) : rule_size(builder, 1, (int)rhs);
  int factor = rule_add(builder, size, kind);
  if (lhs >= 0) rule_place(builder, 0, (int)lhs, factor);
  if (rhs >= 0) rule_place(builder, 1, (int)rhs, factor);
  return factor;
}

/* Adds factors for the dimensions of operand `side` that are neither batch nor contracted. */
static int add_free(rule_builder_t *builder, int side, hr_ints_t batch, hr_ints_t contracted,
                    int next) {
  for (int d = 0; d < rule_rank(builder, side); d++) {
    if (rule_lists(batch, d) || rule_lists(contracted, d)) continue;
    int of_lhs = side ? -1 : d;
    int of_rhs = side ? d : -1;
    int factor = add_shared(builder, of_lhs, of_rhs, SPMD_PASS_THROUGH);
    rule_place(builder, rule_result(builder, 0), next++, factor);
  }
  return next;
}

/* f32[5,8,6] x f32[5,6,7], batch 0, contracting 2 x 1:
 *
 *   ([i, j, l], [i, l, k])->([i, j, k]) {i=5, j=8, k=7, l=6} reduction={l}
 *
 * The result has batch dimensions first, then free ones of the left, then of the right. */
void rule_dot(rule_builder_t *builder) {
  const hlo_instr_t *instr = builder->instr;
  hr_ints_t lhs_batch = hlo_attr_ints(instr, HLO_ATTR_LHS_BATCH_DIMS),
            rhs_batch = hlo_attr_ints(instr, HLO_ATTR_RHS_BATCH_DIMS),
            lhs = hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS),
            rhs = hlo_attr_ints(instr, HLO_ATTR_RHS_CONTRACTING_DIMS);
  int next = 0;
  for (int64_t i = 0; i < lhs_batch.count; i++) {
    int factor = add_shared(builder, lhs_batch.data[i], rhs_batch.data[i], SPMD_PASS_THROUGH);
    rule_place(builder, rule_result(builder, 0), next++, factor);
  }
  next = add_free(builder, 0, lhs_batch, lhs, next);
  add_free(builder, 1, rhs_batch, rhs, next);
  for (int64_t i = 0; i < lhs.count; i++)
    add_shared(builder, lhs.data[i], rhs.data[i], SPMD_REDUCTION);
}

/* --- convolution --- */

/* Places a factor on a dimension of each of the three tensors (-1: none). Ignores size 1. */
static void add_conv(rule_builder_t *builder, int64_t size, spmd_factor_kind_t kind,
                     const int64_t dims[3]) {
  if (size <= 1) return;
  int factor = rule_add(builder, size, kind);
  for (int t = 0; t < 3; t++)
    if (dims[t] >= 0) rule_place(builder, t, (int)dims[t], factor);
}

/* Splits input positions into output position and tap, the larger factor first, limited by the size
 * of the input: 8 outputs of a window of 3 over 10 inputs give the factors 8 and 1. */
static void add_spatial(rule_builder_t *builder, const hlo_dim_labels_t *labels, int i) {
  const int64_t positions[] = {labels->lhs_spatial[i], -1, labels->out_spatial[i]};
  const int64_t window[] = {labels->lhs_spatial[i], labels->rhs_spatial[i], -1};
  int64_t room = rule_size(builder, 0, (int)labels->lhs_spatial[i]);
  int64_t out = rule_size(builder, 2, (int)labels->out_spatial[i]),
          rhs = rule_size(builder, 1, (int)labels->rhs_spatial[i]);
  if (out >= rhs) {
    out = smaller(out, room);
    add_conv(builder, out, SPMD_PERMUTATION, positions);
    add_conv(builder, smaller(rhs, room / out), SPMD_REDUCTION, window);
    return;
  }
  rhs = smaller(rhs, room);
  add_conv(builder, rhs, SPMD_REDUCTION, window);
  add_conv(builder, smaller(out, room / rhs), SPMD_PERMUTATION, positions);
}

void rule_convolution(rule_builder_t *builder) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(builder->instr);
  int64_t batch_groups = hlo_attr_int(builder->instr, HLO_ATTR_BATCH_GROUP_COUNT),
          groups = hlo_attr_int(builder->instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  int64_t in = rule_size(builder, 1, (int)labels->rhs_input_feature),
          out = rule_size(builder, 1, (int)labels->rhs_output_feature);
  add_conv(builder, batch_groups, SPMD_PASS_THROUGH,
           (int64_t[]){labels->lhs_batch, labels->rhs_output_feature, labels->out_feature});
  add_conv(builder, rule_size(builder, 2, (int)labels->out_batch), SPMD_PASS_THROUGH,
           (int64_t[]){labels->lhs_batch, -1, labels->out_batch});
  for (int i = 0; i < labels->spatial_rank; i++) add_spatial(builder, labels, i);
  add_conv(builder, groups, SPMD_PASS_THROUGH,
           (int64_t[]){labels->lhs_feature, labels->rhs_output_feature, labels->out_feature});
  add_conv(builder, in, SPMD_REDUCTION,
           (int64_t[]){labels->lhs_feature, labels->rhs_input_feature, -1});
  add_conv(builder, out / (groups * batch_groups), SPMD_PASS_THROUGH,
           (int64_t[]){-1, labels->rhs_output_feature, labels->out_feature});
}

/* --- matrices --- */

/* Adds factors for the `count` leading dimensions, which all tensors share. */
static void add_batch(rule_builder_t *builder, int count) {
  for (int d = 0; d < count; d++)
    rule_place_all(builder, d, rule_add(builder, rule_size(builder, 0, d), SPMD_PASS_THROUGH));
}

/* Every element of the Cholesky factor depends on the whole matrix. */
void rule_cholesky(rule_builder_t *builder) {
  int rank = rule_rank(builder, 0);
  add_batch(builder, rank - 2);
  for (int d = rank - 2; d < rank; d++)
    rule_place_all(builder, d, rule_add(builder, rule_size(builder, 0, d), SPMD_NEED_REPLICATION));
}

/* The right-hand sides are independent of each other. */
void rule_triangular_solve(rule_builder_t *builder) {
  int rank = rule_rank(builder, 1);
  int free = hlo_attr_bool(builder->instr, HLO_ATTR_LEFT_SIDE) ? rank - 1 : rank - 2;
  add_batch(builder, rank - 2);
  for (int d = rank - 2; d < rank; d++) {
    spmd_factor_kind_t kind = d == free ? SPMD_PASS_THROUGH : SPMD_NEED_REPLICATION;
    int factor = rule_add(builder, rule_size(builder, 1, d), kind);
    rule_place(builder, 1, d, factor);
    rule_place(builder, 2, d, factor);
    rule_place(builder, 0, d, rule_add(builder, rule_size(builder, 0, d), SPMD_NEED_REPLICATION));
  }
}

/* A real transform changes the size of the last dimension, along which nothing is propagated. */
void rule_fft(rule_builder_t *builder) {
  int rank = rule_rank(builder, 0);
  int first = rank - (int)hlo_attr_ints(builder->instr, HLO_ATTR_FFT_LENGTH).count;
  add_batch(builder, first);
  for (int d = first; d < rank; d++) {
    int64_t size = rule_size(builder, 0, d);
    bool same = size == rule_size(builder, 1, d);
    rule_place_all(builder, d,
                   same ? rule_add(builder, size, SPMD_NEED_REPLICATION)
                        : rule_add_blocked(builder, size, SPMD_NEED_REPLICATION));
  }
}

/* Inference is elementwise; training and gradient sum over all dimensions but the feature. */
void rule_batch_norm(rule_builder_t *builder) {
  int feature = (int)hlo_attr_int(builder->instr, HLO_ATTR_FEATURE_INDEX);
  spmd_factor_kind_t others =
      builder->instr->op == HLO_BATCH_NORM_INFERENCE ? SPMD_PASS_THROUGH : SPMD_NEED_REPLICATION;
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    int factor =
        rule_add(builder, rule_size(builder, 0, d), d == feature ? SPMD_PASS_THROUGH : others);
    for (int t = 0; t < rule_tensor_count(builder); t++)
      if (rule_rank(builder, t) == rule_rank(builder, 0) && t != 1)
        rule_place(builder, t, d, factor);
      else if (d == feature)
        rule_place(builder, t, 0, factor);
  }
}
