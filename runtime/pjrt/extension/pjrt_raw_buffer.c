/* The extension for raw buffers: the bytes of a buffer as they lie, which outlive its deletion.
 * A raw buffer is the buffer itself with a hold. */
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "pjrt/buffer/pjrt_transfer.h"

/* RawBuffer_CreateRawAliasOfBuffer: args->value becomes the raw buffer. */
static hr_status_t pjrt_raw_create(pjrt_pointer_args_t *args) {
  PJRT_NOT_NULL(args->object);
  HR_TRY(pjrt_buffer_hold(args->object));
  args->value = pjrt_buffer_retain(args->object);
  return NULL;
}

static hr_status_t pjrt_raw_destroy(pjrt_object_args_t *args) {
  if (!args->object) return NULL;
  pjrt_buffer_unhold(args->object);
  pjrt_buffer_release(args->object);
  return NULL;
}

typedef hr_status_t (*start_fn)(pjrt_raw_copy_args_t *args, const pjrt_range_t *range,
                                pjrt_event_t *done);

/* No bytes may come from NULL. */
static hr_status_t start_to_device(pjrt_raw_copy_args_t *args, const pjrt_range_t *range,
                                   pjrt_event_t *done) {
  return pjrt_write_raw(args->buffer, range, range->size_bytes ? args->host : "", done);
}

static hr_status_t start_to_host(pjrt_raw_copy_args_t *args, const pjrt_range_t *range,
                                 pjrt_event_t *done) {
  return pjrt_copy_raw(args->buffer, range, args->host, done);
}

/* The hold of the raw buffer is the caller's; the copy gets one of its own. */
static hr_status_t copy(pjrt_raw_copy_args_t *args, start_fn start) {
  pjrt_event_t *done;
  pjrt_range_t range = {args->offset, args->size_bytes};
  PJRT_NOT_NULL(args->buffer);
  HR_TRY(pjrt_check_range(args->buffer, &range, args->host));
  HR_TRY(pjrt_event_new(&done));
  pjrt_buffer_hold_again(args->buffer);
  hr_status_t st = start(args, &range, done);
  if (st)
    pjrt_event_release(done);
  else
    args->event = done;
  return st;
}

static hr_status_t pjrt_raw_to_device(pjrt_raw_copy_args_t *args) {
  return copy(args, start_to_device);
}

static hr_status_t pjrt_raw_to_host(pjrt_raw_copy_args_t *args) {
  return copy(args, start_to_host);
}

PJRT_ENTRY(RawBuffer_CreateRawAliasOfBuffer, raw_create, pjrt_pointer_args_t, value)
PJRT_ENTRY(RawBuffer_Destroy, raw_destroy, pjrt_object_args_t, object)
PJRT_ENTRY(RawBuffer_GetOnDeviceSizeInBytes, buffer_size, pjrt_size_args_t, value)
PJRT_ENTRY(RawBuffer_GetMemorySpace, buffer_memory, pjrt_pointer_args_t, value)
PJRT_ENTRY(RawBuffer_CopyRawHostToDevice, raw_to_device, pjrt_raw_copy_args_t, event)
PJRT_ENTRY(RawBuffer_CopyRawDeviceToHost, raw_to_host, pjrt_raw_copy_args_t, event)

pjrt_raw_buffer_extension_t pjrt_raw_buffer_extension = {
    .base = {sizeof pjrt_raw_buffer_extension, PJRT_EXTENSION_RAW_BUFFER, NULL},
    .functions = {call_raw_create, call_raw_destroy, call_buffer_size, call_buffer_memory,
                  call_raw_to_device, call_raw_to_host}};
