/* Groups, step counters and ops of transfers in shared memory (shm_group.h).
 *
 * Order: transfers of a group run one after the other in the order of their starts, each as a
 * tp_shm_op_t; op number n waits until n ops have ended on this process. Members need not be in the
 * same op: a member that has done its last step continues, and the slots keep the data that slower
 * members still read. Waiting: nothing blocks. A step function that finds a peer behind returns,
 * after SPIN_POLLS polls if every process has a processor of its own; tp_request_wait calls it
 * again, and asks from time to time whether the peers live. Memory orders: a step count is stored
 * with release by its member and loaded with acquire by the others: data written before the step is
 * visible after the count is seen. The counters of shared work hold the op's number in the upper
 * half, so that they need no reset: a stale number counts as zero. They are claimed by
 * compare-and-swap. */
#include "transport/shm/shm_group.h"

#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "transport/algorithms/hierarchy.h"

#define SPIN_POLLS 200         /* polls of a counter before the caller may do other work */
#define POLLS_WITHOUT_PAUSE 32 /* first polls, without a pause instruction in between */
#define MIN_CHUNK_BYTES ((size_t)128 << 10)
#define MAX_CHUNK_BYTES ((size_t)1 << 20)

/* --- groups --- */

static hr_status_t new_group(tp_groups_t *groups, int size, const int *ranks, uint64_t key,
                             tp_shm_group_t **out_group) {
  tp_shm_t *shm = groups->shm;
  *out_group = NULL;
  for (int k = 0; k < size; k++)
    if (shm->local_of[ranks[k]] < 0) return NULL;
  tp_shm_control_t *control;
  void *memory;
  HR_TRY(tp_shm_control_of(shm, key, size, &control));
  if (!control) return NULL;
  HR_TRY(hr_arena_zeroed(
      &groups->arena, sizeof(tp_shm_group_t) + (size_t)size * sizeof(tp_shm_member_t *), &memory));
  tp_shm_group_t *group = memory;
  group->control = control;
  group->shm = shm;
  group->size = size;
  group->ranks = ranks;
  group->my_index = -1;
  group->slot_count = 2;
  group->has_sleepers = groups->endpoint->oversubscribed;
  for (int k = 0; k < size; k++) {
    group->members[k] = &control->members[k];
    if (ranks[k] == groups->endpoint->rank) group->my_index = k;
  }
  *out_group = group;
  return NULL;
}

hr_status_t tp_shm_group_of(tp_group_t *group, tp_shm_group_t **out_group) {
  /* Machines are still being found before the endpoint has its groups. */
  bool is_open = group->owner->endpoint->groups != NULL;
  if (!is_open || !group->owner->machine_of || group->my_index < 0) {
    *out_group = NULL;
    return NULL;
  }
  if (!group->probed_shm) group->machines = tp_count_machines(group);
  if (!group->probed_shm && group->owner->shm) {
    uint64_t key = hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, 11);
    key = hr_hash_bytes(&group->stream, sizeof group->stream, key);
    HR_TRY(new_group(group->owner, group->size, group->ranks, key, &group->shm));
  }
  group->probed_shm = true;
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
  if (groups->endpoint->oversubscribed) (*out_pipe)->slot_count = TP_SHM_SLOTS;
  return hr_map_put(&groups->pipes, (hr_str_t){(const char *)kept, sizeof *kept}, *out_pipe, NULL);
}

static bool is_pipe(const tp_shm_group_t *pipe, const pipe_key_t *key) {
  return pipe && pipe->stream == key->stream && pipe->ranks[0] == key->ranks[0] &&
         pipe->ranks[1] == key->ranks[1];
}

hr_status_t tp_shm_pipe_of(tp_groups_t *groups, int from, int to, int64_t stream,
                           tp_shm_group_t **out_group) {
  pipe_key_t key = {stream, {from, to}};
  tp_shm_group_t **last = &groups->last_pipes[from == groups->endpoint->rank];
  *out_group = NULL;
  if (!groups->shm || groups->shm->local_of[from] < 0 || groups->shm->local_of[to] < 0) return NULL;
  if (!is_pipe(*last, &key))
    *last = hr_map_get(&groups->pipes, (hr_str_t){(const char *)&key, sizeof key});
  if (!*last) HR_TRY(new_pipe(groups, &key, last));
  *out_group = *last;
  return NULL;
}

/* --- counting --- */

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

