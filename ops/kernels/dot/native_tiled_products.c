/* Products, and generated code on the rows between them, a tile of rows at a time: attention and
 * its gradient without their matrices of scores in memory.
 *
 * A task is a tile, or, where a product sums over rows, all tiles of a matrix one after the other.
 * A tile is computed, used and forgotten by one worker, in its own scratch memory; arrays that the
 * step has as results, and operands, are read and written where they are. Generated code numbers
 * rows through all matrices: it gets addresses of arrays that begin so far before the tile. Every
 * element is computed as by the steps one after the other; sums over rows are added up tile by
 * tile. Tiles have a size that does not depend on the number of workers, and so have the results.
 * Cost: a worker packs what is multiplied by tiles once for those of a matrix that follow each
 * other, and everything else for each tile. Columns that a mask hides from all rows of a tile are
 * left out of the product before the mask, and out of the one after it if they are zero there and
 * meet no infinity or NaN (tiled_mask.h): results are the same to the bit. */
#include <string.h>

#include "base/arith.h"
#include "base/fp_mode.h"
#include "ops/kernels/dot/tiled_mask.h"
#include "ops/kernels/dot/tiled_products.h"
#include "ops/kernels/dot/tiled_zeros.h"

typedef struct tiled_run {
  const tiled_plan_t *plan;
  const op_native_run_t *env;
  void *const *in, *const *out;
} tiled_run_t;

/* A tile under work. */
typedef struct tiled_tile {
  const tiled_run_t *run;
  char *memory; /* scratch of the worker */
  int worker;
  int64_t matrix, row, rows; /* rows [row, row + rows) of the matrix */
  int64_t first;             /* number of its first row among those of all matrices */
  bool is_first;             /* the worker computed no tile of this matrix just before */
} tiled_tile_t;

/* Address of row 0 of all matrices; only the rows of this tile may be there. Tiles lie to cache
 * lines as in the whole array. */
static char *array_of(const tiled_tile_t *tile, const tiled_value_t *value) {
  if (value->place == TILED_OPERAND) return tile->run->in[value->leaf];
  if (value->place == TILED_RESULT) return tile->run->out[value->leaf];
  uintptr_t before = (uintptr_t)(tile->first * value->row_bytes);
  uintptr_t at = (uintptr_t)(tile->memory + value->at) + before % 64;
  return (char *)(at - before); /* an integer, as that need not be an address of anything */
}

static char *tile_of(const tiled_tile_t *tile, const tiled_value_t *value) {
  return array_of(tile, value) + tile->first * value->row_bytes;
}

static void run_rows(const tiled_tile_t *tile, const tiled_step_t *step) {
  op_native_run_t env = *tile->run->env;
  op_native_part_t part = {tile->first, tile->rows, 0, tile->run->plan->columns};
  void **pointers = (void **)(tile->memory + step->pointers_at);
  env.scratch = tile->memory + step->scratch_at;
  for (int k = 0; k < step->in_count; k++) pointers[k] = array_of(tile, step->in[k]);
  for (int k = 0; k < step->out_count; k++)
    pointers[step->in_count + k] = array_of(tile, step->out[k]);
  step->rows->begin(&env, step->rows_plan, pointers, pointers + step->in_count);
  step->rows->part(&env, step->rows_plan, &part, 0);
}

/* Operand `k` of a product, which is no tile, for this tile's matrix. */
static const char *matrix_of(const tiled_tile_t *tile, const tiled_step_t *step, int k) {
  const dot_problem_t *problem = step->problem;
  const dot_matrices_t *side = k ? &problem->b : &problem->a;
  return array_of(tile, step->in[k]) + side->offsets[tile->matrix] * problem->types.element_bytes;
}

/* Reads rows of `a` from the tile's first on: of the result, or the terms of a sum. */
static void skip_rows(gemm_job_t *job, int64_t rows, int64_t bytes) {
  if (job->a_rows)
    job->a_rows += rows;
  else
    job->a = (const char *)job->a + rows * job->a_row * bytes;
}
static void skip_a_terms(gemm_job_t *job, int64_t terms, int64_t bytes) {
  if (job->a_rows)
    job->a_cols += terms;
  else
    job->a = (const char *)job->a + terms * job->a_col * bytes;
}
static void skip_b_terms(gemm_job_t *job, int64_t terms, int64_t bytes) {
  if (job->b_rows)
    job->b_rows += terms;
  else
    job->b = (const char *)job->b + terms * job->b_row * bytes;
}

static void take_tile_as_a(gemm_job_t *job, const void *tile, int64_t row, int64_t column) {
  job->a = tile;
  job->a_row = row;
  job->a_col = column;
  job->a_rows = NULL;
  job->a_cols = NULL;
}
static void take_tile_as_b(gemm_job_t *job, const void *tile, int64_t row, int64_t column) {
  job->b = tile;
  job->b_row = row;
  job->b_col = column;
  job->b_rows = NULL;
  job->b_cols = NULL;
}

