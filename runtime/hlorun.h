/* libhlorun: runs XLA HLO programs on CPUs, one process per (replica, partition) of a grid.
 *
 *   hlorun_client_t *client;     this process's place on the grid, its memory and workers
 *   hlorun_program_t *program;   a compiled program: immutable, may be shared by threads
 *   hlorun_buffer_t *buffer;     an array (or token) that programs take and give; refcounted
 *   hlorun_execution_t *run;     one asynchronous execution, to be awaited
 *
 * Every function that can fail returns NULL on success, else a status that the caller releases.
 * Arguments that cannot be meant (NULL, negative, out of range) are USAGE; functions without a
 * status give 0, NULL, false or rank -1 for them. Objects that were released are not recognised.
 * All objects are refcounted or destroyed by their _release; all releases accept NULL. Functions
 * are safe to call from any thread unless they say otherwise; executions of one client run one
 * after the other, in the order of the calls, which must be the same in all processes of the grid.
 */
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
/* What the command would exit with: 1 mismatch, 2 usage, 3 invalid program, 4 processes disagree, 5
 * a peer or a file failed, 6 timed out; 0 for NULL. */
int hlorun_status_exit_code(hlorun_status_t status);
const char *hlorun_status_message(hlorun_status_t status); /* one line, without the place */
char *hlorun_status_format(hlorun_status_t status);        /* whole report; the caller frees it */
void hlorun_status_release(hlorun_status_t status);

const char *hlorun_version(void);

/* --- clients --- */
typedef enum hlorun_world {
  HLORUN_WORLD_AUTO,   /* peers as the launcher's environment says; no MPI when there are none */
  HLORUN_WORLD_SINGLE, /* this process alone, whatever the launcher says */
  HLORUN_WORLD_THREADS /* a grid inside this process, one client per rank:
                          hlorun_clients_create_local */
} hlorun_world_t;

typedef enum hlorun_bind { HLORUN_BIND_CORE, HLORUN_BIND_NUMA, HLORUN_BIND_NONE } hlorun_bind_t;

typedef enum hlorun_engine {
  HLORUN_ENGINE_DEFAULT, /* the compiled engine */
  HLORUN_ENGINE_REFERENCE,
  HLORUN_ENGINE_COMPILED
} hlorun_engine_t;

typedef struct hlorun_client_options {
  size_t struct_size; /* sizeof this struct, for later versions */
  hlorun_world_t world;
  int threads; /* workers; 0: the cores of this process's share of the machine */
  hlorun_bind_t bind;
  double timeout_s; /* give up when no process makes progress for so long (a wait, or one loop); 0:
                       never */
  uint64_t seed;    /* of the rng op */
  hlorun_engine_t engine; /* of the programs that it loads */
  bool
      trace; /* note how long everything takes, for hlorun_client_trace and hlorun_client_explain */
  size_t trace_events; /* calls and shares of workers that the timeline keeps, the last ones; 0:
                          131072 */
} hlorun_client_options_t;
void hlorun_client_options_init(hlorun_client_options_t *options);

hlorun_status_t hlorun_client_create(const hlorun_client_options_t *options,
                                     hlorun_client_t **out_client);
/* `count` clients that are each other's peers, for one thread each. */
hlorun_status_t hlorun_clients_create_local(const hlorun_client_options_t *options, int count,
                                            hlorun_client_t **out_clients);
/* exit_code 0: an orderly end. Otherwise this process gives up, and so do its peers: over MPI the
 * call does not return, and the whole job ends with that exit code. */
void hlorun_client_release(hlorun_client_t *client, int exit_code);
int hlorun_client_rank(const hlorun_client_t *client);
int hlorun_client_world_size(const hlorun_client_t *client);
/* Makes executions under way, when the step that they are in ends, and all that start later fail
 * with CANCELLED and this reason, and so do waits for other processes. Further calls change nothing
 * until hlorun_client_resume(). Safe from signal-handling threads. */
void hlorun_client_cancel(hlorun_client_t *client, const char *reason);
/* Ends a cancellation: waits until executions that were asked for before are over; those asked for
 * later run. Programs and buffers stay as they are. Errors: USAGE for a client with peers: what was
 * broken off between processes cannot be continued; release it and make new ones. */
hlorun_status_t hlorun_client_resume(hlorun_client_t *client);
/* Says on standard error what this process is doing, and whom it waits for. From any thread, at any
 * time. */
void hlorun_client_print_state(hlorun_client_t *client);
/* Waits for all processes of the client's world. */
hlorun_status_t hlorun_client_barrier(hlorun_client_t *client);
/* Collects `size_bytes` bytes of every rank in rank 0's `out` (world_size * size_bytes; ignored
 * elsewhere). */
