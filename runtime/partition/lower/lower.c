/* The main walk of the partitioner: visits a computation in order and makes the computation of one
 * partition. Each operation gets axes for its factors (choose.c) and its operands in the resulting
 * shardings, and is emitted on local shapes. Its result keeps the computed sharding until a user
 * wants another. An operation without a rule is computed whole on every partition.
 * Cost: linear in the instructions; a resharding plan for each array whose sharding changes. */
#include "partition/host.h"
#include "partition/lower/lower_ops.h"

#include <string.h>

#include "ops/rules/verify.h"
#include "passes/lib/pass_match.h"

/* One sharding for each leaf, in order; NULL after a failure. */
const spmd_sharding_t **spmd_preferred_leaves(spmd_lower_t *lower, const hlo_instr_t *instr) {
  int count = hlo_shape_leaf_count(instr->shape);
  const spmd_sharding_t **leaves;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return NULL;
  for (int i = 0; i < count; i++) leaves[i] = spmd_preferred(lower, instr, i);
  return leaves;
}

/* --- values without an operation --- */

/* Forwards values: a leaf of a tuple, a tuple, or a copy of one. */
static void pass_on(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_local_t **to = lower->values[instr->id];
  if (instr->op != HLO_GET_TUPLE_ELEMENT) {
    for (int k = 0; k < instr->operand_count; k++) {
      int count = hlo_shape_leaf_count(instr->operands[k]->shape);
      for (int i = 0; i < count; i++) *to++ = lower->values[instr->operands[k]->id][i];
    }
    return;
  }
  const hlo_shape_t *tuple = instr->operands[0]->shape;
  int64_t index = hlo_attr_int(instr, HLO_ATTR_INDEX);
  spmd_local_t **from = lower->values[instr->operands[0]->id];
  from += hlo_shape_leaf_start(tuple, index);
  for (int i = 0; i < hlo_shape_leaf_count(instr->shape); i++) {
    to[i] = from[i];
    if (to[i] && to[i]->uses < lower->uses[instr->id]) to[i]->uses = lower->uses[instr->id];
  }
}

/* Splats and iotas are recipes, emitted in the sharding of each use. Other literals are whole on
 * every partition. */
static void lower_constant(spmd_lower_t *lower, const hlo_instr_t *instr) {
  bool one = instr->literal && hlo_shape_is_array(instr->shape) && pass_splat_of(instr);
  if (one || instr->op == HLO_IOTA) {
    spmd_local_t *value = spmd_local_new(lower, instr, 0);
    if (value) value->recipe = instr;
    return;
  }
  hlo_instr_t *copy = spmd_emit_like(&lower->emit, instr, NULL, instr->shape);
  if (copy) copy->literal = instr->literal;
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_instr_t **leaves, **next;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return;
  next = leaves;
  spmd_unpack(lower, copy, &next);
  for (int i = 0; i < count; i++)
    spmd_define(lower, instr, i, leaves[i],
                spmd_replicated(lower, hlo_shape_leaf(instr->shape, i)->rank));
}

/* get-dimension-size is a constant, the global size: the operand has a local shape. */
static void lower_size(spmd_lower_t *lower, const hlo_instr_t *instr) {
  int64_t d = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  double size = (double)instr->operands[0]->shape->dims[d];
  spmd_define(lower, instr, 0, hlo_build_number(&lower->emit.b, size, instr->shape->dtype),
              spmd_replicated(lower, 0));
}

/* --- operations --- */

/* A single array is its own only leaf. */
void spmd_define_results(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *result,
                         const spmd_sharding_t *const *shardings) {
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_instr_t **leaves, **next;
  if (!result || spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves))) return;
  next = leaves;
  spmd_unpack(lower, result, &next);
  for (int i = 0; i < count; i++) {
    const spmd_sharding_t *sharding = shardings ? shardings[i] : NULL;
    if (!sharding) sharding = spmd_replicated(lower, hlo_shape_leaf(instr->shape, i)->rank);
    spmd_local_t *value = spmd_define(lower, instr, i, leaves[i], sharding);
    if (value) value->reducer = spmd_reducer_of(instr);
  }
}