/* Whether packed b is finite, which is asked when terms could be left out. */
typedef enum finiteness { UNKNOWN, FINITE, NOT_FINITE } finiteness_t;

static finiteness_t *finiteness_of(const tiled_tile_t *tile, const tiled_step_t *step) {
  return (finiteness_t *)(tile->memory + step->finiteness_at);
}

/* Packs what the tiles of this matrix are multiplied by, unless the tile before was of the same. */
static void take_packed_b(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  char *packed = tile->memory + step->packed_at;
  if (tile->is_first) {
    gemm_pack(job, packed);
    if (step->mask || step->zeros) *finiteness_of(tile, step) = UNKNOWN;
  }
  job->packed_b = packed;
}

/* Columns of the tile that some row of it sees, in whole panels of packed b. */
static tiled_range_t seen_columns(const tiled_tile_t *tile, const tiled_step_t *step,
                                  const gemm_panels_t *panels) {
  int64_t columns = tile->run->plan->columns;
  const tiled_mask_t *mask = step->mask;
  tiled_range_t range =
      mask ? tiled_mask_range(mask, (const uint8_t *)array_of(tile, mask->value), columns,
                              tile->matrix, tile->row, tile->rows)
           : tiled_nonzero_range(step->job.dtype, tile_of(tile, step->zeros), tile->rows, columns);
  range.first = range.first / panels->width * panels->width;
  range.end = hr_min(hr_round_up(range.end, panels->width), columns);
  return range;
}

/* Leaves out columns of the result that no row sees. */
static void leave_out_columns(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  int64_t bytes = step->problem->types.element_bytes;
  gemm_panels_t panels = gemm_panels_of(job);
  tiled_range_t seen = seen_columns(tile, step, &panels);
  if (panels.depth < job->k) seen.first = 0; /* panels of a column do not follow each other */
  job->packed_n = job->n;
  job->packed_b = (const char *)job->packed_b + gemm_packed_at(&panels, 0, seen.first) * bytes;
  job->c = (char *)job->c + seen.first * bytes;
  job->n = hr_max(seen.end - seen.first, 0);
}

/* Are the product's elements finite, and stay so with the factors of their rows? */
static bool stays_finite(const tiled_tile_t *tile, const tiled_step_t *step,
                         const gemm_job_t *job) {
  finiteness_t *finiteness = finiteness_of(tile, step);
  if (*finiteness == UNKNOWN)
    *finiteness = tiled_b_is_small(job, job->packed_b) ? FINITE : NOT_FINITE;
  bool finite = *finiteness == FINITE && tiled_a_is_small(job);
  for (int i = 0; i < TILED_FACTORS_MAX && finite; i++)
    finite = !step->factors[i] ||
             tiled_is_moderate(job->dtype, tile_of(tile, step->factors[i]), tile->rows);
  return finite;
}

/* Sets columns of the result that do not matter to zero, and leaves them out. Their values would
 * have been finite. */
static void leave_out_zeros(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  int64_t bytes = step->problem->types.element_bytes;
  gemm_panels_t panels = gemm_panels_of(job);
  tiled_range_t seen = seen_columns(tile, step, &panels);
  if (seen.end == job->n || !stays_finite(tile, step, job)) return;
  for (int64_t r = 0; r < job->m; r++)
    memset((char *)job->c + (r * job->c_row + seen.end) * bytes, 0,
           (size_t)((job->n - seen.end) * bytes));
  job->packed_n = job->n;
  job->n = seen.end;
}

/* Leaves out rows of a sum whose terms are all zero. */
static void leave_out_rows(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  int64_t bytes = step->problem->types.element_bytes;
  int64_t columns = tile->run->plan->columns;
  gemm_panels_t panels = {.width = 1};
  tiled_range_t seen = seen_columns(tile, step, &panels);
  if (seen.end == columns || !tiled_b_is_finite(job) ||
      !tiled_is_zero_from(job->dtype, job->a, tile->rows, columns, seen.end))
    return;
  if (job->mode == GEMM_SET)
    for (int64_t r = seen.end; r < job->m; r++)
      memset((char *)job->c + r * job->c_row * bytes, 0, (size_t)(job->n * bytes));
  job->m = seen.end;
}

/* Leaves out terms that no row sees, if they are zero for all rows and meet finite numbers. */
static void leave_out_terms(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  gemm_panels_t panels = gemm_panels_of(job);
  tiled_range_t seen = seen_columns(tile, step, &panels);
  finiteness_t *finiteness = finiteness_of(tile, step);
  if (!seen.end || seen.end == job->k) return;
  if (*finiteness == UNKNOWN)
    *finiteness = tiled_is_finite(job, job->packed_b) ? FINITE : NOT_FINITE;
  if (*finiteness == NOT_FINITE ||
      !tiled_is_zero_from(job->dtype, job->a, job->m, job->k, seen.end))
    return;
  job->packed_k = job->k;
  job->k = seen.end;
}

