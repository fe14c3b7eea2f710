/* Plan of kernel_loop.c: the nest (loop_nest.c), then the vector shape of the innermost loop, then
 * units.
 *
 * A unit fixes the values of the outermost variables and, if these are too few for many workers, a
 * block of values of the innermost. A short last loop is fully unrolled inside the lanes of the
 * loop around it. Results that exceed all caches, or leave them before they are read (jit_place_t),
 * are written by nontemporal stores, and loads by short lines that lie far apart are prefetched,
 * since hardware prefetchers do not follow them. */
#include "jit/graph/jit_kernel.h"

#include "base/arith.h"

#define NODES_MAX 6000
#define EXPANDED_NODES_MAX 480 /* most nodes of a graph with expanded reductions */
#define LANES_MIN 4
#define SCALAR_LOADS_MAX 512 /* most scalar loads per iteration */
#define UNITS_TARGET 64
#define BLOCK_MAX 65536
/* Ops per load above which a loop is compute-bound: about the shuffles of a vector whose lanes
 * lie apart. */
#define COMPUTING_OPS 2
#define FORMULA_OPS 1       /* ops per choice of a formula above which the choice costs less */
#define UNROLLED_NODES 800  /* most nodes of all copies of an unrolled last loop */
#define PREFETCH_BYTES 2048 /* prefetch distance in bytes */
/* Most bytes of a short line, which hardware prefetchers do not follow. */
#define LINE_BYTES_MAX 4096
/* Bytes around a prefetched load within which other loads need no prefetch. */
#define PREFETCH_COVER_BYTES 1024

/* Builds the values of a narrow row, which is unrolled: one result, or each element. */
static void build_narrow_row(jit_kernel_t *kernel, jit_root_t *root, const jit_expr_t *outer) {
  jit_graph_t *graph = kernel->graph;
  int64_t count = kernel->loops.narrow_row;
  root->is_full = fusion_count(hlo_shape_leaf(root->instr->shape, root->number)) !=
                  kernel->form.space.outer_count;
  if (!root->is_full) {
    jit_root_build(graph, root, outer);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    jit_index_t at = {jit_expr_affine(&graph->exprs, outer, count, i), NULL};
    root->row[i] = jit_graph_at(graph, root->instr, root->number, at, NULL);
  }
  root->value = root->row[0];
  root->index = jit_expr_affine(&graph->exprs, outer, count, 0);
}

static hr_status_t build_graph(jit_kernel_t *kernel) {
  HR_TRY(HR_NEW(&kernel->arena, &kernel->graph));
  int most = kernel->loops.narrow_row ? EXPANDED_NODES_MAX : NODES_MAX;
  HR_TRY(jit_graph_init(kernel->graph, &kernel->arena, kernel->body, most));
  kernel->graph->writes_sums_out = kernel->loops.narrow_row > 0;
  const jit_expr_t *index = jit_nest_index(kernel->graph, &kernel->loops.nest);
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->loops.narrow_row)
      build_narrow_row(kernel, &kernel->roots[r], index);
    else
      jit_root_build(kernel->graph, &kernel->roots[r], index);
  jit_graph_move_bits(kernel);
  return jit_graph_take_failure(kernel->graph);
}

static hr_status_t rebuild_in_order(jit_kernel_t *kernel) {
  jit_nest_order(&kernel->loops.nest);
  return build_graph(kernel);
}

/* Is the last loop so short, within a loop of at least a vector, that it may be unrolled? */
static bool can_unroll_last(const jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int last = nest->rank - 1;
  return !kernel->loops.narrow_row && last >= 1 && nest->sizes[last] <= JIT_MAX_SHORT &&
         nest->sizes[last - 1] >= kernel->loops.lanes &&
         kernel->graph->node_count * nest->sizes[last] <= UNROLLED_NODES;
}

/* Are the elements of a short last loop computed by different formulas, as those of a stack of the
 * results? Lanes of merged loops would compute all of them. */
