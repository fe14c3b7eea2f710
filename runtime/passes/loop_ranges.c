/* What a counting loop knows about its counter: comparisons in the body that always come out the same way, such as
 * those by which JAX makes negative indices positive, become constants. */
#include "passes/loop_shape.h"
#include "passes/pass_range.h"
#include "passes/passes.h"

/* Signature of pass_range_fn. */
static bool range_of_counter(const void *context, const hlo_instr_t *instr, pass_range_t *out_range) {
  const loop_counter_t *counter = context;
  int64_t last = counter->start + (counter->trips - 1) * counter->step;
  if (loop_element_read(instr) != counter->index) return false;
  *out_range = last < counter->start ? (pass_range_t){last, counter->start} : (pass_range_t){counter->start, last};
  return true;
}

static hr_status_t decide_in_body(hlo_computation_t *body, const loop_counter_t *counter, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, body));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    bool compares = instr && instr->op == HLO_COMPARE;
    int known = compares ? pass_range_compare(instr, range_of_counter, counter) : -1;
    if (known < 0) continue;
    hlo_instr_t *constant = hlo_build_number(&rewrite.builder, known, HR_PRED);
    st = pass_replace(&rewrite, instr, pass_build_fill(&rewrite, constant, instr->shape));
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* How many instructions call each computation. */
static hr_status_t count_callers(hr_arena_t *scratch, const hlo_module_t *module, uint32_t **out_callers) {
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

static hr_status_t decide_all(hlo_module_t *module, const uint32_t *callers, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      loop_counter_t counter;
      loop_t loop;
      if (!loop_match(module->computations.data[c]->instrs.data[i], &loop) || callers[loop.body->id] != 1) continue;
      if (loop_find_counter(&loop, &counter) && counter.trips > 0)
        HR_TRY(decide_in_body(loop.body, &counter, out_changed));
    }
  return NULL;
}

hr_status_t pass_loop_ranges(hlo_module_t *module, bool *out_changed) {
  hr_arena_t scratch;
  uint32_t *callers;
  hr_arena_init(&scratch);
  hr_status_t st = count_callers(&scratch, module, &callers);
  if (!st) st = decide_all(module, callers, out_changed);
  hr_arena_deinit(&scratch);
  return st;
}
