/* Strided copies: the outer dimensions are walked by an odometer, the innermost is one memcpy where
 * it is contiguous, else an element at a time. Cost: linear; transposed arrays are read with their
 * own locality. */
#include "pjrt/buffer/pjrt_strides.h"

#include <string.h>

void pjrt_strided_init(pjrt_strided_t *array, hr_dtype_t dtype, int rank, const int64_t *dims) {
  *array = (pjrt_strided_t){.dtype = dtype, .rank = rank, .dims = dims};
  int64_t stride = (int64_t)hr_dtype_bytes(dtype);
  for (int d = rank; d-- > 0;) {
    array->strides[d] = stride;
    stride *= dims[d] ? dims[d] : 1;
  }
}

/* Sizes of 0 count as 1, so that strides stay above 0. */
hr_status_t pjrt_strided_order(pjrt_strided_t *array, const int64_t *minor_to_major, size_t count) {
  int64_t stride = (int64_t)hr_dtype_bytes(array->dtype);
  uint64_t seen = 0;
  if (count != (size_t)array->rank)
    return hr_error(HR_USAGE, "a layout of %zu dimensions for an array of %d", count, array->rank);
  for (size_t i = 0; i < count; i++) {
    int64_t d = minor_to_major[i];
    if (d < 0 || d >= array->rank || seen >> d & 1)
      return hr_error(HR_USAGE, "a layout names dimension %lld twice or out of range",
                      (long long)d);
    seen |= (uint64_t)1 << d;
    array->strides[d] = stride;
    stride *= array->dims[d] ? array->dims[d] : 1;
  }
  return NULL;
}

int64_t pjrt_strided_bytes(const pjrt_strided_t *array) {
  int64_t bytes = (int64_t)hr_dtype_bytes(array->dtype);
  for (int d = 0; d < array->rank; d++) bytes *= array->dims[d];
  return bytes;
}

/* Dimensions of size 1 may have any stride. */
bool pjrt_strided_is_dense(const pjrt_strided_t *array) {
  int64_t stride = (int64_t)hr_dtype_bytes(array->dtype);
  if (!pjrt_strided_bytes(array)) return true;
  for (int d = array->rank; d-- > 0;) {
    if (array->dims[d] != 1 && array->strides[d] != stride) return false;
    stride *= array->dims[d];
  }
  return true;
}

/* One line of the innermost dimension: `step` bytes between elements on the strided side. */
typedef struct line_copy {
  size_t size_bytes; /* size of an element */
  int64_t count, step;
  bool to_dense;
} line_copy_t;

/* Copies of a constant size compile to a load and a store. */
#define COPY_ELEMENTS(type)                                             \
  for (int64_t i = 0; i < line->count; i++, strided += line->step)      \
    if (line->to_dense)                                                 \
      memcpy(dense + i * (int64_t)sizeof(type), strided, sizeof(type)); \
    else                                                                \
      memcpy(strided, dense + i * (int64_t)sizeof(type), sizeof(type));

static void copy_line(const line_copy_t *line, char *strided, char *dense) {
  size_t all = line->size_bytes * (size_t)line->count;
  if (line->step == (int64_t)line->size_bytes) {
    if (line->to_dense)
      memcpy(dense, strided, all);
    else
      memcpy(strided, dense, all);
    return;
  }
  switch (line->size_bytes) {
    case 1:
      COPY_ELEMENTS(uint8_t) break;
    case 2:
      COPY_ELEMENTS(uint16_t) break;
    case 4:
      COPY_ELEMENTS(uint32_t) break;
    case 8:
      COPY_ELEMENTS(uint64_t) break;
    default:
      COPY_ELEMENTS(long double) break; /* 16 bytes */
  }
}

/* The dense side only goes forward; the strided side goes back when a dimension starts again. */
static void copy_array(const pjrt_strided_t *array, char *strided, char *dense, bool to_dense) {
  int64_t index[HLO_MAX_RANK] = {0};
  int last = array->rank - 1;
  line_copy_t line = {.size_bytes = hr_dtype_bytes(array->dtype),
                      .count = array->rank ? array->dims[last] : 1,
                      .step = array->rank ? array->strides[last] : 0,
                      .to_dense = to_dense};
  if (!pjrt_strided_bytes(array)) return;
  if (!array->rank) line.step = (int64_t)line.size_bytes;
  for (int d = 0; d >= 0;) {
    copy_line(&line, strided, dense);
    dense += line.size_bytes * (size_t)line.count;
    for (d = last - 1; d >= 0; d--) {
      strided += array->strides[d];
      if (++index[d] < array->dims[d]) break;
      strided -= array->strides[d] * array->dims[d];
      index[d] = 0;
    }
  }
}

/* Narrow integers: the bits above are the sign, or zero. */
static void extend(hr_dtype_t dtype, int64_t count, int8_t *elements) {
  int shift = 8 - hr_dtype_table[dtype].bits;
  if (dtype == HR_PRED || shift <= 0) return;
  bool is_signed = hr_dtype_table[dtype].class_ == HR_CLASS_SIGNED;
  for (int64_t i = 0; i < count; i++) {
    uint8_t bits = (uint8_t)((uint8_t)elements[i] << shift);
    elements[i] = is_signed ? (int8_t)((int8_t)bits >> shift) : (int8_t)(bits >> shift);
  }
}

/* Elements of narrow types come in with any bits above them: they are set here, once. */
void pjrt_strided_gather(const pjrt_strided_t *from, const void *data, void *dense) {
  if (pjrt_strided_is_dense(from))
    memcpy(dense, data, (size_t)pjrt_strided_bytes(from));
  else
    copy_array(from, (char *)(uintptr_t)data, dense, true);
  extend(from->dtype, pjrt_strided_bytes(from), dense);
}

void pjrt_strided_scatter(const pjrt_strided_t *to, const void *dense, void *data) {
  if (pjrt_strided_is_dense(to))
    memcpy(data, dense, (size_t)pjrt_strided_bytes(to));
  else
    copy_array(to, data, (char *)(uintptr_t)dense, false);
}
