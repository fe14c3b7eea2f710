/* Calls that one device executes for all: JAX's callbacks, whose sharding names the device that
 * calls Python; custom calls with effects and without a rule; infeeds and outfeeds (by default the
 * first device's). So feeds see the same values as with one process. Operands are whole; then
 *
 *   conditional(partition-id == device) { the call } { zeros }
 *
 * and every result is gathered from all partitions and the device's part is sliced out, so that its
 * bits are preserved. A callback that every device calls with its own parts (debug_callback,
 * partitioned) gets operands without resharding. Cost: partitions times the bytes of the results.
 * Not handled: calls inside of manual computations, which every partition executes. */
#include "partition/lower/lower.h"
#include "passes/lib/pass_rewrite.h"

/* The device that an annotation names; -1: none does. */
static int64_t named_device(const spmd_computation_t *here, const hlo_instr_t *instr) {
  int count = hlo_shape_leaf_count(instr->shape);
  if (here->callers && here->callers[instr->id]) return here->callers[instr->id] - 1;
  for (int i = 0; i < count && here->values && here->values[instr->id]; i++) {
    const spmd_sharding_t *sharding = here->values[instr->id][i].sharding;
    if (sharding && sharding->device >= 0) return sharding->device;
  }
  return -1;
}

/* True if the instruction has an effect and no rule by which to divide it. */
static bool acts_as_whole(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_rule_t *rule = NULL;
  if (!pass_has_effect(instr) || spmd_calls_with_parts(instr)) return false;
  hr_status_t st = spmd_rule_create(lower->arena, instr, &rule);
  bool divides = st || rule; /* lowering reports a rule that does not fit */
  hr_status_release(st);
  return !divides;
}

int64_t spmd_only_device(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_computation_t *all = lower->shared->program->computations;
  const spmd_computation_t *here = &all[instr->parent->id];
  bool feeds = instr->op == HLO_INFEED || instr->op == HLO_OUTFEED;
  if ((instr->op != HLO_CUSTOM_CALL && !feeds) || here->manual_axes.count) return -1;
  int64_t device = named_device(here, instr);
  if (device < 0 && !feeds && !acts_as_whole(lower, instr)) return -1;
  bool is_there = device >= 0 && device < lower->mesh->device_count;
  return is_there ? device : spmd_mesh_device(lower->mesh, 0);
}

bool spmd_calls_with_parts(const hlo_instr_t *instr) {
  return instr->op == HLO_CUSTOM_CALL && hr_str_is(hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET),
                                                   "xla_ffi_partitioned_python_cpu_callback");
}

hr_status_t spmd_lower_call_with_parts(spmd_lower_t *lower, const hlo_instr_t *instr) {
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands));
  for (int k = 0; k < instr->operand_count; k++) {
    spmd_local_t *value = spmd_operand(lower, instr, k);
    const spmd_sharding_t *wanted = value->forms ? value->forms->sharding : value->preferred;
    bool is_partial = !wanted || wanted->unreduced.count;
    operands[k] = is_partial ? spmd_use_whole(lower, value) : spmd_use(lower, value, wanted);
  }
  hlo_instr_t *call = spmd_emit_like(&lower->emit, instr, operands, instr->shape);
  spmd_define_results(lower, instr, call, NULL);
  return NULL;
}

/* A computation of one parameter, the tuple of the operands. */
static hr_status_t begin_branch(spmd_lower_t *lower, const char *name, const hlo_shape_t *operands,
                                spmd_emit_t *out_emit) {
  hlo_computation_t *computation;
  spmd_emit_module_t *shared = &lower->shared->emit;
  HR_TRY(hlo_computation_add(shared->module, hr_str_from(name), &computation));
  *out_emit =
      (spmd_emit_t){.b = hlo_builder_at(computation, lower->emit.b.line, lower->emit.b.column),
                    .shared = shared,
                    .mesh = lower->emit.mesh};
  hlo_build_parameter(&out_emit->b, 0, operands);
  return NULL;
}

static hr_status_t make_call(spmd_lower_t *lower, const hlo_instr_t *instr,
                             const hlo_shape_t *packed, hlo_computation_t **out_branch) {
  spmd_emit_t emit;
  hlo_instr_t **operands;
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands));
  HR_TRY(begin_branch(lower, "on_device", packed, &emit));
  *out_branch = emit.b.computation;
  if (emit.b.status) return hlo_builder_finish(&emit.b);
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = hlo_build_element(&emit.b, emit.b.computation->params.data[0], k);
  emit.b.computation->root = spmd_emit_like(&emit, instr, operands, instr->shape);
  return hlo_builder_finish(&emit.b);
}

