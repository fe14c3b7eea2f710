/* Statuses and buffers of the embedding API: thin wrappers over base/status.h and ir/value.h that
 * validate their arguments. A buffer is a reference-counted array of the IR (hlo_value_t); its
 * bytes are its own, or the caller's with a function that is called when the last reference goes.
 * Getters accept NULL. Thread: any; a buffer that is being written must not be shared. Source of
 * the contract: runtime/hlorun.h. */
#include <string.h>

#include "api_check.h"
#include "base/buffer.h"
#include "hlorun.h"
#include "ir/shape.h"
#include "ir/value.h"

int hlorun_status_exit_code(hlorun_status_t status) { return hr_status_exit_code(status); }
const char *hlorun_status_message(hlorun_status_t status) { return hr_status_message(status); }
char *hlorun_status_format(hlorun_status_t status) { return hr_status_format(status); }
void hlorun_status_release(hlorun_status_t status) { hr_status_release(status); }
const char *hlorun_version(void) { return PACKAGE_VERSION; }

/* Invalid sizes are USAGE; sizes that exceed the memory fail later with NO_MEMORY. */
static hr_status_t check_shape(int rank, const int64_t *dims) {
  if (rank < 0 || rank > HLO_MAX_RANK)
    return hr_error(HR_USAGE, "hlorun_buffer_create: rank %d, want 0 to %d", rank, HLO_MAX_RANK);
  if (rank && !dims)
    return hr_error(HR_USAGE, "hlorun_buffer_create: dims is NULL, want %d sizes", rank);
  for (int d = 0; d < rank; d++)
    if (dims[d] < 0)
      return hr_error(HR_USAGE,
                      "hlorun_buffer_create: the size of dimension %d is %lld, want 0 or more", d,
                      (long long)dims[d]);
  return NULL;
}

/* Borrowed bytes are read in place, whole elements at a time: they must be aligned to the size of
 * their scalar type. */
static hr_status_t check_data(hr_dtype_t type, int64_t count, const void *data, bool is_borrowed) {
  size_t alignment = hr_dtype_bytes(hr_dtype_real(type));
  if (count && !data)
    return hr_error(HR_USAGE, "hlorun_buffer_create: data is NULL, want %lld elements",
                    (long long)count);
  if (is_borrowed && (uintptr_t)data % alignment)
    return hr_error(HR_USAGE, "hlorun_buffer_create: data is at %p, want a multiple of %zu for %s",
                    data, alignment, hr_dtype_name(type));
  return NULL;
}

/* Element types only: tokens, tuples and unknown names are USAGE. */
static hr_status_t find_type(const char *dtype, hr_dtype_t *out_type) {
  if (!dtype) return hr_error(HR_USAGE, "hlorun_buffer_create: dtype is NULL");
  if (hr_dtype_from_name(hr_str_from(dtype), out_type) && hr_dtype_is_array(*out_type)) return NULL;
  return hr_error(HR_USAGE, "unknown element type %s", dtype);
}

/* A buffer with a copy of the caller's bytes. */
static hr_status_t copy_array(hr_dtype_t type, int rank, const int64_t *dims, const void *data,
                              hlorun_buffer_t **out_buffer) {
  HR_TRY(hlo_value_array(type, rank, dims, out_buffer));
  size_t size_bytes = hlo_value_bytes(*out_buffer);
  if (size_bytes) memcpy((*out_buffer)->data, data, size_bytes);
  return NULL;
}

/* With `release` the caller's memory is borrowed and `release` is called with its context when
 * the last reference goes; it is not called if the creation fails. */
hlorun_status_t hlorun_buffer_create(const char *dtype, int rank, const int64_t *dims, void *data,
                                     hlorun_release_fn release, void *context,
                                     hlorun_buffer_t **out_buffer) {
  hr_dtype_t type;
  int64_t count;
  hr_buffer_t *bytes;
  API_NOT_NULL(out_buffer);
  HR_TRY(find_type(dtype, &type));
  HR_TRY(check_shape(rank, dims));
  HR_TRY(hlo_dims_count(rank, dims, type, &count));
  HR_TRY(check_data(type, count, data, release != NULL));
  if (!release) return copy_array(type, rank, dims, data, out_buffer);
  HR_TRY(
      hr_buffer_wrap(data, (size_t)count * hr_dtype_bytes(type), false, release, context, &bytes));
  hr_status_t st = hlo_value_over(type, rank, dims, bytes, 0, out_buffer);
  if (st) hr_buffer_disown(bytes);
  hr_buffer_release(bytes);
  return st;
}

hlorun_buffer_t *hlorun_buffer_retain(hlorun_buffer_t *buffer) { return hlo_value_retain(buffer); }
void hlorun_buffer_release(hlorun_buffer_t *buffer) { hlo_value_release(buffer); }
const char *hlorun_buffer_dtype(const hlorun_buffer_t *buffer) {
  return buffer ? hr_dtype_name(buffer->dtype) : NULL;
}
int hlorun_buffer_rank(const hlorun_buffer_t *buffer) { return buffer ? buffer->rank : 0; }
const int64_t *hlorun_buffer_dims(const hlorun_buffer_t *buffer) {
  return buffer ? buffer->dims : NULL;
}
const void *hlorun_buffer_data(const hlorun_buffer_t *buffer) {
  return buffer ? buffer->data : NULL;
}
size_t hlorun_buffer_size_bytes(const hlorun_buffer_t *buffer) {
  return buffer ? hlo_value_bytes(buffer) : 0;
}
