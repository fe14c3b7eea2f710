/* Turns a propagated program into the program of one partition: lowers the entry and its callees
 * with each time at which results may be resharded, removes dead instructions, collectives
 * included, keeps the cheapest program, and records the shardings of parameters and results. */
#include <string.h>

#include "partition/annotations/normalize.h"
#include "partition/host.h"
#include "partition/lower/lower.h"
#include "partition/lower/program_cost.h"
#include "partition/lower/slice_pieces.h"
#include "passes/lib/pass_rewrite.h"

/* A closed sharding on the program's mesh for an array of this shape; dimensions of size 0 are not
 * cut. Unreduced sums stay unreduced if the caller wants that; other reductions are executed. */
static hr_status_t clean(const spmd_program_t *program, const hlo_shape_t *shape,
                         const spmd_sharding_t *sharding, const spmd_sharding_t **out_sharding) {
  spmd_axes_t dims[HLO_MAX_RANK], unreduced = {0, NULL};
  bool usable = sharding && sharding->device < 0 && sharding->rank == shape->rank;
  for (int d = 0; d < shape->rank; d++)
    dims[d] = usable && shape->dims[d] ? sharding->dims[d].axes : (spmd_axes_t){0};
  if (usable && program->keep_unreduced && sharding->reduction == SPMD_SUM)
    unreduced = sharding->unreduced;
  return spmd_sharding_make(program->arena, program->mesh, shape->rank, dims, unreduced,
                            out_sharding);
}

/* Leaf by leaf; NULL shardings are whole. */
static hr_status_t clean_all(const spmd_program_t *program, const hlo_shape_t *shape,
                             const spmd_sharding_t *const *shardings,
                             const spmd_sharding_t **out_shardings) {
  for (int i = 0; i < hlo_shape_leaf_count(shape); i++)
    HR_TRY(clean(program, hlo_shape_leaf(shape, i), shardings ? shardings[i] : NULL,
                 &out_shardings[i]));
  return NULL;
}

/* Sets the placement of shardings that cut something on other devices than the program's mesh. */
static hr_status_t place_all(const spmd_program_t *program, int count,
                             const spmd_mesh_t *const *placements,
                             const spmd_sharding_t **shardings) {
  for (int i = 0; i < count && placements; i++) {
    spmd_sharding_t *placed;
    if (!placements[i] || spmd_sharding_is_replicated(shardings[i])) continue;
    HR_TRY(HR_NEW(program->arena, &placed));
    *placed = *shardings[i];
    placed->placement = placements[i];
    shardings[i] = placed;
  }
  return NULL;
}

/* By leaf, in the order of the parameters. */
static hr_status_t entry_shardings(const spmd_program_t *program,
                                   const spmd_sharding_t ***out_params,
                                   const spmd_sharding_t ***out_results) {
  const hlo_computation_t *entry = program->module->entry;
  int count = hlo_computation_param_leaf_count(entry);
  HR_TRY(HR_NEW_ARRAY(program->arena, count + 1, out_params));
  HR_TRY(HR_NEW_ARRAY(program->arena, hlo_shape_leaf_count(entry->root->shape) + 1, out_results));
  count = 0;
  for (size_t k = 0; k < entry->params.count; k++) {
    const hlo_shape_t *shape = entry->params.data[k]->shape;
    HR_TRY(clean_all(program, shape,
                     program->param_shardings ? program->param_shardings + count : NULL,
                     *out_params + count));
    count += hlo_shape_leaf_count(shape);
  }
  HR_TRY(clean_all(program, entry->root->shape, program->result_shardings, *out_results));
  if (hlo_shape_is_dynamic(entry->root->shape))
    return hlo_unsupported(entry->root,
                           "its size is known only at run time, and results of sharded programs "
                           "need static sizes");
  HR_TRY(place_all(program, count, program->param_placements, *out_params));
  return place_all(program, hlo_shape_leaf_count(entry->root->shape), program->result_placements,
                   *out_results);
}

/* --- dead instructions --- */

