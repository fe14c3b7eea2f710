/* Traces of execution times: calls and total time of each step of a program, the shares of the
 * workers, and a ring buffer of the latest calls and shares, for a timeline in chrome://tracing and
 * ui.perfetto.dev.
 *
 *   hr_trace_spans_new(trace, step_count, &subjects);    once; then their names and kinds
 *   uint64_t begin = hr_trace_begin(trace, &subjects[step]);
 *   ...                             workers record their shares
 *   hr_trace_add(trace, &subjects[step], begin);
 *
 * Cost: two reads of the clock and a few stores per call, about 50 ns, and the same on each worker
 * with a share; no allocation.
 * Units: nanoseconds of the monotonic clock, which all processes of a machine share.
 * Thread: one at a time. */
#ifndef HR_BASE_TRACE_H
#define HR_BASE_TRACE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"

typedef struct hr_trace hr_trace_t;

typedef enum hr_trace_kind {
  HR_TRACE_NATIVE, /* a library's kernel, or one written by hand */
  HR_TRACE_GENERATED,
  HR_TRACE_REFERENCE,
  HR_TRACE_COLLECTIVE,
  HR_TRACE_COPY,
  HR_TRACE_CONTROL, /* a loop or a branch: includes the time of the steps inside it */
  HR_TRACE_WAIT,    /* a wait for peers, within another span */
  HR_TRACE_RUN,     /* a whole execution */
  HR_TRACE_STAGE,   /* a stage of loading */
  HR_TRACE_TRANSFER /* an asynchronous collective from start to done: overlaps other spans */
} hr_trace_kind_t;

/* The totals of one step or activity. Texts live as long as the trace. */
typedef struct hr_trace_span {
  const char *name, *op, *computation; /* place: the computation; NULL: none */
  const char *kernel;                  /* name of the kernel: "oneDNN matmul" */
  const char *reason;                  /* why no faster kernel is used; NULL: no reason known */
  hr_trace_kind_t kind;
  double flops, bytes; /* work of one call; 0: unknown */
  uint64_t same;       /* key that is equal for spans of equal kernels */
  uint64_t calls, total_ns;
  uint64_t helped_ns;    /* part of total_ns in which other workers were busy, summed over them */
  uint64_t idle_ns;      /* part of total_ns in which the caller waited for them */
  uint64_t shared_ns;    /* part of total_ns in loops that are divided among the workers */
  uint64_t page_bytes;   /* pages that workers touched, summed over workers and calls */
  uint64_t remote_bytes; /* those on another NUMA node than the worker's */
} hr_trace_span_t;

/* One worker's share of a parallel loop. */
typedef struct hr_trace_slice {
  uint64_t begin_ns, took_ns;
  int64_t units; /* iterations of the loop that it executed; 0: it came too late */
} hr_trace_slice_t;

typedef struct hr_trace_event {
  const hr_trace_span_t *span;
  uint64_t begin_ns, took_ns;
  int64_t units, of; /* a worker's share: units of the loop's `of`; 0 of 0: a call */
  int worker;
} hr_trace_event_t;

typedef struct hr_trace_block {
  hr_trace_span_t *spans;
  int count;
  struct hr_trace_block *next;
} hr_trace_block_t;

/* A stage of loading, kept outside of the ring, where a long run would overwrite it. */
typedef struct hr_trace_stage {
  hr_trace_event_t event;
  struct hr_trace_stage *next;
} hr_trace_stage_t;

struct hr_trace {
  hr_arena_t arena;         /* subjects and their texts */
  hr_trace_block_t *blocks; /* the newest first */
  hr_trace_stage_t *stages; /* the newest first */
  hr_trace_event_t *ring;
  uint64_t mask;            /* slots of the ring minus 1; their number is a power of two */
  uint64_t added;           /* number of events added to the ring */
  hr_trace_span_t *current; /* span that shares are recorded for; NULL: none */
  int workers;              /* number of workers that may have shares; 0: not set */
  uint64_t *busy_ns; /* time in kernels, by worker; that of the caller, worker 0, is unused */
  int numa_nodes;    /* number of NUMA nodes with workers; 0: page accesses not counted */
};

/* `events`: capacity of the ring in calls and shares, rounded up to a power of two; the latest are
 * kept. Errors: NO_MEMORY. */
hr_status_t hr_trace_create(size_t events, hr_trace_t **out_trace);
void hr_trace_destroy(hr_trace_t *trace); /* accepts NULL */
/* New spans, cleared, with texts "". They live as long as the trace. */
hr_status_t hr_trace_spans_new(hr_trace_t *trace, int count, hr_trace_span_t **out_subjects);

/* Sets the number of workers that may have shares; the caller is worker 0. Errors: NO_MEMORY. */
hr_status_t hr_trace_workers_set(hr_trace_t *trace, int workers);

/* A stage of loading; `name` lives as long as the trace. */
hr_status_t hr_trace_stage_add(hr_trace_t *trace, const char *name, uint64_t begin_ns,
                               uint64_t took_ns);

/* Sets the current span and returns the time. */
static inline uint64_t hr_trace_begin(hr_trace_t *trace, hr_trace_span_t *span) {
  trace->current = span;
  return hr_clock_ns();
}

static inline void hr_trace_note(hr_trace_t *trace, hr_trace_span_t *span, uint64_t begin_ns,
                                 uint64_t took_ns) {
  span->calls++;
  span->total_ns += took_ns;
  trace->ring[trace->added++ & trace->mask] = (hr_trace_event_t){span, begin_ns, took_ns, 0, 0, 0};
}

/* Records a call that began at begin_ns and ends now. */
static inline void hr_trace_add(hr_trace_t *trace, hr_trace_span_t *span, uint64_t begin_ns) {
  hr_trace_note(trace, span, begin_ns, hr_clock_ns() - begin_ns);
  if (trace->current == span) trace->current = NULL;
}

/* Records the workers' shares of a loop of `units` units that has just ended; the caller is worker
 * 0.
 */
void hr_trace_slices_add(hr_trace_t *trace, const hr_trace_slice_t *shares, int workers,
                         int64_t units);

/* Begin of the oldest recorded event; the current time if there is none. */
uint64_t hr_trace_first_ns(const hr_trace_t *trace);
uint64_t hr_trace_dropped(const hr_trace_t *trace); /* number of overwritten events */
/* Prints the events as members of a JSON list, each followed by a comma, as process `pid`: a row of
 * calls, and one for the shares of each worker. `zero_ns` is time 0 of the timeline. */
void hr_trace_print(hr_strbuf_t *text, const hr_trace_t *trace, int pid, uint64_t zero_ns);
/* True for spans of kernels, false for waits and for spans that contain others. */
static inline bool hr_trace_is_kernel(const hr_trace_span_t *span) {
  return span->kind <= HR_TRACE_COPY;
}

#endif
