/* Makes the problem of reshard_plan.h for two shardings: axes are split into atoms where either
 * side splits them, and only dimensions that differ are listed. A common prefix of both lists is
 * left out if it divides the dimension, as then its parts never change. */
#include "partition/lower/reshard.h"

#include <string.h>

#include "base/digest.h"
#include "partition/lower/comm_cost.h"

typedef struct cuts { /* bounds of the sub-axes of one mesh axis in all lists */
  int count;
  int64_t at[2 * SPMD_MAX_ATOMS];
} cuts_t;

static bool add_cut(cuts_t *cuts, int64_t at) {
  int i = 0;
  while (i < cuts->count && cuts->at[i] < at) i++;
  if (i < cuts->count && cuts->at[i] == at) return true;
  if (cuts->count == 2 * SPMD_MAX_ATOMS) return false;
  memmove(cuts->at + i + 1, cuts->at + i, (size_t)(cuts->count - i) * sizeof *cuts->at);
  cuts->at[i] = at;
  cuts->count++;
  return true;
}

static bool cut_by(cuts_t *cuts, int axis, spmd_axes_t axes) {
  for (int i = 0; i < axes.count; i++) {
    const spmd_axis_t *item = &axes.items[i];
    if (item->axis != axis) continue;
    if (!add_cut(cuts, item->pre) || !add_cut(cuts, item->pre * item->size)) return false;
  }
  return true;
}

/* The number of an atom, added if it is new; -1: too many atoms. */
static int atom_of(spmd_reshard_case_t *out, spmd_axis_t atom) {
  spmd_reshard_t *problem = &out->problem;
  for (int a = 0; a < problem->atom_count; a++)
    if (spmd_axis_equal(out->atoms[a], atom)) return a;
  if (problem->atom_count == SPMD_MAX_ATOMS - 1) return -1;
  out->atoms[problem->atom_count] = atom;
  problem->atom_sizes[problem->atom_count] = atom.size;
  return problem->atom_count++;
}

/* Appends the atoms of one axis reference. */
static bool append_atoms(spmd_reshard_case_t *out, const cuts_t *cuts, spmd_axis_t axis,
                         spmd_list_t *list) {
  int64_t end = axis.pre * axis.size;
  for (int i = 0; i + 1 < cuts->count; i++) {
    int64_t low = cuts->at[i], high = cuts->at[i + 1];
    if (low < axis.pre || high > end) continue;
    if (high % low || list->count == SPMD_PLAN_LIST) return false;
    int atom = atom_of(out, (spmd_axis_t){axis.axis, low, high / low});
    if (atom < 0) return false;
    list->atoms[list->count++] = (uint8_t)atom;
  }
  return true;
}

typedef struct sides {
  const hlo_shape_t *shape;
  const spmd_sharding_t *from, *to;
  cuts_t cuts[SPMD_MAX_AXES];
} sides_t;

static bool find_cuts(sides_t *sides) {
  const spmd_sharding_t *both[] = {sides->from, sides->to};
  for (int k = 0; k < sides->from->mesh->axis_count; k++)
    for (int s = 0; s < 2; s++) {
      if (!cut_by(&sides->cuts[k], k, both[s]->unreduced)) return false;
      for (int d = 0; d < sides->shape->rank; d++)
        if (!cut_by(&sides->cuts[k], k, both[s]->dims[d].axes)) return false;
    }
  return true;
}

/* Splits axis a, which changes its dimension, into pieces of the size of b, so that a piece can be
 * exchanged with b. Does not if that would make many pieces. */
static bool cut_alike(sides_t *sides, spmd_axis_t a, spmd_axis_t b) {
  if (a.size <= b.size || a.size % b.size || a.size > b.size * b.size) return true;
  return add_cut(&sides->cuts[a.axis], a.pre * (a.size / b.size));
}

static bool cut_all_alike(sides_t *sides, spmd_axes_t a, spmd_axes_t b) {
  for (int i = 0; i < a.count; i++)
    for (int k = 0; k < b.count; k++)
      if (!cut_alike(sides, a.items[i], b.items[k]) || !cut_alike(sides, b.items[k], a.items[i]))
        return false;
  return true;
}

static bool cut_differing(sides_t *sides) {
  for (int d = 0; d < sides->shape->rank; d++) {
    spmd_axes_t a = sides->from->dims[d].axes, b = sides->to->dims[d].axes;
    if (spmd_axes_equal(a, b) || a.count + b.count > 4) continue;
    if (!cut_all_alike(sides, a, b)) return false;
  }
  return true;
}

static bool list_of_axes(spmd_reshard_case_t *out, const sides_t *sides, spmd_axes_t axes,
                         spmd_list_t *list) {
  for (int i = 0; i < axes.count; i++)
    if (!append_atoms(out, &sides->cuts[axes.items[i].axis], axes.items[i], list)) return false;
  return true;
}

static bool set_of_axes(spmd_reshard_case_t *out, const sides_t *sides, spmd_axes_t axes,
                        uint32_t *out_set) {
  spmd_list_t list = {0};
  if (!list_of_axes(out, sides, axes, &list)) return false;
  for (int i = 0; i < list.count; i++) *out_set |= UINT32_C(1) << list.atoms[i];
  return true;
}

