/* Accesses of workers to pages on other NUMA nodes than their own (numa_trace.h), as text. */
#include <stdlib.h>

#include "observe/explain_parts.h"

#define SHOWN 10         /* most kernels shown */
#define SHOWN_SHARE 0.01 /* smallest share of all remote bytes that is shown */

static int by_remote(const void *a, const void *b) {
  const explain_group_t *x = a, *y = b;
  return (x->remote_bytes < y->remote_bytes) - (x->remote_bytes > y->remote_bytes);
}

static void print_group(hr_strbuf_t *text, const explain_group_t *group, double runs) {
  const hr_trace_span_t *first = group->members[0];
  hr_strbuf_printf(text, "%10.3f %10.3f %5.0f%%  %s (%s): ", group->remote_bytes / runs * 1e-6,
                   group->page_bytes / runs * 1e-6, 100 * group->remote_bytes / group->page_bytes,
                   first->kernel, first->op);
  explain_print_names(text, group);
  hr_strbuf_add_char(text, '\n');
}

void explain_print_numa(hr_strbuf_t *text, const hr_trace_t *trace, explain_group_t *groups,
                        int count) {
  double runs = explain_add_up(trace).runs, pages = 0, remote = 0;
  for (int g = 0; g < count; g++) {
    pages += groups[g].page_bytes;
    remote += groups[g].remote_bytes;
  }
  if (runs <= 0 || pages <= 0) {
    hr_strbuf_add_str(text, "NUMA: no pages were counted\n");
    return;
  }
  hr_strbuf_printf(text,
                   "NUMA: workers on %d node%s touched %.3f MB of pages an execution, %.3f MB "
                   "(%.1f%%) of them on another node\n",
                   trace->numa_nodes, trace->numa_nodes == 1 ? "" : "s", pages / runs * 1e-6,
                   remote / runs * 1e-6, 100 * remote / pages);
  if (remote <= 0) return;
  qsort(groups, (size_t)count, sizeof *groups, by_remote);
  hr_strbuf_printf(text, "%10s %10s %6s  %s\n", "remote MB", "MB", "share",
                   "kernel (op): instructions");
  for (int g = 0; g < count && g < SHOWN && groups[g].remote_bytes > SHOWN_SHARE * remote; g++)
    print_group(text, &groups[g], runs);
}