static bool has_formulas_by_element(const jit_kernel_t *kernel) {
  int last = kernel->loops.nest.rank - 1, ops = 0, choices = 0;
  if (!can_unroll_last(kernel)) return false;
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    choices += node->kind == JIT_RANGE && node->expr->vars == 1u << last;
    ops += node->kind == JIT_OP && node->op != HLO_SELECT;
  }
  return choices > 0 && ops > FORMULA_OPS * choices;
}

/* Merges innermost loops that are shorter than a vector, if all loads still fit whole vectors. */
static hr_status_t merge_short_loops(jit_kernel_t *kernel) {
  jit_nest_t *nest = &kernel->loops.nest, before = *nest;
  if (has_formulas_by_element(kernel)) return NULL;
  while (nest->rank > 1 && nest->sizes[nest->rank - 1] < kernel->loops.lanes &&
         !nest->unmerged_prefix) {
    nest->sizes[nest->rank - 2] *= nest->sizes[nest->rank - 1];
    nest->rank--;
  }
  if (nest->rank == before.rank) return NULL;
  HR_TRY(rebuild_in_order(kernel));
  if (jit_inner_fits(kernel)) return NULL;
  *nest = before;
  return rebuild_in_order(kernel);
}

/* Updates may read elements just before they overwrite them, so each is computed once. */
static bool has_updates(const jit_kernel_t *kernel) {
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->roots[r].instr->op == HLO_DYNAMIC_UPDATE_SLICE) return true;
  return false;
}

/* Splits variables until all indices are affine where possible, then merges neighbouring
 * variables. */
static hr_status_t choose_nest(jit_kernel_t *kernel) {
  HR_TRY(rebuild_in_order(kernel));
  while (jit_nest_split(&kernel->loops.nest, 0, kernel->graph)) HR_TRY(rebuild_in_order(kernel));
  while (jit_nest_merge(&kernel->loops.nest, 0, kernel->graph, kernel->roots, kernel->root_count))
    HR_TRY(rebuild_in_order(kernel));
  if (!jit_kernel_supports(kernel)) return hr_error(HR_UNSUPPORTED, "an op without code");
  kernel->loops.lanes = jit_kernel_lanes(kernel);
  HR_TRY(merge_short_loops(kernel));
  bool may_overlap = !has_updates(kernel) && !kernel->schedule.producer_grid.rows;
  kernel->loops.has_tiles =
      jit_nest_tile(&kernel->loops.nest, kernel->graph, kernel->loops.lanes, may_overlap);
  return kernel->loops.has_tiles ? build_graph(kernel) : NULL;
}

/* Does the graph have so many ops that idle lanes cost more than disjoint loads? */
static bool is_compute_bound(const jit_graph_t *graph) {
  int ops = 0, loads = 0;
  for (const jit_node_t *node = graph->first_made; node; node = node->next_made) {
    ops += node->kind == JIT_OP;
    loads += node->kind == JIT_LOAD;
  }
  return ops > COMPUTING_OPS * loads;
}

/* Unrolls a last loop of few elements, whose lanes would be disjoint or mostly idle. The next outer
 * loop gets the lanes; each unrolled element simplifies its concatenations and transpositions. */
static void choose_unrolled(jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  if (kernel->loops.has_tiles || !can_unroll_last(kernel)) return;
  if (jit_inner_fits(kernel) && !is_compute_bound(kernel->graph) &&
      !has_formulas_by_element(kernel))
    return;
  kernel->loops.unrolled = (int)nest->sizes[nest->rank - 1];
}

/* Halves the vector width while lines are shorter than half a vector. With masked stores into wider
 * vectors, an in-place load of the next line could not forward from the store and would wait for
 * the cache. */
static void choose_narrow(jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  if (kernel->loops.narrow_row || kernel->loops.unrolled || kernel->loops.has_tiles) return;
  while (nest->rank > 1 && kernel->loops.lanes > LANES_MIN &&
         2 * nest->sizes[nest->rank - 1] <= kernel->loops.lanes)
    kernel->loops.lanes /= 2;
}

static void choose_interleaved(jit_kernel_t *kernel) {
  jit_loops_t *loops = &kernel->loops;
  if (loops->narrow_row || loops->unrolled || loops->has_tiles || !loops->nest.rank) return;
  int64_t size = loops->nest.sizes[loops->nest.rank - 1];
  loops->lanes = jit_kernel_interleaved_lanes(kernel, loops->lanes, size);
}

