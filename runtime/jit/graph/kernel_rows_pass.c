/* One pass over a row, or over one block of it: its loops accumulate the reductions of the pass,
 * save values for later passes and store results that have a value for each element.
 *
 * Several accumulators per reduction (`unroll`) hide the latency of the reducer. Sums over many
 * terms thereby have the error of lanes * unroll partial sums, not of one running sum. */
#include <string.h>

#include "jit/element/element.h"
#include "jit/graph/kernel_rows.h"

/* Most additions per element that finish within the latency of the sum. */
#define LATENCY_COST 6.0

/* Address of the row's part of the worker's memory. */
static kir_value_t *row_memory(jit_emit_t *emit, const jit_rows_t *rows, size_t at_bytes) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *offset = jit_emit_i64(emit, (int64_t)at_bytes);
  jit_emit_at(emit, rows->number ? emit->depths[JIT_UNIT_LOOP] : 0);
  if (rows->number) {
    kir_value_t *row =
        kir_mul(b, rows->number, jit_emit_i64(emit, (int64_t)rows->reduce->row_bytes));
    offset = kir_add(b, row, offset);
  }
  return kir_inbounds_gep(b, kir_int_type(emit->code->module, 8), emit->args.scratch, offset);
}

static kir_value_t *saved_address(jit_emit_t *emit, const jit_rows_t *rows, int slot) {
  return row_memory(emit, rows, rows->reduce->saved_bytes * (size_t)slot);
}

kir_value_t *jit_rows_result_address(jit_emit_t *emit, const jit_rows_t *rows, int leaf) {
  const jit_reduce_t *reduce = rows->reduce;
  return row_memory(
      emit, rows,
      reduce->saved_bytes * (size_t)reduce->saved_count + (size_t)(leaf * reduce->element_bytes));
}

/* Type of a saved value: the register type, also for narrow types. */
static hr_dtype_t saved_type(hr_dtype_t dtype) { return hr_dtype_table[dtype].compute; }

kir_value_t *jit_rows_shared_address(jit_emit_t *emit, const jit_rows_t *rows, kir_value_t *block,
                                     int leaf) {
  kir_builder_t *b = emit->code->builder;
  const jit_reduce_t *reduce = rows->reduce;
  kir_value_t *array = jit_emit_out(emit, rows->kernel->root_count),
              *unit = jit_emit_expr(emit, reduce->unit);
  jit_emit_at(emit, emit->level);
  kir_value_t *index = kir_mul(b, unit, jit_emit_i64(emit, reduce->block_count + 1));
  index = kir_add(b, index, block ? block : jit_emit_i64(emit, reduce->block_count));
  index = kir_mul(b, index, jit_emit_i64(emit, reduce->leaf_count));
  index = kir_add(b, index, jit_emit_i64(emit, leaf));
  index = kir_mul(b, index, jit_emit_i64(emit, reduce->element_bytes));
  return kir_inbounds_gep(b, kir_int_type(emit->code->module, 8), array, index);
}

/* Loads a result of a reduction from memory. */
static kir_value_t *load_result(jit_emit_t *emit, const jit_rows_t *rows, const jit_node_t *node,
                                int leaf) {
  int level = emit->level;
  emit->level = jit_emit_depth(emit, node->vars);
  kir_value_t *address = rows->is_split ? jit_rows_shared_address(emit, rows, NULL, leaf)
                                        : jit_rows_result_address(emit, rows, leaf);
  jit_emit_at(emit, emit->level);
  kir_value_t *value =
      kir_load(emit->code->builder, jit_register_type(emit->code, node->dtype), address);
  emit->level = level;
  return value;
}

kir_value_t *jit_rows_provide(jit_emit_t *emit, jit_node_t *node) {
  const jit_rows_t *rows = emit->provider.context;
  if (node->kind == JIT_LEAF) {
    const jit_reduction_t *reduction = jit_reduction_of(rows->reduce, node);
    kir_value_t *value = reduction->values[node->number];
    return value ? value : load_result(emit, rows, node, reduction->first_leaf + node->number);
  }
  if (node->reduce.slot < 0 || node->reduce.first_pass >= emit->pass) return NULL;
  kir_value_t *array = saved_address(emit, rows, node->reduce.slot);
  return jit_emit_load(emit, array, saved_type(node->dtype), rows->reduce->within, (jit_guard_t){0},
                       jit_emit_depth(emit, node->vars));
}

