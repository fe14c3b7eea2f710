/* Buffer_Bitcast: a buffer over the bytes of another one, with other sizes or another type. */
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/buffer/pjrt_buffer.h"
#include "pjrt/buffer/pjrt_strides.h"
#include "pjrt/buffer/pjrt_transfer.h"

/* Elements take a byte each here, where the framework packs several into one. */
static bool is_narrow(hr_dtype_t dtype) {
  return hr_dtype_table[dtype].bits < 8 && dtype != HR_PRED;
}

static hr_status_t check_types(hr_dtype_t from, hr_dtype_t to) {
  if (from == to || (!is_narrow(from) && !is_narrow(to))) return NULL;
  return hr_error(HR_UNSUPPORTED, "a bitcast between %s and %s", hr_dtype_name(from),
                  hr_dtype_name(to));
}

static hr_status_t check_bytes(const pjrt_buffer_t *buffer, const pjrt_strided_t *array,
                               const hlo_value_t *value) {
  int64_t bytes = pjrt_strided_bytes(array);
  if (bytes == (int64_t)hlo_value_bytes(value)) return check_types(buffer->dtype, array->dtype);
  return hr_error(HR_USAGE, "a bitcast of %zu bytes to %ld", hlo_value_bytes(value), (long)bytes);
}

/* The caller holds the buffer. Waits for its value. */
static hr_status_t cast(const pjrt_bitcast_args_t *args, pjrt_buffer_t **out_buffer) {
  pjrt_strided_t array;
  const pjrt_order_t *order;
  int64_t dims[HLO_MAX_RANK];
  hlo_value_t *value, *view;
  HR_TRY(pjrt_read_dense(args->type, args->dims, args->num_dims, args->layout,
                         "a bitcast to a layout", dims, &array, &order));
  HR_TRY(pjrt_buffer_wait(args->buffer, &value));
  HR_TRY(check_bytes(args->buffer, &array, value));
  HR_TRY(hlo_value_view(value, array.dtype, array.rank, array.dims, &view));
  return pjrt_buffer_in(args->buffer->memory, view, order, out_buffer);
}

hr_status_t pjrt_buffer_bitcast(pjrt_bitcast_args_t *args) {
  PJRT_NOT_NULL(args->buffer);
  HR_TRY(pjrt_buffer_hold(args->buffer));
  hr_status_t st = cast(args, &args->out_buffer);
  pjrt_buffer_unhold(args->buffer);
  return st;
}
