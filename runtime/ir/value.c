/* Values: counted arrays, tuples and tokens. A value and its dimensions (or elements) are one
 * allocation; the bytes of an array are a counted buffer of their own, which views share. Sizes
 * are checked once, when a value is made.
 * Memory orders: retain is relaxed, as the caller already has a reference; release is acquire-
 * release, so that the last holder sees all writes before it frees. */
#include "ir/value.h"

#include <stdio.h>
#include <string.h>

#include "base/mem_object.h"
#include "base/text.h"

/* Allocates a zeroed value with one reference, and its dimensions or elements in the same block. */
static hr_status_t allocate_value(hr_dtype_t dtype, int rank, int element_count,
                                  hlo_value_t **out_value) {
  bool is_tuple = dtype == HR_TUPLE;
  size_t tail = (size_t)rank * sizeof(int64_t) + (size_t)element_count * sizeof(hlo_value_t *) +
                (is_tuple ? ((size_t)element_count + 1) * sizeof(int) : 0);
  void *memory;
  HR_TRY(hr_alloc_object(sizeof(hlo_value_t) + tail, &memory));
  hlo_value_t *value = memory;
  memset(value, 0, sizeof *value + tail);
  value->references = 1;
  value->dtype = dtype;
  value->rank = rank;
  value->element_count = element_count;
  value->dims = (int64_t *)(value + 1);
  value->elements = (hlo_value_t **)(value + 1);
  if (is_tuple) value->leaf_starts = (int *)(value->elements + element_count);
  *out_value = value;
  return NULL;
}

/* Once all elements are there: a leaf is found without a walk over those before it. */
static void count_leaves(hlo_value_t *tuple) {
  for (int i = 0; i < tuple->element_count; i++)
    tuple->leaf_starts[i + 1] = tuple->leaf_starts[i] + hlo_value_leaf_count(tuple->elements[i]);
}

/* Checks that the array lies within the buffer; no byte is copied. */
hr_status_t hlo_value_over(hr_dtype_t dtype, int rank, const int64_t *dims, hr_buffer_t *buffer,
                           size_t offset_bytes, hlo_value_t **out_value) {
  int64_t count;
  HR_TRY(hlo_dims_count(rank, dims, dtype, &count));
  size_t bytes = (size_t)count * hr_dtype_bytes(dtype);
  size_t size = hr_buffer_size(buffer);
  if (offset_bytes > size || bytes > size - offset_bytes)
    return hr_error(HR_INVALID, "%zu bytes at offset %zu, want them within %zu", bytes,
                    offset_bytes, size);
  hlo_value_t *value;
  HR_TRY(allocate_value(dtype, rank, 0, &value));
  if (rank) memcpy((int64_t *)value->dims, dims, (size_t)rank * sizeof *dims);
  value->count = count;
  value->buffer = hr_buffer_retain(buffer);
  value->data = (char *)hr_buffer_data(buffer) + offset_bytes;
  *out_value = value;
  return NULL;
}

/* A new array with a buffer of its own, not zeroed. */
hr_status_t hlo_value_array(hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value) {
  int64_t count;
  HR_TRY(hlo_dims_count(rank, dims, dtype, &count));
  hr_buffer_t *buffer;
  HR_TRY(hr_buffer_create((size_t)count * hr_dtype_bytes(dtype), &buffer));
  hr_status_t st = hlo_value_over(dtype, rank, dims, buffer, 0, out_value);
  hr_buffer_release(buffer);
  return st;
}

/* Shares the bytes from the value's start on, under another type or shape; they must be enough. */
hr_status_t hlo_value_view(hlo_value_t *value, hr_dtype_t dtype, int rank, const int64_t *dims,
                           hlo_value_t **out_value) {
  size_t offset = (size_t)((char *)value->data - (char *)hr_buffer_data(value->buffer));
  return hlo_value_over(dtype, rank, dims, value->buffer, offset, out_value);
}

/* Retains the elements. */
hr_status_t hlo_value_tuple(int count, hlo_value_t *const *elements, hlo_value_t **out_value) {
  HR_TRY(allocate_value(HR_TUPLE, 0, count, out_value));
  for (int i = 0; i < count; i++) (*out_value)->elements[i] = hlo_value_retain(elements[i]);
  count_leaves(*out_value);
  return NULL;
}

hr_status_t hlo_value_token(hlo_value_t **out_value) {
  return allocate_value(HR_TOKEN, 0, 0, out_value);
}