/* Does the iteration contain the first element of a block? */
static kir_value_t *is_first_of_block(jit_emit_t *emit, const jit_rows_t *rows) {
  kir_builder_t *b = emit->code->builder;
  const jit_kernel_t *kernel = rows->kernel;
  kir_value_t *is_first = NULL;
  for (int w = 0; w < kernel->loops.within.rank && rows->block_from; w++) {
    kir_value_t *from = w == rows->reduce->cut ? rows->block_from : jit_emit_i64(emit, 0);
    kir_value_t *here =
        kir_icmp(b, KIR_ICMP_EQ, emit->variables[kernel->loops.nest.rank + w], from);
    is_first = is_first ? kir_and(b, is_first, here) : here;
  }
  return is_first;
}

/* Ascending order: collects the vectors of an iteration, then folds all of them into one
 * accumulator. A block starts with its first elements; the initial values precede all blocks. */
static void accumulate_in_order(jit_emit_t *emit, jit_rows_t *rows, int i, int copy,
                                kir_value_t **x) {
  const jit_reducer_t *reducer = &rows->reduce->reductions[i].reducer;
  int first = rows->first_carry[i], vectors = emit->lane.mask ? 1 : rows->unroll;
  kir_value_t *accs[JIT_MAX_RESULTS];
  if (copy == 0) rows->is_first = is_first_of_block(emit, rows);
  memcpy(rows->cleanups[i][copy], x, (size_t)reducer->count * sizeof *x);
  if (copy + 1 < vectors) return;
  if (emit->lane.count > 1)
    jit_reducer_tree(emit->code, reducer, vectors, rows->cleanups[i], emit->lane.mask);
  for (int k = 0; k < reducer->count; k++) accs[k] = emit->carry.values[(first + k) * rows->unroll];
  jit_reducer_take(emit->code, reducer, rows->is_first, accs, rows->cleanups[i][0]);
  for (int k = 0; k < reducer->count; k++) emit->carry.values[(first + k) * rows->unroll] = accs[k];
}

/* Under a mask, lanes outside the row keep their accumulators. */
static void accumulate_lanes(jit_emit_t *emit, const jit_rows_t *rows, int i, int copy,
                             kir_value_t **x) {
  const jit_reduction_t *reduction = &rows->reduce->reductions[i];
  kir_value_t *accs[JIT_MAX_RESULTS];
  int first = rows->first_carry[i], count = reduction->reducer.count;
  for (int k = 0; k < count; k++) accs[k] = emit->carry.values[(first + k) * rows->unroll + copy];
  jit_reducer_apply(emit->code, &reduction->reducer, accs, x);
  for (int k = 0; k < count; k++) {
    kir_value_t **carried = &emit->carry.values[(first + k) * rows->unroll + copy];
    hr_dtype_t dtype = reduction->reducer.dtypes[k];
    *carried = emit->lane.mask
                   ? jit_element_choose(emit->code, dtype, emit->lane.mask, accs[k], *carried)
                   : accs[k];
  }
}

/* Ascending order has one accumulator, other orders one per lane. */
static void accumulate(jit_emit_t *emit, jit_rows_t *rows, int i, int copy) {
  const jit_reduction_t *reduction = &rows->reduce->reductions[i];
  kir_value_t *x[JIT_MAX_RESULTS];
  for (int k = 0; k < reduction->reducer.count; k++)
    x[k] = jit_emit_lanes(emit, reduction->inputs[k]);
  jit_emit_at(emit, emit->level);
  if (jit_reducer_is_ordered(&reduction->reducer))
    accumulate_in_order(emit, rows, i, copy, x);
  else
    accumulate_lanes(emit, rows, i, copy, x);
}

/* Saves values that later passes need and that are cheaper to load than to recompute. */
static void save_nodes(jit_emit_t *emit, const jit_rows_t *rows) {
  for (jit_node_t *node = rows->kernel->graph->first_made; node; node = node->next_made) {
    if (node->reduce.slot < 0 || node->reduce.first_pass != emit->pass) continue;
    kir_value_t *value = jit_emit_lanes(emit, node);
    jit_emit_store(emit, saved_address(emit, rows, node->reduce.slot), saved_type(node->dtype),
                   rows->reduce->within, value, false);
  }
}

static bool is_written(const jit_root_t *root, int pass) {
  return root->is_full && root->value->reduce.pass == pass;
}

/* Emits one vector of a row in the current pass. */
static void emit_elements(jit_emit_t *emit, void *context, int copy) {
  jit_rows_t *rows = context;
  jit_kernel_t *kernel = rows->kernel;
  for (int i = 0; i < rows->reduce->reduction_count; i++)
    if (rows->reduce->reductions[i].pass == emit->pass) accumulate(emit, rows, i, copy);
  save_nodes(emit, rows);
  kir_value_t *values[kernel->root_count];
  for (int r = 0; r < kernel->root_count; r++)
    if (is_written(&kernel->roots[r], emit->pass))
      values[r] = jit_emit_lanes(emit, kernel->roots[r].value);
  for (int r = 0; r < kernel->root_count; r++) {
    const jit_root_t *root = &kernel->roots[r];
    if (is_written(root, emit->pass))
      jit_emit_root(emit, r, root->dtype, root->index, values[r], root->streams);
  }
}

