/* Full unrolling of short loops with a known trip count:
 *
 *   while(i < 3) { x = f(x, i); i = i + 1 }   ->   f(f(f(x, 0), 1), 2)
 *
 * Unrolling saves the dispatch of iterations, and makes constant whatever depends on the counter
 * alone. The rounds of JAX's random number generator are such loops. A loop is unrolled only if it
 * runs at most once where its body has effects, or a call whose handler keeps a state from one
 * iteration to the next. Results do not change. The limits bound the size of the code. */
#include "ops/query/custom_call_table.h"
#include "ops/query/fusion_form.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum {
  MAX_INSTRS = 384,         /* most instructions of all iterations */
  MAX_INSTRS_SIMPLE = 1024, /* most instructions if the body is simple (is_simple) */
  MAX_TRIPS = 8,            /* most iterations */
  MAX_TRIPS_SIMPLE = 64,    /* most iterations if the body is simple */
  /* Most bytes that an iteration computes, unless the body is simple. Beyond that, or with large
   * products, its dispatch takes little of its time, and what several iterations compute would be
   * kept at once. */
  MAX_BYTES = 4 << 20
};

/* ---- profitability ---- */

static bool is_free(hlo_opcode_t op) {
  return op == HLO_PARAMETER || op == HLO_GET_TUPLE_ELEMENT || op == HLO_TUPLE ||
         op == HLO_CONSTANT;
}

/* True for elementwise ops and indexing, of which the machine code is short. Windows of computed
 * arrays, as of a roll by a number that is known at run time only, are not: fused over several
 * iterations, they would be computed at twice as many places in each. */
static bool is_simple(const hlo_instr_t *instr) {
  hlo_opcode_t op = instr->op;
  if (op == HLO_DYNAMIC_SLICE) return is_free(instr->operands[0]->op);
  return is_free(op) || hlo_op_is(op, OP_ELEMENTWISE) || op == HLO_BROADCAST || op == HLO_RESHAPE ||
         op == HLO_SLICE || op == HLO_IOTA || op == HLO_BITCAST_CONVERT || op == HLO_TRANSPOSE ||
         op == HLO_REVERSE || op == HLO_PAD || op == HLO_CONCATENATE;
}

/* Bytes of the array that an instruction computes; 0 for those of tuples. */
static int64_t computed_bytes(const hlo_instr_t *instr) {
  if (is_free(instr->op) || !hlo_shape_is_array(instr->shape)) return 0;
  return fusion_count(instr->shape) * (int64_t)hr_dtype_bytes(instr->shape->dtype);
}

static bool is_short(const loop_t *loop, int64_t trips) {
  int64_t count = 0, bytes = 0;
  bool simple = true;
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    const hlo_instr_t *instr = loop->body->instrs.data[i];
    count += !is_free(instr->op);
    bytes += computed_bytes(instr);
    simple &= is_simple(instr);
    if (pass_has_effect(instr) || op_custom_call_keeps_state(instr)) return false;
    if (trips > 1 && loop_is_large_product(instr)) return false;
  }
  if (trips > (simple ? MAX_TRIPS_SIMPLE : MAX_TRIPS)) return false;
  if (!simple && bytes > MAX_BYTES) return false;
  return trips * count <= (simple ? MAX_INSTRS_SIMPLE : MAX_INSTRS);
}

/* ---- the pass ---- */

static hr_status_t unroll(pass_rewrite_t *rewrite, const loop_t *loop) {
  loop_counter_t counter;
  hlo_instr_t *end;
  if (!loop_find_counter(loop, &counter)) return NULL;
  if (counter.trips > 1 && !is_short(loop, counter.trips)) return NULL;
  HR_TRY(loop_peel(rewrite, loop, counter.trips, &end));
  return pass_replace(rewrite, loop->instr, end);
}

hr_status_t pass_loop_unroll(hlo_module_t *module, bool *out_changed) {
  return loop_rewrite_each(module, unroll, out_changed);
}
