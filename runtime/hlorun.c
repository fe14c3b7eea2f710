/* The embedding API, over the compiler, the step machine and the transports. */
#include "hlorun.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "compiler.h"
#include "exec/agree.h"
#include "exec/agree_groups.h"
#include "exec/channels.h"
#include "exec/comm.h"
#include "exec/compiled.h"
#include "exec/explain.h"
#include "exec/feeds.h"
#include "exec/machine.h"
#include "exec/pool.h"
#include "exec/step_trace.h"
#include "exec/trace_merge.h"
#include "exec/verify_comm.h"
#include "exec/wait_graph.h"
#include "ir/print.h"
#include "ir/shard.h"
#include "ops/custom_host.h"
#include "prove.h"
#include "topo/topo.h"
#include "transport/loop.h"
#include "transport/transport.h"
#include "variants.h"

struct hlorun_client {
  int references;
  hlorun_client_options_t options;
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  exec_watch_t *watch; /* NULL: no program is verified while it runs */
  exec_cancel_t cancel;
  char cancel_reason[256];
  exec_pool_t pool;
  /* What uses the endpoint does so in turn, in the order of the calls. */
  pthread_mutex_t mutex;
  pthread_cond_t turn_ended;
  uint64_t next_ticket, now_serving;
  /* Watchdog of waits: when the step counter last moved. */
  atomic_ulong progress;
  _Atomic(const hlo_instr_t *) current; /* that runs */
  unsigned long progress_seen;
  double progress_seen_s;
  hr_trace_t *trace; /* NULL: none */
  hr_trace_subject_t *executions;
};

#define TRACE_EVENTS 131072 /* 3 MiB */

struct hlorun_program {
  int references;
  hlorun_client_t *client;
  compiled_program_t compiled;
  exec_machine_t *machine;     /* of the reference engine, or */
  exec_compiled_t *fast;       /* of the compiled one */
  variants_t *variants;        /* beside `machine`: copies for the sizes of arguments; NULL: none */
  exec_probe_files_t *probe_files; /* NULL: none */
  exec_channels_t *channels;
  exec_verify_t *verify;       /* NULL: nobody asked for it */
  exec_feeds_t *feeds;
  int param_count, result_count; /* flattened */
  const char **param_shapes, **result_shapes, **param_names;
  bool *all_params; /* true for each */
};

struct hlorun_execution {
  hlorun_program_t *program;
  hlorun_buffer_t **args;
  hlorun_buffer_t **results;
  uint64_t ticket;
  pthread_t thread;
  bool joined;
  atomic_bool done;
  hr_status_t status;
};

/* --- statuses --- */

int hlorun_status_exit_code(hlorun_status_t status) { return hr_status_exit_code(status); }
const char *hlorun_status_message(hlorun_status_t status) { return hr_status_message(status); }
char *hlorun_status_format(hlorun_status_t status) { return hr_status_format(status); }
void hlorun_status_release(hlorun_status_t status) { hr_status_release(status); }
const char *hlorun_version(void) { return PACKAGE_VERSION; }

/* --- clients --- */

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void hlorun_client_options_init(hlorun_client_options_t *options) {
  *options = (hlorun_client_options_t){.struct_size = sizeof *options};
}

/* Called while a transfer is waited for. The clock starts anew whenever a step was made since the last call. */
static hr_status_t interrupt_wait(void *context) {
  hlorun_client_t *client = context;
  HR_TRY(exec_cancel_check(&client->cancel));
  HR_TRY(exec_watch_poll(client->watch));
  HR_TRY(exec_wait_poll(&client->comm));
  if (client->options.timeout_s <= 0) return NULL;
  unsigned long progress = atomic_load_explicit(&client->progress, memory_order_relaxed);
  double now = now_s();
  if (progress != client->progress_seen || client->progress_seen_s == 0) {
    client->progress_seen = progress;
    client->progress_seen_s = now;
    return NULL;
  }
  if (now - client->progress_seen_s < client->options.timeout_s) return NULL;
  return exec_wait_give_up(&client->comm, now - client->progress_seen_s);
}

static hr_status_t open_endpoint(hlorun_world_t world, tp_endpoint_t **out_endpoint) {
  if (world == HLORUN_WORLD_AUTO && tp_launcher_world_size() > 1) return tp_mpi_open(out_endpoint);
  return tp_single_open(out_endpoint);
}

static hr_status_t open_trace(hlorun_client_t *client) {
  if (!client->options.trace) return NULL;
  HR_TRY(hr_trace_create(client->options.trace_events ? client->options.trace_events : TRACE_EVENTS, &client->trace));
  return exec_trace_plain(client->trace, "execution", HR_TRACE_RUN, &client->executions);
}

static const topo_bind_t binds[] = {TOPO_BIND_CORE, TOPO_BIND_NUMA, TOPO_BIND_NONE};

