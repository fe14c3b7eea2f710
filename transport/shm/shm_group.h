/* How the members of a group on one machine go through a transfer together: in steps, which each
 * counts where all can see it. Transfers of a group take turns, in the order of their starts. A
 * process that finds a step not done yet lets its caller do other things, after a short spin where
 * every process has a processor of its own. */
#ifndef TP_SHM_GROUP_H
#define TP_SHM_GROUP_H

#include "transport/core/request.h"
#include "transport/shm/shm.h"

typedef struct tp_shm_group {
  tp_shm_t *shm;
  int size, my_index;
  const int *ranks;
  uint64_t count;               /* steps that this process has done */
  uint32_t slot_count;          /* that it uses in turn: a power of two */
  uint64_t bases[TP_SHM_SLOTS]; /* of a pipe: its steps before the last transfers, by their notes */
  int64_t stream;               /* of a pipe */
  uint64_t receiver_steps;      /* of a pipe: steps of the receiver when the sender looked last */
  uint32_t next_op, done_ops;   /* transfers started, and over */
  bool is_cancelled;            /* one was given up */
  tp_shm_block_t *block;
  tp_shm_line_t *lines[]; /* of the members */
} tp_shm_group_t;

/* NULL: not all members are on this machine, or there is no room. The same for all members. */
hr_status_t tp_shm_group_of(tp_group_t *group, tp_shm_group_t **out_group);
/* For two ranks of this machine: member 0 sends to member 1, in order, for each stream. */
hr_status_t tp_shm_pipe_of(tp_groups_t *groups, int from, int to, int64_t stream,
                           tp_shm_group_t **out_group);

/* Moves on as far as it goes; told to do so again until it says that it is done. */
typedef hr_status_t (*tp_shm_step_fn)(tp_shm_op_t *op, bool *out_done);
/* The request's transfer among `group`; `size_bytes` is compared with what the others say. */
void tp_shm_begin(tp_request_t *request, tp_shm_op_t *op, tp_shm_group_t *group, size_t size_bytes,
                  tp_shm_step_fn step);
/* Signature of tp_request_t.poll: moves request->turns on. */
hr_status_t tp_shm_poll(tp_request_t *request, bool *out_done);
void tp_shm_cancel(tp_request_t *request); /* of a request that is cancelled */

/* --- for algorithms --- */

/* Which of its notes, and their heads, a transfer has. */
static inline uint32_t tp_shm_slot_index(const tp_shm_op_t *op) {
  return op->number & (op->group->slot_count - 1);
}
static inline tp_shm_slot_t *tp_shm_slot(const tp_shm_op_t *op, int member) {
  return &op->group->lines[member]->slots[tp_shm_slot_index(op)];
}
/* Algorithm and size of this process's transfer in one word. */
#define TP_SHM_SIZE_BITS 56
static inline uint64_t tp_shm_transfer(const tp_shm_op_t *op) {
  return (uint64_t)op->request->algorithm << TP_SHM_SIZE_BITS | op->size_bytes;
}
/* The same of a member, once it has done a step. */
static inline uint64_t tp_shm_transfer_of(const tp_shm_op_t *op, int member) {
  return op->group->lines[member]->head[tp_shm_slot_index(op)].transfer;
}
static inline void tp_shm_publish_size(const tp_shm_op_t *op) {
  op->group->lines[op->group->my_index]->head[tp_shm_slot_index(op)].transfer = tp_shm_transfer(op);
}
/* Where a member's bytes are that fit into its note. */
static inline char *tp_shm_small(const tp_shm_op_t *op, int member) {
  if (op->size_bytes <= TP_SHM_TINY)
    return op->group->lines[member]->head[tp_shm_slot_index(op)].data;
  return tp_shm_slot(op, member)->data;
}
/* Has everybody done so many steps of this transfer? */
bool tp_shm_all_signaled(tp_shm_op_t *op, uint64_t steps);
bool tp_shm_member_reached(tp_shm_op_t *op, int member, uint64_t count); /* since the group began */
bool tp_shm_member_signaled(tp_shm_op_t *op, int member, uint64_t steps);
/* One more step is done: what was written before is seen by whoever sees the count. */
static inline void tp_shm_signal(tp_shm_op_t *op) {
  tp_shm_group_t *group = op->group;
  op->steps++;
  op->request->groups->progress_count++;
  atomic_store_explicit(&group->lines[group->my_index]->count, ++group->count,
                        memory_order_release);
}
/* Counts one more of a block's pieces, of at most so many, and says which one it was; false: there
 * are no more. */
