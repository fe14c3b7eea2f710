/* Signature of a communication operation, exchanged and compared by --verify-comm: fixed size, as
 * text and as numbers.
 */
#ifndef EXEC_COMM_SIGNATURE_H
#define EXEC_COMM_SIGNATURE_H

#include "ir/module.h"

typedef struct comm_signature {
  uint64_t meaning; /* equal if op, operands and reduction are */
  uint64_t number;  /* of its group's transfers, of its channel's messages */
  int64_t count;  /* what it transfers, where that must be equal: elements or bytes; 0: not said */
  char what[112]; /* "all-reduce of f32[4] by add" */
  char source_loc[120]; /* "a.hlo:12: %name" */
} comm_signature_t;

/* Prints "a.hlo:12: %name" into `into`, NUL-terminated; a path that is too long loses its start,
 * which "..." replaces. */
void comm_print_source_loc(const hlo_instr_t *instr, char *into, size_t size);

/* `meaning`: more that must be equal, besides the op and the shapes. Count and number are the
 * caller's. */
hr_status_t comm_signature_of(const hlo_instr_t *instr, uint64_t meaning,
                              comm_signature_t *out_signature);
/* Errors: DISAGREE with both. */
hr_status_t comm_signature_compare(int rank, const comm_signature_t *signature, int other_rank,
                                   const comm_signature_t *other);

#endif
