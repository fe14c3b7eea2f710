/* Arguments of the functions for programs and executions. See pjrt_abi.h for the convention. */
#ifndef PJRT_ABI_EXECUTABLE_H
#define PJRT_ABI_EXECUTABLE_H

#include "pjrt/abi/pjrt_abi_client.h"

/* A program and its form. JAX sends StableHLO as a portable artifact, which is MLIR bytecode of
 * the dialect VHLO, under the format "mlir". */
typedef struct pjrt_program {
  PJRT_HEAD;
  char *code;
  size_t code_size;
  const char *format; /* "mlir", "hlo" */
  size_t format_size;
} pjrt_program_t;

/* Arguments of Client_Compile. Program and options are the caller's, and are read during the
 * call only. */
typedef struct pjrt_client_compile_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const pjrt_program_t *program;
  const char *options; /* serialized CompileOptionsProto */
  size_t options_size;
  pjrt_executable_t *executable; /* out */
} pjrt_client_compile_args_t;

/* Arguments of Client_Load: an executable that was compiled for a topology. */
typedef struct pjrt_client_load_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  pjrt_executable_t *compiled;
  const char *options; /* NULL: those that it was compiled with */
  size_t options_size;
  pjrt_executable_t *executable; /* out */
} pjrt_client_load_args_t;

/* Item of the list of LoadedExecutable_AddressableDeviceLogicalIds. */
typedef struct pjrt_logical_id {
  int replica, partition;
} pjrt_logical_id_t;

/* Arguments of Compile: for a topology, as Client_Compile is for a client. */
typedef struct pjrt_topology_compile_args {
  PJRT_HEAD;
  pjrt_topology_t *topology;
  const pjrt_program_t *program;
  const char *options; /* serialized CompileOptionsProto */
  size_t options_size;
  pjrt_client_t *client;         /* read by nobody */
  pjrt_executable_t *executable; /* out; not loaded */
} pjrt_topology_compile_args_t;

/* Arguments of Executable_OptimizedProgram, which the framework calls twice: for the size, then
 * for the bytes. */
typedef struct pjrt_optimized_args {
  PJRT_HEAD;
  pjrt_executable_t *executable;
  pjrt_program_t *program; /* in: where to; code NULL asks for the size */
} pjrt_optimized_args_t;

/* Bytes on the device, then the same on the host, which is 0 where both are one.
 * Arguments of Executable_GetCompiledMemoryStats. */
typedef struct pjrt_compiled_memory_args {
  PJRT_HEAD;
  pjrt_executable_t *executable;
  int64_t generated_code, arguments, results, aliases, temporaries; /* out */
  int64_t host_generated_code, host_arguments, host_results, host_aliases, host_temporaries;
  int64_t peak, total; /* the most at one time, without and with the code */
} pjrt_compiled_memory_args_t;

/* Arguments of Executable_OutputDimensions. */
typedef struct pjrt_output_dims_args {
  PJRT_HEAD;
  pjrt_executable_t *executable;
  size_t num_outputs;      /* in or out */
  const int64_t *dims;     /* out; all dimensions of all results, one after the other */
  const size_t *dim_sizes; /* out; ranks of the results */
} pjrt_output_dims_args_t;

/* Arguments of Executable_DeserializeAndLoad. */
typedef struct pjrt_deserialize_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  const char *bytes;
  size_t size_bytes;
  pjrt_executable_t *executable; /* out */
  const char *options;           /* NULL: those that it was compiled with */
  size_t options_size;
} pjrt_deserialize_args_t;

/* Bytes, and how they are given back. */
typedef struct pjrt_chunk {
  void *data;
  size_t size_bytes;
  void (*release)(void *data, void *context);
  void *context; /* argument of `release` */
} pjrt_chunk_t;

/* Callback for a send of the program to the host. It takes over the chunk and answers an error that
 * `make_error` has made, or NULL. */
typedef struct pjrt_send_callback {
  int64_t channel;
  void *context;
  pjrt_error_t *(*send)(pjrt_chunk_t *chunk, pjrt_callback_error_t *make_error, size_t total_bytes,
                        bool is_last, void *context);
} pjrt_send_callback_t;

/* Callback for a receive of the program from the host. It takes over the stream. */
typedef struct pjrt_recv_callback {
  int64_t channel;
  void *context;
  void (*recv)(pjrt_copy_stream_t *stream, void *context);
} pjrt_recv_callback_t;

/* Options of one execution. The struct has grown with the versions: fields from `context` on are
 * read only if the caller's struct_size covers them. */
typedef struct pjrt_execute_options {
  PJRT_HEAD;
  /* transfers of the program with the host: [device][operation] */
  const pjrt_send_callback_t *const *send_callbacks;
  const pjrt_recv_callback_t *const *recv_callbacks;
  size_t num_send_ops, num_recv_ops;
  int launch_id;              /* number of the launch, by which Device_PoisonExecution names it */
  const int64_t *kept_inputs; /* arguments that may not be donated */
  size_t num_kept_inputs;
  pjrt_context_t *context;
  /* place in the source of the caller; not read */
  const char *call_location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
} pjrt_execute_options_t;

/* Arguments of LoadedExecutable_Execute. One call launches the program on all devices of this
 * process; the lists are in the order of LoadedExecutable_AddressableDevices. */
typedef struct pjrt_execute_args {
  PJRT_HEAD;
  pjrt_executable_t *executable;
  pjrt_execute_options_t *options;
  pjrt_buffer_t *const *const *arguments; /* [device][argument] */
  size_t num_devices, num_args;
  pjrt_buffer_t **const *results; /* out; [device][result] */
  pjrt_event_t **complete;        /* out; one per device; NULL: not wanted */
  pjrt_device_t *execute_device;  /* NULL: those of the assignment */
} pjrt_execute_args_t;