static hr_status_t client_over(const hlorun_client_options_t *options, tp_endpoint_t *endpoint,
                               hlorun_client_t **out_client) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_client_t), &memory));
  hlorun_client_t *client = memory;
  client->references = 1;
  client->options = *options;
  client->endpoint = endpoint;
  hr_status_t st = open_trace(client);
  if (!st) st = exec_comm_init(&client->comm, endpoint);
  if (st) {
    hr_trace_destroy(client->trace);
    hr_free(client);
    return st;
  }
  exec_pool_init(&client->pool, (exec_pool_options_t){.threads = options->threads,
                                                      .bind = binds[options->bind],
                                                      .local_rank = endpoint->local_rank,
                                                      .local_size = endpoint->local_size});
  client->comm.processors = tp_loop_note_processors();
  client->comm.groups->notes_times = client->trace != NULL;
  client->comm.count_workers = exec_pool_count;
  client->comm.workers_context = &client->pool;
  pthread_mutex_init(&client->mutex, NULL);
  pthread_cond_init(&client->turn_ended, NULL);
  endpoint->interrupted = interrupt_wait;
  endpoint->interrupted_context = client;
  *out_client = client;
  return NULL;
}

/* Puts the calling thread, which will compute, on this process's share of the machine. A process alone has all of it, and
 * is spared the look at the machine. */
static hr_status_t bind_to_share(const tp_endpoint_t *endpoint, hlorun_bind_t bind) {
  if (endpoint->world_size == 1 || bind == HLORUN_BIND_NONE) return NULL;
  topo_share_t *share;
  HR_TRY(topo_share_create(endpoint->local_rank, endpoint->local_size, &share));
  hr_status_t st = topo_share_bind(share, 0, binds[bind]);
  topo_share_destroy(share);
  return st;
}

hlorun_status_t hlorun_client_create(const hlorun_client_options_t *options, hlorun_client_t **out_client) {
  if (options->struct_size != sizeof *options) return hr_error(HR_USAGE, "client options are not initialised");
  tp_endpoint_t *endpoint;
  HR_TRY(open_endpoint(options->world, &endpoint));
  hr_status_t st = bind_to_share(endpoint, options->bind);
  if (!st) st = client_over(options, endpoint, out_client);
  if (st) tp_close(endpoint, true, hr_status_exit_code(st));
  return st;
}

hlorun_status_t hlorun_clients_create_local(const hlorun_client_options_t *options, int count,
                                            hlorun_client_t **out_clients) {
  if (options->struct_size != sizeof *options) return hr_error(HR_USAGE, "client options are not initialised");
  if (count < 1) return hr_error(HR_USAGE, "%d clients, want at least 1", count);
  tp_endpoint_t **endpoints;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof *endpoints, &memory));
  endpoints = memory;
  hr_status_t st = tp_self_open(count, endpoints);
  int made = 0;
  while (!st && made < count && !(st = client_over(options, endpoints[made], &out_clients[made]))) made++;
  for (int i = 0; st && i < made; i++) hlorun_client_release(out_clients[i], hr_status_exit_code(st));
  for (int i = made; st && i < count; i++)
    tp_close(endpoints[i], true, hr_status_exit_code(st));
  hr_free(endpoints);
  return st;
}

static void client_retain(hlorun_client_t *client) { __atomic_fetch_add(&client->references, 1, __ATOMIC_RELAXED); }

