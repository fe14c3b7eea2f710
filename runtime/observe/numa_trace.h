/* Accesses of workers to memory of other NUMA nodes, for --explain --numa. A page lies on the node
 * of the worker that touches it first, as under Linux's default policy; a page that had memory
 * before any worker of the trace touched it lies on the node of worker 0, the caller. Workers'
 * parts of a loop run one after another on the caller, so that the accesses of each are known. This
 * also works if the topology is simulated (HWLOC_SYNTHETIC) and has more cores than the machine.
 * Limits: whole pages are counted, only in arrays that contain whole pages; memory of libraries and
 * transfers are not counted. Thread: one at a time. */
#ifndef OBSERVE_NUMA_TRACE_H
#define OBSERVE_NUMA_TRACE_H

#include "base/trace.h"

typedef struct numa_trace numa_trace_t;

/* Sets the number of nodes in `trace`, which must outlive the result. Errors: NO_MEMORY; USAGE if
 * the process already has a NUMA trace. */
hr_status_t numa_trace_create(hr_trace_t *trace, numa_trace_t **out_numa);
void numa_trace_destroy(numa_trace_t *numa); /* accepts NULL */
/* nodes[w]: node of worker w, copied. Without this call there is one worker, on node 0. */
hr_status_t numa_trace_set_workers(numa_trace_t *numa, const int *nodes, int count);

/* Calls of a step, in order: begin, its arrays, run; the kernel; end, which adds to the span's
 * page_bytes and remote_bytes. */
void numa_trace_begin(numa_trace_t *numa);
hr_status_t numa_trace_add(numa_trace_t *numa, const void *memory, size_t size_bytes);
void numa_trace_run(numa_trace_t *numa, hr_trace_span_t *span);
hr_status_t numa_trace_end(numa_trace_t *numa);
/* The next accesses are those of this worker. Signature of hr_workers_options_t.part_begins. */
void numa_trace_worker(void *numa, int worker);

#endif
