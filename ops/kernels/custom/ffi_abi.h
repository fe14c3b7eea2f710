/* The binary interface between XLA's FFI handlers and their callers, in hlorun's own declarations:
 * sizes and offsets are those of its version 0.3. Types of buffers are numbers of xla_data.proto.
 * Source: the interface as published with jaxlib; tests/pjrt compares the structs with jaxlib's
 * header if it is installed. */
#ifndef HLO_OPS_FFI_ABI_H
#define HLO_OPS_FFI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { FFI_MAJOR = 0, FFI_MINOR = 3 };
enum { FFI_EXTENSION_METADATA = 1 };
enum { FFI_BUFFER = 1 };
enum { FFI_ATTR_ARRAY = 1, FFI_ATTR_DICTIONARY, FFI_ATTR_SCALAR, FFI_ATTR_STRING };
enum { FFI_INSTANTIATE, FFI_PREPARE, FFI_INITIALIZE, FFI_EXECUTE, FFI_STAGES };

#define FFI_HEAD      \
  size_t struct_size; \
  void *extension_start

typedef struct ffi_error ffi_error_t;
typedef struct ffi_execution ffi_execution_t;
typedef struct ffi_future ffi_future_t;

typedef struct ffi_text {
  const char *data;
  size_t size;
} ffi_text_t;

typedef struct ffi_buffer {
  FFI_HEAD;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} ffi_buffer_t;

typedef struct ffi_scalar {
  int dtype;
  void *value;
} ffi_scalar_t;

typedef struct ffi_array {
  int dtype;
  size_t count;
  void *data;
} ffi_array_t;

/* Arguments or results. */
typedef struct ffi_buffers {
  FFI_HEAD;
  int64_t count;
  int *types;
  void **buffers;
} ffi_buffers_t;

typedef struct ffi_attrs {
  FFI_HEAD;
  int64_t count;
  int *types;
  ffi_text_t **names; /* in ascending order */
  void **values;
} ffi_attrs_t;

typedef struct ffi_frame {
  FFI_HEAD;
  const struct ffi_api *api;
  ffi_execution_t *execution;
  int stage;
  ffi_buffers_t args, rets;
  ffi_attrs_t attrs;
  ffi_future_t *future; /* out; not counted in struct_size */
} ffi_frame_t;

typedef ffi_error_t *(*ffi_handler_t)(ffi_frame_t *frame);

typedef struct ffi_error_create_args {
  FFI_HEAD;
  const char *message;
  int code;
} ffi_error_create_args_t;

typedef struct ffi_error_message_args {
  FFI_HEAD;
  ffi_error_t *error;
  const char *message; /* out */
} ffi_error_message_args_t;

typedef struct ffi_error_args {
  FFI_HEAD;
  ffi_error_t *error;
} ffi_error_args_t;

typedef struct ffi_type_info {
  FFI_HEAD;
  void (*destroy)(void *object);
} ffi_type_info_t;

typedef struct ffi_type_args {
  FFI_HEAD;
  ffi_text_t name;
  int64_t *type_id; /* in and out */
  const void *type_info;
} ffi_type_args_t;

typedef struct ffi_user_data_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  const int64_t *type_id;
  void *data; /* out */
} ffi_user_data_args_t;

typedef struct ffi_state_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  int stage;
  const int64_t *type_id;
  void *state; /* in or out */
} ffi_state_args_t;

typedef struct ffi_pointer_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  void *value; /* out */
} ffi_pointer_args_t;

typedef struct ffi_allocate_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  size_t size_bytes, alignment;
  void *data; /* out */
} ffi_allocate_args_t;

typedef struct ffi_free_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  size_t size_bytes;
  void *data;
} ffi_free_args_t;

typedef struct ffi_task_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  void (*task)(void *data);
  void *data;
} ffi_task_args_t;

typedef struct ffi_threads_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  int64_t *count; /* out */
} ffi_threads_args_t;

typedef struct ffi_future_args {
  FFI_HEAD;
  ffi_future_t *future; /* out of create */
  ffi_error_t *error;   /* argument of set_error */
} ffi_future_args_t;

typedef struct ffi_int_args {
  FFI_HEAD;
  ffi_execution_t *execution;
  int64_t value; /* out; an int32 for the ordinal of the device */
} ffi_int_args_t;

typedef ffi_error_t *(*ffi_function_t)(void *args);

typedef struct ffi_api {
  FFI_HEAD;
  struct {
    FFI_HEAD;
    int major, minor;
  } version;
  const void *internal;
  ffi_function_t error_create;
  void (*error_message)(void *args);
  void (*error_destroy)(void *args);
  ffi_function_t handler_register, stream_get, type_register, user_data_get, state_set, state_get,
      memory_allocate, memory_free, task_schedule, thread_count, future_create, future_set,
      future_set_error, run_id, device_ordinal;
} ffi_api_t;

#endif