/* Keeps instructions that the root or an effect needs, in order. */
static hr_status_t remove_dead(hlo_computation_t *computation) {
  size_t kept = 0;
  bool *live;
  HR_TRY(HR_NEW_ARRAY(&computation->module->arena, computation->instrs.count, &live));
  live[computation->root->id] = true;
  for (size_t i = computation->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    live[i] = live[i] || instr->op == HLO_PARAMETER || pass_must_stay(instr);
    for (int k = 0; k < instr->operand_count && live[i]; k++) live[instr->operands[k]->id] = true;
  }
  for (size_t i = 0; i < computation->instrs.count; i++) {
    if (!live[i]) continue;
    computation->instrs.data[kept] = computation->instrs.data[i];
    computation->instrs.data[kept]->id = (uint32_t)kept;
    kept++;
  }
  computation->instrs.count = kept;
  return NULL;
}

/* False for a removed instruction: another one has its id. */
static bool is_there(const hlo_instr_t *instr) {
  const hlo_computation_t *parent = instr->parent;
  return instr->id < parent->instrs.count && parent->instrs.data[instr->id] == instr;
}

static void remove_dead_notes(spmd_report_notes_t *notes) {
  size_t count = 0;
  for (size_t i = 0; i < notes->items.count; i++)
    if (is_there(notes->items.data[i].collective))
      notes->items.data[count++] = notes->items.data[i];
  notes->items.count = count;
}

static hr_status_t finish_report(spmd_program_t *program, const spmd_report_notes_t *notes) {
  size_t count = notes->items.count;
  spmd_report_t *report;
  void *items, *replications;
  HR_TRY(HR_NEW(program->arena, &report));
  HR_TRY(
      hr_arena_copy(program->arena, notes->items.data, count * sizeof *notes->items.data, &items));
  HR_TRY(hr_arena_copy(program->arena, notes->replications.data,
                       notes->replications.count * sizeof *notes->replications.data,
                       &replications));
  *report = (spmd_report_t){count, notes->replications.count, items, replications};
  program->report = report;
  return NULL;
}

/* --- the module --- */

/* Sets the sharding by which a global argument is cut. */
static hr_status_t note_sharding(spmd_program_t *program, hlo_instr_t *param,
                                 const spmd_sharding_t *sharding) {
  hlo_extra_t *extra;
  HR_TRY(HR_NEW(program->arena, &extra));
  HR_TRY(spmd_sharding_to_hlo(program->arena, sharding, &extra->sharding));
  param->extra = extra;
  return NULL;
}

/* Parameters keep their names. Layouts and the schedule of the global program are dropped. */
static hr_status_t set_ends(spmd_program_t *program, const hlo_computation_t *old,
                            const spmd_sharding_t *const *params,
                            const spmd_sharding_t *const *results) {
  hlo_module_t *module = program->module;
  int count = hlo_shape_leaf_count(old->root->shape);
  const hlo_sharding_t **cuts;
  for (size_t k = 0; k < old->params.count; k++) {
    hlo_instr_t *param = module->entry->params.data[k];
    param->name = old->params.data[k]->name;
    if (hlo_shape_is_array(param->shape)) HR_TRY(note_sharding(program, param, *params));
    params += hlo_shape_leaf_count(param->shape);
  }
  HR_TRY(HR_NEW_ARRAY(program->arena, count + 1, &cuts));
  for (int i = 0; i < count; i++)
    HR_TRY(spmd_sharding_to_hlo(program->arena, results[i], &cuts[i]));
  module->result_shardings = cuts;
  module->num_partitions = program->mesh->device_count;
  module->has_entry_layout = false;
  module->is_scheduled = false;
  module->propagate_params_count = module->propagate_output_count = 0;
  return NULL;
}

/* Finds the first free channel, and the largest dimension, which decides the type of offsets. */
static void find_channels(const hlo_module_t *module, int64_t *next, int64_t *largest_dim) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      const hlo_attr_t *attr = hlo_attr_find(instr, HLO_ATTR_CHANNEL_ID);
      if (attr && attr->integer >= *next) *next = attr->integer + 1;
      for (int d = 0; d < instr->shape->rank; d++)
        if (instr->shape->dims[d] > *largest_dim) *largest_dim = instr->shape->dims[d];
    }
}

/* True if partitioning calls the host, which must not be called again. */
static bool calls_host(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      if (spmd_is_hosted(instr) || spmd_marker_of(instr) == SPMD_INSPECT) return true;
    }
  return false;
}

/* --- candidates --- */

