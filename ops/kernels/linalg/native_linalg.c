/* cholesky, triangular-solve, and the custom calls that JAX emits for them, by BLAS and LAPACK, one
 * thread per call. Matrices of a batch are distributed over the workers. A single solve is divided
 * by right-hand sides, a single factorisation into blocks (right-looking, as LAPACK's potrf):
 *
 *   L11                      factor the diagonal block (one worker)
 *   L21 = A21 L11^-H         rows of the panel below it over the workers (trsm)
 *   A22 = A22 - L21 L21^H    blocks of the trailing triangle over the workers (gemm)
 *
 * Rows of right-hand sides too few for BLAS's call overhead are solved by lu.h. Where a
 * library lacks a routine the kernel declines, and the reference kernel runs. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/dl.h"
#include "ops/kernels/linalg/lu.h"
#include "ops/kernels/linalg/native_linalg.h"

/* Constants of the CBLAS interface. */
enum {
  ROW_MAJOR = 101,
  NO_TRANSPOSE = 111,
  TRANSPOSE,
  CONJ_TRANSPOSE,
  UPPER = 121,
  LOWER,
  NON_UNIT = 131,
  UNIT,
  LEFT = 141,
  RIGHT
};

typedef void (*potrf_fn)(const char *uplo, const int *n, void *a, const int *step, int *info,
                         size_t one);
typedef void (*complex_trsm_fn)(int, int, int, int, int, int, int, const void *, const void *, int,
                                void *, int);
typedef void (*single_trsm_fn)(int, int, int, int, int, int, int, float, const void *, int, void *,
                               int);
typedef void (*double_trsm_fn)(int, int, int, int, int, int, int, double, const void *, int, void *,
                               int);
typedef void (*complex_gemm_fn)(int, int, int, int, int, int, const void *, const void *, int,
                                const void *, int, const void *, void *, int);
typedef void (*single_gemm_fn)(int, int, int, int, int, int, float, const void *, int, const void *,
                               int, float, void *, int);
typedef void (*double_gemm_fn)(int, int, int, int, int, int, double, const void *, int,
                               const void *, int, double, void *, int);

typedef struct linalg_routines {
  hr_dtype_t dtype;
  void *potrf, *trsm, *gemm;
} linalg_routines_t;

bool native_lapack_find(hr_dtype_t dtype, const char *prefix, const char *name,
                        void **out_routine) {
  static const char letters[HR_DTYPE_COUNT] = {
      [HR_F32] = 's', [HR_F64] = 'd', [HR_C64] = 'c', [HR_C128] = 'z'};
  char symbol[24];
  if (!letters[dtype]) return false;
  snprintf(symbol, sizeof symbol, "%s%c%s", prefix, letters[dtype], name);
  hr_status_t missing = hr_dl_symbol(HR_LIBRARY_LAPACK, symbol, out_routine);
  hr_status_release(missing);
  return !missing;
}

/* False where the type or the library is missing. */
static bool find_blas(hr_dtype_t dtype, linalg_routines_t *out) {
  out->dtype = dtype;
  return native_lapack_find(dtype, "", "potrf_", &out->potrf) &&
         native_lapack_find(dtype, "cblas_", "trsm", &out->trsm) &&
         native_lapack_find(dtype, "cblas_", "gemm", &out->gemm);
}

static const double one[2] = {1, 0}, minus_one[2] = {-1, 0};
static const float single_one[2] = {1, 0}, single_minus_one[2] = {-1, 0};

/* x = op(a)^-1 x, or x op(a)^-1 (trsm); row-major. */
static void trsm(const linalg_routines_t *r, int side, int uplo, int transpose, int diagonal, int m,
                 int n, const void *a, int a_step, void *x, int x_step) {
  if (r->dtype == HR_F32)
    ((single_trsm_fn)r->trsm)(ROW_MAJOR, side, uplo, transpose, diagonal, m, n, 1, a, a_step, x,
                              x_step);
  else if (r->dtype == HR_F64)
    ((double_trsm_fn)r->trsm)(ROW_MAJOR, side, uplo, transpose, diagonal, m, n, 1, a, a_step, x,
                              x_step);
  else
    ((complex_trsm_fn)r->trsm)(ROW_MAJOR, side, uplo, transpose, diagonal, m, n,
                               r->dtype == HR_C64 ? (const void *)single_one : one, a, a_step, x,
                               x_step);
}

