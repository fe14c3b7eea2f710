/* --verify-comm: a layer over the communication functions of op_env_t that exchanges signatures.
 *
 *   collective   all-gather of signatures on a parallel stream of the same group
 *   message      both ends exchange signatures on a channel number of their own
 *   permute      as messages, one in each direction
 *
 * Signatures use separate streams and channels, so that they cannot be matched with data. For
 * a synchronous operation signatures are compared before the data moves; for an asynchronous
 * start they are compared at its done, so that the start does not block. Waits go through the
 * deadlock detector, with the counts that they need. */
#include "observe/verify_comm.h"

#include <string.h>

#include "base/mem.h"
#include "comm/model/abstract_value.h"
#include "comm/model/comm_signature.h"
#include "comm/model/participants.h"
#include "ops/kernels/common/transfer_list.h"
#include "transport/core/progress.h"
#include "transport/core/tp_channel.h"

/* Signatures use separate streams and channel numbers, so that they never match data. */
#define STREAM_OF_HEADERS(stream) ((stream) ^ INT64_MIN)
#define PERMUTE_CHANNELS \
  (TP_CHANNEL_COUNT / 2) /* first channel of signatures of permutes, hashed by stream */
#define MESSAGE_CHANNELS (TP_CHANNEL_COUNT / 4) /* first channel of signatures of messages */

typedef enum verify_kind {
  OF_GROUP,
  OF_SEND,
  OF_RECV,
  OF_PERMUTE_SEND,
  OF_PERMUTE_RECV
} verify_kind_t;

/* A transfer and the exchange of its signatures: the op_request_t of this layer. */
typedef struct checked checked_t;
struct checked {
  checked_t *next;
  op_request_t *inner;        /* request of the underlying environment; NULL: none, or completed */
  uint32_t handle;            /* handle of a channel's transfer */
  tp_request_t *exchanges[2]; /* signature exchanges in flight, by direction; NULL: completed */
  exec_wait_t wait;
  int peers[2];
  comm_signature_t mine[2], *theirs; /* own signature by direction; those of the partners */
  int count;                         /* number of `theirs` */
  const int *ranks;                  /* ranks of `theirs`; NULL: peers[1] */
  size_t capacity;
};

struct exec_verify {
  exec_verify_options_t options;
  /* Functions of the environment that the checks forward to. */
  const op_comm_ops_t *inner_comm;
  const op_channel_ops_t *inner_channels;
  op_comm_ops_t comm_ops;
  hr_arena_t arena;
  comm_participant_sets_t sites;
  hr_map_t signatures;        /* instr_signature_t by instruction */
  checked_t *free, *messages; /* free list; channel transfers in flight */
};

/* --- signatures of instructions, cached --- */

typedef struct instr_signature {
  const hlo_instr_t *instr; /* the key */
  comm_signature_t signature;
} instr_signature_t;

/* Makes the signature of an instruction: for a message only its shape, as its ends are two
 * instructions; for a collective all properties that members must agree on. */
static hr_status_t describe(exec_verify_t *verify, const hlo_instr_t *instr,
                            comm_signature_t *signature) {
  const comm_participants_t *site;
  if (instr->op == HLO_SEND || instr->op == HLO_RECV) return comm_signature_of(instr, 0, signature);
  HR_TRY(comm_participants_of(&verify->sites, instr, &site));
  return comm_signature_of(instr, site->meaning, signature);
}

/* Signatures are created once per instruction and live as long as the layer. */
static hr_status_t find_signature(exec_verify_t *verify, const hlo_instr_t *instr,
                                  const comm_signature_t **out_signature) {
  instr_signature_t *entry =
      hr_map_get(&verify->signatures, (hr_str_t){(const char *)&instr, sizeof instr});
  if (!entry) {
    HR_TRY(HR_NEW(&verify->arena, &entry));
    entry->instr = instr;
    HR_TRY(describe(verify, instr, &entry->signature));
    HR_TRY(hr_map_put(&verify->signatures, (hr_str_t){(const char *)&entry->instr, sizeof instr},
                      entry, NULL));
  }
  *out_signature = &entry->signature;
  return NULL;
}

/* --- transfers --- */

/* Takes a record from the free list, or creates one, with room for `count` signatures of others.
 * The list of signatures is kept for the next use. */
