/* All-reduce over several machines: among the members of each machine, then between the first
 * members of the machines, then back. For reorderable reductions only: elements are combined within
 * a machine in listed order, then machine by machine, in the order of their first members; this
 * order is the same in every run. Cost: the array crosses the network as in an all-reduce of one
 * rank per machine; two transfers within the machine. */
#include "transport/algorithms/hierarchy.h"

enum { WITHIN, BETWEEN, BACK };

static hr_status_t start_part(tp_request_t *request) {
  tp_group_t *within = request->group->parts->within, *between = request->group->parts->between;
  size_t bytes = (size_t)request->args.count * request->args.reducer.element_bytes;
  if (request->rounds.number == BACK) request->hooks.next = NULL;
  if (request->rounds.number == WITHIN)
    return tp_all_reduce(within, request->args.in, request->args.out, request->args.count,
                         &request->args.reducer, &request->state.nested);
  if (request->rounds.number == BACK)
    return tp_broadcast(within, 0, request->args.out, bytes, &request->state.nested);
  if (between->my_index < 0) return NULL;
  return tp_all_reduce(between, request->args.out, request->args.out, request->args.count,
                       &request->args.reducer, &request->state.nested);
}

hr_status_t tp_all_reduce_machines(tp_request_t *request) {
  const tp_machines_t *machines;
  HR_TRY(tp_machines_of(request->group, &machines));
  return tp_machines_begin(request, start_part);
}
