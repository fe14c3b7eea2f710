/* Transfers between the host and devices, and between devices. All memory is the host's: an array
 * of the caller is borrowed where it is dense, large enough to gain, and the caller allows it; a
 * copy to another device shares the value. What cannot be given at once, because it is still being
 * computed, becomes a job of the device's stream. */
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "pjrt/buffer/pjrt_transfer.h"

#define BORROW_BYTES (32 << 10) /* below, a copy costs less than to hold the caller's array */

/* --- from the host --- */

hr_status_t pjrt_check_dims(const int64_t *dims, size_t count, int type, hr_dtype_t *out_dtype) {
  int64_t elements;
  HR_TRY(pjrt_dtype(type, out_dtype));
  if (count > HLO_MAX_RANK)
    return hr_error(HR_USAGE, "an array of %zu dimensions, want at most %d", count, HLO_MAX_RANK);
  if (count && !dims) return hr_error(HR_USAGE, "the sizes of an array are NULL");
  for (size_t d = 0; d < count; d++)
    if (dims[d] < 0)
      return hr_error(HR_USAGE, "size %lld of dimension %zu, want 0 or more", (long long)dims[d],
                      d);
  return hlo_dims_count((int)count, dims, *out_dtype, &elements);
}

/* A memory wins over a device where both are given, as it names one of a device's. */
static hr_status_t choose_memory(pjrt_device_t *device, pjrt_memory_t *memory,
                                 pjrt_memory_t **out_memory) {
  if (!device && !memory) return hr_error(HR_USAGE, "neither a device nor a memory is given");
  *out_memory = memory ? memory : device->memory_list[PJRT_MEMORY_DEVICE];
  if ((*out_memory)->device->is_local) return NULL;
  return hr_error(HR_USAGE, "device %d is of another process", (*out_memory)->device->id);
}

hr_status_t pjrt_read_layout(pjrt_strided_t *array, const pjrt_layout_t *layout) {
  if (!layout) return NULL;
  if (!layout->kind)
    return layout->tiled.num_tiles ? hr_error(HR_UNSUPPORTED, "a layout with tiles")
                                   : pjrt_strided_order(array, layout->tiled.minor_to_major,
                                                        layout->tiled.minor_to_major_size);
  if (layout->strides.num_byte_strides != (size_t)array->rank)
    return hr_error(HR_USAGE, "%zu strides for an array of %d dimensions",
                    layout->strides.num_byte_strides, array->rank);
  for (int d = 0; d < array->rank; d++) array->strides[d] = layout->strides.byte_strides[d];
  return NULL;
}

hr_status_t pjrt_read_dense(int type, const int64_t *sizes, size_t rank,
                            const pjrt_layout_t *layout, const char *what, int64_t *dims,
                            pjrt_strided_t *out_array, const pjrt_order_t **out_order) {
  hr_dtype_t dtype;
  HR_TRY(pjrt_check_dims(sizes, rank, type, &dtype));
  pjrt_strided_init(out_array, dtype, (int)rank, sizes);
  HR_TRY(pjrt_read_layout(out_array, layout));
  HR_TRY(pjrt_order_of_strides(out_array, out_order));
  pjrt_order_permute(*out_order, out_array, dims);
  if (!pjrt_strided_is_dense(out_array))
    return hr_error(HR_UNSUPPORTED, "%s that is not dense", what);
  return NULL;
}

hr_status_t pjrt_order_of_layout(const pjrt_layout_t *layout, int rank,
                                 const pjrt_order_t **out_order) {
  *out_order = NULL;
  if (!layout || layout->kind) return NULL;
  if (layout->tiled.num_tiles) return hr_error(HR_UNSUPPORTED, "a layout with tiles");
  if (layout->tiled.minor_to_major_size != (size_t)rank)
    return hr_error(HR_USAGE, "a layout of %zu dimensions for an array of %d",
                    layout->tiled.minor_to_major_size, rank);
  HR_TRY(pjrt_order_find(rank, layout->tiled.minor_to_major, out_order));
  if ((*out_order)->is_row_major) *out_order = NULL;
  return NULL;
}

