/* How the members of a group on one machine go through a transfer together: in steps, which each counts where all can
 * see it. Transfers of a group take turns, in the order of their starts. A process that finds a step not done yet lets
 * its caller do other things, after a short spin where every process has a processor of its own. */
#ifndef TP_SHM_GROUP_H
#define TP_SHM_GROUP_H

#include "transport/request.h"
#include "transport/shm.h"

typedef struct tp_shm_group {
  tp_shm_t *shm;
  int size, mine;
  const int *ranks;
  uint64_t count;           /* steps that this process has done */
  uint32_t notes;           /* that it uses in turn: a power of two */
  uint64_t bases[TP_SHM_NOTES]; /* of a pipe: its steps before the last transfers, by their notes */
  int64_t stream;           /* of a pipe */
  uint64_t known;           /* of a pipe: steps of the receiver when the sender looked last */
  uint32_t next_turn, turn; /* transfers started, and over */
  bool broken;              /* one was given up */
  tp_shm_block_t *block;
  tp_shm_line_t *lines[];   /* of the members */
} tp_shm_group_t;

/* NULL: not all members are on this machine, or there is no room. The same for all members. */
hr_status_t tp_shm_group_of(tp_group_t *group, tp_shm_group_t **out_group);
/* For two ranks of this machine: member 0 sends to member 1, in order, for each stream. */
hr_status_t tp_shm_pipe_of(tp_groups_t *groups, int from, int to, int64_t stream, tp_shm_group_t **out_group);

/* Moves on as far as it goes; told to do so again until it says that it is done. */
typedef hr_status_t (*tp_shm_step_fn)(tp_shm_turn_t *turn, bool *out_done);
/* The request's transfer among `group`; `size_bytes` is compared with what the others say. */
void tp_shm_begin(tp_request_t *request, tp_shm_turn_t *turn, tp_shm_group_t *group, size_t size_bytes,
                  tp_shm_step_fn step);
/* Signature of tp_request_t.poll: moves request->turns on. */
hr_status_t tp_shm_poll(tp_request_t *request, bool *out_done);
void tp_shm_give_up(tp_request_t *request); /* of a request that is cancelled */

/* --- for algorithms --- */

/* Which of its notes, and their heads, a transfer has. */
static inline uint32_t tp_shm_note_number(const tp_shm_turn_t *turn) {
  return turn->number & (turn->group->notes - 1);
}
static inline tp_shm_note_t *tp_shm_note(const tp_shm_turn_t *turn, int member) {
  return &turn->group->lines[member]->notes[tp_shm_note_number(turn)];
}
/* Algorithm and size of this process's transfer in one word. */
#define TP_SHM_SIZE_BITS 56
static inline uint64_t tp_shm_transfer(const tp_shm_turn_t *turn) {
  return (uint64_t)turn->request->algorithm << TP_SHM_SIZE_BITS | turn->size_bytes;
}
/* The same of a member, once it has done a step. */
static inline uint64_t tp_shm_transfer_of(const tp_shm_turn_t *turn, int member) {
  return turn->group->lines[member]->head[tp_shm_note_number(turn)].transfer;
}
static inline void tp_shm_tell_size(const tp_shm_turn_t *turn) {
  turn->group->lines[turn->group->mine]->head[tp_shm_note_number(turn)].transfer = tp_shm_transfer(turn);
}
/* Where a member's bytes are that fit into its note. */
static inline char *tp_shm_small(const tp_shm_turn_t *turn, int member) {
  if (turn->size_bytes <= TP_SHM_TINY) return turn->group->lines[member]->head[tp_shm_note_number(turn)].data;
  return tp_shm_note(turn, member)->data;
}
/* Has everybody done so many steps of this transfer? */
bool tp_shm_all_did(tp_shm_turn_t *turn, uint64_t steps);
bool tp_shm_member_counted(tp_shm_turn_t *turn, int member, uint64_t count); /* since the group began */
bool tp_shm_member_did(tp_shm_turn_t *turn, int member, uint64_t steps);
/* One more step is done: what was written before is seen by whoever sees the count. */
static inline void tp_shm_did(tp_shm_turn_t *turn) {
  tp_shm_group_t *group = turn->group;
  turn->steps++;
  turn->request->groups->moves++;
  atomic_store_explicit(&group->lines[group->mine]->count, ++group->count, memory_order_release);
}
/* Counts one more of a block's pieces, of at most so many, and says which one it was; false: there are no more. */
bool tp_shm_count_piece(const tp_shm_turn_t *turn, _Atomic uint64_t *counter, int64_t most, int64_t *out_piece);
/* How many of the block's pieces are done. */
int64_t tp_shm_pieces_done(const tp_shm_turn_t *turn);
/* Says it all at once, for all members: only where one member alone does. */
void tp_shm_set_pieces_done(const tp_shm_turn_t *turn, int64_t pieces);
/* The last step, of having read what others have in their staging memory: they may use it again. */
static inline hr_status_t tp_shm_leave(tp_shm_turn_t *turn) {
  tp_shm_did(turn);
  return NULL;
}
/* Memory that the others read, told in this transfer's note, until all have done `steps` steps of it. */
hr_status_t tp_shm_stage(tp_shm_turn_t *turn, size_t size_bytes, char **out_memory);
/* A member's staging memory, once it has done a step. */
static inline char *tp_shm_staged(const tp_shm_turn_t *turn, int member) {
  return tp_shm_at(turn->group->shm, tp_shm_note(turn, member)->place);
}
/* Rounds of a transfer through staged chunks, a step each: `put` copies this member's next chunk to its staging memory,
 * of `stage_bytes`, half of which each of two rounds in turn use; `take` reads those of all once they are there. */