static hlo_instr_t *build_zeros(hlo_builder_t *b, hr_arena_t *arena, const hlo_shape_t *shape) {
  hlo_instr_t **elements;
  if (shape->dtype == HR_TOKEN)
    return hlo_build(b, HLO_AFTER_ALL, shape, 0, NULL, 0, NULL, 0, NULL);
  if (!hlo_shape_is_tuple(shape))
    return hlo_build_broadcast(b, hlo_build_number(b, 0, shape->dtype), shape, (hr_ints_t){0});
  hr_status_t st = HR_NEW_ARRAY(arena, shape->element_count + 1, &elements);
  if (st) b->status = hr_status_join(b->status, st);
  for (int i = 0; i < shape->element_count && !b->status; i++)
    elements[i] = build_zeros(b, arena, shape->elements[i]);
  return b->status ? NULL : hlo_build_tuple(b, shape->element_count, elements);
}

static hr_status_t make_idle(spmd_lower_t *lower, const hlo_instr_t *instr,
                             const hlo_shape_t *packed, hlo_computation_t **out_branch) {
  spmd_emit_t emit;
  HR_TRY(begin_branch(lower, "elsewhere", packed, &emit));
  *out_branch = emit.b.computation;
  emit.b.computation->root = build_zeros(&emit.b, lower->arena, instr->shape);
  return hlo_builder_finish(&emit.b);
}

/* Sends the x of partition `device` to all partitions. */
static hlo_instr_t *spread(spmd_lower_t *lower, hlo_instr_t *x, int64_t device) {
  const spmd_mesh_t *mesh = lower->mesh;
  spmd_axis_t axes[SPMD_MAX_AXES];
  int64_t dims[HLO_MAX_RANK + 1] = {1};
  if (!x || !hlo_shape_is_array(x->shape)) return x;
  const hlo_shape_t *shape = x->shape;
  for (int a = 0; a < mesh->axis_count; a++) axes[a] = spmd_whole_axis(mesh, a);
  for (int d = 0; d < shape->rank; d++) dims[d + 1] = shape->dims[d];
  x = spmd_emit_reshape(&lower->emit, x, shape->rank + 1, dims);
  x = spmd_emit_all_gather(&lower->emit, x, 0, (spmd_axes_t){mesh->axis_count, axes});
  x = spmd_emit_slice(&lower->emit, x, 0, spmd_mesh_position(mesh, device), 1);
  return spmd_emit_reshape(&lower->emit, x, shape->rank, shape->dims);
}

static void define_spread(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *result,
                          int64_t device) {
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_instr_t **leaves, **next;
  if (!result || spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count + 1, &leaves)))
    return;
  next = leaves;
  spmd_unpack(lower, result, &next);
  for (int i = 0; i < count && !lower->emit.b.status; i++)
    spmd_define(lower, instr, i, spread(lower, leaves[i], device),
                spmd_replicated(lower, hlo_shape_leaf(instr->shape, i)->rank));
}

hr_status_t spmd_lower_on_device(spmd_lower_t *lower, const hlo_instr_t *instr,
                                 hlo_instr_t *const *operands, int64_t device) {
  hlo_builder_t *b = &lower->emit.b;
  hlo_computation_t *branches[2];
  hlo_instr_t *packed = hlo_build_tuple(b, instr->operand_count, operands);
  if (b->status) return NULL; /* the caller finishes the builder */
  HR_TRY(make_call(lower, instr, packed->shape, &branches[0]));
  HR_TRY(make_idle(lower, instr, packed->shape, &branches[1]));
  hlo_instr_t *id =
      hlo_build(b, HLO_PARTITION_ID, hlo_shape_scalar(HR_U32), 0, NULL, 0, NULL, 0, NULL);
  hlo_instr_t *here = hlo_build_number(b, (double)device, HR_U32);
  hlo_instr_t *choice[] = {hlo_build_compare(b, HLO_DIRECTION_EQ, id, here), packed, packed};
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_TRUE_COMPUTATION, 1),
                        hlo_attr_of_called(HLO_ATTR_FALSE_COMPUTATION, 1)};
  hlo_instr_t *result =
      hlo_build(b, HLO_CONDITIONAL, instr->shape, 3, choice, 2, attrs, 2, branches);
  define_spread(lower, instr, result, device);
  return NULL;
}