/* c = c - a b^H (gemm); row-major, one stride for all three. */
static void gemm_subtract(const linalg_routines_t *r, int m, int n, int k, const void *a,
                          const void *b, void *c, int step) {
  if (r->dtype == HR_F32)
    ((single_gemm_fn)r->gemm)(ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, m, n, k, -1, a, step, b, step, 1,
                              c, step);
  else if (r->dtype == HR_F64)
    ((double_gemm_fn)r->gemm)(ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, m, n, k, -1, a, step, b, step, 1,
                              c, step);
  else if (r->dtype == HR_C64)
    ((complex_gemm_fn)r->gemm)(ROW_MAJOR, NO_TRANSPOSE, CONJ_TRANSPOSE, m, n, k, single_minus_one,
                               a, step, b, step, single_one, c, step);
  else
    ((complex_gemm_fn)r->gemm)(ROW_MAJOR, NO_TRANSPOSE, CONJ_TRANSPOSE, m, n, k, minus_one, a, step,
                               b, step, one, c, step);
}

/* Cholesky factor of a row-major matrix in place. LAPACK sees its transpose, hence the other
 * triangle. */
static int potrf(const linalg_routines_t *r, bool lower, int n, void *a, int step) {
  int info = 0;
  ((potrf_fn)r->potrf)(lower ? "U" : "L", &n, a, &step, &info, 1);
  return info;
}

static int min_int(int a, int b) { return (int)hr_min(a, b); }

/* --- cholesky --- */

#define BLOCK 128
#define PANEL_ROWS 64 /* rows of a panel that are solved in one call */

typedef struct cholesky_native {
  linalg_routines_t routines;
  int64_t batch;
  int n;
  bool lower, blocked;
  bool reports; /* potrf: info is a result, the other triangle is kept; cholesky zeroes it */
  int64_t grain;
} cholesky_native_t;

typedef struct cholesky_run {
  const cholesky_native_t *plan;
  char *a;
  int32_t *info;
  int first, last; /* columns of the current panel: [first, last) */
} cholesky_run_t;

static char *element(const cholesky_run_t *r, int64_t row, int64_t column) {
  return r->a + (row * r->plan->n + column) * (int64_t)hr_dtype_bytes(r->plan->routines.dtype);
}

/* cholesky's result is zero outside of its triangle; LAPACK leaves the input there. */
static void clear_other_triangle(const cholesky_run_t *r) {
  int64_t n = r->plan->n, element_bytes = (int64_t)hr_dtype_bytes(r->plan->routines.dtype);
  for (int64_t i = 0; i < n; i++) {
    if (r->plan->lower)
      memset(element(r, i, 0) + (i + 1) * element_bytes, 0, (size_t)((n - 1 - i) * element_bytes));
    else
      memset(element(r, i, 0), 0, (size_t)(i * element_bytes));
  }
}

/* The whole matrix becomes NaN where it is not positive definite, as in XLA. */
static void fill_with_nan(const cholesky_run_t *r) {
  hr_dtype_t real = hr_dtype_real(r->plan->routines.dtype);
  int64_t reals =
      (int64_t)r->plan->n * r->plan->n * (hr_dtype_is_complex(r->plan->routines.dtype) ? 2 : 1);
  for (int64_t i = 0; i < reals; i++)
    if (real == HR_F32)
      ((float *)r->a)[i] = NAN;
    else
      ((double *)r->a)[i] = NAN;
}

/* potrf reports `info` and leaves the matrix as LAPACK does; cholesky has no info and returns
 * NaN. */
static void finish_matrix(const cholesky_run_t *r, int info, int64_t matrix) {
  if (r->plan->reports)
    r->info[matrix] = info;
  else if (info)
    fill_with_nan(r);
  else
    clear_other_triangle(r);
}

/* One matrix after the other, for batches that are distributed over the workers. */
static void factor_matrices(void *context, int64_t begin, int64_t end, int worker) {
  cholesky_run_t r = *(const cholesky_run_t *)context;
  int64_t bytes = (int64_t)r.plan->n * r.plan->n * (int64_t)hr_dtype_bytes(r.plan->routines.dtype);
  char *all = r.a;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    r.a = all + i * bytes;
    finish_matrix(&r, potrf(&r.plan->routines, r.plan->lower, r.plan->n, r.a, r.plan->n), i);
  }
}

