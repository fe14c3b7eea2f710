/* Topologies: the devices of a client, or devices that are only described, for which programs are
 * compiled and saved, to be loaded elsewhere. The latter belong to a client of their own, which
 * holds no arrays.
 *
 *   name        "8": so many devices of one process
 *   serialized  "HLORUNT1" | devices of each process | processes; 4 bytes each, little endian */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/client/pjrt_fork.h"
#include "pjrt/buffer/pjrt_strides.h"
#include "pjrt/buffer/pjrt_transfer.h"
#include "pjrt/client/pjrt_world.h"
#include "proto/hlo_proto.h"

/* The number in the magic goes up when the form changes. */
typedef struct serialized {
  char magic[8];
  int32_t local_count, process_count;
} serialized_t;

static const char magic[8] = "HLORUNT1";

#define MAX_PROCESSES 4096

hr_status_t pjrt_client_topology(pjrt_pointer_args_t *args) {
  pjrt_client_t *client = args->object;
  PJRT_NOT_NULL(client);
  args->value = &client->topology;
  return NULL;
}

/* --- life --- */

static pjrt_topology_t *retain(pjrt_topology_t *topology) {
  if (!atomic_load(&topology->references)) return NULL;
  atomic_fetch_add_explicit(&topology->references, 1, memory_order_relaxed);
  return topology;
}

/* A forked child has none of the threads that would be joined. */
void pjrt_topology_release(pjrt_topology_t *topology) {
  if (!topology || pjrt_is_forked()) return;
  if (atomic_fetch_sub_explicit(&topology->references, 1, memory_order_acq_rel) == 1)
    pjrt_client_free(topology->client);
}

/* A topology that belongs to a client of the framework ends with that. */
hr_status_t pjrt_topology_destroy(pjrt_object_args_t *args) {
  pjrt_topology_t *topology = args->object;
  if (topology && atomic_load(&topology->references)) pjrt_topology_release(topology);
  return NULL;
}

/* This process is the first one of the topology. */
static hr_status_t create(const pjrt_client_create_args_t *options, int process_count,
                          pjrt_topology_t **out_topology) {
  pjrt_client_t *client;
  HR_TRY(pjrt_client_new(options, 0, process_count, &client));
  atomic_init(&client->topology.references, 1);
  *out_topology = &client->topology;
  return NULL;
}

/* TopologyDescription_Create. A name wins over the options. */
hr_status_t pjrt_topology_create(pjrt_topology_create_args_t *args) {
  pjrt_named_t named = {.struct_size = sizeof named,
                        .name = "devices",
                        .name_size = strlen("devices"),
                        .kind = PJRT_NAMED_STRING,
                        .string = args->name,
                        .value_size = args->name_size};
  pjrt_client_create_args_t options = {
      .struct_size = sizeof options, .options = args->options, .option_count = args->option_count};
  if (args->option_count) PJRT_NOT_NULL(args->options);
  if (args->name_size) {
    PJRT_NOT_NULL(args->name);
    options.options = &named;
    options.option_count = 1;
  }
  return create(&options, 1, &args->topology);
}

/* --- bytes --- */

/* TopologyDescription_Serialize: JAX makes keys of it, too. */
hr_status_t pjrt_topology_serialize(pjrt_serialized_args_t *args) {
  const pjrt_topology_t *topology = args->object;
  void *bytes;
  PJRT_NOT_NULL(topology);
  HR_TRY(hr_alloc(sizeof(serialized_t), &bytes));
  serialized_t *serialized = bytes;
  memcpy(serialized->magic, magic, sizeof magic);
  serialized->local_count = topology->client->local_count;
  serialized->process_count = topology->client->process_count;
  args->bytes = bytes;
  args->size_bytes = sizeof *serialized;
  args->owner = bytes;
  args->release = hr_free;
  return NULL;
}

/* TopologyDescription_Deserialize: the bytes may come from a file. */
hr_status_t pjrt_topology_deserialize(pjrt_topology_deserialize_args_t *args) {
  serialized_t serialized;
  PJRT_NOT_NULL(args->bytes);
  if (args->size_bytes != sizeof serialized || memcmp(args->bytes, magic, sizeof magic) != 0)
    return hr_error(HR_INVALID, "these %zu bytes are no topology of hlorun", args->size_bytes);
  memcpy(&serialized, args->bytes, sizeof serialized);
  if (serialized.process_count < 1 || serialized.process_count > MAX_PROCESSES)
    return hr_error(HR_INVALID, "a topology of %d processes, want 1 to %d",
                    serialized.process_count, MAX_PROCESSES);
  pjrt_named_t devices = {.struct_size = sizeof devices,
                          .name = "devices",
                          .name_size = strlen("devices"),
                          .kind = PJRT_NAMED_INT64,
                          .int64 = serialized.local_count,
                          .value_size = 1};
  pjrt_client_create_args_t options = {
      .struct_size = sizeof options, .options = &devices, .option_count = 1};
  return create(&options, serialized.process_count, &args->topology);
}

