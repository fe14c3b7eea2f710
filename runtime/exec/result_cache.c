/* A free list of result arrays per result of a program ("kind"). A value that loses its last
 * reference calls its recycle hook, which returns it here instead of freeing it. Two arrays per
 * kind suffice for the common loop in which a result is the next argument.
 *
 * Lifetime: the cache is freed by its last holder: the program, or a value handed out. A value
 *           whose bytes are still referenced by a view is freed, not reused. */
#include "exec/result_cache.h"

#include <pthread.h>

#include "base/mem.h"

#define MAX_CACHED 2 /* arrays per kind: one is the next argument while the other is computed */

typedef struct kind {
  exec_result_cache_t *cache;
  hlo_value_t *free[MAX_CACHED];
} kind_t;

struct exec_result_cache {
  pthread_mutex_t mutex;
  int references; /* the program, and each value handed out */
  bool is_closed;
  int kind_count;
  kind_t kinds[];
};

hr_status_t exec_result_cache_create(int kind_count, exec_result_cache_t **out_cache) {
  void *memory;
  HR_TRY(
      hr_alloc_zeroed(sizeof(exec_result_cache_t) + (size_t)kind_count * sizeof(kind_t), &memory));
  exec_result_cache_t *cache = memory;
  pthread_mutex_init(&cache->mutex, NULL);
  cache->references = 1;
  cache->kind_count = kind_count;
  for (int k = 0; k < kind_count; k++) cache->kinds[k].cache = cache;
  *out_cache = cache;
  return NULL;
}

/* Drops a reference and unlocks; the last one frees the cache. Call with the mutex held. */
static void unlock_and_release(exec_result_cache_t *cache) {
  bool last = --cache->references == 0;
  pthread_mutex_unlock(&cache->mutex);
  if (!last) return;
  pthread_mutex_destroy(&cache->mutex);
  hr_free(cache);
}

static void free_value(hlo_value_t *value) {
  value->recycle = NULL;
  hlo_value_release(value);
}

/* hlo_value_t.recycle: the last reference is gone, though a view may still hold the bytes. */
static void recycle_value(hlo_value_t *value) {
  kind_t *kind = value->recycle_context;
  exec_result_cache_t *cache = kind->cache;
  int slot = 0;
  value->references = 1;
  pthread_mutex_lock(&cache->mutex);
  while (slot < MAX_CACHED && kind->free[slot]) slot++;
  bool keeps = slot < MAX_CACHED && !cache->is_closed && hr_buffer_is_exclusive(value->buffer);
  if (keeps) kind->free[slot] = value;
  unlock_and_release(cache);
  if (!keeps) free_value(value);
}

static hr_status_t new_value(op_env_t *env, const hlo_shape_t *shape, hlo_value_t **out_value) {
  if (env) return op_shared_array(env, shape->dtype, shape->rank, shape->dims, out_value);
  return hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value);
}

hr_status_t exec_result_cache_take(exec_result_cache_t *cache, int kind_number, op_env_t *env,
                                   const hlo_shape_t *shape, hlo_value_t **out_value) {
  kind_t *kind = &cache->kinds[kind_number];
  hlo_value_t *value = NULL;
  pthread_mutex_lock(&cache->mutex);
  for (int slot = 0; slot < MAX_CACHED && !value; slot++) {
    value = kind->free[slot];
    kind->free[slot] = NULL;
  }
  if (value) cache->references++;
  pthread_mutex_unlock(&cache->mutex);
  if (!value) {
    HR_TRY(new_value(env, shape, &value));
    value->recycle = recycle_value;
    value->recycle_context = kind;
    pthread_mutex_lock(&cache->mutex);
    cache->references++;
    pthread_mutex_unlock(&cache->mutex);
  }
  *out_value = value;
  return NULL;
}

void exec_result_cache_close(exec_result_cache_t *cache) {
  if (!cache) return;
  pthread_mutex_lock(&cache->mutex);
  cache->is_closed = true;
  for (int k = 0; k < cache->kind_count; k++)
    for (int slot = 0; slot < MAX_CACHED; slot++)
      if (cache->kinds[k].free[slot]) free_value(cache->kinds[k].free[slot]);
  unlock_and_release(cache);
}