void hlorun_client_release(hlorun_client_t *client, int exit_code) {
  if (!client || __atomic_fetch_sub(&client->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  exec_pool_deinit(&client->pool);
  exec_watch_destroy(client->watch);
  exec_comm_deinit(&client->comm);
  tp_close(client->endpoint, exit_code != 0, exit_code);
  hr_trace_destroy(client->trace);
  pthread_mutex_destroy(&client->mutex);
  pthread_cond_destroy(&client->turn_ended);
  hr_free(client);
}

int hlorun_client_rank(const hlorun_client_t *client) { return client->endpoint->rank; }
int hlorun_client_world_size(const hlorun_client_t *client) { return client->endpoint->world_size; }

void hlorun_client_cancel(hlorun_client_t *client, const char *reason) {
  pthread_mutex_lock(&client->mutex);
  if (!atomic_load(&client->cancel.reason)) {
    snprintf(client->cancel_reason, sizeof client->cancel_reason, "%s", reason);
    atomic_store(&client->cancel.reason, client->cancel_reason);
  }
  pthread_mutex_unlock(&client->mutex);
}

void hlorun_client_print_state(hlorun_client_t *client) {
  char text[512];
  exec_wait_describe(&client->comm, atomic_load(&client->current), text, sizeof text);
  fprintf(stderr, "rank %d %s\n", client->endpoint->rank, text);
  exec_wait_ask(&client->comm);
}

static uint64_t take_ticket(hlorun_client_t *client) {
  pthread_mutex_lock(&client->mutex);
  uint64_t ticket = client->next_ticket++;
  pthread_mutex_unlock(&client->mutex);
  return ticket;
}

static void await_turn(hlorun_client_t *client, uint64_t ticket) {
  pthread_mutex_lock(&client->mutex);
  while (client->now_serving != ticket) pthread_cond_wait(&client->turn_ended, &client->mutex);
  pthread_mutex_unlock(&client->mutex);
  client->progress_seen_s = 0;
}

static void end_turn(hlorun_client_t *client) {
  pthread_mutex_lock(&client->mutex);
  client->now_serving++;
  pthread_cond_broadcast(&client->turn_ended);
  pthread_mutex_unlock(&client->mutex);
}

hlorun_status_t hlorun_client_barrier(hlorun_client_t *client) {
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_comm_barrier(&client->comm);
  end_turn(client);
  return st;
}

hlorun_status_t hlorun_client_gather(hlorun_client_t *client, const void *bytes, size_t size_bytes, void *out) {
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_comm_gather(&client->comm, bytes, size_bytes, out);
  end_turn(client);
  return st;
}

/* The caller's free() takes it. */
static hr_status_t give_text(hr_status_t st, hr_text_t *text, char **out_text) {
  if (!st) st = hr_text_finish(text);
  if (!st && text->size)
    *out_text = hr_text_steal(text);
  else
    hr_text_deinit(text);
  return st;
}

static hr_status_t check_traces(const hlorun_client_t *client) {
  return client->trace ? NULL : hr_error(HR_USAGE, "the client was not told to trace");
}

hlorun_status_t hlorun_client_trace(hlorun_client_t *client, char **out_json) {
  hr_text_t text;
  HR_TRY(check_traces(client));
  *out_json = NULL;
  hr_text_init(&text);
  await_turn(client, take_ticket(client));
  hr_status_t st =
      exec_trace_merge(&client->comm, client->endpoint->rank, client->endpoint->world_size, client->trace, &text);
  end_turn(client);
  return give_text(st, &text, out_json);
}

hlorun_status_t hlorun_client_trace_alone(hlorun_client_t *client, char **out_json) {
  hr_text_t text;
  HR_TRY(check_traces(client));
  *out_json = NULL;
  hr_text_init(&text);
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_trace_print(client->endpoint->rank, client->trace, &text);
  end_turn(client);
  return give_text(st, &text, out_json);
}

uint64_t hlorun_client_trace_dropped(const hlorun_client_t *client) {
  return client->trace ? hr_trace_dropped(client->trace) : 0;
}

hlorun_status_t hlorun_client_explain(hlorun_client_t *client, char **out_table) {
  hr_text_t text;
  hr_workers_t *workers = NULL;
  exec_peak_t peak;
  HR_TRY(check_traces(client));
  hr_text_init(&text);
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_pool_start(&client->pool, &workers);
  if (!st) st = exec_peak_measure(workers, &peak);
  if (!st) st = exec_explain_print(&text, client->trace, &peak);
  end_turn(client);
  return give_text(st, &text, out_table);
}

hlorun_status_t hlorun_client_send(hlorun_client_t *client, int to, const void *bytes, size_t size_bytes) {
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_comm_send(&client->comm, to, bytes, size_bytes);
  end_turn(client);
  return st;
}

hlorun_status_t hlorun_client_recv(hlorun_client_t *client, int from, void *bytes, size_t size_bytes) {
  await_turn(client, take_ticket(client));
  hr_status_t st = exec_comm_recv(&client->comm, from, bytes, size_bytes);
  end_turn(client);
  return st;
}

/* --- programs --- */

void hlorun_program_options_init(hlorun_program_options_t *options) {
  *options = (hlorun_program_options_t){.struct_size = sizeof *options};
}

static hr_status_t shape_string(hr_arena_t *arena, const hlo_shape_t *shape, const char **out_string) {
  hr_text_t text;
  hr_text_init(&text);
  hlo_shape_print(&text, shape, false);
  hr_status_t st = hr_text_finish(&text);
  if (!st) st = hr_arena_cstr(arena, (hr_str_t){text.data, text.size}, out_string);
  hr_text_deinit(&text);
  return st;
}

/* Writes down names and shapes of the flattened parameters and results, in the plan's arena. */
static hr_status_t describe_interface(hlorun_program_t *program) {
  const hlo_module_t *module = program->compiled.module;
  hr_arena_t *arena = &program->compiled.plan->arena;
  const hlo_shape_t *result = hlo_entry_result_shape(module);
  int entry_params = (int)module->entry->params.count, leaf = 0;
  for (int p = 0; p < entry_params; p++) program->param_count += hlo_shape_leaf_count(hlo_entry_param_shape(module, p));
  program->result_count = hlo_shape_leaf_count(result);
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_shapes));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_names));
  HR_TRY(HR_NEW_ARRAY(arena, program->result_count, &program->result_shapes));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->all_params));
  memset(program->all_params, true, (size_t)program->param_count);
  for (int p = 0; p < entry_params; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++, leaf++) {
      program->param_names[leaf] = module->entry->params.data[p]->name.data;
      HR_TRY(shape_string(arena, hlo_shape_leaf(shape, i), &program->param_shapes[leaf]));
    }
  }
  for (int r = 0; r < program->result_count; r++)
    HR_TRY(shape_string(arena, hlo_shape_leaf(result, r), &program->result_shapes[r]));
  return NULL;
}

