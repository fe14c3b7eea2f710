/* The module around its computations: topological order (callees first, unreachable ones dropped)
 * by depth-first search, and unique names by a map with a counter per module or computation.
 * Linear. */
#include "passes/lib/pass_rewrite.h"

/* ---- order of computations ---- */

typedef struct sorter {
  hr_arena_t arena;
  HR_VEC(hlo_computation_t *) list; /* callees first */
  bool *seen;                       /* by old id */
} sorter_t;

static hr_status_t list_reachable(sorter_t *sorter, hlo_computation_t *computation) {
  if (sorter->seen[computation->id]) return NULL;
  sorter->seen[computation->id] = true;
  for (size_t i = 0; i < computation->instrs.count; i++)
    for (int c = 0; c < computation->instrs.data[i]->called_count; c++)
      HR_TRY(list_reachable(sorter, computation->instrs.data[i]->called[c]));
  HR_VEC_PUSH(&sorter->list, computation);
  return NULL;
}

static void drop(hlo_computation_t *computation) {
  HR_VEC_FREE(&computation->instrs);
  HR_VEC_FREE(&computation->params);
}

static void take_over_list(hlo_module_t *module, const sorter_t *sorter) {
  for (size_t i = 0; i < module->computations.count; i++)
    if (!sorter->seen[i]) drop(module->computations.data[i]);
  for (size_t i = 0; i < sorter->list.count; i++) {
    module->computations.data[i] = sorter->list.data[i];
    sorter->list.data[i]->id = (uint32_t)i;
  }
  module->computations.count = sorter->list.count;
}

hr_status_t pass_computations_order(hlo_module_t *module) {
  sorter_t sorter = {0};
  hr_arena_init(&sorter.arena);
  hr_status_t st = HR_NEW_ARRAY(&sorter.arena, module->computations.count, &sorter.seen);
  if (!st) st = list_reachable(&sorter, module->entry);
  if (!st) take_over_list(module, &sorter);
  HR_VEC_FREE(&sorter.list);
  hr_arena_deinit(&sorter.arena);
  return st;
}

/* ---- names ---- */

/* The name without the ".7" or ".7.8" that made it unique. */
static hr_str_t stem_of(hr_str_t name) {
  size_t size = name.size;
  for (size_t end = size; end > 1; size = --end) {
    while (end > 1 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9') end--;
    if (end == size || end < 2 || name.data[end - 1] != '.') break;
  }
  return (hr_str_t){name.data, size};
}

/* Enters a name; if it is taken, the next free variant. *number counts up, so that many equal names
 * stay linear. */
static hr_status_t settle(hr_arena_t *arena, hr_map_t *taken, hr_str_t *name, uint64_t *number) {
  void *old;
  HR_TRY(hr_map_put(taken, *name, (void *)name, &old));
  hr_str_t stem = stem_of(*name);
  while (old) {
    const char *text;
    HR_TRY(hr_arena_printf(arena, &text, "%.*s.%llu", HR_STR_ARGS(stem),
                           (unsigned long long)++*number));
    *name = hr_str_from(text);
    HR_TRY(hr_map_put(taken, *name, (void *)name, &old));
  }
  return NULL;
}

static hr_status_t settle_instrs(hlo_computation_t *computation) {
  uint64_t number = computation->instrs.count;
  hr_map_t taken;
  hr_status_t st = NULL;
  hr_map_init(&taken);
  for (size_t i = 0; i < computation->instrs.count && !st; i++)
    st = settle(&computation->module->arena, &taken, &computation->instrs.data[i]->name, &number);
  hr_map_deinit(&taken);
  return st;
}

hr_status_t pass_names_settle(hlo_module_t *module) {
  uint64_t number = module->computations.count;
  hr_map_t taken;
  hr_status_t st = NULL;
  hr_map_init(&taken);
  for (size_t c = 0; c < module->computations.count && !st; c++)
    st = settle(&module->arena, &taken, &module->computations.data[c]->name, &number);
  hr_map_deinit(&taken);
  for (size_t c = 0; c < module->computations.count && !st; c++)
    st = settle_instrs(module->computations.data[c]);
  return st;
}
