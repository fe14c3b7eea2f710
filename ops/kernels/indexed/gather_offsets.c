/* One pass per index component over a block of windows: each pass adds clamped start * stride to
 * the block's offsets, or marks windows that do not fit by -1. The passes are contiguous loops,
 * which vectorise; the index type is dispatched once per pass. */
#include "ops/kernels/indexed/gather_offsets.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

/* u64 indices beyond int64_t saturate: they exceed every limit. */
#define AS_START(T, index) \
  ((T)-1 > 0 && sizeof(T) == 8 && (int64_t)(index) < 0 ? INT64_MAX : (int64_t)(index))

/* Replaces each offset at[i] by NEXT, an expression in at[i] and `start`. Contiguous indices have a
 * separate loop, which vectorises better. */
#define ADD_STARTS(T, NEXT)                                          \
  {                                                                  \
    const T *from = (const T *)starts->indices + starts->at;         \
    if (starts->index_stride == 1)                                   \
      for (int64_t i = 0; i < count; i++) {                          \
        int64_t start = AS_START(T, from[i]);                        \
        at[i] = NEXT;                                                \
      }                                                              \
    else                                                             \
      for (int64_t i = 0; i < count; i++) {                          \
        int64_t start = AS_START(T, from[i * starts->index_stride]); \
        at[i] = NEXT;                                                \
      }                                                              \
    return;                                                          \
  }
#define ADD_STARTS_OF_TYPE(NEXT)                                         \
  switch (hr_dtype_bytes(starts->dtype) +                                \
          (hr_dtype_class(starts->dtype) == HR_CLASS_SIGNED ? 16 : 0)) { \
    case 1:                                                              \
      ADD_STARTS(uint8_t, NEXT)                                          \
    case 2:                                                              \
      ADD_STARTS(uint16_t, NEXT)                                         \
    case 4:                                                              \
      ADD_STARTS(uint32_t, NEXT)                                         \
    case 8:                                                              \
      ADD_STARTS(uint64_t, NEXT)                                         \
    case 17:                                                             \
      ADD_STARTS(int8_t, NEXT)                                           \
    case 18:                                                             \
      ADD_STARTS(int16_t, NEXT)                                          \
    case 20:                                                             \
      ADD_STARTS(int32_t, NEXT)                                          \
    case 24:                                                             \
      ADD_STARTS(int64_t, NEXT)                                          \
  }

/* One component of many index vectors, and its stride and limit in the operand. */
typedef struct starts {
  const void *indices;
  hr_dtype_t dtype;
  int64_t at, index_stride;
  int64_t limit, stride;
} starts_t;

/* A negative start is clamped to 0, one beyond the limit to the limit. */
#define AT_MOST(start, limit) ((start) > (limit) ? (limit) : (start))
#define CLAMP_START(start, limit) ((start) < 0 ? 0 : AT_MOST(start, limit))

NATIVE_CLONES
static void add_clamped(const starts_t *starts, int64_t count, int64_t *restrict at) {
  int64_t limit = starts->limit, stride = starts->stride;
  ADD_STARTS_OF_TYPE(at[i] + CLAMP_START(start, limit) * stride)
}

/* Offsets that an earlier component has made negative stay negative. */
NATIVE_CLONES
static void add_strict(const starts_t *starts, int64_t count, int64_t *restrict at) {
  int64_t limit = starts->limit, stride = starts->stride;
  ADD_STARTS_OF_TYPE(((start >= 0) & (start <= limit) & (at[i] >= 0)) ? at[i] + start * stride : -1)
}

NATIVE_CLONES
static void fill_iota(int64_t from, int64_t step, int64_t count, int64_t *to) {
  for (int64_t i = 0; i < count; i++, from += step) to[i] = from;
}

/* Finds `count` windows of one row of the batch nest, from its element `i` on. */
static void find_row_offsets(const gather_offsets_t *p, const void *indices,
                             const loop_walk_t *walk, int64_t i, int64_t count, int64_t *operand_at,
                             int64_t *other_at) {
  const window_starts_t *offsets = &p->starts;
  const int64_t *steps = offsets->batch.row_strides;
  fill_iota(walk->at[0] + i * steps[0], steps[0], count, other_at);
  fill_iota(walk->at[2] + i * steps[2], steps[2], count, operand_at);
  for (int c = 0; c < offsets->vector_size; c++) {
    starts_t starts = {indices,
                       p->index_dtype,
                       walk->at[1] + i * steps[1] + c * offsets->vector_stride,
                       steps[1],
                       offsets->operand_limit[c],
                       offsets->operand_stride[c]};
    (p->clamps ? add_clamped : add_strict)(&starts, count, operand_at);
  }
}

/* Windows [first, first + count): walks the batch nest row by row from there. */
void gather_offsets_find(const gather_offsets_t *offsets, const void *indices, int64_t first,
                         int64_t count, int64_t *operand_at, int64_t *other_at) {
  const loop_nest_t *batch = &offsets->starts.batch;
  loop_walk_t walk = loop_walk_at(batch, first / batch->row_count);
  for (int64_t i = first % batch->row_count; count > 0; i = 0) {
    int64_t row_count = hr_min(batch->row_count - i, count);
    find_row_offsets(offsets, indices, &walk, i, row_count, operand_at, other_at);
    loop_walk_next(batch, &walk);
    operand_at += row_count;
    other_at += row_count;
    count -= row_count;
  }
}
