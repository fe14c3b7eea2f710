/* Choice of the loop nest: the fewest loops for which quotients and remainders disappear from the
 * indices.
 *
 * The nest starts with the dimensions of the roots' shape. A variable is split where an index
 * contains its quotient or remainder by a constant that divides its size (reshape between different
 * ranks does that); the graph is then built again over the new nest. Afterwards neighbouring
 * variables are merged wherever every index depends on them as on one variable of the product of
 * their sizes. A pair of loops along which some load is transposed becomes a pair of loops over
 * square tiles. */
#include "base/arith.h"
#include "jit/graph/jit_kernel.h"

#define OVERLAP_MAX 2 /* most elements that tiles compute, per element of the result */

void jit_nest_of(const hlo_shape_t *shape, jit_nest_t *out_nest) {
  out_nest->rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] == 1) continue;
    if (out_nest->rank == JIT_MAX_LOOPS / 2)
      out_nest->sizes[out_nest->rank - 1] *= shape->dims[d];
    else
      out_nest->sizes[out_nest->rank++] = shape->dims[d];
  }
}

static bool is_tile_start(const jit_nest_t *nest, int var) {
  return nest->tile_step && (var == nest->rank - 4 || var == nest->rank - 3);
}

int64_t jit_nest_trip_count(const jit_nest_t *nest, int var) {
  if (!is_tile_start(nest, var)) return nest->sizes[var];
  return hr_div_ceil(nest->sizes[var] - 1, nest->tile_step) + 1;
}

int64_t jit_nest_step(const jit_nest_t *nest, int var) {
  return is_tile_start(nest, var) ? nest->tile_step : 1;
}

int64_t jit_nest_count(const jit_nest_t *nest) {
  int64_t count = 1;
  for (int v = 0; v < nest->rank; v++) count *= jit_nest_trip_count(nest, v);
  return count;
}

int jit_nest_split_at(const jit_nest_t *nest, int64_t count) {
  int64_t product = 1;
  for (int v = 0; v < nest->rank && product < count; v++)
    if ((product *= nest->sizes[v]) == count) return v + 1;
  return -1;
}

void jit_nest_order(jit_nest_t *nest) {
  int64_t stride = 1;
  for (int v = nest->rank; v-- > 0; stride *= nest->sizes[v]) nest->strides[v] = stride;
}

const jit_expr_t *jit_nest_index(jit_graph_t *graph, const jit_nest_t *nest) {
  jit_exprs_t *exprs = &graph->exprs;
  const jit_expr_t *variables[JIT_MAX_LOOPS], *index = jit_expr_constant(exprs, 0);
  for (int v = 0; v < nest->rank; v++) variables[v] = jit_expr_loop(exprs, 0, nest->sizes[v] - 1);
  for (int v = 0; v < nest->rank; v++)
    index = jit_expr_add(exprs, index, jit_expr_scale(exprs, variables[v], nest->strides[v]));
  return index;
}

/* Does some index that the graph uses depend on the variable by a quotient or remainder? */
static bool is_any_nonaffine(const jit_graph_t *graph, int var) {
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (node->expr && jit_expr_is_nonaffine(&graph->exprs, node->expr, var)) return true;
  return false;
}

bool jit_nest_split(jit_nest_t *nest, int first, const jit_graph_t *graph) {
  int var = graph->exprs.split_var, at = var - first;
  if (at < 0 || at >= nest->rank || nest->rank >= JIT_MAX_LOOPS / 2 ||
      !is_any_nonaffine(graph, var))
    return false;
  for (int v = nest->rank; v > at; v--) {
    nest->sizes[v] = nest->sizes[v - 1];
    nest->dims[v] = nest->dims[v - 1];
  }
  nest->sizes[at + 1] = graph->exprs.split_size;
  nest->sizes[at] /= graph->exprs.split_size;
  nest->rank++;
  return true;
}

static bool indexes_as_one(const jit_exprs_t *exprs, const jit_expr_t *expr, int outer,
                           int64_t inner_size) {
  return !jit_expr_is_nonaffine(exprs, expr, outer) &&
         !jit_expr_is_nonaffine(exprs, expr, outer + 1) &&
         jit_expr_factor(expr, outer) == jit_expr_factor(expr, outer + 1) * inner_size;
}

static bool can_merge(const jit_graph_t *graph, const jit_root_t *roots, int root_count, int outer,
                      int64_t inner) {
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (node->expr && !indexes_as_one(&graph->exprs, node->expr, outer, inner)) return false;
  for (int r = 0; r < root_count; r++)
    if (!indexes_as_one(&graph->exprs, roots[r].index, outer, inner)) return false;
  return true;
}

