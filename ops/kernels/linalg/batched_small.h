/* Factorisations of many small matrices of f32, f64, c64 or c128 at once, interleaved (compact
 * layout, as in MKL compact BLAS): element (i, j) of all matrices side by side, one matrix per
 * vector lane, so that sizes below the vector width still use whole vectors. Reflectors are
 * LAPACK's, as in reflectors.h. Matrices are row-major; those of a call are consecutive. Squares
 * must neither overflow nor underflow (batched_small_in_range). Thread: any, on its own memory,
 * aligned to 64 bytes. */
#ifndef HLO_OPS_BATCHED_SMALL_H
#define HLO_OPS_BATCHED_SMALL_H

#include "base/dtype.h"

#define BATCHED_SMALL_SIZE 32 /* largest number of rows and columns */
/* Largest number of rows and columns of interleaved triangles and of LU and Cholesky factors. */
#define BATCHED_FACTOR_SIZE 16
/* Elements up to which matrices are too small for vectors along a column. */
#define BATCHED_TINY_ELEMENTS 64

/* A triangular solve: strides in elements of the matrices, from one equation, unknown or right-hand
 * side to the next. */
typedef struct batched_triangle {
  int64_t size, sides;
  int64_t equation, unknown; /* strides in the triangle */
  int64_t x_unknown, x_side; /* strides in the right-hand sides */
  bool forward, unit;        /* first unknown first; the diagonal counts as ones */
  bool conjugate;            /* the triangle's elements count as their conjugates */
} batched_triangle_t;

typedef struct batched_small_loops {
  int lanes; /* matrices per call */
  /* Interleaves `count` <= lanes arrays of `elements` elements, and back; store_reals is for arrays
   * of their real type. Unused lanes get a copy of the last array. */
  void (*load)(const void *from, int64_t elements, int64_t count, void *to);
  void (*store)(const void *from, int64_t elements, int64_t count, void *to);
  void (*store_reals)(const void *from, int64_t elements, int64_t count, void *to);
  void (*geqrf)(int64_t m, int64_t n, void *a, void *taus);       /* QR */
  void (*orgqr)(int64_t m, int64_t n, void *a, const void *taus); /* Q of n <= m reflectors */
  /* Real bidiagonal form for m >= n: n diagonal and n - 1 superdiagonal elements; a is
   * overwritten. */
  void (*gebrd)(int64_t m, int64_t n, void *a, void *diagonal, void *superdiagonal);
  /* Cholesky: the factor replaces its triangle of a, whose element (i, j), j <= i, is at i * row +
   * j * col. False: a matrix is not positive definite, and all are undefined. */
  bool (*potrf)(int64_t n, int64_t row, int64_t col, void *a);
  /* LU with partial pivoting, and the interleaved pivots of LAPACK's getrf. False: a pivot is zero,
   * and all are undefined. */
  bool (*getrf)(int64_t m, int64_t n, void *a, int32_t *pivots);
  void (*trsm)(const batched_triangle_t *by, const void *a, void *x);
  /* Real tridiagonal systems of n rows with k right-hand sides, by LAPACK's gtsv; b and the
   * diagonals are replaced as there. False: a pivot is zero, and all are undefined. */
  bool (*gtsv)(int64_t n, int64_t k, void *dl, void *d, void *du, void *b);
} batched_small_loops_t;

/* The loops for `batch` matrices of m x n; NULL for other types, larger matrices, or batches of
 * less than half a vector. */
const batched_small_loops_t *batched_small_find(hr_dtype_t dtype, int64_t batch, int64_t m,
                                                int64_t n);
/* True if each of `count` matrices is finite with a largest element whose square, and its
 * rounding error's square, are normal numbers. The loops do not rescale. */
bool batched_small_in_range(hr_dtype_t dtype, const void *data, int64_t elements, int64_t count);

#endif