/* Reports a value that is cut and must be gathered for this instruction. */
static void note_replication(spmd_lower_t *lower, const hlo_instr_t *instr,
                             const spmd_local_t *value) {
  spmd_report_notes_t *report = lower->shared->emit.report;
  bool whole = !value->forms || spmd_sharding_is_replicated(value->forms->sharding);
  if (whole || spmd_emit_failed(&lower->emit, HR_VEC_RESERVE(&report->replications,
                                                             report->replications.count + 1)))
    return;
  report->replications.data[report->replications.count++] =
      (spmd_replication_t){instr, value->shape};
}

/* Lowers an instruction on whole operands, on every partition or on the named device alone. */
static hr_status_t lower_whole(spmd_lower_t *lower, const hlo_instr_t *instr) {
  hlo_instr_t **operands;
  int64_t device = spmd_only_device(lower, instr);
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands));
  for (int k = 0; k < instr->operand_count; k++) {
    int count = hlo_shape_leaf_count(instr->operands[k]->shape);
    const spmd_sharding_t **wanted;
    HR_TRY(HR_NEW_ARRAY(lower->arena, count, &wanted));
    for (int i = 0; i < count; i++) {
      spmd_local_t *value = lower->values[instr->operands[k]->id][i];
      wanted[i] = spmd_replicated(lower, value->shape->rank);
      note_replication(lower, instr, value);
    }
    operands[k] = spmd_use_tuple(lower, instr->operands[k], wanted);
  }
  if (device >= 0) return spmd_lower_on_device(lower, instr, operands, device);
  spmd_define_results(lower, instr, spmd_emit_like(&lower->emit, instr, operands, instr->shape),
                      NULL);
  return NULL;
}

hlo_instr_t *spmd_chosen_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int k) {
  return spmd_use(lower, spmd_operand(lower, choice->instr, k), choice->tensors[k]);
}

int64_t spmd_chosen_parts(const spmd_choice_t *choice, int tensor, int d) {
  return spmd_sharding_parts(choice->tensors[tensor], d);
}

/* Local sizes; a custom call keeps its layout. */
const hlo_shape_t *spmd_chosen_shape(spmd_lower_t *lower, const spmd_choice_t *choice, int leaf) {
  const hlo_shape_t *shape = hlo_shape_leaf(choice->instr->shape, leaf), *local;
  const spmd_sharding_t *sharding = choice->tensors[choice->rule->operand_count + leaf];
  if (choice->instr->op != HLO_CUSTOM_CALL) return spmd_shape_in(lower, shape, sharding);
  return spmd_emit_failed(&lower->emit, spmd_local_shape(lower->arena, sharding, shape, &local))
             ? NULL
             : local;
}

/* The result shape of an instruction whose leaves are the elements of a plain tuple, or one array.
 */
static const hlo_shape_t *chosen_result(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_shape_t **elements, *tuple = NULL;
  int count = choice->instr->shape->element_count;
  if (!hlo_shape_is_tuple(choice->instr->shape)) return spmd_chosen_shape(lower, choice, 0);
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &elements))) return NULL;
  for (int i = 0; i < count; i++) elements[i] = spmd_chosen_shape(lower, choice, i);
  if (!lower->emit.b.status)
    spmd_emit_failed(&lower->emit, hlo_shape_tuple(lower->arena, count, elements, &tuple));
  return tuple;
}

