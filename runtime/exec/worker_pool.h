/* The worker threads of one process, created on first use by a program planned for several.
 * Thread: any. */
#ifndef EXEC_WORKER_POOL_H
#define EXEC_WORKER_POOL_H

#include <pthread.h>

#include "base/workers.h"
#include "observe/numa_trace.h"
#include "topo/topo.h"

typedef struct worker_pool_options {
  int threads; /* number of workers; 0: the cores of this process's share */
  topo_bind_t bind;
  int local_rank, local_size; /* position among the processes of this host */
  hr_trace_t *trace;          /* records the workers' time; must outlive the pool; may be NULL */
  numa_trace_t *numa; /* NULL: none; with a trace, the parts of a loop run one after another */
} worker_pool_options_t;

typedef struct worker_pool {
  worker_pool_options_t options;
  struct worker_pool *owner; /* pool whose workers are used; NULL: this pool's own */
  pthread_mutex_t mutex;
  topo_share_t *share;   /* NULL until needed: examining the topology takes milliseconds */
  hr_workers_t *workers; /* NULL until worker_pool_start */
} worker_pool_t;

void worker_pool_init(worker_pool_t *pool, worker_pool_options_t options);
void worker_pool_deinit(worker_pool_t *pool);
/* Uses the workers of `owner` from now on, which must outlive the pool and have as many workers.
 * Must precede the first start. */
void worker_pool_share(worker_pool_t *pool, worker_pool_t *owner);
/* Number of workers, started or not. `pool`: a worker_pool_t. Errors: UNAVAILABLE. */
hr_status_t worker_pool_count(void *pool, int *out_count);
/* The workers; *out_workers is NULL for one. The first call starts the threads and binds the caller
 * as worker 0. Errors: UNAVAILABLE, NO_MEMORY. */
hr_status_t worker_pool_start(worker_pool_t *pool, hr_workers_t **out_workers);

#endif
