/* The groups of --explain as JSON: times in seconds, rates per second. */
#include <stdlib.h>

#include "observe/explain_parts.h"

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

static void json_group(hr_strbuf_t *text, const explain_group_t *group, double kernel_ns,
                       const machine_peak_t *peak) {
  const hr_trace_span_t *first = group->members[0];
  hr_strbuf_add_str(text, "{\"kernel\": ");
  add_string(text, first->kernel);
  hr_strbuf_add_str(text, ", \"op\": ");
  add_string(text, first->op ? first->op : "");
  hr_strbuf_printf(text, ", \"calls\": %.0f, \"time_s\": %.9g, \"worked_s\": %.9g", group->calls,
                   group->ns * 1e-9, group->worked_ns * 1e-9);
  hr_strbuf_printf(text, ", \"bytes\": %.0f, \"flops\": %.0f, \"limit_s\": %.9g", group->bytes,
                   group->flops, explain_limit_ns(group, peak) * 1e-9);
  bool far = explain_is_far(group, kernel_ns, peak);
  if (far) hr_strbuf_add_str(text, ", \"far\": true");
  if (far || first->reason) {
    hr_strbuf_add_str(text, ", \"reason\": ");
    add_string(text, far ? explain_why_far(group) : first->reason);
  }
  if (group->page_bytes > 0)
    hr_strbuf_printf(text, ", \"page_bytes\": %.0f, \"remote_bytes\": %.0f", group->page_bytes,
                     group->remote_bytes);
  hr_strbuf_add_str(text, ", \"instructions\": [");
  for (int m = 0; m < group->count; m++) {
    if (m) hr_strbuf_add_str(text, ", ");
    add_string(text, group->members[m]->name);
  }
  hr_strbuf_add_str(text, "]}");
}

void explain_print_json(hr_strbuf_t *text, const hr_trace_t *trace, const machine_peak_t *peak,
                        explain_group_t *groups, int count) {
  explain_totals_t totals = explain_add_up(trace);
  qsort(groups, (size_t)count, sizeof *groups, explain_by_time);
  hr_strbuf_printf(text,
                   "{\"executions\": %.0f, \"total_s\": %.9g, \"kernels_s\": %.9g, "
                   "\"waits_s\": %.9g, \"serial_s\": %.9g,\n ",
                   totals.runs, totals.run_ns * 1e-9, totals.kernel_ns * 1e-9,
                   totals.wait_ns * 1e-9, explain_serial_ns(&totals) * 1e-9);
  hr_strbuf_printf(text, "\"workers\": %d, \"peak_bytes_per_s\": %.9g, \"peak_flops\": %.9g,\n",
                   trace->workers, peak->bytes_per_s, peak->flops);
  if (trace->numa_nodes) hr_strbuf_printf(text, " \"numa_nodes\": %d,\n", trace->numa_nodes);
  hr_strbuf_add_str(text, " \"kernels\": [");
  for (int g = 0; g < count; g++) {
    hr_strbuf_add_str(text, g ? ",\n  " : "\n  ");
    json_group(text, &groups[g], totals.kernel_ns, peak);
  }
  hr_strbuf_add_str(text, "]}\n");
}
