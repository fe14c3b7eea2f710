/* Which values of a program end up as indices, and how large they may be: so that --random-inputs
 * can keep integers that index in range. Follows values from index operands back through tuples,
 * conversions, shape changes, selections, calls and loops to the entry's parameters. */
#ifndef CLI_INDEX_BOUNDS_H
#define CLI_INDEX_BOUNDS_H

#include "ir/module.h"

#define CLI_NO_BOUND INT64_MAX

/* out_bounds[k]: values 0 .. bound-1 of flattened entry parameter k stay in range; CLI_NO_BOUND: it
 * indexes nothing. */
hr_status_t cli_index_bounds(const hlo_module_t *module, int param_count, int64_t *out_bounds);

#endif