/* A tuple whose elements could be made; else those that were are released with it. */
static hr_status_t finish_tuple(hlo_value_t *tuple, hr_status_t st, hlo_value_t **out_value) {
  if (st) {
    hlo_value_release(tuple);
    return st;
  }
  count_leaves(tuple);
  *out_value = tuple;
  return NULL;
}

/* All-zero tuple; elements made before a failure are released with it. */
static hr_status_t zeros_of_tuple(const hlo_shape_t *shape, hlo_value_t **out_value) {
  hlo_value_t *tuple;
  HR_TRY(allocate_value(HR_TUPLE, 0, shape->element_count, &tuple));
  hr_status_t st = NULL;
  for (int i = 0; i < shape->element_count && !st; i++)
    st = hlo_value_zeros(shape->elements[i], &tuple->elements[i]);
  return finish_tuple(tuple, st, out_value);
}

hr_status_t hlo_value_zeros(const hlo_shape_t *shape, hlo_value_t **out_value) {
  if (hlo_shape_is_tuple(shape)) return zeros_of_tuple(shape, out_value);
  if (!hlo_shape_is_array(shape)) return hlo_value_token(out_value);
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value));
  memset((*out_value)->data, 0, hlo_value_bytes(*out_value));
  return NULL;
}

/* Zeroes all leaves in place, also those that others see. */
void hlo_value_clear(hlo_value_t *value) {
  for (int i = 0; i < value->element_count; i++) hlo_value_clear(value->elements[i]);
  if (value->data && hlo_value_bytes(value)) memset(value->data, 0, hlo_value_bytes(value));
}

hlo_value_t *hlo_value_retain(hlo_value_t *value) {
  if (value) __atomic_fetch_add(&value->references, 1, __ATOMIC_RELAXED);
  return value;
}

