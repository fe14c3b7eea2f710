/* Adapter from the collective functions of op_env_t to the transport's groups, and blocking
 * collectives for clients. Groups are created once and cached by members and stream.
 *
 * Progress: transfers in flight are advanced by polls between steps. A progress thread is started
 *           only if the process has a processor to spare for it, or if the program also waits for
 *           feeds.
 * Failures: a client collective that fails leaves peers waiting, so the endpoint is marked
 *           desynchronized and the job aborts at close. */
#include "comm/peers/process_comm.h"

#include "base/mem.h"
#include "base/trace.h"
#include "transport/core/progress.h"

#define MIN_SHARED_BYTES ((size_t)32 << 10) /* smaller arrays are copied as fast */

/* --- groups --- */

static hr_status_t add_group(exec_comm_t *comm, tp_group_t *group, const op_group_t **out_group) {
  tp_group_t **key;
  op_group_t *made;
  HR_TRY(HR_NEW(&comm->arena, &key));
  HR_TRY(HR_NEW(&comm->arena, &made));
  *key = group;
  *made = (op_group_t){
      .size = group->size, .my_index = group->my_index, .ranks = group->ranks, .handle = group};
  HR_TRY(hr_map_put(&comm->resolved, (hr_str_t){(const char *)key, sizeof *key}, made, NULL));
  *out_group = made;
  return NULL;
}

static hr_status_t find_group(op_env_t *env, int size, const int *ranks, int64_t stream,
                              const op_group_t **out_group) {
  exec_comm_t *comm = env->comm;
  tp_group_t *group;
  HR_TRY(tp_group_get(comm->groups, size, ranks, stream, &group));
  *out_group = hr_map_get(&comm->resolved, (hr_str_t){(const char *)&group, sizeof group});
  return *out_group ? NULL : add_group(comm, group, out_group);
}

/* --- the environment's functions --- */

static tp_request_t **as_tp_request(op_request_t **out_request) {
  return (tp_request_t **)out_request;
}

static hr_status_t all_gather(op_env_t *env, const op_group_t *group, const void *in,
                              size_t size_bytes, void *out, op_request_t **out_request) {
  (void)env;
  return tp_all_gather(group->handle, in, size_bytes, out, as_tp_request(out_request));
}

static hr_status_t all_reduce(op_env_t *env, const op_group_t *group, const void *in, void *out,
                              int64_t count, const hr_reducer_t *reducer,
                              op_request_t **out_request) {
  (void)env;
  return tp_all_reduce(group->handle, in, out, count, reducer, as_tp_request(out_request));
}

static hr_status_t reduce_scatter(op_env_t *env, const op_group_t *group, const void *in,
                                  int64_t count, const hr_reducer_t *reducer, void *out,
                                  op_request_t **out_request) {
  (void)env;
  return tp_reduce_scatter(group->handle, in, count, reducer, out, as_tp_request(out_request));
}

static hr_status_t all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                              const hr_block_t *recvs, size_t equal_bytes,
                              op_request_t **out_request) {
  (void)env;
  return tp_all_to_all(group->handle, sends, recvs, equal_bytes, as_tp_request(out_request));
}

static hr_status_t permute(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                           const hr_block_t *recv, op_request_t **out_request) {
  exec_comm_t *comm = env->comm;
  return tp_permute(comm->groups, stream, to, send, from, recv, as_tp_request(out_request));
}

static hr_status_t wait_request(op_env_t *env, op_request_t *request) {
  exec_comm_t *comm = env->comm;
  comm->is_waiting = true;
  uint64_t over_ns =
      request && comm->groups->notes_times ? tp_request_over_ns((tp_request_t *)request) : 0;
  hr_status_t st = tp_request_wait((tp_request_t *)request);
  comm->is_waiting = false;
  if (comm->groups->notes_times && !over_ns) over_ns = hr_clock_ns();
  if (env->transfers.arrived_ns < over_ns) env->transfers.arrived_ns = over_ns;
  return st;
}

