#include "transport/shm_group.h"

#include <string.h>

#include "base/mem.h"
#include "transport/machines.h"

#define SPINS 200           /* looks at a counter before the caller may do other things, */
#define QUICK_LOOKS 32      /* the first of them without a pause */
#define LEAST_CHUNK_BYTES ((size_t)128 << 10)
#define MOST_CHUNK_BYTES ((size_t)1 << 20)

struct tp_shm_staging { /* memory that others read */
  struct tp_shm_staging *next;
  char *memory;
  size_t size_bytes;
  tp_shm_group_t *group; /* whose transfer used it last */
  uint64_t until;        /* it is free when all members have counted so far */
};

/* --- groups --- */

static hr_status_t new_group(tp_groups_t *groups, int size, const int *ranks, uint64_t key, tp_shm_group_t **out_group) {
  tp_shm_t *shm = groups->shm;
  *out_group = NULL;
  for (int k = 0; k < size; k++)
    if (shm->local_of[ranks[k]] < 0) return NULL;
  tp_shm_block_t *block = tp_shm_block_of(shm, key, size);
  if (!block) return NULL;
  void *memory;
  HR_TRY(hr_arena_zeroed(&groups->arena, sizeof(tp_shm_group_t) + (size_t)size * sizeof(tp_shm_line_t *), &memory));
  tp_shm_group_t *group = memory;
  group->block = block;
  group->shm = shm, group->size = size, group->ranks = ranks, group->mine = -1;
  group->notes = 2;
  for (int k = 0; k < size; k++) {
    group->lines[k] = &block->lines[k];
    if (ranks[k] == groups->endpoint->rank) group->mine = k;
  }
  *out_group = group;
  return NULL;
}

hr_status_t tp_shm_group_of(tp_group_t *group, tp_shm_group_t **out_group) {
  bool is_open = group->owner->endpoint->groups != NULL; /* before, machines are still being found */
  if (!is_open || !group->owner->machine_of || group->my_index < 0) {
    *out_group = NULL;
    return NULL;
  }
  if (!group->looked_for_shm) group->machines = tp_count_machines(group);
  if (!group->looked_for_shm && group->owner->shm) {
    uint64_t key = hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, 11);
    key = hr_hash_bytes(&group->stream, sizeof group->stream, key);
    HR_TRY(new_group(group->owner, group->size, group->ranks, key, &group->shm));
  }
  group->looked_for_shm = true;
  *out_group = group->shm;
  return NULL;
}

typedef struct pipe_key {
  int64_t stream;
  int ranks[2]; /* from, to */
} pipe_key_t;

static hr_status_t new_pipe(tp_groups_t *groups, const pipe_key_t *key, tp_shm_group_t **out_pipe) {
  void *memory;
  HR_TRY(hr_arena_copy(&groups->arena, key, sizeof *key, &memory));
  const pipe_key_t *kept = memory;
  HR_TRY(new_group(groups, 2, kept->ranks, hr_hash_bytes(key, sizeof *key, 13), out_pipe));
  if (!*out_pipe) return NULL;
  (*out_pipe)->stream = key->stream;
  if (groups->endpoint->crowded) (*out_pipe)->notes = TP_SHM_NOTES;
  return hr_map_put(&groups->pipes, (hr_str_t){(const char *)kept, sizeof *kept}, *out_pipe, NULL);
}

static bool is_pipe(const tp_shm_group_t *pipe, const pipe_key_t *key) {
  return pipe && pipe->stream == key->stream && pipe->ranks[0] == key->ranks[0] && pipe->ranks[1] == key->ranks[1];
}

hr_status_t tp_shm_pipe_of(tp_groups_t *groups, int from, int to, int64_t stream, tp_shm_group_t **out_group) {
  pipe_key_t key = {stream, {from, to}};
  tp_shm_group_t **last = &groups->last_pipes[from == groups->endpoint->rank];
  *out_group = NULL;
  if (!groups->shm || groups->shm->local_of[from] < 0 || groups->shm->local_of[to] < 0) return NULL;
  if (!is_pipe(*last, &key)) *last = hr_map_get(&groups->pipes, (hr_str_t){(const char *)&key, sizeof key});
  if (!*last) HR_TRY(new_pipe(groups, &key, last));
  *out_group = *last;
  return NULL;
}

/* --- counting --- */

