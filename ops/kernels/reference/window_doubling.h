/* Windows of many elements, such as cumulative sums: the cost per result grows like the logarithm
 * of the window instead of its size. Taken for granted: the body is associative. */
#ifndef HLO_OPS_WINDOW_DOUBLING_H
#define HLO_OPS_WINDOW_DOUBLING_H

#include "ops/kernels/elementwise/accumulate.h"

typedef struct window_doubling {
  const hlo_window_t *window;
  const int64_t *in_dims, *out_dims;
  accumulate_t *acc; /* its `to` and `from` are used, and left undefined */
  op_env_t *env;
} window_doubling_t;

/* Combines the elements under each window, without initial values. `in[k]` and `results[k]` are
 * dense arrays of the accumulators' type; results whose window is empty are undefined. results[k]
 * comes from env->scratch. */
hr_status_t window_doubling_run(window_doubling_t *window_doubling, const char *const *in,
                                char **results);

#endif
