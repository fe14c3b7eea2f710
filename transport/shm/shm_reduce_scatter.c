/* Reduce-scatter in shared memory: every member copies in a part of each other member's chunk at a
 * time, and reduces its own part over all members straight into its result. Cost: one step per
 * part; each process copies its array once, and reads as much. Two buffers: when a member begins a
 * part, all have reached the previous one, so nobody reads the one before that.
 *
 * Small: every member publishes its array in its head or slot. Cost: one step.
 *
 * Arrays: if all members' arrays lie in shared memory, each member reduces its part of them in
 * place. Cost: 2 steps; each process reads as many bytes as its array has. */
#include <string.h>

#include "transport/shm/shm_group.h"

/* --- small: the whole array is in the slot --- */

static hr_status_t reduce_small(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  int size = op->group->size;
  const char *in[size];
  HR_TRY(tp_shm_check_sizes(op));
  size_t part = (size_t)op->group->my_index * op->size_bytes / (size_t)size;
  for (int k = 0; k < size; k++) in[k] = tp_shm_small(op, k) + part;
  return tp_shm_reduce(&request->args.reducer, size, in, request->args.count, request->args.out,
                       request->memory.scratch.data);
}

static hr_status_t step_small(tp_shm_op_t *op, bool *out_done) {
  if (!op->steps) {
    memcpy(tp_shm_small(op, op->group->my_index), op->request->args.in, op->size_bytes);
    tp_shm_signal(op);
  }
  *out_done = tp_shm_all_signaled(op, 1);
  return *out_done ? reduce_small(op) : NULL;
}

hr_status_t tp_reduce_scatter_shm_small(tp_request_t *request) {
  size_t bytes =
      (size_t)(request->args.count * request->group->size) * request->args.reducer.element_bytes;
  if (request->args.reducer.acc_bytes)
    HR_TRY(tp_space_reserve(&request->memory.scratch, 1, TP_SHM_WIDE));
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm, bytes, step_small);
  return NULL;
}

/* --- parts --- */

static size_t part_bytes(const tp_request_t *request) {
  return ((size_t)request->state.segment * request->args.reducer.element_bytes + 63) / 64 * 64;
}

/* The part for member `to` in a member's staging memory. */
static char *part_at(const tp_request_t *request, char *staged, int64_t round, int to) {
  return staged +
         ((size_t)(round & 1) * (size_t)request->group->size + (size_t)to) * part_bytes(request);
}

static int64_t part_count(const tp_request_t *request, int64_t round) {
  int64_t left = request->args.count - round * request->state.segment;
  return left < request->state.segment ? left : request->state.segment;
}

static const char *part_of_rank(const tp_request_t *request, int64_t round, int to) {
  size_t start = (size_t)(to * request->args.count + round * request->state.segment);
  return request->args.in + start * request->args.reducer.element_bytes;
}

static void copy_in(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  size_t bytes = (size_t)part_count(request, op->round) * request->args.reducer.element_bytes;
  for (int k = 0; k < op->group->size; k++)
    if (k != op->group->my_index)
      memcpy(part_at(request, op->stage_memory, op->round, k), part_of_rank(request, op->round, k),
             bytes);
}

static hr_status_t reduce_part(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  int size = op->group->size, mine = op->group->my_index;
  const char *in[size];
  for (int k = 0; k < size; k++)
    in[k] = k == mine ? part_of_rank(request, op->round, mine)
                      : part_at(request, tp_shm_staged(op, k), op->round, mine);
  char *out = request->args.out +
              (size_t)(op->round * request->state.segment) * request->args.reducer.element_bytes;
  return tp_shm_reduce(&request->args.reducer, size, in, part_count(request, op->round), out,
                       request->memory.scratch.data);
}

static size_t stage_bytes(const tp_shm_op_t *op) {
  return 2 * (size_t)op->group->size * part_bytes(op->request);
}

static hr_status_t step_chunks(tp_shm_op_t *op, bool *out_done) {
  return tp_shm_chunks(op, stage_bytes(op), copy_in, reduce_part, out_done);
}

/* --- arrays --- */

#define PIECE_BYTES ((size_t)64 << 10)

static int64_t piece_count(const tp_request_t *request) {
  int64_t most = (int64_t)(PIECE_BYTES / request->args.reducer.element_bytes);
  return most < 1 ? 1 : most;
}

static int64_t pieces(const tp_shm_op_t *op, bool shares_work) {
  (void)shares_work;
  int64_t most = piece_count(op->request);
  return (op->request->args.count + most - 1) / most;
}

static hr_status_t reduce_piece(tp_shm_op_t *op, int member, int64_t piece) {
  tp_request_t *request = op->request;
  int size = op->group->size;
  int64_t most = piece_count(request), left = request->args.count - piece * most;
  size_t at = (size_t)(piece * most) * request->args.reducer.element_bytes;
  const char *in[size];
  char *out = member == op->group->my_index ? request->args.out : tp_shm_out(op, member);
  for (int k = 0; k < size; k++) in[k] = tp_shm_in(op, k) + (size_t)member * op->size_bytes + at;
  return tp_shm_reduce(&request->args.reducer, size, in, left < most ? left : most, out + at,
                       request->memory.scratch.data);
}

static hr_status_t publish(tp_shm_op_t *op) {
  if (!tp_shm_publish(op, op->request->args.in, NULL)) {
    HR_TRY(tp_shm_stage(op, stage_bytes(op), &op->stage_memory));
    copy_in(op);
  }
  int size = op->group->size;
  tp_shm_share_work(op, tp_shm_streams((size_t)size * op->size_bytes, size), op->request->args.in,
                    op->request->args.out);
  tp_shm_signal(op);
  return NULL;
}

static hr_status_t step_first(tp_shm_op_t *op, bool *out_done) {
  static const tp_shm_steps_t phases = {publish, tp_shm_check_sizes, pieces, reduce_piece,
                                        step_chunks};
  return tp_shm_sync(op, &phases, out_done);
}

hr_status_t tp_reduce_scatter_shm(tp_request_t *request) {
  size_t each = request->args.reducer.element_bytes;
  size_t all_bytes = (size_t)(request->args.count * request->group->size) * each;
  size_t chunk_bytes = tp_shm_chunk(request->groups, all_bytes);
  int64_t count = (int64_t)(chunk_bytes / each) / request->group->size;
  if (count > request->args.count) count = request->args.count;
  return tp_shm_begin_reduction(request, count < 1 ? 1 : count, step_first);
}