static hr_status_t find_lanes(jit_kernel_t *kernel) {
  kernel->loops.vectors = jit_inner_vectors(kernel);
  if (kernel->loops.lanes == 1 || kernel->loops.has_tiles) return NULL;
  return jit_bands_find(kernel->graph, jit_lane_loop(kernel), kernel->loops.lanes);
}

/* Narrows the lanes while there are too many scalar loads. Each such lane takes an instruction and
 * possibly a branch, so code grows with nodes times lanes, and vectors gain little there. */
static hr_status_t choose_lanes(jit_kernel_t *kernel) {
  HR_TRY(find_lanes(kernel));
  while (kernel->loops.lanes > 1 && !kernel->loops.has_tiles &&
         jit_inner_reads_disjoint(kernel) > SCALAR_LOADS_MAX) {
    kernel->loops.lanes = kernel->loops.lanes > LANES_MIN ? kernel->loops.lanes / 2 : 1;
    if (kernel->loops.lanes == 1) kernel->loops.unrolled = 0;
    HR_TRY(find_lanes(kernel));
  }
  return NULL;
}

/* Units are rows of the grid, or blocks of its columns. jit_kernel_find_dependence rejects nests
 * that the grid does not fit. */
static void choose_grid(jit_kernel_t *kernel) {
  const op_native_grid_t *grid = &kernel->schedule.producer_grid;
  int rank = jit_nest_split_at(&kernel->loops.nest, grid->rows);
  kernel->loops.unit_rank = rank < 0 ? 0 : rank;
  kernel->loops.block = grid->unit < grid->columns ? grid->unit : 0;
  kernel->schedule.phases[0].units =
      grid->rows * (kernel->loops.block ? (grid->columns + grid->unit - 1) / grid->unit : 1);
}

/* Units are not parts of a square, which would be transposed again for each of them. An overlapping
 * tile is a unit. Blocks begin
 * at multiples of an iteration, so that lane offsets are known. */
static void choose_units(jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int most = jit_lane_loop(kernel) - (kernel->loops.has_tiles ? 1 : 0);
  int64_t units = 1, inner = nest->rank ? nest->sizes[jit_lane_loop(kernel)] : 1;
  while (kernel->loops.unit_rank < most && (units < UNITS_TARGET || nest->tile_step))
    units *= jit_nest_trip_count(nest, kernel->loops.unit_rank++);
  bool is_enough = kernel->loops.unit_rank < jit_lane_loop(kernel) || units >= UNITS_TARGET;
  int64_t blocks = is_enough ? 1 : UNITS_TARGET / units;
  int64_t least = 16 * kernel->loops.lanes * kernel->loops.vectors;
  kernel->loops.block = hr_round_up(hr_div_ceil(inner, blocks), least);
  if (kernel->loops.block > BLOCK_MAX) kernel->loops.block = BLOCK_MAX / least * least;
  if (blocks == 1 || kernel->loops.block >= inner) kernel->loops.block = 0;
  if (kernel->loops.block) units *= (inner + kernel->loops.block - 1) / kernel->loops.block;
  kernel->schedule.phases[0].units = units;
}

/* Is every stored vector aligned? Blocks of a single loop are multiples of vectors. */
static bool is_aligned(const jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int last = nest->rank - 1;
  for (int v = 0; v < last; v++)
    if (nest->strides[v] % kernel->loops.lanes) return false;
  return last == 0 || (last > 0 && nest->sizes[last] % kernel->loops.lanes == 0);
}

/* Results that are not read soon bypass the caches. */
static void find_nontemporal_roots(jit_kernel_t *kernel) {
  int64_t count = jit_nest_count(&kernel->loops.nest);
  bool whole = is_aligned(kernel) && !kernel->loops.unrolled;
  int64_t least = jit_stream_bytes(kernel);
  for (int r = 0; r < kernel->root_count; r++) {
    jit_root_t *root = &kernel->roots[r];
    int64_t bytes = (int64_t)hr_dtype_bytes(root->dtype) * kernel->loops.lanes;
    root->streams = whole && !kernel->schedule.producer_grid.rows && bytes >= 16 &&
                    count * (int64_t)hr_dtype_bytes(root->dtype) >= least &&
                    root->instr->op != HLO_DYNAMIC_UPDATE_SLICE && !root->is_full;
  }
}

