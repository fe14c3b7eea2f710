/* Result arrays that come back when their last holder lets go, so that the next run need not
 * allocate any. Results may outlive the program: the cache lives as long as they do. Thread: values
 * come back from any thread. */
#ifndef EXEC_RESULT_CACHE_H
#define EXEC_RESULT_CACHE_H

#include "ops/kernels/kernel.h"

typedef struct exec_result_cache exec_result_cache_t;

hr_status_t exec_result_cache_create(int kind_count, exec_result_cache_t **out_cache);
void exec_result_cache_close(exec_result_cache_t *cache); /* frees what is in it; accepts NULL */
/* An array of the given shape, which is the same in every call for one kind; its contents are
 * undefined. A new one lies where the peers of `env` (NULL: there are none) reach it. */
hr_status_t exec_result_cache_take(exec_result_cache_t *cache, int kind, op_env_t *env,
                                   const hlo_shape_t *shape, hlo_value_t **out_value);

#endif
