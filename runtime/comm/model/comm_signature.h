/* Signature of a communication operation, exchanged and compared by --verify-comm. Fixed size, so
 * that it can be a message; native byte order. */
#ifndef EXEC_COMM_SIGNATURE_H
#define EXEC_COMM_SIGNATURE_H

#include "ir/module.h"

typedef struct comm_signature {
  uint64_t meaning;     /* hash of op, operand shapes and reduction */
  uint64_t number;      /* number of the operation in its group or channel */
  int64_t count;        /* elements or bytes if they must agree; else 0 */
  char what[112];       /* "all-reduce of f32[4] by add" */
  char source_loc[120]; /* "a.hlo:12: %name" */
} comm_signature_t;

/* Prints "a.hlo:12: %name" into `into`, NUL-terminated; a path that is too long loses its start,
 * which "..." replaces. */
void comm_print_source_loc(const hlo_instr_t *instr, char *into, size_t size);

/* Fills in `meaning`, `what` and `source_loc`. `meaning`: hash of further attributes that must
 * agree. Errors: NO_MEMORY. */
hr_status_t comm_signature_of(const hlo_instr_t *instr, uint64_t meaning,
                              comm_signature_t *out_signature);
/* Errors: DISAGREE if they differ, with both operations and their source locations. */
hr_status_t comm_signature_compare(int rank, const comm_signature_t *signature, int other_rank,
                                   const comm_signature_t *other);

#endif
