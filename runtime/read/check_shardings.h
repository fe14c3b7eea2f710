/* Checks of shardings right after reading, whether or not the program will be partitioned. */
#ifndef HLO_READ_CHECK_SHARDINGS_H
#define HLO_READ_CHECK_SHARDINGS_H

#include "ir/module.h"

/* Checks that shardings of GSPMD have the ranks and the numbers of leaves of their values. Errors:
 * INVALID with the place of the instruction. Cost: one pass. */
hr_status_t read_check_shardings(const hlo_module_t *module);
/* Verifies Shardy's texts in the frontend attributes of HLO: meshes, shardings, rules. Errors: as
 * above. */
hr_status_t read_check_sdy_texts(const hlo_module_t *module);

#endif
