/* Gathers and scatters with an index component that counts along a dimension of the indices:
 * x[arange(n), labels], a diagonal, the batch dimension of take_along_axis. Row i of the indices
 * selects from row i of the operand. If both are cut alike, nothing moves along that dimension:
 *
 *   gather x: [i, j], indices: [i, 2] -> [i]     part k of x has all that part k of the result
 * takes
 *
 * Such indices are recognised by the instructions that compute them. */
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

#include <string.h>

/* --- recognition of indices --- */

#define MAX_DEPTH \
  16 /* most instructions between an iota and the indices, as jax.numpy emits them */

static bool is_position(const hlo_instr_t *x, int d, int depth);

/* True if the type represents the positions 0 .. size - 1. */
static bool holds_positions(hr_dtype_t dtype, int64_t size) {
  int bits = hr_dtype_table[dtype].bits;
  return hr_dtype_is_integer(dtype) && (bits >= 32 || size <= INT64_C(1) << (bits - 1));
}

/* Dimension of the operand that a broadcast puts at d; -1: none, or one that it repeats. */
static int broadcast_from(const hlo_instr_t *x, int d) {
  hr_ints_t dims = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS);
  for (int64_t k = 0; k < dims.count; k++)
    if (dims.data[k] == d) return x->operands[0]->shape->dims[k] == x->shape->dims[d] ? (int)k : -1;
  return -1;
}

/* The same for a reshape that adds or removes dimensions of size 1. */
static int reshaped_from(const hlo_instr_t *x, int d) {
  const hlo_shape_t *from = x->operands[0]->shape;
  int before = 0;
  if (!pass_same_without_ones(from, x->shape) || x->shape->dims[d] == 1) return -1;
  for (int k = 0; k < d; k++) before += x->shape->dims[k] != 1;
  for (int k = 0; k < from->rank; k++)
    if (from->dims[k] != 1 && before-- == 0) return k;
  return -1;
}

/* Negative indices count from the end: select(i < 0, i + n, i). No position is below 0. */
static bool is_wrapped(const hlo_instr_t *x, int d, int depth) {
  const hlo_instr_t *test = x->operands[0];
  return test->op == HLO_COMPARE && hlo_attr_enum(test, HLO_ATTR_DIRECTION) == HLO_DIRECTION_LT &&
         pass_is_number(test->operands[1], 0) && is_position(test->operands[0], d, depth) &&
         is_position(x->operands[2], d, depth);
}

/* clamp(0, i, n - 1) */
static bool is_clamped(const hlo_instr_t *x, int d, int depth) {
  int64_t low, high;
  return pass_splat_int(x->operands[0], &low) && low <= 0 &&
         pass_splat_int(x->operands[2], &high) && high >= x->shape->dims[d] - 1 &&
         is_position(x->operands[1], d, depth);
}

/* True if every element equals its index along dimension d. */
static bool is_position(const hlo_instr_t *x, int d, int depth) {
  if (d < 0 || depth == MAX_DEPTH || !holds_positions(x->shape->dtype, x->shape->dims[d]))
    return false;
  switch (x->op) {
    case HLO_IOTA:
      return hlo_attr_int(x, HLO_ATTR_IOTA_DIMENSION) == d;
    case HLO_COPY:
    case HLO_CONVERT:
      return is_position(x->operands[0], d, depth + 1);
    case HLO_BROADCAST:
      return is_position(x->operands[0], broadcast_from(x, d), depth + 1);
    case HLO_RESHAPE:
      return is_position(x->operands[0], reshaped_from(x, d), depth + 1);
    case HLO_ADD:
      return pass_is_number(x->operands[1], 0) && is_position(x->operands[0], d, depth + 1);
    case HLO_SELECT:
      return is_wrapped(x, d, depth + 1);
    case HLO_CLAMP:
      return is_clamped(x, d, depth + 1);
    default:
      return false;
  }
}