/* --- properties --- */

hr_status_t pjrt_topology_platform_name(pjrt_text_args_t *args) {
  return pjrt_client_platform_name(args);
}
hr_status_t pjrt_topology_platform_version(pjrt_text_args_t *args) {
  return pjrt_client_platform_version(args);
}
hr_status_t pjrt_topology_attributes(pjrt_list_args_t *args) {
  args->items = NULL;
  args->count = 0;
  return NULL;
}
hr_status_t pjrt_topology_devices(pjrt_list_args_t *args) {
  pjrt_topology_t *topology = args->object;
  PJRT_NOT_NULL(topology);
  args->items = topology->client->device_list;
  args->count = (size_t)topology->client->device_count;
  return NULL;
}

/* TopologyDescription_Fingerprint: equal where the serialized bytes are. */
hr_status_t pjrt_topology_fingerprint(pjrt_size_args_t *args) {
  pjrt_serialized_args_t bytes = {.struct_size = sizeof bytes, .object = args->object};
  HR_TRY(pjrt_topology_serialize(&bytes));
  hr_digest_t digest = hr_digest_of(bytes.bytes, bytes.size_bytes);
  bytes.release(bytes.owner);
  memcpy(&args->value, &digest, sizeof args->value);
  return NULL;
}

/* TopologyDescription_GetMemorySpaceKindIds: as Memory_Kind_Id numbers them. */
hr_status_t pjrt_topology_memory_kinds(pjrt_list_args_t *args) {
  static int ids[PJRT_MEMORY_KINDS];
  PJRT_NOT_NULL(args->object);
  for (int kind = 0; kind < PJRT_MEMORY_KINDS; kind++) ids[kind] = kind;
  args->items = ids;
  args->count = PJRT_MEMORY_KINDS;
  return NULL;
}

static void release_shape(const char *bytes) { free((char *)bytes); }

/* Appends a ShapeProto of the array, which lies as the order says. */
static hr_status_t write_shape(const pjrt_strided_t *array, const pjrt_order_t *order,
                               hr_strbuf_t *text) {
  hlo_layout_t layout = {.minor_to_major = {order->minor_to_major, order->rank}};
  hlo_shape_t shape = {
      .dtype = array->dtype, .rank = array->rank, .dims = array->dims, .layout = &layout};
  HR_TRY(hlo_proto_write_shape(&shape, text));
  return hr_strbuf_finish(text);
}

/* TopologyDescription_MakeCanonicalShapeForMemorySpace: memories differ in nothing. */
hr_status_t pjrt_topology_shape(pjrt_topology_shape_args_t *args) {
  pjrt_strided_t array;
  const pjrt_order_t *order;
  hr_dtype_t dtype;
  hr_strbuf_t text;
  PJRT_NOT_NULL(args->topology);
  if (args->memory_kind < 0 || args->memory_kind >= PJRT_MEMORY_KINDS)
    return hr_error(HR_USAGE, "memory kind %d, want 0 to %d", args->memory_kind,
                    PJRT_MEMORY_KINDS - 1);
  HR_TRY(pjrt_check_dims(args->dims, args->num_dims, args->type, &dtype));
  pjrt_strided_init(&array, dtype, (int)args->num_dims, args->dims);
  HR_TRY(pjrt_read_layout(&array, args->layout));
  HR_TRY(pjrt_order_of_strides(&array, &order));
  if (!order) HR_TRY(pjrt_order_find(array.rank, NULL, &order));
  hr_strbuf_init(&text);
  hr_status_t st = write_shape(&array, order, &text);
  if (!st) {
    args->size_bytes = text.size;
    args->bytes = hr_strbuf_steal(&text);
    args->release = release_shape;
  }
  hr_strbuf_deinit(&text);
  return st;
}

/* --- programs --- */

/* Compile. Processes compile together: this one alone can do it for devices of its own. */
hr_status_t pjrt_topology_compile(pjrt_topology_compile_args_t *args) {
  pjrt_topology_t *topology = args->topology;
  PJRT_NOT_NULL(topology);
  PJRT_NOT_NULL(args->program);
  PJRT_NOT_NULL(args->program->code);
  if (args->options_size) PJRT_NOT_NULL(args->options);
  HR_TRY(pjrt_check_fork());
  if (topology->client->process_count > 1 && !topology->client->whole)
    return hr_error(HR_UNSUPPORTED, "a program for %d processes is compiled by those processes",
                    topology->client->process_count);
  HR_TRY(pjrt_executable_compile(
      topology->client, (hr_str_t){args->program->code, args->program->code_size},
      (hr_str_t){args->options, args->options_size}, false, &args->executable));
  args->executable->topology = retain(topology);
  return NULL;
}
