/* Specializes a program with dynamic sizes for arguments of given shapes, so that all sizes are
 * static. */
#ifndef PASS_SPECIALIZE_SIZES_H
#define PASS_SPECIALIZE_SIZES_H

#include "ir/module.h"

/* Can the program, as the partitioner leaves it, be specialized? Parameters of the entry must have
 * dynamic sizes, and a copy must communicate the same and keep no state between runs. */
bool pass_can_specialise(const hlo_module_t *module);

/* Gives parameters the shapes of their arguments, everything else the shapes that follow, and makes
 * get-dimension-size constants. `leaves`: array shapes of the flattened parameters, NULL for
 * tokens; borrowed. Errors: UNSUPPORTED if some size does not follow from the shapes of the
 * arguments, INVALID if they contradict each other; the module is then unusable. */
hr_status_t pass_specialise(hlo_module_t *module, const hlo_shape_t *const *leaves);

#endif
