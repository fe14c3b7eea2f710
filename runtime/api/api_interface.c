/* Interface of a loaded program: flattened parameters and results with their names and shapes, the
 * part of a global array that a rank holds, and figures of the compilation. Tuples are flattened
 * to their leaves, in order; indices out of range give NULL, 0 or false. Thread: any, as nothing
 * here changes after loading. */
#include <string.h>

#include "api_program.h"
#include "ir/print.h"
#include "ir/shard.h"

/* A shape as HLO text without layout, in the arena. */
static hr_status_t shape_string(hr_arena_t *arena, const hlo_shape_t *shape,
                                const char **out_string) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_shape_print(&text, shape, false);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(arena, (hr_str_t){text.data, text.size}, out_string);
  hr_strbuf_deinit(&text);
  return st;
}

/* All leaves of a tuple have the parameter's name. */
hr_status_t api_program_describe(hlorun_program_t *program) {
  const hlo_module_t *module = program->compiled.module;
  hr_arena_t *arena = &program->compiled.plan->arena;
  const hlo_shape_t *result = hlo_entry_result_shape(module);
  int entry_params = (int)module->entry->params.count, leaf = 0;
  for (int p = 0; p < entry_params; p++)
    program->param_count += hlo_shape_leaf_count(hlo_entry_param_shape(module, p));
  program->result_count = hlo_shape_leaf_count(result);
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_shapes));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_names));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_leaves));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->param_instrs));
  HR_TRY(HR_NEW_ARRAY(arena, program->result_count, &program->result_shapes));
  HR_TRY(HR_NEW_ARRAY(arena, program->param_count, &program->all_params));
  memset(program->all_params, true, (size_t)program->param_count);
  for (int p = 0; p < entry_params; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++, leaf++) {
      program->param_instrs[leaf] = module->entry->params.data[p];
      program->param_leaves[leaf] = hlo_shape_leaf(shape, i);
      program->param_names[leaf] = program->param_instrs[leaf]->name.data;
      HR_TRY(shape_string(arena, program->param_leaves[leaf], &program->param_shapes[leaf]));
    }
  }
  for (int r = 0; r < program->result_count; r++)
    HR_TRY(shape_string(arena, hlo_shape_leaf(result, r), &program->result_shapes[r]));
  return NULL;
}

int hlorun_program_num_replicas(const hlorun_program_t *program) {
  return program ? program->compiled.plan->grid.num_replicas : 0;
}
int hlorun_program_num_partitions(const hlorun_program_t *program) {
  return program ? program->compiled.plan->grid.num_partitions : 0;
}
int hlorun_program_param_count(const hlorun_program_t *program) {
  return program ? program->param_count : 0;
}
int hlorun_program_result_count(const hlorun_program_t *program) {
  return program ? program->result_count : 0;
}

/* Whether parameter `index` exists; false for NULL. */
static bool has_param(const hlorun_program_t *program, int index) {
  return program && index >= 0 && index < program->param_count;
}
static bool has_result(const hlorun_program_t *program, int index) {
  return program && index >= 0 && index < program->result_count;
}
const char *hlorun_program_param_name(const hlorun_program_t *program, int index) {
  return has_param(program, index) ? program->param_names[index] : NULL;
}
const char *hlorun_program_param_shape(const hlorun_program_t *program, int index) {
  return has_param(program, index) ? program->param_shapes[index] : NULL;
}
const char *hlorun_program_result_shape(const hlorun_program_t *program, int index) {
  return has_result(program, index) ? program->result_shapes[index] : NULL;
}

/* The sharding on the root of a program that XLA has partitioned and printed; NULL: none. */
static const hlo_sharding_t *sharding_of_root(const hlo_module_t *module, int index) {
  const hlo_extra_t *extra = module->entry->root->extra;
  const hlo_sharding_t *sharding = extra ? extra->sharding : NULL;
  bool is_tuple = sharding && sharding->kind == HLO_TILE_KIND_TUPLE;
  if (!is_tuple) return sharding;
  return index < sharding->element_count ? sharding->elements[index] : NULL;
}

