/* Small products of c64, such as gates applied to qubits: [2][2] times [2][2^n], which are too
 * small to be split into real and imaginary parts and packed (gemm.h).
 *
 *   columns   few terms, many columns (or rows: the product is transposed): vectors of columns
 *   pairs     few rows and columns, many terms: vectors of terms
 *
 * The side that is small, or not dense, is gathered in scratch memory first, in any order of its
 * dimensions. One worker: there is less to do than waking another costs. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/simd/simd_target.h"

#define MIN_RUN 4 /* least adjacent columns that are copied together */

/* Units: complex numbers. */
typedef struct small_complex_job {
  const float *a, *b; /* a: [m][k]; b: rows at b_rows, or for pairs [n][k] */
  float *c;
  const int64_t *b_rows;
  int64_t m, n, k, c_row, c_col;
} small_complex_job_t;

/* Computes a column that is not in a whole vector. */
static inline void small_complex_element(const small_complex_job_t *job, const float *a,
                                         const float *b, float *c) {
  float real = 0, imaginary = 0;
  for (int64_t p = 0; p < job->k; p++) {
    const float *y = b + 2 * job->b_rows[p];
    real += a[2 * p] * y[0] - a[2 * p + 1] * y[1];
    imaginary += a[2 * p] * y[1] + a[2 * p + 1] * y[0];
  }
  c[0] = real;
  c[1] = imaginary;
}

#define VECTOR_FILE "ops/kernels/dot/dot_small_complex_tiles.h"
#include "ops/kernels/simd/simd_foreach.h"

/* An operand as rows that vectors are loaded along, or that are gathered: offsets in complex
 * numbers. */
typedef struct small_complex_side {
  int64_t rows, columns;
  const int64_t *row_at, *column_at;
  bool is_dense; /* columns are adjacent */
  int64_t run;   /* length of runs of adjacent columns, which begin at its multiples */
  int operand;
} small_complex_side_t;

typedef struct dot_small_complex {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  void (*loop)(const small_complex_job_t *job);
  small_complex_job_t job;       /* without addresses */
  small_complex_side_t sides[2]; /* the job's a and b */
  bool gathers_b;
  size_t b_at;
} dot_small_complex_t;

NATIVE_CLONES
static void gather_row(const int64_t *at, int64_t count, const uint64_t *from, uint64_t *to) {
  for (int64_t c = 0; c < count; c++) to[c] = from[at[c]];
}

/* Copies a side to a dense rows x columns matrix by its lists of offsets. */
static void gather(const small_complex_side_t *side, const char *from, char *to) {
  uint64_t *row = (uint64_t *)to;
  int64_t run = side->run;
  for (int64_t r = 0; r < side->rows; r++, row += side->columns) {
    const uint64_t *start = (const uint64_t *)from + side->row_at[r];
    if (run < MIN_RUN)
      gather_row(side->column_at, side->columns, start, row);
    else
      for (int64_t c = 0; c < side->columns; c += run)
        memcpy(row + c, start + side->column_at[c], (size_t)run * 8);
  }
}

/* Runs the matrices of the batch one after the other; elements are 8 bytes. */
static hr_status_t run_small_complex(const op_native_run_t *run, const dot_strategy_t *strategy,
                                     void *const *in, void *const *out) {
  const dot_small_complex_t *plan = (const dot_small_complex_t *)strategy;
  const dot_problem_t *p = plan->problem;
  const int64_t *starts[] = {p->a.offsets, p->b.offsets};
  char *scratch = run->scratch;
  for (int64_t i = 0; i < p->batch; i++) {
    small_complex_job_t job = plan->job;
    const char *from[2];
    for (int s = 0; s < 2; s++) {
      int operand = plan->sides[s].operand;
      from[s] = (const char *)in[operand] + starts[operand][i] * 8;
    }
    gather(&plan->sides[0], from[0], scratch);
    job.a = (const float *)scratch;
    job.b = (const float *)from[1];
    if (plan->gathers_b) {
      gather(&plan->sides[1], from[1], scratch + plan->b_at);
      job.b = (const float *)(scratch + plan->b_at);
    }
    job.c = (float *)out[0] + 2 * i * p->m * p->n;
    plan->loop(&job);
  }
  return NULL;
}

/* Offsets of `count` rows or columns: `list`, or by a stride. */
static hr_status_t list_offsets(hr_arena_t *arena, const int64_t *list, int64_t count,
                                int64_t stride, const int64_t **out_list) {
  int64_t *offsets;
  HR_TRY(HR_NEW_ARRAY(arena, count, &offsets));
  for (int64_t i = 0; i < count; i++) offsets[i] = list ? list[i] : i * stride;
  *out_list = offsets;
  return NULL;
}

