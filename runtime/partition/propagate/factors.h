/* Shardings seen through a rule: axes per factor instead of axes per dimension. */
#ifndef HR_PARTITION_FACTORS_H
#define HR_PARTITION_FACTORS_H

#include "partition/rule.h"

/* How one tensor cuts one factor. */
typedef struct prop_factor {
  bool present;         /* the tensor has the factor */
  bool closed;          /* may not grow */
  bool is_minor_most;   /* the last factor of its dimension: may be cut unevenly */
  spmd_axes_t axes;     /* the major first */
  spmd_axes_t overflow; /* axes after `axes` that fit no factor: they stay on the dimension, and
                           no later factor of it can be cut */
} prop_factor_t;

/* Projects the dimensions `dims` of a tensor to its factors: out_factors, by factor number. With
 * NULL for `dims` all dimensions are open. Errors: NO_MEMORY. */
hr_status_t prop_project(hr_arena_t *arena, const spmd_rule_t *rule, int tensor,
                         const spmd_dim_t *dims, prop_factor_t *out_factors);
/* The axes of dimension d of the tensor that its factors yield. Errors: NO_MEMORY. */
hr_status_t prop_unproject(hr_arena_t *arena, const spmd_rule_t *rule, int tensor, int d,
                           const prop_factor_t *factors, spmd_axes_t *out_axes);

/* The first `count` members. */
static inline spmd_axes_t prop_first(spmd_axes_t axes, int count) {
  return (spmd_axes_t){count, axes.items};
}
/* `axes` up to member i, reduced to its major part of size `size` (1: without member i). */
hr_status_t prop_cut(hr_arena_t *arena, spmd_axes_t axes, int i, int64_t size,
                     spmd_axes_t *out_axes);
/* The longest prefix of `axes` that does not overlap `taken`. */
hr_status_t prop_cut_at_overlap(hr_arena_t *arena, spmd_axes_t axes, spmd_axes_t taken,
                                spmd_axes_t *out_axes);
/* The longest prefix of `axes` whose number of parts divides `size`. */
hr_status_t prop_cut_to_divide(hr_arena_t *arena, spmd_axes_t axes, int64_t size,
                               spmd_axes_t *out_axes);

#endif
