#include "observe/verify_comm.h"

#include <string.h>

#include "base/mem.h"
#include "comm/model/abstract_value.h"
#include "comm/model/comm_signature.h"
#include "comm/model/participants.h"
#include "ops/kernels/common/async_pairs.h"
#include "transport/core/progress.h"
#include "transport/core/tp_channel.h"

/* What travels beside the data has streams, and numbers of channels, of its own. */
#define STREAM_OF_HEADERS(stream) ((stream) ^ INT64_MIN)
#define PERMUTE_CHANNELS \
  (TP_CHANNEL_COUNT / 2) /* from here on: headers of permutes, by a hash of their streams */
#define MESSAGE_CHANNELS (TP_CHANNEL_COUNT / 4) /* from here on: headers of messages */

typedef enum verify_kind {
  OF_GROUP,
  OF_SEND,
  OF_RECV,
  OF_PERMUTE_SEND,
  OF_PERMUTE_RECV
} verify_kind_t;

/* A transfer whose partners are asked what it is: what op_request_t points to here. */
typedef struct checked checked_t;
struct checked {
  checked_t *next;
  op_request_t *inner;     /* of the environment below; NULL: none, or over */
  uint32_t handle;         /* of a channel's transfer */
  tp_request_t *asking[2]; /* NULL: answered. The second: of a permute that also receives */
  exec_wait_t wait;
  int peers[2];
  comm_signature_t mine[2], *theirs; /* the second: of a permute that also receives */
  int count;                         /* of theirs */
  const int *ranks;                  /* whose they are */
  size_t capacity;
};

struct exec_verify {
  exec_verify_options_t options;
  op_env_t below; /* the functions that were there before */
  hr_arena_t arena;
  comm_participant_sets_t sites;
  hr_map_t facts;             /* fact_t by instruction */
  checked_t *free, *messages; /* the latter: transfers of channels under way */
};

/* --- what an instruction says of itself --- */

typedef struct fact {
  const hlo_instr_t *instr; /* the key */
  comm_signature_t signature;
} fact_t;

static hr_status_t describe(exec_verify_t *verify, const hlo_instr_t *instr,
                            comm_signature_t *signature) {
  const comm_participants_t *site;
  if (instr->op == HLO_SEND || instr->op == HLO_RECV) return comm_signature_of(instr, 0, signature);
  HR_TRY(comm_participants_of(&verify->sites, instr, &site));
  return comm_signature_of(instr, site->meaning, signature);
}

static hr_status_t fact_of(exec_verify_t *verify, const hlo_instr_t *instr,
                           const comm_signature_t **out_signature) {
  fact_t *fact = hr_map_get(&verify->facts, (hr_str_t){(const char *)&instr, sizeof instr});
  if (!fact) {
    HR_TRY(HR_NEW(&verify->arena, &fact));
    fact->instr = instr;
    HR_TRY(describe(verify, instr, &fact->signature));
    HR_TRY(hr_map_put(&verify->facts, (hr_str_t){(const char *)&fact->instr, sizeof instr}, fact,
                      NULL));
  }
  *out_signature = &fact->signature;
  return NULL;
}

/* --- transfers --- */

static hr_status_t take_checked(exec_verify_t *verify, int count, checked_t **out_checked) {
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

static void put_back(exec_verify_t *verify, checked_t *checked) {
  for (int i = 0; i < 2; i++) tp_request_cancel(checked->asking[i]);
  checked->next = verify->free;
  verify->free = checked;
}

static uint64_t key_of_end(verify_kind_t kind, int from, int to, int64_t stream) {
  int64_t key[] = {kind, from, to, stream};
  return hr_hash_bytes(key, sizeof key, 3);
}

static uint64_t key_of_group(const tp_group_t *group) {
  uint64_t members = hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, 11);
  return check_mix(members, (uint64_t)group->stream);
}