hlorun_status_t hlorun_client_gather(hlorun_client_t *client, const void *bytes, size_t size_bytes,
                                     void *out);
/* Of clients that trace. Collective: rank 0 gets the timeline of all processes as JSON for
 * chrome://tracing and ui.perfetto.dev, which the caller frees: of each a row of its steps, and one
 * of each worker's shares of them. The others get NULL. */
hlorun_status_t hlorun_client_trace(hlorun_client_t *client, char **out_json);
/* The same of this process alone, asking no other: after a failure. */
hlorun_status_t hlorun_client_trace_alone(hlorun_client_t *client, char **out_json);
/* Calls and shares of this process that the timeline had no place for. */
uint64_t hlorun_client_trace_dropped(const hlorun_client_t *client);
/* Where the time of this process went, by kernel, against what the machine can do, which is
 * measured now, and how many workers were busy meanwhile: a table that the caller frees. */
hlorun_status_t hlorun_client_explain(hlorun_client_t *client, char **out_table);
hlorun_status_t hlorun_client_send(hlorun_client_t *client, int to, const void *bytes,
                                   size_t size_bytes);
hlorun_status_t hlorun_client_recv(hlorun_client_t *client, int from, void *bytes,
                                   size_t size_bytes);

/* --- programs --- */
typedef struct hlorun_program_options {
  size_t struct_size;
  int num_replicas;   /* 0: from the module, or the world */
  int num_partitions; /* 0: from the module */
  bool mpmd;          /* other processes may run other programs; all of them say so */
  bool unproved;      /* load it even if its schedule gets stuck */
  bool verify_comm;   /* check what the processes say to each other while it runs; all of them, or
                         none */
  const char *infeed, *outfeed; /* what feeds it, and takes what it feeds out: file:PATH, unix:PATH,
                                   tcp:PORT, tcp:HOST:PORT, fd:N, exec:COMMAND; %r and %p: replica
                                   and partition. NULL: nothing */
  const char *probe;     /* instructions, and probes of the program, whose values go to files: an
                            extended regular     expression of their names. NULL: as the variable
                            HLORUN_PROBE says, else none */
  const char *probe_dir; /* where: probeN.npy and index.csv (probeN@RANK.npy and index@RANK.csv of
                            several processes); NULL: "probes" */
} hlorun_program_options_t;
void hlorun_program_options_init(hlorun_program_options_t *options);

/* Reads, verifies and plans. With peers: all processes load together, and a difference between them
 * is found here. Errors: INVALID with file:line:column, USAGE for a grid that does not fit the
 * world, DISAGREE (also for a schedule that gets stuck). */
hlorun_status_t hlorun_program_load(hlorun_client_t *client, const char *path,
                                    const hlorun_program_options_t *options,
                                    hlorun_program_t **out_program);
/* The same from memory; `name` stands for the path in messages. */
hlorun_status_t hlorun_program_load_bytes(hlorun_client_t *client, const char *name,
                                          const void *bytes, size_t size_bytes,
                                          const hlorun_program_options_t *options,
                                          hlorun_program_t **out_program);
/* The state of its random number generators, as a list of bytes; and back, before the first
 * execution. */
hlorun_status_t hlorun_program_save_state(hlorun_program_t *program, hlorun_buffer_t **out_bytes);
hlorun_status_t hlorun_program_load_state(hlorun_program_t *program, const hlorun_buffer_t *bytes);
/* Waits until all that it fed out is written, and ends its outfeed. */
hlorun_status_t hlorun_program_finish_feeds(hlorun_program_t *program);
void hlorun_program_release(hlorun_program_t *program);
int hlorun_program_num_replicas(const hlorun_program_t *program);
int hlorun_program_num_partitions(const hlorun_program_t *program);
/* Parameters and results are flattened: tuples count by their leaves, in order. */
int hlorun_program_param_count(const hlorun_program_t *program);
int hlorun_program_result_count(const hlorun_program_t *program);
const char *hlorun_program_param_name(const hlorun_program_t *program, int index);
/* "f32[2,3]"; lives as long as the program. */
const char *hlorun_program_param_shape(const hlorun_program_t *program, int index);
const char *hlorun_program_result_shape(const hlorun_program_t *program, int index);
/* Programs that cut global arrays themselves (shard_map) have shards as parameters and results. Is
 * this process's parameter (or result) `index` a part of a global array of `rank` sizes `dims`?
 * Then gives the part's place in it. */
bool hlorun_program_shard(const hlorun_program_t *program, bool is_result, int index, int rank,
                          const int64_t *dims, int64_t *out_starts);

