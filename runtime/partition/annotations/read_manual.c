/* Reads annotations of manual computations: the manual axes of each body, and the devices that hold
 * the parts if the computation's mesh does not fit beside the program's.
 *
 *   @a = ["x"=2, "y"=3], @b = ["p"=3, "q"=2]     the program's mesh is @a, manual over "p" of @b
 *
 * Inside, collectives of the user number devices as @b does. So the body has its own mesh
 * (spmd_computation_t.mesh): the axes of the program's mesh with the devices of @b. Values at the
 * border are sent between the devices of the two meshes.
 * A nested manual body is on the mesh of the outer one. */
#include "partition/annotations/reader.h"

/* An operand, or the tuple that it is an element of. A marker may be the operand of another one,
 * where one body follows another. */
static const hlo_instr_t *whole_operand(const hlo_instr_t *instr, int k) {
  const hlo_instr_t *operand = instr->operands[k];
  return operand->op == HLO_GET_TUPLE_ELEMENT ? operand->operands[0] : operand;
}

hr_status_t spmd_find_borders(hr_arena_t *arena, const hlo_computation_t *computation,
                              const hlo_instr_t ***out_borders) {
  const hlo_instr_t **borders;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &borders));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    bool leaves = spmd_marker_of(instr) == SPMD_LEAVE_MANUAL;
    if (!leaves && instr->op != HLO_CALL) continue;
    for (int k = 0; k < instr->operand_count; k++) {
      const hlo_instr_t *operand = whole_operand(instr, k), *call = borders[i];
      bool enters = !leaves && spmd_marker_of(operand) == SPMD_ENTER_MANUAL;
      if (!enters && (!leaves || operand->op != HLO_CALL)) continue;
      if (!borders[operand->id]) borders[operand->id] = instr;
      if (leaves && (!call || operand->id < call->id)) borders[i] = operand;
    }
  }
  *out_borders = borders;
  return NULL;
}

/* The marker in front of a manual call, or after it if it has no operands. */
static const hlo_instr_t *marker_of_call(const spmd_computation_t *around,
                                         const hlo_instr_t *call) {
  for (int k = 0; k < call->operand_count; k++)
    if (spmd_marker_of(whole_operand(call, k)) == SPMD_ENTER_MANUAL) return whole_operand(call, k);
  return around->borders[call->id];
}

/* --- axes --- */

/* Manual axes of an sdy computation: its marker names them; the marker's shardings name the mesh.
 */
static hr_status_t sdy_manual_axes(spmd_reader_t *reader, const hlo_instr_t *marker,
                                   spmd_axes_t *out_axes, const spmd_mesh_t **out_mesh) {
  bool enters = spmd_marker_of(marker) == SPMD_ENTER_MANUAL;
  const char *name = enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings";
  const spmd_mesh_source_t *source;
  hr_str_t axes = hlo_frontend_attribute(marker, "xla.sdy.manual_axes");
  if (!axes.size)
    return hr_error(HR_INVALID,
                    "found a value between SPMDFullToShardShape and SPMDShardToFullShape that is "
                    "not manual over axes of the program's sdy meshes, want one of an "
                    "sdy.manual_computation, or no shardings of sdy in the program");
  HR_TRY(spmd_read_manual_axes(&reader->meshes, axes, hlo_frontend_attribute(marker, name), &source,
                               out_axes));
  *out_mesh = source ? source->placement : NULL;
  return NULL;
}

/* Manual axes of a GSPMD part: all axes, or those of the manual tile dimensions; without those of
 * enclosing parts. */
static hr_status_t gspmd_manual_axes(spmd_reader_t *reader, const hlo_instr_t *call,
                                     spmd_axes_t around, spmd_axes_t *out_axes,
                                     const spmd_mesh_t **out_mesh) {
  const hlo_sharding_t *sharding = call->extra ? call->extra->sharding : NULL;
  const spmd_mesh_source_t *source = NULL;
  spmd_axes_t axes = {0, NULL};
  if (sharding && sharding->kind == HLO_TILE_KIND_OTHER)
    HR_TRY(spmd_read_manual_tiles(&reader->meshes, sharding, &source, &axes));
  else
    HR_TRY(spmd_mesh_axes(reader->program->arena, reader->meshes.mesh, &axes));
  *out_mesh = source ? source->placement : NULL;
  return spmd_axes_subtract(reader->program->arena, axes, around, out_axes);
}

