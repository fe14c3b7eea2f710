/* kInput whose last dimension is kept: columns.
 *
 * Lanes are columns. The accumulators of a block of columns are in memory and stay in the
 * first-level cache, so that rows are read in long contiguous runs, several rows per pass over the
 * accumulators:
 *
 *     phase 0  for unit { outer variables, block of columns, block of rows:
 *                accumulators = identity
 *                for rows { for lanes of columns { accumulators, several rows at once } } }
 *     phase 1  for unit { block of columns:
 *                for blocks of rows { combine }
 *                store the results }
 *
 * With few columns the accumulators are in registers: all rows are taken for one vector of columns
 * before the next (has_short_rows).
 *
 * Short runs of columns (groups) that are adjacent in memory form one block. The loop over groups
 * is the next outer kept loop, around the lanes.
 *
 * Sizes of blocks depend on shapes only and blocks are combined in ascending order, so that the
 * bits do not depend on the number of workers. Reductions that depend on other reductions are not
 * handled: such fusions are declined. */
#include "jit/element/element.h"
#include "jit/graph/kernel_reduce.h"

#define SETS_REGISTERS 8       /* most registers for sets of accumulators */
#define SHORT_ROWS_BYTES 32768 /* most bytes of rows that are read once per vector of columns */

typedef struct columns {
  jit_kernel_t *kernel;
  jit_reduce_t *reduce;
  int unroll_var;      /* reduced variable inside the lanes; -1: none */
  kir_value_t *block;  /* number of the block of rows */
  kir_value_t *column; /* number of the block of columns */
  kir_value_t *group;  /* number of the block of groups */
} columns_t;

/* --- accumulators ----------------------------------------------------------------------------- */

static hr_dtype_t acc_type(hr_dtype_t dtype) { return hr_dtype_table[dtype].compute; }

/* Address of the accumulators of a result in a block of rows: one accumulator per column. */
static kir_value_t *acc_array(jit_emit_t *emit, const columns_t *columns, kir_value_t *block,
                              int leaf) {
  kir_builder_t *b = emit->code->builder;
  const jit_reduce_t *reduce = columns->reduce;
  kir_value_t *memory = jit_emit_out(emit, columns->kernel->root_count);
  kir_type_t *byte = kir_int_type(emit->code->module, 8);
  jit_emit_at(emit, emit->level);
  kir_value_t *index = kir_mul(b, block, jit_emit_i64(emit, reduce->leaf_count));
  index = kir_add(b, index, jit_emit_i64(emit, leaf));
  index = kir_mul(b, index, jit_emit_i64(emit, jit_columns_acc_bytes(columns->kernel)));
  return kir_inbounds_gep(b, byte, memory, index);
}

/* Sets the mask of accesses to accumulators, and returns the one that was set: none if the arrays
 * are padded. A row loads what the row before it stored, and processors do not forward what was
 * stored under a mask. */
static kir_value_t *unmask(jit_emit_t *emit, const columns_t *columns) {
  kir_value_t *mask = emit->lane.mask;
  if (jit_columns_pads(columns->kernel)) emit->lane.mask = NULL;
  return mask;
}

/* Loads the accumulators of one reduction at the current columns. */
static void load_acc(jit_emit_t *emit, const columns_t *columns, const jit_reduction_t *reduction,
                     kir_value_t *block, kir_value_t **out_accs) {
  kir_value_t *mask = unmask(emit, columns);
  for (int k = 0; k < reduction->reducer.count; k++) {
    kir_value_t *array = acc_array(emit, columns, block, reduction->first_leaf + k);
    out_accs[k] = jit_emit_load(emit, array, acc_type(reduction->reducer.dtypes[k]),
                                columns->reduce->unit, (jit_guard_t){0}, emit->level);
  }
  emit->lane.mask = mask;
}

static void store_acc(jit_emit_t *emit, const columns_t *columns, const jit_reduction_t *reduction,
                      kir_value_t *block, kir_value_t **accs) {
  kir_value_t *mask = unmask(emit, columns);
  for (int k = 0; k < reduction->reducer.count; k++) {
    kir_value_t *array = acc_array(emit, columns, block, reduction->first_leaf + k);
    jit_emit_store(emit, array, acc_type(reduction->reducer.dtypes[k]), columns->reduce->unit,
                   accs[k], false);
  }
  emit->lane.mask = mask;
}

/* --- phase 0 ---------------------------------------------------------------------------------- */