/* The operand layouts of a custom call, for local sizes; NULL: the call has none. */
static const hlo_attr_t *local_layouts(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_attr_t *attr = hlo_attr_find(choice->instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  const hlo_shape_t **shapes;
  hlo_shapes_t *list;
  hlo_attr_t *changed;
  if (!attr || spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &changed)) ||
      spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &list)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, attr->shapes->count, &shapes)))
    return NULL;
  for (int k = 0; k < attr->shapes->count; k++)
    if (spmd_emit_failed(&lower->emit, spmd_local_shape(lower->arena, choice->tensors[k],
                                                        attr->shapes->shapes[k], &shapes[k])))
      return NULL;
  *list = (hlo_shapes_t){attr->shapes->count, shapes};
  *changed = *attr;
  changed->shapes = list;
  return changed;
}

/* Attributes other than layouts stay: they name dimensions, not sizes. */
hlo_instr_t *spmd_emit_local(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  hlo_instr_t **operands;
  if (spmd_emit_failed(&lower->emit,
                       HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands)))
    return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = spmd_chosen_operand(lower, choice, k);
  const hlo_shape_t *shape = chosen_result(lower, choice);
  const hlo_attr_t *layouts = local_layouts(lower, choice);
  return shape ? spmd_emit_with(&lower->emit, instr, operands, shape, layouts) : NULL;
}

/* True if all operands and results are arrays, as rules require. */
static bool has_arrays_only(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (!hlo_shape_is_array(instr->operands[k]->shape)) return false;
  for (int i = 0; i < instr->shape->element_count; i++)
    if (!hlo_shape_is_array(instr->shape->elements[i])) return false;
  return true;
}

/* True if several slices take all of the array together. Each would reshard its own part, perhaps
 * along the sliced dimension, along which the array need not be cut. */
static bool is_taken_apart(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  return lower->uses[instr->id] > 1 && hlo_shape_is_array(instr->shape) &&
         lower->sliced[instr->id] >= hlo_shape_elements(instr->shape);
}

/* True if the only user may read the operand instead: concatenations and pads of slices, and slices
 * of a pad (lower_moves.c); concatenations of reversed slices (lower_concatenate.c). */
static bool may_be_looked_through(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const hlo_instr_t *user = lower->users[instr->id];
  if (lower->uses[instr->id] != 1 || !user) return false;
  if (instr->op == HLO_PAD) return user->op == HLO_SLICE;
  if (instr->op != HLO_SLICE) return instr->op == HLO_REVERSE && user->op == HLO_CONCATENATE;
  if (user->op == HLO_REVERSE) return may_be_looked_through(lower, user);
  return user->op == HLO_CONCATENATE || user->op == HLO_PAD;
}

/* True if the array is cut otherwise than propagation wants. */
static bool is_elsewhere(const spmd_local_t *value) {
  const spmd_sharding_t *here = value && value->forms ? value->forms->sharding : NULL;
  if (!here || value->recipe || here->rank != value->preferred->rank) return false;
  for (int d = 0; d < here->rank; d++)
    if (!spmd_axes_equal(here->dims[d].axes, value->preferred->dims[d].axes)) return true;
  return false;
}

void spmd_reshard_early(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_lower_module_t *shared = lower->shared;
  bool is_shared = lower->uses[instr->id] > 1 || spmd_marks_shared(lower, instr);
  if (!hlo_shape_is_array(instr->shape) || may_be_looked_through(lower, instr) ||
      !is_elsewhere(lower->values[instr->id][0]))
    return;
  shared->changes[SPMD_RESHARD_AT_ONCE]++;
  if (is_shared) shared->changes[SPMD_RESHARD_IF_SHARED]++;
  if (shared->strategy == SPMD_RESHARD_AT_ONCE ||
      (shared->strategy == SPMD_RESHARD_IF_SHARED && is_shared))
    spmd_reshard_now(lower, instr);
}

/* Tries in this order: calls that the host divides, calls with their own lowering, one device, no
 * rule, partial sums, rings, the chosen axes. */
