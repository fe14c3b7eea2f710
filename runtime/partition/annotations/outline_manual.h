/* The manual parts of a GSPMD program as calls between markers, as Shardy's manual computations
 * have them in HLO. */
#ifndef HR_PARTITION_OUTLINE_MANUAL_H
#define HR_PARTITION_OUTLINE_MANUAL_H

#include "ir/module.h"

/* Replaces what is computed between SPMDFullToShardShape and SPMDShardToFullShape in every
 * computation. Errors: INVALID, UNSUPPORTED with the place; NO_MEMORY. Cost: linear in the program,
 * times the manual parts of a computation. */
hr_status_t spmd_outline_manual(hlo_module_t *module);

#endif
