/* libhlorun: runs XLA HLO and StableHLO programs on CPUs, one process per (replica, partition).
 *
 *   hlorun_client_t *client;     one rank of the grid: its peers, memory and worker threads
 *   hlorun_program_t *program;   a compiled program: immutable, may be shared by threads
 *   hlorun_buffer_t *buffer;     an array or token, argument or result of programs; refcounted
 *   hlorun_execution_t *run;     one asynchronous execution, to be awaited
 *
 * Errors:  every function that can fail returns NULL on success, else a status that the caller
 *          releases. Output arguments are set only on success. Invalid arguments (NULL, negative,
 *          out of range) are USAGE; functions without a status then return 0, NULL, false, or rank
 *          -1. Use of a released object is undefined.
 * Owner:   clients, programs and buffers are refcounted; a program holds a reference to its client,
 *          an execution one to its program. Every _release accepts NULL.
 * Thread:  any, unless the function says otherwise. Executions and transfers of one client run one
 *          after the other in the order of the calls. That order must be the same in all processes
 *          of the grid.
 * "Collective" means: all ranks of the client's world call the function, in the same order. */
#ifndef HLORUN_H
#define HLORUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_status *hlorun_status_t;
typedef struct hlorun_client hlorun_client_t;
typedef struct hlorun_program hlorun_program_t;
typedef struct hlo_value hlorun_buffer_t;
typedef struct hlorun_execution hlorun_execution_t;

/* --- statuses --- */

/* Exit code of the command for this status: 1 mismatch, 2 usage, 3 invalid program, 4 processes
 * disagree, 5 a peer or a file failed, 6 timed out; 0 for NULL. */
int hlorun_status_exit_code(hlorun_status_t status);
/* One line without the source location. Owner: lives as long as the status. */
const char *hlorun_status_message(hlorun_status_t status);
/* The whole report: location, message, notes; several lines. Owner: the caller frees it with
 * free(). NULL if memory runs out. */
char *hlorun_status_format(hlorun_status_t status);
void hlorun_status_release(hlorun_status_t status);

/* Version of the library, such as "1.2.0". Owner: static storage. */
const char *hlorun_version(void);

/* --- clients --- */

typedef enum hlorun_world {
  HLORUN_WORLD_AUTO,   /* peers from the launcher's environment; without any, no MPI */
  HLORUN_WORLD_SINGLE, /* this process alone, whatever the launcher says */
  HLORUN_WORLD_THREADS /* a grid within this process: hlorun_clients_create_local */
} hlorun_world_t;

/* Affinity of worker threads: one core each, the NUMA node of that core, or none. */
typedef enum hlorun_bind { HLORUN_BIND_CORE, HLORUN_BIND_NUMA, HLORUN_BIND_NONE } hlorun_bind_t;

typedef enum hlorun_engine {
  HLORUN_ENGINE_DEFAULT,   /* the compiled engine */
  HLORUN_ENGINE_REFERENCE, /* interpreter over the reference kernels, which define the meaning */
  HLORUN_ENGINE_COMPILED   /* native kernels and generated code */
} hlorun_engine_t;

typedef struct hlorun_client_options {
  size_t struct_size; /* sizeof this struct; distinguishes versions */
  hlorun_world_t world;
  int threads;        /* number of workers; 0: one per core of this process's share of the host */
  hlorun_bind_t bind; /* affinity of the workers and of the calling thread */
  double timeout_s;   /* longest time without progress, in a wait or a loop, in seconds; then
                         executions fail with DEADLINE; 0: no limit */
  uint64_t seed;      /* initial state of the rng op */
  hlorun_engine_t engine; /* engine of the programs loaded by this client */
  bool trace;             /* record times, for hlorun_client_trace and hlorun_client_explain */
  size_t trace_events;    /* capacity of the timeline in events, the latest are kept; 0: 131072 */
  bool flush_denormals;   /* treat denormal numbers as zeros, like XLA on CPUs (default); false: in
                             matrix products and convolutions only */
  bool trace_numa;        /* with trace: count accesses of workers to other NUMA nodes, for
                             hlorun_client_explain; the workers then run one after another */
} hlorun_client_options_t;
/* Sets struct_size and all defaults. */
void hlorun_client_options_init(hlorun_client_options_t *options);

