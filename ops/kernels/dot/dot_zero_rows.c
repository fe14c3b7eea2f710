/* Zero rows and terms of products: see dot_zero_rows.h.
 *
 *   rows    the rows of a that are not zero, by a list of their offsets, times b, are the first
 *           rows of c; each is moved to its place, from the last one on; the others are zeros
 *   terms   the rows of a (stored by columns) and of b where both are not zero, by lists
 *
 * Cost: for a product without zeros, a look at the first elements of SAMPLES rows of each kind;
 * else one of each row, and one read of what is multiplied by zeros. */
#include "ops/kernels/dot/dot_zero_rows.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/conv_nonfinite.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  LEAST_SIDE = 64,          /* least rows, columns and terms */
  LEAST_PRODUCTS = 1 << 21, /* least multiply-adds, which take much longer than the test */
  SAMPLES = 16,             /* rows that are tested first */
  MOST_SAMPLES = 12,        /* most of these that may be nonzero */
  BLOCK = 64,               /* elements that are tested together */
  FINISHED_ROWS = 64        /* rows that an epilogue gets at once */
};

#define DEFINE_IS_ZERO(NAME, T)                                         \
  NATIVE_CLONES static bool NAME##_is_zero(const T *x, int64_t count) { \
    for (int64_t i = 0; i < count; i += BLOCK) {                        \
      int64_t last = hr_min(i + BLOCK, count), found = 0;               \
      if (x[i] != 0) return false;                                      \
      for (int64_t j = i; j < last; j++) found += x[j] != 0;            \
      if (found) return false;                                          \
    }                                                                   \
    return true;                                                        \
  }
DEFINE_IS_ZERO(f32, float)
DEFINE_IS_ZERO(f64, double)

/* Rows of an operand: `length` adjacent elements each, `step` elements apart. */
typedef struct zero_rows {
  const char *data;
  int64_t count, length, step;
} zero_rows_t;

static const char *row_at(const gemm_job_t *job, const zero_rows_t *x, int64_t row) {
  return x->data + row * x->step * (int64_t)hr_dtype_bytes(job->dtype);
}

static bool is_zero(const gemm_job_t *job, const zero_rows_t *x, int64_t row) {
  const char *data = row_at(job, x, row);
  return job->dtype == HR_F64 ? f64_is_zero((const double *)data, x->length)
                              : f32_is_zero((const float *)data, x->length);
}

/* May enough rows be zeros? Judges by SAMPLES rows at equal distances. */
static bool may_be_zeros(const gemm_job_t *job, const zero_rows_t *x) {
  int nonzero = 0;
  for (int64_t i = 0; i < SAMPLES; i++)
    nonzero += !is_zero(job, x, i * (x->count - 1) / (SAMPLES - 1));
  return nonzero <= MOST_SAMPLES;
}

/* Lists the rows where neither x nor y is zero; 0: they are more than `most`. */
static int64_t list_nonzero(const gemm_job_t *job, const zero_rows_t *x, const zero_rows_t *y,
                            int64_t most, int64_t *rows) {
  int64_t found = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (is_zero(job, x, i) || (y && is_zero(job, y, i))) continue;
    if (found == most) return 0;
    rows[found++] = i;
  }
  if (!found) rows[found++] = 0; /* a product has at least one row and one term */
  return found;
}

/* Are the rows of x that the sorted list leaves out finite? */
static bool are_left_out_finite(const gemm_job_t *job, const zero_rows_t *x, const int64_t *rows,
                                int64_t count) {
  int64_t next = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (next < count && rows[next] == i)
      next++;
    else if (!conv_are_finite(NULL, job->dtype, row_at(job, x, i), x->length))
      return false;
  }
  return true;
}

static void list_steps(int64_t count, int64_t step, int64_t *offsets) {
  for (int64_t i = 0; i < count; i++) offsets[i] = i * step;
}

/* Lists of the offsets of a's rows and columns and of b's, and of the numbers of a's rows. */
typedef struct zero_lists {
  int64_t *a_rows, *a_cols, *b_rows, *b_cols, *rows;
} zero_lists_t;

static zero_lists_t lists_of(const gemm_job_t *job, void *scratch) {
  zero_lists_t lists = {.a_rows = scratch};
  lists.a_cols = lists.a_rows + job->m;
  lists.b_rows = lists.a_cols + job->k;
  lists.b_cols = lists.b_rows + job->k;
  lists.rows = lists.b_cols + job->n;
  return lists;
}

static size_t lists_bytes(const gemm_job_t *job) {
  return (size_t)hr_round_up((2 * job->m + 2 * job->k + job->n) * (int64_t)sizeof(int64_t), 64);
}

/* The terms of a are its columns, adjacent in memory. Requires: a_row and b_col are 1. */
static bool leave_out_terms(gemm_job_t *part, const zero_lists_t *lists) {
  zero_rows_t a = {part->a, part->k, part->m, part->a_col};
  zero_rows_t b = {part->b, part->k, part->n, part->b_row};
  if (!may_be_zeros(part, &a) && !may_be_zeros(part, &b)) return false;
  int64_t count = list_nonzero(part, &a, &b, part->k / 2, lists->a_cols);
  if (!count || !are_left_out_finite(part, &a, lists->a_cols, count) ||
      !are_left_out_finite(part, &b, lists->a_cols, count))
    return false;
  list_steps(part->m, 1, lists->a_rows);
  list_steps(part->n, 1, lists->b_cols);
  for (int64_t i = 0; i < count; i++) {
    lists->b_rows[i] = lists->a_cols[i] * part->b_row;
    lists->a_cols[i] *= part->a_col;
  }
  part->a_rows = lists->a_rows;
  part->a_cols = lists->a_cols;
  part->b_rows = lists->b_rows;
  part->b_cols = lists->b_cols;
  part->k = count;
  return true;
}

