/* Loading: compile, describe the interface, agree with peers (plan_consensus or, for mpmd,
 * group_consensus and a joint proof), connect channels, feeds, verification and probes, and create
 * the machine.
 *   bytes -> compile_traced -> api_program_describe -> connect_peers -> equip -> program
 * Release is in reverse order and accepts a partly loaded program. Programs that are loaded for all
 * clients of a local world share the compiled form of the first rank (share_compiled). */
#include "api_program.h"

#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "base/fence.h"
#include "base/mem.h"
#include "comm/peers/group_consensus.h"
#include "comm/peers/plan_consensus.h"
#include "io/gzip.h"
#include "observe/step_trace.h"
#include "ops/query/custom_host.h"
#include "prove.h"

void hlorun_program_options_init(hlorun_program_options_t *options) {
  if (options) *options = (hlorun_program_options_t){.struct_size = sizeof *options};
}

/* The metadata of the first instruction with a source location. */
static const hlo_metadata_t *find_place(const hlo_module_t *module) {
  for (size_t i = 0; i < module->entry->instrs.count; i++) {
    const hlo_extra_t *extra = module->entry->instrs.data[i]->extra;
    if (extra && extra->metadata && extra->metadata->source_file.size) return extra->metadata;
  }
  return NULL;
}

hr_status_t api_program_title(const hlo_module_t *module, hr_arena_t *arena,
                              const char **out_title) {
  const hlo_metadata_t *place = find_place(module);
  if (!place) return hr_arena_cstr(arena, module->name, out_title);
  return hr_arena_printf(arena, out_title, "%.*s (%.*s:%lld)", HR_STR_ARGS(module->name),
                         HR_STR_ARGS(place->source_file), (long long)place->source_line);
}

/* Collective: checks whether all plans have the same shared arrays; they differ, for example, if
 * one rank compares engines. */
static hr_status_t agree_on_arrays(hlorun_program_t *program, hr_arena_t *arena) {
  hlorun_client_t *client = program->client;
  uint64_t mine = program->compiled.flat ? flat_shared_key(program->compiled.flat) : 0, *all;
  HR_TRY(HR_NEW_ARRAY(arena, client->endpoint->world_size, &all));
  HR_TRY(exec_comm_all_gather(&client->comm, &mine, sizeof mine, all));
  program->shares_arrays = true;
  for (int r = 0; r < client->endpoint->world_size; r++) program->shares_arrays &= all[r] == mine;
  return NULL;
}

/* Collective: all ranks compare the communication of their plans. */
static hr_status_t agree_with_peers(hlorun_program_t *program) {
  const char *const *lines, *title;
  hr_arena_t arena;
  int count;
  HR_TRY(plan_comm_lines(program->compiled.plan, &lines, &count));
  hr_arena_init(&arena);
  hr_status_t st = api_program_title(program->compiled.module, &arena, &title);
  if (!st) st = plan_consensus(&program->client->comm, title, lines, count);
  if (!st) st = agree_on_arrays(program, &arena);
  hr_arena_deinit(&arena);
  return st;
}

/* Collective in a world of several processes: all of them load the same program, or their parts of
 * it. */
static hr_status_t connect_peers(hlorun_program_t *program, bool mpmd, bool unproved) {
  hlorun_client_t *client = program->client;
  exec_channels_options_t options = {
      .plan = program->compiled.plan, .comm = &client->comm, .mpmd = mpmd};
  /* A single process needs no lock, and a program of the client may be running. */
  if (client->endpoint->world_size == 1) return exec_channels_create(&options, &program->channels);
  api_client_lock_fair(client);
  hr_status_t st =
      mpmd ? group_consensus(&client->comm, program->compiled.plan) : agree_with_peers(program);
  if (!st) st = exec_channels_create(&options, &program->channels);
  if (!st && mpmd && !unproved) st = prove_together(&client->comm, program->compiled.plan);
  api_client_unlock_fair(client);
  return st;
}

/* Signature of exec_machine_options_t.attach_comm; verification comes last, as it wraps the other
 * functions. */
static hr_status_t attach_peers(op_env_t *env, void *context) {
  hlorun_program_t *program = context;
  tp_flip_begin();
  exec_channels_attach(env, program->channels);
  exec_feeds_attach(env, program->feeds);
  HR_TRY(exec_comm_attach(env, &program->client->comm));
  if (program->verify) exec_verify_attach(env, program->verify);
  return NULL;
}