/* Arguments of ExecuteContext_Create and ExecuteContext_Destroy. */
typedef struct pjrt_context_args {
  PJRT_HEAD;
  pjrt_context_t *context; /* out of ExecuteContext_Create */
} pjrt_context_args_t;

/* --- the extension for the FFI --- */

/* What ends data of a type; two more functions are for later use. */
typedef struct pjrt_ffi_type_info {
  void (*destroy)(void *object);
  void (*serialize)(void);
  void (*deserialize)(void);
} pjrt_ffi_type_info_t;

/* Arguments of FFI_Type_Register: a number for a type of user data. */
typedef struct pjrt_ffi_type_args {
  PJRT_HEAD;
  const char *name;
  size_t name_size;
  int64_t type_id; /* in and out; 0: the plugin chooses */
  const pjrt_ffi_type_info_t *info;
} pjrt_ffi_type_args_t;

/* Arguments of FFI_UserData_Add. The data stay the caller's, and outlive the executions. */
typedef struct pjrt_ffi_user_data_args {
  PJRT_HEAD;
  pjrt_context_t *context;
  int64_t type_id;
  void *data;
} pjrt_ffi_user_data_args_t;

/* This one struct has no extension_start.
 * Arguments of FFI_Register_Handler: code for a custom call with this target. */
typedef struct pjrt_ffi_handler_args {
  size_t struct_size;
  const char *target;
  size_t target_size;
  /* an XLA_FFI_Handler */
  void *handler;
  const char *platform;
  size_t platform_size;
  unsigned traits; /* bits of XLA_FFI_Handler_Traits; not read */
} pjrt_ffi_handler_args_t;

/* --- custom partitioners: these structs have no struct_size but the last --- */

/* Bytes, without a NUL. */
typedef struct pjrt_answer_text {
  const char *data;
  size_t size;
} pjrt_answer_text_t;

/* An operand or the result: a ShapeProto and an OpSharding, serialized. */
typedef struct pjrt_partitioner_value {
  pjrt_answer_text_t shape;
  bool has_sharding;
  pjrt_answer_text_t sharding;
} pjrt_partitioner_value_t;

/* What the callback says of its answer, which lives until `free` is called with `data`. */
typedef struct pjrt_answer_header {
  int64_t api_version; /* 0 */
  void *data;
  void (*free)(void *data);
  bool has_error;
  /* a PJRT_Error_Code */
  int code;
  pjrt_answer_text_t message;
} pjrt_answer_header_t;

/* Arguments of the callback that makes the program of one partition. The last three are out. */
typedef struct pjrt_partition_args {
  pjrt_answer_header_t header;
  size_t operand_count;
  const pjrt_partitioner_value_t *operands;
  pjrt_partitioner_value_t result;
  pjrt_answer_text_t config; /* backend_config of the call */
  pjrt_answer_text_t module; /* MLIR */
  const pjrt_answer_text_t *operand_shardings;
  pjrt_answer_text_t result_sharding;
} pjrt_partition_args_t;

/* Callbacks of one target. */
typedef struct pjrt_partitioner_callbacks {
  int64_t version;
  void *data;
  void (*destroy)(struct pjrt_partitioner_callbacks *callbacks);
  void (*partition)(struct pjrt_partitioner_callbacks *callbacks, pjrt_partition_args_t *args);
  void (*infer_sharding)(struct pjrt_partitioner_callbacks *callbacks, void *args);
  void (*propagate_user_sharding)(struct pjrt_partitioner_callbacks *callbacks, void *args);
  bool may_replicate_effects;
} pjrt_partitioner_callbacks_t;

/* Arguments of Register_Custom_Partitioner. */
typedef struct pjrt_partitioner_args {
  size_t struct_size;
  const char *name;
  size_t name_size;
  pjrt_partitioner_callbacks_t *callbacks;
} pjrt_partitioner_args_t;

/* Arguments of Register_Batch_Partitionable. */
typedef struct pjrt_batched_args {
  size_t struct_size;
  const char *name;
  size_t name_size;
} pjrt_batched_args_t;

/* --- transformations of programs --- */

enum { PJRT_TRANSFORM_VERSION = 1 };

/* Arguments of the callback that changes a program. The last two are out. */
typedef struct pjrt_transform_call {
  size_t struct_size;
  pjrt_answer_header_t header;
  pjrt_answer_text_t module; /* a serialized HloModuleProto, as its answer */
  pjrt_answer_text_t transformed;
  bool changed;
} pjrt_transform_call_t;

typedef struct pjrt_transform_callbacks {
  int64_t version; /* PJRT_TRANSFORM_VERSION */
  void (*destroy)(struct pjrt_transform_callbacks *callbacks);
  void (*transform)(struct pjrt_transform_callbacks *callbacks, pjrt_transform_call_t *args);
} pjrt_transform_callbacks_t;

/* Arguments of Register_Xla_Transform. */
typedef struct pjrt_transform_args {
  size_t struct_size;
  const char *name;
  size_t name_size;
  int stage; /* 0: before the scheduler; 1: after it */
  pjrt_transform_callbacks_t *callbacks;
} pjrt_transform_args_t;

/* Arguments of Clear_Xla_Transform. */
typedef struct pjrt_transform_clear_args {
  size_t struct_size;
  int stage;
  const char *name;
  size_t name_size;
  pjrt_transform_callbacks_t *callbacks; /* not read */
  bool cleared;                          /* out: there was one */
} pjrt_transform_clear_args_t;

#endif
