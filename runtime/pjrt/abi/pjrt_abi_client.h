/* Arguments of the functions for clients, devices and memories. See pjrt_abi.h for the convention.
 */
#ifndef PJRT_ABI_CLIENT_H
#define PJRT_ABI_CLIENT_H

#include "pjrt/abi/pjrt_abi.h"

/* Creates an error of the framework, for callbacks. */
typedef pjrt_error_t *(*pjrt_callback_error_t)(int code, const char *message, size_t size);

/* Arguments of the framework's callback that reads the key-value store shared by all processes. */
typedef struct pjrt_kv_get_args {
  PJRT_HEAD;
  const char *key;
  size_t key_size;
  /* longest wait for the key */
  int timeout_ms;
  pjrt_callback_error_t *callback_error;
  void *context;
  char *value; /* out */
  size_t value_size;
  void (*release)(char *value);
} pjrt_kv_get_args_t;

/* Arguments of the callback that writes to the store. */
typedef struct pjrt_kv_put_args {
  PJRT_HEAD;
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  pjrt_callback_error_t *callback_error;
  void *context;
} pjrt_kv_put_args_t;

/* Arguments of Client_Create. The callbacks are valid only with an option num_nodes above 1. */
typedef struct pjrt_client_create_args {
  PJRT_HEAD;
  const pjrt_named_t *options;
  size_t option_count;
  pjrt_error_t *(*kv_get)(pjrt_kv_get_args_t *args);
  void *kv_get_context;
  pjrt_error_t *(*kv_put)(pjrt_kv_put_args_t *args);
  void *kv_put_context;
  pjrt_client_t *client; /* out */
  void *kv_try_get;
  void *kv_try_get_context;
} pjrt_client_create_args_t;

/* Arguments of Device_GetAttributes. */
typedef struct pjrt_device_attributes_args {
  PJRT_HEAD;
  pjrt_device_t *device;
  const pjrt_named_t *attributes; /* out */
  size_t count;
  void *owner;
  void (*release)(void *owner);
} pjrt_device_attributes_args_t;

/* Arguments of TopologyDescription_Create. */
typedef struct pjrt_topology_create_args {
  PJRT_HEAD;
  const char *name; /* number of devices; "": as many as a client would have */
  size_t name_size;
  const pjrt_named_t *options; /* as those of Client_Create */
  size_t option_count;
  pjrt_topology_t *topology; /* out */
} pjrt_topology_create_args_t;

/* Arguments of TopologyDescription_Deserialize. */
typedef struct pjrt_topology_deserialize_args {
  PJRT_HEAD;
  const char *bytes;
  size_t size_bytes;
  pjrt_topology_t *topology; /* out */
} pjrt_topology_deserialize_args_t;

/* Arguments of Client_LookupDevice, by id, and Client_LookupAddressableDevice, by local id. */
typedef struct pjrt_lookup_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  int id;
  pjrt_device_t *device; /* out */
} pjrt_lookup_args_t;

/* Arguments of Client_DefaultDeviceAssignment. */
typedef struct pjrt_assignment_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  int num_replicas, num_partitions;
  size_t size;
  int *ids; /* out; the caller's, `size` entries, by replica, then partition */
} pjrt_assignment_args_t;

/* Arguments of Client_UpdateGlobalProcessInfo. JAX aborts the process if it fails. */
typedef struct pjrt_process_infos_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  /* states of the processes; not read */
  void *infos;
  size_t count;
} pjrt_process_infos_args_t;

/* Arguments of Client_DmaMap: host memory to be made accessible to devices. */
typedef struct pjrt_dma_args {
  PJRT_HEAD;
  pjrt_client_t *client;
  void *data;
  size_t size_bytes;
} pjrt_dma_args_t;

/* Statistics in bytes; all but the first have a flag that says whether they are set. */
typedef struct pjrt_stat {
  int64_t value;
  bool is_set;
} pjrt_stat_t;

/* Arguments of Device_MemoryStats. */
typedef struct pjrt_memory_stats_args {
  PJRT_HEAD;
  pjrt_device_t *device;
  int64_t bytes_in_use; /* out, as all that follow */
  pjrt_stat_t peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved,
      peak_bytes_reserved, bytes_reservable_limit, largest_free_block_bytes, pool_bytes,
      peak_pool_bytes;
} pjrt_memory_stats_args_t;

/* Arguments of the extension for memory descriptions: the memories of a device, perhaps of another
 * process. */
typedef struct pjrt_memory_descriptions_args {
  PJRT_HEAD;
  pjrt_device_t *device;
  const pjrt_memory_t *const *memories; /* out */
  size_t count;
  size_t default_index;
} pjrt_memory_descriptions_args_t;

typedef struct pjrt_memory_description_kind_args {
  PJRT_HEAD;
  const pjrt_memory_t *memory;
  const char *kind; /* out */
  size_t kind_size;
  int kind_id;
} pjrt_memory_description_kind_args_t;

#endif
