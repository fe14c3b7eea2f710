/* Custom calls that carry shardings. A constraint, a result marker or a barrier is its operand in
 * the propagated sharding. At the border of a manual computation the operand gets the sharding of
 * the border. Inside, the same local array is a part of a smaller global array: the manual axes,
 * which come first in each dimension, are dropped. For results they are added again.
 *
 *   f32[8, 6] cut as [{"a", "b"}, {}] on ["a"=2, "b"=2], manual over "a"
 *   outside: local f32[2, 6] of global f32[8, 6]; inside: the same array, of global f32[4, 6],
 * [{"b"}]
 *
 * Where the computation's mesh puts the parts on other devices than the program's does, they are
 * sent there by one permutation, and back. */
#include "partition/annotations/normalize.h"
#include "partition/host.h"
#include "partition/lower/lower.h"

bool spmd_is_marker(const hlo_instr_t *instr) { return spmd_marker_of(instr) != SPMD_NO_MARKER; }

/* The first axes that make `parts` parts, and the others. */
static hr_status_t split_axes(hr_arena_t *arena, spmd_axes_t axes, int64_t parts,
                              spmd_axes_t *out_outer, spmd_axes_t *out_inner) {
  spmd_axes_t outer = {0};
  for (int i = 0; i < axes.count && parts > 1; i++) {
    spmd_axis_t axis = axes.items[i];
    if (axis.size > parts) axis.size = parts;
    parts /= axis.size;
    HR_TRY(spmd_axes_append(arena, outer, axis, &outer));
  }
  *out_outer = outer;
  return spmd_axes_drop_prefix(arena, axes, outer, out_inner);
}

static int64_t manual_parts(const hlo_shape_t *outside, const hlo_shape_t *inside, int d) {
  return inside->dims[d] ? outside->dims[d] / inside->dims[d] : 1;
}

/* The border's sharding without the free axes of a dimension that they do not divide: the padding
 * would be at the end of each manual part inside, and at the end of the array outside. */
static hr_status_t even_border(spmd_lower_t *lower, const spmd_sharding_t *border,
                               const hlo_shape_t *outside, const hlo_shape_t *inside,
                               const spmd_sharding_t **out_even) {
  spmd_axes_t dims[HLO_MAX_RANK], inner;
  bool is_even = true;
  for (int d = 0; d < border->rank; d++) {
    HR_TRY(split_axes(lower->arena, border->dims[d].axes, manual_parts(outside, inside, d),
                      &dims[d], &inner));
    bool divides = inside->dims[d] % spmd_axes_parts(inner) == 0;
    if (divides) dims[d] = border->dims[d].axes;
    is_even &= divides;
  }
  *out_even = border;
  if (is_even) return NULL;
  return spmd_sharding_make(lower->arena, lower->mesh, border->rank, dims, border->unreduced,
                            out_even);
}

/* The sharding at a border as the manual computation sees it. */
static hr_status_t inner_sharding(spmd_lower_t *lower, const spmd_sharding_t *sharding,
                                  const hlo_shape_t *outside, const hlo_shape_t *inside,
                                  const spmd_sharding_t **out_inner) {
  spmd_axes_t dims[HLO_MAX_RANK], outer;
  for (int d = 0; d < sharding->rank; d++)
    HR_TRY(split_axes(lower->arena, sharding->dims[d].axes, manual_parts(outside, inside, d),
                      &outer, &dims[d]));
  return spmd_sharding_make(lower->arena, lower->mesh, sharding->rank, dims, (spmd_axes_t){0},
                            out_inner);
}

/* Sends every part from the device that `from` gives its position to the one that `to` gives it: a
 * permutation of the devices, so that each sends and gets one part. */
hlo_instr_t *spmd_replace_parts(spmd_lower_t *lower, hlo_instr_t *x, const spmd_mesh_t *from,
                                const spmd_mesh_t *to) {
  const spmd_mesh_t *here = lower->emit.mesh;
  int64_t count = here->device_count, *pairs;
  bool moves = false;
  if (!x || spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, 2 * count, &pairs)))
    return NULL;
  for (int64_t q = 0; q < count; q++) {
    pairs[2 * q] = spmd_mesh_position(here, spmd_mesh_device(from, q));
    pairs[2 * q + 1] = spmd_mesh_position(here, spmd_mesh_device(to, q));
    moves |= pairs[2 * q] != pairs[2 * q + 1];
  }
  return moves ? spmd_emit_permute(&lower->emit, x, count, pairs) : x;
}

/* Mesh with the devices of leaf k of a marker inside the manual computation; NULL: as outside. */
static const spmd_mesh_t *placement_of(const spmd_lower_t *lower, const hlo_instr_t *marker,
                                       int k) {
  const spmd_computation_t *here = &lower->shared->program->computations[marker->parent->id];
  bool any = here->placements && here->placements[marker->id];
  return any ? here->placements[marker->id][k] : NULL;
}

/* The operand of a border in the border's sharding. A value that enters is resharded outside and
 * then sent to the devices of the inside. A value that leaves is sent first and resharded then, as
 * it may also be cut by free axes. */