bool tp_shm_member_reached(tp_shm_op_t *op, int member, uint64_t count) {
  op->wanted = count;
  const tp_groups_t *groups = op->request->groups;
  int spins = groups->endpoint->oversubscribed || groups->is_polling ? 0 : SPIN_POLLS;
  for (int i = 0; i <= spins; i++) {
    if (tp_shm_has_counted(op->group, member, count)) return true;
    if (i >= POLLS_WITHOUT_PAUSE) relax();
  }
  return false;
}

bool tp_shm_member_signaled(tp_shm_op_t *op, int member, uint64_t steps) {
  return tp_shm_member_reached(op, member, op->base + steps);
}

bool tp_shm_all_signaled(tp_shm_op_t *op, uint64_t steps) {
  if (op->seen_steps != steps) {
    op->seen_steps = steps;
    op->members_seen = 0;
  }
  for (; op->members_seen < op->group->size; op->members_seen++)
    if (!tp_shm_member_signaled(op, op->members_seen, steps)) return false;
  return true;
}

/* Every op counts from 0: shared work needs all members, so that no member counts for this op
 * before all have left the previous one. Relaxed load: the compare-and-swap checks it. */
bool tp_shm_count_piece(const tp_shm_op_t *op, _Atomic uint64_t *counter, int64_t most,
                        int64_t *out_piece) {
  uint64_t was = atomic_load_explicit(counter, memory_order_relaxed),
           number = (uint64_t)op->number << 32, piece;
  do {
    piece = was >> 32 == op->number ? was & UINT32_MAX : 0;
    if (piece == (uint64_t)most) return false;
  } while (!atomic_compare_exchange_weak(counter, &was, number | (piece + 1)));
  *out_piece = (int64_t)piece;
  return true;
}

int64_t tp_shm_pieces_done(const tp_shm_op_t *op) {
  uint64_t done = atomic_load_explicit(&op->group->control->pieces_done, memory_order_acquire);
  return done >> 32 == op->number ? (int64_t)(done & UINT32_MAX) : 0;
}

void tp_shm_set_pieces_done(const tp_shm_op_t *op, int64_t pieces) {
  uint64_t done = (uint64_t)op->number << 32 | (uint64_t)pieces;
  atomic_store_explicit(&op->group->control->pieces_done, done, memory_order_release);
  tp_shm_wake_members(op->group);
}

static bool is_all_done(const tp_shm_op_t *op) { return tp_shm_pieces_done(op) >= op->pieces; }

/* True if a member has done the step, or all the pieces are done, that this process waits for. */
static bool has_done(const tp_shm_op_t *op, int member) {
  return op->pieces ? is_all_done(op) : tp_shm_has_counted(op->group, member, op->wanted);
}

/* A dead member that has not reached the awaited step never will. Its counter is read again after
 * it was found dead, since it may have done the step just before its end. */
static hr_status_t find_dead_member(const tp_shm_op_t *op) {
  const tp_shm_group_t *group = op->group;
  for (int k = 0; k < group->size; k++)
    if (!has_done(op, k) && !tp_shm_is_alive(group->shm, group->ranks[k]) && !has_done(op, k))
      return tp_shm_peer_failed(group->shm, group->ranks[k], group->shm->groups->endpoint->host);
  return NULL;
}

/* --- waking --- */

void tp_shm_wake_members(const tp_shm_group_t *group) {
  if (!group->has_sleepers) return;
  atomic_thread_fence(memory_order_seq_cst);
  for (int k = 0; k < group->size; k++)
    if (k != group->my_index) tp_shm_wake(group->shm, group->ranks[k]);
}

/* The fence makes one of two members that arrive last at the same time see the other's count. In a
 * group of two each may wait for the other's next step. */
void tp_shm_wake_if_last(const tp_shm_group_t *group) {
  atomic_thread_fence(memory_order_seq_cst);
  for (int k = 0; k < group->size && group->size > 2; k++)
    if (!tp_shm_has_counted(group, k, group->count)) return;
  tp_shm_wake_members(group);
}

/* --- ops --- */

void tp_shm_begin(tp_request_t *request, tp_shm_op_t *op, tp_shm_group_t *group, size_t size_bytes,
                  tp_shm_step_fn step) {
  hr_clear(op, sizeof *op);
  op->request = request;
  op->group = group;
  op->step = step;
  op->number = group->next_op++;
  op->size_bytes = size_bytes;
  op->chunk_bytes = tp_shm_chunk(request->groups, size_bytes);
  request->hooks.poll = tp_shm_poll;
}