/* Starts a progress thread if it gets a processor of its own. Otherwise it would compete with
 * computing processes, and the engines' polls between steps suffice. */
static hr_status_t enable_async_progress(op_env_t *env) {
  exec_comm_t *comm = env->comm;
  int workers = 1, ranks = comm->groups->endpoint->local_size;
  if (comm->groups->progress) return NULL;
  if (comm->waits_for_others || tp_progress_is_forced()) return tp_progress_begin(comm->groups);
  if (comm->count_workers) HR_TRY(comm->count_workers(comm->workers_context, &workers));
  return comm->processors > workers * ranks ? tp_progress_begin(comm->groups) : NULL;
}

static void poll_transfers(op_env_t *env) { tp_requests_poll(((exec_comm_t *)env->comm)->groups); }

static void free_shared(void *owner, void *data, size_t size_bytes) {
  (void)size_bytes;
  tp_free(owner, data);
}

hr_status_t exec_comm_shared_memory(exec_comm_t *comm, size_t size_bytes,
                                    hr_buffer_t **out_buffer) {
  void *owner,
      *memory = size_bytes < MIN_SHARED_BYTES ? NULL : tp_alloc(comm->groups, size_bytes, &owner);
  *out_buffer = NULL;
  if (!memory) return NULL;
  hr_status_t st = hr_buffer_wrap(memory, size_bytes, true, free_shared, owner, out_buffer);
  if (st) tp_free(owner, memory);
  return st;
}

static hr_status_t shared_memory(op_env_t *env, size_t size_bytes, hr_buffer_t **out_buffer) {
  return exec_comm_shared_memory(env->comm, size_bytes, out_buffer);
}

static void close_array(void *array, void *data, size_t size_bytes) {
  (void)data, (void)size_bytes;
  tp_shared_array_close(array);
}

static hr_status_t shared_array(op_env_t *env, const op_group_t *group, size_t size_bytes,
                                uint64_t key, hr_buffer_t **out_buffer) {
  exec_comm_t *comm = env->comm;
  tp_shared_array_t *array;
  *out_buffer = NULL;
  comm->is_waiting = true;
  hr_status_t st = tp_shared_array_open(group->handle, size_bytes, key, &array);
  comm->is_waiting = false;
  if (st || !array) return st;
  st =
      hr_buffer_wrap(tp_shared_array_data(array), size_bytes, true, close_array, array, out_buffer);
  if (st) tp_shared_array_close(array);
  return st;
}

bool exec_comm_shares_world(const exec_comm_t *comm) {
  return comm->groups && tp_shares_world(comm->groups) && !comm->groups->forced[TP_ALL_GATHER];
}

bool exec_comm_reaches(const exec_comm_t *comm, const void *memory) {
  return tp_is_shared(comm->groups, memory);
}

static void cancel_request(op_env_t *env, op_request_t *request) {
  (void)env;
  tp_request_cancel((tp_request_t *)request);
}

static const op_comm_ops_t comm_ops = {.group = find_group,
                                       .all_gather = all_gather,
                                       .all_reduce = all_reduce,
                                       .reduce_scatter = reduce_scatter,
                                       .all_to_all = all_to_all,
                                       .permute = permute,
                                       .wait = wait_request,
                                       .cancel = cancel_request,
                                       .enable_async_progress = enable_async_progress,
                                       .poll = poll_transfers,
                                       .shared_memory = shared_memory,
                                       .shared_array = shared_array};

hr_status_t exec_comm_attach(op_env_t *env, void *comm) {
  env->comm = comm;
  env->comm_ops = &comm_ops;
  return NULL;
}

/* --- for clients --- */

/* After a failed transfer of this process, peers may still wait for it: they would take a later
 * message for it, and this process may wait for a message that never comes. */
