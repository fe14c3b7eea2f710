/* Where time goes: how often each step of a program ran and how long that took, and a ring of the last calls, for a
 * timeline that chrome://tracing and ui.perfetto.dev show.
 *
 *   hr_trace_subjects_new(trace, step_count, &subjects);    once; then their names and kinds
 *   uint64_t begin = hr_trace_now_ns();
 *   ...
 *   hr_trace_add(trace, &subjects[step], begin);
 *
 * Cost: two looks at the clock and a few stores a call, about 50 ns; nothing is allocated.
 * Units: nanoseconds of the monotonic clock, which all processes of a machine share.
 * Thread: one at a time. */
#ifndef HR_BASE_TRACE_H
#define HR_BASE_TRACE_H

#include <time.h>

#include "base/arena.h"
#include "base/text.h"

typedef struct hr_trace hr_trace_t;

typedef enum hr_trace_kind {
  HR_TRACE_NATIVE,    /* a library's kernel, or one written by hand */
  HR_TRACE_GENERATED,
  HR_TRACE_REFERENCE,
  HR_TRACE_COLLECTIVE,
  HR_TRACE_COPY,
  HR_TRACE_CONTROL, /* a loop or a choice: its time is that of what runs inside it */
  HR_TRACE_WAIT,    /* for peers: inside of another */
  HR_TRACE_RUN,     /* a whole execution */
  HR_TRACE_STAGE,   /* of loading */
  HR_TRACE_TRANSFER /* a collective between its halves: beside what runs meanwhile, not part of it */
} hr_trace_kind_t;

/* What takes time again and again. Texts live as long as the trace. */
typedef struct hr_trace_subject {
  const char *name, *op, *place; /* place: the computation; NULL: none */
  const char *kernel;            /* what runs it: "oneDNN matmul" */
  const char *reason;            /* why nothing quicker does; NULL: nothing to say */
  hr_trace_kind_t kind;
  double flops, bytes; /* of one call; 0: unknown */
  uint64_t same;       /* equal for those that run equal kernels */
  uint64_t calls, total_ns;
} hr_trace_subject_t;

typedef struct hr_trace_event {
  const hr_trace_subject_t *subject;
  uint64_t begin_ns, took_ns;
} hr_trace_event_t;

typedef struct hr_trace_block {
  hr_trace_subject_t *subjects;
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
  uint64_t mask;  /* of the ring, whose places are a power of two */
  uint64_t added; /* to the ring */
};

/* `events`: calls that the timeline keeps, the last ones, rounded up to a power of two. Errors: NO_MEMORY. */
hr_status_t hr_trace_create(size_t events, hr_trace_t **out_trace);
void hr_trace_destroy(hr_trace_t *trace); /* accepts NULL */
/* Cleared, and with texts "". They live as long as the trace. */
hr_status_t hr_trace_subjects_new(hr_trace_t *trace, int count, hr_trace_subject_t **out_subjects);

/* A stage of loading; `name` lives as long as the trace. */
hr_status_t hr_trace_stage_add(hr_trace_t *trace, const char *name, uint64_t begin_ns, uint64_t took_ns);

static inline uint64_t hr_trace_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void hr_trace_note(hr_trace_t *trace, hr_trace_subject_t *subject, uint64_t begin_ns, uint64_t took_ns) {
  subject->calls++;
  subject->total_ns += took_ns;
  trace->ring[trace->added++ & trace->mask] = (hr_trace_event_t){subject, begin_ns, took_ns};
}

/* A call that began then and ends now. */
static inline void hr_trace_add(hr_trace_t *trace, hr_trace_subject_t *subject, uint64_t begin_ns) {
  hr_trace_note(trace, subject, begin_ns, hr_trace_now_ns() - begin_ns);
}

/* When the oldest thing that is still known began; now if there is nothing. */
uint64_t hr_trace_first_ns(const hr_trace_t *trace);
uint64_t hr_trace_dropped(const hr_trace_t *trace); /* calls that the ring had no place for */
/* The calls as members of a JSON list, each with a comma behind it, as process `pid`. `zero_ns` is the time 0 of the
 * timeline. */
void hr_trace_print(hr_text_t *text, const hr_trace_t *trace, int pid, uint64_t zero_ns);
const char *hr_trace_kind_name(hr_trace_kind_t kind);

#endif
