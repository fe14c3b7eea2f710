/* Loops that make an array anew out of its neighbours' places, as stencils do, cannot write it
 * where it is read: each turn would end by copying it back. Two turns in one write it there and
 * back. Loops of an odd number of turns make one before. */
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum {
  MAX_INSTRS = 256, /* of a turn */
  MIN_TRIPS = 4,
  MAX_TAPS = 32,
  LARGE_BYTES = 1 << 15, /* arrays that take a while to copy */
};

/* ---- is it worth it? ---- */

/* Few products for each element of the result. */
static bool has_few_taps(const hlo_instr_t *convolution) {
  const hlo_shape_t *rhs = convolution->operands[1]->shape;
  const hlo_dim_labels_t *labels = hlo_attr_labels(convolution);
  return labels && !hlo_shape_is_dynamic(rhs) &&
         pass_count(rhs) <= MAX_TAPS * rhs->dims[labels->rhs_output_feature];
}

/* Instructions beside which a copy counts. */
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

/* What an element is made of, found once for each instruction of the body. */
typedef enum reach { REACH_UNKNOWN, REACH_NONE, REACH_ELEMENT, REACH_OTHERS } reach_t;

static reach_t reach_of(const hlo_instr_t *instr, int element, reach_t *known);

/* In place, an update needs the operand to be the element, whatever is put into it. */
static reach_t find_reach(const hlo_instr_t *instr, int element, reach_t *known) {
  if (loop_element_read(instr) == element) return REACH_ELEMENT;
  bool by_element = hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_DYNAMIC_UPDATE_SLICE;
  int count = instr->op == HLO_DYNAMIC_UPDATE_SLICE ? 1 : instr->operand_count;
  reach_t most = REACH_NONE;
  for (int k = 0; k < count; k++) {
    reach_t reach = reach_of(instr->operands[k], element, known);
    if (reach > REACH_NONE && !by_element) reach = REACH_OTHERS;
    if (reach > most) most = reach;
  }
  return most;
}

static reach_t reach_of(const hlo_instr_t *instr, int element, reach_t *known) {
  if (known[instr->id] == REACH_UNKNOWN) known[instr->id] = find_reach(instr, element, known);
  return known[instr->id];
}

/* Does a turn end by copying the element? If its next value comes from other places of it, or is
 * another's. */
static bool is_copied(const loop_t *loop, int element, hr_arena_t *arena, hr_status_t *status) {
  const hlo_instr_t *next = loop->next->operands[element];
  reach_t *known;
  size_t bytes;
  if (loop_is_invariant(loop, element) || !hlo_shape_is_array(next->shape)) return false;
  if (hlo_shape_is_dynamic(next->shape) || hlo_shape_bytes(next->shape, &bytes) ||
      bytes < LARGE_BYTES)
    return false;
  if (loop_element_read(next) >= 0) return true;
  *status = HR_NEW_ARRAY(arena, loop->body->instrs.count, &known);
  return !*status && reach_of(next, element, known) == REACH_OTHERS;
}

static bool copies_much(const loop_t *loop, hr_arena_t *arena, hr_status_t *status) {
  bool copies = false;
  for (int k = 0; k < loop->count && !copies && !*status; k++)
    copies = is_copied(loop, k, arena, status);
  return copies;
}

static bool is_called_once(const hlo_module_t *module, const hlo_computation_t *callee) {
  int calls = 0;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++) calls += instr->called[k] == callee;
    }
  return calls == 1;
}

/* ---- two turns in one ---- */

static hr_status_t double_body(const loop_t *loop) {
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

/* The loop behind its first iteration. */
static hr_status_t clone_iteration_before(pass_rewrite_t *rewrite, const loop_t *loop) {
  hlo_instr_t *init;
  HR_TRY(loop_after(rewrite, loop, 1, &init));
  return pass_replace(rewrite, loop->instr, init ? pass_clone(rewrite, loop->instr, &init) : NULL);
}

static hr_status_t double_in(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    loop_counter_t counter;
    loop_t loop;
    if (!instr || !loop_match(instr, &loop) || !loop_find_counter(&loop, &counter)) continue;
    if (counter.trips < MIN_TRIPS || !has_cheap_iterations(&loop)) continue;
    if (!copies_much(&loop, &rewrite.scratch, &st) ||
        !is_called_once(computation->module, loop.body))
      continue;
    if (counter.trips % 2) st = clone_iteration_before(&rewrite, &loop);
    if (!st) st = double_body(&loop);
    *out_changed = true;
  }
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_loop_unroll_by_two(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(double_in(module->computations.data[c], out_changed));
  return NULL;
}
