/* The table of --explain. Spans of the trace with the same kernel and reason are merged into
 * groups, sorted by time; rates come from the bytes and flops that the planner estimated per
 * call, divided by the peak that machine_peak.c measures. A group's limit is the time that its
 * bytes or its flops take at that peak, whichever is longer. */
#include "observe/explain.h"

#include <stdlib.h>

#include "base/mem.h"
#include "observe/explain_parts.h"

#define SHOWN 30       /* kernels with a line each; the rest share one line */
#define NAMES_WIDTH 60 /* width in characters after which no further name is begun */
#define FAR_SHARE \
  0.05 /* smallest share of the kernels' time of a kernel reported as far from its limit */
#define FAR_LIMIT 0.3 /* largest share of its limit that counts as far */
#define SHORT_NS 1e4  /* longest call whose start-up time counts, in ns */

static bool is_kernel(const hr_trace_span_t *span) {
  return hr_trace_is_kernel(span) && span->calls;
}

/* --- collecting --- */

static int count_kernels(const hr_trace_t *trace) {
  int count = 0;
  for (const hr_trace_block_t *block = trace->blocks; block; block = block->next)
    for (int i = 0; i < block->count; i++) count += is_kernel(&block->spans[i]);
  return count;
}

static void list_kernels(const hr_trace_t *trace, hr_trace_span_t **list) {
  for (const hr_trace_block_t *block = trace->blocks; block; block = block->next)
    for (int i = 0; i < block->count; i++)
      if (is_kernel(&block->spans[i])) *list++ = &block->spans[i];
}

explain_totals_t explain_add_up(const hr_trace_t *trace) {
  explain_totals_t totals = {0};
  for (const hr_trace_block_t *block = trace->blocks; block; block = block->next)
    for (int i = 0; i < block->count; i++) {
      const hr_trace_span_t *span = &block->spans[i];
      double ns = (double)span->total_ns;
      if (is_kernel(span)) {
        totals.shared_ns += (double)span->shared_ns;
        totals.kernel_ns += ns;
        totals.idle_ns += (double)span->idle_ns;
      }
      if (span->kind == HR_TRACE_WAIT) totals.wait_ns += ns;
      if (span->kind == HR_TRACE_RUN) {
        totals.run_ns += ns;
        totals.runs += (double)span->calls;
      }
    }
  return totals;
}

static int by_kernel(const void *a, const void *b) {
  const hr_trace_span_t *x = *(hr_trace_span_t *const *)a, *y = *(hr_trace_span_t *const *)b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->same != y->same) return x->same < y->same ? -1 : 1;
  if (x->total_ns == y->total_ns) return 0;
  return x->total_ns > y->total_ns ? -1 : 1;
}

int explain_by_time(const void *a, const void *b) {
  const explain_group_t *x = a, *y = b;
  return (x->ns < y->ns) - (x->ns > y->ns);
}

static bool are_equal(const hr_trace_span_t *a, const hr_trace_span_t *b) {
  return a->kind == b->kind && a->same == b->same;
}

/* Makes the groups of `list`, which is sorted by kernel. */
static int make_groups(hr_trace_span_t *const *list, int count, explain_group_t *groups) {
  int made = 0;
  for (int i = 0; i < count; i++) {
    if (!i || !are_equal(list[i], list[i - 1]))
      groups[made++] = (explain_group_t){.members = list + i};
    explain_group_t *group = &groups[made - 1];
    double calls = (double)list[i]->calls;
    group->count++;
    group->calls += calls;
    group->ns += (double)list[i]->total_ns;
    group->worked_ns +=
        (double)list[i]->total_ns + (double)list[i]->helped_ns - (double)list[i]->idle_ns;
    group->flops += list[i]->flops * calls;
    group->bytes += list[i]->bytes * calls;
    group->page_bytes += (double)list[i]->page_bytes;
    group->remote_bytes += (double)list[i]->remote_bytes;
  }
  return made;
}

/* --- printing --- */

