/* Worlds: for every ordered list of devices that a program runs on, clients of libhlorun that are
 * each other's peers. Created on demand and kept; rank k is the k-th device of the list. */
#ifndef PJRT_WORLD_H
#define PJRT_WORLD_H

#include "hlorun.h"
#include "pjrt/client/pjrt_client.h"

struct pjrt_world {
  pjrt_world_t *next;    /* next world of the client; guarded by the client's mutex */
  atomic_bool is_broken; /* an execution failed, and its peers were cancelled: it cannot go on */
  /* error of the device that failed first, which the others give as theirs; NULL: none */
  _Atomic(pjrt_error_t *) cause;
  bool is_traced;          /* its clients note their steps, for profiles */
  int count;               /* devices, those of other processes included */
  int *ids;                /* ids of all the devices, by rank */
  int local_count;         /* devices that are of this process */
  pjrt_device_t **devices; /* those of this process, by rank */
  /* clients of the devices of this process; if it has none, of all devices, to compile for them */
  int client_count;
  hlorun_client_t **clients; /* by local position */
};

/* The world of `count` devices with these ids that is not broken.
 * is_traced: a world whose clients trace, for devices of this process alone.
 * Owner: the client.
 * Collective over the processes of the devices, where there are others.
 * Errors: USAGE for unknown or repeated ids; UNAVAILABLE if the peers cannot be reached.
 * Thread: any. */
hr_status_t pjrt_world_find(pjrt_client_t *client, int count, const int *ids, bool is_traced,
                            pjrt_world_t **out_world);
/* Connects the processes of the launcher, if there is one, in client->whole. */
hr_status_t pjrt_world_connect(pjrt_client_t *client);
/* Releases all clients of all worlds, and client->whole. Nothing may run on them. */
void pjrt_worlds_destroy(pjrt_client_t *client);

#endif
