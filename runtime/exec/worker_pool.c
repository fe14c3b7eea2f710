/* The worker threads of a client, created by the first program that is planned for more than one.
 * The number of workers is known before (--threads, else the share of the topology), as planning
 * depends on it. The JAX plugin gives its clients numbers of its own
 * (pjrt/client/pjrt_client.c). */
#include "exec/worker_pool.h"

#include <unistd.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/processors.h"

void worker_pool_init(worker_pool_t *pool, worker_pool_options_t options) {
  *pool = (worker_pool_t){.options = options};
  topo_begin();
  pthread_mutex_init(&pool->mutex, NULL);
}

void worker_pool_deinit(worker_pool_t *pool) {
  hr_workers_destroy(pool->workers);
  topo_share_destroy(pool->share);
  pthread_mutex_destroy(&pool->mutex);
}

void worker_pool_share(worker_pool_t *pool, worker_pool_t *owner) { pool->owner = owner; }

static hr_status_t find_share(worker_pool_t *pool) {
  if (pool->share) return NULL;
  return topo_share_create(pool->options.local_rank, pool->options.local_size, &pool->share);
}

/* The option, or the cores of this process's share of the host. */
static hr_status_t count_workers(worker_pool_t *pool, int *out_count) {
  if (!pool->options.threads) HR_TRY(find_share(pool));
  *out_count = pool->options.threads ? pool->options.threads : topo_share_cores(pool->share);
  return NULL;
}

hr_status_t worker_pool_count(void *context, int *out_count) {
  worker_pool_t *pool = context;
  if (pool->owner) return worker_pool_count(pool->owner, out_count);
  pthread_mutex_lock(&pool->mutex);
  hr_status_t st = count_workers(pool, out_count);
  pthread_mutex_unlock(&pool->mutex);
  return st;
}

/* A worker that cannot be bound runs unbound. */
static void bind_worker(void *context, int worker) {
  const worker_pool_t *pool = context;
  hr_status_release(topo_share_bind(pool->share, worker, pool->options.bind));
}

/* Tells the NUMA trace the nodes of the workers. */
static hr_status_t place_workers(const worker_pool_t *pool, int count) {
  void *memory;
  if (!pool->options.numa) return NULL;
  HR_TRY(hr_alloc((size_t)count * sizeof(int), &memory));
  int *nodes = memory;
  for (int w = 0; w < count; w++) nodes[w] = topo_share_node(pool->share, w);
  hr_status_t st = numa_trace_set_workers(pool->options.numa, nodes, count);
  hr_free(nodes);
  return st;
}

/* Workers beyond the cores of the share get no thread, since it would only take turns with another.
 * Threads spin between regions only if the host has a core for every worker of all processes. */
static hr_status_t start(worker_pool_t *pool) {
  int count, cores = hr_processor_limit((int)sysconf(_SC_NPROCESSORS_ONLN));
  HR_TRY(count_workers(pool, &count));
  if (count == 1) return NULL;
  HR_TRY(find_share(pool));
  HR_TRY(place_workers(pool, count));
  int threads = (int)hr_min(count, topo_share_cores(pool->share));
  hr_workers_options_t options = {.count = count,
                                  .threads = threads,
                                  .may_spin = pool->options.local_size <= cores / threads,
                                  .started = bind_worker,
                                  .context = pool,
                                  .part_begins = pool->options.numa ? numa_trace_worker : NULL,
                                  .part_context = pool->options.numa,
                                  .trace = pool->options.trace};
  HR_TRY(hr_workers_create(&options, &pool->workers));
  return topo_share_bind(pool->share, 0, pool->options.bind);
}

hr_status_t worker_pool_start(worker_pool_t *pool, hr_workers_t **out_workers) {
  if (pool->owner) return worker_pool_start(pool->owner, out_workers);
  pthread_mutex_lock(&pool->mutex);
  hr_status_t st = pool->workers ? NULL : start(pool);
  *out_workers = pool->workers;
  pthread_mutex_unlock(&pool->mutex);
  return st;
}
