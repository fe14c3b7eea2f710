/* Cost and dependence analysis of collectives. Costs are estimates by op: flops of products, bytes
 * of everything else, loops by their trip count (or a guess). Levels come from one sweep, the work
 * before a collective from a search of its transitive operands, with a budget over all searches. */
#include "passes/comm/comm_graph.h"

#include <stdlib.h>

#include "passes/fuse/fuse_cost.h"
#include "passes/lib/pass_rewrite.h"

#define MAX_VISITS 50000000 /* instructions visited by all searches */
#define FLOPS_PER_NS 50.0
#define DEFAULT_TRIP_COUNT 16 /* assumed trip count of a loop whose trip count is unknown */

/* --- costs --- */

/* 2 flops per result and term. */
static double product_ns(const hlo_instr_t *instr, double inner) {
  return 2 * (double)fusion_count(instr->shape) * inner / FLOPS_PER_NS;
}

/* Terms of each result element. */
static double dot_inner(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  double inner = 1;
  for (int64_t i = 0; i < dims.count; i++)
    inner *= (double)instr->operands[0]->shape->dims[dims.data[i]];
  return inner;
}

/* Terms per output: every element of the kernel, divided by the output features. */
static double convolution_inner(const hlo_instr_t *instr) {
  int64_t feature = hlo_attr_labels(instr)->rhs_output_feature;
  const hlo_shape_t *kernel = instr->operands[1]->shape;
  double outputs = feature >= 0 && kernel->dims[feature] > 0 ? (double)kernel->dims[feature] : 1;
  return (double)fusion_count(kernel) / outputs;
}

static double computation_ns(const hlo_computation_t *computation) {
  double sum = 0;
  for (size_t i = 0; i < computation->instrs.count; i++)
    sum += comm_instr_ns(computation->instrs.data[i]);
  return sum;
}

/* The mean of a conditional's branches. */
static double called_ns(const hlo_instr_t *instr) {
  double sum = 0;
  for (int c = 0; c < instr->called_count; c++) sum += computation_ns(instr->called[c]);
  if (instr->op == HLO_WHILE) return DEFAULT_TRIP_COUNT * sum;
  return instr->op == HLO_CONDITIONAL ? sum / instr->called_count : sum;
}

/* The cost of a step plus its reads and writes. */
static double memory_ns(const hlo_instr_t *instr) {
  double sum = FUSE_STEP_NS + fuse_write_ns(fuse_shape_bytes(instr->shape));
  for (int k = 0; k < instr->operand_count; k++)
    sum += fuse_read_ns(fuse_shape_bytes(instr->operands[k]->shape));
  return sum;
}

double comm_instr_ns(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_PARAMETER:
    case HLO_CONSTANT:
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_BITCAST:
    case HLO_RESHAPE:
      return 0;
    case HLO_DOT:
      return FUSE_STEP_NS + product_ns(instr, dot_inner(instr));
    case HLO_CONVOLUTION:
      return FUSE_STEP_NS + product_ns(instr, convolution_inner(instr));
    case HLO_WHILE:
    case HLO_CONDITIONAL:
    case HLO_CALL:
      return called_ns(instr);
    default:
      return memory_ns(instr);
  }
}

/* --- collectives --- */

static bool has_plain_operands(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (!hlo_shape_is_array(instr->operands[k]->shape) ||
        hlo_shape_is_dynamic(instr->operands[k]->shape))
      return false;
  return instr->operand_count > 0 && !hlo_shape_is_dynamic(instr->shape);
}

/* Is it a collective of arrays of static sizes that can be split into start and done? */
static bool is_movable(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_TO_ALL:
      return has_plain_operands(instr);
    case HLO_COLLECTIVE_PERMUTE:
      return has_plain_operands(instr) && !hlo_attr_has(instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
    default:
      return false;
  }
}

/* Does the program order its communication itself, by control edges or asynchronous ops? */
static bool is_ordered_already(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->extra && instr->extra->control_count) return true;
    if (hlo_op_is(instr->op, OP_START) &&
        (hlo_op_is(instr->op, OP_COLLECTIVE) || instr->op == HLO_ASYNC_START))
      return true;
  }
  return computation->is_fusion || computation->is_async_wrapper;
}

/* Are all effects of the instruction those of collectives, in the bodies that it calls? */
static bool has_only_collectives(const hlo_instr_t *instr) {
  bool calls = instr->op == HLO_WHILE || instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
  if (pass_is_pure(instr) || is_movable(instr)) return true;
  for (int c = 0; c < instr->called_count && calls; c++)
    for (size_t i = 0; i < instr->called[c]->instrs.count && calls; i++)
      calls = has_only_collectives(instr->called[c]->instrs.data[i]);
  return calls;
}

