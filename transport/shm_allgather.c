/* All-gather in shared memory: every member copies a chunk in, and then everybody's chunks out. Small ones go through
 * the notes beside the counters.
 * Cost: one step a chunk; each process moves its own bytes once, and all members' once.
 *
 * Arrays: if what all members give and get lies in shared memory anyway, nothing is copied in. Each copies what the
 * others have straight into its own result, which is then in its cache; or, what is too large for it, its own bytes into
 * everybody's results, a block at a time, so that they are read once. Bytes elsewhere first go to their own place in the
 * result.
 * Cost: 2 steps; p * n bytes written, as many or n read. */
#include <string.h>

#include "transport/shm_group.h"

static char *place_of(const tp_request_t *request, int member) {
  return request->out + (size_t)member * request->size_bytes;
}

static bool streams(const tp_shm_turn_t *turn) {
  int size = turn->group->size;
  return tp_shm_streams(turn->size_bytes * (size_t)size, size);
}

static void place_own(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  tp_shm_copy(place_of(request, turn->group->mine), request->in, request->size_bytes,
              streams(turn));
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

/* --- arrays --- */

#define OWN_CACHE_BYTES ((size_t)1 << 20) /* of results that do not stay in a processor's own cache */

/* Bytes that are read at a time, and written to all: memory is written fastest in long rows. */
static size_t spread_bytes(const tp_shm_turn_t *turn) { return (size_t)(streams(turn) ? 128 : 16) << 10; }

static bool gives(const tp_shm_turn_t *turn, bool is_offered) {
  return is_offered || (size_t)turn->group->size * turn->size_bytes >= OWN_CACHE_BYTES;
}

static void take_all(tp_shm_turn_t *turn) {
  int size = turn->group->size, mine = turn->group->mine;
  for (int i = 0; i < size; i++) {
    int k = (mine + i) % size;
    tp_shm_copy(place_of(turn->request, k), tp_shm_in(turn, k), turn->size_bytes, false);
  }
}

/* What this member gives itself nobody else reads: it may lie anywhere. */
static void give_piece(tp_shm_turn_t *turn, int member, int64_t piece) {
  int size = turn->group->size;
  const char *in = member == turn->group->mine ? turn->request->in : tp_shm_in(turn, member);
  size_t most = spread_bytes(turn), start = (size_t)piece * most, left = turn->size_bytes - start;
  size_t at = (size_t)member * turn->size_bytes + start;
  for (int i = 0; i < size; i++)
    tp_shm_copy(tp_shm_out(turn, (member + i) % size) + at, in + start, left < most ? left : most, streams(turn));
}

static int64_t pieces(const tp_shm_turn_t *turn, bool is_offered) {
  size_t most = spread_bytes(turn);
  return gives(turn, is_offered) ? (int64_t)((turn->size_bytes + most - 1) / most) : 1;
}

static hr_status_t move_piece(tp_shm_turn_t *turn, int member, int64_t piece) {
  if (gives(turn, turn->pieces > 0))
    give_piece(turn, member, piece);
  else
    take_all(turn);
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

static hr_status_t copy_out(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  size_t start = (size_t)turn->round * turn->chunk_bytes, bytes = chunk_bytes(turn);
  if (!turn->round) place_own(turn);
  for (int i = 1; i < turn->group->size; i++) {
    int k = (turn->group->mine + i) % turn->group->size;
    tp_shm_copy(place_of(request, k) + start, chunk_at(turn, tp_shm_staged(turn, k)), bytes, streams(turn));
  }
  return NULL;
}

static void copy_in(tp_shm_turn_t *turn) {
  size_t start = (size_t)turn->round * turn->chunk_bytes;
  memcpy(chunk_at(turn, turn->stage_memory), turn->request->in + start, chunk_bytes(turn));
}

static hr_status_t step_chunks(tp_shm_turn_t *turn, bool *out_done) {
  return tp_shm_chunks(turn, 2 * turn->chunk_bytes, copy_in, copy_out, out_done);
}

/* --- both --- */

/* This member's bytes where others reach them, once it has told its places; NULL: nowhere. */
static const char *reachable_in(const tp_shm_turn_t *turn) {
  int mine = turn->group->mine;
  return tp_shm_note(turn, mine)->in ? tp_shm_in(turn, mine) : NULL;
}

/* What others are to read and cannot reach goes to its place in the result first, where it belongs anyway. */
static bool tell_places(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  const tp_shm_t *shm = turn->group->shm;
  bool has_in = tp_shm_has(shm, request->in);
  if (has_in || streams(turn)) return tp_shm_tell(turn, has_in ? request->in : NULL, request->out);
  if (!tp_shm_has(shm, request->out)) return tp_shm_tell(turn, request->in, request->out);
  place_own(turn);
  return tp_shm_tell(turn, place_of(request, turn->group->mine), request->out);
}

static hr_status_t tell(tp_shm_turn_t *turn) {
  if (!tell_places(turn)) {
    HR_TRY(tp_shm_stage(turn, 2 * turn->chunk_bytes, &turn->stage_memory));
    copy_in(turn);
  }
  tp_shm_offer(turn, streams(turn), reachable_in(turn), turn->request->out);
  tp_shm_did(turn);
  return NULL;
}

static hr_status_t step_first(tp_shm_turn_t *turn, bool *out_done) {
  static const tp_shm_ways_t ways = {tell, tp_shm_check_sizes, pieces, move_piece, step_chunks};
  return tp_shm_meet(turn, &ways, out_done);
}

hr_status_t tp_all_gather_shm(tp_request_t *request) {
  size_t chunk = tp_shm_chunk(request->groups, request->size_bytes);
  tp_shm_begin(request, &request->turns[0], request->group->shm, request->size_bytes, step_first);
  request->turns[0].rounds = (int64_t)((request->size_bytes + chunk - 1) / chunk);
  return NULL;
}
