/* Compilation: finds the world of the devices, loads the program for each of its local ranks, and
 * prepares everything that the framework asks of an executable, so that asking costs nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "partition/host.h"
#include "pjrt/execute/pjrt_agree.h"
#include "pjrt/buffer/pjrt_buffer.h"
#include "pjrt/program/pjrt_executable.h"
#include "pjrt/client/pjrt_fork.h"
#include "pjrt/extension/pjrt_profile.h"
#include "pjrt/extension/pjrt_python.h"

/* Limits of a small program: bytes of its arguments and results, instructions of its entry. */
#define SMALL_BYTES (64 << 10)
#define SMALL_INSTRUCTIONS 200

pjrt_executable_t *pjrt_executable_retain(pjrt_executable_t *executable) {
  atomic_fetch_add_explicit(&executable->references, 1, memory_order_relaxed);
  return executable;
}

/* An executable whose compilation has failed may lack its programs. */
void pjrt_executable_release(pjrt_executable_t *executable) {
  if (!executable ||
      atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1)
    return;
  for (int i = 0; executable->programs && i < executable->world->client_count; i++)
    hlorun_program_release(executable->programs[i]);
  pjrt_executable_release(executable->renewed);
  pjrt_executable_release(executable->traced);
  pjrt_transforms_release(executable);
  hr_arena_deinit(&executable->arena);
  pjrt_topology_release(executable->topology);
  hr_free(executable);
}

/* All local ranks are loaded in one call: the program is compiled once, and they share it. Other
 * processes load the programs of their own ranks. */
static hr_status_t load_programs(pjrt_executable_t *executable) {
  pjrt_world_t *world = executable->world;
  hlorun_program_options_t options;
  hlorun_program_t **programs;
  hr_str_t code = executable->code;
  HR_TRY(HR_NEW_ARRAY(&executable->arena, world->client_count, &programs));
  hlorun_program_options_init(&options);
  options.num_replicas = executable->options.num_replicas;
  options.num_partitions = executable->options.num_partitions;
  options.keep_unreduced = true;
  options.whole_axes = true;
  if (world->client_count > 1)
    HR_TRY(hlorun_programs_load_local(world->clients, world->client_count, "<jax>", code.data,
                                      code.size, &options, programs));
  else
    HR_TRY(hlorun_program_load_bytes(world->clients[0], "<jax>", code.data, code.size, &options,
                                     programs));
  executable->programs = programs;
  return NULL;
}

/* --- parameters and results --- */

/* Tuples of the entry's parameters are flattened: the framework passes arrays only. */
static hr_status_t describe_params(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  executable->param_count = hlorun_program_param_count(executable->programs[0]);
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->param_count, &executable->params));
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->param_count, &executable->donated));
  for (int p = 0, leaf = 0; p < (int)module->entry->params.count; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++)
      executable->params[leaf++] = hlo_shape_leaf(shape, i);
  }
  return NULL;
}

/* The memory that the program names for an item of a list, else the device's default one. */
static int memory_of(const hlo_module_t *module, const char *list, int item) {
  hr_str_t memory = pjrt_place_text(module, list, item);
  for (int kind = 0; kind < PJRT_MEMORY_KINDS; kind++)
    if (hr_str_is(memory, pjrt_memory_kind_names[kind])) return kind;
  return PJRT_MEMORY_DEVICE;
}

static hr_status_t describe_param_memories(pjrt_executable_t *executable) {
  hr_arena_t *arena = &executable->arena;
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  HR_TRY(HR_NEW_ARRAY(arena, executable->param_count, &executable->lists.param_memory_kinds));
  HR_TRY(HR_NEW_ARRAY(arena, executable->param_count, &executable->lists.param_memory_kind_sizes));
  for (int p = 0; p < executable->param_count; p++) {
    const char *kind = pjrt_memory_kind_names[memory_of(module, "mhlo.param_memory_kinds", p)];
    executable->lists.param_memory_kinds[p] = kind;
    executable->lists.param_memory_kind_sizes[p] = strlen(kind);
  }
  return NULL;
}

/* Devices are listed replica by replica. */
static hr_status_t describe_devices(pjrt_executable_t *executable) {
  const pjrt_world_t *world = executable->world;
  const pjrt_options_t *options = &executable->options;
  pjrt_logical_id_t *ids;
  HR_TRY(HR_NEW_ARRAY(&executable->arena, world->local_count, &ids));
  for (int i = 0; i < world->local_count; i++)
    for (int k = 0; k < options->device_count; k++)
      if (options->devices[k] == world->devices[i]->id)
        ids[i] = (pjrt_logical_id_t){k / options->num_partitions, k % options->num_partitions};
  executable->lists.logical_ids = ids;
  return NULL;
}

