/* All-to-all in shared memory: every member copies in a part of what it has for each, and takes out what the others have
 * for it. The notes say how much each sends to each, and so how many rounds there are for all.
 * Cost: one step a round; each process moves its bytes once in, and once out.
 *
 * Small, of equal sizes: every member leaves what it has for the others beside its counter. Cost: one step.
 *
 * Arrays: if what all members send lies in shared memory anyway, or fits into their notes, each takes it from there.
 * Cost: 2 steps, 1 for what is in notes; each process moves its bytes once. */
#include <string.h>

#include "transport/shm_group.h"

#define SECTIONS_OF ((size_t)4 << 20) /* every rank's arrays may have other sizes, but sections are the same */

typedef struct sizes { /* in a note: sizes, then the places of what is sent and of what is received, if there is room */
  uint64_t rounds;
  uint64_t to[];
} sizes_t;
#define MOST_WITH_PLACES 80

static size_t tables_bytes(int members) { return sizeof(sizes_t) + 3 * (size_t)members * sizeof(uint64_t); }
static uint64_t *places_of(sizes_t *sizes, int members) { return sizes->to + members; }
static uint64_t *targets_of(sizes_t *sizes, int members) { return sizes->to + 2 * members; }

/* Of each member's staging memory: one for every receiver, twice. */
static size_t section_bytes(const tp_request_t *request) {
  size_t bytes = tp_shm_chunk(request->groups, SECTIONS_OF) / (size_t)request->group->size / 64 * 64;
  return bytes ? bytes : 64;
}
static char *section_at(const tp_request_t *request, char *staged, int64_t round, int to) {
  return staged + ((size_t)(round & 1) * (size_t)request->group->size + (size_t)to) * section_bytes(request);
}

/* The part of a block that travels in a round. */
static tp_block_t part_of(const tp_shm_turn_t *turn, const tp_block_t *block) {
  size_t section = section_bytes(turn->request), start = (size_t)turn->round * section;
  if (start >= block->size_bytes) return (tp_block_t){NULL, 0};
  size_t left = block->size_bytes - start;
  return (tp_block_t){(char *)block->data + start, left < section ? left : section};
}

static sizes_t *sizes_of(const tp_shm_turn_t *turn, int member) {
  return (sizes_t *)tp_shm_note(turn, member)->data;
}

static void tell_sizes(tp_shm_turn_t *turn) {
  tp_request_t *request = turn->request;
  sizes_t *mine = sizes_of(turn, turn->group->mine);
  size_t section = section_bytes(request);
  mine->rounds = 1;
  for (int k = 0; k < turn->group->size; k++) {
    mine->to[k] = request->sends[k].size_bytes;
    uint64_t rounds = k == turn->group->mine ? 0 : (mine->to[k] + section - 1) / section;
    if (rounds > mine->rounds) mine->rounds = rounds;
  }
}

static hr_status_t read_sizes(tp_shm_turn_t *turn) {
  for (int k = 0; k < turn->group->size; k++) {
    HR_TRY(tp_shm_check_member(turn, k));
    const sizes_t *theirs = sizes_of(turn, k);
    size_t wanted = turn->request->recvs[k].size_bytes;
    uint64_t sent = theirs->to[turn->group->mine];
    if (sent != wanted)
      return hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", turn->group->ranks[k],
                      (unsigned long long)sent, wanted);
    if ((int64_t)theirs->rounds > turn->rounds) turn->rounds = (int64_t)theirs->rounds;
  }
  return NULL;
}

static void copy_in(tp_shm_turn_t *turn) {
  for (int k = 0; k < turn->group->size; k++) {
    if (k == turn->group->mine) continue;
    tp_block_t part = part_of(turn, &turn->request->sends[k]);
    if (part.size_bytes)
      memcpy(section_at(turn->request, turn->stage_memory, turn->round, k), part.data, part.size_bytes);
  }
}

static bool received_streams(const tp_shm_turn_t *turn) {
  size_t bytes = 0;
  for (int k = 0; k < turn->group->size; k++) bytes += turn->request->recvs[k].size_bytes;
  return tp_shm_streams(bytes, turn->group->size);
}

