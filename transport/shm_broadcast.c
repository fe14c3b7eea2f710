/* Broadcast in shared memory: the root copies a chunk in, the others copy it out; it is two chunks ahead at most.
 * Cost: one step a chunk; the bytes move once in, and once out for each member. Nobody leaves before all have come.
 * If the root's array lies in shared memory anyway, the others copy it from there, whole. */
#include <string.h>

#include "transport/shm_group.h"

static char *chunk_at(const tp_shm_turn_t *turn, char *staged) {
  return staged + (size_t)(turn->round & 1) * turn->chunk_bytes;
}

static void copy_chunk(tp_shm_turn_t *turn, char *staged, bool into_stage) {
  size_t chunk = turn->chunk_bytes, start = (size_t)turn->round * chunk, left = turn->size_bytes - start;
  char *shared = chunk_at(turn, staged), *own = turn->request->out + start;
  if (left > chunk) left = chunk;
  if (into_stage)
    memcpy(shared, own, left);
  else
    tp_shm_copy(own, shared, left, tp_shm_streams(turn->size_bytes, turn->group->shm->local_size));
}

static hr_status_t wait_for_all(tp_shm_turn_t *turn, bool *out_done) {
  *out_done = tp_shm_all_did(turn, 1);
  return *out_done ? tp_shm_check_sizes(turn) : NULL;
}

static hr_status_t step_root(tp_shm_turn_t *turn, bool *out_done) {
  if (!turn->steps && tp_shm_tell(turn, turn->request->out, NULL)) {
    tp_shm_did(turn);
    turn->step = wait_for_all;
    return turn->step(turn, out_done);
  }
  if (!turn->stage) HR_TRY(tp_shm_stage(turn, 2 * turn->chunk_bytes, &turn->stage_memory));
  for (; turn->round < turn->rounds; turn->round++) {
    if (turn->round >= 2 && !tp_shm_all_did(turn, (uint64_t)turn->round - 1)) return NULL;
    copy_chunk(turn, turn->stage_memory, true);
    tp_shm_did(turn);
  }
  return wait_for_all(turn, out_done);
}

/* The root has come, and says where the bytes are. */
static hr_status_t meet_root(tp_shm_turn_t *turn, int root) {
  HR_TRY(tp_shm_check_member(turn, root));
  if (!tp_shm_note(turn, root)->is_shared) return NULL;
  tp_shm_copy(turn->request->out, tp_shm_in(turn, root), turn->size_bytes, tp_shm_streams(turn->size_bytes, turn->group->shm->local_size));
  tp_shm_did(turn);
  turn->round = turn->rounds;
  return NULL;
}

static hr_status_t step_other(tp_shm_turn_t *turn, bool *out_done) {
  int root = (int)turn->request->count;
  for (; turn->round < turn->rounds; turn->round++) {
    if (!tp_shm_member_did(turn, root, (uint64_t)turn->round + 1)) return NULL;
    if (!turn->round) HR_TRY(meet_root(turn, root));
    if (turn->round == turn->rounds) break;
    copy_chunk(turn, tp_shm_staged(turn, root), false);
    tp_shm_did(turn);
  }
  *out_done = tp_shm_all_did(turn, 1);
  return NULL;
}

hr_status_t tp_broadcast_shm(tp_request_t *request) {
  size_t chunk = tp_shm_chunk(request->groups, request->size_bytes);
  bool is_root = request->group->my_index == (int)request->count;
  tp_shm_begin(request, &request->turns[0], request->group->shm, request->size_bytes, is_root ? step_root : step_other);
  request->turns[0].rounds = (int64_t)((request->size_bytes + chunk - 1) / chunk);
  if (!request->turns[0].rounds) request->turns[0].rounds = 1;
  return NULL;
}