static hr_status_t get_checked(exec_verify_t *verify, int count, checked_t **out_checked) {
  checked_t *checked = verify->free;
  void *memory;
  if (checked) {
    verify->free = checked->next;
  } else {
    HR_TRY(hr_alloc_zeroed(sizeof *checked, &memory));
    checked = memory;
  }
  comm_signature_t *theirs = checked->theirs;
  size_t capacity = checked->capacity;
  *checked = (checked_t){.theirs = theirs, .capacity = capacity, .count = count};
  if ((size_t)count > capacity) {
    hr_status_t st = hr_alloc((size_t)count * sizeof *theirs, &memory);
    if (st) {
      checked->next = verify->free;
      verify->free = checked;
      return st;
    }
    hr_free(theirs);
    checked->theirs = memory;
    checked->capacity = (size_t)count;
  }
  *out_checked = checked;
  return NULL;
}

/* Returns a record to the free list; exchanges that did not complete are cancelled, so that nothing
 * writes to it. */
static void recycle_checked(exec_verify_t *verify, checked_t *checked) {
  for (int i = 0; i < 2; i++) tp_request_cancel(checked->exchanges[i]);
  checked->next = verify->free;
  verify->free = checked;
}

/* Key in the deadlock detector of a wait for one end: equal in the waiting process and in the
 * awaited one. */
static uint64_t end_key(verify_kind_t kind, int from, int to, int64_t stream) {
  int64_t key[] = {kind, from, to, stream};
  return hr_hash_bytes(key, sizeof key, 3);
}

/* The same for a group: its members and stream. */
static uint64_t group_key(const tp_group_t *group) {
  uint64_t members = hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, 11);
  return check_mix(members, (uint64_t)group->stream);
}

/* Waits for the partners' signatures and compares them. Errors: DISAGREE with both source
 * locations. */
static hr_status_t await_signatures(exec_verify_t *verify, checked_t *checked) {
  for (int i = 0; i < 2; i++) {
    tp_request_t *request = checked->exchanges[i];
    checked->exchanges[i] = NULL;
    if (request) HR_TRY(exec_watch_wait(verify->options.watch, &checked->wait, request));
  }
  int rank = verify->options.comm->groups->endpoint->rank;
  for (int k = 0; k < checked->count; k++) {
    if (!checked->ranks)
      HR_TRY(
          comm_signature_compare(rank, &checked->mine[1], checked->peers[1], &checked->theirs[k]));
    if (!checked->ranks || !k) continue;
    HR_TRY(comm_signature_compare(checked->ranks[0], checked->theirs, checked->ranks[k],
                                  &checked->theirs[k]));
  }
  checked->count = 0;
  return NULL;
}

/* --- collectives of groups --- */

/* Starts the all-gather of the group's signatures. `number` counts the instances of the group, so
 * that processes that are one collective apart are detected. */
static hr_status_t exchange_group(exec_verify_t *verify, const hlo_instr_t *instr,
                                  const op_group_t *group, int64_t count, checked_t *checked) {
  const tp_group_t *of_data = group->handle;
  const comm_signature_t *signature;
  tp_group_t *of_headers;
  exec_need_t *need = &checked->wait.needs[0];
  HR_TRY(find_signature(verify, instr, &signature));
  checked->mine[0] = *signature;
  checked->mine[0].count = count;
  checked->ranks = group->ranks;
  *need =
      (exec_need_t){.what = group_key(of_data), .ranks = group->ranks, .rank_count = group->size};
  checked->wait.instr = instr;
  checked->wait.need_count = 1;
  HR_TRY(tp_group_get(of_data->owner, group->size, group->ranks, STREAM_OF_HEADERS(of_data->stream),
                      &of_headers));
  HR_TRY(exec_watch_count(verify->options.watch, need->what, &need->count));
  checked->mine[0].number = need->count;
  return tp_all_gather(of_headers, &checked->mine[0], sizeof checked->mine[0], checked->theirs,
                       &checked->exchanges[0]);
}

/* Synchronous operations compare signatures before any data moves: a mismatch starts nothing. */
static hr_status_t begin_group(op_env_t *env, const op_group_t *group, int64_t count,
                               checked_t **out_checked) {
  exec_verify_t *verify = env->verify;
  checked_t *checked;
  HR_TRY(get_checked(verify, group->size, &checked));
  hr_status_t st = exchange_group(verify, env->transfers.current, group, count, checked);
  if (!st && !env->transfers.ends_later) st = await_signatures(verify, checked);
  if (st)
    recycle_checked(verify, checked);
  else
    *out_checked = checked;
  return st;
}

/* Ends a start: the record becomes the request, or is returned after an error. */
static hr_status_t finish_start(op_env_t *env, hr_status_t st, checked_t *checked,
                                op_request_t **out_request) {
  if (st)
    recycle_checked(env->verify, checked);
  else
    *out_request = (op_request_t *)checked;
  return st;
}

