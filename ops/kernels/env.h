/* The services that a running kernel may use: memory, other computations, peers, channels, feeds
 * and probes. Each service is a pointer to its implementer's data and a const table of functions;
 * exec/, comm/ and feed/ implement them. Every function may fail with UNAVAILABLE (a peer left),
 * DEADLINE or CANCELLED. Thread: an environment belongs to one thread. */
#ifndef HLO_OPS_ENV_H
#define HLO_OPS_ENV_H

#include "base/comm_types.h"
#include "base/workers.h"
#include "ir/module.h"

typedef struct op_env op_env_t;
typedef struct op_transfers op_transfers_t; /* ops/kernels/common/transfer_list.h */

/* A process group as an instruction names it, resolved for this process: flattened ranks (replica *
 * partitions + partition) in listed order. `handle` belongs to the environment; equal groups have
 * the same one. */
typedef struct op_group {
  int size;
  int my_index; /* -1: this process is in no group */
  const int *ranks;
  void *handle;
} op_group_t;

/* Code for a computation of two scalars: out[i] = f(a[i], b[i]) for i < count; out may be a. run is
 * NULL if there is no such code. Thread: any. */
typedef struct op_combiner {
  hr_status_t (*run)(const void *code, void *out, const void *a, const void *b, int64_t count);
  const void *code;
} op_combiner_t;

typedef struct op_request op_request_t; /* a transfer under way; op_comm_ops_t.wait frees it */

/* --- services --------------------------------------------------------------------------------- */

/* The engine. All functions are set, with two exceptions: `state` is NULL where single instructions
 * are computed outside of a run (pure.h), and run_parallel is NULL where only one process can run;
 * the op then reports UNSUPPORTED. */
typedef struct op_engine_ops {
  /* Runs a computation on whole values and gives its result. Consumes the references of the
   * arguments, also when it fails. */
  hr_status_t (*call)(op_env_t *env, const hlo_computation_t *computation, hlo_value_t **args,
                      int arg_count, hlo_value_t **out_value);
  /* Memory per instruction and process that lives as long as the execution, initially zero: the
   * state of random number generators. */
  hr_status_t (*state)(op_env_t *env, const hlo_instr_t *instr, size_t size_bytes,
                       void **out_state);
  /* CANCELLED after a signal, a time-out or the failure of a peer: long loops call this now and
   * then. */
  hr_status_t (*check_cancelled)(op_env_t *env);
  /* Runs the computations that `instr` calls as the processes of a grid of their own
   * (interpreter.run_parallel). */
  hr_status_t (*run_parallel)(op_env_t *env, const hlo_instr_t *instr, int num_replicas,
                              int num_partitions, hlo_value_t *const *in, hlo_value_t **out_value);
} op_engine_ops_t;

/* Values that programs expose to tests and debuggers, under ids that the program chooses. */
typedef struct op_probe_ops {
  /* Exposes a value; it is also kept if `asked` for. */
  hr_status_t (*probe)(op_env_t *env, hr_str_t id, bool asked, hlo_value_t *value);
  /* The n-th kept value of an id, as a new reference; NULL if fewer were kept. */
  hr_status_t (*probed)(op_env_t *env, hr_str_t id, int64_t n, hlo_value_t **out_value);
} op_probe_ops_t;

/* Collectives. The calls start a transfer and return a request, NULL if it is over; the data stays
 * valid and unchanged until wait(). Every member of a group makes the same calls in the same
 * order. */
