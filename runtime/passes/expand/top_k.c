/* The first few elements of sorted rows by selection instead of sorting: jax.lax.approx_max_k and a
 * sort followed by slices both become topk:
 *
 *   slice(sort(x, iota), [:, 0:k])   ->   topk(x, k)                        if k * MIN_RATIO <= row
 *   custom-call(x, iota) "ApproxTopK" ->  topk(x, k)
 *
 * The positions may begin at a scalar, as in a partition: iota + broadcast(start). It is added to
 * the positions that topk gives. Selection is O(n) per row, the sort O(n log n). An unstable sort
 * may return equal elements in any order. A stable sort of floats distinguishes zeros, which topk
 * does not, so it is not replaced. */
#include "ops/query/custom_call_table.h"
#include "passes/passes.h"
#include "passes/lib/pass_rewrite.h"

#define MIN_RATIO 4 /* minimum ratio of row length to selected elements */

typedef struct sort_uses { /* a sort whose uses are slices */
  hlo_instr_t *top;        /* topk in place of the sort; NULL: not built yet */
  int64_t kept;            /* number of elements that slices take; 0: other uses */
  bool descending;
} sort_uses_t;

/* Is the operand an iota along the dimension? */
static bool is_row_iota(const hlo_instr_t *instr, int64_t dim) {
  if (instr->shape->dtype != HR_S32) return false;
  if (instr->op == HLO_IOTA) return hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION) == dim;
  if (instr->op != HLO_BROADCAST || instr->operands[0]->op != HLO_IOTA) return false;
  int64_t from = hlo_attr_int(instr->operands[0], HLO_ATTR_IOTA_DIMENSION);
  return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[from] == dim;
}

/* Are the operands of an addition a row's iota and a scalar in all places? */
static bool is_shifted_iota(const hlo_instr_t *iota, const hlo_instr_t *start, int64_t dim) {
  return is_row_iota(iota, dim) && start->op == HLO_BROADCAST &&
         hlo_shape_is_scalar(start->operands[0]->shape);
}

/* The broadcast scalar that is added to a row's iota; NULL: none, or no such addition. */
static hlo_instr_t *start_of(const hlo_instr_t *indices, int64_t dim) {
  if (indices->op != HLO_ADD) return NULL;
  hlo_instr_t *a = indices->operands[0], *b = indices->operands[1];
  if (is_shifted_iota(a, b, dim)) return b->operands[0];
  return is_shifted_iota(b, a, dim) ? a->operands[0] : NULL;
}

static bool can_select(const hlo_instr_t *x, const hlo_instr_t *indices, int64_t dim) {
  const hlo_shape_t *shape = x->shape;
  bool is_plain = hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape) &&
                  !hr_dtype_is_complex(shape->dtype);
  return is_plain && dim == shape->rank - 1 && hlo_shape_same_dims(shape, indices->shape) &&
         (is_row_iota(indices, dim) || start_of(indices, dim));
}

static hlo_instr_t *build_top(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t k, bool descending) {
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_K, k),
                        hlo_attr_of_bool(HLO_ATTR_LARGEST, descending)};
  return hlo_build(&rewrite->builder, HLO_TOPK, NULL, 1, &x, 2, attrs, 0, NULL);
}

/* --- custom calls ----------------------------------------------------------------------------- */

static hr_status_t replace_call(pass_rewrite_t *rewrite, hlo_instr_t *call) {
  int64_t dim;
  bool descending;
  const hlo_shape_t *shape = call->shape;
  if (!hr_str_is(op_custom_call_target(call), "ApproxTopK") || call->operand_count < 4) return NULL;
  if (!hlo_shape_is_array(call->operands[0]->shape) || shape->element_count != 2) return NULL;
  int rank = call->operands[0]->shape->rank;
  if (!hlo_shape_is_array(shape->elements[0]) || shape->elements[0]->rank != rank) return NULL;
  HR_TRY(custom_approx_order(&rewrite->scratch, call, rank, &dim, &descending));
  bool has_start = start_of(call->operands[1], dim) != NULL;
  if (has_start || !can_select(call->operands[0], call->operands[1], dim)) return NULL;
  hlo_instr_t *top =
      build_top(rewrite, call->operands[0], shape->elements[0]->dims[dim], descending);
  return top && !hlo_shape_equal(top->shape, shape) ? NULL : pass_replace(rewrite, call, top);
}

/* --- sorts ------------------------------------------------------------------------------------ */

/* Does the comparator order by the first operand alone, by greater or less? */
static bool read_comparator(const hlo_computation_t *comparator, bool *out_descending) {
  const hlo_instr_t *root = comparator->root;
  if (root->op != HLO_COMPARE) return false;
  const hlo_instr_t *a = root->operands[0], *b = root->operands[1];
  if (a->op != HLO_PARAMETER || b->op != HLO_PARAMETER) return false;
  int direction = hlo_attr_enum(root, HLO_ATTR_DIRECTION);
  *out_descending = direction == HLO_DIRECTION_GT;
  return (direction == HLO_DIRECTION_GT || direction == HLO_DIRECTION_LT) &&
         hlo_parameter_number(a) == 0 && hlo_parameter_number(b) == 1;
}

/* Number of first elements of the last dimension that a slice takes from all rows; 0: another
 * slice. */
