/* Matrices of f32, f64, c64 and c128 whose real and imaginary parts lie apart, so that all loops
 * over them are loops over reals: what the factorisations by reflectors (reflectors.h,
 * tridiagonal.h, bidiagonal.h) work on. Rows are padded with zeros to a multiple of
 * SPLIT_MATRIX_UNIT reals and loops take them from a multiple of it on: what stands before a
 * vector's first element must be zero. Thread: any. */
#ifndef HLO_OPS_SPLIT_MATRIX_H
#define HLO_OPS_SPLIT_MATRIX_H

#include <complex.h>

#include "ops/kernels/gemm/gemm.h"

#define SPLIT_MATRIX_UNIT 16

/* Loops over rows of reals: out[i] += scale a[i] . x;  y += scale factors[i] a[i];  a[i] += scale
 * factors[i] x;  x times a number (im: NULL for real ones). */
typedef struct split_matrix_loops {
  void (*gemv_t)(int64_t rows, int64_t count, const void *a, int64_t stride, const void *x,
                 double scale, void *out);
  void (*gemv)(int64_t rows, int64_t count, const void *a, int64_t stride, const void *factors,
               double scale, void *y);
  void (*ger)(int64_t rows, int64_t count, const void *x, const void *factors, double scale,
              void *a, int64_t stride);
  void (*scale)(int64_t count, void *re, void *im, double factor_re, double factor_im);
} split_matrix_loops_t;

typedef struct split_matrix_kind {
  hr_dtype_t dtype, real;
  int64_t bytes; /* of a real */
  int parts;
  const split_matrix_loops_t *loops;
} split_matrix_kind_t;

/* Element (i, j) of a part is i * row + j * col reals behind its start. */
typedef struct split_matrix {
  char *part[2]; /* the second one NULL if real */
  int64_t row, col;
} split_matrix_t;

bool split_matrix_kind(hr_dtype_t dtype, split_matrix_kind_t *out); /* false: another type */
int64_t split_matrix_stride(const split_matrix_kind_t *kind,
                            int64_t columns); /* reals from row to row */
size_t split_matrix_bytes(const split_matrix_kind_t *kind, int64_t rows, int64_t columns);
/* A matrix in memory of split_matrix_bytes, all zero if `clear`. */
split_matrix_t split_matrix_init(const split_matrix_kind_t *kind, int64_t rows, int64_t columns,
                                 void *memory, bool clear);

static inline split_matrix_t split_matrix_at(const split_matrix_kind_t *kind, split_matrix_t a,
                                             int64_t i, int64_t j) {
  int64_t offset = (i * a.row + j * a.col) * kind->bytes;
  a.part[0] += offset;
  if (a.part[1]) a.part[1] += offset;
  return a;
}
static inline split_matrix_t split_matrix_transposed(split_matrix_t a) {
  return (split_matrix_t){{a.part[0], a.part[1]}, a.col, a.row};
}
static inline int64_t split_matrix_floor(int64_t i) {
  return i / SPLIT_MATRIX_UNIT * SPLIT_MATRIX_UNIT;
}
static inline int64_t split_matrix_ceil(int64_t i) {
  return split_matrix_floor(i + SPLIT_MATRIX_UNIT - 1);
}

double complex split_matrix_get(const split_matrix_kind_t *kind, split_matrix_t a, int64_t i,
                                int64_t j);
void split_matrix_set(const split_matrix_kind_t *kind, split_matrix_t a, int64_t i, int64_t j,
                      double complex value);

/* rows x columns elements of a program's array, row-major, `stride` elements from row to row, and
 * back. */
void split_matrix_load(const split_matrix_kind_t *kind, const void *from, int64_t stride,
                       int64_t rows, int64_t columns, split_matrix_t to);
void split_matrix_store(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                        int64_t columns, void *to, int64_t stride);
/* The same between planes. */
void split_matrix_copy(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                       int64_t columns, split_matrix_t to);
/* The largest magnitude of `count` reals, or `least` if that is larger; NaN if one is. */
double split_matrix_largest(const split_matrix_kind_t *kind, const void *reals, int64_t count,
                            double least);
/* Power-of-two scale that keeps squares of values up to `largest` representable; 1 if none is
 * needed. */
double split_matrix_scale_factor(const split_matrix_kind_t *kind, double largest);
void split_matrix_clear(const split_matrix_kind_t *kind, split_matrix_t a, int64_t rows,
                        int64_t columns);

/* Vectors are rows of planes, [begin, end) of them are looked at.
 * out[i] = sum of a[i][j] x[j], either of the two conjugated; i < rows. */
typedef enum split_matrix_conj {
  SPLIT_MATRIX_NO_CONJ,
  SPLIT_MATRIX_CONJ_ROWS,
  SPLIT_MATRIX_CONJ_VECTOR
} split_matrix_conj_t;
void split_gemv_t(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                  split_matrix_t a, split_matrix_t x, int64_t begin, int64_t end,
                  split_matrix_t out);
/* y += sign * the sum of factors[i] a[i], a conjugated or not. */
void split_gemv(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                split_matrix_t a, split_matrix_t factors, double sign, split_matrix_t y,
                int64_t begin, int64_t end);
/* a[i] += sign * factors[i] x. */
void split_ger(const split_matrix_kind_t *kind, int64_t rows, split_matrix_t x,
               split_matrix_t factors, double sign, split_matrix_t a, int64_t begin, int64_t end);

/* c = a b, or c += or -= it, on one worker; operands conjugated if asked; c has dense rows. */
typedef struct split_matrix_product {
  gemm_mode_t mode;
  int64_t m, n, k;
  split_matrix_t a, b, c;
  bool conj_a, conj_b;
} split_matrix_product_t;
void split_matrix_multiply(const split_matrix_kind_t *kind, const split_matrix_product_t *product,
                           void *space);
size_t split_matrix_multiply_bytes(
    const split_matrix_kind_t *kind); /* of `space` for any product */

#endif
