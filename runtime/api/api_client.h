/* A client of the embedding API: one process's place in the world, what runs there and whose turn
 * it is. */
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
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  exec_watch_t *watch; /* NULL: no program is verified while it runs */
  exec_cancel_t cancel;
  char cancel_reason[256];
  worker_pool_t pool;
  /* What uses the endpoint does so in turn, in the order of the calls. */
  pthread_mutex_t mutex;
  pthread_cond_t ticket_released;
  uint64_t next_ticket, now_serving;
  /* Watchdog of waits and loops: when the step counter last moved. */
  exec_progress_t progress;
  _Atomic(const hlo_instr_t *) current; /* that runs */
  unsigned long steps_seen;
  double steps_seen_s;
  hr_trace_t *trace; /* NULL: none */
  hr_trace_span_t *executions;
};

/* Another reference; hlorun_client_release() drops it. */
void api_client_retain(hlorun_client_t *client);

/* What uses the endpoint does so in turn, in the order of the tickets. From any thread. */
uint64_t api_client_take_ticket(hlorun_client_t *client);
void api_client_await_ticket(hlorun_client_t *client, uint64_t ticket);
void api_client_unlock_fair(hlorun_client_t *client);

/* A ticket, and its turn. */
void api_client_lock_fair(hlorun_client_t *client);

/* Called, with the client, while a transfer is waited for: an error ends the wait (cancelled,
 * refused by a peer, or no step made for as long as the client's timeout). */
hr_status_t api_client_interrupted(void *client);
/* The same, called now and then while the program computes. */
hr_status_t api_client_computes(void *client);

#endif
