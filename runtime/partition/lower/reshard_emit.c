/* Instructions of a resharding plan, step by step. Before a dimension that was whole is cut it is
 * padded to a multiple of its chunk; after its last axis is gathered the padding is cut off. */
#include <string.h>

#include "partition/lower/reshard.h"

typedef struct emission {
  spmd_emit_t *emit;
  const spmd_reshard_case_t *of;
  hlo_opcode_t reducer;
} emission_t;

static spmd_axes_t axes_of(emission_t *e, const spmd_list_t *list) {
  spmd_axes_t axes = {0};
  for (int i = 0; i < list->count; i++)
    spmd_emit_failed(e->emit, spmd_axes_append(e->emit->shared->arena, axes,
                                               e->of->atoms[list->atoms[i]], &axes));
  return axes;
}

/* Pads dimension k of the problem so that it divides into the chunks it has after the step. */
static hlo_instr_t *pad_for(emission_t *e, const spmd_step_t *step, hlo_instr_t *x, int k,
                            int64_t parts) {
  int d = e->of->dims[k];
  if (!x) return NULL;
  return spmd_emit_pad(e->emit, x, d, 0, step->after.chunk[k] * parts - x->shape->dims[d], 0, NULL);
}

static hlo_instr_t *emit_slice(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_axes_t axes = axes_of(e, &step->atoms);
  int64_t chunk = step->after.chunk[step->to], parts = spmd_axes_parts(axes);
  x = pad_for(e, step, x, step->to, parts);
  hlo_instr_t *at = spmd_emit_coordinate(e->emit, axes);
  if (chunk != 1)
    at = hlo_build_binary(&e->emit->b, HLO_MULTIPLY, at, spmd_emit_index(e->emit, chunk));
  return spmd_emit_dynamic_slice(e->emit, x, e->of->dims[step->to], at, chunk);
}

/* Trims a gathered dimension to the layout's size. */
static hlo_instr_t *trim(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  int d = e->of->dims[step->from];
  return x ? spmd_emit_slice(e->emit, x, d, 0, step->after.chunk[step->from]) : NULL;
}

static hlo_instr_t *emit_all_to_all(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_axes_t axes = axes_of(e, &step->atoms);
  x = pad_for(e, step, x, step->to, spmd_axes_parts(axes));
  x = spmd_emit_all_to_all(e->emit, x, e->of->dims[step->to], e->of->dims[step->from], axes);
  return trim(e, step, x);
}

static hlo_instr_t *emit_reduce_scatter(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_axes_t axes = axes_of(e, &step->atoms);
  x = pad_for(e, step, x, step->to, spmd_axes_parts(axes));
  return spmd_emit_reduce_scatter(e->emit, x, e->of->dims[step->to], e->reducer, axes);
}

/* Number of the tile, over all dimensions of the problem, that a position holds. */
static int64_t tile_of(emission_t *e, const spmd_layout_t *layout, int64_t position) {
  int64_t tile = 0;
  for (int k = 0; k < e->of->problem.rank; k++)
    for (int i = 0; i < layout->dims[k].count; i++) {
      spmd_axis_t axis = e->of->atoms[layout->dims[k].atoms[i]];
      tile =
          tile * axis.size + spmd_axes_coordinate(e->emit->mesh, (spmd_axes_t){1, &axis}, position);
    }
  return tile;
}

static bool takes_part(const spmd_step_t *step, int rank, int atom) {
  for (int k = 0; k < rank; k++)
    for (int side = 0; side < 2; side++) {
      const spmd_list_t *list = side ? &step->after.dims[k] : &step->before.dims[k];
      if (memchr(list->atoms, atom, (size_t)list->count)) return true;
    }
  return false;
}

/* The position with the coordinates of the step's atoms set to 0; equal at both ends of a transfer.
 */
static int64_t rest_of(emission_t *e, const spmd_step_t *step, int64_t position) {
  const spmd_mesh_t *mesh = e->emit->mesh;
  for (int a = 0; a < e->of->problem.atom_count; a++) {
    spmd_axis_t axis = e->of->atoms[a];
    int64_t stride = mesh->axis_sizes[axis.axis] / (axis.pre * axis.size);
    if (!takes_part(step, e->of->problem.rank, a)) continue;
    for (int k = axis.axis + 1; k < mesh->axis_count; k++) stride *= mesh->axis_sizes[k];
    position -= spmd_axes_coordinate(mesh, (spmd_axes_t){1, &axis}, position) * stride;
  }
  return position;
}

typedef struct placement {
  int64_t *has, *wants, *rest; /* by position: tile before, tile after, rest_of */
  bool *sends;
} placement_t;

/* The position that sends to q: q itself if possible, else the first free one that has the tile. */
static int64_t sender_for(const placement_t *at, int64_t count, int64_t q) {
  if (at->has[q] == at->wants[q]) return q;
  for (int64_t p = 0; p < count; p++)
    if (!at->sends[p] && at->has[p] == at->wants[q] && at->rest[p] == at->rest[q] &&
        at->has[p] != at->wants[p])
      return p;
  return -1;
}