/* Every block of rows starts from the identity, so that blocks can be combined. */
static void start_accs(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **out_starts) {
  kir_value_t *inits[JIT_MAX_RESULTS];
  jit_reduction_inits(emit, reduction, inits);
  jit_reducer_start(emit->code, &reduction->reducer, inits, out_starts);
  for (int k = 0; k < reduction->reducer.count; k++)
    out_starts[k] = jit_element_splat(emit->code, reduction->reducer.dtypes[k], emit->lane.count,
                                      out_starts[k]);
}

static void emit_identities(jit_emit_t *emit, void *context, int copy) {
  columns_t *columns = context;
  (void)copy;
  for (int i = 0; i < columns->reduce->reduction_count; i++) {
    jit_reduction_t *reduction = &columns->reduce->reductions[i];
    kir_value_t *starts[JIT_MAX_RESULTS];
    start_accs(emit, reduction, starts);
    store_acc(emit, columns, reduction, columns->block, starts);
  }
}

/* Is the row the first row of a block other than block 0? In ascending order such a block starts
 * with this row; the initial values precede block 0. */
static kir_value_t *is_first_of_block(jit_emit_t *emit, const columns_t *columns,
                                      const jit_reducer_t *reducer) {
  kir_builder_t *b = emit->code->builder;
  const jit_kernel_t *kernel = columns->kernel;
  if (reducer->order != OP_REDUCE_ASCENDING || columns->reduce->block_count == 1) return NULL;
  kir_value_t *zero = jit_emit_i64(emit, 0), *size = jit_emit_i64(emit, columns->reduce->block);
  kir_value_t *is_first = kir_icmp(b, KIR_ICMP_NE, columns->block, zero);
  for (int w = 0; w < kernel->loops.within.rank; w++) {
    kir_value_t *from = w ? zero : kir_mul(b, columns->block, size);
    kir_value_t *here =
        kir_icmp(b, KIR_ICMP_EQ, emit->variables[kernel->loops.nest.rank + w], from);
    is_first = kir_and(b, is_first, here);
  }
  return is_first;
}

/* Accumulates the current row and stores full roots. */
static void accumulate_row(jit_emit_t *emit, const columns_t *columns,
                           kir_value_t *accs[][JIT_MAX_RESULTS]) {
  const jit_kernel_t *kernel = columns->kernel;
  for (int i = 0; i < columns->reduce->reduction_count; i++) {
    const jit_reduction_t *reduction = &columns->reduce->reductions[i];
    kir_value_t *x[JIT_MAX_RESULTS];
    for (int k = 0; k < reduction->reducer.count; k++)
      x[k] = jit_emit_lanes(emit, reduction->inputs[k]);
    jit_emit_at(emit, emit->level);
    jit_reducer_take(emit->code, &reduction->reducer,
                     is_first_of_block(emit, columns, &reduction->reducer), accs[i], x);
  }
  for (int r = 0; r < kernel->root_count; r++) {
    const jit_root_t *root = &kernel->roots[r];
    if (root->is_full)
      jit_emit_root(emit, r, root->dtype, root->index, jit_emit_lanes(emit, root->value), false);
  }
}

/* Accumulates the rows of one iteration, in `sets` sets of accumulators in turn. */
static void take_rows(jit_emit_t *emit, const columns_t *columns, int sets,
                      kir_value_t *accs[][JIT_MAX_REDUCTIONS][JIT_MAX_RESULTS]) {
  int unroll = columns->reduce->unroll;
  for (int u = 0; u < (unroll ? unroll : 1); u++) {
    if (unroll) jit_level_enter(emit, columns->unroll_var, jit_emit_i64(emit, u));
    accumulate_row(emit, columns, accs[u % sets]);
    if (unroll) jit_level_leave(emit);
  }
}

/* Range of block `number` of a variable: [*out_from, *out_to). */
static void block_range(jit_emit_t *emit, kir_value_t *number, int64_t block, int64_t size,
                        kir_value_t **out_from, kir_value_t **out_to) {
  kir_builder_t *b = emit->code->builder;
  *out_from = jit_emit_i64(emit, 0);
  *out_to = jit_emit_i64(emit, size);
  if (block >= size) return;
  jit_emit_at(emit, emit->level);
  *out_from = kir_mul(b, number, jit_emit_i64(emit, block));
  kir_value_t *end = kir_add(b, *out_from, jit_emit_i64(emit, block));
  *out_to =
      jit_intrinsic(emit->code, KIR_SMIN, kir_type_of(*out_to), (kir_value_t *[]){end, *out_to}, 2);
}

/* Loop over the lanes of the unit's block of columns; a single block has parts in which conditions
 * on the column are constant. */
