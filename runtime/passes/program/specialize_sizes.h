/* Makes a program of dynamic sizes one of static sizes: that for arguments of given shapes. */
#ifndef PASS_SPECIALIZE_SIZES_H
#define PASS_SPECIALIZE_SIZES_H

#include "ir/module.h"

/* Is it worth a try: do parameters of the entry have dynamic sizes, and is all else such that a
 * copy of the program for some sizes says the same to its peers, and keeps nothing from run to run?
 * Of the program as the partitioner leaves it. */
bool pass_can_specialise(const hlo_module_t *module);

/* Gives parameters the shapes of their arguments, everything else the shapes that follow, and makes
 * get-dimension-size constants. `leaves`: array shapes of the flattened parameters, NULL for
 * tokens; borrowed. Errors: UNSUPPORTED if some size does not follow from the shapes of the
 * arguments, INVALID if they do not go together; the module is then good for nothing. */
hr_status_t pass_specialise(hlo_module_t *module, const hlo_shape_t *const *leaves);

#endif
