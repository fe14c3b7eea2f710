/* HLORUN_CHECK=1: differential test of native kernels. Every native step also runs through its
 * reference kernel, on copies of its operands, and the first result that differs by more than its
 * type's tolerance fails the run with MISMATCH. For ops that sum, the tolerance grows with the
 * largest term, as the order of summation differs. Results that are not unique are not compared.
 *
 * Cost: a copy of all operands and the reference kernel, per step. */
#include <string.h>

#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "ir/compare.h"

/* Does the op sum in an order that kernels may choose? */
static bool has_summation(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_DOT:
    case HLO_CONVOLUTION:
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW:
      return true;
    case HLO_FUSION:
      break;
    default:
      return false;
  }
  const hlo_computation_t *body = instr->called[0];
  for (size_t i = 0; i < body->instrs.count; i++)
    if (has_summation(body->instrs.data[i])) return true;
  return false;
}

/* Largest magnitude of an operand: scale of the tolerance of sums. */
static double find_largest_term(const plan_step_t *source, hlo_value_t *const *in) {
  double largest = 0;
  for (int k = 0; k < source->in_count && has_summation(source->op.instr); k++)
    for (int i = 0; i < hlo_value_leaf_count(in[k]); i++) {
      double term = hlo_largest_magnitude(hlo_value_leaf(in[k], i));
      if (term > largest) largest = term;
    }
  return largest;
}

/* Compares `got_bytes`, leaf `leaf` of the native kernel's result, with `want`, the reference
 * kernel's. */
static hr_status_t compare_leaf(const run_step_t *step, int leaf, void *got_bytes,
                                const hlo_value_t *want, double terms) {
  const plan_step_t *source = step->flat->source;
  hlo_tolerance_t tolerance = hlo_tolerance_default();
  tolerance.terms = terms;
  hlo_value_t got = *want;
  hlo_difference_t difference;
  hr_strbuf_t text;
  got.data = got_bytes;
  hlo_compare(&got, want, &tolerance, &difference);
  if (!difference.bad_count) return NULL;
  hr_strbuf_init(&text);
  if (step->flat->out_count > 1) hr_strbuf_printf(&text, "result %d, ", leaf);
  hlo_difference_print(&text, &got, want, &difference);
  hr_status_t st = hr_strbuf_finish(&text);
  hr_pos_t pos = hlo_instr_pos(source->op.instr);
  if (!st)
    st = hr_error_at(HR_MISMATCH, &pos,
                     "%s differs from the reference: %s (got: %s, want: the reference kernel)",
                     hlo_op_name(source->op.instr->op), text.data, step->flat->native.kernel->name);
  hr_strbuf_deinit(&text);
  return st;
}

static hr_status_t compare(const run_step_t *step, const hlo_value_t *want, double terms) {
  for (int i = 0; i < step->flat->out_count; i++) {
    bool is_nondeterministic = i < 64 && step->flat->native.nondeterministic_results >> i & 1;
    if (step->out[i] && !is_nondeterministic)
      HR_TRY(compare_leaf(step, i, step->out[i], hlo_value_leaf(want, i), terms));
  }
  return NULL;
}

static hr_status_t run_both(exec_compiled_t *machine, run_step_t *step, hlo_value_t **in) {
  const plan_step_t *source = step->flat->source;
  hlo_value_t *want;
  HR_TRY(exec_compiled_copy_operands(machine, step, in));
  double terms = find_largest_term(source, in);
  machine->native.scratch = step->scratch;
  HR_TRY(step->run(&machine->native, step->plan, step->in, step->out));
  HR_TRY(exec_machine_step(machine->reference, source, 0, in, &want));
  hr_status_t st = compare(step, want, terms);
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
