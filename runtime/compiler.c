/* The stages of compilation, and the decisions between them: the grid, which passes may run
 * (programs with peers that run other programs keep their communication), how many workers, whether
 * the program gets a flat plan and generated code. Each stage is timed and, with a dump folder,
 * leaves its text. Without LLVM or a back end, the reference kernels run what code would be
 * generated for. */
#include "compiler.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "check/check.h"
#include "ir/buffer_types.h"
#include "jit/llvm/llvm_preload.h"
#include "ops/query/custom_call_table.h"
#include "ops/query/replica_groups.h"
#include "ops/rules/verify.h"
#include "partition/host.h"
#include "passes/pipeline.h"
#include "passes/program/insert_probes.h"
#include "passes/program/specialize_sizes.h"
#include "read/read.h"

/* Fits the grid of a program that only some processes run to the world, keeping the partitions of a
 * replica together where possible. */
static void widen_grid(int world_size, int64_t *replicas, int64_t *partitions) {
  if (*partitions > world_size || world_size % *partitions) *partitions = 1;
  *replicas = world_size / *partitions;
}

hr_status_t compiler_choose_grid(const hlo_module_t *module, const compiler_options_t *options,
                                 plan_grid_t *out_grid) {
  int64_t replicas = options->num_replicas ? options->num_replicas : module->replica_count;
  int64_t partitions = options->num_partitions ? options->num_partitions : module->num_partitions;
  bool has_options = options->num_replicas || options->num_partitions,
       is_default = !has_options && replicas == 1 && partitions == 1;
  if (is_default) replicas = options->world_size;
  int64_t grid_size;
  if (options->part && !has_options && !is_default)
    widen_grid(options->world_size, &replicas, &partitions);
  if (__builtin_mul_overflow(replicas, partitions, &grid_size)) grid_size = INT64_MAX;
  if (grid_size != options->world_size)
    return hr_error(
        HR_USAGE,
        "%.*s runs on a grid of %ld replicas x %ld partitions, which is not the number of "
        "processes, %d: "
        "start them with hlorun -n %ld (or mpirun), or choose --num-replicas and --num-partitions",
        HR_STR_ARGS(module->name), (long)replicas, (long)partitions, options->world_size,
        (long)grid_size);
  *out_grid = (plan_grid_t){(int)replicas, (int)partitions};
  return NULL;
}

/* Checks the replica groups of all reachable instructions against the grid, which the verifier does
 * not know. Processes started by a step (interpreter.run_parallel) have a grid of their own. */
static hr_status_t check_groups(const hlo_computation_t *computation, plan_grid_t grid, bool part,
                                bool *visited) {
  if (visited[computation->id]) return NULL;
  visited[computation->id] = true;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    plan_grid_t inner = grid;
    if (hlo_op_is(instr->op, OP_COLLECTIVE))
      HR_TRY((part ? op_groups_check_part : op_groups_check)(instr, grid.num_replicas,
                                                             grid.num_partitions));
    bool starts_processes = op_parallel_grid(instr, &inner.num_replicas, &inner.num_partitions);
    if (starts_processes && !inner.num_replicas) continue; /* refused when it is planned */
    for (int c = 0; c < instr->called_count; c++)
      HR_TRY(check_groups(instr->called[c], inner, part, visited));
  }
  return NULL;
}

static hr_status_t check_all_groups(const hlo_module_t *module, plan_grid_t grid, bool part) {
  hr_arena_t arena;
  bool *visited;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, module->computations.count, &visited);
  if (!st) st = check_groups(module->entry, grid, part, visited);
  hr_arena_deinit(&arena);
  return st;
}

/* A longer schedule runs without a proof, so that loading stays quick. */
#define PROOF_EVENTS 5000000 /* events of all processes */
#define PROOF_EVENTS_OF_ONE 100000

static hr_status_t refuse(const check_program_t *programs, const check_result_t *result) {
  hr_strbuf_t report;
  hr_strbuf_init(&report);
  check_report(&report, result);
  hr_pos_t pos = {&programs[0].module->source, 0, 0};
  hr_status_t st = hr_strbuf_finish(&report);
  if (!st) st = hr_error_at(HR_DISAGREE, &pos, "%.*s", (int)report.size - 1, report.data);
  hr_strbuf_deinit(&report);
  return st;
}

hr_status_t compiler_prove(const check_program_t *programs, int count, plan_grid_t grid) {
  check_options_t check = {.num_replicas = grid.num_replicas,
                           .num_partitions = grid.num_partitions};
  check_result_t *result;
  check.event_limit = PROOF_EVENTS / (uint64_t)(grid.num_replicas * grid.num_partitions) + 1000;
  if (check.event_limit > PROOF_EVENTS_OF_ONE) check.event_limit = PROOF_EVENTS_OF_ONE;
  HR_TRY(check_schedule(programs, count, &check, &result));
  check_verdict_t verdict = check_result_verdict(result);
  hr_status_t st =
      verdict == CHECK_DEADLOCK || verdict == CHECK_MISUSE ? refuse(programs, result) : NULL;
  check_result_destroy(result);
  return st;
}