/* Leaf `index` of the parameters or results, and its sharding (NULL: not cut). In programs of one
 * partition without manual computations, shardings describe how XLA cut arrays that are local. */
static const hlo_shape_t *find_leaf(const hlorun_program_t *program, bool is_result, int index,
                                    const hlo_sharding_t **out_sharding) {
  const hlo_module_t *module = program->compiled.module;
  bool is_manual = module->result_shardings != NULL, is_cut = module->num_partitions > 1;
  if (is_result) {
    const hlo_sharding_t *at_root = is_cut ? sharding_of_root(module, index) : NULL;
    *out_sharding = is_manual ? module->result_shardings[index] : at_root;
    return hlo_shape_leaf(hlo_entry_result_shape(module), index);
  }
  const hlo_extra_t *extra = program->param_instrs[index]->extra;
  *out_sharding = (is_manual || is_cut) && extra ? extra->sharding : NULL;
  return program->param_leaves[index];
}

/* False if the leaf is not cut, or if its parts have other sizes than the program's. */
bool hlorun_program_shard(const hlorun_program_t *program, bool is_result, int index, int rank,
                          const int64_t *dims, int64_t *out_starts) {
  const hlo_sharding_t *sharding;
  if (!(is_result ? has_result(program, index) : has_param(program, index))) return false;
  if (rank < 0 || (rank && (!dims || !out_starts))) return false;
  const hlo_shape_t *shape = find_leaf(program, is_result, index, &sharding);
  int64_t sizes[HLO_MAX_RANK],
      device = program->client->endpoint->rank % program->compiled.plan->grid.num_partitions;
  if (!sharding || shape->rank != rank) return false;
  hr_status_t st = hlo_shard_of(sharding, rank, dims, device, out_starts, sizes);
  bool fits = !st;
  hr_status_release(st);
  for (int d = 0; fits && d < rank; d++) fits = sizes[d] == shape->dims[d];
  return fits;
}

bool hlorun_program_part(const hlorun_program_t *program, bool is_result, int index, int process,
                         int64_t *out_dims, int64_t *out_starts) {
  static const hlo_sharding_t whole = {.kind = HLO_TILE_KIND_REPLICATED};
  const hlo_sharding_t *sharding;
  int64_t sizes[HLO_MAX_RANK];
  if (!(is_result ? has_result(program, index) : has_param(program, index))) return false;
  if (!program->compiled.module->was_global) return false;
  if (process < 0 || !out_dims || !out_starts) return false;
  const hlo_shape_t *shape = find_leaf(program, is_result, index, &sharding);
  if (!hlo_shape_is_array(shape)) return false;
  if (!sharding) sharding = &whole;
  for (int d = 0; d < shape->rank; d++) out_dims[d] = shape->dims[d] * hlo_shard_parts(sharding, d);
  hr_status_t st =
      hlo_shard_of(sharding, shape->rank, out_dims,
                   process % program->compiled.plan->grid.num_partitions, out_starts, sizes);
  bool fits = !st;
  hr_status_release(st);
  return fits;
}

/* True if the sharding of a result of a program partitioned by XLA is unknown; scalars have none.
 */
static bool is_unknown(const hlo_module_t *module, int index) {
  const hlo_shape_t *shape = hlo_shape_leaf(hlo_entry_result_shape(module), index);
  return module->result_shardings && !module->was_global && shape->rank &&
         !module->result_shardings[index];
}

bool hlorun_program_make_global(hlorun_program_t *program) {
  if (!program || !program->compiled.module->result_shardings) return false;
  for (int k = 0; k < program->result_count; k++)
    if (is_unknown(program->compiled.module, k)) return false;
  program->compiled.module->was_global = true;
  return true;
}

