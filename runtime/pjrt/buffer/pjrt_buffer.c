/* Buffers: life, holds, and the functions that ask for their properties. */
#include "pjrt/buffer/pjrt_buffer.h"

#include <string.h>

#include "base/mem_object.h"

/* Number of the interface for each element type; 0 where there is none. */
static const uint8_t types[HR_DTYPE_COUNT] = {
#define PJRT_TYPE(number, dtype) [HR_##dtype] = (number),
#include "pjrt/abi/pjrt_types.def"
#undef PJRT_TYPE
};

int pjrt_type(hr_dtype_t dtype) { return types[dtype]; }

hr_status_t pjrt_dtype(int type, hr_dtype_t *out_dtype) {
  for (int dtype = 0; dtype < HR_DTYPE_COUNT; dtype++)
    if (type > 0 && types[dtype] == type) {
      *out_dtype = (hr_dtype_t)dtype;
      return NULL;
    }
  return hr_error(HR_USAGE, "there is no element type number %d", type);
}

/* A buffer and its sizes are one block. It has no value and no event yet. */
static hr_status_t create(pjrt_memory_t *memory, hr_dtype_t dtype, int rank, const int64_t *dims,
                          pjrt_buffer_t **out_buffer) {
  void *block;
  HR_TRY(hr_alloc_object(sizeof(pjrt_buffer_t) + (size_t)rank * sizeof *dims, &block));
  pjrt_buffer_t *buffer = block;
  *buffer = (pjrt_buffer_t){.references = 1, .memory = memory, .dtype = dtype, .rank = rank};
  for (int d = 0; d < rank; d++) buffer->dims[d] = dims[d];
  *out_buffer = buffer;
  return NULL;
}

hr_status_t pjrt_buffer_pending(pjrt_memory_t *memory, const hlo_shape_t *shape,
                                pjrt_event_t *ready, pjrt_buffer_t **out_buffer) {
  HR_TRY(create(memory, shape->dtype, shape->rank, shape->dims, out_buffer));
  (*out_buffer)->ready = pjrt_event_retain(ready);
  (*out_buffer)->is_dynamic = hlo_shape_is_dynamic(shape);
  return NULL;
}

hr_status_t pjrt_buffer_of(pjrt_memory_t *memory, hlo_value_t *value, pjrt_buffer_t **out_buffer) {
  hr_status_t st = create(memory, value->dtype, value->rank, value->dims, out_buffer);
  if (st)
    hlo_value_release(value);
  else
    atomic_init(&(*out_buffer)->value, value);
  return st;
}

hr_status_t pjrt_buffer_in(pjrt_memory_t *memory, hlo_value_t *value, const pjrt_order_t *order,
                           pjrt_buffer_t **out_buffer) {
  HR_TRY(pjrt_buffer_of(memory, value, out_buffer));
  (*out_buffer)->order = order;
  for (int i = 0; order && i < order->rank; i++)
    (*out_buffer)->dims[order->minor_to_major[order->rank - 1 - i]] = value->dims[i];
  return NULL;
}

/* The exchange makes sure that the value is released once, whichever thread comes first. */
static void drop_value(pjrt_buffer_t *buffer) {
  hlo_value_release(atomic_exchange(&buffer->value, NULL));
}

/* The framework may delete a buffer before its value is there: the value goes at once then. */
void pjrt_buffer_fulfil(pjrt_buffer_t *buffer, hlo_value_t *value) {
  atomic_store(&buffer->value, value);
  if (atomic_load(&buffer->state) == PJRT_DELETED) drop_value(buffer);
}

pjrt_buffer_t *pjrt_buffer_retain(pjrt_buffer_t *buffer) {
  atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
  return buffer;
}

void pjrt_buffer_release(pjrt_buffer_t *buffer) {
  if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
    return;
  drop_value(buffer);
  pjrt_event_release(buffer->ready);
  hr_free(buffer);
}