static inline bool has_counted(const tp_shm_group_t *group, int member, uint64_t count) {
  return atomic_load_explicit(&group->lines[member]->count, memory_order_acquire) >= count;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

bool tp_shm_member_counted(tp_shm_turn_t *turn, int member, uint64_t count) {
  turn->wanted = count;
  const tp_groups_t *groups = turn->request->groups;
  int spins = groups->endpoint->crowded || groups->looks ? 0 : SPINS;
  for (int i = 0; i <= spins; i++) {
    if (has_counted(turn->group, member, count)) return true;
    if (i >= QUICK_LOOKS) relax();
  }
  return false;
}

bool tp_shm_member_did(tp_shm_turn_t *turn, int member, uint64_t steps) {
  return tp_shm_member_counted(turn, member, turn->base + steps);
}

bool tp_shm_all_did(tp_shm_turn_t *turn, uint64_t steps) {
  if (turn->seen_steps != steps) turn->seen_steps = steps, turn->seen = 0;
  for (; turn->seen < turn->group->size; turn->seen++)
    if (!tp_shm_member_did(turn, turn->seen, steps)) return false;
  return true;
}

/* Counting begins anew with every transfer, which needs all members and
 * so cannot begin before all have left the one before. */
bool tp_shm_count_piece(const tp_shm_turn_t *turn, _Atomic uint64_t *counter, int64_t most, int64_t *out_piece) {
  uint64_t was = atomic_load_explicit(counter, memory_order_relaxed), number = (uint64_t)turn->number << 32, piece;
  do {
    piece = was >> 32 == turn->number ? was & UINT32_MAX : 0;
    if (piece == (uint64_t)most) return false;
  } while (!atomic_compare_exchange_weak(counter, &was, number | (piece + 1)));
  *out_piece = (int64_t)piece;
  return true;
}

int64_t tp_shm_pieces_done(const tp_shm_turn_t *turn) {
  uint64_t done = atomic_load_explicit(&turn->group->block->done, memory_order_acquire);
  return done >> 32 == turn->number ? (int64_t)(done & UINT32_MAX) : 0;
}

void tp_shm_set_pieces_done(const tp_shm_turn_t *turn, int64_t pieces) {
  uint64_t done = (uint64_t)turn->number << 32 | (uint64_t)pieces;
  atomic_store_explicit(&turn->group->block->done, done, memory_order_release);
}

static bool is_all_done(const tp_shm_turn_t *turn) { return tp_shm_pieces_done(turn) >= turn->pieces; }

/* Is it, or its work, done as far as this one waits for it? */
static bool has_done(const tp_shm_turn_t *turn, int member) {
  return turn->pieces ? is_all_done(turn) : has_counted(turn->group, member, turn->wanted);
}

/* A member that is behind and gone will never come: it is asked for its counter again after it was seen to be gone. */
static hr_status_t look_for_dead(const tp_shm_turn_t *turn) {
  const tp_shm_group_t *group = turn->group;
  for (int k = 0; k < group->size; k++)
    if (!has_done(turn, k) && !tp_shm_lives(group->shm, group->ranks[k]) && !has_done(turn, k))
      return tp_shm_gone(group->shm, group->ranks[k], group->shm->groups->endpoint->host);
  return NULL;
}

/* --- turns --- */

void tp_shm_begin(tp_request_t *request, tp_shm_turn_t *turn, tp_shm_group_t *group, size_t size_bytes,
                  tp_shm_step_fn step) {
  hr_clear(turn, sizeof *turn);
  turn->request = request, turn->group = group, turn->step = step;
  turn->number = group->next_turn++;
  turn->size_bytes = size_bytes, turn->chunk_bytes = tp_shm_chunk(request->groups, size_bytes);
  request->poll = tp_shm_poll;
}

static void begin_turn(tp_shm_turn_t *turn) {
  turn->begun = true;
  turn->base = turn->group->count;
  if (!turn->eager) tp_shm_tell_size(turn);
}

static void end_turn(tp_shm_turn_t *turn) {
  turn->over = true;
  turn->group->turn++;
  turn->group->bases[tp_shm_note_number(turn)] = turn->base;
  if (turn->stage) turn->stage->until = turn->base + turn->steps;
}

static hr_status_t move_turn(tp_shm_turn_t *turn) {
  bool done = false;
  uint64_t before = turn->steps;
  if (turn->group->broken) return hr_error(HR_CANCELLED, "an earlier transfer of the group was given up");
  if (turn->group->turn != turn->number) return NULL;
  if (!turn->begun) begin_turn(turn);
  HR_TRY(turn->step(turn, &done));
  if (done) {
    end_turn(turn);
    return NULL;
  }
  if (turn->steps == before) return tp_shm_watch_is_due(&turn->watch) ? look_for_dead(turn) : NULL;
  turn->watch = (tp_shm_watch_t){0};
  return NULL;
}

static bool is_under_way(const tp_shm_turn_t *turn) { return turn->group && !turn->over; }

/* Who sends and receives does not stand and wait for its receiver before it has looked at what it receives itself. */
static hr_status_t move_first_turn(tp_request_t *request) {
  tp_groups_t *groups = request->groups;
  bool looked = groups->looks;
  groups->looks = looked || is_under_way(&request->turns[1]);
  hr_status_t st = move_turn(&request->turns[0]);
  groups->looks = looked;
  return st;
}

hr_status_t tp_shm_poll(tp_request_t *request, bool *out_done) {
  if (is_under_way(&request->turns[0])) HR_TRY(move_first_turn(request));
  if (is_under_way(&request->turns[1])) HR_TRY(move_turn(&request->turns[1]));
  *out_done = !is_under_way(&request->turns[0]) && !is_under_way(&request->turns[1]);
  return NULL;
}

void tp_shm_give_up(tp_request_t *request) {
  for (int i = 0; i < 2; i++)
    if (request->turns[i].group && !request->turns[i].over) request->turns[i].group->broken = true;
}

/* "all-reduce of 32 bytes"; only "all-to-all" where sizes are told apart from it. */
static void describe_transfer(uint64_t transfer, char *text, size_t size) {
  uint64_t bytes = transfer & ((UINT64_C(1) << TP_SHM_SIZE_BITS) - 1);
  int algorithm = (int)(transfer >> TP_SHM_SIZE_BITS) - 1;
  tp_collective_t collective = TP_PERMUTE;
  if (algorithm >= 0 && algorithm < tp_algorithm_count()) tp_algorithm_name(algorithm, &collective);
  int used = snprintf(text, size, "%s", tp_collective_name(collective));
  if (bytes) snprintf(text + used, size - (size_t)used, " of %llu bytes", (unsigned long long)bytes);
}

hr_status_t tp_shm_check_member(const tp_shm_turn_t *turn, int member) {
  uint64_t theirs = tp_shm_transfer_of(turn, member), mine = tp_shm_transfer(turn);
  char found[64], wanted[64];
  if (theirs == mine) return NULL;
  describe_transfer(theirs, found, sizeof found);
  describe_transfer(mine, wanted, sizeof wanted);
  hr_status_t st = hr_error(HR_DISAGREE, "rank %d does a transfer of another kind or size: %s, where this one has %s",
                            turn->group->ranks[member], found, wanted);
  return hr_status_note(st, "the processes have taken different ways; --verify-comm names the instructions");
}

hr_status_t tp_shm_check_sizes(tp_shm_turn_t *turn) {
  for (int k = 0; k < turn->group->size; k++) HR_TRY(tp_shm_check_member(turn, k));
  return NULL;
}

/* --- arrays in shared memory --- */

bool tp_shm_tell(tp_shm_turn_t *turn, const void *in, const void *out) {
  const tp_shm_t *shm = turn->group->shm;
  tp_shm_note_t *note = tp_shm_note(turn, turn->group->mine);
  note->is_offered = false;
  note->is_shared = (!in || tp_shm_has(shm, in)) && (!out || tp_shm_has(shm, out));
  note->in = in ? tp_shm_place(shm, in) : 0;
  note->out = out ? tp_shm_place(shm, out) : 0;
  return note->is_shared;
}

void tp_shm_offer(tp_shm_turn_t *turn, bool streams, const void *in, const void *out) {
  const tp_shm_t *shm = turn->group->shm;
  tp_shm_note_t *note = tp_shm_note(turn, turn->group->mine);
  bool is_crowded = turn->request->groups->endpoint->crowded;
  note->is_offered = is_crowded && !streams && note->is_shared && tp_shm_has(shm, in) && tp_shm_has(shm, out);
  if (!note->is_offered) return;
  note->in = tp_shm_place(shm, in);
  note->out = tp_shm_place(shm, out);
}

static hr_status_t do_own_share(tp_shm_turn_t *turn, bool *out_done) {
  for (; turn->steps == 1 && turn->round < turn->rounds; turn->round++)
    HR_TRY(turn->work(turn, turn->group->mine, turn->round));
  if (turn->steps == 1) tp_shm_did(turn);
  *out_done = turn->in_note || tp_shm_all_did(turn, 2);
  return NULL;
}

static hr_status_t do_any_share(tp_shm_turn_t *turn, bool *out_done) {
  int64_t piece, last;
  tp_shm_block_t *block = turn->group->block;
  while (tp_shm_count_piece(turn, &block->taken, turn->pieces, &piece)) {
    HR_TRY(turn->work(turn, (int)(piece / turn->rounds), piece % turn->rounds));
    tp_shm_count_piece(turn, &block->done, turn->pieces, &last);
    turn->request->groups->moves++;
  }
  *out_done = is_all_done(turn);
  return NULL;
}

static void share_work(tp_shm_turn_t *turn, const tp_shm_ways_t *ways, bool is_offered) {
  turn->rounds = ways->pieces(turn, is_offered);
  turn->pieces = is_offered ? turn->rounds * turn->group->size : 0;
  turn->work = ways->work;
  turn->step = turn->pieces ? do_any_share : do_own_share;
}

hr_status_t tp_shm_meet(tp_shm_turn_t *turn, const tp_shm_ways_t *ways, bool *out_done) {
  if (!turn->steps) HR_TRY(ways->tell(turn));
  if (!tp_shm_all_did(turn, 1)) return NULL;
  HR_TRY(ways->check_sizes(turn));
  int shared = 0, offered = 0, size = turn->group->size;
  for (int k = 0; k < size; k++) {
    shared += tp_shm_note(turn, k)->is_shared;
    offered += tp_shm_note(turn, k)->is_offered;
  }
  turn->first = shared > 0 && shared < size;
  turn->step = ways->chunks;
  if (shared == size) share_work(turn, ways, offered == size);
  return turn->step(turn, out_done);
}

/* --- staging memory --- */

static bool is_free(const struct tp_shm_staging *stage) {
  for (int k = 0; stage->group && k < stage->group->size; k++)
    if (!has_counted(stage->group, k, stage->until)) return false;
  return true;
}

static hr_status_t new_stage(tp_shm_t *shm, size_t size_bytes, struct tp_shm_staging **out_stage) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof **out_stage, &memory));
  struct tp_shm_staging *stage = memory;
  stage->memory = tp_shm_alloc(shm, size_bytes);
  if (!stage->memory) {
    hr_free(stage);
    return tp_shm_used_up(shm);
  }
  stage->size_bytes = size_bytes;
  stage->next = shm->staging;
  shm->staging = stage;
  *out_stage = stage;
  return NULL;
}

