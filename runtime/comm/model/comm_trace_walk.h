/* Internal: the walk that builds a trace. comm_trace_events.c records events, comm_trace_control.c
 * follows branches and loops, comm_trace.c calls and everything else. */
#ifndef CHECK_COMM_TRACE_WALK_H
#define CHECK_COMM_TRACE_WALK_H

#include "comm/model/abstract_eval.h"
#include "comm/model/comm_trace.h"

#define CHECK_MAX_STEPS 20000000 /* iterations and calls per process, unless event_limit is lower \
                                  */
#define CHECK_NO_FRAME UINT32_MAX

typedef struct check_walk {
  const comm_analysis_t *analysis;
  check_walk_options_t options;
  check_evaluator_t evaluator;
  comm_trace_t *out;
  hr_map_t instances;   /* count of instances per collective, by key */
  uint64_t region_deps; /* elements of the innermost loop state on which decisions of nested regions
                           depend */
  uint32_t region;      /* 1 + the innermost open region; 0: none */
  uint64_t steps;
  int depth;
  bool is_split;      /* instructions are placed on devices */
  const char *reason; /* reason why the walk stopped; NULL: it has not */
} check_walk_t;

typedef struct check_invocation { /* one invocation of a computation */
  check_walk_t *walk;
  const check_body_t *body;
  check_value_t *values; /* by instruction */
  uint32_t *starts;      /* by instruction: position of its start event */
  uint32_t frame;        /* CHECK_NO_FRAME: the computation does not communicate */
} check_invocation_t;

/* Counts an iteration or a call; false beyond the limit. */
static inline bool check_walk_step(check_walk_t *walk) {
  return ++walk->steps <=
         (walk->options.event_limit ? 4 * walk->options.event_limit : CHECK_MAX_STEPS);
}
/* Stops the walk with a reason; the first reason is kept. Not an error: the schedule is
 * unproved. */
hr_status_t check_walk_abandon(check_walk_t *walk, const hlo_instr_t *instr, const char *why);

/* --- comm_trace_events.c --- */

hr_status_t check_walk_event(check_invocation_t *in, const hlo_instr_t *instr,
                             const comm_participants_t *site, check_event_kind_t kind,
                             uint32_t start);
/* Records a start by `instr`. `communicates`: `instr` itself, or the collective that it wraps. */
hr_status_t check_walk_start(check_invocation_t *in, const hlo_instr_t *instr,
                             const hlo_instr_t *communicates, check_event_kind_t kind);
hr_status_t check_walk_done(check_invocation_t *in, const hlo_instr_t *instr,
                            const hlo_instr_t *start, check_event_kind_t kind);
hr_status_t check_walk_frame(check_invocation_t *in, const hlo_computation_t *computation,
                             const hlo_instr_t *caller, uint32_t iteration, uint32_t *out_frame);
/* The abstract result of a collective; counts the instance even if the value is not `needed`. */
hr_status_t check_walk_result(check_invocation_t *in, const hlo_instr_t *instr, bool needed,
                              check_value_t *out_value);
/* Records a transfer, a collective, or a done, and sets its value. */
hr_status_t check_walk_communication(check_invocation_t *in, const hlo_instr_t *instr, bool needed);

/* --- comm_trace_control.c --- */

hr_status_t check_walk_conditional(check_invocation_t *in, const hlo_instr_t *instr,
                                   check_value_t *out_value);
hr_status_t check_walk_while(check_invocation_t *in, const hlo_instr_t *instr,
                             check_value_t *out_value);

/* --- comm_trace.c --- */

hr_status_t check_walk_computation(check_walk_t *walk, const hlo_computation_t *computation,
                                   const check_value_t *args, uint32_t frame,
                                   check_value_t *out_root);

#endif
