/* Transfers in flight between a start and its done, which a handle connects. Handles are numbers
 * that pass through loops and tuples; a used handle is stale and finds nothing. Thread: that of the
 * machine. */
#ifndef EXEC_PENDING_TRANSFERS_H
#define EXEC_PENDING_TRANSFERS_H

#include "base/vec.h"
#include "ops/kernels/kernel.h"

typedef struct exec_transfer {
  op_request_t *request;    /* NULL: the slot is free */
  hlo_value_t *value;       /* data sent or received into; retained until the end */
  const hlo_instr_t *instr; /* the start */
  int peer;
  uint32_t handle;
  uint32_t next_free; /* 1 + the next free slot; 0: none */
} exec_transfer_t;

typedef struct exec_pending {
  HR_VEC(exec_transfer_t) slots;
  uint32_t first_free; /* 1 + a free slot; 0: none */
  size_t count;        /* transfers in flight */
} exec_pending_t;

/* Reserves a slot before the transfer is started, so that nothing can fail afterwards. Errors:
 * NO_MEMORY. */
hr_status_t exec_pending_reserve(exec_pending_t *pending);
/* Stores a started transfer in the reserved slot and retains its value. Returns its handle, never
 * 0. */
uint32_t exec_pending_keep(exec_pending_t *pending, exec_transfer_t transfer);
/* The transfer of this handle; NULL for an unknown or stale handle. */
exec_transfer_t *exec_pending_find(exec_pending_t *pending, uint32_t handle);
/* Any transfer in flight; NULL: none. */
exec_transfer_t *exec_pending_any(exec_pending_t *pending);
/* Frees the slot and releases the value, not the request. */
void exec_pending_remove(exec_pending_t *pending, exec_transfer_t *transfer);
void exec_pending_deinit(exec_pending_t *pending); /* no transfer may be in flight */

#endif