/* Creates this process's client and connects it to its peers, if it has any.
 * Errors:  USAGE for options out of range; UNAVAILABLE if peers or the host's topology cannot be
 *          reached.
 * Owner:   the caller releases *out_client. `options` is copied.
 * Thread:  once per process for a world with peers; binds the calling thread according to `bind`.
 */
hlorun_status_t hlorun_client_create(const hlorun_client_options_t *options,
                                     hlorun_client_t **out_client);
/* Creates `count` clients (1 to 1024) of this process that are each other's peers, rank 0 first.
 * Owner:   `out_clients` has room for `count` references; the caller releases each.
 * Thread:  each client must then be used by its own thread, as collectives block. */
hlorun_status_t hlorun_clients_create_local(const hlorun_client_options_t *options, int count,
                                            hlorun_client_t **out_clients);
/* Creates this process's clients for a part of the world of `whole`. A process of rank r has the
 * members r * ranks_per_process to (r + 1) * ranks_per_process - 1, ranks_per_process being 1 to 16
 * and the same in all parts. Rank k of the part is member members[k]; `count` is the number of
 * ranks of the part. Options are those of `whole`. Collective over the processes of the part.
 * Errors:  USAGE for a part without this process; INVALID for a member that is unknown or listed
 *          twice; UNSUPPORTED if the transport's tags have no room for several ranks of a process;
 *          UNAVAILABLE.
 * Owner:   `out_clients` has room for the members of this process, in the order of their ranks.
 *          Each client holds a reference to `whole`.
 * Thread:  each member must be used by its own thread. `whole` must not be used during the call,
 *          nor while a program of a part runs on several hosts. */
hlorun_status_t hlorun_clients_create_part(hlorun_client_t *whole, int ranks_per_process, int count,
                                           const int *members, hlorun_client_t **out_clients);
/* Drops a reference. Dropping the last one with exit_code 0 shuts down in order, together with the
 * peers. With another exit_code this process and its peers abort: over MPI the call does not
 * return, and the whole job ends with that exit code. */
void hlorun_client_release(hlorun_client_t *client, int exit_code);
/* Rank of this process, replica * num_partitions + partition; -1 for NULL. */
int hlorun_client_rank(const hlorun_client_t *client);
/* Number of ranks; 0 for NULL. */
int hlorun_client_world_size(const hlorun_client_t *client);
/* Cancels the current execution, at the end of its current step, all later executions, and waits
 * for peers. They fail with CANCELLED and `reason` (copied, at most 255 bytes; NULL: a default).
 * Repeated calls have no effect until hlorun_client_resume().
 * Thread:  any, also one that handles signals with sigwait(); not a signal handler. */
void hlorun_client_cancel(hlorun_client_t *client, const char *reason);
/* Ends a cancellation. Waits until all executions submitted before this call have ended; later ones
 * run again. Programs and buffers stay valid.
 * Errors:  USAGE for a client with peers: interrupted transfers cannot be continued. Release it and
 *          create a new one. */
hlorun_status_t hlorun_client_resume(hlorun_client_t *client);
/* Prints to standard error the current activity of this process and the rank that it waits for, and
 * requests a report over all ranks from rank 0. Thread: any, at any time. */
void hlorun_client_print_state(hlorun_client_t *client);
/* Collective. Waits for all ranks. Errors: UNAVAILABLE, CANCELLED, DEADLINE. */
hlorun_status_t hlorun_client_barrier(hlorun_client_t *client);
/* Collective. Gathers `size_bytes` bytes of every rank in rank 0's `out`, in the order of ranks.
 * Shape:   `out` has world_size * size_bytes bytes on rank 0; ignored on other ranks.
 * Errors:  USAGE for sizes that do not fit into memory; as hlorun_client_barrier.
 * Owner:   borrows both until it returns. */
