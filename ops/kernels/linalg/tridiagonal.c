/* Blocked tridiagonalisation (LAPACK's sytrd with the panel factorisation latrd).
 *
 * Reflectors are found column by column; the trailing matrix is updated after every block of BLOCK
 * reflectors. Until then it is represented as A - v^T conj(w) - w^T conj(v), with v the reflectors'
 * vectors and w = tau A v - (tau^2 v^H A v / 2) v, one row per reflector. Half of the work is the
 * products A v, which read the trailing matrix once per column and are bound by memory
 * bandwidth; the workers share its rows. The matrix is mirrored to both triangles first, so that
 * rows replace columns. */
#include "ops/kernels/linalg/tridiagonal.h"

#include "base/arith.h"

#define BLOCK REFLECTORS_BLOCK

typedef struct tridiagonal_run {
  const split_matrix_kind_t *kind;
  const reflectors_t *r;
  split_matrix_t a;       /* the matrix, updated up to the current block */
  split_matrix_t w;       /* the block's panel; a row per reflector */
  split_matrix_t factors; /* coefficients of one panel product; a row of BLOCK */
  int64_t n;              /* size of the matrix */
  int64_t first, count;   /* the current block's columns */
  hr_workers_t *workers;
  char *space;
} tridiagonal_run_t;

size_t tridiagonal_bytes(const split_matrix_kind_t *kind, int64_t n) {
  return split_matrix_bytes(kind, BLOCK, n) + split_matrix_bytes(kind, 1, BLOCK) + 64;
}

/* Conjugates row i right of the diagonal and makes the diagonal real. */
static void conjugate_row_end(const split_matrix_kind_t *kind, split_matrix_t a, int64_t i,
                              int64_t n) {
  int64_t from = hr_min(split_matrix_ceil(i + 1), n);
  split_matrix_set(kind, a, i, i, creal(split_matrix_get(kind, a, i, i)));
  for (int64_t c = i + 1; c < from; c++)
    split_matrix_set(kind, a, i, c, conj(split_matrix_get(kind, a, i, c)));
  if (from < n)
    kind->loops->scale(split_matrix_ceil(n) - from, split_matrix_at(kind, a, i, from).part[1], NULL,
                       -1, 0);
}

/* Fills the upper triangle with the conjugated lower one. */
static void mirror_lower_triangle(const split_matrix_kind_t *kind, split_matrix_t a, int64_t n) {
  for (int64_t i = 0; i < n; i += SPLIT_MATRIX_UNIT) {
    int64_t rows = hr_min(SPLIT_MATRIX_UNIT, n - i);
    split_matrix_copy(kind, split_matrix_at(kind, a, i, 0), rows, i,
                      split_matrix_transposed(split_matrix_at(kind, a, 0, i)));
    for (int64_t r = i; r < i + rows; r++)
      for (int64_t c = i; c < r; c++)
        split_matrix_set(kind, a, c, r, split_matrix_get(kind, a, r, c));
  }
  for (int64_t i = 0; i < n && kind->parts == 2; i++) conjugate_row_end(kind, a, i, n);
}

/* Column i of the updated matrix, from the diagonal on, into row x; zero before it. */
static void current_column(const tridiagonal_run_t *run, int64_t i, split_matrix_t x) {
  const split_matrix_kind_t *kind = run->kind;
  split_matrix_t v = split_matrix_at(kind, run->r->vectors, run->first, 0);
  int64_t before = split_matrix_floor(i), reduced_count = i - run->first;
  split_matrix_copy(kind, split_matrix_at(kind, run->a, i, before), 1, run->n - before,
                    split_matrix_at(kind, x, 0, before));
  if (x.part[1])
    kind->loops->scale(split_matrix_ceil(run->n) - before,
                       split_matrix_at(kind, x, 0, before).part[1], NULL, -1, 0);
  split_vector_t column = {x, i, run->n};
  split_matrix_conj_column(kind, run->w, reduced_count, i, run->factors);
  split_gemv(kind, SPLIT_MATRIX_NO_CONJ, reduced_count, v, run->factors, -1, column);
  split_matrix_conj_column(kind, v, reduced_count, i, run->factors);
  split_gemv(kind, SPLIT_MATRIX_NO_CONJ, reduced_count, run->w, run->factors, -1, column);
  split_matrix_clear(kind, split_matrix_at(kind, x, 0, before), 1, i - before);
}

typedef struct product_run {
  const tridiagonal_run_t *run;
  split_matrix_t v, y;
  int64_t from;
} product_run_t;

/* Computes a range of elements of y = A v. */
static void multiply_rows(void *context, int64_t begin, int64_t end, int worker) {
  const product_run_t *product = context;
  const tridiagonal_run_t *run = product->run;
  int64_t row = product->from + begin;
  (void)worker;
  split_gemv_t(run->kind, SPLIT_MATRIX_NO_CONJ, end - begin,
               split_matrix_at(run->kind, run->a, row, 0),
               (split_vector_t){product->v, product->from, run->n},
               split_matrix_at(run->kind, product->y, 0, row));
}

