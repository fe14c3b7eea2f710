/* The plugin for JAX without JAX: opens it, finds its table, and calls it as a framework does and
 * as none should. argv: PLUGIN. Prints "N passed, N failed". */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pjrt/abi/pjrt_extensions.h"
#include "tests/pjrt/plugin_calls.h"

/* A sum; a program that may overwrite its argument; one that does not verify. All are StableHLO
 * text, which the plugin takes beside the bytecode that JAX sends. */
static char add_text[] =
    "module @add { func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> "
    "tensor<4xf32> { %0 = stablehlo.add %a, %b : tensor<4xf32> return %0 : tensor<4xf32> } }";
static char donor_text[] =
    "module @donor { func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<4xf32> { %0 = stablehlo.negate %a : tensor<4xf32> return %0 : tensor<4xf32> } }";
static char wrong_text[] = "module { func.func public @main() { return %nothing : tensor<f32> } }";

/* Executes on one device, and waits for the event of the device: the result is then ready. */
static bool execute(pjrt_executable_t *executable, pjrt_buffer_t **arguments, size_t count,
                    const char *says, pjrt_buffer_t **result) {
  pjrt_execute_options_t options = {.struct_size = sizeof options};
  pjrt_event_t *event = NULL;
  pjrt_buffer_t *const *lists[] = {arguments};
  pjrt_execute_args_t args = {.struct_size = sizeof args,
                              .executable = executable,
                              .options = &options,
                              .arguments = lists,
                              .num_devices = 1,
                              .num_args = count,
                              .results = &result,
                              .complete = &event};
  if (!call(PJRT_INDEX_LoadedExecutable_Execute, &args, says)) return false;
  pjrt_event_args_t destroy = {.struct_size = sizeof destroy, .event = event};
  return CALL(Event_Await, &destroy) && CALL(Event_Destroy, &destroy);
}

/* A program runs, and wrong uses are refused with a text: too few arguments, a program that is
 * invalid, a deleted argument, a deleted executable. */
static void test_running(pjrt_client_t *client) {
  const float ones[] = {1, 2, 3, 4};
  float sums[4];
  /* One buffer as both arguments: no donation is asked for, so that this is right. */
  pjrt_executable_t *add = NULL;
  pjrt_buffer_t *a = put(client, ones, 4), *arguments[] = {a, a}, *sum = NULL;
  check(compile(client, add_text, NULL, &add), "compiles");
  check(execute(add, arguments, 2, NULL, &sum), "executes");
  get(sum, sums, 4);
  check(sums[0] == 2 && sums[3] == 8, "the sum is right");
  check(!execute(add, arguments, 1, "gets 1 arguments, want 2", &sum), "too few arguments");
  check(!compile(client, wrong_text, "nothing", &add), "an invalid program is refused");
  drop(PJRT_INDEX_Buffer_Delete, a);
  check(is_deleted(a), "is deleted");
  check(!execute(add, arguments, 2, "deleted or donated", &sum), "a deleted argument");
  drop(PJRT_INDEX_Buffer_Destroy, a);
  drop(PJRT_INDEX_Buffer_Destroy, sum);
  drop(PJRT_INDEX_LoadedExecutable_Delete, add);
  check(!execute(add, arguments, 2, "has been deleted", &sum), "a deleted executable");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, add);
}

/* A donated argument is gone for its holder; passed twice, it is refused. */
static void test_donation(pjrt_client_t *client) {
  const float ones[] = {1, 2, 3, 4};
  float values[4];
  pjrt_executable_t *donor = NULL;
  pjrt_buffer_t *a = put(client, ones, 4), *result = NULL;
  check(compile(client, donor_text, NULL, &donor), "compiles");
  check(execute(donor, &a, 1, NULL, &result), "executes");
  check(is_deleted(a) && !is_deleted(result), "the argument is donated");
  check(!execute(donor, &a, 1, "deleted or donated", &result), "a donated argument");
  get(result, values, 4);
  check(values[1] == -2 && ones[1] == 2, "the caller's array is unchanged");
  drop(PJRT_INDEX_Buffer_Destroy, a);
  drop(PJRT_INDEX_Buffer_Destroy, result);
  drop(PJRT_INDEX_Executable_Destroy, donor);
}

