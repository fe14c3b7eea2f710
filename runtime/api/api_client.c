/* Clients of the embedding API: creation, cancellation, the watchdog of progress, and transfers of
 * the caller.
 * Order:    every use of the endpoint takes a ticket and is served in order (a fair lock), so that
 *           concurrent calls reach the transport in the same order on all ranks.
 * Watchdog: poll_cancel compares the step counter with its value at the last poll; after timeout_s
 *           without a step the wait fails, with a report of the wait-for graph. A wait of a minute
 *           (HLORUN_WATCHDOG) causes a warning. Without a limit the clock is read at one of
 *           CLOCK_POLLS polls only.
 * Threads:  one client per process, or one per thread of a local world. */
#include "api_client.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "observe/step_trace.h"
#include "observe/wait_for_graph.h"
#include "topo/topo.h"
#include "transport/core/event_loop.h"

#define STOPPED_S 1    /* gap between two polls of a wait that means a stopped process, seconds */
#define CLOCK_POLLS 64 /* polls between reads of the clock without a time limit */
#define TRACE_EVENTS 131072 /* default capacity of the timeline: 6 MiB */
#define MAX_TRACE_EVENTS ((size_t)1 << 32)
#define MAX_LOCAL_CLIENTS 1024 /* limited, as each client has a list of all peers */

/* struct_size distinguishes callers built against another version. */
void hlorun_client_options_init(hlorun_client_options_t *options) {
  if (!options) return;
  *options = (hlorun_client_options_t){.struct_size = sizeof *options, .flush_denormals = true};
}

/* Warns of a long wait, each time at twice the duration. A poll of a computation ends the wait. */
static hr_status_t warn_of_stall(hlorun_client_t *client, bool is_wait, double now) {
  api_watchdog_t *watchdog = &client->watchdog;
  if (!is_wait || watchdog->waiting_since_s == 0) {
    watchdog->waiting_since_s = is_wait ? now : 0;
    watchdog->next_warning_s = watchdog->stall_s;
    return NULL;
  }
  double waited_s = now - watchdog->waiting_since_s;
  if (waited_s < watchdog->next_warning_s) return NULL;
  watchdog->next_warning_s *= 2;
  return exec_wait_warn(&client->comm, waited_s);
}

/* Does not count time in which the process was stopped (Ctrl-Z, a suspended job): polls of a wait
 * are milliseconds apart otherwise. */
static void leave_out_stop(hlorun_client_t *client, bool is_wait, double now) {
  api_watchdog_t *watchdog = &client->watchdog;
  double gap_s = now - watchdog->polled_s;
  if (is_wait && watchdog->polled_s > 0 && gap_s > STOPPED_S) {
    watchdog->steps_seen_s += gap_s;
    if (watchdog->waiting_since_s > 0) watchdog->waiting_since_s += gap_s;
  }
  watchdog->polled_s = is_wait ? now : 0;
}

/* Restarts the clock if a step was made since the last call. */
static hr_status_t poll_cancel(hlorun_client_t *client, bool often) {
  api_watchdog_t *watchdog = &client->watchdog;
  HR_TRY(exec_cancel_check(&client->cancel));
  HR_TRY(exec_watch_poll(client->watch));
  HR_TRY(exec_wait_poll(&client->comm, often));
  if (client->options.timeout_s <= 0 &&
      (watchdog->stall_s <= 0 || (often && ++watchdog->polls % CLOCK_POLLS)))
    return NULL;
  unsigned long steps = atomic_load_explicit(&client->progress.steps, memory_order_relaxed);
  double now = hr_clock_s();
  leave_out_stop(client, often, now);
  if (steps != watchdog->steps_seen || watchdog->steps_seen_s == 0) {
    watchdog->steps_seen = steps;
    watchdog->steps_seen_s = now;
    watchdog->waiting_since_s = 0;
    return NULL;
  }
  if (watchdog->stall_s > 0) HR_TRY(warn_of_stall(client, often, now));
  if (client->options.timeout_s <= 0 || now - watchdog->steps_seen_s < client->options.timeout_s)
    return NULL;
  return exec_wait_cancel(&client->comm, now - watchdog->steps_seen_s);
}

/* Poll function of a client that waits for a transfer. Errors end the wait: CANCELLED; DISAGREE
 * from the deadlock detector; DEADLINE after timeout_s without progress. */
static hr_status_t poll_wait(void *client) { return poll_cancel(client, true); }
hr_status_t api_client_computes(void *client) { return poll_cancel(client, false); }

