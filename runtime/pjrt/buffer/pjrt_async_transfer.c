/* Transfers in pieces: buffers are there at once, and their bytes come later, from any threads. A
 * buffer is ready when its last piece is given; the transfer keeps its value until then. */
#include <string.h>

#include "base/mem.h"
#include "pjrt/buffer/pjrt_transfer.h"

/* A buffer of the transfer. */
typedef struct part {
  pjrt_buffer_t *buffer; /* one reference */
  hlo_value_t *value;    /* to be filled; NULL: complete, or failed */
  bool is_retrieved;
} part_t;

struct pjrt_transfer {
  pjrt_memory_t *memory;
  pthread_mutex_t mutex; /* guards `value` and `is_retrieved` of the parts */
  size_t count;
  part_t parts[];
};

static hr_status_t create_part(const pjrt_transfer_t *transfer, const pjrt_shape_spec_t *spec,
                               const pjrt_layout_t *layout, part_t *part) {
  hr_dtype_t dtype;
  const pjrt_order_t *order;
  int64_t sizes[HLO_MAX_RANK];
  pjrt_event_t *ready;
  HR_TRY(pjrt_check_dims(spec->dims, spec->num_dims, spec->type, &dtype));
  if (dtype == HR_TOKEN) return hr_error(HR_USAGE, "a token has no bytes to transfer");
  hlo_shape_t shape = {.dtype = dtype, .rank = (int)spec->num_dims, .dims = spec->dims};
  HR_TRY(pjrt_order_of_layout(layout, shape.rank, &order));
  HR_TRY(pjrt_event_new(&ready));
  hr_status_t st = pjrt_buffer_pending(transfer->memory, &shape, ready, &part->buffer);
  pjrt_event_release(ready);
  if (st) return st;
  part->buffer->order = order;
  part->buffer->is_promised = true;
  if (order) pjrt_order_sizes(order, shape.dims, sizes);
  return hlo_value_array(dtype, shape.rank, order ? sizes : shape.dims, &part->value);
}

static void free_transfer(pjrt_transfer_t *transfer) {
  for (size_t i = 0; i < transfer->count; i++) {
    hlo_value_release(transfer->parts[i].value);
    pjrt_buffer_release(transfer->parts[i].buffer);
  }
  pthread_mutex_destroy(&transfer->mutex);
  hr_free(transfer);
}

hr_status_t pjrt_transfer_create(pjrt_transfer_create_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->memory);
  if (args->shape_count > UINT16_MAX || (args->shape_count && !args->shapes))
    return hr_error(HR_USAGE, "a transfer of %zu buffers", args->shape_count);
  if (args->layouts && args->layout_count != args->shape_count)
    return hr_error(HR_USAGE, "%zu layouts for %zu buffers", args->layout_count, args->shape_count);
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_transfer_t) + args->shape_count * sizeof(part_t), &memory));
  pjrt_transfer_t *transfer = memory;
  hr_status_t st = NULL;
  transfer->memory = args->memory;
  transfer->count = args->shape_count;
  pthread_mutex_init(&transfer->mutex, NULL);
  for (size_t i = 0; i < transfer->count && !st; i++)
    st = create_part(transfer, &args->shapes[i], args->layouts ? args->layouts[i] : NULL,
                     &transfer->parts[i]);
  if (st)
    free_transfer(transfer);
  else
    args->transfer = transfer;
  return st;
}

/* Takes the value out of a part, for good; NULL: it was taken before. */
static hlo_value_t *take_value(pjrt_transfer_t *transfer, part_t *part) {
  pthread_mutex_lock(&transfer->mutex);
  hlo_value_t *value = part->value;
  part->value = NULL;
  pthread_mutex_unlock(&transfer->mutex);
  return value;
}

/* Elements of less than a byte arrive one per byte; their upper bits are set here. */
static void complete(pjrt_transfer_t *transfer, part_t *part) {
  hlo_value_t *value = take_value(transfer, part);
  if (!value) return;
  if (hr_dtype_table[value->dtype].bits < 8) {
    pjrt_strided_t array;
    pjrt_strided_init(&array, value->dtype, value->rank, value->dims);
    pjrt_strided_gather(&array, value->data, value->data);
  }
  pjrt_buffer_fulfil(part->buffer, value);
  pjrt_event_fire(part->buffer->ready, NULL);
}

/* Takes over the error. */
static void fail(pjrt_transfer_t *transfer, part_t *part, pjrt_error_t *error) {
  hlo_value_t *value = take_value(transfer, part);
  if (value)
    pjrt_event_fire(part->buffer->ready, error);
  else
    pjrt_error_free(error);
  hlo_value_release(value);
}

static hr_status_t find_part(pjrt_transfer_t *transfer, int index, part_t **out_part) {
  if (index < 0 || (size_t)index >= transfer->count)
    return hr_error(HR_USAGE, "buffer %d of a transfer of %zu", index, transfer->count);
  *out_part = &transfer->parts[index];
  return NULL;
}

/* The part and a new reference to its value, so that a late piece writes into valid memory. */
static hr_status_t open_part(pjrt_transfer_t *transfer, int index, part_t **out_part,
                             hlo_value_t **out_value) {
  HR_TRY(find_part(transfer, index, out_part));
  pthread_mutex_lock(&transfer->mutex);
  *out_value = (*out_part)->value ? hlo_value_retain((*out_part)->value) : NULL;
  pthread_mutex_unlock(&transfer->mutex);
  return *out_value ? NULL : hr_error(HR_USAGE, "buffer %d is complete, or has failed", index);
}