/* The deadlock detector belongs to the client: programs take turns on its endpoint. */
static hr_status_t make_verify(hlorun_program_t *program) {
  hlorun_client_t *client = program->client;
  if (!client->watch) HR_TRY(exec_watch_create(&client->comm, &client->watch));
  exec_verify_options_t options = {.plan = program->compiled.plan,
                                   .comm = &client->comm,
                                   .channels = program->channels,
                                   .watch = client->watch};
  if (client->comm.groups) tp_groups_check_messages(client->comm.groups);
  return exec_verify_create(&options, &program->verify);
}

/* True for HLORUN_CHECK=1: each result is compared with the reference engine. HLORUN_CHECK=memory
 * is another check (base/fence.h). */
static bool is_checking(void) {
  const char *text = getenv("HLORUN_CHECK");
  return text && *text && strcmp(text, "0") != 0 && !hr_fence_is_on();
}

/* Options of both engines from the client: rank, seed, cancellation, progress, trace. */
static exec_machine_options_t machine_options(hlorun_program_t *program) {
  hlorun_client_t *client = program->client;
  return (exec_machine_options_t){.rank = client->endpoint->rank,
                                  .rng_seed = client->options.seed,
                                  .cancel = &client->cancel,
                                  .progress = &client->progress,
                                  .current = &client->current,
                                  .interrupted = api_client_computes,
                                  .interrupted_context = client,
                                  .attach_comm = attach_peers,
                                  .comm_context = program,
                                  .trace = client->trace,
                                  .probe_files = program->probe_files};
}

/* Signature of specializations_options_t.make_machine. */
static hr_status_t create_compiled_machine(void *context, const compiled_program_t *compiled,
                                           exec_compiled_t **out_machine) {
  hlorun_program_t *program = context;
  exec_compiled_options_t options = {
      .machine = machine_options(program), .check = is_checking(), .numa = program->client->numa};
  if (compiled->flat->workers > 1)
    HR_TRY(worker_pool_start(&program->client->pool, &options.workers));
  return exec_compiled_create(compiled->flat, &options, out_machine);
}

/* The compiled engine if there is a flat plan, else the reference engine, which is traced step by
 * step. */
static hr_status_t make_machine(hlorun_program_t *program) {
  exec_machine_options_t options = machine_options(program);
  options.trace_steps = true;
  if (program->compiled.flat) {
    HR_TRY(create_compiled_machine(program, &program->compiled, &program->fast));
    exec_compiled_share_arrays(program->fast, program->shares_arrays);
    return NULL;
  }
  return exec_machine_create(program->compiled.plan, &options, &program->machine);
}

/* Compiled copies for the actual sizes of dynamic arguments; not with verify_comm, which follows
 * the program's own plan. */
static hr_status_t create_specializations(hlorun_program_t *program, const char *name,
                                          hr_buffer_t *bytes, const compiler_options_t *compiler) {
  specializations_options_t options = {.name = name,
                                       .bytes = bytes,
                                       .compiler = *compiler,
                                       .plan = program->compiled.plan,
                                       .make_machine = create_compiled_machine,
                                       .context = program};
  if (!program->compiled.can_specialise || program->verify) return NULL;
  return specializations_create(&options, &program->specializations);
}

/* Signature of compiler_options_t.start_workers. */
static hr_status_t start_workers(void *pool, hr_workers_t **out_workers) {
  return worker_pool_start(pool, out_workers);
}

/* Stages of loading as spans of the timeline, which follow each other without a gap. */
static hr_status_t trace_loading(hr_trace_t *trace, const compiled_program_t *compiled,
                                 uint64_t begin_ns) {
  const char *const names[] = {"read", "passes", "plan", "code"};
  double took_s[] = {compiled->read_s, compiled->passes_s, compiled->plan_s, compiled->code_s};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t took_ns = (uint64_t)(1e9 * took_s[i]);
    HR_TRY(hr_trace_stage_add(trace, names[i], begin_ns, took_ns));
    begin_ns += took_ns;
  }
  return NULL;
}

/* Work of the pool during compilation is code generation and is traced as such. */
static hr_status_t compile_traced(hlorun_program_t *program, const char *name, hr_buffer_t *bytes,
                                  const compiler_options_t *compiler) {
  hr_trace_t *trace = program->client->trace;
  uint64_t begin_ns = hr_clock_ns();
  if (!trace) return compile_bytes(name, bytes, compiler, &program->compiled);
  HR_TRY(exec_trace_plain(trace, "code", HR_TRACE_STAGE, &trace->current));
  hr_status_t st = compile_bytes(name, bytes, compiler, &program->compiled);
  trace->current = NULL;
  return st ? st : trace_loading(trace, &program->compiled, begin_ns);
}