/* State of the wait for peers at start-up, before groups exist. */
typedef struct joining {
  int rank;
  double limit_s, stall_s, start_s; /* 0: no limit, no warning */
} joining_t;

static hr_status_t watch_joining(void *context) {
  joining_t *joining = context;
  double waited_s = hr_clock_s() - joining->start_s;
  if (joining->limit_s > 0 && waited_s > joining->limit_s)
    return hr_error(HR_DEADLINE, "rank %d waited %.3g s for its peers to start", joining->rank,
                    waited_s);
  if (joining->stall_s <= 0 || waited_s <= joining->stall_s) return NULL;
  hr_log(HR_LOG_EXEC, HR_LOG_WARN, "rank %d has waited %.3g s for its peers to start",
         joining->rank, waited_s);
  joining->stall_s = 0;
  return NULL;
}

static hr_status_t join_peers(hlorun_client_t *client, tp_endpoint_t *endpoint) {
  double timeout_s = client->options.timeout_s;
  double limit_s = timeout_s > 0 ? timeout_s + EXEC_START_GRACE_S : 0;
  joining_t joining = {endpoint->rank, limit_s, client->watchdog.stall_s, hr_clock_s()};
  endpoint->interrupted = watch_joining;
  endpoint->interrupted_context = &joining;
  hr_status_t st = exec_comm_init(&client->comm, endpoint);
  endpoint->interrupted = NULL;
  endpoint->interrupted_context = NULL;
  return st;
}

/* Opens MPI if a launcher has started several processes, else a single-process endpoint. */
static hr_status_t open_endpoint(hlorun_world_t world, tp_endpoint_t **out_endpoint) {
  if (world == HLORUN_WORLD_AUTO && tp_launcher_world_size() > 1)
    return tp_world_open(out_endpoint);
  return tp_single_open(out_endpoint);
}

/* The ring of trace events; its first span counts whole executions. */
static hr_status_t open_trace(hlorun_client_t *client) {
  if (!client->options.trace) return NULL;
  HR_TRY(hr_trace_create(client->options.trace_events ? client->options.trace_events : TRACE_EVENTS,
                         &client->trace));
  HR_TRY(exec_trace_plain(client->trace, "execution", HR_TRACE_RUN, &client->executions));
  return client->options.trace_numa ? numa_trace_create(client->trace, &client->numa) : NULL;
}

static const topo_bind_t binds[] = {TOPO_BIND_CORE, TOPO_BIND_NUMA, TOPO_BIND_NONE};

/* Creates the trace before the pool and the groups, which record times only if it exists. */
hr_status_t api_client_over(const hlorun_client_options_t *options, tp_endpoint_t *endpoint,
                            hlorun_client_t **out_client) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_client_t), &memory));
  hlorun_client_t *client = memory;
  client->references = 1;
  client->options = *options;
  client->endpoint = endpoint;
  client->watchdog.stall_s = endpoint->world_size == 1 ? 0 : exec_wait_stall_s();
  hr_status_t st = open_trace(client);
  if (!st) st = join_peers(client, endpoint);
  if (st) {
    numa_trace_destroy(client->numa);
    hr_trace_destroy(client->trace);
    hr_free(client);
    return st;
  }
  worker_pool_init(&client->pool, (worker_pool_options_t){.threads = options->threads,
                                                          .bind = binds[options->bind],
                                                          .local_rank = endpoint->local_rank,
                                                          .local_size = endpoint->local_size,
                                                          .trace = client->trace,
                                                          .numa = client->numa});
  client->comm.processors = tp_loop_note_processors();
  client->comm.groups->notes_times = client->trace != NULL;
  client->comm.count_workers = worker_pool_count;
  client->comm.workers_context = &client->pool;
  client->comm.progress = &client->progress;
  pthread_mutex_init(&client->lock.mutex, NULL);
  pthread_cond_init(&client->lock.ticket_released, NULL);
  endpoint->interrupted = poll_wait;
  endpoint->interrupted_context = client;
  *out_client = client;
  return NULL;
}

/* Binds the calling thread, which also computes, to this process's share of the host. A single
 * process has the whole host and skips the costly inspection of the topology. */
