/* All-gather of variable-length strings. */
#ifndef EXEC_ALLGATHER_STRINGS_H
#define EXEC_ALLGATHER_STRINGS_H

#include "comm/peers/process_comm.h"

/* Collective. *out_texts has one text per rank, NUL-terminated, in `arena`.
 * Cost: the room of the longest text, times the number of ranks. */
hr_status_t exec_exchange(exec_comm_t *comm, hr_arena_t *arena, const hr_strbuf_t *mine,
                          const hr_str_t **out_texts);
/* The next field of a text whose fields end in tabs and whose lines end in newlines; false at the
 * end. */
bool exec_next_field(hr_str_t *rest, hr_str_t *out_field);
bool exec_next_number(hr_str_t *rest, int64_t *out_number);

#endif
