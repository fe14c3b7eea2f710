/* What one process says to others, in planned order: its program with calls, branches and loops
 * followed as far as constants, partition-id and replica-id decide them. Where data decide, the
 * list has a region: what the process does if that branch is taken, or in one iteration of that
 * loop; regions carry a signature that is equal in processes that provably decide the same. */
#ifndef CHECK_COMM_TRACE_H
#define CHECK_COMM_TRACE_H

#include "comm/model/participants.h"

typedef enum check_event_kind {
  CHECK_SEND,
  CHECK_RECV,
  CHECK_SEND_DONE,
  CHECK_RECV_DONE,
  CHECK_JOIN,      /* the start of a collective */
  CHECK_JOIN_DONE, /* the wait for one; of a synchronous collective right behind its start */
  CHECK_REGION,    /* start: its number. Its alternatives follow, each ended by ... */
  CHECK_REGION_END /* ... one of these */
} check_event_kind_t;

typedef struct check_event {
  const hlo_instr_t *instr;
  const comm_participants_t *site; /* of the start, also in dones */
  uint32_t kind : 4;
  uint32_t frame : 28;
  uint32_t start; /* dones: position of the start */
} check_event_t;

/* A computation at work. Frame 0 is the entry. */
typedef struct check_frame {
  const hlo_computation_t *computation;
  const hlo_instr_t *caller;
  uint32_t parent;
  uint32_t iteration; /* orders the frames of one loop: 2k is the k-th test of the condition, 2k+1
                         the k-th body */
} check_frame_t;

typedef struct check_region {
  const hlo_instr_t *instr; /* the while or the conditional */
  const hlo_instr_t *cause; /* what its decision depends on; may be NULL */
  uint64_t signature;
  bool varies;     /* the decision may differ between processes */
  uint32_t parent; /* 1 + the region around it; 0: none */
  uint32_t end;    /* position behind its last event */
  uint32_t alternative_count;
  uint32_t frame;
} check_region_t;

typedef struct comm_trace {
  int program;
  const comm_analysis_t *analysis;
  HR_VEC(check_event_t) events;
  HR_VEC(check_frame_t) frames;
  HR_VEC(check_region_t) regions;
  uint64_t hash;
  int process_count, first_rank;
} comm_trace_t;

typedef struct check_walk_options {
  comm_participant_sets_t *sites;
  hr_map_t *plans; /* kernels prepared so far, for the walks of one program */
  int program, rank;
  uint64_t event_limit; /* 0: a generous default */
} check_walk_options_t;

/* *out_by_rank: the list may be another in another process of the program. *out_reason (in the
 * arena of the sites) is set if the program could not be followed to its end, else NULL. Errors:
 * INVALID for misuse of groups, NO_MEMORY. */
hr_status_t check_walk(const comm_analysis_t *analysis, const check_walk_options_t *options,
                       comm_trace_t **out_trace, bool *out_by_rank, const char **out_reason);
void comm_trace_destroy(comm_trace_t *trace); /* accepts NULL */
bool comm_trace_equal(const comm_trace_t *a, const comm_trace_t *b);

static inline bool check_is_start(const check_event_t *event) {
  return event->kind == CHECK_SEND || event->kind == CHECK_RECV || event->kind == CHECK_JOIN;
}
static inline bool check_is_done(const check_event_t *event) {
  return event->kind == CHECK_SEND_DONE || event->kind == CHECK_RECV_DONE ||
         event->kind == CHECK_JOIN_DONE;
}
/* Must event `a` happen before event `b`, in any order that the process may choose? Needs facts for
 * any order. */
bool check_event_is_before(const comm_trace_t *trace, uint32_t a, uint32_t b);

#endif
