/* Clients: how many devices there are, and the functions that ask for them. HLORUN_DEVICES devices
 * in each process of a launcher (hlorun -n, mpirun, srun), or in the only one; without it as many
 * as the program asks of JAX's CPU backend.
 * The platform is called "cpu", as JAX chooses its lowerings, donation and custom calls by that
 * name; the version says that it is hlorun. */
#include "pjrt/client/pjrt_client.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/processors.h"
#include "hlorun.h"
#include "pjrt/client/pjrt_fork.h"
#include "pjrt/client/pjrt_join.h"
#include "pjrt/program/pjrt_options.h"
#include "pjrt/extension/pjrt_python.h"
#include "pjrt/client/pjrt_world.h"
#include "transport/core/transport.h"

#define MAX_DEVICES_OF_MANY 16 /* devices of each process, if several: lanes of hlorun.h */
#define MAX_JOINED 4096        /* processes that join: each maps the memory of all */
#define MAX_THREADS 1024       /* most threads of a device */
#define END_MS 2000            /* how long executions may still run when the client ends */

const char *const pjrt_memory_kind_names[PJRT_MEMORY_KINDS] = {"device", "pinned_host",
                                                               "unpinned_host"};

/* Text of an option as a number from 1 to `limit`; `name` is for the message. */
static hr_status_t read_count(const char *name, hr_str_t text, int64_t limit, int64_t *out_value) {
  int64_t value = 0;
  bool is_number = text.size > 0;
  for (size_t i = 0; i < text.size && is_number && value <= limit; i++) {
    is_number = text.data[i] >= '0' && text.data[i] <= '9';
    value = 10 * value + (text.data[i] - '0');
  }
  if (!is_number || value < 1 || value > limit)
    return hr_error(HR_USAGE, "%s is \"%.*s\", want 1 to %lld", name, HR_STR_ARGS(text),
                    (long long)limit);
  *out_value = value;
  return NULL;
}

/* An option of the framework; NULL: not given. */
static const pjrt_named_t *find_named(const pjrt_client_create_args_t *args, const char *name) {
  for (size_t i = 0; i < args->option_count; i++)
    if (args->options[i].name_size == strlen(name) &&
        memcmp(args->options[i].name, name, strlen(name)) == 0)
      return &args->options[i];
  return NULL;
}

/* An integer option of the framework, else an environment variable, else `otherwise`. */
static hr_status_t find_option(const pjrt_client_create_args_t *args, const char *name,
                               const char *variable, int64_t otherwise, int64_t limit,
                               int64_t *out_value) {
  char number[32];
  const pjrt_named_t *option = find_named(args, name);
  *out_value = otherwise;
  if (option && option->kind == PJRT_NAMED_STRING)
    return read_count(name, (hr_str_t){option->string, option->value_size}, limit, out_value);
  if (option && option->kind == PJRT_NAMED_INT64) {
    snprintf(number, sizeof number, "%lld", (long long)option->int64);
    return read_count(name, hr_str_from(number), limit, out_value);
  }
  const char *text = getenv(variable);
  return text && *text ? read_count(variable, hr_str_from(text), limit, out_value) : NULL;
}

/* The last value of a flag in XLA_FLAGS; without data if it is not there. */
static hr_str_t find_xla_flag(const char *flag) {
  const char *value = NULL, *at = getenv("XLA_FLAGS");
  while (at && (at = strstr(at, flag))) value = at += strlen(flag);
  return value ? (hr_str_t){value, strcspn(value, " \t\n")} : (hr_str_t){0};
}

/* Programs that are written for several devices of JAX's CPU backend ask for them by JAX's
 * configuration or, what counts less, by a flag of XLA. */
static hr_status_t find_requested_devices(int64_t limit, int64_t *out_count) {
  char number[32];
  snprintf(number, sizeof number, "%ld", pjrt_python_device_count());
  if (*number != '0')
    return read_count("jax_num_cpu_devices", hr_str_from(number), limit, out_count);
  hr_str_t flag = find_xla_flag("--xla_force_host_platform_device_count=");
  if (flag.data) return read_count("xla_force_host_platform_device_count", flag, limit, out_count);
  *out_count = 1;
  return NULL;
}

