/* kLoop: one loop nest over the elements of the roots.
 *
 * Planning chooses the nest (loop_nest.c), then the vector shape of the innermost loop, then units:
 *
 *     for unit {                        outermost variables v0, v1 = unit / ..., unit % ...
 *       for v2 {                        remaining loops
 *         for v3 by lanes * vectors {   innermost: whole vectors, then a masked remainder
 *           roots
 *         } } }
 *
 * A unit fixes the values of the outermost variables and, if these are too few for many workers, a
 * block of values of the innermost. A short last loop is fully unrolled inside the lanes of the
 * loop around it. Results that exceed all caches, or leave them before they are read (jit_place_t),
 * are written by nontemporal stores, and loads by short lines that lie far apart are prefetched,
 * since hardware prefetchers do not follow them.
 *
 * Writing emits the nest outermost first. Loops whose conditions change at few values are peeled
 * into intervals (loops.parts, loops.inner), each with code in which the condition is constant. */
#include "jit/graph/jit_kernel.h"

#define NODES_SMALL 64 /* most nodes of all vectors of a small iteration */
#define NODES_MAX 6000
#define EXPANDED_NODES_MAX 480 /* most nodes of a graph with expanded reductions */
#define LANES_MIN 4
#define SCALAR_LOADS_MAX 512 /* most scalar loads per iteration */
#define UNITS_TARGET 64
#define BLOCK_MAX 65536
/* Ops per load above which a loop is compute-bound: about the shuffles of a vector whose lanes
 * lie apart. */
#define COMPUTING_OPS 2
#define UNROLLED_NODES 800  /* most nodes of all copies of an unrolled last loop */
#define PREFETCH_BYTES 2048 /* prefetch distance in bytes */
/* Most bytes of a short line, which hardware prefetchers do not follow. */
#define LINE_BYTES_MAX 4096
/* Bytes around a prefetched load within which other loads need no prefetch. */
#define PREFETCH_COVER_BYTES 1024

/* --- planning --------------------------------------------------------------------------------- */

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

/* Merges innermost loops that are shorter than a vector, if all loads still fit whole vectors. */
static hr_status_t merge_short_loops(jit_kernel_t *kernel) {
  jit_nest_t *nest = &kernel->loops.nest, before = *nest;
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
  kernel->loops.has_tiles = jit_nest_tile(&kernel->loops.nest, kernel->graph, kernel->loops.lanes);
  return kernel->loops.has_tiles ? build_graph(kernel) : NULL;
}

