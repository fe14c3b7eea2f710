/* Processes that the framework joins to one world, without a launcher that hlorun knows. */
#ifndef PJRT_JOIN_H
#define PJRT_JOIN_H

#include "pjrt/client/pjrt_client.h"

/* Joins process `index` of `count`: from then on there is a launcher's world of all. Collective.
 * Errors: UNAVAILABLE if they are on several machines; those of the framework's store. */
hr_status_t pjrt_join(const pjrt_client_create_args_t *args, int index, int count);

#endif