bool jit_nest_merge(jit_nest_t *nest, int first, const jit_graph_t *graph, const jit_root_t *roots,
                    int root_count) {
  bool merged = false;
  for (int v = nest->rank - 2; v >= 0; v--) {
    if (nest->unmerged_prefix && jit_nest_split_at(nest, nest->unmerged_prefix) == v + 1) continue;
    if (!can_merge(graph, roots, root_count, first + v, nest->sizes[v + 1])) continue;
    /* Later variables are renumbered, so one is merged at a time. */
    nest->sizes[v] *= nest->sizes[v + 1];
    for (int w = v + 1; w + 1 < nest->rank; w++) nest->sizes[w] = nest->sizes[w + 1];
    nest->rank--;
    merged = true;
    break;
  }
  return merged;
}

/* --- tiles ------------------------------------------------------------------------------------ */

bool jit_is_transposed(const jit_exprs_t *exprs, const jit_node_t *node, int along, int across) {
  if (node->kind != JIT_LOAD || hr_dtype_bytes(node->dtype) > 8) return false;
  return !node->guard && !jit_expr_is_nonaffine(exprs, node->expr, across) &&
         !jit_expr_is_nonaffine(exprs, node->expr, along) &&
         jit_expr_factor(node->expr, across) > 1 && jit_expr_factor(node->expr, along) == 1;
}

/* The loop along which some load is contiguous while it is strided in the innermost loop; -1:
 * none. */
static int strided_loop(const jit_nest_t *nest, const jit_graph_t *graph) {
  int inner = nest->rank - 1;
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made)
    for (int v = 0; v < inner; v++)
      if (jit_is_transposed(&graph->exprs, node, v, inner)) return v;
  return -1;
}

static void set_loop(jit_nest_t *nest, int64_t size, int64_t stride) {
  nest->sizes[nest->rank] = size;
  nest->strides[nest->rank++] = stride;
}

/* Do overlapping tiles compute few elements twice? */
static bool is_worth_overlap(int64_t rows, int64_t columns, int lanes) {
  int64_t computed = hr_div_ceil(rows, lanes) * lanes * hr_div_ceil(columns, lanes) * lanes;
  return rows >= lanes && columns >= lanes && computed <= OVERLAP_MAX * rows * columns;
}

/* Loops over tiles that need not divide the sizes. */
static void set_overlapping_tiles(jit_nest_t *nest, const jit_nest_t *old, int outer, int lanes) {
  int inner = old->rank - 1;
  set_loop(nest, old->sizes[outer] - lanes + 1, old->strides[outer]);
  set_loop(nest, old->sizes[inner] - lanes + 1, old->strides[inner]);
  set_loop(nest, lanes, old->strides[outer]);
  set_loop(nest, lanes, old->strides[inner]);
  nest->tile_step = lanes;
}

/* Puts several tiles side by side, so that more than one cache line of a row is read. */
bool jit_nest_tile(jit_nest_t *nest, const jit_graph_t *graph, int lanes, bool may_overlap) {
  jit_nest_t old = *nest;
  int inner = nest->rank - 1, outer = inner > 0 && lanes >= 4 ? strided_loop(nest, graph) : -1;
  if (outer < 0 || nest->rank + 3 > JIT_MAX_LOOPS / 2) return false;
  int64_t rows = old.sizes[outer], columns = old.sizes[inner];
  bool divides = rows % lanes == 0 && columns % lanes == 0;
  if (!divides && !(may_overlap && is_worth_overlap(rows, columns, lanes))) return false;
  int64_t group = 1;
  if (rows % (2 * lanes) == 0) group = 2;
  if (rows % (4 * lanes) == 0) group = 4;
  nest->rank = 0;
  for (int v = 0; v < inner; v++)
    if (v != outer) set_loop(nest, old.sizes[v], old.strides[v]);
  if (!divides) {
    set_overlapping_tiles(nest, &old, outer, lanes);
    return true;
  }
  set_loop(nest, rows / (lanes * group), old.strides[outer] * lanes * group);
  set_loop(nest, columns / lanes, old.strides[inner] * lanes);
  set_loop(nest, group, old.strides[outer] * lanes);
  set_loop(nest, lanes, old.strides[outer]);
  set_loop(nest, lanes, old.strides[inner]);
  return true;
}
