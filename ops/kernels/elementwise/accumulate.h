/* A body applied to accumulators in place, over rows of any stride:
 *   to[k][i] = body(to[0][i], ..., from[0][i], ...)[k]
 * Shared by the reference kernels of reduce, reduce-window, select-and-scatter and scatter. */
#ifndef HLO_OPS_ACCUMULATE_H
#define HLO_OPS_ACCUMULATE_H

#include "ops/kernels/elementwise/body.h"

/* The prepared body: `count` accumulators, then as many values of the same types. */
typedef struct accumulate_plan {
  int count;
  const op_body_t *body;
  const ew_kernel_t *kernel; /* the body as one binary op on type `work`; NULL: another body */
  hr_dtype_t work;           /* accumulator type of `kernel`: f32 for widened narrow floats */
  const size_t *bytes; /* element size per accumulator, in bytes; that of `work` with a kernel */
} accumulate_plan_t;

/* Prepares a body.
 * widen:  sums and products of floats narrower than f32 are planned in f32: rounding each step to
 * the narrow type would lose small addends (256 + 1 is 256 in bf16). Errors: INVALID if the body
 * does not take 2 * count and return count scalars. */
hr_status_t accumulate_prepare(hr_arena_t *arena, const hlo_computation_t *body, int count,
                               bool widen, accumulate_plan_t *plan);

/* One execution. The caller sets `to` and `from`, and may change them between calls. */
typedef struct accumulate {
  const accumulate_plan_t *plan;
  op_env_t *env;
  char **to;
  const char **from;
  void **rows, **in_place_rows; /* destinations: dense scratch rows, or the accumulators */
  const void **ins;
  int64_t *strides;
} accumulate_t;

/* Allocates the row arrays from env->scratch. */
hr_status_t accumulate_init(accumulate_t *acc, op_env_t *env, const accumulate_plan_t *plan);
/* Combines `count` elements. Offsets and strides in elements; to_step is nonzero, from_step may
 * be 0. Accumulators and values of one call do not overlap. */
hr_status_t accumulate_row(accumulate_t *acc, int64_t count, int64_t to, int64_t to_step,
                           int64_t from, int64_t from_step);

#endif