/* Prints 1e9 units per second, and the share of the peak. */
static void print_rate(hr_strbuf_t *text, double amount, double ns, double peak) {
  if (amount > 0 && ns > 0)
    hr_strbuf_printf(text, " %8.1f %4.0f%%", amount / ns, 100e9 * amount / ns / peak);
  else
    hr_strbuf_add_str(text, "        -     -");
}

static void print_figures(hr_strbuf_t *text, const explain_group_t *group, double all_ns,
                          const machine_peak_t *peak) {
  hr_strbuf_printf(text, "%5.1f%% %9.0f %10.3f %10.2f", all_ns > 0 ? 100 * group->ns / all_ns : 0,
                   group->calls, group->ns * 1e-6,
                   group->calls > 0 ? group->ns * 1e-3 / group->calls : 0);
  hr_strbuf_printf(text, group->ns > 0 ? " %7.1f" : "       -", group->worked_ns / group->ns);
  print_rate(text, group->bytes, group->ns, peak->bytes_per_s);
  print_rate(text, group->flops, group->ns, peak->flops);
}

void explain_print_names(hr_strbuf_t *text, const explain_group_t *group) {
  size_t start = text->size;
  int shown = 0;
  for (; shown < group->count && text->size - start < NAMES_WIDTH; shown++)
    hr_strbuf_printf(text, "%s%s", shown ? " " : "", group->members[shown]->name);
  if (shown < group->count) hr_strbuf_printf(text, " and %d more", group->count - shown);
}

static void print_group(hr_strbuf_t *text, const explain_group_t *group, double all_ns,
                        const machine_peak_t *peak) {
  const hr_trace_span_t *first = group->members[0];
  print_figures(text, group, all_ns, peak);
  hr_strbuf_printf(text, "  %s", first->kernel);
  if (first->kind != HR_TRACE_COPY) hr_strbuf_printf(text, " (%s)", first->op);
  hr_strbuf_add_str(text, ": ");
  explain_print_names(text, group);
  if (first->reason && first->kind == HR_TRACE_REFERENCE)
    hr_strbuf_printf(text, "; %s", first->reason);
  hr_strbuf_add_char(text, '\n');
}

static void print_others(hr_strbuf_t *text, const explain_group_t *groups, int count, double all_ns,
                         const machine_peak_t *peak) {
  explain_group_t others = {0};
  for (int g = SHOWN; g < count; g++) {
    others.calls += groups[g].calls;
    others.ns += groups[g].ns;
    others.worked_ns += groups[g].worked_ns;
  }
  if (count <= SHOWN) return;
  print_figures(text, &others, all_ns, peak);
  hr_strbuf_printf(text, "  others: %d kernels\n", count - SHOWN);
}

/* --- limits --- */

double explain_limit_ns(const explain_group_t *group, const machine_peak_t *peak) {
  double moves = 1e9 * group->bytes / peak->bytes_per_s;
  double computes = 1e9 * group->flops / peak->flops;
  double limit = moves > computes ? moves : computes;
  return limit < group->ns ? limit : group->ns;
}

/* Prints a line for each kernel with much of the time: the times that its bytes and operations
 * need, and the longer of the two. */
static void print_limit_table(hr_strbuf_t *text, const explain_group_t *groups, int count,
                              double kernel_ns, const machine_peak_t *peak) {
  hr_strbuf_printf(text, "%6s %10s %10s %6s %-10s  %s\n", "time", "ms", "limit ms", "near",
                   "limited by", "kernel (op): instructions");
  for (int g = 0; g < count && g < SHOWN; g++) {
    const explain_group_t *group = &groups[g];
    double ns = explain_limit_ns(group, peak);
    bool moves = group->bytes / peak->bytes_per_s > group->flops / peak->flops;
    if (!(ns > 0)) continue;
    hr_strbuf_printf(
        text, "%5.1f%% %10.3f %10.3f %5.0f%% %-10s  %s (%s): ", 100 * group->ns / kernel_ns,
        group->ns * 1e-6, ns * 1e-6, 100 * ns / group->ns, moves ? "bandwidth" : "arithmetic",
        group->members[0]->kernel, group->members[0]->op);
    explain_print_names(text, group);
    hr_strbuf_add_char(text, '\n');
  }
}

