/* triangular-solve, and trsm as JAX's custom call: triangles of at most FEW_ROWS, whose work is
 * less than the overhead of a BLAS call, by lu.h; real ones with one or several right-hand sides by
 * triangular_halves.h; others by BLAS. The matrices of a batch are distributed over the workers; a
 * single solve is divided by right-hand sides, which are independent of each other. Where the
 * library lacks a routine the kernel declines, and the reference kernel runs. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/blas_routines.h"
#include "ops/kernels/linalg/lu.h"
#include "ops/kernels/linalg/native_linalg.h"
#include "ops/kernels/linalg/triangular_halves.h"

/* Triangles of at most this size are solved by lu.h. */
#define FEW_ROWS 32
#define SIDES_UNIT 64 /* right-hand sides of a part are a multiple of this */
#define FEW_SIDES 4   /* least right-hand sides; fewer are left to BLAS */

typedef struct solve_native {
  blas_routines_t routines;
  int64_t batch;
  int m, n; /* sizes of the right-hand sides */
  int size; /* size of the triangle */
  int side, uplo, transpose, diagonal;
  bool is_small; /* too small for BLAS: call overhead would dominate */
  bool by_halves, is_vector;
  const batched_small_loops_t *batched; /* NULL: triangles one by one */
  size_t space_bytes;                   /* scratch bytes of a worker */
  int workers;                          /* workers that have scratch memory */
  bool split;                           /* workers share right-hand sides, else the batch */
  int part;                             /* right-hand sides per call if they are divided */
  int64_t grain;
} solve_native_t;

typedef struct solve_run {
  const solve_native_t *plan;
  const char *a;
  char *x, *spaces;
} solve_run_t;

/* Solves `sides` right-hand sides of one matrix, from x on. */
static void solve_sides_of(const solve_run_t *r, const char *a, char *x, int sides, int worker) {
  const solve_native_t *p = r->plan;
  bool left = p->side == BLAS_LEFT, transposed = p->transpose != BLAS_NO_TRANSPOSE;
  if (p->is_small) {
    lu_triangular_t triangle = {.dtype = p->routines.dtype,
                                .triangle = p->uplo == BLAS_LOWER ? LU_LOWER : LU_UPPER,
                                .has_unit_diagonal = p->diagonal == BLAS_UNIT,
                                .n = p->size,
                                .data = a,
                                .stride = p->size};
    lu_solve_few(&triangle, sides, x, p->n);
    return;
  }
  if (!p->by_halves && !p->is_vector) {
    blas_trsm(&p->routines, p->side, p->uplo, p->transpose, p->diagonal, left ? p->m : sides,
              left ? sides : p->n, a, p->size, x, p->n);
    return;
  }
  triangular_job_t job = {.dtype = p->routines.dtype,
                          .right = !left,
                          .upper = (p->uplo == BLAS_UPPER) != transposed,
                          .unit = p->diagonal == BLAS_UNIT,
                          .size = p->size,
                          .sides = sides,
                          .t = a,
                          .t_row = transposed ? 1 : p->size,
                          .t_col = transposed ? p->size : 1,
                          .x = x,
                          .x_row = p->n};
  if (p->is_vector)
    triangular_solve_vector(&job);
  else
    triangular_solve(&job, r->spaces + (size_t)worker * p->space_bytes);
}

/* Solves one matrix after the other, for batches that are distributed over the workers. */
static void solve_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const solve_run_t *r = context;
  const solve_native_t *p = r->plan;
  int64_t element_bytes = (int64_t)hr_dtype_bytes(p->routines.dtype);
  int sides = p->side == BLAS_LEFT ? p->n : p->m;
  for (int64_t i = begin; i < end; i++)
    solve_sides_of(r, r->a + i * p->size * p->size * element_bytes,
                   r->x + i * p->m * p->n * element_bytes, sides, worker);
}

