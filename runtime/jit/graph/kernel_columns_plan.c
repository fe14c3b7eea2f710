/* Plan of kernel_columns.c: rows per iteration, groups of short runs of columns, blocks of columns
 * and rows. */
#include "base/arith.h"
#include "jit/graph/kernel_reduce.h"

/* Columns of a block, whose accumulators stay in the first-level cache. */
#define COLUMNS_TARGET 1024
/* Most columns of a short run, which is joined with adjacent groups. */
#define GROUP_COLUMNS_MAX 256
#define UNITS_TARGET 16
#define BLOCK_MIN 8192      /* least elements of a block of rows */
#define UNROLLED_NODES 40   /* most nodes of a row that is unrolled */
#define PARTS_NODES_MAX 480 /* most nodes of all parts of a block of columns */
#define CHUNK_ROWS 16       /* rows of a chunk */
#define CHUNK_SUMS 16       /* most accumulators of a column, which are in registers */
/* Most elements of a chunk, so that the lines of all arrays are in the first-level cache. */
#define CHUNK_ELEMENTS 1024

/* Splits the last reduced loop in two; the inner loop is inside the loop over columns, unrolled if
 * rows have few nodes. Else it takes the rows of a chunk, if these are short; sums of rows of one
 * vector are in registers in any case. */
static void split_rows(jit_kernel_t *kernel) {
  jit_nest_t *within = &kernel->loops.within;
  int last = within->rank - 1;
  bool unrolls = kernel->graph->node_count <= UNROLLED_NODES;
  int64_t columns = kernel->loops.nest.sizes[kernel->loops.nest.rank - 1];
  bool has_chunks = columns > jit_kernel_lanes(kernel) && columns * CHUNK_ROWS <= CHUNK_ELEMENTS &&
                    kernel->reduce->leaf_count <= CHUNK_SUMS;
  if (last < 0 || !(unrolls || has_chunks)) return;
  int64_t many = unrolls ? JIT_COLUMNS_UNROLL : CHUNK_ROWS;
  while (within->sizes[last] % many) many /= 2;
  if (many == 1) return;
  within->sizes[last] /= many;
  within->sizes[last + 1] = many;
  within->dims[last + 1] = within->dims[last];
  within->rank++;
  *(unrolls ? &kernel->reduce->unroll : &kernel->reduce->chunk) = (int)many;
}

int jit_columns_fixed_rank(const jit_kernel_t *kernel) {
  return kernel->loops.nest.rank - (kernel->reduce->groups ? 2 : 1);
}

int64_t jit_columns_group_count(const jit_kernel_t *kernel) {
  return kernel->reduce->groups ? kernel->loops.nest.sizes[kernel->loops.nest.rank - 2] : 1;
}

int64_t jit_columns_group_blocks(const jit_kernel_t *kernel) {
  return kernel->reduce->groups
             ? hr_div_ceil(jit_columns_group_count(kernel), kernel->reduce->groups)
             : 1;
}

static int64_t outer_units(const jit_kernel_t *kernel) {
  int64_t units = jit_columns_group_blocks(kernel);
  for (int v = 0; v < jit_columns_fixed_rank(kernel); v++) units *= kernel->loops.nest.sizes[v];
  return units;
}

/* Joins groups of few columns into longer contiguous runs. Groups are adjacent in memory if no
 * reduced dimension lies between the two kept ones. */
static void choose_groups(jit_kernel_t *kernel) {
  const jit_nest_t *nest = &kernel->loops.nest, *within = &kernel->loops.within;
  int var = nest->rank - 2;
  bool follow = var >= 0 && nest->sizes[nest->rank - 1] <= GROUP_COLUMNS_MAX;
  for (int w = 0; w < within->rank && follow; w++) follow = within->dims[w] < nest->dims[var];
  if (!follow) return;
  int64_t most = COLUMNS_TARGET / nest->sizes[nest->rank - 1];
  kernel->reduce->groups = most < nest->sizes[var] ? most : nest->sizes[var];
}

bool jit_columns_pads(const jit_kernel_t *kernel) { return kernel->loops.nest.rank == 1; }

int64_t jit_columns_acc_bytes(const jit_kernel_t *kernel) {
  int64_t count = kernel->reduce->outer_count;
  if (jit_columns_pads(kernel)) count = hr_round_up(count, kernel->loops.lanes);
  return count * kernel->reduce->element_bytes;
}

