/* Reductions of few terms as formulas of all of them, term by term in the program's order, for
 * kernels without loops over terms. */
#include <string.h>

#include "jit/expr/expr_graph.h"
#include "jit/expr/reducer.h"

#define EXPANDED_RESULTS_MAX 8 /* most operands of an expanded reduction */

/* Number of terms per result. */
static int64_t reduction_terms(const hlo_instr_t *reduce) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t terms = 1;
  for (int64_t i = 0; i < dims.count; i++) terms *= reduce->operands[0]->shape->dims[dims.data[i]];
  return terms;
}

/* Index of term number `term` of a result. */
static const jit_expr_t **term_dims(jit_graph_t *graph, const hlo_instr_t *reduce,
                                    const jit_expr_t *const *kept, int64_t term) {
  static const jit_expr_t *none[HLO_MAX_RANK];
  hr_ints_t reduced = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t *shape = reduce->operands[0]->shape;
  const jit_expr_t **dims;
  hr_status_t st = HR_NEW_ARRAY(graph->arena, shape->rank + 1, &dims);
  if (st) jit_graph_keep_failure(graph, st);
  if (st) return none;
  for (int d = shape->rank; d-- > 0;)
    for (int64_t i = 0; i < reduced.count; i++)
      if (reduced.data[i] == d) {
        dims[d] = jit_expr_constant(&graph->exprs, term % shape->dims[d]);
        term /= shape->dims[d];
      }
  for (int d = 0, next = 0; d < shape->rank; d++)
    if (!dims[d]) dims[d] = kept[next++];
  return dims;
}

/* Type in which terms are added. Sums of narrow floats are rounded once, as in loops over terms
 * (reducer.h). */
static hr_dtype_t sum_type(const hlo_instr_t *reduce, int k) {
  hr_dtype_t dtype = hlo_shape_leaf(reduce->shape, k)->dtype;
  return reduce->operand_count == 2 && jit_reducer_is_plain(reduce->called[0])
             ? hr_dtype_table[dtype].compute
             : dtype;
}

static jit_node_t *convert_node(jit_graph_t *graph, jit_node_t *node, hr_dtype_t dtype) {
  return node->dtype == dtype ? node : jit_node_op(graph, HLO_CONVERT, dtype, 0, 1, &node);
}

/* Adds the next terms to `sums`. */
static void add_terms(jit_graph_t *graph, const hlo_instr_t *reduce, jit_node_t *const *terms,
                      jit_node_t **sums) {
  int count = reduce->operand_count / 2;
  jit_node_t *args[2 * EXPANDED_RESULTS_MAX];
  hr_dtype_t dtype = sum_type(reduce, 0);
  if (dtype != terms[0]->dtype) {
    memcpy(args, (jit_node_t *[]){sums[0], convert_node(graph, terms[0], dtype)}, 2 * sizeof *args);
    sums[0] = jit_node_op(graph, reduce->called[0]->root->op, dtype, 0, 2, args);
    return;
  }
  memcpy(args, sums, (size_t)count * sizeof *args);
  memcpy(args + count, terms, (size_t)count * sizeof *args);
  jit_graph_apply(graph, reduce->called[0], args, count, sums);
}

/* Writes a short reduction out as a chain of ops, term by term in the program's order. */
jit_node_t *jit_expanded_reduction_at(jit_graph_t *graph, const hlo_instr_t *instr, int number,
                                      jit_index_t index, jit_node_t *guard) {
  jit_node_t *sums[EXPANDED_RESULTS_MAX], *terms[EXPANDED_RESULTS_MAX];
  int count = instr->operand_count / 2;
  if (count > EXPANDED_RESULTS_MAX) {
    jit_graph_keep_failure(
        graph, hlo_unsupported(instr, "a reduction of more than %d arrays is written out",
                               EXPANDED_RESULTS_MAX));
    return jit_node_of_failure();
  }
  const jit_expr_t *const *kept =
      jit_index_dims(graph, hlo_shape_leaf(instr->shape, number), index);
  jit_index_t zero = {jit_expr_constant(&graph->exprs, 0), NULL};
  for (int k = 0; k < count; k++) {
    sums[k] = jit_graph_at(graph, instr->operands[count + k], 0, zero, NULL);
    sums[k] = convert_node(graph, sums[k], sum_type(instr, k));
  }
  for (int64_t t = 0; t < reduction_terms(instr) && !graph->failed; t++) {
    jit_index_t at = {NULL, term_dims(graph, instr, kept, t)};
    for (int k = 0; k < count; k++)
      terms[k] = jit_graph_at(graph, instr->operands[k], 0, at, guard);
    add_terms(graph, instr, terms, sums);
  }
  return convert_node(graph, sums[number], hlo_shape_leaf(instr->shape, number)->dtype);
}
