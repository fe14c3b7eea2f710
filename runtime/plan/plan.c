/* The plan of a module: per computation an order of instructions, a slot for each value, lifetimes
 * and prepared kernels. Computations that are never run get no plan. Lifetimes come from one
 * backward walk: a value dies with the step that reads it last, and that step may overwrite it.
 * Linear in the module. */
#include "plan/plan.h"

#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "ops/query/device_assignment.h"
#include "ops/rules/dynamic_shape.h"
#include "plan/plan_order.h"

typedef struct planner {
  plan_t *plan;
  hr_arena_t *arena;
  const bool *has_effect;
  bool is_split; /* split by device */
} planner_t;

/* Is the kernel prepared at run time, when actual sizes are known? Never for ops that forward
 * values. */
static bool needs_actual_sizes(const hlo_instr_t *instr) {
  if (hlo_op_is(instr->op, OP_CONTROL) || hlo_op_is(instr->op, OP_IDENTITY) ||
      instr->op == HLO_TUPLE || instr->op == HLO_GET_TUPLE_ELEMENT)
    return false;
  if (hlo_shape_is_dynamic(instr->shape)) return true;
  for (int k = 0; k < instr->operand_count; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return true;
  return false;
}

static hr_status_t prepare_step(planner_t *planner, const hlo_instr_t *instr, plan_step_t *step) {
  step->kernel = op_kernels[instr->op];
  step->op.instr = instr;
  step->op.out_shape = instr->shape;
  step->dynamic = needs_actual_sizes(instr);
  step->device = planner->is_split ? op_device_of(instr) : -1;
  if (instr->op == HLO_CONSTANT && !instr->literal)
    return hlo_error(
        instr, NULL,
        "its value was elided (\"{...}\") when the program was printed; print it whole: "
        "in JAX lowered.as_text(\"hlo\"), or "
        "compiled.runtime_executable().hlo_modules()[0].to_string(options) "
        "with options.print_large_constants = True");
  HR_TRY(hlo_operand_shapes(planner->arena, instr, &step->op.in_shapes));
  if (step->dynamic || !step->kernel->prepare) return NULL;
  return step->kernel->prepare(planner->arena, &step->op, &step->op.plan);
}

/* Slot of each instruction of the computation being planned; -1: not placed. Parameters have their
 * numbers. */
static hr_status_t assign_slots(planner_t *planner, hlo_instr_t *const *order, int count,
                                plan_body_t *body, int **out_slots) {
  int *slots;
  HR_TRY(HR_NEW_ARRAY(planner->arena, body->computation->instrs.count, &slots));
  for (size_t i = 0; i < body->computation->instrs.count; i++) slots[i] = -1;
  for (int p = 0; p < body->param_count; p++) slots[body->computation->params.data[p]->id] = p;
  body->slot_count = body->param_count;
  for (int i = 0; i < count; i++)
    if (order[i]->op != HLO_PARAMETER) slots[order[i]->id] = body->slot_count++;
  body->root_slot = slots[body->computation->root->id];
  *out_slots = slots;
  return NULL;
}

static bool is_read_twice(const plan_step_t *step, int k) {
  for (int other = 0; other < step->in_count; other++)
    if (other != k && step->in_slots[other] == step->in_slots[k]) return true;
  return false;
}

/* Lists for each step the values that die with it, walking backwards. A value that one step reads
 * twice is never overwritten by it. */
static hr_status_t find_lifetimes(planner_t *planner, plan_body_t *body) {
  bool *read_later;
  int *dying;
  HR_TRY(HR_NEW_ARRAY(planner->arena, body->slot_count, &read_later));
  HR_TRY(HR_NEW_ARRAY(planner->arena, body->slot_count, &dying));
  read_later[body->root_slot] = true;
  for (int s = body->step_count; s-- > 0;) {
    plan_step_t *step = &body->steps[s];
    int count = 0;
    if (!read_later[step->out_slot]) dying[count++] = step->out_slot;
    for (int k = 0; k < step->in_count; k++) {
      int slot = step->in_slots[k];
      if (read_later[slot]) continue;
      read_later[slot] = true;
      dying[count++] = slot;
      if (k < 64 && !is_read_twice(step, k)) step->op.last_use |= UINT64_C(1) << k;
    }
    void *copy;
    HR_TRY(hr_arena_copy(planner->arena, dying, (size_t)count * sizeof *dying, &copy));
    step->free_count = count;
    step->free_slots = copy;
  }
  int unused = 0;
  for (int p = 0; p < body->param_count; p++)
    if (!read_later[p]) dying[unused++] = p;
  body->unused_count = unused;
  body->unused_slots = dying;
  return NULL;
}

static hr_status_t plan_body(planner_t *planner, const hlo_computation_t *computation);

/* Bodies that a step calls are planned before it. Parameters have slots but no step. */
static hr_status_t plan_steps(planner_t *planner, hlo_instr_t *const *order, int count,
                              const int *slots, plan_body_t *body) {
  HR_TRY(HR_NEW_ARRAY(planner->arena, count, &body->steps));
  for (int i = 0; i < count; i++) {
    const hlo_instr_t *instr = order[i];
    if (instr->op == HLO_PARAMETER) continue;
    for (int c = 0; c < instr->called_count; c++) HR_TRY(plan_body(planner, instr->called[c]));
    plan_step_t *step = &body->steps[body->step_count++];
    int *in_slots;
    HR_TRY(HR_NEW_ARRAY(planner->arena, instr->operand_count, &in_slots));
    for (int k = 0; k < instr->operand_count; k++) in_slots[k] = slots[instr->operands[k]->id];
    step->in_slots = in_slots;
    step->in_count = instr->operand_count;
    step->out_slot = slots[instr->id];
    planner->plan->communicates |= hlo_op_is(instr->op, OP_COMM);
    planner->plan->has_dynamic_sizes |= hlo_shape_is_dynamic(instr->shape);
    HR_TRY(prepare_step(planner, instr, step));
  }
  return NULL;
}

/* Plans each computation once, in the order of its effects and dependences. */
static hr_status_t plan_body(planner_t *planner, const hlo_computation_t *computation) {
  if (planner->plan->bodies[computation->id]) return NULL;
  plan_body_t *body;
  HR_TRY(HR_NEW(planner->arena, &body));
  planner->plan->bodies[computation->id] = body;
  body->computation = computation;
  body->param_count = (int)computation->params.count;
  hlo_instr_t *const *order;
  int count, *slots;
  HR_TRY(plan_order(planner->arena, computation, planner->has_effect, &order, &count));
  HR_TRY(assign_slots(planner, order, count, body, &slots));
  HR_TRY(plan_steps(planner, order, count, slots, body));
  return find_lifetimes(planner, body);
}

static hr_status_t fill_plan(plan_t *plan) {
  planner_t planner = {
      .plan = plan, .arena = &plan->arena, .is_split = op_is_split_by_device(plan->module)};
  HR_TRY(HR_NEW_ARRAY(&plan->arena, plan->module->computations.count, &plan->bodies));
  HR_TRY(plan_find_effects(&plan->arena, plan->module, &planner.has_effect));
  HR_TRY(plan_body(&planner, plan->module->entry));
  plan->entry = plan->bodies[plan->module->entry->id];
  return NULL;
}

/* Everything is owned by plan->arena; the module must outlive the plan. */
hr_status_t plan_create(const hlo_module_t *module, plan_grid_t grid, plan_t **out_plan) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(plan_t), &memory));
  plan_t *plan = memory;
  hr_arena_init(&plan->arena);
  plan->module = module;
  plan->grid = grid;
  hr_status_t st = fill_plan(plan);
  if (st)
    plan_destroy(plan);
  else
    *out_plan = plan;
  return st;
}

