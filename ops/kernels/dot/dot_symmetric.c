/* Symmetric products by blocks of columns: see dot_symmetric.h.
 *
 *   columns  0  1  2  3
 *   rows 0   x  x  x  x     x  computed
 *        1   c  x  x  x     c  copied from the block across the diagonal as soon as that is final
 *        2   c  c  x  x
 *        3   c  c  c  x
 *
 * A task is a column of blocks down to the diagonal, the longest first: its columns of B are packed
 * once. Rows of a block are final after the tasks of its columns and of all later ones. Many
 * workers share the single blocks. Blocks begin at multiples of a panel, so that sums have the same
 * bits in both cases. Terms of elements (i, j) and (j, i) are summed in the same order; they are
 * equal, or in (c x) x^T, with a scalar c, differ by a rounding. Cost: (blocks + 1) / (2 blocks) of
 * the products, and a copy of half of the result. */
#include "ops/kernels/dot/dot_symmetric.h"

#include "base/arith.h"
#include "ops/kernels/move/native_transpose.h"

enum {
  LEAST_SIDE = 128,  /* least rows and columns */
  LEAST_TERMS = 128, /* least terms, below which the copy costs about as much as it saves */
  MOST_FACTORS = 64, /* most products that are followed to a symmetric one */
  BLOCK_UNIT = 48,   /* divisor of a block's rows: whole panels of all vector widths and types */
  MOST_UNITS = 8,    /* most units of a block */
  ROW_BLOCKS = 16,   /* about as many blocks as a row should have */
  LEAST_TASKS = 4    /* least columns of blocks for each worker that makes whole ones */
};

static bool are_equal(hr_ints_t a, hr_ints_t b) {
  if (a.count != b.count) return false;
  for (int64_t i = 0; i < a.count; i++)
    if (a.data[i] != b.data[i]) return false;
  return true;
}

/* x, if the value of root is that of x times a scalar; else NULL. */
static const hlo_instr_t *scaled_array(const hlo_instr_t *root) {
  for (int k = 0; k < 2 && root->op == HLO_MULTIPLY; k++) {
    const hlo_instr_t *factor = root->operands[1 - k];
    if (factor->op == HLO_BROADCAST && hlo_shape_is_scalar(factor->operands[0]->shape))
      return root->operands[k];
  }
  return NULL;
}

/* An array of which x is a multiple by a scalar, in a fusion or not; x if none is known. */
static const hlo_instr_t *without_factor(const hlo_instr_t *x) {
  bool fused = x->op == HLO_FUSION;
  const hlo_instr_t *array = scaled_array(fused ? x->called[0]->root : x);
  if (!array) return x;
  if (!fused) return array;
  return array->op == HLO_PARAMETER ? x->operands[hlo_parameter_number(array)] : x;
}

/* Walks from (c s) s to s as long as it is not known that s is symmetric. */
bool dot_is_symmetric(const hlo_instr_t *dot) {
  const hlo_instr_t *x;
  for (int k = 0; k < MOST_FACTORS && dot->op == HLO_DOT; k++, dot = x) {
    x = without_factor(dot->operands[0]);
    if (x != without_factor(dot->operands[1])) return false;
    hr_ints_t lhs = hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
    hr_ints_t batch = hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
    if (are_equal(lhs, hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)))
      return are_equal(batch, hlo_attr_ints(dot, HLO_ATTR_RHS_BATCH_DIMS));
    if (x->shape->rank != 2 || batch.count || lhs.count != 1) return false;
  }
  return false;
}

bool dot_symmetric_suits(const gemm_job_t *job) {
  return (job->dtype == HR_F32 || job->dtype == HR_F64) && job->m == job->n &&
         job->n >= LEAST_SIDE && job->k >= LEAST_TERMS && !job->fill && !job->packed_b &&
         job->mode == GEMM_SET && gemm_depth_parts(job) == 1;
}

static int64_t block_rows(const gemm_job_t *job) {
  int64_t units = hr_div_ceil(job->n, ROW_BLOCKS * BLOCK_UNIT);
  return BLOCK_UNIT * hr_min(units, MOST_UNITS);
}