/* Initialises the accumulators of the pass, `unroll` sets. */
static void start_carries(jit_emit_t *emit, jit_rows_t *rows) {
  emit->carry.count = 0;
  for (int i = 0; i < rows->reduce->reduction_count; i++) {
    jit_reduction_t *reduction = &rows->reduce->reductions[i];
    kir_value_t *inits[JIT_MAX_RESULTS], *starts[JIT_MAX_RESULTS];
    if (reduction->pass != emit->pass) continue;
    rows->first_carry[i] = emit->carry.count / rows->unroll;
    jit_reduction_inits(emit, reduction, inits);
    jit_reducer_start(emit->code, &reduction->reducer, inits, starts);
    for (int k = 0; k < reduction->reducer.count; k++) {
      hr_dtype_t dtype = reduction->reducer.dtypes[k];
      for (int u = 0; u < rows->unroll; u++)
        emit->carry.values[emit->carry.count++] =
            jit_element_splat(emit->code, dtype, rows->lanes, starts[k]);
    }
  }
}

void jit_rows_fold(jit_emit_t *emit, jit_rows_t *rows, int i, kir_value_t **out_values) {
  const jit_reduction_t *reduction = &rows->reduce->reductions[i];
  int first = rows->first_carry[i], count = reduction->reducer.count;
  jit_emit_at(emit, emit->level);
  kir_value_t *sets[JIT_ROWS_UNROLL_MAX][JIT_MAX_RESULTS];
  bool is_one = jit_reducer_is_ordered(&reduction->reducer);
  for (int u = 0; u < rows->unroll; u++)
    for (int k = 0; k < count; k++) sets[u][k] = emit->carry.values[(first + k) * rows->unroll + u];
  for (int apart = 1; apart < rows->unroll && !is_one; apart *= 2)
    for (int u = 0; u + apart < rows->unroll; u += 2 * apart)
      jit_reducer_join(emit->code, &reduction->reducer, sets[u], sets[u + apart]);
  memcpy(out_values, sets[0], (size_t)count * sizeof *out_values);
  jit_reducer_fold(emit->code, &reduction->reducer, out_values);
}

void jit_rows_finish(jit_emit_t *emit, jit_reduction_t *reduction, kir_value_t **values) {
  kir_value_t *inits[JIT_MAX_RESULTS];
  jit_reduction_inits(emit, reduction, inits);
  jit_reducer_finish(emit->code, &reduction->reducer, inits, values);
  memcpy(reduction->values, values, sizeof reduction->values);
}

static int count_carries(const jit_reduce_t *reduce, int pass) {
  int count = 0;
  for (int i = 0; i < reduce->reduction_count; i++)
    if (reduce->reductions[i].pass == pass) count += reduce->reductions[i].reducer.count;
  return count;
}

/* Subtracts from *left the cost of a node in a pass, including operands that no earlier pass
 * saved. */
static void subtract_cost(const jit_kernel_t *kernel, const jit_node_t *node, int pass,
                          double *left) {
  bool is_there = !(node->vars & jit_within_vars(kernel)) ||
                  (node->reduce.slot >= 0 && node->reduce.first_pass < pass);
  if (is_there || *left < 0) return;
  *left -= jit_node_cost(node);
  for (int k = 0; k < node->arg_count; k++) subtract_cost(kernel, node->args[k], pass, left);
}

/* Chooses the number of accumulator sets: several hide the latency of additions if there is little
 * other work. */
static int choose_unroll(const jit_rows_t *rows, int pass) {
  const jit_reduce_t *reduce = rows->reduce;
  int carries = count_carries(reduce, pass);
  int last = rows->kernel->loops.within.rank - 1;
  int64_t inner =
      reduce->block && reduce->cut == last ? reduce->block : rows->kernel->loops.within.sizes[last];
  double left = LATENCY_COST;
  for (int i = 0; i < reduce->reduction_count; i++)
    for (int k = 0; reduce->reductions[i].pass == pass && k < reduce->reductions[i].reducer.count;
         k++)
      subtract_cost(rows->kernel, reduce->reductions[i].inputs[k], pass, &left);
  return carries && carries <= 2 && left >= 0 && rows->lanes > 1 && inner >= 8 * rows->lanes
             ? JIT_ROWS_UNROLL_MAX
             : 1;
}

