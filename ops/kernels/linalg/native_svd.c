/* gesdd (singular value decomposition) for LAPACK's custom call. The reduction to bidiagonal form
 * is bidiagonal.h, which uses all workers; singular values and vectors of the bidiagonal matrix
 * come from LAPACK (bdsdc); vectors are transformed back by reflectors.h. As in LAPACK, a matrix
 * with many more rows than columns is QR-factored first, and one with more columns than rows is
 * transposed: C is the matrix that has at least as many rows as columns.
 *
 *   C = [Q] D,  D = left B right^H,  B = u s v^T
 *   transposed and factored: D is the transposed R of C
 *
 * Batches of small matrices without vectors are interleaved over vector lanes (batched_small.h);
 * LAPACK's gesdd solves small ones with vectors as a whole. */
#include <math.h>
#include <string.h>

#include "base/dl.h"
#include "ops/kernels/linalg/batched_small.h"
#include "ops/kernels/linalg/bidiagonal.h"
#include "ops/kernels/linalg/native_linalg.h"

extern const op_kernel_t custom_gesdd;

/* Byte offsets of arrays in a matrix's scratch memory. */
typedef struct svd_offsets {
  size_t q, left, right; /* reflectors of Q, and of D's left and right side */
  size_t c, d, diagonal, superdiagonal;
  size_t u, vt;                  /* vectors of the bidiagonal matrix */
  size_t reals, ints, work, out; /* workspace of LAPACK and of the products; the result */
} svd_offsets_t;

typedef struct svd_native {
  native_matrices_t matrices;
  split_matrix_kind_t kind;
  int64_t m, n;               /* sizes of the matrix */
  int64_t rows, columns;      /* sizes of C */
  int64_t u_columns, vt_rows; /* sizes of the results */
  int64_t reduced_rows;       /* rows of D */
  bool transposed, factored;  /* C is the transposed matrix; C is QR-factored first */
  bool vectors;               /* compute singular vectors */
  bool whole;                 /* LAPACK's gesdd solves the whole problem */
  char mode;
  lapack_fn bdsdc, gesdd, lasq1;
  int64_t batch;
  const batched_small_loops_t *batched; /* values of small matrices; NULL: one by one */
  svd_offsets_t at;
} svd_native_t;

typedef struct svd_run {
  const svd_native_t *plan;
  const char *in;
  char *s, *u, *vt; /* results */
  int32_t *info;
} svd_run_t;

/* The reflectors of one matrix. */
typedef struct svd_factors {
  reflectors_t q, left, right;
} svd_factors_t;

static char *array_at(const svd_native_t *p, const char *data, int64_t i, int64_t count) {
  return (char *)data + i * count * p->kind.bytes * p->kind.parts;
}

static void conjugate(const split_matrix_kind_t *kind, split_matrix_t a, int64_t rows,
                      int64_t columns) {
  for (int64_t i = 0; i < rows && kind->parts == 2; i++)
    kind->loops->scale(split_matrix_ceil(columns), split_matrix_at(kind, a, i, 0).part[1], NULL, -1,
                       0);
}

/* A split copy of the input as C: transposed and conjugated if it has more columns than rows. */
static split_matrix_t load_matrix(const svd_native_t *p, const char *data, char *memory) {
  split_matrix_t c = split_matrix_init(&p->kind, p->rows, p->columns, memory + p->at.c, true);
  split_matrix_load(&p->kind, data, p->n, p->m, p->n,
                    p->transposed ? split_matrix_transposed(c) : c);
  if (p->transposed) conjugate(&p->kind, c, p->rows, p->columns);
  return c;
}

static double largest_magnitude(const svd_native_t *p, split_matrix_t c) {
  double most = 0;
  for (int part = 0; part < p->kind.parts; part++)
    for (int64_t i = 0; i < p->rows; i++)
      most = split_matrix_largest(&p->kind, split_matrix_at(&p->kind, c, i, 0).part[part],
                                  p->columns, most);
  return most;
}

static void scale_rows(const svd_native_t *p, split_matrix_t c, double factor) {
  for (int64_t i = 0; i < p->rows; i++) {
    split_matrix_t row = split_matrix_at(&p->kind, c, i, 0);
    p->kind.loops->scale(split_matrix_ceil(p->columns), row.part[0], row.part[1], factor, 0);
  }
}

