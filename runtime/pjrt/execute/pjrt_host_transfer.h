/* Callbacks of an execution for the sends and receives of its program with the host. */
#ifndef PJRT_HOST_TRANSFER_H
#define PJRT_HOST_TRANSFER_H

#include "ops/query/host_transfer.h"
#include "pjrt/abi/pjrt_api.h"

/* The callbacks of one device. Owner: the run. */
typedef struct pjrt_host_ends pjrt_host_ends_t;

/* Copies the lists of a device, which are valid only during the launch. NULL: none given. */
hr_status_t pjrt_host_ends_create(const pjrt_execute_options_t *options, int device,
                                  pjrt_host_ends_t **out_ends);
void pjrt_host_ends_destroy(pjrt_host_ends_t *ends); /* accepts NULL */
/* The functions for the program's sends and receives. Owner: valid as long as `ends`. */
host_transfers_t pjrt_host_ends_transfers(pjrt_host_ends_t *ends);

#endif
