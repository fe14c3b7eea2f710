/* Bounds of parameters that a program uses as indices, so that --random-inputs can keep them in
 * range. Follows values from index operands back through tuples, conversions, shape changes,
 * selections, calls and loops to the entry's parameters. */
#ifndef CLI_INDEX_BOUNDS_H
#define CLI_INDEX_BOUNDS_H

#include "ir/module.h"

#define CLI_NO_BOUND INT64_MAX

/* out_bounds[k]: values 0 .. bound-1 of flattened entry parameter k are in range; CLI_NO_BOUND: it
 * is no index. */
hr_status_t cli_index_bounds(const hlo_module_t *module, int param_count, int64_t *out_bounds);

#endif