static hr_status_t bind_to_share(const tp_endpoint_t *endpoint, hlorun_bind_t bind) {
  if (endpoint->world_size == 1 || bind == HLORUN_BIND_NONE) return NULL;
  topo_share_t *share;
  HR_TRY(topo_share_create(endpoint->local_rank, endpoint->local_size, &share));
  hr_status_t st = topo_share_bind(share, 0, binds[bind]);
  topo_share_destroy(share);
  return st;
}

/* USAGE with the option's name, its value and its range. */
static hr_status_t option_error(const char *name, long long found, long long minimum,
                                long long maximum) {
  return hr_error(HR_USAGE, "client option %s is %lld, want %lld to %lld", name, found, minimum,
                  maximum);
}

/* Checks all numbers; later functions rely on it. */
static hr_status_t check_options(const hlorun_client_options_t *options) {
  const struct {
    const char *name;
    long long value, maximum;
  } ranges[] = {{"world", (long long)options->world, HLORUN_WORLD_THREADS},
                {"threads", options->threads, INT_MAX},
                {"bind", (long long)options->bind, HLORUN_BIND_NONE},
                {"engine", (long long)options->engine, HLORUN_ENGINE_COMPILED}};
  if (options->struct_size != sizeof *options)
    return hr_error(HR_USAGE, "client options are not initialised");
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (ranges[i].value < 0 || ranges[i].value > ranges[i].maximum)
      return option_error(ranges[i].name, ranges[i].value, 0, ranges[i].maximum);
  if (!(options->timeout_s >= 0))
    return hr_error(HR_USAGE, "client option timeout_s is %g, want 0 or more", options->timeout_s);
  if (options->trace_numa && !options->trace)
    return hr_error(HR_USAGE, "client option trace_numa is set, and trace is not");
  if (options->trace_events > MAX_TRACE_EVENTS)
    return hr_error(HR_USAGE, "client option trace_events is %zu, want at maximum %zu",
                    options->trace_events, MAX_TRACE_EVENTS);
  return NULL;
}

/* On failure the endpoint is closed with the exit code, so that processes that already joined do
 * not wait for this one. */
hlorun_status_t hlorun_client_create(const hlorun_client_options_t *options,
                                     hlorun_client_t **out_client) {
  API_NOT_NULL(options);
  API_NOT_NULL(out_client);
  HR_TRY(check_options(options));
  if (options->world == HLORUN_WORLD_THREADS)
    return hr_error(
        HR_USAGE,
        "clients of a world of threads are created together, by hlorun_clients_create_local");
  tp_endpoint_t *endpoint;
  HR_TRY(open_endpoint(options->world, &endpoint));
  hr_status_t st = bind_to_share(endpoint, options->bind);
  if (!st) st = api_client_over(options, endpoint, out_client);
  endpoint->defers_error_report = st != NULL;
  if (st) tp_close(endpoint, true, hr_status_exit_code(st));
  return st;
}

/* Copies an array to memory shared with peers; *out_value is NULL without shared memory. */
static hr_status_t share_array(hlorun_client_t *client, hlo_value_t *value,
                               hlo_value_t **out_value) {
  hr_buffer_t *bytes = NULL;
  *out_value = NULL;
  HR_TRY(exec_comm_shared_memory(&client->comm, hlo_value_bytes(value), &bytes));
  if (!bytes) return NULL;
  hr_status_t st = hlo_value_over(value->dtype, value->rank, value->dims, bytes, 0, out_value);
  hr_buffer_release(bytes);
  if (!st) memcpy((*out_value)->data, value->data, hlo_value_bytes(value));
  return st;
}

hlorun_status_t hlorun_buffer_share(hlorun_client_t *client, hlorun_buffer_t **buffer) {
  hlo_value_t *shared;
  API_NOT_NULL(client);
  API_NOT_NULL(buffer);
  API_NOT_NULL(*buffer);
  if (!(*buffer)->data || exec_comm_reaches(&client->comm, (*buffer)->data)) return NULL;
  HR_TRY(share_array(client, *buffer, &shared));
  if (!shared) return NULL;
  hlo_value_release(*buffer);
  *buffer = shared;
  return NULL;
}

/* Creates all or none: after a failure, created clients are closed with its exit code, which their
 * peers report. */