/* A donation of the program; an execution may still keep its argument (kept_inputs). */
static void note_donation(pjrt_executable_t *executable, int64_t operand) {
  executable->donated[operand] = true;
  executable->has_donations = true;
}

/* Aliased parameters are donated. JAX passes flat ones: the number of a parameter is its leaf's. */
static void note_aliases(pjrt_executable_t *executable, const hlo_aliasing_t *aliasing,
                         bool *result_taken) {
  for (int i = 0; i < aliasing->count; i++) {
    const hlo_alias_t *alias = &aliasing->aliases[i];
    int64_t result = alias->output_index.count ? alias->output_index.data[0] : 0;
    if (alias->operand < 0 || alias->operand >= executable->param_count) continue;
    note_donation(executable, alias->operand);
    if (result >= 0 && result < executable->result_count) result_taken[result] = true;
  }
}

static bool have_equal_size(const hlo_shape_t *a, const hlo_shape_t *b) {
  size_t bytes[2];
  hr_status_t st = hlo_shape_bytes(a, &bytes[0]);
  if (!st) st = hlo_shape_bytes(b, &bytes[1]);
  bool equal = !st && bytes[0] == bytes[1];
  hr_status_release(st);
  return equal;
}

/* A donor is used up only if a result of the same size, each taken once, can have its memory. */
static void note_donors(pjrt_executable_t *executable, const hlo_aliasing_t *donors,
                        bool *result_taken) {
  for (int i = 0; i < donors->count; i++) {
    int64_t operand = donors->aliases[i].operand;
    if (operand < 0 || operand >= executable->param_count) continue;
    const hlo_shape_t *shape = executable->params[operand];
    int r = 0;
    while (r < executable->result_count &&
           (result_taken[r] || !have_equal_size(executable->results[r].shape, shape)))
      r++;
    if (r == executable->result_count) continue;
    result_taken[r] = true;
    note_donation(executable, operand);
  }
}

/* A donation has two forms: an alias names its result; a donor may serve any result that fits, and
 * comes second. */
static hr_status_t note_donations(pjrt_executable_t *executable, const hlo_module_t *module) {
  bool *result_taken;
  HR_TRY(HR_NEW_ARRAY(&executable->arena, executable->result_count, &result_taken));
  note_aliases(executable, &module->input_output_alias, result_taken);
  note_donors(executable, &module->buffer_donor, result_taken);
  return NULL;
}

/* Makes the lists for `count` results, which have `dims` dimensions altogether. */
static hr_status_t alloc_results(pjrt_executable_t *executable, int count, size_t dims) {
  hr_arena_t *arena = &executable->arena;
  HR_TRY(HR_NEW_ARRAY(arena, count, &executable->results));
  HR_TRY(HR_NEW_ARRAY(arena, count, &executable->lists.result_types));
  HR_TRY(HR_NEW_ARRAY(arena, count, &executable->lists.result_ranks));
  HR_TRY(HR_NEW_ARRAY(arena, count, &executable->lists.result_memory_kinds));
  HR_TRY(HR_NEW_ARRAY(arena, count, &executable->lists.result_memory_kind_sizes));
  return HR_NEW_ARRAY(arena, dims, &executable->lists.result_dims);
}

/* Which array of the program is result r? NULL: it is in a tuple. */
static const hlo_instr_t *result_instr(const hlo_module_t *module, int count, int r) {
  const hlo_instr_t *root = module->entry->root;
  if (root->op == HLO_TUPLE) root = count == root->operand_count ? root->operands[r] : NULL;
  return root && hlo_shape_is_array(root->shape) ? root : NULL;
}

/* Whether an earlier result is the same value. The framework takes two results for two arrays. */
static bool is_repeated(const hlo_module_t *module, int count, int r) {
  const hlo_instr_t *instr = result_instr(module, count, r);
  for (int k = 0; instr && k < r; k++)
    if (result_instr(module, count, k) == instr) return true;
  return false;
}

/* JAX copies an array by a program that returns its argument. */
static int argument_of(const hlo_module_t *module, int param_count, const hlo_instr_t *result) {
  bool is_flat = param_count == (int)module->entry->params.count;
  return result && result->op == HLO_PARAMETER && is_flat ? (int)hlo_parameter_number(result) : -1;
}

