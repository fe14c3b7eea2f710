/* Element types, layouts, and the arguments of the functions for buffers. See pjrt_abi.h for the
 * convention. */
#ifndef PJRT_ABI_BUFFER_H
#define PJRT_ABI_BUFFER_H

#include "pjrt/pjrt_abi.h"

/* Element types by number; the order is the interface's own. pjrt_types.def gives hlorun's. */
enum {
#define PJRT_TYPE(number, dtype) PJRT_TYPE_##dtype = (number),
#include "pjrt/pjrt_types.def"
#undef PJRT_TYPE
};

typedef enum pjrt_semantics {
  PJRT_IMMUTABLE_DURING_CALL,
  PJRT_IMMUTABLE_UNTIL_DONE,
  PJRT_IMMUTABLE_ZERO_COPY,
  PJRT_MUTABLE_ZERO_COPY
} pjrt_semantics_t;

typedef struct pjrt_layout {
  PJRT_HEAD;
  union {
    struct {
      PJRT_HEAD;
      const int64_t *minor_to_major;
      size_t minor_to_major_size;
      const int64_t *tile_dims;
      const size_t *tile_dim_sizes;
      size_t num_tiles;
    } tiled;
    struct {
      PJRT_HEAD;
      const int64_t *byte_strides;
      size_t num_byte_strides;
    } strides;
  };
  int kind; /* 0 tiled, 1 strides */
} pjrt_layout_t;

typedef struct pjrt_from_host_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const void *data;
  int type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides; /* NULL or none: dense and row-major */
  size_t num_byte_strides;
  pjrt_semantics_t semantics;
  pjrt_device_t *device;
  pjrt_memory_t *memory; /* NULL: the device's default memory */
  pjrt_layout_t *device_layout;
  pjrt_event_t *done_with_host_buffer; /* out */
  pjrt_buffer_t *buffer;               /* out */
} pjrt_from_host_args_t;

typedef struct pjrt_uninitialized_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout;
  pjrt_device_t *device;
  pjrt_memory_t *memory;
  pjrt_buffer_t *buffer; /* out */
} pjrt_uninitialized_args_t;

typedef struct pjrt_error_buffer_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  pjrt_code_t code;
  const char *message;
  size_t message_size;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout;
  pjrt_memory_t *memory;
  pjrt_buffer_t *buffer; /* out */
} pjrt_error_buffer_args_t;

typedef struct pjrt_view_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  void *data;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout;
  pjrt_device_t *device;
  void (*on_delete)(void *data, void *context);
  void *context;
  intptr_t stream;
  pjrt_buffer_t *buffer; /* out */
  pjrt_memory_t *memory;
} pjrt_view_args_t;

typedef struct pjrt_layout_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  pjrt_layout_t layout; /* out */
} pjrt_layout_args_t;

typedef struct pjrt_to_host_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  pjrt_layout_t *host_layout; /* NULL: dense and row-major */
  void *dst;                  /* NULL: only the size is asked for */
  size_t dst_size;
  pjrt_event_t *event; /* out */
} pjrt_to_host_args_t;

typedef struct pjrt_raw_to_host_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  void *dst;
  int64_t offset;
  int64_t size_bytes;
  pjrt_event_t *event; /* out */
} pjrt_raw_to_host_args_t;

typedef struct pjrt_copy_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  void *target;              /* a device, or a memory */
  pjrt_buffer_t *dst_buffer; /* out */
} pjrt_copy_args_t;

/* --- the extension for layouts --- */

/* As in pjrt_serialized_args_t; the object is a layout. */
typedef struct pjrt_default_layout_args {
  PJRT_HEAD;
  void *object; /* client or topology */
  int type;
  const int64_t *dims;
  size_t num_dims;
  void *layout; /* out */
} pjrt_default_layout_args_t;

#endif