/* Fences (effects) end a segment: nothing moves across them. */
static hr_status_t list_nodes(hr_arena_t *arena, comm_graph_t *graph) {
  const hlo_computation_t *computation = graph->computation;
  size_t count = computation->instrs.count;
  uint32_t segment = 0;
  HR_TRY(HR_NEW_ARRAY(arena, count, &graph->nodes));
  HR_TRY(HR_NEW_ARRAY(arena, count, &graph->node_of));
  HR_TRY(HR_NEW_ARRAY(arena, count, &graph->is_fence));
  HR_TRY(HR_NEW_ARRAY(arena, count, &graph->segment));
  HR_TRY(HR_NEW_ARRAY(arena, count, &graph->cost_ns));
  for (size_t i = 0; i < count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    bool movable = is_movable(instr);
    graph->node_of[i] = -1;
    graph->segment[i] = segment;
    graph->cost_ns[i] = comm_instr_ns(instr);
    graph->is_fence[i] = !movable && !pass_is_pure(instr);
    if (graph->is_fence[i] && graph->crosses) graph->is_fence[i] = !has_only_collectives(instr);
    segment += graph->is_fence[i];
    if (movable)
      graph->nodes[graph->count++] = (comm_node_t){.instr = instr, .segment = graph->segment[i]};
  }
  return NULL;
}

/* --- dependences --- */

/* By instruction: the highest level of the collectives that it depends on, including itself. */
static hr_status_t find_levels(hr_arena_t *arena, comm_graph_t *graph) {
  const hlo_computation_t *computation = graph->computation;
  int *level, next = 0;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &level));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++)
      if (level[instr->operands[k]->id] > level[i]) level[i] = level[instr->operands[k]->id];
    bool is_node = next < graph->count && graph->nodes[next].instr == instr;
    level[i] += is_node;
    if (is_node) graph->nodes[next++].level = level[i];
  }
  return NULL;
}

typedef struct search {
  uint32_t *seen; /* by instruction id: number of the last search that reached it */
  uint32_t *stack;
  uint32_t number;
} search_t;

/* Depth-first search. `number` marks the instructions reached by this search, so that nothing is
 * cleared between searches. */
static double work_of(const comm_graph_t *graph, search_t *search, const hlo_instr_t *instr) {
  size_t depth = 0;
  double sum = 0;
  search->number++;
  search->stack[depth++] = instr->id;
  search->seen[instr->id] = search->number;
  while (depth) {
    const hlo_instr_t *at = graph->computation->instrs.data[search->stack[--depth]];
    sum += graph->cost_ns[at->id];
    for (int k = 0; k < at->operand_count; k++) {
      uint32_t operand = at->operands[k]->id;
      if (search->seen[operand] == search->number) continue;
      search->seen[operand] = search->number;
      search->stack[depth++] = operand;
    }
  }
  return sum;
}

static hr_status_t find_work(hr_arena_t *arena, comm_graph_t *graph) {
  size_t count = graph->computation->instrs.count;
  search_t search = {0};
  HR_TRY(HR_NEW_ARRAY(arena, count, &search.seen));
  HR_TRY(HR_NEW_ARRAY(arena, count, &search.stack));
  for (int n = 0; n < graph->count; n++)
    graph->nodes[n].work_ns = work_of(graph, &search, graph->nodes[n].instr);
  return NULL;
}

/* By readiness within the segment; ties by position, so that all processes agree. */
static int compare_nodes(const void *a, const void *b) {
  const comm_node_t *x = a, *y = b;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  if (x->work_ns != y->work_ns) return x->work_ns < y->work_ns ? -1 : 1;
  return x->instr->id < y->instr->id ? -1 : 1;
}

hr_status_t comm_graph_find(hr_arena_t *arena, hlo_computation_t *computation, bool crosses,
                            comm_graph_t *out_graph) {
  *out_graph = (comm_graph_t){.computation = computation, .crosses = crosses};
  if (is_ordered_already(computation)) return NULL;
  HR_TRY(list_nodes(arena, out_graph));
  if ((double)computation->instrs.count * out_graph->count > MAX_VISITS) out_graph->count = 0;
  if (!out_graph->count) return NULL;
  HR_TRY(find_levels(arena, out_graph));
  HR_TRY(find_work(arena, out_graph));
  qsort(out_graph->nodes, (size_t)out_graph->count, sizeof *out_graph->nodes, compare_nodes);
  for (int n = 0; n < out_graph->count; n++) out_graph->node_of[out_graph->nodes[n].instr->id] = n;
  return NULL;
}