hlorun_status_t hlorun_client_gather(hlorun_client_t *client, const void *bytes, size_t size_bytes,
                                     void *out);
/* Collective. Rank 0 gets the timeline of all ranks as JSON for chrome://tracing and
 * ui.perfetto.dev: per rank a row of steps and a row for each worker; times in microseconds. Other
 * ranks get NULL.
 * Errors:  USAGE if options.trace was false; NO_MEMORY; as hlorun_client_barrier.
 * Owner:   the caller frees *out_json with free(). */
hlorun_status_t hlorun_client_trace(hlorun_client_t *client, char **out_json);
/* The timeline of this process alone. Not collective: for use after a failure. */
hlorun_status_t hlorun_client_trace_alone(hlorun_client_t *client, char **out_json);
/* Number of events of this process that were overwritten because the timeline was full. */
uint64_t hlorun_client_trace_dropped(const hlorun_client_t *client);
/* A table of the kernels of this process by time, with the fraction of the host's peak bandwidth
 * and FLOP/s (measured by this call, tens of milliseconds) and the utilisation of the workers.
 * Errors:  USAGE if options.trace was false; NO_MEMORY.
 * Owner:   the caller frees *out_table with free(). */
hlorun_status_t hlorun_client_explain(hlorun_client_t *client, char **out_table);
/* The table of hlorun_client_explain, followed by each kernel's lower bound of time, from the
 * measured bandwidth and FLOP/s, and by the kernels far above it. Errors and owner: as
 * hlorun_client_explain. */
hlorun_status_t hlorun_client_explain_limits(hlorun_client_t *client, char **out_table);
/* The table as a JSON object: executions, total_s, kernels_s, waits_s, workers, peak_bytes_per_s,
 * peak_flops and kernels, a list with kernel, op, calls, time_s, worked_s, bytes, flops, reason and
 * instructions. Errors and owner: as hlorun_client_explain. */
hlorun_status_t hlorun_client_explain_json(hlorun_client_t *client, char **out_json);
/* Sends `size_bytes` bytes to rank `to`, which calls hlorun_client_recv with the same size. Blocks
 * until `bytes` may be overwritten.
 * Errors:  USAGE for a rank that is no peer; UNAVAILABLE, CANCELLED, DEADLINE.
 * Owner:   borrows `bytes` until it returns. */
hlorun_status_t hlorun_client_send(hlorun_client_t *client, int to, const void *bytes,
                                   size_t size_bytes);
/* Receives `size_bytes` bytes from rank `from`. Blocks until they have arrived. Errors: as
 * hlorun_client_send. */
hlorun_status_t hlorun_client_recv(hlorun_client_t *client, int from, void *bytes,
                                   size_t size_bytes);

/* --- programs --- */

typedef struct hlorun_program_options {
  size_t struct_size; /* sizeof this struct; distinguishes versions */
  int num_replicas;   /* 0: from the module, or the world */
  int num_partitions; /* 0: from the module */
  bool mpmd;          /* ranks may run different programs; same value on all ranks */
  bool unproved;      /* load a program even if its schedule deadlocks */
  bool verify_comm;   /* compare communication operations at run time; same value on all ranks */
  /* Source of the infeed and sink of the outfeed: file:PATH, unix:PATH, tcp:PORT, tcp:HOST:PORT,
   * fd:N or exec:COMMAND, with %r and %p for replica and partition. NULL: none. */
  const char *infeed, *outfeed;
  /* Extended regular expression over names of instructions and probes whose values are written to
   * files. NULL: the environment variable HLORUN_PROBE, else none. */
  const char *probe;
  /* Folder for probeN.npy and index.csv; with several ranks probeN@RANK.npy and index@RANK.csv.
   * NULL: "probes". */
  const char *probe_dir;
  /* Global programs: the mesh, for a program that names none ("data=4,model=2"), and shardings of
   * parameters and results ("in0=data,model;out0=-,data"). NULL: those of the program. */
  const char *mesh, *sharding;
  /* Global programs: pairs of a flattened result and the flattened parameter that it becomes in the
   * next execution; both get the same sharding. NULL: none. */
  const int (*carried)[2];
  int carried_count;
  /* Global programs: parameters and results that the program annotates as unreduced stay summands
   * of a sum over devices. False: they are whole arrays. */
  bool keep_unreduced;
  /* Global programs: parameters and results whose sharding the program leaves open are cut by whole
   * axes of the mesh only, for frameworks that cannot name sub-axes. */
  bool whole_axes;
  /* Global programs: size in bytes, per process, from which on operands of products are not
   * gathered and results not reduced as a whole. Their parts travel around a ring of processes
   * instead, while other parts are multiplied. 0: 256 MiB. */
  uint64_t gather_limit;
} hlorun_program_options_t;
/* Sets struct_size and all defaults. */
void hlorun_program_options_init(hlorun_program_options_t *options);

