/* Collectives and pipes in shared memory: the members of a group advance through a transfer in
 * steps; each member counts its steps in shared memory.
 *
 * Transfers of a group run one at a time, in the order of their starts. In a transfer (tp_shm_op_t)
 * a member publishes its data in its slot, counts a step (tp_shm_signal), and waits for the counts
 * of the others (tp_shm_all_signaled). A slow member delays those that wait for it, but nothing
 * blocks: a step function that cannot continue returns, and is called again.
 *
 * Thread:  that of the endpoint, or the progress thread, with the lock of progress.h held. */
#ifndef TP_SHM_GROUP_H
#define TP_SHM_GROUP_H

#include "transport/core/request.h"
#include "transport/shm/shm.h"

/* A process's view of a group in shared memory, or of a pipe: a group of two, for the transfers
 * from member 0 to member 1 of one stream. */
typedef struct tp_shm_group {
  tp_shm_t *shm;
  int size;
  int my_index;                 /* this rank's position among the members */
  const int *ranks;             /* in listed order */
  uint64_t count;               /* steps that this process has done; equals its shared counter */
  uint32_t next_op;             /* ops started */
  uint32_t done_ops;            /* ops ended */
  uint32_t slot_count;          /* slots in rotation: a power of two, at most TP_SHM_SLOTS */
  bool is_cancelled;            /* an op was cancelled: later ops fail */
  bool has_sleepers;            /* members may sleep in their waits and must be woken */
  int64_t stream;               /* pipe */
  uint64_t receiver_steps;      /* pipe: receiver's count when the sender last read it */
  uint64_t bases[TP_SHM_SLOTS]; /* pipe: per slot, step count at the start of its last op */
  tp_shm_control_t *control;
  tp_shm_member_t *members[]; /* &control->members[k] */
} tp_shm_group_t;

/* Staging memory: written by this process, read by its peers. Reused by later transfers of any
 * group, once all members of its last transfer have read it. */
typedef struct tp_shm_staging {
  struct tp_shm_staging *next; /* in shm->staging */
  char *memory;
  size_t size_bytes;
  tp_shm_group_t *group; /* group of the last transfer that used it; NULL: none yet */
  uint64_t until;        /* step count of all members from which on it is free */
} tp_shm_staging_t;

/* *out_group is NULL, on all members, if they are on several machines or shared memory is used
 * up. */
hr_status_t tp_shm_group_of(tp_group_t *group, tp_shm_group_t **out_group);
/* The pipe of two ranks and a stream; member 0 is `from`. NULL as above. */
hr_status_t tp_shm_pipe_of(tp_groups_t *groups, int from, int to, int64_t stream,
                           tp_shm_group_t **out_group);

/* Advances an op without blocking; called until *out_done. */
typedef hr_status_t (*tp_shm_step_fn)(tp_shm_op_t *op, bool *out_done);
/* Starts an op of the request. `size_bytes` is compared with the sizes of the other members; 0: the
 * algorithm compares sizes by itself. */
void tp_shm_begin(tp_request_t *request, tp_shm_op_t *op, tp_shm_group_t *group, size_t size_bytes,
                  tp_shm_step_fn step);
/* The request's hooks.poll: advances its shm_ops. */
hr_status_t tp_shm_poll(tp_request_t *request, bool *out_done);
void tp_shm_cancel(tp_request_t *request); /* cancels its shm_ops, and thus their groups */

/* --- for algorithms --- */

