/* Custom calls that the host partitions, such as JAX's custom_partitioning: the host gets the
 * propagated shardings and returns the program of one partition and the shardings that it needs.
 *
 *   r = custom-call(a, b)      a, b resharded to the wanted shardings
 *                              r = call(a, b) of the host's program
 *
 * The host's module is linked into this one; its collectives get new channels. */
#include "ir/sharding.h"
#include "partition/annotations/shardings.h"
#include "partition/host.h"
#include "partition/lower/lower.h"

/* Arrays that enter or leave the call: operands, then leaves of the result. */
static int tensor_count(const hlo_instr_t *instr) {
  return instr->operand_count + hlo_shape_leaf_count(instr->shape);
}

static const hlo_shape_t *tensor_shape(const hlo_instr_t *instr, int t) {
  if (t < instr->operand_count) return instr->operands[t]->shape;
  return hlo_shape_leaf(instr->shape, t - instr->operand_count);
}

static hr_status_t propagated_cuts(spmd_lower_t *lower, const hlo_instr_t *instr,
                                   const hlo_sharding_t ***out_cuts) {
  HR_TRY(HR_NEW_ARRAY(lower->arena, tensor_count(instr), out_cuts));
  for (int t = 0; t < tensor_count(instr); t++) {
    bool is_operand = t < instr->operand_count;
    const spmd_sharding_t *sharding = is_operand
                                          ? spmd_preferred(lower, instr->operands[t], 0)
                                          : spmd_preferred(lower, instr, t - instr->operand_count);
    if (lower->emit.b.status) return NULL; /* the caller finishes the builder */
    HR_TRY(spmd_sharding_to_hlo(lower->arena, sharding, &(*out_cuts)[t]));
  }
  return NULL;
}

/* --- the host's shardings --- */

/* Joins the program's mesh and the grids of the shardings into one mesh, with the axes of the
 * program's mesh if they fit. */
static hr_status_t join_with_mesh(spmd_lower_t *lower, const spmd_host_call_t *call, int count,
                                  spmd_meshes_t *meshes) {
  const spmd_mesh_t *mesh = lower->mesh;
  int ignored;
  spmd_mesh_source_t own = {.name = mesh->name,
                            .axis_count = mesh->axis_count,
                            .axis_names = mesh->axis_names,
                            .axis_sizes = mesh->axis_sizes,
                            .device_ids = mesh->device_ids,
                            .device_count = mesh->device_count,
                            .device = -1,
                            .is_used = true};
  HR_VEC_PUSH(&meshes->sources, own);
  for (int t = 0; t < count; t++) HR_TRY(spmd_meshes_add_hlo(meshes, call->wanted[t], &ignored));
  for (size_t i = 0; i < meshes->sources.count; i++) meshes->sources.data[i].is_used = true;
  HR_TRY(spmd_meshes_join(meshes, mesh->device_count, true));
  const spmd_mesh_t *joined = meshes->mesh;
  bool is_same = joined && joined->axis_count == mesh->axis_count;
  for (int a = 0; is_same && a < mesh->axis_count; a++)
    is_same = joined->axis_sizes[a] == mesh->axis_sizes[a];
  if (is_same) return NULL;
  return hlo_unsupported(call->instr, "the shardings of its host are not on the program's mesh");
}

static hr_status_t read_wanted(spmd_lower_t *lower, spmd_meshes_t *meshes,
                               const spmd_host_call_t *call, int count,
                               const spmd_sharding_t **shardings) {
  HR_TRY(join_with_mesh(lower, call, count, meshes));
  for (int t = 0; t < count; t++) {
    int rank = tensor_shape(call->instr, t)->rank;
    const spmd_sharding_t *read;
    spmd_axes_t dims[HLO_MAX_RANK] = {{0}}, manual = {0};
    HR_TRY(spmd_read_hlo_sharding(meshes, call->wanted[t], rank, (hr_ints_t){0}, &read, &manual));
    if (read && (read->placement || read->device >= 0 || manual.count))
      return hlo_unsupported(call->instr, "its host answers a sharding of parts of the mesh");
    for (int d = 0; read && d < rank; d++) dims[d] = read->dims[d].axes;
    HR_TRY(
        spmd_sharding_make(lower->arena, lower->mesh, rank, dims, (spmd_axes_t){0}, &shardings[t]));
  }
  return NULL;
}

static hr_status_t wanted_shardings(spmd_lower_t *lower, const spmd_host_call_t *call,
                                    const spmd_sharding_t ***out_shardings) {
  spmd_meshes_t meshes = {.arena = lower->arena};
  int count = tensor_count(call->instr);
  HR_TRY(HR_NEW_ARRAY(lower->arena, count, out_shardings));
  hr_status_t st = read_wanted(lower, &meshes, call, count, *out_shardings);
  spmd_meshes_deinit(&meshes);
  return st;
}

/* --- the host's program --- */

static void destroy_linked(void *context, void *data, size_t size_bytes) {
  (void)data;
  (void)size_bytes;
  hlo_module_destroy(context);
}

/* Makes `owner` own the module `part`, so that `owner` may list its computations. Destroys `part`
 * on failure. */
