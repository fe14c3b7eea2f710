/* Result shapes of dot, ragged-dot and scaled-dot. The dimensions of a dot are
 *
 *   lhs [batch, lhs free, contracting] x rhs [batch, rhs free, contracting]
 *     -> [batch, lhs free, rhs free]
 *
 * in any order in the operands, named by four lists of dimension numbers that are checked first:
 * lists in range, no dimension twice, paired dimensions of equal sizes. Source: StableHLO
 * specification, dot_general. */
#include "ops/rules/constraint.h"

/* The checked attributes of a contraction. */
typedef struct contraction {
  const hlo_shape_t *lhs, *rhs;
  hr_ints_t lhs_batch, rhs_batch, lhs_contract, rhs_contract;
} contraction_t;

/* Checks the lists of one side: in range, no dimension twice, not even in both lists. */
static hr_status_t check_side(const hlo_instr_t *instr, const char *const *rules,
                              const hlo_shape_t *shape, hr_ints_t batch, hr_ints_t contract,
                              bool left) {
  uint64_t seen = 0;
  HR_TRY(op_check_range(instr, rules[0], left ? "lhs_batch_dims" : "rhs_batch_dims", batch,
                        shape->rank));
  HR_TRY(op_check_range(instr, rules[1], left ? "lhs_contracting_dims" : "rhs_contracting_dims",
                        contract, shape->rank));
  HR_TRY(
      op_check_unique(instr, rules[2], left ? "lhs_batch_dims" : "rhs_batch_dims", batch, &seen));
  return op_check_unique(instr, rules[2], left ? "lhs_contracting_dims" : "rhs_contracting_dims",
                         contract, &seen);
}

/* Dimension i of one list is paired with dimension i of the other. */
static hr_status_t check_pairs(const hlo_instr_t *instr, const char *rule, const contraction_t *c,
                               hr_ints_t lhs_dims, hr_ints_t rhs_dims) {
  for (int64_t i = 0; i < lhs_dims.count; i++) {
    int64_t l = lhs_dims.data[i], r = rhs_dims.data[i];
    OP_WANT(instr, op_dims_agree(c->lhs, l, c->rhs, r), rule,
            "dimension %ld of %s is paired with dimension %ld of %s, want equal sizes", (long)l,
            OP_TEXT(c->lhs), (long)r, OP_TEXT(c->rhs));
  }
  return NULL;
}

