/* Nested executions each have their own functions: each restores the previous ones at its end. */
#include "ops/query/host_transfer.h"

static _Thread_local const host_transfers_t *current;

const host_transfers_t *host_transfers_enter(const host_transfers_t *transfers) {
  const host_transfers_t *before = current;
  current = transfers;
  return before;
}

const host_transfers_t *host_transfers_current(void) { return current; }
