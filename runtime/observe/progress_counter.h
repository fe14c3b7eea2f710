/* Progress of a process, read by the status report and the watchdog. Iterations of a loop that does
 * not communicate are no progress: a long loop cannot be told from an endless one.
 * Cost:   some nanoseconds per iteration, and a read of the coarse clock.
 * Thread: one writer, the thread of the execution; any reader, which may see slightly old
 * values. */
#ifndef EXEC_PROGRESS_COUNTER_H
#define EXEC_PROGRESS_COUNTER_H

#include <stdatomic.h>

#include "ir/module.h"

typedef struct exec_loop_note {
  _Atomic(const hlo_instr_t *) loop; /* NULL: none */
  atomic_ulong rounds;               /* iterations so far */
} exec_loop_note_t;

typedef struct exec_progress {
  atomic_ulong steps;            /* completed steps of the program and transfers */
  exec_loop_note_t outer, inner; /* outermost loop that runs, and one loop within it */
  _Atomic double began_s;        /* start of the outer loop, seconds of CLOCK_MONOTONIC */
  double polled_s;               /* writer only: time of the last poll */
} exec_progress_t;

/* All accept NULL for `progress`. */

/* Bracket a loop. *out_before saves the enclosing state for exec_progress_leave. */
typedef struct exec_outer_loop {
  bool is_inner;
  const hlo_instr_t *loop;
  unsigned long rounds;
} exec_outer_loop_t;
void exec_progress_enter(exec_progress_t *progress, const hlo_instr_t *loop,
                         exec_outer_loop_t *out_before);
void exec_progress_leave(exec_progress_t *progress, const exec_outer_loop_t *before);
/* Adds iterations of `loop`: of the outer loop, or else of a loop within it. */
void exec_progress_add_iterations(exec_progress_t *progress, const hlo_instr_t *loop,
                                  int64_t rounds);
/* Adds an iteration if `computation` is the body of a recorded loop. */
void exec_progress_add_call(exec_progress_t *progress, const hlo_computation_t *computation);
/* Adds a completed step; within loops only transfers count. */
void exec_progress_add_step(exec_progress_t *progress, bool is_transfer);
/* True about a hundred times a second within loops: time to poll for cancellation. */
bool exec_progress_is_due(exec_progress_t *progress);
/* "is in loop a.hlo:7: %while.3 for 2.1 s, 5 iterations"; false outside of loops, with `into`
 * unchanged. */
bool exec_progress_describe(const exec_progress_t *progress, char *into, size_t size);

#endif