/* The caller's array: its strides may be negative, and `data` is then not its lowest address. */
static hr_status_t describe_host(const pjrt_from_host_args_t *args, pjrt_strided_t *array) {
  hr_dtype_t dtype;
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  pjrt_strided_init(array, dtype, (int)args->num_dims, args->dims);
  if (args->byte_strides && args->num_byte_strides) {
    if (args->num_byte_strides != args->num_dims)
      return hr_error(HR_USAGE, "%zu strides for an array of %zu dimensions",
                      args->num_byte_strides, args->num_dims);
    memcpy(array->strides, args->byte_strides, args->num_dims * sizeof(int64_t));
  }
  if (!args->data && pjrt_strided_bytes(array))
    return hr_error(HR_USAGE, "the data of an array is NULL");
  return NULL;
}

/* Bytes to which memory of others must be aligned: kernels load single elements from it. */
static size_t alignment_of(const pjrt_strided_t *array) {
  return hr_dtype_bytes(hr_dtype_real(array->dtype));
}

/* Dense arrays of whole bytes only, aligned for the kernels. Narrow types are copied, as the
 * bits above each element have to be set. */
static bool may_borrow(const pjrt_from_host_args_t *args, const pjrt_strided_t *array) {
  return args->semantics == PJRT_IMMUTABLE_ZERO_COPY && pjrt_strided_bytes(array) >= BORROW_BYTES &&
         pjrt_strided_is_dense(array) && hr_dtype_table[array->dtype].bits >= 8 &&
         (uintptr_t)args->data % alignment_of(array) == 0;
}

/* Signature of hr_buffer_free_fn: the framework may release its array. */
static void end_borrowing(void *event, void *data, size_t size_bytes) {
  (void)data;
  (void)size_bytes;
  pjrt_event_fire(event, NULL);
  pjrt_event_release(event);
}

/* The event fires when the last user of the bytes lets go: the framework keeps its array until
 * then. */
static hr_status_t borrow(const pjrt_from_host_args_t *args, const pjrt_strided_t *array,
                          pjrt_event_t **out_done, hlo_value_t **out_value) {
  hr_buffer_t *bytes;
  HR_TRY(pjrt_event_new(out_done));
  hr_status_t st = hr_buffer_wrap((void *)(uintptr_t)args->data, (size_t)pjrt_strided_bytes(array),
                                  false, end_borrowing, pjrt_event_retain(*out_done), &bytes);
  if (st) {
    pjrt_event_release(*out_done);
  } else {
    st = hlo_value_over(array->dtype, array->rank, array->dims, bytes, 0, out_value);
    hr_buffer_release(bytes); /* after a failure: fires the event */
  }
  if (st) pjrt_event_release(*out_done);
  return st;
}

/* The array of the caller is free at once: the event is set when it is given. */
static hr_status_t copy_in(const pjrt_from_host_args_t *args, const pjrt_strided_t *array,
                           pjrt_event_t **out_done, hlo_value_t **out_value) {
  HR_TRY(pjrt_event_new_ready(out_done));
  hr_status_t st = array->dtype == HR_TOKEN
                       ? hlo_value_token(out_value)
                       : hlo_value_array(array->dtype, array->rank, array->dims, out_value);
  if (st)
    pjrt_event_release(*out_done);
  else if (array->dtype != HR_TOKEN)
    pjrt_strided_gather(array, args->data, (*out_value)->data);
  return st;
}

/* Client_BufferFromHostBuffer. It returns a buffer and an event, both of which the caller
 * destroys. */
hr_status_t pjrt_buffer_from_host(pjrt_from_host_args_t *args) {
  pjrt_strided_t array;
  const pjrt_order_t *order;
  pjrt_memory_t *memory;
  pjrt_event_t *done;
  hlo_value_t *value;
  int64_t dims[HLO_MAX_RANK];
  PJRT_NOT_NULL(args->client);
  HR_TRY(choose_memory(args->device, args->memory, &memory));
  HR_TRY(describe_host(args, &array));
  HR_TRY(pjrt_order_of_layout(args->device_layout, array.rank, &order));
  pjrt_order_permute(order, &array, dims);
  HR_TRY((may_borrow(args, &array) ? borrow : copy_in)(args, &array, &done, &value));
  hr_status_t st = pjrt_buffer_in(memory, value, order, &args->buffer);
  if (st)
    pjrt_event_release(done);
  else
    args->done_with_host_buffer = done;
  return st;
}

/* Client_CreateUninitializedBuffer: its content is zeros. */
hr_status_t pjrt_buffer_uninitialized(pjrt_uninitialized_args_t *args) {
  pjrt_memory_t *memory;
  hr_dtype_t dtype;
  hlo_value_t *value;
  PJRT_NOT_NULL(args->client);
  HR_TRY(choose_memory(args->device, args->memory, &memory));
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  HR_TRY(hlo_value_array(dtype, (int)args->num_dims, args->dims, &value));
  memset(value->data, 0, hlo_value_bytes(value));
  return pjrt_buffer_of(memory, value, &args->buffer);
}

