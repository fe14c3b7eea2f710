/* Blocked bidiagonalisation (LAPACK's gebrd with the panel factorisation labrd).
 *
 * Columns and rows are reduced alternately; the trailing matrix is updated only after a block of
 * BLOCK of them. Until then it is represented as
 *
 *   A - v^T conj(y) - x^T conj(u)     (one row per reflector of the block in each of v, y, x, u)
 *
 * with v and u the reflectors' vectors from the left and from the right, y = tau A^H v and
 * x = tau A u. The current column and row are therefore computed on demand. Half of the work is the
 * two matrix-vector products per column, which read the trailing matrix once each and are bound
 * by memory bandwidth; the workers share its rows or columns. The other half is the rank-2k
 * update. */
#include "ops/kernels/linalg/bidiagonal.h"

#include "base/arith.h"

#define BLOCK REFLECTORS_BLOCK

typedef struct bidiagonal_run {
  const split_matrix_kind_t *kind;
  const reflectors_t *left, *right;
  split_matrix_t a;       /* the matrix, updated up to the current block */
  split_matrix_t v, x;    /* the block's panels; rows of length m */
  split_matrix_t u, y;    /* the block's panels; rows of length n */
  split_matrix_t factors; /* coefficients of one panel product; a row of BLOCK */
  int64_t m, n;           /* sizes of the matrix */
  int64_t first, count;   /* the current block's columns */
  hr_workers_t *workers;
  char *space;
} bidiagonal_run_t;

size_t bidiagonal_bytes(const split_matrix_kind_t *kind, int64_t m, int64_t n) {
  return split_matrix_bytes(kind, BLOCK, m) + split_matrix_bytes(kind, BLOCK, n) +
         split_matrix_bytes(kind, 1, BLOCK) + split_matrix_bytes(kind, 1, m) + 64;
}

/* to -= sum over k of conj(others[k][at]) rows[k]. */
static void subtract_panel_rows(const bidiagonal_run_t *run, split_matrix_t rows,
                                split_matrix_t others, int64_t count, int64_t at,
                                split_vector_t to) {
  split_matrix_conj_column(run->kind, others, count, at, run->factors);
  split_gemv(run->kind, SPLIT_MATRIX_NO_CONJ, count, rows, run->factors, -1, to);
}

/* Zeroes the elements between the unit's start and i, which loops read. */
static void clear_unit_prefix(const split_matrix_kind_t *kind, split_matrix_t row, int64_t i) {
  split_matrix_clear(kind, split_matrix_at(kind, row, 0, split_matrix_floor(i)), 1,
                     i - split_matrix_floor(i));
}

/* Column i of the updated matrix, from the diagonal on. */
static void current_column(const bidiagonal_run_t *run, int64_t i, split_matrix_t to) {
  int64_t reduced_count = i - run->first;
  split_matrix_copy(run->kind, split_matrix_at(run->kind, run->a, i, i), run->m - i, 1,
                    split_matrix_transposed(split_matrix_at(run->kind, to, 0, i)));
  split_vector_t column = {to, i, run->m};
  subtract_panel_rows(run, run->v, run->y, reduced_count, i, column);
  subtract_panel_rows(run, run->x, run->u, reduced_count, i, column);
  clear_unit_prefix(run->kind, to, i);
}

/* Row i of the updated matrix, conjugated, right of the diagonal. Its column's reflector has
 * been applied. */
static void current_row(const bidiagonal_run_t *run, int64_t i, split_matrix_t to) {
  const split_matrix_kind_t *kind = run->kind;
  int64_t reduced_count = i - run->first, before = split_matrix_floor(i + 1);
  split_matrix_t rest = split_matrix_at(kind, to, 0, before);
  split_matrix_copy(kind, split_matrix_at(kind, run->a, i, before), 1, run->n - before, rest);
  if (rest.part[1])
    kind->loops->scale(split_matrix_ceil(run->n) - before, rest.part[1], NULL, -1, 0);
  split_vector_t row = {to, i + 1, run->n};
  subtract_panel_rows(run, run->y, run->v, reduced_count + 1, i, row);
  subtract_panel_rows(run, run->u, run->x, reduced_count, i, row);
  clear_unit_prefix(kind, to, i + 1);
}

