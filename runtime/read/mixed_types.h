/* HLO programs whose values of one op have different types. */
#ifndef HLO_READ_MIXED_TYPES_H
#define HLO_READ_MIXED_TYPES_H

#include "ir/module.h"

/* Inserts conversions where floats of several types meet in one op, as XLA does, and brings
 * reductions and rng to the form that the rules know. For a module that was read whole and not
 * verified yet. Errors: of memory. */
hr_status_t read_unify_types(hlo_module_t *module);

#endif
