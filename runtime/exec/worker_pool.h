/* The workers of one process: as many as it was told, or as its share of the machine has cores,
 * made when the first program wants more than one. Thread: any. */
#ifndef EXEC_WORKER_POOL_H
#define EXEC_WORKER_POOL_H

#include <pthread.h>

#include "base/workers.h"
#include "topo/topo.h"

typedef struct worker_pool_options {
  int threads; /* 0: the cores of the share */
  topo_bind_t bind;
  int local_rank, local_size; /* among the processes of this machine */
  hr_trace_t *trace;          /* notes the shares of workers; outlives the pool; may be NULL */
} worker_pool_options_t;

typedef struct worker_pool {
  worker_pool_options_t options;
  pthread_mutex_t mutex;
  topo_share_t
      *share; /* NULL until something asks for it: looking at the machine takes milliseconds */
  hr_workers_t *workers; /* NULL until something wants them */
} worker_pool_t;

void worker_pool_init(worker_pool_t *pool, worker_pool_options_t options);
void worker_pool_deinit(worker_pool_t *pool);
/* How many workers there are, or would be. `pool`: an worker_pool_t. */
hr_status_t worker_pool_count(void *pool, int *out_count);
/* The workers; NULL if there is but one. The first call starts their threads and binds the calling
 * one as worker 0. */
hr_status_t worker_pool_start(worker_pool_t *pool, hr_workers_t **out_workers);

#endif