/* y = (A - v w^H - w v^H) v for the reflector of column i. */
static void current_product(const tridiagonal_run_t *run, int64_t i, split_matrix_t v,
                            split_matrix_t y) {
  const split_matrix_kind_t *kind = run->kind;
  split_matrix_t vs = split_matrix_at(kind, run->r->vectors, run->first, 0);
  int64_t reduced_count = i - run->first, left = run->n - i - 1;
  product_run_t product = {run, v, y, i + 1};
  split_matrix_clear(kind, y, 1, split_matrix_ceil(run->n));
  hr_workers_split(run->workers, left, 1 + REFLECTORS_SERIAL / left, multiply_rows, &product);
  split_vector_t vector = {v, i + 1, run->n}, to = {y, i + 1, run->n};
  split_gemv_t(kind, SPLIT_MATRIX_CONJ_ROWS, reduced_count, run->w, vector, run->factors);
  split_gemv(kind, SPLIT_MATRIX_NO_CONJ, reduced_count, vs, run->factors, -1, to);
  split_gemv_t(kind, SPLIT_MATRIX_CONJ_ROWS, reduced_count, vs, vector, run->factors);
  split_gemv(kind, SPLIT_MATRIX_NO_CONJ, reduced_count, run->w, run->factors, -1, to);
}

/* w = tau y + alpha v, with alpha = - tau (tau y)^H v / 2. */
static void compute_w(const tridiagonal_run_t *run, int64_t i, double complex tau, split_matrix_t v,
                      split_matrix_t w) {
  const split_matrix_kind_t *kind = run->kind;
  int64_t from = split_matrix_floor(i + 1);
  split_matrix_t rest = split_matrix_at(kind, w, 0, from);
  kind->loops->scale(split_matrix_ceil(run->n) - from, rest.part[0], rest.part[1], creal(tau),
                     cimag(tau));
  split_gemv_t(kind, SPLIT_MATRIX_CONJ_ROWS, 1, w, (split_vector_t){v, i + 1, run->n},
               run->factors);
  split_matrix_set(kind, run->factors, 0, 0,
                   -0.5 * tau * split_matrix_get(kind, run->factors, 0, 0));
  split_gemv(kind, SPLIT_MATRIX_NO_CONJ, 1, v, run->factors, 1, (split_vector_t){w, i + 1, run->n});
}

/* Trailing update after a block, REFLECTORS_UPDATE_ROWS rows per task. */
static void update_trailing_rows(void *context, int64_t begin, int64_t end, int worker) {
  const tridiagonal_run_t *run = context;
  const split_matrix_kind_t *kind = run->kind;
  int64_t from = run->first + run->count;
  char *space = run->space + (size_t)worker * reflectors_space_bytes(kind);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = from + i * REFLECTORS_UPDATE_ROWS,
            rows = hr_min(REFLECTORS_UPDATE_ROWS, run->n - row);
    split_matrix_t v = split_matrix_at(kind, run->r->vectors, run->first, 0);
    split_matrix_update_t update = {
        .rows = rows,
        .columns = run->n - from,
        .k = run->count,
        .a = {split_matrix_at(kind, v, 0, row), split_matrix_at(kind, run->w, 0, row)},
        .b = {split_matrix_at(kind, run->w, 0, from), split_matrix_at(kind, v, 0, from)},
        .c = split_matrix_at(kind, run->a, row, from)};
    split_matrix_rank_2k_update(kind, &update, space);
  }
}

static void reduce_column(const tridiagonal_run_t *run, int64_t i, split_matrix_t diagonal,
                          split_matrix_t off_diagonal) {
  const split_matrix_kind_t *kind = run->kind;
  split_matrix_t v = split_matrix_at(kind, run->r->vectors, i, 0),
                 w = split_matrix_at(kind, run->w, i - run->first, 0);
  double beta;
  current_column(run, i, v);
  split_matrix_set(kind, diagonal, 0, i, creal(split_matrix_get(kind, v, 0, i)));
  split_matrix_set(kind, v, 0, i, 0);
  double complex tau = reflectors_make(kind, v, i + 1, run->n, &beta);
  split_matrix_set(kind, off_diagonal, 0, i, beta);
  split_matrix_set(kind, run->r->taus, 0, i, tau);
  current_product(run, i, v, w);
  compute_w(run, i, tau, v, w);
}

void tridiagonal_reduce(hr_workers_t *workers, const reflectors_t *r, split_matrix_t a,
                        void *diagonal, void *off_diagonal, void *memory, char *space) {
  const split_matrix_kind_t *kind = r->kind;
  int64_t n = r->length;
  split_matrix_t d = {{diagonal, NULL}, n, 1}, e = {{off_diagonal, NULL}, n, 1};
  tridiagonal_run_t run = {
      kind,
      r,
      a,
      split_matrix_init(kind, BLOCK, n, memory, true),
      split_matrix_init(kind, 1, BLOCK, (char *)memory + split_matrix_bytes(kind, BLOCK, n), true),
      n,
      0,
      0,
      workers,
      space};
  mirror_lower_triangle(kind, a, n);
  for (; run.first < n - 1; run.first += run.count) {
    run.count = hr_min(BLOCK, n - 1 - run.first);
    for (int64_t i = run.first; i < run.first + run.count; i++) reduce_column(&run, i, d, e);
    int64_t left = n - run.first - run.count;
    hr_workers_for(workers, hr_div_ceil(left, REFLECTORS_UPDATE_ROWS), 1 + 2000 / left,
                   update_trailing_rows, &run);
  }
  split_matrix_set(kind, d, 0, n - 1, creal(split_matrix_get(kind, a, n - 1, n - 1)));
}