static hlo_instr_t *emit_permute(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_emit_t *emit = e->emit;
  int64_t count = emit->mesh->device_count, *pairs;
  placement_t at;
  hr_arena_t *arena = emit->shared->arena;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(arena, count, &at.has)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(arena, count, &at.wants)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(arena, count, &at.rest)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(arena, count, &at.sends)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(arena, 2 * count, &pairs)))
    return NULL;
  for (int64_t p = 0; p < count; p++) {
    at.has[p] = tile_of(e, &step->before, p);
    at.wants[p] = tile_of(e, &step->after, p);
    at.rest[p] = rest_of(e, step, p);
  }
  for (int64_t q = 0; q < count; q++) {
    pairs[2 * q] = sender_for(&at, count, q);
    pairs[2 * q + 1] = q;
    at.sends[pairs[2 * q]] = true;
  }
  return spmd_emit_permute(emit, x, count, pairs);
}

static hlo_instr_t *emit_make_partial(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_emit_t *emit = e->emit;
  if (!x || spmd_is_idempotent(e->reducer)) return x;
  hlo_instr_t *first = hlo_build_compare(&emit->b, HLO_DIRECTION_EQ,
                                         spmd_emit_coordinate(emit, axes_of(e, &step->atoms)),
                                         spmd_emit_index(emit, 0));
  hlo_instr_t *identity = spmd_emit_identity(emit, e->reducer, x->shape->dtype);
  return hlo_build_select(&emit->b, spmd_emit_fill_like(emit, first, x), x,
                          spmd_emit_fill_like(emit, identity, x));
}

static hlo_instr_t *emit_all_gather(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  x = spmd_emit_all_gather(e->emit, x, e->of->dims[step->from], axes_of(e, &step->atoms));
  return trim(e, step, x);
}

/* For an idempotent reduction, all devices may contribute the same values. */
static hlo_instr_t *emit_spread(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  spmd_emit_t *emit = e->emit;
  spmd_axes_t axes = axes_of(e, &step->atoms);
  int d = e->of->dims[step->from];
  int64_t chunk = step->before.chunk[step->from];
  if (spmd_is_idempotent(e->reducer)) return emit_all_gather(e, step, x);
  if (!x) return NULL;
  hlo_instr_t *at = hlo_build_binary(&emit->b, HLO_MULTIPLY, spmd_emit_coordinate(emit, axes),
                                     spmd_emit_index(emit, chunk));
  hlo_instr_t *identity = spmd_emit_identity(emit, e->reducer, x->shape->dtype);
  const hlo_shape_t *whole = spmd_emit_resized(emit, x, d, chunk * spmd_axes_parts(axes));
  if (emit->b.status) return NULL;
  hlo_instr_t *fill = hlo_build_broadcast(&emit->b, identity, whole, (hr_ints_t){NULL, 0});
  return trim(e, step, spmd_emit_update(emit, fill, x, d, at));
}

static hlo_instr_t *emit_step(emission_t *e, const spmd_step_t *step, hlo_instr_t *x) {
  switch (step->kind) {
    case SPMD_SLICE:
      return emit_slice(e, step, x);
    case SPMD_ALL_GATHER:
      return emit_all_gather(e, step, x);
    case SPMD_ALL_TO_ALL:
      return emit_all_to_all(e, step, x);
    case SPMD_PERMUTE:
      return emit_permute(e, step, x);
    case SPMD_ALL_REDUCE:
      return spmd_emit_all_reduce(e->emit, x, e->reducer, axes_of(e, &step->atoms));
    case SPMD_REDUCE_SCATTER:
      return emit_reduce_scatter(e, step, x);
    case SPMD_MAKE_PARTIAL:
      return emit_make_partial(e, step, x);
    case SPMD_SPREAD:
      return emit_spread(e, step, x);
  }
  return NULL;
}

/* Reshards by several plans: reduces unreduced axes, then gathers each dimension that differs, then
 * cuts each. */
static hlo_instr_t *in_pieces(spmd_emit_t *emit, hlo_instr_t *x, const hlo_shape_t *shape,
                              const spmd_sharding_t *from, const spmd_sharding_t *to,
                              hlo_opcode_t reducer) {
  spmd_axes_t dims[HLO_MAX_RANK], none = {0};
  const spmd_sharding_t *at = from, *next;
  for (int d = 0; d < shape->rank; d++) dims[d] = from->dims[d].axes;
  for (int round = 0; round < 2; round++)
    for (int d = -1; d < shape->rank; d++) {
      spmd_axes_t unreduced = round && d == shape->rank - 1 ? to->unreduced : none;
      if (d >= 0 && spmd_axes_equal(dims[d], to->dims[d].axes) && !unreduced.count) continue;
      if (d >= 0) dims[d] = round ? to->dims[d].axes : none;
      if (spmd_emit_failed(emit, spmd_sharding_make(emit->shared->arena, from->mesh, shape->rank,
                                                    dims, unreduced, &next)))
        return NULL;
      if (!spmd_sharding_same_layout(at, next))
        x = spmd_emit_reshard(emit, x, shape, at, next, reducer);
      at = next;
    }
  return x;
}

hlo_instr_t *spmd_emit_reshard(spmd_emit_t *emit, hlo_instr_t *x, const hlo_shape_t *shape,
                               const spmd_sharding_t *from, const spmd_sharding_t *to,
                               hlo_opcode_t reducer) {
  spmd_reshard_case_t plan_case;
  spmd_plan_t plan;
  if (!x || spmd_sharding_same_layout(from, to)) return x;
  if (!spmd_reshard_case(shape, from, to, &plan_case))
    return in_pieces(emit, x, shape, from, to, reducer);
  plan_case.problem.shares_gathers = emit->shares_gathers;
  spmd_reshard_plan(&plan_case.problem, &plan);
  emission_t e = {emit, &plan_case, reducer};
  for (int i = 0; i < plan.count; i++) x = emit_step(&e, &plan.steps[i], x);
  return x;
}