/* The interleaved solve. A triangle on the right is the transpose of one on the left. */
static batched_triangle_t interleaved_triangle(const solve_native_t *p) {
  bool left = p->side == BLAS_LEFT, by_columns = left == (p->transpose != BLAS_NO_TRANSPOSE);
  return (batched_triangle_t){.size = p->size,
                              .sides = left ? p->n : p->m,
                              .equation = by_columns ? 1 : p->size,
                              .unknown = by_columns ? p->size : 1,
                              .x_unknown = left ? p->n : 1,
                              .x_side = left ? 1 : p->n,
                              .forward = (p->uplo == BLAS_LOWER) != by_columns,
                              .unit = p->diagonal == BLAS_UNIT,
                              .conjugate = p->transpose == BLAS_CONJ_TRANSPOSE};
}

static void solve_groups(void *context, int64_t begin, int64_t end, int worker) {
  const solve_run_t *r = context;
  const solve_native_t *p = r->plan;
  int64_t lanes = p->batched->lanes, bytes = (int64_t)hr_dtype_bytes(p->routines.dtype);
  int64_t size = (int64_t)p->size * p->size, sides = (int64_t)p->m * p->n;
  batched_triangle_t triangle = interleaved_triangle(p);
  char *a = r->spaces + (size_t)worker * p->space_bytes, *x = a + size * lanes * bytes;
  for (int64_t group = begin; group < end; group++) {
    int64_t first = group * lanes, count = hr_min(p->batch - first, lanes);
    p->batched->load(r->a + first * size * bytes, size, count, a);
    p->batched->load(r->x + first * sides * bytes, sides, count, x);
    p->batched->trsm(&triangle, a, x);
    p->batched->store(x, sides, count, r->x + first * sides * bytes);
  }
}

/* Right-hand sides are columns of x, or its rows if the triangle is on the right. */
static void solve_sides(void *context, int64_t begin, int64_t end, int worker) {
  const solve_run_t *r = context;
  const solve_native_t *p = r->plan;
  bool left = p->side == BLAS_LEFT;
  int64_t step_bytes = (left ? 1 : p->n) * (int64_t)hr_dtype_bytes(p->routines.dtype);
  for (int64_t part = begin; part < end; part++) {
    int first = (int)part * p->part;
    int count = (int)hr_min(p->part, (left ? p->n : p->m) - first);
    solve_sides_of(r, r->a, r->x + first * step_bytes, count, worker);
  }
}

static hr_status_t run_solve(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  const solve_native_t *p = plan;
  solve_run_t r = {p, in[0], out[0], run->scratch};
  hr_workers_t *workers = p->space_bytes ? native_workers(run, p->workers) : run->workers;
  int64_t element_bytes = (int64_t)hr_dtype_bytes(p->routines.dtype),
          bytes = (int64_t)p->m * p->n * element_bytes;
  if (in[1] != out[0]) memcpy(out[0], in[1], (size_t)(p->batch * bytes));
  if (p->batched) {
    int64_t lanes = p->batched->lanes;
    hr_workers_split(workers, hr_div_ceil(p->batch, lanes), p->grain / lanes + 1, solve_groups, &r);
    return NULL;
  }
  if (!p->split) {
    hr_workers_split(workers, p->batch, p->grain, solve_matrices, &r);
    return NULL;
  }
  for (int64_t i = 0; i < p->batch; i++) {
    r.a = (const char *)in[0] + i * p->size * p->size * element_bytes;
    r.x = (char *)out[0] + i * bytes;
    int sides = p->side == BLAS_LEFT ? p->n : p->m;
    hr_workers_for(workers, hr_div_ceil(sides, p->part), 1 + p->grain / p->part, solve_sides, &r);
  }
  return NULL;
}

/* Right-hand sides of a part. The order of BLAS's sums depends on their number, which is therefore
 * fixed. */
static int sides_of_part(const solve_native_t *plan, int64_t sides) {
  return (int)(plan->by_halves ? hr_round_up(hr_div_ceil(sides, plan->workers), SIDES_UNIT)
                               : hr_round_up(hr_div_ceil(sides, NATIVE_SUM_PARTS), SIDES_UNIT));
}

static size_t space_bytes(const solve_native_t *plan, int64_t sides) {
  hr_dtype_t dtype = plan->routines.dtype;
  size_t elements = (size_t)plan->size * ((size_t)plan->size + (size_t)sides);
  if (plan->batched) return elements * (size_t)plan->batched->lanes * hr_dtype_bytes(dtype);
  return plan->by_halves ? triangular_space_bytes(dtype, plan->size, sides) : 0;
}