const char *explain_why_far(const explain_group_t *group) {
  if (group->members[0]->reason) return group->members[0]->reason;
  return group->ns < SHORT_NS * group->calls ? "a short call: its start takes as long"
                                             : "no reason known";
}

bool explain_is_far(const explain_group_t *group, double kernel_ns, const machine_peak_t *peak) {
  double ns = explain_limit_ns(group, peak);
  return group->ns >= FAR_SHARE * kernel_ns && ns > 0 && ns < FAR_LIMIT * group->ns;
}

static void print_far(hr_strbuf_t *text, const explain_group_t *group, double kernel_ns,
                      const machine_peak_t *peak) {
  hr_strbuf_printf(text,
                   "far: %.0f%% of the time at %.0f%%: %s (%s): ", 100 * group->ns / kernel_ns,
                   100 * explain_limit_ns(group, peak) / group->ns, group->members[0]->kernel,
                   group->members[0]->op);
  explain_print_names(text, group);
  hr_strbuf_printf(text, "; %s\n", explain_why_far(group));
}

/* Prints the limit of all kernels, and the kernels that take much of the time and are far from
 * their limits. */
static void print_limits(hr_strbuf_t *text, const explain_group_t *groups, int count,
                         double kernel_ns, const machine_peak_t *peak) {
  double limit = 0, known = 0;
  for (int g = 0; g < count; g++) {
    double ns = explain_limit_ns(&groups[g], peak);
    limit += ns;
    known += ns > 0 ? groups[g].ns : 0;
  }
  if (known <= 0) return;
  hr_strbuf_printf(text,
                   "limit: kernels of known work, %.0f%% of the kernels' time, are at %.0f%% of "
                   "what bandwidth and arithmetic allow (%.3f ms)\n",
                   100 * known / kernel_ns, 100 * limit / known, limit * 1e-6);
  print_limit_table(text, groups, count, kernel_ns, peak);
  for (int g = 0; g < count; g++)
    if (explain_is_far(&groups[g], kernel_ns, peak)) print_far(text, &groups[g], kernel_ns, peak);
}

double explain_serial_ns(const explain_totals_t *totals) {
  return totals->run_ns > totals->shared_ns ? totals->run_ns - totals->shared_ns : 0;
}

/* Prints the serial part, and the largest speed-up by workers that it allows (Amdahl): the rest,
 * done by W workers, would take W times as long on one. */
static void print_serial(hr_strbuf_t *text, const hr_trace_t *trace,
                         const explain_totals_t *totals) {
  double serial = explain_serial_ns(totals), alone = serial + trace->workers * totals->shared_ns;
  if (serial <= 0) return;
  hr_strbuf_printf(text,
                   "serial: %.3f ms, %.1f%% of the time; at most %.1f times as fast as one worker "
                   "with any number of them\n",
                   serial * 1e-6, 100 * serial / totals->run_ns, alone / serial);
}

/* Prints how evenly the kernels' work was divided among the workers. */
static void print_workers(hr_strbuf_t *text, const hr_trace_t *trace,
                          const explain_totals_t *totals) {
  double minimum = totals->kernel_ns - totals->idle_ns, maximum = minimum, sum = minimum;
  if (trace->workers < 2 || totals->kernel_ns <= 0) return;
  for (int w = 1; w < trace->workers; w++) {
    double busy_ns = (double)trace->busy_ns[w];
    if (busy_ns < minimum) minimum = busy_ns;
    if (busy_ns > maximum) maximum = busy_ns;
    sum += busy_ns;
  }
  double percent = 100 / totals->kernel_ns;
  hr_strbuf_printf(
      text, "%d workers, busy for %.0f%% of the kernels' time: minimum %.0f%%, maximum %.0f%%\n",
      trace->workers, percent * sum / trace->workers, percent * minimum, percent * maximum);
  print_serial(text, trace, totals);
}