static hr_status_t lower_operation(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_rule_t *rule = NULL;
  spmd_choice_t choice;
  if (spmd_is_hosted(instr)) return spmd_lower_hosted(lower, instr);
  if (spmd_calls_with_parts(instr)) return spmd_lower_call_with_parts(lower, instr);
  if (spmd_only_device(lower, instr) >= 0) return lower_whole(lower, instr);
  if (has_arrays_only(instr)) HR_TRY(spmd_lowering_rule(lower, instr, &rule));
  if (!rule || rule->factor_count > SPMD_CHOOSE_FACTORS ||
      rule->operand_count + rule->result_count > SPMD_CHOOSE_TENSORS)
    return lower_whole(lower, instr);
  if (spmd_lower_partial(lower, instr, rule) || spmd_lower_apart(lower, instr, rule)) return NULL;
  lower->is_tentative = may_be_looked_through(lower, instr);
  HR_TRY(spmd_choose(lower, instr, rule, &choice));
  if (spmd_lower_ring(lower, &choice)) return NULL;
  spmd_lower_fn emit = spmd_op_of(instr).emit;
  hlo_instr_t *result = emit ? emit(lower, &choice) : spmd_emit_local(lower, &choice);
  spmd_define_results(lower, instr, result, choice.tensors + rule->operand_count);
  bool is_cheap =
      instr->op == HLO_BROADCAST || instr->op == HLO_SLICE || instr->op == HLO_TRANSPOSE;
  if (is_cheap && lower->values[instr->id][0]) lower->values[instr->id][0]->remat = instr;
  lower->is_tentative = false;
  if (is_taken_apart(lower, instr)) spmd_reshard_now(lower, instr);
  spmd_reshard_early(lower, instr);
  return NULL;
}

/* The array that a chain of reshapes restores: x for [6, 8] -> [48] -> [6, 8]; NULL: none. */
static const hlo_instr_t *reshaped_back(const hlo_instr_t *instr) {
  const hlo_instr_t *x = instr;
  while (x->op == HLO_RESHAPE) {
    x = x->operands[0];
    if (hlo_shape_equal(x->shape, instr->shape)) return x;
  }
  return NULL;
}

/* The operand that equals the result: that of a slice of everything, or of a concatenation whose
 * other operands are empty; NULL: none. */
static const hlo_instr_t *same_as(const hlo_instr_t *instr) {
  if (instr->op == HLO_RESHAPE) return reshaped_back(instr);
  for (int k = 0; k < instr->operand_count; k++)
    if (hlo_shape_equal(instr->operands[k]->shape, instr->shape)) return instr->operands[k];
  return NULL;
}

/* One scalar everywhere: made again in any part. */
static bool is_filled(const hlo_instr_t *instr) {
  return instr->op == HLO_BROADCAST && hlo_shape_is_scalar(instr->operands[0]->shape);
}

/* Whether a size of an operand or of the result depends on data: every process has all of it. */
static bool is_dynamic(const hlo_instr_t *instr) {
  bool found = hlo_shape_is_dynamic(instr->shape);
  for (int k = 0; k < instr->operand_count; k++)
    found |= hlo_shape_is_dynamic(instr->operands[k]->shape);
  return found;
}

/* Only annotations say that a value whose size depends on data is cut: no rule has its dimensions.
 */
static hr_status_t check_sizes(spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (!hlo_shape_is_dynamic(instr->shape)) return NULL;
  const spmd_sharding_t **shardings = spmd_preferred_leaves(lower, instr);
  for (int i = 0; shardings && i < hlo_shape_leaf_count(instr->shape); i++)
    if (hlo_shape_is_dynamic(hlo_shape_leaf(instr->shape, i)) &&
        !spmd_sharding_is_replicated(shardings[i]))
      return hlo_unsupported(instr, "its size is known only at run time, so that it cannot be cut");
  return NULL;
}

/* An array without elements that no effect comes with. */
static bool is_empty(const hlo_instr_t *instr) {
  return hlo_shape_is_array(instr->shape) && !hlo_shape_elements(instr->shape) &&
         pass_is_pure(instr) && !spmd_is_marker(instr);
}

