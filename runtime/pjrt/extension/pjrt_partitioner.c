/* The framework as the host of the partitioner. A call of InspectSharding has in its configuration
 * the address of a function and its data, which jaxlib wrote there while the program was traced:
 *
 *   backend_config:  function, 8 bytes | data, 8 bytes
 *
 * The function is called while the program is compiled, with the sharding of the operand. The
 * addresses are of this process: only Client_Compile sets the host, so that neither programs of a
 * file nor executables that are loaded from bytes come here. */
#include <string.h>

#include "partition/host.h"
#include "pjrt/program/pjrt_executable.h"

/* Arguments of the function; it may set a text, which `free_error` releases. */
typedef struct inspect_args {
  const char *sharding; /* serialized OpSharding */
  size_t sharding_size;
  const char *error; /* out; NULL: none */
  void *error_owner;
  void (*free_error)(struct inspect_args *args);
} inspect_args_t;

/* The content of the configuration. */
typedef struct inspect_callback {
  void (*call)(void *data, inspect_args_t *args);
  void *data;
} inspect_callback_t;

static hr_status_t call_inspector(const inspect_callback_t *callback, const hr_strbuf_t *sharding) {
  inspect_args_t args = {.sharding = sharding->data, .sharding_size = sharding->size};
  callback->call(callback->data, &args);
  if (!args.error) return NULL;
  hr_status_t st = hr_error(HR_INTERNAL, "InspectSharding: %s", args.error);
  if (args.free_error) args.free_error(&args);
  return st;
}

/* Devices of the mesh; 1 where the sharding names none, and is replicated. */
static int64_t device_count(const hlo_sharding_t *sharding) {
  int64_t count = 1;
  for (int a = 0; sharding->named && a < sharding->mesh.axis_count; a++)
    count *= sharding->mesh.axes[a].size;
  return count;
}

/* Signature of spmd_host_t.inspect. */
static hr_status_t inspect(void *context, hr_str_t config, const hlo_sharding_t *sharding,
                           int rank) {
  inspect_callback_t callback;
  hr_arena_t arena;
  hr_strbuf_t text;
  (void)context;
  if (config.size != sizeof callback)
    return hr_error(HR_INVALID, "InspectSharding has a configuration of %zu bytes, want %zu",
                    config.size, sizeof callback);
  memcpy(&callback, config.data, sizeof callback);
  hr_arena_init(&arena);
  hr_strbuf_init(&text);
  hr_status_t st = pjrt_sharding_write(sharding, rank, device_count(sharding), &arena, &text);
  if (!st) st = call_inspector(&callback, &text);
  hr_strbuf_deinit(&text);
  hr_arena_deinit(&arena);
  return st;
}

const spmd_host_t pjrt_partitioner_host = {
    .inspect = inspect, .divides = pjrt_divides, .divide = pjrt_divide, .change = pjrt_transform};
