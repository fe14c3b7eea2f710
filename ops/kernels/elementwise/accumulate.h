/* A body applied to accumulators in place, over rows of any stride: to[k][i] = body(to...,
 * from...)[k]. Shared by reduce, reduce-window, select-and-scatter and scatter. */
#ifndef HLO_OPS_ACCUMULATE_H
#define HLO_OPS_ACCUMULATE_H

#include "ops/kernels/elementwise/body.h"

/* What is known ahead of time. `body` takes `count` accumulators, then as many values of the same
 * types. */
typedef struct accumulate_plan {
  int count;
  const op_body_t *body;
  const ew_kernel_t *kernel; /* the body as one binary op on elements of type `work`; NULL: it is
                                not, or count > 1 */
  hr_dtype_t work;     /* with a kernel: f32 where narrower floats must be widened first, else the
                          body's type */
  const size_t *bytes; /* of an element, as the body takes it: of `work` with a kernel */
} accumulate_plan_t;

/* With `widen`, sums and products of floats narrower than f32 are planned in f32, as each rounding
 * in a narrow type would lose the small addends (256 + 1 is 256 in bf16). */
hr_status_t accumulate_prepare(hr_arena_t *arena, const hlo_computation_t *body, int count,
                               bool widen, accumulate_plan_t *plan);

/* One execution. The caller sets `to` and `from`, and may change them between calls. */
typedef struct accumulate {
  const accumulate_plan_t *plan;
  op_env_t *env;
  char **to;
  const char **from;
  void **rows, **in_place_rows; /* where results go: dense rows, or the accumulators */
  const void **ins;
  int64_t *strides;
} accumulate_t;

/* Storage comes from env->scratch. */
hr_status_t accumulate_init(accumulate_t *acc, op_env_t *env, const accumulate_plan_t *plan);
/* A row of `count` elements; places and steps in elements. to_step is not 0; from_step may be. The
 * accumulators and the values of one call do not overlap. */
hr_status_t accumulate_row(accumulate_t *acc, int64_t count, int64_t to, int64_t to_step,
                           int64_t from, int64_t from_step);

#endif
