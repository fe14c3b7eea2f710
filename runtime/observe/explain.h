/* The table of --explain: where the time of a run went, by kernel, and how far each is from what
 * the machine can do. */
#ifndef EXEC_EXPLAIN_H
#define EXEC_EXPLAIN_H

#include "base/trace.h"
#include "observe/machine_peak.h"

/* Kernels of this process, the most expensive first; those that are equal are one line. Errors:
 * NO_MEMORY. */
hr_status_t exec_explain_print(hr_strbuf_t *text, const hr_trace_t *trace,
                               const machine_peak_t *peak);

#endif