/* Counts steps by kind; loops, branches and views are not counted. */
static void count_steps(const flat_plan_t *flat, hlorun_program_figures_t *figures) {
  for (int s = 0; s < flat->step_count; s++) switch (flat->steps[s].kind) {
      case FLAT_NATIVE:
        figures->native_steps += !jit_is_generated(flat->steps[s].native.kernel);
        figures->generated_steps += jit_is_generated(flat->steps[s].native.kernel);
        break;
      case FLAT_REFERENCE:
        figures->reference_steps++;
        break;
      case FLAT_COPY:
        figures->copy_steps++;
        break;
      case FLAT_SET_VIEW:
      case FLAT_WHILE:
      case FLAT_CONDITIONAL:
        break;
    }
}

/* Counts generated and cached code. */
static void count_code(const jit_t *jit, hlorun_program_figures_t *figures) {
  jit_counts_t counts = jit_counts(jit);
  figures->code_kernels = (uint64_t)counts.kernels;
  figures->code_modules = (uint64_t)counts.modules;
  figures->code_modules_cached = (uint64_t)counts.modules_cached;
  figures->code_bytes = counts.code_bytes;
}

/* Counts instructions that use feeds, random numbers or other processes, and cut arrays. */
static void count_uses(const hlo_module_t *module, hlorun_program_figures_t *figures) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      hlo_opcode_t op = module->computations.data[c]->instrs.data[i]->op;
      figures->infeeds += op == HLO_INFEED;
      figures->outfeeds += op == HLO_OUTFEED;
      figures->random_ops += hlo_op_is(op, OP_RANDOM);
      figures->collectives += hlo_op_is(op, OP_COLLECTIVE);
      figures->transfers += op == HLO_SEND || op == HLO_RECV;
    }
}

/* True if the sharding cuts a dimension; only tiled and named ones do. */
static bool cuts(const hlo_sharding_t *sharding, const hlo_shape_t *shape) {
  for (int d = 0; sharding && d < shape->rank; d++)
    if (hlo_shard_parts(sharding, d) > 1) return true;
  return false;
}

static void count_cuts(const hlorun_program_t *program, hlorun_program_figures_t *figures) {
  for (int is_result = 0; is_result < 2; is_result++)
    for (int k = 0; k < (is_result ? program->result_count : program->param_count); k++) {
      const hlo_sharding_t *sharding;
      const hlo_shape_t *shape = find_leaf(program, is_result, k, &sharding);
      *(is_result ? &figures->cut_results : &figures->cut_params) += cuts(sharding, shape);
      if (is_result) figures->unknown_results += is_unknown(program->compiled.module, k);
    }
}

/* Times are sums over the program and its specializations; sizes are those of the specialization of
 * the last execution. */
void hlorun_program_get_figures(const hlorun_program_t *program,
                                hlorun_program_figures_t *out_figures) {
  if (!out_figures) return;
  *out_figures = (hlorun_program_figures_t){.struct_size = sizeof *out_figures};
  if (!program) return;
  const compiled_program_t *compiled = &program->compiled;
  specializations_stats_t copies = program->specializations
                                       ? specializations_stats(program->specializations)
                                       : (specializations_stats_t){0};
  *out_figures = (hlorun_program_figures_t){.struct_size = sizeof *out_figures,
                                            .read_s = compiled->read_s + copies.read_s,
                                            .passes_s = compiled->passes_s + copies.passes_s,
                                            .plan_s = compiled->plan_s + copies.plan_s,
                                            .code_s = compiled->code_s + copies.code_s,
                                            .copies = (uint64_t)copies.made};
  if (compiled->plan) count_uses(compiled->plan->module, out_figures);
  if (compiled->plan) count_cuts(program, out_figures);
  if (copies.last) compiled = copies.last;
  out_figures->arena_bytes = compiled->flat ? compiled->flat->arena_bytes : 0;
  if (compiled->flat) count_steps(compiled->flat, out_figures);
  if (compiled->jit) count_code(compiled->jit, out_figures);
}