static hr_status_t give_memory(hlo_module_t *owner, hlo_module_t *part) {
  hr_buffer_t *buffer;
  hlo_value_t *value;
  hr_status_t st = hr_buffer_wrap(part, sizeof *part, false, destroy_linked, part, &buffer);
  if (st) {
    hlo_module_destroy(part);
    return st;
  }
  st = hlo_value_over(HR_U8, 0, NULL, buffer, 0, &value);
  hr_buffer_release(buffer);
  return st ? st : hlo_module_adopt_value(owner, value);
}

/* Moves the computations of `part` to the end of the module's list. Their instructions have no
 * source location. */
static hr_status_t link_module(hlo_module_t *module, hlo_module_t *part) {
  HR_TRY(give_memory(module, part));
  for (size_t c = 0; c < part->computations.count; c++) {
    hlo_computation_t *computation = part->computations.data[c];
    computation->module = module;
    computation->id = (uint32_t)module->computations.count;
    for (size_t i = 0; i < computation->instrs.count; i++)
      computation->instrs.data[i]->line = computation->instrs.data[i]->column = 0;
    HR_VEC_PUSH(&module->computations, computation);
  }
  part->computations.count = 0;
  return NULL;
}

static hr_status_t renumber_channel(spmd_lower_t *lower, hlo_instr_t *instr) {
  void *copy;
  if (!hlo_attr_find(instr, HLO_ATTR_CHANNEL_ID)) return NULL;
  HR_TRY(hr_arena_copy(lower->arena, instr->attrs, (size_t)instr->attr_count * sizeof *instr->attrs,
                       &copy));
  hlo_attr_t *attrs = copy;
  instr->attrs = attrs;
  for (int k = 0; k < instr->attr_count; k++)
    if (attrs[k].key == HLO_ATTR_CHANNEL_ID) attrs[k].integer = lower->shared->emit.next_channel++;
  return NULL;
}

/* Gives the collectives of the body new channels: the host numbers its channels from 1, too. */
static hr_status_t renumber_channels(spmd_lower_t *lower, const hlo_module_t *body) {
  for (size_t c = 0; c < body->computations.count; c++)
    for (size_t i = 0; i < body->computations.data[c]->instrs.count; i++)
      HR_TRY(renumber_channel(lower, body->computations.data[c]->instrs.data[i]));
  return NULL;
}

/* Checks that parameters and results of the body have the local shapes of the shardings. */
static hr_status_t check_body(spmd_lower_t *lower, const spmd_host_call_t *call,
                              const spmd_sharding_t *const *shardings) {
  const hlo_instr_t *instr = call->instr;
  const hlo_computation_t *entry = call->body->entry;
  if ((int)entry->params.count != instr->operand_count ||
      hlo_shape_leaf_count(entry->root->shape) != hlo_shape_leaf_count(instr->shape))
    return hlo_error(instr, NULL, "its host answers a program of %zu parameters and %d results",
                     entry->params.count, hlo_shape_leaf_count(entry->root->shape));
  for (int t = 0; t < tensor_count(instr); t++) {
    bool is_operand = t < instr->operand_count;
    const hlo_shape_t *found = is_operand
                                   ? entry->params.data[t]->shape
                                   : hlo_shape_leaf(entry->root->shape, t - instr->operand_count);
    const hlo_shape_t *wanted;
    HR_TRY(spmd_local_shape(lower->arena, shardings[t], tensor_shape(instr, t), &wanted));
    if (!hlo_shape_same_dims(found, wanted) || found->dtype != wanted->dtype)
      return hlo_error(instr, NULL,
                       "%s %d of the program that its host answers has not the size "
                       "of a part",
                       is_operand ? "parameter" : "result",
                       is_operand ? t : t - instr->operand_count);
  }
  return NULL;
}

static hr_status_t emit_call(spmd_lower_t *lower, const spmd_host_call_t *call,
                             const spmd_sharding_t *const *shardings, hlo_computation_t *entry) {
  const hlo_instr_t *instr = call->instr;
  hlo_instr_t **operands;
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  HR_TRY(HR_NEW_ARRAY(lower->arena, instr->operand_count + 1, &operands));
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = spmd_use(lower, spmd_operand(lower, instr, k), shardings[k]);
  if (lower->emit.b.status) return NULL; /* the caller finishes the builder */
  hlo_instr_t *result = hlo_build(&lower->emit.b, HLO_CALL, entry->root->shape,
                                  instr->operand_count, operands, 1, &attr, 1, &entry);
  spmd_define_results(lower, instr, result, shardings + instr->operand_count);
  return NULL;
}

hr_status_t spmd_lower_hosted(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_host_t *host = spmd_host_current();
  const hlo_sharding_t **cuts;
  const spmd_sharding_t **shardings = NULL;
  HR_TRY(propagated_cuts(lower, instr, &cuts));
  if (lower->emit.b.status) return NULL;
  spmd_host_call_t call = {.instr = instr, .cuts = cuts};
  HR_TRY(host->divide(host->context, &call));
  hr_status_t st = wanted_shardings(lower, &call, &shardings);
  if (!st) st = check_body(lower, &call, shardings);
  if (!st) st = renumber_channels(lower, call.body);
  hlo_computation_t *entry = call.body->entry;
  st = hr_status_join(st, link_module(lower->shared->emit.module, call.body));
  return st ? st : emit_call(lower, &call, shardings, entry);
}
