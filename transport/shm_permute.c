/* Point to point in shared memory: the sender copies a chunk in, the receiver copies it out, at the same time with two
 * buffers between them. Each pair of ranks and stream has a pipe of its own; the sender is done when the receiver is.
 * Small ones lie in the note, and the sender goes on at once: it waits only for a note that has yet to be read. Where
 * processes compete for processors there are more of them, and who runs gets further before another one must.
 * Cost: one step a chunk; the bytes move once in and once out, both ends working at once. If the sender's array lies in
 * shared memory anyway the receiver copies it from there, whole: one step, and the bytes move once. Where processes
 * compete for processors, and both arrays do, the one who comes second copies, and neither has to run again for it. */
#include <string.h>

#include "transport/shm_group.h"

#define SENDER 0
#define RECEIVER 1

static tp_block_t part_of(const tp_shm_turn_t *turn, const char *data) {
  size_t chunk = turn->chunk_bytes, start = (size_t)turn->round * chunk, left = turn->size_bytes - start;
  return (tp_block_t){(char *)data + start, left < chunk ? left : chunk};
}

static char *chunk_at(const tp_shm_turn_t *turn, char *staged) {
  return staged + (size_t)(turn->round & 1) * turn->chunk_bytes;
}

static size_t stage_bytes(const tp_shm_turn_t *turn) {
  size_t chunk = turn->chunk_bytes;
  return turn->rounds > 1 ? 2 * chunk : turn->size_bytes;
}

static hr_status_t wait_for_receiver(tp_shm_turn_t *turn, bool *out_done) {
  *out_done = tp_shm_member_did(turn, RECEIVER, turn->steps);
  return NULL;
}

static hr_status_t send_chunks(tp_shm_turn_t *turn, bool *out_done) {
  for (; turn->round < turn->rounds; turn->round++) {
    if (turn->round >= 2 && !tp_shm_member_did(turn, RECEIVER, turn->first + (uint64_t)turn->round - 1)) return NULL;
    tp_block_t part = part_of(turn, turn->request->in);
    memcpy(chunk_at(turn, turn->stage_memory), part.data, part.size_bytes);
    tp_shm_did(turn);
  }
  return wait_for_receiver(turn, out_done);
}

/* Has the receiver read the note that this transfer is to have: was it through with the one that had it before when the
 * next one began? The line of its counter is looked at as seldom as can be: it is in another processor's cache. */
static bool note_is_free(tp_shm_turn_t *turn) {
  tp_shm_group_t *pipe = turn->group;
  uint64_t base = pipe->bases[(turn->number + 1) & (pipe->notes - 1)];
  if (pipe->known >= base) return true;
  if (!tp_shm_member_counted(turn, RECEIVER, base)) return false;
  pipe->known = atomic_load_explicit(&pipe->lines[RECEIVER]->count, memory_order_acquire);
  return true;
}

static hr_status_t send_all(tp_shm_turn_t *turn, bool *out_done) {
  if (tp_shm_note(turn, SENDER)->is_shared) {
    tp_shm_did(turn);
    turn->step = wait_for_receiver;
  } else {
    HR_TRY(tp_shm_stage(turn, stage_bytes(turn), &turn->stage_memory));
    turn->step = send_chunks;
  }
  return turn->step(turn, out_done);
}

static hr_status_t step_send(tp_shm_turn_t *turn, bool *out_done) {
  if (!note_is_free(turn)) return NULL;
  tp_shm_tell_size(turn);
  tp_shm_tell(turn, turn->request->in, NULL);
  return send_all(turn, out_done);
}

static hr_status_t check_size(const tp_shm_turn_t *turn) {
  uint64_t sent = tp_shm_transfer_of(turn, SENDER); /* of permutes: the size alone */
  if (sent == turn->size_bytes) return NULL;
  return hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", turn->group->ranks[SENDER],
                  (unsigned long long)sent, turn->size_bytes);
}

/* The sender has come: it has put its first chunk there, or all is where it was. */
static tp_block_t first_part(tp_shm_turn_t *turn, const char **out_from) {
  bool whole = tp_shm_note(turn, SENDER)->is_shared;
  *out_from = whole ? tp_shm_in(turn, SENDER) : chunk_at(turn, tp_shm_staged(turn, SENDER));
  if (!whole) return part_of(turn, turn->request->out);
  turn->rounds = 1;
  return (tp_block_t){turn->request->out, turn->size_bytes};
}

static bool streams(const tp_shm_turn_t *turn) {
  return tp_shm_streams(turn->size_bytes, turn->group->shm->local_size);
}