/* plan: side, uplo, transpose and diagonal are set. */
static hr_status_t plan_solve(const op_native_target_t *target, const hlo_shape_t *a,
                              const hlo_shape_t *b, solve_native_t *plan, op_native_step_t *out) {
  static const uint64_t in_place[] = {2};
  int64_t count, sides;
  HR_TRY(hlo_shape_count(b, &count));
  if (a->rank < 2 || a->rank != b->rank || a->dtype != b->dtype || count == 0) return NULL;
  int64_t m = b->dims[b->rank - 2], n = b->dims[b->rank - 1], size = a->dims[a->rank - 1];
  if (m > INT32_MAX / 2 || n > INT32_MAX / 2 || size != a->dims[a->rank - 2] ||
      size != (plan->side == BLAS_LEFT ? m : n) || !blas_routines_find(a->dtype, &plan->routines))
    return NULL;
  plan->batch = count / m / n;
  plan->m = (int)m;
  plan->n = (int)n;
  plan->size = (int)size;
  sides = plan->side == BLAS_LEFT ? n : m;
  plan->is_small =
      plan->side == BLAS_LEFT && plan->transpose == BLAS_NO_TRANSPOSE && size <= FEW_ROWS;
  bool is_real = a->dtype == HR_F32 || a->dtype == HR_F64;
  plan->by_halves = !plan->is_small && size > FEW_ROWS && sides >= FEW_SIDES && is_real;
  plan->is_vector = !plan->is_small && sides == 1 && is_real;
  plan->workers = target->workers;
  if (size <= BATCHED_FACTOR_SIZE && sides <= BATCHED_SMALL_SIZE)
    plan->batched = batched_small_find(a->dtype, plan->batch, m, n);
  plan->space_bytes = space_bytes(plan, sides);
  out->scratch_bytes = plan->space_bytes * (size_t)plan->workers;
  plan->part = sides_of_part(plan, sides);
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
  plan->side = hlo_attr_bool(instr, HLO_ATTR_LEFT_SIDE) ? BLAS_LEFT : BLAS_RIGHT;
  plan->uplo = hlo_attr_bool(instr, HLO_ATTR_LOWER) ? BLAS_LOWER : BLAS_UPPER;
  plan->diagonal = hlo_attr_bool(instr, HLO_ATTR_UNIT_DIAGONAL) ? BLAS_UNIT : BLAS_NON_UNIT;
  plan->transpose = transpose == HLO_TRANSPOSE_TRANSPOSE ? BLAS_TRANSPOSE
                    : transpose == HLO_TRANSPOSE_ADJOINT ? BLAS_CONJ_TRANSPOSE
                                                         : BLAS_NO_TRANSPOSE;
  return plan_solve(target, step->in_shapes[0], step->in_shapes[1], plan, out);
}

const op_native_t native_triangular_solve = {"triangular-solve", prepare_solve, run_solve};

extern const op_kernel_t custom_trsm;

static hr_status_t prepare_trsm(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  const lapack_plan_t *lapack;
  solve_native_t *plan;
  HR_TRY(native_lapack_check(target, step, &custom_trsm, 2, &lapack));
  if (!lapack || step->instr->operand_count != 2) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  int64_t trans = mlir_dict_int(lapack->options, "trans_x", 0);
  plan->side = mlir_dict_int(lapack->options, "side", 0) == 'L' ? BLAS_LEFT : BLAS_RIGHT;
  plan->uplo = mlir_dict_int(lapack->options, "uplo", 0) == 'L' ? BLAS_LOWER : BLAS_UPPER;
  plan->diagonal = mlir_dict_int(lapack->options, "diag", 0) == 'U' ? BLAS_UNIT : BLAS_NON_UNIT;
  plan->transpose = trans == 'T' ? BLAS_TRANSPOSE : BLAS_NO_TRANSPOSE;
  if (trans == 'C') plan->transpose = BLAS_CONJ_TRANSPOSE;
  return plan_solve(target, step->in_shapes[0], step->in_shapes[1], plan, out);
}

const op_native_t native_custom_trsm = {"trsm", prepare_trsm, run_solve};
