/* kLoop: one loop nest over the elements of the roots, as kernel_loop_plan.c chose it.
 *
 *     for unit {                        outermost variables v0, v1 = unit / ..., unit % ...
 *       for v2 {                        remaining loops
 *         for v3 by lanes * vectors {   innermost: whole vectors, then a masked remainder
 *           roots
 *         } } }
 *
 * The nest is emitted outermost first. Loops whose conditions change at few values are peeled into
 * intervals (loops.parts, loops.inner), each with code in which the condition is constant. */
#include "jit/graph/jit_kernel.h"

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
  int var = jit_lane_loop(kernel);
  bool is_line = jit_expr_factor(root->index, var) == kernel->loops.unrolled &&
                 jit_expr_factor(root->index, var + 1) == 1;
  return is_line && emit->lane.count > 1 && !emit->lane.mask &&
         !jit_expr_is_nonaffine(&kernel->graph->exprs, root->index, var);
}

static void emit_unrolled_roots(jit_emit_t *emit, void *context, int copy) {
  jit_kernel_t *kernel = context;
  int var = jit_lane_loop(kernel) + 1;
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
  for (int d = var; d < nest->rank && count <= JIT_NODES_SMALL; d++) count *= nest->sizes[d];
  return count * kernel->graph->node_count <= JIT_NODES_SMALL;
}

/* Emits the innermost loop, over all its values or over a block. */
static void emit_innermost(jit_emit_t *emit, jit_kernel_t *kernel, kir_value_t *block) {
  jit_lanes_t how = {.var = jit_lane_loop(kernel),
                     .lanes = kernel->loops.lanes,
                     .unroll = kernel->loops.vectors,
                     .body = kernel->loops.unrolled ? emit_unrolled_roots : emit_roots,
                     .context = kernel,
                     .is_phased = true,
                     .is_few = needs_no_loop(kernel, jit_lane_loop(kernel)),
                     .is_small = jit_inner_is_small(kernel)};
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
  if (var >= jit_lane_loop(kernel)) {
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

/* Value of a variable in an iteration of its loop. */
static kir_value_t *value_of_trip(jit_emit_t *emit, const jit_nest_t *nest, int var,
                                  kir_value_t *trip) {
  int64_t step = jit_nest_step(nest, var);
  if (step == 1) return trip;
  kir_value_t *value = kir_mul(emit->code->builder, trip, jit_emit_i64(emit, step));
  kir_value_t *last = jit_emit_i64(emit, nest->sizes[var] - 1);
  return jit_intrinsic(emit->code, KIR_SMIN, kir_type_of(value), (kir_value_t *[]){value, last}, 2);
}

/* The loop over units is no variable of the graph; its level is the first variable's. */
static void emit_units(jit_emit_t *emit, jit_kernel_t *kernel) {
  kir_value_t *values[JIT_MAX_LOOPS],
      *block = kernel->loops.block && kernel->schedule.producer_grid.rows
                   ? split_column_block(emit, kernel)
                   : NULL;
  jit_loop_t loop;
  int64_t inner = kernel->loops.nest.sizes[jit_lane_loop(kernel)];
  jit_units_begin(emit, &loop);
  kir_value_t *left = loop.variable;
  jit_emit_at(emit, emit->level);
  if (kernel->loops.block && !block)
    block = split_unit_number(emit, &left, (inner + kernel->loops.block - 1) / kernel->loops.block,
                              !kernel->loops.unit_rank);
  const jit_nest_t *nest = &kernel->loops.nest;
  for (int v = kernel->loops.unit_rank; v-- > 0;) {
    kir_value_t *trip = split_unit_number(emit, &left, jit_nest_trip_count(nest, v), v == 0);
    values[v] = value_of_trip(emit, nest, v, trip);
  }
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
