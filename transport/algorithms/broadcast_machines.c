/* Broadcast over several machines: within the root's machine, between the first members of the
 * machines, then within the other machines. Cost: the bytes cross the network to each machine once,
 * log2(machines) messages one after the other. */
#include "transport/algorithms/hierarchy.h"

enum { AT_THE_ROOT, BETWEEN, ELSEWHERE };

static hr_status_t start_part(tp_request_t *request) {
  const tp_machines_t *machines = request->group->parts;
  int root = request->args.root, home = machines->machine_of[root];
  bool is_home = machines->my_machine == home;
  if (request->rounds.number == ELSEWHERE) request->hooks.next = NULL;
  if (request->rounds.number == BETWEEN) {
    if (machines->between->my_index < 0) return NULL;
    return tp_broadcast(machines->between, home, request->args.out, request->args.size_bytes,
                        &request->state.nested);
  }
  if (is_home != (request->rounds.number == AT_THE_ROOT)) return NULL;
  int from = is_home ? machines->lane_of[root] : 0;
  return tp_broadcast(machines->within, from, request->args.out, request->args.size_bytes,
                      &request->state.nested);
}

hr_status_t tp_broadcast_machines(tp_request_t *request) {
  const tp_machines_t *machines;
  HR_TRY(tp_machines_of(request->group, &machines));
  return tp_machines_begin(request, start_part);
}
