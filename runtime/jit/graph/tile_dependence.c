/* Tile fusion: the part of its producer's result on which a kernel's unit depends.
 *
 * A kernel that runs on tiles of its producer may start a unit when that tile is done. For each
 * array the loads are compared with the index of the unit: at the same element, within the same
 * rows, or anywhere (JIT_DEPENDS_ON_ALL, which forbids the fusion). */
#include "jit/graph/jit_kernel.h"

/* Do the row variables have the same factors in the index as in the index of the grid's
 * elements? */
static bool follows_rows(const jit_kernel_t *kernel, const jit_expr_t *expr, int rank) {
  int64_t stride = kernel->schedule.producer_grid.columns;
  for (int v = rank; v-- > 0; stride *= kernel->loops.nest.sizes[v])
    if (jit_expr_factor(expr, v) != stride || jit_expr_is_nonaffine(&kernel->graph->exprs, expr, v))
      return false;
  return true;
}

static jit_dependence_t reach_of(const jit_kernel_t *kernel, const jit_node_t *node, int rank) {
  jit_exprs_t *exprs = &kernel->graph->exprs;
  const jit_expr_t *rest = node->expr;
  if (!follows_rows(kernel, rest, rank)) return JIT_DEPENDS_ON_ALL;
  for (int v = 0; v < rank; v++) rest = jit_expr_without(exprs, rest, v);
  if (rest->low < 0 || rest->high >= kernel->schedule.producer_grid.columns)
    return JIT_DEPENDS_ON_ALL;
  bool is_element = kernel->form.space.kind == FUSION_LOOP && kernel->loops.nest.rank == rank + 1 &&
                    rest->count == 1 && !rest->constant && jit_expr_factor(rest, rank) == 1;
  return is_element ? JIT_DEPENDS_ON_ELEMENT : JIT_DEPENDS_ON_ROWS;
}

/* Are the kernel's units neither rows nor blocks of columns of the grid? */
static bool has_other_units(const jit_kernel_t *kernel, int rank) {
  const op_native_grid_t *grid = &kernel->schedule.producer_grid;
  bool is_loop = kernel->form.space.kind == FUSION_LOOP;
  if (rank < 0 || kernel->schedule.phase_count != 1 || kernel->loops.has_tiles ||
      (!is_loop && !kernel->has_rows))
    return true;
  if (!is_loop) return grid->unit || kernel->schedule.phases[0].units != grid->rows;
  if (kernel->loops.narrow_row || kernel->loops.unrolled || rank == kernel->loops.nest.rank)
    return true;
  return grid->unit &&
         (kernel->loops.nest.rank != rank + 1 || kernel->loops.nest.sizes[rank] != grid->columns);
}

hr_status_t jit_kernel_find_dependence(jit_kernel_t *kernel) {
  const jit_graph_t *graph = kernel->graph;
  int rank = jit_nest_split_at(&kernel->loops.nest, kernel->schedule.producer_grid.rows);
  if (has_other_units(kernel, rank)) return hr_error(HR_UNSUPPORTED, "no parts of a grid");
  HR_TRY(HR_NEW_ARRAY(&kernel->arena, graph->buffer_count + 1, &kernel->arrays.dependence));
  for (int k = 0; k < graph->buffer_count; k++)
    kernel->arrays.dependence[k] = JIT_DEPENDS_ON_ELEMENT;
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made) {
    jit_dependence_t reach =
        node->kind == JIT_LOAD ? reach_of(kernel, node, rank) : JIT_DEPENDS_ON_ELEMENT;
    if (node->kind == JIT_LOAD && reach < kernel->arrays.dependence[node->number])
      kernel->arrays.dependence[node->number] = reach;
  }
  return NULL;
}
