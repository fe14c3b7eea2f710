/* Internal: a client of the embedding API. The endpoint is used under a fair lock, in the order of
 * the calls, which must be the same on all ranks. */
#ifndef HLORUN_API_CLIENT_H
#define HLORUN_API_CLIENT_H

#include <pthread.h>

#include "comm/peers/process_comm.h"
#include "exec/machine.h"
#include "exec/worker_pool.h"
#include "hlorun.h"
#include "observe/explain.h"
#include "observe/verify_comm.h"
#include "transport/core/transport.h"

struct hlorun_client {
  int references;
  hlorun_client_options_t options;
  hlorun_client_t *whole; /* whose world this client's is a part of; NULL: none. Retained */
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  exec_watch_t *watch; /* NULL: no program with verify_comm */
  exec_cancel_t cancel;
  char cancel_reason[256];
  worker_pool_t pool;
  hlorun_client_t *pool_owner; /* whose workers it uses; NULL: its own. Retained */
  /* Fair lock of the endpoint: tickets, and the one being served. */
  pthread_mutex_t mutex;
  pthread_cond_t ticket_released;
  uint64_t next_ticket, now_serving;
  _Atomic(pthread_t) holder; /* thread that has the lock, while depth is not 0 */
  atomic_int depth;          /* how often the holder has it: a function of the caller, called by a
                                program, may run another program */
  /* Watchdog of waits and loops: when the step counter last moved. */
  exec_progress_t progress;
  _Atomic(const hlo_instr_t *) current; /* current instruction; NULL: none */
  unsigned long steps_seen;
  double steps_seen_s; /* 0: the watchdog has just started */
  unsigned polls;
  double stall_s;         /* length of a wait that is warned of; 0: none is */
  double waiting_since_s; /* when the wait began; 0: it is no wait */
  double next_warning_s;  /* length of it at the next warning */
  double polled_s;        /* last poll of a wait; 0: the last one was none */
  hr_trace_t *trace;      /* NULL: the client does not trace */
  hr_trace_span_t *executions;
  numa_trace_t *numa; /* NULL: without options.trace_numa */
};

/* A client on an endpoint, which it takes over if it succeeds. Collective over the endpoint's world
 * where that shares memory. */
hr_status_t api_client_over(const hlorun_client_options_t *options, tp_endpoint_t *endpoint,
                            hlorun_client_t **out_client);

/* Calls fn(context, k) for k from 0 to count - 1, each in a thread of its own, the first in the
 * calling one: what blocks until all ranks of this process come to it. Joins the failures. */
hr_status_t api_each_rank(int count, hr_status_t (*fn)(void *context, int k), void *context);

/* The client's programs use the workers of another one from now on; it has loaded none yet. Owner:
 * it keeps the other. */
void api_client_share_workers(hlorun_client_t *client, hlorun_client_t *pool_owner);

/* Another reference; hlorun_client_release() drops it. */
void api_client_retain(hlorun_client_t *client);

/* The fair lock in two parts: a ticket fixes the order, awaiting it acquires the lock. Thread: any.
 */
uint64_t api_client_take_ticket(hlorun_client_t *client);
void api_client_await_ticket(hlorun_client_t *client, uint64_t ticket);
void api_client_unlock_fair(hlorun_client_t *client);

/* Both parts at once. The thread that has the lock gets it once more. */
void api_client_lock_fair(hlorun_client_t *client);

/* Sends the bytes to the next rank and receives as many from the one before. All ranks call it at
 * the same place of their order of transfers. Errors: as hlorun_client_recv. */
hr_status_t api_client_shift(hlorun_client_t *client, const void *bytes, void *out,
                             size_t size_bytes);

/* Polled with the client while it waits for a transfer. Errors end the wait: CANCELLED; DISAGREE by
 * the deadlock detector; DEADLINE after timeout_s without progress. */
hr_status_t api_client_interrupted(void *client);
/* The same, polled occasionally while the program computes. */
hr_status_t api_client_computes(void *client);

#endif
