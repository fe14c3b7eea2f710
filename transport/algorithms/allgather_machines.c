/* All-gather over several machines: every member sends its block to one member of each other
 * machine, by lanes, which share the work; then the members of a machine gather the received
 * blocks.
 *
 *   machine 0: a b    a holds a c e    all of both: a c e b d -    then each block in its place
 *   machine 1: c d    b holds b d
 *   machine 2: e
 *
 * Cost: every block crosses the network to each machine once, machines - 1 messages a rank; then
 * one all-gather within the machine, where the lanes that hold fewer blocks are filled up, and a
 * copy. */
#include <string.h>

#include "transport/algorithms/hierarchy.h"

enum { GATHER, SCATTER };

static int max_blocks_held(const tp_group_t *group) {
  int most = 0;
  for (int lane = 0; lane < group->parts->within->size; lane++) {
    int held = tp_machines_load(group, group->parts->my_machine, lane);
    if (held > most) most = held;
  }
  return most;
}

/* Block `index` of the scratch space: the blocks of this lane, then those of all lanes. */
static char *block_at(const tp_request_t *request, int index) {
  return request->memory.scratch.data + (size_t)index * request->args.size_bytes;
}

static void scatter_blocks(const tp_request_t *request) {
  const tp_machines_t *machines = request->group->parts;
  int each = (int)request->state.segment, lanes = machines->within->size;
  int used[lanes];
  memset(used, 0, sizeof used);
  for (int k = 0; k < request->group->size; k++) {
    int lane = tp_machines_lane_for(machines, machines->my_machine, k);
    char *index = request->args.out + (size_t)k * request->args.size_bytes;
    memcpy(index, block_at(request, each + lane * each + used[lane]++), request->args.size_bytes);
  }
}

static hr_status_t next_stage(tp_request_t *request) {
  size_t bytes = (size_t)request->state.segment * request->args.size_bytes;
  if (request->rounds.number == GATHER)
    return tp_all_gather(request->group->parts->within, request->memory.scratch.data, bytes,
                         block_at(request, (int)request->state.segment), &request->state.nested);
  scatter_blocks(request);
  request->hooks.next = NULL;
  return NULL;
}

static hr_status_t post_messages(tp_request_t *request, const tp_machines_t *machines) {
  int mine = request->group->my_index, held = 0;
  for (int k = 0; k < request->group->size; k++) {
    if (tp_machines_lane_for(machines, machines->my_machine, k) != machines->my_lane) continue;
    char *index = block_at(request, held++);
    if (k == mine)
      memcpy(index, request->args.in, request->args.size_bytes);
    else if (machines->machine_of[k] != machines->my_machine)
      HR_TRY(tp_request_recv(request, k, index, request->args.size_bytes, -1));
  }
  for (int i = 1; i < machines->count; i++) {
    int machine = (machines->my_machine + i) % machines->count;
    int to = tp_machines_member(machines, machine, tp_machines_lane_for(machines, machine, mine));
    HR_TRY(tp_request_send(request, to, request->args.in, request->args.size_bytes));
  }
  return NULL;
}

hr_status_t tp_all_gather_machines(tp_request_t *request) {
  const tp_machines_t *machines;
  HR_TRY(tp_machines_of(request->group, &machines));
  request->state.segment = max_blocks_held(request->group);
  size_t blocks = (size_t)request->state.segment * (1 + (size_t)machines->within->size);
  HR_TRY(tp_space_reserve(&request->memory.scratch, blocks, request->args.size_bytes));
  HR_TRY(post_messages(request, machines));
  return tp_machines_begin(request, next_stage);
}
