/* The first few elements of sorted rows, by selection instead of sorting: what jax.lax.approx_max_k
 * and its kin are, as custom calls or as what JAX makes of them.
 *
 *   custom-call ApproxTopK (x, iota)    is topk (x)
 *   slice [0:k] of sort (x, iota)       is an element of topk (x), if all uses of the sort are such
 * slices
 *
 * Rows are along the last dimension. Sorts that are not stable may put equal elements in any order,
 * so the order of topk will do. */
#include "ops/query/custom_call_table.h"
#include "passes/passes.h"
#include "passes/lib/pass_rewrite.h"

#define LEAST_SHARE 4 /* a row is so many times as long as what is kept */

typedef struct sorted { /* a sort whose uses are slices */
  hlo_instr_t *top;     /* in its place; NULL: not made yet */
  int64_t kept;         /* 0: other uses */
  bool descends;
} sorted_t;

/* Is an operand each element's number along the dimension? */
static bool is_numbering(const hlo_instr_t *instr, int64_t dim) {
  if (instr->shape->dtype != HR_S32) return false;
  if (instr->op == HLO_IOTA) return hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION) == dim;
  if (instr->op != HLO_BROADCAST || instr->operands[0]->op != HLO_IOTA) return false;
  int64_t from = hlo_attr_int(instr->operands[0], HLO_ATTR_IOTA_DIMENSION);
  return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[from] == dim;
}

static bool can_select(const hlo_instr_t *x, const hlo_instr_t *numbers, int64_t dim) {
  const hlo_shape_t *shape = x->shape;
  bool is_plain = hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape) &&
                  !hr_dtype_is_complex(shape->dtype);
  return is_plain && dim == shape->rank - 1 && hlo_shape_same_dims(shape, numbers->shape) &&
         is_numbering(numbers, dim);
}

static hlo_instr_t *build_top(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t k, bool descends) {
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_K, k),
                        hlo_attr_of_bool(HLO_ATTR_LARGEST, descends)};
  return hlo_build(&rewrite->builder, HLO_TOPK, NULL, 1, &x, 2, attrs, 0, NULL);
}

/* --- custom calls ----------------------------------------------------------------------------- */

static hr_status_t replace_call(pass_rewrite_t *rewrite, hlo_instr_t *call) {
  int64_t dim;
  bool descends;
  const hlo_shape_t *shape = call->shape;
  if (!hr_str_is(op_custom_call_target(call), "ApproxTopK") || call->operand_count < 4) return NULL;
  if (!hlo_shape_is_array(call->operands[0]->shape) || shape->element_count != 2) return NULL;
  int rank = call->operands[0]->shape->rank;
  HR_TRY(custom_approx_order(&rewrite->scratch, call, rank, &dim, &descends));
  if (!can_select(call->operands[0], call->operands[1], dim)) return NULL;
  hlo_instr_t *top = build_top(rewrite, call->operands[0], shape->elements[0]->dims[dim], descends);
  return top && !hlo_shape_equal(top->shape, shape) ? NULL : pass_replace(rewrite, call, top);
}

/* --- sorts ------------------------------------------------------------------------------------ */

/* Orders the first operand alone: greater or less. */
static bool read_comparator(const hlo_computation_t *comparator, bool *out_descends) {
  const hlo_instr_t *root = comparator->root;
  if (root->op != HLO_COMPARE) return false;
  const hlo_instr_t *a = root->operands[0], *b = root->operands[1];
  if (a->op != HLO_PARAMETER || b->op != HLO_PARAMETER) return false;
  int direction = hlo_attr_enum(root, HLO_ATTR_DIRECTION);
  *out_descends = direction == HLO_DIRECTION_GT;
  return (direction == HLO_DIRECTION_GT || direction == HLO_DIRECTION_LT) &&
         hlo_parameter_number(a) == 0 && hlo_parameter_number(b) == 1;
}

/* How many first elements of the last dimension a slice takes, of all rows; 0: others. */
static int64_t taken_by(const hlo_instr_t *slice, int64_t row) {
  if (slice->op != HLO_SLICE) return 0;
  const hlo_slice_t *parts = hlo_attr_slice(slice);
  const hlo_shape_t *from = slice->operands[0]->shape;
  for (int d = 0; d < from->rank; d++) {
    if (parts->dims[d].start || parts->dims[d].stride != 1) return 0;
    if (d + 1 < from->rank && slice->shape->dims[d] != from->dims[d]) return 0;
  }
  int64_t count = slice->shape->dims[from->rank - 1];
  return count * LEAST_SHARE <= row ? count : 0;
}