/* The option, or HLORUN_PROBE; NULL: no probes. */
static const char *find_probe(const hlorun_program_options_t *options) {
  const char *text = options->probe ? options->probe : secure_getenv("HLORUN_PROBE");
  return text && *text ? text : NULL;
}

/* One file per rank if there are several. */
static hr_status_t open_probe_files(hlorun_program_t *program,
                                    const hlorun_program_options_t *options) {
  const tp_endpoint_t *endpoint = program->client->endpoint;
  if (!find_probe(options)) return NULL;
  return exec_probe_files_open(options->probe_dir ? options->probe_dir : "probes",
                               find_probe(options), endpoint->world_size > 1 ? endpoint->rank : -1,
                               &program->probe_files);
}

/* Compiler options from the client, the world and the caller's options. */
static compiler_options_t compiler_options(const hlorun_program_t *program,
                                           const hlorun_program_options_t *options) {
  return (compiler_options_t){
      .num_replicas = options->num_replicas,
      .num_partitions = options->num_partitions,
      .world_size = program->client->endpoint->world_size,
      .part = options->mpmd,
      .unproved = options->unproved,
      .compiled = program->client->options.engine != HLORUN_ENGINE_REFERENCE,
      .each_step = is_checking() || program->client->trace,
      .each_result = is_checking(),
      .shares_gathers = !options->mpmd && !options->verify_comm && !is_checking() &&
                        !hr_fence_is_on() && exec_comm_shares_world(&program->client->comm),
      .start_workers = start_workers,
      .probe = find_probe(options),
      .spmd = {.mesh = options->mesh,
               .sharding = options->sharding,
               .carried = options->carried,
               .carried_count = options->carried_count,
               .keep_unreduced = options->keep_unreduced,
               .whole_axes = options->whole_axes,
               .gather_limit = options->gather_limit},
      .workers_context = &program->client->pool,
      .may_open_early =
          program->client->options.threads != 1 && program->client->endpoint->world_size == 1};
}

/* Creates the unshared parts of a program after compilation: verification, feeds, probes,
 * specializations, machine. */
static hr_status_t equip(hlorun_program_t *program, const char *name, hr_buffer_t *bytes,
                         const hlorun_program_options_t *options) {
  compiler_options_t compiler = compiler_options(program, options);
  if (options->verify_comm) HR_TRY(make_verify(program));
  exec_feeds_options_t feeds = {.plan = program->compiled.plan,
                                .comm = &program->client->comm,
                                .infeed = options->infeed,
                                .outfeed = options->outfeed,
                                .progress = &program->client->progress.steps};
  HR_TRY(exec_feeds_create(&feeds, &program->feeds));
  HR_TRY(open_probe_files(program, options));
  HR_TRY(create_specializations(program, name, bytes, &compiler));
  return make_machine(program);
}

/* The stages in order; the caller releases the program if one fails. */
static hr_status_t load_into(hlorun_program_t *program, const char *name, hr_buffer_t *bytes,
                             const hlorun_program_options_t *options) {
  compiler_options_t compiler = compiler_options(program, options);
  HR_TRY(compile_traced(program, name, bytes, &compiler));
  HR_TRY(api_program_describe(program));
  HR_TRY(connect_peers(program, options->mpmd, options->unproved));
  return equip(program, name, bytes, options);
}

/* Checks the numbers; 0 means the program's own. */
static hr_status_t check_options(const hlorun_program_options_t *options) {
  if (options->struct_size != sizeof *options)
    return hr_error(HR_USAGE, "program options are not initialised");
  if (options->num_replicas < 0)
    return hr_error(HR_USAGE, "program option num_replicas is %d, want 0 or more",
                    options->num_replicas);
  if (options->num_partitions < 0)
    return hr_error(HR_USAGE, "program option num_partitions is %d, want 0 or more",
                    options->num_partitions);
  return NULL;
}

/* Creates an empty program with one reference, which retains its client. */
static hr_status_t create_program(hlorun_client_t *client, hlorun_program_t **out_program) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_program_t), &memory));
  hlorun_program_t *program = memory;
  program->references = 1;
  program->client = client;
  api_client_retain(client);
  *out_program = program;
  return NULL;
}

