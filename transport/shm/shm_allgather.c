/* All-gather in shared memory: every member copies a chunk in, then all members' chunks out. Small
 * ones use the heads and slots. Cost: one step per chunk; each process moves its own bytes once,
 * and all members' once.
 *
 * Arrays: if all members' inputs and results lie in shared memory, nothing is copied in. Each
 * member copies the others' inputs straight into its own result, which is then in its cache. If the
 * result exceeds the cache, each member writes its own input into all results, a block at a time,
 * so that it is read once. An input in private memory is first copied to its own place in the
 * result. Cost: 2 steps; p * n bytes written, as many or n read. */
#include <string.h>

#include "transport/shm/shm_group.h"

static char *position_of(const tp_request_t *request, int member) {
  return request->args.out + (size_t)member * request->args.size_bytes;
}

static bool streams(const tp_shm_op_t *op) {
  int size = op->group->size;
  return tp_shm_streams(op->size_bytes * (size_t)size, size);
}

static void copy_self_block_in(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  tp_shm_copy(position_of(request, op->group->my_index), request->args.in, request->args.size_bytes,
              streams(op));
}

static hr_status_t step_small(tp_shm_op_t *op, bool *out_done) {
  tp_request_t *request = op->request;
  if (!op->steps) {
    memcpy(tp_shm_small(op, op->group->my_index), request->args.in, op->size_bytes);
    tp_shm_signal(op);
    copy_self_block_in(op);
  }
  *out_done = tp_shm_all_signaled(op, 1);
  if (!*out_done) return NULL;
  HR_TRY(tp_shm_check_sizes(op));
  for (int k = 0; k < op->group->size; k++)
    if (k != op->group->my_index)
      memcpy(position_of(request, k), tp_shm_small(op, k), op->size_bytes);
  return NULL;
}

hr_status_t tp_all_gather_shm_small(tp_request_t *request) {
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm, request->args.size_bytes,
               step_small);
  return NULL;
}

/* --- arrays --- */

#define CORE_CACHE_BYTES ((size_t)1 << 20) /* size of results that exceed a core's own cache */

/* Bytes that are read at a time and written to all results: memory is written fastest in long
 * rows. */
static size_t write_piece_bytes(const tp_shm_op_t *op) {
  return (size_t)(streams(op) ? 128 : 16) << 10;
}

static bool writes_to_peers(const tp_shm_op_t *op, bool shares_work) {
  return shares_work || (size_t)op->group->size * op->size_bytes >= CORE_CACHE_BYTES;
}

static void read_all(tp_shm_op_t *op) {
  int size = op->group->size, mine = op->group->my_index;
  for (int i = 0; i < size; i++) {
    int k = (mine + i) % size;
    tp_shm_copy(position_of(op->request, k), tp_shm_in(op, k), op->size_bytes, false);
  }
}

/* A member's own part of its result may come from private memory: nobody else reads it. */
static void write_piece(tp_shm_op_t *op, int member, int64_t piece) {
  int size = op->group->size;
  const char *in = member == op->group->my_index ? op->request->args.in : tp_shm_in(op, member);
  size_t most = write_piece_bytes(op), start = (size_t)piece * most, left = op->size_bytes - start;
  size_t at = (size_t)member * op->size_bytes + start;
  for (int i = 0; i < size; i++)
    tp_shm_copy(tp_shm_out(op, (member + i) % size) + at, in + start, left < most ? left : most,
                streams(op));
}

static int64_t pieces(const tp_shm_op_t *op, bool shares_work) {
  size_t most = write_piece_bytes(op);
  return writes_to_peers(op, shares_work) ? (int64_t)((op->size_bytes + most - 1) / most) : 1;
}

static hr_status_t move_piece(tp_shm_op_t *op, int member, int64_t piece) {
  if (writes_to_peers(op, op->pieces > 0))
    write_piece(op, member, piece);
  else
    read_all(op);
  return NULL;
}

/* --- chunks --- */

static size_t chunk_bytes(const tp_shm_op_t *op) {
  size_t chunk = op->chunk_bytes, left = op->size_bytes - (size_t)op->round * chunk;
  return left < chunk ? left : chunk;
}

static hr_status_t copy_out(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  size_t start = (size_t)op->round * op->chunk_bytes, bytes = chunk_bytes(op);
  if (!op->round) copy_self_block_in(op);
  for (int i = 1; i < op->group->size; i++) {
    int k = (op->group->my_index + i) % op->group->size;
    tp_shm_copy(position_of(request, k) + start, tp_shm_chunk_at(op, tp_shm_staged(op, k)), bytes,
                streams(op));
  }
  return NULL;
}

static void copy_in(tp_shm_op_t *op) {
  size_t start = (size_t)op->round * op->chunk_bytes;
  memcpy(tp_shm_chunk_at(op, op->stage_memory), op->request->args.in + start, chunk_bytes(op));
}

static hr_status_t step_chunks(tp_shm_op_t *op, bool *out_done) {
  return tp_shm_chunks(op, 2 * op->chunk_bytes, copy_in, copy_out, out_done);
}

/* --- common --- */

/* A member's input where others can access it, after its offsets are published; NULL: not
 * accessible. */
static const char *shared_input(const tp_shm_op_t *op) {
  int mine = op->group->my_index;
  return tp_shm_slot(op, mine)->in ? tp_shm_in(op, mine) : NULL;
}

/* An input that others cannot access is first copied to its place in the result. */
static bool publish_buffers(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  const tp_shm_t *shm = op->group->shm;
  bool has_in = tp_shm_has(shm, request->args.in);
  if (has_in || streams(op))
    return tp_shm_publish(op, has_in ? request->args.in : NULL, request->args.out);
  if (!tp_shm_has(shm, request->args.out))
    return tp_shm_publish(op, request->args.in, request->args.out);
  copy_self_block_in(op);
  return tp_shm_publish(op, position_of(request, op->group->my_index), request->args.out);
}

static hr_status_t publish(tp_shm_op_t *op) {
  if (!publish_buffers(op)) {
    HR_TRY(tp_shm_stage(op, 2 * op->chunk_bytes, &op->stage_memory));
    copy_in(op);
  }
  tp_shm_share_work(op, streams(op), shared_input(op), op->request->args.out);
  tp_shm_signal(op);
  return NULL;
}

static hr_status_t step_first(tp_shm_op_t *op, bool *out_done) {
  static const tp_shm_steps_t phases = {publish, tp_shm_check_sizes, pieces, move_piece,
                                        step_chunks};
  return tp_shm_sync(op, &phases, out_done);
}

hr_status_t tp_all_gather_shm(tp_request_t *request) {
  size_t chunk = tp_shm_chunk(request->groups, request->args.size_bytes);
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm, request->args.size_bytes,
               step_first);
  request->shm_ops[0].rounds = (int64_t)((request->args.size_bytes + chunk - 1) / chunk);
  return NULL;
}