/* Reads a program in any of its formats (HLO text or proto, StableHLO text or bytecode), verifies,
 * optimises, plans and compiles it. Collective if the client has peers: they compare their plans,
 * so that a difference is reported here instead of causing a hang later.
 * Errors:  INVALID with file:line:column; UNSUPPORTED; USAGE for a grid that does not fit the
 *          world; DISAGREE on all ranks, also for a schedule that deadlocks; UNAVAILABLE for files
 *          and feeds; NO_MEMORY.
 * Owner:   the caller releases *out_program, which holds a reference to the client. `options` is
 *          copied. */
hlorun_status_t hlorun_program_load(hlorun_client_t *client, const char *path,
                                    const hlorun_program_options_t *options,
                                    hlorun_program_t **out_program);
/* Loads a program from memory, which is copied; messages use `name` as the path. Errors and
 * owner: as hlorun_program_load. */
hlorun_status_t hlorun_program_load_bytes(hlorun_client_t *client, const char *name,
                                          const void *bytes, size_t size_bytes,
                                          const hlorun_program_options_t *options,
                                          hlorun_program_t **out_program);
/* Loads one program for `count` clients of this process that are each other's peers, made by
 * hlorun_clients_create_local or hlorun_clients_create_part. The program is compiled once and
 * shared. One thread calls this for all clients; collective over the processes of a part. mpmd
 * and verify_comm are not available.
 * Owner:   `out_programs` has room for `count` references, by rank.
 * Errors:  as hlorun_program_load; USAGE for other clients. */
hlorun_status_t hlorun_programs_load_local(hlorun_client_t *const *clients, int count,
                                           const char *name, const void *bytes, size_t size_bytes,
                                           const hlorun_program_options_t *options,
                                           hlorun_program_t **out_programs);
/* Saves the state of the program's random number generators as an opaque u8[n] array. Thread: not
 * during an execution of the program. */
hlorun_status_t hlorun_program_save_state(hlorun_program_t *program, hlorun_buffer_t **out_bytes);
/* Restores such a state, before the first execution of the same program. Errors: USAGE for an array
 * of another type or rank. A state saved from another program is ignored. */
hlorun_status_t hlorun_program_load_state(hlorun_program_t *program, const hlorun_buffer_t *bytes);
/* Waits until all outfed values are written and closes the outfeed. Errors: UNAVAILABLE; DEADLINE
 * after the client's timeout_s without progress; CANCELLED. */
hlorun_status_t hlorun_program_finish_feeds(hlorun_program_t *program);
void hlorun_program_release(hlorun_program_t *program);
int hlorun_program_num_replicas(const hlorun_program_t *program);
int hlorun_program_num_partitions(const hlorun_program_t *program);
/* Numbers of parameters and results after flattening: the leaves of tuples, in order. */
int hlorun_program_param_count(const hlorun_program_t *program);
int hlorun_program_result_count(const hlorun_program_t *program);
/* Name in the module of the entry parameter that flattened parameter `index` belongs to. */
const char *hlorun_program_param_name(const hlorun_program_t *program, int index);
/* Shapes as HLO text, "f32[2,3]". Owner: live as long as the program. */
const char *hlorun_program_param_shape(const hlorun_program_t *program, int index);
const char *hlorun_program_result_shape(const hlorun_program_t *program, int index);
/* Part of the global parameter or result `index` that process `process` holds, for a program that
 * was partitioned from a global one: sizes of the global array and offsets of the part, one per
 * dimension. False: not such a program, or no such array. */
