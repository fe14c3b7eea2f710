/* Merges the timelines of all processes into one. */
#ifndef EXEC_TRACE_MERGE_H
#define EXEC_TRACE_MERGE_H

#include "base/trace.h"
#include "comm/peers/process_comm.h"

/* Collective. Appends on rank 0 a JSON object for chrome://tracing and ui.perfetto.dev, one process
 * per rank, times in microseconds; other ranks' text stays empty. Clocks of different hosts are
 * aligned by a barrier.
 * Errors: NO_MEMORY; UNAVAILABLE, CANCELLED, DEADLINE of its transfers. */
hr_status_t exec_trace_merge(exec_comm_t *comm, int rank, int world_size, const hr_trace_t *trace,
                             hr_strbuf_t *text);

/* Appends the JSON object of this process only; not collective. Errors: NO_MEMORY. */
hr_status_t exec_trace_print(int rank, const hr_trace_t *trace, hr_strbuf_t *text);

#endif
