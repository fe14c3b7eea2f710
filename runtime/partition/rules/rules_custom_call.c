/* Rules of custom calls by target. Identities pass everything through; the leading dimensions of
 * factorisations are batches; a top-k needs the last dimension whole. Unknown targets have no rule:
 * their operands are gathered. */
#include "partition/rules/rule_builder.h"

#include "ops/query/custom_call_table.h"

typedef struct custom_row {
  const char *target; /* a last '*' stands for any rest */
  rule_fn make;
} custom_row_t;

/* The leading `batch` dimensions that all tensors have alike pass through; the others are whole. A
 * batch has the same size everywhere. */
static void rule_batches(rule_builder_t *builder, int batch) {
  for (int d = 0; d < batch; d++) {
    int64_t size = rule_size(builder, 0, d);
    int factor = rule_add(builder, size, SPMD_PASS_THROUGH);
    for (int t = 0; t < rule_tensor_count(builder); t++)
      if (d < rule_rank(builder, t) && rule_size(builder, t, d) == size)
        rule_place(builder, t, d, factor);
  }
  for (int t = 0; t < rule_tensor_count(builder); t++)
    for (int d = batch < 0 ? 0 : batch; d < rule_rank(builder, t); d++)
      rule_place(builder, t, d, rule_add(builder, rule_size(builder, t, d), SPMD_NEED_REPLICATION));
}

/* All but the last two dimensions of the first operand are batch dimensions. */
static void rule_matrices(rule_builder_t *builder) {
  rule_batches(builder, rule_rank(builder, 0) - 2);
}

/* Number of leading batch dimensions that the call declares; 0: none. JAX declares them for custom
 * calls registered as batch partitionable. */
static int batch_dims_of(const hlo_instr_t *instr) {
  hr_str_t text = hlo_frontend_attribute(instr, "num_batch_dims");
  int64_t count = 0;
  for (size_t i = 0; i < text.size && count <= HLO_MAX_RANK; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return 0;
    count = 10 * count + text.data[i] - '0';
  }
  for (int k = 0; k < instr->operand_count; k++)
    if (instr->operands[k]->shape->rank < count) return 0;
  for (int i = 0; i < hlo_shape_leaf_count(instr->shape); i++)
    if (hlo_shape_leaf(instr->shape, i)->rank < count) return 0;
  return (int)count;
}

/* X64SplitLow, X64Combine: 64-bit integers and their halves. */
static const custom_row_t rows[] = {
    {"Sharding", rule_pointwise},
    {"xla.sdy.FuncResultSharding", rule_pointwise},
    {"xla.sdy.PropagationBarrier", rule_pointwise},
    {"InspectSharding", rule_pointwise},
    {"annotate_device_placement", rule_pointwise},
    {"LayoutConstraint", rule_pointwise},
    {"MoveToHost", rule_pointwise},
    {"MoveToDevice", rule_pointwise},
    {"Pin", rule_pointwise},
    {"Unpin", rule_pointwise},
    {"AssumeGatherIndicesInBound", rule_pointwise},
    {"X64SplitLow", rule_pointwise},
    {"X64SplitHigh", rule_pointwise},
    {"X64Combine", rule_pointwise},
    {"mhlo.erf", rule_pointwise},
    {"mhlo.erf_inv", rule_pointwise},
    {"mhlo.asin", rule_pointwise},
    {"mhlo.acos", rule_pointwise},
    {"mhlo.atanh", rule_pointwise},
    {"mhlo.acosh", rule_pointwise},
    {"mhlo.asinh", rule_pointwise},
    {"mhlo.sinh", rule_pointwise},
    {"mhlo.cosh", rule_pointwise},
    {"TopK", rule_top_k},
    {"mhlo.topk", rule_top_k},
    {"chlo.top_k", rule_top_k},
    {"ApproxTopK", rule_top_k},
    {"lapack_*", rule_matrices},
};

/* "lapack_*" stands for all of LAPACK's routines that JAX calls. */
static bool matches(hr_str_t target, const char *pattern) {
  hr_str_t row = hr_str_from(pattern);
  if (row.data[row.size - 1] != '*') return hr_str_equal(target, row);
  row.size--;
  return target.size >= row.size && hr_str_equal((hr_str_t){target.data, row.size}, row);
}

/* True if all tensors have the result's rank, so that dimensions correspond. */
static bool has_equal_ranks(const hlo_instr_t *instr) {
  int rank = hlo_shape_leaf(instr->shape, 0)->rank;
  for (int k = 0; k < instr->operand_count; k++)
    if (instr->operands[k]->shape->rank != rank) return false;
  return instr->operand_count > 0;
}

/* A target whose shapes do not fit its row has no rule: it runs whole. */
hr_status_t rule_of_custom_call(hr_arena_t *arena, const hlo_instr_t *instr,
                                const spmd_rule_t **out_rule) {
  hr_str_t target = hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  rule_builder_t builder;
  rule_fn make = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (matches(target, rows[i].target)) make = rows[i].make;
  bool fits = make == rule_matrices ? instr->operand_count && instr->operands[0]->shape->rank >= 2
                                    : has_equal_ranks(instr);
  int batches = make ? 0 : batch_dims_of(instr);
  if ((!make || !fits) && !batches) return NULL;
  HR_TRY(rule_begin(arena, instr, &builder));
  if (batches)
    rule_batches(&builder, batches);
  else
    make(&builder);
  return rule_finish(&builder, out_rule);
}