/* Share of the cost below which another program is taken: estimates are not more exact. */
#define WORTHWHILE 0.98

/* One program of a partition for the global program. */
typedef struct candidate {
  hlo_computation_t *entry;
  spmd_report_notes_t notes;
  double us; /* estimated time */
} candidate_t;

static void free_notes(spmd_report_notes_t *notes) {
  HR_VEC_FREE(&notes->items);
  HR_VEC_FREE(&notes->replications);
}

/* What all candidates are made from. They share replica groups and reducers. */
typedef struct global {
  const hlo_computation_t *entry;
  const spmd_sharding_t **params, **results;
  spmd_lower_module_t shared;
} global_t;

static hr_status_t read_global(spmd_program_t *program, global_t *out_global) {
  hlo_module_t *module = program->module;
  int64_t largest_dim = 0;
  *out_global = (global_t){.entry = module->entry,
                           .shared = {.program = program,
                                      .emit = {.module = module,
                                               .arena = program->arena,
                                               .mesh = program->mesh,
                                               .next_channel = 1}}};
  spmd_emit_module_t *emit = &out_global->shared.emit;
  find_channels(module, &emit->next_channel, &largest_dim);
  emit->index_type = largest_dim < INT32_MAX / 4 ? HR_S32 : HR_S64;
  HR_TRY(HR_NEW_ARRAY(program->arena, module->computations.count, &out_global->shared.called));
  out_global->shared.called_count = module->computations.count;
  return entry_shardings(program, &out_global->params, &out_global->results);
}

static hr_status_t make_candidate(global_t *global, spmd_strategy_t strategy,
                                  candidate_t *out_candidate) {
  spmd_lower_module_t *shared = &global->shared;
  hlo_module_t *module = shared->emit.module;
  size_t first = module->computations.count;
  int64_t channel = shared->emit.next_channel;
  memset(shared->called, 0, shared->called_count * sizeof *shared->called);
  shared->strategy = strategy;
  shared->emit.report = &out_candidate->notes;
  HR_TRY(spmd_lower_computation(shared, global->entry, global->params, global->results,
                                &out_candidate->entry));
  shared->emit.next_channel = channel;
  for (size_t c = first; c < module->computations.count; c++)
    HR_TRY(remove_dead(module->computations.data[c]));
  remove_dead_notes(&out_candidate->notes);
  return spmd_program_us(shared->emit.arena, out_candidate->entry, &out_candidate->notes,
                         &out_candidate->us);
}

/* Lowers the program by each strategy, and keeps the first of the cheapest. */
static hr_status_t find_cheapest(global_t *global, candidate_t *best) {
  int64_t changes[SPMD_STRATEGIES];
  HR_TRY(make_candidate(global, SPMD_RESHARD_AT_USE, best));
  if (calls_host(global->shared.emit.module)) return NULL;
  memcpy(changes, global->shared.changes, sizeof changes);
  for (int s = SPMD_RESHARD_IF_SHARED; s < SPMD_STRATEGIES; s++) {
    candidate_t candidate = {0};
    if (!best->notes.items.count || !changes[s]) continue;
    hr_status_t st = make_candidate(global, (spmd_strategy_t)s, &candidate);
    bool is_better = !st && candidate.us < WORTHWHILE * best->us;
    free_notes(is_better ? &best->notes : &candidate.notes);
    if (is_better) *best = candidate;
    HR_TRY(st);
  }
  return NULL;
}

/* pass_computations_order removes the global computations and those of other candidates, which have
 * no callers left. */
static hr_status_t partition(spmd_program_t *program, candidate_t *best) {
  hlo_module_t *module = program->module;
  global_t global;
  HR_TRY(spmd_slice_pieces(program));
  HR_TRY(read_global(program, &global));
  HR_TRY(find_cheapest(&global, best));
  module->entry = best->entry;
  HR_TRY(finish_report(program, &best->notes));
  HR_TRY(set_ends(program, global.entry, global.params, global.results));
  HR_TRY(pass_computations_order(module));
  return pass_names_settle(module);
}

/* Without a mesh there is nothing to cut. */
hr_status_t spmd_partition(spmd_program_t *program) {
  candidate_t best = {0};
  hr_status_t st = program->mesh ? partition(program, &best) : NULL;
  free_notes(&best.notes);
  return st;
}