/* The last release frees, or hands the value to its recycler. */
void hlo_value_release(hlo_value_t *value) {
  if (!value || __atomic_fetch_sub(&value->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  if (value->recycle) {
    value->recycle(value);
    return;
  }
  for (int i = 0; i < value->element_count; i++) hlo_value_release(value->elements[i]);
  hr_buffer_release(value->buffer);
  hr_free(value);
}

bool hlo_value_is_exclusive(const hlo_value_t *value) {
  return __atomic_load_n(&value->references, __ATOMIC_ACQUIRE) == 1 && value->buffer &&
         hr_buffer_is_exclusive(value->buffer);
}

/* Bytes of an array; types narrower than a byte take whole bytes. */
size_t hlo_value_bytes(const hlo_value_t *value) {
  return (size_t)value->count * hr_dtype_bytes(value->dtype);
}

/* Static sizes must be equal; dynamic ones within the bound. */
bool hlo_value_fits(const hlo_value_t *value, const hlo_shape_t *shape) {
  if (value->dtype != shape->dtype || value->rank != shape->rank) return false;
  if (hlo_shape_is_tuple(shape) && value->element_count != shape->element_count) return false;
  for (int d = 0; d < shape->rank; d++) {
    bool dynamic = shape->dynamic && shape->dynamic[d];
    if (!dynamic && value->dims[d] != shape->dims[d]) return false;
    if (dynamic && shape->dims[d] != HLO_UNBOUNDED && value->dims[d] > shape->dims[d]) return false;
  }
  for (int i = 0; i < value->element_count; i++)
    if (!hlo_value_fits(value->elements[i], shape->elements[i])) return false;
  return true;
}

/* Stops when the text exceeds what messages show; tuples may have thousands of elements. */
static void print_value_shape(hr_strbuf_t *text, const hlo_value_t *value) {
  if (value->dtype != HR_TUPLE) {
    hlo_shape_t shape = {.dtype = value->dtype, .rank = value->rank, .dims = value->dims};
    hlo_shape_print(text, &shape, false);
    return;
  }
  hr_strbuf_printf(text, "(");
  for (int i = 0; i < value->element_count && text->size < HLO_SHAPE_TEXT; i++) {
    if (i) hr_strbuf_printf(text, ", ");
    print_value_shape(text, value->elements[i]);
  }
  hr_strbuf_printf(text, ")");
}

hr_status_t hlo_value_shape(hr_arena_t *arena, const hlo_value_t *value,
                            const hlo_shape_t **out_shape) {
  const hlo_shape_t **elements;
  if (value->dtype != HR_TUPLE)
    return hlo_shape_array(arena, value->dtype, value->rank, value->dims, out_shape);
  HR_TRY(HR_NEW_ARRAY(arena, value->element_count, &elements));
  for (int i = 0; i < value->element_count; i++)
    HR_TRY(hlo_value_shape(arena, value->elements[i], &elements[i]));
  return hlo_shape_tuple(arena, value->element_count, elements, out_shape);
}

const char *hlo_value_shape_text(const hlo_value_t *value, char into[HLO_SHAPE_TEXT]) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_value_shape(&text, value);
  int size = snprintf(into, HLO_SHAPE_TEXT, "%s", text.data ? text.data : "?");
  if (size >= HLO_SHAPE_TEXT) strcpy(into + HLO_SHAPE_TEXT - 4, "...");
  hr_strbuf_deinit(&text);
  return into;
}

/* Bitwise: NaN equals the same NaN, and -0 differs from 0. */
bool hlo_value_equal(const hlo_value_t *a, const hlo_value_t *b) {
  if (a == b) return true;
  if (a->dtype != b->dtype || a->rank != b->rank || a->element_count != b->element_count ||
      a->count != b->count)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  for (int i = 0; i < a->element_count; i++)
    if (!hlo_value_equal(a->elements[i], b->elements[i])) return false;
  return !a->data || memcmp(a->data, b->data, hlo_value_bytes(a)) == 0;
}

int hlo_value_leaf_count(const hlo_value_t *value) {
  return value->dtype == HR_TUPLE ? value->leaf_starts[value->element_count] : 1;
}

hlo_value_t *hlo_value_leaf(const hlo_value_t *value, int index) {
  while (value->dtype == HR_TUPLE) {
    int low = 0, high = value->element_count;
    /* The last element that starts at the leaf or before it. */
    while (high - low > 1) {
      int middle = low + (high - low) / 2;
      *(value->leaf_starts[middle] <= index ? &low : &high) = middle;
    }
    index -= value->leaf_starts[low];
    value = value->elements[low];
  }
  return (hlo_value_t *)value;
}

/* Takes leaves from *next_leaf in depth-first order. */
static hr_status_t unflatten_leaves(const hlo_shape_t *shape, hlo_value_t *const **next_leaf,
                                    hlo_value_t **out_value) {
  if (!hlo_shape_is_tuple(shape)) {
    *out_value = hlo_value_retain(*(*next_leaf)++);
    return NULL;
  }
  hlo_value_t *tuple;
  HR_TRY(allocate_value(HR_TUPLE, 0, shape->element_count, &tuple));
  hr_status_t st = NULL;
  for (int i = 0; i < shape->element_count && !st; i++)
    st = unflatten_leaves(shape->elements[i], next_leaf, &tuple->elements[i]);
  return finish_tuple(tuple, st, out_value);
}

hr_status_t hlo_value_unflatten(const hlo_shape_t *shape, hlo_value_t *const *leaves,
                                hlo_value_t **out_value) {
  return unflatten_leaves(shape, &leaves, out_value);
}

/* Assumes a little-endian machine. */
int64_t hlo_value_int_at(const hlo_value_t *value, int64_t index) {
  const char *at = (const char *)value->data + (size_t)index * hr_dtype_bytes(value->dtype);
  bool is_signed = hr_dtype_class(value->dtype) == HR_CLASS_SIGNED;
  switch (hr_dtype_bytes(value->dtype)) {
    case 1:
      return is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
    case 2:
      return is_signed ? *(const int16_t *)at : *(const uint16_t *)at;
    case 4:
      return is_signed ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
    default:
      return *(const int64_t *)at;
  }
}

/* Copies the elements and builds a tuple of them, which has references of its own. */
static hr_status_t copy_tuple(const hlo_value_t *value, hlo_value_t **out_value) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(((size_t)value->element_count + 1) * sizeof(hlo_value_t *), &memory));
  hlo_value_t **elements = memory;
  hr_status_t st = NULL;
  for (int i = 0; i < value->element_count && !st; i++)
    st = hlo_value_copy(value->elements[i], &elements[i]);
  if (!st) st = hlo_value_tuple(value->element_count, elements, out_value);
  for (int i = 0; i < value->element_count; i++) hlo_value_release(elements[i]);
  hr_free(elements);
  return st;
}

hr_status_t hlo_value_copy(const hlo_value_t *value, hlo_value_t **out_value) {
  if (value->dtype == HR_TOKEN) return hlo_value_token(out_value);
  if (value->dtype == HR_TUPLE) return copy_tuple(value, out_value);
  HR_TRY(hlo_value_array(value->dtype, value->rank, value->dims, out_value));
  if (value->count) memcpy((*out_value)->data, value->data, hlo_value_bytes(value));
  return NULL;
}
