/* Infers the shardings of the results of a program that XLA has partitioned. Its text has shardings
 * of the parameters alone. But XLA's partitioner cuts corresponding dimensions of the operands and
 * the result of an operation alike. So the dimensions of all values fall into classes of equal
 * cuts, and a parameter tells the cut of its class:
 *
 *   p (cut over x) -> add -> dot(., w) -> all-reduce -> result     dimension 0: that of p
 *
 * Operations join dimensions (infer_join.c) or derive cuts (infer_follow.c). The cut of a class is
 * unknown if no parameter is in it, or if two parameters contradict each other; a result in such a
 * class gets no sharding. Cost: nearly linear in the dimensions of all values, times the length of
 * the longest chain of gathers. */
#include <string.h>

#include "ir/shard.h"
#include "partition/annotations/infer.h"

#define DEVICES_MAX 4096 /* most devices; each dimension of a parameter has a list of all */

/* Enters the sharding that the text gives an array, if any. */
static hr_status_t take_sharding(infer_t *x, const hlo_instr_t *instr) {
  const hlo_sharding_t *sharding = instr->extra ? instr->extra->sharding : NULL;
  int64_t counts[HLO_MAX_RANK], starts[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  int rank = instr->shape->rank;
  dim_cut_t *cuts;
  if (!sharding || !hlo_shape_is_array(instr->shape)) return NULL;
  HR_TRY(HR_NEW_ARRAY(x->arena, rank + 1, &cuts));
  for (int d = 0; d < rank; d++) {
    int64_t *places;
    HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &places));
    counts[d] = hlo_shard_parts(sharding, d);
    cuts[d] = (dim_cut_t){counts[d], places};
  }
  for (int64_t device = 0; device < x->devices; device++) {
    hr_status_t st = hlo_shard_of(sharding, rank, counts, device, starts, sizes);
    if (st) { /* maximal, or on devices that do not exist: nothing is known */
      hr_status_release(st);
      return NULL;
    }
    for (int d = 0; d < rank; d++) ((int64_t *)cuts[d].places)[device] = starts[d];
  }
  for (int d = 0; d < rank; d++) infer_set_cut(x, infer_first(x, instr) + d, &cuts[d]);
  return NULL;
}

/* The sharding of an array whose first dimension is `node`; NULL: something is not known. */
static hr_status_t sharding_of(infer_t *x, int node, int rank, const hlo_sharding_t **out) {
  hr_arena_t *arena = &x->module->arena;
  hlo_sharding_t *sharding;
  int64_t *tiles, *devices, *filled, parts = 1;
  *out = NULL;
  HR_TRY(HR_NEW(arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(arena, rank + 1, &tiles));
  HR_TRY(HR_NEW_ARRAY(arena, x->devices, &devices));
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &filled));
  for (int d = 0; d < rank; d++) {
    const dim_cut_t *cut = x->cuts[infer_root(x, node + d)];
    if (!cut || !cut->parts || parts > x->devices / cut->parts) return NULL;
    tiles[d] = cut->parts;
    parts *= cut->parts;
  }
  tiles[rank] = x->devices / parts;
  for (int64_t device = 0; device < x->devices; device++) {
    int64_t tile = 0;
    for (int d = 0; d < rank; d++)
      tile = tile * tiles[d] + x->cuts[infer_root(x, node + d)]->places[device];
    if (filled[tile] == tiles[rank]) return NULL;
    devices[tile * tiles[rank] + filled[tile]++] = device;
  }
  *sharding = (hlo_sharding_t){.kind = HLO_TILE_KIND_OTHER,
                               .tile_dims = {tiles, rank + (tiles[rank] > 1)},
                               .devices = {devices, x->devices},
                               .replicate_last_dim = tiles[rank] > 1};
  *out = sharding;
  return NULL;
}

static hr_status_t list_results(infer_t *x) {
  const hlo_instr_t *root = x->module->entry->root;
  int node = infer_first(x, root), count = hlo_shape_leaf_count(root->shape);
  const hlo_sharding_t **shardings;
  HR_TRY(HR_NEW_ARRAY(&x->module->arena, count + 1, &shardings));
  for (int leaf = 0; leaf < count; leaf++) {
    const hlo_shape_t *shape = hlo_shape_leaf(root->shape, leaf);
    if (shape->rank) HR_TRY(sharding_of(x, node, shape->rank, &shardings[leaf]));
    node += shape->rank;
  }
  x->module->result_shardings = shardings;
  return NULL;
}

/* Lists all results as unknown. */
static hr_status_t list_nothing(infer_t *x) {
  const hlo_sharding_t **shardings;
  int count = hlo_shape_leaf_count(x->module->entry->root->shape);
  HR_TRY(HR_NEW_ARRAY(&x->module->arena, count + 1, &shardings));
  x->module->result_shardings = shardings;
  return NULL;
}

static hr_status_t make_nodes(infer_t *x) {
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(x->arena, x->module->computations.count, &x->first));
  for (size_t c = 0; c < x->module->computations.count; c++) {
    const hlo_computation_t *computation = x->module->computations.data[c];
    int *first;
    HR_TRY(HR_NEW_ARRAY(x->arena, computation->instrs.count, &first));
    for (size_t i = 0; i < computation->instrs.count; i++) {
      first[i] = count;
      count += infer_dim_count(computation->instrs.data[i]->shape);
    }
    x->first[computation->id] = first;
  }
  HR_TRY(HR_NEW_ARRAY(x->arena, count + 1, &x->parents));
  HR_TRY(HR_NEW_ARRAY(x->arena, count + 1, &x->cuts));
  for (int i = 0; i < count; i++) x->parents[i] = i;
  int64_t *places;
  HR_TRY(HR_NEW_ARRAY(x->arena, x->devices, &places));
  HR_TRY(HR_NEW(x->arena, &x->whole));
  *x->whole = (dim_cut_t){1, places};
  return NULL;
}

static hr_status_t infer(infer_t *x) {
  const hlo_module_t *module = x->module;
  HR_TRY(make_nodes(x));
  for (size_t k = 0; k < module->entry->params.count; k++)
    HR_TRY(take_sharding(x, module->entry->params.data[k]));
  HR_TRY(take_sharding(x, module->entry->root));
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      HR_TRY(infer_join_instr(x, computation->instrs.data[i]));
  }
  HR_TRY(infer_follow(x));
  HR_TRY(infer_check(x));
  return list_results(x);
}

/* True if the module has manual parts (JAX's shard_map): their values are not global, and the text
 * does not tell how the results are assembled. */
static bool has_manual_parts(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_extra_t *extra = module->computations.data[c]->instrs.data[i]->extra;
      hr_str_t name = extra && extra->metadata ? extra->metadata->op_name : HR_STR("");
      if (name.size && (memmem(name.data, name.size, "/shard_map", 10) ||
                        memmem(name.data, name.size, "/shmap_body", 11)))
        return true;
    }
  return false;
}

static bool names_shardings(const hlo_module_t *module) {
  for (size_t k = 0; k < module->entry->params.count; k++) {
    const hlo_extra_t *extra = module->entry->params.data[k]->extra;
    if (extra && extra->sharding) return true;
  }
  return false;
}

hr_status_t spmd_infer_results(hlo_module_t *module) {
  hr_arena_t arena;
  if (!names_shardings(module) || module->num_partitions > DEVICES_MAX) return NULL;
  hr_arena_init(&arena);
  infer_t x = {.module = module, .arena = &arena, .devices = module->num_partitions};
  hr_status_t st = has_manual_parts(module) ? list_nothing(&x) : infer(&x);
  hr_arena_deinit(&arena);
  return st;
}
