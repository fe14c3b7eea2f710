/* Short loops become their turns, one after the other: no dispatch, and what depends on the counter
 * is constant. Such are the rounds of JAX's random numbers. Loops with effects stay, but for those
 * of a single turn. */
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum {
  MAX_INSTRS = 384, /* of all iterations, if the body has more than elementwise ops and indexing */
  MAX_INSTRS_SIMPLE = 1024,
  MAX_TRIPS = 8,
  MAX_TRIPS_SIMPLE = 64
};

/* ---- is it worth it? ---- */

static bool is_free(hlo_opcode_t op) {
  return op == HLO_PARAMETER || op == HLO_GET_TUPLE_ELEMENT || op == HLO_TUPLE ||
         op == HLO_CONSTANT;
}

static bool is_simple(hlo_opcode_t op) {
  return is_free(op) || hlo_op_is(op, OP_ELEMENTWISE) || op == HLO_BROADCAST || op == HLO_RESHAPE ||
         op == HLO_SLICE || op == HLO_IOTA || op == HLO_BITCAST_CONVERT || op == HLO_TRANSPOSE ||
         op == HLO_REVERSE || op == HLO_PAD || op == HLO_CONCATENATE || op == HLO_DYNAMIC_SLICE;
}

static bool is_short(const loop_t *loop, int64_t trips) {
  int64_t count = 0;
  bool simple = true;
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    const hlo_instr_t *instr = loop->body->instrs.data[i];
    count += !is_free(instr->op);
    simple &= is_simple(instr->op);
    if (pass_has_effect(instr)) return false;
  }
  if (trips > (simple ? MAX_TRIPS_SIMPLE : MAX_TRIPS)) return false;
  return trips * count <= (simple ? MAX_INSTRS_SIMPLE : MAX_INSTRS);
}

/* ---- turns ---- */

static hr_status_t unroll(pass_rewrite_t *rewrite, const loop_t *loop, int64_t trips) {
  hlo_instr_t *end;
  HR_TRY(loop_after(rewrite, loop, trips, &end));
  return pass_replace(rewrite, loop->instr, end);
}

static hr_status_t unroll_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    loop_counter_t counter;
    loop_t loop;
    if (!instr || !loop_match(instr, &loop) || !loop_find_counter(&loop, &counter)) continue;
    if (counter.trips <= 1 || is_short(&loop, counter.trips))
      st = unroll(&rewrite, &loop, counter.trips);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_loop_unroll(hlo_module_t *module, bool *out_changed) {
  bool changed = false;
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(unroll_computation(module->computations.data[c], &changed));
  *out_changed |= changed;
  return changed ? pass_computations_order(module) : NULL;
}