static const op_comm_ops_t *inner_comm(const op_env_t *env) {
  return ((const exec_verify_t *)env->verify)->inner_comm;
}

/* Each function of the layer has the same three steps: exchange signatures, start the transfer, and
 * return the record of both. */
static hr_status_t all_gather(op_env_t *env, const op_group_t *group, const void *in,
                              size_t size_bytes, void *out, op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, (int64_t)size_bytes, &checked));
  return finish_start(env,
                      inner_comm(env)->all_gather(env, group, in, size_bytes, out, &checked->inner),
                      checked, out_request);
}

static hr_status_t all_reduce(op_env_t *env, const op_group_t *group, const void *in, void *out,
                              int64_t count, const hr_reducer_t *reducer,
                              op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, count, &checked));
  return finish_start(
      env, inner_comm(env)->all_reduce(env, group, in, out, count, reducer, &checked->inner),
      checked, out_request);
}

static hr_status_t reduce_scatter(op_env_t *env, const op_group_t *group, const void *in,
                                  int64_t count, const hr_reducer_t *reducer, void *out,
                                  op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, count, &checked));
  return finish_start(
      env, inner_comm(env)->reduce_scatter(env, group, in, count, reducer, out, &checked->inner),
      checked, out_request);
}

/* The sizes of an all-to-all may differ from pair to pair; the transport compares them. */
static hr_status_t all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                              const hr_block_t *recvs, size_t equal_bytes,
                              op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, 0, &checked));
  return finish_start(
      env, inner_comm(env)->all_to_all(env, group, sends, recvs, equal_bytes, &checked->inner),
      checked, out_request);
}

/* --- the two ends of a message, or of half a permute --- */

/* One end of a message or of a permute. */
typedef struct end {
  verify_kind_t kind;
  int peer;
  int64_t stream;
  uint32_t channel;
} end_t;

/* True if the data leaves this process at this end. */
static bool is_sending(const end_t *end) {
  return end->kind == OF_SEND || end->kind == OF_PERMUTE_SEND;
}

/* The kind of the end on the other side. */
static verify_kind_t other_kind(verify_kind_t kind) {
  static const verify_kind_t others[] = {[OF_SEND] = OF_RECV,
                                         [OF_RECV] = OF_SEND,
                                         [OF_PERMUTE_SEND] = OF_PERMUTE_RECV,
                                         [OF_PERMUTE_RECV] = OF_PERMUTE_SEND};
  return others[kind];
}

/* Sends this end's signature to the receiver, or posts the receive of the sender's. */
static hr_status_t exchange_end(exec_verify_t *verify, const end_t *end, checked_t *checked) {
  tp_groups_t *groups = verify->options.comm->groups;
  bool sends = is_sending(end);
  int self = groups->endpoint->rank, i = !sends;
  int from = sends ? self : end->peer;
  int to = sends ? end->peer : self;
  exec_need_t *need = &checked->wait.needs[checked->wait.need_count++];
  HR_TRY(exec_watch_count(verify->options.watch, end_key(end->kind, from, to, end->stream),
                          &need->count));
  checked->peers[i] = end->peer;
  checked->mine[i].number = need->count;
  need->what = end_key(other_kind(end->kind), from, to, end->stream);
  need->ranks = &checked->peers[i];
  need->rank_count = 1;
  hr_block_t block = {sends ? &checked->mine[0] : checked->theirs, sizeof *checked->theirs};
  return (sends ? tp_channel_send : tp_channel_recv)(groups, end->peer, end->channel, &block, 1,
                                                     &checked->exchanges[i]);
}

/* Starts the exchange for one or both ends of a permute, or for a message. */
static hr_status_t exchange_ends(exec_verify_t *verify, const hlo_instr_t *instr, const end_t *ends,
                                 int count, int64_t size_bytes, checked_t *checked) {
  const comm_signature_t *signature;
  HR_TRY(find_signature(verify, instr, &signature));
  checked->mine[0] = *signature;
  checked->mine[1] = *signature;
  checked->mine[0].count = size_bytes;
  checked->mine[1].count = size_bytes;
  checked->wait.instr = instr;
  for (int i = 0; i < count; i++) HR_TRY(exchange_end(verify, &ends[i], checked));
  return NULL;
}

/* The two halves of a permute have different peers; signatures of permutes use the channel of their
 * stream's hash, where they match in order. */