/* Range of a block in the cut dimension. */
static void block_range(jit_emit_t *emit, const jit_rows_t *rows, kir_value_t *block,
                        kir_value_t **from, kir_value_t **to) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *size = jit_emit_i64(emit, rows->reduce->block);
  jit_emit_at(emit, emit->level);
  *from = kir_mul(b, block, size);
  kir_value_t *end = kir_add(b, *from, size);
  *to = jit_intrinsic(emit->code, KIR_SMIN, kir_type_of(end), (kir_value_t *[]){end, *to}, 2);
}

/* Loops over the reduced dimensions. block: NULL for whole rows. */
static void emit_reduced_loops(jit_emit_t *emit, jit_rows_t *rows, int w, kir_value_t *block) {
  const jit_nest_t *within = &rows->kernel->loops.within;
  int var = rows->kernel->loops.nest.rank + w;
  int64_t size = within->sizes[w];
  bool is_cut = block && w == rows->reduce->cut;
  kir_value_t *from = jit_emit_i64(emit, 0), *to = jit_emit_i64(emit, size);
  if (is_cut) block_range(emit, rows, block, &from, &to);
  if (is_cut) rows->block_from = from;
  if (w + 1 < within->rank) {
    jit_loop_t loop;
    jit_loop_begin(emit, var, from, &loop);
    emit_reduced_loops(emit, rows, w + 1, block);
    jit_loop_end(emit, &loop, to, 1);
    return;
  }
  jit_lanes_t how = {.var = var,
                     .lanes = rows->lanes,
                     .count = size,
                     .unroll = rows->unroll,
                     .is_whole = rows->lanes == 1,
                     .is_phased = !is_cut,
                     .body = emit_elements,
                     .context = rows};
  if (is_cut) how.count = size % rows->reduce->block ? -1 : rows->reduce->block;
  jit_loop_lanes(emit, &how, from, to);
}

/* Lanes of a pass: more than the kernel's if it only reduces keys, which are narrower. */
static int pass_lanes(const jit_rows_t *rows, int pass) {
  const jit_kernel_t *kernel = rows->kernel;
  const jit_reduce_t *reduce = rows->reduce;
  int lanes = kernel->loops.lanes, more = kernel->target->vector_bytes / 2;
  if (lanes == 1 || kernel->loops.within.sizes[kernel->loops.within.rank - 1] < more) return lanes;
  for (int i = 0; i < reduce->reduction_count; i++)
    if (reduce->reductions[i].pass == pass && !reduce->reductions[i].reducer.has_keys) return lanes;
  for (int r = 0; r < kernel->root_count; r++)
    if (is_written(&kernel->roots[r], pass)) return lanes;
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
    if (node->reduce.slot >= 0 && node->reduce.first_pass == pass) return lanes;
  return more;
}

void jit_rows_emit_pass(jit_emit_t *emit, jit_rows_t *rows, int pass, kir_value_t *block) {
  emit->pass = pass;
  rows->lanes = pass_lanes(rows, pass);
  rows->unroll = rows->kernel->loops.within.rank ? choose_unroll(rows, pass) : 1;
  start_carries(emit, rows);
  if (rows->kernel->loops.within.rank)
    emit_reduced_loops(emit, rows, 0, block);
  else
    emit_elements(emit, rows, 0); /* one element per row: no loop, no lanes */
}

/* Stores the results of root r: one, or one for each value of an unrolled dimension. */
static void store_root(jit_emit_t *emit, const jit_kernel_t *kernel, int r, kir_value_t **values) {
  const jit_root_t *root = &kernel->roots[r];
  for (int c = 0; c < kernel->reduce->index_count; c++) {
    const jit_expr_t *index = jit_expr_affine(&kernel->graph->exprs, root->index, 1, c);
    jit_emit_root(emit, r, root->dtype, index, values[c], false);
  }
}

void jit_rows_store_results(jit_emit_t *emit, jit_kernel_t *kernel) {
  kir_value_t *values[kernel->root_count][JIT_MAX_SHORT];
  for (int r = 0; r < kernel->root_count; r++)
    for (int c = 0; c < kernel->reduce->index_count && !kernel->roots[r].is_full; c++)
      values[r][c] = jit_emit_node(emit, kernel->roots[r].row[c]);
  for (int r = 0; r < kernel->root_count; r++)
    if (!kernel->roots[r].is_full) store_root(emit, kernel, r, values[r]);
}

void jit_rows_clear(jit_reduce_t *reduce) {
  for (int i = 0; i < reduce->reduction_count; i++)
    memset(reduce->reductions[i].values, 0, sizeof reduce->reductions[i].values);
}
