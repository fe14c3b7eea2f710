/* Value ranges of the integers in a loop's state, by abstract interpretation over intervals:
 * invariants keep their initial range, counters run from their start over the known trip count, and
 * all others are widened until nothing changes (at most MAX_ROUNDS times per element, then the
 * range is unknown). Comparisons whose outcome follows are folded:
 *
 *   while(i < 10) { select(i < 0, i + 10, i) ... }   ->   select(false, ...)
 *
 * JAX writes such selects to make negative indices count from the end. Exact. Callers are processed
 * before callees, so that nested loops know the ranges around them. */
#include "base/arith.h"
#include "passes/lib/pass_range.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum { MAX_ROUNDS = 4 };

/* By state element. low > high: the range is unknown. */
typedef pass_range_t *ranges_t;
static const pass_range_t unknown_range = {1, 0};

static bool is_known(pass_range_t range) { return range.low <= range.high; }

/* Signature of pass_range_fn; the context is ranges_t. */
static bool range_of_element(const void *context, const hlo_instr_t *instr,
                             pass_range_t *out_range) {
  const pass_range_t *ranges = context;
  int k = ranges ? loop_element_read(instr) : -1;
  if (k < 0 || !is_known(ranges[k])) return false;
  *out_range = ranges[k];
  return true;
}

static pass_range_t instr_range(const hlo_instr_t *instr, const pass_range_t *ranges) {
  pass_range_t range;
  return instr && pass_range_of(instr, range_of_element, ranges, &range) ? range : unknown_range;
}

static pass_range_t range_union(pass_range_t a, pass_range_t b) {
  if (!is_known(a) || !is_known(b)) return unknown_range;
  return (pass_range_t){hr_min(a.low, b.low), hr_max(a.high, b.high)};
}

/* The range shifted by `by`; unknown if it leaves the type. */
static pass_range_t range_shifted(pass_range_t range, int64_t by, hr_dtype_t dtype) {
  int64_t end =
      INT64_C(1) << (hr_dtype_table[dtype].bits < 61 ? hr_dtype_table[dtype].bits - 1 : 60);
  range.low += by;
  range.high += by;
  return is_known(range) && range.low >= -end && range.high < end ? range : unknown_range;
}

/* Range of an induction variable over `steps` steps from its first value. */
static pass_range_t counter_range(const loop_t *loop, int k, pass_range_t first, int64_t steps,
                                  int64_t step) {
  int64_t by;
  bool overflows =
      __builtin_mul_overflow(steps, step, &by) || by >= PASS_RANGE_FAR || by <= -PASS_RANGE_FAR;
  return overflows
             ? unknown_range
             : range_union(first, range_shifted(first, by, loop->instr->shape->elements[k]->dtype));
}

/* Joins the range of element k with its range after one iteration. False: nothing changed. */
static bool widen_element(const loop_t *loop, int k, ranges_t ranges, int *rounds) {
  pass_range_t all = range_union(ranges[k], instr_range(loop->next->operands[k], ranges));
  if (!is_known(ranges[k]) || (all.low == ranges[k].low && all.high == ranges[k].high))
    return false;
  ranges[k] = ++rounds[k] > MAX_ROUNDS ? unknown_range : all;
  return true;
}

/* `outer`: ranges in the computation that contains the loop, or NULL. */
static hr_status_t find_ranges(hr_arena_t *scratch, const loop_t *loop, const pass_range_t *outer,
                               ranges_t *out_body, ranges_t *out_condition) {
  loop_counter_t counter = {.trips = -1};
  ranges_t body, condition;
  int *rounds;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count + 1, &body));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count + 1, &condition));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count + 1, &rounds));
  bool counts = loop_find_counter(loop, &counter) && counter.trips > 0;
  for (int k = 0; k < loop->count; k++) {
    int64_t step;
    condition[k] = instr_range(loop_init_operand(loop, k), outer);
    body[k] = condition[k];
    if (!counts || !is_known(body[k]) || !loop_find_step(loop, k, &step)) continue;
    condition[k] = counter_range(loop, k, body[k], counter.trips, step);
    body[k] = counter_range(loop, k, body[k], counter.trips - 1, step);
    rounds[k] = -1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < loop->count; k++)
      if (rounds[k] >= 0) changed |= widen_element(loop, k, body, rounds);
  }
  for (int k = 0; k < loop->count; k++)
    if (rounds[k] >= 0) condition[k] = body[k];
  *out_body = body;
  *out_condition = condition;
  return NULL;
}

/* pass_visit_fn; `context`: the ranges of the loop's values. */
static hr_status_t fold_comparison(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  const pass_range_t *ranges = context;
  if (instr->op != HLO_COMPARE) return NULL;
  int known = pass_range_compare(instr, range_of_element, ranges);
  if (known < 0) return NULL;
  hlo_instr_t *constant = hlo_build_number(&rewrite->builder, known, HR_PRED);
  return pass_replace(rewrite, instr, pass_build_fill(rewrite, constant, instr->shape));
}

/* Counts the callers of each computation. */
static hr_status_t count_callers(hr_arena_t *scratch, const hlo_module_t *module,
                                 uint32_t **out_callers) {
  uint32_t *callers;
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &callers));
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++) callers[instr->called[k]->id]++;
    }
  *out_callers = callers;
  return NULL;
}

/* Only loops whose body and condition have one caller: otherwise ranges of several loops would mix.
 */
static hr_status_t find_loop_ranges(hr_arena_t *scratch, const hlo_computation_t *computation,
                                    const uint32_t *callers, ranges_t *ranges) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    loop_t loop;
    if (!loop_match(computation->instrs.data[i], &loop)) continue;
    if (callers[loop.body->id] != 1 || callers[loop.condition->id] != 1) continue;
    HR_TRY(find_ranges(scratch, &loop, ranges[computation->id], &ranges[loop.body->id],
                       &ranges[loop.condition->id]));
  }
  return NULL;
}

/* Visits computations in reverse order of the list, callers first. */
static hr_status_t fold_all(hr_arena_t *scratch, hlo_module_t *module, bool *out_changed) {
  uint32_t *callers;
  ranges_t *ranges;
  HR_TRY(count_callers(scratch, module, &callers));
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &ranges));
  for (size_t c = module->computations.count; c-- > 0;) {
    hlo_computation_t *computation = module->computations.data[c];
    HR_TRY(find_loop_ranges(scratch, computation, callers, ranges));
    if (ranges[computation->id])
      HR_TRY(pass_rewrite_each(computation, fold_comparison, (void *)ranges[computation->id],
                               out_changed));
  }
  return NULL;
}

hr_status_t pass_loop_ranges(hlo_module_t *module, bool *out_changed) {
  hr_arena_t scratch;
  hr_arena_init(&scratch);
  hr_status_t st = fold_all(&scratch, module, out_changed);
  hr_arena_deinit(&scratch);
  return st;
}
