/* All-to-all over several machines: blocks for this machine go through its shared memory, blocks
 * for other machines as messages, all at the same time. Cost: one round; a message for each member
 * elsewhere, one transfer within the machine. */
#include <string.h>

#include "transport/algorithms/hierarchy.h"

static hr_status_t exchange_within(tp_request_t *request) {
  tp_group_t *within = request->group->parts->within;
  hr_block_t *blocks = (hr_block_t *)request->memory.scratch.data;
  request->hooks.next = NULL;
  return tp_all_to_all(within, blocks, blocks + within->size, 0, &request->state.nested);
}

/* The caller's lists are valid only during the start. */
static hr_status_t keep_blocks(tp_request_t *request, const tp_machines_t *machines) {
  int lanes = machines->within->size;
  HR_TRY(tp_space_reserve(&request->memory.scratch, 2 * (size_t)lanes, sizeof(hr_block_t)));
  hr_block_t *blocks = (hr_block_t *)request->memory.scratch.data;
  for (int i = 0; i < lanes; i++) {
    int member = tp_machines_member(machines, machines->my_machine, i);
    blocks[i] = request->args.sends[member];
    blocks[lanes + i] = request->args.recvs[member];
  }
  return NULL;
}

static hr_status_t post_messages(tp_request_t *request, const tp_machines_t *machines) {
  int size = request->group->size, mine = request->group->my_index;
  for (int k = 1; k < size; k++) {
    int from = (mine - k + size) % size;
    const hr_block_t *block = &request->args.recvs[from];
    if (machines->machine_of[from] != machines->my_machine)
      HR_TRY(tp_request_recv(request, from, block->data, block->size_bytes, -1));
  }
  for (int k = 1; k < size; k++) {
    int to = (mine + k) % size;
    const hr_block_t *block = &request->args.sends[to];
    if (machines->machine_of[to] != machines->my_machine)
      HR_TRY(tp_request_send(request, to, block->data, block->size_bytes));
  }
  return NULL;
}

hr_status_t tp_all_to_all_machines(tp_request_t *request) {
  const tp_machines_t *machines;
  HR_TRY(tp_machines_of(request->group, &machines));
  HR_TRY(keep_blocks(request, machines));
  HR_TRY(post_messages(request, machines));
  return tp_machines_begin(request, exchange_within);
}
