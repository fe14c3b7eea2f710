/* What is the same in every iteration of a loop is computed before it, if that is real work and its
 * result not larger than what it is made of: a broadcast stays inside, where it costs nothing. */
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

typedef struct hoister {
  pass_rewrite_t *rewrite;
  const loop_t *loop;
  bool *invariant, *stays, *hoisted; /* by id in the body */
  int count;                         /* of hoisted ones */
} hoister_t;

/* ---- what is invariant ---- */

/* Loops inside could go on for ever, which does not matter as long as the outer one never starts.
 */
static bool is_invariant(const hoister_t *hoister, const hlo_instr_t *instr) {
  int element = loop_element_read(instr);
  if (element >= 0) return loop_is_invariant(hoister->loop, element);
  if (instr->op == HLO_PARAMETER || hlo_op_is(instr->op, OP_CONTROL) ||
      instr->op == HLO_CUSTOM_CALL)
    return false;
  if (!pass_is_pure(instr) || hlo_shape_is_dynamic(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!hoister->invariant[instr->operands[k]->id]) return false;
  return true;
}

/* ---- what is worth it ---- */

static bool costs_nothing(hlo_opcode_t op) {
  return op == HLO_CONSTANT || op == HLO_IOTA || op == HLO_BROADCAST || op == HLO_RESHAPE ||
         op == HLO_TUPLE || op == HLO_GET_TUPLE_ELEMENT || op == HLO_BITCAST;
}

static bool is_heavy(hlo_opcode_t op) {
  return !hlo_op_is(op, OP_ELEMENTWISE) && op != HLO_PAD && op != HLO_CONCATENATE &&
         op != HLO_DYNAMIC_UPDATE_SLICE;
}

static double bytes_of(const hlo_shape_t *shape) {
  return (double)pass_count(shape) * (double)hr_dtype_bytes(shape->dtype);
}

static bool is_worth_it(const hlo_instr_t *instr) {
  double made_of = 0;
  if (costs_nothing(instr->op) || !hlo_shape_is_array(instr->shape)) return false;
  if (is_heavy(instr->op) || hlo_shape_is_scalar(instr->shape)) return true;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    while (operand->op == HLO_BROADCAST || operand->op == HLO_RESHAPE)
      operand = operand->operands[0];
    if (operand->op != HLO_IOTA && hlo_shape_is_array(operand->shape))
      made_of += bytes_of(operand->shape);
  }
  return bytes_of(instr->shape) <= made_of;
}

/* An invariant operand of what stays is hoisted, or stays as well, and then its operands are asked.
 * From the last instruction to the first, so that all users were asked before. */
static void choose(hoister_t *hoister) {
  const hlo_computation_t *body = hoister->loop->body;
  for (size_t i = body->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = body->instrs.data[i];
    if (hoister->invariant[i] && !hoister->stays[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) {
      const hlo_instr_t *operand = instr->operands[k];
      if (!hoister->invariant[operand->id] || hoister->hoisted[operand->id] ||
          hoister->stays[operand->id])
        continue;
      bool worth = is_worth_it(operand);
      (worth ? hoister->hoisted : hoister->stays)[operand->id] = true;
      hoister->count += worth;
    }
  }
}

/* ---- the move ---- */

/* Copies of the hoisted instructions, and what they need, before the loop. */
static hr_status_t compute_before(const hoister_t *hoister, hlo_instr_t **copies) {
  const loop_t *loop = hoister->loop;
  hr_arena_t *scratch = &hoister->rewrite->scratch;
  hlo_instr_t **elements;
  bool *wanted;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &elements));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->body->instrs.count, &wanted));
  for (size_t i = 0; i < loop->body->instrs.count; i++) wanted[i] = hoister->hoisted[i];
  loop_want_needs(loop->body, wanted);
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    int k = wanted[i] ? loop_element_read(loop->body->instrs.data[i]) : -1;
    if (k >= 0 && !elements[k]) elements[k] = loop_init_element(hoister->rewrite, loop, k);
  }
  loop_copy(hoister->rewrite, loop->body, elements, wanted, copies);
  return hlo_builder_finish(&hoister->rewrite->builder);
}

static hr_status_t move(const hoister_t *hoister) {
  const loop_t *loop = hoister->loop;
  hr_arena_t *scratch = &hoister->rewrite->scratch;
  hlo_instr_t **copies, **hoisted, **values;
  int *to, count = 0;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->body->instrs.count, &copies));
  HR_TRY(HR_NEW_ARRAY(scratch, hoister->count, &hoisted));
  HR_TRY(HR_NEW_ARRAY(scratch, hoister->count, &values));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &to));
  HR_TRY(compute_before(hoister, copies));
  for (int k = 0; k < loop->count; k++) to[k] = k;
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    if (!hoister->hoisted[i]) continue;
    hoisted[count] = loop->body->instrs.data[i];
    values[count++] = copies[i];
  }
  loop_change_t change = {.to = to,
                          .same = to,
                          .kept_count = loop->count,
                          .hoisted_count = count,
                          .hoisted = hoisted,
                          .values = values};
  return loop_rebuild(hoister->rewrite, loop, &change);
}

static hr_status_t hoist(pass_rewrite_t *rewrite, const loop_t *loop) {
  hoister_t hoister = {.rewrite = rewrite, .loop = loop};
  size_t count = loop->body->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.invariant));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.stays));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.hoisted));
  for (size_t i = 0; i < count; i++)
    hoister.invariant[i] = is_invariant(&hoister, loop->body->instrs.data[i]);
  choose(&hoister);
  return hoister.count ? move(&hoister) : NULL;
}

static hr_status_t hoist_in(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    loop_t loop;
    if (instr && loop_match(instr, &loop)) st = hoist(&rewrite, &loop);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_loop_hoist(hlo_module_t *module, bool *out_changed) {
  size_t count = module->computations.count;
  bool changed = false;
  for (size_t c = 0; c < count; c++) HR_TRY(hoist_in(module->computations.data[c], &changed));
  *out_changed |= changed;
  return changed ? pass_computations_order(module) : NULL;
}
