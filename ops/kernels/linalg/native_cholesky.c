/* cholesky, and potrf as JAX's custom call: lower factors of real matrices by triangular_halves.h
 * and gemm.h, others by LAPACK and BLAS. Matrices of a batch are distributed over the workers; a
 * single large lower factor is divided into blocks (right-looking, as LAPACK's potrf):
 *
 *   L11                      factor the diagonal block (one worker)
 *   L21 = A21 L11^-H         rows of the panel below it over the workers (trsm)
 *   A22 = A22 - L21 L21^H    blocks of the trailing triangle over the workers (gemm)
 *
 * Cost: n^3 / 3 multiply-adds per matrix. If the library lacks a routine the kernel declines, and
 * the reference kernel runs. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/blas_routines.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/linalg/triangular_halves.h"

static int min_int(int a, int b) { return (int)hr_min(a, b); }

/* Rows and columns of a block of the blocked factorisation. */
#define BLOCK 128
#define PANEL_ROWS 64 /* rows of a panel that are solved in one call */

/* One plan; `grain` is the number of matrices per task. */
typedef struct cholesky_native {
  blas_routines_t routines;
  int64_t batch;
  int n;
  bool lower, blocked;
  bool by_halves;
  const batched_small_loops_t *batched; /* NULL: matrices one by one */
  size_t space_bytes;                   /* scratch bytes of a worker */
  int workers;                          /* workers that have scratch memory */
  bool reports; /* potrf: info is a result, and the other triangle is kept; cholesky zeroes that */
  int64_t grain;
} cholesky_native_t;

typedef struct cholesky_run {
  const cholesky_native_t *plan;
  char *a;
  const char *operand; /* the unfactored matrix */
  char *spaces;
  int32_t *info;
  int first, last; /* columns of the current panel: [first, last) */
} cholesky_run_t;

/* Address of an element of the current matrix. */
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

/* triangular_halves.h leaves the other triangle undefined; potrf's result has the operand's
 * elements there. */
static void restore_upper_triangle(const cholesky_run_t *r) {
  int64_t n = r->plan->n, element_bytes = (int64_t)hr_dtype_bytes(r->plan->routines.dtype);
  for (int64_t i = 0; i + 1 < n; i++)
    memcpy(element(r, i, i + 1), r->operand + (i * n + i + 1) * element_bytes,
           (size_t)((n - 1 - i) * element_bytes));
}

/* The whole matrix becomes NaN if it is not positive definite, as in XLA. */
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
  if (r->plan->reports && r->plan->by_halves) restore_upper_triangle(r);
  if (r->plan->reports)
    r->info[matrix] = info;
  else if (info)
    fill_with_nan(r);
  else
    clear_other_triangle(r);
}

static char *worker_space(const cholesky_run_t *r, int worker) {
  return r->spaces + (size_t)worker * r->plan->space_bytes;
}

/* Factors `size` rows and columns at `a`. */
static int factor_part(const cholesky_run_t *r, int size, char *a, int worker) {
  const cholesky_native_t *p = r->plan;
  return p->by_halves
             ? (int)triangular_cholesky(p->routines.dtype, size, a, p->n, worker_space(r, worker))
             : blas_potrf(&p->routines, p->lower, size, a, p->n);
}

/* Factors one matrix after the other, for batches that are distributed over the workers. */
static void factor_matrices(void *context, int64_t begin, int64_t end, int worker) {
  cholesky_run_t r = *(const cholesky_run_t *)context;
  int64_t bytes = (int64_t)r.plan->n * r.plan->n * (int64_t)hr_dtype_bytes(r.plan->routines.dtype);
  char *all = r.a;
  const char *operands = r.operand;
  for (int64_t i = begin; i < end; i++) {
    r.a = all + i * bytes;
    r.operand = operands + i * bytes;
    finish_matrix(&r, factor_part(&r, r.plan->n, r.a, worker), i);
  }
}

/* Factors groups of interleaved matrices. A group with a matrix that is not positive definite is
 * factored one by one. */