/* All processes load together and compare what they are going to say to each other. */
static hr_status_t agree_with_peers(hlorun_program_t *program) {
  const char *const *lines;
  int count;
  HR_TRY(plan_comm_lines(program->compiled.plan, &lines, &count));
  return exec_agree(&program->client->comm, lines, count);
}

static hr_status_t meet_peers(hlorun_program_t *program, bool mpmd, bool unproved) {
  hlorun_client_t *client = program->client;
  exec_channels_options_t options = {.plan = program->compiled.plan, .comm = &client->comm, .mpmd = mpmd};
  bool alone = client->endpoint->world_size == 1;
  await_turn(client, take_ticket(client));
  hr_status_t st = alone ? NULL : mpmd ? exec_agree_groups(&client->comm, program->compiled.plan)
                                       : agree_with_peers(program);
  if (!st) st = exec_channels_create(&options, &program->channels);
  if (!st && mpmd && !unproved && !alone) st = prove_together(&client->comm, program->compiled.plan);
  end_turn(client);
  return st;
}

/* Signature of exec_machine_options_t.attach_comm. */
static hr_status_t attach_peers(op_env_t *env, void *context) {
  hlorun_program_t *program = context;
  exec_channels_attach(env, program->channels);
  exec_feeds_attach(env, program->feeds);
  HR_TRY(exec_comm_attach(env, &program->client->comm));
  if (program->verify) exec_verify_attach(env, program->verify);
  return NULL;
}

static hr_status_t make_verify(hlorun_program_t *program) {
  hlorun_client_t *client = program->client;
  if (!client->watch) HR_TRY(exec_watch_create(&client->comm, &client->watch));
  exec_verify_options_t options = {.plan = program->compiled.plan, .comm = &client->comm,
                                   .channels = program->channels, .watch = client->watch};
  return exec_verify_create(&options, &program->verify);
}

/* HLORUN_CHECK=1 */
static bool is_checking(void) {
  const char *text = getenv("HLORUN_CHECK");
  return text && *text && strcmp(text, "0") != 0;
}

static exec_machine_options_t machine_options(hlorun_program_t *program) {
  hlorun_client_t *client = program->client;
  return (exec_machine_options_t){.rank = client->endpoint->rank,
                                  .rng_seed = client->options.seed,
                                  .cancel = &client->cancel,
                                  .progress = &client->progress,
                                  .current = &client->current,
                                  .interrupted = interrupt_wait,
                                  .interrupted_context = client,
                                  .attach_comm = attach_peers,
                                  .comm_context = program,
                                  .trace = client->trace,
                                  .probe_files = program->probe_files};
}

/* Signature of variants_options_t.make_machine. */
static hr_status_t make_fast(void *context, const compiled_program_t *compiled, exec_compiled_t **out_machine) {
  hlorun_program_t *program = context;
  exec_compiled_options_t options = {.machine = machine_options(program), .check = is_checking()};
  if (compiled->flat->workers > 1) HR_TRY(exec_pool_start(&program->client->pool, &options.workers));
  return exec_compiled_create(compiled->flat, &options, out_machine);
}

static hr_status_t make_machine(hlorun_program_t *program) {
  exec_machine_options_t options = machine_options(program);
  options.trace_steps = true;
  if (program->compiled.flat) return make_fast(program, &program->compiled, &program->fast);
  return exec_machine_create(program->compiled.plan, &options, &program->machine);
}

/* A program that is verified while it runs is followed by its own plan. */
static hr_status_t make_variants(hlorun_program_t *program, const char *name, hr_buffer_t *bytes,
                                 const compiler_options_t *compiler) {
  variants_options_t options = {.name = name, .bytes = bytes, .compiler = *compiler, .plan = program->compiled.plan,
                                .make_machine = make_fast, .context = program};
  if (!program->compiled.can_specialise || program->verify) return NULL;
  return variants_create(&options, &program->variants);
}

/* Signature of compiler_options_t.start_workers. */
static hr_status_t start_workers(void *pool, hr_workers_t **out_workers) { return exec_pool_start(pool, out_workers); }

/* The stages follow each other without a gap. */
static hr_status_t trace_loading(hr_trace_t *trace, const compiled_program_t *compiled, uint64_t begin_ns) {
  const char *const names[] = {"read", "passes", "plan", "code"};
  double took_s[] = {compiled->read_s, compiled->passes_s, compiled->plan_s, compiled->code_s};
  for (size_t i = 0; trace && i < sizeof names / sizeof *names; i++) {
    uint64_t took_ns = (uint64_t)(1e9 * took_s[i]);
    HR_TRY(hr_trace_stage_add(trace, names[i], begin_ns, took_ns));
    begin_ns += took_ns;
  }
  return NULL;
}

