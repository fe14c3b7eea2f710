/* HLO programs with dynamic sizes that are declared static. */
#ifndef HLO_READ_DYNAMIC_DIMENSIONS_H
#define HLO_READ_DYNAMIC_DIMENSIONS_H

#include "ir/module.h"

/* Declares dimensions dynamic whose sizes depend on a set-dimension-size. Called after reading and
 * before verification. Errors: NO_MEMORY. */
hr_status_t read_mark_dynamic_dimensions(hlo_module_t *module);

#endif
