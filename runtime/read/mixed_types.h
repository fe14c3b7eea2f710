/* HLO programs with ops on mixed element types. */
#ifndef HLO_READ_MIXED_TYPES_H
#define HLO_READ_MIXED_TYPES_H

#include "ir/module.h"

/* Inserts conversions where an op has floats of several types, like XLA, and brings reductions and
 * rng into the form that the rules accept. Called after reading and before verification. Errors:
 * NO_MEMORY. */
hr_status_t read_unify_types(hlo_module_t *module);

#endif
