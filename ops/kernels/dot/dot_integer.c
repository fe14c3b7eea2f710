/* Products of integers by the reference's blocked product (matmul.h), rows divided among the
 * workers; products of few terms, or of few rows and columns, without packing. Wrapping sums do not
 * depend on their order, so results do not depend on the partition. */
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

#define ROW_UNIT 6            /* tasks are multiples of this number of rows */
#define SPLIT_PRODUCTS 100000 /* products above which a matrix is divided among the workers */
#define SMALL_ROWS 4          /* rows and columns whose sums are in registers */
#define SMALL_COLUMNS 16

typedef struct dot_integer {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  int64_t unit, parts;     /* rows of a task, tasks of a matrix */
  matmul_space_t **spaces; /* one per worker */
  dot_conversion_t a, b;
  bool narrowed; /* the products' type is wider than the result's */
  int element_bytes;
  size_t sums_at; /* narrowed: the products, bytes from the start of the scratch */
} dot_integer_t;

typedef struct dot_integer_run {
  const dot_integer_t *plan;
  const char *a, *b;
  char *c;
} dot_integer_run_t;

/* c[i] = sum over p of a[i][p] * b[p], for 4, 2 or 1 rows and 16, 8, 4, 2 or 1 columns at a time,
 * whose sums the compiler keeps in vectors; one column of dense terms as dot products. */
#define DEFINE_SMALL(NAME, T)                                                                      \
  static inline __attribute__((always_inline)) void NAME##_tile(const matmul_job_t *job, int rows, \
                                                                int count, int64_t i, int64_t j) { \
    const T *a = (const T *)job->a + i * job->a_row, *b = (const T *)job->b + j;                   \
    T *to = (T *)job->c + i * job->c_row + j;                                                      \
    T sums[SMALL_ROWS][SMALL_COLUMNS] = {0};                                                       \
    for (int64_t p = 0; p < job->k; p++, a += job->a_col, b += job->b_row)                         \
      for (int r = 0; r < rows; r++)                                                               \
        for (int c = 0; c < count; c++) sums[r][c] += a[r * job->a_row] * b[c];                    \
    for (int r = 0; r < rows; r++)                                                                 \
      for (int c = 0; c < count; c++) to[r * job->c_row + c] = sums[r][c];                         \
  }                                                                                                \
  static inline __attribute__((always_inline)) void NAME##_rows(const matmul_job_t *job, int rows, \
                                                                int64_t i) {                       \
    int64_t j = 0;                                                                                 \
    _Pragma("GCC unroll 5") for (int count = SMALL_COLUMNS; count;                                 \
                                 count /= 2) for (; j + count <= job->n; j += count)               \
        NAME##_tile(job, rows, count, i, j);                                                       \
  }                                                                                                \
  NATIVE_CLONES static void NAME##_dots(const matmul_job_t *job) {                                 \
    const T *a = job->a, *b = job->b;                                                              \
    for (int64_t i = 0; i < job->m; i++, a += job->a_row) {                                        \
      T sum = 0;                                                                                   \
      for (int64_t p = 0; p < job->k; p++) sum += a[p] * b[p];                                     \
      ((T *)job->c)[i * job->c_row] = sum;                                                         \
    }                                                                                              \
  }                                                                                                \
  NATIVE_CLONES static void NAME(const matmul_job_t *job) {                                        \
    int64_t i = 0;                                                                                 \
    for (; i + SMALL_ROWS <= job->m; i += SMALL_ROWS) NAME##_rows(job, SMALL_ROWS, i);             \
    for (; i + 2 <= job->m; i += 2) NAME##_rows(job, 2, i);                                        \
    for (; i < job->m; i++) NAME##_rows(job, 1, i);                                                \
  }
DEFINE_SMALL(small_u32, uint32_t)
DEFINE_SMALL(small_u64, uint64_t)

/* Are there few terms, or few sums of many? */
static bool suits_small(const dot_problem_t *p) {
  return dot_is_tiny(p, DOT_TINY_INTEGER_PRODUCTS) || (p->m <= SMALL_ROWS && p->n <= SMALL_COLUMNS);
}

/* Products of a few terms, without packing; b's rows must be dense. Accepts u32 and u64, in which
 * signed integers are multiplied too (two's complement). */
