/* List scheduling, segment by segment. Within a segment: for each collective in order of readiness,
 * the instructions that it still needs, then its start. Then the rest: instructions that depend on
 * no collective of the segment, those that depend on the first one, and so on. A done goes right
 * before the first use of the result, or to the end of its segment, so that fences never wait
 * after a transfer. Linear, except for sorting. */
#include "passes/comm/comm_order.h"

#include <stdlib.h>

/* State of the scheduler; `listed` instructions have been placed. */
typedef struct ordering {
  const comm_graph_t *graph;
  comm_list_t *list;
  bool *listed, *wanted; /* by instruction id */
  bool *ended;           /* by node */
  int *key;              /* by instruction id: 1 + the last node that it depends on; 0: none */
  uint32_t *stack, *ids; /* room for all instructions */
} ordering_t;

static hr_status_t push(ordering_t *ordering, hlo_instr_t *instr, bool is_end) {
  HR_VEC_PUSH(ordering->list, (comm_entry_t){instr, is_end});
  return NULL;
}

/* Lists the done of a collective, once. */
static hr_status_t end_node(ordering_t *ordering, int node) {
  if (node < 0 || ordering->ended[node]) return NULL;
  ordering->ended[node] = true;
  return push(ordering, ordering->graph->nodes[node].instr, true);
}

/* Dones of collective operands are listed right before their first reader. */
static hr_status_t emit(ordering_t *ordering, hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(end_node(ordering, ordering->graph->node_of[instr->operands[k]->id]));
  ordering->listed[instr->id] = true;
  return push(ordering, instr, false);
}

/* Instructions with a small key overlap with more transfers. */
static hr_status_t find_keys(hr_arena_t *arena, ordering_t *ordering) {
  const hlo_computation_t *computation = ordering->graph->computation;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &ordering->key));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    int *key = &ordering->key[i];
    for (int k = 0; k < instr->operand_count; k++) {
      uint32_t operand = instr->operands[k]->id;
      int below = ordering->graph->node_of[operand] + 1;
      if (ordering->key[operand] > below) below = ordering->key[operand];
      if (below > *key) *key = below;
    }
  }
  return NULL;
}

/* Marks the unlisted transitive operands of `instr`; returns their number. */
static size_t mark_unlisted(ordering_t *ordering, const hlo_instr_t *instr) {
  size_t depth = 0, count = 0;
  ordering->stack[depth++] = instr->id;
  while (depth) {
    const hlo_instr_t *at = ordering->graph->computation->instrs.data[ordering->stack[--depth]];
    for (int k = 0; k < at->operand_count; k++) {
      uint32_t operand = at->operands[k]->id;
      if (ordering->listed[operand] || ordering->wanted[operand]) continue;
      ordering->wanted[operand] = true;
      ordering->ids[count++] = operand;
      ordering->stack[depth++] = operand;
    }
  }
  return count;
}

/* By key, then by the program's order. */
static int compare_positions(const void *a, const void *b, void *context) {
  const int *key = context;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (key[x] != key[y]) return key[x] < key[y] ? -1 : 1;
  return (x > y) - (x < y);
}

/* Lists by key: instructions that depend on no collective come first, and overlap with
 * transfers. */
static hr_status_t emit_ids(ordering_t *ordering, size_t count) {
  qsort_r(ordering->ids, count, sizeof *ordering->ids, compare_positions, ordering->key);
  for (size_t i = 0; i < count; i++)
    HR_TRY(emit(ordering, ordering->graph->computation->instrs.data[ordering->ids[i]]));
  return NULL;
}

/* Lists the instructions of the segment that its collectives do not need. */
static hr_status_t emit_rest(ordering_t *ordering, uint32_t first, uint32_t last) {
  size_t count = 0;
  for (uint32_t i = first; i < last; i++)
    if (!ordering->listed[i] && !ordering->graph->is_fence[i]) ordering->ids[count++] = i;
  return emit_ids(ordering, count);
}

/* Orders instructions first .. last - 1, of which the last one may be a fence. */
static hr_status_t order_segment(ordering_t *ordering, uint32_t first, uint32_t last, int *node) {
  const comm_graph_t *graph = ordering->graph;
  int begin = *node;
  for (; *node < graph->count && graph->nodes[*node].segment == graph->segment[first]; ++*node) {
    hlo_instr_t *instr = graph->nodes[*node].instr;
    HR_TRY(emit_ids(ordering, mark_unlisted(ordering, instr)));
    HR_TRY(emit(ordering, instr));
  }
  HR_TRY(emit_rest(ordering, first, last));
  for (int n = begin; n < *node; n++) HR_TRY(end_node(ordering, n));
  return graph->is_fence[last - 1] ? emit(ordering, graph->computation->instrs.data[last - 1])
                                   : NULL;
}

static hr_status_t order_all(ordering_t *ordering) {
  const comm_graph_t *graph = ordering->graph;
  uint32_t count = (uint32_t)graph->computation->instrs.count;
  int node = 0;
  for (uint32_t first = 0, last; first < count; first = last) {
    for (last = first + 1; last < count && graph->segment[last] == graph->segment[first]; last++)
      continue;
    HR_TRY(order_segment(ordering, first, last, &node));
  }
  return NULL;
}

hr_status_t comm_order_find(hr_arena_t *arena, const comm_graph_t *graph, comm_list_t *out_list) {
  size_t count = graph->computation->instrs.count;
  ordering_t ordering = {.graph = graph, .list = out_list};
  HR_TRY(HR_NEW_ARRAY(arena, count, &ordering.listed));
  HR_TRY(HR_NEW_ARRAY(arena, count, &ordering.wanted));
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &ordering.ended));
  HR_TRY(HR_NEW_ARRAY(arena, count, &ordering.stack));
  HR_TRY(HR_NEW_ARRAY(arena, count, &ordering.ids));
  HR_TRY(find_keys(arena, &ordering));
  return order_all(&ordering);
}

/* Renumbers the instructions; the dones are not instructions yet. */
void comm_order_apply(hlo_computation_t *computation, const comm_list_t *list) {
  uint32_t next = 0;
  for (size_t i = 0; i < list->count; i++) {
    if (list->data[i].is_end) continue;
    computation->instrs.data[next] = list->data[i].instr;
    list->data[i].instr->id = next++;
  }
}