static hr_status_t describe_results(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  const hlo_shape_t *root = hlo_entry_result_shape(module);
  int count = hlo_shape_leaf_count(root);
  size_t dims = 0;
  for (int r = 0; r < count; r++) dims += (size_t)hlo_shape_leaf(root, r)->rank;
  HR_TRY(alloc_results(executable, count, dims));
  executable->result_count = count;
  dims = 0;
  for (int r = 0; r < count; r++) {
    const hlo_shape_t *shape = hlo_shape_leaf(root, r);
    int memory = memory_of(module, "mhlo.result_memory_kinds", r);
    const char *kind = pjrt_memory_kind_names[memory];
    executable->results[r] = (pjrt_result_t){
        .shape = shape,
        .memory_kind = memory,
        .is_copy = is_repeated(module, count, r),
        .argument = argument_of(module, executable->param_count, result_instr(module, count, r))};
    executable->has_copies |=
        executable->results[r].is_copy || executable->results[r].argument >= 0;
    executable->lists.result_types[r] = pjrt_type(shape->dtype);
    executable->lists.result_ranks[r] = (size_t)shape->rank;
    executable->lists.result_memory_kinds[r] = kind;
    executable->lists.result_memory_kind_sizes[r] = strlen(kind);
    for (int d = 0; d < shape->rank; d++) executable->lists.result_dims[dims++] = shape->dims[d];
  }
  return NULL;
}

/* Bytes of one array; INT64_MAX where they do not fit. */
static int64_t shape_bytes(const hlo_shape_t *shape) {
  int64_t bytes = (int64_t)hr_dtype_bytes(shape->dtype);
  for (int d = 0; d < shape->rank; d++)
    if (__builtin_mul_overflow(bytes, shape->dims[d], &bytes)) return INT64_MAX;
  return bytes;
}

/* Loops run for a time that the number of instructions does not tell. */
static bool has_loop(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      if (module->computations.data[c]->instrs.data[i]->op == HLO_WHILE) return true;
  return false;
}

static bool calls_python(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      if (instr->op == HLO_CUSTOM_CALL &&
          pjrt_python_is_callback(hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET)))
        return true;
    }
  return false;
}

/* A guess for the first execution; later ones use the measured times. */
static bool is_small(const pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  int64_t bytes = 0;
  if (module->entry->instrs.count > SMALL_INSTRUCTIONS || has_loop(module)) return false;
  for (int p = 0; p < executable->param_count && bytes < SMALL_BYTES; p++)
    bytes += shape_bytes(executable->params[p]);
  for (int r = 0; r < executable->result_count && bytes < SMALL_BYTES; r++)
    bytes += shape_bytes(executable->results[r].shape);
  return bytes < SMALL_BYTES;
}

/* Debug options are in no fixed order: only the fields that hlorun reads enter the fingerprint. */
static void make_fingerprint(pjrt_executable_t *executable) {
  hr_digest_state_t state;
  hr_digest_start(&state);
  hr_digest_add(&state, PACKAGE_VERSION, sizeof PACKAGE_VERSION);
  hr_digest_add(&state, executable->code.data, executable->code.size);
  hr_digest_add(&state, &executable->options.num_replicas, sizeof(int));
  hr_digest_add(&state, &executable->options.num_partitions, sizeof(int));
  hr_digest_add(&state, executable->options.devices,
                (size_t)executable->options.device_count * sizeof(int));
  hr_digest_text(hr_digest_end(&state), executable->fingerprint);
}

/* Fills all that the framework may ask. The order of the calls matters: donations, costs and
 * shardings read the lists of params and results. */
static hr_status_t describe(pjrt_executable_t *executable) {
  const hlo_module_t *module = pjrt_executable_compiled(executable)->module;
  HR_TRY(hr_arena_cstr(&executable->arena, module->name, &executable->name));
  HR_TRY(describe_params(executable));
  HR_TRY(describe_param_memories(executable));
  HR_TRY(describe_devices(executable));
  HR_TRY(describe_results(executable));
  HR_TRY(note_donations(executable, module));
  HR_TRY(pjrt_executable_describe_place(executable));
  executable->is_small = is_small(executable);
  executable->calls_python = calls_python(pjrt_executable_compiled(executable)->module);
  make_fingerprint(executable);
  HR_TRY(pjrt_executable_describe_costs(executable));
  HR_TRY(pjrt_executable_describe_layouts(executable));
  return pjrt_executable_describe_shardings(executable);
}

/* Processes open worlds, load and execute together: earlier launches must end first, or one process
 * would load while another executes. */
