/* Columns and rows in turn, the matrix itself brought up to date after a block of them: until then
 * it is A - v y^H - x u^H, with rows v and u of reflectors from the left and from the right, and
 * rows y and x made of A^H v and A u. Half of the work is these two products, which read what is
 * left of the matrix once each; workers share it. */
#include "ops/kernels/linalg/bidiagonal.h"

#include "base/arith.h"

#define BLOCK REFLECTORS_BLOCK
#define READ_SERIAL 65536 /* elements of the matrix that one worker reads as quickly as all */
#define UPDATE_ROWS 64

typedef struct bidiagonal_run {
  const split_matrix_kind_t *kind;
  const reflectors_t *left, *right;
  split_matrix_t a, v, u, x, y,
      factors; /* v and x: rows as long as a's columns, u and y: as its rows */
  int64_t m, n, first, count;
  hr_workers_t *workers;
  char *space;
} bidiagonal_run_t;

size_t bidiagonal_bytes(const split_matrix_kind_t *kind, int64_t m, int64_t n) {
  return split_matrix_bytes(kind, BLOCK, m) + split_matrix_bytes(kind, BLOCK, n) +
         split_matrix_bytes(kind, 1, BLOCK) + split_matrix_bytes(kind, 1, m) + 64;
}

/* factors[k] = the conjugate of rows[k][at]. */
static void take_column(const bidiagonal_run_t *run, split_matrix_t rows, int64_t count,
                        int64_t at) {
  for (int64_t k = 0; k < count; k++)
    split_matrix_set(run->kind, run->factors, 0, k, conj(split_matrix_get(run->kind, rows, k, at)));
}

/* to -= the sum over k of conj(others[k][at]) rows[k], from `begin` on. */
static void apply_rows(const bidiagonal_run_t *run, split_matrix_t rows, split_matrix_t others,
                       int64_t count, int64_t at, split_matrix_t to, int64_t begin, int64_t end) {
  take_column(run, others, count, at);
  split_gemv(run->kind, SPLIT_MATRIX_NO_CONJ, count, rows, run->factors, -1, to, begin, end);
}

static void clear_before(const split_matrix_kind_t *kind, split_matrix_t row, int64_t i) {
  split_matrix_clear(kind, split_matrix_at(kind, row, 0, split_matrix_floor(i)), 1,
                     i - split_matrix_floor(i));
}

/* Column i of the matrix as it would be by now, from the diagonal on. */
static void current_column(const bidiagonal_run_t *run, int64_t i, split_matrix_t to) {
  int64_t done = i - run->first;
  split_matrix_copy(run->kind, split_matrix_at(run->kind, run->a, i, i), run->m - i, 1,
                    split_matrix_transposed(split_matrix_at(run->kind, to, 0, i)));
  apply_rows(run, run->v, run->y, done, i, to, i, run->m);
  apply_rows(run, run->x, run->u, done, i, to, i, run->m);
  clear_before(run->kind, to, i);
}

/* Row i, conjugated, behind the diagonal; its column reflector is done. */
static void current_row(const bidiagonal_run_t *run, int64_t i, split_matrix_t to) {
  const split_matrix_kind_t *kind = run->kind;
  int64_t done = i - run->first, before = split_matrix_floor(i + 1);
  split_matrix_t rest = split_matrix_at(kind, to, 0, before);
  split_matrix_copy(kind, split_matrix_at(kind, run->a, i, before), 1, run->n - before, rest);
  if (rest.part[1])
    kind->loops->scale(split_matrix_ceil(run->n) - before, rest.part[1], NULL, -1, 0);
  apply_rows(run, run->y, run->v, done + 1, i, to, i + 1, run->n);
  apply_rows(run, run->u, run->x, done, i, to, i + 1, run->n);
  clear_before(kind, to, i + 1);
}

typedef struct read_run {
  const bidiagonal_run_t *run;
  split_matrix_t vector, to;
  int64_t i;
} read_run_t;

/* Pieces of y = A^H v. */
static void read_columns(void *context, int64_t begin, int64_t end, int worker) {
  const read_run_t *read = context;
  const bidiagonal_run_t *run = read->run;
  int64_t from = split_matrix_floor(read->i + 1), first = from + begin * SPLIT_MATRIX_UNIT;
  (void)worker;
  split_gemv(run->kind, SPLIT_MATRIX_CONJ_ROWS, run->m - read->i,
             split_matrix_at(run->kind, run->a, read->i, 0),
             split_matrix_at(run->kind, read->vector, 0, read->i), 1, read->to, first,
             hr_min(from + end * SPLIT_MATRIX_UNIT, run->n));
}

/* Elements of x = A u. */
static void read_rows(void *context, int64_t begin, int64_t end, int worker) {
  const read_run_t *read = context;
  const bidiagonal_run_t *run = read->run;
  int64_t row = read->i + 1 + begin;
  (void)worker;
  split_gemv_t(run->kind, SPLIT_MATRIX_NO_CONJ, end - begin,
               split_matrix_at(run->kind, run->a, row, 0), read->vector, read->i + 1, run->n,
               split_matrix_at(run->kind, read->to, 0, row));
}