/* Chooses columns per unit so that accumulators stay in the first-level cache. Rows are divided
 * into blocks only if there are too few units for the workers; phase 1 then combines the partial
 * accumulators. */
static void choose_blocks(jit_kernel_t *kernel) {
  jit_reduce_t *reduce = kernel->reduce;
  int64_t columns = kernel->loops.nest.sizes[kernel->loops.nest.rank - 1],
          units = outer_units(kernel);
  reduce->columns = columns > COLUMNS_TARGET + COLUMNS_TARGET / 2 ? COLUMNS_TARGET : columns;
  if (units == 1 && columns >= 2048 && columns < UNITS_TARGET * COLUMNS_TARGET)
    reduce->columns = COLUMNS_TARGET / 2;
  units *= (columns + reduce->columns - 1) / reduce->columns;
  int64_t rows = kernel->loops.within.rank ? kernel->loops.within.sizes[0] : 1;
  int64_t unit_elements = reduce->outer_count * reduce->within_count / units;
  int64_t blocks = units >= UNITS_TARGET / 2 ? 1 : UNITS_TARGET / units;
  if (blocks > unit_elements / BLOCK_MIN) blocks = unit_elements / BLOCK_MIN;
  if (blocks > rows) blocks = rows;
  if (blocks < 1 || jit_reduce_is_from_left(reduce)) blocks = 1;
  reduce->block = (rows + blocks - 1) / blocks;
  reduce->block_count = (rows + reduce->block - 1) / reduce->block;
  kernel->schedule.phases[0].units = units * reduce->block_count;
  kernel->schedule.phases[1].units = units;
}

/* Parts of a single block of columns, if the code of all of them stays small. */
static void choose_parts(jit_kernel_t *kernel) {
  const jit_reduce_t *reduce = kernel->reduce;
  kernel->loops.inner.count = 0;
  kernel->loops.vectors = 1;
  if (reduce->columns < kernel->loops.nest.sizes[kernel->loops.nest.rank - 1]) return;
  jit_inner_parts(kernel);
  int64_t nodes = kernel->graph->node_count * (reduce->unroll ? reduce->unroll : 1);
  if (nodes * kernel->loops.inner.count > PARTS_NODES_MAX) kernel->loops.inner.count = 0;
}

/* Declines kernels that need a column's result before the column is complete. */
hr_status_t jit_columns_plan(jit_kernel_t *kernel) {
  HR_TRY(jit_reduce_plan(kernel));
  for (int i = 0; i < kernel->reduce->reduction_count; i++)
    if (kernel->reduce->reductions[i].pass)
      return hr_error(HR_UNSUPPORTED, "columns that depend on columns");
  for (int r = 0; r < kernel->root_count; r++)
    if (kernel->roots[r].is_full && kernel->roots[r].value->reduce.pass)
      return hr_error(HR_UNSUPPORTED, "full after columns");
  jit_nest_t within = kernel->loops.within;
  split_rows(kernel);
  int unroll = kernel->reduce->unroll, chunk = kernel->reduce->chunk;
  if (within.rank != kernel->loops.within.rank) HR_TRY(jit_reduce_build(kernel));
  jit_reduce_t *reduce = kernel->reduce;
  reduce->unroll = unroll;
  reduce->chunk = chunk;
  kernel->loops.lanes = jit_kernel_interleaved_lanes(
      kernel, jit_kernel_lanes(kernel), kernel->loops.nest.sizes[kernel->loops.nest.rank - 1]);
  choose_groups(kernel);
  choose_blocks(kernel);
  choose_parts(kernel);
  kernel->schedule.phase_count = 2;
  double ns =
      jit_kernel_ns(kernel, kernel->graph, (double)(reduce->outer_count * reduce->within_count));
  kernel->schedule.phases[0].unit_ns = ns / (double)kernel->schedule.phases[0].units;
  kernel->schedule.phases[1].unit_ns =
      jit_kernel_ns(kernel, kernel->graph, (double)(reduce->outer_count * reduce->block_count)) /
      (double)kernel->schedule.phases[1].units;
  kernel->schedule.scratch_bytes =
      (size_t)(reduce->block_count * reduce->leaf_count * jit_columns_acc_bytes(kernel));
  return NULL;
}