static void drain_streams(pjrt_client_t *client, int device_count) {
  if (client->process_count == 1 || device_count == 1) return;
  for (int i = 0; i < client->local_count; i++) pjrt_stream_drain(&client->local_list[i]->stream);
}

/* Copies come first: the framework's bytes live during the call only. */
static hr_status_t compile_into(pjrt_executable_t *executable, hr_str_t code, hr_str_t options,
                                bool is_traced) {
  hr_arena_t *arena = &executable->arena;
  HR_TRY(hr_arena_str(arena, code, &executable->code));
  HR_TRY(hr_arena_str(arena, options, &executable->options_bytes));
  HR_TRY(
      pjrt_options_read(arena, executable->options_bytes.data, options.size, &executable->options));
  drain_streams(executable->client, executable->options.device_count);
  HR_TRY(pjrt_world_find(executable->client, executable->options.device_count,
                         executable->options.devices, is_traced, &executable->world));
  HR_TRY(load_programs(executable));
  return describe(executable);
}

/* Compiles with the transformations of `like`; NULL: with those that are registered at present. */
static hr_status_t compile_like(const pjrt_executable_t *like, pjrt_client_t *client, hr_str_t code,
                                hr_str_t options, bool is_traced,
                                pjrt_executable_t **out_executable) {
  void *memory;
  uint64_t begin_ns = hr_clock_ns();
  HR_TRY(hr_alloc_zeroed(sizeof(pjrt_executable_t), &memory));
  pjrt_executable_t *executable = memory;
  executable->client = client;
  atomic_init(&executable->references, 1);
  hr_arena_init(&executable->arena);
  spmd_host_t host = pjrt_partitioner_host;
  host.context = executable;
  const spmd_host_t *before = spmd_host_enter(&host);
  hr_status_t st = pjrt_transforms_retain(executable, like);
  if (!st) st = compile_into(executable, code, options, is_traced);
  spmd_host_enter(before);
  if (st) {
    pjrt_executable_release(executable);
    return st;
  }
  pjrt_profile_note(PJRT_PROFILE_HOST, executable->name, begin_ns);
  *out_executable = executable;
  return NULL;
}

hr_status_t pjrt_executable_compile(pjrt_client_t *client, hr_str_t code, hr_str_t options,
                                    bool is_traced, pjrt_executable_t **out_executable) {
  return compile_like(NULL, client, code, options, is_traced, out_executable);
}

static hr_status_t compile_again(const pjrt_executable_t *executable, bool is_traced,
                                 pjrt_executable_t **out_executable) {
  return compile_like(executable, executable->client, executable->code, executable->options_bytes,
                      is_traced, out_executable);
}

/* A chain of renewals: each leads from a broken world to the next. It is walked at launches
 * only, and grows by one per failed execution. The first caller compiles, and others wait for
 * it. */
hr_status_t pjrt_executable_current(pjrt_executable_t *executable,
                                    pjrt_executable_t **out_current) {
  hr_status_t st = NULL;
  while (!st && atomic_load(&executable->world->is_broken)) {
    pthread_mutex_lock(&executable->client->launch_mutex);
    if (!executable->renewed)
      st = compile_again(executable, executable->world->is_traced, &executable->renewed);
    pjrt_executable_t *next = executable->renewed;
    pthread_mutex_unlock(&executable->client->launch_mutex);
    if (!st) executable = next;
  }
  if (!st) *out_current = executable;
  return st;
}

hr_status_t pjrt_executable_profiled(pjrt_executable_t *executable,
                                     pjrt_executable_t **out_profiled) {
  hr_status_t st = NULL;
  *out_profiled = executable;
  if (executable->world->local_count < executable->world->count) return NULL;
  pthread_mutex_lock(&executable->client->launch_mutex);
  if (!executable->traced) st = compile_again(executable, true, &executable->traced);
  if (!st) *out_profiled = executable->traced;
  pthread_mutex_unlock(&executable->client->launch_mutex);
  return st;
}

/* Client_Compile. It returns when the program is ready. It may be called from several threads. */
hr_status_t pjrt_client_compile(pjrt_client_compile_args_t *args) {
  PJRT_NOT_NULL(args->client);
  PJRT_NOT_NULL(args->program);
  PJRT_NOT_NULL(args->program->code);
  if (args->options_size) PJRT_NOT_NULL(args->options);
  HR_TRY(pjrt_check_fork());
  return pjrt_executable_compile(
      args->client, (hr_str_t){args->program->code, args->program->code_size},
      (hr_str_t){args->options, args->options_size}, false, &args->executable);
}