bool hlorun_program_part(const hlorun_program_t *program, bool is_result, int index, int process,
                         int64_t *out_dims, int64_t *out_starts);
/* Parameters and results of programs partitioned by their author (shard_map) are shards of global
 * arrays. True if flattened parameter (or result) `index` of this rank is a shard of a global array
 * with `rank` dimensions `dims`; `out_starts` then gets its offset per dimension, in elements. */
bool hlorun_program_shard(const hlorun_program_t *program, bool is_result, int index, int rank,
                          const int64_t *dims, int64_t *out_starts);
/* Makes hlorun_program_part work for a program that XLA has partitioned, as for a global program
 * that was partitioned by loading it. False, without a change: the program's text does not
 * determine the sharding of every result. Thread: before others use the program. */
bool hlorun_program_make_global(hlorun_program_t *program);

/* Costs of loading and of running. For a program with dynamic sizes, steps, code and memory are
 * those of the specialization for the sizes of the last execution; times include the compilation of
 * all specializations. */
typedef struct hlorun_program_figures {
  size_t struct_size;           /* sizeof this struct, set by hlorun_program_get_figures */
  double read_s;                /* seconds for parsing and verifying */
  double passes_s;              /* seconds for optimisation passes */
  double plan_s;                /* seconds for ordering and buffer assignment */
  double code_s;                /* seconds for kernel selection and code generation */
  uint64_t arena_bytes;         /* bytes for intermediate values; 0: the reference engine */
  uint64_t native_steps;        /* steps executed by native kernels (compiled engine) */
  uint64_t generated_steps;     /* steps executed by generated code */
  uint64_t reference_steps;     /* steps executed by reference kernels */
  uint64_t copy_steps;          /* steps that only copy */
  uint64_t code_kernels;        /* generated functions */
  uint64_t code_modules;        /* modules that hold them */
  uint64_t code_modules_cached; /* modules loaded from the code cache */
  uint64_t code_bytes;          /* bytes of generated code */
  uint64_t copies;              /* specializations compiled so far */
  uint64_t infeeds;             /* instructions that read the infeed, after optimisation */
  uint64_t outfeeds;            /* instructions that write the outfeed */
  uint64_t random_ops;          /* instructions that draw from the client's seed */
  uint64_t cut_params;          /* parameters that are parts of global arrays */
  uint64_t cut_results;         /* results known to be parts of global arrays */
  uint64_t unknown_results;     /* result arrays of unknown sharding, in a program that XLA has
                                   partitioned */
  uint64_t collectives;         /* collective instructions */
  uint64_t transfers;           /* sends and receives of channels */
} hlorun_program_figures_t;
void hlorun_program_get_figures(const hlorun_program_t *program,
                                hlorun_program_figures_t *out_figures);

/* --- functions of the caller, for custom-call --- */

/* The classic calling convention of XLA's custom calls: in[k] points to the bytes of operand k,
 * `out` to those of the result, or to an array of pointers if the result is a tuple. Arrays are
 * dense and row-major; shapes are those of the instruction. Thread: the executing one. A C++
 * exception that leaves the function ends the execution with an error (on x86-64). */
typedef void (*hlorun_custom_call_fn)(void *out, void **in);
/* Registers a target for programs loaded afterwards, in the whole process. Errors: USAGE for an
 * empty name or one that XLA or JAX use themselves. */
hlorun_status_t hlorun_register_custom_call(const char *target, hlorun_custom_call_fn fn);
/* Opens a shared library. The functions that it defines and exports (not those of its dependencies)
 * become targets under their own names. If it exports
 *   void hlorun_plugin_init(hlorun_status_t (*register_)(const char *, hlorun_custom_call_fn));
 * this is called, and the functions that it registers become targets, too.
 * Errors:  UNAVAILABLE, USAGE.
 * Owner:   the library stays open until the process ends. */