typedef struct product_run {
  const bidiagonal_run_t *run;
  split_matrix_t vector, to;
  int64_t i;
} product_run_t;

/* Computes a range of units of y = A^H v. */
static void multiply_columns(void *context, int64_t begin, int64_t end, int worker) {
  const product_run_t *product = context;
  const bidiagonal_run_t *run = product->run;
  int64_t from = split_matrix_floor(product->i + 1);
  split_vector_t y = {product->to, from + begin * SPLIT_MATRIX_UNIT,
                      hr_min(from + end * SPLIT_MATRIX_UNIT, run->n)};
  (void)worker;
  split_gemv(run->kind, SPLIT_MATRIX_CONJ_ROWS, run->m - product->i,
             split_matrix_at(run->kind, run->a, product->i, 0),
             split_matrix_at(run->kind, product->vector, 0, product->i), 1, y);
}

/* Computes a range of elements of x = A u. */
static void multiply_rows(void *context, int64_t begin, int64_t end, int worker) {
  const product_run_t *product = context;
  const bidiagonal_run_t *run = product->run;
  int64_t row = product->i + 1 + begin;
  (void)worker;
  split_gemv_t(run->kind, SPLIT_MATRIX_NO_CONJ, end - begin,
               split_matrix_at(run->kind, run->a, row, 0),
               (split_vector_t){product->vector, product->i + 1, run->n},
               split_matrix_at(run->kind, product->to, 0, row));
}

/* to -= rows^T (others^H vector). */
static void subtract_panel_product(const bidiagonal_run_t *run, split_matrix_t rows,
                                   split_matrix_t others, int64_t count, split_vector_t vector,
                                   split_vector_t to) {
  split_gemv_t(run->kind, SPLIT_MATRIX_CONJ_ROWS, count, others, vector, run->factors);
  split_gemv(run->kind, SPLIT_MATRIX_NO_CONJ, count, rows, run->factors, -1, to);
}

static void scale_row(const split_matrix_kind_t *kind, split_matrix_t row, int64_t begin,
                      int64_t end, double complex factor) {
  split_matrix_t rest = split_matrix_at(kind, row, 0, split_matrix_floor(begin));
  kind->loops->scale(split_matrix_ceil(end) - split_matrix_floor(begin), rest.part[0], rest.part[1],
                     creal(factor), cimag(factor));
}

/* y = tau A^H v for the updated matrix. */
static void compute_y(const bidiagonal_run_t *run, int64_t i, split_matrix_t v, double complex tau,
                      split_matrix_t y) {
  int64_t reduced_count = i - run->first,
          pieces = (split_matrix_ceil(run->n) - split_matrix_floor(i + 1)) / SPLIT_MATRIX_UNIT;
  product_run_t product = {run, v, y, i};
  split_matrix_clear(run->kind, y, 1, split_matrix_ceil(run->n));
  hr_workers_split(run->workers, pieces, 1 + REFLECTORS_SERIAL / SPLIT_MATRIX_UNIT / (run->m - i),
                   multiply_columns, &product);
  split_vector_t column = {v, i, run->m}, to = {y, i + 1, run->n};
  subtract_panel_product(run, run->y, run->v, reduced_count, column, to);
  subtract_panel_product(run, run->u, run->x, reduced_count, column, to);
  scale_row(run->kind, y, i + 1, run->n, tau);
}

/* x = tau A u for the updated matrix. */
static void compute_x(const bidiagonal_run_t *run, int64_t i, split_matrix_t u, double complex tau,
                      split_matrix_t x) {
  int64_t reduced_count = i - run->first;
  product_run_t product = {run, u, x, i};
  split_matrix_clear(run->kind, x, 1, split_matrix_ceil(run->m));
  hr_workers_split(run->workers, run->m - i - 1, 1 + REFLECTORS_SERIAL / (run->n - i),
                   multiply_rows, &product);
  split_vector_t row = {u, i + 1, run->n}, to = {x, i + 1, run->m};
  subtract_panel_product(run, run->v, run->y, reduced_count + 1, row, to);
  subtract_panel_product(run, run->x, run->u, reduced_count, row, to);
  scale_row(run->kind, x, i + 1, run->m, tau);
}

