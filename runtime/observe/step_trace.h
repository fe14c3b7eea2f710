/* Spans of the trace for the steps of a program: name, kernel, estimated flops and bytes.
 * Owner: spans live as long as the trace. */
#ifndef EXEC_STEP_TRACE_H
#define EXEC_STEP_TRACE_H

#include "base/trace.h"
#include "plan/flat.h"

/* One span per step of a flat plan. The plan need not outlive the trace. Errors: NO_MEMORY. */
hr_status_t exec_trace_flat(hr_trace_t *trace, const flat_plan_t *flat,
                            hr_trace_span_t **out_spans);
/* One span per transfer of a flat plan, from the start step to the done step. Errors: NO_MEMORY. */
hr_status_t exec_trace_transfers(hr_trace_t *trace, const flat_plan_t *flat,
                                 hr_trace_span_t **out_spans);
/* Per computation id one span per step; NULL for computations that are not run. */
hr_status_t exec_trace_plan(hr_trace_t *trace, const plan_t *plan, hr_trace_span_t ***out_bodies);
/* A span without an instruction. Owner: borrows `name` for the life of the trace. */
hr_status_t exec_trace_plain(hr_trace_t *trace, const char *name, hr_trace_kind_t kind,
                             hr_trace_span_t **out_span);

#endif
