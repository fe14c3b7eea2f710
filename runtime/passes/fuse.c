/* Fusion: what is computed element by element, and reductions, become `fusion` instructions of the forms of ops/emit.h,
 * so that intermediate arrays are never written. Rounding stays as it is: bodies hold the same instructions.
 *
 * Each computation that runs as steps is gone through from its end: a producer joins the clusters of its users, as a
 * result of one of them if others need it too, or begins a cluster. Then clusters that read the same array, and
 * loops over little data, are put together. */
#include "ops/emit.h"
#include "passes/fuse_absorb.h"
#include "passes/fuse_emit.h"
#include "passes/fuse_merge.h"
#include "passes/passes.h"

static hr_status_t fuse_in(fuse_graph_t *graph) {
  HR_TRY(fuse_absorb(graph));
  HR_TRY(fuse_siblings(graph));
  HR_TRY(fuse_groups(graph));
  return fuse_emit(graph);
}

static hr_status_t fuse_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  fuse_graph_t graph = {0};
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = fuse_graph_init(&graph, &rewrite);
  if (!st) st = fuse_in(&graph);
  fuse_graph_deinit(&graph);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* Those that run as steps: the entry, and what control flow calls. Computations are listed callees first. */
static void find_stepped(const hlo_module_t *module, bool *stepped) {
  stepped[module->entry->id] = true;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; stepped[c] && i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      bool steps = instr->op == HLO_WHILE || instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
      for (int k = 0; steps && k < instr->called_count; k++) stepped[instr->called[k]->id] = true;
    }
  }
}

hr_status_t pass_fuse(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  bool *stepped;
  size_t count = module->computations.count;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, count, &stepped);
  if (!st) find_stepped(module, stepped);
  for (size_t c = 0; c < count && !st; c++)
    if (stepped[c]) st = fuse_computation(module->computations.data[c], out_changed);
  hr_arena_deinit(&arena);
  return st ? st : pass_computations_order(module);
}