static void reduce_column(const bidiagonal_run_t *run, int64_t i, split_matrix_t diagonal) {
  split_matrix_t v = split_matrix_at(run->kind, run->left->vectors, i, 0);
  double beta;
  current_column(run, i, v);
  double complex tau = reflectors_make(run->kind, v, i, run->m, &beta);
  split_matrix_set(run->kind, diagonal, 0, i, beta);
  split_matrix_set(run->kind, run->left->taus, 0, i, tau);
  if (i + 1 < run->n)
    compute_y(run, i, v, tau, split_matrix_at(run->kind, run->y, i - run->first, 0));
}

static void reduce_row(const bidiagonal_run_t *run, int64_t i, split_matrix_t superdiagonal) {
  split_matrix_t u = split_matrix_at(run->kind, run->right->vectors, i, 0);
  double beta;
  current_row(run, i, u);
  double complex tau = reflectors_make(run->kind, u, i + 1, run->n, &beta);
  split_matrix_set(run->kind, superdiagonal, 0, i, beta);
  split_matrix_set(run->kind, run->right->taus, 0, i, tau);
  if (i + 1 < run->m)
    compute_x(run, i, u, tau, split_matrix_at(run->kind, run->x, i - run->first, 0));
}

/* Trailing update after a block, REFLECTORS_UPDATE_ROWS rows per task. */
static void update_trailing_rows(void *context, int64_t begin, int64_t end, int worker) {
  const bidiagonal_run_t *run = context;
  const split_matrix_kind_t *kind = run->kind;
  int64_t from = run->first + run->count, columns = run->n - from;
  char *space = run->space + (size_t)worker * reflectors_space_bytes(kind);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = from + i * REFLECTORS_UPDATE_ROWS,
            rows = hr_min(REFLECTORS_UPDATE_ROWS, run->m - row);
    split_matrix_update_t update = {
        .rows = rows,
        .columns = columns,
        .k = run->count,
        .a = {split_matrix_at(kind, run->v, 0, row), split_matrix_at(kind, run->x, 0, row)},
        .b = {split_matrix_at(kind, run->y, 0, from), split_matrix_at(kind, run->u, 0, from)},
        .c = split_matrix_at(kind, run->a, row, from)};
    split_matrix_rank_2k_update(kind, &update, space);
  }
}

static bidiagonal_run_t bidiagonal_start(hr_workers_t *workers, const reflectors_t *left,
                                         const reflectors_t *right, split_matrix_t a, char *memory,
                                         char *space) {
  const split_matrix_kind_t *kind = left->kind;
  int64_t m = left->length, n = left->count;
  char *y = memory + split_matrix_bytes(kind, BLOCK, m),
       *factors = y + split_matrix_bytes(kind, BLOCK, n);
  return (bidiagonal_run_t){.kind = kind,
                            .left = left,
                            .right = right,
                            .a = a,
                            .x = split_matrix_init(kind, BLOCK, m, memory, true),
                            .y = split_matrix_init(kind, BLOCK, n, y, true),
                            .factors = split_matrix_init(kind, 1, BLOCK, factors, true),
                            .m = m,
                            .n = n,
                            .workers = workers,
                            .space = space};
}

void bidiagonal_reduce(hr_workers_t *workers, const reflectors_t *left, const reflectors_t *right,
                       split_matrix_t a, void *diagonal, void *superdiagonal, void *memory,
                       char *space) {
  const split_matrix_kind_t *kind = left->kind;
  bidiagonal_run_t run = bidiagonal_start(workers, left, right, a, memory, space);
  split_matrix_t d = {{diagonal, NULL}, run.n, 1}, e = {{superdiagonal, NULL}, run.n, 1};
  for (; run.first < run.n; run.first += run.count) {
    run.count = hr_min(BLOCK, run.n - run.first);
    run.v = split_matrix_at(kind, left->vectors, run.first, 0),
    run.u = split_matrix_at(kind, right->vectors, run.first, 0);
    for (int64_t i = run.first; i < run.first + run.count; i++) {
      reduce_column(&run, i, d);
      if (i + 1 < run.n) reduce_row(&run, i, e);
    }
    int64_t rows = run.m - run.first - run.count, columns = run.n - run.first - run.count;
    if (columns > 0)
      hr_workers_for(workers, hr_div_ceil(rows, REFLECTORS_UPDATE_ROWS), 1 + 2000 / columns,
                     update_trailing_rows, &run);
  }
}
