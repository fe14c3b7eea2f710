/* Plan of kernel_rows.c: rows or blocks of rows as units, values that are saved between passes,
 * rows per group, and prefetches.
 *
 * A walk over the graph from the outputs of each pass finds the first and last pass that needs a
 * node. A node that is needed in two passes and expensive gets a slot in the worker's memory. Loads
 * from main memory that several passes read hit the cache in all but the first pass, so the last
 * pass prefetches the next group of rows. */
#include "jit/graph/kernel_reduce.h"

#include "base/arith.h"

#define ROWS_MIN 8      /* fewer rows are cut into blocks */
#define BLOCK_MIN 16384 /* least elements of a block */
#define BLOCKS_MAX 64
/* Least cost, in additions, of a node whose recomputation exceeds a store and a load. */
#define EXPENSIVE 3.0
/* Least prefetch distance in bytes; hardware prefetchers cover shorter ones. */
#define MIN_PREFETCH 1024
#define MAX_PREFETCH (128 << 10) /* most bytes; longer rows would evict the current one */
#define GROUP_MAX 16             /* most rows of a group */
#define GROUP_ELEMENTS 4096 /* most elements of a group, which stays in the first-level cache */

/* Operands precede users in order of creation. */
static void find_expensive(const jit_kernel_t *kernel) {
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    node->is_expensive = node->kind == JIT_OP && jit_node_cost(node) >= EXPENSIVE;
    for (int k = 0; k < node->arg_count; k++) node->is_expensive |= node->args[k]->is_expensive;
  }
}

/* Marks a node as needed in a pass. Walking down from the outputs of the pass, the first expensive
 * node that an earlier pass needed is saved there; its operands are then not needed again. */
static void need(jit_kernel_t *kernel, jit_node_t *node, int pass) {
  if (!(node->vars & jit_within_vars(kernel)) || node->reduce.end_pass == pass + 1 ||
      node->reduce.slot >= 0)
    return;
  bool again = node->reduce.end_pass > 0;
  if (!again) node->reduce.first_pass = pass;
  node->reduce.end_pass = pass + 1;
  if (again && node->is_expensive) {
    node->reduce.slot = kernel->reduce->saved_count++;
    return;
  }
  if (node->guard) need(kernel, node->guard, pass);
  for (int k = 0; k < node->arg_count; k++) need(kernel, node->args[k], pass);
}

static void find_saved(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  find_expensive(kernel);
  for (int pass = 0; pass < reduce->pass_count; pass++) {
    for (int i = 0; i < reduce->reduction_count; i++)
      for (int k = 0; reduce->reductions[i].pass == pass && k < reduce->reductions[i].reducer.count;
           k++)
        need(kernel, reduce->reductions[i].inputs[k], pass);
    for (int r = 0; r < kernel->root_count; r++)
      if (kernel->roots[r].is_full && kernel->roots[r].value->reduce.pass == pass)
        need(kernel, kernel->roots[r].value, pass);
  }
}

/* Prefetches the next group's row during the last pass over the current one; otherwise the next
 * first pass would wait for memory. */
static void find_prefetch_distance(jit_kernel_t *kernel) {
  int var = kernel->loops.nest.rank - 1;
  if (var < 0) return;
  for (jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    bool is_again = node->kind == JIT_LOAD && node->reduce.end_pass > node->reduce.first_pass + 1;
    if (!is_again || jit_expr_is_nonaffine(&kernel->graph->exprs, node->expr, var)) continue;
    int64_t rows = kernel->reduce->group, bytes = (int64_t)hr_dtype_bytes(node->dtype);
    int64_t distance = jit_expr_factor(node->expr, var) * rows * bytes;
    if (distance < MIN_PREFETCH || distance > MAX_PREFETCH ||
        !jit_kernel_is_from_memory(kernel, node))
      continue;
    node->prefetch.distance = distance;
    node->prefetch.pass = node->reduce.end_pass - 1;
  }
}

