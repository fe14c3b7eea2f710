/* Columns and rows in turn, the matrix itself brought up to date after a block of them: until then it is A - v y^H - x
 * u^H, with rows v and u of reflectors from the left and from the right, and rows y and x made of A^H v and A u. Half
 * of the work is these two products, which read what is left of the matrix once each; workers share it. */
#include "ops/bidiagonal.h"

#define BLOCK REFLECTORS_BLOCK
#define READ_ALONE 65536 /* elements of the matrix that one worker reads as quickly as all */
#define UPDATE_ROWS 64

typedef struct bidiagonal_run {
  const planes_kind_t *kind;
  const reflectors_t *left, *right;
  planes_t a, v, u, x, y, factors; /* v and x: rows as long as a's columns, u and y: as its rows */
  int64_t m, n, first, count;
  hr_workers_t *workers;
  char *space;
} bidiagonal_run_t;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

size_t bidiagonal_bytes(const planes_kind_t *kind, int64_t m, int64_t n) {
  return planes_bytes(kind, BLOCK, m) + planes_bytes(kind, BLOCK, n) + planes_bytes(kind, 1, BLOCK) +
         planes_bytes(kind, 1, m) + 64;
}

/* factors[k] = the conjugate of rows[k][at]. */
static void take_column(const bidiagonal_run_t *run, planes_t rows, int64_t count, int64_t at) {
  for (int64_t k = 0; k < count; k++)
    planes_set(run->kind, run->factors, 0, k, conj(planes_get(run->kind, rows, k, at)));
}

/* to -= the sum over k of conj(others[k][at]) rows[k], from `begin` on. */
static void take_rows(const bidiagonal_run_t *run, planes_t rows, planes_t others, int64_t count, int64_t at,
                      planes_t to, int64_t begin, int64_t end) {
  take_column(run, others, count, at);
  planes_add_rows(run->kind, PLANES_PLAIN, count, rows, run->factors, -1, to, begin, end);
}

static void clear_before(const planes_kind_t *kind, planes_t row, int64_t i) {
  planes_clear(kind, planes_at(kind, row, 0, planes_floor(i)), 1, i - planes_floor(i));
}

/* Column i of the matrix as it would be by now, from the diagonal on. */
static void current_column(const bidiagonal_run_t *run, int64_t i, planes_t to) {
  int64_t done = i - run->first;
  planes_copy(run->kind, planes_at(run->kind, run->a, i, i), run->m - i, 1,
              planes_turned(planes_at(run->kind, to, 0, i)));
  take_rows(run, run->v, run->y, done, i, to, i, run->m);
  take_rows(run, run->x, run->u, done, i, to, i, run->m);
  clear_before(run->kind, to, i);
}

/* Row i, conjugated, behind the diagonal; its column reflector is done. */
static void current_row(const bidiagonal_run_t *run, int64_t i, planes_t to) {
  const planes_kind_t *kind = run->kind;
  int64_t done = i - run->first, before = planes_floor(i + 1);
  planes_t rest = planes_at(kind, to, 0, before);
  planes_copy(kind, planes_at(kind, run->a, i, before), 1, run->n - before, rest);
  if (rest.part[1]) kind->loops->scale(planes_ceil(run->n) - before, rest.part[1], NULL, -1, 0);
  take_rows(run, run->y, run->v, done + 1, i, to, i + 1, run->n);
  take_rows(run, run->u, run->x, done, i, to, i + 1, run->n);
  clear_before(kind, to, i + 1);
}

typedef struct read_run {
  const bidiagonal_run_t *run;
  planes_t vector, to;
  int64_t i;
} read_run_t;

/* Pieces of y = A^H v. */
static void read_columns(void *context, int64_t begin, int64_t end, int worker) {
  const read_run_t *read = context;
  const bidiagonal_run_t *run = read->run;
  int64_t from = planes_floor(read->i + 1), first = from + begin * PLANES_UNIT;
  (void)worker;
  planes_add_rows(run->kind, PLANES_CONJ_ROWS, run->m - read->i, planes_at(run->kind, run->a, read->i, 0),
                  planes_at(run->kind, read->vector, 0, read->i), 1, read->to, first,
                  least(from + end * PLANES_UNIT, run->n));
}

/* Elements of x = A u. */
static void read_rows(void *context, int64_t begin, int64_t end, int worker) {
  const read_run_t *read = context;
  const bidiagonal_run_t *run = read->run;
  int64_t row = read->i + 1 + begin;
  (void)worker;
  planes_dots(run->kind, PLANES_PLAIN, end - begin, planes_at(run->kind, run->a, row, 0), read->vector, read->i + 1,
              run->n, planes_at(run->kind, read->to, 0, row));
}

/* to -= rows^T (others^H vector). */
static void take_products(const bidiagonal_run_t *run, planes_t rows, planes_t others, int64_t count, planes_t vector,
                          int64_t begin, int64_t end, planes_t to, int64_t to_begin, int64_t to_end) {
  planes_dots(run->kind, PLANES_CONJ_ROWS, count, others, vector, begin, end, run->factors);
  planes_add_rows(run->kind, PLANES_PLAIN, count, rows, run->factors, -1, to, to_begin, to_end);
}

static void scale_row(const planes_kind_t *kind, planes_t row, int64_t begin, int64_t end, double complex factor) {
  planes_t rest = planes_at(kind, row, 0, planes_floor(begin));
  kind->loops->scale(planes_ceil(end) - planes_floor(begin), rest.part[0], rest.part[1], creal(factor), cimag(factor));
}

