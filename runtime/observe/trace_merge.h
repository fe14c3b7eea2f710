/* One timeline out of those of all processes. */
#ifndef EXEC_TRACE_MERGE_H
#define EXEC_TRACE_MERGE_H

#include "base/trace.h"
#include "comm/peers/process_comm.h"

/* Collective. Rank 0 gets a JSON object as chrome://tracing and ui.perfetto.dev read it, with one
 * process per rank; the others' text stays empty. Clocks of one machine are one; those of others
 * are set by a barrier. Errors: NO_MEMORY, and what transfers meet. */
hr_status_t exec_trace_merge(exec_comm_t *comm, int rank, int world_size, const hr_trace_t *trace,
                             hr_strbuf_t *text);

/* The same of this process alone. */
hr_status_t exec_trace_print(int rank, const hr_trace_t *trace, hr_strbuf_t *text);

#endif
