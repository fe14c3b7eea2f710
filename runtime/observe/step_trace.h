/* What a program's steps are called in traces, and what runs them. */
#ifndef EXEC_STEP_TRACE_H
#define EXEC_STEP_TRACE_H

#include "base/trace.h"
#include "plan/flat.h"

/* One subject per step of a flat plan. The plan need not outlive the trace. Errors: NO_MEMORY. */
hr_status_t exec_trace_flat(hr_trace_t *trace, const flat_plan_t *flat,
                            hr_trace_span_t **out_subjects);
/* The same for the collectives that steps begin and others end. */
hr_status_t exec_trace_transfers(hr_trace_t *trace, const flat_plan_t *flat,
                                 hr_trace_span_t **out_subjects);
/* Per computation id one subject per step, NULL for computations that nothing runs; lives as long
 * as the trace. */
hr_status_t exec_trace_plan(hr_trace_t *trace, const plan_t *plan, hr_trace_span_t ***out_bodies);
/* A subject without an instruction; `name` lives as long as the trace. */
hr_status_t exec_trace_plain(hr_trace_t *trace, const char *name, hr_trace_kind_t kind,
                             hr_trace_span_t **out_subject);

#endif
