/* Permute in shared memory: the sender copies a chunk in while the receiver copies the previous one
 * out, with two buffers between them. Each pair of ranks and stream has its own pipe; the sender is
 * done when the receiver is. Small messages lie in the slot, and the sender continues at once: it
 * waits only for a slot that has yet to be read. On an oversubscribed machine there are more slots,
 * so that a process gets further in its time slice. Cost: one step per chunk; the bytes are copied
 * once in and once out, by both ends at the same time. If the sender's array lies in shared memory,
 * the receiver copies it from there as a whole: one step, and one copy. If processors are
 * oversubscribed and both arrays are shared, the second to arrive makes the copy, and the first
 * need not run again for it. */
#include <string.h>

#include "transport/shm/shm_group.h"

#define SENDER 0
#define RECEIVER 1

static hr_block_t part_of(const tp_shm_op_t *op, const char *data) {
  size_t chunk = op->chunk_bytes, start = (size_t)op->round * chunk, left = op->size_bytes - start;
  return (hr_block_t){(char *)data + start, left < chunk ? left : chunk};
}

static size_t stage_bytes(const tp_shm_op_t *op) {
  size_t chunk = op->chunk_bytes;
  return op->rounds > 1 ? 2 * chunk : op->size_bytes;
}

static hr_status_t wait_for_receiver(tp_shm_op_t *op, bool *out_done) {
  *out_done = tp_shm_member_signaled(op, RECEIVER, op->steps);
  return NULL;
}

static hr_status_t send_chunks(tp_shm_op_t *op, bool *out_done) {
  for (; op->round < op->rounds; op->round++) {
    if (op->round >= 2 &&
        !tp_shm_member_signaled(op, RECEIVER, op->first + (uint64_t)op->round - 1))
      return NULL;
    hr_block_t part = part_of(op, op->request->args.in);
    memcpy(tp_shm_chunk_at(op, op->stage_memory), part.data, part.size_bytes);
    tp_shm_signal(op);
  }
  return wait_for_receiver(op, out_done);
}

/* True if the receiver has read the slot for this transfer: its count has reached the start of the
 * transfer after the one that used the slot last. The counter is read as rarely as possible,
 * because its cache line is in another processor's cache. */
static bool slot_is_free(tp_shm_op_t *op) {
  tp_shm_group_t *pipe = op->group;
  uint64_t base = pipe->bases[(op->number + 1) & (pipe->slot_count - 1)];
  if (pipe->receiver_steps >= base) return true;
  if (!tp_shm_member_reached(op, RECEIVER, base)) return false;
  pipe->receiver_steps =
      atomic_load_explicit(&pipe->members[RECEIVER]->count, memory_order_acquire);
  return true;
}

static hr_status_t send_all(tp_shm_op_t *op, bool *out_done) {
  if (tp_shm_slot(op, SENDER)->is_shared) {
    tp_shm_signal(op);
    op->step = wait_for_receiver;
  } else {
    HR_TRY(tp_shm_stage(op, stage_bytes(op), &op->stage_memory));
    op->step = send_chunks;
  }
  return op->step(op, out_done);
}

static hr_status_t step_send(tp_shm_op_t *op, bool *out_done) {
  if (!slot_is_free(op)) return NULL;
  tp_shm_publish_size(op);
  tp_shm_publish(op, op->request->args.in, NULL);
  return send_all(op, out_done);
}

static hr_status_t check_size(const tp_shm_op_t *op) {
  uint64_t sent = tp_shm_transfer_of(op, SENDER); /* the size only, as the transfer is a permute */
  if (sent == op->size_bytes) return NULL;
  return hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", op->group->ranks[SENDER],
                  (unsigned long long)sent, op->size_bytes);
}

/* Destination and source of the first copy, after the sender's first step: a staged chunk, or the
 * whole shared array. */
static hr_block_t first_part(tp_shm_op_t *op, const char **out_from) {
  bool whole = tp_shm_slot(op, SENDER)->is_shared;
  *out_from = whole ? tp_shm_in(op, SENDER) : tp_shm_chunk_at(op, tp_shm_staged(op, SENDER));
  if (!whole) return part_of(op, op->request->args.out);
  op->rounds = 1;
  return (hr_block_t){op->request->args.out, op->size_bytes};
}

static bool streams(const tp_shm_op_t *op) {
  return tp_shm_streams(op->size_bytes, op->group->shm->local_size);
}

