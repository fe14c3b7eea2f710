/* A slot map of transfers in flight. A handle combines slot and generation, so that a stale
 * handle finds nothing. Cost: constant time per operation, except exec_pending_any. */
#include "comm/peers/pending_transfers.h"

/* A handle: 1 + slot in the low SLOT_BITS, a generation count above. */
#define SLOT_BITS 22
#define SLOT_MASK ((UINT32_C(1) << SLOT_BITS) - 1)

hr_status_t exec_pending_reserve(exec_pending_t *pending) {
  if (pending->first_free) return NULL;
  if (pending->slots.count >= SLOT_MASK)
    return hr_error(HR_NO_MEMORY, "too many transfers are under way at once");
  uint32_t handle = (uint32_t)pending->slots.count + 1;
  HR_VEC_PUSH(&pending->slots, (exec_transfer_t){.handle = handle});
  pending->first_free = (uint32_t)pending->slots.count;
  return NULL;
}

uint32_t exec_pending_keep(exec_pending_t *pending, exec_transfer_t transfer) {
  exec_transfer_t *slot = &pending->slots.data[pending->first_free - 1];
  pending->first_free = slot->next_free;
  transfer.handle = slot->handle + SLOT_MASK + 1;
  transfer.next_free = 0;
  hlo_value_retain(transfer.value);
  *slot = transfer;
  pending->count++;
  return transfer.handle;
}

exec_transfer_t *exec_pending_find(exec_pending_t *pending, uint32_t handle) {
  uint32_t slot = handle & SLOT_MASK;
  if (!slot || slot > pending->slots.count) return NULL;
  exec_transfer_t *transfer = &pending->slots.data[slot - 1];
  return transfer->request && transfer->handle == handle ? transfer : NULL;
}

exec_transfer_t *exec_pending_any(exec_pending_t *pending) {
  for (size_t i = 0; pending->count && i < pending->slots.count; i++)
    if (pending->slots.data[i].request) return &pending->slots.data[i];
  return NULL;
}

void exec_pending_remove(exec_pending_t *pending, exec_transfer_t *transfer) {
  hlo_value_release(transfer->value);
  transfer->value = NULL;
  transfer->request = NULL;
  transfer->next_free = pending->first_free;
  pending->first_free = (uint32_t)(transfer - pending->slots.data) + 1;
  pending->count--;
}

void exec_pending_deinit(exec_pending_t *pending) { HR_VEC_FREE(&pending->slots); }