void plan_destroy(plan_t *plan) {
  if (!plan) return;
  hr_arena_deinit(&plan->arena);
  hr_free(plan);
}

/* --- sizes known at run time --- */

/* Prepares a step for the shapes that its operands have now. */
hr_status_t plan_specialise(hr_arena_t *arena, const plan_step_t *step, hlo_value_t *const *in,
                            op_step_t *out_step) {
  const hlo_shape_t **shapes;
  *out_step = step->op;
  HR_TRY(HR_NEW_ARRAY(arena, step->in_count, &shapes));
  for (int k = 0; k < step->in_count; k++) HR_TRY(hlo_value_shape(arena, in[k], &shapes[k]));
  out_step->in_shapes = shapes;
  HR_TRY(op_actual_shape(arena, out_step, in, &out_step->out_shape));
  return step->kernel->prepare ? step->kernel->prepare(arena, out_step, &out_step->plan) : NULL;
}

/* --- text --- */

static void print_step(hr_strbuf_t *text, const plan_step_t *step) {
  hr_strbuf_printf(text, "  v%d = ", step->out_slot);
  hlo_shape_print(text, step->op.instr->shape, false);
  hr_strbuf_printf(text, " %s(", hlo_op_name(step->op.instr->op));
  for (int k = 0; k < step->in_count; k++)
    hr_strbuf_printf(text, "%sv%d", k ? ", " : "", step->in_slots[k]);
  hr_strbuf_printf(text, ")%s", step->dynamic ? " sized at run time" : "");
  for (int i = 0; i < step->free_count; i++)
    hr_strbuf_printf(text, "%sv%d", i ? " " : "  frees ", step->free_slots[i]);
  hr_strbuf_printf(text, "  ; %%%.*s\n", HR_STR_ARGS(step->op.instr->name));
}