/* Panel rows of parts begin .. end - 1 below the diagonal block: L21 = A21 L11^-H. The order in
 * which BLAS sums depends on the number of rows, so that parts have a fixed one. */
static void solve_rows(void *context, int64_t begin, int64_t end, int worker) {
  const cholesky_run_t *r = context;
  int n = r->plan->n, width = r->last - r->first;
  int transpose = hr_dtype_is_complex(r->plan->routines.dtype) ? CONJ_TRANSPOSE : TRANSPOSE;
  (void)worker;
  for (int64_t part = begin; part < end; part++) {
    int row = r->last + (int)part * PANEL_ROWS;
    trsm(&r->plan->routines, RIGHT, LOWER, transpose, NON_UNIT, min_int(PANEL_ROWS, n - row), width,
         element(r, r->first, r->first), n, element(r, row, r->first), n);
  }
}

/* Blocks of the trailing triangle, numbered row by row: block (row, column) is row (row + 1) / 2
 * + column. */
static void update_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const cholesky_run_t *r = context;
  int n = r->plan->n, width = r->last - r->first;
  (void)worker;
  for (int64_t block = begin; block < end; block++) {
    int64_t row = 0, before = 0;
    while (before + row + 1 <= block) before += ++row;
    int i = r->last + (int)row * BLOCK, j = r->last + (int)(block - before) * BLOCK;
    gemm_subtract(&r->plan->routines, min_int(BLOCK, n - i), min_int(BLOCK, n - j), width,
                  element(r, i, r->first), element(r, j, r->first), element(r, i, j), n);
  }
}

/* One large matrix by all workers. Returns 0, or the order of the first minor that is not
 * positive definite, as LAPACK counts it. */
static int factor_in_blocks(hr_workers_t *workers, cholesky_run_t *r) {
  int n = r->plan->n;
  for (r->first = 0; r->first < n; r->first = r->last) {
    r->last = min_int(n, r->first + BLOCK);
    int info =
        potrf(&r->plan->routines, true, r->last - r->first, element(r, r->first, r->first), n);
    if (info) return r->first + info;
    int64_t left = n - r->last, rows = hr_div_ceil(left, BLOCK);
    hr_workers_for(workers, hr_div_ceil(left, PANEL_ROWS), 1, solve_rows, r);
    hr_workers_for(workers, rows * (rows + 1) / 2, 1, update_blocks, r);
  }
  return 0;
}

static hr_status_t run_cholesky(const op_native_run_t *run, const void *plan_, void *const *in,
                                void *const *out) {
  const cholesky_native_t *plan = plan_;
  cholesky_run_t r = {.plan = plan, .a = out[0], .info = plan->reports ? out[1] : NULL};
  size_t bytes = (size_t)plan->batch * (size_t)plan->n * (size_t)plan->n *
                 hr_dtype_bytes(plan->routines.dtype);
  if (in[0] != out[0]) memcpy(out[0], in[0], bytes);
  if (!plan->blocked) {
    hr_workers_split(run->workers, plan->batch, plan->grain, factor_matrices, &r);
    return NULL;
  }
  for (int64_t i = 0; i < plan->batch; i++) {
    r.a = (char *)out[0] + (size_t)i * (bytes / (size_t)plan->batch);
    finish_matrix(&r, factor_in_blocks(run->workers, &r), i);
  }
  return NULL;
}

/* Blocks pay for a lower triangle of several blocks, if the batch is short. */
static hr_status_t plan_cholesky(const op_native_target_t *target, const hlo_shape_t *a, bool lower,
                                 bool reports, op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0};
  cholesky_native_t *plan;
  int64_t count, n = a->rank ? a->dims[a->rank - 1] : 0;
  HR_TRY(hlo_shape_count(a, &count));
  if (n < 1 || n > INT32_MAX / 2 || count == 0) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  if (!find_blas(a->dtype, &plan->routines)) return NULL;
  plan->batch = count / n / n;
  plan->n = (int)n;
  plan->lower = lower;
  plan->reports = reports;
  plan->blocked = lower && n >= 3 * BLOCK && plan->batch < NATIVE_SUM_PARTS;
  plan->grain = 1 + 100000 / (n * n * n);
  out->flops = (double)plan->batch * (double)n * (double)n * (double)n / 3;
  out->bytes = 2 * (double)count * (double)hr_dtype_bytes(a->dtype);
  out->reuse = in_place;
  out->plan = plan;
  return NULL;
}