/* *out_program is set only on success. */
static hr_status_t load_program(hlorun_client_t *client, const char *name, hr_buffer_t *bytes,
                                const hlorun_program_options_t *options,
                                hlorun_program_t **out_program) {
  hlorun_program_t *program;
  HR_TRY(create_program(client, &program));
  hr_status_t st = load_into(program, name, bytes, options);
  if (st)
    hlorun_program_release(program);
  else
    *out_program = program;
  return st;
}

/* Shares the compiled form of the first rank's program, whose schedule is that of all ranks. */
static hr_status_t share_compiled(hlorun_program_t *program, hlorun_program_t *owner) {
  program->owner = owner;
  __atomic_fetch_add(&owner->references, 1, __ATOMIC_RELAXED);
  program->compiled = owner->compiled;
  program->param_count = owner->param_count;
  program->result_count = owner->result_count;
  program->param_shapes = owner->param_shapes;
  program->param_leaves = owner->param_leaves;
  program->param_instrs = owner->param_instrs;
  program->result_shapes = owner->result_shapes;
  program->param_names = owner->param_names;
  program->all_params = owner->all_params;
  return NULL;
}

/* No consensus here, as all ranks of this process have the same bytes; other processes follow
 * later.
 */
static hr_status_t load_for_rank(hlorun_client_t *client, const char *name, hr_buffer_t *bytes,
                                 const hlorun_program_options_t *options, hlorun_program_t *owner,
                                 hlorun_program_t **out_program) {
  hlorun_program_t *program;
  HR_TRY(create_program(client, &program));
  exec_channels_options_t channels = {.comm = &client->comm};
  compiler_options_t compiler = compiler_options(program, options);
  hr_status_t st =
      owner ? share_compiled(program, owner) : compile_traced(program, name, bytes, &compiler);
  if (!st && !owner) st = api_program_describe(program);
  program->shares_arrays = true;
  channels.plan = program->compiled.plan;
  if (!st) st = exec_channels_create(&channels, &program->channels);
  if (!st) st = equip(program, name, bytes, options);
  if (st)
    hlorun_program_release(program);
  else
    *out_program = program;
  return st;
}

/* Copies the bytes, which messages refer to as long as the program lives. */
static hr_status_t copy_program(const char *name, const void *bytes, size_t size_bytes,
                                hr_buffer_t **out_copy) {
  hr_buffer_t *copy;
  HR_TRY(hr_buffer_create(size_bytes, &copy));
  if (size_bytes) memcpy(hr_buffer_data(copy), bytes, size_bytes);
  hr_status_t st = gzip_unpack(name, copy, out_copy);
  hr_buffer_release(copy);
  return st;
}

/* The clients must be all ranks of one local world, in order, or of one part of a world. */
static hr_status_t check_local(hlorun_client_t *const *clients, int count,
                               const hlorun_program_options_t *options) {
  HR_TRY(check_options(options));
  if (options->mpmd || options->verify_comm)
    return hr_error(HR_USAGE, "programs loaded together have neither mpmd nor verify_comm");
  for (int i = 0; i < count; i++) {
    const tp_endpoint_t *endpoint = clients[i] ? clients[i]->endpoint : NULL;
    bool is_part = endpoint && clients[i]->whole && clients[i]->whole == clients[0]->whole &&
                   (!i || clients[i - 1]->endpoint->rank < endpoint->rank);
    if (!endpoint || (!is_part && (endpoint->rank != i || endpoint->world_size != count)))
      return hr_error(HR_USAGE, "client %d is not rank %d of %d within this process", i, i, count);
  }
  return NULL;
}

/* Signature of api_each_rank's function. */
static hr_status_t agree_as_rank(void *context, int k) {
  hlorun_program_t *program = ((hlorun_program_t **)context)[k];
  api_client_lock_fair(program->client);
  hr_status_t st = agree_with_peers(program);
  if (!st && program->fast) exec_compiled_share_arrays(program->fast, program->shares_arrays);
  api_client_unlock_fair(program->client);
  return st;
}

/* The first client's program is compiled; the others share it. On failure all that were loaded are
 * released, the last first. */
