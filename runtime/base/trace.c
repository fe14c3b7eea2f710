/* A ring of events that is overwritten from its start when full. Spans are named once, and written
 * by one thread; worker slices are written by their workers and collected after each loop. */
#include "base/trace.h"

#include "base/mem.h"

static size_t power_of_two(size_t least) {
  size_t power = 1;
  while (power < least) power *= 2;
  return power;
}

/* The ring has a power of two of entries, so that an index is masked. */
hr_status_t hr_trace_create(size_t events, hr_trace_t **out_trace) {
  void *memory, *ring;
  size_t capacity = power_of_two(events);
  HR_TRY(hr_alloc_zeroed(sizeof(hr_trace_t), &memory));
  hr_status_t st = hr_alloc(capacity * sizeof(hr_trace_event_t), &ring);
  if (st) {
    hr_free(memory);
    return st;
  }
  hr_trace_t *trace = memory;
  hr_arena_init(&trace->arena);
  trace->ring = ring;
  trace->mask = capacity - 1;
  *out_trace = trace;
  return NULL;
}

void hr_trace_destroy(hr_trace_t *trace) {
  if (!trace) return;
  hr_free(trace->ring);
  hr_arena_deinit(&trace->arena);
  hr_free(trace);
}

/* Spans live as long as the trace; events point to them. */
hr_status_t hr_trace_spans_new(hr_trace_t *trace, int count, hr_trace_span_t **out_subjects) {
  hr_trace_block_t *block;
  HR_TRY(HR_NEW(&trace->arena, &block));
  HR_TRY(HR_NEW_ARRAY(&trace->arena, count, &block->spans));
  for (int i = 0; i < count; i++) {
    hr_trace_span_t *span = &block->spans[i];
    span->name = "";
    span->op = "";
    span->kernel = "";
  }
  block->count = count;
  block->next = trace->blocks;
  trace->blocks = block;
  *out_subjects = block->spans;
  return NULL;
}

hr_status_t hr_trace_workers_set(hr_trace_t *trace, int workers) {
  HR_TRY(HR_NEW_ARRAY(&trace->arena, workers, &trace->busy_ns));
  trace->workers = workers;
  return NULL;
}

/* Called by the thread of the steps after a loop: no lock is needed. Worker 0 is that thread. */
void hr_trace_slices_add(hr_trace_t *trace, const hr_trace_slice_t *shares, int workers,
                         int64_t units) {
  hr_trace_span_t *span = trace->current;
  if (!span) return;
  for (int w = 0; w < workers; w++) {
    if (!shares[w].units) continue;
    trace->ring[trace->added++ & trace->mask] =
        (hr_trace_event_t){span, shares[w].begin_ns, shares[w].took_ns, shares[w].units, units, w};
    if (w) span->helped_ns += shares[w].took_ns;
    if (w && hr_trace_is_kernel(span)) trace->busy_ns[w] += shares[w].took_ns;
  }
  uint64_t end_ns = hr_clock_ns();
  span->shared_ns += end_ns - shares[0].begin_ns;
  span->idle_ns += end_ns - (shares[0].begin_ns + shares[0].took_ns);
}

/* Stages (reading, compiling) are few and kept outside of the ring, which may overwrite them. */
hr_status_t hr_trace_stage_add(hr_trace_t *trace, const char *name, uint64_t begin_ns,
                               uint64_t took_ns) {
  hr_trace_span_t *span;
  hr_trace_stage_t *stage;
  HR_TRY(hr_trace_spans_new(trace, 1, &span));
  HR_TRY(HR_NEW(&trace->arena, &stage));
  span->name = name;
  span->kind = HR_TRACE_STAGE;
  span->calls = 1;
  span->total_ns = took_ns;
  stage->event = (hr_trace_event_t){.span = span, .begin_ns = begin_ns, .took_ns = took_ns};
  stage->next = trace->stages;
  trace->stages = stage;
  return NULL;
}

static uint64_t stored_count(const hr_trace_t *trace) {
  return trace->added <= trace->mask ? trace->added : trace->mask + 1;
}

uint64_t hr_trace_dropped(const hr_trace_t *trace) { return trace->added - stored_count(trace); }

/* Events are in the order of their ends: an event that contains others comes after them but began
 * earlier. */
uint64_t hr_trace_first_ns(const hr_trace_t *trace) {
  uint64_t first = hr_clock_ns();
  for (const hr_trace_stage_t *stage = trace->stages; stage; stage = stage->next)
    if (stage->event.begin_ns < first) first = stage->event.begin_ns;
  for (uint64_t i = 0; i < stored_count(trace); i++)
    if (trace->ring[i].begin_ns < first) first = trace->ring[i].begin_ns;
  return first;
}

static const char *kind_name(hr_trace_kind_t kind) {
  static const char *const names[] = {"native",  "generated", "reference", "collective",
                                      "copy",    "control",   "wait",      "run",
                                      "loading", "transfer"};
  return names[kind];
}

/* A JSON string. All but control characters, quotes and backslashes is copied as UTF-8. */
static void add_quoted(hr_strbuf_t *text, const char *from) {
  hr_strbuf_add_char(text, '"');
  for (; *from; from++) {
    unsigned char c = (unsigned char)*from;
    if (c == '"' || c == '\\') hr_strbuf_add_char(text, '\\');
    if (c < ' ')
      hr_strbuf_printf(text, "\\u%04x", c);
    else
      hr_strbuf_add_char(text, *from);
  }
  hr_strbuf_add_char(text, '"');
}