static hr_status_t prepare_cholesky(const op_native_target_t *target, const op_step_t *step,
                                    op_native_step_t *out) {
  const hlo_shape_t *a = step->in_shapes[0];
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) return NULL;
  return plan_cholesky(target, a, hlo_attr_bool(step->instr, HLO_ATTR_LOWER), false, out);
}

const op_native_t native_cholesky = {"cholesky", prepare_cholesky, run_cholesky};

/* --- triangular solve --- */

#define FEW_ROWS 32
#define SIDES_UNIT 16 /* right-hand sides of a part: a multiple of it */

typedef struct solve_native {
  linalg_routines_t routines;
  int64_t batch;
  int m, n; /* sizes of the right-hand sides */
  int size; /* size of the triangle */
  int side, uplo, transpose, diagonal;
  bool is_small; /* too small for BLAS: call overhead would dominate */
  bool split;    /* workers share right-hand sides, else the batch */
  int part;      /* right-hand sides of a call where they are shared */
  int64_t grain;
} solve_native_t;

typedef struct solve_run {
  const solve_native_t *plan;
  const char *a;
  char *x;
} solve_run_t;

/* One matrix after the other, for batches that are distributed over the workers. */
static void solve_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const solve_run_t *r = context;
  const solve_native_t *p = r->plan;
  int64_t element_bytes = (int64_t)hr_dtype_bytes(p->routines.dtype);
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const char *a = r->a + i * p->size * p->size * element_bytes;
    char *x = r->x + i * p->m * p->n * element_bytes;
    if (p->is_small)
      lu_solve_few(p->routines.dtype, p->uplo == LOWER ? LU_LOWER : LU_UPPER, p->diagonal == UNIT,
                   p->size, a, p->size, p->n, x, p->n);
    else
      trsm(&p->routines, p->side, p->uplo, p->transpose, p->diagonal, p->m, p->n, a, p->size, x,
           p->n);
  }
}

/* Right-hand sides are columns of x, or its rows if the triangle is on the right. Parts have a
 * fixed number of them, on which the order in which BLAS sums depends. */
static void solve_sides(void *context, int64_t begin, int64_t end, int worker) {
  const solve_run_t *r = context;
  const solve_native_t *p = r->plan;
  bool left = p->side == LEFT;
  int64_t step_bytes = (left ? 1 : p->n) * (int64_t)hr_dtype_bytes(p->routines.dtype);
  (void)worker;
  for (int64_t part = begin; part < end; part++) {
    int first = (int)part * p->part;
    int count = min_int(p->part, (left ? p->n : p->m) - first);
    trsm(&p->routines, p->side, p->uplo, p->transpose, p->diagonal, left ? p->m : count,
         left ? count : p->n, r->a, p->size, r->x + first * step_bytes, p->n);
  }
}

static hr_status_t run_solve(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  const solve_native_t *p = plan;
  solve_run_t r = {p, in[0], out[0]};
  int64_t element_bytes = (int64_t)hr_dtype_bytes(p->routines.dtype),
          bytes = (int64_t)p->m * p->n * element_bytes;
  if (in[1] != out[0]) memcpy(out[0], in[1], (size_t)(p->batch * bytes));
  if (!p->split) {
    hr_workers_split(run->workers, p->batch, p->grain, solve_matrices, &r);
    return NULL;
  }
  for (int64_t i = 0; i < p->batch; i++) {
    r.a = (const char *)in[0] + i * p->size * p->size * element_bytes;
    r.x = (char *)out[0] + i * bytes;
    int sides = p->side == LEFT ? p->n : p->m;
    hr_workers_for(run->workers, hr_div_ceil(sides, p->part), 1 + p->grain / p->part, solve_sides,
                   &r);
  }
  return NULL;
}