/* An executable comes back from its bytes; bytes that are cut short are refused. */
static void test_serialized(pjrt_client_t *client) {
  pjrt_executable_t *add = NULL;
  check(compile(client, add_text, NULL, &add), "compiles");
  pjrt_serialized_args_t bytes = {.struct_size = sizeof bytes, .object = add};
  check(CALL(Executable_Serialize, &bytes), "serializes");
  pjrt_deserialize_args_t args = {.struct_size = sizeof args,
                                  .client = client,
                                  .bytes = bytes.bytes,
                                  .size_bytes = bytes.size_bytes};
  check(CALL(Executable_DeserializeAndLoad, &args), "loads again");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, args.executable);
  args.size_bytes = 12;
  FAILS(Executable_DeserializeAndLoad, &args, "no executable of hlorun");
  bytes.release(bytes.owner);
  drop(PJRT_INDEX_LoadedExecutable_Destroy, add);
}

/* Devices that are only said to be there, out of the bytes of such. What is compiled for them
 * outlives them. */
static void test_topology(void) {
  pjrt_topology_create_args_t two = {.struct_size = sizeof two, .name = "2", .name_size = 1};
  check(CALL(TopologyDescription_Create, &two), "a topology of two devices");
  pjrt_serialized_args_t bytes = {.struct_size = sizeof bytes, .object = two.topology};
  check(CALL(TopologyDescription_Serialize, &bytes), "serializes");
  drop(PJRT_INDEX_TopologyDescription_Destroy, two.topology);
  pjrt_topology_deserialize_args_t read = {
      .struct_size = sizeof read, .bytes = bytes.bytes, .size_bytes = bytes.size_bytes};
  check(CALL(TopologyDescription_Deserialize, &read), "is read again");
  pjrt_list_args_t devices = {.struct_size = sizeof devices, .object = read.topology};
  check(CALL(TopologyDescription_GetDeviceDescriptions, &devices) && devices.count == 2, "devices");
  pjrt_program_t program = {.struct_size = sizeof program,
                            .code = add_text,
                            .code_size = strlen(add_text),
                            .format = "mlir",
                            .format_size = 4};
  pjrt_topology_compile_args_t compile = {
      .struct_size = sizeof compile, .topology = read.topology, .program = &program};
  check(CALL(Compile, &compile), "compiles for a topology");
  drop(PJRT_INDEX_TopologyDescription_Destroy, read.topology);
  pjrt_text_args_t name = {.struct_size = sizeof name, .object = compile.executable};
  check(CALL(Executable_Name, &name) && name.size == 3, "it is there without its topology");
  drop(PJRT_INDEX_Executable_Destroy, compile.executable);
  read.size_bytes--;
  FAILS(TopologyDescription_Deserialize, &read, "no topology of hlorun");
  bytes.release(bytes.owner);
  two.name = "many";
  two.name_size = 4;
  FAILS(TopologyDescription_Create, &two, "devices is \"many\", want 1 to 1024");
}

/* The number of a field of a serialized message whose fields are all varints; -1: not there. */
static int64_t int_field(const char *bytes, size_t size, uint64_t number) {
  uint64_t values[2] = {0, 0};
  for (size_t at = 0, which = 0, shift = 0; at < size; at++) {
    values[which] |= (uint64_t)(bytes[at] & 0x7f) << shift;
    shift += 7;
    if (bytes[at] & 0x80) continue;
    if (which == 1 && values[0] >> 3 == number) return (int64_t)values[1];
    if (which == 1) values[0] = values[1] = 0;
    which = !which;
    shift = 0;
  }
  return -1;
}

/* The metadata of an executable have the figures of its memory, in the first field, which is
 * shorter than 128 bytes here; without an executable there is an error and no answer. */
