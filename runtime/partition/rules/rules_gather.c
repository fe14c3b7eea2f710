/* Rules of gather and scatter. A dimension that slices take whole passes through. A dimension that
 * indices select from is a reduction of a gather, as each part holds some of the elements; it
 * passes through a scatter. Batch dimensions of the updates are reductions if the combiner is a
 * plain op: every part adds its own updates. */
#include "partition/rules/rule_builder.h"

static int index_of(hr_ints_t list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return (int)i;
  return -1;
}

/* Dimension numbers of a gather; a scatter has the same under other names. */
typedef struct gather_dims {
  hr_ints_t offset, collapsed, batching, indices_batching;
  int64_t index_vector;
} gather_dims_t;

/* Dimension of the operand that window dimension number `n` runs over. */
static int window_dim(const gather_dims_t *dims, int rank, int n) {
  for (int d = 0; d < rank; d++) {
    if (rule_lists(dims->collapsed, d) || rule_lists(dims->batching, d)) continue;
    if (n-- == 0) return d;
  }
  return -1;
}

/* Dimension of the indices for batch dimension number `n` of the result or the updates. */
static int indices_dim(const gather_dims_t *dims, int n) {
  return n < dims->index_vector ? n : n + 1;
}

/* The components of one index belong together. */
static void place_index_vector(rule_builder_t *builder, const gather_dims_t *dims, int indices) {
  if (dims->index_vector >= rule_rank(builder, indices)) return;
  int d = (int)dims->index_vector;
  rule_place(builder, indices, d,
             rule_add(builder, rule_size(builder, indices, d), SPMD_NEED_REPLICATION));
}

/* A dimension of the slices. If the slices take all of it, it passes through. If they take one
 * element, it is a reduction to which one part contributes. Otherwise it must be whole. */
static void gather_offset(rule_builder_t *builder, int operand_dim, int d) {
  int64_t full = rule_size(builder, 0, operand_dim), size = rule_size(builder, 2, d);
  if (size == full || size != 1) {
    int factor = size == full ? rule_add(builder, full, SPMD_PASS_THROUGH)
                              : rule_add_blocked(builder, full, SPMD_NEED_REPLICATION);
    rule_place(builder, 0, operand_dim, factor);
    rule_place(builder, 2, d, factor);
    return;
  }
  rule_place(builder, 0, operand_dim, rule_add(builder, full, SPMD_REDUCTION));
  rule_place(builder, 2, d, rule_add(builder, 1, SPMD_NEED_REPLICATION));
}

/* Adds a batch dimension of the result or updates: shared with the indices, and with the operand if
 * it is a batching dimension there, too. Returns the factor. */
static int batch_dim(rule_builder_t *builder, const gather_dims_t *dims, int indices, int from,
                     spmd_factor_kind_t kind, int n) {
  int index = indices_dim(dims, n), batching = index_of(dims->indices_batching, index);
  if (batching >= 0) kind = SPMD_PASS_THROUGH;
  int factor = rule_add(builder, rule_size(builder, indices, index), kind);
  rule_place(builder, indices, index, factor);
  for (int k = 0; k < from && batching >= 0; k++)
    rule_place(builder, k, (int)dims->batching.data[batching], factor);
  return factor;
}

/* Rows of a table, f32[V, 16] by s32[B, 1] -> f32[B, 16]:
 *
 *   ([k, j], [i, l])->([i, j]) reduction={k}     need_replication={l}
 */
void rule_gather(rule_builder_t *builder) {
  const hlo_instr_t *instr = builder->instr;
  gather_dims_t dims = {hlo_attr_ints(instr, HLO_ATTR_OFFSET_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_COLLAPSED_SLICE_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_OPERAND_BATCHING_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_START_INDICES_BATCHING_DIMS),
                        hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM)};
  int batches = 0;
  for (int d = 0; d < rule_rank(builder, 2); d++) {
    int offset = index_of(dims.offset, d);
    if (offset >= 0)
      gather_offset(builder, window_dim(&dims, rule_rank(builder, 0), offset), d);
    else
      rule_place(builder, 2, d, batch_dim(builder, &dims, 1, 1, SPMD_PASS_THROUGH, batches++));
  }
  for (int64_t i = 0; i < dims.collapsed.count; i++) {
    int d = (int)dims.collapsed.data[i];
    int64_t size = rule_size(builder, 0, d);
    rule_place(builder, 0, d,
               rule_add(builder, size, size == 1 ? SPMD_NEED_REPLICATION : SPMD_REDUCTION));
  }
  place_index_vector(builder, &dims, 1);
}

