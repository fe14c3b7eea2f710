/* Split-complex matrices of f32, f64, c64 and c128: real and imaginary parts in separate arrays, so
 * that all loops over them are loops over reals. The factorisations by reflectors (reflectors.h,
 * tridiagonal.h, bidiagonal.h) work on them.
 *
 * Rows are padded with zeros to a multiple of SPLIT_MATRIX_UNIT reals. Loops start at such a
 * multiple: elements between it and a vector's first element must be zero. Real kinds have one
 * part; their second pointer is NULL. Thread: any; no function keeps state. */
#ifndef HLO_OPS_SPLIT_MATRIX_H
#define HLO_OPS_SPLIT_MATRIX_H

#include <complex.h>

#include "ops/kernels/gemm/gemm.h"

#define SPLIT_MATRIX_UNIT 16

/* Loops over rows of reals, `stride` reals apart, `count` reals each (a multiple of the unit):
 *   gemv_t   out[i] += scale * a[i] . x
 *   gemv     y += scale * sum over i of factors[i] a[i]
 *   ger      a[i] += scale * factors[i] x
 *   scale    (re, im) *= factor; im is NULL for a real vector */
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
  hr_dtype_t dtype, real; /* element type, and the type of its parts */
  int64_t bytes;          /* size of a real */
  int parts;              /* 1: real, 2: complex */
  const split_matrix_loops_t *loops;
} split_matrix_kind_t;

/* A view: element (i, j) of a part is i * row + j * col reals after its start. */
typedef struct split_matrix {
  char *part[2];    /* real and imaginary parts; the second is NULL for real kinds */
  int64_t row, col; /* strides in reals */
} split_matrix_t;

/* Fills in the kind of a type; false if there are no loops for it. */
bool split_matrix_kind(hr_dtype_t dtype, split_matrix_kind_t *out);
/* Row stride in reals, and size in bytes, of a padded matrix. */
int64_t split_matrix_stride(const split_matrix_kind_t *kind, int64_t columns);
size_t split_matrix_bytes(const split_matrix_kind_t *kind, int64_t rows, int64_t columns);
/* A matrix in the caller's memory of split_matrix_bytes, aligned to 64 bytes; zeroed if `clear`,
 * which padding requires of matrices that loops read. */
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

/* Element access, for single elements: the type is dispatched per call. */
static inline double split_matrix_get_real(const split_matrix_kind_t *kind, const char *at) {
  return kind->bytes == 4 ? *(const float *)at : *(const double *)at;
}
static inline void split_matrix_set_real(const split_matrix_kind_t *kind, char *at, double value) {
  if (kind->bytes == 4)
    *(float *)at = (float)value;
  else
    *(double *)at = value;
}
static inline double complex split_matrix_get(const split_matrix_kind_t *kind, split_matrix_t a,
                                              int64_t i, int64_t j) {
  split_matrix_t at = split_matrix_at(kind, a, i, j);
  double complex value = split_matrix_get_real(kind, at.part[0]);
  if (at.part[1]) __imag__ value = split_matrix_get_real(kind, at.part[1]);
  return value;
}
static inline void split_matrix_set(const split_matrix_kind_t *kind, split_matrix_t a, int64_t i,
                                    int64_t j, double complex value) {
  split_matrix_t at = split_matrix_at(kind, a, i, j);
  split_matrix_set_real(kind, at.part[0], creal(value));
  if (at.part[1]) split_matrix_set_real(kind, at.part[1], cimag(value));
}

/* Converts rows x columns elements of an interleaved row-major array, `stride` elements from row
 * to row, to split form, and back. */
void split_matrix_load(const split_matrix_kind_t *kind, const void *from, int64_t stride,
                       int64_t rows, int64_t columns, split_matrix_t to);
void split_matrix_store(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                        int64_t columns, void *to, int64_t stride);
/* Copies between split matrices of any strides, so that a transposed view transposes. */
void split_matrix_copy(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                       int64_t columns, split_matrix_t to);
/* The largest magnitude of `count` reals, or `least` if that is larger; NaN if some real is NaN or
 * infinite. */
double split_matrix_largest(const split_matrix_kind_t *kind, const void *reals, int64_t count,
                            double least);
/* Power-of-two scale that keeps squares of values up to `largest` representable; 1 if none is
 * needed. */
double split_matrix_scale_factor(const split_matrix_kind_t *kind, double largest);
void split_matrix_clear(const split_matrix_kind_t *kind, split_matrix_t a, int64_t rows,
                        int64_t columns);

typedef enum split_matrix_conj {
  SPLIT_MATRIX_NO_CONJ,
  SPLIT_MATRIX_CONJ_ROWS,
  SPLIT_MATRIX_CONJ_VECTOR
} split_matrix_conj_t;

/* Elements [begin, end) of a vector, which is a single row. */
typedef struct split_vector {
  split_matrix_t row;
  int64_t begin, end;
} split_vector_t;

/* BLAS level 2 on rows of split matrices. Columns outside of the vector's range are not used.
 *   split_gemv_t   out[i] = sum over j of a[i][j] x[j] for i < rows; either operand conjugated
 *   split_gemv     y += sign * sum over i of factors[i] a[i]; a conjugated or not
 *   split_ger      a[i] += sign * factors[i] x */
void split_gemv_t(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                  split_matrix_t a, split_vector_t x, split_matrix_t out);
void split_gemv(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                split_matrix_t a, split_matrix_t factors, double sign, split_vector_t y);
void split_ger(const split_matrix_kind_t *kind, int64_t rows, split_vector_t x,
               split_matrix_t factors, double sign, split_matrix_t a);

/* factors[k] = conj(rows[k][column]) for k < count: a panel's column as factors of split_gemv. */
void split_matrix_conj_column(const split_matrix_kind_t *kind, split_matrix_t rows, int64_t count,
                              int64_t column, split_matrix_t factors);

/* c = a b, c += a b or c -= a b (mode) on the calling thread; operands are conjugated if the flags
 * say so; rows of c are dense. A complex product is four real ones. */
typedef struct split_matrix_product {
  gemm_mode_t mode;
  int64_t m, n, k;
  split_matrix_t a, b, c;
  bool conj_a, conj_b;
} split_matrix_product_t;
void split_matrix_multiply(const split_matrix_kind_t *kind, const split_matrix_product_t *product,
                           void *space);
/* Size of `space` for any product. */
size_t split_matrix_multiply_bytes(const split_matrix_kind_t *kind);

/* Trailing update of a blocked two-sided reduction (LAPACK's latrd and labrd):
 * c -= a[0]^T conj(b[0]) + a[1]^T conj(b[1]). a[i] has k rows of `rows` elements, b[i] k rows of
 * `columns` elements, c is rows x columns. */
typedef struct split_matrix_update {
  int64_t rows, columns, k;
  split_matrix_t a[2], b[2], c;
} split_matrix_update_t;
void split_matrix_rank_2k_update(const split_matrix_kind_t *kind,
                                 const split_matrix_update_t *update, void *space);

#endif
