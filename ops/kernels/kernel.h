/* What an op is made of, and what it sees of the world while it runs.
 * An op's kernel has two halves: `prepare` runs once per instruction (per set of shapes, if they
 * are dynamic) and works out strides, loop nests, library plans; `run` follows them. Kernels see
 * dense row-major arrays; layouts do not matter but for bitcast and custom calls. They reach
 * memory, other computations, peers and feeds only through op_env_t. Thread: prepared plans are
 * immutable and shared; an op_env_t belongs to one thread. */
#ifndef HLO_OPS_KERNEL_H
#define HLO_OPS_KERNEL_H

#include "base/comm_types.h"
#include "base/workers.h"
#include "ops/query/op_step.h"

typedef struct op_env op_env_t;
typedef struct op_transfers op_transfers_t;

typedef struct op_kernel {
  /* Works out step->plan (allocated in arena) from instr and the shapes. May be NULL. */
  hr_status_t (*prepare)(hr_arena_t *arena, const op_step_t *step, const void **out_plan);
  /* Computes the result; *out_value is a new reference. `in` is borrowed. */
  hr_status_t (*run)(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                     hlo_value_t **out_value);
} op_kernel_t;

extern const op_kernel_t *const op_kernels[HLO_OPCODE_COUNT]; /* from ops.def */

/* A process group as an instruction names it, resolved for this process: flattened ranks (replica *
 * partitions + partition) in listed order. `handle` belongs to the environment, which makes equal
 * groups once. */
typedef struct op_group {
  int size;
  int my_index; /* -1: this process is in no group */
  const int *ranks;
  void *handle;
} op_group_t;

/* Code for a computation of two scalars: out[i] = f(a[i], b[i]) for i < count, where out may be a.
 * run NULL: there is none. Thread: any. */
typedef struct op_combiner {
  hr_status_t (*run)(const void *code, void *out, const void *a, const void *b, int64_t count);
  const void *code;
} op_combiner_t;

typedef struct op_request op_request_t; /* a transfer under way; op_env.wait frees it */

/* The world as a kernel sees it. All functions may fail with UNAVAILABLE (a peer left), DEADLINE or
 * CANCELLED. */
struct op_env {
  void *engine;              /* of the implementer */
  void *comm;                /* of the implementer of the collective functions */
  void *feeds;               /* of the implementer of feeds */
  void *channels;            /* of the implementer of channels */
  void *verify;              /* of whoever checks what the processes say to each other */
  op_transfers_t *transfers; /* between a -start and its -done: of ops/kernels/common/async_pairs.h,
                                which makes it */
  const hlo_instr_t
      *starting; /* an async-start whose computation's collective is to begin, not to complete */
  const hlo_instr_t *transferring; /* the collective that begins now, */
  bool ends_later;                 /* whose end another step waits for */
  int transfers_in_flight;         /* transfers between their starts and their ends */
  uint64_t arrived_ns; /* raised by wait() to when a transfer was over, if it knows; for traces */
  int rank, replica, partition, num_replicas, num_partitions;

  /* Runs a computation on whole values and gives its result. Takes the arguments' references away.
   */
  hr_status_t (*call)(op_env_t *env, const hlo_computation_t *computation, hlo_value_t **args,
                      int arg_count, hlo_value_t **out_value);
  /* The engine's own code for a computation by which elements are combined. NULL: it has none for
   * any. */
  op_combiner_t (*combiner)(op_env_t *env, const hlo_computation_t *computation);
  void *combiners; /* of the implementer of combiner */
  /* Bytes that live as long as the execution, per instruction and process, zero at first (rng
   * state). */
  hr_status_t (*state)(op_env_t *env, const hlo_instr_t *instr, size_t size_bytes,
                       void **out_state);
  /* Preallocated result for `into_instr`; op_output hands it out once. NULL: allocate. */
  hlo_value_t *out_hint;
  const hlo_instr_t *out_hint_instr;
  /* The same for the next collective, which may have several results and may end in a later step:
   * where they lie, in order. One that lies where its operand does is reduced in place; no other
   * may overlap an operand. */
  hlo_value_t *const *out_buffers;
  uint64_t pinned_operands; /* bit k (k < 64): operand k of such a collective is not changed before
                               its end */
  /* Memory until the end of the step. */
  hr_arena_t *scratch;
  hr_workers_t *workers; /* that a kernel may use; NULL: none but its caller */
  uint64_t rng_seed;     /* for the rng op */
  /* Raised by signals, time-outs and failing peers: loops that may run long ask now and then. */
  hr_status_t (*check_cancelled)(op_env_t *env);

