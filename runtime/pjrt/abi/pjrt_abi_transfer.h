/* Arguments of the functions for deferred values: transfers in pieces, aliases, copies to host
 * memory that is provided later. See pjrt_abi.h for the convention. */
#ifndef PJRT_ABI_TRANSFER_H
#define PJRT_ABI_TRANSFER_H

#include "pjrt/abi/pjrt_abi_buffer.h"
#include "pjrt/abi/pjrt_abi_executable.h"

/* Type and sizes of an array. */
typedef struct pjrt_shape_spec {
  PJRT_HEAD;
  const int64_t *dims;
  size_t num_dims;
  int type;
} pjrt_shape_spec_t;

/* Arguments of Client_CreateBuffersForAsyncHostToDevice: buffers whose bytes come in pieces. */
typedef struct pjrt_transfer_create_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const pjrt_shape_spec_t *shapes;
  size_t shape_count;
  pjrt_layout_t *const *layouts; /* one per shape; NULL, also of one: row-major */
  size_t layout_count;
  pjrt_memory_t *memory;
  pjrt_transfer_t *transfer; /* out */
} pjrt_transfer_create_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_TransferData. */
typedef struct pjrt_transfer_data_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  int index;
  const void *data;
  int64_t offset;
  int64_t size_bytes;
  bool is_last;        /* all other pieces of the buffer were given before */
  pjrt_event_t *event; /* out; set when `data` is free */
} pjrt_transfer_data_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_TransferLiteral: all elements of a buffer. */
typedef struct pjrt_transfer_literal_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  int index;
  const void *data;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout; /* layout of `data`; NULL: row-major */
  pjrt_event_t *event;   /* out; set when `data` is free */
} pjrt_transfer_literal_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_RetrieveBuffer. */
typedef struct pjrt_transfer_buffer_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  int index;
  pjrt_buffer_t *buffer; /* out */
} pjrt_transfer_buffer_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_BufferSize. */
typedef struct pjrt_transfer_size_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  int index;
  size_t size_bytes; /* out */
} pjrt_transfer_size_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_SetBufferError. */
typedef struct pjrt_transfer_error_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  int index;
  pjrt_code_t code;
  const char *message;
  size_t message_size;
} pjrt_transfer_error_args_t;

/* Arguments of AsyncHostToDeviceTransferManager_AddMetadata. */
typedef struct pjrt_transfer_metadata_args {
  PJRT_HEAD;
  pjrt_transfer_t *transfer;
  const pjrt_named_t *metadata;
  size_t count;
} pjrt_transfer_metadata_args_t;

/* Arguments of CopyToDeviceStream_AddChunk. */
typedef struct pjrt_add_chunk_args {
  PJRT_HEAD;
  pjrt_copy_stream_t *stream;
  pjrt_chunk_t *chunk;    /* released by the plugin */
  pjrt_event_t *complete; /* out */
} pjrt_add_chunk_args_t;

/* --- aliases --- */

/* Arguments of Client_CreateAliasBuffer: a buffer that gets the value of another one later. */
typedef struct pjrt_alias_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  pjrt_memory_t *memory;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout;  /* NULL: row-major */
  pjrt_buffer_t *buffer;  /* out */
  pjrt_promise_t *fulfil; /* out; consumed by Client_FulfillAliasBuffer */
} pjrt_alias_args_t;

/* Arguments of Client_FulfillAliasBuffer. */
typedef struct pjrt_fulfil_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  pjrt_buffer_t *buffer; /* buffer with the value of the alias; read only if `code` is PJRT_OK */
  pjrt_code_t code;
  const char *message;
  size_t message_size;
  pjrt_promise_t *fulfil;
} pjrt_fulfil_args_t;

/* Arguments of `ready` in the next two structs, which the caller calls once. */
typedef struct pjrt_ready_args {
  size_t struct_size;
  void *promise;
  pjrt_code_t code;
  const char *message;
  size_t message_size;
  void *dst; /* target of Buffer_CopyRawToHostFuture; else unused */
} pjrt_ready_args_t;

/* Arguments of Buffer_DonateWithControlDependency. */
typedef struct pjrt_donate_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  void *promise;                          /* out */
  void (*ready)(pjrt_ready_args_t *args); /* out */
  pjrt_buffer_t *out_buffer;              /* out */
} pjrt_donate_args_t;

/* Arguments of Buffer_CopyRawToHostFuture: Buffer_CopyRawToHost to memory that comes later. */
typedef struct pjrt_raw_later_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  int64_t offset;
  int64_t size_bytes;
  pjrt_event_t *event;                    /* out */
  void *promise;                          /* out */
  void (*ready)(pjrt_ready_args_t *args); /* out */
} pjrt_raw_later_args_t;

/* --- devices --- */

/* Arguments of Device_PoisonExecution: a launch that has not begun fails with this error. */
typedef struct pjrt_poison_args {
  PJRT_HEAD;
  pjrt_device_t *device;
  int32_t launch_id;
  pjrt_code_t code;
  const char *message;
  size_t message_size;
  bool is_poisoned; /* out */
} pjrt_poison_args_t;

/* Arguments of Device_CreateAsyncTrackingEvent: an activity for profiles. */
typedef struct pjrt_tracking_args {
  PJRT_HEAD;
  pjrt_device_t *device;
  const char *text;
  size_t text_size;
  pjrt_tracking_t *tracking; /* out */
} pjrt_tracking_args_t;

#endif
