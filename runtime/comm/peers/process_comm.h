/* The collectives of op_env_t over the transport: one per client, on its endpoint. This layer is
 * below observe/, which extends it by the hooks of exec_comm_t. Errors: UNAVAILABLE if a peer is
 * lost; CANCELLED; DEADLINE. */
#ifndef EXEC_PROCESS_COMM_H
#define EXEC_PROCESS_COMM_H

#include <stdatomic.h>

#include "ops/kernels/kernel.h"
#include "transport/core/collective.h"

struct exec_progress; /* observe/progress_counter.h */
struct exec_graph;    /* observe/wait_for_graph.c */

typedef struct exec_comm {
  tp_groups_t *groups; /* groups of the endpoint */
  hr_map_t resolved;   /* cache: op_group_t by address of the tp_group_t */
  hr_arena_t arena;
  const hlo_instr_t *awaited_instr;     /* start of the awaited transfer; NULL: none */
  bool is_waiting;                      /* this process waits for a transfer */
  int awaited_rank;                     /* peer of the awaited transfer; -1: none */
  const struct exec_progress *progress; /* progress of the process; NULL: unknown */
  /* Inputs of the decision whether to start a progress thread. */
  bool waits_for_others;
  int processors; /* processors that this process may use; 0: unknown */
  hr_status_t (*count_workers)(void *context, int *out_count); /* NULL: one */
  void *workers_context;
  struct exec_graph *graph;                  /* state of the wait-for graph; NULL: none yet */
  void (*end_graph)(struct exec_comm *comm); /* releases `graph`; NULL while there is none */
  atomic_bool wants_graph;                   /* a report of the wait-for graph is requested */
} exec_comm_t;

/* Owner: borrows the endpoint, which must outlive the comm. */
hr_status_t exec_comm_init(exec_comm_t *comm, tp_endpoint_t *endpoint);
void exec_comm_deinit(exec_comm_t *comm);
/* Installs the collective functions in an environment. Signature of
 * exec_machine_options_t.attach_comm. */
hr_status_t exec_comm_attach(op_env_t *env, void *comm);

/* Allocates memory shared with the processes of this host. *out_buffer is NULL if there is none, or
 * if the size is too small for a gain. Thread: any. */
hr_status_t exec_comm_shared_memory(exec_comm_t *comm, size_t size_bytes, hr_buffer_t **out_buffer);
/* True if all processes share memory and no algorithm is forced for all-gathers. */
bool exec_comm_shares_world(const exec_comm_t *comm);
bool exec_comm_reaches(const exec_comm_t *comm, const void *memory); /* true if it is shared */

/* Blocking operations for clients, outside of programs. Buffers are borrowed until the return.
 * Collective: */
hr_status_t exec_comm_barrier(exec_comm_t *comm);
/* Collects `size_bytes` of every rank in rank 0's `out` (ignored elsewhere). */
hr_status_t exec_comm_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes, void *out);
/* Gathers `size_bytes` of every rank in every rank's `out`, by rank. */
hr_status_t exec_comm_all_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes,
                                 void *out);
hr_status_t exec_comm_broadcast(exec_comm_t *comm, int root, void *bytes, size_t size_bytes);
/* Called by the two ends only: */
hr_status_t exec_comm_send(exec_comm_t *comm, int to, const void *bytes, size_t size_bytes);
hr_status_t exec_comm_recv(exec_comm_t *comm, int from, void *bytes, size_t size_bytes);
/* Sends to rank `to` and receives as many bytes from rank `from`, at the same time. Called by all
 * ranks of a ring. */
hr_status_t exec_comm_shift(exec_comm_t *comm, int to, const void *bytes, int from, void *out,
                            size_t size_bytes);

#endif