static void test_metadata(pjrt_client_t *client) {
  const pjrt_metadata_extension_t *extension = find_extension(PJRT_EXTENSION_EXECUTABLE_METADATA);
  check(extension != NULL, "there is an extension for metadata");
  if (!extension) return;
  pjrt_compiled_memory_args_t memory = {.struct_size = sizeof memory};
  check(compile(client, add_text, NULL, &memory.executable), "compiles");
  check(CALL(Executable_GetCompiledMemoryStats, &memory), "figures of memory");
  pjrt_metadata_args_t args = {.executable = memory.executable};
  check(!extension->get(&args) && args.metadata, "metadata");
  const char *bytes = args.metadata->bytes;
  size_t size = args.metadata->size_bytes;
  check(size > 2 && bytes[0] == 0x0a && (size_t)bytes[1] == size - 2,
        "figures are the first field");
  check(memory.arguments == 32 && int_field(bytes + 2, size - 2, 2) == 32, "bytes of arguments");
  check(int_field(bytes + 2, size - 2, 3) == memory.results, "bytes of results");
  check(int_field(bytes + 2, size - 2, 14) == memory.peak, "most bytes at a time");
  pjrt_metadata_destroy_args_t destroy = {.metadata = args.metadata};
  extension->destroy(&destroy);
  args.executable = NULL;
  pjrt_error_args_t error = {.struct_size = sizeof error, .error = extension->get(&args)};
  check(error.error && !args.metadata, "no metadata of nothing");
  api->functions[PJRT_INDEX_Error_Destroy](&error);
  drop(PJRT_INDEX_LoadedExecutable_Destroy, memory.executable);
}

/* Every function with no arguments, too small ones, and ones that are all zero. */
static void test_wrong_arguments(void) {
  union {
    size_t struct_size;
    char bytes[512];
  } args;
  for (int i = 0; i < PJRT_FUNCTION_COUNT; i++) {
    /* These do work without any object. */
    if (i == PJRT_INDEX_Client_Create || i == PJRT_INDEX_TopologyDescription_Create ||
        i == PJRT_INDEX_Plugin_Initialize || i == PJRT_INDEX_Event_Create ||
        i == PJRT_INDEX_ExecuteContext_Create)
      continue;
    /* -8 stands for NULL, 512 for a struct that claims all fields; all of them are zero. */
    for (int size = -8; size <= 512; size += 520) {
      memset(&args, 0, sizeof args);
      if (size > 0) args.struct_size = (size_t)size;
      pjrt_error_t *error = api->functions[i](size < 0 ? NULL : &args);
      pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
      if (error) api->functions[PJRT_INDEX_Error_Destroy](&destroy);
    }
  }
  check(true, "no crash");
  /* One byte is missing. The refusal names what was found and what is wanted. */
  pjrt_object_args_t small = {.struct_size = sizeof small - 1};
  FAILS(Buffer_Delete, &small, "struct_size is 23, want at least 24");
}

/* What the threads share. */
typedef struct caller {
  pjrt_client_t *client;
  pjrt_executable_t *add;
} caller_t;

/* Sends, executes, fetches and drops 300 times. The argument is dropped before the result is
 * fetched: the execution must hold it. */
static void *call_often(void *context) {
  const caller_t *caller = context;
  const float ones[] = {1, 2, 3, 4};
  float sums[4];
  for (int i = 0; i < 300; i++) {
    pjrt_buffer_t *a = put(caller->client, ones, 4), *arguments[] = {a, a}, *sum = NULL;
    check(execute(caller->add, arguments, 2, NULL, &sum), "executes");
    drop(PJRT_INDEX_Buffer_Destroy, a);
    get(sum, sums, 4);
    check(sums[3] == 8, "the sum is right");
    drop(PJRT_INDEX_Buffer_Destroy, sum);
  }
  return NULL;
}

/* Four threads use one client, one executable and one device at once. */
static void test_threads(pjrt_client_t *client) {
  pthread_t threads[4];
  caller_t caller = {client, NULL};
  check(compile(client, add_text, NULL, &caller.add), "compiles");
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_often, &caller);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  drop(PJRT_INDEX_LoadedExecutable_Destroy, caller.add);
}

/* A child of a process with a client ends without waiting for threads that it does not have. */
static void test_fork(pjrt_client_t *client) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    pjrt_object_args_t args = {.struct_size = sizeof args, .object = client};
    _exit(api->functions[PJRT_INDEX_Client_Destroy](&args) != NULL);
  }
  int status = 0;
  /* Ten seconds at most: a child that waits for a thread would wait for ever. */
  for (int i = 0; i < 200 && !waitpid(child, &status, WNOHANG); i++) usleep(50000);
  check(WIFEXITED(status) && !WEXITSTATUS(status), "a forked process ends");
}

/* Field 7 of the options: an option with its value, which is in field 1 (text), 2 (bool), 3 (whole
 * number) or 4 (double) of its own message. NULL: compiled. */