static bool is_ascending(const jit_reduce_t *reduce) {
  for (int i = 0; i < reduce->reduction_count; i++)
    if (jit_reducer_is_ordered(&reduce->reductions[i].reducer)) return true;
  return false;
}

/* The loop at which rows are cut: the outermost one with enough blocks, else the longest. In
 * ascending order blocks must be contiguous, so it is the outermost one. */
static int cut_of(const jit_kernel_t *kernel) {
  const jit_nest_t *within = &kernel->loops.within;
  int cut = 0;
  while (is_ascending(kernel->reduce) && cut + 1 < within->rank && within->sizes[cut] == 1) cut++;
  if (is_ascending(kernel->reduce)) return cut;
  for (int w = 0; w < within->rank && within->sizes[cut] < BLOCKS_MAX; w++)
    if (within->sizes[w] > within->sizes[cut]) cut = w;
  return cut;
}

static bool is_worth_blocks(const jit_kernel_t *kernel) {
  const jit_reduce_t *reduce = kernel->reduce;
  return reduce->outer_count < ROWS_MIN && reduce->within_count >= 2 * BLOCK_MIN &&
         2 * reduce->pass_count <= JIT_MAX_PHASES && !jit_reduce_is_from_left(reduce);
}

static void split_rows(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  reduce->cut = cut_of(kernel);
  int64_t size = kernel->loops.within.sizes[reduce->cut],
          unit = reduce->cut + 1 < kernel->loops.within.rank ? 1 : 64;
  int64_t blocks = reduce->within_count / BLOCK_MIN;
  if (blocks > BLOCKS_MAX) blocks = BLOCKS_MAX;
  reduce->block = hr_round_up(hr_div_ceil(size, blocks), unit);
  reduce->block_count = hr_div_ceil(size, reduce->block);
  kernel->schedule.phase_count = 2 * reduce->pass_count;
  double ns =
      jit_kernel_ns(kernel, kernel->graph, (double)(reduce->outer_count * reduce->within_count));
  for (int p = 0; p < reduce->pass_count; p++) {
    kernel->schedule.phases[2 * p].units = reduce->outer_count * reduce->block_count;
    kernel->schedule.phases[2 * p].unit_ns =
        ns / (double)(reduce->pass_count * kernel->schedule.phases[2 * p].units);
    kernel->schedule.phases[2 * p + 1].units = reduce->outer_count;
    kernel->schedule.phases[2 * p + 1].unit_ns =
        5.0 * (double)(reduce->block_count * reduce->leaf_count);
  }
  /* Partial results of each block, then the results. */
  int64_t results = reduce->outer_count * (reduce->block_count + 1) * reduce->leaf_count;
  kernel->schedule.scratch_bytes = (size_t)(results * reduce->element_bytes);
}

