/* Shardings seen through a rule: axes per factor instead of axes per dimension. */
#ifndef HR_PARTITION_FACTORS_H
#define HR_PARTITION_FACTORS_H

#include "partition/rule.h"

/* How one tensor cuts one factor. */
typedef struct prop_factor {
  bool present;         /* the tensor has the factor */
  bool closed;          /* may not grow */
  bool is_minor_most;   /* in its dimension: may be cut unevenly */
  spmd_axes_t axes;     /* the major first */
  spmd_axes_t overflow; /* axes behind it that fit no factor: they stay, and nothing follows */
} prop_factor_t;

/* The factors of one tensor, by factor number; `dims` are its dimensions. Dimensions beyond what
 * `dims` says (NULL) are open. Errors: NO_MEMORY. */
hr_status_t prop_project(hr_arena_t *arena, const spmd_rule_t *rule, int tensor,
                         const spmd_dim_t *dims, prop_factor_t *out_factors);
/* The axes of dimension d of the tensor, back from its factors. Errors: NO_MEMORY. */
hr_status_t prop_unproject(hr_arena_t *arena, const spmd_rule_t *rule, int tensor, int d,
                           const prop_factor_t *factors, spmd_axes_t *out_axes);

/* The first `count` members. */
static inline spmd_axes_t prop_first(spmd_axes_t axes, int count) {
  return (spmd_axes_t){count, axes.items};
}
/* `axes` up to member i, of which only the major part of `size` is kept (1: nothing). */
hr_status_t prop_cut(hr_arena_t *arena, spmd_axes_t axes, int i, int64_t size,
                     spmd_axes_t *out_axes);
/* The longest beginning of `axes` that does not overlap `taken`. */
hr_status_t prop_cut_at_overlap(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t taken,
                                spmd_axes_t *out_axes);
/* The longest beginning by which a factor of this size is divided. */
hr_status_t prop_cut_to_divide(hr_arena_t *arena, spmd_axes_t axes, int64_t size,
                               spmd_axes_t *out_axes);

#endif
