/* Broadcast in shared memory: the root copies a chunk in, the others copy it out; the root is at
 * most two chunks ahead. Cost: one step per chunk; the bytes are copied once in, and once out for
 * each member. No member ends before all have begun. If the root's array lies in shared memory, the
 * others copy it from there, as a whole. */
#include <string.h>

#include "transport/shm/shm_group.h"

static void copy_chunk(tp_shm_op_t *op, char *staged, bool into_stage) {
  size_t chunk = op->chunk_bytes, start = (size_t)op->round * chunk, left = op->size_bytes - start;
  char *shared = tp_shm_chunk_at(op, staged), *own = op->request->args.out + start;
  if (left > chunk) left = chunk;
  if (into_stage)
    memcpy(shared, own, left);
  else
    tp_shm_copy(own, shared, left, tp_shm_streams(op->size_bytes, op->group->shm->local_size));
}

static hr_status_t wait_for_all(tp_shm_op_t *op, bool *out_done) {
  *out_done = tp_shm_all_signaled(op, 1);
  return *out_done ? tp_shm_check_sizes(op) : NULL;
}

/* The others wait for the root only, even if it is not the last to arrive. */
static void signal_others(tp_shm_op_t *op) {
  tp_shm_signal(op);
  tp_shm_wake_members(op->group);
}

static hr_status_t step_root(tp_shm_op_t *op, bool *out_done) {
  if (!op->steps && tp_shm_publish(op, op->request->args.out, NULL)) {
    signal_others(op);
    op->step = wait_for_all;
    return op->step(op, out_done);
  }
  if (!op->stage) HR_TRY(tp_shm_stage(op, 2 * op->chunk_bytes, &op->stage_memory));
  for (; op->round < op->rounds; op->round++) {
    if (op->round >= 2 && !tp_shm_all_signaled(op, (uint64_t)op->round - 1)) return NULL;
    copy_chunk(op, op->stage_memory, true);
    signal_others(op);
  }
  return wait_for_all(op, out_done);
}

/* Waits for the root, which publishes where the bytes are. */
static hr_status_t sync_root(tp_shm_op_t *op, int root) {
  HR_TRY(tp_shm_check_member(op, root));
  if (!tp_shm_slot(op, root)->is_shared) return NULL;
  tp_shm_copy(op->request->args.out, tp_shm_in(op, root), op->size_bytes,
              tp_shm_streams(op->size_bytes, op->group->shm->local_size));
  tp_shm_signal(op);
  op->round = op->rounds;
  return NULL;
}

static hr_status_t step_other(tp_shm_op_t *op, bool *out_done) {
  int root = op->request->args.root;
  for (; op->round < op->rounds; op->round++) {
    if (!tp_shm_member_signaled(op, root, (uint64_t)op->round + 1)) return NULL;
    if (!op->round) HR_TRY(sync_root(op, root));
    if (op->round == op->rounds) break;
    copy_chunk(op, tp_shm_staged(op, root), false);
    tp_shm_signal(op);
  }
  *out_done = tp_shm_all_signaled(op, 1);
  return NULL;
}

hr_status_t tp_broadcast_shm(tp_request_t *request) {
  size_t chunk = tp_shm_chunk(request->groups, request->args.size_bytes);
  bool is_root = request->group->my_index == request->args.root;
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm, request->args.size_bytes,
               is_root ? step_root : step_other);
  request->shm_ops[0].rounds = (int64_t)((request->args.size_bytes + chunk - 1) / chunk);
  if (!request->shm_ops[0].rounds) request->shm_ops[0].rounds = 1;
  return NULL;
}
