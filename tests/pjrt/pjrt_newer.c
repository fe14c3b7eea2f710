/* Functions that the interface got after its version 0.93: executables that are loaded, bitcasts,
 * memory kinds of parameters, what topologies tell. argv: PLUGIN. Prints "N passed, N failed". */
#include <stdlib.h>

#include "tests/pjrt/plugin_calls.h"

enum { COUNT = 4 };

static const float ones[COUNT] = {1, 2, 3, 4};
static char add_text[] =
    "module @add { func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32> "
    "{mhlo.memory_kind = \"pinned_host\"}) -> tensor<4xf32> "
    "{ %0 = stablehlo.add %a, %b : tensor<4xf32> return %0 : tensor<4xf32> } }";

static pjrt_client_t *client;

static pjrt_topology_t *topology_of(const char *devices) {
  pjrt_topology_create_args_t args = {
      .struct_size = sizeof args, .name = devices, .name_size = strlen(devices)};
  check(CALL(TopologyDescription_Create, &args), "a topology");
  return args.topology;
}

static pjrt_executable_t *compile_for(pjrt_topology_t *topology) {
  pjrt_program_t program = {.struct_size = sizeof program,
                            .code = add_text,
                            .code_size = strlen(add_text),
                            .format = "mlir",
                            .format_size = 4};
  pjrt_topology_compile_args_t args = {
      .struct_size = sizeof args, .topology = topology, .program = &program};
  check(CALL(Compile, &args), "compiles for a topology");
  return args.executable;
}

/* What was compiled for a topology is loaded, and so is what a client has already. */
static void test_load(void) {
  pjrt_topology_t *topology = topology_of("1");
  pjrt_executable_t *compiled = compile_for(topology), *own = NULL;
  pjrt_client_load_args_t load = {
      .struct_size = sizeof load, .client = client, .compiled = compiled};
  check(CALL(Client_Load, &load) && load.executable != compiled, "is loaded");
  pjrt_list_args_t ids = {.struct_size = sizeof ids, .object = load.executable};
  check(CALL(LoadedExecutable_AddressableDeviceLogicalIds, &ids) && ids.count == 1, "its devices");
  const pjrt_logical_id_t *id = ids.items;
  check(id->replica == 0 && id->partition == 0, "the first of all");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, load.executable);
  drop(PJRT_INDEX_Executable_Destroy, compiled);
  drop(PJRT_INDEX_TopologyDescription_Destroy, topology);
  check(compile(client, add_text, NULL, &own), "compiles");
  load.compiled = own;
  check(CALL(Client_Load, &load) && load.executable == own, "is there already");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, own);
  drop(PJRT_INDEX_LoadedExecutable_Destroy, own);
  load.compiled = NULL;
  FAILS(Client_Load, &load, "compiled is NULL");
}

static void test_param_memories(void) {
  pjrt_executable_t *add = NULL;
  check(compile(client, add_text, NULL, &add), "compiles");
  pjrt_texts_args_t kinds = {.struct_size = sizeof kinds, .object = add};
  check(CALL(Executable_ParameterMemoryKinds, &kinds) && kinds.count == 2, "memory kinds");
  const char *const *names = kinds.items;
  check(!strncmp(names[0], "device", kinds.sizes[0]), "the usual one");
  check(!strncmp(names[1], "pinned_host", kinds.sizes[1]), "one that is named");
  drop(PJRT_INDEX_LoadedExecutable_Destroy, add);
}

/* The bits of 1 to 4 as whole numbers of 16 bits, in two rows; other sizes, and deleted buffers,
 * are refused. */