hlorun_status_t hlorun_clients_create_local(const hlorun_client_options_t *options, int count,
                                            hlorun_client_t **out_clients) {
  API_NOT_NULL(options);
  API_NOT_NULL(out_clients);
  HR_TRY(check_options(options));
  if (count < 1 || count > MAX_LOCAL_CLIENTS)
    return hr_error(HR_USAGE, "%d clients, want 1 to %d", count, MAX_LOCAL_CLIENTS);
  tp_endpoint_t **endpoints;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof *endpoints, &memory));
  endpoints = memory;
  hr_status_t st = tp_self_open(count, endpoints);
  int created = 0;
  while (!st && created < count &&
         !(st = api_client_over(options, endpoints[created], &out_clients[created])))
    created++;
  for (int i = 0; st && i < created; i++)
    hlorun_client_release(out_clients[i], hr_status_exit_code(st));
  for (int i = created; st && i < count; i++) tp_close(endpoints[i], true, hr_status_exit_code(st));
  hr_free(endpoints);
  return st;
}

/* Relaxed: the caller has a reference already. */
void api_client_retain(hlorun_client_t *client) {
  __atomic_fetch_add(&client->references, 1, __ATOMIC_RELAXED);
}

void api_client_share_workers(hlorun_client_t *client, hlorun_client_t *pool_owner) {
  api_client_retain(pool_owner);
  client->pool_owner = pool_owner;
  worker_pool_share(&client->pool, &pool_owner->pool);
}

/* The last reference closes the endpoint; an exit code other than 0 tells peers that this rank
 * failed. */