static void add_member(hr_strbuf_t *text, const char *key, const char *value) {
  if (!value || !*value) return;
  hr_strbuf_printf(text, ",\"%s\":", key);
  add_quoted(text, value);
}

/* Adds nothing if the amount or the time is not known. */
static void add_rate(hr_strbuf_t *text, const char *key, double amount, uint64_t took_ns) {
  if (amount > 0 && took_ns) hr_strbuf_printf(text, ",\"%s\":%.4g", key, amount / (double)took_ns);
}

/* Transfers overlap each other, which events of one row must not: they are written as pairs of
 * begin and end. */
static void print_transfer(hr_strbuf_t *text, const hr_trace_event_t *event, int pid,
                           uint64_t zero_ns, uint64_t number) {
  for (int end = 0; end < 2; end++) {
    uint64_t at_ns = event->begin_ns + (end ? event->took_ns : 0);
    hr_strbuf_add_str(text, "{\"name\":");
    add_quoted(text, event->span->name);
    add_member(text, "cat", kind_name(event->span->kind));
    hr_strbuf_printf(text, ",\"ph\":\"%s\",\"id\":\"%d.%llu\",\"pid\":%d,\"tid\":0",
                     end ? "e" : "b", pid, (unsigned long long)number, pid);
    hr_strbuf_printf(text, ",\"ts\":%.3f,\"args\":{\"kind\":\"%s\"",
                     ((double)at_ns - (double)zero_ns) * 1e-3, kind_name(event->span->kind));
    add_member(text, "op", event->span->op);
    hr_strbuf_add_str(text, "}},\n");
  }
}

/* The bytes are the share's part of the call's bytes, as if each loop of the call went over all of
 * them. */
static void add_share(hr_strbuf_t *text, const hr_trace_event_t *event) {
  if (!event->of) return;
  double part = (double)event->units / (double)event->of;
  hr_strbuf_printf(text, ",\"units\":%lld,\"of\":%lld", (long long)event->units,
                   (long long)event->of);
  if (event->span->bytes > 0) hr_strbuf_printf(text, ",\"bytes\":%.0f", part * event->span->bytes);
}

/* A complete event ("ph":"X") of Chrome's trace format, whose unit is the microsecond. Rates in
 * billions per second are amounts per nanosecond. */
static void print_event(hr_strbuf_t *text, const hr_trace_event_t *event, int pid,
                        uint64_t zero_ns) {
  const hr_trace_span_t *span = event->span;
  hr_strbuf_add_str(text, "{\"name\":");
  add_quoted(text, span->name);
  add_member(text, "cat", kind_name(span->kind));
  hr_strbuf_printf(
      text,
      ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"kind\":\"%s\"", pid,
      event->of ? event->worker + 1 : 0, ((double)event->begin_ns - (double)zero_ns) * 1e-3,
      (double)event->took_ns * 1e-3, kind_name(span->kind));
  add_member(text, "op", span->op);
  add_member(text, "kernel", span->kernel);
  add_member(text, "computation", span->computation);
  add_member(text, "why", span->reason);
  add_share(text, event);
  add_rate(text, "GFLOP/s", event->of ? 0 : span->flops, event->took_ns);
  add_rate(text, "GB/s", event->of ? 0 : span->bytes, event->took_ns);
  hr_strbuf_add_str(text, "}},\n");
}

/* Row 0 has the calls, row w + 1 the shares of worker w. */
static void print_rows(hr_strbuf_t *text, const hr_trace_t *trace, int pid) {
  for (int row = 0; row <= trace->workers; row++) {
    hr_strbuf_printf(text, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,", pid,
                     row);
    if (row)
      hr_strbuf_printf(text, "\"args\":{\"name\":\"worker %d\"}},\n", row - 1);
    else
      hr_strbuf_add_str(text, "\"args\":{\"name\":\"steps\"}},\n");
    hr_strbuf_printf(text, "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,",
                     pid, row);
    hr_strbuf_printf(text, "\"args\":{\"sort_index\":%d}},\n", row);
  }
}

/* Rows and process names first, then stages, then events in the order of their ends. */
void hr_trace_print(hr_strbuf_t *text, const hr_trace_t *trace, int pid, uint64_t zero_ns) {
  hr_strbuf_printf(
      text,
      "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}},\n", pid,
      pid);
  hr_strbuf_printf(
      text,
      "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"sort_index\":%d}},\n",
      pid, pid);
  if (hr_trace_dropped(trace))
    hr_strbuf_printf(text,
                     "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%d,"
                     "\"args\":{\"labels\":\"%llu earlier calls dropped\"}},\n",
                     pid, (unsigned long long)hr_trace_dropped(trace));
  print_rows(text, trace, pid);
  for (const hr_trace_stage_t *stage = trace->stages; stage; stage = stage->next)
    print_event(text, &stage->event, pid, zero_ns);
  for (uint64_t i = hr_trace_dropped(trace); i < trace->added; i++) {
    const hr_trace_event_t *event = &trace->ring[i & trace->mask];
    if (event->span->kind == HR_TRACE_TRANSFER)
      print_transfer(text, event, pid, zero_ns, i);
    else
      print_event(text, event, pid, zero_ns);
  }
}