/* Client_CreateErrorBuffer: a buffer whose event fires at once, with the error. */
hr_status_t pjrt_buffer_of_error(pjrt_error_buffer_args_t *args) {
  hr_dtype_t dtype;
  pjrt_event_t *event;
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->memory);
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  HR_TRY(pjrt_event_new(&event));
  hlo_shape_t shape = {.dtype = dtype, .rank = (int)args->num_dims, .dims = args->dims};
  hr_status_t st = pjrt_buffer_pending(args->memory, &shape, event, &args->buffer);
  pjrt_event_fire(event, pjrt_error_given(args->code, args->message, args->message_size));
  pjrt_event_release(event);
  return st;
}

/* The callback at the end of a view. */
typedef struct view_owner {
  void (*on_delete)(void *data, void *context);
  void *context;
} view_owner_t;

/* Signature of hr_buffer_free_fn. */
static void end_view(void *context, void *data, size_t size_bytes) {
  view_owner_t *owner = context;
  (void)size_bytes;
  if (owner->on_delete) owner->on_delete(data, owner->context);
  hr_free(owner);
}

/* The framework looks for these words in the message, and copies then where it may. */
static hr_status_t check_alignment(const void *data, const pjrt_strided_t *array) {
  size_t alignment = alignment_of(array);
  if (!pjrt_strided_bytes(array) || (uintptr_t)data % alignment == 0) return NULL;
  return hr_error(HR_USAGE, "a view of memory at %p, which is not aligned to %zu bytes.", data,
                  alignment);
}

/* Client_CreateViewOfDeviceBuffer. After a failure the memory is still the caller's, and
 * `on_delete` is not called, but for a failure of the last step. */
hr_status_t pjrt_buffer_view(pjrt_view_args_t *args) {
  pjrt_memory_t *memory;
  pjrt_strided_t array;
  const pjrt_order_t *order;
  int64_t dims[HLO_MAX_RANK];
  hr_buffer_t *bytes;
  hlo_value_t *value;
  void *owner;
  PJRT_NOT_NULL(args->client);
  HR_TRY(choose_memory(args->device, PJRT_HAS(args, memory) ? args->memory : NULL, &memory));
  HR_TRY(pjrt_read_dense(args->type, args->dims, args->num_dims, args->layout, "a view of memory",
                         dims, &array, &order));
  HR_TRY(check_alignment(args->data, &array));
  HR_TRY(hr_alloc(sizeof(view_owner_t), &owner));
  *(view_owner_t *)owner = (view_owner_t){args->on_delete, args->context};
  hr_status_t st = hr_buffer_wrap(args->data, (size_t)pjrt_strided_bytes(&array), false, end_view,
                                  owner, &bytes);
  if (st) {
    hr_free(owner);
    return st;
  }
  st = hlo_value_over(array.dtype, array.rank, array.dims, bytes, 0, &value);
  if (st) hr_buffer_disown(bytes);
  hr_buffer_release(bytes);
  if (st) {
    hr_free(owner);
    return st;
  }
  return pjrt_buffer_in(memory, value, order, &args->buffer);
}

/* --- to the host and between devices --- */

/* A copy out of a buffer, or of raw bytes into it, now or when its value is there. */
typedef struct copy_job {
  pjrt_job_t job; /* first member */
  pjrt_buffer_t *from;
  pjrt_event_t *done; /* fired when the copy is made; the job has a reference */
  pjrt_buffer_t *to;  /* another buffer; NULL: the host */
  pjrt_strided_t array;
  void *dst;
  const void *src;    /* bytes for the buffer; NULL: they go to `dst` */
  pjrt_range_t range; /* with `raw` */
  bool raw;
} copy_job_t;

/* To another buffer the value is shared, to the host it is copied. */
static void copy_out(const copy_job_t *copy, hlo_value_t *value) {
  if (copy->to)
    pjrt_buffer_fulfil(copy->to, hlo_value_retain(value));
  else if (copy->raw && copy->range.size_bytes)
    memcpy(copy->dst, (const char *)value->data + copy->range.offset,
           (size_t)copy->range.size_bytes);
  else if (!copy->raw && value->data) {
    pjrt_strided_t array = copy->array;
    if (copy->from->order) array.dims = value->dims;
    pjrt_strided_scatter(&array, value->data, copy->dst);
  }
}

