/* Rank 0's view of all ranks' wait states, and the deadlock test over it. */
#ifndef EXEC_WAIT_STATE_H
#define EXEC_WAIT_STATE_H

#include "base/status.h"
#include "base/text.h"

typedef enum exec_wait_state {
  EXEC_WAIT_NONE,    /* it computes, or talks outside of programs */
  EXEC_WAIT_WAITS,   /* for what it says */
  EXEC_WAIT_FINISHED /* its program is over, and that of others is not */
} exec_wait_state_t;

#define EXEC_WAIT_TEXT 256

/* An answer: this, a text of EXEC_WAIT_TEXT bytes that says where it waits, what it needs, and what
 * it has started. */
typedef struct exec_answer {
  uint64_t state;
  uint64_t waits; /* counts its waits: the same number is the same wait */
  uint64_t need_count, started_count;
} exec_answer_t;
typedef struct exec_needed {
  uint64_t what, count;
  int64_t rank;
} exec_needed_t;
typedef struct exec_started {
  uint64_t what, count;
} exec_started_t;

/* The last answer of one rank. */
typedef struct wait_states {
  char *bytes; /* NULL: it has not answered yet */
  size_t capacity;
  double held_from, held_to; /* seconds between which it surely was in this wait; none yet if the
                                second is before */
  bool is_deadlocked;        /* as far as the answers say */
} wait_states_t;

/* `answer` came at answered_s, to a question of queried_s. */
hr_status_t wait_states_update(wait_states_t *states, hr_str_t answer, double answered_s,
                               double queried_s);
/* *out_is_suspect: it may be so, but nothing shows yet that it was at one moment.
 * Errors: DISAGREE when, at one moment, some ranks waited for what only other such ranks, or ranks
 * that have finished, could have done: then nothing can ever help them. */
hr_status_t wait_detect_deadlock(wait_states_t *all, int world, bool *out_is_suspect);
void wait_states_deinit(wait_states_t *states);

#endif