/* Index of the op's slot and head. */
static inline uint32_t tp_shm_slot_index(const tp_shm_op_t *op) {
  return op->number & (op->group->slot_count - 1);
}
static inline tp_shm_slot_t *tp_shm_slot(const tp_shm_op_t *op, int member) {
  return &op->group->members[member]->slots[tp_shm_slot_index(op)];
}
/* Algorithm and size of this process's op in one word, which members compare. */
#define TP_SHM_SIZE_BITS 56
static inline uint64_t tp_shm_transfer(const tp_shm_op_t *op) {
  return (uint64_t)op->request->algorithm << TP_SHM_SIZE_BITS | op->size_bytes;
}
/* The same word of another member; valid once that has done a step. */
static inline uint64_t tp_shm_transfer_of(const tp_shm_op_t *op, int member) {
  return op->group->members[member]->heads[tp_shm_slot_index(op)].transfer;
}
static inline void tp_shm_publish_size(const tp_shm_op_t *op) {
  op->group->members[op->group->my_index]->heads[tp_shm_slot_index(op)].transfer =
      tp_shm_transfer(op);
}
/* Payload of at most TP_SHM_SMALL bytes, in a member's head or slot. */
static inline char *tp_shm_small(const tp_shm_op_t *op, int member) {
  if (op->size_bytes <= TP_SHM_TINY)
    return op->group->members[member]->heads[tp_shm_slot_index(op)].data;
  return tp_shm_slot(op, member)->data;
}
/* True if a member has done `count` steps since the group began. */
static inline bool tp_shm_has_counted(const tp_shm_group_t *group, int member, uint64_t count) {
  return atomic_load_explicit(&group->members[member]->count, memory_order_acquire) >= count;
}
/* True if all members, or one, have done so many steps of this op. */
bool tp_shm_all_signaled(tp_shm_op_t *op, uint64_t steps);
/* True if a member's count since the group began has reached `count`. */
bool tp_shm_member_reached(tp_shm_op_t *op, int member, uint64_t count);
bool tp_shm_member_signaled(tp_shm_op_t *op, int member, uint64_t steps);
/* Wakes the members that sleep. */
void tp_shm_wake_members(const tp_shm_group_t *group);
/* Wakes the members once all have done as many steps as this one, which most of them wait for. The
 * last to arrive wakes them. */
void tp_shm_wake_if_last(const tp_shm_group_t *group);
/* Counts one more step. Release: a process that sees the count sees all earlier writes. */
static inline void tp_shm_signal(tp_shm_op_t *op) {
  tp_shm_group_t *group = op->group;
  op->steps++;
  op->request->groups->progress_count++;
  atomic_store_explicit(&group->members[group->my_index]->count, ++group->count,
                        memory_order_release);
  if (group->has_sleepers) tp_shm_wake_if_last(group);
}
/* Increments pieces_taken or pieces_done, up to `most`; *out_piece is the value before. False: it
 * was already `most`. */
bool tp_shm_count_piece(const tp_shm_op_t *op, _Atomic uint64_t *counter, int64_t most,
                        int64_t *out_piece);
/* Pieces of the op that are done. Acquire: their results are visible. */
int64_t tp_shm_pieces_done(const tp_shm_op_t *op);
/* Sets that number; only if a single member does the work. */
void tp_shm_set_pieces_done(const tp_shm_op_t *op, int64_t pieces);
/* The last step: this member has read the others' staging memory, so that they may reuse it. */
static inline hr_status_t tp_shm_leave(tp_shm_op_t *op) {
  tp_shm_signal(op);
  return NULL;
}
/* Staging memory for this op, published in its slot; the others read it until they have done as
 * many steps of the op as this member. */
hr_status_t tp_shm_stage(tp_shm_op_t *op, size_t size_bytes, char **out_memory);
/* A member's staging memory; valid once it has done a step. */
static inline char *tp_shm_staged(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->staging_offset);
}
/* Memory for all members of a group, until it is freed; reused when all members have done one more
 * step than this one has. Errors: NO_MEMORY. */
hr_status_t tp_shm_group_alloc(tp_shm_group_t *group, size_t size_bytes,
                               tp_shm_staging_t **out_stage);
void tp_shm_group_free(tp_shm_staging_t *stage);
/* A transfer through staged chunks, one step per round: `write` copies this member's next chunk to
 * its staging memory; `read` reads the chunks of all members once they are there. Double buffering:
 * a round uses one half of the `stage_bytes` (tp_shm_chunk_at). A member writes round r + 2 only
 * after all have signaled round r + 1, and thus read round r. */
