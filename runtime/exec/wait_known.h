/* What one process knows of the waits of all: the answers to its questions, and whether somebody waits there for what
 * can never come. */
#ifndef EXEC_WAIT_KNOWN_H
#define EXEC_WAIT_KNOWN_H

#include "base/status.h"
#include "base/text.h"

typedef enum exec_wait_state {
  EXEC_WAIT_NONE,    /* it computes, or talks outside of programs */
  EXEC_WAIT_WAITS,   /* for what it says */
  EXEC_WAIT_FINISHED /* its program is over, and that of others is not */
} exec_wait_state_t;

#define EXEC_KNOWN_TEXT 256

/* An answer: this, a text of EXEC_KNOWN_TEXT bytes that says where it waits, what it needs, and what it has started. */
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
typedef struct exec_known {
  char *bytes; /* NULL: it has not answered yet */
  size_t capacity;
  double held_from, held_to; /* seconds between which it surely was in this wait; none yet if the second is before */
  bool is_stuck;             /* as far as the answers say */
} exec_known_t;

/* `answer` came at told_s, to a question of asked_s. */
hr_status_t exec_known_update(exec_known_t *known, hr_str_t answer, double told_s, double asked_s);
/* *out_looks_bad: it may be so, but nothing shows yet that it was at one moment.
 * Errors: DISAGREE when, at one moment, some ranks waited for what only other such ranks, or ranks that have finished,
 * could have done: then nothing can ever help them. */
hr_status_t exec_known_judge(exec_known_t *all, int world, bool *out_looks_bad);
void exec_known_deinit(exec_known_t *known);

#endif