static hr_status_t step_recv(tp_shm_turn_t *turn, bool *out_done) {
  for (; turn->round < turn->rounds; turn->round++) {
    const char *from;
    tp_block_t part;
    if (!tp_shm_member_did(turn, SENDER, turn->first + (uint64_t)turn->round + 1)) return NULL;
    if (turn->round) {
      from = chunk_at(turn, tp_shm_staged(turn, SENDER));
      part = part_of(turn, turn->request->out);
    } else {
      HR_TRY(check_size(turn));
      part = first_part(turn, &from);
    }
    tp_shm_copy(part.data, from, part.size_bytes, streams(turn));
    tp_shm_did(turn);
  }
  *out_done = true;
  return NULL;
}

/* --- who comes second copies --- */

enum { OUTCOME_COPIED = 1, OUTCOME_OUT_OF_REACH = 2 }; /* for who comes second; as done pieces of the block */

static hr_status_t copy_for_both(tp_shm_turn_t *turn) {
  bool reaches = tp_shm_note(turn, SENDER)->is_shared && tp_shm_note(turn, RECEIVER)->is_shared;
  HR_TRY(tp_shm_check_sizes(turn));
  if (reaches) tp_shm_copy(tp_shm_out(turn, RECEIVER), tp_shm_in(turn, SENDER), turn->size_bytes, streams(turn));
  tp_shm_set_pieces_done(turn, reaches ? OUTCOME_COPIED : OUTCOME_OUT_OF_REACH);
  return NULL;
}

static hr_status_t wait_for_copy(tp_shm_turn_t *turn, bool *out_done) {
  bool sends = turn->group->mine == SENDER;
  int64_t outcome = tp_shm_pieces_done(turn);
  if (!outcome) return !sends && tp_shm_member_did(turn, SENDER, 1) ? check_size(turn) : NULL;
  turn->pieces = 0;
  if (!sends) tp_shm_did(turn);
  *out_done = outcome == OUTCOME_COPIED;
  if (*out_done) return NULL;
  turn->first = 1;
  turn->step = sends ? send_all : step_recv;
  return turn->step(turn, out_done);
}

/* The sender's count tells a receiver that wants another size of it. */
static hr_status_t meet(tp_shm_turn_t *turn, bool *out_done) {
  int64_t before;
  turn->step = wait_for_copy;
  turn->pieces = 1;
  if (turn->group->mine == SENDER) tp_shm_did(turn);
  tp_shm_count_piece(turn, &turn->group->block->taken, 2, &before);
  if (before) HR_TRY(copy_for_both(turn));
  return turn->step(turn, out_done);
}

static hr_status_t step_send_meeting(tp_shm_turn_t *turn, bool *out_done) {
  if (!note_is_free(turn)) return NULL;
  tp_shm_tell_size(turn);
  tp_shm_tell(turn, turn->request->in, NULL);
  return meet(turn, out_done);
}

static hr_status_t step_recv_meeting(tp_shm_turn_t *turn, bool *out_done) {
  tp_shm_tell(turn, NULL, turn->request->out);
  return meet(turn, out_done);
}

/* --- small --- */

static hr_status_t step_send_small(tp_shm_turn_t *turn, bool *out_done) {
  *out_done = note_is_free(turn);
  if (!*out_done) return NULL;
  tp_shm_tell_size(turn);
  memcpy(tp_shm_small(turn, SENDER), turn->request->in, turn->size_bytes);
  tp_shm_did(turn);
  return NULL;
}

static hr_status_t step_recv_small(tp_shm_turn_t *turn, bool *out_done) {
  *out_done = tp_shm_member_did(turn, SENDER, 1);
  if (!*out_done) return NULL;
  HR_TRY(check_size(turn));
  memcpy(turn->request->out, tp_shm_small(turn, SENDER), turn->size_bytes);
  tp_shm_did(turn);
  return NULL;
}

static tp_shm_step_fn step_of(const tp_shm_group_t *pipe, const tp_block_t *block, bool sends) {
  const tp_shm_t *shm = pipe->shm;
  if (block->size_bytes <= TP_SHM_SMALL) return sends ? step_send_small : step_recv_small;
  if (shm->groups->endpoint->crowded && !tp_shm_streams(block->size_bytes, shm->local_size))
    return sends ? step_send_meeting : step_recv_meeting;
  return sends ? step_send : step_recv;
}

hr_status_t tp_permute_shm(tp_request_t *request) {
  const tp_block_t *block = request->half.block;
  bool sends = request->half.sends;
  tp_shm_turn_t *turn = &request->turns[sends ? 0 : 1];
  size_t chunk = tp_shm_chunk(request->groups, block->size_bytes);
  if (sends)
    request->in = block->data;
  else
    request->out = block->data;
  tp_shm_begin(request, turn, request->half.pipe, block->size_bytes, step_of(request->half.pipe, block, sends));
  turn->eager = sends;
  turn->rounds = (int64_t)((block->size_bytes + chunk - 1) / chunk);
  return NULL;
}
