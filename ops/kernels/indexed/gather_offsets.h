/* Where the windows of a gather or scatter lie, many at a time, for the native kernels. */
#ifndef HLO_OPS_GATHER_OFFSETS_H
#define HLO_OPS_GATHER_OFFSETS_H

#include "ops/kernels/common/window_starts.h"

#define GATHER_OFFSETS_BLOCK 256 /* found at once, at most */

typedef struct gather_offsets {
  window_starts_t starts;
  hr_dtype_t index_dtype;
  bool clamps;   /* gather: windows are moved inside; else those that do not fit have no place */
  int64_t count; /* of all windows */
} gather_offsets_t;

/* Offsets in elements of windows first .. first + count - 1, in row-major order of the index array:
 * in the operand (-1: it does not fit), and in the other array. */
void gather_offsets_find(const gather_offsets_t *offsets, const void *indices, int64_t first,
                         int64_t count, int64_t *operand_at, int64_t *other_at);

#endif