static void emit_lane_loop(jit_emit_t *emit, columns_t *columns,
                           void (*body)(jit_emit_t *, void *, int)) {
  const jit_kernel_t *kernel = columns->kernel;
  const jit_parts_t *parts = &kernel->loops.inner;
  int var = kernel->loops.nest.rank - 1;
  int64_t size = kernel->loops.nest.sizes[var], block = columns->reduce->columns;
  jit_lanes_t how = {.var = var,
                     .lanes = kernel->loops.lanes,
                     .count = size % block ? -1 : block,
                     .unroll = 1,
                     .is_phased = block >= size || block % kernel->loops.lanes == 0,
                     .is_small = jit_inner_is_small(kernel),
                     .body = body,
                     .context = columns};
  kir_value_t *from, *to;
  for (int p = 0; p < parts->count; p++) {
    how.from = parts->from[p];
    how.to = parts->to[p];
    how.count = how.to - how.from;
    jit_loop_lanes(emit, &how, jit_emit_i64(emit, how.from), jit_emit_i64(emit, how.to));
  }
  if (parts->count) return;
  block_range(emit, columns->column, block, size, &from, &to);
  jit_loop_lanes(emit, &how, from, to);
}

/* Loops over the unit's block of columns, or of groups. */
static void emit_column_loop(jit_emit_t *emit, columns_t *columns,
                             void (*body)(jit_emit_t *, void *, int)) {
  const jit_kernel_t *kernel = columns->kernel;
  jit_loop_t loop;
  kir_value_t *from, *to;
  if (!columns->reduce->groups) {
    emit_lane_loop(emit, columns, body);
    return;
  }
  block_range(emit, columns->group, columns->reduce->groups, jit_columns_group_count(kernel), &from,
              &to);
  jit_loop_begin(emit, kernel->loops.nest.rank - 2, from, &loop);
  emit_lane_loop(emit, columns, body);
  jit_loop_end(emit, &loop, to, 1);
}

/* Nested loops over the reduced dimensions [w, end), around `body`; the outermost of all covers the
 * unit's block of rows. */
static void emit_row_loops(jit_emit_t *emit, columns_t *columns, int w, int end,
                           void (*body)(jit_emit_t *, columns_t *)) {
  const jit_kernel_t *kernel = columns->kernel;
  const jit_reduce_t *reduce = columns->reduce;
  if (w == end) {
    body(emit, columns);
    return;
  }
  jit_loop_t loop;
  kir_value_t *from, *to;
  int64_t size = kernel->loops.within.sizes[w];
  block_range(emit, columns->block, w ? size : reduce->block, size, &from, &to);
  jit_loop_begin(emit, kernel->loops.nest.rank + w, from, &loop);
  emit_row_loops(emit, columns, w + 1, end, body);
  jit_loop_end(emit, &loop, to, 1);
}

/* --- accumulators in registers ---------------------------------------------------------------- */

/* Do the rows of a unit stay in the first-level cache, or is a row one vector? All rows are then
 * taken for one vector of columns before the next. */
static bool has_short_rows(const jit_kernel_t *kernel) {
  const jit_reduce_t *reduce = kernel->reduce;
  int64_t groups = reduce->groups ? reduce->groups : 1, columns = groups * reduce->columns;
  if (groups == 1 && columns <= kernel->loops.lanes) return true;
  return reduce->within_count * columns * reduce->element_bytes <= SHORT_ROWS_BYTES;
}

/* Sets of accumulators, so that a row need not wait for the row before: one for each unrolled row,
 * if any order will do and the registers suffice. */
static int acc_sets(const jit_reduce_t *reduce) {
  if (reduce->unroll < 2 || reduce->unroll * reduce->leaf_count > SETS_REGISTERS) return 1;
  for (int i = 0; i < reduce->reduction_count; i++)
    if (jit_reducer_is_ordered(&reduce->reductions[i].reducer)) return 1;
  return reduce->unroll;
}

/* Copies the accumulators of all reductions from emit->carry, or back. */
static void move_carried(jit_emit_t *emit, const jit_reduce_t *reduce,
                         kir_value_t *accs[][JIT_MAX_REDUCTIONS][JIT_MAX_RESULTS], bool back) {
  int carry = 0, sets = acc_sets(reduce);
  for (int i = 0; i < reduce->reduction_count; i++)
    for (int k = 0; k < sets * reduce->reductions[i].reducer.count; k++, carry++) {
      kir_value_t **acc = &accs[k % sets][i][k / sets];
      if (back)
        emit->carry.values[carry] = *acc;
      else
        *acc = emit->carry.values[carry];
    }
  emit->carry.count = carry;
}

