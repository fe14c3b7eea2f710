/* Element types, layouts, and the arguments of the functions for buffers. See pjrt_abi.h for the
 * convention. */
#ifndef PJRT_ABI_BUFFER_H
#define PJRT_ABI_BUFFER_H

#include "pjrt/abi/pjrt_abi.h"

/* Element types by number; the order is the interface's own. pjrt_types.def gives hlorun's. */
enum {
#define PJRT_TYPE(number, dtype) PJRT_TYPE_##dtype = (number),
#include "pjrt/abi/pjrt_types.def"
#undef PJRT_TYPE
};

/* How long the framework does not change its host array; the numbers are the interface's. */
typedef enum pjrt_semantics {
  PJRT_IMMUTABLE_DURING_CALL, /* until the call returns: the plugin copies at once */
  PJRT_IMMUTABLE_UNTIL_DONE,  /* until the event `done_with_host_buffer` is set */
  /* as long as the buffer lives: the plugin may use the array itself; JAX's usual choice */
  PJRT_IMMUTABLE_ZERO_COPY,
  /* the same, and the plugin may write into it */
  PJRT_MUTABLE_ZERO_COPY
} pjrt_semantics_t;

/* Memory layout of an array: an order of dimensions with tiles, or strides in bytes. */
typedef struct pjrt_layout {
  PJRT_HEAD;
  union {
    struct {
      PJRT_HEAD;
      /* dimensions, the fastest varying first */
      const int64_t *minor_to_major;
      size_t minor_to_major_size;
      /* sizes of all tiles, one tile after the other */
      const int64_t *tile_dims;
      /* rank of each tile */
      const size_t *tile_dim_sizes;
      size_t num_tiles;
    } tiled;
    struct {
      PJRT_HEAD;
      /* stride per dimension in bytes; may be negative */
      const int64_t *byte_strides;
      size_t num_byte_strides;
    } strides;
  };
  int kind; /* 0 tiled, 1 strides */
} pjrt_layout_t;

/* Arguments of Client_BufferFromHostBuffer, by which device_put sends an array to a device. JAX
 * sets `memory` and leaves `device` NULL, and always gives strides. */
typedef struct pjrt_from_host_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const void *data;
  /* a number of pjrt_types.def; types below a byte take one byte an element */
  int type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides; /* NULL or none: dense and row-major */
  size_t num_byte_strides;
  pjrt_semantics_t semantics;
  pjrt_device_t *device;
  pjrt_memory_t *memory;               /* NULL: the device's default memory */
  pjrt_layout_t *device_layout;        /* wanted layout on the device; NULL: row-major */
  pjrt_event_t *done_with_host_buffer; /* out */
  pjrt_buffer_t *buffer;               /* out */
} pjrt_from_host_args_t;

/* Arguments of Client_CreateUninitializedBuffer. */
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

/* Arguments of Client_CreateErrorBuffer: a buffer whose every use fails with the given error. */
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

/* Arguments of Client_CreateViewOfDeviceBuffer, which from_dlpack uses for foreign memory. */
typedef struct pjrt_view_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  /* memory of the caller, which lives until `on_delete` */
  void *data;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout;
  pjrt_device_t *device;
  /* called once, after the last use of the memory; may be NULL */
  void (*on_delete)(void *data, void *context);
  void *context;
  intptr_t stream;       /* stream of the device that has written the memory; not read */
  pjrt_buffer_t *buffer; /* out */
  pjrt_memory_t *memory;
} pjrt_view_args_t;

/* Arguments of Buffer_Bitcast: other sizes or another type for the same bytes. */
typedef struct pjrt_bitcast_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  int type;
  const int64_t *dims;
  size_t num_dims;
  pjrt_layout_t *layout;     /* NULL: row-major */
  pjrt_buffer_t *out_buffer; /* out; `buffer` stays */
} pjrt_bitcast_args_t;

/* Arguments of Buffer_GetMemoryLayout. */
typedef struct pjrt_layout_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  pjrt_layout_t layout; /* out */
} pjrt_layout_args_t;

/* Arguments of Buffer_ToHostBuffer, by which np.asarray fetches an array. */
typedef struct pjrt_to_host_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  pjrt_layout_t *host_layout; /* NULL: dense and row-major */
  void *dst;                  /* NULL: only the size is asked for */
  size_t dst_size;
  /* set when `dst` is written */
  pjrt_event_t *event; /* out */
} pjrt_to_host_args_t;

/* Arguments of Buffer_CopyRawToHost: bytes in the device's memory order, from an offset in bytes.
 */
typedef struct pjrt_raw_to_host_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  void *dst;
  int64_t offset;
  int64_t size_bytes;
  pjrt_event_t *event; /* out */
} pjrt_raw_to_host_args_t;

/* Arguments of Buffer_CopyToDevice and Buffer_CopyToMemory; JAX uses the second. */
typedef struct pjrt_copy_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer;
  void *target;              /* a device, or a memory */
  pjrt_buffer_t *dst_buffer; /* out */
} pjrt_copy_args_t;

/* Arguments of TopologyDescription_MakeCanonicalShapeForMemorySpace: the ShapeProto of an array,
 * with its layout. */
typedef struct pjrt_topology_shape_args {
  PJRT_HEAD;
  pjrt_topology_t *topology;
  int memory_kind;
  const int64_t *dims;
  size_t num_dims;
  int type;
  pjrt_layout_t *layout; /* NULL: row-major */
  const char *bytes;     /* out */
  size_t size_bytes;
  void (*release)(const char *bytes);
} pjrt_topology_shape_args_t;

/* --- the extension for layouts --- */

/* Arguments of Layouts_GetDefaultLayout: the layout that an array of this type and these sizes
 * has. Layouts_MemoryLayout_Serialize takes a pjrt_serialized_args_t, whose object is a layout. */
typedef struct pjrt_default_layout_args {
  PJRT_HEAD;
  void *object; /* client or topology */
  int type;
  const int64_t *dims;
  size_t num_dims;
  void *layout; /* out */
} pjrt_default_layout_args_t;

#endif