static const char *probe_of(const hlorun_program_options_t *options) {
  const char *text = options->probe ? options->probe : getenv("HLORUN_PROBE");
  return text && *text ? text : NULL;
}

static hr_status_t open_probe_files(hlorun_program_t *program, const hlorun_program_options_t *options) {
  const tp_endpoint_t *endpoint = program->client->endpoint;
  if (!probe_of(options)) return NULL;
  return exec_probe_files_open(options->probe_dir ? options->probe_dir : "probes", probe_of(options),
                               endpoint->world_size > 1 ? endpoint->rank : -1, &program->probe_files);
}

static hr_status_t load_into(hlorun_program_t *program, const char *name, hr_buffer_t *bytes,
                             const hlorun_program_options_t *options) {
  compiler_options_t compiler = {.num_replicas = options->num_replicas,
                                 .num_partitions = options->num_partitions,
                                 .world_size = program->client->endpoint->world_size,
                                 .part = options->mpmd,
                                 .unproved = options->unproved,
                                 .compiled = program->client->options.engine != HLORUN_ENGINE_REFERENCE,
                                 .start_workers = start_workers,
                                 .probe = probe_of(options),
                                 .workers_context = &program->client->pool};
  uint64_t begin_ns = hr_trace_now_ns();
  HR_TRY(compile_bytes(name, bytes, &compiler, &program->compiled));
  HR_TRY(trace_loading(program->client->trace, &program->compiled, begin_ns));
  HR_TRY(describe_interface(program));
  HR_TRY(meet_peers(program, options->mpmd, options->unproved));
  if (options->verify_comm) HR_TRY(make_verify(program));
  exec_feeds_options_t feeds = {.plan = program->compiled.plan, .comm = &program->client->comm,
                                .infeed = options->infeed, .outfeed = options->outfeed};
  HR_TRY(exec_feeds_create(&feeds, &program->feeds));
  HR_TRY(open_probe_files(program, options));
  HR_TRY(make_variants(program, name, bytes, &compiler));
  return make_machine(program);
}

static hr_status_t load_program(hlorun_client_t *client, const char *name, hr_buffer_t *bytes,
                                const hlorun_program_options_t *options, hlorun_program_t **out_program) {
  if (options->struct_size != sizeof *options) return hr_error(HR_USAGE, "program options are not initialised");
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_program_t), &memory));
  hlorun_program_t *program = memory;
  program->references = 1;
  program->client = client;
  client_retain(client);
  hr_status_t st = load_into(program, name, bytes, options);
  if (st)
    hlorun_program_release(program);
  else
    *out_program = program;
  return st;
}

hlorun_status_t hlorun_program_load(hlorun_client_t *client, const char *path,
                                    const hlorun_program_options_t *options, hlorun_program_t **out_program) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  hr_status_t st = load_program(client, path, bytes, options, out_program);
  hr_buffer_release(bytes);
  return st;
}

hlorun_status_t hlorun_program_load_bytes(hlorun_client_t *client, const char *name, const void *bytes,
                                          size_t size_bytes, const hlorun_program_options_t *options,
                                          hlorun_program_t **out_program) {
  hr_buffer_t *copy;
  HR_TRY(hr_buffer_create(size_bytes, &copy));
  memcpy(hr_buffer_data(copy), bytes, size_bytes);
  hr_status_t st = load_program(client, name, copy, options, out_program);
  hr_buffer_release(copy);
  return st;
}

static exec_machine_t *machine_of(hlorun_program_t *program) {
  return program->fast ? exec_compiled_machine(program->fast) : program->machine;
}

hlorun_status_t hlorun_program_save_state(hlorun_program_t *program, hlorun_buffer_t **out_bytes) {
  return exec_machine_save_state(machine_of(program), out_bytes);
}
hlorun_status_t hlorun_program_load_state(hlorun_program_t *program, const hlorun_buffer_t *bytes) {
  return exec_machine_load_state(machine_of(program), bytes);
}

hlorun_status_t hlorun_program_finish_feeds(hlorun_program_t *program) { return exec_feeds_finish(program->feeds); }