/* --- scatter --- */

/* True if the combiner is one commutative op of its two arguments. */
static bool is_plain_combiner(const hlo_computation_t *combiner) {
  const hlo_instr_t *root = combiner->root;
  static const hlo_opcode_t plain[] = {HLO_ADD,     HLO_MULTIPLY, HLO_MINIMUM,
                                       HLO_MAXIMUM, HLO_AND,      HLO_OR};
  bool known = false;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) known |= root->op == plain[i];
  return known && root->operand_count == 2 && combiner->params.count == 2 &&
         root->operands[0]->op == HLO_PARAMETER && root->operands[1]->op == HLO_PARAMETER &&
         root->operands[0] != root->operands[1];
}

/* The same dimension of several operands, updates or results. */
static void place_range(rule_builder_t *builder, int first, int count, int dim, int factor) {
  for (int k = 0; k < count; k++) rule_place(builder, first + k, dim, factor);
}

/* Adds a window dimension of the updates; there are `n` operands, `n` updates and `n` results. */
static void scatter_window(rule_builder_t *builder, int n, int operand_dim, int d) {
  int64_t full = rule_size(builder, 0, operand_dim), size = rule_size(builder, n + 1, d);
  bool whole = full == size;
  spmd_factor_kind_t kind = whole ? SPMD_PASS_THROUGH : SPMD_NEED_REPLICATION;
  int factor = rule_add(builder, full, kind);
  place_range(builder, 0, n, operand_dim, factor);
  place_range(builder, rule_result(builder, 0), n, operand_dim, factor);
  if (!whole) factor = rule_add(builder, size, kind);
  place_range(builder, n + 1, n, d, factor);
}

/* Rows added to a table, f32[V, 16] with s32[B, 1] and f32[B, 16]:
 *
 *   ([k, j], [i, l], [i, j])->([k, j]) reduction={i}     need_replication={l}
 *
 * Each part of the batch adds to a table of its own, and the tables are added. */
void rule_scatter(rule_builder_t *builder) {
  const hlo_instr_t *instr = builder->instr;
  gather_dims_t dims = {hlo_attr_ints(instr, HLO_ATTR_UPDATE_WINDOW_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS),
                        hlo_attr_ints(instr, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
                        hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM)};
  int n = (builder->operand_count - 1) / 2, batches = 0, result = rule_result(builder, 0);
  bool plain = n == 1 && is_plain_combiner(instr->called[0]);
  for (int d = 0; d < rule_rank(builder, n + 1); d++) {
    int window = index_of(dims.offset, d);
    if (window >= 0) {
      scatter_window(builder, n, window_dim(&dims, rule_rank(builder, 0), window), d);
      continue;
    }
    int batching = index_of(dims.indices_batching, indices_dim(&dims, batches));
    int factor =
        batch_dim(builder, &dims, n, n, plain ? SPMD_REDUCTION : SPMD_NEED_REPLICATION, batches++);
    place_range(builder, n + 1, n, d, factor);
    if (batching >= 0) place_range(builder, result, n, (int)dims.batching.data[batching], factor);
  }
  for (int64_t i = 0; i < dims.collapsed.count; i++) {
    int d = (int)dims.collapsed.data[i];
    int factor = rule_add(builder, rule_size(builder, 0, d), SPMD_PASS_THROUGH);
    place_range(builder, 0, n, d, factor);
    place_range(builder, result, n, d, factor);
  }
  place_index_vector(builder, &dims, n);
}