static void print_heading(hr_strbuf_t *text, const hr_trace_t *trace,
                          const explain_totals_t *totals, const machine_peak_t *peak) {
  hr_strbuf_printf(text, "%.0f execution%s in %.3f ms, %.3f ms of it in kernels; ", totals->runs,
                   totals->runs == 1 ? "" : "s", totals->run_ns * 1e-6, totals->kernel_ns * 1e-6);
  hr_strbuf_printf(text, "this machine now: %.1f GB/s, %.1f GFLOP/s\n", peak->bytes_per_s * 1e-9,
                   peak->flops * 1e-9);
  if (totals->wait_ns > 0)
    hr_strbuf_printf(text, "waiting for peers: %.3f ms\n", totals->wait_ns * 1e-6);
  print_workers(text, trace, totals);
  hr_strbuf_printf(text, "%6s %9s %10s %10s %7s %8s %5s %8s %5s  %s\n", "time", "calls", "ms",
                   "us/call", "workers", "GB/s", "peak", "GFLOP/s", "peak",
                   "kernel (op): instructions");
}

static void print_table(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                        explain_group_t *groups, int count) {
  explain_totals_t totals = explain_add_up(trace);
  double all_ns = totals.run_ns > totals.kernel_ns ? totals.run_ns : totals.kernel_ns;
  qsort(groups, (size_t)count, sizeof *groups, explain_by_time);
  print_heading(text, trace, &totals, peak);
  for (int g = 0; g < count && g < SHOWN; g++) print_group(text, &groups[g], all_ns, peak);
  print_others(text, groups, count, all_ns, peak);
  double between_ns = all_ns - totals.kernel_ns;
  explain_group_t between = {.ns = between_ns, .worked_ns = between_ns, .calls = totals.runs};
  print_figures(text, &between, all_ns, peak);
  hr_strbuf_add_str(text, "  between kernels\n");
}

static void print_table_and_numa(hr_strbuf_t *text, const hr_trace_t *trace,
                                 const machine_peak_t *peak, explain_group_t *groups, int count) {
  print_table(text, trace, peak, groups, count);
  if (trace->numa_nodes) explain_print_numa(text, trace, groups, count);
}

static void print_table_and_limits(hr_strbuf_t *text, const hr_trace_t *trace,
                                   const machine_peak_t *peak, explain_group_t *groups, int count) {
  print_table(text, trace, peak, groups, count);
  print_limits(text, groups, count, explain_add_up(trace).kernel_ns, peak);
  if (trace->numa_nodes) explain_print_numa(text, trace, groups, count);
}

/* --- common to text and JSON --- */

typedef void print_fn(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                      explain_group_t *groups, int count);

static hr_status_t print_as(print_fn *print, hr_strbuf_t *text, const hr_trace_t *trace,
                            const machine_peak_t *peak) {
  int count = count_kernels(trace);
  void *list, *groups;
  HR_TRY(hr_alloc_zeroed((size_t)(count + 1) * sizeof(hr_trace_span_t *), &list));
  hr_status_t st = hr_alloc_zeroed((size_t)(count + 1) * sizeof(explain_group_t), &groups);
  if (!st) {
    list_kernels(trace, list);
    qsort(list, (size_t)count, sizeof(hr_trace_span_t *), by_kernel);
    print(text, trace, peak, groups, make_groups(list, count, groups));
    hr_free(groups);
  }
  hr_free(list);
  return st;
}

hr_status_t exec_explain_print(hr_strbuf_t *text, const hr_trace_t *trace,
                               const machine_peak_t *peak) {
  return print_as(print_table_and_numa, text, trace, peak);
}

hr_status_t exec_explain_limits(hr_strbuf_t *text, const hr_trace_t *trace,
                                const machine_peak_t *peak) {
  return print_as(print_table_and_limits, text, trace, peak);
}

hr_status_t exec_explain_json(hr_strbuf_t *text, const hr_trace_t *trace,
                              const machine_peak_t *peak) {
  return print_as(explain_print_json, text, trace, peak);
}