/* Labels C3 to C8 are listed by side; both sides have the same three checks. */
static hr_status_t check_contraction(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                     contraction_t *out) {
  static const char *const lhs_rules[] = {"C5", "C6", "C3"}, *const rhs_rules[] = {"C7", "C8",
                                                                                   "C4"};
  contraction_t c = {.lhs = in[0],
                     .rhs = in[1],
                     .lhs_batch = hlo_attr_ints(instr, HLO_ATTR_LHS_BATCH_DIMS),
                     .rhs_batch = hlo_attr_ints(instr, HLO_ATTR_RHS_BATCH_DIMS),
                     .lhs_contract = hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS),
                     .rhs_contract = hlo_attr_ints(instr, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  HR_TRY(op_want_arrays(instr, in, "I1"));
  OP_WANT(instr, c.lhs_batch.count == c.rhs_batch.count, "C1",
          "%ld lhs_batch_dims and %ld rhs_batch_dims, want as many", (long)c.lhs_batch.count,
          (long)c.rhs_batch.count);
  OP_WANT(instr, c.lhs_contract.count == c.rhs_contract.count, "C2",
          "%ld lhs_contracting_dims and %ld rhs_contracting_dims, want as many",
          (long)c.lhs_contract.count, (long)c.rhs_contract.count);
  HR_TRY(check_side(instr, lhs_rules, c.lhs, c.lhs_batch, c.lhs_contract, true));
  HR_TRY(check_side(instr, rhs_rules, c.rhs, c.rhs_batch, c.rhs_contract, false));
  HR_TRY(check_pairs(instr, "C9", &c, c.lhs_batch, c.rhs_batch));
  HR_TRY(check_pairs(instr, "C10", &c, c.lhs_contract, c.rhs_contract));
  *out = c;
  return NULL;
}

/* The wider of the operands' types, of one kind; a declared result may have another type of the
 * same or a higher kind (bf16 products into f32, integer products into floats). */
hr_status_t op_contraction_dtype(const hlo_instr_t *instr, const char *rule, hr_dtype_t lhs,
                                 hr_dtype_t rhs, hr_dtype_t *out_dtype) {
  op_kind_t kind = op_kind(lhs);
  OP_WANT(instr, kind == op_kind(rhs), rule,
          "operands of types %s and %s, want both integers, floats or complex", hr_dtype_name(lhs),
          hr_dtype_name(rhs));
  *out_dtype = hr_dtype_table[rhs].bits > hr_dtype_table[lhs].bits ? rhs : lhs;
  if (!instr->shape || !hlo_shape_is_array(instr->shape)) return NULL;
  if (op_kind(instr->shape->dtype) >= kind)
    *out_dtype = instr->shape->dtype; /* sums of integers may be floats */
  return NULL;
}

/* Operands without an entry have the default precision. */
static hr_status_t check_precision(const hlo_instr_t *instr, int64_t operands) {
  hr_ints_t precision = hlo_attr_ints(instr, HLO_ATTR_OPERAND_PRECISION);
  OP_WANT(instr, precision.count <= operands, "C11",
          "operand_precision lists %ld values, want %ld at most", (long)precision.count,
          (long)operands);
  return NULL;
}

static hr_status_t push_listed(const hlo_instr_t *instr, op_dims_t *dims, const hlo_shape_t *shape,
                               hr_ints_t list) {
  for (int64_t i = 0; i < list.count; i++)
    HR_TRY(op_dims_push_from(instr, dims, shape, list.data[i]));
  return NULL;
}

/* Appends all dimensions of `shape` except those whose bits are set in `without`. */
static hr_status_t push_others(const hlo_instr_t *instr, op_dims_t *dims, const hlo_shape_t *shape,
                               uint64_t without) {
  for (int d = 0; d < shape->rank; d++)
    if (!(without >> d & 1)) HR_TRY(op_dims_push_from(instr, dims, shape, d));
  return NULL;
}

/* Batch dimensions, then the free dimensions of the left side, then those of the right side except
 * `rhs_without` (the group dimension of a ragged dot). */
static hr_status_t push_result(const hlo_instr_t *instr, const contraction_t *c,
                               uint64_t rhs_without, op_dims_t *dims) {
  HR_TRY(push_listed(instr, dims, c->lhs, c->lhs_batch));
  HR_TRY(
      push_others(instr, dims, c->lhs, op_dims_mask(c->lhs_batch) | op_dims_mask(c->lhs_contract)));
  return push_others(instr, dims, c->rhs,
                     op_dims_mask(c->rhs_batch) | op_dims_mask(c->rhs_contract) | rhs_without);
}

/* An integer type of at most 8 bits. */
static bool is_byte(hr_dtype_t dtype) {
  return op_kind(dtype) == OP_KIND_INTEGER && hr_dtype_table[dtype].bits <= 8;
}

/* Floats times integers of at most 8 bits, accepted as in XLA: weights that are widened when they
 * are read. */
static hr_status_t dot_dtype(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                             hr_dtype_t *out_dtype) {
  hr_dtype_t lhs = in[0]->dtype, rhs = in[1]->dtype;
  if (op_kind(lhs) == OP_KIND_FLOAT && is_byte(rhs)) rhs = lhs;
  if (op_kind(rhs) == OP_KIND_FLOAT && is_byte(lhs)) lhs = rhs;
  return op_contraction_dtype(instr, "C13", lhs, rhs, out_dtype);
}

hr_status_t infer_dot(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                      const hlo_shape_t **out_shape) {
  contraction_t c;
  hr_dtype_t dtype = HR_PRED;
  op_dims_t dims = {.rank = 0};
  HR_TRY(check_contraction(instr, in, &c));
  HR_TRY(dot_dtype(instr, in, &dtype));
  HR_TRY(check_precision(instr, 2));
  HR_TRY(push_result(instr, &c, 0, &dims));
  return op_dims_shape(arena, dtype, &dims, out_shape);
}

/* The scale of an operand has one element per block of it: its sizes divide the operand's. A scalar
 * is no scale. */
static hr_status_t check_scale(const hlo_instr_t *instr, const hlo_shape_t *operand,
                               const hlo_shape_t *scale, int k) {
  OP_WANT(instr, hr_dtype_is_float(scale->dtype), NULL,
          "operand %d is %s, want scales of a float type", k, OP_TEXT(scale));
  bool fits = scale->rank == operand->rank;
  for (int d = 0; fits && d < scale->rank; d++)
    fits = op_is_dynamic(scale, d) || op_is_dynamic(operand, d) ||
           scale->dims[d] == operand->dims[d] ||
           (scale->dims[d] > 0 && operand->dims[d] % scale->dims[d] == 0);
  OP_WANT(instr, fits || scale->rank == 0, NULL,
          "operand %d is %s, want sizes that divide those of %s", k, OP_TEXT(scale),
          OP_TEXT(operand));
  return NULL;
}

/* Operands 2 and 3 are the scales of operands 0 and 1; the result is that of the plain dot. */
hr_status_t infer_scaled_dot(hr_arena_t *arena, const hlo_instr_t *instr,
                             const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(op_want_arrays(instr, in, NULL));
  HR_TRY(check_scale(instr, in[0], in[2], 2));
  HR_TRY(check_scale(instr, in[1], in[3], 3));
  return infer_dot(arena, instr, in, out_shape);
}

/* Role of the left side's ragged dimension: the part of the product that the groups divide.
 *   free          each group of rows has a right matrix of its own
 *   contracting   each group of terms has a result of its own
 *   batch         groups have no effect on shapes */
typedef enum ragged_mode { RAGGED_FREE, RAGGED_CONTRACTING, RAGGED_BATCH } ragged_mode_t;

static hr_status_t ragged_mode_of(const hlo_instr_t *instr, const contraction_t *c,
                                  ragged_mode_t *out_mode) {
  hr_ints_t ragged = hlo_attr_ints(instr, HLO_ATTR_LHS_RAGGED_DIMS);
  OP_WANT(instr, ragged.count == 1, NULL, "lhs_ragged_dims lists %ld dimensions, want one",
          (long)ragged.count);
  HR_TRY(op_check_range(instr, NULL, "lhs_ragged_dims", ragged, c->lhs->rank));
  uint64_t bit = op_dims_mask(ragged);
  *out_mode = op_dims_mask(c->lhs_contract) & bit ? RAGGED_CONTRACTING
              : op_dims_mask(c->lhs_batch) & bit  ? RAGGED_BATCH
                                                  : RAGGED_FREE;
  return NULL;
}

/* Dimensions of the left side of which each index has group sizes of its own: those of the batch,
 * then those before the ragged one among the free or contracted ones. Of the batch only those
 * before a ragged one that is in it. Returns their number. */
static int ragged_run_dims(const contraction_t *c, int64_t ragged, ragged_mode_t mode,
                           int64_t *out_dims) {
  uint64_t taken = op_dims_mask(c->lhs_batch) | op_dims_mask(c->lhs_contract);
  int count = 0;
  for (int64_t i = 0; i < c->lhs_batch.count && c->lhs_batch.data[i] != ragged; i++)
    out_dims[count++] = c->lhs_batch.data[i];
  for (int64_t d = 0; mode == RAGGED_FREE && d < ragged; d++)
    if (!(taken >> d & 1)) out_dims[count++] = d;
  for (int64_t i = 0; mode == RAGGED_CONTRACTING && c->lhs_contract.data[i] != ragged; i++)
    out_dims[count++] = c->lhs_contract.data[i];
  return count;
}

/* The groups are the last dimension of their sizes; those before it are either none or all of
 * ragged_run_dims. */
static hr_status_t check_ragged_runs(const hlo_instr_t *instr, const contraction_t *c,
                                     const hlo_shape_t *sizes, ragged_mode_t mode) {
  int64_t dims[HLO_MAX_RANK];
  int64_t ragged = hlo_attr_ints(instr, HLO_ATTR_LHS_RAGGED_DIMS).data[0];
  if (sizes->rank == 1) return NULL;
  int count = ragged_run_dims(c, ragged, mode, dims);
  OP_WANT(instr, sizes->rank - 1 == count, NULL,
          "the group sizes are %s, want %d dimensions before the groups, or none", OP_TEXT(sizes),
          count);
  for (int i = 0; i < count; i++)
    OP_WANT(instr, op_dims_agree(c->lhs, dims[i], sizes, i), NULL,
            "dimension %d of the group sizes is %ld, want %ld as in dimension %ld of the left side",
            i, (long)sizes->dims[i], (long)c->lhs->dims[dims[i]], (long)dims[i]);
  return NULL;
}

/* Only a free ragged dimension has a group dimension on the right side. */
static hr_status_t check_ragged_groups(const hlo_instr_t *instr, const contraction_t *c,
                                       const hlo_shape_t *sizes, ragged_mode_t mode) {
  hr_ints_t group = hlo_attr_ints(instr, HLO_ATTR_RHS_GROUP_DIMS);
  uint64_t seen = op_dims_mask(c->rhs_batch) | op_dims_mask(c->rhs_contract);
  OP_WANT(instr,
          hr_dtype_is_integer(sizes->dtype) && sizes->rank >= 1 && sizes->rank <= c->lhs->rank,
          NULL,
          "the group sizes are %s, want integers with the groups in the last of 1 to %d dimensions",
          OP_TEXT(sizes), c->lhs->rank);
  HR_TRY(check_ragged_runs(instr, c, sizes, mode));
  OP_WANT(instr, group.count == (mode == RAGGED_FREE), NULL,
          "rhs_group_dims lists %ld dimensions, want %d", (long)group.count, mode == RAGGED_FREE);
  HR_TRY(op_check_range(instr, NULL, "rhs_group_dims", group, c->rhs->rank));
  HR_TRY(op_check_unique(instr, NULL, "rhs_group_dims", group, &seen));
  OP_WANT(instr,
          mode != RAGGED_FREE || op_dims_agree(c->rhs, group.data[0], sizes, sizes->rank - 1), NULL,
          "dimension %ld of %s counts the groups, want the last size of %s",
          mode == RAGGED_FREE ? (long)group.data[0] : 0, OP_TEXT(c->rhs), OP_TEXT(sizes));
  return NULL;
}

/* With a contracting ragged dimension, the groups are the result's first dimension. */
hr_status_t infer_ragged_dot(hr_arena_t *arena, const hlo_instr_t *instr,
                             const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  contraction_t c;
  hr_dtype_t dtype = HR_PRED;
  ragged_mode_t mode = RAGGED_FREE;
  op_dims_t dims = {.rank = 0};
  HR_TRY(check_contraction(instr, in, &c));
  HR_TRY(op_contraction_dtype(instr, NULL, in[0]->dtype, in[1]->dtype, &dtype));
  HR_TRY(ragged_mode_of(instr, &c, &mode));
  HR_TRY(check_ragged_groups(instr, &c, in[2], mode));
  HR_TRY(check_precision(instr, 2));
  if (mode == RAGGED_CONTRACTING) HR_TRY(op_dims_push_from(instr, &dims, in[2], in[2]->rank - 1));
  HR_TRY(
      push_result(instr, &c, op_dims_mask(hlo_attr_ints(instr, HLO_ATTR_RHS_GROUP_DIMS)), &dims));
  return op_dims_shape(arena, dtype, &dims, out_shape);
}
