/* All-gather in shared memory: every member copies a chunk in, and then everybody's chunks out. Small ones go through
 * the notes beside the counters.
 * Cost: one step a chunk; each process moves its own bytes once, and all members' once. */
#include <string.h>

#include "transport/shm_group.h"

static char *place_of(const tp_request_t *request, int member) {
  return request->out + (size_t)member * request->size_bytes;
}

static void place_own(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  tp_shm_copy(place_of(request, turn->group->mine), request->in, request->size_bytes,
              turn->size_bytes >= TP_SHM_STREAM_BYTES);
}

static hr_status_t step_small(tp_shm_turn_t *turn, bool *out_done) {
  tp_request_t *request = turn->request;
  if (!turn->steps) {
    memcpy(tp_shm_small(turn, turn->group->mine), request->in, turn->size_bytes);
    tp_shm_did(turn);
    place_own(turn);
  }
  *out_done = tp_shm_all_did(turn, 1);
  if (!*out_done) return NULL;
  HR_TRY(tp_shm_check_sizes(turn));
  for (int k = 0; k < turn->group->size; k++)
    if (k != turn->group->mine) memcpy(place_of(request, k), tp_shm_small(turn, k), turn->size_bytes);
  return NULL;
}

hr_status_t tp_all_gather_shm_small(tp_request_t *request) {
  tp_shm_begin(request, &request->turns[0], request->group->shm, request->size_bytes, step_small);
  return NULL;
}

/* --- chunks --- */

static char *chunk_at(const tp_shm_turn_t *turn, char *staged) {
  return staged + (size_t)(turn->round & 1) * turn->chunk_bytes;
}

static size_t chunk_bytes(const tp_shm_turn_t *turn) {
  size_t chunk = turn->chunk_bytes, left = turn->size_bytes - (size_t)turn->round * chunk;
  return left < chunk ? left : chunk;
}

static void copy_out(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  size_t start = (size_t)turn->round * turn->chunk_bytes, bytes = chunk_bytes(turn);
  for (int i = 1; i < turn->group->size; i++) {
    int k = (turn->group->mine + i) % turn->group->size;
    tp_shm_copy(place_of(request, k) + start, chunk_at(turn, tp_shm_staged(turn, k)), bytes,
                turn->size_bytes >= TP_SHM_STREAM_BYTES);
  }
}

static hr_status_t step(tp_shm_turn_t *turn, bool *out_done) {
  tp_request_t *request = turn->request;
  size_t chunk = turn->chunk_bytes;
  if (!turn->stage) {
    HR_TRY(tp_shm_stage(turn, 2 * chunk, &turn->stage_memory));
    place_own(turn);
  }
  for (;; turn->round++) {
    uint64_t round = (uint64_t)turn->round;
    *out_done = turn->round == turn->rounds;
    if (*out_done) return tp_shm_leave(turn);
    if (turn->steps == round) {
      memcpy(chunk_at(turn, turn->stage_memory), request->in + round * chunk, chunk_bytes(turn));
      tp_shm_did(turn);
    }
    if (!tp_shm_all_did(turn, round + 1)) return NULL;
    if (!round) HR_TRY(tp_shm_check_sizes(turn));
    copy_out(turn);
  }
}

hr_status_t tp_all_gather_shm(tp_request_t *request) {
  size_t chunk = tp_shm_chunk(request->groups, request->size_bytes);
  tp_shm_begin(request, &request->turns[0], request->group->shm, request->size_bytes, step);
  request->turns[0].rounds = (int64_t)((request->size_bytes + chunk - 1) / chunk);
  return NULL;
}