/* The current rows, for one vector of columns. */
static void emit_carried_rows(jit_emit_t *emit, columns_t *columns) {
  kir_value_t *accs[JIT_COLUMNS_UNROLL][JIT_MAX_REDUCTIONS][JIT_MAX_RESULTS];
  move_carried(emit, columns->reduce, accs, false);
  take_rows(emit, columns, acc_sets(columns->reduce), accs);
  move_carried(emit, columns->reduce, accs, true);
}

/* Processes several rows per pass over the accumulators, which saves loads and stores of them: rows
 * that are unrolled, or a loop over the rows of a chunk. */
static void emit_rows(jit_emit_t *emit, void *context, int copy) {
  columns_t *columns = context;
  kir_value_t *accs[JIT_COLUMNS_UNROLL][JIT_MAX_REDUCTIONS][JIT_MAX_RESULTS];
  jit_reduce_t *reduce = columns->reduce;
  (void)copy;
  for (int i = 0; i < reduce->reduction_count; i++)
    load_acc(emit, columns, &reduce->reductions[i], columns->block, accs[0][i]);
  if (reduce->chunk) {
    int last = columns->kernel->loops.within.rank - 1;
    move_carried(emit, reduce, accs, true);
    emit_row_loops(emit, columns, last, last + 1, emit_carried_rows);
    move_carried(emit, reduce, accs, false);
    emit->carry.count = 0;
    jit_emit_at(emit, emit->level);
  } else {
    take_rows(emit, columns, 1, accs);
  }
  for (int i = 0; i < reduce->reduction_count; i++)
    store_acc(emit, columns, &reduce->reductions[i], columns->block, accs[0][i]);
}

/* All columns of the unit, for the current rows. */
static void emit_columns_of_rows(jit_emit_t *emit, columns_t *columns) {
  emit_column_loop(emit, columns, emit_rows);
}

/* --- phase 0 with all rows in registers ------------------------------------------------------- */

/* All rows of the current columns. */
static void emit_column(jit_emit_t *emit, void *context, int copy) {
  columns_t *columns = context;
  jit_reduce_t *reduce = columns->reduce;
  kir_value_t *accs[JIT_COLUMNS_UNROLL][JIT_MAX_REDUCTIONS][JIT_MAX_RESULTS];
  (void)copy;
  for (int set = 0; set < acc_sets(reduce); set++)
    for (int i = 0; i < reduce->reduction_count; i++)
      start_accs(emit, &reduce->reductions[i], accs[set][i]);
  move_carried(emit, reduce, accs, true);
  emit_row_loops(emit, columns, 0, columns->kernel->loops.within.rank - (reduce->unroll ? 1 : 0),
                 emit_carried_rows);
  move_carried(emit, reduce, accs, false);
  emit->carry.count = 0;
  jit_emit_at(emit, emit->level);
  for (int i = 0; i < reduce->reduction_count; i++) {
    for (int set = 1; set < acc_sets(reduce); set++)
      jit_reducer_join(emit->code, &reduce->reductions[i].reducer, accs[0][i], accs[set][i]);
    store_acc(emit, columns, &reduce->reductions[i], columns->block, accs[0][i]);
  }
}

/* Removes the fastest component, with `size` values, from a unit's number. */
static kir_value_t *split_unit_number(jit_emit_t *emit, kir_value_t **unit, int64_t size) {
  kir_value_t *divisor = jit_emit_i64(emit, size), *whole = *unit;
  if (size == 1) return jit_emit_i64(emit, 0);
  *unit = kir_udiv(emit->code->builder, whole, divisor);
  return kir_urem(emit->code->builder, whole, divisor);
}

/* unit = (outer, block of groups, block of columns, block of rows), the last one fastest. */
static void enter_unit(jit_emit_t *emit, columns_t *columns, kir_value_t *unit, bool has_rows) {
  const jit_kernel_t *kernel = columns->kernel;
  int64_t size = kernel->loops.nest.sizes[kernel->loops.nest.rank - 1],
          block = columns->reduce->columns;
  jit_emit_at(emit, emit->level);
  columns->block = split_unit_number(emit, &unit, has_rows ? columns->reduce->block_count : 1);
  columns->column = split_unit_number(emit, &unit, (size + block - 1) / block);
  columns->group = split_unit_number(emit, &unit, jit_columns_group_blocks(kernel));
  jit_unit_enter(emit, kernel, unit, jit_columns_fixed_rank(kernel));
}

static void leave_unit(jit_emit_t *emit, const columns_t *columns) {
  for (int v = 0; v < jit_columns_fixed_rank(columns->kernel); v++) jit_level_leave(emit);
}

