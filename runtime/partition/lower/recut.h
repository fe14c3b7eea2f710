/* Recuts: a dimension goes from some axes to more, or fewer, whose parts do not divide one another.
 *
 *   12 elements over "d":(1)4     |0 1 2|0 1 2|3 4 5|3 4 5|6 7 8|6 7 8|9 . .|9 . .|
 *   12 elements over "d"=8        |0 1|2 3|4 5|6 7|8 9|10 11|. .|. .|
 *
 * Every partition fetches its part from those that have it, where a plan of reshard_plan.h would
 * gather the whole. Such parts arise at parameters, which are cut evenly, of values that are cut
 * unevenly. */
#ifndef HR_PARTITION_LOWER_RECUT_H
#define HR_PARTITION_LOWER_RECUT_H

#include "partition/lower/lower.h"

/* Cost in microseconds; infinite if the shardings differ otherwise. */
double spmd_recut_us(spmd_lower_t *lower, const hlo_shape_t *shape, const spmd_sharding_t *from,
                     const spmd_sharding_t *to);
/* x, cut as `from`, in the parts of `to`; the cost must be finite. */
hlo_instr_t *spmd_emit_recut(spmd_lower_t *lower, hlo_instr_t *x, const hlo_shape_t *shape,
                             const spmd_sharding_t *from, const spmd_sharding_t *to);

#endif