static const struct {
  const char *bytes;
  size_t size;
  const char *says;
} compile_options[] = {
#define OPTION(bytes, says) \
  { bytes, sizeof bytes - 1, says }
    OPTION("\x3a\x09\x0a\x07nothing", "No such compile option: 'nothing'"),
    OPTION("\x3a\x07\x0a\x05xla_x", NULL),
    OPTION("\x3a\x12\x0a\x0bxla_dump_to\x12\x03\x0a\x01m", NULL),
    OPTION("\x3a\x11\x0a\x0bxla_dump_to\x12\x02\x18\x05", "'5' is not a valid string value"),
    OPTION("\x3a\x16\x0a\x0fxla_cpu_use_acl\x12\x03\x0a\x01m", "'m' is not a valid bool value"),
    OPTION("\x3a\x15\x0a\x0fxla_cpu_use_acl\x12\x02\x10\x01", NULL),
    OPTION("\x3a\x19\x0a\x0fxla_cpu_use_acl\x12\x06\x0a\x04True", NULL),
    OPTION("\x3a\x22\x0a\x1bxla_cpu_prefer_vector_width\x12\x03\x0a\x01m",
           "'m' is not a valid int32 value"),
    OPTION("\x3a\x24\x0a\x1bxla_cpu_prefer_vector_width\x12\x05\x0a\x03"
           "256",
           NULL),
    OPTION("\x3a\x28\x0a\x1bxla_cpu_prefer_vector_width\x12\x09\x21\0\0\0\0\0\0\xe0\x3f",
           "'0.5' is not a valid int32 value"),
#undef OPTION
};

/* A mistake in an option of XLA is told. */
static void test_options(pjrt_client_t *client) {
  pjrt_program_t program = {.struct_size = sizeof program,
                            .code = add_text,
                            .code_size = sizeof add_text - 1,
                            .format = "mlir",
                            .format_size = 4};
  pjrt_client_compile_args_t args = {
      .struct_size = sizeof args, .client = client, .program = &program};
  for (size_t i = 0; i < sizeof compile_options / sizeof *compile_options; i++) {
    args.options = compile_options[i].bytes;
    args.options_size = compile_options[i].size;
    if (compile_options[i].says) {
      FAILS(Client_Compile, &args, compile_options[i].says);
    } else {
      check(CALL(Client_Compile, &args), compile_options[i].bytes + 4);
      drop(PJRT_INDEX_LoadedExecutable_Destroy, args.executable);
    }
  }
}

/* Negates a matrix, and wants the result column by column. */
static char columns_text[] =
    "module @columns { func.func public @main("
    "%a: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) -> "
    "(tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) { %0 = stablehlo.negate %a : tensor<2x3xf32> "
    "return %0 : tensor<2x3xf32> } }";

/* The sizes of all matrices here, and the layout of those that lie column by column. */
static const int64_t matrix_dims[] = {2, 3}, by_columns[] = {0, 1};
static pjrt_layout_t columns = {.tiled = {.minor_to_major = by_columns, .minor_to_major_size = 2}};

/* Is the matrix 1 2 3 / 4 5 6 times `factor`, and does its memory hold the columns? */
static void check_columns(pjrt_buffer_t *buffer, float factor) {
  const float rows[] = {1, 2, 3, 4, 5, 6}, lying[] = {1, 4, 2, 5, 3, 6};
  float values[6], bytes[6];
  bool are_equal = true;
  pjrt_layout_args_t layout = {.struct_size = sizeof layout, .buffer = buffer};
  check(CALL(Buffer_GetMemoryLayout, &layout), "layout");
  check(layout.layout.tiled.minor_to_major[0] == 0, "the layout is that of columns");
  get(buffer, values, 6);
  pjrt_raw_to_host_args_t raw = {
      .struct_size = sizeof raw, .buffer = buffer, .dst = bytes, .size_bytes = sizeof bytes};
  check(CALL(Buffer_CopyRawToHost, &raw), "raw bytes");
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = raw.event};
  check(CALL(Event_Await, &event) && CALL(Event_Destroy, &event), "copied");
  for (int i = 0; i < 6; i++)
    are_equal &= values[i] == factor * rows[i] && bytes[i] == factor * lying[i];
  check(are_equal, "elements lie by columns and come out by rows");
}