/* Nest of the dimensions that are not reduced. */
static void outer_nest(const fusion_space_t *space, jit_nest_t *nest) {
  nest->rank = 0;
  for (int d = 0; d < space->rank; d++)
    if (!(space->reduced >> d & 1)) nest->sizes[nest->rank++] = space->sizes[d];
}

/* Is the node a load from a large array by short lines that lie apart, which hardware prefetchers
 * do not follow? */
static bool is_short_line_load(const jit_kernel_t *kernel, const jit_node_t *node, int var) {
  const jit_graph_t *graph = kernel->graph;
  int64_t size = kernel->loops.nest.sizes[var], bytes = (int64_t)hr_dtype_bytes(node->dtype);
  if (node->kind != JIT_LOAD || size * bytes > LINE_BYTES_MAX) return false;
  if (jit_expr_factor(node->expr, var) != 1 ||
      jit_expr_is_nonaffine(&graph->exprs, node->expr, var))
    return false;
  return jit_expr_factor(node->expr, var - 1) > size && jit_kernel_is_from_memory(kernel, node);
}

/* Is the load close to another load that is prefetched? */
static bool is_covered_by_prefetch(jit_graph_t *graph, const jit_node_t *node) {
  int64_t reach = PREFETCH_COVER_BYTES / (int64_t)hr_dtype_bytes(node->dtype);
  for (const jit_node_t *other = graph->first_made; other != node; other = other->next_made) {
    int64_t apart = other->prefetch.distance ? node->expr->constant - other->expr->constant : 0;
    if (!other->prefetch.distance || other->number != node->number || apart > reach ||
        apart < -reach)
      continue;
    if (jit_expr_affine(&graph->exprs, other->expr, 1, apart) == node->expr) return true;
  }
  return false;
}

/* Prefetches loads by short lines, which end before the hardware prefetcher has detected them. */
static void find_prefetches(jit_kernel_t *kernel) {
  int var = jit_lane_loop(kernel);
  if (var < 1 || kernel->loops.has_tiles || kernel->loops.lanes == 1) return;
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    if (is_short_line_load(kernel, node, var) && !is_covered_by_prefetch(kernel->graph, node))
      node->prefetch.distance = PREFETCH_BYTES;
}

/* Nest, unrolled and narrow forms, lanes, units, parts, costs: each step depends on the previous
 * ones. */
hr_status_t jit_loop_plan(jit_kernel_t *kernel) {
  if (kernel->loops.narrow_row)
    outer_nest(&kernel->form.space, &kernel->loops.nest);
  else
    jit_nest_of(fusion_root_shape(kernel->roots[0].instr), &kernel->loops.nest);
  int64_t count = jit_nest_count(&kernel->loops.nest);
  if (!count) return hr_error(HR_UNSUPPORTED, "no elements");
  HR_TRY(choose_nest(kernel));
  if (!kernel->loops.nest.rank) kernel->loops.lanes = 1;
  choose_unrolled(kernel);
  choose_narrow(kernel);
  if (kernel->loops.nest.rank && kernel->loops.nest.sizes[jit_lane_loop(kernel)] < 3)
    kernel->loops.lanes = 1;
  choose_interleaved(kernel);
  HR_TRY(choose_lanes(kernel));
  kernel->schedule.phase_count = 1;
  kernel->state.node_work = kernel->graph->node_count;
  if (kernel->schedule.producer_grid.rows)
    choose_grid(kernel);
  else
    choose_units(kernel);
  jit_outer_parts(kernel);
  kernel->schedule.phases[0].unit_ns = jit_kernel_ns(kernel, kernel->graph, (double)count) /
                                       (double)kernel->schedule.phases[0].units;
  find_nontemporal_roots(kernel);
  find_prefetches(kernel);
  return kernel->loops.nest.tile_step ? NULL : jit_kernel_find_reuse(kernel);
}