/* D from the R of C = Q R. */
static split_matrix_t extract_triangle(const svd_native_t *p, split_matrix_t c, char *memory) {
  split_matrix_t d = split_matrix_init(&p->kind, p->columns, p->columns, memory + p->at.d, true);
  for (int64_t i = 0; i < p->columns; i++)
    split_matrix_copy(&p->kind, split_matrix_at(&p->kind, c, i, i), 1, p->columns - i,
                      p->transposed ? split_matrix_transposed(split_matrix_at(&p->kind, d, i, i))
                                    : split_matrix_at(&p->kind, d, i, i));
  if (p->transposed) conjugate(&p->kind, d, p->columns, p->columns);
  return d;
}

static svd_factors_t reduce_to_bidiagonal(const svd_native_t *p, hr_workers_t *workers,
                                          split_matrix_t c, char *memory, char *space) {
  svd_factors_t f = {
      .left = reflectors_init(&p->kind, p->columns, p->reduced_rows, 0, memory + p->at.left),
      .right = reflectors_init(&p->kind, p->columns - 1, p->columns, 1, memory + p->at.right)};
  if (p->factored) {
    f.q = reflectors_init(&p->kind, p->columns, p->rows, 0, memory + p->at.q);
    reflectors_factor(workers, &f.q, c, p->columns, space);
    c = extract_triangle(p, c, memory);
  }
  bidiagonal_reduce(workers, &f.left, &f.right, c, memory + p->at.diagonal,
                    memory + p->at.superdiagonal, memory + p->at.work, space);
  return f;
}

/* Singular values, descending, overwrite the diagonal; vectors are written to `u` and `vt` by
 * columns. Returns LAPACK's info. */
static int32_t solve_bidiagonal(const svd_native_t *p, char *memory) {
  int n = (int)p->columns, info = 0;
  const char *triangle = p->transposed && !p->factored ? "L" : "U";
  const char *vectors = p->vectors ? "I" : "N";
  p->bdsdc(triangle, vectors, &n, memory + p->at.diagonal, memory + p->at.superdiagonal,
           memory + p->at.u, &n, memory + p->at.vt, &n, NULL, NULL, memory + p->at.reals,
           memory + p->at.ints, &info, ONE_CHAR, ONE_CHAR);
  return info;
}

/* The vectors of B, which LAPACK returns by columns at `basis`, as the leading corner of an
 * otherwise unit matrix. */
static split_matrix_t init_vectors(const svd_native_t *p, char *basis, int64_t rows,
                                   int64_t columns, char *memory, char *out) {
  split_matrix_kind_t real = p->kind;
  split_matrix_t from = {{basis, NULL}, 1, p->columns}, to = {{out, NULL}, columns, 1};
  real.parts = 1;
  if (p->kind.parts == 2)
    to = split_matrix_init(&p->kind, rows, columns, memory + p->at.out, false);
  split_matrix_clear(&p->kind, to, rows, columns);
  split_matrix_copy(&real, from, p->columns, p->columns, to);
  for (int64_t i = p->columns; i < rows && i < columns; i++)
    split_matrix_set(&p->kind, to, i, i, 1);
  return to;
}

/* u = [Q] (left or right) u, then v^T = v^T (right or left)^H [Q^H]. */
static void finish_vectors(const svd_native_t *p, hr_workers_t *workers, const svd_factors_t *f,
                           char *memory, char *space, char *u_out, char *vt_out) {
  bool swapped = p->transposed && !p->factored;
  reflectors_compute_triangles(workers, &f->left);
  reflectors_compute_triangles(workers, &f->right);
  split_matrix_t u = init_vectors(p, memory + p->at.u, p->m, p->u_columns, memory, u_out);
  reflectors_apply(workers, swapped ? &f->right : &f->left, REFLECTORS_LEFT, false, u, p->u_columns,
                   space);
  if (p->factored) reflectors_compute_triangles(workers, &f->q);
  if (p->factored && !p->transposed)
    reflectors_apply(workers, &f->q, REFLECTORS_LEFT, false, u, p->u_columns, space);
  if (p->kind.parts == 2) split_matrix_store(&p->kind, u, p->m, p->u_columns, u_out, p->u_columns);
  split_matrix_t vt = init_vectors(p, memory + p->at.vt, p->vt_rows, p->n, memory, vt_out);
  reflectors_apply(workers, swapped ? &f->left : &f->right, REFLECTORS_RIGHT, true, vt, p->vt_rows,
                   space);
  if (p->factored && p->transposed)
    reflectors_apply(workers, &f->q, REFLECTORS_RIGHT, true, vt, p->vt_rows, space);
  if (p->kind.parts == 2) split_matrix_store(&p->kind, vt, p->vt_rows, p->n, vt_out, p->n);
}

