/* Fusion of elementwise ops and reductions into `fusion` instructions, which generated code runs
 * without writing intermediate arrays (forms: ops/query/codegen_support.h):
 *
 *   m = multiply(x, y); e = exp(m); s = reduce(e)   ->   s = fusion(x, y), kind=kInput
 *
 * 1. Producers (fuse_producers.c): in reverse program order, each instruction joins the clusters of
 * its users (as an additional root of one of them if others need it in memory), or starts a
 * cluster.
 * 2. Siblings (fuse_siblings.c): clusters of equal sizes that read the same large array are merged.
 * 3. Groups: loops over little data are merged into one step, whatever their sizes.
 * 4. Emission (fuse_emit.c).
 *
 * All decisions compare estimated nanoseconds (fuse_cost.h). Exact: bodies hold the same
 * instructions. Cost: n log n, as searches and copies have budgets. */
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

/* Cost of one more step per computation that runs as steps: the entry, and computations called by
 * control flow; 0 for others (to_apply, fusion bodies). Computations are listed callees first. */
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
