/* The deadlock test of --verify-comm: rank 0's view of the wait states of all ranks. Thread: one.
 * See wait_state.c for the algorithm. */
#ifndef EXEC_WAIT_STATE_H
#define EXEC_WAIT_STATE_H

#include "base/status.h"
#include "base/text.h"

typedef enum exec_wait_state {
  EXEC_WAIT_NONE,    /* computes, or communicates outside of programs */
  EXEC_WAIT_WAITS,   /* blocked on its needs */
  EXEC_WAIT_FINISHED /* the program of this rank has ended; peers may still run */
} exec_wait_state_t;

#define EXEC_WAIT_TEXT 256

/* Answer of a rank, as bytes: this header, EXEC_WAIT_TEXT bytes of text with the source location,
 * need_count exec_needed_t, started_count exec_started_t. Native byte order. */
typedef struct exec_answer {
  uint64_t state;
  uint64_t waits; /* number of the wait: equal numbers are the same wait */
  uint64_t need_count, started_count;
} exec_answer_t;
typedef struct exec_needed {
  uint64_t what, count;
  int64_t rank;
} exec_needed_t;
typedef struct exec_started {
  uint64_t what, count;
} exec_started_t;

/* The last answer of one rank, and the interval for which it is known to hold. */
typedef struct wait_states {
  char *bytes; /* NULL: no answer yet */
  size_t capacity;
  double held_from, held_to; /* seconds, CLOCK_MONOTONIC of rank 0; empty if held_to < held_from */
  bool is_deadlocked;        /* result of the last test */
} wait_states_t;

/* Stores the answer that arrived at `answered_s` to a question sent at `queried_s`, or extends
 * the interval if the rank is still in the same wait.
 * Owner:   copies.
 * Errors:  NO_MEMORY. */
hr_status_t wait_states_update(wait_states_t *states, hr_str_t answer, double answered_s,
                               double queried_s);
/* Tests for a deadlock. *out_is_suspect: ranks are blocked, though not yet provably at one moment.
 * Errors: DISAGREE if a set of ranks waits, at one moment, for operations that only ranks of the
 *         set or finished ranks could start; notes name each wait. */
hr_status_t wait_detect_deadlock(wait_states_t *all, int world, bool *out_is_suspect);
void wait_states_deinit(wait_states_t *states);

#endif