static void store_values(const svd_native_t *p, const char *memory, double factor, char *out) {
  split_matrix_t values = {{out, NULL}, p->columns, 1};
  memcpy(out, memory + p->at.diagonal, (size_t)(p->columns * p->kind.bytes));
  for (int64_t k = 0; k < p->columns && factor != 1; k++)
    split_matrix_set(&p->kind, values, 0, k,
                     creal(split_matrix_get(&p->kind, values, 0, k)) / factor);
}

/* One matrix: scale, reduce, solve the bidiagonal problem, undo the scale, transform back. */
static void solve_matrix(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                         char *space) {
  const svd_run_t *run = context;
  const svd_native_t *p = run->plan;
  split_matrix_t c = load_matrix(p, array_at(p, run->in, i, p->m * p->n), memory);
  double most = largest_magnitude(p, c), factor = split_matrix_scale_factor(&p->kind, most);
  if (!isfinite(most)) { /* LAPACK's code for an invalid fourth argument */
    run->info[i] = -4;
    return;
  }
  if (factor != 1) scale_rows(p, c, factor);
  svd_factors_t f = reduce_to_bidiagonal(p, workers, c, memory, space);
  run->info[i] = solve_bidiagonal(p, memory);
  store_values(p, memory, factor, run->s + i * p->columns * p->kind.bytes);
  if (p->vectors)
    finish_vectors(p, workers, &f, memory, space, array_at(p, run->u, i, p->m * p->u_columns),
                   array_at(p, run->vt, i, p->vt_rows * p->n));
}

/* Largest size for which LAPACK solves the whole problem with vectors: rounding in another order
 * would sometimes flip signs relative to LAPACK's. */
#define WHOLE_SIZE 25

static int64_t whole_work(const svd_native_t *p) {
  return 16 * p->columns * p->columns + 64 * (p->rows + p->columns) + p->rows * p->columns;
}

static void solve_whole(const void *context, int64_t i, hr_workers_t *workers, char *memory,
                        char *space) {
  const svd_run_t *run = context;
  const svd_native_t *p = run->plan;
  int m = (int)p->m, n = (int)p->n, vt_rows = (int)p->vt_rows, size = (int)whole_work(p), info = 0;
  void *a = memory + p->at.c, *s = run->s + i * p->columns * p->kind.bytes, *u = memory + p->at.u;
  void *vt = memory + p->at.vt, *work = memory + p->at.work, *reals = memory + p->at.reals,
       *ints = memory + p->at.ints;
  (void)workers, (void)space;
  native_transpose_small(p->kind.dtype, array_at(p, run->in, i, p->m * p->n), p->m, p->n, a);
  if (p->kind.parts == 2)
    p->gesdd(&p->mode, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, reals, ints, &info,
             ONE_CHAR);
  else
    p->gesdd(&p->mode, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, ints, &info, ONE_CHAR);
  native_transpose_small(p->kind.dtype, u, p->u_columns, p->m,
                         array_at(p, run->u, i, p->m * p->u_columns));
  native_transpose_small(p->kind.dtype, vt, p->n, p->vt_rows,
                         array_at(p, run->vt, i, p->vt_rows * p->n));
  run->info[i] = info;
}

/* --- singular values of small matrices, interleaved --- */

/* Byte offsets in a worker's memory: interleaved matrices, superdiagonals and diagonals; then
 * transposed matrices, superdiagonals by matrix, and LAPACK's work array. */
typedef struct svd_lanes {
  size_t a, superdiagonal, diagonal, transposed, superdiagonal_rows, work, total;
} svd_lanes_t;

static svd_lanes_t assign_lane_offsets(const svd_native_t *p) {
  size_t line = (size_t)(p->batched->lanes * p->kind.bytes), k = (size_t)p->columns,
         size = (size_t)(p->m * p->n * p->kind.parts);
  svd_lanes_t at = {.total = 0};
  at.a = scratch_reserve(&at.total, size * line);
  at.superdiagonal = scratch_reserve(&at.total, k * line);
  at.diagonal = scratch_reserve(&at.total, k * line);
  at.transposed = scratch_reserve(&at.total, size * line);
  at.superdiagonal_rows = scratch_reserve(&at.total, k * line);
  at.work = scratch_reserve(&at.total, 4 * k * (size_t)p->kind.bytes);
  return at;
}