void hlorun_program_release(hlorun_program_t *program) {
  if (!program || __atomic_fetch_sub(&program->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  exec_machine_destroy(program->machine);
  exec_compiled_destroy(program->fast);
  variants_destroy(program->variants);
  exec_probe_files_close(program->probe_files);
  exec_verify_destroy(program->verify);
  exec_channels_destroy(program->channels);
  exec_feeds_destroy(program->feeds);
  compiled_program_deinit(&program->compiled);
  hlorun_client_release(program->client, 0);
  hr_free(program);
}

int hlorun_program_num_replicas(const hlorun_program_t *program) { return program->compiled.plan->grid.num_replicas; }
int hlorun_program_num_partitions(const hlorun_program_t *program) {
  return program->compiled.plan->grid.num_partitions;
}
int hlorun_program_param_count(const hlorun_program_t *program) { return program->param_count; }
int hlorun_program_result_count(const hlorun_program_t *program) { return program->result_count; }
const char *hlorun_program_param_name(const hlorun_program_t *program, int index) { return program->param_names[index]; }
const char *hlorun_program_param_shape(const hlorun_program_t *program, int index) {
  return program->param_shapes[index];
}
const char *hlorun_program_result_shape(const hlorun_program_t *program, int index) {
  return program->result_shapes[index];
}

/* Leaf `index` of the parameters or results, and its sharding (NULL: not cut). */
static const hlo_shape_t *find_leaf(const hlo_module_t *module, bool is_result, int index,
                                    const hlo_sharding_t **out_sharding) {
  if (is_result) {
    *out_sharding = module->result_shardings ? module->result_shardings[index] : NULL;
    return hlo_shape_leaf(hlo_entry_result_shape(module), index);
  }
  int p = 0;
  for (int leaves; index >= (leaves = hlo_shape_leaf_count(hlo_entry_param_shape(module, p))); p++) index -= leaves;
  const hlo_extra_t *extra = module->entry->params.data[p]->extra;
  *out_sharding = module->result_shardings && extra ? extra->sharding : NULL;
  return hlo_shape_leaf(hlo_entry_param_shape(module, p), index);
}

bool hlorun_program_shard(const hlorun_program_t *program, bool is_result, int index, int rank, const int64_t *dims,
                          int64_t *out_starts) {
  const hlo_sharding_t *sharding;
  const hlo_shape_t *shape = find_leaf(program->compiled.module, is_result, index, &sharding);
  int64_t sizes[HLO_MAX_RANK], device = program->client->endpoint->rank % program->compiled.plan->grid.num_partitions;
  if (!sharding || shape->rank != rank) return false;
  hr_status_t st = hlo_shard_of(sharding, rank, dims, device, out_starts, sizes);
  bool fits = !st;
  hr_status_release(st);
  for (int d = 0; fits && d < rank; d++) fits = sizes[d] == shape->dims[d];
  return fits;
}

static void count_steps(const flat_plan_t *flat, hlorun_program_figures_t *figures) {
  for (int s = 0; s < flat->step_count; s++) switch (flat->steps[s].kind) {
      case FLAT_NATIVE:
        figures->native_steps += !jit_is_generated(flat->steps[s].native);
        figures->generated_steps += jit_is_generated(flat->steps[s].native);
        break;
      case FLAT_REFERENCE: figures->reference_steps++; break;
      case FLAT_COPY: figures->copy_steps++; break;
      case FLAT_WHILE:
      case FLAT_CONDITIONAL: break;
    }
}

static void count_code(const jit_t *jit, hlorun_program_figures_t *figures) {
  jit_counts_t counts = jit_counts(jit);
  figures->code_kernels = (uint64_t)counts.kernels;
  figures->code_modules = (uint64_t)counts.modules;
  figures->code_modules_cached = (uint64_t)counts.modules_cached;
  figures->code_bytes = counts.code_bytes;
}

void hlorun_program_get_figures(const hlorun_program_t *program, hlorun_program_figures_t *out_figures) {
  const compiled_program_t *compiled = &program->compiled;
  variants_figures_t copies = program->variants ? variants_figures(program->variants) : (variants_figures_t){0};
  *out_figures = (hlorun_program_figures_t){.struct_size = sizeof *out_figures,
                                            .read_s = compiled->read_s + copies.read_s,
                                            .passes_s = compiled->passes_s + copies.passes_s,
                                            .plan_s = compiled->plan_s + copies.plan_s,
                                            .code_s = compiled->code_s + copies.code_s,
                                            .copies = (uint64_t)copies.made};
  if (copies.last) compiled = copies.last;
  out_figures->arena_bytes = compiled->flat ? compiled->flat->arena_bytes : 0;
  if (compiled->flat) count_steps(compiled->flat, out_figures);
  if (compiled->jit) count_code(compiled->jit, out_figures);
}

/* --- custom calls --- */

hlorun_status_t hlorun_register_custom_call(const char *target, hlorun_custom_call_fn fn) {
  return custom_host_register(target, fn);
}
hlorun_status_t hlorun_plugin_open(const char *path) { return custom_host_open(path); }

/* --- buffers --- */

hlorun_status_t hlorun_buffer_create(const char *dtype, int rank, const int64_t *dims, void *data,
                                     hlorun_release_fn release, void *context, hlorun_buffer_t **out_buffer) {
  hr_dtype_t type;
  int64_t count;
  if (!hr_dtype_from_name(hr_str_from(dtype), &type) || !hr_dtype_is_array(type))
    return hr_error(HR_USAGE, "no element type is called %s", dtype);
  if (!release) {
    HR_TRY(hlo_value_array(type, rank, dims, out_buffer));
    memcpy((*out_buffer)->data, data, hlo_value_bytes(*out_buffer));
    return NULL;
  }
  HR_TRY(hlo_dims_count(rank, dims, type, &count));
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_wrap(data, (size_t)count * hr_dtype_bytes(type), false, release, context, &bytes));
  hr_status_t st = hlo_value_over(type, rank, dims, bytes, 0, out_buffer);
  hr_buffer_release(bytes);
  return st;
}

hlorun_buffer_t *hlorun_buffer_retain(hlorun_buffer_t *buffer) { return hlo_value_retain(buffer); }
void hlorun_buffer_release(hlorun_buffer_t *buffer) { hlo_value_release(buffer); }
const char *hlorun_buffer_dtype(const hlorun_buffer_t *buffer) { return hr_dtype_name(buffer->dtype); }
int hlorun_buffer_rank(const hlorun_buffer_t *buffer) { return buffer->rank; }
const int64_t *hlorun_buffer_dims(const hlorun_buffer_t *buffer) { return buffer->dims; }
const void *hlorun_buffer_data(const hlorun_buffer_t *buffer) { return buffer->data; }
size_t hlorun_buffer_size_bytes(const hlorun_buffer_t *buffer) { return hlo_value_bytes(buffer); }

/* --- executions --- */

static hr_status_t wrong_argument(const hlorun_program_t *program, int index, const hlo_value_t *arg) {
  char text[HLO_SHAPE_TEXT];
  hlo_shape_t found = {.dtype = arg ? arg->dtype : HR_TOKEN, .rank = arg ? arg->rank : 0, .dims = arg ? arg->dims : NULL};
  return hr_error(HR_USAGE, "argument %d (%s) is %s, the program wants %s", index, program->param_names[index],
                  arg ? hlo_shape_text(&found, text) : "missing", program->param_shapes[index]);
}

static hr_status_t check_arguments(const hlorun_program_t *program, hlorun_buffer_t *const *args) {
  const hlo_module_t *module = program->compiled.module;
  for (int p = 0, leaf = 0; p < (int)module->entry->params.count; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++, leaf++) {
      const hlo_shape_t *want = hlo_shape_leaf(shape, i);
      if (args[leaf] ? !hlo_value_fits(args[leaf], want) : hlo_shape_is_array(want))
        return wrong_argument(program, leaf, args[leaf]);
    }
  }
  return NULL;
}

