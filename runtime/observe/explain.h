/* The table of --explain: time by kernel, and the fraction of peak bandwidth and FLOP/s. */
#ifndef EXEC_EXPLAIN_H
#define EXEC_EXPLAIN_H

#include "base/trace.h"
#include "observe/machine_peak.h"

/* Prints the kernels of this process by decreasing time, equal kernels in one line; then accesses
 * to other NUMA nodes, if the trace has them. The trace must not be written meanwhile. Errors:
 * NO_MEMORY. */
hr_status_t exec_explain_print(hr_strbuf_t *text, const hr_trace_t *trace,
                               const machine_peak_t *peak);
/* Prints the table of exec_explain_print, followed by the time that bandwidth and arithmetic
 * allow for each kernel. Kernels that are far from it and take much of the time are listed with
 * the reason, if known. Errors: NO_MEMORY. */
hr_status_t exec_explain_limits(hr_strbuf_t *text, const hr_trace_t *trace,
                                const machine_peak_t *peak);
/* Prints one JSON object: all kernels, times in seconds, rates per second. "instructions" are
 * names in the program, "limit_s" is the time that bandwidth and arithmetic allow (0: unknown),
 * "far" are the kernels that exec_explain_limits lists, with their "reason". Errors: NO_MEMORY. */
hr_status_t exec_explain_json(hr_strbuf_t *text, const hr_trace_t *trace,
                              const machine_peak_t *peak);

#endif