/* The count goes up first: a deletion in between then sees the hold and leaves the value. */
hr_status_t pjrt_buffer_hold(pjrt_buffer_t *buffer) {
  if (!(atomic_fetch_add(&buffer->state, 1) & PJRT_DELETED)) return NULL;
  pjrt_buffer_unhold(buffer);
  return hr_error(HR_USAGE, "Array has been deleted or donated");
}

void pjrt_buffer_hold_again(pjrt_buffer_t *buffer) { atomic_fetch_add(&buffer->state, 1); }

void pjrt_buffer_unhold(pjrt_buffer_t *buffer) {
  if (atomic_fetch_sub(&buffer->state, 1) == (PJRT_DELETED | 1)) drop_value(buffer);
}

/* If two callers donate at once, the bit goes to one; the other one fails. */
hr_status_t pjrt_buffer_donate(pjrt_buffer_t *buffer) {
  HR_TRY(pjrt_buffer_hold(buffer));
  if (!(atomic_fetch_or(&buffer->state, PJRT_DELETED) & PJRT_DELETED)) return NULL;
  pjrt_buffer_unhold(buffer);
  return hr_error(HR_USAGE, "Array has been deleted or donated");
}

/* The value moves only if this hold is the last: a reader that came before keeps it, and the
 * program gets a second reference. */
hlo_value_t *pjrt_buffer_take(pjrt_buffer_t *buffer) {
  hlo_value_t *value;
  if (atomic_load(&buffer->state) == (PJRT_DELETED | 1))
    value = atomic_exchange(&buffer->value, NULL);
  else
    value = hlo_value_retain(atomic_load(&buffer->value));
  pjrt_buffer_unhold(buffer);
  return value;
}

hr_status_t pjrt_buffer_wait(pjrt_buffer_t *buffer, hlo_value_t **out_value) {
  if (buffer->ready) {
    HR_TRY(pjrt_event_wait(buffer->ready));
    HR_TRY(pjrt_error_status(pjrt_event_failure(buffer->ready)));
  }
  *out_value = atomic_load(&buffer->value);
  return NULL;
}

/* --- functions of the interface --- */

/* Without a hold the value goes now, else with the last hold. */
static void mark_deleted(pjrt_buffer_t *buffer) {
  if (atomic_fetch_or(&buffer->state, PJRT_DELETED) == 0) drop_value(buffer);
}

/* Buffer_Destroy: the framework's reference ends. Executions that still use the buffer keep it. */
hr_status_t pjrt_buffer_destroy(pjrt_object_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  if (!buffer) return NULL;
  mark_deleted(buffer);
  pjrt_buffer_release(buffer);
  return NULL;
}

/* Buffer_Delete: releases the value; the object stays and reports that it is deleted. */
hr_status_t pjrt_buffer_delete(pjrt_object_args_t *args) {
  PJRT_NOT_NULL(args->object);
  mark_deleted(args->object);
  return NULL;
}

hr_status_t pjrt_buffer_is_deleted(pjrt_flag_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  args->value = (atomic_load(&buffer->state) & PJRT_DELETED) != 0;
  return NULL;
}

hr_status_t pjrt_buffer_element_type(pjrt_int_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  args->value = pjrt_type(buffer->dtype);
  return NULL;
}

/* Takes the sizes of a dynamic array from its value, which a deletion in another thread must not
 * free meanwhile. A deleted array keeps its known sizes. */
static hr_status_t learn_sizes(pjrt_buffer_t *buffer) {
  hlo_value_t *value;
  hr_status_t st = pjrt_buffer_hold(buffer);
  if (st) {
    hr_status_release(st);
    return NULL;
  }
  st = pjrt_buffer_wait(buffer, &value);
  if (!st && value && value->rank == buffer->rank)
    memcpy(buffer->dims, value->dims, (size_t)value->rank * sizeof *value->dims);
  pjrt_buffer_unhold(buffer);
  return st;
}

/* Buffer_Dimensions and Buffer_UnpaddedDimensions. Sizes of a dynamic array are known once it is
 * computed. The list belongs to the buffer. */
