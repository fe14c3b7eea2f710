/* Statuses and arrays of the embedding API. */
#include <string.h>

#include "base/buffer.h"
#include "hlorun.h"
#include "ir/shape.h"
#include "ir/value.h"

int hlorun_status_exit_code(hlorun_status_t status) { return hr_status_exit_code(status); }
const char *hlorun_status_message(hlorun_status_t status) { return hr_status_message(status); }
char *hlorun_status_format(hlorun_status_t status) { return hr_status_format(status); }
void hlorun_status_release(hlorun_status_t status) { hr_status_release(status); }
const char *hlorun_version(void) { return PACKAGE_VERSION; }

hlorun_status_t hlorun_buffer_create(const char *dtype, int rank, const int64_t *dims, void *data,
                                     hlorun_release_fn release, void *context, hlorun_buffer_t **out_buffer) {
  hr_dtype_t type;
  int64_t count;
  if (!hr_dtype_from_name(hr_str_from(dtype), &type) || !hr_dtype_is_array(type))
    return hr_error(HR_USAGE, "no element type is called %s", dtype);
  if (!release) {
    HR_TRY(hlo_value_array(type, rank, dims, out_buffer));
    memcpy((*out_buffer)->data, data, hlo_value_bytes(*out_buffer));
    return NULL;
  }
  HR_TRY(hlo_dims_count(rank, dims, type, &count));
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_wrap(data, (size_t)count * hr_dtype_bytes(type), false, release, context, &bytes));
  hr_status_t st = hlo_value_over(type, rank, dims, bytes, 0, out_buffer);
  hr_buffer_release(bytes);
  return st;
}

hlorun_buffer_t *hlorun_buffer_retain(hlorun_buffer_t *buffer) { return hlo_value_retain(buffer); }
void hlorun_buffer_release(hlorun_buffer_t *buffer) { hlo_value_release(buffer); }
const char *hlorun_buffer_dtype(const hlorun_buffer_t *buffer) { return hr_dtype_name(buffer->dtype); }
int hlorun_buffer_rank(const hlorun_buffer_t *buffer) { return buffer->rank; }
const int64_t *hlorun_buffer_dims(const hlorun_buffer_t *buffer) { return buffer->dims; }
const void *hlorun_buffer_data(const hlorun_buffer_t *buffer) { return buffer->data; }
size_t hlorun_buffer_size_bytes(const hlorun_buffer_t *buffer) { return hlo_value_bytes(buffer); }