void plan_print(hr_strbuf_t *text, const plan_t *plan) {
  hr_strbuf_printf(text, "plan of %.*s: %d replicas x %d partitions\n",
                   HR_STR_ARGS(plan->module->name), plan->grid.num_replicas,
                   plan->grid.num_partitions);
  for (size_t c = 0; c < plan->module->computations.count; c++) {
    const plan_body_t *body = plan->bodies[c];
    if (!body) continue;
    hr_strbuf_printf(text, "\n%.*s: %d parameters, %d values, result v%d\n",
                     HR_STR_ARGS(body->computation->name), body->param_count, body->slot_count,
                     body->root_slot);
    for (int s = 0; s < body->step_count; s++) print_step(text, &body->steps[s]);
  }
}

static hr_status_t comm_line(plan_t *plan, const hlo_instr_t *instr, const char **out_line) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%.*s: ", HR_STR_ARGS(instr->parent->name));
  hlo_print_instr(&text, instr, HLO_PRINT_SHORT);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(&plan->arena, (hr_str_t){text.data, text.size}, out_line);
  hr_strbuf_deinit(&text);
  return st;
}

/* One line of text per communication instruction; processes compare these lines before they
 * start. */
hr_status_t plan_comm_lines(plan_t *plan, const char *const **out_lines, int *out_count) {
  int count = 0, capacity = 0;
  for (size_t c = 0; c < plan->module->computations.count; c++)
    capacity += plan->bodies[c] ? plan->bodies[c]->step_count : 0;
  const char **lines;
  HR_TRY(HR_NEW_ARRAY(&plan->arena, capacity, &lines));
  for (size_t c = 0; c < plan->module->computations.count; c++)
    for (int s = 0; plan->bodies[c] && s < plan->bodies[c]->step_count; s++) {
      const hlo_instr_t *instr = plan->bodies[c]->steps[s].op.instr;
      if (hlo_op_is(instr->op, OP_COMM)) HR_TRY(comm_line(plan, instr, &lines[count++]));
    }
  *out_lines = lines;
  *out_count = count;
  return NULL;
}
