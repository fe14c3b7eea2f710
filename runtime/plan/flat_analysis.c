/* Per-computation analysis for the flat planner, in one sweep, as computations are listed callees
 * first: dynamic sizes, instructions whose result is boxed (kept as a value because it is no array
 * of static size), leaves of the root that are parameters passed through, and pairs of asynchronous
 * halves that can be laid out. A value that contains a boxed leaf is boxed as a whole, and so are
 * the tuples and control flow that forward it. Cost: linear in instructions and leaves. */
#include "plan/flat_build.h"

/* Opaque values and buffers have no known size in bytes, so they stay boxed. */
static bool has_boxed_leaf(const hlo_shape_t *shape) {
  for (int i = 0; i < shape->element_count; i++)
    if (has_boxed_leaf(shape->elements[i])) return true;
  return shape->dtype == HR_OPAQUE || shape->dtype == HR_BUFFER;
}

/* Ops whose results are operands, or results of computations that they call. */
static bool forwards_values(const hlo_instr_t *instr) {
  return instr->op == HLO_TUPLE || instr->op == HLO_GET_TUPLE_ELEMENT || instr->op == HLO_WHILE ||
         instr->op == HLO_CALL || instr->op == HLO_CONDITIONAL || instr->op == HLO_FUSION ||
         hlo_op_is(instr->op, OP_IDENTITY);
}

static bool has_boxed_operand(const hlo_instr_t *instr, const bool *is_boxed) {
  for (int k = 0; k < instr->operand_count; k++)
    if (is_boxed[instr->operands[k]->id]) return true;
  return false;
}

/* A pair with boxed operands cannot be laid out after all. */
static bool needs_boxing(const hlo_instr_t *instr, const bool *is_boxed,
                         const flat_analysis_t *analysis) {
  const hlo_instr_t **done = &analysis[instr->parent->id].done[instr->id];
  if (has_boxed_operand(instr, is_boxed)) *done = NULL;
  if (*done) return false;
  if (hlo_op_is(instr->op, OP_START) || instr->op == HLO_ASYNC_UPDATE ||
      has_boxed_leaf(instr->shape))
    return true;
  if (!forwards_values(instr)) return false;
  if (has_boxed_operand(instr, is_boxed)) return true;
  for (int c = 0; c < instr->called_count; c++) {
    const hlo_computation_t *called = instr->called[c];
    if (analysis[called->id].is_boxed && analysis[called->id].is_boxed[called->root->id])
      return true;
  }
  return false;
}

/* Moves from a leaf of a value to the operand's leaf that it copies. False: the leaf originates
 * here. */
static bool trace_to_operand(const flat_analysis_t *analysis, const hlo_instr_t **instr,
                             int *leaf) {
  const hlo_instr_t *at = *instr;
  int k = 0, from = *leaf;
  if (at->op == HLO_GET_TUPLE_ELEMENT) {
    from += hlo_shape_leaf_start(at->operands[0]->shape, hlo_attr_int(at, HLO_ATTR_INDEX));
  } else if (at->op == HLO_WHILE) {
    const flat_analysis_t *body = &analysis[at->called[1]->id];
    if (!body->passed_leaves || body->passed_leaves[from] != from) return false;
  } else if (at->op == HLO_TUPLE) {
    k = hlo_shape_element_of_leaf(at->shape, from);
    from -= hlo_shape_leaf_start(at->shape, k);
  } else if (at->op == HLO_CALL) {
    if (!analysis[at->called[0]->id].passed_leaves) return false;
    from = analysis[at->called[0]->id].passed_leaves[from];
    if (from < 0) return false;
    for (int count; from >= (count = hlo_shape_leaf_count(at->operands[k]->shape)); k++)
      from -= count;
  } else if (!hlo_op_is(at->op, OP_IDENTITY)) {
    return false;
  }
  *instr = at->operands[k];
  *leaf = from;
  return true;
}

/* The flattened parameter that a leaf of the root passes through unchanged; -1: none. `starts`: the
 * first leaf of each parameter. */
static int trace_to_param(const flat_analysis_t *analysis, const hlo_instr_t *root,
                          const int *starts, int leaf) {
  const hlo_instr_t *instr = root;
  while (trace_to_operand(analysis, &instr, &leaf)) continue;
  return instr->op == HLO_PARAMETER ? starts[hlo_parameter_number(instr)] + leaf : -1;
}

static hr_status_t find_passed_leaves(hr_arena_t *arena, const hlo_computation_t *computation,
                                      const flat_analysis_t *analysis, int **out_passed) {
  int count = hlo_shape_leaf_count(computation->root->shape), at = 0, *passed, *starts;
  HR_TRY(HR_NEW_ARRAY(arena, computation->params.count, &starts));
  HR_TRY(HR_NEW_ARRAY(arena, count, &passed));
  for (size_t p = 0; p < computation->params.count; p++) {
    starts[p] = at;
    at += hlo_shape_leaf_count(computation->params.data[p]->shape);
  }
  for (int leaf = 0; leaf < count; leaf++)
    passed[leaf] = trace_to_param(analysis, computation->root, starts, leaf);
  *out_passed = passed;
  return NULL;
}

/* Callees are listed before callers, so their facts are known. */
static hr_status_t analyse_computation(hr_arena_t *arena, const plan_t *plan,
                                       const hlo_computation_t *computation,
                                       flat_analysis_t *analysis) {
  flat_analysis_t *facts = &analysis[computation->id];
  bool *is_boxed;
  int *passed;
  HR_TRY(flat_find_pairs(arena, plan, computation, &facts->done));
  HR_TRY(flat_find_channel_pairs(arena, computation, facts->done));
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &is_boxed));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    is_boxed[i] = needs_boxing(instr, is_boxed, analysis);
    facts->is_dynamic |= hlo_shape_is_dynamic(instr->shape);
  }
  HR_TRY(find_passed_leaves(arena, computation, analysis, &passed));
  facts->is_boxed = is_boxed;
  facts->passed_leaves = passed;
  return NULL;
}

hr_status_t flat_analyse(hr_arena_t *arena, const plan_t *plan, const flat_analysis_t **out_facts) {
  flat_analysis_t *analysis;
  HR_TRY(HR_NEW_ARRAY(arena, plan->module->computations.count, &analysis));
  for (size_t c = 0; c < plan->module->computations.count; c++)
    if (plan->bodies[c])
      HR_TRY(analyse_computation(arena, plan, plan->module->computations.data[c], analysis));
  *out_facts = analysis;
  return NULL;
}

/* Control flow can be laid out flat if its bodies have static shapes and no boxed results. */
bool flat_can_inline(const flat_analysis_t *analysis, const hlo_instr_t *instr) {
  for (int c = 0; c < instr->called_count; c++) {
    const hlo_computation_t *called = instr->called[c];
    const flat_analysis_t *facts = &analysis[called->id];
    if (!facts->is_boxed || facts->is_dynamic || facts->is_boxed[called->root->id]) return false;
  }
  return true;
}
