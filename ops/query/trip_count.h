/* Trip counts of loops that increment a counter up to a limit. */
#ifndef HLO_OPS_TRIP_COUNT_H
#define HLO_OPS_TRIP_COUNT_H

#include "base/dtype.h"

/* Trip count while `start + n * step DIRECTION limit` holds, for n = 0, 1, ...; -1: the counter
 * would leave the range of its type first, or the count is unknown. `direction` is one of
 * HLO_DIRECTION_. */
int64_t loop_trip_count(hr_dtype_t dtype, int direction, int64_t start, int64_t step,
                        int64_t limit);
/* The equivalent direction for swapped operands. */
int op_direction_mirrored(int direction);

#endif