/* Scratch bytes of a worker for each row of a group: saved values and results of reductions. */
static size_t row_bytes_of(const jit_reduce_t *reduce) {
  size_t results = reduce->group > 1 ? (size_t)(reduce->leaf_count * reduce->element_bytes) : 0;
  results = (results + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
  return reduce->saved_bytes * (size_t)reduce->saved_count + results;
}

static void whole_rows(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  kernel->schedule.phase_count = 1;
  kernel->schedule.phases[0].units = reduce->outer_count;
  kernel->schedule.phases[0].unit_ns =
      jit_kernel_ns(kernel, kernel->graph, (double)reduce->within_count) + 10;
  reduce->group = reduce->pass_count > 1 ? GROUP_ELEMENTS / reduce->within_count : 1;
  if (reduce->group > GROUP_MAX) reduce->group = GROUP_MAX;
  if (reduce->group < 2 || reduce->outer_count < 2) reduce->group = 1;
  if (reduce->pass_count > 1) find_saved(kernel);
  if (reduce->pass_count > 1) find_prefetch_distance(kernel);
  size_t bytes = (size_t)(reduce->within_count * reduce->element_bytes);
  reduce->saved_bytes = (bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
  reduce->row_bytes = row_bytes_of(reduce);
  kernel->schedule.worker_bytes = reduce->row_bytes * (size_t)reduce->group;
}

static void find_streams(jit_kernel_t *kernel) {
  const jit_reduce_t *reduce = kernel->reduce;
  int64_t inner =
      kernel->loops.within.rank ? kernel->loops.within.sizes[kernel->loops.within.rank - 1] : 1;
  int64_t count = reduce->outer_count * reduce->within_count;
  int64_t least = jit_stream_bytes(kernel);
  bool may_stream = !kernel->schedule.producer_grid.in_cache && kernel->loops.lanes > 1 &&
                    inner % (16 * kernel->loops.lanes) == 0;
  for (int r = 0; r < kernel->root_count; r++) {
    jit_root_t *root = &kernel->roots[r];
    int64_t bytes = (int64_t)hr_dtype_bytes(root->dtype);
    bool is_update = root->instr->op == HLO_DYNAMIC_UPDATE_SLICE; /* start and alignment unknown */
    root->streams =
        may_stream && root->is_full && !is_update && bytes >= 4 && count * bytes >= least;
  }
}

/* Are there enough lanes for the trees of reducer_tree.c, and no complex values? */
static bool is_worth_tree(const jit_kernel_t *kernel) {
  const jit_reduce_t *reduce = kernel->reduce;
  if (!kernel->loops.within.rank || kernel->loops.lanes & (kernel->loops.lanes - 1)) return false;
  if (jit_reduce_is_from_left(reduce)) return false;
  for (int i = 0; i < reduce->reduction_count; i++)
    for (int k = 0; k < reduce->reductions[i].reducer.count; k++)
      if (hr_dtype_is_complex(reduce->reductions[i].reducer.dtypes[k])) return false;
  return 2 * kernel->loops.within.sizes[kernel->loops.within.rank - 1] > kernel->loops.lanes;
}

/* Merges innermost loops that are shorter than a vector, as the two columns of a stack, if all
 * loads still fit whole vectors. A vector for each of them would leave most lanes idle. */
static hr_status_t merge_short_loops(jit_kernel_t *kernel) {
  jit_nest_t *within = &kernel->loops.within, before = *within;
  while (within->rank > 1 && within->sizes[within->rank - 1] < kernel->loops.lanes &&
         within->dims[within->rank - 2] == within->dims[within->rank - 1]) {
    within->sizes[within->rank - 2] *= within->sizes[within->rank - 1];
    within->rank--;
  }
  if (within->rank == before.rank) return NULL;
  HR_TRY(jit_reduce_build(kernel));
  if (jit_loads_fit(kernel, kernel->loops.nest.rank + within->rank - 1, 1)) return NULL;
  *within = before;
  return jit_reduce_build(kernel);
}

hr_status_t jit_rows_plan(jit_kernel_t *kernel) {
  HR_TRY(jit_reduce_plan(kernel));
  jit_reduce_t *reduce = kernel->reduce;
  kernel->loops.lanes = kernel->loops.within.rank ? jit_kernel_lanes(kernel) : 1;
  if (is_ascending(reduce) && !is_worth_tree(kernel)) kernel->loops.lanes = 1;
  if (!is_ascending(reduce)) HR_TRY(merge_short_loops(kernel));
  if (kernel->loops.within.rank)
    kernel->loops.lanes = jit_kernel_interleaved_lanes(
        kernel, kernel->loops.lanes, kernel->loops.within.sizes[kernel->loops.within.rank - 1]);
  if (reduce->leaf_count > 16) return hr_error(HR_UNSUPPORTED, "too many results of reductions");
  if (is_worth_blocks(kernel))
    split_rows(kernel);
  else
    whole_rows(kernel);
  find_streams(kernel);
  bool is_one_pass = kernel->schedule.phase_count == 1 && reduce->pass_count == 1;
  return is_one_pass && !kernel->loops.unrolled ? jit_kernel_find_reuse(kernel) : NULL;
}