static bool run_small(const dot_problem_t *p, const matmul_job_t *job) {
  bool is_u32 = job->real == HR_U32, is_dots = job->n == 1 && job->a_col == 1 && job->b_row == 1;
  bool is_dense = job->b_col == 1 || job->n == 1;
  if (!suits_small(p) || !is_dense || (!is_u32 && job->real != HR_U64)) return false;
  if (is_dots)
    (is_u32 ? small_u32_dots : small_u64_dots)(job);
  else
    (is_u32 ? small_u32 : small_u64)(job);
  return true;
}

/* A task is a range of rows of one matrix of the batch; the last range may be shorter. */
static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const dot_integer_run_t *r = context;
  const dot_integer_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  for (int64_t task = begin; task < end; task++) {
    int64_t matrix = task / plan->parts;
    int64_t row = task % plan->parts * plan->unit;
    matmul_job_t job = {
        .real = p->types.real, .m = plan->unit, .n = p->n, .k = p->k, .c_row = p->n, .c_col = 1};
    if (job.m > p->m - row) job.m = p->m - row;
    job.a = r->a + (p->a.starts[matrix] + row * p->a.row_step) * plan->element_bytes;
    job.a_row = p->a.row_step;
    job.a_col = p->a.col_step;
    job.b = r->b + p->b.starts[matrix] * plan->element_bytes;
    job.b_row = p->b.row_step;
    job.b_col = p->b.col_step;
    job.c = r->c + (matrix * p->m + row) * p->n * plan->element_bytes;
    if (!run_small(p, &job)) matmul_run(&job, plan->spaces[worker]);
  }
}

/* Computes in the type of the products, then narrows if the result has another type. */
static hr_status_t run_integer(const op_native_run_t *run, const dot_strategy_t *strategy,
                               void *const *in, void *const *out) {
  const dot_integer_t *plan = (const dot_integer_t *)strategy;
  const dot_problem_t *p = plan->problem;
  dot_integer_run_t r = {.plan = plan};
  r.a = dot_convert_operand(run, p, &p->a, &plan->a, in[0]);
  r.b = dot_convert_operand(run, p, &p->b, &plan->b, in[1]);
  r.c = plan->narrowed ? (char *)run->scratch + plan->sums_at : out[0];
  hr_workers_for(run->workers, plan->parts * p->batch, 1, run_tasks, &r);
  if (!plan->narrowed) return NULL;
  native_narrow(run->workers, &p->types, r.c, p->batch * p->m * p->n, out[0]);
  return NULL;
}

/* Reserves converted operands and, if the result is narrower, the sums. */
static void plan_scratch(dot_integer_t *plan, op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  size_t each = (size_t)plan->element_bytes, total = 0;
  dot_conversion_init(p, &p->a, p->a.ordered, !matmul_is_widened(&p->types, p->types.lhs), &total,
                      &plan->a);
  dot_conversion_init(p, &p->b, p->b.ordered, !matmul_is_widened(&p->types, p->types.rhs), &total,
                      &plan->b);
  plan->sums_at =
      scratch_reserve(&total, plan->narrowed ? (size_t)(p->batch * p->m * p->n) * each : 0);
  out->scratch_bytes = total;
}

/* Rows are divided among workers only if the batch is too short to occupy them. */
hr_status_t dot_prepare_integer(const op_native_target_t *target, const dot_problem_t *problem,
                                op_native_step_t *out) {
  const matmul_types_t *types = &problem->types;
  dot_integer_t *plan;
  if (types->is_complex) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"blocks", run_integer};
  plan->problem = problem;
  plan->element_bytes = types->element_bytes;
  plan->narrowed = !matmul_is_widened(types, types->out);
  bool split = problem->flops / 2 > SPLIT_PRODUCTS && problem->batch < 4 * target->workers;
  int64_t parts = split ? target->workers : 1;
  int64_t rows = (problem->m + parts - 1) / parts;
  plan->unit = split ? (rows + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT : problem->m;
  plan->parts = (problem->m + plan->unit - 1) / plan->unit;
  HR_TRY(HR_NEW_ARRAY(target->arena, target->workers, &plan->spaces));
  for (int w = 0; w < target->workers; w++)
    HR_TRY(matmul_space_new(target->arena, types->real, plan->unit, problem->n, problem->k,
                            &plan->spaces[w]));
  plan_scratch(plan, out);
  out->plan = plan;
  return NULL;
}
