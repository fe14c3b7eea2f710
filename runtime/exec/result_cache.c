#include "exec/result_cache.h"

#include <pthread.h>

#include "base/mem.h"

#define MAX_CACHED \
  2 /* of each kind: one that goes in as the next argument while the other is computed */

typedef struct kind {
  exec_result_cache_t *cache;
  hlo_value_t *free[MAX_CACHED];
} kind_t;

struct exec_result_cache {
  pthread_mutex_t mutex;
  int holders; /* the program, and every value that is out */
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
  cache->holders = 1;
  cache->kind_count = kind_count;
  for (int k = 0; k < kind_count; k++) cache->kinds[k].cache = cache;
  *out_cache = cache;
  return NULL;
}

/* Unlocks, and frees the cache when nobody is left. */
static void leave(exec_result_cache_t *cache) {
  bool last = --cache->holders == 0;
  pthread_mutex_unlock(&cache->mutex);
  if (!last) return;
  pthread_mutex_destroy(&cache->mutex);
  hr_free(cache);
}

static void free_value(hlo_value_t *value) {
  value->recycle = NULL;
  hlo_value_release(value);
}

/* Called when nobody holds the value any more. Its bytes may still be seen through a view. */
static void come_back(hlo_value_t *value) {
  kind_t *kind = value->recycle_context;
  exec_result_cache_t *cache = kind->cache;
  int slot = 0;
  value->references = 1;
  pthread_mutex_lock(&cache->mutex);
  while (slot < MAX_CACHED && kind->free[slot]) slot++;
  bool keeps = slot < MAX_CACHED && !cache->is_closed && hr_buffer_is_exclusive(value->buffer);
  if (keeps) kind->free[slot] = value;
  leave(cache);
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
  if (value) cache->holders++;
  pthread_mutex_unlock(&cache->mutex);
  if (!value) {
    HR_TRY(new_value(env, shape, &value));
    value->recycle = come_back;
    value->recycle_context = kind;
    pthread_mutex_lock(&cache->mutex);
    cache->holders++;
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
  leave(cache);
}