/* The program says that its parameter lies by columns. */
static void check_param_layout(pjrt_executable_t *executable) {
  const pjrt_layouts_extension_t *extension = find_extension(PJRT_EXTENSION_LAYOUTS);
  pjrt_counted_args_t list = {.struct_size = sizeof list, .object = executable};
  check(!extension->functions[6](&list) && list.count == 1, "layouts of parameters");
  pjrt_serialized_args_t text = {.struct_size = sizeof text, .object = *(void *const *)list.items};
  check(!extension->functions[1](&text), "a layout is written");
  check(text.size_bytes == 5 && !memcmp(text.bytes, "{0,1}", 5), "it is that of columns");
  text.release(text.owner);
}

/* A matrix that lies column by column on the device, as argument and as result. */
static void test_layouts(pjrt_client_t *client) {
  const float rows[] = {1, 2, 3, 4, 5, 6};
  pjrt_executable_t *negate = NULL;
  pjrt_buffer_t *result = NULL;
  pjrt_from_host_args_t args = {.struct_size = sizeof args,
                                .client = client,
                                .data = rows,
                                .type = PJRT_TYPE_F32,
                                .dims = matrix_dims,
                                .num_dims = 2,
                                .device = first_device(client),
                                .device_layout = &columns};
  check(CALL(Client_BufferFromHostBuffer, &args), "a matrix by columns");
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = args.done_with_host_buffer};
  check(CALL(Event_Await, &event) && CALL(Event_Destroy, &event), "host buffer is free");
  check_columns(args.buffer, 1);
  check(compile(client, columns_text, NULL, &negate), "compiles");
  check_param_layout(negate);
  check(execute(negate, &args.buffer, 1, NULL, &result), "executes");
  check_columns(result, -1);
  drop(PJRT_INDEX_Buffer_Destroy, args.buffer);
  drop(PJRT_INDEX_Buffer_Destroy, result);
  drop(PJRT_INDEX_LoadedExecutable_Destroy, negate);
}

/* Device_GetAttributes gives a list with its owner; of these devices it is empty. */
static void test_attributes(pjrt_client_t *client) {
  pjrt_device_attributes_args_t args = {.struct_size = sizeof args, .device = first_device(client)};
  check(CALL(Device_GetAttributes, &args) && !args.count && args.release, "attributes of a device");
  args.release(args.owner);
}

/* A view of columns shares the caller's memory, which is aligned to its elements at least. */
static void test_views(pjrt_client_t *client) {
  _Alignas(64) float lying[] = {0, 1, 4, 2, 5, 3, 6, 0};
  pjrt_view_args_t args = {.struct_size = sizeof args,
                           .client = client,
                           .data = lying + 1,
                           .dims = matrix_dims,
                           .num_dims = 2,
                           .type = PJRT_TYPE_F32,
                           .layout = &columns,
                           .device = first_device(client)};
  check(CALL(Client_CreateViewOfDeviceBuffer, &args), "a view of columns");
  check_columns(args.buffer, 1);
  drop(PJRT_INDEX_Buffer_Destroy, args.buffer);
  args.data = (char *)lying + 2;
  FAILS(Client_CreateViewOfDeviceBuffer, &args, "is not aligned to 4 bytes");
}

static long resident_pages(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return pages;
}

/* The first round warms up. 256 pages are 1 MiB: a leak of 120 bytes a call would show. */
static void test_memory(pjrt_client_t *client) {
  caller_t caller = {client, NULL};
  check(compile(client, add_text, NULL, &caller.add), "compiles");
  call_often(&caller);
  long before = resident_pages();
  for (int i = 0; i < 30; i++) call_often(&caller);
  check(resident_pages() - before < 256, "memory stays flat over 9000 calls");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, caller.add);
}

/* Status 99: the plugin cannot be loaded. The fork comes last,
 * as the child shares the state of the client. */
int main(int argc, char **argv) {
  if (!open_plugin(argc > 1 ? argv[1] : NULL)) return 99;
  check(api->version.major == PJRT_MAJOR && api->struct_size == sizeof *api, "version");
  pjrt_client_t *client = create_client();
  test_running(client);
  test_donation(client);
  test_serialized(client);
  test_metadata(client);
  test_topology();
  test_wrong_arguments();
  test_threads(client);
  test_options(client);
  test_layouts(client);
  test_attributes(client);
  test_views(client);
  test_memory(client);
  test_fork(client);
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