static void test_bitcast(void) {
  const int64_t dims[] = {2, COUNT};
  uint16_t halves[2 * COUNT];
  pjrt_buffer_t *buffer = put(client, ones, COUNT);
  pjrt_bitcast_args_t args = {.struct_size = sizeof args,
                              .buffer = buffer,
                              .type = PJRT_TYPE_U16,
                              .dims = dims,
                              .num_dims = 2};
  check(CALL(Buffer_Bitcast, &args) && !is_deleted(buffer), "a bitcast");
  get(args.out_buffer, (float *)halves, COUNT);
  check(!memcmp(halves, ones, sizeof ones), "has the bits");
  args.type = PJRT_TYPE_F32;
  FAILS(Buffer_Bitcast, &args, "a bitcast of 16 bytes to 32");
  args.type = PJRT_TYPE_S4;
  FAILS(Buffer_Bitcast, &args, "a bitcast of 16 bytes to 8");
  drop(PJRT_INDEX_Buffer_Delete, buffer);
  get(args.out_buffer, (float *)halves, COUNT);
  check(!memcmp(halves, ones, sizeof ones), "outlives the other one");
  args.type = PJRT_TYPE_U16;
  FAILS(Buffer_Bitcast, &args, "deleted or donated");
  drop(PJRT_INDEX_Buffer_Destroy, args.out_buffer);
  drop(PJRT_INDEX_Buffer_Destroy, buffer);
}

static size_t fingerprint_of(pjrt_topology_t *topology) {
  pjrt_size_args_t args = {.struct_size = sizeof args, .object = topology};
  check(CALL(TopologyDescription_Fingerprint, &args), "a fingerprint");
  return args.value;
}

static void test_topology(void) {
  const int64_t dims[] = {2, 3};
  pjrt_topology_t *two = topology_of("2"), *again = topology_of("2"), *three = topology_of("3");
  check(fingerprint_of(two) == fingerprint_of(again), "equal topologies");
  check(fingerprint_of(two) != fingerprint_of(three), "others");
  pjrt_list_args_t kinds = {.struct_size = sizeof kinds, .object = two};
  check(CALL(TopologyDescription_GetMemorySpaceKindIds, &kinds) && kinds.count == 3,
        "its memories");
  pjrt_topology_shape_args_t shape = {.struct_size = sizeof shape,
                                      .topology = two,
                                      .dims = dims,
                                      .num_dims = 2,
                                      .type = PJRT_TYPE_F32};
  check(CALL(TopologyDescription_MakeCanonicalShapeForMemorySpace, &shape), "a shape");
  check(shape.size_bytes > 4 && shape.bytes[1] == 11, "its type is F32");
  shape.release(shape.bytes);
  shape.memory_kind = 3;
  FAILS(TopologyDescription_MakeCanonicalShapeForMemorySpace, &shape, "want 0 to 2");
  drop(PJRT_INDEX_TopologyDescription_Destroy, two);
  drop(PJRT_INDEX_TopologyDescription_Destroy, again);
  drop(PJRT_INDEX_TopologyDescription_Destroy, three);
}

static int64_t peak(void) {
  pjrt_memory_stats_args_t args = {.struct_size = sizeof args, .device = first_device(client)};
  check(CALL(Device_MemoryStats, &args) && args.peak_bytes_in_use.is_set, "figures of memory");
  return args.peak_bytes_in_use.value;
}

static void test_peak(void) {
  enum { BYTES = 64 << 20 };
  volatile char *large = malloc(BYTES);
  for (size_t i = 0; i < BYTES; i += 4096) large[i] = 1;
  free((char *)large);
  int64_t before = peak();
  drop(PJRT_INDEX_Device_ClearMemoryStats, first_device(client));
  check(peak() < before - BYTES / 2, "the peak begins anew");
}

static void visit(const char *key, size_t key_size, const char *value, size_t value_size,
                  void *context) {
  (void)key, (void)key_size, (void)value, (void)value_size;
  ++*(int *)context;
}

static void test_payloads(void) {
  int count = 0;
  pjrt_error_payloads_args_t args = {.struct_size = sizeof args, .visit = visit, .context = &count};
  check(CALL(Error_ForEachPayload, &args) && count == 0, "errors have no payloads");
}

/* Status 99: the plugin cannot be loaded. */
int main(int argc, char **argv) {
  if (!open_plugin(argc > 1 ? argv[1] : NULL)) return 99;
  client = create_client();
  test_load();
  test_param_memories();
  test_bitcast();
  test_topology();
  test_peak();
  test_payloads();
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