void hlorun_client_release(hlorun_client_t *client, int exit_code) {
  if (!client || __atomic_fetch_sub(&client->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  worker_pool_deinit(&client->pool);
  exec_watch_destroy(client->watch);
  exec_comm_deinit(&client->comm);
  tp_close(client->endpoint, exit_code != 0, exit_code);
  hlorun_client_release(client->whole, 0);
  hlorun_client_release(client->pool_owner, 0);
  numa_trace_destroy(client->numa);
  hr_trace_destroy(client->trace);
  pthread_mutex_destroy(&client->lock.mutex);
  pthread_cond_destroy(&client->lock.ticket_released);
  hr_free(client);
}

int hlorun_client_rank(const hlorun_client_t *client) {
  return client ? client->endpoint->rank : -1;
}
int hlorun_client_world_size(const hlorun_client_t *client) {
  return client ? client->endpoint->world_size : 0;
}

/* The first reason stays; programs see it at their next poll. Thread: any. */
void hlorun_client_cancel(hlorun_client_t *client, const char *reason) {
  if (!client) return;
  pthread_mutex_lock(&client->lock.mutex);
  if (!atomic_load(&client->cancel.reason)) {
    snprintf(client->cancel_reason, sizeof client->cancel_reason, "%s",
             reason ? reason : "the client was cancelled");
    atomic_store(&client->cancel.reason, client->cancel_reason);
  }
  pthread_mutex_unlock(&client->lock.mutex);
}

/* Impossible with peers: they have started transfers that were never completed. */
hlorun_status_t hlorun_client_resume(hlorun_client_t *client) {
  API_NOT_NULL(client);
  if (client->endpoint->world_size > 1)
    return hr_error(HR_USAGE,
                    "a client with %d peers cannot resume after cancellation: create new clients",
                    client->endpoint->world_size - 1);
  api_client_lock_fair(client);
  pthread_mutex_lock(&client->lock.mutex);
  atomic_store(&client->cancel.reason, NULL);
  pthread_mutex_unlock(&client->lock.mutex);
  api_client_unlock_fair(client);
  return NULL;
}

/* Not safe in a signal handler. */
void hlorun_client_print_state(hlorun_client_t *client) {
  char text[512];
  if (!client) return;
  exec_wait_describe(&client->comm, atomic_load(&client->current), text, sizeof text);
  fprintf(stderr, "rank %d %s\n", client->endpoint->rank, text);
  exec_wait_query(&client->comm);
}

/* Tickets are numbers in the order of the calls; peers must take theirs in the same order. */
uint64_t api_client_take_ticket(hlorun_client_t *client) {
  pthread_mutex_lock(&client->lock.mutex);
  uint64_t ticket = client->lock.next_ticket++;
  pthread_mutex_unlock(&client->lock.mutex);
  return ticket;
}

/* Resets the watchdog: time between two holders of the lock is neither a wait nor a stopped
 * process.
 */
static void restart_watchdog(hlorun_client_t *client) {
  client->watchdog.steps_seen_s = 0;
  client->watchdog.waiting_since_s = 0;
  client->watchdog.polled_s = 0;
}

/* Blocks until all earlier tickets are served. Each holder resets the watchdog. */
void api_client_await_ticket(hlorun_client_t *client, uint64_t ticket) {
  pthread_mutex_lock(&client->lock.mutex);
  while (client->lock.now_serving != ticket)
    pthread_cond_wait(&client->lock.ticket_released, &client->lock.mutex);
  pthread_mutex_unlock(&client->lock.mutex);
  restart_watchdog(client);
  atomic_store(&client->lock.holder, pthread_self());
  atomic_store(&client->lock.depth, 1);
}

/* The outermost unlock serves the next ticket; waiters wake and compare theirs. */
void api_client_unlock_fair(hlorun_client_t *client) {
  if (atomic_fetch_sub(&client->lock.depth, 1) > 1) return;
  pthread_mutex_lock(&client->lock.mutex);
  client->lock.now_serving++;
  pthread_cond_broadcast(&client->lock.ticket_released);
  pthread_mutex_unlock(&client->lock.mutex);
}

/* A recursive call by the holder only increments the depth. */
void api_client_lock_fair(hlorun_client_t *client) {
  if (atomic_load(&client->lock.depth) &&
      pthread_equal(atomic_load(&client->lock.holder), pthread_self())) {
    atomic_fetch_add(&client->lock.depth, 1);
    return;
  }
  api_client_await_ticket(client, api_client_take_ticket(client));
}

hlorun_status_t hlorun_client_barrier(hlorun_client_t *client) {
  API_NOT_NULL(client);
  api_client_lock_fair(client);
  hr_status_t st = exec_comm_barrier(&client->comm);
  api_client_unlock_fair(client);
  return st;
}

/* Only rank 0 needs `out`; every process checks the total size. */
hlorun_status_t hlorun_client_gather(hlorun_client_t *client, const void *bytes, size_t size_bytes,
                                     void *out) {
  API_NOT_NULL(client);
  API_NOT_NULL_FOR(size_bytes, bytes);
  if (!client->endpoint->rank) API_NOT_NULL_FOR(size_bytes, out);
  if (size_bytes > (size_t)PTRDIFF_MAX / (size_t)client->endpoint->world_size)
    return hr_error(HR_USAGE, "%zu bytes of each of %d processes do not fit into memory",
                    size_bytes, client->endpoint->world_size);
  api_client_lock_fair(client);
  hr_status_t st = exec_comm_gather(&client->comm, bytes, size_bytes, out);
  api_client_unlock_fair(client);
  return st;
}

/* Checks that the peer is another rank of the world and the size is below the limit of pointers. */
static hr_status_t check_peer(const hlorun_client_t *client, int peer, size_t size_bytes) {
  const tp_endpoint_t *endpoint = client->endpoint;
  if (peer < 0 || peer >= endpoint->world_size || peer == endpoint->rank)
    return hr_error(HR_USAGE, "rank %d is not a peer of rank %d, want another rank from 0 to %d",
                    peer, endpoint->rank, endpoint->world_size - 1);
  if (size_bytes > PTRDIFF_MAX)
    return hr_error(HR_USAGE, "%zu bytes do not fit into memory", size_bytes);
  return NULL;
}

hlorun_status_t hlorun_client_send(hlorun_client_t *client, int to, const void *bytes,
                                   size_t size_bytes) {
  API_NOT_NULL(client);
  API_NOT_NULL_FOR(size_bytes, bytes);
  HR_TRY(check_peer(client, to, size_bytes));
  api_client_lock_fair(client);
  hr_status_t st = exec_comm_send(&client->comm, to, bytes, size_bytes);
  api_client_unlock_fair(client);
  return st;
}

hlorun_status_t hlorun_client_recv(hlorun_client_t *client, int from, void *bytes,
                                   size_t size_bytes) {
  API_NOT_NULL(client);
  API_NOT_NULL_FOR(size_bytes, bytes);
  HR_TRY(check_peer(client, from, size_bytes));
  api_client_lock_fair(client);
  hr_status_t st = exec_comm_recv(&client->comm, from, bytes, size_bytes);
  api_client_unlock_fair(client);
  return st;
}

hr_status_t api_client_shift(hlorun_client_t *client, const void *bytes, void *out,
                             size_t size_bytes) {
  int rank = client->endpoint->rank, size = client->endpoint->world_size;
  api_client_lock_fair(client);
  hr_status_t st = exec_comm_shift(&client->comm, (rank + 1) % size, bytes,
                                   (rank + size - 1) % size, out, size_bytes);
  api_client_unlock_fair(client);
  return st;
}
