/* Control flow. Every array of a loop's state has one sharding, that of the loop's result: for its
 * initial value, the parameters of condition and body, and the body's result. Branches get operands
 * in the shardings of their parameters, and all return the conditional's sharding. Predicates and
 * branch indices are whole on every partition, so that all partitions execute the same collectives.
 * Callees are lowered once, with their propagated shardings. */
#include "partition/lower/lower.h"
#include "passes/lib/pass_match.h"

/* The elements of a tuple result, each cut as given. */
static void define_leaves(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *x,
                          const spmd_sharding_t *const *shardings) {
  hlo_instr_t **leaves, **next;
  int count = hlo_shape_leaf_count(instr->shape);
  if (!x || spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return;
  next = leaves;
  spmd_unpack(lower, x, &next);
  for (int i = 0; i < count && !lower->emit.b.status; i++)
    spmd_define(lower, instr, i, leaves[i], shardings[i]);
}

/* The shardings of a loop's state, without unreduced axes: a partial value would be summed again in
 * each iteration. */
static const spmd_sharding_t **carried(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_sharding_t **leaves = spmd_preferred_leaves(lower, instr);
  for (int i = 0; leaves && i < hlo_shape_leaf_count(instr->shape); i++) {
    spmd_axes_t dims[HLO_MAX_RANK];
    if (!leaves[i] || !leaves[i]->unreduced.count) continue;
    for (int d = 0; d < leaves[i]->rank; d++) dims[d] = leaves[i]->dims[d].axes;
    spmd_emit_failed(&lower->emit, spmd_sharding_make(lower->arena, lower->mesh, leaves[i]->rank,
                                                      dims, (spmd_axes_t){0}, &leaves[i]));
  }
  return leaves;
}

/* Branches take one value, which may be a tuple. */
static const hlo_instr_t *only_param(const hlo_instr_t *instr, int c) {
  return instr->called[c]->params.data[0];
}

/* Marks the collectives of a loop's computations in the report. */
static void mark_loop(spmd_lower_t *lower, size_t first) {
  spmd_report_notes_t *report = lower->shared->emit.report;
  for (size_t i = first; i < report->items.count; i++) report->items.data[i].in_loop = true;
}

/* True if x is element i of the state in the loop's body. */
static bool is_carried(const hlo_instr_t *x, const hlo_instr_t *param, int i) {
  return x->op == HLO_GET_TUPLE_ELEMENT && x->operands[0] == param &&
         hlo_attr_int(x, HLO_ATTR_INDEX) == i;
}

/* True if the loop's condition compares with this number. */
static bool counts_to(const hlo_computation_t *condition, int64_t number) {
  int64_t value;
  for (size_t i = 0; i < condition->instrs.count; i++) {
    const hlo_instr_t *instr = condition->instrs.data[i];
    if (pass_is_scalar_constant(instr) && pass_splat_int(instr, &value) && value == number)
      return true;
  }
  return false;
}

/* The slice by which each iteration takes one element along dimension d of state element i, if it
 * does not change the array, and there are as many iterations as elements; else NULL. */
static const hlo_instr_t *slice_of_each(const hlo_instr_t *loop, int i, int d) {
  const hlo_computation_t *body = loop->called[1];
  const hlo_instr_t *param = only_param(loop, 1);
  int64_t size = loop->shape->elements[i]->dims[d];
  if (body->root->op != HLO_TUPLE || !is_carried(body->root->operands[i], param, i)) return NULL;
  if (size < 2 || !counts_to(loop->called[0], size)) return NULL;
  for (size_t k = 0; k < body->instrs.count; k++) {
    const hlo_instr_t *slice = body->instrs.data[k];
    if (slice->op == HLO_DYNAMIC_SLICE && slice->shape->dims[d] == 1 &&
        is_carried(slice->operands[0], param, i))
      return slice;
  }
  return NULL;
}

/* For SPMD_CUT_SCANNED: cuts the other dimensions as propagation cuts the slice, if none of them is
 * cut. */
static void cut_as_slice(spmd_lower_t *lower, const hlo_instr_t *slice, int d, spmd_axes_t *dims) {
  const spmd_sharding_t *own = spmd_preferred(lower, slice, 0);
  int64_t parts = 1;
  for (int e = 0; own && e < own->rank; e++) {
    if (dims[e].count) return;
    if (e != d) parts *= spmd_axes_parts(own->dims[e].axes);
  }
  if (!own || parts < 2) return;
  lower->shared->changes[SPMD_CUT_SCANNED]++;
  if (lower->shared->strategy != SPMD_CUT_SCANNED) return;
  for (int e = 0; e < own->rank; e++)
    if (e != d) dims[e] = own->dims[e].axes;
}

/* Gathers arrays that the loop scans along a cut dimension before the loop, or cuts them along
 * others: sending each element to all partitions in its iteration would take twice the bytes, and a
 * collective each. */
static void gather_scanned(spmd_lower_t *lower, const hlo_instr_t *loop,
                           const spmd_sharding_t **state) {
  bool flat = hlo_shape_is_tuple(loop->shape) &&
              loop->shape->element_count == hlo_shape_leaf_count(loop->shape);
  for (int i = 0; flat && state && i < loop->shape->element_count; i++) {
    spmd_axes_t dims[HLO_MAX_RANK];
    const hlo_instr_t *slice = NULL;
    int scanned = 0;
    for (int d = 0; state[i] && d < state[i]->rank; d++) {
      dims[d] = state[i]->dims[d].axes;
      const hlo_instr_t *takes = dims[d].count ? slice_of_each(loop, i, d) : NULL;
      if (!takes) continue;
      dims[d] = (spmd_axes_t){0};
      slice = takes;
      scanned = d;
    }
    if (slice) cut_as_slice(lower, slice, scanned, dims);
    if (slice)
      spmd_emit_failed(&lower->emit, spmd_sharding_make(lower->arena, lower->mesh, state[i]->rank,
                                                        dims, (spmd_axes_t){0}, &state[i]));
  }
}

/* The condition's result is whole, so that all partitions leave the loop at the same time. */
static hr_status_t lower_while(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_sharding_t **state = carried(lower, instr), *whole = spmd_replicated(lower, 0);
  hlo_computation_t *called[2];
  gather_scanned(lower, instr, state);
  if (lower->emit.b.status) return NULL;
  hlo_instr_t *init = spmd_use_tuple(lower, instr->operands[0], state);
  size_t first = lower->shared->emit.report->items.count;
  HR_TRY(spmd_lower_computation(lower->shared, instr->called[0], state, &whole, &called[0]));
  HR_TRY(spmd_lower_computation(lower->shared, instr->called[1], state, state, &called[1]));
  mark_loop(lower, first);
  if (!init) return NULL;
  hlo_instr_t *loop = hlo_build(&lower->emit.b, HLO_WHILE, init->shape, 1, &init, instr->attr_count,
                                instr->attrs, 2, called);
  define_leaves(lower, instr, loop, state);
  return NULL;
}

/* A branch may hold collectives: all partitions take the same one. */
static hr_status_t lower_conditional(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_sharding_t **results = carried(lower, instr);
  hlo_computation_t **called;
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->called_count, &called));
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count, &operands));
  if (lower->emit.b.status) return NULL;
  operands[0] = spmd_use_whole(lower, spmd_operand(lower, instr, 0));
  for (int c = 0; c < instr->called_count; c++) {
    const spmd_sharding_t **params = carried(lower, only_param(instr, c));
    if (lower->emit.b.status) return NULL;
    operands[c + 1] = spmd_use_tuple(lower, instr->operands[c + 1], params);
    HR_TRY(spmd_lower_computation(lower->shared, instr->called[c], params, results, &called[c]));
  }
  if (lower->emit.b.status) return NULL;
  hlo_instr_t *choice =
      hlo_build(&lower->emit.b, HLO_CONDITIONAL, called[0]->root->shape, instr->operand_count,
                operands, instr->attr_count, instr->attrs, instr->called_count, called);
  define_leaves(lower, instr, choice, results);
  return NULL;
}