/* Arrays that share these bytes are other arrays for the framework, and must not change. */
static hr_status_t write_raw(const copy_job_t *copy, hlo_value_t *value) {
  if (!copy->range.size_bytes) return NULL;
  if (!hlo_value_is_exclusive(value))
    return hr_error(HR_USAGE, "bytes are written into an array that shares its memory");
  memcpy((char *)value->data + copy->range.offset, copy->src, (size_t)copy->range.size_bytes);
  return NULL;
}

/* Ends the hold on the source. */
static void finish_copy(const copy_job_t *copy) {
  hlo_value_t *value = NULL;
  hr_status_t st = pjrt_buffer_wait(copy->from, &value);
  if (!st && copy->src)
    st = write_raw(copy, value);
  else if (!st)
    copy_out(copy, value);
  pjrt_buffer_unhold(copy->from);
  if (copy->done) pjrt_event_fire(copy->done, pjrt_error_from_status(st));
}

/* A job of the source's stream: it comes after the execution that computes the source. */
static void run_copy(pjrt_job_t *job) {
  copy_job_t *copy = (copy_job_t *)job;
  finish_copy(copy);
  pjrt_buffer_release(copy->from);
  pjrt_buffer_release(copy->to);
  pjrt_event_release(copy->done);
  hr_free(copy);
}

/* Signature of pjrt_event_fn: the promise is kept, or broken, which finish_copy sees. */
static void run_promised_copy(pjrt_error_t *error, void *context) {
  copy_job_t *copy = context;
  pjrt_error_free(error);
  run_copy(&copy->job);
}

/* A value that is computed comes before the job in its stream. One that the framework has promised
 * may wait for later jobs of the stream, which must not wait for it. */
static hr_status_t add_copy(copy_job_t *copy) {
  if (!copy->from->is_promised || pjrt_buffer_is_ready(copy->from))
    return pjrt_stream_add(&copy->from->memory->device->stream, &copy->job);
  pjrt_event_on_ready_args_t when = {.struct_size = sizeof when,
                                     .event = copy->from->ready,
                                     .callback = run_promised_copy,
                                     .context = copy};
  return pjrt_event_on_ready(&when);
}

/* A write comes after the executions that were launched before, as these may read the buffer. */
static bool may_start(const copy_job_t *copy) {
  return pjrt_buffer_is_ready(copy->from) &&
         (!copy->src || pjrt_stream_is_free(&copy->from->memory->device->stream));
}

/* Consumes the hold of copy->from; copy->done may be NULL only if the value is there. The fields of
 * `copy` move into the job, which takes references of its own. The job's array points to the
 * buffer's sizes, which live longer than the caller's. */
static hr_status_t start_copy(const copy_job_t *copy) {
  void *memory;
  if (may_start(copy)) {
    finish_copy(copy);
    return NULL;
  }
  hr_status_t st = hr_alloc(sizeof(copy_job_t), &memory);
  if (st) {
    pjrt_buffer_unhold(copy->from);
    return st;
  }
  copy_job_t *job = memory;
  *job = *copy;
  job->job.run = run_copy;
  pjrt_buffer_retain(job->from);
  if (job->to) pjrt_buffer_retain(job->to);
  pjrt_event_retain(job->done);
  if (job->array.rank) job->array.dims = job->from->dims;
  return add_copy(job);
}

/* A hold keeps the value although the framework may delete the buffer before the copy is made. */
static hr_status_t start_with_event(copy_job_t *copy, pjrt_event_t **out_event) {
  HR_TRY(pjrt_buffer_hold(copy->from));
  hr_status_t st = pjrt_event_new(&copy->done);
  if (st) {
    pjrt_buffer_unhold(copy->from);
    return st;
  }
  st = start_copy(copy);
  if (st)
    pjrt_event_release(copy->done);
  else
    *out_event = copy->done;
  return st;
}