#define PARALLEL_BYTES (32 << 10) /* least size of a result for which several workers pay */

static bool has_large_result(const hlo_instr_t *instr) {
  for (int leaf = hlo_shape_leaf_count(instr->shape); leaf-- > 0;) {
    const hlo_shape_t *shape = hlo_shape_leaf(instr->shape, leaf);
    int64_t bytes = (int64_t)hr_dtype_bytes(shape->dtype);
    for (int d = 0; d < shape->rank; d++)
      if (__builtin_mul_overflow(bytes, shape->dims[d], &bytes)) return true;
    if (bytes >= PARALLEL_BYTES) return true;
  }
  return false;
}

static bool can_use_workers(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      if (has_large_result(computation->instrs.data[i])) return true;
  }
  return false;
}

/* Folder for dumps: the option, else HLORUN_DUMP_TO. */
static const char *dump_dir(const compiler_options_t *options) {
  return options->dump_dir ? options->dump_dir : secure_getenv("HLORUN_DUMP_TO");
}

static hr_status_t write_plan(const char *folder, const char *name, hr_strbuf_t *text) {
  hr_strbuf_t path;
  hr_strbuf_init(&path);
  hr_strbuf_printf(&path, "%s/%s", folder, name);
  hr_status_t st = hr_strbuf_finish(&path);
  if (!st) st = hr_strbuf_finish(text);
  if (!st) st = hr_file_write_all(path.data, text->data, text->size);
  hr_strbuf_deinit(&path);
  hr_strbuf_deinit(text);
  return st;
}

/* plan.txt: order of steps and communication; flat.txt: steps and addresses of the compiled engine.
 */
static hr_status_t dump_plans(const compiler_options_t *options,
                              const compiled_program_t *program) {
  const char *folder = dump_dir(options);
  hr_strbuf_t text;
  if (!folder || !options->compiled) return NULL;
  hr_strbuf_init(&text);
  plan_print(&text, program->plan);
  HR_TRY(write_plan(folder, "plan.txt", &text));
  if (!program->flat) return NULL;
  hr_strbuf_init(&text);
  flat_plan_print(&text, program->flat);
  return write_plan(folder, "flat.txt", &text);
}

/* A program that no flat plan can represent is left to the reference engine. */
static hr_status_t make_flat_plan(const compiler_options_t *options, compiled_program_t *program,
                                  hr_workers_t *workers, bool with_code) {
  flat_options_t flat = {.workers = hr_workers_count(workers),
                         .no_fusion = options->each_result,
                         .shares_gathers = options->shares_gathers && !options->actual};
  if (with_code) {
    flat.emitter = &jit_native;
    flat.emitter_context = program->jit;
  }
  HR_TRY(flat_plan_create(program->plan, &flat, &program->flat));
  if (!program->flat->is_reference && !with_code) return NULL;
  if (!program->flat->is_reference) {
    if (!options->each_step) HR_TRY(jit_find_regions(program->jit, program->flat));
    return jit_finish(program->jit);
  }
  flat_plan_destroy(program->flat);
  program->flat = NULL;
  return NULL;
}

/* Where there is no LLVM, the reference kernels do what code would be generated for. */
static hr_status_t make_plan_and_code(const compiler_options_t *options,
                                      compiled_program_t *program, hr_workers_t *workers) {
  hr_status_t st = make_flat_plan(options, program, workers, true);
  if (hr_status_code(st) != HR_UNAVAILABLE) return st;
  hr_log(HR_LOG_JIT, HR_LOG_WARN, "%s; until then programs run slowly", hr_status_message(st));
  hr_status_release(st);
  flat_plan_destroy(program->flat);
  program->flat = NULL;
  return make_flat_plan(options, program, workers, false);
}

static hr_status_t make_code(const compiler_options_t *options, compiled_program_t *program) {
  hr_workers_t *workers = NULL;
  jit_cache_options_t cache = {.folder = options->cache_dir};
  jit_options_t jit = {.dump_to = dump_dir(options)};
  llvm_preload_t preload = {0};
  hr_status_t st = NULL;
  if (!options->compiled) return NULL;
  if (!jit.dump_to)
    HR_TRY(jit_cache_open(&cache, &jit.cache)); /* cached code has no text to dump */
  bool is_large = options->start_workers && can_use_workers(program->module);
  if (is_large && options->may_open_early && jit_cache_is_empty(jit.cache))
    llvm_preload_begin(program->module, &preload);
  if (is_large) st = options->start_workers(options->workers_context, &workers);
  jit.workers = workers;
  if (!st) st = jit_create(&jit, &program->jit);
  if (!st) st = make_plan_and_code(options, program, workers);
  llvm_preload_end(&preload);
  jit_cache_close(jit.cache);
  return st;
}

