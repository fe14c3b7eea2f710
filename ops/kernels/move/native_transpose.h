/* Arrays whose dimensions change places, by all workers: what transpose is and what others bring
 * into order. */
#ifndef HLO_OPS_NATIVE_TRANSPOSE_H
#define HLO_OPS_NATIVE_TRANSPOSE_H

#include "base/arena.h"
#include "base/workers.h"

typedef struct native_transpose_plan native_transpose_plan_t;

/* A dense row-major array of `dims` out of one that lies there with `strides`: those of a dense
 * array too, in another order of its dimensions. Strides in elements. */
hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                      const int64_t *dims, const int64_t *strides,
                                      const native_transpose_plan_t **out_plan);
void native_transpose_run(hr_workers_t *workers, const native_transpose_plan_t *plan, void *to,
                          const void *from);

/* A plane that stays in the caches, on the calling thread: element i of row j to element j of row
 * i. Strides of rows, in bytes. */
void native_transpose_plane(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                            int64_t j_stride, char *to, int64_t i_stride);

#endif
