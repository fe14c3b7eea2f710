/* Narrow floats that are only moved, as integers of their size.
 *
 * bf16, f16 and the 8-bit floats are widened to f32 when they are loaded. Where no arithmetic op
 * reads or produces a value, widening and rounding back are unnecessary: the nodes get the unsigned
 * type of the same size, which also lets a vector hold more of them. Bits of NaNs are preserved
 * that way. */
#include "jit/element/element.h"
#include "jit/graph/jit_kernel.h"

static bool is_choice(const jit_node_t *node) {
  return node->kind == JIT_OP && node->op == HLO_SELECT;
}

/* If any of a select's result and choices is computed as a float, all of them are. True: something
 * changed. */
static bool spread_floats(jit_node_t *node) {
  jit_node_t **args = node->args;
  bool is_any = node->is_computed || args[1]->is_computed || args[2]->is_computed;
  bool is_all = node->is_computed && args[1]->is_computed && args[2]->is_computed;
  if (is_any) {
    node->is_computed = true;
    args[1]->is_computed = true;
    args[2]->is_computed = true;
  }
  return is_any != is_all;
}

static void find_computed(jit_graph_t *graph) {
  for (jit_node_t *node = graph->first_made; node; node = node->next_made) {
    bool is_moved = node->kind == JIT_LOAD || node->kind == JIT_CONSTANT || is_choice(node);
    node->is_computed = !is_moved;
    for (int k = 0; k < node->arg_count && !is_choice(node); k++) node->args[k]->is_computed = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (jit_node_t *node = graph->first_made; node; node = node->next_made)
      if (is_choice(node) && spread_floats(node)) changed = true;
  }
}

void jit_graph_move_bits(jit_kernel_t *kernel) {
  jit_graph_t *graph = kernel->graph;
  if (graph->failed || kernel->loops.narrow_row ||
      jit_nest_count(&kernel->loops.nest) < JIT_MEMORY_LEAST)
    return;
  find_computed(graph);
  for (jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (!node->is_computed && hr_dtype_is_float(node->dtype) &&
        hr_dtype_table[node->dtype].compute != node->dtype)
      node->dtype = hr_dtype_bytes(node->dtype) == 1 ? HR_U8 : HR_U16;
  for (int r = 0; r < kernel->root_count; r++)
    kernel->roots[r].dtype = kernel->roots[r].value->dtype;
}
