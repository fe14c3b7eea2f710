/* Transposition of dense arrays by all workers, for the op and for kernels that reorder an operand.
 * Thread: a plan is immutable; any number of threads may run it. */
#ifndef HLO_OPS_NATIVE_TRANSPOSE_H
#define HLO_OPS_NATIVE_TRANSPOSE_H

#include "base/arena.h"
#include "base/workers.h"

typedef struct native_transpose_plan native_transpose_plan_t;

/* Plans the copy of an array into dense row-major order of `dims`. `strides`, in elements and in
 * the same order, are those of a dense array whose dimensions are permuted. The plan lives as long
 * as the arena; it is never NULL. */
hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                      const int64_t *dims, const int64_t *strides,
                                      const native_transpose_plan_t **out_plan);
/* The same with negative strides for reversed dimensions. *out_plan is NULL if generated code is
 * faster: if dimensions are only reversed, or planes are small. */
hr_status_t native_transpose_optional_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                               const int64_t *dims, const int64_t *strides,
                                               const native_transpose_plan_t **out_plan);
/* Runs the plan. `to` and `from` have the planned size and do not overlap, except that they may be
 * equal if the permutation moves nothing. */
void native_transpose_run(hr_workers_t *workers, const native_transpose_plan_t *plan, void *to,
                          const void *from);

/* Transposes a plane that fits into the caches, on the calling thread: element i of row j
 * becomes element j of row i. j_stride and i_stride are the rows' strides in bytes. */
void native_transpose_plane(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                            int64_t j_stride, char *to, int64_t i_stride);

#endif
