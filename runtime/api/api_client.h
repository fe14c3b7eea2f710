/* Internal: a client of the embedding API. A fair lock guards the endpoint: calls get it in their
 * order, which must be the same on all ranks. */
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

/* A lock that threads get in the order in which they took their tickets. */
typedef struct api_fair_lock {
  pthread_mutex_t mutex;
  pthread_cond_t ticket_released;
  uint64_t next_ticket, now_serving; /* ticket to hand out next; ticket being served */
  _Atomic(pthread_t) holder;         /* thread that has the lock, while depth is not 0 */
  atomic_int depth;                  /* recursion depth: a program may call a function of the
                                        caller that runs another program */
} api_fair_lock_t;

/* Watchdog of waits and loops: value of the step counter, and when it last changed. */
typedef struct api_watchdog {
  unsigned long steps_seen;
  double steps_seen_s; /* 0: the watchdog has just started */
  unsigned polls;
  double stall_s;         /* duration of a wait at the first warning; 0: no warnings */
  double waiting_since_s; /* begin of the wait; 0: not in a wait */
  double next_warning_s;  /* duration of the wait at the next warning */
  double polled_s;        /* time of the last poll of a wait; 0: the last poll was not in a wait */
} api_watchdog_t;

struct hlorun_client {
  int references;
  hlorun_client_options_t options;
  hlorun_client_t *whole; /* client of the whole world, retained; NULL: this world is no part */
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  exec_watch_t *watch; /* NULL: no program with verify_comm */
  exec_cancel_t cancel;
  char cancel_reason[256];
  worker_pool_t pool;
  hlorun_client_t *pool_owner; /* client whose workers are used, retained; NULL: this one */
  api_fair_lock_t lock;        /* guards the endpoint */
  exec_progress_t progress;
  _Atomic(const hlo_instr_t *) current; /* current instruction; NULL: none */
  api_watchdog_t watchdog;
  hr_trace_t *trace; /* NULL: the client does not trace */
  hr_trace_span_t *executions;
  numa_trace_t *numa; /* NULL: without options.trace_numa */
};

/* Creates a client on an endpoint, which it owns on success. Collective over the endpoint's world
 * if that shares memory. */
hr_status_t api_client_over(const hlorun_client_options_t *options, tp_endpoint_t *endpoint,
                            hlorun_client_t **out_client);

/* Calls fn(context, k) for k from 0 to count - 1, each in its own thread, the first in the calling
 * one, for functions that block until all ranks of this process call them. Joins the failures. */
hr_status_t api_each_rank(int count, hr_status_t (*fn)(void *context, int k), void *context);

/* Makes the client, which has no programs yet, use the workers of another client. Owner: it retains
 * the other client. */
void api_client_share_workers(hlorun_client_t *client, hlorun_client_t *pool_owner);

/* Adds a reference; hlorun_client_release() drops it. */
void api_client_retain(hlorun_client_t *client);

/* The fair lock in two parts: a ticket fixes the order, awaiting it acquires the lock. Thread: any.
 */
uint64_t api_client_take_ticket(hlorun_client_t *client);
void api_client_await_ticket(hlorun_client_t *client, uint64_t ticket);
void api_client_unlock_fair(hlorun_client_t *client);

/* Both parts at once. The lock is recursive. */
void api_client_lock_fair(hlorun_client_t *client);

/* Sends the bytes to the next rank and receives as many from the previous one. Collective. Errors:
 * as hlorun_client_recv. */
hr_status_t api_client_shift(hlorun_client_t *client, const void *bytes, void *out,
                             size_t size_bytes);

/* Poll function of a client that computes, called occasionally. Errors: CANCELLED; DISAGREE from
 * the deadlock detector; DEADLINE after timeout_s without progress. */
hr_status_t api_client_computes(void *client);

#endif