/* One value per entry parameter out of the flattened arguments, whose references are taken over. */
static hr_status_t assemble_parameters(const hlorun_program_t *program, hlorun_buffer_t **leaves, hlo_value_t **params) {
  const hlo_module_t *module = program->compiled.module;
  hr_status_t st = NULL;
  int leaf = 0;
  for (int k = 0; k < program->param_count && !st; k++)
    if (!leaves[k]) st = hlo_value_token(&leaves[k]);
  for (int p = 0; p < (int)module->entry->params.count && !st; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    st = hlo_value_unflatten(shape, leaves + leaf, &params[p]);
    leaf += hlo_shape_leaf_count(shape);
  }
  for (int k = 0; k < program->param_count; k++) hlo_value_release(leaves[k]);
  for (int p = 0; st && p < (int)module->entry->params.count; p++) hlo_value_release(params[p]);
  return st;
}

/* What the program started and did not wait for ends with it. */
static hr_status_t end_transfers(hlorun_program_t *program, hr_status_t st) {
  st = exec_verify_end(program->verify, st);
  st = exec_channels_end(program->channels, st);
  return exec_verify_meet(program->verify, st);
}

/* By the compiled engine, in its turn. The arguments are borrowed but for those that are donated. */
static hr_status_t run_fast(hlorun_program_t *program, exec_compiled_t *fast, hlorun_buffer_t *const *args,
                            const bool *donate, hlorun_buffer_t **results) {
  hr_status_t st = exec_compiled_run(fast, args, donate, results);
  bool has_results = !st;
  st = end_transfers(program, st);
  for (int r = 0; st && has_results && r < program->result_count; r++) {
    hlo_value_release(results[r]);
    results[r] = NULL; /* the caller may look there whatever happened */
  }
  return st;
}

/* By the reference engine, in its turn. Takes the references in `leaves` over. */
static hr_status_t run_slow(hlorun_program_t *program, hlorun_buffer_t **leaves, hlorun_buffer_t **results) {
  void *memory;
  hlo_value_t *root;
  hr_status_t st =
      hr_alloc_zeroed((program->compiled.module->entry->params.count + 1) * sizeof(hlo_value_t *), &memory);
  if (st) {
    for (int k = 0; k < program->param_count; k++) hlo_value_release(leaves[k]);
    return st;
  }
  hlo_value_t **params = memory;
  st = assemble_parameters(program, leaves, params);
  if (!st) {
    st = exec_machine_run(program->machine, params, &root);
    bool has_root = !st;
    st = end_transfers(program, st);
    if (st && has_root) hlo_value_release(root);
  }
  hr_free(params);
  if (st) return st;
  for (int r = 0; r < program->result_count; r++) results[r] = hlo_value_retain(hlo_value_leaf(root, r));
  hlo_value_release(root);
  return NULL;
}