hlorun_status_t hlorun_plugin_open(const char *path);

/* --- buffers --- */

typedef void (*hlorun_release_fn)(void *context, void *data, size_t size_bytes);
/* Creates an array over the caller's bytes.
 * Shape:   `rank` sizes in `dims`; dense and row-major. Types narrower than a byte take one byte
 *          per element. dtype: "f32", "bf16", "s4", "pred", ...
 * Errors:  USAGE for an unknown type, a negative size, a rank out of range, or borrowed data not
 *          aligned to the element size; NO_MEMORY. `release` is not called then.
 * Owner:   with `release` the bytes are borrowed, without a copy. The thread that drops the last
 *          reference calls release(context, data, size_bytes). With NULL for `release` the bytes
 *          are copied before the call returns. */
hlorun_status_t hlorun_buffer_create(const char *dtype, int rank, const int64_t *dims, void *data,
                                     hlorun_release_fn release, void *context,
                                     hlorun_buffer_t **out_buffer);
/* Moves an array into memory shared with peers on this host, so that collectives need not copy it.
 * No effect without shared memory, for an array too small to gain, or for one already there, such
 * as a program's result.
 * Owner:   replaces the caller's reference in *buffer.
 * Errors:  NO_MEMORY. */
hlorun_status_t hlorun_buffer_share(hlorun_client_t *client, hlorun_buffer_t **buffer);
/* Adds a reference and returns `buffer`. Thread: any. */
hlorun_buffer_t *hlorun_buffer_retain(hlorun_buffer_t *buffer);
void hlorun_buffer_release(hlorun_buffer_t *buffer);
/* Name of the element type; static storage. */
const char *hlorun_buffer_dtype(const hlorun_buffer_t *buffer);
int hlorun_buffer_rank(const hlorun_buffer_t *buffer);
/* Sizes, outermost dimension first. Owner: these and the data live as long as the buffer. */
const int64_t *hlorun_buffer_dims(const hlorun_buffer_t *buffer);
const void *hlorun_buffer_data(const hlorun_buffer_t *buffer);
size_t hlorun_buffer_size_bytes(const hlorun_buffer_t *buffer);

/* --- executions --- */

/* Runs the program once and waits for its end.
 * Shape:   `args` has one entry per flattened parameter (NULL for tokens); `donate` is NULL or has
 *          as many; `results` has room for one reference per flattened result.
 * Errors:  USAGE for an argument of another shape, before any reference is taken; CANCELLED,
 *          DEADLINE, DISAGREE, UNAVAILABLE, NO_MEMORY, and failures of the program's own ops.
 * Owner:   borrows args[k], unless donate[k] is true: then it consumes the caller's reference, also
 *          if the run fails, and the program may overwrite a buffer without other references. The
 *          caller releases `results`. */
hlorun_status_t hlorun_execute(hlorun_program_t *program, hlorun_buffer_t *const *args,
                               const bool *donate, hlorun_buffer_t **results);
/* Starts an execution on its own thread. This call determines its place in the client's order.
 * Owner:   `args` are retained, or consumed where donated, before the call returns; the execution
 *          holds a reference to the program. The caller releases *out_execution.
 * Errors:  as hlorun_execute for arguments; UNAVAILABLE if no thread can be started. */
hlorun_status_t hlorun_execute_start(hlorun_program_t *program, hlorun_buffer_t *const *args,
                                     const bool *donate, hlorun_execution_t **out_execution);
/* True if hlorun_execution_await would not block. */
bool hlorun_execution_is_done(hlorun_execution_t *execution);
/* Waits for the end and moves the results out.
 * Errors:  as hlorun_execute; USAGE for a second call.
 * Thread:  one at a time per execution. */
hlorun_status_t hlorun_execution_await(hlorun_execution_t *execution, hlorun_buffer_t **results);
/* Waits for the end of the execution and releases results that were not moved out. Accepts NULL. */
void hlorun_execution_release(hlorun_execution_t *execution);

#ifdef __cplusplus
}
#endif

#endif
