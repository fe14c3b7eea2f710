/* Failures that came with a code of another interface, which has more codes than status.def: that
 * of a handler of the FFI, or of an error of the PJRT interface. Both use the numbers of absl. */
#ifndef HR_BASE_FOREIGN_CODE_H
#define HR_BASE_FOREIGN_CODE_H

#include "base/status.h"

/* Accepts NULL. 0: the status has no such code. */
void hr_status_set_foreign_code(hr_status_t status, int code);
int hr_status_foreign_code(hr_status_t status); /* 0 for NULL */

#endif