static void load_lanes(const svd_native_t *p, const char *in, int64_t count, const svd_lanes_t *at,
                       char *space) {
  int64_t size = p->m * p->n;
  for (int64_t i = 0; i < count && p->transposed; i++)
    native_transpose_small(p->kind.dtype, array_at(p, in, i, size), p->m, p->n,
                           array_at(p, space + at->transposed, i, size));
  p->batched->load(p->transposed ? space + at->transposed : in, size, count, space + at->a);
  memset(space + at->superdiagonal, 0, (size_t)(p->columns * p->batched->lanes * p->kind.bytes));
}

/* The singular values of `lanes` matrices at once: interleaved reduction, then LAPACK's dqds
 * (lasq1) per matrix. Groups with values out of range are solved by solve_matrix. */
static void solve_group(const void *context, int64_t group, hr_workers_t *workers, char *memory,
                        char *space) {
  const svd_run_t *run = context;
  const svd_native_t *p = run->plan;
  svd_lanes_t at = assign_lane_offsets(p);
  int64_t first = group * p->batched->lanes, left = p->batch - first, k = p->columns;
  int64_t count = left < p->batched->lanes ? left : p->batched->lanes;
  const char *in = array_at(p, run->in, first, p->m * p->n);
  if (!batched_small_in_range(p->kind.dtype, in, p->m * p->n, count)) {
    for (int64_t i = first; i < first + count; i++)
      solve_matrix(context, i, workers, memory, space);
    return;
  }
  load_lanes(p, in, count, &at, space);
  p->batched->gebrd(p->rows, k, space + at.a, space + at.diagonal, space + at.superdiagonal);
  char *values = run->s + first * k * p->kind.bytes;
  p->batched->store_reals(space + at.diagonal, k, count, values);
  p->batched->store_reals(space + at.superdiagonal, k, count, space + at.superdiagonal_rows);
  for (int64_t i = 0; i < count; i++) {
    int n = (int)k, info = 0;
    int64_t row = i * k * p->kind.bytes;
    p->lasq1(&n, values + row, space + at.superdiagonal_rows + row, space + at.work, &info);
    run->info[first + i] = info;
  }
}

static native_matrix_fn choose_solver(const svd_native_t *p) {
  if (p->whole) return solve_whole;
  return p->batched ? solve_group : solve_matrix;
}

static hr_status_t run_gesdd(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  svd_run_t r = {plan, in[0], out[1], out[2], out[3], out[4]};
  native_matrices_run(&r.plan->matrices, run, choose_solver(r.plan), &r);
  return NULL;
}

/* --- planning --- */

static bool find_svd_routines(svd_native_t *plan) {
  return native_lapack_find(plan->kind.real, "", "bdsdc_", (void **)&plan->bdsdc) &&
         native_lapack_find(plan->kind.real, "", "lasq1_", (void **)&plan->lasq1);
}

static size_t plan_whole_memory(svd_native_t *p) {
  size_t total = 0, k = (size_t)p->columns, bytes = hr_dtype_bytes(p->kind.dtype);
  p->at.c = scratch_reserve(&total, (size_t)(p->m * p->n) * bytes);
  p->at.u = scratch_reserve(&total, (size_t)(p->m * p->u_columns) * bytes);
  p->at.vt = scratch_reserve(&total, (size_t)(p->vt_rows * p->n) * bytes);
  p->at.work = scratch_reserve(&total, (size_t)whole_work(p) * bytes);
  p->at.reals = scratch_reserve(
      &total, (5 * k * k + 7 * k + 2 * (size_t)p->rows * k + 2 * k * k + k) * bytes);
  p->at.ints = scratch_reserve(&total, 8 * k * sizeof(int32_t));
  return total;
}