static void note_execution(const hlorun_client_t *client, uint64_t begin_ns) {
  if (client->trace) hr_trace_add(client->trace, client->executions, begin_ns);
}

/* Runs in its turn. Takes the references in `leaves` over. */
static hr_status_t run_program(hlorun_program_t *program, hlorun_buffer_t **leaves, hlorun_buffer_t **results) {
  uint64_t begin_ns = hr_trace_now_ns();
  exec_compiled_t *fast = program->variants ? variants_find(program->variants, leaves) : program->fast;
  hr_status_t st = fast ? run_fast(program, fast, leaves, program->all_params, results)
                        : run_slow(program, leaves, results);
  note_execution(program->client, begin_ns);
  return st;
}

/* References of the arguments for one execution: moved where donated. */
static hr_status_t take_arguments(hlorun_program_t *program, hlorun_buffer_t *const *args, const bool *donate,
                                  hlorun_buffer_t ***out_leaves) {
  HR_TRY(check_arguments(program, args));
  void *memory;
  hr_status_t st = hr_alloc((size_t)(program->param_count + 1) * sizeof(hlorun_buffer_t *), &memory);
  if (st) {
    for (int k = 0; donate && k < program->param_count; k++)
      if (donate[k]) hlo_value_release(args[k]);
    return st;
  }
  hlorun_buffer_t **leaves = memory;
  for (int k = 0; k < program->param_count; k++)
    leaves[k] = donate && donate[k] ? args[k] : hlo_value_retain(args[k]);
  *out_leaves = leaves;
  return NULL;
}

hlorun_status_t hlorun_execute(hlorun_program_t *program, hlorun_buffer_t *const *args, const bool *donate,
                               hlorun_buffer_t **results) {
  hlorun_buffer_t **leaves;
  hr_status_t st;
  if (program->fast) {
    HR_TRY(check_arguments(program, args));
    await_turn(program->client, take_ticket(program->client));
    uint64_t begin_ns = hr_trace_now_ns();
    st = run_fast(program, program->fast, args, donate, results);
    note_execution(program->client, begin_ns);
    end_turn(program->client);
    return st;
  }
  HR_TRY(take_arguments(program, args, donate, &leaves));
  await_turn(program->client, take_ticket(program->client));
  st = run_program(program, leaves, results);
  end_turn(program->client);
  hr_free(leaves);
  return st;
}

static void *execution_thread(void *context) {
  hlorun_execution_t *execution = context;
  await_turn(execution->program->client, execution->ticket);
  execution->status = run_program(execution->program, execution->args, execution->results);
  end_turn(execution->program->client);
  atomic_store(&execution->done, true);
  return NULL;
}

static hr_status_t start_thread(hlorun_execution_t *execution) {
  execution->ticket = take_ticket(execution->program->client);
  if (!pthread_create(&execution->thread, NULL, execution_thread, execution)) return NULL;
  await_turn(execution->program->client, execution->ticket);
  end_turn(execution->program->client);
  for (int k = 0; k < execution->program->param_count; k++) hlo_value_release(execution->args[k]);
  return hr_error(HR_UNAVAILABLE, "cannot start a thread for the execution");
}

hlorun_status_t hlorun_execute_start(hlorun_program_t *program, hlorun_buffer_t *const *args, const bool *donate,
                                     hlorun_execution_t **out_execution) {
  void *memory, *results;
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_execution_t), &memory));
  hlorun_execution_t *execution = memory;
  hr_status_t st = hr_alloc_zeroed((size_t)(program->result_count + 1) * sizeof(hlorun_buffer_t *), &results);
  if (!st) {
    execution->program = program;
    execution->results = results;
    st = take_arguments(program, args, donate, &execution->args);
    if (!st) st = start_thread(execution);
    if (!st) {
      __atomic_fetch_add(&program->references, 1, __ATOMIC_RELAXED);
      *out_execution = execution;
      return NULL;
    }
    hr_free(execution->args);
    hr_free(results);
  }
  hr_free(execution);
  return st;
}

bool hlorun_execution_is_done(hlorun_execution_t *execution) { return atomic_load(&execution->done); }

hlorun_status_t hlorun_execution_await(hlorun_execution_t *execution, hlorun_buffer_t **results) {
  pthread_join(execution->thread, NULL);
  execution->joined = true;
  hr_status_t st = execution->status;
  execution->status = NULL;
  for (int r = 0; r < execution->program->result_count && !st; r++) {
    results[r] = execution->results[r];
    execution->results[r] = NULL;
  }
  return st;
}

void hlorun_execution_release(hlorun_execution_t *execution) {
  if (!execution) return;
  if (!execution->joined) pthread_join(execution->thread, NULL);
  for (int r = 0; r < execution->program->result_count; r++) hlo_value_release(execution->results[r]);
  hr_status_release(execution->status);
  hr_free(execution->results);
  hr_free(execution->args);
  hlorun_program_release(execution->program);
  hr_free(execution);
}
