/* How bytes travel between ranks. A transport moves messages; groups and collective algorithms
 * stand on top of it and work the same over MPI and inside one process. Units: bytes. Thread: one
 * thread per endpoint calls its functions. Order: messages between two ranks with the same tag
 * arrive in the order they were sent. */
#ifndef TP_TRANSPORT_H
#define TP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct tp_endpoint tp_endpoint_t; /* one rank's end of a transport */
typedef struct tp_message tp_message_t;   /* a send or receive under way */
typedef struct tp_groups tp_groups_t;     /* group.h */

#define TP_TAG_BITS 22 /* tags are below 2^22: what Open MPI carries over any network */

typedef struct tp_vtable {
  const char *name; /* "mpi", "self" */
  /* Start a transfer; `data` stays valid until it is done. Any size, but both ends name the same
   * one. */
  hr_status_t (*send)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                      size_t size_bytes, tp_message_t **out_message);
  hr_status_t (*recv)(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                      size_t size_bytes, tp_message_t **out_message);
  /* As `send`, but never done before the receiver has started to receive. */
  hr_status_t (*ssend)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                       size_t size_bytes, tp_message_t **out_message);
  /* Is it done? Frees the message when it is, or when it failed. Does not block.
   * Errors: UNAVAILABLE the peer is gone; DISAGREE it sent another size. */
  hr_status_t (*test)(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done);
  /* Has a message of this tag come from `from`, which nobody receives yet? Does not block. */
  hr_status_t (*probe)(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come);
  /* Gives up a transfer that will not be waited for. A receive does not touch its data any more. */
  void (*cancel)(tp_endpoint_t *endpoint, tp_message_t *message);
  /* Lets others run before the next poll; `polls`: how many in a row found nothing. Returns after a
   * few milliseconds at the latest, whatever happens; where there are hundreds of processes, of
   * tens of milliseconds. */
  void (*backoff)(tp_endpoint_t *endpoint, uint32_t polls);
  /* For tp_close. Orderly end, after which the endpoint is gone; `failed`: this rank gives up, make
   * sure that the others notice and end (over MPI it does not return: the process ends with
   * endpoint->exit_code). */
  void (*close)(tp_endpoint_t *endpoint, bool failed);
} tp_vtable_t;

struct tp_endpoint {
  const tp_vtable_t *vtable;
  int rank, world_size;
  const char *host;           /* name of the machine, for messages */
  int local_rank, local_size; /* among the ranks of this machine */
  bool
      oversubscribed;   /* more ranks than processors here: spinning would take the time of the rank
                         * that is waited for.   The same on all ranks of a machine that share memory */
  bool single_threaded; /* only ever one thread may use it */
  bool shares_memory;   /* ranks of one machine are processes that may share memory */
  struct tp_shm *memory;    /* that it came with, shared with all other ranks; NULL: none */
  bool defers_error_report; /* who closes it as failed has yet to say why: over MPI the job ends
                               when the process does */
  bool desynchronized; /* a transfer failed or was given up: peers may wait for what will never come
                        */
  int exit_code;       /* of the whole job when this rank closes it as failed; 0 stands for 1 */
  tp_groups_t *groups; /* process groups, from the first use of tp_groups_of to tp_close */
  /* Asked between polls of a wait; a failure ends the wait with it (signals, time-outs). May be
   * NULL. */
  hr_status_t (*interrupted)(void *context);
  void *interrupted_context;
};

/* Over MPI. Starts MPI in this process if it has not been started. Called only when the world has
 * peers, or when the user asked for it. Loads the module transport_mpi.so, so that other processes
 * never see libmpi: from $HLORUN_MODULE_DIR, from beside the executable (its folder, .libs and
 * ../lib/hlorun), or from where it was installed. Errors: UNAVAILABLE if the module is missing or
 * MPI cannot start. */
hr_status_t tp_mpi_open(tp_endpoint_t **out_endpoint);
/* The world that a launcher started: over MPI, or over shared memory alone (local_launch.h). */
hr_status_t tp_world_open(tp_endpoint_t **out_endpoint);
/* World size that the launcher (mpirun, srun, hlorun -n) gave this process by environment
 * variables; 0: no launcher. Does not touch MPI. */
int tp_launcher_world_size(void);
int tp_launcher_rank(void); /* 0 without a launcher */
/* All ranks inside one process, a thread each: fills endpoints[0 .. world_size-1]. Waits sleep;
 * nothing polls. */
hr_status_t tp_self_open(int world_size, tp_endpoint_t **endpoints);
/* A world of one: no peers, no threads. */
hr_status_t tp_single_open(tp_endpoint_t **out_endpoint);

/* Measures every algorithm of collectives that the ranks of the world can use, `seconds` for each
 * and each size, and writes the table by which later runs choose (transport/core/coll_tune_table.h)
 * on rank 0: to `path`, NULL being the usual place, which *out_path then names as long as the
 * endpoint lives. All ranks call it together, as the first thing. */
hr_status_t tp_tune(tp_endpoint_t *endpoint, double seconds, const char *path,
                    const char **out_path);

/* Do the variables that name algorithms (HLORUN_ALLREDUCE) name some that there are? Others count
 * for nothing. Errors: USAGE. */
hr_status_t tp_algorithms_check_environment(void);

/* For tests: every transfer that this process starts from now on starts up to `most_ms` late, at
 * random. 0: none does. */
void tp_delay_starts(uint32_t most_ms);

/* Ends an endpoint and what belongs to it; accepts NULL. `failed` as in tp_vtable_t; the job then
 * ends with exit_code. */
void tp_close(tp_endpoint_t *endpoint, bool failed, int exit_code);

#endif
