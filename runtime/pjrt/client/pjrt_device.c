/* Functions that ask devices and memories: all answers are fields of pjrt_client.h. A device's
 * description is the device itself. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "pjrt/client/pjrt_client.h"

static void set_text(pjrt_text_args_t *args, const char *text) {
  args->text = text;
  args->size = strlen(text);
}

/* DeviceDescription_Id. */
hr_status_t pjrt_device_id(pjrt_int_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->value = device->id;
  return NULL;
}
hr_status_t pjrt_device_process_index(pjrt_int_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->value = device->process;
  return NULL;
}
/* Device_LocalHardwareId. */
hr_status_t pjrt_device_local_id(pjrt_int_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->value = device->local_id;
  return NULL;
}
/* DeviceDescription_Attributes: none. */
hr_status_t pjrt_device_attributes(pjrt_counted_args_t *args) {
  args->items = NULL;
  args->count = 0;
  return NULL;
}
static void release_nothing(void *owner) { (void)owner; }

/* Device_GetAttributes: the attributes that change while the process runs. */
hr_status_t pjrt_device_get_attributes(pjrt_device_attributes_args_t *args) {
  PJRT_NOT_NULL(args->device);
  args->attributes = NULL;
  args->count = 0;
  args->owner = NULL;
  args->release = release_nothing;
  return NULL;
}
/* DeviceDescription_Kind: all devices are of one kind. */
hr_status_t pjrt_device_kind(pjrt_text_args_t *args) {
  set_text(args, "cpu");
  return NULL;
}
hr_status_t pjrt_device_debug_string(pjrt_text_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  set_text(args, device->debug_string);
  return NULL;
}
hr_status_t pjrt_device_to_string(pjrt_text_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  set_text(args, device->to_string);
  return NULL;
}
/* Device_GetDescription: the same object. */
hr_status_t pjrt_device_description(pjrt_pointer_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->value = args->object;
  return NULL;
}
hr_status_t pjrt_device_is_addressable(pjrt_flag_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->value = device->is_local;
  return NULL;
}

/* Device_AddressableMemories: all kinds, the default one first. */
hr_status_t pjrt_device_memories(pjrt_list_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->items = device->memory_list;
  args->count = PJRT_MEMORY_KINDS;
  return NULL;
}
hr_status_t pjrt_device_default_memory(pjrt_pointer_args_t *args) {
  pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  args->value = device->memory_list[PJRT_MEMORY_DEVICE];
  return NULL;
}

/* Resident memory of the process, whatever uses it. */
static int64_t resident_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  fclose(file);
  return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Device_MemoryStats. All devices of a process share its memory: the figures are those of the
 * process, and the limit is the memory of the machine. */
hr_status_t pjrt_device_memory_stats(pjrt_memory_stats_args_t *args) {
  struct rusage usage;
  PJRT_NOT_NULL(args->device);
  if (!args->device->is_local)
    return hr_error(HR_USAGE, "device %d is of process %d", args->device->id,
                    args->device->process);
  args->bytes_in_use = resident_bytes();
  args->peak_bytes_in_use = (pjrt_stat_t){args->bytes_in_use, !getrusage(RUSAGE_SELF, &usage)};
  if (args->peak_bytes_in_use.is_set && usage.ru_maxrss * 1024 > args->bytes_in_use)
    args->peak_bytes_in_use.value = usage.ru_maxrss * 1024;
  args->num_allocs = (pjrt_stat_t){(int64_t)hr_mem_total_allocations(), true};
  args->largest_alloc_size.is_set = false;
  args->bytes_limit = (pjrt_stat_t){(int64_t)hr_mem_physical_bytes(), true};
  if (PJRT_HAS_STAT(args, bytes_reserved)) args->bytes_reserved.is_set = false;
  if (PJRT_HAS_STAT(args, peak_bytes_reserved)) args->peak_bytes_reserved.is_set = false;
  if (PJRT_HAS_STAT(args, bytes_reservable_limit)) args->bytes_reservable_limit.is_set = false;
  if (PJRT_HAS_STAT(args, largest_free_block_bytes)) args->largest_free_block_bytes.is_set = false;
  if (PJRT_HAS_STAT(args, pool_bytes)) args->pool_bytes.is_set = false;
  if (PJRT_HAS_STAT(args, peak_pool_bytes)) args->peak_pool_bytes.is_set = false;
  return NULL;
}

/* Device_ClearMemoryStats: the peak restarts at the present resident memory. */
hr_status_t pjrt_device_clear_memory_stats(pjrt_object_args_t *args) {
  const pjrt_device_t *device = args->object;
  PJRT_NOT_NULL(device);
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (!file) return hr_error(HR_UNAVAILABLE, "the kernel does not let peaks be cleared");
  fputs("5", file); /* VmHWM */
  fclose(file);
  return NULL;
}

hr_status_t pjrt_memory_id(pjrt_int_args_t *args) {
  pjrt_memory_t *memory = args->object;
  PJRT_NOT_NULL(memory);
  args->value = memory->id;
  return NULL;
}
hr_status_t pjrt_memory_kind(pjrt_text_args_t *args) {
  pjrt_memory_t *memory = args->object;
  PJRT_NOT_NULL(memory);
  set_text(args, pjrt_memory_kind_names[memory->kind]);
  return NULL;
}
hr_status_t pjrt_memory_kind_id(pjrt_int_args_t *args) {
  pjrt_memory_t *memory = args->object;
  PJRT_NOT_NULL(memory);
  args->value = memory->kind;
  return NULL;
}
hr_status_t pjrt_memory_to_string(pjrt_text_args_t *args) {
  pjrt_memory_t *memory = args->object;
  PJRT_NOT_NULL(memory);
  set_text(args, memory->text);
  return NULL;
}
/* Memory_AddressableByDevices: the one device that it belongs to. */
hr_status_t pjrt_memory_devices(pjrt_list_args_t *args) {
  pjrt_memory_t *memory = args->object;
  PJRT_NOT_NULL(memory);
  args->items = &memory->device->client->device_list[memory->device->id];
  args->count = 1;
  return NULL;
}