/* All processes have the same number of devices. */
static hr_status_t count_devices(const pjrt_client_create_args_t *args, pjrt_client_t *client) {
  int64_t devices;
  int64_t most = client->process_count > 1 ? MAX_DEVICES_OF_MANY : PJRT_MAX_DEVICES;
  HR_TRY(find_option(args, "devices", "HLORUN_DEVICES", 0, most, &devices));
  if (!devices) HR_TRY(find_requested_devices(most, &devices));
  client->local_count = (int)devices;
  client->device_count = client->local_count * client->process_count;
  return NULL;
}

/* Without a launcher and without an option the devices share the processors evenly, in programs
 * that run on several; a program on one device may use all. */
static hr_status_t choose_threads(const pjrt_client_create_args_t *args, pjrt_client_t *client) {
  int processors = hr_processor_count(), cores = processors / client->local_count;
  int64_t threads, single, share = cores > 1 ? cores : 1;
  if (client->process_count > 1) share = 0; /* the launcher's share of the host */
  int64_t all = client->process_count > 1 ? 0 : processors;
  HR_TRY(find_option(args, "threads", "HLORUN_THREADS", share, MAX_THREADS, &threads));
  HR_TRY(find_option(args, "threads", "HLORUN_THREADS", all, MAX_THREADS, &single));
  client->threads = (int)threads;
  client->single_threads = (int)single;
  return NULL;
}

/* Ids go by process, then by position in the process; each id is the rank in the world of all. */
static void init_device(pjrt_client_t *client, int id) {
  pjrt_device_t *device = &client->devices[id];
  *device = (pjrt_device_t){.client = client,
                            .id = id,
                            .local_id = id % client->local_count,
                            .process = id / client->local_count};
  device->is_local = device->process == client->process_index;
  snprintf(device->to_string, sizeof device->to_string, "CpuDevice(id=%d)", id);
  snprintf(device->debug_string, sizeof device->debug_string, "cpu:%d", id);
  for (int k = 0; k < PJRT_MEMORY_KINDS; k++) {
    pjrt_memory_t *memory = &device->memories[k];
    *memory = (pjrt_memory_t){.device = device, .id = id * PJRT_MEMORY_KINDS + k, .kind = k};
    snprintf(memory->text, sizeof memory->text, "MemorySpace(kind=%s, id=%d)",
             pjrt_memory_kind_names[k], memory->id);
    device->memory_list[k] = memory;
  }
  pjrt_stream_init(&device->stream);
}

/* The three lists are one block: all devices, those of this process, their memories. */
static hr_status_t make_devices(pjrt_client_t *client) {
  void *devices, *list;
  size_t count = (size_t)client->device_count, locals = (size_t)client->local_count;
  HR_TRY(hr_alloc_zeroed(count * sizeof(pjrt_device_t), &devices));
  client->devices = devices;
  HR_TRY(hr_alloc_zeroed((count + locals * (1 + PJRT_MEMORY_KINDS)) * sizeof(void *), &list));
  client->device_list = list;
  client->local_list = client->device_list + count;
  client->memory_list = (pjrt_memory_t **)(client->local_list + locals);
  for (int id = 0, local = 0; id < client->device_count; id++) {
    init_device(client, id);
    client->device_list[id] = &client->devices[id];
    if (!client->devices[id].is_local) continue;
    client->local_list[local] = &client->devices[id];
    for (int k = 0; k < PJRT_MEMORY_KINDS; k++)
      client->memory_list[local * PJRT_MEMORY_KINDS + k] = &client->devices[id].memories[k];
    local++;
  }
  return NULL;
}