/* The same for component c of the indices; `vector` is the dimension of the components. */
static bool component_counts(const hlo_instr_t *x, int64_t vector, int64_t c, int d) {
  while (x->op == HLO_CONCATENATE && hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[0] == vector) {
    int k = 0;
    while (c >= x->operands[k]->shape->dims[vector]) c -= x->operands[k++]->shape->dims[vector];
    x = x->operands[k];
  }
  return is_position(x, d, 0);
}

/* --- the rule --- */

typedef struct aligner {
  spmd_lower_t *lower;
  const hlo_instr_t *instr;
  const spmd_rule_t *rule; /* so far */
  int indices, rows;       /* tensors: the indices; the result or updates, with a row per index */
  const spmd_sharding_t *operand_cut, *rows_cut;
} aligner_t;

static int factor_at(const spmd_rule_t *rule, int tensor, int d) {
  return rule->tensors[tensor].dims[d].count == 1 ? rule->tensors[tensor].dims[d].factors[0] : -1;
}

/* True if some tensor has both factors. */
static bool meet(const spmd_rule_t *rule, int a, int b) {
  for (int t = 0; t < rule->operand_count + rule->result_count; t++)
    if (spmd_dim_of_factor(rule, t, a) >= 0 && spmd_dim_of_factor(rule, t, b) >= 0) return true;
  return false;
}

/* A copy of the rule in which factor `keep` passes through and replaces factor `gone`. */
static hr_status_t join_factors(hr_arena_t *arena, const spmd_rule_t *from, int gone, int keep,
                                const spmd_rule_t **out_rule) {
  int count = from->operand_count + from->result_count;
  spmd_rule_t *rule;
  spmd_factor_t *factors;
  spmd_tensor_factors_t *tensors;
  HR_TRY(HR_NEW(arena, &rule));
  HR_TRY(HR_NEW_ARRAY(arena, from->factor_count, &factors));
  HR_TRY(HR_NEW_ARRAY(arena, count, &tensors));
  memcpy(factors, from->factors, (size_t)from->factor_count * sizeof *factors);
  factors[keep].kind = SPMD_PASS_THROUGH;
  for (int t = 0; t < count; t++) {
    spmd_dim_factors_t *dims;
    HR_TRY(HR_NEW_ARRAY(arena, from->tensors[t].rank, &dims));
    tensors[t] = (spmd_tensor_factors_t){from->tensors[t].rank, dims};
    for (int d = 0; d < from->tensors[t].rank; d++) {
      int *kept;
      dims[d] = from->tensors[t].dims[d];
      if (factor_at(from, t, d) != gone) continue;
      HR_TRY(HR_NEW(arena, &kept));
      *kept = keep;
      dims[d].factors = kept;
    }
  }
  *rule = *from;
  rule->factors = factors;
  rule->tensors = tensors;
  *out_rule = rule;
  return NULL;
}

/* Preference for joining dimension d of the operand with dimension `row` of the rows: cut alike is
 * best, then cut differently, then whole. */
static int fitness(const aligner_t *a, int d, int row) {
  spmd_axes_t own = a->operand_cut->dims[d].axes;
  if (!own.count) return 1;
  return row >= 0 && spmd_axes_equal(own, a->rows_cut->dims[row].axes) ? 3 : 2;
}

/* The operand dimension, indexed one element at a time, whose index component counts along
 * dimension b of the indices; the fittest of several; -1: none. */
static int best_dim(const aligner_t *a, hr_ints_t map, int64_t vector, int b) {
  const hlo_shape_t *operand = a->instr->operands[0]->shape;
  const hlo_instr_t *indices = a->instr->operands[a->indices];
  int batch = factor_at(a->rule, a->indices, b), best = -1, score = 0;
  for (int64_t c = 0; c < map.count && batch >= 0; c++) {
    int d = (int)map.data[c], factor = factor_at(a->rule, 0, d);
    int fit = fitness(a, d, spmd_dim_of_factor(a->rule, a->rows, batch));
    if (factor < 0 || factor == batch || operand->dims[d] != indices->shape->dims[b]) continue;
    if (fit <= score || meet(a->rule, factor, batch)) continue;
    if (!component_counts(indices, vector, c, b)) continue;
    best = d;
    score = fit;
  }
  return best;
}

