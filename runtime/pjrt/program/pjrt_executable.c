/* What the framework asks of executables: names, shapes, costs, memory, and their serialized form,
 * which is the program with its options; it is compiled again when it is loaded, in milliseconds.
 *
 *   serialized:  "HLORUNX1" | size of the options, 8 bytes, little endian | options | program */
#include "pjrt/program/pjrt_executable.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"

/* The number in the magic goes up when the form changes. */
#define MAGIC "HLORUNX1"
#define MAGIC_SIZE ((size_t)8)
#define HEAD_SIZE (MAGIC_SIZE + 8)

/* Executable_Destroy and LoadedExecutable_Destroy drop one reference each. Executions that still
 * run keep theirs. */
hr_status_t pjrt_executable_destroy(pjrt_object_args_t *args) {
  pjrt_executable_release(args->object);
  return NULL;
}
hr_status_t pjrt_loaded_destroy(pjrt_object_args_t *args) {
  pjrt_executable_release(args->object);
  return NULL;
}

static void set_text(pjrt_text_args_t *args, const char *text) {
  args->text = text;
  args->size = strlen(text);
}

/* Executable_Name: the name of the module. */
hr_status_t pjrt_executable_name(pjrt_text_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  set_text(args, executable->name);
  return NULL;
}
/* Executable_Fingerprint and LoadedExecutable_Fingerprint: equal programs for equal devices have
 * equal ones. */
hr_status_t pjrt_executable_fingerprint(pjrt_text_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  set_text(args, executable->fingerprint);
  return NULL;
}
hr_status_t pjrt_executable_num_replicas(pjrt_size_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->value = (size_t)executable->options.num_replicas;
  return NULL;
}
hr_status_t pjrt_executable_num_partitions(pjrt_size_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->value = (size_t)executable->options.num_partitions;
  return NULL;
}
/* Executable_NumOutputs: leaves of the result, by which the framework sizes its lists. */
hr_status_t pjrt_executable_num_outputs(pjrt_size_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->value = (size_t)executable->result_count;
  return NULL;
}

/* Figures of the first local device's program; its peers have the same. */
static hlorun_program_figures_t figures_of(const pjrt_executable_t *executable) {
  hlorun_program_figures_t figures = {.struct_size = sizeof figures};
  hlorun_program_get_figures(executable->programs[0], &figures);
  return figures;
}

hr_status_t pjrt_executable_code_size(pjrt_size_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->value = (size_t)figures_of(executable).code_bytes;
  return NULL;
}

/* Bytes of one array; dimensions of unknown size count as 0. */
static int64_t leaf_bytes(const hlo_shape_t *shape) {
  int64_t bytes = (int64_t)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++) bytes *= shape->dims[d] < 0 ? 0 : shape->dims[d];
  return bytes;
}

/* Executable_GetCompiledMemoryStats, for one device. A donated argument counts once, as its
 * memory becomes that of a result. */
hr_status_t pjrt_executable_memory(pjrt_compiled_memory_args_t *args) {
  const pjrt_executable_t *executable = args->executable;
  PJRT_NOT_NULL(executable);
  hlorun_program_figures_t figures = figures_of(executable);
  args->generated_code = (int64_t)figures.code_bytes;
  args->temporaries = (int64_t)figures.arena_bytes;
  args->arguments = args->results = args->aliases = 0;
  for (int p = 0; p < executable->param_count; p++) {
    int64_t bytes = leaf_bytes(executable->params[p]);
    args->arguments += bytes;
    if (executable->donated[p]) args->aliases += bytes;
  }
  for (int r = 0; r < executable->result_count; r++)
    args->results += leaf_bytes(executable->results[r].shape);
  size_t host_bytes = offsetof(pjrt_compiled_memory_args_t, peak) -
                      offsetof(pjrt_compiled_memory_args_t, host_generated_code);
  if (PJRT_HAS(args, host_temporaries)) memset(&args->host_generated_code, 0, host_bytes);
  int64_t all = args->arguments + args->results - args->aliases + args->temporaries;
  if (PJRT_HAS(args, peak)) args->peak = all;
  if (PJRT_HAS(args, total)) args->total = all + args->generated_code;
  return NULL;
}

/* Executable_OutputElementTypes, Executable_OutputDimensions and Executable_OutputMemoryKinds:
 * lists that were made with the executable, and live as long. */
hr_status_t pjrt_executable_output_types(pjrt_list_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.result_types;
  args->count = (size_t)executable->result_count;
  return NULL;
}
hr_status_t pjrt_executable_output_dims(pjrt_output_dims_args_t *args) {
  PJRT_NOT_NULL(args->executable);
  args->num_outputs = (size_t)args->executable->result_count;
  args->dims = args->executable->lists.result_dims;
  args->dim_sizes = args->executable->lists.result_ranks;
  return NULL;
}
hr_status_t pjrt_executable_output_memory_kinds(pjrt_texts_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.result_memory_kinds;
  args->sizes = executable->lists.result_memory_kind_sizes;
  args->count = (size_t)executable->result_count;
  return NULL;
}

/* Executable_ParameterMemoryKinds. */
hr_status_t pjrt_executable_param_memory_kinds(pjrt_texts_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.param_memory_kinds;
  args->sizes = executable->lists.param_memory_kind_sizes;
  args->count = (size_t)executable->param_count;
  return NULL;
}