/* After normalisation, calls are those of manual computations. */
static hr_status_t lower_call(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const hlo_computation_t *callee = instr->called[0];
  hlo_computation_t **known = &lower->shared->called[callee->id];
  const spmd_sharding_t **results = carried(lower, callee->root);
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands));
  for (int k = 0; k < instr->operand_count; k++) {
    const spmd_sharding_t **wanted = spmd_preferred_leaves(lower, callee->params.data[k]);
    if (!wanted) return NULL;
    operands[k] = spmd_use_tuple(lower, instr->operands[k], wanted);
  }
  if (lower->emit.b.status) return NULL;
  if (!*known) HR_TRY(spmd_lower_computation(lower->shared, callee, NULL, results, known));
  hlo_instr_t *call =
      hlo_build(&lower->emit.b, HLO_CALL, (*known)->root->shape, instr->operand_count, operands,
                instr->attr_count, instr->attrs, 1, known);
  define_leaves(lower, instr, call, results);
  return NULL;
}

/* Each value keeps a sharding of its own. */
static void lower_barrier(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_sharding_t **wanted = carried(lower, instr);
  if (!wanted) return;
  hlo_instr_t *x = spmd_use_tuple(lower, instr->operands[0], wanted);
  if (!x) return;
  define_leaves(lower, instr, spmd_emit_like(&lower->emit, instr, &x, x->shape), wanted);
}

hr_status_t spmd_lower_control(spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (instr->op == HLO_WHILE) return lower_while(lower, instr);
  if (instr->op == HLO_CONDITIONAL) return lower_conditional(lower, instr);
  if (instr->op == HLO_CALL) return lower_call(lower, instr);
  lower_barrier(lower, instr);
  return NULL;
}
