/* The table of --explain. Spans of the trace with the same kernel and reason are merged into
 * groups, sorted by time; rates come from the bytes and flops that the planner estimated per
 * call, divided by the peak that machine_peak.c measures. A group's limit is the time that its
 * bytes or its flops take at that peak, whichever is longer. */
#include "observe/explain.h"

#include <stdlib.h>

#include "base/mem.h"

#define SHOWN 30       /* lines; the rest are one line */
#define NAMES_WIDTH 60 /* characters after which no more names are begun */
#define FAR_SHARE 0.05 /* share of the kernels' time: less is not named as far from its limit */
#define FAR_LIMIT 0.3  /* share of its limit: at most, to be named */
#define SHORT_NS 1e4   /* longest call whose start counts */

/* Equal kernels: neighbours in a list of subjects. */
typedef struct group {
  hr_trace_span_t *const *members;
  int count;
  double calls, ns, flops, bytes; /* sums over all calls */
  double worked_ns;               /* by all workers */
} group_t;

typedef struct totals {
  double run_ns, runs, kernel_ns, wait_ns;
  double idle_ns;   /* part of kernel_ns in which the first worker waited for the others */
  double shared_ns; /* part of kernel_ns in loops that workers share */
} totals_t;

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

static totals_t add_up(const hr_trace_t *trace) {
  totals_t totals = {0};
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

static int by_time(const void *a, const void *b) {
  const group_t *x = a, *y = b;
  return (x->ns < y->ns) - (x->ns > y->ns);
}

static bool are_equal(const hr_trace_span_t *a, const hr_trace_span_t *b) {
  return a->kind == b->kind && a->same == b->same;
}

/* `list` is sorted by kernel. */
static int make_groups(hr_trace_span_t *const *list, int count, group_t *groups) {
  int made = 0;
  for (int i = 0; i < count; i++) {
    if (!i || !are_equal(list[i], list[i - 1])) groups[made++] = (group_t){.members = list + i};
    group_t *group = &groups[made - 1];
    double calls = (double)list[i]->calls;
    group->count++;
    group->calls += calls;
    group->ns += (double)list[i]->total_ns;
    group->worked_ns +=
        (double)list[i]->total_ns + (double)list[i]->helped_ns - (double)list[i]->idle_ns;
    group->flops += list[i]->flops * calls;
    group->bytes += list[i]->bytes * calls;
  }
  return made;
}

/* --- printing --- */

/* Billions a second, and their part of the peak. */
static void print_rate(hr_strbuf_t *text, double amount, double ns, double peak) {
  if (amount > 0 && ns > 0)
    hr_strbuf_printf(text, " %8.1f %4.0f%%", amount / ns, 100e9 * amount / ns / peak);
  else
    hr_strbuf_add_str(text, "        -     -");
}

static void print_figures(hr_strbuf_t *text, const group_t *group, double all_ns,
                          const machine_peak_t *peak) {
  hr_strbuf_printf(text, "%5.1f%% %9.0f %10.3f %10.2f", all_ns > 0 ? 100 * group->ns / all_ns : 0,
                   group->calls, group->ns * 1e-6,
                   group->calls > 0 ? group->ns * 1e-3 / group->calls : 0);
  hr_strbuf_printf(text, group->ns > 0 ? " %7.1f" : "       -", group->worked_ns / group->ns);
  print_rate(text, group->bytes, group->ns, peak->bytes_per_s);
  print_rate(text, group->flops, group->ns, peak->flops);
}

static void print_names(hr_strbuf_t *text, const group_t *group) {
  size_t start = text->size;
  int shown = 0;
  for (; shown < group->count && text->size - start < NAMES_WIDTH; shown++)
    hr_strbuf_printf(text, "%s%s", shown ? " " : "", group->members[shown]->name);
  if (shown < group->count) hr_strbuf_printf(text, " and %d more", group->count - shown);
}

static void print_group(hr_strbuf_t *text, const group_t *group, double all_ns,
                        const machine_peak_t *peak) {
  const hr_trace_span_t *first = group->members[0];
  print_figures(text, group, all_ns, peak);
  hr_strbuf_printf(text, "  %s", first->kernel);
  if (first->kind != HR_TRACE_COPY) hr_strbuf_printf(text, " (%s)", first->op);
  hr_strbuf_add_str(text, ": ");
  print_names(text, group);
  if (first->reason && first->kind == HR_TRACE_REFERENCE)
    hr_strbuf_printf(text, "; %s", first->reason);
  hr_strbuf_add_char(text, '\n');
}

static void print_others(hr_strbuf_t *text, const group_t *groups, int count, double all_ns,
                         const machine_peak_t *peak) {
  group_t others = {0};
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

/* What the group would take if nothing but bandwidth and arithmetic counted; 0: its work is not
 * known. Arrays that stay in caches can be faster: then it is what it took. */
static double limit_ns(const group_t *group, const machine_peak_t *peak) {
  double moves = 1e9 * group->bytes / peak->bytes_per_s;
  double computes = 1e9 * group->flops / peak->flops;
  double limit = moves > computes ? moves : computes;
  return limit < group->ns ? limit : group->ns;
}

/* A line for each of the kernels that take most of the time: the time that its bytes and operations
 * need, and which of the two. */
static void print_limit_table(hr_strbuf_t *text, const group_t *groups, int count, double kernel_ns,
                              const machine_peak_t *peak) {
  hr_strbuf_printf(text, "%6s %10s %10s %6s %-10s  %s\n", "time", "ms", "limit ms", "near",
                   "limited by", "kernel (op): instructions");
  for (int g = 0; g < count && g < SHOWN; g++) {
    const group_t *group = &groups[g];
    double ns = limit_ns(group, peak);
    bool moves = group->bytes / peak->bytes_per_s > group->flops / peak->flops;
    if (!(ns > 0)) continue;
    hr_strbuf_printf(
        text, "%5.1f%% %10.3f %10.3f %5.0f%% %-10s  %s (%s): ", 100 * group->ns / kernel_ns,
        group->ns * 1e-6, ns * 1e-6, 100 * ns / group->ns, moves ? "bandwidth" : "arithmetic",
        group->members[0]->kernel, group->members[0]->op);
    print_names(text, group);
    hr_strbuf_add_char(text, '\n');
  }
}

/* Why it does not reach its limit. */
static const char *why_far(const group_t *group) {
  if (group->members[0]->reason) return group->members[0]->reason;
  return group->ns < SHORT_NS * group->calls ? "a short call: its start takes as long"
                                             : "no reason known";
}

static bool is_far(const group_t *group, double kernel_ns, const machine_peak_t *peak) {
  double ns = limit_ns(group, peak);
  return group->ns >= FAR_SHARE * kernel_ns && ns > 0 && ns < FAR_LIMIT * group->ns;
}

static void print_far(hr_strbuf_t *text, const group_t *group, double kernel_ns,
                      const machine_peak_t *peak) {
  hr_strbuf_printf(
      text, "far: %.0f%% of the time at %.0f%%: %s (%s): ", 100 * group->ns / kernel_ns,
      100 * limit_ns(group, peak) / group->ns, group->members[0]->kernel, group->members[0]->op);
  print_names(text, group);
  hr_strbuf_printf(text, "; %s\n", why_far(group));
}

/* The limit of all kernels, and those that are far from theirs and take much of the time. */
static void print_limits(hr_strbuf_t *text, const group_t *groups, int count, double kernel_ns,
                         const machine_peak_t *peak) {
  double limit = 0, known = 0;
  for (int g = 0; g < count; g++) {
    double ns = limit_ns(&groups[g], peak);
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
    if (is_far(&groups[g], kernel_ns, peak)) print_far(text, &groups[g], kernel_ns, peak);
}

/* What one worker alone does of the runs. */
static double serial_ns(const totals_t *totals) {
  return totals->run_ns > totals->shared_ns ? totals->run_ns - totals->shared_ns : 0;
}

/* The serial part, and by it the most that workers can gain (Amdahl): the rest, done by W workers,
 * would take W times as long on one. */
static void print_serial(hr_strbuf_t *text, const hr_trace_t *trace, const totals_t *totals) {
  double serial = serial_ns(totals), alone = serial + trace->workers * totals->shared_ns;
  if (serial <= 0) return;
  hr_strbuf_printf(text,
                   "serial: %.3f ms, %.1f%% of the time; at most %.1f times as fast as one worker "
                   "with any number of them\n",
                   serial * 1e-6, 100 * serial / totals->run_ns, alone / serial);
}

/* How evenly the workers had the kernels' work. */
static void print_workers(hr_strbuf_t *text, const hr_trace_t *trace, const totals_t *totals) {
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

static void print_heading(hr_strbuf_t *text, const hr_trace_t *trace, const totals_t *totals,
                          const machine_peak_t *peak) {
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
                        group_t *groups, int count) {
  totals_t totals = add_up(trace);
  double all_ns = totals.run_ns > totals.kernel_ns ? totals.run_ns : totals.kernel_ns;
  qsort(groups, (size_t)count, sizeof *groups, by_time);
  print_heading(text, trace, &totals, peak);
  for (int g = 0; g < count && g < SHOWN; g++) print_group(text, &groups[g], all_ns, peak);
  print_others(text, groups, count, all_ns, peak);
  double between_ns = all_ns - totals.kernel_ns;
  group_t between = {.ns = between_ns, .worked_ns = between_ns, .calls = totals.runs};
  print_figures(text, &between, all_ns, peak);
  hr_strbuf_add_str(text, "  between kernels\n");
}

static void print_table_and_limits(hr_strbuf_t *text, const hr_trace_t *trace,
                                   const machine_peak_t *peak, group_t *groups, int count) {
  print_table(text, trace, peak, groups, count);
  print_limits(text, groups, count, add_up(trace).kernel_ns, peak);
}

/* --- JSON --- */

static void add_string(hr_strbuf_t *text, const char *words) {
  hr_strbuf_add_char(text, '"');
  for (; *words; words++) {
    unsigned char c = (unsigned char)*words;
    if (c < ' ')
      hr_strbuf_printf(text, "\\u%04x", c);
    else if (c == '"' || c == '\\')
      hr_strbuf_printf(text, "\\%c", c);
    else
      hr_strbuf_add_char(text, *words);
  }
  hr_strbuf_add_char(text, '"');
}

static void json_group(hr_strbuf_t *text, const group_t *group, double kernel_ns,
                       const machine_peak_t *peak) {
  const hr_trace_span_t *first = group->members[0];
  hr_strbuf_add_str(text, "{\"kernel\": ");
  add_string(text, first->kernel);
  hr_strbuf_add_str(text, ", \"op\": ");
  add_string(text, first->op ? first->op : "");
  hr_strbuf_printf(text, ", \"calls\": %.0f, \"time_s\": %.9g, \"worked_s\": %.9g", group->calls,
                   group->ns * 1e-9, group->worked_ns * 1e-9);
  hr_strbuf_printf(text, ", \"bytes\": %.0f, \"flops\": %.0f, \"limit_s\": %.9g", group->bytes,
                   group->flops, limit_ns(group, peak) * 1e-9);
  bool far = is_far(group, kernel_ns, peak);
  if (far) hr_strbuf_add_str(text, ", \"far\": true");
  if (far || first->reason) {
    hr_strbuf_add_str(text, ", \"reason\": ");
    add_string(text, far ? why_far(group) : first->reason);
  }
  hr_strbuf_add_str(text, ", \"instructions\": [");
  for (int m = 0; m < group->count; m++) {
    if (m) hr_strbuf_add_str(text, ", ");
    add_string(text, group->members[m]->name);
  }
  hr_strbuf_add_str(text, "]}");
}

static void print_json(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                       group_t *groups, int count) {
  totals_t totals = add_up(trace);
  qsort(groups, (size_t)count, sizeof *groups, by_time);
  hr_strbuf_printf(text,
                   "{\"executions\": %.0f, \"total_s\": %.9g, \"kernels_s\": %.9g, "
                   "\"waits_s\": %.9g, \"serial_s\": %.9g,\n ",
                   totals.runs, totals.run_ns * 1e-9, totals.kernel_ns * 1e-9,
                   totals.wait_ns * 1e-9, serial_ns(&totals) * 1e-9);
  hr_strbuf_printf(text, "\"workers\": %d, \"peak_bytes_per_s\": %.9g, \"peak_flops\": %.9g,\n",
                   trace->workers, peak->bytes_per_s, peak->flops);
  hr_strbuf_add_str(text, " \"kernels\": [");
  for (int g = 0; g < count; g++) {
    hr_strbuf_add_str(text, g ? ",\n  " : "\n  ");
    json_group(text, &groups[g], totals.kernel_ns, peak);
  }
  hr_strbuf_add_str(text, "]}\n");
}

/* --- both forms --- */

typedef void print_fn(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                      group_t *groups, int count);

static hr_status_t print_as(print_fn *print, hr_strbuf_t *text, const hr_trace_t *trace,
                            const machine_peak_t *peak) {
  int count = count_kernels(trace);
  void *list, *groups;
  HR_TRY(hr_alloc_zeroed((size_t)(count + 1) * sizeof(hr_trace_span_t *), &list));
  hr_status_t st = hr_alloc_zeroed((size_t)(count + 1) * sizeof(group_t), &groups);
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
  return print_as(print_table, text, trace, peak);
}

hr_status_t exec_explain_limits(hr_strbuf_t *text, const hr_trace_t *trace,
                                const machine_peak_t *peak) {
  return print_as(print_table_and_limits, text, trace, peak);
}

hr_status_t exec_explain_json(hr_strbuf_t *text, const hr_trace_t *trace,
                              const machine_peak_t *peak) {
  return print_as(print_json, text, trace, peak);
}
