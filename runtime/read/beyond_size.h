/* HLO programs that write behind the present size of a dynamic dimension. */
#ifndef HLO_READ_BEYOND_SIZE_H
#define HLO_READ_BEYOND_SIZE_H

#include "ir/module.h"

/* Lets an array grow before an update whose result set-dimension-size makes longer, as a stack that
 * is pushed to does. For a module that was read whole and not verified yet. Errors: of memory. */
hr_status_t read_grow_before_updates(hlo_module_t *module);

#endif