/* An array without elements needs no operands. */
static void lower_empty(spmd_lower_t *lower, const hlo_instr_t *instr) {
  hlo_builder_t *b = &lower->emit.b;
  hlo_instr_t *x = hlo_build_broadcast(b, hlo_build_number(b, 0, instr->shape->dtype), instr->shape,
                                       (hr_ints_t){NULL, 0});
  spmd_define(lower, instr, 0, x, spmd_replicated(lower, instr->shape->rank));
}

/* Lowers what no case of lower_instr takes: markers, arrays that are made anew, operations. */
static hr_status_t lower_other(spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (spmd_is_marker(instr)) return spmd_lower_marker(lower, instr);
  if (is_dynamic(instr)) return lower_operation(lower, instr);
  if (is_empty(instr)) {
    lower_empty(lower, instr);
    return NULL;
  }
  if (!is_filled(instr))
    return spmd_define_recipe(lower, instr) ? NULL : lower_operation(lower, instr);
  spmd_local_t *value = spmd_local_new(lower, instr, 0);
  if (value) value->recipe = instr;
  return NULL;
}

static hr_status_t lower_instr(spmd_lower_t *lower, const hlo_instr_t *instr) {
  HR_TRY(check_sizes(lower, instr));
  switch (instr->op) {
    case HLO_PARAMETER:
      return NULL;
    case HLO_PARTITION_ID:
      if (!lower->shared->program->computations[instr->parent->id].manual_axes.count)
        return hlo_unsupported(instr,
                               "a global program runs on no partition: want it inside of a "
                               "manual computation");
      return lower_operation(lower, instr);
    case HLO_CONSTANT:
    case HLO_IOTA:
      lower_constant(lower, instr);
      return NULL;
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
      pass_on(lower, instr);
      return NULL;
    case HLO_COPY:
      if (hlo_shape_is_array(instr->shape))
        spmd_alias(lower, instr, 0, spmd_operand(lower, instr, 0));
      else
        pass_on(lower, instr);
      return NULL;
    case HLO_RESHAPE:
    case HLO_SLICE:
    case HLO_CONCATENATE:
      if (is_dynamic(instr) || !same_as(instr)) break;
      spmd_alias(lower, instr, 0, lower->values[same_as(instr)->id][0]);
      return NULL;
    case HLO_GET_DIMENSION_SIZE:
      if (is_dynamic(instr)) break;
      lower_size(lower, instr);
      return NULL;
    case HLO_WHILE:
    case HLO_CONDITIONAL:
    case HLO_CALL:
    case HLO_OPT_BARRIER:
      return spmd_lower_control(lower, instr);
    default:
      break;
  }
  return lower_other(lower, instr);
}

/* --- computations --- */

/* NULL after a failure. */
static const spmd_sharding_t *without_placement(spmd_lower_t *lower, const spmd_sharding_t *from) {
  spmd_sharding_t *copy;
  if (spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &copy))) return NULL;
  *copy = *from;
  copy->placement = NULL;
  return copy;
}

/* Defines the leaves of a parameter, cut as given or as propagated. Parts that the caller has on
 * other devices are sent to the right ones. */
static void lower_parameter(spmd_lower_t *lower, const hlo_instr_t *param,
                            const spmd_sharding_t *const *given) {
  const spmd_sharding_t *const *shardings = given ? given : spmd_preferred_leaves(lower, param);
  int count = hlo_shape_leaf_count(param->shape);
  const hlo_shape_t **shapes, *shape = param->shape;
  hlo_instr_t **leaves, **next;
  if (lower->emit.b.status ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &shapes)) ||
      spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &leaves)))
    return;
  for (int i = 0; i < count; i++)
    shapes[i] = spmd_shape_in(lower, hlo_shape_leaf(param->shape, i), shardings[i]);
  const hlo_shape_t *const *left = shapes;
  shape = spmd_rebuild_shape(lower, shape, &left);
  next = leaves;
  spmd_unpack(lower, hlo_build_parameter(&lower->emit.b, (int)hlo_parameter_number(param), shape),
              &next);
  for (int i = 0; i < count && !lower->emit.b.status; i++) {
    hlo_instr_t *x = leaves[i];
    const spmd_mesh_t *placed = shardings[i]->placement;
    if (placed) x = spmd_replace_parts(lower, x, placed, lower->emit.mesh);
    spmd_define(lower, param, i, x, placed ? without_placement(lower, shardings[i]) : shardings[i]);
  }
}

