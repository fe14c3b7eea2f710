/* What processes tell each other of a transfer that they share: a header of fixed size, in words and as numbers. */
#ifndef EXEC_SAID_H
#define EXEC_SAID_H

#include "ir/module.h"

typedef struct exec_said {
  uint64_t meaning; /* equal if op, operands and reduction are */
  uint64_t number;  /* of its group's transfers, of its channel's messages */
  int64_t count;    /* what it transfers, where that must be equal: elements or bytes; 0: not said */
  char what[112];   /* "all-reduce of f32[4] by add" */
  char place[120];  /* "a.hlo:12: %name" */
} exec_said_t;

/* `meaning`: more that must be equal, besides the op and the shapes. Count and number are the caller's. */
hr_status_t exec_said_of(const hlo_instr_t *instr, uint64_t meaning, exec_said_t *out_said);
/* Errors: DISAGREE with both. */
hr_status_t exec_said_compare(int rank, const exec_said_t *said, int other_rank, const exec_said_t *other);

#endif