/* y = tau A^H v for the matrix as it would be by now. */
static void make_y(const bidiagonal_run_t *run, int64_t i, planes_t v, double complex tau, planes_t y) {
  int64_t done = i - run->first, pieces = (planes_ceil(run->n) - planes_floor(i + 1)) / PLANES_UNIT;
  read_run_t read = {run, v, y, i};
  planes_clear(run->kind, y, 1, planes_ceil(run->n));
  hr_workers_split(run->workers, pieces, 1 + READ_ALONE / PLANES_UNIT / (run->m - i), read_columns, &read);
  take_products(run, run->y, run->v, done, v, i, run->m, y, i + 1, run->n);
  take_products(run, run->u, run->x, done, v, i, run->m, y, i + 1, run->n);
  scale_row(run->kind, y, i + 1, run->n, tau);
}

/* x = tau A u. */
static void make_x(const bidiagonal_run_t *run, int64_t i, planes_t u, double complex tau, planes_t x) {
  int64_t done = i - run->first;
  read_run_t read = {run, u, x, i};
  planes_clear(run->kind, x, 1, planes_ceil(run->m));
  hr_workers_split(run->workers, run->m - i - 1, 1 + READ_ALONE / (run->n - i), read_rows, &read);
  take_products(run, run->v, run->y, done + 1, u, i + 1, run->n, x, i + 1, run->m);
  take_products(run, run->x, run->u, done, u, i + 1, run->n, x, i + 1, run->m);
  scale_row(run->kind, x, i + 1, run->m, tau);
}

static void reduce_column(const bidiagonal_run_t *run, int64_t i, planes_t diagonal) {
  planes_t v = planes_at(run->kind, run->left->vectors, i, 0);
  double beta;
  current_column(run, i, v);
  double complex tau = reflectors_make(run->kind, v, i, run->m, &beta);
  planes_set(run->kind, diagonal, 0, i, beta);
  planes_set(run->kind, run->left->taus, 0, i, tau);
  if (i + 1 < run->n) make_y(run, i, v, tau, planes_at(run->kind, run->y, i - run->first, 0));
}

static void reduce_row(const bidiagonal_run_t *run, int64_t i, planes_t above) {
  planes_t u = planes_at(run->kind, run->right->vectors, i, 0);
  double beta;
  current_row(run, i, u);
  double complex tau = reflectors_make(run->kind, u, i + 1, run->n, &beta);
  planes_set(run->kind, above, 0, i, beta);
  planes_set(run->kind, run->right->taus, 0, i, tau);
  if (i + 1 < run->m) make_x(run, i, u, tau, planes_at(run->kind, run->x, i - run->first, 0));
}

/* Rows of what is left behind the block, brought up to date. */
static void update_rows(void *context, int64_t begin, int64_t end, int worker) {
  const bidiagonal_run_t *run = context;
  const planes_kind_t *kind = run->kind;
  int64_t from = run->first + run->count, columns = run->n - from;
  char *space = run->space + (size_t)worker * reflectors_space_bytes(kind);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = from + i * UPDATE_ROWS, rows = least(UPDATE_ROWS, run->m - row);
    planes_t c = planes_at(kind, run->a, row, from);
    planes_product_t one = {GEMM_SUBTRACT, rows, columns, run->count, planes_turned(planes_at(kind, run->v, 0, row)),
                            planes_at(kind, run->y, 0, from), c, .conj_b = true};
    planes_product_t other = {GEMM_SUBTRACT, rows, columns, run->count, planes_turned(planes_at(kind, run->x, 0, row)),
                              planes_at(kind, run->u, 0, from), c, .conj_b = true};
    planes_multiply(kind, &one, space);
    planes_multiply(kind, &other, space);
  }
}

static bidiagonal_run_t start(hr_workers_t *workers, const reflectors_t *left, const reflectors_t *right, planes_t a,
                              char *memory, char *space) {
  const planes_kind_t *kind = left->kind;
  int64_t m = left->length, n = left->count;
  char *y = memory + planes_bytes(kind, BLOCK, m), *factors = y + planes_bytes(kind, BLOCK, n);
  return (bidiagonal_run_t){.kind = kind, .left = left, .right = right, .a = a,
                            .x = planes_init(kind, BLOCK, m, memory, true),
                            .y = planes_init(kind, BLOCK, n, y, true),
                            .factors = planes_init(kind, 1, BLOCK, factors, true), .m = m, .n = n, .workers = workers,
                            .space = space};
}

void bidiagonal_reduce(hr_workers_t *workers, const reflectors_t *left, const reflectors_t *right, planes_t a,
                       void *diagonal, void *above, void *memory, char *space) {
  const planes_kind_t *kind = left->kind;
  bidiagonal_run_t run = start(workers, left, right, a, memory, space);
  planes_t d = {{diagonal, NULL}, run.n, 1}, e = {{above, NULL}, run.n, 1};
  for (; run.first < run.n; run.first += run.count) {
    run.count = least(BLOCK, run.n - run.first);
    run.v = planes_at(kind, left->vectors, run.first, 0), run.u = planes_at(kind, right->vectors, run.first, 0);
    for (int64_t i = run.first; i < run.first + run.count; i++) {
      reduce_column(&run, i, d);
      if (i + 1 < run.n) reduce_row(&run, i, e);
    }
    int64_t rows = run.m - run.first - run.count, columns = run.n - run.first - run.count;
    if (columns > 0)
      hr_workers_for(workers, (rows + UPDATE_ROWS - 1) / UPDATE_ROWS, 1 + 2000 / columns, update_rows, &run);
  }
}