static inline char *tp_shm_chunk_at(const tp_shm_op_t *op, char *staged) {
  return staged + (size_t)(op->round & 1) * op->chunk_bytes;
}
hr_status_t tp_shm_chunks(tp_shm_op_t *op, size_t stage_bytes, void (*write)(tp_shm_op_t *op),
                          hr_status_t (*read)(tp_shm_op_t *op), bool *out_done);
/* Compare algorithm and size with those of a member, or of all; valid after their first step. Other
 * contents of a slot are valid only if they agree. Errors: DISAGREE. */
hr_status_t tp_shm_check_member(const tp_shm_op_t *op, int member);
hr_status_t tp_shm_check_sizes(tp_shm_op_t *op);

/* --- zero-copy transfers: arrays in shared memory (tp_alloc) are read and written in place --- */

/* Publishes the offsets of this member's arrays; NULL: not needed by the others. False: one of them
 * is not in shared memory. */
bool tp_shm_publish(tp_shm_op_t *op, const void *in, const void *out);
static inline char *tp_shm_in(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->in);
}
static inline char *tp_shm_out(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->out);
}

/* On an oversubscribed machine, lets other members do part of this one's work, which reads `in` and
 * writes `out`, if both are shared: a waiting member then need not be scheduled once more. Call
 * after tp_shm_publish. Not for results that are written with non-temporal stores (`streams`): the
 * gain would be small, and each process would have to map the arrays of all others. */
void tp_shm_share_work(tp_shm_op_t *op, bool streams, const void *in, const void *out);

/* The phases of a collective that works in place if all arrays are shared, and through staged
 * chunks otherwise. The choice is known only after the first step; a member whose arrays are
 * private stages its first chunk in `publish` already, so that no step is lost. */
typedef struct tp_shm_steps {
  hr_status_t (*publish)(tp_shm_op_t *op); /* the first step; ends with tp_shm_signal */
  hr_status_t (*check_sizes)(tp_shm_op_t *op);
  /* In place: number of pieces of each member's part of the work, and the work on one of them. If
   * all members share their work, any member with a processor takes the next piece; else each does
   * its own. */
  int64_t (*pieces)(const tp_shm_op_t *op, bool shares_work);
  hr_status_t (*work)(tp_shm_op_t *op, int member, int64_t piece);
  hr_status_t (*chunks)(tp_shm_op_t *op, bool *out_done); /* through staged chunks */
} tp_shm_steps_t;

/* Runs the first step and, once all members have done it, chooses op->step among the phases. */
hr_status_t tp_shm_sync(tp_shm_op_t *op, const tp_shm_steps_t *phases, bool *out_done);

/* Bytes of a chunk for a transfer of so many bytes: small enough to stay in the caches. */
size_t tp_shm_chunk(const tp_groups_t *groups, size_t size_bytes);
/* Sum of the results of all members, in bytes, above which they are written with non-temporal
 * stores: they would evict everything else from the shared cache. */
#define TP_SHM_STREAM_BYTES ((size_t)16 << 20)
static inline bool tp_shm_streams(size_t bytes, int members) {
  return bytes * (size_t)members >= TP_SHM_STREAM_BYTES;
}
void tp_shm_copy(void *to, const void *from, size_t size_bytes, bool around_caches);
/* out = ((x0 + x1) + x2) + ... of `size` arrays of `count` elements; out may be in[0]. `wide`:
 * scratch space of TP_SHM_WIDE bytes for reducers with wide accumulators. */
#define TP_SHM_WIDE ((size_t)64 << 10)
hr_status_t tp_shm_reduce(const hr_reducer_t *reducer, int size, const char *const *in,
                          int64_t count, char *out, char *wide);

/* Starts an op that reduces arrays of `count` elements a member in chunks of `chunk_count`
 * elements, with room for wide accumulators if the reducer has any. Errors: NO_MEMORY. */
hr_status_t tp_shm_begin_reduction(tp_request_t *request, int64_t chunk_count, tp_shm_step_fn step);

#endif