bool tp_shm_count_piece(const tp_shm_op_t *op, _Atomic uint64_t *counter, int64_t most,
                        int64_t *out_piece);
/* How many of the block's pieces are done. */
int64_t tp_shm_pieces_done(const tp_shm_op_t *op);
/* Says it all at once, for all members: only where one member alone does. */
void tp_shm_set_pieces_done(const tp_shm_op_t *op, int64_t pieces);
/* The last step, of having read what others have in their staging memory: they may use it again. */
static inline hr_status_t tp_shm_leave(tp_shm_op_t *op) {
  tp_shm_signal(op);
  return NULL;
}
/* Memory that the others read, told in this transfer's note, until all have done `steps` steps of
 * it. */
hr_status_t tp_shm_stage(tp_shm_op_t *op, size_t size_bytes, char **out_memory);
/* A member's staging memory, once it has done a step. */
static inline char *tp_shm_staged(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->staging_offset);
}
/* Rounds of a transfer through staged chunks, a step each: `put` copies this member's next chunk to
 * its staging memory, of `stage_bytes`, half of which each of two rounds in turn use; `take` reads
 * those of all once they are there. */
hr_status_t tp_shm_chunks(tp_shm_op_t *op, size_t stage_bytes, void (*put)(tp_shm_op_t *op),
                          hr_status_t (*take)(tp_shm_op_t *op), bool *out_done);
/* After a member's first step, or that of all: other sizes and other collectives are an error. What
 * else a member has told means something only if they are equal. */
hr_status_t tp_shm_check_member(const tp_shm_op_t *op, int member);
hr_status_t tp_shm_check_sizes(tp_shm_op_t *op);

/* --- arrays that lie in shared memory anyway (tp_alloc): they are read, and written, where they
 * are --- Members tell each other in their first step; what they do then depends on all of them. */
/* Publishes the offsets of this member's buffers; NULL: not needed by the others. False: not in
 * shared memory. */
bool tp_shm_publish(tp_shm_op_t *op, const void *in, const void *out);
static inline char *tp_shm_in(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->in);
}
static inline char *tp_shm_out(const tp_shm_op_t *op, int member) {
  return tp_shm_at(op->group->shm, tp_shm_slot(op, member)->out);
}

/* Where processes compete for processors, those that wait would have to run once more each: others
 * may do this member's share, which reads and writes these, if they are shared. After
 * tp_shm_publish. Where so much memory is written that it goes around the caches that is little,
 * and each would have to map what all others have. */
void tp_shm_share_work(tp_shm_op_t *op, bool streams, const void *in, const void *out);

/* How members go on once all have told where their arrays are: who has its arrays elsewhere begins
 * with its first chunk at once, in `tell`, so that everybody's is there after the first step. */
typedef struct tp_shm_steps {
  hr_status_t (*publish)(
      tp_shm_op_t *op); /* this member's part of the first step; ends with tp_shm_signal */
  hr_status_t (*check_sizes)(tp_shm_op_t *op);
  /* Where the arrays of all are shared, each member has a share of the work, of so many pieces. If
   * all have offered theirs, whoever has a processor does the next piece, until all are done; else
   * each does its own. */
  int64_t (*pieces)(const tp_shm_op_t *op, bool is_offered);
  hr_status_t (*work)(tp_shm_op_t *op, int member, int64_t piece);
  hr_status_t (*chunks)(tp_shm_op_t *op, bool *out_done); /* through staged chunks */
} tp_shm_steps_t;

/* The first step: tells, waits for all, and chooses the way. */
hr_status_t tp_shm_sync(tp_shm_op_t *op, const tp_shm_steps_t *phases, bool *out_done);

/* Bytes that each process copies in at a time: what stays in the caches. */
size_t tp_shm_chunk(const tp_groups_t *groups, size_t size_bytes);
/* Should so many bytes, of each member, be written around the caches? They would only empty what
 * all members share. */
#define TP_SHM_STREAM_BYTES ((size_t)16 << 20)
static inline bool tp_shm_streams(size_t bytes, int members) {
  return bytes * (size_t)members >= TP_SHM_STREAM_BYTES;
}
void tp_shm_copy(void *to, const void *from, size_t size_bytes, bool around_caches);
/* out = ((x0 + x1) + x2) + ... of `size` arrays; out may be the first of them. `wide`: scratch
 * space of TP_SHM_WIDE bytes. */
#define TP_SHM_WIDE ((size_t)64 << 10)
hr_status_t tp_shm_reduce(const hr_reducer_t *reducer, int size, const char *const *in,
                          int64_t count, char *out, char *wide);

#endif
