/* --verify-comm: a layer over the communication functions of op_env_t that exchanges signatures.
 *
 *   collective   all-gather of signatures on a parallel stream of the same group
 *   message      both ends exchange signatures on a channel number of their own
 *   permute      as messages, one in each direction
 *
 * For a synchronous operation signatures are compared before the data moves; for an asynchronous
 * start they are compared at its done, so that the start does not block. */
#include "observe/verify_comm.h"

#include "base/mem.h"
#include "observe/verify_exchange.h"
#include "ops/kernels/common/transfer_list.h"
#include "transport/core/progress.h"
#include "transport/core/tp_channel.h"

#define PERMUTE_CHANNELS \
  (TP_CHANNEL_COUNT / 2) /* first channel of signatures of permutes, hashed by stream */
#define MESSAGE_CHANNELS (TP_CHANNEL_COUNT / 4) /* first channel of signatures of messages */

/* Synchronous operations compare signatures before any data moves: a mismatch starts nothing. */
static hr_status_t begin_group(op_env_t *env, const op_group_t *group, int64_t count,
                               exec_exchange_t **out_exchange) {
  exec_verify_t *verify = env->verify;
  exec_exchange_t *exchange;
  HR_TRY(exec_exchange_get(verify, group->size, &exchange));
  hr_status_t st = exec_exchange_group(verify, env->transfers.current, group, count, exchange);
  if (!st && !env->transfers.ends_later) st = exec_exchange_await(verify, exchange);
  if (st)
    exec_exchange_recycle(verify, exchange);
  else
    *out_exchange = exchange;
  return st;
}

/* Ends a start: the record becomes the request, or is returned after an error. */
static hr_status_t finish_start(op_env_t *env, hr_status_t st, exec_exchange_t *exchange,
                                op_request_t **out_request) {
  if (st)
    exec_exchange_recycle(env->verify, exchange);
  else
    *out_request = (op_request_t *)exchange;
  return st;
}

static const op_comm_ops_t *inner_comm(const op_env_t *env) {
  return ((const exec_verify_t *)env->verify)->inner_comm;
}

/* Each function of the layer has the same three steps: exchange signatures, start the transfer, and
 * return the record of both. */
static hr_status_t all_gather(op_env_t *env, const op_group_t *group, const void *in,
                              size_t size_bytes, void *out, op_request_t **out_request) {
  exec_exchange_t *exchange;
  HR_TRY(begin_group(env, group, (int64_t)size_bytes, &exchange));
  return finish_start(
      env, inner_comm(env)->all_gather(env, group, in, size_bytes, out, &exchange->inner), exchange,
      out_request);
}

static hr_status_t all_reduce(op_env_t *env, const op_group_t *group, const void *in, void *out,
                              int64_t count, const hr_reducer_t *reducer,
                              op_request_t **out_request) {
  exec_exchange_t *exchange;
  HR_TRY(begin_group(env, group, count, &exchange));
  return finish_start(
      env, inner_comm(env)->all_reduce(env, group, in, out, count, reducer, &exchange->inner),
      exchange, out_request);
}

static hr_status_t reduce_scatter(op_env_t *env, const op_group_t *group, const void *in,
                                  int64_t count, const hr_reducer_t *reducer, void *out,
                                  op_request_t **out_request) {
  exec_exchange_t *exchange;
  HR_TRY(begin_group(env, group, count, &exchange));
  return finish_start(
      env, inner_comm(env)->reduce_scatter(env, group, in, count, reducer, out, &exchange->inner),
      exchange, out_request);
}

/* The sizes of an all-to-all may differ from pair to pair; the transport compares them. */
static hr_status_t all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                              const hr_block_t *recvs, size_t equal_bytes,
                              op_request_t **out_request) {
  exec_exchange_t *exchange;
  HR_TRY(begin_group(env, group, 0, &exchange));
  return finish_start(
      env, inner_comm(env)->all_to_all(env, group, sends, recvs, equal_bytes, &exchange->inner),
      exchange, out_request);
}