static void start_op(tp_shm_op_t *op) {
  op->is_started = true;
  op->base = op->group->count;
  if (!op->is_early) tp_shm_publish_size(op);
}

static void finish_op(tp_shm_op_t *op) {
  op->is_done = true;
  op->group->done_ops++;
  op->group->bases[tp_shm_slot_index(op)] = op->base;
  if (op->stage) op->stage->until = op->base + op->steps;
}

static hr_status_t advance_op(tp_shm_op_t *op) {
  bool done = false;
  uint64_t before = op->steps;
  if (op->group->is_cancelled)
    return hr_error(HR_CANCELLED, "an earlier transfer of the group was given up");
  if (op->group->done_ops != op->number) return NULL;
  if (!op->is_started) start_op(op);
  HR_TRY(op->step(op, &done));
  if (done) {
    finish_op(op);
    return NULL;
  }
  if (op->steps == before) return tp_shm_watch_is_due(&op->watch) ? find_dead_member(op) : NULL;
  op->watch = (tp_shm_watch_t){0};
  return NULL;
}

static bool is_in_flight(const tp_shm_op_t *op) { return op->group && !op->is_done; }

/* A rank that both sends and receives polls its receive first, to avoid mutual waiting. */
static hr_status_t advance_first_op(tp_request_t *request) {
  tp_groups_t *groups = request->groups;
  bool looked = groups->is_polling;
  groups->is_polling = looked || is_in_flight(&request->shm_ops[1]);
  hr_status_t st = advance_op(&request->shm_ops[0]);
  groups->is_polling = looked;
  return st;
}

hr_status_t tp_shm_poll(tp_request_t *request, bool *out_done) {
  if (is_in_flight(&request->shm_ops[0])) HR_TRY(advance_first_op(request));
  if (is_in_flight(&request->shm_ops[1])) HR_TRY(advance_op(&request->shm_ops[1]));
  *out_done = !is_in_flight(&request->shm_ops[0]) && !is_in_flight(&request->shm_ops[1]);
  return NULL;
}

void tp_shm_cancel(tp_request_t *request) {
  for (int i = 0; i < 2; i++)
    if (request->shm_ops[i].group && !request->shm_ops[i].is_done)
      request->shm_ops[i].group->is_cancelled = true;
}

/* "all-reduce of 32 bytes"; "all-to-all" without a size, as its sizes are compared elsewhere. */
static void describe_transfer(uint64_t transfer, char *text, size_t size) {
  uint64_t bytes = transfer & ((UINT64_C(1) << TP_SHM_SIZE_BITS) - 1);
  int algorithm = (int)(transfer >> TP_SHM_SIZE_BITS) - 1;
  tp_collective_t collective = TP_PERMUTE;
  if (algorithm >= 0 && algorithm < tp_algorithm_count()) tp_algorithm_name(algorithm, &collective);
  int used = snprintf(text, size, "%s", tp_collective_name(collective));
  if (bytes)
    snprintf(text + used, size - (size_t)used, " of %llu bytes", (unsigned long long)bytes);
}

hr_status_t tp_shm_check_member(const tp_shm_op_t *op, int member) {
  uint64_t theirs = tp_shm_transfer_of(op, member), mine = tp_shm_transfer(op);
  char found[64], wanted[64];
  if (theirs == mine) return NULL;
  describe_transfer(theirs, found, sizeof found);
  describe_transfer(mine, wanted, sizeof wanted);
  hr_status_t st = hr_error(
      HR_DISAGREE, "rank %d does a transfer of another kind or size: %s, where this one has %s",
      op->group->ranks[member], found, wanted);
  return hr_status_note(
      st, "the processes have taken different ways; --verify-comm names the instructions");
}

hr_status_t tp_shm_check_sizes(tp_shm_op_t *op) {
  for (int k = 0; k < op->group->size; k++) HR_TRY(tp_shm_check_member(op, k));
  return NULL;
}

/* --- arrays in shared memory --- */

