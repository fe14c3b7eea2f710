/* Progress counters of a process, read by the status report and the watchdog. Iterations of a loop
 * that neither sends nor waits are no progress: a long loop cannot be told from an endless one.
 * Cost:   some nanoseconds a round, and a look at the coarse clock.
 * Thread: one writes (a machine's); all may read what may be a moment old. */
#ifndef EXEC_PROGRESS_COUNTER_H
#define EXEC_PROGRESS_COUNTER_H

#include <stdatomic.h>

#include "ir/module.h"

typedef struct exec_loop_note {
  _Atomic(const hlo_instr_t *) loop; /* NULL: none */
  atomic_ulong rounds;               /* so far */
} exec_loop_note_t;

typedef struct exec_progress {
  atomic_ulong steps;            /* that have been made: of the program, and transfers */
  exec_loop_note_t outer, inner; /* the outermost loop that runs, and one of those inside of it */
  _Atomic double began_s;        /* the outermost */
  double polled_s;               /* of the writer: exec_progress_is_due */
} exec_progress_t;

/* All accept NULL for `progress`. */

/* A loop begins, and ends. What the first leaves in *out_before belongs to the second. */
typedef struct exec_outer_loop {
  bool is_inner;
  const hlo_instr_t *loop;
  unsigned long rounds;
} exec_outer_loop_t;
void exec_progress_enter(exec_progress_t *progress, const hlo_instr_t *loop,
                         exec_outer_loop_t *out_before);
void exec_progress_leave(exec_progress_t *progress, const exec_outer_loop_t *before);
/* Rounds of a loop that runs: the outermost one's, or else taken for those of the one inside. */
void exec_progress_add_iterations(exec_progress_t *progress, const hlo_instr_t *loop,
                                  int64_t rounds);
/* A round of the loop whose body it is, if that is one that is noted. */
void exec_progress_add_call(exec_progress_t *progress, const hlo_computation_t *computation);
/* An instruction has been run, perhaps a transfer. */
void exec_progress_add_step(exec_progress_t *progress, bool is_transfer);
/* Whether to look around again, which is so a hundred times a second, in loops. */
bool exec_progress_is_due(exec_progress_t *progress);
/* "is in loop a.hlo:7: %while.3 for 2.1 s, 5 iterations"; false: it is in no loop, and `into` is
 * left alone. */
bool exec_progress_describe(const exec_progress_t *progress, char *into, size_t size);

#endif