/* The most that the slices of one result take; -1: it has other uses. */
static int64_t taken_of(const pass_users_t *users, const hlo_instr_t *element, int64_t row) {
  int64_t most = 0;
  if (element->op != HLO_GET_TUPLE_ELEMENT) return -1;
  for (uint32_t u = users->first[element->id]; u < users->first[element->id + 1]; u++) {
    int64_t count = taken_by(users->users[u], row);
    if (!count) return -1;
    most = count > most ? count : most;
  }
  return most;
}

static void look_at_sort(const pass_users_t *users, const hlo_instr_t *sort, sorted_t *out_sorted) {
  int64_t most = 0;
  if (sort->op != HLO_SORT || sort->operand_count != 2) return;
  const hlo_shape_t *shape = sort->operands[0]->shape;
  bool is_exact = hlo_attr_bool(sort, HLO_ATTR_IS_STABLE) && hr_dtype_is_float(shape->dtype);
  if (is_exact || !can_select(sort->operands[0], sort->operands[1],
                              hlo_attr_ints(sort, HLO_ATTR_DIMENSIONS).data[0]))
    return;
  if (!read_comparator(sort->called[0], &out_sorted->descends)) return;
  for (uint32_t u = users->first[sort->id]; u < users->first[sort->id + 1]; u++) {
    int64_t count = taken_of(users, users->users[u], shape->dims[shape->rank - 1]);
    if (count < 0) return;
    most = count > most ? count : most;
  }
  out_sorted->kept = most;
}

/* A slice of a result: of what is kept. */
static hr_status_t replace_slice(pass_rewrite_t *rewrite, hlo_instr_t *slice, sorted_t *all) {
  hlo_instr_t *element = slice->operands[0], *sort = element->operands[0];
  sorted_t *sorted = &all[sort->id];
  if (!sorted->top)
    sorted->top = build_top(rewrite, sort->operands[0], sorted->kept, sorted->descends);
  if (!sorted->top) return hlo_builder_finish(&rewrite->builder);
  hlo_instr_t *kept =
      hlo_build_element(&rewrite->builder, sorted->top, (int)hlo_attr_int(element, HLO_ATTR_INDEX));
  if (!kept || hlo_shape_equal(kept->shape, slice->shape))
    return pass_replace(rewrite, slice, kept);
  return pass_replace(rewrite, slice, pass_clone(rewrite, slice, &kept));
}

static bool is_of_sorted(const pass_rewrite_t *rewrite, const hlo_instr_t *slice,
                         const sorted_t *all) {
  if (slice->op != HLO_SLICE || slice->operands[0]->op != HLO_GET_TUPLE_ELEMENT) return false;
  const hlo_instr_t *sort = slice->operands[0]->operands[0];
  return sort->id < rewrite->old_count && all[sort->id].kept > 0;
}

/* --- the pass --------------------------------------------------------------------------------- */

static hr_status_t select_in(pass_rewrite_t *rewrite) {
  hlo_computation_t *computation = rewrite->computation;
  pass_users_t users;
  sorted_t *sorted;
  HR_TRY(pass_users_find(&rewrite->scratch, computation, &users));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count, &sorted));
  for (uint32_t i = 0; i < rewrite->old_count; i++)
    look_at_sort(&users, computation->instrs.data[i], &sorted[i]);
  for (uint32_t i = 0; i < rewrite->old_count; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(rewrite, i);
    if (instr && instr->op == HLO_CUSTOM_CALL) HR_TRY(replace_call(rewrite, instr));
    if (instr && is_of_sorted(rewrite, instr, sorted))
      HR_TRY(replace_slice(rewrite, instr, sorted));
  }
  return NULL;
}

static bool has_any(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_opcode_t op = computation->instrs.data[i]->op;
    if (op == HLO_SORT || op == HLO_CUSTOM_CALL) return true;
  }
  return false;
}

hr_status_t pass_top_k(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    pass_rewrite_t rewrite;
    if (!has_any(module->computations.data[c])) continue;
    HR_TRY(pass_rewrite_begin(&rewrite, module->computations.data[c]));
    hr_status_t st = select_in(&rewrite);
    *out_changed |= rewrite.changed;
    HR_TRY(pass_rewrite_end(&rewrite, st));
  }
  return NULL;
}
