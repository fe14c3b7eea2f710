/* Loop-invariant code motion:
 *
 *   while(s) { y = dot(x, transpose(w)); ... }   ->   wt = transpose(w)
 *                                                     while(s, wt) { y = dot(x, wt); ... }
 *
 * An instruction is invariant if all its operands are; hoisted values become further elements of
 * the loop's state. Only instructions that cost real work and yield no more bytes than they read
 * are hoisted: a broadcast stays inside, where it fuses with its users and takes no memory. So are
 * weights of products that are widened, while the cache holds them. Exact.
 * Linear in the body. A loop that never runs computes the hoisted values in vain; nested loops are
 * never hoisted. Collectives of partitioned programs are also hoisted out of loops that are known
 * to run, so that every process runs each of them once, not once per iteration: a weight is
 * gathered before the loop. In other programs control flow may differ between processes, so
 * collectives stay. */
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

/* Most bytes of a hoisted collective's result, which stays alive during the loop. */
#define MAX_GATHERED ((double)(256 << 20))
/* Most bytes of hoisted weights that are widened: part of a core's second cache. */
#define MAX_WIDENED ((double)(1 << 20))

typedef struct hoister {
  pass_rewrite_t *rewrite;
  const loop_t *loop;
  bool *invariant; /* by id in the body, like the next two */
  bool *stays;     /* invariant, and computed in the loop */
  bool *hoisted;   /* invariant, and computed before the loop */
  int count;       /* hoisted instructions */
  bool moves_collectives;
} hoister_t;

static double shape_size_bytes(const hlo_shape_t *shape) {
  return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
}

/* ---- invariance ---- */

/* In a partitioned program all processes reach the loop and run it equally often. */
static bool may_move_collectives(const loop_t *loop) {
  loop_counter_t counter;
  return loop->body->module->was_global && loop_find_counter(loop, &counter) && counter.trips > 0;
}

static bool is_movable_collective(const hoister_t *hoister, const hlo_instr_t *instr) {
  bool moves = instr->op == HLO_ALL_GATHER || instr->op == HLO_ALL_REDUCE ||
               instr->op == HLO_REDUCE_SCATTER || instr->op == HLO_ALL_TO_ALL ||
               instr->op == HLO_COLLECTIVE_PERMUTE;
  bool is_free = !instr->extra || !instr->extra->control_count;
  return moves && is_free && hoister->moves_collectives && hlo_shape_is_array(instr->shape) &&
         shape_size_bytes(instr->shape) <= MAX_GATHERED;
}

/* Control flow is not hoisted: an inner loop might not end, which matters only if the outer loop
 * runs. */
static bool is_invariant(const hoister_t *hoister, const hlo_instr_t *instr) {
  int element = loop_element_read(instr);
  if (element >= 0) return loop_is_invariant(hoister->loop, element);
  if (instr->op == HLO_PARAMETER || hlo_op_is(instr->op, OP_CONTROL) ||
      instr->op == HLO_CUSTOM_CALL)
    return false;
  bool is_fixed = pass_is_pure(instr) || is_movable_collective(hoister, instr);
  if (!is_fixed || hlo_shape_is_dynamic(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!hoister->invariant[instr->operands[k]->id]) return false;
  return true;
}

/* ---- profitability ---- */

static bool costs_nothing(hlo_opcode_t op) {
  return op == HLO_CONSTANT || op == HLO_IOTA || op == HLO_BROADCAST || op == HLO_RESHAPE ||
         op == HLO_TUPLE || op == HLO_GET_TUPLE_ELEMENT || op == HLO_BITCAST;
}

static bool is_costly(hlo_opcode_t op) {
  return !hlo_op_is(op, OP_ELEMENTWISE) && op != HLO_PAD && op != HLO_CONCATENATE &&
         op != HLO_DYNAMIC_UPDATE_SLICE;
}

static bool is_profitable(const hlo_instr_t *instr) {
  double operand_bytes = 0;
  if (costs_nothing(instr->op) || !hlo_shape_is_array(instr->shape)) return false;
  if (is_costly(instr->op) || hlo_shape_is_scalar(instr->shape)) return true;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    while (operand->op == HLO_BROADCAST || operand->op == HLO_RESHAPE)
      operand = operand->operands[0];
    if (operand->op != HLO_IOTA && hlo_shape_is_array(operand->shape))
      operand_bytes += shape_size_bytes(operand->shape);
  }
  return shape_size_bytes(instr->shape) <= operand_bytes;
}

