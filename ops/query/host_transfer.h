/* Sends and receives of a program with the host (is_host_transfer=true): what the caller of an
 * execution brings for them. Without it they fail.
 * Thread: the functions are called in the thread that executes. */
#ifndef HLO_OPS_HOST_TRANSFER_H
#define HLO_OPS_HOST_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An end of a channel at the host: takes, or fills, the bytes of one array. It returns when they
 * may be overwritten, or are there. */
typedef hr_status_t (*host_transfer_fn)(void *context, int64_t channel, void *data,
                                        size_t size_bytes);

typedef struct host_transfers {
  host_transfer_fn send, recv;
  void *context;
} host_transfers_t;

/* Makes these the ones of the calling thread (NULL: none) and returns those before. */
const host_transfers_t *host_transfers_enter(const host_transfers_t *transfers);
const host_transfers_t *host_transfers_current(void);

#endif