/* Leaves out what the step's mask, or the zeros of its tile, make unnecessary. */
static void leave_out(const tiled_tile_t *tile, const tiled_step_t *step, gemm_job_t *job) {
  if (!step->mask && !step->zeros) return;
  if (step->kind == TILED_LEFT_SUM) leave_out_rows(tile, step, job);
  if (!step->packs_once) return;
  if (step->kind == TILED_LEFT)
    leave_out_terms(tile, step, job);
  else if (step->mask)
    leave_out_columns(tile, step, job);
  else
    leave_out_zeros(tile, step, job);
}

static void run_product(const tiled_tile_t *tile, const tiled_step_t *step) {
  const tiled_plan_t *plan = tile->run->plan;
  int64_t bytes = step->problem->types.element_bytes;
  int64_t columns = plan->columns, skipped = 0;
  gemm_job_t job = step->job;
  bool left = step->kind == TILED_LEFT || step->kind == TILED_LEFT_SUM;
  bool right = step->kind == TILED_RIGHT || step->kind == TILED_RIGHT_SUM;
  if (!left) job.a = matrix_of(tile, step, 0);
  if (!right) job.b = matrix_of(tile, step, 1);
  switch (step->kind) {
    case TILED_PRODUCT:
      job.m = tile->rows;
      skip_rows(&job, tile->row, bytes);
      skipped = tile->row * job.c_row;
      break;
    case TILED_LEFT:
      job.m = tile->rows;
      take_tile_as_a(&job, tile_of(tile, step->in[0]), columns, 1);
      skipped = tile->row * job.c_row;
      break;
    case TILED_RIGHT:
      job.n = tile->rows;
      take_tile_as_b(&job, tile_of(tile, step->in[1]), 1, columns);
      skipped = tile->row;
      break;
    case TILED_LEFT_SUM:
      job.k = tile->rows;
      take_tile_as_a(&job, tile_of(tile, step->in[0]), 1, columns);
      skip_b_terms(&job, tile->row, bytes);
      break;
    default:
      job.k = tile->rows;
      skip_a_terms(&job, tile->row, bytes);
      take_tile_as_b(&job, tile_of(tile, step->in[1]), columns, 1);
  }
  bool adds = tile->row && (step->kind == TILED_LEFT_SUM || step->kind == TILED_RIGHT_SUM);
  job.mode = adds ? GEMM_ADD : GEMM_SET;
  int64_t before = tile->matrix * step->problem->m * step->problem->n + skipped;
  job.c = array_of(tile, step->out[0]) + before * bytes;
  hr_fp_mode_t mode = hr_fp_mode_flush();
  if (step->packs_once) take_packed_b(tile, step, &job);
  leave_out(tile, step, &job);
  if (job.m && job.n) gemm_run_serial(&job, tile->worker, tile->memory + plan->space_at);
  hr_fp_mode_set(mode);
}

static void run_tile(const tiled_tile_t *tile) {
  const tiled_plan_t *plan = tile->run->plan;
  for (int i = 0; i < plan->step_count; i++)
    if (plan->steps[i].kind == TILED_ROWS)
      run_rows(tile, &plan->steps[i]);
    else
      run_product(tile, &plan->steps[i]);
}

static char *worker_memory(const tiled_run_t *run, int worker) {
  return (char *)run->env->scratch + (size_t)worker * run->plan->worker_bytes;
}

/* Tiles [begin, end), or, where there are sums over rows, the tiles of these matrices. */
static void run_tiles(void *context, int64_t begin, int64_t end, int worker) {
  const tiled_run_t *run = context;
  const tiled_plan_t *plan = run->plan;
  int64_t blocks = hr_div_ceil(plan->rows, plan->block_rows);
  if (plan->sums) {
    begin *= blocks;
    end *= blocks;
  }
  for (int64_t i = begin; i < end; i++) {
    tiled_tile_t tile = {.run = run, .worker = worker, .matrix = i / blocks};
    tile.row = i % blocks * plan->block_rows;
    tile.rows = hr_min(plan->block_rows, plan->rows - tile.row);
    tile.first = tile.matrix * plan->rows + tile.row;
    tile.memory = worker_memory(run, worker);
    int64_t *packed_matrix = (int64_t *)(tile.memory + plan->packed_matrix_at);
    tile.is_first = *packed_matrix != tile.matrix;
    *packed_matrix = tile.matrix;
    run_tile(&tile);
  }
}

static hr_status_t run_tiled_products(const op_native_run_t *env, const void *opaque,
                                      void *const *in, void *const *out) {
  const tiled_plan_t *plan = opaque;
  tiled_run_t run = {plan, env, in, out};
  int64_t blocks = hr_div_ceil(plan->rows, plan->block_rows);
  int64_t tasks = plan->matrices * (plan->sums ? 1 : blocks);
  for (int w = 0; w < plan->workers; w++)
    *(int64_t *)(worker_memory(&run, w) + plan->packed_matrix_at) = -1;
  hr_workers_for(native_workers(env, plan->workers), tasks, 1, run_tiles, &run);
  return NULL;
}

const op_native_t native_tiled_products = {"tiles of products", tiled_products_prepare,
                                           run_tiled_products};