hr_status_t pjrt_buffer_dimensions(pjrt_list_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  args->items = buffer->dims;
  args->count = (size_t)buffer->rank;
  return buffer->is_dynamic ? learn_sizes(buffer) : NULL;
}

/* Buffer_DynamicDimensionIndices: none, as buffers always report their actual sizes. */
hr_status_t pjrt_buffer_dynamic_dimensions(pjrt_list_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->items = NULL;
  args->count = 0;
  return NULL;
}

/* Buffer_GetMemoryLayout, for DLPack. The list lives as long as the process. */
hr_status_t pjrt_buffer_memory_layout(pjrt_layout_args_t *args) {
  PJRT_NOT_NULL(args->buffer);
  const pjrt_order_t *order = args->buffer->order;
  if (!order) HR_TRY(pjrt_order_find(args->buffer->rank, NULL, &order));
  args->layout = (pjrt_layout_t){.tiled = {.minor_to_major = order->minor_to_major,
                                           .minor_to_major_size = (size_t)order->rank}};
  return NULL;
}

/* Buffer_OnDeviceSizeInBytes: types below a byte take one byte an element. */
hr_status_t pjrt_buffer_size(pjrt_size_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  size_t size_bytes = hr_dtype_bytes(buffer->dtype);
  for (int d = 0; d < buffer->rank; d++) size_bytes *= (size_t)buffer->dims[d];
  args->value = size_bytes;
  return NULL;
}

hr_status_t pjrt_buffer_device(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  args->value = buffer->memory->device;
  return NULL;
}

hr_status_t pjrt_buffer_memory(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  args->value = buffer->memory;
  return NULL;
}

/* Buffer_IsOnCpu: all memory is the host's. */
hr_status_t pjrt_buffer_is_on_cpu(pjrt_flag_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->value = true;
  return NULL;
}

/* Buffer_ReadyEvent: a reference that the caller destroys; block_until_ready waits for it. */
hr_status_t pjrt_buffer_ready_event(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  pjrt_event_t *event;
  PJRT_NOT_NULL(buffer);
  if (buffer->ready)
    event = pjrt_event_retain(buffer->ready);
  else
    HR_TRY(pjrt_event_new_ready(&event));
  args->value = event;
  return NULL;
}

/* Buffer_UnsafePointer and Buffer_OpaqueDeviceMemoryDataPointer. The address is valid as long as
 * the caller has a hold by Buffer_IncreaseExternalReferenceCount, or the buffer lives undeleted. */
hr_status_t pjrt_buffer_unsafe_pointer(pjrt_pointer_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  hlo_value_t *value;
  PJRT_NOT_NULL(buffer);
  HR_TRY(pjrt_buffer_hold(buffer));
  hr_status_t st = pjrt_buffer_wait(buffer, &value);
  if (!st) args->value = value ? value->data : NULL;
  pjrt_buffer_unhold(buffer);
  return st;
}

/* Buffer_IncreaseExternalReferenceCount: a NumPy array or a DLPack capsule uses the memory. It
 * is a hold, so that a donation leaves that memory unchanged. */
hr_status_t pjrt_buffer_increase_external(pjrt_object_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  HR_TRY(pjrt_buffer_hold(buffer));
  atomic_fetch_add(&buffer->externals, 1);
  pjrt_buffer_retain(buffer);
  return NULL;
}

/* Buffer_DecreaseExternalReferenceCount. The loop keeps the count from going below 0. */
hr_status_t pjrt_buffer_decrease_external(pjrt_object_args_t *args) {
  pjrt_buffer_t *buffer = args->object;
  PJRT_NOT_NULL(buffer);
  int before = atomic_load(&buffer->externals);
  while (before > 0 && !atomic_compare_exchange_weak(&buffer->externals, &before, before - 1)) {
  }
  if (before <= 0) return hr_error(HR_USAGE, "a buffer has no external references to drop");
  pjrt_buffer_unhold(buffer);
  pjrt_buffer_release(buffer);
  return NULL;
}
