/* Unrolling by two of loops that would copy a large array back in every iteration. A stencil
 * computes the next state from neighbouring positions of the current one, so it cannot be computed
 * in place:
 *
 *   while { b = stencil(a); a = copy(b) }   ->   while { b = stencil(a); a = stencil(b) }
 *
 * The second iteration writes where the first one read, and no copy is left. An odd trip count gets
 * its first iteration peeled off. Only loops with a known trip count, cheap iterations and a body
 * that is called once. Exact. */
#include "passes/lib/pass_match.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum {
  MAX_INSTRS = 256, /* instructions of an iteration */
  MIN_TRIPS = 4,
  MAX_TAPS = 32,
  LARGE_BYTES = 1 << 11, /* size from which copying an array takes noticeable time */
};

/* ---- profitability ---- */

/* Does the convolution have few multiplications per element of the result? */
static bool has_few_taps(const hlo_instr_t *convolution) {
  const hlo_shape_t *rhs = convolution->operands[1]->shape;
  const hlo_dim_labels_t *labels = hlo_attr_labels(convolution);
  return labels && !hlo_shape_is_dynamic(rhs) &&
         hlo_shape_elements(rhs) <= MAX_TAPS * rhs->dims[labels->rhs_output_feature];
}

/* Is the instruction so cheap that a copy of the state matters relative to it? */
static bool is_light(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_PARAMETER:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_TUPLE:
    case HLO_CONSTANT:
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_SLICE:
    case HLO_IOTA:
    case HLO_TRANSPOSE:
    case HLO_REVERSE:
    case HLO_PAD:
    case HLO_CONCATENATE:
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW:
    case HLO_BITCAST_CONVERT:
      return true;
    case HLO_CONVOLUTION:
      return has_few_taps(instr);
    default:
      return hlo_op_is(instr->op, OP_ELEMENTWISE);
  }
}

static bool has_cheap_iterations(const loop_t *loop) {
  if (loop->body->instrs.count > MAX_INSTRS) return false;
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    const hlo_instr_t *instr = loop->body->instrs.data[i];
    if (!is_light(instr) || pass_has_effect(instr)) return false;
  }
  return true;
}

/* Dependence of a value on a state element: none, position by position, or on other positions.
 * Memoised per instruction of the body. */
typedef enum dependence {
  DEPENDENCE_UNKNOWN,
  DEPENDENCE_NONE,
  DEPENDENCE_ELEMENTWISE,
  DEPENDENCE_OTHER_POSITIONS
} dependence_t;

static dependence_t find_dependence(const hlo_instr_t *instr, int element, dependence_t *memo);

/* A dynamic-update-slice is in place if its operand 0 is, whatever the update depends on; and so is
 * what depends on a small part of the element, which is copied before. */
static dependence_t compute_dependence(const hlo_instr_t *instr, int element, dependence_t *memo) {
  if (loop_element_read(instr) == element) return DEPENDENCE_ELEMENTWISE;
  if (pass_is_small_part(instr) && loop_element_read(instr->operands[0]) == element)
    return DEPENDENCE_NONE;
  bool by_element = hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_DYNAMIC_UPDATE_SLICE;
  int count = instr->op == HLO_DYNAMIC_UPDATE_SLICE ? 1 : instr->operand_count;
  dependence_t strongest = DEPENDENCE_NONE;
  for (int k = 0; k < count; k++) {
    dependence_t dependence = find_dependence(instr->operands[k], element, memo);
    if (dependence > DEPENDENCE_NONE && !by_element) dependence = DEPENDENCE_OTHER_POSITIONS;
    if (dependence > strongest) strongest = dependence;
  }
  return strongest;
}

static dependence_t find_dependence(const hlo_instr_t *instr, int element, dependence_t *memo) {
  if (memo[instr->id] == DEPENDENCE_UNKNOWN)
    memo[instr->id] = compute_dependence(instr, element, memo);
  return memo[instr->id];
}

/* Does the iteration end by copying the element? True if the next value is computed from other
 * positions of the element, or is another element. */
static bool is_copied(const loop_t *loop, int element, hr_arena_t *arena, hr_status_t *status) {
  const hlo_instr_t *next = loop->next->operands[element];
  dependence_t *memo;
  size_t bytes;
  if (loop_is_invariant(loop, element) || !hlo_shape_is_array(next->shape)) return false;
  if (hlo_shape_is_dynamic(next->shape) || hlo_shape_bytes(next->shape, &bytes) ||
      bytes < LARGE_BYTES)
    return false;
  if (loop_element_read(next) >= 0) return true;
  *status = HR_NEW_ARRAY(arena, loop->body->instrs.count, &memo);
  return !*status && find_dependence(next, element, memo) == DEPENDENCE_OTHER_POSITIONS;
}

static bool copies_large_array(const loop_t *loop, hr_arena_t *arena, hr_status_t *status) {
  bool copies = false;
  for (int k = 0; k < loop->count && !copies && !*status; k++)
    copies = is_copied(loop, k, arena, status);
  return copies;
}

/* ---- the pass ---- */

static hr_status_t unroll_body_by_two(const loop_t *loop) {
  pass_rewrite_t rewrite;
  hr_status_t st;
  HR_TRY(pass_rewrite_begin(&rewrite, loop->body));
  for (uint32_t i = 0; i < rewrite.old_count; i++) pass_rewrite_visit(&rewrite, i);
  hlo_instr_t **state;
  st = HR_NEW_ARRAY(&rewrite.scratch, loop->count, &state);
  for (int k = 0; k < loop->count && !st; k++) state[k] = loop->next->operands[k];
  if (!st) st = loop_clone_iteration(&rewrite, loop, state);
  if (!st)
    st = pass_replace(&rewrite, loop->next, hlo_build_tuple(&rewrite.builder, loop->count, state));
  return pass_rewrite_end(&rewrite, st);
}

/* Peels off the first iteration, so that the remaining number is even. */
static hr_status_t peel_first_iteration(pass_rewrite_t *rewrite, const loop_t *loop) {
  hlo_instr_t *init;
  HR_TRY(loop_peel(rewrite, loop, 1, &init));
  return pass_replace(rewrite, loop->instr, init ? pass_clone(rewrite, loop->instr, &init) : NULL);
}

static hr_status_t unroll_by_two(pass_rewrite_t *rewrite, const loop_t *loop) {
  loop_counter_t counter;
  hr_status_t st = NULL;
  if (!loop_find_counter(loop, &counter)) return NULL;
  if (counter.trips < MIN_TRIPS || !has_cheap_iterations(loop)) return NULL;
  if (!copies_large_array(loop, &rewrite->scratch, &st)) return st;
  if (!loop_owns_body(loop)) return NULL;
  if (counter.trips % 2) HR_TRY(peel_first_iteration(rewrite, loop));
  rewrite->changed = true; /* the body changes even if the while stays */
  return unroll_body_by_two(loop);
}

hr_status_t pass_loop_unroll_by_two(hlo_module_t *module, bool *out_changed) {
  return loop_rewrite_each(module, unroll_by_two, out_changed);
}
