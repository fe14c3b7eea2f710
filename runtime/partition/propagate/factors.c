/* Projection of dimensions to factors and back.
 *
 *   dimension of factors j (3), k (4), cut by "d" (6)   ->   j by "d":(1)3, k by "d":(3)2
 *
 * The major factors take axes as far as these divide them; the minor-most one takes all that is
 * left. Cost: linear in the axes. */
#include "partition/propagate/factors.h"

#include "base/arith.h"

hr_status_t prop_cut(hr_arena_t *arena, spmd_axes_t axes, int i, int64_t size,
                     spmd_axes_t *out_axes) {
  *out_axes = prop_first(axes, i);
  if (size <= 1) return NULL;
  spmd_axis_t *part;
  HR_TRY(HR_NEW(arena, &part));
  *part = axes.items[i];
  part->size = size;
  return spmd_axes_concat(arena, *out_axes, (spmd_axes_t){1, part}, out_axes);
}

/* {"x", "y"} with x:(2)2 taken, x of size 4: x:(1)2 is left. */
hr_status_t prop_cut_at_overlap(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t taken,
                                spmd_axes_t *out_axes) {
  *out_axes = axes;
  for (int i = 0; i < axes.count; i++) {
    int64_t keep = axes.items[i].size;
    for (int k = 0; k < taken.count; k++) {
      if (!spmd_axis_overlaps(axes.items[i], taken.items[k])) continue;
      int64_t front = 1;
      if (taken.items[k].pre > axes.items[i].pre && taken.items[k].pre % axes.items[i].pre == 0)
        front = taken.items[k].pre / axes.items[i].pre;
      if (front < keep) keep = front;
    }
    if (keep < axes.items[i].size) return prop_cut(arena, axes, i, keep, out_axes);
  }
  return NULL;
}

/* {"d"} of 4 for a size of 10: gcd 2, so d:(1)2; for 9: nothing. */
hr_status_t prop_cut_to_divide(hr_arena_t *arena, spmd_axes_t axes, int64_t size,
                               spmd_axes_t *out_axes) {
  *out_axes = axes;
  for (int i = 0; i < axes.count; i++) {
    int64_t part = hr_gcd(size, axes.items[i].size);
    if (part < axes.items[i].size) return prop_cut(arena, axes, i, part, out_axes);
    size /= part;
  }
  return NULL;
}

/* Moves the beginning of *rest that divides a factor of this size to the factor. */
static hr_status_t take_major(hr_arena_t *arena, int64_t size, spmd_axes_t *rest,
                              prop_factor_t *factor) {
  HR_TRY(prop_cut_to_divide(arena, *rest, size, &factor->axes));
  HR_TRY(spmd_axes_drop_prefix(arena, *rest, factor->axes, rest));
  bool is_full = spmd_axes_parts(factor->axes) == size;
  if (is_full || !rest->count) return NULL;
  factor->overflow = *rest;
  *rest = (spmd_axes_t){0, NULL};
  return NULL;
}

/* If axes are left after a major factor that its own axes do not fill, they become its overflow:
 * they stay on the dimension, and no later factor can be cut. */
hr_status_t prop_project(hr_arena_t *arena, const spmd_rule_t *rule, int tensor,
                         const spmd_dim_t *dims, prop_factor_t *out_factors) {
  const spmd_tensor_factors_t *tensor_factors = &rule->tensors[tensor];
  for (int d = 0; d < tensor_factors->rank; d++) {
    const spmd_dim_factors_t *list = &tensor_factors->dims[d];
    spmd_axes_t rest = dims ? dims[d].axes : (spmd_axes_t){0, NULL};
    bool closed = dims && !dims[d].open;
    for (int i = 0; i < list->count; i++) {
      prop_factor_t *factor = &out_factors[list->factors[i]];
      *factor =
          (prop_factor_t){.present = true, .closed = closed, .is_minor_most = i == list->count - 1};
      if (factor->is_minor_most)
        factor->axes = rest;
      else if (rest.count)
        HR_TRY(take_major(arena, rule->factors[list->factors[i]].size, &rest, factor));
      closed |= factor->overflow.count > 0;
    }
  }
  return NULL;
}

/* Stops after the first factor that is not full: cutting a later one would give a strided view,
 * which no sharding can express. */
hr_status_t prop_unproject(hr_arena_t *arena, const spmd_rule_t *rule, int tensor, int d,
                           const prop_factor_t *factors, spmd_axes_t *out_axes) {
  const spmd_dim_factors_t *list = &rule->tensors[tensor].dims[d];
  *out_axes = (spmd_axes_t){0, NULL};
  for (int i = 0; i < list->count; i++) {
    const prop_factor_t *factor = &factors[list->factors[i]];
    HR_TRY(spmd_axes_concat(arena, *out_axes, factor->axes, out_axes));
    if (factor->overflow.count)
      return spmd_axes_concat(arena, *out_axes, factor->overflow, out_axes);
    if (spmd_axes_parts(factor->axes) != rule->factors[list->factors[i]].size) return NULL;
  }
  return NULL;
}