/* Number of the variable that runs over lanes. */
static int lane_loop(const jit_kernel_t *kernel) {
  return kernel->loops.nest.rank - (kernel->loops.unrolled ? 2 : 1);
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
  int last = nest->rank - 1;
  if (kernel->loops.narrow_row || last < 1 || kernel->loops.has_tiles) return;
  if (nest->sizes[last] > JIT_MAX_SHORT || nest->sizes[last - 1] < kernel->loops.lanes) return;
  if (kernel->graph->node_count * nest->sizes[last] > UNROLLED_NODES) return;
  if (jit_inner_fits(kernel) && !is_compute_bound(kernel->graph)) return;
  kernel->loops.unrolled = (int)nest->sizes[last];
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
  return jit_bands_find(kernel->graph, lane_loop(kernel), kernel->loops.lanes);
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

/* Units are not parts of a square, which would be transposed again for each of them. Blocks begin
 * at multiples of an iteration, so that lane offsets are known. */
static void choose_units(jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int most = lane_loop(kernel) - (kernel->loops.has_tiles ? 1 : 0);
  int64_t units = 1, inner = nest->rank ? nest->sizes[lane_loop(kernel)] : 1;
  while (kernel->loops.unit_rank < most && units < UNITS_TARGET)
    units *= nest->sizes[kernel->loops.unit_rank++];
  bool is_enough = kernel->loops.unit_rank < lane_loop(kernel) || units >= UNITS_TARGET;
  int64_t blocks = is_enough ? 1 : UNITS_TARGET / units;
  int64_t least = 16 * kernel->loops.lanes * kernel->loops.vectors;
  kernel->loops.block = (inner + blocks - 1) / blocks;
  kernel->loops.block = (kernel->loops.block + least - 1) / least * least;
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
  int var = lane_loop(kernel);
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
  if (kernel->loops.nest.rank && kernel->loops.nest.sizes[lane_loop(kernel)] < 3)
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
  return jit_kernel_find_reuse(kernel);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Stores all elements of a row, for each lane's row. */
static void emit_narrow_row(jit_emit_t *emit, const jit_kernel_t *kernel, int r) {
  const jit_root_t *root = &kernel->roots[r];
  int count = (int)kernel->loops.narrow_row;
  bool is_line = emit->lane.count > 1 && !emit->lane.mask &&
                 jit_expr_factor(root->index, kernel->loops.nest.rank - 1) == count;
  kir_value_t *values[JIT_NARROW_ROW];
  for (int i = 0; i < count; i++) values[i] = jit_emit_lanes(emit, root->row[i]);
  if (is_line)
    jit_emit_interleaved(emit, jit_emit_out(emit, r), root->dtype, root->index, count, values);
  for (int i = 0; i < count && !is_line; i++)
    jit_emit_root(emit, r, root->dtype, jit_expr_affine(&kernel->graph->exprs, root->index, 1, i),
                  values[i], false);
}

/* All values are computed before any is stored: roots may overwrite their operands. */
static void emit_roots(jit_emit_t *emit, void *context, int copy) {
  (void)copy;
  jit_kernel_t *kernel = context;
  kir_value_t *values[kernel->root_count];
  for (int r = 0; r < kernel->root_count; r++)
    values[r] = jit_emit_in_lanes(emit, kernel->roots[r].index->vars)
                    ? jit_emit_lanes(emit, kernel->roots[r].value)
                    : jit_emit_node(emit, kernel->roots[r].value);
  for (int r = 0; r < kernel->root_count; r++) {
    const jit_root_t *root = &kernel->roots[r];
    if (root->is_full)
      emit_narrow_row(emit, kernel, r);
    else
      jit_emit_root(emit, r, root->dtype, root->index, values[r], root->streams);
  }
}

static bool is_interleaved(const jit_emit_t *emit, const jit_kernel_t *kernel,
                           const jit_root_t *root) {
  int var = lane_loop(kernel);
  bool is_line = jit_expr_factor(root->index, var) == kernel->loops.unrolled &&
                 jit_expr_factor(root->index, var + 1) == 1;
  return is_line && emit->lane.count > 1 && !emit->lane.mask &&
         !jit_expr_is_nonaffine(&kernel->graph->exprs, root->index, var);
}

static void emit_unrolled_roots(jit_emit_t *emit, void *context, int copy) {
  jit_kernel_t *kernel = context;
  int var = lane_loop(kernel) + 1;
  kir_value_t *values[kernel->root_count][JIT_MAX_SHORT];
  (void)copy;
  for (int k = 0; k < kernel->loops.unrolled; k++) {
    jit_level_enter(emit, var, jit_emit_i64(emit, k));
    for (int r = 0; r < kernel->root_count; r++)
      values[r][k] = jit_emit_lanes(emit, kernel->roots[r].value);
    jit_level_leave(emit);
  }
  for (int k = 0; k < kernel->loops.unrolled; k++) {
    jit_level_enter(emit, var, jit_emit_i64(emit, k));
    for (int r = 0; r < kernel->root_count; r++) {
      const jit_root_t *root = &kernel->roots[r];
      bool is_line = is_interleaved(emit, kernel, root);
      if (!is_line) jit_emit_root(emit, r, root->dtype, root->index, values[r][k], false);
      if (is_line && k == 0)
        jit_emit_interleaved(emit, jit_emit_out(emit, r), root->dtype, root->index,
                             kernel->loops.unrolled, values[r]);
    }
    jit_level_leave(emit);
  }
}

/* Emits the part of an interval of the innermost loop that lies in the block [from, to). */
static void emit_interval_of_block(jit_emit_t *emit, jit_lanes_t *how, kir_value_t *from,
                                   kir_value_t *to) {
  kir_builder_t *b = emit->code->builder;
  kir_type_t *i64 = kir_type_of(to);
  jit_if_t taken;
  jit_emit_at(emit, emit->level);
  kir_value_t *first[] = {from, jit_emit_i64(emit, how->from)},
              *last[] = {to, jit_emit_i64(emit, how->to)};
  from = jit_intrinsic(emit->code, KIR_SMAX, i64, first, 2);
  to = jit_intrinsic(emit->code, KIR_SMIN, i64, last, 2);
  how->count = -1;
  jit_if_begin(emit, kir_icmp(b, KIR_ICMP_SLT, from, to), &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  jit_loop_lanes(emit, how, from, to);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
}

static void emit_block(jit_emit_t *emit, jit_kernel_t *kernel, const jit_parts_t *inner,
                       jit_lanes_t *how, kir_value_t *block) {
  kir_builder_t *b = emit->code->builder;
  int64_t size = kernel->loops.nest.sizes[how->var];
  jit_emit_at(emit, emit->level);
  kir_value_t *from = kir_mul(b, block, jit_emit_i64(emit, kernel->loops.block));
  kir_value_t *end = kir_add(b, from, jit_emit_i64(emit, kernel->loops.block)),
              *all = jit_emit_i64(emit, size);
  kir_value_t *to =
      jit_intrinsic(emit->code, KIR_SMIN, kir_type_of(end), (kir_value_t *[]){end, all}, 2);
  how->count = size % kernel->loops.block ? -1 : kernel->loops.block;
  for (int p = 0; p < inner->count; p++) {
    how->from = inner->from[p];
    how->to = inner->to[p];
    how->is_whole = p + 1 < inner->count;
    if (inner->count == 1)
      jit_loop_lanes(emit, how, from, to);
    else
      emit_interval_of_block(emit, how, from, to);
  }
}

/* Are there so few scalar elements from this loop on that they are fully unrolled? */
static bool needs_no_loop(const jit_kernel_t *kernel, int var) {
  const jit_nest_t *nest = &kernel->loops.nest;
  int64_t count = 1;
  if (kernel->loops.lanes > 1 || kernel->loops.block || kernel->loops.parts.count) return false;
  for (int d = var; d < nest->rank && count <= NODES_SMALL; d++) count *= nest->sizes[d];
  return count * kernel->graph->node_count <= NODES_SMALL;
}

/* Emits the innermost loop, over all its values or over a block. */
static void emit_innermost(jit_emit_t *emit, jit_kernel_t *kernel, kir_value_t *block) {
  jit_lanes_t how = {.var = lane_loop(kernel),
                     .lanes = kernel->loops.lanes,
                     .unroll = kernel->loops.vectors,
                     .body = kernel->loops.unrolled ? emit_unrolled_roots : emit_roots,
                     .context = kernel,
                     .is_phased = true,
                     .is_few = needs_no_loop(kernel, lane_loop(kernel)),
                     .is_small = kernel->graph->node_count * kernel->loops.vectors <= NODES_SMALL};
  const jit_parts_t *inner = &kernel->loops.inner;
  if (block) {
    emit_block(emit, kernel, inner, &how, block);
    return;
  }
  for (int p = 0; p < inner->count; p++) {
    how.from = inner->from[p];
    how.to = inner->to[p];
    how.count = how.to - how.from;
    jit_loop_lanes(emit, &how, jit_emit_i64(emit, how.from), jit_emit_i64(emit, how.to));
  }
}

static void emit_loops_from(jit_emit_t *emit, jit_kernel_t *kernel, int var,
                            kir_value_t *const *fixed, kir_value_t *block);

/* Emits each part of the peeled loop as code of its own, under a test of the variable. */
static void emit_peeled(jit_emit_t *emit, jit_kernel_t *kernel, kir_value_t *const *fixed,
                        kir_value_t *block) {
  kir_builder_t *b = emit->code->builder;
  int var = kernel->loops.part_var;
  for (int p = 0; p < kernel->loops.parts.count; p++) {
    jit_if_t taken;
    jit_emit_at(emit, emit->level);
    kir_value_t *value = emit->variables[var],
                *from = jit_emit_i64(emit, kernel->loops.parts.from[p]);
    kir_value_t *above = kir_icmp(b, KIR_ICMP_SGE, value, from);
    kir_value_t *below =
        kir_icmp(b, KIR_ICMP_SLT, value, jit_emit_i64(emit, kernel->loops.parts.to[p]));
    jit_if_begin(emit, kir_and(b, above, below), &taken);
    emit->levels[emit->level].epoch = ++emit->last_epoch;
    emit->part.var = var;
    emit->part.from = kernel->loops.parts.from[p];
    emit->part.to = kernel->loops.parts.to[p];
    emit_loops_from(emit, kernel, var + 1, fixed, block);
    emit->part.from = 0;
    emit->part.to = 0;
    jit_if_end(emit, &taken);
    emit->levels[emit->level].epoch = ++emit->last_epoch;
  }
}

static void emit_loop_body(jit_emit_t *emit, jit_kernel_t *kernel, int var,
                           kir_value_t *const *fixed, kir_value_t *block) {
  if (kernel->loops.parts.count && var == kernel->loops.part_var)
    emit_peeled(emit, kernel, fixed, block);
  else
    emit_loops_from(emit, kernel, var + 1, fixed, block);
}

static void emit_each(jit_emit_t *emit, jit_kernel_t *kernel, int var, kir_value_t *const *fixed) {
  for (int64_t i = 0; i < kernel->loops.nest.sizes[var]; i++) {
    jit_emit_at(emit, emit->level);
    jit_level_enter(emit, var, jit_emit_i64(emit, i));
    emit_loop_body(emit, kernel, var, fixed, NULL);
    jit_level_leave(emit);
  }
}

/* Emits the loops from `var` on. A variable that a unit fixes has one value. */
static void emit_loops_from(jit_emit_t *emit, jit_kernel_t *kernel, int var,
                            kir_value_t *const *fixed, kir_value_t *block) {
  jit_loop_t loop;
  if (var >= lane_loop(kernel)) {
    emit_innermost(emit, kernel, block);
  } else if (var < kernel->loops.unit_rank) {
    jit_level_enter(emit, var, fixed[var]);
    emit_loop_body(emit, kernel, var, fixed, block);
    jit_level_leave(emit);
  } else if (needs_no_loop(kernel, var)) {
    emit_each(emit, kernel, var, fixed);
  } else {
    jit_loop_begin(emit, var, jit_emit_i64(emit, 0), &loop);
    emit_loop_body(emit, kernel, var, fixed, block);
    jit_loop_end(emit, &loop, jit_emit_i64(emit, kernel->loops.nest.sizes[var]), 1);
  }
}

/* Removes the fastest variable from a unit's number. */
static kir_value_t *split_unit_number(jit_emit_t *emit, kir_value_t **left, int64_t size,
                                      bool is_last) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *whole = *left, *divisor = jit_emit_i64(emit, size);
  if (is_last) return whole;
  *left = kir_udiv(b, whole, divisor);
  return kir_urem(b, whole, divisor);
}

/* All units of one call are rows of one block of columns: returns the block and reduces the units
 * to row numbers. */
static kir_value_t *split_column_block(jit_emit_t *emit, const jit_kernel_t *kernel) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *rows = jit_emit_i64(emit, kernel->schedule.producer_grid.rows);
  jit_emit_at(emit, emit->level);
  kir_value_t *block = kir_udiv(b, emit->args.begin, rows), *before = kir_mul(b, block, rows);
  emit->args.begin = kir_sub(b, emit->args.begin, before);
  emit->args.end = kir_sub(b, emit->args.end, before);
  return block;
}

/* The loop over units is no variable of the graph; its level is the first variable's. */
static void emit_units(jit_emit_t *emit, jit_kernel_t *kernel) {
  kir_value_t *values[JIT_MAX_LOOPS],
      *block = kernel->loops.block && kernel->schedule.producer_grid.rows
                   ? split_column_block(emit, kernel)
                   : NULL;
  jit_loop_t loop;
  int64_t inner = kernel->loops.nest.sizes[lane_loop(kernel)];
  jit_units_begin(emit, &loop);
  kir_value_t *left = loop.variable;
  jit_emit_at(emit, emit->level);
  if (kernel->loops.block && !block)
    block = split_unit_number(emit, &left, (inner + kernel->loops.block - 1) / kernel->loops.block,
                              !kernel->loops.unit_rank);
  for (int v = kernel->loops.unit_rank; v-- > 0;)
    values[v] = split_unit_number(emit, &left, kernel->loops.nest.sizes[v], v == 0);
  emit_loops_from(emit, kernel, 0, values, block);
  jit_units_end(emit, &loop);
}

hr_status_t jit_loop_write(jit_kernel_t *kernel, jit_code_t *code) {
  jit_emit_t emit;
  char name[64];
  jit_kernel_phase_name(kernel, 0, name);
  if (kernel->loops.nest.rank) jit_inner_parts(kernel);
  HR_TRY(
      jit_emit_begin(&emit, code, kernel->graph, name, kernel->arrays.count, kernel->root_count));
  emit.provider.get = kernel->loops.has_tiles ? jit_tile_given : jit_band_given;
  emit.provider.context = kernel;
  if (kernel->loops.nest.rank) {
    emit_units(&emit, kernel);
  } else {
    HR_TRY(jit_emit_find_packs(&emit));
    emit_roots(&emit, kernel, 0);
  }
  jit_emit_end(&emit);
  return jit_graph_take_failure(kernel->graph);
}
