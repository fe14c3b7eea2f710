/* Compares hlorun's own header for the FFI with the one in jaxlib, as abi_compare.c does for
 * PJRT. */
#include <stdio.h>

#include "ops/kernels/custom/ffi_abi.h"
#include "xla/ffi/api/c_api.h"

static int passed, failed;

/* Counts a comparison of two sizes or offsets in bytes; prints one that fails. */
static void check(const char *what, size_t ours, size_t theirs) {
  if (ours == theirs) {
    passed++;
    return;
  }
  failed++;
  printf("%s: ours %zu, theirs %zu\n", what, ours, theirs);
}

/* The size of a struct as a whole. */
#define SIZE(ours, theirs) check("size of " #theirs, sizeof(ours), sizeof(theirs))
/* The offset of a field; the names differ, as hlorun's header is written in its own words. */
#define FIELD(ours, our_field, theirs, their_field) \
  check(#theirs "." #their_field, offsetof(ours, our_field), offsetof(theirs, their_field))

/* A call frame is compared up to the field that jaxlib counts in its size, as later versions
 * append to it. In the table of the FFI some functions, its last one among them, show that none
 * is left out. */
int main(void) {
  SIZE(ffi_buffer_t, XLA_FFI_Buffer);
  SIZE(ffi_scalar_t, XLA_FFI_Scalar);
  SIZE(ffi_array_t, XLA_FFI_Array);
  SIZE(ffi_buffers_t, XLA_FFI_Args);
  SIZE(ffi_buffers_t, XLA_FFI_Rets);
  SIZE(ffi_attrs_t, XLA_FFI_Attrs);
  SIZE(ffi_error_create_args_t, XLA_FFI_Error_Create_Args);
  SIZE(ffi_type_args_t, XLA_FFI_Type_Register_Args);
  SIZE(ffi_user_data_args_t, XLA_FFI_ExecutionContext_Get_Args);
  SIZE(ffi_allocate_args_t, XLA_FFI_DeviceMemory_Allocate_Args);
  SIZE(ffi_task_args_t, XLA_FFI_ThreadPool_Schedule_Args);
  check("size of a call frame", offsetof(ffi_frame_t, future), XLA_FFI_CallFrame_STRUCT_SIZE);
  FIELD(ffi_frame_t, execution, XLA_FFI_CallFrame, ctx);
  FIELD(ffi_frame_t, stage, XLA_FFI_CallFrame, stage);
  FIELD(ffi_frame_t, args, XLA_FFI_CallFrame, args);
  FIELD(ffi_frame_t, attrs, XLA_FFI_CallFrame, attrs);
  FIELD(ffi_state_args_t, state, XLA_FFI_State_Get_Args, state);
  FIELD(ffi_api_t, error_create, XLA_FFI_Api, XLA_FFI_Error_Create);
  FIELD(ffi_api_t, state_get, XLA_FFI_Api, XLA_FFI_State_Get);
  FIELD(ffi_api_t, memory_free, XLA_FFI_Api, XLA_FFI_DeviceMemory_Free);
  FIELD(ffi_api_t, future_create, XLA_FFI_Api, XLA_FFI_Future_Create);
  FIELD(ffi_api_t, device_ordinal, XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