hr_status_t tp_shm_chunks(tp_shm_turn_t *turn, size_t stage_bytes, void (*put)(tp_shm_turn_t *turn),
                          hr_status_t (*take)(tp_shm_turn_t *turn), bool *out_done);
/* After a member's first step, or that of all: other sizes and other collectives are an error. What else a member has
 * told means something only if they are equal. */
hr_status_t tp_shm_check_member(const tp_shm_turn_t *turn, int member);
hr_status_t tp_shm_check_sizes(tp_shm_turn_t *turn);

/* --- arrays that lie in shared memory anyway (tp_alloc): they are read, and written, where they are ---
 * Members tell each other in their first step; what they do then depends on all of them. */
/* Where this member's arrays are; NULL for one that the others need not see. False: not in shared memory. */
bool tp_shm_tell(tp_shm_turn_t *turn, const void *in, const void *out);
static inline char *tp_shm_in(const tp_shm_turn_t *turn, int member) {
  return tp_shm_at(turn->group->shm, tp_shm_note(turn, member)->in);
}
static inline char *tp_shm_out(const tp_shm_turn_t *turn, int member) {
  return tp_shm_at(turn->group->shm, tp_shm_note(turn, member)->out);
}

/* Where processes compete for processors, those that wait would have to run once more each: others may do this member's
 * share, which reads and writes these, if they are shared. After tp_shm_tell. Where so much memory is written that it
 * goes around the caches that is little, and each would have to map what all others have. */
void tp_shm_offer(tp_shm_turn_t *turn, bool streams, const void *in, const void *out);

/* How members go on once all have told where their arrays are: who has its arrays elsewhere begins with its first chunk
 * at once, in `tell`, so that everybody's is there after the first step. */
typedef struct tp_shm_ways {
  hr_status_t (*tell)(tp_shm_turn_t *turn); /* this member's part of the first step; ends with tp_shm_did */
  hr_status_t (*check_sizes)(tp_shm_turn_t *turn);
  /* Where the arrays of all are shared, each member has a share of the work, of so many pieces. If all have offered theirs,
   * whoever has a processor does the next piece, until all are done; else each does its own. */
  int64_t (*pieces)(const tp_shm_turn_t *turn, bool is_offered);
  hr_status_t (*work)(tp_shm_turn_t *turn, int member, int64_t piece);
  hr_status_t (*chunks)(tp_shm_turn_t *turn, bool *out_done); /* through staged chunks */
} tp_shm_ways_t;

/* The first step: tells, waits for all, and chooses the way. */
hr_status_t tp_shm_meet(tp_shm_turn_t *turn, const tp_shm_ways_t *ways, bool *out_done);

/* Bytes that each process copies in at a time: what stays in the caches. */
size_t tp_shm_chunk(const tp_groups_t *groups, size_t size_bytes);
/* Should so many bytes, of each member, be written around the caches? They would only empty what all members share. */
#define TP_SHM_STREAM_BYTES ((size_t)16 << 20)
static inline bool tp_shm_streams(size_t bytes, int members) {
  return bytes * (size_t)members >= TP_SHM_STREAM_BYTES;
}
void tp_shm_copy(void *to, const void *from, size_t size_bytes, bool around_caches);
/* out = ((x0 + x1) + x2) + ... of `size` arrays; out may be the first of them. `wide`: scratch space of TP_SHM_WIDE bytes. */
#define TP_SHM_WIDE ((size_t)64 << 10)
hr_status_t tp_shm_reduce(const tp_reducer_t *reducer, int size, const char *const *in, int64_t count, char *out,
                          char *wide);

#endif