/* The two halves of a permute have different peers; signatures of permutes use the channel of their
 * stream's hash, where they match in order. */
static hr_status_t permute(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                           const hr_block_t *recv, op_request_t **out_request) {
  exec_verify_t *verify = env->verify;
  uint32_t channel =
      PERMUTE_CHANNELS + (uint32_t)hr_hash_bytes(&stream, sizeof stream, 17) % PERMUTE_CHANNELS;
  exec_message_end_t ends[2];
  int count = 0;
  exec_exchange_t *exchange;
  if (from >= 0)
    ends[count++] = (exec_message_end_t){EXEC_EXCHANGE_PERMUTE_RECV, from, stream, channel};
  if (to >= 0)
    ends[count++] = (exec_message_end_t){EXEC_EXCHANGE_PERMUTE_SEND, to, stream, channel};
  HR_TRY(exec_exchange_get(verify, from >= 0, &exchange));
  int64_t size_bytes = (int64_t)(to >= 0 ? send : recv)->size_bytes;
  hr_status_t st =
      exec_exchange_ends(verify, env->transfers.current, ends, count, size_bytes, exchange);
  if (!st && !env->transfers.ends_later) st = exec_exchange_await(verify, exchange);
  if (!st) st = verify->inner_comm->permute(env, stream, to, send, from, recv, &exchange->inner);
  return finish_start(env, st, exchange, out_request);
}

/* Compares signatures first: the data is awaited only if they agree. */
static hr_status_t wait_for(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  exec_exchange_t *exchange = (exec_exchange_t *)request;
  if (!request) return NULL;
  hr_status_t st = exec_exchange_await(verify, exchange);
  if (!st)
    st = verify->inner_comm->wait(env, exchange->inner);
  else if (exchange->inner)
    verify->inner_comm->cancel(env, exchange->inner);
  exec_exchange_recycle(verify, exchange);
  return st;
}

/* After a failed run: drops the transfer and its exchange. */
static void cancel_exchange(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  exec_exchange_t *exchange = (exec_exchange_t *)request;
  if (!request) return;
  if (exchange->inner) verify->inner_comm->cancel(env, exchange->inner);
  exec_exchange_recycle(verify, exchange);
}

/* --- channels --- */

typedef hr_status_t (*start_fn)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                uint32_t *out_handle);

/* A send or recv between processes; transfers with the host are not checked. The signature uses
 * the channel MESSAGE_CHANNELS above that of the data, which therefore must be below
 * MESSAGE_CHANNELS. */
static hr_status_t start_message(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                 start_fn start, uint32_t *out_handle) {
  exec_verify_t *verify = env->verify;
  bool sends = instr->op == HLO_SEND;
  exec_message_end_t end = {.kind = sends ? EXEC_EXCHANGE_SEND : EXEC_EXCHANGE_RECV};
  exec_exchange_t *exchange;
  if (!exec_channels_peer(verify->options.channels, instr, &end.peer, &end.channel))
    return start(env, instr, value, out_handle);
  if (end.channel >= MESSAGE_CHANNELS)
    return hlo_unsupported(instr, "--verify-comm with more than %u channels between two processes",
                           MESSAGE_CHANNELS);
  end.stream = end.channel;
  end.channel += MESSAGE_CHANNELS;
  HR_TRY(tp_progress_begin(verify->options.comm->groups));
  HR_TRY(exec_exchange_get(verify, !sends, &exchange));
  hr_status_t st = exec_exchange_ends(verify, instr, &end, 1, 0, exchange);
  if (!st) st = start(env, instr, value, &exchange->handle);
  if (st) {
    exec_exchange_recycle(verify, exchange);
    return st;
  }
  *out_handle = exchange->handle;
  exchange->next = verify->messages;
  verify->messages = exchange;
  return NULL;
}

