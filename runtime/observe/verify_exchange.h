/* State of --verify-comm, and the exchange of signatures between the members of a group or the
 * two ends of a message. Thread: that of the execution. */
#ifndef EXEC_VERIFY_EXCHANGE_H
#define EXEC_VERIFY_EXCHANGE_H

#include "comm/model/comm_signature.h"
#include "comm/model/participants.h"
#include "observe/verify_comm.h"

typedef enum exec_exchange_kind {
  EXEC_EXCHANGE_GROUP,
  EXEC_EXCHANGE_SEND,
  EXEC_EXCHANGE_RECV,
  EXEC_EXCHANGE_PERMUTE_SEND,
  EXEC_EXCHANGE_PERMUTE_RECV
} exec_exchange_kind_t;

/* A transfer and the exchange of its signatures: the op_request_t of this layer. */
typedef struct exec_exchange exec_exchange_t;

struct exec_exchange {
  exec_exchange_t *next;
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
  hr_map_t signatures;              /* instr_signature_t by instruction */
  exec_exchange_t *free, *messages; /* free list; channel transfers in flight */
};

/* One end of a message or of a permute. */
typedef struct exec_message_end {
  exec_exchange_kind_t kind;
  int peer;
  int64_t stream;
  uint32_t channel;
} exec_message_end_t;

/* Takes a record from the free list, or creates one, with room for `count` signatures of others.
 * The list of signatures is kept for the next use. Errors: NO_MEMORY. */
hr_status_t exec_exchange_get(exec_verify_t *verify, int count, exec_exchange_t **out_exchange);
/* Returns a record to the free list; exchanges that did not complete are cancelled, so that
 * nothing writes to it. */
void exec_exchange_recycle(exec_verify_t *verify, exec_exchange_t *exchange);
/* Waits for the partners' signatures and compares them. Errors: DISAGREE with both source
 * locations; failures of the transport. */
hr_status_t exec_exchange_await(exec_verify_t *verify, exec_exchange_t *exchange);
/* Starts the all-gather of the group's signatures. Its number counts the instances of the group,
 * so that processes that are one collective apart are detected. `count` (elements or bytes) is
 * part of the signature. Errors: NO_MEMORY; failures of the transport. */
hr_status_t exec_exchange_group(exec_verify_t *verify, const hlo_instr_t *instr,
                                const op_group_t *group, int64_t count, exec_exchange_t *exchange);
/* Starts the exchange for one or both ends of a permute, or for the end of a message. Errors:
 * NO_MEMORY; failures of the transport. */
hr_status_t exec_exchange_ends(exec_verify_t *verify, const hlo_instr_t *instr,
                               const exec_message_end_t *ends, int count, int64_t size_bytes,
                               exec_exchange_t *exchange);

#endif