/* What loading took and what running needs. Of a program with dynamic sizes, once it ran: steps,
 * code and memory are those of the copy for the sizes of the last execution, and times include
 * compiling all its copies. */
typedef struct hlorun_program_figures {
  size_t struct_size;
  double read_s, passes_s, plan_s,
      code_s; /* stages of loading; code: kernels chosen and made, addresses planned */
  uint64_t
      arena_bytes; /* of intermediate values, planned ahead; 0: the reference engine's own way */
  /* Of the compiled engine: steps by what runs them; kernels whose code was made, in how many
   * modules, and how many of these the cache had. */
  uint64_t native_steps, generated_steps, reference_steps, copy_steps, code_kernels, code_modules,
      code_modules_cached;
  uint64_t code_bytes; /* of memory that generated code takes */
  uint64_t copies;     /* for the sizes of arguments, that were compiled so far */
} hlorun_program_figures_t;
void hlorun_program_get_figures(const hlorun_program_t *program,
                                hlorun_program_figures_t *out_figures);

/* --- functions of the caller's, which programs call by custom-call --- */
/* The classic convention: in[k] are the bytes of operand k; `out` those of the result, or a list of
 * them if it is a tuple. Arrays are dense and row-major; their shapes are what the program says.
 * Called by the thread that executes. */
typedef void (*hlorun_custom_call_fn)(void *out, void **in);
/* For programs that are loaded afterwards. The names that XLA and JAX use themselves cannot be
 * taken. */
hlorun_status_t hlorun_register_custom_call(const char *target, hlorun_custom_call_fn fn);
/* Opens a shared library: functions that it defines and exports itself can be called by their names
 * (none of the libraries that it needs), and those that its `void
 * hlorun_plugin_init(hlorun_status_t (*register_)(const char *, hlorun_custom_call_fn))` registers,
 * by these. */
hlorun_status_t hlorun_plugin_open(const char *path);

/* --- buffers --- */
typedef void (*hlorun_release_fn)(void *context, void *data, size_t size_bytes);
/* An array over the caller's bytes: dense, row-major, one element after the other; types below a
 * byte take one byte an element. dtype: "f32", "bf16", ... With `release` the bytes are borrowed
 * until it is called (zero copy), without it they are copied now. Errors: USAGE for a rank, a size
 * or an address that no array has; NO_MEMORY for sizes that no memory has. `release` is not called
 * then. */
hlorun_status_t hlorun_buffer_create(const char *dtype, int rank, const int64_t *dims, void *data,
                                     hlorun_release_fn release, void *context,
                                     hlorun_buffer_t **out_buffer);
/* Moves an array to memory that other processes of this machine reach, where there is such memory
 * and the array is not there yet: what programs exchange step after step need not be copied for
 * them then. Results are there anyway. The caller's reference is exchanged. */
hlorun_status_t hlorun_buffer_share(hlorun_client_t *client, hlorun_buffer_t **buffer);
hlorun_buffer_t *hlorun_buffer_retain(hlorun_buffer_t *buffer);
void hlorun_buffer_release(hlorun_buffer_t *buffer);
const char *hlorun_buffer_dtype(const hlorun_buffer_t *buffer);
int hlorun_buffer_rank(const hlorun_buffer_t *buffer);
const int64_t *hlorun_buffer_dims(const hlorun_buffer_t *buffer);
const void *hlorun_buffer_data(const hlorun_buffer_t *buffer);
size_t hlorun_buffer_size_bytes(const hlorun_buffer_t *buffer);

/* --- executions --- */
/* Runs the program once. `args`: one buffer per flattened parameter (NULL for tokens). Where
 * `donate` is not NULL and donate[k] is true, the caller's reference of args[k] is taken away, so
 * that the program may overwrite the buffer if nobody else holds it. `results`: one new reference
 * per flattened result. Errors: USAGE for an argument of another shape (nothing is taken then), and
 * whatever the program meets. */
hlorun_status_t hlorun_execute(hlorun_program_t *program, hlorun_buffer_t *const *args,
                               const bool *donate, hlorun_buffer_t **results);
/* The same in the background. `args` are retained at once. */
hlorun_status_t hlorun_execute_start(hlorun_program_t *program, hlorun_buffer_t *const *args,
                                     const bool *donate, hlorun_execution_t **out_execution);
bool hlorun_execution_is_done(hlorun_execution_t *execution);
/* Waits for the end and gives its results; call once, then release. */
hlorun_status_t hlorun_execution_await(hlorun_execution_t *execution, hlorun_buffer_t **results);
void hlorun_execution_release(hlorun_execution_t *execution);

#ifdef __cplusplus
}
#endif

#endif
