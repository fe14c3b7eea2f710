/* The thread pool of a process, shared by kernels, libraries and the code generator. The caller is
 * worker 0, so a pool of one has no threads.
 * Thread: any. One parallel loop uses the pool at a time; another one, nested or started by another
 * thread, runs on its caller alone. */
#ifndef HR_BASE_WORKERS_H
#define HR_BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/trace.h"

typedef struct hr_workers hr_workers_t;

typedef struct hr_workers_options {
  int count;     /* workers, the caller included; at least 1 */
  int threads;   /* number of workers with a thread, which also do the others' parts; 0: all */
  bool may_spin; /* false if processes outnumber cores: waits then yield the core at once */
  /* Called once by every thread of the pool, with its number from 1, to pin itself. NULL: none. */
  void (*started)(void *context, int worker);
  void *context;
  /* If set, the workers' parts of a loop run one after another on the caller, without threads.
   * Called before each part, and with worker 0 after the last. NULL: parts run in parallel. */
  void (*part_begins)(void *part_context, int worker);
  void *part_context;
  hr_trace_t *trace; /* records each worker's share of each loop; outlives the pool; NULL: none */
} hr_workers_options_t;

hr_status_t hr_workers_create(const hr_workers_options_t *options, hr_workers_t **out_workers);
void hr_workers_destroy(hr_workers_t *workers);    /* accepts NULL */
int hr_workers_count(const hr_workers_t *workers); /* NULL: 1 */

/* The body of a loop: executes the units begin <= i < end on one worker. */
typedef void (*hr_workers_fn)(void *context, int64_t begin, int64_t end, int worker);

#define HR_WORKERS_CHUNKS 4 /* chunks per worker, if there are more units */

/* `count` rounded up to a number of units that gives all workers equal work. */
static inline int64_t hr_workers_balance(int64_t count, int workers) {
  int64_t unit = count > workers * HR_WORKERS_CHUNKS ? workers * HR_WORKERS_CHUNKS : workers;
  return (count + unit - 1) / unit * unit;
}

/* Runs `fn` over the units 0 .. count-1, cut into chunks of at least `grain`, and returns when all
 * are done. Each worker starts with its own part, the same in all loops of as many units, and then
 * takes chunks left of other parts. A worker that starts when no chunk is left, as it slept or its
 * core was busy, is not waited for. With at most `grain` units, or a pool of one (or NULL), this is
 * a plain call. Cost: about a microsecond if the workers are awake. */
void hr_workers_for(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                    void *context);
/* hr_workers_for with one chunk per worker, of equal size. */
void hr_workers_split(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                      void *context);

#endif