/* *leaves moves after the last leaf that was taken. */
const hlo_shape_t *spmd_rebuild_shape(spmd_lower_t *lower, const hlo_shape_t *like,
                                      const hlo_shape_t *const **leaves) {
  const hlo_shape_t **elements, *tuple = NULL;
  if (!hlo_shape_is_tuple(like)) return *(*leaves)++;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, like->element_count, &elements)))
    return NULL;
  for (int i = 0; i < like->element_count; i++)
    elements[i] = spmd_rebuild_shape(lower, like->elements[i], leaves);
  if (!lower->emit.b.status)
    spmd_emit_failed(&lower->emit,
                     hlo_shape_tuple(lower->arena, like->element_count, elements, &tuple));
  return tuple;
}

/* Makes a new computation; other callers may still read the old one. */
static hr_status_t begin(spmd_lower_t *lower, spmd_lower_module_t *shared,
                         const hlo_computation_t *from) {
  hlo_computation_t *into;
  *lower = (spmd_lower_t){
      .shared = shared, .arena = shared->emit.arena, .mesh = shared->emit.mesh, .from = from};
  HR_TRY(hlo_computation_add(shared->emit.module, from->name, &into));
  into->execution_thread = from->execution_thread;
  into->line = from->line;
  into->column = from->column;
  const spmd_mesh_t *own = shared->program->computations[from->id].mesh;
  lower->emit = (spmd_emit_t){.b = hlo_builder_at(into, from->line, from->column),
                              .shared = &shared->emit,
                              .mesh = own ? own : shared->emit.mesh,
                              .shares_gathers = from == shared->program->module->entry};
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->values));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->uses));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->users));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->sliced));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->scans));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->sort_reads));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->wanted));
  HR_TRY(HR_NEW_ARRAY(lower->arena, from->instrs.count, &lower->sought));
  for (size_t i = 0; i < from->instrs.count; i++)
    HR_TRY(HR_NEW_ARRAY(lower->arena, hlo_shape_leaf_count(from->instrs.data[i]->shape),
                        &lower->values[i]));
  spmd_find_uses(lower);
  return spmd_find_sought(lower);
}

/* Lowers parameters, then instructions in their order, then the root in the wanted shardings. */
hr_status_t spmd_lower_computation(spmd_lower_module_t *shared, const hlo_computation_t *from,
                                   const spmd_sharding_t *const *params,
                                   const spmd_sharding_t *const *results,
                                   hlo_computation_t **out_computation) {
  spmd_lower_t lower;
  HR_TRY(begin(&lower, shared, from));
  for (size_t k = 0; k < from->params.count; k++) {
    const hlo_instr_t *param = from->params.data[k];
    lower_parameter(&lower, param, params);
    if (params) params += hlo_shape_leaf_count(param->shape);
  }
  for (size_t i = 0; i < from->instrs.count && !lower.emit.b.status; i++) {
    const hlo_instr_t *instr = from->instrs.data[i];
    lower.emit.cause = instr;
    lower.emit.b.line = instr->line;
    lower.emit.b.column = instr->column;
    HR_TRY(lower_instr(&lower, instr));
  }
  lower.emit.cause = from->root;
  if (!results && !lower.emit.b.status) results = spmd_preferred_leaves(&lower, from->root);
  hlo_instr_t *root = lower.emit.b.status ? NULL : spmd_use_tuple(&lower, from->root, results);
  lower.emit.b.computation->root = root;
  *out_computation = lower.emit.b.computation;
  return hlo_builder_finish(&lower.emit.b);
}