/* Buffer_ToHostBuffer. The caller keeps `dst` until the event is set. */
hr_status_t pjrt_buffer_to_host(pjrt_to_host_args_t *args) {
  PJRT_NOT_NULL(args->buffer);
  copy_job_t copy = {.from = args->buffer, .dst = args->dst};
  int64_t dims[HLO_MAX_RANK];
  pjrt_strided_init(&copy.array, args->buffer->dtype, args->buffer->rank, args->buffer->dims);
  HR_TRY(pjrt_read_layout(&copy.array, args->host_layout));
  pjrt_order_permute(args->buffer->order, &copy.array, dims);
  size_t size_bytes = (size_t)pjrt_strided_bytes(&copy.array);
  if (!args->dst) {
    args->dst_size = size_bytes;
    args->event = NULL;
    return NULL;
  }
  if (args->dst_size < size_bytes)
    return hr_error(HR_USAGE, "an array of %zu bytes for %zu bytes of the host", size_bytes,
                    args->dst_size);
  return start_with_event(&copy, &args->event);
}

hr_status_t pjrt_check_range(pjrt_buffer_t *buffer, const pjrt_range_t *range, const void *host) {
  pjrt_size_args_t size = {.struct_size = sizeof size, .object = buffer};
  HR_TRY(pjrt_buffer_size(&size));
  if (range->offset >= 0 && range->size_bytes >= 0 && range->offset <= (int64_t)size.value &&
      range->size_bytes <= (int64_t)size.value - range->offset && (host || !range->size_bytes))
    return NULL;
  return hr_error(HR_USAGE, "%lld bytes from byte %lld on, of an array of %zu",
                  (long long)range->size_bytes, (long long)range->offset, size.value);
}

/* Buffer_CopyRawToHost: the range is checked against the bytes of the whole array. */
hr_status_t pjrt_buffer_raw_to_host(pjrt_raw_to_host_args_t *args) {
  PJRT_NOT_NULL(args->buffer);
  pjrt_range_t range = {args->offset, args->size_bytes};
  HR_TRY(pjrt_check_range(args->buffer, &range, args->dst));
  copy_job_t copy = {.from = args->buffer, .dst = args->dst, .range = range, .raw = true};
  return start_with_event(&copy, &args->event);
}

hr_status_t pjrt_copy_raw(pjrt_buffer_t *from, const pjrt_range_t *range, void *dst,
                          pjrt_event_t *done) {
  copy_job_t copy = {.from = from, .done = done, .dst = dst, .range = *range, .raw = true};
  return start_copy(&copy);
}

hr_status_t pjrt_write_raw(pjrt_buffer_t *to, const pjrt_range_t *range, const void *src,
                           pjrt_event_t *done) {
  copy_job_t copy = {.from = to, .done = done, .src = src, .range = *range, .raw = true};
  return start_copy(&copy);
}

/* The value is shared: arrays never change but by donation, which wants it exclusive. */
static hr_status_t copy_to(pjrt_buffer_t *from, pjrt_memory_t *memory, pjrt_buffer_t **out_buffer) {
  if (!memory->device->is_local)
    return hr_error(HR_UNSUPPORTED, "a copy to device %d, which is of another process",
                    memory->device->id);
  HR_TRY(pjrt_buffer_hold(from));
  if (!from->ready || (pjrt_event_is_set(from->ready) && !pjrt_event_failure(from->ready))) {
    hr_status_t st = pjrt_buffer_in(memory, hlo_value_retain(atomic_load(&from->value)),
                                    from->order, out_buffer);
    pjrt_buffer_unhold(from);
    return st;
  }
  pjrt_event_t *done;
  hlo_shape_t shape = {.dtype = from->dtype, .rank = from->rank, .dims = from->dims};
  hr_status_t st = pjrt_event_new(&done);
  if (st) {
    pjrt_buffer_unhold(from);
    return st;
  }
  st = pjrt_buffer_pending(memory, &shape, done, out_buffer);
  if (!st) (*out_buffer)->order = from->order;
  copy_job_t copy = {.from = from, .to = st ? NULL : *out_buffer, .done = done};
  if (st)
    pjrt_buffer_unhold(from);
  else
    st = start_copy(&copy);
  pjrt_event_release(done);
  return st;
}

hr_status_t pjrt_buffer_copy_to_memory(pjrt_copy_args_t *args) {
  PJRT_NOT_NULL(args->buffer);
  PJRT_NOT_NULL(args->target);
  return copy_to(args->buffer, args->target, &args->dst_buffer);
}

hr_status_t pjrt_buffer_copy_to_device(pjrt_copy_args_t *args) {
  pjrt_device_t *device = args->target;
  PJRT_NOT_NULL(args->buffer);
  PJRT_NOT_NULL(device);
  return copy_to(args->buffer, device->memory_list[PJRT_MEMORY_DEVICE], &args->dst_buffer);
}