/* plan: side, uplo, transpose and diagonal are set. */
static hr_status_t plan_solve(const hlo_shape_t *a, const hlo_shape_t *b, solve_native_t *plan,
                              op_native_step_t *out) {
  static const uint64_t in_place[] = {2};
  int64_t count, sides;
  HR_TRY(hlo_shape_count(b, &count));
  if (a->rank < 2 || a->rank != b->rank || a->dtype != b->dtype || count == 0) return NULL;
  int64_t m = b->dims[b->rank - 2], n = b->dims[b->rank - 1], size = a->dims[a->rank - 1];
  if (m > INT32_MAX / 2 || n > INT32_MAX / 2 || size != a->dims[a->rank - 2] ||
      size != (plan->side == LEFT ? m : n) || !find_blas(a->dtype, &plan->routines))
    return NULL;
  plan->batch = count / m / n;
  plan->m = (int)m;
  plan->n = (int)n;
  plan->size = (int)size;
  sides = plan->side == LEFT ? n : m;
  plan->is_small = plan->side == LEFT && plan->transpose == NO_TRANSPOSE && size <= FEW_ROWS;
  plan->part = (int)hr_round_up(hr_div_ceil(sides, NATIVE_SUM_PARTS), SIDES_UNIT);
  plan->split = !plan->is_small && plan->batch < NATIVE_SUM_PARTS && plan->part < sides;
  int64_t work = size * size * (plan->split ? 1 : sides);
  plan->grain = 1 + 50000 / work;
  out->flops = (double)plan->batch * (double)size * (double)size * (double)sides;
  out->bytes = ((double)plan->batch * (double)size * (double)size + 2 * (double)count) *
               (double)hr_dtype_bytes(a->dtype);
  out->reuse = in_place;
  out->plan = plan;
  return NULL;
}

static hr_status_t prepare_solve(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const hlo_instr_t *instr = step->instr;
  solve_native_t *plan;
  int transpose = hlo_attr_enum(instr, HLO_ATTR_TRANSPOSE_A);
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->side = hlo_attr_bool(instr, HLO_ATTR_LEFT_SIDE) ? LEFT : RIGHT;
  plan->uplo = hlo_attr_bool(instr, HLO_ATTR_LOWER) ? LOWER : UPPER;
  plan->diagonal = hlo_attr_bool(instr, HLO_ATTR_UNIT_DIAGONAL) ? UNIT : NON_UNIT;
  plan->transpose = transpose == HLO_TRANSPOSE_TRANSPOSE ? TRANSPOSE
                    : transpose == HLO_TRANSPOSE_ADJOINT ? CONJ_TRANSPOSE
                                                         : NO_TRANSPOSE;
  return plan_solve(step->in_shapes[0], step->in_shapes[1], plan, out);
}

const op_native_t native_triangular_solve = {"triangular-solve", prepare_solve, run_solve};

/* --- custom calls --- */

extern const op_kernel_t custom_potrf, custom_trsm;

/* True if matrices are column-major and all other dimensions row-major: LAPACK's column-major
 * matrix then is the program's matrix. */
static bool has_lapack_layout(const hlo_layout_t *layout, const hlo_shape_t *shape,
                              int batch_rank) {
  int rank = shape->rank, columns = rank == batch_rank + 2;
  if (!layout) return !columns;
  if (layout->minor_to_major.count != rank) return false;
  const int64_t *order = layout->minor_to_major.data;
  for (int d = 0; d < rank; d++) {
    int wanted_dim = columns && d < 2 ? 1 - d : d;
    if (order[d] != rank - 1 - wanted_dim) return false;
  }
  return true;
}

static bool have_lapack_layouts(const op_step_t *step, int batch_rank) {
  for (int k = 0; k < step->instr->operand_count; k++)
    if (!has_lapack_layout(custom_operand_layout(step->instr, k), step->in_shapes[k], batch_rank))
      return false;
  for (int k = 0; k < custom_result_count(step->out_shape); k++)
    if (!has_lapack_layout(custom_result_layout(step->instr, k),
                           custom_result_shape(step->out_shape, k), batch_rank))
      return false;
  return true;
}

hr_status_t native_lapack_check(const op_native_target_t *target, const op_step_t *step,
                                const op_kernel_t *kernel, const lapack_plan_t **out_plan) {
  const void *plan = NULL;
  *out_plan = NULL;
  if (step->instr->operand_count == 0 || step->in_shapes[0]->rank < 2) return NULL;
  if (!have_lapack_layouts(step, step->in_shapes[0]->rank - 2)) return NULL;
  HR_TRY(kernel->prepare(target->arena, step, &plan));
  if (!((const lapack_plan_t *)plan)->scalars) *out_plan = plan;
  return NULL;
}

