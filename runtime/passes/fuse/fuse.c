/* Fusion: what is computed element by element, and reductions, become `fusion` instructions of the
 * forms of ops/query/codegen_support.h, so that intermediate arrays are never written. Rounding
 * stays as it is: bodies hold the same instructions.
 *
 * Each computation that runs as steps is gone through from its end: a producer joins the clusters
 * of its users, as a result of one of them if others need it too, or begins a cluster. Then
 * clusters that read the same array, and loops over little data, are put together. */
#include "ops/query/codegen_support.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/fuse/fuse_emit.h"
#include "passes/fuse/fuse_producers.h"
#include "passes/fuse/fuse_siblings.h"
#include "passes/passes.h"

static hr_status_t fuse_in(fuse_graph_t *graph) {
  HR_TRY(fuse_producers(graph));
  HR_TRY(fuse_siblings(graph));
  HR_TRY(fuse_groups(graph));
  return fuse_emit(graph);
}

static hr_status_t fuse_computation(hlo_computation_t *computation, double step_ns,
                                    bool *out_changed) {
  pass_rewrite_t rewrite;
  fuse_graph_t graph = {0};
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = fuse_graph_init(&graph, &rewrite, step_ns);
  if (!st) st = fuse_in(&graph);
  fuse_graph_deinit(&graph);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

/* What a step more costs in those that run as steps: the entry, and what control flow calls; 0: in
 * others. Computations are listed callees first. */
static void find_step_ns(const hlo_module_t *module, double *step_ns) {
  step_ns[module->entry->id] = FUSE_STEP_NS;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; step_ns[c] > 0 && i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      bool transposes = instr->op == HLO_WHILE,
           steps = transposes || instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
      double ns = transposes ? FUSE_LOOP_STEP_NS : step_ns[c];
      for (int k = 0; steps && k < instr->called_count; k++) {
        double *called = &step_ns[instr->called[k]->id];
        if (*called == 0 || ns < *called) *called = ns;
      }
    }
  }
}

hr_status_t pass_fuse(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  double *step_ns;
  size_t count = module->computations.count;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, count, &step_ns);
  if (!st) find_step_ns(module, step_ns);
  for (size_t c = 0; c < count && !st; c++)
    if (step_ns[c] > 0)
      st = fuse_computation(module->computations.data[c], step_ns[c], out_changed);
  hr_arena_deinit(&arena);
  return st ? st : pass_computations_order(module);
}
