/* Sizes of HLO programs that vary although they are declared static. */
#ifndef HLO_READ_OPEN_SIZES_H
#define HLO_READ_OPEN_SIZES_H

#include "ir/module.h"

/* Declares what follows from a set-dimension-size dynamic, wherever the program says less. For a
 * module that was read whole and not verified yet. Errors: of memory. */
hr_status_t read_open_sizes(hlo_module_t *module);

#endif