static hr_status_t step_recv(tp_shm_op_t *op, bool *out_done) {
  for (; op->round < op->rounds; op->round++) {
    const char *from;
    hr_block_t part;
    if (!tp_shm_member_signaled(op, SENDER, op->first + (uint64_t)op->round + 1)) return NULL;
    if (op->round) {
      from = tp_shm_chunk_at(op, tp_shm_staged(op, SENDER));
      part = part_of(op, op->request->args.out);
    } else {
      HR_TRY(check_size(op));
      part = first_part(op, &from);
    }
    tp_shm_copy(part.data, from, part.size_bytes, streams(op));
    tp_shm_signal(op);
  }
  *out_done = true;
  return NULL;
}

/* --- oversubscribed: the second to arrive makes the copy --- */

enum {
  OUTCOME_COPIED = 1,
  OUTCOME_OUT_OF_REACH = 2 /* an array is private */
}; /* action of the second to arrive, reported to the first in pieces_done */

static hr_status_t copy_for_both(tp_shm_op_t *op) {
  bool reaches = tp_shm_slot(op, SENDER)->is_shared && tp_shm_slot(op, RECEIVER)->is_shared;
  HR_TRY(tp_shm_check_sizes(op));
  if (reaches)
    tp_shm_copy(tp_shm_out(op, RECEIVER), tp_shm_in(op, SENDER), op->size_bytes, streams(op));
  tp_shm_set_pieces_done(op, reaches ? OUTCOME_COPIED : OUTCOME_OUT_OF_REACH);
  return NULL;
}

static hr_status_t wait_for_copy(tp_shm_op_t *op, bool *out_done) {
  bool sends = op->group->my_index == SENDER;
  int64_t outcome = tp_shm_pieces_done(op);
  if (!outcome) return !sends && tp_shm_member_signaled(op, SENDER, 1) ? check_size(op) : NULL;
  op->pieces = 0;
  if (!sends) tp_shm_signal(op);
  *out_done = outcome == OUTCOME_COPIED;
  if (*out_done) return NULL;
  op->first = 1;
  op->step = sends ? send_all : step_recv;
  return op->step(op, out_done);
}

/* The sender's count makes a receiver notice that it expects another size. */
static hr_status_t synchronize(tp_shm_op_t *op, bool *out_done) {
  int64_t before;
  op->step = wait_for_copy;
  op->pieces = 1;
  if (op->group->my_index == SENDER) tp_shm_signal(op);
  tp_shm_count_piece(op, &op->group->control->pieces_taken, 2, &before);
  if (before) HR_TRY(copy_for_both(op));
  return op->step(op, out_done);
}

static hr_status_t step_ssend(tp_shm_op_t *op, bool *out_done) {
  if (!slot_is_free(op)) return NULL;
  tp_shm_publish_size(op);
  tp_shm_publish(op, op->request->args.in, NULL);
  return synchronize(op, out_done);
}

static hr_status_t step_recv_ssend(tp_shm_op_t *op, bool *out_done) {
  tp_shm_publish(op, NULL, op->request->args.out);
  return synchronize(op, out_done);
}

/* --- small --- */

static hr_status_t step_send_small(tp_shm_op_t *op, bool *out_done) {
  *out_done = slot_is_free(op);
  if (!*out_done) return NULL;
  tp_shm_publish_size(op);
  memcpy(tp_shm_small(op, SENDER), op->request->args.in, op->size_bytes);
  tp_shm_signal(op);
  return NULL;
}

static hr_status_t step_recv_small(tp_shm_op_t *op, bool *out_done) {
  *out_done = tp_shm_member_signaled(op, SENDER, 1);
  if (!*out_done) return NULL;
  HR_TRY(check_size(op));
  memcpy(op->request->args.out, tp_shm_small(op, SENDER), op->size_bytes);
  tp_shm_signal(op);
  return NULL;
}

static tp_shm_step_fn step_of(const tp_shm_group_t *pipe, const hr_block_t *block, bool sends) {
  const tp_shm_t *shm = pipe->shm;
  if (block->size_bytes <= TP_SHM_SMALL) return sends ? step_send_small : step_recv_small;
  if (shm->groups->endpoint->oversubscribed && !tp_shm_streams(block->size_bytes, shm->local_size))
    return sends ? step_ssend : step_recv_ssend;
  return sends ? step_send : step_recv;
}

hr_status_t tp_permute_shm(tp_request_t *request) {
  const hr_block_t *block = request->args.p2p.block;
  bool sends = request->args.p2p.sends;
  tp_shm_op_t *op = &request->shm_ops[sends ? 0 : 1];
  size_t chunk = tp_shm_chunk(request->groups, block->size_bytes);
  if (sends)
    request->args.in = block->data;
  else
    request->args.out = block->data;
  tp_shm_begin(request, op, request->args.p2p.pipe, block->size_bytes,
               step_of(request->args.p2p.pipe, block, sends));
  op->is_early = sends;
  op->rounds = (int64_t)((block->size_bytes + chunk - 1) / chunk);
  return NULL;
}
