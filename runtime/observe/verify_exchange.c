/* Exchange of signatures for --verify-comm. Signatures use separate streams and channels, so that
 * they cannot be matched with data. Waits go through the deadlock detector, with the counts that
 * they need. */
#include "observe/verify_exchange.h"

#include "base/mem.h"
#include "comm/model/abstract_value.h"
#include "transport/core/tp_channel.h"

/* Signatures use separate streams and channel numbers, so that they never match data. */
#define SIGNATURE_STREAM(stream) ((stream) ^ INT64_MIN)

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

/* The signature of an instruction, made once and valid as long as the layer. For a message it
 * has only the shape, as the two ends are two instructions; for a collective all properties that
 * members must agree on. Errors: NO_MEMORY. */
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

hr_status_t exec_exchange_get(exec_verify_t *verify, int count, exec_exchange_t **out_exchange) {
  exec_exchange_t *exchange = verify->free;
  void *memory;
  if (exchange) {
    verify->free = exchange->next;
  } else {
    HR_TRY(hr_alloc_zeroed(sizeof *exchange, &memory));
    exchange = memory;
  }
  comm_signature_t *theirs = exchange->theirs;
  size_t capacity = exchange->capacity;
  *exchange = (exec_exchange_t){.theirs = theirs, .capacity = capacity, .count = count};
  if ((size_t)count > capacity) {
    hr_status_t st = hr_alloc((size_t)count * sizeof *theirs, &memory);
    if (st) {
      exchange->next = verify->free;
      verify->free = exchange;
      return st;
    }
    hr_free(theirs);
    exchange->theirs = memory;
    exchange->capacity = (size_t)count;
  }
  *out_exchange = exchange;
  return NULL;
}

void exec_exchange_recycle(exec_verify_t *verify, exec_exchange_t *exchange) {
  for (int i = 0; i < 2; i++) tp_request_cancel(exchange->exchanges[i]);
  exchange->next = verify->free;
  verify->free = exchange;
}

/* Key in the deadlock detector of a wait for one end: equal in the waiting process and in the
 * awaited one. */
static uint64_t end_key(exec_exchange_kind_t kind, int from, int to, int64_t stream) {
  int64_t key[] = {kind, from, to, stream};
  return hr_hash_bytes(key, sizeof key, 3);
}

/* Key in the deadlock detector of a wait for a group: its members and stream. */
static uint64_t group_key(const tp_group_t *group) {
  uint64_t members = hr_hash_bytes(group->ranks, (size_t)group->size * sizeof *group->ranks, 11);
  return check_mix(members, (uint64_t)group->stream);
}

hr_status_t exec_exchange_await(exec_verify_t *verify, exec_exchange_t *exchange) {
  for (int i = 0; i < 2; i++) {
    tp_request_t *request = exchange->exchanges[i];
    exchange->exchanges[i] = NULL;
    if (request) HR_TRY(exec_watch_wait(verify->options.watch, &exchange->wait, request));
  }
  int rank = verify->options.comm->groups->endpoint->rank;
  for (int k = 0; k < exchange->count; k++) {
    if (!exchange->ranks)
      HR_TRY(comm_signature_compare(rank, &exchange->mine[1], exchange->peers[1],
                                    &exchange->theirs[k]));
    if (!exchange->ranks || !k) continue;
    HR_TRY(comm_signature_compare(exchange->ranks[0], exchange->theirs, exchange->ranks[k],
                                  &exchange->theirs[k]));
  }
  exchange->count = 0;
  return NULL;
}

/* --- collectives of groups --- */

hr_status_t exec_exchange_group(exec_verify_t *verify, const hlo_instr_t *instr,
                                const op_group_t *group, int64_t count, exec_exchange_t *exchange) {
  const tp_group_t *of_data = group->handle;
  const comm_signature_t *signature;
  tp_group_t *of_headers;
  exec_need_t *need = &exchange->wait.needs[0];
  HR_TRY(find_signature(verify, instr, &signature));
  exchange->mine[0] = *signature;
  exchange->mine[0].count = count;
  exchange->ranks = group->ranks;
  *need =
      (exec_need_t){.what = group_key(of_data), .ranks = group->ranks, .rank_count = group->size};
  exchange->wait.instr = instr;
  exchange->wait.need_count = 1;
  HR_TRY(tp_group_get(of_data->owner, group->size, group->ranks, SIGNATURE_STREAM(of_data->stream),
                      &of_headers));
  HR_TRY(exec_watch_count(verify->options.watch, need->what, &need->count));
  exchange->mine[0].number = need->count;
  return tp_all_gather(of_headers, &exchange->mine[0], sizeof exchange->mine[0], exchange->theirs,
                       &exchange->exchanges[0]);
}

/* --- the two ends of a message, or of half a permute --- */

/* True if the data leaves this process at this end. */
static bool is_sending(const exec_message_end_t *end) {
  return end->kind == EXEC_EXCHANGE_SEND || end->kind == EXEC_EXCHANGE_PERMUTE_SEND;
}

/* The kind of the end on the other side. */
static exec_exchange_kind_t other_kind(exec_exchange_kind_t kind) {
  static const exec_exchange_kind_t others[] = {
      [EXEC_EXCHANGE_SEND] = EXEC_EXCHANGE_RECV,
      [EXEC_EXCHANGE_RECV] = EXEC_EXCHANGE_SEND,
      [EXEC_EXCHANGE_PERMUTE_SEND] = EXEC_EXCHANGE_PERMUTE_RECV,
      [EXEC_EXCHANGE_PERMUTE_RECV] = EXEC_EXCHANGE_PERMUTE_SEND};
  return others[kind];
}

/* Sends this end's signature to the receiver, or posts the receive of the sender's. */
static hr_status_t exchange_end(exec_verify_t *verify, const exec_message_end_t *end,
                                exec_exchange_t *exchange) {
  tp_groups_t *groups = verify->options.comm->groups;
  bool sends = is_sending(end);
  int self = groups->endpoint->rank, i = !sends;
  int from = sends ? self : end->peer;
  int to = sends ? end->peer : self;
  exec_need_t *need = &exchange->wait.needs[exchange->wait.need_count++];
  HR_TRY(exec_watch_count(verify->options.watch, end_key(end->kind, from, to, end->stream),
                          &need->count));
  exchange->peers[i] = end->peer;
  exchange->mine[i].number = need->count;
  need->what = end_key(other_kind(end->kind), from, to, end->stream);
  need->ranks = &exchange->peers[i];
  need->rank_count = 1;
  hr_block_t block = {sends ? &exchange->mine[0] : exchange->theirs, sizeof *exchange->theirs};
  return (sends ? tp_channel_send : tp_channel_recv)(groups, end->peer, end->channel, &block, 1,
                                                     &exchange->exchanges[i]);
}

hr_status_t exec_exchange_ends(exec_verify_t *verify, const hlo_instr_t *instr,
                               const exec_message_end_t *ends, int count, int64_t size_bytes,
                               exec_exchange_t *exchange) {
  const comm_signature_t *signature;
  HR_TRY(find_signature(verify, instr, &signature));
  exchange->mine[0] = *signature;
  exchange->mine[1] = *signature;
  exchange->mine[0].count = size_bytes;
  exchange->mine[1].count = size_bytes;
  exchange->wait.instr = instr;
  for (int i = 0; i < count; i++) HR_TRY(exchange_end(verify, &ends[i], exchange));
  return NULL;
}
