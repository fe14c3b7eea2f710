/* Transfers that outlive the step that started them: between a -start and its -done, which the
 * handle connects. A handle may travel through loops and tuples as any other number; one that is
 * used a second time means nothing. */
#ifndef EXEC_PENDING_TRANSFERS_H
#define EXEC_PENDING_TRANSFERS_H

#include "base/vec.h"
#include "ops/kernels/kernel.h"

typedef struct exec_transfer {
  op_request_t *request;    /* NULL: the place is free */
  hlo_value_t *value;       /* what is sent, or received into: held until the end */
  const hlo_instr_t *instr; /* that started it */
  int peer;
  uint32_t handle;
  uint32_t next_free; /* 1 + the next free place; 0: none */
} exec_transfer_t;

typedef struct exec_pending {
  HR_VEC(exec_transfer_t) slots;
  uint32_t first_free; /* 1 + a free place; 0: none */
  size_t count;        /* under way */
} exec_pending_t;

/* Takes a place for a transfer that is about to start, so that starting is the last thing that can
 * fail. */
hr_status_t exec_pending_reserve(exec_pending_t *pending);
/* Keeps a started transfer, in the place reserved; retains the value. Gives its handle, never 0. */
uint32_t exec_pending_keep(exec_pending_t *pending, exec_transfer_t transfer);
/* The transfer of this handle, or NULL if it is none or over. */
exec_transfer_t *exec_pending_find(exec_pending_t *pending, uint32_t handle);
/* Any transfer that is under way; NULL: none is. */
exec_transfer_t *exec_pending_any(exec_pending_t *pending);
/* Frees its place. The request is the caller's business. */
void exec_pending_remove(exec_pending_t *pending, exec_transfer_t *transfer);
void exec_pending_deinit(exec_pending_t *pending); /* nothing may be under way */

#endif
