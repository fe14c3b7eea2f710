/* Copies and fills of large arrays, by all workers. Arrays larger than the caches are written with
 * non-temporal stores. */
#ifndef HLO_OPS_NATIVE_COPY_H
#define HLO_OPS_NATIVE_COPY_H

#include "base/workers.h"
#include "ops/kernels/common/strided_loops.h"

/* Size in bytes from which a copied array does not stay in the caches. */
#define NATIVE_STREAM_BYTES ((int64_t)24 << 20)

/* to and from do not overlap, or are equal: nothing is done then. workers may be NULL. */
void native_copy(hr_workers_t *workers, void *to, const void *from, int64_t bytes);
/* Writes `count` copies of an element of element_bytes. */
void native_fill(hr_workers_t *workers, void *to, const void *element, int element_bytes,
                 int64_t count);
/* The same, by the calling thread. */
void native_fill_row(void *restrict to, const void *restrict element, int element_bytes,
                     int64_t count);
/* A planned copy between strided arrays that do not overlap. */
void native_copy_strided(hr_workers_t *workers, const loop_copy_t *copy, void *to,
                         const void *from);
/* Copies a run of bytes, with non-temporal stores if the processor has them; call native_stream_end
 * after the last run. */
void native_stream(void *to, const void *from, int64_t bytes);
void native_stream_end(void);

#endif