/* Waits for what the partners say, and compares. The failure names both places. */
static hr_status_t hear(exec_verify_t *verify, checked_t *checked) {
  for (int i = 0; i < 2; i++) {
    tp_request_t *request = checked->asking[i];
    checked->asking[i] = NULL;
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

static hr_status_t ask_group(exec_verify_t *verify, const hlo_instr_t *instr,
                             const op_group_t *group, int64_t count, checked_t *checked) {
  const tp_group_t *of_data = group->handle;
  const comm_signature_t *signature;
  tp_group_t *of_headers;
  exec_need_t *need = &checked->wait.needs[0];
  HR_TRY(fact_of(verify, instr, &signature));
  checked->mine[0] = *signature;
  checked->mine[0].count = count;
  checked->ranks = group->ranks;
  *need = (exec_need_t){
      .what = key_of_group(of_data), .ranks = group->ranks, .rank_count = group->size};
  checked->wait.instr = instr;
  checked->wait.need_count = 1;
  HR_TRY(tp_group_get(of_data->owner, group->size, group->ranks, STREAM_OF_HEADERS(of_data->stream),
                      &of_headers));
  HR_TRY(exec_watch_count(verify->options.watch, need->what, &need->count));
  checked->mine[0].number = need->count;
  return tp_all_gather(of_headers, &checked->mine[0], sizeof checked->mine[0], checked->theirs,
                       &checked->asking[0]);
}

/* A step that waits for its end anyway hears the others first: then nothing is started that does
 * not fit. */
static hr_status_t begin_group(op_env_t *env, const op_group_t *group, int64_t count,
                               checked_t **out_checked) {
  exec_verify_t *verify = env->verify;
  checked_t *checked;
  HR_TRY(take_checked(verify, group->size, &checked));
  hr_status_t st = ask_group(verify, env->transferring, group, count, checked);
  if (!st && !env->ends_later) st = hear(verify, checked);
  if (st)
    put_back(verify, checked);
  else
    *out_checked = checked;
  return st;
}

static hr_status_t begun(op_env_t *env, hr_status_t st, checked_t *checked,
                         op_request_t **out_request) {
  if (st)
    put_back(env->verify, checked);
  else
    *out_request = (op_request_t *)checked;
  return st;
}

static const op_env_t *below(const op_env_t *env) {
  return &((const exec_verify_t *)env->verify)->below;
}

static hr_status_t all_gather(op_env_t *env, const op_group_t *group, const void *in,
                              size_t size_bytes, void *out, op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, (int64_t)size_bytes, &checked));
  return begun(env, below(env)->all_gather(env, group, in, size_bytes, out, &checked->inner),
               checked, out_request);
}

static hr_status_t all_reduce(op_env_t *env, const op_group_t *group, const void *in, void *out,
                              int64_t count, const hr_reducer_t *reducer,
                              op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, count, &checked));
  return begun(env, below(env)->all_reduce(env, group, in, out, count, reducer, &checked->inner),
               checked, out_request);
}

static hr_status_t reduce_scatter(op_env_t *env, const op_group_t *group, const void *in,
                                  int64_t count, const hr_reducer_t *reducer, void *out,
                                  op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, count, &checked));
  return begun(env,
               below(env)->reduce_scatter(env, group, in, count, reducer, out, &checked->inner),
               checked, out_request);
}

/* The sizes of an all-to-all may differ from pair to pair; the transport compares them. */
static hr_status_t all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                              const hr_block_t *recvs, size_t equal_bytes,
                              op_request_t **out_request) {
  checked_t *checked;
  HR_TRY(begin_group(env, group, 0, &checked));
  return begun(env, below(env)->all_to_all(env, group, sends, recvs, equal_bytes, &checked->inner),
               checked, out_request);
}

/* --- the two ends of a message, or of half a permute --- */

/* Where the header of one end goes, or comes from. */
typedef struct end {
  verify_kind_t kind;
  int peer;
  int64_t stream;
  uint32_t channel;
} end_t;

static bool is_sending(const end_t *end) {
  return end->kind == OF_SEND || end->kind == OF_PERMUTE_SEND;
}

static verify_kind_t other_kind(verify_kind_t kind) {
  static const verify_kind_t others[] = {[OF_SEND] = OF_RECV,
                                         [OF_RECV] = OF_SEND,
                                         [OF_PERMUTE_SEND] = OF_PERMUTE_RECV,
                                         [OF_PERMUTE_RECV] = OF_PERMUTE_SEND};
  return others[kind];
}

/* Sends the header `i` of this process, or starts to receive the partner's, which is compared with
 * it. */
static hr_status_t ask_end(exec_verify_t *verify, const end_t *end, checked_t *checked) {
  tp_groups_t *groups = verify->options.comm->groups;
  bool sends = is_sending(end);
  int self = groups->endpoint->rank, from = sends ? self : end->peer, to = sends ? end->peer : self,
      i = !sends;
  exec_need_t *need = &checked->wait.needs[checked->wait.need_count++];
  HR_TRY(exec_watch_count(verify->options.watch, key_of_end(end->kind, from, to, end->stream),
                          &need->count));
  checked->peers[i] = end->peer;
  checked->mine[i].number = need->count;
  need->what = key_of_end(other_kind(end->kind), from, to, end->stream);
  need->ranks = &checked->peers[i];
  need->rank_count = 1;
  hr_block_t block = {sends ? &checked->mine[0] : checked->theirs, sizeof *checked->theirs};
  return (sends ? tp_channel_send : tp_channel_recv)(groups, end->peer, end->channel, &block, 1,
                                                     &checked->asking[i]);
}