/* What a member has for itself; others wait for what came before. */
static void move_own(tp_shm_turn_t *turn) {
  const tp_block_t *send = &turn->request->sends[turn->group->mine];
  tp_shm_copy(turn->request->recvs[turn->group->mine].data, send->data, send->size_bytes, received_streams(turn));
}

static hr_status_t copy_out(tp_shm_turn_t *turn) {
  int size = turn->group->size, mine = turn->group->mine;
  bool streams = received_streams(turn);
  for (int i = 1; i < size; i++) {
    int k = (mine + i) % size;
    tp_block_t part = part_of(turn, &turn->request->recvs[k]);
    if (part.size_bytes)
      tp_shm_copy(part.data, section_at(turn->request, tp_shm_staged(turn, k), turn->round, mine), part.size_bytes,
                  streams);
  }
  return NULL;
}

static size_t stage_bytes(const tp_shm_turn_t *turn) {
  return 2 * (size_t)turn->group->size * section_bytes(turn->request);
}

static hr_status_t step_chunks(tp_shm_turn_t *turn, bool *out_done) {
  return tp_shm_chunks(turn, stage_bytes(turn), copy_in, copy_out, out_done);
}

/* --- arrays --- */

/* What little there is for the others goes into the note, behind the tables. */
static bool tell_in_note(tp_shm_turn_t *turn) {
  int size = turn->group->size;
  size_t at = tables_bytes(size);
  tp_shm_note_t *note = tp_shm_note(turn, turn->group->mine);
  for (int k = 0; k < size; k++) {
    const tp_block_t *block = &turn->request->sends[k];
    if (k == turn->group->mine || !block->size_bytes) continue;
    if (block->size_bytes > TP_SHM_SMALL - at) return false;
    memcpy(note->data + at, block->data, block->size_bytes);
    places_of(sizes_of(turn, turn->group->mine), size)[k] = tp_shm_place(turn->group->shm, note->data + at);
    at += block->size_bytes;
  }
  return true;
}

static bool tell_places(tp_shm_turn_t *turn) {
  const tp_shm_t *shm = turn->group->shm;
  for (int k = 0; k < turn->group->size; k++) {
    const tp_block_t *block = &turn->request->sends[k];
    if (k == turn->group->mine || !block->size_bytes) continue;
    if (!tp_shm_has(shm, block->data)) return false;
    places_of(sizes_of(turn, turn->group->mine), turn->group->size)[k] = tp_shm_place(shm, block->data);
  }
  return true;
}

/* Where others may put what this member receives; false: they may not. */
static bool tell_targets(tp_shm_turn_t *turn) {
  const tp_shm_t *shm = turn->group->shm;
  uint64_t *targets = targets_of(sizes_of(turn, turn->group->mine), turn->group->size);
  for (int k = 0; k < turn->group->size; k++) {
    const tp_block_t *block = &turn->request->recvs[k];
    if (block->size_bytes && !tp_shm_has(shm, block->data)) return false;
    targets[k] = block->size_bytes ? tp_shm_place(shm, block->data) : 0;
  }
  return true;
}

#define PIECE_BYTES ((size_t)64 << 10)

/* Small blocks, if all have the same size, are received together. */
static int64_t pieces(const tp_shm_turn_t *turn, bool is_offered) {
  (void)is_offered;
  size_t each = turn->request->size_bytes, size = (size_t)turn->group->size;
  return each && each * size <= PIECE_BYTES ? 1 : (int64_t)size;
}

/* What a member receives from another one. */
static void take_block(tp_shm_turn_t *turn, int member, int64_t number) {
  int size = turn->group->size, mine = turn->group->mine, from = (int)((member + number) % size);
  tp_shm_t *shm = turn->group->shm;
  size_t bytes = sizes_of(turn, from)->to[member];
  if (from == member || !bytes) return;
  char *to = member == mine ? turn->request->recvs[from].data
                            : tp_shm_at(shm, targets_of(sizes_of(turn, member), size)[from]);
  tp_shm_copy(to, tp_shm_at(shm, places_of(sizes_of(turn, from), size)[member]), bytes, received_streams(turn));
}

