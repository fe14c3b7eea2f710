/* Extensions of the function table. Each is a struct of function pointers with its type in front;
 * the file that implements it defines it. */
#ifndef PJRT_EXTENSIONS_H
#define PJRT_EXTENSIONS_H

#include "pjrt/abi/pjrt_abi.h"

/* Shardings of parameters, of results. */
typedef struct pjrt_shardings_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_shardings_extension_t;

/* Layouts: destroy, serialize, default of a client, of a buffer, default of a topology, of
 * results, of parameters. */
typedef struct pjrt_layouts_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[7];
} pjrt_layouts_extension_t;

/* Memories of a device, perhaps of another process; kind of a memory. */
typedef struct pjrt_memories_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_memories_extension_t;

/* Registration of a custom partitioner; registration of batch partitionable calls. */
typedef struct pjrt_partitioner_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_partitioner_extension_t;

/* Registration of a transformation of programs, its end. */
typedef struct pjrt_transform_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_transform_extension_t;

/* Types of user data, user data of an execution, handlers. */
typedef struct pjrt_ffi_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[3];
} pjrt_ffi_extension_t;

/* --- raw buffers --- */

/* Arguments of RawBuffer_CopyRawHostToDevice and RawBuffer_CopyRawDeviceToHost. */
typedef struct pjrt_raw_copy_args {
  PJRT_HEAD;
  pjrt_buffer_t *buffer; /* the raw one */
  void *host;
  int64_t offset;
  int64_t size_bytes;
  pjrt_event_t *event; /* out */
} pjrt_raw_copy_args_t;

/* Create of a buffer, destroy, size in bytes, memory, copy from the host, to the host. */
typedef struct pjrt_raw_buffer_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[6];
} pjrt_raw_buffer_extension_t;

/* --- memory of the host --- */

typedef struct pjrt_host_allocate_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  size_t size_bytes;
  size_t alignment; /* in bytes */
  void *memory;     /* out */
} pjrt_host_allocate_args_t;

/* Preferred alignment, allocate, free. */
typedef struct pjrt_host_allocator_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[3];
} pjrt_host_allocator_extension_t;

/* --- the profiler --- */

typedef struct pjrt_profiler pjrt_profiler_t;

/* Arguments of Destroy, Start and Stop; first fields of those of CollectData. */
typedef struct pjrt_profiler_args {
  size_t struct_size;
  pjrt_profiler_t *profiler;
} pjrt_profiler_args_t;

typedef struct pjrt_profiler_create_args {
  size_t struct_size;
  /* a serialized ProfileOptions */
  const char *options;
  size_t options_size;
  pjrt_profiler_t *profiler; /* out */
} pjrt_profiler_create_args_t;

typedef struct pjrt_profiler_collect_args {
  size_t struct_size;
  pjrt_profiler_t *profiler;
  uint8_t *buffer; /* in: memory for the XSpace; NULL: set to the plugin's copy */
  size_t size;     /* out */
} pjrt_profiler_collect_args_t;

typedef struct pjrt_profiler_api {
  size_t struct_size;
  void *context;
  void (*error_destroy)(pjrt_error_args_t *args);
  void (*error_message)(pjrt_error_message_args_t *args);
  pjrt_error_t *(*error_code)(pjrt_error_code_args_t *args);
  pjrt_error_t *(*create)(pjrt_profiler_create_args_t *args);
  pjrt_error_t *(*destroy)(pjrt_profiler_args_t *args);
  pjrt_error_t *(*start)(pjrt_profiler_args_t *args);
  pjrt_error_t *(*stop)(pjrt_profiler_args_t *args);
  pjrt_error_t *(*collect)(pjrt_profiler_collect_args_t *args);
} pjrt_profiler_api_t;

typedef struct pjrt_profiler_extension {
  pjrt_extension_t base;
  pjrt_profiler_api_t *api;
  int64_t context; /* the execution's context; unused */
} pjrt_profiler_extension_t;

/* --- metadata of executables --- */

typedef struct pjrt_metadata {
  const char *bytes; /* a serialized xla.ExecutableMetadata */
  size_t size_bytes;
} pjrt_metadata_t;

/* These structs have no size in front. */
typedef struct pjrt_metadata_args {
  pjrt_executable_t *executable;
  pjrt_metadata_t *metadata; /* out; NULL without an answer */
} pjrt_metadata_args_t;

typedef struct pjrt_metadata_destroy_args {
  pjrt_metadata_t *metadata;
} pjrt_metadata_destroy_args_t;

typedef struct pjrt_metadata_extension {
  pjrt_extension_t base;
  pjrt_error_t *(*get)(pjrt_metadata_args_t *args);
  void (*destroy)(pjrt_metadata_destroy_args_t *args);
} pjrt_metadata_extension_t;

extern pjrt_metadata_extension_t pjrt_metadata_extension;       /* pjrt_metadata.c */
extern pjrt_profiler_extension_t pjrt_profiler_extension;       /* pjrt_profiler.c */
extern pjrt_shardings_extension_t pjrt_shardings_extension;     /* pjrt_shardings.c */
extern pjrt_layouts_extension_t pjrt_layouts_extension;         /* pjrt_layouts.c */
extern pjrt_memories_extension_t pjrt_memories_extension;       /* pjrt_layouts.c */
extern pjrt_ffi_extension_t pjrt_ffi_extension;                 /* pjrt_ffi.c */
extern pjrt_partitioner_extension_t pjrt_partitioner_extension; /* pjrt_custom_partitioner.c */
extern pjrt_transform_extension_t pjrt_transform_extension;     /* pjrt_transform.c */
extern pjrt_raw_buffer_extension_t pjrt_raw_buffer_extension;   /* pjrt_raw_buffer.c */
/* pjrt_host_allocator.c */
extern pjrt_host_allocator_extension_t pjrt_host_allocator_extension;

#endif
