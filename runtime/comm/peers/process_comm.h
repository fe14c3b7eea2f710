/* The collectives of op_env_t on top of a transport: one per client, over its endpoint. */
#ifndef EXEC_PROCESS_COMM_H
#define EXEC_PROCESS_COMM_H

#include <stdatomic.h>

#include "ops/kernels/kernel.h"
#include "transport/core/collective.h"

struct exec_progress; /* observe/progress_counter.h */
struct exec_graph;    /* observe/wait_for_graph.c */

typedef struct exec_comm {
  tp_groups_t *groups; /* of the endpoint */
  hr_map_t resolved;   /* op_group_t by the address of its tp_group_t */
  hr_arena_t arena;
  const hlo_instr_t
      *awaited_instr; /* the start of the transfer that is being waited for; NULL: none */
  bool is_waiting;    /* for a transfer */
  int awaited_rank;   /* its other end; -1: none */
  const struct exec_progress *progress; /* of the process; NULL: not known */
  /* For transfers that outlive a step: may the program wait for others than peers meanwhile, and
   * what computes here. */
  bool waits_for_others;
  int processors; /* that this process may use; 0: unknown */
  hr_status_t (*count_workers)(void *context, int *out_count); /* NULL: one */
  void *workers_context;
  struct exec_graph *graph;                  /* state of the wait-for graph; NULL: none yet */
  void (*end_graph)(struct exec_comm *comm); /* releases `graph`; NULL while there is none */
  atomic_bool wants_graph;                   /* somebody asked who waits for whom */
} exec_comm_t;

/* The endpoint stays the caller's and must outlive the comm. */
hr_status_t exec_comm_init(exec_comm_t *comm, tp_endpoint_t *endpoint);
void exec_comm_deinit(exec_comm_t *comm);
/* Fills in the collective functions of an environment. Signature of
 * exec_machine_options_t.attach_comm. */
hr_status_t exec_comm_attach(op_env_t *env, void *comm);

/* Memory that other processes of this machine reach; NULL: there is none, or so little is asked for
 * that copying it is as fast. Any thread. */
hr_status_t exec_comm_shared_memory(exec_comm_t *comm, size_t size_bytes, hr_buffer_t **out_buffer);
bool exec_comm_reaches(const exec_comm_t *comm, const void *memory); /* is it there? */

/* For clients, outside of programs; they wait. All ranks call these together: */
hr_status_t exec_comm_barrier(exec_comm_t *comm);
/* Collects `size_bytes` of every rank in rank 0's `out` (ignored elsewhere). */
hr_status_t exec_comm_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes, void *out);
/* Every rank's bytes in everybody's `out`. */
hr_status_t exec_comm_all_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes,
                                 void *out);
hr_status_t exec_comm_broadcast(exec_comm_t *comm, int root, void *bytes, size_t size_bytes);
/* Only the two ends call these: */
hr_status_t exec_comm_send(exec_comm_t *comm, int to, const void *bytes, size_t size_bytes);
hr_status_t exec_comm_recv(exec_comm_t *comm, int from, void *bytes, size_t size_bytes);

#endif