typedef struct op_comm_ops {
  /* `stream`: calls of one stream come in the same order on every member; calls of different
   * streams (an instruction's channel id) need not. */
  hr_status_t (*group)(op_env_t *env, int size, const int *ranks, int64_t stream,
                       const op_group_t **out_group);
  /* Member k's `in` (equal sizes) arrives at out + k * size_bytes. */
  hr_status_t (*all_gather)(op_env_t *env, const op_group_t *group, const void *in,
                            size_t size_bytes, void *out, op_request_t **out_request);
  /* out = reduction of the members' `in` (which may be `out`) in listed order, with the same bits
   * on every member. */
  hr_status_t (*all_reduce)(op_env_t *env, const op_group_t *group, const void *in, void *out,
                            int64_t count, const hr_reducer_t *reducer, op_request_t **out_request);
  /* Member k gets chunk k (count elements each) of the reduction, in listed order. */
  hr_status_t (*reduce_scatter)(op_env_t *env, const op_group_t *group, const void *in,
                                int64_t count, const hr_reducer_t *reducer, void *out,
                                op_request_t **out_request);
  /* sends[k] goes to member k, recvs[k] comes from member k; sizes agree pairwise and may be 0.
   * `equal_bytes`: the size of every block of every member, in bytes; 0: sizes may differ. */
  hr_status_t (*all_to_all)(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                            const hr_block_t *recvs, size_t equal_bytes,
                            op_request_t **out_request);
  /* Sends to rank `to` and receives from rank `from` (-1: none), over the whole world. */
  hr_status_t (*permute)(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                         const hr_block_t *recv, op_request_t **out_request);
  hr_status_t (*wait)(op_env_t *env, op_request_t *request); /* accepts NULL */
  /* Ends a request without waiting: its data is not accessed after the return. */
  void (*cancel)(op_env_t *env, op_request_t *request);
  /* After this call transfers progress while the program computes, if there is a processor for
   * that. */
  hr_status_t (*enable_async_progress)(op_env_t *env);
  /* Progresses transfers without blocking: engines call it between steps while any is in flight. */
  void (*poll)(op_env_t *env);
  /* Memory for arrays that collectives read and write: peers on the same machine access it
   * directly. A NULL buffer: any memory will do. */
  hr_status_t (*shared_memory)(op_env_t *env, size_t size_bytes, hr_buffer_t **out_buffer);
  /* An array that all members of a group access at the same place in memory; every member calls.
   * The buffer is NULL on all of them if they share no memory, none is left, or their keys
   * differ. */
  hr_status_t (*shared_array)(op_env_t *env, const op_group_t *group, size_t size_bytes,
                              uint64_t key, hr_buffer_t **out_buffer);
} op_comm_ops_t;

/* Channels. `send` and `recv` start a transfer and return; `transfer_done` waits for it and accepts
 * the handle 0 of a completed one. The environment holds `value` and `into` until then, so that
 * nothing is copied. A process without a sender receives zeros. */
typedef struct op_channel_ops {
  hr_status_t (*send)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                      uint32_t *out_handle);
  hr_status_t (*recv)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                      uint32_t *out_handle);
  hr_status_t (*transfer_done)(op_env_t *env, const hlo_instr_t *instr, uint32_t handle);
} op_channel_ops_t;

typedef struct op_feed_ops {
  hr_status_t (*infeed)(op_env_t *env, const hlo_instr_t *instr, const hlo_shape_t *shape,
                        hlo_value_t **out_value);
  hr_status_t (*outfeed)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value);
} op_feed_ops_t;

/* --- the environment -------------------------------------------------------------------------- */

/* Hints of the engine for the kernel of the next step; all zero: none. */
typedef struct op_step_hints {
  /* Preallocated result of out_hint_instr; op_output returns it once. NULL: allocate. */
  hlo_value_t *out_hint;
  const hlo_instr_t *out_hint_instr;
  /* Preallocated results of the next collective, in order; it may end in a later step. A result at
   * its operand's address is reduced in place; no other result may overlap an operand. */
  hlo_value_t *const *out_buffers;
  uint64_t pinned_operands; /* bit k (k < 64): operand k of that collective is not changed before
                               its end */
  uint64_t shared_results;  /* bit k (k < 64): result k of that all-gather lies in memory that all
                               members of the group share */
  const hlo_instr_t *starting; /* async-start whose computation's collective starts and does not
                                  complete; NULL: collectives complete */
} op_step_hints_t;

/* State of the transfers between a -start and its -done. */
typedef struct op_transfer_state {
  op_transfers_t *list;       /* created by transfer_list.c with the first transfer */
  int in_flight;              /* transfers started and not completed */
  const hlo_instr_t *current; /* the collective that starts now */
  bool ends_later;            /* a later step completes `current` */
  uint64_t arrived_ns; /* time at which the last awaited transfer was complete, raised by wait();
                          0: unknown. For traces */
} op_transfer_state_t;

struct op_env {
  /* Position in the grid: rank = replica * num_partitions + partition. */
  int rank, replica, partition, num_replicas, num_partitions;
  hr_arena_t *scratch;   /* memory until the end of the step */
  hr_workers_t *workers; /* threads for kernels; NULL: the caller's only */
  uint64_t rng_seed;     /* for the rng op */
  op_step_hints_t hints;
  op_transfer_state_t transfers;

  /* Services: data of the implementer, and its functions; functions NULL: the service is absent. */
  void *engine;
  const op_engine_ops_t *engine_ops; /* never NULL */
  const op_probe_ops_t *probe_ops;
  void *comm;
  const op_comm_ops_t *comm_ops;
  void *channels;
  const op_channel_ops_t *channel_ops;
  void *feeds;
  const op_feed_ops_t *feed_ops;
  void *verify; /* layer above comm_ops that compares the communication of the processes */
  /* Compiled code for a computation that combines elements. NULL: none for any. */
  const void *combiners;
  op_combiner_t (*combiner)(op_env_t *env, const hlo_computation_t *computation);
};

#endif