/* The first run's length, if all columns are in such runs; else 1. */
static int64_t run_of(const int64_t *at, int64_t count) {
  int64_t run = 1;
  while (run < count && at[run] == at[0] + run) run++;
  if (count % run) return 1;
  for (int64_t c = 1; c < count; c++)
    if (c % run && at[c] != at[c - 1] + 1) return 1;
  return run;
}

/* Describes operand `operand` with its free dimension along the rows of the side, or along its
 * columns. */
static hr_status_t plan_side(hr_arena_t *arena, const dot_problem_t *p, int operand,
                             bool free_is_row, small_complex_side_t *side) {
  const dot_matrices_t *x = operand ? &p->b : &p->a;
  int64_t count = operand ? p->n : p->m;
  const int64_t *free, *terms;
  bool in_place = !x->rows && !x->cols;
  int64_t free_step = operand ? x->col_step : x->row_step;
  int64_t term_step = operand ? x->row_step : x->col_step;
  HR_TRY(list_offsets(arena, operand ? x->cols : x->rows, count, free_step, &free));
  HR_TRY(list_offsets(arena, operand ? x->rows : x->cols, p->k, term_step, &terms));
  *side = (small_complex_side_t){.rows = free_is_row ? count : p->k,
                                 .columns = free_is_row ? p->k : count,
                                 .row_at = free_is_row ? free : terms,
                                 .column_at = free_is_row ? terms : free,
                                 .is_dense = in_place && (free_is_row ? term_step : free_step) == 1,
                                 .operand = operand};
  side->run = run_of(side->column_at, side->columns);
  return NULL;
}

#define MAX_PRODUCTS 65536 /* most multiply-adds of one matrix; larger ones are worth packing */
#define MAX_FEW 16         /* most rows, columns or terms that count as few */
#define MIN_MANY 8         /* least columns, or terms, for vectors */

/* Few terms: the job's b has the longer of the free dimensions as its columns. */
static hr_status_t plan_columns(hr_arena_t *arena, const dot_problem_t *p,
                                dot_small_complex_t *plan) {
  int wide = p->n >= p->m;
  plan->loop = SIMD_FOREACH(columns);
  HR_TRY(plan_side(arena, p, 1 - wide, true, &plan->sides[0]));
  HR_TRY(plan_side(arena, p, wide, false, &plan->sides[1]));
  const small_complex_side_t *b = &plan->sides[1];
  plan->gathers_b = !b->is_dense;
  plan->job = (small_complex_job_t){.b_rows = b->row_at,
                                    .m = plan->sides[0].rows,
                                    .n = b->columns,
                                    .k = p->k,
                                    .c_row = wide ? p->n : 1,
                                    .c_col = wide ? 1 : p->n};
  if (plan->gathers_b) HR_TRY(list_offsets(arena, NULL, p->k, b->columns, &plan->job.b_rows));
  return NULL;
}

/* Both sides are gathered with their terms dense. */
static hr_status_t plan_pairs(hr_arena_t *arena, const dot_problem_t *p,
                              dot_small_complex_t *plan) {
  plan->loop = SIMD_FOREACH(pairs);
  HR_TRY(plan_side(arena, p, 0, true, &plan->sides[0]));
  HR_TRY(plan_side(arena, p, 1, true, &plan->sides[1]));
  plan->gathers_b = true;
  plan->job = (small_complex_job_t){.m = p->m, .n = p->n, .k = p->k, .c_row = p->n, .c_col = 1};
  return NULL;
}

/* Declines products above MAX_PRODUCTS and those without a small free side. */
hr_status_t dot_prepare_small_complex(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out) {
  const dot_problem_t *p = problem;
  const matmul_types_t *t = &p->types;
  dot_small_complex_t *plan;
  int64_t few = p->m < p->n ? p->m : p->n, many = p->m + p->n - few;
  if (t->lhs != HR_C64 || t->rhs != HR_C64 || t->out != HR_C64 || p->packed_b) return NULL;
  if (p->m * p->n * p->k > MAX_PRODUCTS || few > MAX_FEW) return NULL;
  bool by_columns = p->k <= MAX_FEW && many >= MIN_MANY;
  bool by_pairs = many <= MAX_FEW && p->k >= MIN_MANY;
  if (!by_columns && !by_pairs) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"small complex", run_small_complex};
  plan->problem = p;
  HR_TRY((by_columns ? plan_columns : plan_pairs)(target->arena, p, plan));
  size_t total = 0;
  scratch_reserve(&total, (size_t)(plan->job.m * plan->job.k) * 8);
  plan->b_at = scratch_reserve(&total, plan->gathers_b ? (size_t)(plan->job.n * p->k) * 8 : 0);
  out->scratch_bytes = total;
  out->plan = plan;
  return NULL;
}