  /* Collectives. The calls start a transfer; wait() completes it. Data stays valid until then.
   * Every member of a group makes the same calls in the same order. */
  /* `stream`: calls of one stream come in the same order on every member; those of different ones
   * (an instruction's channel id) need not. */
  hr_status_t (*group)(op_env_t *env, int size, const int *ranks, int64_t stream,
                       const op_group_t **out_group);
  /* Member k's `in` (equal sizes) arrives at out + k * size_bytes. */
  hr_status_t (*all_gather)(op_env_t *env, const op_group_t *group, const void *in,
                            size_t size_bytes, void *out, op_request_t **out_request);
  /* out = reduction of the members' `in` (which may be `out`) in listed order, the same bits
   * everywhere. */
  hr_status_t (*all_reduce)(op_env_t *env, const op_group_t *group, const void *in, void *out,
                            int64_t count, const hr_reducer_t *reducer, op_request_t **out_request);
  /* Member k gets chunk k (count elements each) of the reduction, in listed order. */
  hr_status_t (*reduce_scatter)(op_env_t *env, const op_group_t *group, const void *in,
                                int64_t count, const hr_reducer_t *reducer, void *out,
                                op_request_t **out_request);
  /* sends[k] goes to member k, recvs[k] comes from it; sizes agree pairwise and may be 0.
   * `equal_bytes`: the size of every block of every member; 0: they may differ. */
  hr_status_t (*all_to_all)(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                            const hr_block_t *recvs, size_t equal_bytes,
                            op_request_t **out_request);
  /* To rank `to` and from rank `from` (-1: none), over the whole world. */
  hr_status_t (*permute)(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                         const hr_block_t *recv, op_request_t **out_request);
  /* Memory for arrays that collectives take and make: peers on the same machine reach them where
   * they are. NULL, or a NULL buffer: any memory will do. */
  hr_status_t (*shared_memory)(op_env_t *env, size_t size_bytes, hr_buffer_t **out_buffer);
  hr_status_t (*wait)(op_env_t *env, op_request_t *request); /* accepts NULL */
  /* From now on transfers move while the program computes, if there is a processor for that. May be
   * NULL. */
  hr_status_t (*enable_async_progress)(op_env_t *env);
  /* Moves transfers on as far as they go now, unless they move while the program computes: engines
   * call it between steps as long as some are under way. May be NULL. */
  void (*poll)(op_env_t *env);
  void (*cancel)(op_env_t *env,
                 op_request_t *request); /* instead of waiting; its data is not touched any more */

  /* Channels. `send` and `recv` start a transfer and return; `transfer_done` waits for it, and
   * takes a handle of 0 for one that needs no waiting. The environment holds `value` and `into`
   * until then, so that nothing is copied. A process that no process sends to receives zeros. NULL
   * where the engine has none: the op reports UNSUPPORTED. */
  hr_status_t (*send)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                      uint32_t *out_handle);
  hr_status_t (*recv)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                      uint32_t *out_handle);
  hr_status_t (*transfer_done)(op_env_t *env, const hlo_instr_t *instr, uint32_t handle);
  /* Feeds. NULL where the engine has none: the op reports UNSUPPORTED. */
  hr_status_t (*infeed)(op_env_t *env, const hlo_instr_t *instr, const hlo_shape_t *shape,
                        hlo_value_t **out_value);
  hr_status_t (*outfeed)(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value);

  /* For tests inside programs, and for those who look into them. Probes show the values they see,
   * by their ids; those that are `asked` for are kept: probed() gives the n-th one, NULL if there
   * are not so many, as a new reference. NULL where the engine has none. */
  hr_status_t (*probe)(op_env_t *env, hr_str_t id, bool asked, hlo_value_t *value);
  hr_status_t (*probed)(op_env_t *env, hr_str_t id, int64_t n, hlo_value_t **out_value);
  /* Runs the computations that `instr` calls as the processes of a grid of their own
   * (interpreter.run_parallel). */
  hr_status_t (*run_parallel)(op_env_t *env, const hlo_instr_t *instr, int num_replicas,
                              int num_partitions, hlo_value_t *const *in, hlo_value_t **out_value);
};

/* --- single instructions, without the program around them --- */
/* Has it a kernel that needs nothing but operands: no peers, feeds, randomness, nor the library of
 * custom calls? */
bool op_is_pure(const hlo_instr_t *instr);
/* The step of an instruction whose operands have the shapes that the program says, prepared. */
hr_status_t op_step_init(hr_arena_t *arena, const hlo_instr_t *instr, op_step_t *out_step);
/* One process that nobody cancels, for kernels of such steps; computations are not called there:
 * UNSUPPORTED. */
op_env_t op_env_local(hr_arena_t *scratch);

/* Result arrays. op_output: shape step->out_shape (an array), undefined contents. */
hr_status_t op_output(op_env_t *env, const op_step_t *step, hlo_value_t **out_value);
/* An array that a collective takes or makes: where the peers reach it, if there is such memory.
 * Undefined contents. */
hr_status_t op_shared_array(op_env_t *env, hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value);
/* Operand k as the start of the result: its own bytes where nobody else can see them any more, else
 * a copy. */
hr_status_t op_reuse_or_copy(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, int k,
                             hlo_value_t **out_value);
/* Operand k as a reference to give away (to op_env_t.call): moved out of `in` where this is its
 * last use. */
static inline hlo_value_t *op_take(const op_step_t *step, hlo_value_t *const *in, int k) {
  hlo_value_t *value = in[k];
  if (!op_is_last_use(step, k)) return hlo_value_retain(value);
  ((hlo_value_t **)in)[k] = NULL;
  return value;
}

#endif
