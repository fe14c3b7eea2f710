/* What is known of the integers of a loop's state, turn by turn: what stays as it is, what counts
 * turns that are known, and what is never beyond its first value and what the body makes of such
 * values. Comparisons in body and condition that always come out the same way, such as those by
 * which JAX makes negative indices positive, become constants. */
#include "passes/lib/pass_range.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum { MAX_ROUNDS = 4 };

/* By elements of the state; from above to below: not known. */
typedef pass_range_t *ranges_t;
static const pass_range_t not_known = {1, 0};

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

static pass_range_t range_of(const hlo_instr_t *instr, const pass_range_t *ranges) {
  pass_range_t range;
  return instr && pass_range_of(instr, range_of_element, ranges, &range) ? range : not_known;
}

static pass_range_t both_of(pass_range_t a, pass_range_t b) {
  if (!is_known(a) || !is_known(b)) return not_known;
  return (pass_range_t){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* Values that are `by` further, of a type that they do not leave. */
static pass_range_t moved(pass_range_t range, int64_t by, hr_dtype_t dtype) {
  int64_t end =
      INT64_C(1) << (hr_dtype_table[dtype].bits < 61 ? hr_dtype_table[dtype].bits - 1 : 60);
  range.low += by, range.high += by;
  return is_known(range) && range.low >= -end && range.high < end ? range : not_known;
}

/* Of what is counted: from its first value to that before so many steps. */
static pass_range_t counted(const loop_t *loop, int k, pass_range_t first, int64_t steps,
                            int64_t step) {
  int64_t by;
  bool is_far =
      __builtin_mul_overflow(steps, step, &by) || by >= PASS_RANGE_FAR || by <= -PASS_RANGE_FAR;
  return is_far ? not_known
                : both_of(first, moved(first, by, loop->instr->shape->elements[k]->dtype));
}

/* One element after a turn from what is known: no more than that, or it grew, and growing ends
 * soon. */
static bool settle(const loop_t *loop, int k, ranges_t ranges, int *rounds) {
  pass_range_t all = both_of(ranges[k], range_of(loop->next->operands[k], ranges));
  if (!is_known(ranges[k]) || (all.low == ranges[k].low && all.high == ranges[k].high))
    return false;
  ranges[k] = ++rounds[k] > MAX_ROUNDS ? not_known : all;
  return true;
}

/* `outside`: of the computation that the loop is in, or NULL. */
static hr_status_t find_ranges(hr_arena_t *scratch, const loop_t *loop, const pass_range_t *outside,
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
    body[k] = condition[k] = range_of(loop_init_known(loop, k), outside);
    if (!counts || !is_known(body[k]) || !loop_find_step(loop, k, &step)) continue;
    condition[k] = counted(loop, k, body[k], counter.trips, step);
    body[k] = counted(loop, k, body[k], counter.trips - 1, step);
    rounds[k] = -1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < loop->count; k++)
      if (rounds[k] >= 0) changed |= settle(loop, k, body, rounds);
  }
  for (int k = 0; k < loop->count; k++)
    if (rounds[k] >= 0) condition[k] = body[k];
  *out_body = body, *out_condition = condition;
  return NULL;
}

static hr_status_t decide(hlo_computation_t *computation, const pass_range_t *ranges,
                          bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    bool compares = instr && instr->op == HLO_COMPARE;
    int known = compares ? pass_range_compare(instr, range_of_element, ranges) : -1;
    if (known < 0) continue;
    hlo_instr_t *constant = hlo_build_number(&rewrite.builder, known, HR_PRED);
    st = pass_replace(&rewrite, instr, pass_build_fill(&rewrite, constant, instr->shape));
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* How many instructions call each computation. */
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

/* Loops whose body and condition are called from one place only have ranges of their own. */
static hr_status_t look_into(hr_arena_t *scratch, const hlo_computation_t *computation,
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

/* Callers stand behind what they call: a loop knows what is known around it. */
static hr_status_t decide_all(hr_arena_t *scratch, hlo_module_t *module, bool *out_changed) {
  uint32_t *callers;
  ranges_t *ranges;
  HR_TRY(count_callers(scratch, module, &callers));
  HR_TRY(HR_NEW_ARRAY(scratch, module->computations.count, &ranges));
  for (size_t c = module->computations.count; c-- > 0;) {
    hlo_computation_t *computation = module->computations.data[c];
    HR_TRY(look_into(scratch, computation, callers, ranges));
    if (ranges[computation->id]) HR_TRY(decide(computation, ranges[computation->id], out_changed));
  }
  return NULL;
}

hr_status_t pass_loop_ranges(hlo_module_t *module, bool *out_changed) {
  hr_arena_t scratch;
  hr_arena_init(&scratch);
  hr_status_t st = decide_all(&scratch, module, out_changed);
  hr_arena_deinit(&scratch);
  return st;
}
