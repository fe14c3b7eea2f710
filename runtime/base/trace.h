/* Where time goes: how often each step of a program ran and how long that took, what each worker
 * had of it, and a ring of the last calls and shares, for a timeline that chrome://tracing and
 * ui.perfetto.dev show.
 *
 *   hr_trace_spans_new(trace, step_count, &subjects);    once; then their names and kinds
 *   uint64_t begin = hr_trace_begin(trace, &subjects[step]);
 *   ...                             workers that it engages note their shares
 *   hr_trace_add(trace, &subjects[step], begin);
 *
 * Cost: two looks at the clock and a few stores a call, about 50 ns, and as much on each worker
 * that has a share; nothing is allocated. Units: nanoseconds of the monotonic clock, which all
 * processes of a machine share. Thread: one at a time. */
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
  HR_TRACE_CONTROL, /* a loop or a choice: its time is that of what runs inside it */
  HR_TRACE_WAIT,    /* for peers: inside of another */
  HR_TRACE_RUN,     /* a whole execution */
  HR_TRACE_STAGE,   /* a stage of loading */
  HR_TRACE_TRANSFER /* a collective between its halves: beside what runs meanwhile, not part of it
                     */
} hr_trace_kind_t;

/* What takes time again and again. Texts live as long as the trace. */
typedef struct hr_trace_span {
  const char *name, *op, *computation; /* place: the computation; NULL: none */
  const char *kernel;                  /* what runs it: "oneDNN matmul" */
  const char *reason;                  /* why nothing quicker does; NULL: nothing to say */
  hr_trace_kind_t kind;
  double flops, bytes; /* work of one call; 0: unknown */
  uint64_t same;       /* equal for those that run equal kernels */
  uint64_t calls, total_ns;
  uint64_t helped_ns;    /* part of total_ns in which other workers were busy, summed over them */
  uint64_t idle_ns;      /* part of total_ns in which the caller waited for them */
  uint64_t shared_ns;    /* part of total_ns in loops that are divided among the workers */
  uint64_t page_bytes;   /* pages that workers touched, summed over workers and calls */
  uint64_t remote_bytes; /* those on another NUMA node than the worker's */
} hr_trace_span_t;

/* What one worker did of a loop that workers shared. */
typedef struct hr_trace_slice {
  uint64_t begin_ns, took_ns;
  int64_t units; /* iterations of the loop that it ran; 0: it came too late */
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

/* Loading has few stages, and a long run must not drive them out of the ring. */
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
  uint64_t added;           /* to the ring */
  hr_trace_span_t *current; /* what runs, for shares; NULL: nothing that they are noted of */
  int workers;              /* that may have shares; 0: none said so */
  uint64_t *busy_ns;        /* per worker but the caller, 0: in kernels */
  int numa_nodes;           /* those that have workers; 0: accesses to pages are not counted */
};

/* `events`: calls and shares that the timeline keeps, the last ones, rounded up to a power of two.
 * Errors: NO_MEMORY. */
hr_status_t hr_trace_create(size_t events, hr_trace_t **out_trace);
void hr_trace_destroy(hr_trace_t *trace); /* accepts NULL */
/* Cleared, and with texts "". They live as long as the trace. */
hr_status_t hr_trace_spans_new(hr_trace_t *trace, int count, hr_trace_span_t **out_subjects);

/* There will be shares of that many workers; the caller is worker 0. Errors: NO_MEMORY. */
hr_status_t hr_trace_workers_set(hr_trace_t *trace, int workers);

/* A stage of loading; `name` lives as long as the trace. */
hr_status_t hr_trace_stage_add(hr_trace_t *trace, const char *name, uint64_t begin_ns,
                               uint64_t took_ns);

/* What is noted now, and when it began. */
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

/* A call that began then and ends now. */
static inline void hr_trace_add(hr_trace_t *trace, hr_trace_span_t *span, uint64_t begin_ns) {
  hr_trace_note(trace, span, begin_ns, hr_clock_ns() - begin_ns);
  if (trace->current == span) trace->current = NULL;
}

/* A loop of `units` units that the workers had these shares of; it is over now, and the caller is
 * worker 0. */
void hr_trace_slices_add(hr_trace_t *trace, const hr_trace_slice_t *shares, int workers,
                         int64_t units);

/* When the oldest thing that is still known began; now if there is nothing. */
uint64_t hr_trace_first_ns(const hr_trace_t *trace);
uint64_t hr_trace_dropped(
    const hr_trace_t *trace); /* calls and shares that the ring had no place for */
/* The calls as members of a JSON list, each with a comma behind it, as process `pid`: a row of the
 * calls, and one for the shares of each worker. `zero_ns` is the time 0 of the timeline. */
void hr_trace_print(hr_strbuf_t *text, const hr_trace_t *trace, int pid, uint64_t zero_ns);
const char *hr_trace_kind_name(hr_trace_kind_t kind);
/* What the arithmetic is done by, as opposed to what waits for it or has it inside. */
static inline bool hr_trace_is_kernel(const hr_trace_span_t *span) {
  return span->kind <= HR_TRACE_COPY;
}

#endif
