/* Internal: what the parts of explain*.c share. */
#ifndef OBSERVE_EXPLAIN_PARTS_H
#define OBSERVE_EXPLAIN_PARTS_H

#include "observe/explain.h"

/* Equal kernels: neighbours in a list of subjects. */
typedef struct explain_group {
  hr_trace_span_t *const *members;
  int count;
  double calls, ns, flops, bytes;  /* sums over all calls */
  double worked_ns;                /* by all workers */
  double page_bytes, remote_bytes; /* as in hr_trace_span_t, 0: not counted */
} explain_group_t;

typedef struct explain_totals {
  double run_ns, runs, kernel_ns, wait_ns;
  double idle_ns;   /* part of kernel_ns in which the first worker waited for the others */
  double shared_ns; /* part of kernel_ns in loops that workers share */
} explain_totals_t;

/* Sums over all spans. */
explain_totals_t explain_add_up(const hr_trace_t *trace);
/* Compares two groups for qsort: the longer time first. */
int explain_by_time(const void *a, const void *b);
/* What one worker alone does of the runs. */
double explain_serial_ns(const explain_totals_t *totals);
/* What the group would take if nothing but bandwidth and arithmetic counted; 0: its work is not
 * known. Arrays that stay in caches can be faster: then it is what it took. */
double explain_limit_ns(const explain_group_t *group, const machine_peak_t *peak);
/* Does it take much of the kernels' time, far from its limit? And why. */
bool explain_is_far(const explain_group_t *group, double kernel_ns, const machine_peak_t *peak);
const char *explain_why_far(const explain_group_t *group);
/* Its instructions, as many as a line has room for. */
void explain_print_names(hr_strbuf_t *text, const explain_group_t *group);

/* The groups as one JSON object. */
void explain_print_json(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                        explain_group_t *groups, int count);
/* Accesses to other NUMA nodes, of all kernels and of each that makes many. Sorts the groups. */
void explain_print_numa(hr_strbuf_t *text, const hr_trace_t *trace, explain_group_t *groups,
                        int count);

#endif
