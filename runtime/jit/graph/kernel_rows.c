/* kInput whose last dimension is reduced: rows. A short last dimension that is kept
 * (loops.unrolled) has one reduction for each of its values, all in one pass over the row.
 *
 * Many rows: a unit is a row, which stays in the cache while passes go over it.
 *
 *     for unit { outer variables
 *       for each pass { for row { accumulate, save, store }; fold the lanes }
 *       store the results }
 *
 * Values that are expensive and needed in a later pass are saved in the worker's memory; others are
 * recomputed. Short rows are processed in groups: each pass covers all rows of a group, which hides
 * the latency of the folds, and results of reductions are in the worker's memory
 * (kernel_rows_plan.c decides).
 *
 * Few long rows: a unit of phase 2p is a block of a row, cut along one of its dimensions; partial
 * results go to shared memory. Phase 2p + 1 combines them in the order of the blocks, so that the
 * bits do not depend on the number of workers. */
#include <string.h>

#include "jit/graph/kernel_rows.h"

#define GROUP_LOOP (JIT_MAX_LOOPS - 2)

/* --- whole rows ------------------------------------------------------------------------------- */

static void save_results(jit_emit_t *emit, const jit_rows_t *rows,
                         const jit_reduction_t *reduction) {
  for (int k = 0; k < reduction->reducer.count; k++) {
    kir_value_t *address = jit_rows_result_address(emit, rows, reduction->first_leaf + k);
    jit_emit_at(emit, emit->level);
    kir_store(emit->code->builder, reduction->values[k], address);
  }
}

/* The last pass also stores the results. */
static void emit_row_pass(jit_emit_t *emit, jit_rows_t *rows, int pass) {
  jit_reduce_t *reduce = rows->reduce;
  jit_rows_emit_pass(emit, rows, pass, NULL);
  for (int i = 0; i < reduce->reduction_count; i++) {
    kir_value_t *values[JIT_MAX_RESULTS];
    if (reduce->reductions[i].pass != pass) continue;
    jit_rows_fold(emit, rows, i, values);
    jit_rows_finish(emit, &reduce->reductions[i], values);
    if (rows->number && pass + 1 < reduce->pass_count)
      save_results(emit, rows, &reduce->reductions[i]);
  }
  emit->carry.count = 0;
  if (pass + 1 < reduce->pass_count) return;
  emit->pass = reduce->pass_count;
  jit_rows_store_results(emit, rows->kernel);
}

static void emit_rows(jit_kernel_t *kernel, jit_rows_t *rows, jit_emit_t *emit) {
  jit_loop_t loop;
  jit_units_begin(emit, &loop);
  jit_unit_enter(emit, kernel, loop.variable, kernel->loops.nest.rank);
  for (int pass = 0; pass < rows->reduce->pass_count; pass++) emit_row_pass(emit, rows, pass);
  for (int v = 0; v < kernel->loops.nest.rank; v++) jit_level_leave(emit);
  jit_units_end(emit, &loop);
}

static void emit_group_pass(jit_emit_t *emit, jit_rows_t *rows, int pass, kir_value_t *from,
                            kir_value_t *to) {
  jit_loop_t loop;
  jit_loop_begin(emit, JIT_UNIT_LOOP, from, &loop);
  jit_emit_at(emit, emit->level);
  rows->number = kir_sub(emit->code->builder, loop.variable, from);
  jit_rows_clear(rows->reduce);
  jit_unit_enter(emit, rows->kernel, loop.variable, rows->kernel->loops.nest.rank);
  emit_row_pass(emit, rows, pass);
  for (int v = 0; v < rows->kernel->loops.nest.rank; v++) jit_level_leave(emit);
  jit_loop_end(emit, &loop, to, 1);
}

/* Passes process several rows together, so that short rows share the overhead of loops. */
static void emit_groups(jit_rows_t *rows, jit_emit_t *emit) {
  jit_loop_t loop;
  kir_value_t *size = jit_emit_i64(emit, rows->reduce->group);
  jit_loop_begin(emit, GROUP_LOOP, emit->args.begin, &loop);
  jit_emit_at(emit, emit->level);
  kir_value_t *end = kir_add(emit->code->builder, loop.variable, size);
  end = jit_intrinsic(emit->code, KIR_SMIN, kir_type_of(end),
                      (kir_value_t *[]){end, emit->args.end}, 2);
  for (int pass = 0; pass < rows->reduce->pass_count; pass++)
    emit_group_pass(emit, rows, pass, loop.variable, end);
  jit_loop_end(emit, &loop, emit->args.end, rows->reduce->group);
}

/* --- rows in blocks --------------------------------------------------------------------------- */

