/* Sums over large windows, such as cumulative sums, by doubling: the cost per result grows with the
 * logarithm of the window instead of its size. The body must be associative. */
#ifndef HLO_OPS_WINDOW_DOUBLING_H
#define HLO_OPS_WINDOW_DOUBLING_H

#include "ops/kernels/elementwise/accumulate.h"

typedef struct window_doubling {
  const hlo_window_t *window;
  const int64_t *in_dims, *out_dims;
  accumulate_t *acc; /* the body; its `to` and `from` are overwritten */
  op_env_t *env;
} window_doubling_t;

/* Combines the elements under each window, without initial values.
 * Shape:  in[k] and results[k] are dense arrays of the accumulators' type. Results whose window is
 *         empty are undefined.
 * Owner:  results[k] come from env->scratch.
 * Cost:   per dimension, log2(window) combinations per element. */
hr_status_t window_doubling_run(window_doubling_t *window_doubling, const char *const *in,
                                char **results);

#endif