static void factor_groups(void *context, int64_t begin, int64_t end, int worker) {
  cholesky_run_t r = *(const cholesky_run_t *)context;
  const cholesky_native_t *p = r.plan;
  int64_t size = (int64_t)p->n * p->n, bytes = size * (int64_t)hr_dtype_bytes(p->routines.dtype);
  char *all = r.a, *space = worker_space(&r, worker);
  int row = p->lower ? p->n : 1;
  int column = p->lower ? 1 : p->n;
  for (int64_t group = begin; group < end; group++) {
    int64_t first = group * p->batched->lanes, count = hr_min(p->batch - first, p->batched->lanes);
    p->batched->load(all + first * bytes, size, count, space);
    if (!p->batched->potrf(p->n, row, column, space)) {
      factor_matrices(context, first, first + count, worker);
      continue;
    }
    p->batched->store(space, size, count, all + first * bytes);
    for (int64_t i = first; i < first + count; i++) {
      r.a = all + i * bytes;
      if (p->reports)
        r.info[i] = 0;
      else
        clear_other_triangle(&r);
    }
  }
}

/* Solves `rows` rows of the panel, from `row` on, by products (triangular_halves.h). */
static void solve_by_halves(const cholesky_run_t *r, int row, int rows, int worker) {
  const cholesky_native_t *plan = r->plan;
  const triangular_job_t panel = {.dtype = plan->routines.dtype,
                                  .right = true,
                                  .upper = true,
                                  .size = r->last - r->first,
                                  .sides = rows,
                                  .t = element(r, r->first, r->first),
                                  .t_row = 1,
                                  .t_col = plan->n,
                                  .x = element(r, row, r->first),
                                  .x_row = plan->n};
  triangular_solve(&panel, worker_space(r, worker));
}

/* Solves panel rows of parts begin .. end - 1 below the diagonal block: L21 = A21 L11^-H. The order
 * of BLAS's sums depends on the number of rows, so parts have a fixed number. */
static void solve_rows(void *context, int64_t begin, int64_t end, int worker) {
  const cholesky_run_t *r = context;
  const blas_routines_t *routines = &r->plan->routines;
  int n = r->plan->n, width = r->last - r->first;
  int transpose = hr_dtype_is_complex(routines->dtype) ? BLAS_CONJ_TRANSPOSE : BLAS_TRANSPOSE;
  for (int64_t part = begin; part < end; part++) {
    int row = r->last + (int)part * PANEL_ROWS, rows = min_int(PANEL_ROWS, n - row);
    if (r->plan->by_halves)
      solve_by_halves(r, row, rows, worker);
    else
      blas_trsm(routines, BLAS_RIGHT, BLAS_LOWER, transpose, BLAS_NON_UNIT, rows, width,
                element(r, r->first, r->first), n, element(r, row, r->first), n);
  }
}

/* A block of BLOCK x BLOCK elements, at most, of the trailing triangle: its own product. */
static gemm_job_t block_product(const cholesky_native_t *plan, int64_t rows, int64_t columns,
                                int64_t depth) {
  return (gemm_job_t){.dtype = plan->routines.dtype,
                      .mode = GEMM_SUBTRACT,
                      .m = rows,
                      .n = columns,
                      .k = depth,
                      .a_row = plan->n,
                      .a_col = 1,
                      .b_row = 1,
                      .b_col = plan->n,
                      .c_row = plan->n};
}

/* Subtracts L21 L21^H from the block at (i, j). */
static void update_block(const cholesky_run_t *r, int i, int j, int worker) {
  int n = r->plan->n, width = r->last - r->first;
  int rows = min_int(BLOCK, n - i), columns = min_int(BLOCK, n - j);
  if (!r->plan->by_halves) {
    blas_gemm_subtract(&r->plan->routines, rows, columns, width, element(r, i, r->first),
                       element(r, j, r->first), element(r, i, j), n);
    return;
  }
  gemm_job_t product = block_product(r->plan, rows, columns, width);
  product.a = element(r, i, r->first);
  product.b = element(r, j, r->first);
  product.c = element(r, i, j);
  gemm_run_serial(&product, worker, worker_space(r, worker));
}

/* Updates blocks of the trailing triangle, numbered row by row: block (row, column) is row (row +
 * 1) / 2 + column. */
static void update_blocks(void *context, int64_t begin, int64_t end, int worker) {
  const cholesky_run_t *r = context;
  for (int64_t block = begin; block < end; block++) {
    int64_t row = 0, before = 0;
    while (before + row + 1 <= block) before += ++row;
    update_block(r, r->last + (int)row * BLOCK, r->last + (int)(block - before) * BLOCK, worker);
  }
}

/* Factors one large matrix by all workers. Returns 0, or the order of the first minor that is not
 * positive definite, like LAPACK. */
