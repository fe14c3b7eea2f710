/* Matrices of f32, f64, c64 and c128 whose real and imaginary parts lie apart, so that all loops over them are loops
 * over reals: what the factorisations by reflectors (reflectors.h, tridiagonal.h, bidiagonal.h) work on. Rows are
 * padded with zeros to a multiple of PLANES_UNIT reals and loops take them from a multiple of it on: what stands
 * before a vector's first element must be zero. Thread: any. */
#ifndef HLO_OPS_PLANES_H
#define HLO_OPS_PLANES_H

#include <complex.h>

#include "ops/gemm.h"

#define PLANES_UNIT 16

/* Loops over rows of reals: out[i] += scale a[i] . x;  y += scale factors[i] a[i];  a[i] += scale factors[i] x;  x
 * times a number (im: NULL for real ones). */
typedef struct planes_loops {
  void (*dots)(int64_t rows, int64_t count, const void *a, int64_t step, const void *x, double scale, void *out);
  void (*add_rows)(int64_t rows, int64_t count, const void *a, int64_t step, const void *factors, double scale,
                   void *y);
  void (*spread)(int64_t rows, int64_t count, const void *x, const void *factors, double scale, void *a, int64_t step);
  void (*scale)(int64_t count, void *re, void *im, double factor_re, double factor_im);
} planes_loops_t;

typedef struct planes_kind {
  hr_dtype_t dtype, real;
  int64_t bytes; /* of a real */
  int parts;
  const planes_loops_t *loops;
} planes_kind_t;

/* Element (i, j) of a part is i * row + j * col reals behind its start. */
typedef struct planes {
  char *part[2]; /* the second one NULL if real */
  int64_t row, col;
} planes_t;

bool planes_kind(hr_dtype_t dtype, planes_kind_t *out); /* false: another type */
int64_t planes_step(const planes_kind_t *kind, int64_t columns); /* reals from row to row */
size_t planes_bytes(const planes_kind_t *kind, int64_t rows, int64_t columns);
/* A matrix in memory of planes_bytes, all zero if `clear`. */
planes_t planes_init(const planes_kind_t *kind, int64_t rows, int64_t columns, void *memory, bool clear);

static inline planes_t planes_at(const planes_kind_t *kind, planes_t a, int64_t i, int64_t j) {
  int64_t offset = (i * a.row + j * a.col) * kind->bytes;
  a.part[0] += offset;
  if (a.part[1]) a.part[1] += offset;
  return a;
}
static inline planes_t planes_turned(planes_t a) { return (planes_t){{a.part[0], a.part[1]}, a.col, a.row}; }
static inline int64_t planes_floor(int64_t i) { return i / PLANES_UNIT * PLANES_UNIT; }
static inline int64_t planes_ceil(int64_t i) { return planes_floor(i + PLANES_UNIT - 1); }

double complex planes_get(const planes_kind_t *kind, planes_t a, int64_t i, int64_t j);
void planes_set(const planes_kind_t *kind, planes_t a, int64_t i, int64_t j, double complex value);

/* rows x columns elements of a program's array, row-major, `step` elements from row to row, and back. */
void planes_load(const planes_kind_t *kind, const void *from, int64_t step, int64_t rows, int64_t columns, planes_t to);
void planes_store(const planes_kind_t *kind, planes_t from, int64_t rows, int64_t columns, void *to, int64_t step);
/* The same between planes. */
void planes_copy(const planes_kind_t *kind, planes_t from, int64_t rows, int64_t columns, planes_t to);
/* The largest magnitude of `count` reals, or `least` if that is larger; NaN if one is. */
double planes_largest(const planes_kind_t *kind, const void *reals, int64_t count, double least);
/* What brings numbers up to `largest` whose squares would overflow or vanish among those that do not: 1 or a power of
 * 2. */
double planes_safe_factor(const planes_kind_t *kind, double largest);
void planes_clear(const planes_kind_t *kind, planes_t a, int64_t rows, int64_t columns);

/* Vectors are rows of planes, [begin, end) of them are looked at.
 * out[i] = sum of a[i][j] x[j], either of the two conjugated; i < rows. */
typedef enum planes_conj { PLANES_PLAIN, PLANES_CONJ_ROWS, PLANES_CONJ_VECTOR } planes_conj_t;
void planes_dots(const planes_kind_t *kind, planes_conj_t conj, int64_t rows, planes_t a, planes_t x, int64_t begin,
                 int64_t end, planes_t out);
/* y += sign * the sum of factors[i] a[i], a conjugated or not. */
void planes_add_rows(const planes_kind_t *kind, planes_conj_t conj, int64_t rows, planes_t a, planes_t factors,
                     double sign, planes_t y, int64_t begin, int64_t end);
/* a[i] += sign * factors[i] x. */
void planes_spread(const planes_kind_t *kind, int64_t rows, planes_t x, planes_t factors, double sign, planes_t a,
                   int64_t begin, int64_t end);

/* c = a b, or c += or -= it, on one worker; operands conjugated if asked; c has dense rows. */
typedef struct planes_product {
  gemm_mode_t mode;
  int64_t m, n, k;
  planes_t a, b, c;
  bool conj_a, conj_b;
} planes_product_t;
void planes_multiply(const planes_kind_t *kind, const planes_product_t *product, void *space);
size_t planes_multiply_bytes(const planes_kind_t *kind); /* of `space` for any product */

#endif
