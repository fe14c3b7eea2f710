/* Householder reflectors in compact WY form (Schreiber and Van Loan; LAPACK's larfg, larft, larfb,
 * geqrf, orgqr, ormqr).
 *
 *   apply to c from the left:   w = V^H c,  w' = T w (or T^H w),  c -= V w'
 *
 * QR with one block of look-ahead: while the workers apply block b to the columns right of block
 * b + 1, task 0 updates and factors block b + 1. Columns, or rows, are processed LINES at a time,
 * which bounds the scratch memory and keeps w and w' in the cache. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "cx-limited-range")
#endif
#include "ops/kernels/linalg/reflectors.h"

#include "base/arith.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK REFLECTORS_BLOCK
#define LINES 96 /* rows or columns that a block is applied to per task */

static size_t align_64(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t reflectors_bytes(const split_matrix_kind_t *kind, int64_t count, int64_t length) {
  return align_64(split_matrix_bytes(kind, count, length)) +
         align_64(split_matrix_bytes(kind, count, BLOCK)) +
         align_64(split_matrix_bytes(kind, 1, count));
}

reflectors_t reflectors_init(const split_matrix_kind_t *kind, int64_t count, int64_t length,
                             int64_t offset, void *memory) {
  char *triangles = (char *)memory + align_64(split_matrix_bytes(kind, count, length));
  char *taus = triangles + align_64(split_matrix_bytes(kind, count, BLOCK));
  return (reflectors_t){kind,
                        count,
                        length,
                        offset,
                        split_matrix_init(kind, count, length, memory, true),
                        split_matrix_init(kind, count, BLOCK, triangles, true),
                        split_matrix_init(kind, 1, count, taus, true)};
}

/* --- one reflector --- */

/* Sum of squared magnitudes; loops start at the unit before `begin`, where the elements are
 * zero. */
static double sum_of_squares(const split_matrix_kind_t *kind, split_matrix_t x, int64_t begin,
                             int64_t end) {
  double total = 0;
  int64_t first = split_matrix_floor(begin);
  split_matrix_t at = split_matrix_at(kind, x, 0, first);
  for (int p = 0; p < kind->parts; p++) {
    char sum[8] = {0};
    split_matrix_t result = {{sum, NULL}, 1, 1};
    kind->loops->gemv_t(1, split_matrix_ceil(end) - first, at.part[p], 0, at.part[p], 1, sum);
    total += creal(split_matrix_get(kind, result, 0, 0));
  }
  return total;
}

/* Divides the vector by its largest part, so that squares neither overflow nor underflow.
 * Returns the divisor; 0 for a zero vector. */
static double rescale_vector(const split_matrix_kind_t *kind, split_matrix_t x, int64_t begin,
                             int64_t end) {
  double most = 0;
  for (int64_t i = begin; i < end; i++) {
    double complex value = split_matrix_get(kind, x, 0, i);
    most = fmax(most, fmax(fabs(creal(value)), fabs(cimag(value))));
  }
  for (int64_t i = begin; i < end && most > 0; i++)
    split_matrix_set(kind, x, 0, i, split_matrix_get(kind, x, 0, i) / most);
  return most;
}

static bool squares_are_safe(const split_matrix_kind_t *kind, double squares) {
  return kind->bytes == 4 ? squares > 1e-24 && squares < 1e30 : squares > 1e-260 && squares < 1e260;
}

double complex reflectors_make(const split_matrix_kind_t *kind, split_matrix_t x, int64_t pivot,
                               int64_t end, double *out_beta) {
  double complex alpha = split_matrix_get(kind, x, 0, pivot), tau, factor;
  double norm_scale = 1;
  split_matrix_set(kind, x, 0, pivot, 0); /* sums start at the unit before it */
  double squares = pivot + 1 < end ? sum_of_squares(kind, x, pivot + 1, end) : 0;
  if (pivot + 1 < end && !squares_are_safe(kind, squares)) {
    norm_scale = rescale_vector(kind, x, pivot + 1, end);
    squares = norm_scale > 0 ? sum_of_squares(kind, x, pivot + 1, end) : 0;
  }
  *out_beta = creal(alpha);
  if (squares == 0 && cimag(alpha) == 0) {
    split_matrix_set(kind, x, 0, pivot, 1);
    return 0;
  }
  double beta =
      -copysign(hypot(hypot(creal(alpha), cimag(alpha)), norm_scale * sqrt(squares)), creal(alpha));
  __real__ tau = (beta - creal(alpha)) / beta, __imag__ tau = -cimag(alpha) / beta;
  factor = norm_scale / fabs(beta) / ((alpha - beta) / fabs(beta)); /* beta^2 may underflow */
  split_matrix_t rest = split_matrix_at(kind, x, 0, split_matrix_floor(pivot));
  kind->loops->scale(split_matrix_ceil(end) - split_matrix_floor(pivot), rest.part[0], rest.part[1],
                     creal(factor), cimag(factor));
  split_matrix_set(kind, x, 0, pivot, 1);
  *out_beta = beta;
  return tau;
}

/* --- the triangle T of a block --- */

/* T of a block by its columns, and the products of one vector with earlier ones. Parts are apart,
 * so that those of real kinds have no imaginary terms. */
typedef struct triangle {
  double t[2][BLOCK][BLOCK]; /* t[part][j][i] = T(i, j), i <= j */
  double products[2][BLOCK];
} triangle_t;

static void set_product(triangle_t *t, int i, double complex product) {
  t->products[0][i] = creal(product);
  t->products[1][i] = cimag(product);
}

/* Column j of T from the products v_i^H v_j, i < j, of the block's vectors (larft, forward
 * columnwise). */
static void extend_triangle(const split_matrix_kind_t *kind, triangle_t *triangle, int j,
                            double complex tau) {
  double re[BLOCK] = {0}, im[BLOCK] = {0}, tau_re = creal(tau), tau_im = cimag(tau);
  for (int k = 0; k < j; k++) {
    const double *t_re = triangle->t[0][k], *t_im = triangle->t[1][k];
    double x = triangle->products[0][k], y = triangle->products[1][k];
    for (int i = 0; i <= k; i++) re[i] += t_re[i] * x;
    if (kind->parts == 1) continue;
    for (int i = 0; i <= k; i++) re[i] -= t_im[i] * y;
    for (int i = 0; i <= k; i++) im[i] += t_re[i] * y + t_im[i] * x;
  }
  for (int i = 0; i < j; i++) {
    triangle->t[0][j][i] = tau_im * im[i] - tau_re * re[i];
    triangle->t[1][j][i] = -(tau_re * im[i] + tau_im * re[i]);
  }
  triangle->t[0][j][j] = tau_re;
  triangle->t[1][j][j] = tau_im;
}

static void store_triangle(const reflectors_t *r, int64_t first, int count,
                           const triangle_t *triangle) {
  for (int i = 0; i < count; i++)
    for (int j = i; j < count; j++) {
      split_matrix_t at = split_matrix_at(r->kind, r->triangles, first + i, j);
      for (int part = 0; part < r->kind->parts; part++)
        split_matrix_set_real(r->kind, at.part[part], triangle->t[part][j][i]);
    }
}

typedef struct block_numbers {
  _Alignas(64) char memory[2 * (BLOCK + SPLIT_MATRIX_UNIT) * 8];
} block_numbers_t;

/* The triangle of a block whose vectors and taus are given (larft). */
static void compute_triangle(const reflectors_t *r, int64_t first, int count) {
  triangle_t triangle;
  block_numbers_t numbers;
  split_matrix_t dots = split_matrix_init(r->kind, 1, BLOCK, numbers.memory, true);
  for (int j = 0; j < count; j++) {
    split_gemv_t(r->kind, SPLIT_MATRIX_CONJ_ROWS, j, split_matrix_at(r->kind, r->vectors, first, 0),
                 (split_vector_t){split_matrix_at(r->kind, r->vectors, first + j, 0),
                                  first + j + r->offset, r->length},
                 dots);
    for (int i = 0; i < j; i++) set_product(&triangle, i, split_matrix_get(r->kind, dots, 0, i));
    extend_triangle(r->kind, &triangle, j, split_matrix_get(r->kind, r->taus, 0, first + j));
  }
  store_triangle(r, first, count, &triangle);
}

static void compute_triangles(void *context, int64_t begin, int64_t end, int worker) {
  const reflectors_t *r = context;
  (void)worker;
  for (int64_t b = begin; b < end; b++)
    compute_triangle(r, b * BLOCK, (int)hr_min(BLOCK, r->count - b * BLOCK));
}

void reflectors_compute_triangles(hr_workers_t *workers, const reflectors_t *r) {
  reflectors_t all = *r;
  hr_workers_for(workers, (r->count + BLOCK - 1) / BLOCK, 1 + 20000 / (r->length * BLOCK),
                 compute_triangles, &all);
}

/* --- applying blocks --- */

size_t reflectors_space_bytes(const split_matrix_kind_t *kind) {
  size_t wide = align_64(split_matrix_bytes(kind, BLOCK, LINES));
  size_t tall = align_64(split_matrix_bytes(kind, LINES, BLOCK));
  return split_matrix_multiply_bytes(kind) + 2 * (size_t)hr_max((int64_t)wide, (int64_t)tall);
}

typedef struct apply_run {
  const reflectors_t *r;
  reflectors_side_t side;
  bool adjoint;
  split_matrix_t c;
  int64_t others; /* columns of c (left) or its rows (right) */
  int64_t blocks; /* blocks to apply, from the first one */
  char *space;
} apply_run_t;

/* Applies a block to `count` columns of c, from the row of the block's first pivot on. */
static void apply_left(const reflectors_t *r, int64_t first, bool adjoint, split_matrix_t c,
                       int64_t count, char *space) {
  const split_matrix_kind_t *kind = r->kind;
  int64_t width = hr_min(BLOCK, r->count - first), row = first + r->offset, rows = r->length - row;
  char *memory = space + split_matrix_multiply_bytes(kind);
  split_matrix_t w = split_matrix_init(kind, BLOCK, LINES, memory, false);
  split_matrix_t tw = split_matrix_init(
      kind, BLOCK, LINES, memory + align_64(split_matrix_bytes(kind, BLOCK, LINES)), false);
  split_matrix_t v = split_matrix_at(kind, r->vectors, first, row),
                 t = split_matrix_at(kind, r->triangles, first, 0);
  c = split_matrix_at(kind, c, row, 0);
  split_matrix_product_t project = {GEMM_SET, width, count, rows, v, c, w, .conj_a = true};
  split_matrix_product_t apply_t = {
      GEMM_SET,         width, count, width, adjoint ? split_matrix_transposed(t) : t, w, tw,
      .conj_a = adjoint};
  split_matrix_product_t update = {
      GEMM_SUBTRACT, rows, count, width, split_matrix_transposed(v), tw, c, .conj_a = false};
  split_matrix_multiply(kind, &project, space);
  split_matrix_multiply(kind, &apply_t, space);
  split_matrix_multiply(kind, &update, space);
}

/* Applies a block to `count` rows of c, from the column of the block's first pivot on. */
static void apply_right(const reflectors_t *r, int64_t first, bool adjoint, split_matrix_t c,
                        int64_t count, char *space) {
  const split_matrix_kind_t *kind = r->kind;
  int64_t width = hr_min(BLOCK, r->count - first), column = first + r->offset,
          columns = r->length - column;
  char *memory = space + split_matrix_multiply_bytes(kind);
  split_matrix_t w = split_matrix_init(kind, LINES, BLOCK, memory, false);
  split_matrix_t wt = split_matrix_init(
      kind, LINES, BLOCK, memory + align_64(split_matrix_bytes(kind, LINES, BLOCK)), false);
  split_matrix_t v = split_matrix_at(kind, r->vectors, first, column),
                 t = split_matrix_at(kind, r->triangles, first, 0);
  c = split_matrix_at(kind, c, 0, column);
  split_matrix_product_t project = {
      GEMM_SET, count, width, columns, c, split_matrix_transposed(v), w, .conj_a = false};
  split_matrix_product_t apply_t = {
      GEMM_SET,         count, width, width, w, adjoint ? split_matrix_transposed(t) : t, wt,
      .conj_b = adjoint};
  split_matrix_product_t update = {GEMM_SUBTRACT, count, columns, width, wt, v, c, .conj_b = true};
  split_matrix_multiply(kind, &project, space);
  split_matrix_multiply(kind, &apply_t, space);
  split_matrix_multiply(kind, &update, space);
}

/* Applies `blocks` blocks to some rows or columns, which are independent of all others. */
static void apply_blocks(const apply_run_t *run, int64_t at, int64_t count, int64_t blocks,
                         char *space) {
  bool left = run->side == REFLECTORS_LEFT, descending = left != run->adjoint;
  split_matrix_t c = left ? split_matrix_at(run->r->kind, run->c, 0, at)
                          : split_matrix_at(run->r->kind, run->c, at, 0);
  for (int64_t done = 0; done < blocks; done++) {
    int64_t first = (descending ? blocks - 1 - done : done) * BLOCK;
    (left ? apply_left : apply_right)(run->r, first, run->adjoint, c, count, space);
  }
}

static char *worker_space(const apply_run_t *run, int worker) {
  return run->space + (size_t)worker * reflectors_space_bytes(run->r->kind);
}

static void apply_lines(void *context, int64_t begin, int64_t end, int worker) {
  const apply_run_t *run = context;
  for (int64_t i = begin; i < end; i++)
    apply_blocks(run, i * LINES, hr_min(LINES, run->others - i * LINES), run->blocks,
                 worker_space(run, worker));
}

static int64_t block_count(const reflectors_t *r) { return (r->count + BLOCK - 1) / BLOCK; }

void reflectors_apply(hr_workers_t *workers, const reflectors_t *r, reflectors_side_t side,
                      bool adjoint, split_matrix_t c, int64_t others, char *space) {
  apply_run_t run = {r, side, adjoint, c, others, block_count(r), space};
  hr_workers_for(workers, (others + LINES - 1) / LINES, 1, apply_lines, &run);
}

/* Columns of the unit matrix times Q: blocks whose pivots lie after the last column leave it
 * unchanged. */
static void form_columns(void *context, int64_t begin, int64_t end, int worker) {
  const apply_run_t *run = context;
  const reflectors_t *r = run->r;
  for (int64_t i = begin; i < end; i++) {
    int64_t at = i * LINES, count = hr_min(LINES, run->others - at);
    split_matrix_t c = split_matrix_at(r->kind, run->c, 0, at);
    split_matrix_clear(r->kind, c, r->length, count);
    for (int64_t j = 0; j < count; j++) split_matrix_set(r->kind, c, at + j, j, 1);
    apply_blocks(run, at, count, hr_min(run->blocks, (at + count - 1) / BLOCK + 1),
                 worker_space(run, worker));
  }
}

/* As many columns as reflectors, one reflector after the other; the columns are rows in `space`, so
 * that every step is contiguous. */
static void form_small(const reflectors_t *r, split_matrix_t q, char *space) {
  const split_matrix_kind_t *kind = r->kind;
  block_numbers_t numbers;
  split_matrix_t dots = split_matrix_init(kind, 1, BLOCK, numbers.memory, true);
  split_matrix_t columns = split_matrix_init(kind, r->count, r->length, space, true);
  for (int64_t i = r->count - 1; i >= 0; i--) {
    split_vector_t v = {split_matrix_at(kind, r->vectors, i, 0), i, r->length};
    split_matrix_t rest = split_matrix_at(kind, columns, i, 0);
    double complex tau = split_matrix_get(kind, r->taus, 0, i);
    int64_t count = r->count - i;
    split_matrix_set(kind, rest, 0, i, 1);
    split_gemv_t(kind, SPLIT_MATRIX_CONJ_VECTOR, count, rest, v, dots);
    for (int c = 0; c < count; c++)
      split_matrix_set(kind, dots, 0, c, tau * split_matrix_get(kind, dots, 0, c));
    split_ger(kind, count, v, dots, -1, rest);
  }
  split_matrix_copy(kind, split_matrix_transposed(columns), r->length, r->count, q);
}

#define SMALL_LENGTH 512 /* length below which one worker is as fast */

bool reflectors_are_few(const reflectors_t *r) {
  return r->count <= BLOCK && r->length <= SMALL_LENGTH &&
         split_matrix_bytes(r->kind, r->count, r->length) <= split_matrix_multiply_bytes(r->kind);
}

void reflectors_form(hr_workers_t *workers, const reflectors_t *r, split_matrix_t q,
                     int64_t columns, char *space) {
  if (columns == r->count && reflectors_are_few(r)) {
    form_small(r, q, space);
    return;
  }
  apply_run_t run = {r, REFLECTORS_LEFT, false, q, columns, block_count(r), space};
  hr_workers_for(workers, (columns + LINES - 1) / LINES, 1, form_columns, &run);
}

/* --- A = Q R --- */

/* Factors a block whose columns are stored in the rows of `vectors`. Elements above the pivots,
 * and the pivots' betas, go to `upper`. last: the triangle is not needed. */
static void factor_block(const reflectors_t *r, int64_t first, int width, bool last,
                         double complex upper[BLOCK][BLOCK]) {
  const split_matrix_kind_t *kind = r->kind;
  triangle_t triangle;
  block_numbers_t numbers;
  split_matrix_t dots = split_matrix_init(kind, 1, BLOCK, numbers.memory, true),
                 block = split_matrix_at(kind, r->vectors, first, 0);
  for (int j = 0; j < width; j++) {
    split_matrix_t v = split_matrix_at(kind, block, j, 0);
    split_vector_t rest = {v, first + j, r->length};
    double beta;
    for (int i = 0; i < j; i++) {
      upper[i][j] = split_matrix_get(kind, v, 0, first + i);
      split_matrix_set(kind, v, 0, first + i, 0);
    }
    double complex tau = reflectors_make(kind, v, first + j, r->length, &beta);
    upper[j][j] = beta;
    split_matrix_set(kind, r->taus, 0, first + j, tau);
    int begin = last ? j + 1 : 0; /* products with earlier vectors extend the triangle */
    split_gemv_t(kind, SPLIT_MATRIX_CONJ_VECTOR, width - begin,
                 split_matrix_at(kind, block, begin, 0), rest,
                 split_matrix_at(kind, dots, 0, begin));
    for (int i = 0; i < j && !last; i++)
      set_product(&triangle, i, conj(split_matrix_get(kind, dots, 0, i)));
    if (!last) extend_triangle(kind, &triangle, j, tau);
    for (int c = j + 1; c < width; c++)
      split_matrix_set(kind, dots, 0, c, conj(tau) * split_matrix_get(kind, dots, 0, c));
    split_ger(kind, width - j - 1, rest, split_matrix_at(kind, dots, 0, j + 1), -1,
              split_matrix_at(kind, block, j + 1, 0));
  }
  if (!last) store_triangle(r, first, width, &triangle);
}

typedef struct factor_run {
  const reflectors_t *r;
  split_matrix_t a;
  int64_t n, first; /* the block being applied */
  char *space;
} factor_run_t;

/* Copies a block's columns to the vectors' rows, factors them there, and writes R and the
 * vectors back to `a`. */
static void factor_columns(const factor_run_t *run, int64_t first) {
  const reflectors_t *r = run->r;
  double complex upper[BLOCK][BLOCK];
  int width = (int)hr_min(BLOCK, r->count - first);
  split_matrix_t columns = split_matrix_at(r->kind, run->a, first, first);
  split_matrix_t vectors =
      split_matrix_transposed(split_matrix_at(r->kind, r->vectors, first, first));
  split_matrix_copy(r->kind, columns, r->length - first, width, vectors);
  factor_block(r, first, width, first + width == run->n, upper);
  split_matrix_copy(r->kind, vectors, r->length - first, width, columns);
  for (int i = 0; i < width; i++)
    for (int j = i; j < width; j++) split_matrix_set(r->kind, columns, i, j, upper[i][j]);
}

/* Task 0 updates the next block's columns and factors them; tasks 1, 2, ... update LINES columns
 * each to the right of it. */
static void factor_task(const factor_run_t *run, int64_t task, char *space) {
  const reflectors_t *r = run->r;
  int64_t next = hr_min(run->first + BLOCK, r->count), width = hr_min(BLOCK, run->n - next);
  int64_t from = task ? next + width + (task - 1) * LINES : next,
          count = task ? hr_min(LINES, run->n - from) : width;
  if (count > 0)
    apply_left(r, run->first, true, split_matrix_at(r->kind, run->a, 0, from), count, space);
  if (task == 0 && next < r->count) factor_columns(run, next);
}

static void factor_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const factor_run_t *run = context;
  for (int64_t task = begin; task < end; task++)
    factor_task(run, task, run->space + (size_t)worker * reflectors_space_bytes(run->r->kind));
}

void reflectors_factor(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a, int64_t n,
                       char *space) {
  factor_run_t run = {r, a, n, 0, space};
  if (r->count > 0) factor_columns(&run, 0);
  for (; run.first < r->count; run.first += BLOCK) {
    int64_t right_columns = hr_max(n - hr_min(run.first + BLOCK, r->count) - BLOCK, 0);
    hr_workers_for(workers, 1 + hr_div_ceil(right_columns, LINES), 1, factor_tasks, &run);
  }
}