static hlo_instr_t *bring(spmd_lower_t *lower, const hlo_instr_t *marker, int k, bool enters,
                          const spmd_sharding_t *wanted) {
  spmd_local_t *value = spmd_operand(lower, marker, k);
  const spmd_mesh_t *placed = placement_of(lower, marker, k), *own = lower->emit.mesh;
  if (enters) {
    hlo_instr_t *x = spmd_use(lower, value, wanted);
    bool moves = placed && !spmd_sharding_is_replicated(wanted);
    return moves ? spmd_replace_parts(lower, x, own, placed) : x;
  }
  if (!placed || !value || !value->forms) return spmd_use(lower, value, wanted);
  const spmd_sharding_t *outer = spmd_border_sharding(lower, marker, k);
  spmd_form_t form = {value->forms->instr, value->forms->sharding, false, NULL};
  spmd_local_t sent = *value;
  if (!spmd_sharding_is_replicated(outer) || !spmd_sharding_is_replicated(form.sharding))
    form.instr = spmd_replace_parts(lower, form.instr, placed, own);
  sent.forms = &form;
  return spmd_use(lower, &sent, wanted);
}

static hr_status_t cross_border(spmd_lower_t *lower, const hlo_instr_t *instr, bool enters) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *from = instr->operands[k]->shape, *to = hlo_shape_leaf(instr->shape, k);
    const spmd_sharding_t *outer = spmd_border_sharding(lower, instr, k), *inner;
    if (!outer) return NULL;
    const hlo_shape_t *outside = enters ? from : to;
    const hlo_shape_t *inside = enters ? to : from;
    HR_TRY(even_border(lower, outer, outside, inside, &outer));
    HR_TRY(inner_sharding(lower, outer, outside, inside, &inner));
    hlo_instr_t *x = bring(lower, instr, k, enters, enters ? outer : inner);
    spmd_local_t *value = spmd_define(lower, instr, k, x, enters ? inner : outer);
    if (value && enters) value->preferred = inner;
  }
  return NULL;
}

/* Reports the operand's sharding to the host (InspectSharding). */
static hr_status_t tell_host(spmd_lower_t *lower, const hlo_instr_t *instr) {
  const spmd_host_t *host = spmd_host_current();
  const hlo_instr_t *operand = instr->operands[0];
  const hlo_sharding_t *sharding;
  if (!host || !hlo_shape_is_array(operand->shape)) return NULL;
  const spmd_sharding_t *preferred = spmd_preferred(lower, operand, 0);
  if (lower->emit.b.status) return NULL; /* the caller finishes the builder */
  HR_TRY(spmd_sharding_to_hlo(lower->arena, preferred, &sharding));
  hr_str_t config = instr->extra ? instr->extra->backend_config : HR_STR("");
  return host->inspect(host->context, config, sharding, operand->shape->rank);
}

/* Reshards an array before its users choose axes: each user alone would prefer a cheaper partial
 * resharding of its own. */
void spmd_reshard_now(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_local_t *value = lower->values[instr->id][0];
  if (value && !value->recipe) spmd_use(lower, value, value->preferred);
}

static bool keeps_elements(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->op == HLO_TRANSPOSE;
}

/* True if the array, or what elementwise operations and transpositions that are its only users make
 * of it, has several users. */
static bool is_shared(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  const hlo_instr_t *user = lower->users[instr->id];
  while (lower->uses[instr->id] == 1 && user && keeps_elements(user)) {
    instr = user;
    user = lower->users[instr->id];
  }
  return lower->uses[instr->id] > 1;
}

bool spmd_marks_shared(const spmd_lower_t *lower, const hlo_instr_t *instr) {
  if (!spmd_is_marker(instr) || !instr->operand_count) return false;
  do {
    instr = instr->operands[0];
  } while (instr->op == HLO_TRANSPOSE && lower->uses[instr->id] == 1);
  return lower->uses[instr->id] > 1;
}

/* Each leaf of the result is one of the operands' leaves, in order. Tokens have no sharding. */
static void take_operands(spmd_lower_t *lower, const hlo_instr_t *instr) {
  int count = hlo_shape_leaf_count(instr->shape), leaf = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    for (int i = 0; i < hlo_shape_leaf_count(operand->shape) && leaf < count; i++)
      spmd_alias(lower, instr, leaf++, lower->values[operand->id][i]);
  }
}

hr_status_t spmd_lower_marker(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  if (marker == SPMD_ENTER_MANUAL || marker == SPMD_LEAVE_MANUAL)
    return cross_border(lower, instr, marker == SPMD_ENTER_MANUAL);
  if (marker == SPMD_GROUP || !instr->operand_count) return NULL;
  if (marker == SPMD_INSPECT) HR_TRY(tell_host(lower, instr));
  take_operands(lower, instr);
  bool is_wanted = marker == SPMD_CONSTRAINT && is_shared(lower, instr);
  if (hlo_shape_is_array(instr->shape) && (is_wanted || marker == SPMD_RESULT))
    spmd_reshard_now(lower, instr);
  else if (marker == SPMD_CONSTRAINT)
    spmd_reshard_early(lower, instr);
  return NULL;
}