static int64_t parts_in(const spmd_reshard_case_t *out, const spmd_list_t *list) {
  int64_t parts = 1;
  for (int i = 0; i < list->count; i++) parts *= out->problem.atom_sizes[list->atoms[i]];
  return parts;
}

static void drop_first(spmd_list_t *list, int count) {
  list->count -= count;
  memmove(list->atoms, list->atoms + count, (size_t)list->count);
}

/* Removes the common prefix of both lists of a dimension. */
static void strip(spmd_reshard_case_t *out, int64_t size, spmd_list_t *from, spmd_list_t *to,
                  int64_t *out_outer) {
  int same = 0;
  *out_outer = 1;
  if (size % parts_in(out, from) || size % parts_in(out, to)) return;
  while (same < from->count && same < to->count && from->atoms[same] == to->atoms[same]) same++;
  for (int i = 0; i < same; i++) *out_outer *= out->problem.atom_sizes[from->atoms[i]];
  drop_first(from, same);
  drop_first(to, same);
}

static bool add_dim(spmd_reshard_case_t *out, const sides_t *sides, int d) {
  spmd_reshard_t *problem = &out->problem;
  spmd_axes_t from = sides->from->dims[d].axes, to = sides->to->dims[d].axes;
  int64_t size = sides->shape->dims[d];
  if (spmd_axes_equal(from, to)) {
    problem->other_bytes *= (double)spmd_local_size(sides->from, d, size);
    return true;
  }
  if (problem->rank == SPMD_PLAN_RANK) return false;
  int at = problem->rank++;
  out->dims[at] = d;
  problem->sizes[at] = size;
  if (!list_of_axes(out, sides, from, &problem->from[at]) ||
      !list_of_axes(out, sides, to, &problem->to[at]))
    return false;
  strip(out, size, &problem->from[at], &problem->to[at], &problem->outer[at]);
  return true;
}

/* Reduce-scatters append atoms only to dimensions that `to` cuts further, and these differ anyway.
 */
bool spmd_reshard_case(const hlo_shape_t *shape, const spmd_sharding_t *from,
                       const spmd_sharding_t *to, spmd_reshard_case_t *out_case) {
  sides_t sides = {.shape = shape, .from = from, .to = to};
  memset(out_case, 0, sizeof *out_case); /* padding, too: costs are known by a problem's bytes */
  out_case->problem.other_bytes = (double)hr_dtype_bytes(shape->dtype);
  if (!find_cuts(&sides) || !cut_differing(&sides)) return false;
  for (int d = 0; d < shape->rank; d++)
    if (!add_dim(out_case, &sides, d)) return false;
  return set_of_axes(out_case, &sides, from->unreduced, &out_case->problem.unreduced_from) &&
         set_of_axes(out_case, &sides, to->unreduced, &out_case->problem.unreduced_to);
}

/* Cache of costs: a program of many layers has few different problems. */
#define KNOWN_COSTS 32

typedef struct known_cost {
  spmd_reshard_t problem; /* all zero: an empty entry */
  double us;
} known_cost_t;

static double plan_us(const spmd_reshard_t *problem) {
  static _Thread_local known_cost_t known[KNOWN_COSTS];
  known_cost_t *at = &known[hr_hash_secret(problem, sizeof *problem) % KNOWN_COSTS];
  spmd_plan_t plan;
  if (!memcmp(&at->problem, problem, sizeof *problem)) return at->us;
  spmd_reshard_plan(problem, &plan);
  memcpy(&at->problem, problem, sizeof *problem);
  at->us = plan.us;
  return plan.us;
}

double spmd_reshard_cost(const spmd_emit_t *emit, const hlo_shape_t *shape,
                         const spmd_sharding_t *from, const spmd_sharding_t *to) {
  spmd_reshard_case_t plan_case;
  if (spmd_sharding_same_layout(from, to)) return 0;
  if (!spmd_reshard_case(shape, from, to, &plan_case))
    return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype) *
           spmd_byte_us();
  plan_case.problem.shares_gathers = emit->shares_gathers;
  return plan_us(&plan_case.problem);
}

hr_status_t spmd_axes_append(hr_arena_t *arena, spmd_axes_t axes, spmd_axis_t axis,
                             spmd_axes_t *out_axes) {
  spmd_axis_t *copy;
  HR_TRY(HR_NEW(arena, &copy));
  *copy = axis;
  return spmd_axes_concat(arena, axes, (spmd_axes_t){1, copy}, out_axes);
}

hr_status_t spmd_sharding_make(hr_arena_t *arena, const spmd_mesh_t *mesh, int rank,
                               const spmd_axes_t *dims, spmd_axes_t unreduced,
                               const spmd_sharding_t **out_sharding) {
  spmd_sharding_t *made;
  spmd_dim_t *own;
  HR_TRY(HR_NEW(arena, &made));
  HR_TRY(HR_NEW_ARRAY(arena, rank, &own));
  for (int d = 0; d < rank; d++) own[d] = (spmd_dim_t){dims[d], false, SPMD_NO_PRIORITY};
  *made = (spmd_sharding_t){.mesh = mesh, .device = -1, .rank = rank, .dims = own};
  HR_TRY(spmd_axes_sort(arena, unreduced, &made->unreduced));
  *out_sharding = made;
  return NULL;
}