/* One of several programs is proved with the others, when it meets them (prove.h). */
static hr_status_t prove_alone(const hlo_module_t *module, const compiler_options_t *options,
                               plan_grid_t grid) {
  check_program_t program = {module, 0, grid.num_replicas * grid.num_partitions - 1};
  if (options->part || options->unproved || check_is_trivially_sound(module)) return NULL;
  return compiler_prove(&program, 1, grid);
}

/* Communication is not moved if peers run other programs, as each is compiled by itself; nor in
 * specializations and the programs that have them, which must communicate alike. */
static hr_status_t optimise(const compiled_program_t *program, const compiler_options_t *options) {
  bool keep = options->part || options->world_size == 1 || program->can_specialise;
  pass_options_t passes = {.dump_dir = dump_dir(options), .keep_collectives = keep};
  return options->compiled ? pass_run_all(program->module, &passes) : NULL;
}

static hr_status_t specialise(compiled_program_t *program, const compiler_options_t *options) {
  program->can_specialise = options->compiled && !options->part && !options->probe &&
                            pass_can_specialise(program->module);
  return program->can_specialise && options->actual
             ? pass_specialise(program->module, options->actual)
             : NULL;
}

/* Seconds since *since_s, which becomes now. */
static double lap_s(double *since_s) {
  double now_s = hr_clock_s();
  double took_s = now_s - *since_s;
  *since_s = now_s;
  return took_s;
}

/* Partitions that each replica has in the world; a mesh is one of those. */
static int64_t partitions_of(const hlo_module_t *module, const compiler_options_t *options) {
  int replicas = options->num_replicas ? options->num_replicas : (int)module->replica_count;
  bool divides = replicas > 1 && options->world_size % replicas == 0;
  return divides ? options->world_size / replicas : options->world_size;
}

/* Global programs become the program of one partition. From here on buffers are arrays. */
static hr_status_t partition(hlo_module_t *module, const compiler_options_t *options) {
  spmd_options_t spmd = options->spmd;
  spmd.device_count = options->part ? 0 : partitions_of(module, options);
  spmd.replica_count = options->num_replicas;
  HR_TRY(hlo_lower_buffer_types(module));
  return spmd_run(module, &spmd);
}

hr_status_t compiler_read_partition(const char *path, hr_buffer_t *bytes,
                                    const compiler_options_t *options, hlo_module_t **out_module) {
  hlo_module_t *module;
  HR_TRY(read_module(path, bytes, &module));
  hr_status_t st = hlo_verify(module);
  if (!st) st = partition(module, options);
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

/* What the host answers has neither a grid nor shardings. */
static hr_status_t let_host_change(compiled_program_t *program) {
  const spmd_host_t *host = spmd_host_current();
  hlo_module_t *module = program->module, *changed = NULL;
  if (!host || !host->change) return NULL;
  HR_TRY(host->change(host->context, module, &changed));
  if (!changed) return NULL;
  program->unchanged = module;
  program->module = changed;
  changed->replica_count = module->replica_count;
  changed->num_partitions = module->num_partitions;
  changed->result_shardings = module->result_shardings;
  changed->was_global = module->was_global;
  changed->is_scheduled = module->is_scheduled;
  return hlo_verify(changed);
}

static hr_status_t run_stages(const char *path, hr_buffer_t *bytes,
                              const compiler_options_t *options, compiled_program_t *program) {
  plan_grid_t grid;
  double since_s = hr_clock_s();
  HR_TRY(read_module(path, bytes, &program->module));
  HR_TRY(hlo_verify(program->module));
  program->read_s = lap_s(&since_s);
  HR_TRY(partition(program->module, options));
  HR_TRY(let_host_change(program));
  HR_TRY(compiler_choose_grid(program->module, options, &grid));
  HR_TRY(check_all_groups(program->module, grid, options->part));
  if (options->probe) HR_TRY(pass_probes(program->module, options->probe));
  HR_TRY(specialise(program, options));
  HR_TRY(optimise(program, options));
  program->passes_s = lap_s(&since_s);
  HR_TRY(plan_create(program->module, grid, &program->plan));
  HR_TRY(prove_alone(program->module, options, grid));
  program->plan_s = lap_s(&since_s);
  HR_TRY(make_code(options, program));
  HR_TRY(dump_plans(options, program));
  program->code_s = lap_s(&since_s);
  return NULL;
}

hr_status_t compile_bytes(const char *path, hr_buffer_t *bytes, const compiler_options_t *options,
                          compiled_program_t *out_program) {
  compiled_program_t program = {0};
  hr_status_t st = run_stages(path, bytes, options, &program);
  if (st)
    compiled_program_deinit(&program);
  else
    *out_program = program;
  return st;
}

void compiled_program_deinit(compiled_program_t *program) {
  flat_plan_destroy(program->flat);
  jit_destroy(program->jit);
  plan_destroy(program->plan);
  hlo_module_destroy(program->module);
  hlo_module_destroy(program->unchanged);
  *program = (compiled_program_t){0};
}
