/* Transports: tagged messages between ranks. Groups and collective algorithms are built on a table
 * of functions (tp_vtable_t) and work over MPI, over shared memory and inside one process.
 * Units:   bytes.
 * Order:   messages between two ranks with the same tag match in the order in which they were sent
 *          and posted.
 * Thread:  one thread at a time calls the functions of an endpoint (progress.h has the lock). */
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

#define TP_TAG_BITS 22 /* tags are below 2^22: Open MPI's limit over some networks */

typedef struct tp_vtable {
  const char *name; /* "mpi", "self" */
  /* Start a message. `data` belongs to the message until it is done. Any size is allowed, including
   * 0; sizes are equal at both ends. */
  hr_status_t (*send)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                      size_t size_bytes, tp_message_t **out_message);
  hr_status_t (*recv)(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                      size_t size_bytes, tp_message_t **out_message);
  /* Synchronous send, like MPI_Issend: not done before its receive has been posted. */
  hr_status_t (*ssend)(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                       size_t size_bytes, tp_message_t **out_message);
  /* Tests for completion, without blocking. Frees the message when it is done or has failed.
   * Errors: UNAVAILABLE the peer is gone; DISAGREE it sent another size. */
  hr_status_t (*test)(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done);
  /* Tests, without blocking, whether a message with this tag has arrived for which no receive was
   * posted. */
  hr_status_t (*probe)(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come);
  /* Cancels and frees a message. Its data is not accessed afterwards. The endpoint then counts as
   * desynchronized. */
  void (*cancel)(tp_endpoint_t *endpoint, tp_message_t *message);
  /* Waits before the next poll; `polls`: failed polls in a row so far. Returns after a few
   * milliseconds at the latest, with hundreds of processes after tens of milliseconds. */
  void (*backoff)(tp_endpoint_t *endpoint, uint32_t polls);
  /* Implements tp_close: an orderly end, which frees the endpoint. `failed`: this rank ends early,
   * and the others must notice; over MPI and shared memory the process exits with
   * endpoint->exit_code. */
  void (*close)(tp_endpoint_t *endpoint, bool failed);
} tp_vtable_t;

struct tp_endpoint {
  const tp_vtable_t *vtable;
  int rank, world_size;
  int tag_bits;               /* bits of its tags: at least TP_TAG_BITS, unless MPI has fewer */
  const char *host;           /* name of the machine, for messages */
  int local_rank, local_size; /* position among the ranks of this machine, and their number */
  /* More ranks than processors on this machine: a spinning rank takes time from the rank that it
   * waits for. Equal on all ranks of a machine that share memory. */
  bool oversubscribed;
  bool
      single_threaded; /* only the thread that opened the endpoint may use it: no progress thread */
  bool shares_memory;  /* ranks are processes, which can share memory on a machine */
  struct tp_shm *memory;    /* inherited memory of all ranks (local_launch.h); NULL: none */
  bool defers_error_report; /* a failure is reported after tp_close, which must not end the job */
  bool desynchronized;      /* a message failed or was cancelled: peers may wait for it forever */
  int exit_code; /* exit code of the whole job when this rank closes it as failed; 0 means 1 */
  tp_groups_t *groups; /* process groups, from the first call of tp_groups_of to tp_close */
  /* Called between polls of a wait; a failure ends the wait (signals, time-outs). May be NULL. */
  hr_status_t (*interrupted)(void *context);
  void *interrupted_context;
};

/* The transport over MPI. Starts MPI in this process if it has not been started. Called only if the
 * world has peers, or at the user's request. Loads the module transport_mpi.so, so that other
 * processes never load libmpi: from $HLORUN_MODULE_DIR, from folders relative to the executable
 * (its own, .libs and ../lib/hlorun), or from the installation. Errors: UNAVAILABLE if the module
 * is missing or MPI cannot start. */
hr_status_t tp_mpi_open(tp_endpoint_t **out_endpoint);
/* The world that a launcher started: over MPI, or over shared memory alone (local_launch.h). */
hr_status_t tp_world_open(tp_endpoint_t **out_endpoint);
/* World size that the launcher (mpirun, srun, hlorun -n) gave this process by environment
 * variables; 0: no launcher. Does not touch MPI. */
int tp_launcher_world_size(void);
/* Number of machines by the launcher's variables; 1 if they do not say. The same number in all
 * processes. */
int tp_launcher_machines(void);
int tp_launcher_rank(void); /* 0 without a launcher */
/* A world of processes of one machine that no launcher started, and that can tell each other a
 * text. Rank 0 makes memory for all; the text says where it is. Errors: UNAVAILABLE. */
#define TP_PLACE_BYTES 256
hr_status_t tp_place(int processes, char out_place[TP_PLACE_BYTES]);
/* Every rank joins by the text: from then on it is as if it had been launched. Rank 0 has to live
 * until all have joined. Errors: UNAVAILABLE on another machine than rank 0.
 * Thread: one, before others ask for the launcher. */
hr_status_t tp_join(int processes, int rank, const char *place);
/* All ranks are threads of one process: fills endpoints[0 .. world_size-1]. Waits sleep; nothing
 * polls. */
hr_status_t tp_self_open(int world_size, tp_endpoint_t **endpoints);
/* A world of one: no peers, no threads. */
hr_status_t tp_single_open(tp_endpoint_t **out_endpoint);

/* Measures every collective algorithm that the ranks of the world can use, `seconds` for each
 * algorithm and size; rank 0 writes the table by which later runs choose (coll_tune_table.h) to
 * `path`; NULL: the default path. *out_path is the path written and lives as long as the endpoint.
 * Collective over the world, before any other transfer. */
hr_status_t tp_tune(tp_endpoint_t *endpoint, double seconds, const char *path,
                    const char **out_path);

/* Checks that the variables that force algorithms (HLORUN_ALLREDUCE, ...) name existing ones.
 * Errors: USAGE. */
hr_status_t tp_algorithms_check_environment(void);

/* For tests: delays the start of each transfer of this process by a random time up to `most_ms`, in
 * ms. 0: no delays. */
void tp_delay_starts(uint32_t most_ms);

/* For tests: inverts one bit of the n-th message with a payload that this process receives after
 * tp_flip_begin, which is called when the first program is loaded. 0: none. */
void tp_flip_message(uint64_t n);
void tp_flip_begin(void);

/* Ends an endpoint and everything that it owns; accepts NULL. `failed` as in tp_vtable_t; the job
 * then ends with exit_code. */
void tp_close(tp_endpoint_t *endpoint, bool failed, int exit_code);

#endif
