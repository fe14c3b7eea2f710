/* Probes for those who look into a program that runs: what `--probe` asks for. */
#ifndef PASS_INSERT_PROBES_H
#define PASS_INSERT_PROBES_H

#include "ir/module.h"

/* Puts a custom call of interpreter.probe behind every instruction of an array whose name matches
 * the extended regular expression, in the entry and in what it runs step by step: calls, fusions,
 * loops and branches, but not the computations of single elements (of reductions, sorts, ...). The
 * probe's id is the instruction's name. Errors: USAGE for a bad pattern; NO_MEMORY. */
hr_status_t pass_probes(hlo_module_t *module, const char *pattern);

#endif