size_t dot_symmetric_space_bytes(const gemm_job_t *job) {
  gemm_job_t plain = *job;
  plain.finish = NULL;
  return hr_round_up(gemm_space_bytes(&plain), 64);
}

/* The part of the product with these rows and columns. */
static gemm_job_t part_of(const gemm_job_t *job, int64_t row, int64_t rows, int64_t column,
                          int64_t columns) {
  gemm_job_t part = *job;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype);
  part.m = rows;
  part.n = columns;
  part.finish = NULL;
  if (job->a_rows)
    part.a_rows += row;
  else
    part.a = (const char *)job->a + row * job->a_row * bytes;
  if (job->b_cols)
    part.b_cols += column;
  else
    part.b = (const char *)job->b + column * job->b_col * bytes;
  part.c = (char *)job->c + (row * job->c_row + column) * bytes;
  return part;
}

/* Computes rows [row, end) of a block of columns, none of them below the diagonal's block, and
 * copies those before this block to the other side. */
static void run_part(const gemm_job_t *job, int64_t row, int64_t end, int64_t column, int worker,
                     void *space) {
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype), step = job->c_row * bytes;
  int64_t columns = hr_min(block_rows(job), job->n - column), copied = hr_min(end, column);
  gemm_job_t part = part_of(job, row, end - row, column, columns);
  gemm_run_serial(&part, worker, space);
  if (copied > row)
    native_transpose_plane((int)bytes, columns, copied - row,
                           (const char *)job->c + row * step + column * bytes, step,
                           (char *)job->c + column * step + row * bytes, step);
}

typedef struct symmetric_run {
  const gemm_job_t *job;
  char *space;
  size_t space_bytes;
} symmetric_run_t;

static void *space_of(const symmetric_run_t *r, int worker) {
  return r->space + (size_t)worker * r->space_bytes;
}

/* Blocks on and above the diagonal, column by column. */
static void run_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const symmetric_run_t *r = context;
  int64_t unit = block_rows(r->job), column = 0, first = 0;
  for (int64_t i = begin; i < end; i++) {
    for (; i >= first + column + 1; column++) first += column + 1;
    int64_t row = (i - first) * unit;
    run_part(r->job, row, hr_min(row + unit, r->job->n), column * unit, worker,
             space_of(r, worker));
  }
}

/* Columns of blocks, numbered from the last one. */
static void run_columns(void *context, int64_t begin, int64_t end, int worker) {
  const symmetric_run_t *r = context;
  int64_t unit = block_rows(r->job), last = hr_div_ceil(r->job->n, unit) - 1;
  for (int64_t i = begin; i < end; i++) {
    int64_t column = (last - i) * unit;
    run_part(r->job, 0, hr_min(column + unit, r->job->n), column, worker, space_of(r, worker));
  }
}

static void finish_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const symmetric_run_t *r = context;
  const gemm_job_t *job = r->job;
  int64_t unit = block_rows(job);
  for (int64_t i = begin; i < end; i++)
    job->finish(job->finish_context, worker, i * unit, hr_min(unit, job->n - i * unit), 0, job->n);
}

static void run_shared(hr_workers_t *workers, symmetric_run_t *r) {
  int64_t blocks = hr_div_ceil(r->job->n, block_rows(r->job));
  if (blocks >= LEAST_TASKS * hr_workers_count(workers))
    hr_workers_for(workers, blocks, 1, run_columns, r);
  else
    hr_workers_for(workers, blocks * (blocks + 1) / 2, 1, run_blocks, r);
  if (r->job->finish) hr_workers_for(workers, blocks, 1, finish_blocks, r);
}

void dot_symmetric_run(hr_workers_t *workers, const gemm_job_t *job, int worker, void *space) {
  symmetric_run_t r = {job, space, dot_symmetric_space_bytes(job)};
  int64_t unit = block_rows(job), blocks = hr_div_ceil(job->n, unit);
  if (hr_workers_count(workers) > 1) {
    run_shared(workers, &r);
    return;
  }
  for (int64_t i = blocks - 1; i >= 0; i--) {
    run_part(job, 0, hr_min((i + 1) * unit, job->n), i * unit, worker, space);
    if (job->finish) finish_blocks(&r, i, i + 1, worker);
  }
}