static const op_channel_ops_t *inner_channels(const op_env_t *env) {
  return ((const exec_verify_t *)env->verify)->inner_channels;
}

static hr_status_t send_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                              uint32_t *out_handle) {
  return start_message(env, instr, value, inner_channels(env)->send, out_handle);
}

static hr_status_t recv_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                              uint32_t *out_handle) {
  return start_message(env, instr, into, inner_channels(env)->recv, out_handle);
}

/* Removes a message from the list and compares its signatures. */
static hr_status_t end_message(exec_verify_t *verify, exec_exchange_t **link) {
  exec_exchange_t *exchange = *link;
  *link = exchange->next;
  hr_status_t st = exec_exchange_await(verify, exchange);
  exec_exchange_recycle(verify, exchange);
  return st;
}

/* Compares the signatures exchanged at the start, then ends the transfer itself. */
static hr_status_t transfer_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  exec_verify_t *verify = env->verify;
  exec_exchange_t **link = &verify->messages;
  while (handle && *link && (*link)->handle != handle) link = &(*link)->next;
  if (handle && *link) HR_TRY(end_message(verify, link));
  return verify->inner_channels->transfer_done(env, instr, handle);
}

/* --- the end of an execution --- */

/* Transfers without a done are compared at the end of a successful execution, and dropped after a
 * failure. */
hr_status_t exec_verify_end(exec_verify_t *verify, hr_status_t st) {
  while (verify && verify->messages) {
    exec_exchange_t *exchange = verify->messages;
    if (!st) {
      st = end_message(verify, &verify->messages);
      continue;
    }
    verify->messages = exchange->next;
    exec_exchange_recycle(verify, exchange);
  }
  return st;
}

/* After a successful execution: waits until all ranks have arrived, for the detector's messages. */
hr_status_t exec_verify_match(exec_verify_t *verify, hr_status_t st) {
  return st || !verify ? st : exec_watch_finish(verify->options.watch);
}

/* --- creation and destruction --- */

hr_status_t exec_verify_create(const exec_verify_options_t *options, exec_verify_t **out_verify) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_verify_t), &memory));
  exec_verify_t *verify = memory;
  verify->options = *options;
  hr_arena_init(&verify->arena);
  hr_map_init(&verify->signatures);
  comm_participant_sets_init(&verify->sites, &verify->arena, options->plan->grid.num_replicas,
                             options->plan->grid.num_partitions);
  *out_verify = verify;
  return NULL;
}

void exec_verify_destroy(exec_verify_t *verify) {
  if (!verify) return;
  for (exec_exchange_t *exchange; (exchange = verify->free);) {
    verify->free = exchange->next;
    hr_free(exchange->theirs);
    hr_free(exchange);
  }
  comm_participant_sets_deinit(&verify->sites);
  hr_map_deinit(&verify->signatures);
  hr_arena_deinit(&verify->arena);
  hr_free(verify);
}

static const op_channel_ops_t channel_ops = {
    .send = send_value, .recv = recv_value, .transfer_done = transfer_done};

/* Inserts the layer between the kernels and the environment's present communication functions. */
void exec_verify_attach(op_env_t *env, exec_verify_t *verify) {
  verify->inner_comm = env->comm_ops;
  verify->inner_channels = env->channel_ops;
  verify->comm_ops = *env->comm_ops;
  verify->comm_ops.all_gather = all_gather;
  verify->comm_ops.all_reduce = all_reduce;
  verify->comm_ops.reduce_scatter = reduce_scatter;
  verify->comm_ops.all_to_all = all_to_all;
  verify->comm_ops.permute = permute;
  verify->comm_ops.wait = wait_for;
  verify->comm_ops.cancel = cancel_exchange;
  env->verify = verify;
  env->comm_ops = &verify->comm_ops;
  env->channel_ops = &channel_ops;
}