static size_t plan_memory(svd_native_t *p) {
  if (p->whole) return plan_whole_memory(p);
  size_t total = 0, k = (size_t)p->columns, bytes = (size_t)p->kind.bytes,
         square = p->vectors ? k * k * bytes : 0;
  p->at.left = scratch_reserve(&total, reflectors_bytes(&p->kind, p->columns, p->reduced_rows));
  p->at.right = scratch_reserve(&total, reflectors_bytes(&p->kind, p->columns - 1, p->columns));
  p->at.c = scratch_reserve(&total, split_matrix_bytes(&p->kind, p->rows, p->columns));
  p->at.q =
      scratch_reserve(&total, p->factored ? reflectors_bytes(&p->kind, p->columns, p->rows) : 0);
  p->at.d = scratch_reserve(&total,
                            p->factored ? split_matrix_bytes(&p->kind, p->columns, p->columns) : 0);
  p->at.work = scratch_reserve(&total, bidiagonal_bytes(&p->kind, p->reduced_rows, p->columns));
  p->at.diagonal = scratch_reserve(&total, k * bytes);
  p->at.superdiagonal = scratch_reserve(&total, k * bytes);
  p->at.u = scratch_reserve(&total, square);
  p->at.vt = scratch_reserve(&total, square);
  p->at.reals = scratch_reserve(&total, 3 * square + 8 * k * bytes);
  p->at.ints = scratch_reserve(&total, 8 * k * sizeof(int32_t));
  size_t u = split_matrix_bytes(&p->kind, p->m, p->u_columns);
  size_t vt = split_matrix_bytes(&p->kind, p->vt_rows, p->n);
  size_t out_bytes = u > vt ? u : vt;
  p->at.out = scratch_reserve(&total, p->vectors && p->kind.parts == 2 ? out_bytes : 0);
  return total;
}

/* LAPACK's crossover points, above which the QR factorisation first pays. */
static bool is_factored(const svd_native_t *p) {
  return p->rows >= (p->kind.parts == 2 ? p->columns * 17 / 9 : p->columns * 11 / 6) &&
         p->rows > p->columns;
}

static void read_sizes(const op_step_t *step, const lapack_plan_t *lapack, svd_native_t *p) {
  const hlo_shape_t *u = custom_result_shape(step->out_shape, 2),
                    *vt = custom_result_shape(step->out_shape, 3);
  p->m = lapack->m;
  p->n = lapack->n;
  p->transposed = p->m < p->n;
  p->rows = p->transposed ? p->n : p->m;
  p->columns = p->transposed ? p->m : p->n;
  p->u_columns = u->dims[u->rank - 1];
  p->vt_rows = vt->dims[vt->rank - 2];
  p->factored = is_factored(p);
  p->reduced_rows = p->factored ? p->columns : p->rows;
  p->mode = (char)mlir_dict_int(lapack->options, "mode", 0);
  p->vectors = p->mode != 'N';
  p->whole = p->vectors && p->columns <= WHOLE_SIZE && p->rows <= 4 * WHOLE_SIZE;
  p->gesdd = lapack->routine;
}

static size_t plan_matrices(const op_native_target_t *target, double products, svd_native_t *plan) {
  size_t bytes = plan_memory(plan);
  size_t space = plan->whole ? 0 : reflectors_space_bytes(&plan->kind);
  if (!plan->vectors)
    plan->batched = batched_small_find(plan->kind.dtype, plan->batch, plan->m, plan->n);
  if (!plan->batched)
    return native_matrices_plan(target, plan->batch, products, bytes, space, &plan->matrices);
  int64_t lanes = plan->batched->lanes, groups = (plan->batch + lanes - 1) / lanes;
  size_t wanted = assign_lane_offsets(plan).total;
  return native_matrices_plan(target, groups, products * (double)lanes, bytes,
                              space > wanted ? space : wanted, &plan->matrices);
}

static hr_status_t prepare_gesdd(const op_native_target_t *target, const op_step_t *step,
                                 op_native_step_t *out) {
  const lapack_plan_t *lapack;
  svd_native_t *plan;
  hr_str_t name = op_custom_call_target(step->instr);
  if (memmem(name.data, name.size, "gesdd", 5) == NULL) return NULL;
  HR_TRY(native_lapack_check(target, step, &custom_gesdd, 2, &lapack));
  if (!lapack || lapack->batch == 0 || lapack->m < 1 || lapack->n < 1 ||
      custom_result_count(step->out_shape) != 5)
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  if (!split_matrix_kind(lapack->dtype, &plan->kind) || !find_svd_routines(plan)) return NULL;
  read_sizes(step, lapack, plan);
  plan->batch = lapack->batch;
  double products =
      (double)plan->rows * (double)plan->columns * (double)plan->columns * (plan->vectors ? 6 : 2);
  out->scratch_bytes = plan_matrices(target, products, plan);
  out->flops = 2 * (double)lapack->batch * products;
  out->bytes =
      2 * (double)(lapack->batch * plan->m * plan->n) * (double)hr_dtype_bytes(lapack->dtype);
  out->nondeterministic_results = 1 | 1 << 2 | 1 << 3; /* the overwritten matrix, and the vectors */
  out->plan = plan;
  return NULL;
}

const op_native_t native_custom_gesdd = {"gesdd", prepare_gesdd, run_gesdd};