/* Products do not read their operands from the registers of a conversion: the widened array is
 * written in any case. A large one is read from memory in each iteration, where narrow numbers are
 * faster. */
static bool is_widened_weight(const hlo_instr_t *user, const hlo_instr_t *operand) {
  bool is_product = user->op == HLO_DOT || user->op == HLO_CONVOLUTION;
  return is_product && operand->op == HLO_CONVERT &&
         shape_size_bytes(operand->shape) <= MAX_WIDENED;
}

/* Decides for each invariant operand of an instruction in the loop: it is hoisted, or it stays and
 * its own operands are decided likewise. In reverse program order, so that users come first. */
static void select_hoisted(hoister_t *hoister) {
  const hlo_computation_t *body = hoister->loop->body;
  for (size_t i = body->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = body->instrs.data[i];
    if (hoister->invariant[i] && !hoister->stays[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) {
      const hlo_instr_t *operand = instr->operands[k];
      if (!hoister->invariant[operand->id] || hoister->hoisted[operand->id] ||
          hoister->stays[operand->id])
        continue;
      bool profitable = is_profitable(operand) || is_widened_weight(instr, operand);
      (profitable ? hoister->hoisted : hoister->stays)[operand->id] = true;
      hoister->count += profitable;
    }
  }
}

/* ---- motion ---- */

/* Clones the hoisted instructions and their transitive operands before the loop. */
static hr_status_t clone_before_loop(const hoister_t *hoister, hlo_instr_t **copies) {
  const loop_t *loop = hoister->loop;
  hr_arena_t *scratch = &hoister->rewrite->scratch;
  hlo_instr_t **elements;
  bool *wanted;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &elements));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->body->instrs.count, &wanted));
  for (size_t i = 0; i < loop->body->instrs.count; i++) wanted[i] = hoister->hoisted[i];
  loop_mark_operands(loop->body, wanted);
  for (size_t i = 0; i < loop->body->instrs.count; i++) {
    int k = wanted[i] ? loop_element_read(loop->body->instrs.data[i]) : -1;
    if (k >= 0 && !elements[k]) elements[k] = loop_init_element(hoister->rewrite, loop, k);
  }
  loop_clone_marked(hoister->rewrite, loop->body, elements, wanted, copies);
  return hlo_builder_finish(&hoister->rewrite->builder);
}

static hr_status_t hoist_selected(const hoister_t *hoister) {
  const loop_t *loop = hoister->loop;
  hr_arena_t *scratch = &hoister->rewrite->scratch;
  hlo_instr_t **copies, **hoisted, **values;
  int *to, count = 0;
  HR_TRY(HR_NEW_ARRAY(scratch, loop->body->instrs.count, &copies));
  HR_TRY(HR_NEW_ARRAY(scratch, hoister->count, &hoisted));
  HR_TRY(HR_NEW_ARRAY(scratch, hoister->count, &values));
  HR_TRY(HR_NEW_ARRAY(scratch, loop->count, &to));
  HR_TRY(clone_before_loop(hoister, copies));
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
  hoister_t hoister = {
      .rewrite = rewrite, .loop = loop, .moves_collectives = may_move_collectives(loop)};
  size_t count = loop->body->instrs.count;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.invariant));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.stays));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &hoister.hoisted));
  for (size_t i = 0; i < count; i++)
    hoister.invariant[i] = is_invariant(&hoister, loop->body->instrs.data[i]);
  select_hoisted(&hoister);
  return hoister.count ? hoist_selected(&hoister) : NULL;
}

hr_status_t pass_loop_hoist(hlo_module_t *module, bool *out_changed) {
  return loop_rewrite_each(module, hoist, out_changed);
}
