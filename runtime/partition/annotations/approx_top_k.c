/* ApproxTopK in terms of a sort and slices, as XLA has it before Shardy propagates:
 *
 *   custom-call(x, positions, ...) "ApproxTopK"   ->   slice(sort(x, positions), [0:k])
 *
 * The call takes n arrays and n initial values; the sort compares as the call does. */
#include "ops/query/custom_call_table.h"
#include "partition/annotations/normalize.h"
#include "passes/lib/pass_match.h"

/* True for n arrays of equal sizes, n initial values, and n results. */
static bool can_sort(const hlo_instr_t *call) {
  int count = call->operand_count / 2;
  if (!hr_str_is(op_custom_call_target(call), "ApproxTopK") || call->called_count != 1)
    return false;
  if (count < 1 || call->operand_count % 2 || call->shape->element_count != count) return false;
  for (int k = 0; k < count; k++)
    if (!hlo_shape_is_array(call->operands[k]->shape) ||
        !hlo_shape_same_dims(call->operands[k]->shape, call->operands[0]->shape))
      return false;
  return true;
}

/* True if the results are the operands with fewer elements along dimension d. Calls with other
 * results stay, and are refused as they are on one process. */
static bool has_sorted_results(const hlo_instr_t *call, int64_t d) {
  for (int k = 0; k < call->shape->element_count; k++) {
    const hlo_shape_t *from = call->operands[k]->shape, *to = call->shape->elements[k];
    if (!hlo_shape_is_array(to) || to->rank != from->rank || to->dtype != from->dtype) return false;
    for (int i = 0; i < to->rank; i++)
      if (i == d ? to->dims[i] > from->dims[i] : to->dims[i] != from->dims[i]) return false;
  }
  return true;
}

/* The first `limit` elements of x along dimension d. */
static hlo_instr_t *first_elements(pass_rewrite_t *rewrite, hlo_instr_t *x, int64_t d,
                                   int64_t limit) {
  hlo_slice_dim_t dims[HLO_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < x->shape->rank; i++) dims[i] = (hlo_slice_dim_t){0, x->shape->dims[i], 1};
  dims[d].limit = limit;
  return pass_build_slice(rewrite, x, dims);
}

static hr_status_t expand_call(pass_rewrite_t *rewrite, hlo_instr_t *call, void *context) {
  int64_t dim;
  bool descends;
  hlo_instr_t **results;
  (void)context;
  if (call->op != HLO_CUSTOM_CALL || !can_sort(call)) return NULL;
  int count = call->operand_count / 2, rank = call->operands[0]->shape->rank;
  HR_TRY(custom_approx_order(&rewrite->scratch, call, rank, &dim, &descends));
  if (dim < 0 || dim >= rank || !has_sorted_results(call, dim)) return NULL;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &results));
  hlo_builder_t *b = &rewrite->builder;
  hlo_attr_t attrs[] = {hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &dim),
                        hlo_attr_of_bool(HLO_ATTR_IS_STABLE, false),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  hlo_instr_t *sort =
      hlo_build(b, HLO_SORT, NULL, count, call->operands, 3, attrs, 1, call->called);
  for (int i = 0; i < count; i++) {
    hlo_instr_t *sorted = count == 1 ? sort : hlo_build_element(b, sort, i);
    results[i] = first_elements(rewrite, sorted, dim, call->shape->elements[i]->dims[dim]);
  }
  return pass_replace(rewrite, call, hlo_build_tuple(b, count, results));
}

hr_status_t spmd_expand_approx_top_k(hlo_module_t *module) {
  bool changed = false;
  return pass_rewrite_module(module, expand_call, NULL, &changed);
}
