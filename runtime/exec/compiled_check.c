/* HLORUN_CHECK=1: every native step is done by the reference kernel too, on copies of its operands, and the first
 * result that differs by more than its type allows ends the run, unless it has several right values. */
#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "ir/compare.h"

/* `got` is where the native kernel put leaf `leaf` of the result, `want` the reference kernel's. */
static hr_status_t compare_leaf(const run_step_t *step, int leaf, void *got_bytes, const hlo_value_t *want) {
  const plan_step_t *source = step->flat->source;
  hlo_tolerance_t tolerance = hlo_tolerance_default();
  hlo_value_t got = *want;
  hlo_difference_t difference;
  hr_text_t text;
  got.data = got_bytes;
  hlo_compare(&got, want, &tolerance, &difference);
  if (!difference.bad_count) return NULL;
  hr_text_init(&text);
  if (step->flat->out_count > 1) hr_text_printf(&text, "result %d, ", leaf);
  hlo_difference_print(&text, &got, want, &difference);
  hr_status_t st = hr_text_finish(&text);
  hr_pos_t pos = hlo_instr_pos(source->op.instr);
  if (!st)
    st = hr_error_at(HR_MISMATCH, &pos, "%s differs from the reference: %s (got: %s, want: the reference kernel)",
                     hlo_op_name(source->op.instr->op), text.data, step->flat->native->name);
  hr_text_deinit(&text);
  return st;
}

static hr_status_t compare(const run_step_t *step, const hlo_value_t *want) {
  for (int i = 0; i < step->flat->out_count; i++)
    if (step->out[i] && !(i < 64 && step->flat->open >> i & 1)) HR_TRY(compare_leaf(step, i, step->out[i], hlo_value_leaf(want, i)));
  return NULL;
}

static hr_status_t run_both(exec_compiled_t *machine, run_step_t *step, hlo_value_t **in) {
  const plan_step_t *source = step->flat->source;
  hlo_value_t *want;
  HR_TRY(exec_compiled_copy_operands(machine, step, in));
  machine->native.scratch = step->scratch;
  HR_TRY(step->run(&machine->native, step->plan, step->in, step->out));
  HR_TRY(exec_machine_step(machine->reference, source, 0, in, &want));
  hr_status_t st = compare(step, want);
  hlo_value_release(want);
  return st;
}

hr_status_t exec_compiled_check(exec_compiled_t *machine, run_step_t *step) {
  int count = step->flat->source->in_count;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)(count + 1) * sizeof(hlo_value_t *), &memory));
  hlo_value_t **in = memory;
  hr_status_t st = run_both(machine, step, in);
  for (int k = 0; k < count; k++) hlo_value_release(in[k]);
  hr_free(in);
  return st;
}
