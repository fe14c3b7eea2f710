/* Copies between dense row-major arrays and strided arrays; strides may be negative. */
#ifndef PJRT_STRIDES_H
#define PJRT_STRIDES_H

#include "ir/shape.h"

typedef struct pjrt_strided {
  hr_dtype_t dtype;
  int rank;
  const int64_t *dims;
  int64_t strides[HLO_MAX_RANK]; /* in bytes, per dimension */
} pjrt_strided_t;

/* Row-major strides. */
void pjrt_strided_init(pjrt_strided_t *array, hr_dtype_t dtype, int rank, const int64_t *dims);
/* Strides of an order of dimensions, the fastest first. Errors: USAGE if it is no permutation. */
hr_status_t pjrt_strided_order(pjrt_strided_t *array, const int64_t *minor_to_major, size_t count);
bool pjrt_strided_is_dense(const pjrt_strided_t *array);
/* Size of all elements, in bytes. */
int64_t pjrt_strided_bytes(const pjrt_strided_t *array);
/* Copy strided to dense (gather) or dense to strided (scatter). Dense arrays are in hlorun's
 * format: elements of types narrower than a byte take one byte, sign- or zero-extended. */
void pjrt_strided_gather(const pjrt_strided_t *from, const void *data, void *dense);
void pjrt_strided_scatter(const pjrt_strided_t *to, const void *dense, void *data);

#endif