static int factor_in_blocks(hr_workers_t *workers, cholesky_run_t *r) {
  int n = r->plan->n;
  for (r->first = 0; r->first < n; r->first = r->last) {
    r->last = min_int(n, r->first + BLOCK);
    int info = factor_part(r, r->last - r->first, element(r, r->first, r->first), 0);
    if (info) return r->first + info;
    int64_t left = n - r->last, rows = hr_div_ceil(left, BLOCK);
    hr_workers_for(workers, hr_div_ceil(left, PANEL_ROWS), 1, solve_rows, r);
    hr_workers_for(workers, rows * (rows + 1) / 2, 1, update_blocks, r);
  }
  return 0;
}

/* The operand is copied to the result unless both are the same buffer, and factored there. */
static hr_status_t run_cholesky(const op_native_run_t *run, const void *plan_, void *const *in,
                                void *const *out) {
  const cholesky_native_t *plan = plan_;
  cholesky_run_t r = {.plan = plan,
                      .a = out[0],
                      .operand = in[0],
                      .spaces = run->scratch,
                      .info = plan->reports ? out[1] : NULL};
  hr_workers_t *workers = plan->space_bytes ? native_workers(run, plan->workers) : run->workers;
  size_t bytes = (size_t)plan->batch * (size_t)plan->n * (size_t)plan->n *
                 hr_dtype_bytes(plan->routines.dtype);
  if (in[0] != out[0]) memcpy(out[0], in[0], bytes);
  if (plan->batched) {
    int64_t lanes = plan->batched->lanes;
    hr_workers_split(workers, hr_div_ceil(plan->batch, lanes), plan->grain / lanes + 1,
                     factor_groups, &r);
    return NULL;
  }
  if (!plan->blocked) {
    hr_workers_split(workers, plan->batch, plan->grain, factor_matrices, &r);
    return NULL;
  }
  for (int64_t i = 0; i < plan->batch; i++) {
    r.a = (char *)out[0] + (size_t)i * (bytes / (size_t)plan->batch);
    finish_matrix(&r, factor_in_blocks(workers, &r), i);
  }
  return NULL;
}

/* Scratch bytes of a worker for one matrix, or for one block. */
static size_t halves_space_bytes(const cholesky_native_t *plan, hr_dtype_t dtype) {
  if (!plan->by_halves) return 0;
  if (!plan->blocked) return triangular_space_bytes(dtype, plan->n, plan->n);
  gemm_job_t product = block_product(plan, BLOCK, BLOCK, BLOCK);
  size_t blocks = (size_t)hr_round_up((int64_t)gemm_space_bytes(&product), 64);
  size_t solves = triangular_space_bytes(dtype, BLOCK, BLOCK);
  return blocks > solves ? blocks : solves;
}

static size_t batched_space_bytes(const cholesky_native_t *plan, hr_dtype_t dtype) {
  if (!plan->batched) return 0;
  return (size_t)plan->n * (size_t)plan->n * (size_t)plan->batched->lanes * hr_dtype_bytes(dtype);
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
  if (!blas_routines_find(a->dtype, &plan->routines)) return NULL;
  plan->batch = count / n / n;
  plan->n = (int)n;
  plan->lower = lower;
  plan->reports = reports;
  plan->blocked = lower && n >= 3 * BLOCK && plan->batch < NATIVE_SUM_PARTS;
  plan->by_halves = lower && (a->dtype == HR_F32 || a->dtype == HR_F64);
  plan->workers = target->workers;
  plan->batched = n <= BATCHED_FACTOR_SIZE ? batched_small_find(a->dtype, plan->batch, n, n) : NULL;
  plan->space_bytes = (size_t)hr_max((int64_t)halves_space_bytes(plan, a->dtype),
                                     (int64_t)batched_space_bytes(plan, a->dtype));
  plan->grain = 1 + 100000 / (n * n * n);
  out->scratch_bytes = plan->space_bytes * (size_t)plan->workers;
  out->flops = (double)plan->batch * (double)n * (double)n * (double)n / 3;
  out->bytes = 2 * (double)count * (double)hr_dtype_bytes(a->dtype);
  out->reuse = plan->by_halves && reports ? NULL : in_place; /* potrf's other triangle is read */
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

extern const op_kernel_t custom_potrf;

static hr_status_t prepare_potrf(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const lapack_plan_t *lapack;
  HR_TRY(native_lapack_check(target, step, &custom_potrf, 2, &lapack));
  if (!lapack) return NULL;
  return plan_cholesky(target, step->in_shapes[0], mlir_dict_int(lapack->options, "uplo", 0) == 'L',
                       true, out);
}

const op_native_t native_custom_potrf = {"potrf", prepare_potrf, run_cholesky};