static hr_status_t check_in_step(const exec_comm_t *comm) {
  if (!comm->groups->endpoint->desynchronized) return NULL;
  return hr_error(HR_CANCELLED, "an earlier transfer of this process failed");
}

/* A transfer whose start failed here leaves peers waiting: the endpoint is marked
 * desynchronised. */
static hr_status_t await_request(exec_comm_t *comm, hr_status_t st, tp_request_t **request) {
  if (!st) st = tp_request_wait(*request);
  if (st) comm->groups->endpoint->desynchronized = true;
  return st;
}

hr_status_t exec_comm_barrier(exec_comm_t *comm) {
  tp_request_t *request = NULL;
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_barrier(comm->groups->world, &request), &request);
}

hr_status_t exec_comm_all_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes,
                                 void *out) {
  tp_request_t *request = NULL;
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_all_gather(comm->groups->world, bytes, size_bytes, out, &request),
                       &request);
}

hr_status_t exec_comm_broadcast(exec_comm_t *comm, int root, void *bytes, size_t size_bytes) {
  tp_request_t *request = NULL;
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_broadcast(comm->groups->world, root, bytes, size_bytes, &request),
                       &request);
}

hr_status_t exec_comm_gather(exec_comm_t *comm, const void *bytes, size_t size_bytes, void *out) {
  tp_group_t *world = comm->groups->world;
  void *memory;
  tp_request_t *request = NULL;
  HR_TRY(check_in_step(comm));
  hr_status_t st = hr_alloc_zeroed(2 * (size_t)world->size * sizeof(hr_block_t), &memory);
  if (st) return await_request(comm, st, &request);
  hr_block_t *sends = memory, *recvs = sends + world->size;
  sends[0] = (hr_block_t){(void *)bytes, size_bytes};
  for (int k = 0; k < world->size && world->my_index == 0; k++)
    recvs[k] = (hr_block_t){(char *)out + (size_t)k * size_bytes, size_bytes};
  st = await_request(comm, tp_all_to_all(world, sends, recvs, 0, &request), &request);
  hr_free(memory);
  return st;
}

hr_status_t exec_comm_send(exec_comm_t *comm, int to, const void *bytes, size_t size_bytes) {
  tp_request_t *request = NULL;
  hr_block_t block = {(void *)bytes, size_bytes};
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_permute(comm->groups, 0, to, &block, -1, NULL, &request), &request);
}

hr_status_t exec_comm_recv(exec_comm_t *comm, int from, void *bytes, size_t size_bytes) {
  tp_request_t *request = NULL;
  hr_block_t block = {bytes, size_bytes};
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_permute(comm->groups, 0, -1, NULL, from, &block, &request),
                       &request);
}

hr_status_t exec_comm_shift(exec_comm_t *comm, int to, const void *bytes, int from, void *out,
                            size_t size_bytes) {
  tp_request_t *request = NULL;
  hr_block_t block = {(void *)bytes, size_bytes}, received = {out, size_bytes};
  HR_TRY(check_in_step(comm));
  return await_request(comm, tp_permute(comm->groups, 0, to, &block, from, &received, &request),
                       &request);
}

/* --- creation and release --- */

hr_status_t exec_comm_init(exec_comm_t *comm, tp_endpoint_t *endpoint) {
  HR_TRY(tp_groups_of(endpoint, &comm->groups));
  hr_map_init(&comm->resolved);
  hr_arena_init(&comm->arena);
  comm->awaited_instr = NULL;
  comm->awaited_rank = -1;
  comm->is_waiting = false;
  comm->waits_for_others = false;
  comm->processors = 0;
  comm->count_workers = NULL;
  comm->graph = NULL;
  comm->end_graph = NULL;
  atomic_store(&comm->wants_graph, false);
  return NULL;
}

void exec_comm_deinit(exec_comm_t *comm) {
  if (comm->end_graph) comm->end_graph(comm);
  hr_map_deinit(&comm->resolved);
  hr_arena_deinit(&comm->arena);
}
