/* All-gather of variable-length strings. */
#ifndef EXEC_ALLGATHER_STRINGS_H
#define EXEC_ALLGATHER_STRINGS_H

#include "comm/peers/process_comm.h"

/* Collective. *out_texts: one NUL-terminated text per rank, in `arena`.
 * Cost:   ranks times the longest text, in memory and in messages.
 * Errors: NO_MEMORY; UNAVAILABLE, CANCELLED, DEADLINE. */
hr_status_t exec_exchange(exec_comm_t *comm, hr_arena_t *arena, const hr_strbuf_t *mine,
                          const hr_str_t **out_texts);
/* Extracts the next field, which ends at a tab or newline; false at the end of the text. */
bool exec_next_field(hr_str_t *rest, hr_str_t *out_field);
bool exec_next_number(hr_str_t *rest, int64_t *out_number);

#endif