void pjrt_client_free(pjrt_client_t *client) {
  pjrt_worlds_destroy(client);
  pthread_mutex_destroy(&client->mutex);
  pthread_mutex_destroy(&client->launch_mutex);
  hr_free(client->device_list);
  hr_free(client->devices);
  hr_free(client);
}

/* The framework's processes join, unless a launcher made them a world. */
static hr_status_t join_processes(const pjrt_client_create_args_t *args) {
  const pjrt_named_t *count = find_named(args, "num_nodes"), *index = find_named(args, "node_id");
  if (!count || !index || count->kind != PJRT_NAMED_INT64 || index->kind != PJRT_NAMED_INT64)
    return NULL;
  if (count->int64 < 2 || tp_launcher_world_size() > 1) return NULL;
  if (count->int64 > MAX_JOINED || index->int64 < 0 || index->int64 >= count->int64)
    return hr_error(HR_USAGE, "process %lld of %lld: want 0 to %d", (long long)index->int64,
                    (long long)count->int64, MAX_JOINED - 1);
  return pjrt_join(args, (int)index->int64, (int)count->int64);
}

/* A world of processes without a rank is an error: guessing would give two processes one device. */
static hr_status_t find_process(int *out_index, int *out_count) {
  *out_index = 0;
  *out_count = tp_launcher_world_size();
  if (*out_count < 1) *out_count = 1;
  if (*out_count > 1) *out_index = tp_launcher_rank();
  if (*out_index >= 0) return NULL;
  return hr_error(HR_UNAVAILABLE, "the launcher does not say which process this is");
}

static hr_status_t init_client(const pjrt_client_create_args_t *args, pjrt_client_t *client) {
  HR_TRY(count_devices(args, client));
  HR_TRY(choose_threads(args, client));
  return make_devices(client);
}

hr_status_t pjrt_client_new(const pjrt_client_create_args_t *args, int process_index,
                            int process_count, pjrt_client_t **out_client) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_client_t), &memory));
  pjrt_client_t *client = memory;
  client->process_index = process_index;
  client->process_count = process_count;
  client->topology.client = client;
  pthread_mutex_init(&client->mutex, NULL);
  pthread_mutex_init(&client->launch_mutex, NULL);
  hr_status_t st = init_client(args, client);
  if (st)
    pjrt_client_free(client);
  else
    *out_client = client;
  return st;
}

/* Client_Create. The framework's store of keys is not used. */
hr_status_t pjrt_client_create(pjrt_client_create_args_t *args) {
  int index, count;
  pjrt_client_t *client;
  if (args->option_count && !args->options)
    return hr_error(HR_USAGE, "PJRT_Client_Create: options is NULL");
  pjrt_fork_watch();
  HR_TRY(join_processes(args));
  HR_TRY(find_process(&index, &count));
  HR_TRY(pjrt_client_new(args, index, count, &client));
  hr_status_t st = pjrt_world_connect(client); /* so that each knows when another ends */
  if (st)
    pjrt_client_free(client);
  else
    args->client = client;
  return st;
}

/* Executions get END_MS to end; then those of worlds without other processes are cancelled. Other
 * processes may need the results of the rest. */
static void end_executions(pjrt_client_t *client) {
  bool is_free = false;
  for (int waited_ms = 0; !is_free && waited_ms < END_MS; waited_ms++) {
    is_free = true;
    for (int i = 0; i < client->local_count; i++)
      is_free &= pjrt_stream_is_free(&client->local_list[i]->stream);
    if (!is_free) usleep(1000);
  }
  for (pjrt_world_t *world = client->worlds; world && !is_free; world = world->next)
    for (int i = 0; i < world->local_count && world->local_count == world->count; i++)
      hlorun_client_cancel(world->clients[i], "the client ends");
}

/* Client_Destroy. A forked child does nothing: it has no threads that could be joined. The
 * streams end before the worlds, on which their jobs run. */
hr_status_t pjrt_client_destroy(pjrt_object_args_t *args) {
  pjrt_client_t *client = args->object;
  if (!client || pjrt_is_forked()) return NULL;
  end_executions(client);
  for (int id = 0; id < client->device_count; id++)
    pjrt_stream_deinit(&client->devices[id].stream, false);
  pjrt_client_free(client);
  return NULL;
}

