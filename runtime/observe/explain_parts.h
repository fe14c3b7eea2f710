/* Internal: shared by explain*.c. */
#ifndef OBSERVE_EXPLAIN_PARTS_H
#define OBSERVE_EXPLAIN_PARTS_H

#include "observe/explain.h"

/* Equal kernels: neighbours in a list of subjects. */
typedef struct explain_group {
  hr_trace_span_t *const *members;
  int count;
  double calls, ns, flops, bytes;  /* sums over all calls */
  double worked_ns;                /* time of all workers */
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
/* Time of the runs in which only one worker works, in ns. */
double explain_serial_ns(const explain_totals_t *totals);
/* Time of the group if only bandwidth and arithmetic counted, in ns; 0: its work is unknown. Arrays
 * that stay in caches can be faster: then the limit is the measured time. */
double explain_limit_ns(const explain_group_t *group, const machine_peak_t *peak);
/* True if the group takes much of the kernels' time and is far from its limit. Also the reason. */
bool explain_is_far(const explain_group_t *group, double kernel_ns, const machine_peak_t *peak);
const char *explain_why_far(const explain_group_t *group);
/* Prints the group's instructions, as many as fit in a line. */
void explain_print_names(hr_strbuf_t *text, const explain_group_t *group);

/* The groups as one JSON object. */
void explain_print_json(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                        explain_group_t *groups, int count);
/* Prints accesses to other NUMA nodes, in total and for each kernel with many. Sorts the groups. */
void explain_print_numa(hr_strbuf_t *text, const hr_trace_t *trace, explain_group_t *groups,
                        int count);

#endif