/* to -= rows^T (others^H vector). */
static void accumulate_products(const bidiagonal_run_t *run, split_matrix_t rows,
                                split_matrix_t others, int64_t count, split_matrix_t vector,
                                int64_t begin, int64_t end, split_matrix_t to, int64_t to_begin,
                                int64_t to_end) {
  split_gemv_t(run->kind, SPLIT_MATRIX_CONJ_ROWS, count, others, vector, begin, end, run->factors);
  split_gemv(run->kind, SPLIT_MATRIX_NO_CONJ, count, rows, run->factors, -1, to, to_begin, to_end);
}

static void scale_row(const split_matrix_kind_t *kind, split_matrix_t row, int64_t begin,
                      int64_t end, double complex factor) {
  split_matrix_t rest = split_matrix_at(kind, row, 0, split_matrix_floor(begin));
  kind->loops->scale(split_matrix_ceil(end) - split_matrix_floor(begin), rest.part[0], rest.part[1],
                     creal(factor), cimag(factor));
}

/* y = tau A^H v for the matrix as it would be by now. */
static void make_y(const bidiagonal_run_t *run, int64_t i, split_matrix_t v, double complex tau,
                   split_matrix_t y) {
  int64_t done = i - run->first,
          pieces = (split_matrix_ceil(run->n) - split_matrix_floor(i + 1)) / SPLIT_MATRIX_UNIT;
  read_run_t read = {run, v, y, i};
  split_matrix_clear(run->kind, y, 1, split_matrix_ceil(run->n));
  hr_workers_split(run->workers, pieces, 1 + READ_SERIAL / SPLIT_MATRIX_UNIT / (run->m - i),
                   read_columns, &read);
  accumulate_products(run, run->y, run->v, done, v, i, run->m, y, i + 1, run->n);
  accumulate_products(run, run->u, run->x, done, v, i, run->m, y, i + 1, run->n);
  scale_row(run->kind, y, i + 1, run->n, tau);
}

/* x = tau A u. */
static void make_x(const bidiagonal_run_t *run, int64_t i, split_matrix_t u, double complex tau,
                   split_matrix_t x) {
  int64_t done = i - run->first;
  read_run_t read = {run, u, x, i};
  split_matrix_clear(run->kind, x, 1, split_matrix_ceil(run->m));
  hr_workers_split(run->workers, run->m - i - 1, 1 + READ_SERIAL / (run->n - i), read_rows, &read);
  accumulate_products(run, run->v, run->y, done + 1, u, i + 1, run->n, x, i + 1, run->m);
  accumulate_products(run, run->x, run->u, done, u, i + 1, run->n, x, i + 1, run->m);
  scale_row(run->kind, x, i + 1, run->m, tau);
}

static void reduce_column(const bidiagonal_run_t *run, int64_t i, split_matrix_t diagonal) {
  split_matrix_t v = split_matrix_at(run->kind, run->left->vectors, i, 0);
  double beta;
  current_column(run, i, v);
  double complex tau = reflectors_make(run->kind, v, i, run->m, &beta);
  split_matrix_set(run->kind, diagonal, 0, i, beta);
  split_matrix_set(run->kind, run->left->taus, 0, i, tau);
  if (i + 1 < run->n) make_y(run, i, v, tau, split_matrix_at(run->kind, run->y, i - run->first, 0));
}

static void reduce_row(const bidiagonal_run_t *run, int64_t i, split_matrix_t superdiagonal) {
  split_matrix_t u = split_matrix_at(run->kind, run->right->vectors, i, 0);
  double beta;
  current_row(run, i, u);
  double complex tau = reflectors_make(run->kind, u, i + 1, run->n, &beta);
  split_matrix_set(run->kind, superdiagonal, 0, i, beta);
  split_matrix_set(run->kind, run->right->taus, 0, i, tau);
  if (i + 1 < run->m) make_x(run, i, u, tau, split_matrix_at(run->kind, run->x, i - run->first, 0));
}

/* Rows of what is left behind the block, brought up to date. */
static void update_rows(void *context, int64_t begin, int64_t end, int worker) {
  const bidiagonal_run_t *run = context;
  const split_matrix_kind_t *kind = run->kind;
  int64_t from = run->first + run->count, columns = run->n - from;
  char *space = run->space + (size_t)worker * reflectors_space_bytes(kind);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = from + i * UPDATE_ROWS, rows = hr_min(UPDATE_ROWS, run->m - row);
    split_matrix_t c = split_matrix_at(kind, run->a, row, from);
    split_matrix_product_t one = {GEMM_SUBTRACT,
                                  rows,
                                  columns,
                                  run->count,
                                  split_matrix_transposed(split_matrix_at(kind, run->v, 0, row)),
                                  split_matrix_at(kind, run->y, 0, from),
                                  c,
                                  .conj_b = true};
    split_matrix_product_t other = {GEMM_SUBTRACT,
                                    rows,
                                    columns,
                                    run->count,
                                    split_matrix_transposed(split_matrix_at(kind, run->x, 0, row)),
                                    split_matrix_at(kind, run->u, 0, from),
                                    c,
                                    .conj_b = true};
    split_matrix_multiply(kind, &one, space);
    split_matrix_multiply(kind, &other, space);
  }
}

static bidiagonal_run_t start(hr_workers_t *workers, const reflectors_t *left,
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
  bidiagonal_run_t run = start(workers, left, right, a, memory, space);
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
      hr_workers_for(workers, (rows + UPDATE_ROWS - 1) / UPDATE_ROWS, 1 + 2000 / columns,
                     update_rows, &run);
  }
}
