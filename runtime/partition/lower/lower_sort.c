/* Sorts along a dimension that is cut. Those of long lines sort by columns (lower_columns.c). If
 * only their first elements are read: the first elements of each sorted part are gathered in the
 * order of the parts and sorted again. Equal elements keep their order in both sorts if the sort is
 * stable, and so in the result. The rest of the result, which nobody reads, is zero. An uneven
 * dimension is gathered whole, as its padding could come first. */
#include "partition/lower/lower_ops.h"

#include <math.h>

/* Cost of a comparison, for each operand, in elementwise operations. */
#define COMPARISON_WORK 32

static int sorted_dim(const hlo_instr_t *sort) {
  return (int)hlo_attr_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
}

static int64_t sorted_size(const hlo_instr_t *sort) {
  return sort->operands[0]->shape->dims[sorted_dim(sort)];
}

/* The end of the elements that an instruction reads of a sort's result, along the dimension. */
static int64_t end_of_read(const hlo_instr_t *user, const hlo_instr_t *sort) {
  if (user->op != HLO_SLICE) return sorted_size(sort);
  const hlo_slice_dim_t *dim = &hlo_attr_slice(user)->dims[sorted_dim(sort)];
  int64_t count = user->shape->dims[sorted_dim(sort)];
  return count ? dim->start + (count - 1) * dim->stride + 1 : 0;
}

/* The sort of which the value is a result; NULL: none. */
static const hlo_instr_t *sort_of(const hlo_instr_t *value) {
  if (value->op == HLO_GET_TUPLE_ELEMENT) value = value->operands[0];
  return value->op == HLO_SORT ? value : NULL;
}

void spmd_note_sort_reads(spmd_lower_t *lower, const hlo_instr_t *user) {
  for (int k = 0; k < user->operand_count; k++) {
    const hlo_instr_t *sort = sort_of(user->operands[k]);
    if (!sort || (user->op == HLO_GET_TUPLE_ELEMENT && user->operands[k] == sort)) continue;
    int64_t end = end_of_read(user, sort);
    if (end > lower->sort_reads[sort->id]) lower->sort_reads[sort->id] = end;
  }
  const hlo_instr_t *root = sort_of(user);
  if (root && user == lower->from->root) lower->sort_reads[root->id] = sorted_size(root);
}

/* The sorted dimension has a factor of the operands and one of the results, or one of both. */
static hr_status_t make_rule(spmd_lower_t *lower, const hlo_instr_t *instr, bool columns,
                             const spmd_rule_t *alternative, const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  const hlo_shape_t *shape = instr->operands[0]->shape;
  HR_TRY(spmd_rule_begin(lower->arena, instr, shape->rank + 1, &maker));
  for (int d = 0; d < shape->rank; d++) {
    bool is_sorted = d == sorted_dim(instr);
    spmd_factor_kind_t kind = columns ? SPMD_PERMUTATION : SPMD_REDUCTION;
    if (!is_sorted) kind = SPMD_PASS_THROUGH;
    int factor = spmd_rule_factor(&maker, shape->dims[d], kind), result = factor;
    if (kind == SPMD_REDUCTION)
      result = spmd_rule_factor(&maker, shape->dims[d], SPMD_NEED_REPLICATION);
    for (int k = 0; k < instr->operand_count; k++) {
      HR_TRY(spmd_rule_place(&maker, k, d, factor));
      HR_TRY(spmd_rule_place(&maker, instr->operand_count + k, d, result));
    }
  }
  maker.rule->alternative = alternative;
  *out_rule = maker.rule;
  return NULL;
}

/* If few elements are read, every part gives some. Else the sorted dimension is cut by columns, or
 * it is whole. */
hr_status_t spmd_rule_sort(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_rule_t **out_rule) {
  const spmd_rule_t *whole;
  int64_t read = lower->sort_reads[instr->id];
  if (read && read < sorted_size(instr)) return make_rule(lower, instr, false, NULL, out_rule);
  HR_TRY(spmd_rule_create(lower->arena, instr, &whole));
  if (whole && spmd_may_sort_by_columns(instr))
    return make_rule(lower, instr, true, whole, out_rule);
  *out_rule = whole;
  return NULL;
}

/* An element is compared about log2(length) times, by columns in each of four sorts. */
double spmd_sort_work(const hlo_instr_t *sort, bool columns) {
  return (columns ? 4 : 1) * COMPARISON_WORK * sort->operand_count *
         log2(1 + (double)sorted_size(sort));
}

bool spmd_can_cut_sort(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  (void)instr;
  return rule->factors[factor].kind != SPMD_NEED_REPLICATION;
}

/* Result k of a sort, which is a tuple if there are several. */
static hlo_instr_t *result_of(spmd_lower_t *lower, hlo_instr_t *sort, int count, int k) {
  return count == 1 ? sort : hlo_build_element(&lower->emit.b, sort, k);
}

/* read = 2 of {5, 1, 7, | 2, 9, 7}: the parts give {1, 5} and {2, 7}, which sorted begin with
 * {1, 2}. */
static hlo_instr_t *sort_parts(spmd_lower_t *lower, const spmd_choice_t *choice, int64_t read) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_instr_t *instr = choice->instr;
  int count = instr->operand_count, d = sorted_dim(instr);
  hlo_instr_t **parts;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, count, &parts))) return NULL;
  for (int k = 0; k < count; k++) parts[k] = spmd_chosen_operand(lower, choice, k);
  hlo_instr_t *sorted = spmd_emit_like(emit, instr, parts, NULL);
  for (int k = 0; k < count; k++) {
    hlo_instr_t *first = result_of(lower, sorted, count, k);
    if (first && read < first->shape->dims[d]) first = spmd_emit_slice(emit, first, d, 0, read);
    parts[k] = spmd_emit_all_gather(emit, first, d, choice->tensors[k]->dims[d].axes);
  }
  sorted = spmd_emit_like(emit, instr, parts, NULL);
  for (int k = 0; k < count; k++) {
    hlo_instr_t *first = result_of(lower, sorted, count, k);
    if (!first) return NULL;
    parts[k] =
        spmd_emit_pad(emit, first, d, 0, sorted_size(instr) - first->shape->dims[d], 0, NULL);
  }
  return count == 1 ? parts[0] : hlo_build_tuple(&emit->b, count, parts);
}

/* The operands with the sorted dimension whole, the others as chosen. */
static hlo_instr_t *sort_whole(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  hlo_instr_t **operands;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, instr->operand_count, &operands)))
    return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    const spmd_sharding_t *whole;
    if (spmd_emit_failed(&lower->emit,
                         spmd_sharding_with_dim(lower->arena, choice->tensors[k], sorted_dim(instr),
                                                (spmd_axes_t){0}, &whole)))
      return NULL;
    operands[k] = spmd_use(lower, spmd_operand(lower, instr, k), whole);
  }
  return spmd_emit_like(&lower->emit, instr, operands, NULL);
}

/* Parts that are read whole are not sorted first. */
hlo_instr_t *spmd_lower_sort(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  int64_t parts = spmd_chosen_parts(choice, 0, sorted_dim(instr)), size = sorted_size(instr);
  int64_t read = lower->sort_reads[instr->id];
  if (parts == 1) return spmd_emit_local(lower, choice);
  if (!read || read == size) return spmd_sort_by_columns(lower, choice);
  bool is_even = size % parts == 0 && read < size / parts;
  return is_even ? sort_parts(lower, choice, read) : sort_whole(lower, choice);
}