/* Most rows that are multiplied by a list. They are copied to scratch memory, and should not take
 * more of it than the panels of b. */
static int64_t most_rows(const gemm_job_t *job) { return hr_div_ceil(job->m, 4); }

/* Requires: a_col is 1. */
static bool leave_out_rows(hr_workers_t *workers, gemm_job_t *part, const zero_lists_t *lists) {
  int64_t *rows = lists->rows;
  zero_rows_t a = {part->a, part->m, part->k, part->a_row};
  if (!may_be_zeros(part, &a)) return false;
  int64_t count = list_nonzero(part, &a, NULL, most_rows(part), rows);
  if (!count || !conv_are_finite(workers, part->dtype, part->b, part->k * part->n)) return false;
  for (int64_t i = 0; i < count; i++) lists->a_rows[i] = rows[i] * part->a_row;
  list_steps(part->k, 1, lists->a_cols);
  part->a_rows = lists->a_rows;
  part->a_cols = lists->a_cols;
  part->m = count;
  part->finish = NULL;
  return true;
}

/* The rows of a result of which `count` have been computed. */
typedef struct zero_result {
  const gemm_job_t *job;
  const int64_t *rows;
  int64_t count;
} zero_result_t;

/* Zeros of rows that were left out, and the epilogue. The unit is FINISHED_ROWS rows. */
static void finish_rows(void *context, int64_t begin, int64_t end, int worker) {
  const zero_result_t *result = context;
  const gemm_job_t *job = result->job;
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype), next = 0;
  while (next < result->count && result->rows[next] < begin * FINISHED_ROWS) next++;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i * FINISHED_ROWS, last = hr_min(first + FINISHED_ROWS, job->m);
    for (int64_t row = first; row < last; row++) {
      if (next < result->count && result->rows[next] == row)
        next++;
      else
        memset((char *)job->c + row * job->c_row * bytes, 0, (size_t)(job->n * bytes));
    }
    if (job->finish) job->finish(job->finish_context, worker, first, last - first, 0, job->n);
  }
}

/* Moves the computed rows, which are the first ones, to their places. */
static void place_rows(hr_workers_t *workers, const gemm_job_t *job, const int64_t *rows,
                       int64_t count) {
  zero_result_t result = {job, rows, count};
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype), step = job->c_row * bytes;
  char *c = job->c;
  for (int64_t i = count - 1; i >= 0; i--)
    if (rows[i] != i) memcpy(c + rows[i] * step, c + i * step, (size_t)(job->n * bytes));
  hr_workers_for(workers, hr_div_ceil(job->m, FINISHED_ROWS), 1, finish_rows, &result);
}

/* The same parts, of fewer rows or terms. */
static gemm_partition_t part_partition(const gemm_job_t *part, const gemm_partition_t *whole) {
  gemm_partition_t partition = *whole;
  int64_t unit = GEMM_TILE_ROWS(gemm_vector_bytes());
  partition.row_unit = hr_round_up(hr_div_ceil(part->m, whole->row_parts), unit);
  partition.row_parts = hr_div_ceil(part->m, partition.row_unit);
  partition.depth_unit = part->k;
  return partition;
}

bool dot_zero_rows_suits(const gemm_job_t *job) {
  bool strided = !job->a_rows && !job->a_cols && !job->b_rows && !job->b_cols;
  bool dense_b =
      (job->b_col == 1 && job->b_row == job->n) || (job->b_row == 1 && job->b_col == job->k);
  return (job->dtype == HR_F32 || job->dtype == HR_F64) && strided && dense_b && !job->packed_b &&
         !job->fill && job->mode == GEMM_SET && job->m >= LEAST_SIDE && job->n >= LEAST_SIDE &&
         job->k >= LEAST_SIDE && job->m * job->n * job->k >= LEAST_PRODUCTS &&
         gemm_depth_parts(job) == 1 && (job->a_col == 1 || (job->a_row == 1 && job->b_col == 1));
}

size_t dot_zero_rows_scratch_bytes(const gemm_job_t *job, const gemm_partition_t *partition,
                                   int workers) {
  gemm_job_t listed = *job;
  listed.a_rows = &job->m; /* not NULL, as in the run */
  if (job->a_col == 1) listed.m = most_rows(job);
  return lists_bytes(job) + gemm_scratch_bytes(&listed, partition, workers);
}

bool dot_zero_rows_run(hr_workers_t *workers, const gemm_job_t *job,
                       const gemm_partition_t *partition, void *scratch) {
  zero_lists_t lists = lists_of(job, scratch);
  gemm_job_t part = *job;
  bool by_terms = job->a_col != 1;
  bool reduced = by_terms ? leave_out_terms(&part, &lists) : leave_out_rows(workers, &part, &lists);
  if (!reduced) return false;
  gemm_partition_t parts = part_partition(&part, partition);
  gemm_run(workers, &part, &parts, (char *)scratch + lists_bytes(job));
  if (!by_terms) place_rows(workers, job, lists.rows, part.m);
  return true;
}
