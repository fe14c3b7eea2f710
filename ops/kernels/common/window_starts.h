/* Gather and scatter: offsets of the windows that an index array selects. Each index vector gives
 * the start of one window of the operand; the other array (gather's result, scatter's updates) has
 * one window for each vector. */
#ifndef HLO_OPS_WINDOW_STARTS_H
#define HLO_OPS_WINDOW_STARTS_H

#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/kernel.h"
#include "ops/query/gather_dims.h"

/* Mapping of index vectors to offsets in the operand. The batch nest walks the index vectors in
 * row-major order. All units are elements. */
typedef struct window_starts {
  loop_nest_t batch; /* operands: 0 the other array (result, updates), 1 indices, 2 the operand (by
                        batching dimensions) */
  int vector_size;
  int64_t vector_stride;               /* distance between the components of an index vector */
  int64_t operand_dim[HLO_MAX_RANK];   /* dimension whose start is component i */
  int64_t operand_limit[HLO_MAX_RANK]; /* largest start at which the window fits; negative: none */
  int64_t operand_stride[HLO_MAX_RANK];
} window_starts_t;

/* sizes: those of the window, per operand dimension. */
void window_starts_init(window_starts_t *starts, const op_gather_dims_t *dims,
                        const hlo_shape_t *operand, const hlo_shape_t *indices,
                        const hlo_shape_t *other, const int64_t *sizes);
/* Strides of the window's own dimensions, in the order of the other array, in elements. Returns
 * their number. */
int window_strides(const op_gather_dims_t *dims, const hlo_shape_t *operand,
                   const hlo_shape_t *other, int64_t *out_dims, int64_t *out_operand_strides,
                   int64_t *out_other_strides);

/* Start of a window in the operand, clamped so that the window fits. */
static inline int64_t window_clamped_offset(const window_starts_t *starts, const int64_t *vector) {
  int64_t offset = 0;
  for (int i = 0; i < starts->vector_size; i++) {
    int64_t start = vector[i * starts->vector_stride], limit = starts->operand_limit[i];
    int64_t clamped = start > limit ? limit : start;
    offset += (clamped < 0 ? 0 : clamped) * starts->operand_stride[i];
  }
  return offset;
}

/* The same without clamping; false if the window exceeds the operand. */
static inline bool window_strict_offset(const window_starts_t *starts, const int64_t *vector,
                                        int64_t *out_offset) {
  int64_t offset = 0;
  for (int i = 0; i < starts->vector_size; i++) {
    int64_t start = vector[i * starts->vector_stride];
    if (start < 0 || start > starts->operand_limit[i]) return false;
    offset += start * starts->operand_stride[i];
  }
  *out_offset = offset;
  return true;
}

#endif