bool tp_shm_publish(tp_shm_op_t *op, const void *in, const void *out) {
  const tp_shm_t *shm = op->group->shm;
  tp_shm_slot_t *slot = tp_shm_slot(op, op->group->my_index);
  slot->shares_work = false;
  slot->is_shared = (!in || tp_shm_has(shm, in)) && (!out || tp_shm_has(shm, out));
  slot->in = in ? tp_shm_offset(shm, in) : 0;
  slot->out = out ? tp_shm_offset(shm, out) : 0;
  return slot->is_shared;
}

void tp_shm_share_work(tp_shm_op_t *op, bool streams, const void *in, const void *out) {
  const tp_shm_t *shm = op->group->shm;
  tp_shm_slot_t *slot = tp_shm_slot(op, op->group->my_index);
  bool is_oversubscribed = op->request->groups->endpoint->oversubscribed;
  slot->shares_work = is_oversubscribed && !streams && slot->is_shared && tp_shm_has(shm, in) &&
                      tp_shm_has(shm, out);
  if (!slot->shares_work) return;
  slot->in = tp_shm_offset(shm, in);
  slot->out = tp_shm_offset(shm, out);
}

static hr_status_t run_own_pieces(tp_shm_op_t *op, bool *out_done) {
  for (; op->steps == 1 && op->round < op->rounds; op->round++)
    HR_TRY(op->work(op, op->group->my_index, op->round));
  if (op->steps == 1) tp_shm_signal(op);
  *out_done = op->in_slot || tp_shm_all_signaled(op, 2);
  return NULL;
}

static hr_status_t run_any_pieces(tp_shm_op_t *op, bool *out_done) {
  int64_t piece, last;
  tp_shm_control_t *control = op->group->control;
  while (tp_shm_count_piece(op, &control->pieces_taken, op->pieces, &piece)) {
    HR_TRY(op->work(op, (int)(piece / op->rounds), piece % op->rounds));
    tp_shm_count_piece(op, &control->pieces_done, op->pieces, &last);
    if (last + 1 == op->pieces) tp_shm_wake_members(op->group);
    op->request->groups->progress_count++;
  }
  *out_done = is_all_done(op);
  return NULL;
}

static void share_work(tp_shm_op_t *op, const tp_shm_steps_t *phases, bool shares_work) {
  op->rounds = phases->pieces(op, shares_work);
  op->pieces = shares_work ? op->rounds * op->group->size : 0;
  op->work = phases->work;
  op->step = op->pieces ? run_any_pieces : run_own_pieces;
}

hr_status_t tp_shm_sync(tp_shm_op_t *op, const tp_shm_steps_t *phases, bool *out_done) {
  if (!op->steps) HR_TRY(phases->publish(op));
  if (!tp_shm_all_signaled(op, 1)) return NULL;
  HR_TRY(phases->check_sizes(op));
  int shared = 0, offered = 0, size = op->group->size;
  for (int k = 0; k < size; k++) {
    shared += tp_shm_slot(op, k)->is_shared;
    offered += tp_shm_slot(op, k)->shares_work;
  }
  op->first = shared > 0 && shared < size;
  op->step = phases->chunks;
  if (shared == size) share_work(op, phases, offered == size);
  return op->step(op, out_done);
}

/* --- chunks --- */

hr_status_t tp_shm_chunks(tp_shm_op_t *op, size_t stage_bytes, void (*write)(tp_shm_op_t *op),
                          hr_status_t (*read)(tp_shm_op_t *op), bool *out_done) {
  if (!op->stage) HR_TRY(tp_shm_stage(op, stage_bytes, &op->stage_memory));
  for (;; op->round++) {
    uint64_t round = op->first + (uint64_t)op->round;
    *out_done = op->round == op->rounds;
    if (*out_done) return tp_shm_leave(op);
    if (op->steps == round) {
      write(op);
      tp_shm_signal(op);
    }
    if (!tp_shm_all_signaled(op, round + 1)) return NULL;
    HR_TRY(read(op));
  }
}

/* Larger transfers use larger chunks: fewer synchronisations, each of which may cost a time slice
 * on an oversubscribed machine. */
size_t tp_shm_chunk(const tp_groups_t *groups, size_t size_bytes) {
  size_t chunk = (size_t)hr_round_up((int64_t)size_bytes / 8, 4096);
  if (groups->segment_bytes) return groups->segment_bytes;
  if (chunk < MIN_CHUNK_BYTES) return MIN_CHUNK_BYTES;
  return chunk < MAX_CHUNK_BYTES ? chunk : MAX_CHUNK_BYTES;
}
