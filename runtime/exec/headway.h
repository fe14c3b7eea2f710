/* What a process does, for those who ask, and how far it has come, for time-outs. Rounds of a loop in which nothing is
 * sent or awaited are no progress: nobody can tell a long loop from one without an end.
 * Cost:   some nanoseconds a round, and a look at the coarse clock.
 * Thread: one writes (a machine's); all may read what may be a moment old. */
#ifndef EXEC_HEADWAY_H
#define EXEC_HEADWAY_H

#include <stdatomic.h>

#include "ir/module.h"

typedef struct exec_loop_note {
  _Atomic(const hlo_instr_t *) loop; /* NULL: none */
  atomic_ulong rounds;               /* so far */
} exec_loop_note_t;

typedef struct exec_headway {
  atomic_ulong steps;                /* that have been made: of the program, and transfers */
  exec_loop_note_t outer, inner;     /* the outermost loop that runs, and one of those inside of it */
  _Atomic double began_s;            /* the outermost */
  double looked_s;                   /* of the writer: exec_headway_is_due */
} exec_headway_t;

/* All accept NULL for `headway`. */

/* A loop begins, and ends. What the first leaves in *out_before belongs to the second. */
typedef struct exec_loop_before {
  bool is_inner;
  const hlo_instr_t *loop;
  unsigned long rounds;
} exec_loop_before_t;
void exec_headway_enter(exec_headway_t *headway, const hlo_instr_t *loop, exec_loop_before_t *out_before);
void exec_headway_leave(exec_headway_t *headway, const exec_loop_before_t *before);
/* Rounds of a loop that runs: the outermost one's, or else taken for those of the one inside. */
void exec_headway_add_rounds(exec_headway_t *headway, const hlo_instr_t *loop, int64_t rounds);
/* A round of the loop whose body it is, if that is one that is noted. */
void exec_headway_add_call(exec_headway_t *headway, const hlo_computation_t *computation);
/* An instruction has been run, perhaps a transfer. */
void exec_headway_add_step(exec_headway_t *headway, bool is_transfer);
/* Whether to look around again, which is so a hundred times a second, in loops. */
bool exec_headway_is_due(exec_headway_t *headway);
/* "goes round in a.hlo:7: %while.3, for 2.1 s: 5 rounds"; false: it is in no loop, and `into` is left alone. */
bool exec_headway_describe(const exec_headway_t *headway, char *into, size_t size);

#endif
