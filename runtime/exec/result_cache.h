/* A cache of result arrays: a result returns to it when its last reference is dropped, so that the
 * next run need not allocate. Results may outlive the program; the cache lives as long as they do.
 * Thread: values return from any thread; the rest from one. */
#ifndef EXEC_RESULT_CACHE_H
#define EXEC_RESULT_CACHE_H

#include "ops/kernels/kernel.h"

typedef struct exec_result_cache exec_result_cache_t;

hr_status_t exec_result_cache_create(int kind_count, exec_result_cache_t **out_cache);
void exec_result_cache_close(exec_result_cache_t *cache); /* frees cached arrays; accepts NULL */
/* Returns an array of `shape`, always the same shape for one kind, as a new reference with
 * undefined contents. A new array is in memory shared with the peers of `env` (NULL: none). Errors:
 * NO_MEMORY. */
hr_status_t exec_result_cache_take(exec_result_cache_t *cache, int kind, op_env_t *env,
                                   const hlo_shape_t *shape, hlo_value_t **out_value);

#endif
