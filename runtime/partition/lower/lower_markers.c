/* Custom calls that carry shardings. A constraint, a result marker or a barrier is its operand in
 * the propagated sharding. At the border of a manual computation the operand gets the sharding of
 * the border; inside, the same array counts as global in the other axes alone: the manual axes come
 * first in each dimension and are dropped there. Results go the other way. */
#include "partition/annotations/normalize.h"
#include "partition/host.h"
#include "partition/lower/lower.h"

bool spmd_is_marker(const hlo_instr_t *instr) { return spmd_marker_of(instr) != SPMD_NO_MARKER; }

/* The first axes that make `parts` parts, and the others. */
static hr_status_t split_axes(hr_arena_t *arena, spmd_axes_t axes, int64_t parts,
                              spmd_axes_t *out_inner) {
  spmd_axes_t outer = {0};
  for (int i = 0; i < axes.count && parts > 1; i++) {
    spmd_axis_t axis = axes.items[i];
    if (axis.size > parts) axis.size = parts;
    parts /= axis.size;
    HR_TRY(spmd_axes_append(arena, outer, axis, &outer));
  }
  return spmd_axes_drop_prefix(arena, axes, outer, out_inner);
}

/* The sharding at a border as the manual computation sees it. */
static hr_status_t inner_sharding(spmd_lower_t *lower, const spmd_sharding_t *sharding,
                                  const hlo_shape_t *outside, const hlo_shape_t *inside,
                                  const spmd_sharding_t **out_inner) {
  spmd_axes_t dims[HLO_MAX_RANK];
  for (int d = 0; d < sharding->rank; d++) {
    int64_t parts = inside->dims[d] ? outside->dims[d] / inside->dims[d] : 1;
    HR_TRY(split_axes(lower->arena, sharding->dims[d].axes, parts, &dims[d]));
  }
  return spmd_sharding_make(lower->arena, lower->mesh, sharding->rank, dims, (spmd_axes_t){0},
                            out_inner);
}

static hr_status_t cross_border(spmd_lower_t *lower, const hlo_instr_t *instr, bool enters) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *from = instr->operands[k]->shape, *to = hlo_shape_leaf(instr->shape, k);
    const spmd_sharding_t *outer = spmd_border_sharding(lower, instr, k), *inner;
    if (!outer) return NULL;
    HR_TRY(inner_sharding(lower, outer, enters ? from : to, enters ? to : from, &inner));
    hlo_instr_t *x = spmd_use(lower, spmd_operand(lower, instr, k), enters ? outer : inner);
    spmd_local_t *value = spmd_define(lower, instr, k, x, enters ? inner : outer);
    if (value && enters) value->preferred = inner;
  }
  return NULL;
}

/* The host is told how the operand is cut; the call itself does nothing. */
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

hr_status_t spmd_lower_marker(spmd_lower_t *lower, const hlo_instr_t *instr) {
  spmd_marker_t marker = spmd_marker_of(instr);
  if (marker == SPMD_ENTER_MANUAL || marker == SPMD_LEAVE_MANUAL)
    return cross_border(lower, instr, marker == SPMD_ENTER_MANUAL);
  if (marker == SPMD_GROUP || !instr->operand_count) return NULL;
  if (marker == SPMD_INSPECT) HR_TRY(tell_host(lower, instr));
  if (!hlo_shape_is_array(instr->shape)) return NULL;
  spmd_alias(lower, instr, spmd_operand(lower, instr, 0));
  return NULL;
}
