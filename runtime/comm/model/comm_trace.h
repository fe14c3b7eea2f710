/* The communication trace of one process: its communication events in planned order. Calls,
 * branches and loops are followed as far as constants, partition-id and replica-id decide them. If
 * data decide, the trace has a region: the events of each branch, or of one iteration. Regions
 * carry a signature, equal in processes that provably decide alike. */
#ifndef CHECK_COMM_TRACE_H
#define CHECK_COMM_TRACE_H

#include "comm/model/participants.h"

typedef enum check_event_kind {
  CHECK_SEND,
  CHECK_RECV,
  CHECK_SEND_DONE,
  CHECK_RECV_DONE,
  CHECK_JOIN,      /* the start of a collective */
  CHECK_JOIN_DONE, /* the wait for a collective; directly after its start if synchronous */
  CHECK_REGION,    /* start: number of the region; its alternatives follow, */
  CHECK_REGION_END /* each ended by one of these */
} check_event_kind_t;

typedef struct check_event {
  const hlo_instr_t *instr;
  const comm_participants_t *site; /* participants of the start, also in dones */
  uint32_t kind : 4;
  uint32_t frame : 28;
  uint32_t start; /* dones: position of their start */
} check_event_t;

/* An invocation of a computation. Frame 0 is the entry. */
typedef struct check_frame {
  const hlo_computation_t *computation;
  const hlo_instr_t *caller;
  uint32_t parent;
  uint32_t iteration; /* orders the frames of one loop: 2k is the k-th test of the condition, 2k+1
                         the k-th body */
} check_frame_t;

typedef struct check_region {
  const hlo_instr_t *instr; /* the while or the conditional */
  const hlo_instr_t *cause; /* value that the decision depends on; may be NULL */
  uint64_t signature;
  bool varies;     /* the decision may differ between processes */
  uint32_t parent; /* 1 + the region around it; 0: none */
  uint32_t end;    /* position after its last event */
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
  hr_map_t *plans; /* prepared kernels, shared by the walks of one program */
  int program, rank;
  uint64_t event_limit; /* 0: a generous default */
} check_walk_options_t;

/* Walks the program of one rank. *out_by_rank: the trace may differ on other ranks. *out_reason (in
 * the arena of the participant sets) is the reason why the walk stopped early; else NULL.
 * Owner:  the caller destroys the trace.
 * Errors: INVALID for misuse of groups; NO_MEMORY. */
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
/* True if event `a` precedes event `b` in every order that the dependencies allow. Needs an
 * analysis with any_order. */
bool check_event_is_before(const comm_trace_t *trace, uint32_t a, uint32_t b);

#endif