/* LoadedExecutable_GetExecutable: a reference that the caller destroys. */
hr_status_t pjrt_loaded_executable(pjrt_pointer_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->value = pjrt_executable_retain(args->object);
  return NULL;
}
/* LoadedExecutable_AddressableDevices: local devices by rank; executions take their lists in
 * this order. */
hr_status_t pjrt_loaded_devices(pjrt_list_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->world->devices;
  args->count = (size_t)executable->world->local_count;
  return NULL;
}
/* LoadedExecutable_AddressableDeviceLogicalIds, in the same order. */
hr_status_t pjrt_loaded_logical_ids(pjrt_list_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->items = executable->lists.logical_ids;
  args->count = (size_t)executable->world->local_count;
  return NULL;
}
/* LoadedExecutable_Delete: later executions fail, running ones go on. */
hr_status_t pjrt_loaded_delete(pjrt_object_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  atomic_store(&executable->is_deleted, true);
  return NULL;
}
hr_status_t pjrt_loaded_is_deleted(pjrt_flag_args_t *args) {
  pjrt_executable_t *executable = args->object;
  PJRT_NOT_NULL(executable);
  args->value = atomic_load(&executable->is_deleted);
  return NULL;
}

/* --- bytes for the framework, which gives them back --- */

static void release_text(void *text) { free(text); }

/* Hands the bytes to the caller with the function that frees them. Owner: consumes `text`. */
static hr_status_t give_text(hr_strbuf_t *text, pjrt_serialized_args_t *args) {
  hr_status_t st = hr_strbuf_finish(text);
  if (st) {
    hr_strbuf_deinit(text);
    return st;
  }
  args->size_bytes = text->size;
  args->owner = hr_strbuf_steal(text);
  args->bytes = args->owner;
  args->release = release_text;
  return NULL;
}

/* LoadedExecutable_GetDeviceAssignment: a DeviceAssignmentProto. */
hr_status_t pjrt_loaded_assignment(pjrt_serialized_args_t *args) {
  const pjrt_executable_t *executable = args->object;
  hr_strbuf_t text;
  PJRT_NOT_NULL(executable);
  hr_strbuf_init(&text);
  hr_status_t st = pjrt_options_write_devices(&executable->options, &text);
  hr_status_release(st); /* reported by give_text */
  return give_text(&text, args);
}

/* Executable_GetCompileOptions: the CompileOptionsProto as the framework gave it. */
hr_status_t pjrt_executable_compile_options(pjrt_serialized_args_t *args) {
  const pjrt_executable_t *executable = args->object;
  hr_strbuf_t text;
  PJRT_NOT_NULL(executable);
  hr_strbuf_init(&text);
  hr_strbuf_add(&text, executable->options_bytes.data, executable->options_bytes.size);
  return give_text(&text, args);
}

/* Executable_Serialize, for the compilation cache of JAX. The code of transformations is not in the
 * bytes, and need not be there where they are loaded. */
hr_status_t pjrt_executable_serialize(pjrt_serialized_args_t *args) {
  const pjrt_executable_t *executable = args->object;
  hr_strbuf_t text;
  PJRT_NOT_NULL(executable);
  if (executable->is_transformed)
    return hr_error(HR_UNSUPPORTED, "%s was changed by a transformation, and cannot be kept",
                    executable->name);
  uint64_t size = executable->options_bytes.size;
  hr_strbuf_init(&text);
  hr_strbuf_add(&text, MAGIC, MAGIC_SIZE);
  hr_strbuf_add(&text, (const char *)&size, sizeof size);
  hr_strbuf_add(&text, executable->options_bytes.data, executable->options_bytes.size);
  hr_strbuf_add(&text, executable->code.data, executable->code.size);
  return give_text(&text, args);
}

/* Executable_DeserializeAndLoad. The bytes come from a file: all sizes are checked against its
 * end. */
hr_status_t pjrt_executable_deserialize(pjrt_deserialize_args_t *args) {
  uint64_t size;
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->bytes);
  if (args->size_bytes < HEAD_SIZE || memcmp(args->bytes, MAGIC, MAGIC_SIZE) != 0)
    return hr_error(HR_INVALID, "these %zu bytes are no executable of hlorun", args->size_bytes);
  memcpy(&size, args->bytes + MAGIC_SIZE, sizeof size);
  if (size > args->size_bytes - HEAD_SIZE)
    return hr_error(HR_INVALID, "an executable of %zu bytes is cut short", args->size_bytes);
  hr_str_t options = {args->bytes + HEAD_SIZE, (size_t)size};
  hr_str_t code = {options.data + size, args->size_bytes - HEAD_SIZE - (size_t)size};
  if (PJRT_HAS(args, options_size) && args->options && args->options_size)
    options = (hr_str_t){args->options, args->options_size};
  return pjrt_executable_compile(args->client, code, options, false, &args->executable);
}

/* Client_Load. A program that was compiled for another client is compiled again, in
 * milliseconds. */
hr_status_t pjrt_client_load(pjrt_client_load_args_t *args) {
  pjrt_executable_t *compiled = args->compiled;
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(compiled);
  hr_str_t options = compiled->options_bytes;
  if (args->options && args->options_size) options = (hr_str_t){args->options, args->options_size};
  if (args->client == compiled->client && hr_str_equal(options, compiled->options_bytes)) {
    args->executable = pjrt_executable_retain(compiled);
    return NULL;
  }
  return pjrt_executable_compile(args->client, compiled->code, options, false, &args->executable);
}