/* --- phase 1 ---------------------------------------------------------------------------------- */

/* acc[0] = acc[0] combined with acc[block]. */
static void emit_combined(jit_emit_t *emit, void *context, int copy) {
  columns_t *columns = context;
  (void)copy;
  for (int i = 0; i < columns->reduce->reduction_count; i++) {
    const jit_reduction_t *reduction = &columns->reduce->reductions[i];
    kir_value_t *accs[JIT_MAX_RESULTS], *x[JIT_MAX_RESULTS];
    load_acc(emit, columns, reduction, jit_emit_i64(emit, 0), accs);
    load_acc(emit, columns, reduction, columns->block, x);
    jit_reducer_join(emit->code, &reduction->reducer, accs, x);
    store_acc(emit, columns, reduction, jit_emit_i64(emit, 0), accs);
  }
}

/* Combines the initial value last, then computes the roots that depend on the reduction. */
static void emit_results(jit_emit_t *emit, void *context, int copy) {
  columns_t *columns = context;
  jit_kernel_t *kernel = columns->kernel;
  (void)copy;
  for (int i = 0; i < columns->reduce->reduction_count; i++) {
    jit_reduction_t *reduction = &columns->reduce->reductions[i];
    kir_value_t *inits[JIT_MAX_RESULTS];
    jit_reduction_inits(emit, reduction, inits);
    for (int k = 0; k < reduction->reducer.count; k++)
      inits[k] =
          jit_element_splat(emit->code, reduction->reducer.dtypes[k], emit->lane.count, inits[k]);
    load_acc(emit, columns, reduction, jit_emit_i64(emit, 0), reduction->values);
    jit_reducer_finish(emit->code, &reduction->reducer, inits, reduction->values);
  }
  for (int r = 0; r < kernel->root_count; r++) {
    const jit_root_t *root = &kernel->roots[r];
    if (root->is_full) continue;
    kir_value_t *value = jit_emit_lanes(emit, root->value);
    jit_emit_root(emit, r, root->dtype, root->index, value, false);
  }
}

static kir_value_t *provide_value(jit_emit_t *emit, jit_node_t *node) {
  const columns_t *columns = emit->provider.context;
  return node->kind == JIT_LEAF ? jit_reduction_of(columns->reduce, node)->values[node->number]
                                : NULL;
}

static void combine_blocks(jit_emit_t *emit, columns_t *columns) {
  jit_loop_t loop;
  if (columns->reduce->block_count == 1) return;
  jit_loop_begin(emit, JIT_MAX_LOOPS - 2, jit_emit_i64(emit, 1), &loop);
  columns->block = loop.variable;
  emit_column_loop(emit, columns, emit_combined);
  jit_loop_end(emit, &loop, jit_emit_i64(emit, columns->reduce->block_count), 1);
}

/* Phase 0 accumulates, phase 1 combines and writes results. */
static void emit_phase(jit_emit_t *emit, columns_t *columns, int phase) {
  jit_loop_t loop;
  jit_units_begin(emit, &loop);
  enter_unit(emit, columns, loop.variable, phase == 0);
  if (phase == 0 && has_short_rows(columns->kernel)) {
    emit_column_loop(emit, columns, emit_column);
  } else if (phase == 0) {
    emit_column_loop(emit, columns, emit_identities);
    emit_row_loops(emit, columns, 0,
                   columns->kernel->loops.within.rank -
                       (columns->reduce->unroll || columns->reduce->chunk ? 1 : 0),
                   emit_columns_of_rows);
  } else {
    combine_blocks(emit, columns);
    emit_column_loop(emit, columns, emit_results);
  }
  leave_unit(emit, columns);
  jit_units_end(emit, &loop);
}

/* One function per phase. */
hr_status_t jit_columns_write(jit_kernel_t *kernel, jit_code_t *code) {
  columns_t columns = {.kernel = kernel,
                       .reduce = kernel->reduce,
                       .unroll_var = kernel->loops.nest.rank + kernel->loops.within.rank - 1};
  for (int phase = 0; phase < 2; phase++) {
    jit_emit_t emit;
    char name[64];
    jit_kernel_phase_name(kernel, phase, name);
    HR_TRY(jit_emit_begin(&emit, code, kernel->graph, name, kernel->arrays.count,
                          kernel->root_count + 1));
    emit.provider.get = provide_value;
    emit.provider.context = &columns;
    emit_phase(&emit, &columns, phase);
    jit_emit_end(&emit);
  }
  return jit_graph_take_failure(kernel->graph);
}