hlorun_status_t hlorun_programs_load_local(hlorun_client_t *const *clients, int count,
                                           const char *name, const void *bytes, size_t size_bytes,
                                           const hlorun_program_options_t *options,
                                           hlorun_program_t **out_programs) {
  hr_buffer_t *copy;
  API_NOT_NULL(clients);
  API_NOT_NULL(name);
  API_NOT_NULL_FOR(size_bytes, bytes);
  API_NOT_NULL(options);
  API_NOT_NULL(out_programs);
  HR_TRY(check_local(clients, count, options));
  HR_TRY(copy_program(name, bytes, size_bytes, &copy));
  hr_status_t st = NULL;
  int loaded = 0;
  while (!st && loaded < count) {
    st = load_for_rank(clients[loaded], name, copy, options, loaded ? out_programs[0] : NULL,
                       &out_programs[loaded]);
    loaded += !st;
  }
  if (!st && count && clients[0]->endpoint->world_size > count)
    st = api_each_rank(count, agree_as_rank, out_programs);
  while (st && loaded) hlorun_program_release(out_programs[--loaded]);
  hr_buffer_release(copy);
  return st;
}

hlorun_status_t hlorun_program_load(hlorun_client_t *client, const char *path,
                                    const hlorun_program_options_t *options,
                                    hlorun_program_t **out_program) {
  hr_buffer_t *bytes;
  API_NOT_NULL(client);
  API_NOT_NULL(path);
  API_NOT_NULL(options);
  API_NOT_NULL(out_program);
  HR_TRY(check_options(options));
  HR_TRY(gzip_map_file(path, &bytes));
  hr_status_t st = load_program(client, path, bytes, options, out_program);
  hr_buffer_release(bytes);
  return st;
}

hlorun_status_t hlorun_program_load_bytes(hlorun_client_t *client, const char *name,
                                          const void *bytes, size_t size_bytes,
                                          const hlorun_program_options_t *options,
                                          hlorun_program_t **out_program) {
  hr_buffer_t *copy;
  API_NOT_NULL(client);
  API_NOT_NULL(name);
  API_NOT_NULL_FOR(size_bytes, bytes);
  API_NOT_NULL(options);
  API_NOT_NULL(out_program);
  HR_TRY(check_options(options));
  HR_TRY(copy_program(name, bytes, size_bytes, &copy));
  hr_status_t st = load_program(client, name, copy, options, out_program);
  hr_buffer_release(copy);
  return st;
}

/* The machine that holds the states of random number generators. */
static exec_machine_t *machine_of(hlorun_program_t *program) {
  return program->fast ? exec_compiled_machine(program->fast) : program->machine;
}

hlorun_status_t hlorun_program_save_state(hlorun_program_t *program, hlorun_buffer_t **out_bytes) {
  API_NOT_NULL(program);
  API_NOT_NULL(out_bytes);
  return exec_machine_save_state(machine_of(program), out_bytes);
}
hlorun_status_t hlorun_program_load_state(hlorun_program_t *program, const hlorun_buffer_t *bytes) {
  API_NOT_NULL(program);
  API_NOT_NULL(bytes);
  if (bytes->dtype != HR_U8 || bytes->rank != 1)
    return hr_error(HR_USAGE,
                    "the state is %s of rank %d, want the u8 array of hlorun_program_save_state",
                    hr_dtype_name(bytes->dtype), bytes->rank);
  return exec_machine_load_state(machine_of(program), bytes);
}

hlorun_status_t hlorun_program_finish_feeds(hlorun_program_t *program) {
  API_NOT_NULL(program);
  return exec_feeds_finish(program->feeds);
}

/* The order is the inverse of creation. A program that shares its compiled form releases the owner
 * instead. */
void hlorun_program_release(hlorun_program_t *program) {
  if (!program || __atomic_fetch_sub(&program->references, 1, __ATOMIC_ACQ_REL) != 1) return;
  exec_machine_destroy(program->machine);
  exec_compiled_destroy(program->fast);
  specializations_destroy(program->specializations);
  exec_probe_files_close(program->probe_files);
  exec_verify_destroy(program->verify);
  exec_channels_destroy(program->channels);
  exec_feeds_destroy(program->feeds);
  if (program->owner)
    hlorun_program_release(program->owner);
  else
    compiled_program_deinit(&program->compiled);
  hlorun_client_release(program->client, 0);
  hr_free(program);
}

hlorun_status_t hlorun_register_custom_call(const char *target, hlorun_custom_call_fn fn) {
  API_NOT_NULL(target);
  if (!*target) return hr_error(HR_USAGE, "a custom call's target is \"\", want a name");
  return custom_host_register(target, fn);
}
hlorun_status_t hlorun_plugin_open(const char *path) {
  API_NOT_NULL(path);
  return custom_host_open(path);
}
