/* Compares every struct of runtime/pjrt's own header with the one that the field publishes, where
 * it is installed (a TensorFlow wheel): the offset at which the last field ends, the order of the
 * functions, the numbers of types. Compiled by run_pjrt.sh; prints the counts. */
#include <stdio.h>
#include <string.h>

#include "pjrt/abi/pjrt_api.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"

/* Checks that held, and checks that did not; the exit status is 1 if there is one of the latter. */
static int passed, failed;

/* Only failures are printed, with both figures. */
static void check(int ok, const char *what, size_t ours, size_t theirs) {
  if (ok) {
    passed++;
    return;
  }
  failed++;
  printf("%s: ours %zu, theirs %zu\n", what, ours, theirs);
}

/* Where a field ends, in bytes from the begin of its struct. */
#define END(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Every row of pjrt_functions.def: its struct of arguments has the size of the published one,
 * and its entry stands at the published place. A row that is missing shifts all that follow. */
static void compare_functions(void) {
#define COMPARE(name, args)                                                           \
  check(sizeof(pjrt_##args##_args_t) == sizeof(PJRT_##name##_Args), "size of " #name, \
        sizeof(pjrt_##args##_args_t), sizeof(PJRT_##name##_Args));                    \
  COMPARE_PLACE(name)
#define COMPARE_PLACE(name)                                                              \
  check(offsetof(pjrt_api_t, functions) + PJRT_INDEX_##name * sizeof(pjrt_function_t) == \
            offsetof(PJRT_Api, PJRT_##name),                                             \
        "place of " #name, PJRT_INDEX_##name, offsetof(PJRT_Api, PJRT_##name));
#define PJRT_FUNCTION(name, fn, args, last) COMPARE(name, args)
#define PJRT_DIRECT(name, fn, args, last) COMPARE(name, args)
#define PJRT_NEWER(name, fn, args, last)
#include "pjrt/abi/pjrt_functions.def"
}

/* Compares the offset of one field with that of its counterpart, which has another name. */
#define FIELD(ours, our_field, theirs, their_field)                                           \
  check(offsetof(ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field, \
        offsetof(ours, our_field), offsetof(theirs, their_field))

/* Sizes alone do not show two fields that are exchanged. These are fields that the plugin reads
 * or writes, one or more in each struct whose fields are of several kinds. */
static void compare_fields(void) {
  /* Values with a name: the union, and what stands around it. */
  FIELD(pjrt_named_t, kind, PJRT_NamedValue, type);
  FIELD(pjrt_named_t, int64, PJRT_NamedValue, int64_value);
  FIELD(pjrt_named_t, value_size, PJRT_NamedValue, value_size);
  /* Clients and their callbacks. */
  FIELD(pjrt_client_create_args_t, kv_get, PJRT_Client_Create_Args, kv_get_callback);
  FIELD(pjrt_client_create_args_t, client, PJRT_Client_Create_Args, client);
  FIELD(pjrt_kv_get_args_t, value, PJRT_KeyValueGetCallback_Args, value);
  FIELD(pjrt_kv_get_args_t, release, PJRT_KeyValueGetCallback_Args, value_deleter_callback);
  FIELD(pjrt_kv_put_args_t, context, PJRT_KeyValuePutCallback_Args, user_arg);
  /* Arrays from the host, and views. */
  FIELD(pjrt_from_host_args_t, semantics, PJRT_Client_BufferFromHostBuffer_Args,
        host_buffer_semantics);
  FIELD(pjrt_from_host_args_t, memory, PJRT_Client_BufferFromHostBuffer_Args, memory);
  FIELD(pjrt_from_host_args_t, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
  FIELD(pjrt_view_args_t, on_delete, PJRT_Client_CreateViewOfDeviceBuffer_Args, on_delete_callback);
  /* Layouts: a union of two structs, each with a head of its own. */
  FIELD(pjrt_layout_t, tiled.minor_to_major, PJRT_Buffer_MemoryLayout, tiled.minor_to_major);
  FIELD(pjrt_layout_t, tiled.num_tiles, PJRT_Buffer_MemoryLayout, tiled.num_tiles);
  FIELD(pjrt_layout_t, strides.byte_strides, PJRT_Buffer_MemoryLayout, strides.byte_strides);
  FIELD(pjrt_layout_t, kind, PJRT_Buffer_MemoryLayout, type);
  FIELD(pjrt_to_host_args_t, dst, PJRT_Buffer_ToHostBuffer_Args, dst);
  FIELD(pjrt_to_host_args_t, event, PJRT_Buffer_ToHostBuffer_Args, event);
  /* Transfers of a program with the host. */
  FIELD(pjrt_chunk_t, context, PJRT_Chunk, deleter_arg);
  FIELD(pjrt_send_callback_t, send, PJRT_SendCallbackInfo, send_callback);
  FIELD(pjrt_recv_callback_t, recv, PJRT_RecvCallbackInfo, recv_callback);
  FIELD(pjrt_execute_options_t, recv_callbacks, PJRT_ExecuteOptions, recv_callbacks);
  FIELD(pjrt_execute_options_t, num_recv_ops, PJRT_ExecuteOptions, num_recv_ops);
  FIELD(pjrt_add_chunk_args_t, chunk, PJRT_CopyToDeviceStream_AddChunk_Args, chunk);
  /* What comes later: transfers in pieces, aliases, copies. */
  FIELD(pjrt_shape_spec_t, type, PJRT_ShapeSpec, element_type);
  FIELD(pjrt_transfer_create_args_t, layouts, PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
        device_layouts);
  FIELD(pjrt_transfer_create_args_t, memory, PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
        memory);
  FIELD(pjrt_transfer_data_args_t, is_last, PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
        is_last_transfer);
  FIELD(pjrt_transfer_literal_args_t, layout,
        PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args, shape_layout);
  FIELD(pjrt_transfer_error_args_t, message,
        PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args, error_message);
  FIELD(pjrt_alias_args_t, buffer, PJRT_Client_CreateAliasBuffer_Args, alias_buffer);
  FIELD(pjrt_fulfil_args_t, code, PJRT_Client_FulfillAliasBuffer_Args, status_code);
  FIELD(pjrt_fulfil_args_t, fulfil, PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb);
  FIELD(pjrt_raw_later_args_t, promise, PJRT_Buffer_CopyRawToHostFuture_Args, callback_data);
  FIELD(pjrt_ready_args_t, dst, PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);
  FIELD(pjrt_ready_args_t, code, PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_code);
  FIELD(pjrt_donate_args_t, out_buffer, PJRT_Buffer_DonateWithControlDependency_Args, out_buffer);
  FIELD(pjrt_poison_args_t, code, PJRT_Device_PoisonExecution_Args, error_code);
  FIELD(pjrt_tracking_args_t, text, PJRT_Device_CreateAsyncTrackingEvent_Args, description);
  /* Programs and executions. */
  FIELD(pjrt_program_t, format, PJRT_Program, format);
  FIELD(pjrt_client_compile_args_t, options, PJRT_Client_Compile_Args, compile_options);
  FIELD(pjrt_execute_options_t, launch_id, PJRT_ExecuteOptions, launch_id);
  FIELD(pjrt_execute_options_t, kept_inputs, PJRT_ExecuteOptions, non_donatable_input_indices);
  FIELD(pjrt_execute_options_t, context, PJRT_ExecuteOptions, context);
  FIELD(pjrt_execute_args_t, arguments, PJRT_LoadedExecutable_Execute_Args, argument_lists);
  FIELD(pjrt_execute_args_t, results, PJRT_LoadedExecutable_Execute_Args, output_lists);
  FIELD(pjrt_execute_args_t, complete, PJRT_LoadedExecutable_Execute_Args, device_complete_events);
  /* The profiler, whose errors are laid out as the table's. */
  FIELD(pjrt_profiler_extension_t, api, PJRT_Profiler_Extension, profiler_api);
  FIELD(pjrt_profiler_api_t, error_destroy, PLUGIN_Profiler_Api, error_destroy);
  FIELD(pjrt_profiler_api_t, collect, PLUGIN_Profiler_Api, collect_data);
  FIELD(pjrt_profiler_create_args_t, profiler, PLUGIN_Profiler_Create_Args, profiler);
  FIELD(pjrt_profiler_args_t, profiler, PLUGIN_Profiler_Start_Args, profiler);
  FIELD(pjrt_profiler_collect_args_t, size, PLUGIN_Profiler_CollectData_Args, buffer_size_in_bytes);
  FIELD(pjrt_error_message_args_t, message_size, PLUGIN_Profiler_Error_Message_Args, message_size);
  FIELD(pjrt_error_code_args_t, code, PLUGIN_Profiler_Error_GetCode_Args, code);
  /* Metadata, whose header is one of C++: an extension, and two functions after it. */
  check(PJRT_EXTENSION_EXECUTABLE_METADATA == PJRT_Extension_Type_ExecutableMetadata,
        "type of the extension for metadata", PJRT_EXTENSION_EXECUTABLE_METADATA,
        PJRT_Extension_Type_ExecutableMetadata);
  /* Statistics, and bytes with an owner. */
  FIELD(pjrt_memory_stats_args_t, bytes_limit, PJRT_Device_MemoryStats_Args, bytes_limit);
  FIELD(pjrt_compiled_memory_args_t, peak, PJRT_Executable_GetCompiledMemoryStats_Args,
        peak_memory_in_bytes);
  FIELD(pjrt_serialized_args_t, release, PJRT_Executable_Serialize_Args,
        serialized_executable_deleter);
}

/* Types newer than the installed header have no name there. */
static void compare_types(void) {
  static const struct {
    int ours, theirs;
  } types[] = {{PJRT_TYPE_PRED, PJRT_Buffer_Type_PRED},
               {PJRT_TYPE_S32, PJRT_Buffer_Type_S32},
               {PJRT_TYPE_U8, PJRT_Buffer_Type_U8},
               {PJRT_TYPE_F32, PJRT_Buffer_Type_F32},
               {PJRT_TYPE_BF16, PJRT_Buffer_Type_BF16},
               {PJRT_TYPE_C128, PJRT_Buffer_Type_C128},
               {PJRT_TYPE_S4, PJRT_Buffer_Type_S4},
               {PJRT_TYPE_TOKEN, PJRT_Buffer_Type_TOKEN},
               {PJRT_TYPE_S2, PJRT_Buffer_Type_S2},
               {PJRT_TYPE_F4E2M1FN, PJRT_Buffer_Type_F4E2M1FN},
               {PJRT_TYPE_F8E4M3FN, PJRT_Buffer_Type_F8E4M3FN}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    check(types[i].ours == types[i].theirs, "number of a type", (size_t)types[i].ours,
          (size_t)types[i].theirs);
}

/* The exit status is 0 if all checks hold. */
int main(void) {
  compare_functions();
  compare_fields();
  compare_types();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
