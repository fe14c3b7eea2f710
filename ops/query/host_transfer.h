/* Sends and receives between a program and the host (is_host_transfer=true): functions that the
 * caller of an execution supplies. Without them such ops fail. Thread: the functions are called in
 * the thread that executes. */
#ifndef HLO_OPS_HOST_TRANSFER_H
#define HLO_OPS_HOST_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The host's end of a channel: reads, or fills, the bytes of one array. Returns when they may be
 * overwritten, or are complete. */
typedef hr_status_t (*host_transfer_fn)(void *context, int64_t channel, void *data,
                                        size_t size_bytes);

typedef struct host_transfers {
  host_transfer_fn send, recv;
  void *context;
} host_transfers_t;

/* Sets the functions of the calling thread (NULL: none) and returns the previous ones. */
const host_transfers_t *host_transfers_enter(const host_transfers_t *transfers);
const host_transfers_t *host_transfers_current(void);

#endif
