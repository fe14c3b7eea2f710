/* Reason why a kernel stays below the limits of memory and arithmetic, for --explain: the largest
 * part of the estimated cost of an element, or a shape that does not fill vectors. */
#include "jit/graph/kernel_reduce.h"

#define FUNCTION_COST 6.0 /* cost of the cheapest math function, in additions */
#define DIVISION_COST 3.0
#define SMALL_COUNT (1 << 14) /* elements whose loops take one or two microseconds */
#define MANY_OPS 6.0          /* additions per element that is read or written */

typedef struct costs {
  double all, gathers, functions, divisions, moves;
} costs_t;

static void add_node(const jit_kernel_t *kernel, const jit_node_t *node, costs_t *costs) {
  bool is_gathered = jit_node_is_gathered(kernel->graph, node);
  double cost = is_gathered ? JIT_GATHER_COST : jit_node_cost(node);
  costs->all += cost;
  if (is_gathered) costs->gathers += cost;
  if (node->kind == JIT_LOAD) costs->moves++;
  if (node->kind != JIT_OP || cost < DIVISION_COST) return;
  *(cost < FUNCTION_COST ? &costs->divisions : &costs->functions) += cost;
}

/* Number of reads per vector by loads whose lanes lie apart at known distances: one read per
 * lane. */
static double reads_apart(const jit_kernel_t *kernel) {
  const jit_loops_t *loops = &kernel->loops;
  if (kernel->form.space.kind != FUSION_LOOP || loops->has_tiles || loops->lanes == 1) return 0;
  return (double)jit_inner_reads_disjoint(kernel) / loops->vectors;
}

static costs_t add_up(const jit_kernel_t *kernel) {
  costs_t costs = {.moves = kernel->root_count};
  double apart = reads_apart(kernel);
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    add_node(kernel, node, &costs);
  costs.all += apart;
  costs.gathers += apart;
  return costs;
}

static bool is_in_order(const jit_reduce_t *reduce) {
  for (int i = 0; reduce && i < reduce->reduction_count; i++)
    if (jit_reducer_is_ordered(&reduce->reductions[i].reducer)) return true;
  return false;
}

/* Is the innermost loop so short that most vectors are partly filled? */
static bool has_short_lines(const jit_kernel_t *kernel) {
  const jit_nest_t *nest =
      kernel->loops.within.rank && kernel->has_rows ? &kernel->loops.within : &kernel->loops.nest;
  int64_t size = nest->rank ? nest->sizes[nest->rank - 1] : 1;
  return size % kernel->loops.lanes && size < 2 * kernel->loops.lanes;
}

const char *jit_kernel_bottleneck(const jit_kernel_t *kernel) {
  int64_t count = jit_nest_count(&kernel->loops.nest) * jit_nest_count(&kernel->loops.within);
  costs_t costs = add_up(kernel);
  if (is_in_order(kernel->reduce)) return "a reduction in order: each term waits for the last one";
  if (costs.gathers > costs.all / 2) return "gathers: what a vector reads lies apart";
  if (costs.functions > costs.all / 2) return "functions of many operations an element";
  if (costs.divisions > costs.all / 2) return "divisions or roots";
  if (count < SMALL_COUNT) return "few elements: the latency of its loops";
  if (kernel->loops.lanes == 1) return "one element at a time";
  if (has_short_lines(kernel)) return "short lines: vectors are not full";
  if (costs.all > MANY_OPS * costs.moves) return "many operations an element";
  return NULL;
}
