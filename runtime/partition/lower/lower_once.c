/* Custom calls with effects, or on one device: callbacks, prints. One partition calls, with whole
 * operands, and the others get its results:
 *
 *   y = conditional(is_first, x) { callback(x) } { -0 }   ->   all-reduce(y)
 *
 * In a manual computation each of its instances calls once: the first along the free axes. Cost:
 * the operands gathered, an all-reduce for each result that is used. */
#include "partition/lower/lower.h"
#include "passes/lib/pass_rewrite.h"

/* The device that the program wants; -1: it wants none. */
static int64_t wanted_device(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_computation_t *all = lower->shared->program->computations;
  spmd_value_t *const *values = all[instr->parent->id].values;
  int count = hlo_shape_leaf_count(instr->shape);
  for (int i = 0; i < count && values && values[instr->id]; i++)
    if (values[instr->id][i].sharding && values[instr->id][i].sharding->device >= 0)
      return values[instr->id][i].sharding->device;
  return -1;
}

bool spmd_runs_once(const spmd_lower_t *lower, const hlo_instr_t *instr, bool has_rule) {
  if (instr->op != HLO_CUSTOM_CALL) return false;
  return wanted_device(lower, instr) >= 0 || (!has_rule && pass_has_effect(instr));
}

/* Axes over which one partition is chosen. */
static spmd_axes_t free_axes(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_axes_t axes = {0};
  spmd_axes_t manual = lower->shared->program->computations[instr->parent->id].manual_axes;
  if (!spmd_emit_failed(&lower->emit, spmd_mesh_axes(lower->arena, lower->mesh, &axes)))
    spmd_emit_failed(&lower->emit, spmd_axes_subtract(lower->arena, axes, manual, &axes));
  return axes;
}

static hlo_instr_t *is_chosen(spmd_lower_t *lower, const hlo_instr_t *instr, spmd_axes_t axes) {
  spmd_emit_t *emit = &lower->emit;
  int64_t position = spmd_mesh_position(lower->mesh, wanted_device(lower, instr));
  int64_t chosen = position > 0 ? spmd_axes_coordinate(lower->mesh, axes, position) : 0;
  return hlo_build_compare(&emit->b, HLO_DIRECTION_EQ, spmd_emit_coordinate(emit, axes),
                           spmd_emit_index(emit, chosen));
}

static hlo_opcode_t merging_op(const hlo_shape_t *shape) {
  return shape->dtype == HR_PRED ? HLO_OR : HLO_ADD;
}

static hlo_instr_t *call_it(spmd_lower_t *lower, spmd_emit_t *emit, const hlo_instr_t *instr,
                            hlo_instr_t *args) {
  hlo_instr_t **operands;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands)))
    return NULL;
  for (int k = 0; k < instr->operand_count; k++) operands[k] = hlo_build_element(&emit->b, args, k);
  return spmd_emit_like(emit, instr, operands, instr->shape);
}

/* What changes nothing when results are merged. */
static hlo_instr_t *leave_it(spmd_lower_t *lower, spmd_emit_t *emit, const hlo_instr_t *instr) {
  hlo_instr_t **leaves;
  int count = hlo_shape_leaf_count(instr->shape);
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, count + 1, &leaves))) return NULL;
  for (int i = 0; i < count; i++) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, i);
    leaves[i] = spmd_emit_identity(emit, merging_op(shape), shape->dtype);
    if (shape->rank)
      leaves[i] = hlo_build_broadcast(&emit->b, leaves[i], shape, (hr_ints_t){NULL, 0});
  }
  if (!hlo_shape_is_tuple(instr->shape)) return leaves[0];
  return hlo_build_tuple(&emit->b, count, leaves);
}

/* A branch on the tuple of all operands: the call, or what stands for its results. */
static hlo_computation_t *make_branch(spmd_lower_t *lower, const hlo_instr_t *instr,
                                      const hlo_shape_t *args, bool calls) {
  hlo_computation_t *branch;
  hr_str_t name = calls ? HR_STR("call_once") : HR_STR("call_elsewhere");
  spmd_emit_t emit = {.shared = lower->emit.shared, .cause = instr};
  if (spmd_emit_failed(&lower->emit, hlo_computation_add(emit.shared->module, name, &branch)))
    return NULL;
  branch->line = instr->line;
  branch->column = instr->column;
  emit.b = hlo_builder_at(branch, instr->line, instr->column);
  hlo_instr_t *param = hlo_build_parameter(&emit.b, 0, args);
  branch->root = calls ? call_it(lower, &emit, instr, param) : leave_it(lower, &emit, instr);
  return spmd_emit_failed(&lower->emit, hlo_builder_finish(&emit.b)) ? NULL : branch;
}

static hlo_instr_t *build_conditional(spmd_lower_t *lower, const hlo_instr_t *instr,
                                      spmd_axes_t axes, hlo_instr_t *args) {
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_TRUE_COMPUTATION, 1),
                        hlo_attr_of_called(HLO_ATTR_FALSE_COMPUTATION, 1)};
  hlo_instr_t *operands[] = {is_chosen(lower, instr, axes), args, args};
  if (lower->emit.b.status || !args) return NULL;
  hlo_computation_t *called[] = {make_branch(lower, instr, args->shape, true),
                                 make_branch(lower, instr, args->shape, false)};
  if (lower->emit.b.status) return NULL;
  return hlo_build(&lower->emit.b, HLO_CONDITIONAL, called[0]->root->shape, 3, operands, 2, attrs,
                   2, called);
}

void spmd_lower_once(spmd_lower_t *lower, const hlo_instr_t *instr) {
  hlo_instr_t **operands, **leaves, **next, *result;
  int count = hlo_shape_leaf_count(instr->shape);
  spmd_axes_t axes = free_axes(lower, instr);
  if (spmd_emit_failed(&lower->emit,
                       HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count + 1, &leaves)))
    return;
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = spmd_use_whole(lower, spmd_operand(lower, instr, k));
  if (axes.count)
    result = build_conditional(lower, instr, axes,
                               hlo_build_tuple(&lower->emit.b, instr->operand_count, operands));
  else
    result = spmd_emit_like(&lower->emit, instr, operands, instr->shape);
  next = leaves;
  spmd_unpack(lower, result, &next);
  for (int i = 0; i < count && !lower->emit.b.status; i++) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, i);
    if (axes.count)
      leaves[i] = spmd_emit_all_reduce(&lower->emit, leaves[i], merging_op(shape), axes);
    spmd_define(lower, instr, i, leaves[i], spmd_replicated(lower, shape->rank));
  }
}
