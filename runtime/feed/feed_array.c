/* Infeed from NumPy files. The files are mapped; each value is a view of one index of the first
 * dimension, without a copy. */
#include "feed/feed_array.h"

#include <string.h>

#include "base/mem.h"

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}

bool feed_array_is_named(const feed_endpoint_t *endpoint) {
  return endpoint->kind == FEED_FILE &&
         (ends_with(endpoint->text, ".npy") || ends_with(endpoint->text, ".npz"));
}

/* --- opening --- */

static hr_status_t find_arrays(feed_array_t *array) {
  for (;; array->count++) {
    char name[16];
    bool found;
    snprintf(name, sizeof name, "in%d", array->count);
    if ((size_t)array->count == npz_count(&array->npz)) break;
    HR_TRY(npz_find(&array->npz, name, &found, &array->arrays[array->count]));
    if (!found) break;
  }
  return array->count ? NULL : hr_error(HR_INVALID, "%s has no array in0", array->path);
}

static hr_status_t open_arrays(feed_array_t *array) {
  size_t capacity = array->is_npz ? npz_count(&array->npz) : 1;
  void *arrays, *lists;
  HR_TRY(hr_alloc_zeroed((capacity + 1) * sizeof(npy_t), &arrays));
  array->arrays = arrays;
  HR_TRY(hr_alloc_zeroed((capacity + 1) * sizeof(hlo_value_t *), &lists));
  array->lists = lists;
  if (array->is_npz) return find_arrays(array);
  HR_TRY(npy_open(array->path, &array->arrays[0]));
  array->count = 1;
  return NULL;
}

static hr_status_t check_lengths(feed_array_t *array) {
  for (int k = 0; k < array->count; k++) {
    const npy_t *npy = &array->arrays[k];
    int64_t length = npy->rank ? npy->dims[0] : -1;
    if (length < 0 || (k && length != array->length))
      return hr_error(HR_INVALID, "%s: array %d has %lld values, want %lld", array->path, k,
                      (long long)length, (long long)array->length);
    array->length = length;
  }
  return NULL;
}

hr_status_t feed_array_open(feed_array_t *array, const char *path) {
  *array = (feed_array_t){.is_open = true, .is_npz = ends_with(path, ".npz"), .path = path};
  if (array->is_npz) {
    hr_status_t st = npz_open(path, &array->npz);
    if (st) array->is_open = false;
    HR_TRY(st);
  }
  HR_TRY(open_arrays(array));
  return check_lengths(array);
}

void feed_array_close(feed_array_t *array) {
  if (!array->is_open) return;
  for (int k = 0; k < array->count; k++) {
    npy_deinit(&array->arrays[k]);
    hlo_value_release(array->lists[k]);
  }
  hr_free(array->arrays);
  hr_free(array->lists);
  if (array->is_npz) npz_deinit(&array->npz);
  array->is_open = false;
}

/* --- values --- */

static bool fits_shape(const npy_t *npy, const hlo_shape_t *shape) {
  hlo_value_t value = {.dtype = shape->dtype, .rank = npy->rank - 1, .dims = npy->dims + 1};
  return npy_is(npy, shape->dtype) && hlo_value_fits(&value, shape);
}

/* The infeed of the program whose values these are; its element types are theirs. */
static hr_status_t make_lists(feed_array_t *array, const feed_shapes_t *shapes) {
  for (size_t i = 0; i < shapes->count; i++) {
    bool fits = shapes->list[i].leaf_count == array->count;
    for (int k = 0; fits && k < array->count; k++)
      fits = fits_shape(&array->arrays[k], shapes->list[i].leaves[k]);
    for (int k = 0; fits && k < array->count; k++)
      HR_TRY(hlo_value_rows_from_npy(&array->arrays[k], shapes->list[i].leaves[k]->dtype,
                                     &array->lists[k]));
    if (fits) return NULL;
  }
  char text[HLO_SHAPE_TEXT];
  return hr_error(HR_INVALID,
                  "%s: no infeed of the program accepts %d arrays such as %s, one per value",
                  array->path, array->count, npy_text(&array->arrays[0], text));
}

static hr_status_t copy_row(const hlo_value_t *list, int64_t row, hlo_value_t **out_value) {
  HR_TRY(hlo_value_array(list->dtype, list->rank - 1, list->dims + 1, out_value));
  size_t bytes = hlo_value_bytes(*out_value);
  if (bytes) memcpy((*out_value)->data, (const char *)list->data + (size_t)row * bytes, bytes);
  return NULL;
}

hr_status_t feed_array_next(feed_array_t *array, const feed_shapes_t *shapes,
                            hlo_value_t ***out_leaves, int *out_count) {
  *out_leaves = NULL;
  if (!array->lists[0]) HR_TRY(make_lists(array, shapes));
  if (array->next == array->length) return NULL;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)array->count * sizeof(hlo_value_t *), &memory));
  hlo_value_t **leaves = memory;
  hr_status_t st = NULL;
  for (int k = 0; k < array->count && !st; k++)
    st = copy_row(array->lists[k], array->next, &leaves[k]);
  if (st) {
    for (int k = 0; k < array->count; k++) hlo_value_release(leaves[k]);
    hr_free(leaves);
    return st;
  }
  array->next++;
  *out_leaves = leaves;
  *out_count = array->count;
  return NULL;
}