static void set_text(pjrt_text_args_t *args, const char *text) {
  args->text = text;
  args->size = strlen(text);
}

hr_status_t pjrt_client_platform_name(pjrt_text_args_t *args) {
  set_text(args, "cpu");
  return NULL;
}
hr_status_t pjrt_client_platform_version(pjrt_text_args_t *args) {
  set_text(args, "hlorun " PACKAGE_VERSION);
  return NULL;
}

hr_status_t pjrt_client_process_index(pjrt_int_args_t *args) {
  pjrt_client_t *client = args->object;
  PJRT_NOT_NULL(client);
  args->value = client->process_index;
  return NULL;
}

hr_status_t pjrt_client_devices(pjrt_list_args_t *args) {
  pjrt_client_t *client = args->object;
  PJRT_NOT_NULL(client);
  args->items = client->device_list;
  args->count = (size_t)client->device_count;
  return NULL;
}

/* Client_AddressableDevices: the devices on which this process can put arrays. */
hr_status_t pjrt_client_addressable_devices(pjrt_list_args_t *args) {
  pjrt_client_t *client = args->object;
  PJRT_NOT_NULL(client);
  args->items = client->local_list;
  args->count = (size_t)client->local_count;
  return NULL;
}

hr_status_t pjrt_client_addressable_memories(pjrt_list_args_t *args) {
  pjrt_client_t *client = args->object;
  PJRT_NOT_NULL(client);
  args->items = client->memory_list;
  args->count = (size_t)client->local_count * PJRT_MEMORY_KINDS;
  return NULL;
}

hr_status_t pjrt_find_device(pjrt_client_t *client, int id, pjrt_device_t **out_device) {
  if (id < 0 || id >= client->device_count)
    return hr_error(HR_USAGE, "there is no device %d: want 0 to %d", id, client->device_count - 1);
  *out_device = client->device_list[id];
  return NULL;
}

hr_status_t pjrt_client_lookup_device(pjrt_lookup_args_t *args) {
  PJRT_NOT_NULL(args->client);
  return pjrt_find_device(args->client, args->id, &args->device);
}

hr_status_t pjrt_client_lookup_addressable(pjrt_lookup_args_t *args) {
  PJRT_NOT_NULL(args->client);
  if (args->id < 0 || args->id >= args->client->local_count)
    return hr_error(HR_USAGE, "there is no local device %d: want 0 to %d", args->id,
                    args->client->local_count - 1);
  args->device = args->client->local_list[args->id];
  return NULL;
}

/* Client_DefaultDeviceAssignment: the first devices, in order. */
hr_status_t pjrt_client_default_assignment(pjrt_assignment_args_t *args) {
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->ids);
  int64_t wanted = (int64_t)args->num_replicas * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 || wanted > args->client->device_count ||
      wanted > (int64_t)args->size)
    return hr_error(HR_USAGE, "an assignment of %d x %d devices, and there are %d",
                    args->num_replicas, args->num_partitions, args->client->device_count);
  for (int64_t i = 0; i < wanted; i++) args->ids[i] = (int)i;
  return NULL;
}

/* Client_UpdateGlobalProcessInfo: processes that join or leave; those of a launcher are fixed. It
 * must succeed: JAX aborts the process otherwise. */
hr_status_t pjrt_client_update_processes(pjrt_process_infos_args_t *args) {
  PJRT_NOT_NULL(args->client);
  return NULL;
}

/* All memory is the host's: there is nothing to map. */
hr_status_t pjrt_client_dma_map(pjrt_dma_args_t *args) {
  PJRT_NOT_NULL(args->client);
  return NULL;
}
hr_status_t pjrt_client_dma_unmap(pjrt_pointer_args_t *args) {
  PJRT_NOT_NULL(args->object);
  return NULL;
}
