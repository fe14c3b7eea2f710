/* Reduce-scatter over several machines, for reorderable reductions. The lanes of a machine divide
 * the chunks of the result, whichever member gets them: each lane receives its chunks from all
 * members of its machine, reduces them, and sends the partial results to their owners, which add
 * one partial result per machine.
 * Order: within a machine in listed order, then machine by machine.
 * Cost:  one all-to-all within the machine; every chunk crosses the network once from each other
 *        machine; 1/lanes of the machine's arithmetic per rank. */
#include <string.h>

#include "transport/algorithms/hierarchy.h"

enum { EXCHANGE, REDUCE, ADD_UP };

static size_t chunk_bytes(const tp_request_t *request) {
  return (size_t)request->args.count * request->args.reducer.element_bytes;
}

/* Scratch space, in chunks: the chunks for the other lanes, packed; this lane's chunks of each
 * member of the machine; and one partial result per machine. */
static char *chunk_at(const tp_request_t *request, int index) {
  return request->memory.scratch.data + (size_t)index * chunk_bytes(request);
}
static char *chunks_of_rank(const tp_request_t *request, int lane) {
  return chunk_at(request, request->group->size + lane * (int)request->state.segment);
}
static char *partial_of(const tp_request_t *request, int machine) {
  return chunks_of_rank(request, request->group->parts->within->size) +
         (size_t)machine * chunk_bytes(request);
}

/* Copies the chunks of one lane together; returns their number. */
static int pack_chunks(const tp_request_t *request, int lane, char *into) {
  const tp_machines_t *machines = request->group->parts;
  size_t bytes = chunk_bytes(request);
  int count = 0;
  for (int k = 0; k < request->group->size; k++)
    if (tp_machines_lane_for(machines, machines->my_machine, k) == lane)
      memcpy(into + (size_t)count++ * bytes, request->args.in + (size_t)k * bytes, bytes);
  return count;
}

static hr_status_t exchange(tp_request_t *request) {
  const tp_machines_t *machines = request->group->parts;
  int lanes = machines->within->size, packed = 0;
  hr_block_t sends[lanes], recvs[lanes];
  for (int lane = 0; lane < lanes; lane++) {
    bool is_mine = lane == machines->my_lane;
    char *index = is_mine ? chunks_of_rank(request, lane) : chunk_at(request, packed);
    int count = pack_chunks(request, lane, index);
    sends[lane] = (hr_block_t){index, (size_t)count * chunk_bytes(request)};
    recvs[lane] = (hr_block_t){chunks_of_rank(request, lane),
                               (size_t)request->state.segment * chunk_bytes(request)};
    if (!is_mine) packed += count;
  }
  return tp_all_to_all(machines->within, sends, recvs, 0, &request->state.nested);
}

static hr_status_t receive_partials(tp_request_t *request) {
  const tp_machines_t *machines = request->group->parts;
  for (int m = 0; m < machines->count; m++) {
    int from = tp_machines_member(machines, m,
                                  tp_machines_lane_for(machines, m, request->group->my_index));
    if (m != machines->my_machine)
      HR_TRY(tp_request_recv(request, from, partial_of(request, m), chunk_bytes(request), -1));
  }
  return NULL;
}

/* The sums overwrite the first member's chunks. */
static hr_status_t reduce_and_send(tp_request_t *request) {
  const tp_machines_t *machines = request->group->parts;
  const hr_reducer_t *reducer = &request->args.reducer;
  size_t bytes = chunk_bytes(request);
  char *sum = chunks_of_rank(request, 0);
  HR_TRY(receive_partials(request));
  for (int lane = 1; lane < machines->within->size; lane++)
    HR_TRY(reducer->reduce(reducer->context, sum, chunks_of_rank(request, lane),
                           request->state.segment * request->args.count));
  for (int k = 0; k < request->group->size; k++) {
    if (tp_machines_lane_for(machines, machines->my_machine, k) != machines->my_lane) continue;
    if (machines->machine_of[k] == machines->my_machine)
      memcpy(partial_of(request, machines->my_machine), sum, bytes);
    else
      HR_TRY(tp_request_send(request, k, sum, bytes));
    sum += bytes;
  }
  return NULL;
}

static hr_status_t add_up(tp_request_t *request) {
  const hr_reducer_t *reducer = &request->args.reducer;
  memcpy(request->args.out, partial_of(request, 0), chunk_bytes(request));
  for (int m = 1; m < request->group->parts->count; m++)
    HR_TRY(reducer->reduce(reducer->context, request->args.out, partial_of(request, m),
                           request->args.count));
  return NULL;
}

static hr_status_t next_stage(tp_request_t *request) {
  if (request->rounds.number == EXCHANGE) return exchange(request);
  if (request->rounds.number == REDUCE) return reduce_and_send(request);
  request->hooks.next = NULL;
  return add_up(request);
}

hr_status_t tp_reduce_scatter_machines(tp_request_t *request) {
  const tp_machines_t *machines;
  HR_TRY(tp_machines_of(request->group, &machines));
  request->state.segment =
      tp_machines_load(request->group, machines->my_machine, machines->my_lane);
  size_t chunks = (size_t)request->group->size + (size_t)machines->count;
  chunks += (size_t)request->state.segment * (size_t)machines->within->size;
  HR_TRY(tp_space_reserve(&request->memory.scratch, chunks, chunk_bytes(request)));
  return tp_machines_begin(request, next_stage);
}
