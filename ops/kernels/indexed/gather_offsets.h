/* Offsets of the windows of a gather or scatter, many at a time, for the native kernels. An index
 * vector gives a window's start in some dimensions of the operand; its offset is the sum of start
 * times stride over the components. Units: elements. */
#ifndef HLO_OPS_GATHER_OFFSETS_H
#define HLO_OPS_GATHER_OFFSETS_H

#include "ops/kernels/common/window_starts.h"

/* Largest operand, in bytes, that stays in the second-level cache: its windows are not
 * prefetched. */
#define GATHER_CACHED_BYTES (1 << 18)
#define GATHER_OFFSETS_BLOCK 256 /* most offsets computed per call */

typedef struct gather_offsets {
  window_starts_t starts;
  hr_dtype_t index_dtype;
  bool clamps;   /* gather clamps starts into the operand; scatter skips windows that do not fit */
  int64_t count; /* number of windows */
} gather_offsets_t;

/* Offsets of windows first .. first + count - 1, in row-major order of the index array:
 * operand_at in the operand (-1: the window does not fit), other_at in the updates or the
 * result. */
void gather_offsets_find(const gather_offsets_t *offsets, const void *indices, int64_t first,
                         int64_t count, int64_t *operand_at, int64_t *other_at);

#endif