/* Joins the factors of all dimensions along which indices count; `single` lists the operand's
 * dimensions that are indexed one element at a time. */
static hr_status_t align(aligner_t *a, hr_ints_t map, hr_ints_t single) {
  const hlo_instr_t *indices = a->instr->operands[a->indices];
  int64_t vector = hlo_attr_int(a->instr, HLO_ATTR_INDEX_VECTOR_DIM);
  for (int b = 0; b < indices->shape->rank; b++) {
    int d = b == vector || indices->shape->dims[b] < 2 ? -1 : best_dim(a, map, vector, b);
    bool found = false;
    for (int64_t i = 0; i < single.count; i++) found |= single.data[i] == d;
    if (found)
      HR_TRY(join_factors(a->lower->arena, a->rule, factor_at(a->rule, 0, d),
                          factor_at(a->rule, a->indices, b), &a->rule));
  }
  return NULL;
}

/* A copy of a scatter's rule in which dimensions of the operand pass through if windows take a part
 * of them: each part takes what lies in it. Propagation keeps them whole. */
static hr_status_t pass_windows(hr_arena_t *arena, const spmd_rule_t *from,
                                const spmd_rule_t **out_rule) {
  spmd_rule_t *rule;
  spmd_factor_t *factors;
  HR_TRY(HR_NEW(arena, &rule));
  HR_TRY(HR_NEW_ARRAY(arena, from->factor_count, &factors));
  memcpy(factors, from->factors, (size_t)from->factor_count * sizeof *factors);
  for (int f = 0; f < from->factor_count; f++)
    if (spmd_dim_of_factor(from, 0, f) >= 0) factors[f].kind = SPMD_PASS_THROUGH;
  *rule = *from;
  rule->factors = factors;
  *out_rule = rule;
  return NULL;
}

static hr_status_t add_alternative(hr_arena_t *arena, const spmd_rule_t *from,
                                   const spmd_rule_t *alternative, const spmd_rule_t **out_rule) {
  spmd_rule_t *rule;
  HR_TRY(HR_NEW(arena, &rule));
  *rule = *from;
  rule->alternative = alternative;
  *out_rule = rule;
  return NULL;
}

/* A gather that is wanted whole may also be a sum of what each part has, whatever its indices. */
hr_status_t spmd_rule_indexed(spmd_lower_t *lower, const hlo_instr_t *instr,
                              const spmd_rule_t **out_rule) {
  bool gathers = instr->op == HLO_GATHER;
  int n = gathers ? 1 : (instr->operand_count - 1) / 2;
  aligner_t a = {.lower = lower,
                 .instr = instr,
                 .indices = n,
                 .rows = gathers ? 2 : n + 1,
                 .operand_cut = spmd_operand(lower, instr, 0)->preferred,
                 .rows_cut = gathers ? spmd_preferred(lower, instr, 0)
                                     : spmd_operand(lower, instr, n + 1)->preferred};
  HR_TRY(spmd_rule_create(lower->arena, instr, &a.rule));
  *out_rule = a.rule;
  if (!a.rule || a.rule->custom || lower->emit.b.status) return NULL;
  const spmd_rule_t *plain = a.rule;
  if (!gathers) HR_TRY(pass_windows(lower->arena, a.rule, &a.rule));
  HR_TRY(align(&a,
               hlo_attr_ints(instr, gathers ? HLO_ATTR_START_INDEX_MAP
                                            : HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
               hlo_attr_ints(instr, gathers ? HLO_ATTR_COLLAPSED_SLICE_DIMS
                                            : HLO_ATTR_INSERTED_WINDOW_DIMS)));
  *out_rule = a.rule;
  return gathers && a.rule != plain ? add_alternative(lower->arena, a.rule, plain, out_rule) : NULL;
}