static int64_t sliced_count(const hlo_instr_t *slice, int64_t row) {
  if (slice->op != HLO_SLICE) return 0;
  const hlo_slice_t *parts = hlo_attr_slice(slice);
  const hlo_shape_t *from = slice->operands[0]->shape;
  for (int d = 0; d < from->rank; d++) {
    if (parts->dims[d].start || parts->dims[d].stride != 1) return 0;
    if (d + 1 < from->rank && slice->shape->dims[d] != from->dims[d]) return 0;
  }
  int64_t count = slice->shape->dims[from->rank - 1];
  return count * MIN_RATIO <= row ? count : 0;
}

/* Most elements that slices of one result take; -1: there are other uses. */
static int64_t max_sliced_count(const pass_users_t *users, const hlo_instr_t *element,
                                int64_t row) {
  int64_t max_count = 0;
  if (element->op != HLO_GET_TUPLE_ELEMENT) return -1;
  for (uint32_t u = users->first[element->id]; u < users->first[element->id + 1]; u++) {
    int64_t count = sliced_count(users->users[u], row);
    if (!count) return -1;
    max_count = count > max_count ? count : max_count;
  }
  return max_count;
}

static void analyse_sort(const pass_users_t *users, const hlo_instr_t *sort,
                         sort_uses_t *out_sorted) {
  int64_t max_count = 0;
  if (sort->op != HLO_SORT || sort->operand_count != 2) return;
  const hlo_shape_t *shape = sort->operands[0]->shape;
  bool is_exact = hlo_attr_bool(sort, HLO_ATTR_IS_STABLE) && hr_dtype_is_float(shape->dtype);
  if (is_exact || !can_select(sort->operands[0], sort->operands[1],
                              hlo_attr_ints(sort, HLO_ATTR_DIMENSIONS).data[0]))
    return;
  if (!read_comparator(sort->called[0], &out_sorted->descending)) return;
  for (uint32_t u = users->first[sort->id]; u < users->first[sort->id + 1]; u++) {
    int64_t count = max_sliced_count(users, users->users[u], shape->dims[shape->rank - 1]);
    if (count < 0) return;
    max_count = count > max_count ? count : max_count;
  }
  out_sorted->kept = max_count;
}

/* Element k of topk; positions begin where those of the sort's operand do. */
static hlo_instr_t *element_of_top(pass_rewrite_t *rewrite, hlo_instr_t *top,
                                   const hlo_instr_t *indices, int64_t k) {
  hlo_builder_t *b = &rewrite->builder;
  hlo_instr_t *element = hlo_build_element(b, top, (int)k);
  hlo_instr_t *start = start_of(indices, indices->shape->rank - 1);
  if (k == 0 || !start || !element) return element;
  start = hlo_build_broadcast(b, start, element->shape, (hr_ints_t){NULL, 0});
  return start ? hlo_build_binary(b, HLO_ADD, element, start) : NULL;
}

/* Replaces a slice of a sort's result by topk. */
static hr_status_t replace_slice(pass_rewrite_t *rewrite, hlo_instr_t *slice, sort_uses_t *all) {
  hlo_instr_t *element = slice->operands[0], *sort = element->operands[0];
  sort_uses_t *sort_uses = &all[sort->id];
  if (!sort_uses->top)
    sort_uses->top = build_top(rewrite, sort->operands[0], sort_uses->kept, sort_uses->descending);
  if (!sort_uses->top) return hlo_builder_finish(&rewrite->builder);
  hlo_instr_t *kept = element_of_top(rewrite, sort_uses->top, sort->operands[1],
                                     hlo_attr_int(element, HLO_ATTR_INDEX));
  if (!kept || hlo_shape_equal(kept->shape, slice->shape))
    return pass_replace(rewrite, slice, kept);
  return pass_replace(rewrite, slice, pass_clone(rewrite, slice, &kept));
}

static bool is_sliced_sort(const pass_rewrite_t *rewrite, const hlo_instr_t *slice,
                           const sort_uses_t *all) {
  if (slice->op != HLO_SLICE || slice->operands[0]->op != HLO_GET_TUPLE_ELEMENT) return false;
  const hlo_instr_t *sort = slice->operands[0]->operands[0];
  return sort->id < rewrite->old_count && all[sort->id].kept > 0;
}

/* --- the pass --------------------------------------------------------------------------------- */

static hr_status_t rewrite_computation(pass_rewrite_t *rewrite) {
  hlo_computation_t *computation = rewrite->computation;
  pass_users_t users;
  sort_uses_t *sort_uses;
  HR_TRY(pass_users_find(&rewrite->scratch, computation, &users));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, rewrite->old_count, &sort_uses));
  for (uint32_t i = 0; i < rewrite->old_count; i++)
    analyse_sort(&users, computation->instrs.data[i], &sort_uses[i]);
  for (uint32_t i = 0; i < rewrite->old_count; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(rewrite, i);
    if (instr && instr->op == HLO_CUSTOM_CALL) HR_TRY(replace_call(rewrite, instr));
    if (instr && is_sliced_sort(rewrite, instr, sort_uses))
      HR_TRY(replace_slice(rewrite, instr, sort_uses));
  }
  return NULL;
}

static bool has_candidates(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_opcode_t op = computation->instrs.data[i]->op;
    if (op == HLO_SORT || op == HLO_CUSTOM_CALL) return true;
  }
  return false;
}

hr_status_t pass_top_k(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    pass_rewrite_t rewrite;
    if (!has_candidates(module->computations.data[c])) continue;
    HR_TRY(pass_rewrite_begin(&rewrite, module->computations.data[c]));
    hr_status_t st = rewrite_computation(&rewrite);
    *out_changed |= rewrite.changed;
    HR_TRY(pass_rewrite_end(&rewrite, st));
  }
  return NULL;
}