static void emit_block(jit_emit_t *emit, jit_rows_t *rows, int pass) {
  kir_builder_t *b = emit->code->builder;
  jit_loop_t loop;
  jit_units_begin(emit, &loop);
  kir_value_t *blocks = jit_emit_i64(emit, rows->reduce->block_count);
  jit_emit_at(emit, emit->level);
  kir_value_t *block = kir_urem(b, loop.variable, blocks);
  kir_value_t *outer = kir_udiv(b, loop.variable, blocks);
  jit_unit_enter(emit, rows->kernel, outer, rows->kernel->loops.nest.rank);
  jit_rows_emit_pass(emit, rows, pass, block);
  for (int i = 0; i < rows->reduce->reduction_count; i++) {
    const jit_reduction_t *reduction = &rows->reduce->reductions[i];
    kir_value_t *values[JIT_MAX_RESULTS];
    if (reduction->pass != pass) continue;
    jit_rows_fold(emit, rows, i, values);
    for (int k = 0; k < reduction->reducer.count; k++)
      kir_store(b, values[k],
                jit_rows_shared_address(emit, rows, block, reduction->first_leaf + k));
  }
  emit->carry.count = 0;
  for (int v = 0; v < rows->kernel->loops.nest.rank; v++) jit_level_leave(emit);
  jit_units_end(emit, &loop);
}

/* Combines the blocks' results of one reduction, in order. */
static void combine_blocks(jit_emit_t *emit, jit_rows_t *rows, jit_reduction_t *reduction) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *inits[JIT_MAX_RESULTS], *starts[JIT_MAX_RESULTS], *x[JIT_MAX_RESULTS];
  jit_loop_t loop;
  int count = reduction->reducer.count;
  jit_reduction_inits(emit, reduction, inits);
  jit_reducer_start(emit->code, &reduction->reducer, inits, starts);
  emit->carry.count = count;
  memcpy(emit->carry.values, starts, (size_t)count * sizeof *starts);
  jit_loop_begin(emit, GROUP_LOOP, jit_emit_i64(emit, 0), &loop);
  for (int k = 0; k < count; k++) {
    kir_value_t *address =
        jit_rows_shared_address(emit, rows, loop.variable, reduction->first_leaf + k);
    x[k] = kir_load(b, jit_register_type(emit->code, reduction->reducer.dtypes[k]), address);
  }
  jit_reducer_join(emit->code, &reduction->reducer, emit->carry.values, x);
  jit_loop_end(emit, &loop, jit_emit_i64(emit, rows->reduce->block_count), 1);
  emit->carry.count = 0;
  kir_value_t *values[JIT_MAX_RESULTS];
  memcpy(values, emit->carry.values, sizeof values);
  jit_rows_finish(emit, reduction, values);
  for (int k = 0; k < count; k++)
    kir_store(b, values[k], jit_rows_shared_address(emit, rows, NULL, reduction->first_leaf + k));
}

static void emit_combination(jit_emit_t *emit, jit_rows_t *rows, int pass) {
  jit_reduce_t *reduce = rows->reduce;
  jit_loop_t loop;
  jit_units_begin(emit, &loop);
  jit_unit_enter(emit, rows->kernel, loop.variable, rows->kernel->loops.nest.rank);
  emit->pass = pass;
  for (int i = 0; i < reduce->reduction_count; i++)
    if (reduce->reductions[i].pass == pass) combine_blocks(emit, rows, &reduce->reductions[i]);
  if (pass + 1 == reduce->pass_count) jit_rows_store_results(emit, rows->kernel);
  for (int v = 0; v < rows->kernel->loops.nest.rank; v++) jit_level_leave(emit);
  jit_units_end(emit, &loop);
}

hr_status_t jit_rows_write(jit_kernel_t *kernel, jit_code_t *code) {
  jit_rows_t rows = {
      .kernel = kernel, .reduce = kernel->reduce, .is_split = kernel->schedule.phase_count > 1};
  for (int phase = 0; phase < kernel->schedule.phase_count; phase++) {
    jit_emit_t emit;
    char name[64];
    jit_kernel_phase_name(kernel, phase, name);
    HR_TRY(jit_emit_begin(&emit, code, kernel->graph, name, kernel->arrays.count,
                          kernel->root_count + 1));
    emit.provider.get = jit_rows_provide;
    emit.provider.context = &rows;
    jit_rows_clear(rows.reduce);
    if (!rows.is_split && kernel->reduce->group > 1)
      emit_groups(&rows, &emit);
    else if (!rows.is_split)
      emit_rows(kernel, &rows, &emit);
    else if (phase % 2 == 0)
      emit_block(&emit, &rows, phase / 2);
    else
      emit_combination(&emit, &rows, phase / 2);
    jit_emit_end(&emit);
  }
  return jit_graph_take_failure(kernel->graph);
}