static hr_status_t ask_ends(exec_verify_t *verify, const hlo_instr_t *instr, const end_t *ends,
                            int count, int64_t size_bytes, checked_t *checked) {
  const comm_signature_t *signature;
  HR_TRY(fact_of(verify, instr, &signature));
  checked->mine[0] = checked->mine[1] = *signature;
  checked->mine[0].count = checked->mine[1].count = size_bytes;
  checked->wait.instr = instr;
  for (int i = 0; i < count; i++) HR_TRY(ask_end(verify, &ends[i], checked));
  return NULL;
}

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
  HR_TRY(take_checked(verify, from >= 0, &checked));
  int64_t size_bytes = (int64_t)(to >= 0 ? send : recv)->size_bytes;
  hr_status_t st = ask_ends(verify, env->transferring, ends, count, size_bytes, checked);
  if (!st && !env->ends_later) st = hear(verify, checked);
  if (!st) st = verify->below.permute(env, stream, to, send, from, recv, &checked->inner);
  return begun(env, st, checked, out_request);
}

static hr_status_t wait_for(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  checked_t *checked = (checked_t *)request;
  if (!request) return NULL;
  hr_status_t st = hear(verify, checked);
  if (!st)
    st = verify->below.wait(env, checked->inner);
  else if (checked->inner)
    verify->below.cancel(env, checked->inner);
  put_back(verify, checked);
  return st;
}

static void give_up(op_env_t *env, op_request_t *request) {
  exec_verify_t *verify = env->verify;
  checked_t *checked = (checked_t *)request;
  if (!request) return;
  if (checked->inner) verify->below.cancel(env, checked->inner);
  put_back(verify, checked);
}

/* --- channels --- */

typedef hr_status_t (*start_fn)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                                uint32_t *out_handle);

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
  HR_TRY(take_checked(verify, !sends, &checked));
  hr_status_t st = ask_ends(verify, instr, &end, 1, 0, checked);
  if (!st) st = start(env, instr, value, &checked->handle);
  if (st) {
    put_back(verify, checked);
    return st;
  }
  *out_handle = checked->handle;
  checked->next = verify->messages;
  verify->messages = checked;
  return NULL;
}

static hr_status_t send_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                              uint32_t *out_handle) {
  return start_message(env, instr, value, below(env)->send, out_handle);
}

static hr_status_t recv_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                              uint32_t *out_handle) {
  return start_message(env, instr, into, below(env)->recv, out_handle);
}

static hr_status_t end_message(exec_verify_t *verify, checked_t **link) {
  checked_t *checked = *link;
  *link = checked->next;
  hr_status_t st = hear(verify, checked);
  put_back(verify, checked);
  return st;
}

static hr_status_t transfer_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  exec_verify_t *verify = env->verify;
  checked_t **link = &verify->messages;
  while (handle && *link && (*link)->handle != handle) link = &(*link)->next;
  if (handle && *link) HR_TRY(end_message(verify, link));
  return verify->below.transfer_done(env, instr, handle);
}

/* --- the end of an execution --- */

hr_status_t exec_verify_end(exec_verify_t *verify, hr_status_t st) {
  while (verify && verify->messages) {
    checked_t *checked = verify->messages;
    if (!st) {
      st = end_message(verify, &verify->messages);
      continue;
    }
    verify->messages = checked->next;
    put_back(verify, checked);
  }
  return st;
}

hr_status_t exec_verify_match(exec_verify_t *verify, hr_status_t st) {
  return st || !verify ? st : exec_watch_finish(verify->options.watch);
}

/* --- life --- */

hr_status_t exec_verify_create(const exec_verify_options_t *options, exec_verify_t **out_verify) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_verify_t), &memory));
  exec_verify_t *verify = memory;
  verify->options = *options;
  hr_arena_init(&verify->arena);
  hr_map_init(&verify->facts);
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
  hr_map_deinit(&verify->facts);
  hr_arena_deinit(&verify->arena);
  hr_free(verify);
}

void exec_verify_attach(op_env_t *env, exec_verify_t *verify) {
  verify->below = *env;
  env->verify = verify;
  env->all_gather = all_gather;
  env->all_reduce = all_reduce;
  env->reduce_scatter = reduce_scatter;
  env->all_to_all = all_to_all;
  env->permute = permute;
  env->wait = wait_for;
  env->cancel = give_up;
  env->send = send_value;
  env->recv = recv_value;
  env->transfer_done = transfer_done;
}