static hr_status_t take_piece(tp_shm_turn_t *turn, int member, int64_t piece) {
  for (int64_t i = piece; i < (turn->rounds > 1 ? piece + 1 : turn->group->size); i++) take_block(turn, member, i);
  return NULL;
}

/* --- both --- */

static hr_status_t tell(tp_shm_turn_t *turn) {
  bool has_places = turn->group->size <= MOST_WITH_PLACES;
  turn->in_note = has_places && tell_in_note(turn);
  bool is_shared = turn->in_note || (has_places && tell_places(turn));
  tp_shm_note_t *note = tp_shm_note(turn, turn->group->mine);
  note->is_shared = is_shared;
  note->is_offered = turn->request->groups->endpoint->crowded && is_shared && !turn->in_note &&
                     !received_streams(turn) && tell_targets(turn);
  tell_sizes(turn);
  if (!is_shared) {
    HR_TRY(tp_shm_stage(turn, stage_bytes(turn), &turn->stage_memory));
    copy_in(turn);
  }
  tp_shm_did(turn);
  move_own(turn);
  return NULL;
}

static hr_status_t step_first(tp_shm_turn_t *turn, bool *out_done) {
  static const tp_shm_ways_t ways = {tell, read_sizes, pieces, take_piece, step_chunks};
  return tp_shm_meet(turn, &ways, out_done);
}

/* The lists are the caller's only until the start is over: they are copied. */
static hr_status_t keep_lists(tp_request_t *request) {
  size_t size = (size_t)request->group->size;
  HR_TRY(tp_space_reserve(&request->gathered, 2 * size, sizeof(tp_block_t)));
  tp_block_t *kept = (tp_block_t *)request->gathered.data;
  memcpy(kept, request->sends, size * sizeof *kept);
  memcpy(kept + size, request->recvs, size * sizeof *kept);
  request->sends = kept;
  request->recvs = kept + size;
  return NULL;
}

static hr_status_t prepare(tp_request_t *request) {
  const tp_block_t *send = &request->sends[request->group->my_index];
  const tp_block_t *recv = &request->recvs[request->group->my_index];
  if (send->size_bytes != recv->size_bytes)
    return hr_error(HR_DISAGREE, "%zu bytes sent to itself, %zu wanted", send->size_bytes, recv->size_bytes);
  return keep_lists(request);
}

hr_status_t tp_all_to_all_shm(tp_request_t *request) {
  HR_TRY(prepare(request));
  tp_shm_begin(request, &request->turns[0], request->group->shm, 0, step_first);
  return NULL;
}

/* --- small: all blocks are in the note, one after the other --- */

static void give_small(tp_shm_turn_t *turn) {
  const tp_request_t *request = turn->request;
  char *to = tp_shm_small(turn, turn->group->mine);
  for (int k = 0; k < turn->group->size; k++, to += request->size_bytes)
    memcpy(to, request->sends[k].data, request->size_bytes);
}

static hr_status_t take_small(tp_shm_turn_t *turn) {
  const tp_request_t *request = turn->request;
  int mine = turn->group->mine;
  HR_TRY(tp_shm_check_sizes(turn));
  for (int k = 0; k < turn->group->size; k++)
    if (k != mine)
      memcpy(request->recvs[k].data, tp_shm_small(turn, k) + (size_t)mine * request->size_bytes, request->size_bytes);
  return NULL;
}

static hr_status_t step_small(tp_shm_turn_t *turn, bool *out_done) {
  if (!turn->steps) {
    give_small(turn);
    tp_shm_did(turn);
    move_own(turn);
  }
  *out_done = tp_shm_all_did(turn, 1);
  return *out_done ? take_small(turn) : NULL;
}

hr_status_t tp_all_to_all_shm_small(tp_request_t *request) {
  if (!request->size_bytes) return tp_all_to_all_shm(request); /* sizes may differ */
  HR_TRY(prepare(request));
  tp_shm_begin(request, &request->turns[0], request->group->shm, request->size_bytes * (size_t)request->group->size,
               step_small);
  return NULL;
}