/* --- meshes --- */

/* True if both meshes have the same devices at all positions. NULL is the program's mesh. */
static bool same_places(const spmd_reader_t *reader, const spmd_mesh_t *a, const spmd_mesh_t *b) {
  if (!a) a = reader->meshes.mesh;
  if (!b) b = reader->meshes.mesh;
  return a == b || spmd_mesh_equal(a, b);
}

/* Bodies of control flow inherit the manual axes and the mesh of their caller; a manual body adds
 * its own. */
hr_status_t spmd_read_manual_call(spmd_reader_t *reader, const hlo_instr_t *instr) {
  spmd_computation_t *computations = reader->program->computations;
  const spmd_computation_t *here = &computations[instr->parent->id];
  spmd_axes_t axes = here->manual_axes, own = {0, NULL};
  const spmd_mesh_t *mesh = NULL;
  const hlo_instr_t *marker = instr->op == HLO_CALL ? marker_of_call(here, instr) : NULL;
  if (instr->op != HLO_CALL && instr->op != HLO_WHILE && instr->op != HLO_CONDITIONAL) return NULL;
  if (marker && reader->sdy) HR_TRY(sdy_manual_axes(reader, marker, &own, &mesh));
  if (instr->op == HLO_CALL && !reader->sdy)
    HR_TRY(gspmd_manual_axes(reader, instr, axes, &own, &mesh));
  if (spmd_axes_overlap(axes, own))
    return hr_error(HR_INVALID, "a manual computation inside another one of the same axes");
  if (!own.count) mesh = here->mesh;
  if (axes.count && own.count && !same_places(reader, mesh, here->mesh))
    return hlo_unsupported(instr,
                           "a manual computation inside another one, on a mesh whose devices are "
                           "in another order: want both on one mesh");
  HR_TRY(spmd_axes_concat(reader->program->arena, axes, own, &axes));
  HR_TRY(spmd_axes_sort(reader->program->arena, axes, &axes));
  for (int k = 0; k < instr->called_count; k++) {
    computations[instr->called[k]->id].manual_axes = axes;
    computations[instr->called[k]->id].mesh = mesh;
  }
  return NULL;
}

/* --- borders --- */

/* If some axes are not manual in a body, they are those of the body's mesh, and every value at the
 * border must be placed by that mesh. A body with manual axes alone takes values of any mesh. */
static hr_status_t check_leaf(spmd_reader_t *reader, const hlo_instr_t *marker,
                              const spmd_computation_t *body, int leaf) {
  const spmd_computation_t *here = &reader->program->computations[marker->parent->id];
  const spmd_mesh_t *placement = here->placements ? here->placements[marker->id][leaf] : NULL;
  bool is_cut = !spmd_sharding_is_replicated(here->values[marker->id][leaf].sharding);
  bool all_manual = spmd_axes_parts(body->manual_axes) == reader->meshes.mesh->device_count;
  if (all_manual || !is_cut || same_places(reader, placement, body->mesh)) return NULL;
  return hlo_unsupported(marker,
                         "a partly manual computation takes values cut over meshes whose devices "
                         "are in different orders, want one mesh");
}

hr_status_t spmd_check_placements(spmd_reader_t *reader, hlo_instr_t *marker) {
  spmd_computation_t *computations = reader->program->computations;
  const spmd_computation_t *around = &computations[marker->parent->id];
  const hlo_instr_t *call = around->borders[marker->id];
  spmd_marker_t kind = spmd_marker_of(marker);
  if (!call || (kind != SPMD_ENTER_MANUAL && kind != SPMD_LEAVE_MANUAL)) return NULL;
  const spmd_computation_t *body = &computations[call->called[0]->id];
  bool any = body->mesh || (around->placements && around->placements[marker->id]);
  for (int leaf = 0; any && leaf < marker->operand_count; leaf++)
    HR_TRY(check_leaf(reader, marker, body, leaf));
  return NULL;
}
