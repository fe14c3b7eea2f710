/* Clients, devices and memories. A device is one rank of libhlorun's grid: a thread of this
 * process, or, under a launcher, the whole process. Each device has three kinds of memory, all of
 * them host memory.
 * Thread: a client is immutable once it is created, except for members guarded by a mutex. */
#ifndef PJRT_CLIENT_H
#define PJRT_CLIENT_H

#include <pthread.h>

#include "pjrt/abi/pjrt_api.h"
#include "pjrt/execute/pjrt_stream.h"

enum { PJRT_MEMORY_DEVICE, PJRT_MEMORY_PINNED, PJRT_MEMORY_UNPINNED, PJRT_MEMORY_KINDS };

typedef struct pjrt_world pjrt_world_t;

/* A kind of memory of one device. */
struct pjrt_memory {
  pjrt_device_t *device;
  int id;        /* unique among all memories */
  int kind;      /* a PJRT_MEMORY number */
  char text[64]; /* its text in Python */
};

struct pjrt_device {
  pjrt_client_t *client;
  int id;       /* position among all devices; rank in the world of all */
  int local_id; /* position among the devices of its process */
  /* process that it belongs to */
  int process;
  bool is_local;
  pjrt_memory_t memories[PJRT_MEMORY_KINDS];
  pjrt_memory_t *memory_list[PJRT_MEMORY_KINDS];
  /* jobs of the device; unused for devices of other processes */
  pjrt_stream_t stream;
  char to_string[32], debug_string[32];
};

/* A topology is a part of its client. A topology created by the framework has its own client, whose
 * devices need not exist: programs are only compiled for them. */
struct pjrt_topology {
  pjrt_client_t *client;
  /* references of the framework and of executables; 0: part of a client of the framework */
  atomic_int references;
};

struct pjrt_client {
  /* rank of this process among those of the launcher, and their number */
  int process_index, process_count;
  /* devices of all processes, and those of this one */
  int device_count, local_count;
  pjrt_device_t *devices;
  pjrt_device_t **device_list; /* by id */
  pjrt_device_t **local_list;
  pjrt_memory_t **memory_list; /* memories of the local devices */
  pjrt_topology_t topology;
  int threads;        /* workers of each device, in programs on several */
  int single_threads; /* workers that programs on one device share */
  /* the first client of a single device, whose workers other such clients use; NULL: none yet.
   * Guarded by `mutex`; owned by its world */
  struct hlorun_client *pool_owner;
  /* client of all processes of the launcher; device worlds are parts of its world; NULL: a single
   * process */
  struct hlorun_client *whole;
  pthread_mutex_t mutex;        /* lock for worlds and for programs of partitions */
  pjrt_world_t *worlds;         /* guarded by `mutex` */
  pthread_mutex_t launch_mutex; /* held while one launch is put into the streams of its devices, so
                                   that all streams have the same order */
};

extern const char *const pjrt_memory_kind_names[PJRT_MEMORY_KINDS];

/* Creates a client without opening worlds of its devices. The options are those of Client_Create.
 */
hr_status_t pjrt_client_new(const pjrt_client_create_args_t *args, int process_index,
                            int process_count, pjrt_client_t **out_client);
void pjrt_client_free(pjrt_client_t *client); /* nothing is executed any more */

/* The topology lives as long as what is compiled for it; NULL for one that lives with a client. */
void pjrt_topology_release(pjrt_topology_t *topology); /* accepts NULL */

/* The device with the id. Errors: USAGE. */
hr_status_t pjrt_find_device(pjrt_client_t *client, int id, pjrt_device_t **out_device);

#endif