#define DEFINE_TRANSPOSE(T)                                                                       \
  static void transpose_##T(const T *from, int64_t rows, int64_t columns, int64_t parts, T *to) { \
    for (int64_t j = 0; j < columns; j++)                                                         \
      for (int64_t i = 0; i < rows; i++)                                                          \
        for (int64_t p = 0; p < parts; p++) *to++ = from[(i * columns + j) * parts + p];          \
  }
DEFINE_TRANSPOSE(float)
DEFINE_TRANSPOSE(double)

void native_transpose_small(hr_dtype_t dtype, const void *from, int64_t rows, int64_t columns,
                            void *to) {
  int64_t parts = hr_dtype_is_complex(dtype) ? 2 : 1;
  if (hr_dtype_real(dtype) == HR_F32)
    transpose_float(from, rows, columns, parts, to);
  else
    transpose_double(from, rows, columns, parts, to);
}

/* --- batches --- */

size_t native_matrices_plan(const op_native_target_t *target, int64_t batch, double products,
                            size_t matrix_bytes, size_t worker_bytes, native_matrices_t *out) {
  *out = (native_matrices_t){.batch = batch, .workers = target->workers};
  out->one_per_worker = batch >= 2 * target->workers || products < 1e5;
  out->grain = 1 + (int64_t)(100000 / products);
  out->matrix_bytes = (matrix_bytes + 63) / 64 * 64,
  out->worker_bytes = (worker_bytes + 63) / 64 * 64;
  return out->matrix_bytes * (size_t)(out->one_per_worker ? target->workers : 1) +
         out->worker_bytes * (size_t)target->workers;
}

typedef struct matrices_run {
  const native_matrices_t *plan;
  native_matrix_fn fn;
  const void *context;
  char *matrices, *spaces;
} matrices_run_t;

static void run_one_per_worker(void *context, int64_t begin, int64_t end, int worker) {
  const matrices_run_t *r = context;
  for (int64_t i = begin; i < end; i++)
    r->fn(r->context, i, NULL, r->matrices + (size_t)worker * r->plan->matrix_bytes,
          r->spaces + (size_t)worker * r->plan->worker_bytes);
}

void native_matrices_run(const native_matrices_t *plan, const op_native_run_t *run,
                         native_matrix_fn fn, const void *context) {
  hr_workers_t *workers = native_workers(run, plan->workers);
  matrices_run_t r = {plan, fn, context, run->scratch, run->scratch};
  r.spaces += plan->matrix_bytes * (size_t)(plan->one_per_worker ? plan->workers : 1);
  if (plan->one_per_worker) {
    hr_workers_for(workers, plan->batch, plan->grain, run_one_per_worker, &r);
    return;
  }
  for (int64_t i = 0; i < plan->batch; i++) fn(context, i, workers, r.matrices, r.spaces);
}

static hr_status_t prepare_potrf(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const lapack_plan_t *lapack;
  HR_TRY(native_lapack_check(target, step, &custom_potrf, &lapack));
  if (!lapack) return NULL;
  return plan_cholesky(target, step->in_shapes[0], mlir_dict_int(lapack->options, "uplo", 0) == 'L',
                       true, out);
}

const op_native_t native_custom_potrf = {"potrf", prepare_potrf, run_cholesky};

static hr_status_t prepare_trsm(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  const lapack_plan_t *lapack;
  solve_native_t *plan;
  HR_TRY(native_lapack_check(target, step, &custom_trsm, &lapack));
  if (!lapack || step->instr->operand_count != 2) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  int64_t trans = mlir_dict_int(lapack->options, "trans_x", 0);
  plan->side = mlir_dict_int(lapack->options, "side", 0) == 'L' ? LEFT : RIGHT;
  plan->uplo = mlir_dict_int(lapack->options, "uplo", 0) == 'L' ? LOWER : UPPER;
  plan->diagonal = mlir_dict_int(lapack->options, "diag", 0) == 'U' ? UNIT : NON_UNIT;
  plan->transpose = trans == 'T' ? TRANSPOSE : NO_TRANSPOSE;
  if (trans == 'C') plan->transpose = CONJ_TRANSPOSE;
  return plan_solve(step->in_shapes[0], step->in_shapes[1], plan, out);
}

const op_native_t native_custom_trsm = {"trsm", prepare_trsm, run_solve};