/* The smallest that will do: a larger one may be wanted by the next transfer, before others are done with this one. */
static struct tp_shm_staging *find_stage(const tp_shm_t *shm, size_t size_bytes) {
  struct tp_shm_staging *best = NULL;
  for (struct tp_shm_staging *stage = shm->staging; stage; stage = stage->next)
    if (stage->size_bytes >= size_bytes && (!best || stage->size_bytes < best->size_bytes) && is_free(stage))
      best = stage;
  return best;
}

hr_status_t tp_shm_stage(tp_shm_turn_t *turn, size_t size_bytes, char **out_memory) {
  tp_shm_t *shm = turn->group->shm;
  struct tp_shm_staging *stage = find_stage(shm, size_bytes);
  if (!stage) HR_TRY(new_stage(shm, size_bytes, &stage));
  stage->group = turn->group;
  stage->until = UINT64_MAX;
  turn->stage = stage;
  tp_shm_note(turn, turn->group->mine)->place = tp_shm_place(shm, stage->memory);
  *out_memory = stage->memory;
  return NULL;
}

hr_status_t tp_shm_chunks(tp_shm_turn_t *turn, size_t stage_bytes, void (*put)(tp_shm_turn_t *turn),
                          hr_status_t (*take)(tp_shm_turn_t *turn), bool *out_done) {
  if (!turn->stage) HR_TRY(tp_shm_stage(turn, stage_bytes, &turn->stage_memory));
  for (;; turn->round++) {
    uint64_t round = turn->first + (uint64_t)turn->round;
    *out_done = turn->round == turn->rounds;
    if (*out_done) return tp_shm_leave(turn);
    if (turn->steps == round) {
      put(turn);
      tp_shm_did(turn);
    }
    if (!tp_shm_all_did(turn, round + 1)) return NULL;
    HR_TRY(take(turn));
  }
}

void tp_shm_staging_destroy(struct tp_shm *shm) {
  for (struct tp_shm_staging *stage; (stage = shm->staging);) {
    shm->staging = stage->next;
    tp_shm_free(shm, stage->memory);
    hr_free(stage);
  }
}

/* Larger transfers go in larger chunks: fewer meetings, of which each may cost a time slice where processes compete. */
size_t tp_shm_chunk(const tp_groups_t *groups, size_t size_bytes) {
  size_t chunk = (size_bytes / 8 + 4095) / 4096 * 4096;
  if (groups->segment_bytes) return groups->segment_bytes;
  return chunk < LEAST_CHUNK_BYTES ? LEAST_CHUNK_BYTES : chunk < MOST_CHUNK_BYTES ? chunk : MOST_CHUNK_BYTES;
}
