/* Probes: recording of intermediate arrays at run time, for the option --probe. */
#ifndef PASS_INSERT_PROBES_H
#define PASS_INSERT_PROBES_H

#include "ir/module.h"

/* Inserts a custom call of interpreter.probe after every instruction of array type whose name
 * matches the extended regular expression `pattern`: in the entry and in computations that it runs
 * step by step (calls, fusions, loops, branches), not in scalar bodies of reductions and sorts. The
 * probe's id is the instruction's name. Errors: USAGE for a bad pattern; NO_MEMORY. */
hr_status_t pass_probes(hlo_module_t *module, const char *pattern);

#endif
