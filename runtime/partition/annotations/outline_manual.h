/* Turns the manual parts of a GSPMD program into calls between markers, the form of Shardy's manual
 * computations in HLO. */
#ifndef HR_PARTITION_OUTLINE_MANUAL_H
#define HR_PARTITION_OUTLINE_MANUAL_H

#include "ir/module.h"

/* Outlines the instructions between SPMDFullToShardShape and SPMDShardToFullShape in every
 * computation. Errors: INVALID, UNSUPPORTED with the place; NO_MEMORY. Cost: size of the program
 * times the number of manual parts of a computation. */
hr_status_t spmd_outline_manual(hlo_module_t *module);

#endif