static hr_status_t permute(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                           const hr_block_t *recv, op_request_t **out_request) {
  exec_verify_t *verify = env->verify;
  uint32_t channel =
      PERMUTE_CHANNELS + (uint32_t)hr_hash_bytes(&stream, sizeof stream, 17) % PERMUTE_CHANNELS;
  end_t ends[2];
  int count = 0;
  checked_t *checked;
  if (from >= 0) ends[count++] = (end_t){OF_PERMUTE_RECV, from, stream, channel};
  if (to >= 0) ends[count++] = (end_t){OF_PERMUTE_SEND, to, stream, channel};
  HR_TRY(get_checked(verify, from >= 0, &checked));
  int64_t size_bytes = (int64_t)(to >= 0 ? send : recv)->size_bytes;
  hr_status_t st = exchange_ends(verify, env->transfers.current, ends, count, size_bytes, checked);
  if (!st && !env->transfers.ends_later) st = await_signatures(verify, checked);
  if (!st) st = verify->inner_comm->permute(env, stream, to, send, from, recv, &checked->inner);
  return finish_start(env, st, checked, out_request);
}

/* Compares signatures first: the data is awaited only if they agree. */
static hr_status_t wait_for(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  checked_t *checked = (checked_t *)request;
  if (!request) return NULL;
  hr_status_t st = await_signatures(verify, checked);
  if (!st)
    st = verify->inner_comm->wait(env, checked->inner);
  else if (checked->inner)
    verify->inner_comm->cancel(env, checked->inner);
  recycle_checked(verify, checked);
  return st;
}

/* After a failed run: drops the transfer and its exchange. */
static void cancel_checked(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  checked_t *checked = (checked_t *)request;
  if (!request) return;
  if (checked->inner) verify->inner_comm->cancel(env, checked->inner);
  recycle_checked(verify, checked);
}

/* --- channels --- */

typedef hr_status_t (*start_fn)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                uint32_t *out_handle);

/* A send or recv between processes; transfers with the host are not checked. The signature uses the
 * channel MESSAGE_CHANNELS above that of the data, which therefore must be below
 * MESSAGE_CHANNELS. */
static hr_status_t start_message(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                 start_fn start, uint32_t *out_handle) {
  exec_verify_t *verify = env->verify;
  bool sends = instr->op == HLO_SEND;
  end_t end = {.kind = sends ? OF_SEND : OF_RECV};
  checked_t *checked;
  if (!exec_channels_peer(verify->options.channels, instr, &end.peer, &end.channel))
    return start(env, instr, value, out_handle);
  if (end.channel >= MESSAGE_CHANNELS)
    return hlo_unsupported(instr, "--verify-comm with more than %u channels between two processes",
                           MESSAGE_CHANNELS);
  end.stream = end.channel;
  end.channel += MESSAGE_CHANNELS;
  HR_TRY(tp_progress_begin(verify->options.comm->groups));
  HR_TRY(get_checked(verify, !sends, &checked));
  hr_status_t st = exchange_ends(verify, instr, &end, 1, 0, checked);
  if (!st) st = start(env, instr, value, &checked->handle);
  if (st) {
    recycle_checked(verify, checked);
    return st;
  }
  *out_handle = checked->handle;
  checked->next = verify->messages;
  verify->messages = checked;
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
static hr_status_t end_message(exec_verify_t *verify, checked_t **link) {
  checked_t *checked = *link;
  *link = checked->next;
  hr_status_t st = await_signatures(verify, checked);
  recycle_checked(verify, checked);
  return st;
}

/* Compares the signatures exchanged at the start, then ends the transfer itself. */
static hr_status_t transfer_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  exec_verify_t *verify = env->verify;
  checked_t **link = &verify->messages;
  while (handle && *link && (*link)->handle != handle) link = &(*link)->next;
  if (handle && *link) HR_TRY(end_message(verify, link));
  return verify->inner_channels->transfer_done(env, instr, handle);
}

/* --- the end of an execution --- */

/* Transfers without a done are compared at the end of a successful execution, and dropped after a
 * failure. */
hr_status_t exec_verify_end(exec_verify_t *verify, hr_status_t st) {
  while (verify && verify->messages) {
    checked_t *checked = verify->messages;
    if (!st) {
      st = end_message(verify, &verify->messages);
      continue;
    }
    verify->messages = checked->next;
    recycle_checked(verify, checked);
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
  for (checked_t *checked; (checked = verify->free);) {
    verify->free = checked->next;
    hr_free(checked->theirs);
    hr_free(checked);
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
  verify->comm_ops.cancel = cancel_checked;
  env->verify = verify;
  env->comm_ops = &verify->comm_ops;
  env->channel_ops = &channel_ops;
}
