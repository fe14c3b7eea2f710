#include "ops/native_places.h"

#include <string.h>

#include "ops/native_cpu.h"

NATIVE_OPTIMIZE

#define LOAD(T) \
  for (int64_t i = 0; i < count; i++) to[i] = (int64_t)((const T *)indices)[at + i * stride]

/* One component of `count` vectors, as signed numbers; what is too large for them becomes the largest. */

NATIVE_CLONES
static void load_component(hr_dtype_t dtype, const void *indices, int64_t at, int64_t stride, int64_t count,
                           int64_t *to) {
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  switch (hr_dtype_bytes(dtype) + (is_signed ? 16 : 0)) {
    case 1: LOAD(uint8_t); break;
    case 2: LOAD(uint16_t); break;
    case 4: LOAD(uint32_t); break;
    case 8:
      LOAD(int64_t);
      for (int64_t i = 0; i < count; i++) to[i] = to[i] < 0 ? INT64_MAX : to[i];
      break;
    case 17: LOAD(int8_t); break;
    case 18: LOAD(int16_t); break;
    case 20: LOAD(int32_t); break;
    case 24: LOAD(int64_t); break;
  }
}

NATIVE_CLONES
static void add_clamped(const int64_t *starts, int64_t limit, int64_t stride, int64_t count, int64_t *at) {
  for (int64_t i = 0; i < count; i++) {
    int64_t start = starts[i] > limit ? limit : starts[i];
    at[i] += (start < 0 ? 0 : start) * stride;
  }
}

/* Places that an earlier component has made negative stay so. */
NATIVE_CLONES
static void add_strict(const int64_t *starts, int64_t limit, int64_t stride, int64_t count, int64_t *at) {
  for (int64_t i = 0; i < count; i++) {
    bool fits = starts[i] >= 0 && starts[i] <= limit;
    at[i] = fits && at[i] >= 0 ? at[i] + starts[i] * stride : -1;
  }
}

/* Windows of one row of the batch nest, from its element `i` on. */
static void find_in_row(const native_places_t *p, const void *indices, const loop_walk_t *walk, int64_t i,
                        int64_t count, int64_t *operand_at, int64_t *other_at) {
  const window_places_t *places = &p->places;
  const int64_t *steps = places->batch.row_strides;
  int64_t starts[NATIVE_PLACES];
  for (int64_t j = 0; j < count; j++) {
    other_at[j] = walk->at[0] + (i + j) * steps[0];
    operand_at[j] = walk->at[2] + (i + j) * steps[2];
  }
  for (int c = 0; c < places->vector_size; c++) {
    int64_t at = walk->at[1] + i * steps[1] + c * places->vector_stride;
    load_component(p->index_dtype, indices, at, steps[1], count, starts);
    if (p->clamps)
      add_clamped(starts, places->operand_limit[c], places->operand_stride[c], count, operand_at);
    else
      add_strict(starts, places->operand_limit[c], places->operand_stride[c], count, operand_at);
  }
}

void native_places_find(const native_places_t *places, const void *indices, int64_t first, int64_t count,
                        int64_t *operand_at, int64_t *other_at) {
  const loop_nest_t *batch = &places->places.batch;
  loop_walk_t walk = loop_walk_at(batch, first / batch->row_count);
  for (int64_t i = first % batch->row_count; count > 0; i = 0) {
    int64_t here = batch->row_count - i < count ? batch->row_count - i : count;
    find_in_row(places, indices, &walk, i, here, operand_at, other_at);
    loop_walk_next(batch, &walk);
    operand_at += here, other_at += here, count -= here;
  }
}
