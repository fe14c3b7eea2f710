/* The threads of a process: one pool, shared by kernels, libraries and the code generator. The
 * caller is worker 0, so a pool of one has no threads at all. Thread: any. One region has them at a
 * time; another one, started inside of it or by another thread, runs on its caller alone. */
#ifndef HR_BASE_WORKERS_H
#define HR_BASE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/trace.h"

typedef struct hr_workers hr_workers_t;

typedef struct hr_workers_options {
  int count;     /* workers, the caller included; at least 1 */
  int threads;   /* the first so many have a thread, and do the parts of the others; 0: all have */
  bool may_spin; /* false where processes outnumber cores: waiting then gives the core away at once
                  */
  /* Called once by every thread of the pool that is not the caller, with its number from 1, to pin
   * itself. NULL: none. */
  void (*started)(void *context, int worker);
  void *context;
  /* Called before each worker's part of a loop, and with worker 0 behind the last: the parts then
   * run one after another on the caller, and no worker has a thread. NULL: they run at once. */
  void (*part_begins)(void *part_context, int worker);
  void *part_context;
  hr_trace_t *trace; /* notes what each worker had of each loop; outlives the pool; NULL: nothing is
                        noted */
} hr_workers_options_t;

hr_status_t hr_workers_create(const hr_workers_options_t *options, hr_workers_t **out_workers);
void hr_workers_destroy(hr_workers_t *workers);    /* accepts NULL */
int hr_workers_count(const hr_workers_t *workers); /* NULL: 1 */

/* A part of a loop: the units begin <= i < end, on one worker. */
typedef void (*hr_workers_fn)(void *context, int64_t begin, int64_t end, int worker);

#define HR_WORKERS_CHUNKS 4 /* so many for each worker, if there are more units */

/* So many units, or a few more, that all workers have equally much to do. */
static inline int64_t hr_workers_balance(int64_t count, int workers) {
  int64_t unit = count > workers * HR_WORKERS_CHUNKS ? workers * HR_WORKERS_CHUNKS : workers;
  return (count + unit - 1) / unit * unit;
}

/* Runs `fn` over the units 0 .. count-1, cut into chunks of at least `grain`, and returns when all
 * are done. Each worker begins with a part of its own, the same in all loops of as many units, and
 * goes on with what is left of others'; one that comes when nothing is left, as it slept or its
 * core was busy, is not waited for. With no more than `grain` units, or a pool of one
 * (or NULL), it is a plain call. Cost: about a microsecond when the workers are awake. */
void hr_workers_for(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                    void *context);
/* The same with one chunk a worker, of equal size. */
void hr_workers_split(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                      void *context);

#endif