/* The bytes are copied at once: the returned event is set already. */
hr_status_t pjrt_transfer_data(pjrt_transfer_data_args_t *args) {
  pjrt_range_t range = {args->offset, args->size_bytes};
  part_t *part;
  hlo_value_t *value;
  PJRT_NOT_NULL(args->transfer);
  HR_TRY(open_part(args->transfer, args->index, &part, &value));
  hr_status_t st = pjrt_check_range(part->buffer, &range, args->data);
  if (!st) st = pjrt_event_new_ready(&args->event);
  if (!st && range.size_bytes)
    memcpy((char *)value->data + range.offset, args->data, (size_t)range.size_bytes);
  hlo_value_release(value);
  if (!st && args->is_last) complete(args->transfer, part);
  return st;
}

static hr_status_t copy_literal(const pjrt_transfer_literal_args_t *args, const part_t *part,
                                hlo_value_t *value) {
  pjrt_strided_t array;
  hr_dtype_t dtype;
  int64_t sizes[HLO_MAX_RANK];
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  hlo_shape_t given = {.dtype = dtype, .rank = (int)args->num_dims, .dims = args->dims};
  hlo_shape_t want = {
      .dtype = part->buffer->dtype, .rank = part->buffer->rank, .dims = part->buffer->dims};
  char text[HLO_SHAPE_TEXT], want_text[HLO_SHAPE_TEXT];
  if (!hlo_shape_equal(&given, &want))
    return hr_error(HR_USAGE, "buffer %d is %s, the array is %s", args->index,
                    hlo_shape_text(&want, want_text), hlo_shape_text(&given, text));
  pjrt_strided_init(&array, dtype, given.rank, args->dims);
  HR_TRY(pjrt_read_layout(&array, args->layout));
  pjrt_order_permute(part->buffer->order, &array, sizes);
  if (!args->data && pjrt_strided_bytes(&array))
    return hr_error(HR_USAGE, "the data of an array is NULL");
  pjrt_strided_gather(&array, args->data, value->data);
  return NULL;
}

hr_status_t pjrt_transfer_literal(pjrt_transfer_literal_args_t *args) {
  part_t *part;
  hlo_value_t *value;
  PJRT_NOT_NULL(args->transfer);
  HR_TRY(open_part(args->transfer, args->index, &part, &value));
  hr_status_t st = copy_literal(args, part, value);
  hlo_value_release(value);
  if (!st) st = pjrt_event_new_ready(&args->event);
  if (!st) complete(args->transfer, part);
  return st;
}

/* A reference that the caller destroys; each buffer is given once. */
hr_status_t pjrt_transfer_retrieve(pjrt_transfer_buffer_args_t *args) {
  part_t *part;
  PJRT_NOT_NULL(args->transfer);
  HR_TRY(find_part(args->transfer, args->index, &part));
  pthread_mutex_lock(&args->transfer->mutex);
  bool was_retrieved = part->is_retrieved;
  part->is_retrieved = true;
  pthread_mutex_unlock(&args->transfer->mutex);
  if (was_retrieved) return hr_error(HR_USAGE, "buffer %d was retrieved before", args->index);
  args->buffer = pjrt_buffer_retain(part->buffer);
  return NULL;
}

hr_status_t pjrt_transfer_device(pjrt_pointer_args_t *args) {
  const pjrt_transfer_t *transfer = args->object;
  PJRT_NOT_NULL(transfer);
  args->value = transfer->memory->device;
  return NULL;
}

hr_status_t pjrt_transfer_count(pjrt_size_args_t *args) {
  const pjrt_transfer_t *transfer = args->object;
  PJRT_NOT_NULL(transfer);
  args->value = transfer->count;
  return NULL;
}

hr_status_t pjrt_transfer_size(pjrt_transfer_size_args_t *args) {
  part_t *part;
  PJRT_NOT_NULL(args->transfer);
  HR_TRY(find_part(args->transfer, args->index, &part));
  pjrt_size_args_t size = {.struct_size = sizeof size, .object = part->buffer};
  HR_TRY(pjrt_buffer_size(&size));
  args->size_bytes = size.value;
  return NULL;
}

hr_status_t pjrt_transfer_fail(pjrt_transfer_error_args_t *args) {
  part_t *part;
  PJRT_NOT_NULL(args->transfer);
  HR_TRY(find_part(args->transfer, args->index, &part));
  pjrt_error_t *error = pjrt_error_given(args->code, args->message, args->message_size);
  if (!error) return hr_error(HR_USAGE, "buffer %d is to fail without an error", args->index);
  fail(args->transfer, part, error);
  return NULL;
}

/* Metadata are hints for transports between machines: nothing here depends on them. */
hr_status_t pjrt_transfer_metadata(pjrt_transfer_metadata_args_t *args) {
  PJRT_NOT_NULL(args->transfer);
  return NULL;
}

/* Buffers that are not complete fail. */
hr_status_t pjrt_transfer_destroy(pjrt_object_args_t *args) {
  static const char text[] = "the transfer was destroyed before the last piece of its buffer";
  pjrt_transfer_t *transfer = args->object;
  if (!transfer) return NULL;
  for (size_t i = 0; i < transfer->count; i++)
    fail(transfer, &transfer->parts[i], pjrt_error_create(PJRT_CANCELLED, text, sizeof text - 1));
  free_transfer(transfer);
  return NULL;
}
