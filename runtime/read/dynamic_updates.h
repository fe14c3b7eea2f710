/* HLO programs that write past the current size of a dynamic dimension. */
#ifndef HLO_READ_DYNAMIC_UPDATES_H
#define HLO_READ_DYNAMIC_UPDATES_H

#include "ir/module.h"

/* Enlarges an array before an update if set-dimension-size enlarges the result, as in a push to a
 * stack. Called after reading and before verification. Errors: NO_MEMORY. */
hr_status_t read_grow_before_updates(hlo_module_t *module);

#endif
