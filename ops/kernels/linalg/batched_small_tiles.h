/* The loops of batched_small.c for one vector width. Included once per width and type by
 * simd_foreach_real.h. A `lane` vector holds the same element of LANES matrices; strides count lane
 * vectors. Algorithms are unblocked (LAPACK's geqr2, org2r, sytd2, gebd2); all branches on values
 * become per-lane selects, because lanes differ. */
#include "ops/kernels/simd/simd_square.h"

#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(lane) __attribute__((vector_size(SIMD_BYTES)));

/* The same without alignment. */
typedef SIMD_REAL SIMD_NAME(part)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));

SIMD_DEFINE_SQUARE(SIMD_NAME(square), SIMD_INLINE, SIMD_NAME(lane))

/* Interleaves LANES elements of LANES matrices. */
SIMD_INLINE void SIMD_NAME(load_square)(const SIMD_REAL *from, int64_t elements,
                                        SIMD_NAME(lane) * to) {
  SIMD_NAME(lane) x[LANES];
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) x[l] = *(const SIMD_NAME(part) *)(from + l * elements);
  SIMD_NAME(square_transpose)(x);
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) to[l] = x[l];
}

SIMD_INLINE void SIMD_NAME(store_square)(const SIMD_NAME(lane) * from, int64_t elements,
                                         SIMD_REAL *to) {
  SIMD_NAME(lane) x[LANES];
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) x[l] = from[l];
  SIMD_NAME(square_transpose)(x);
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) *(SIMD_NAME(part) *)(to + l * elements) = x[l];
}

SIMD_TARGET static void SIMD_NAME(load)(const void *from_, int64_t elements, int64_t count,
                                        void *to_) {
  const SIMD_REAL *from = from_;
  SIMD_REAL *to = to_;
  int64_t i = 0;
  for (; count == LANES && i + LANES <= elements; i += LANES)
    SIMD_NAME(load_square)(from + i, elements, (SIMD_NAME(lane) *)(to + i * LANES));
  for (; i < elements; i++)
    for (int64_t l = 0; l < LANES; l++)
      to[i * LANES + l] = from[(l < count ? l : count - 1) * elements + i];
}

SIMD_TARGET static void SIMD_NAME(store)(const void *from_, int64_t elements, int64_t count,
                                         void *to_) {
  const SIMD_REAL *from = from_;
  SIMD_REAL *to = to_;
  int64_t whole = count == LANES ? elements / LANES * LANES : 0;
  for (int64_t i = 0; i < whole; i += LANES)
    SIMD_NAME(store_square)((const SIMD_NAME(lane) *)(from + i * LANES), elements, to + i);
  for (int64_t l = 0; l < count; l++)
    for (int64_t i = whole; i < elements; i++) to[l * elements + i] = from[i * LANES + l];
}

/* Squares of a column below this are rounding errors, as the column depends on others: it counts as
 * zero. */
static const SIMD_REAL SIMD_NAME(negligible) = sizeof(SIMD_REAL) == 4 ? (SIMD_REAL)1e-30
                                                                      : (SIMD_REAL)1e-240;

/* Generates H for a column: *alpha becomes beta; the caller multiplies the elements below the pivot
 * by the returned scale. squares: sum of squares below the pivot. */
SIMD_INLINE SIMD_NAME(lane)
    SIMD_NAME(make_reflector)(SIMD_NAME(lane) * alpha, SIMD_NAME(lane) squares,
                              SIMD_NAME(lane) * tau) {
  SIMD_NAME(lane) scale;
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) {
    SIMD_REAL a = (*alpha)[l], s = a * a + squares[l] < SIMD_NAME(negligible) ? 0 : squares[l];
    SIMD_REAL norm = sizeof(SIMD_REAL) == 4 ? (SIMD_REAL)__builtin_sqrtf((float)(a * a + s))
                                            : (SIMD_REAL)__builtin_sqrt((double)(a * a + s));
    SIMD_REAL beta = a < 0 ? norm : -norm;
    if (s == 0) beta = a;
    (*tau)[l] = s == 0 ? 0 : (beta - a) / beta;
    scale[l] = s == 0 ? 0 : 1 / (a - beta);
    (*alpha)[l] = beta;
  }
  return scale;
}

/* Replaces a column of `rows` elements, the first of them the pivot, by beta and v. Returns tau. */
SIMD_INLINE SIMD_NAME(lane)
    SIMD_NAME(reflector)(int64_t rows, SIMD_NAME(lane) * column, int64_t stride) {
  SIMD_NAME(lane) sums[4] = {0}, tau, scale;
  for (int64_t i = 1; i < rows; i++) sums[i & 3] += column[i * stride] * column[i * stride];
  scale = SIMD_NAME(make_reflector)(column, (sums[0] + sums[1]) + (sums[2] + sums[3]), &tau);
  for (int64_t i = 1; i < rows; i++) column[i * stride] *= scale;
  return tau;
}

/* c = H c for `count` columns (a constant at each call); v[0] counts as one. */
SIMD_INLINE void SIMD_NAME(reflect_columns)(int count, int64_t rows, const SIMD_NAME(lane) * v,
                                            int64_t v_step, SIMD_NAME(lane) tau,
                                            SIMD_NAME(lane) * c, int64_t row, int64_t col) {
  SIMD_NAME(lane) sums[4];
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) sums[j] = c[j * col];
  for (int64_t i = 1; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) sums[j] += v[i * v_step] * c[i * row + j * col];
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) {
    sums[j] *= tau;
    c[j * col] -= sums[j];
  }
  for (int64_t i = 1; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) c[i * row + j * col] -= v[i * v_step] * sums[j];
}

SIMD_TARGET static void SIMD_NAME(reflect)(int64_t columns, int64_t rows, const SIMD_NAME(lane) * v,
                                           int64_t v_step, const SIMD_NAME(lane) * tau,
                                           SIMD_NAME(lane) * c, int64_t row, int64_t col) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4)
    SIMD_NAME(reflect_columns)(4, rows, v, v_step, *tau, c + j * col, row, col);
  for (; j < columns; j++)
    SIMD_NAME(reflect_columns)(1, rows, v, v_step, *tau, c + j * col, row, col);
}

SIMD_TARGET static void SIMD_NAME(geqrf)(int64_t m, int64_t n, void *a_, void *taus_) {
  SIMD_NAME(lane) *a = a_, *taus = taus_;
  for (int64_t j = 0; j < n && j < m; j++) {
    SIMD_NAME(lane) *v = a + j * n + j;
    taus[j] = SIMD_NAME(reflector)(m - j, v, n);
    SIMD_NAME(reflect)(n - j - 1, m - j, v, n, &taus[j], v + 1, n, 1);
  }
}

/* Replaces the vectors by columns of Q, the last one first (org2r). */
SIMD_TARGET static void SIMD_NAME(orgqr)(int64_t m, int64_t n, void *a_, const void *taus_) {
  SIMD_NAME(lane) *a = a_;
  const SIMD_NAME(lane) *taus = taus_;
  for (int64_t j = n - 1; j >= 0; j--) {
    SIMD_NAME(lane) *v = a + j * n + j, tau = taus[j];
    for (int64_t c = 1; c < n - j; c++) v[c] = (SIMD_NAME(lane)){0};
    SIMD_NAME(reflect)(n - j - 1, m - j, v, n, &tau, v + 1, n, 1);
    for (int64_t i = 1; i < m - j; i++) v[i * n] *= -tau;
    *v = 1 - tau;
    for (int64_t i = 0; i < j; i++) a[i * n + j] = (SIMD_NAME(lane)){0};
  }
}

/* Two-sided update of the trailing matrix: a -= v w^T + w v^T, w = tau A v - (tau^2 v^T A v / 2)
 * v. */
SIMD_INLINE void SIMD_NAME(rank_2_update)(int64_t rows, const SIMD_NAME(lane) * v, int64_t v_step,
                                          SIMD_NAME(lane) tau, SIMD_NAME(lane) * a,
                                          int64_t stride) {
  SIMD_NAME(lane) w[BATCHED_SMALL_SIZE], u[BATCHED_SMALL_SIZE], sum = {0};
  u[0] = 1 - (SIMD_NAME(lane)){0};
  for (int64_t i = 1; i < rows; i++) u[i] = v[i * v_step];
  for (int64_t i = 0; i < rows; i++) {
    SIMD_NAME(lane) sums[2] = {0};
    for (int64_t j = 0; j < rows; j++) sums[j & 1] += a[i * stride + j] * u[j];
    w[i] = tau * (sums[0] + sums[1]);
    sum += w[i] * u[i];
  }
  sum *= -tau / 2;
  for (int64_t i = 0; i < rows; i++) w[i] += sum * u[i];
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < rows; j++) a[i * stride + j] -= u[i] * w[j] + w[i] * u[j];
}

SIMD_TARGET static void SIMD_NAME(sytrd)(int64_t n, void *a_, void *diagonal_, void *off_diagonal_,
                                         void *taus_) {
  SIMD_NAME(lane) *a = a_, *diagonal = diagonal_, *off_diagonal = off_diagonal_, *taus = taus_;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
  for (int64_t i = 0; i < n - 1; i++) {
    SIMD_NAME(lane) *v = a + (i + 1) * n + i;
    diagonal[i] = a[i * n + i];
    taus[i] = SIMD_NAME(reflector)(n - i - 1, v, n);
    off_diagonal[i] = *v;
    SIMD_NAME(rank_2_update)(n - i - 1, v, n, taus[i], v + 1, n);
  }
  diagonal[n - 1] = a[n * n - 1];
}

SIMD_TARGET static void SIMD_NAME(gebrd)(int64_t m, int64_t n, void *a_, void *diagonal_,
                                         void *off_diagonal_, void *left_, void *right_) {
  SIMD_NAME(lane) *a = a_, *diagonal = diagonal_, *off_diagonal = off_diagonal_, *left = left_,
                  *right = right_;
  for (int64_t i = 0; i < n; i++) {
    SIMD_NAME(lane) *v = a + i * n + i;
    left[i] = SIMD_NAME(reflector)(m - i, v, n);
    diagonal[i] = *v;
    SIMD_NAME(reflect)(n - i - 1, m - i, v, n, &left[i], v + 1, n, 1);
    if (i + 1 == n) break;
    right[i] = SIMD_NAME(reflector)(n - i - 1, v + 1, 1);
    off_diagonal[i] = v[1];
    SIMD_NAME(reflect)(m - i - 1, n - i - 1, v + 1, 1, &right[i], v + 1 + n, 1, n);
  }
}

/* Integers as wide as the elements; comparisons of lanes give them, all bits equal. */
typedef __typeof__(_Generic((SIMD_REAL)0, float
                            : (int32_t)0, double
                            : (int64_t)0)) SIMD_NAME(integer);
typedef SIMD_NAME(integer) SIMD_NAME(bits) __attribute__((vector_size(SIMD_BYTES)));

/* All bits but the sign. */
static const SIMD_NAME(integer)
    SIMD_NAME(magnitude) = (SIMD_NAME(integer))(sizeof(SIMD_REAL) == 4 ? INT32_MAX : INT64_MAX);

SIMD_INLINE SIMD_NAME(lane)
    SIMD_NAME(choose)(SIMD_NAME(bits) is_a, SIMD_NAME(lane) a, SIMD_NAME(lane) b) {
  return (SIMD_NAME(lane))(((SIMD_NAME(bits))a & is_a) | ((SIMD_NAME(bits))b & ~is_a));
}

SIMD_INLINE SIMD_NAME(lane) SIMD_NAME(square_root)(SIMD_NAME(lane) x) {
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++)
    x[l] = sizeof(SIMD_REAL) == 4 ? (SIMD_REAL)__builtin_sqrtf((float)x[l])
                                  : (SIMD_REAL)__builtin_sqrt((double)x[l]);
  return x;
}

/* True if all lanes of a comparison's result hold. */
SIMD_INLINE bool SIMD_NAME(all)(SIMD_NAME(bits) holds) {
  SIMD_NAME(integer) all = -1;
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) all &= holds[l];
  return all != 0;
}

SIMD_TARGET static bool SIMD_NAME(potrf)(int64_t n, int64_t row, int64_t col, void *a_) {
  SIMD_NAME(lane) *a = a_;
  SIMD_NAME(bits) is_positive = ~(SIMD_NAME(bits)){0};
  for (int64_t j = 0; j < n; j++) {
    SIMD_NAME(lane) *pivot_row = a + j * row, square = pivot_row[j * col];
    for (int64_t k = 0; k < j; k++) square -= pivot_row[k * col] * pivot_row[k * col];
    is_positive &= square > (SIMD_NAME(lane)){0};
    SIMD_NAME(lane) pivot = pivot_row[j * col] = SIMD_NAME(square_root)(square);
    for (int64_t i = j + 1; i < n; i++) {
      SIMD_NAME(lane) *other = a + i * row, rest = other[j * col];
      for (int64_t k = 0; k < j; k++) rest -= other[k * col] * pivot_row[k * col];
      other[j * col] = rest / pivot;
    }
  }
  return SIMD_NAME(all)(is_positive);
}

/* Exchanges row j with row at[l] in each lane l. */
SIMD_INLINE void SIMD_NAME(swap_rows)(int64_t m, int64_t n, int64_t j, SIMD_NAME(bits) at,
                                      SIMD_NAME(lane) * a) {
  for (int64_t i = j + 1; i < m; i++) {
    SIMD_NAME(bits) is_pivot = at == (SIMD_NAME(integer))i;
    for (int64_t c = 0; c < n; c++) {
      SIMD_NAME(lane) upper = a[j * n + c], lower = a[i * n + c];
      a[j * n + c] = SIMD_NAME(choose)(is_pivot, lower, upper);
      a[i * n + c] = SIMD_NAME(choose)(is_pivot, upper, lower);
    }
  }
}

/* The first row of the largest element of column j from row j on, per lane. Magnitudes are compared
 * as integers, so that NaN is the largest, as in lu_loops.h. */
SIMD_INLINE SIMD_NAME(bits)
    SIMD_NAME(pivot_rows)(int64_t m, int64_t n, int64_t j, const SIMD_NAME(lane) * a) {
  const SIMD_NAME(integer) magnitude = SIMD_NAME(magnitude);
  SIMD_NAME(bits)
  most = (SIMD_NAME(bits))a[j * n + j] & magnitude,
  at = (SIMD_NAME(bits)){0} + (SIMD_NAME(integer))j;
  for (int64_t i = j + 1; i < m; i++) {
    SIMD_NAME(bits) size = (SIMD_NAME(bits))a[i * n + j] & magnitude, is_larger = size > most;
    most = (size & is_larger) | (most & ~is_larger);
    at = (is_larger & (SIMD_NAME(integer))i) | (at & ~is_larger);
  }
  return at;
}

SIMD_TARGET static bool SIMD_NAME(getrf)(int64_t m, int64_t n, void *a_, int32_t *pivots) {
  SIMD_NAME(lane) *a = a_;
  SIMD_NAME(bits) is_regular = ~(SIMD_NAME(bits)){0};
  for (int64_t j = 0; j < m && j < n; j++) {
    SIMD_NAME(bits) at = SIMD_NAME(pivot_rows)(m, n, j, a);
    for (int l = 0; l < LANES; l++) pivots[j * LANES + l] = (int32_t)at[l] + 1;
    SIMD_NAME(swap_rows)(m, n, j, at, a);
    SIMD_NAME(lane) pivot = a[j * n + j];
    is_regular &= pivot != (SIMD_NAME(lane)){0};
    for (int64_t i = j + 1; i < m; i++) {
      SIMD_NAME(lane) factor = a[i * n + j] = a[i * n + j] / pivot;
      for (int64_t c = j + 1; c < n; c++) a[i * n + c] -= factor * a[j * n + c];
    }
  }
  return SIMD_NAME(all)(is_regular);
}

/* One right-hand side after the other: their chains of operations overlap. */
SIMD_TARGET static void SIMD_NAME(trsm)(const batched_triangle_t *by, const void *a_, void *x_) {
  const SIMD_NAME(lane) *a = a_;
  for (int64_t side = 0; side < by->sides; side++) {
    SIMD_NAME(lane) *x = (SIMD_NAME(lane) *)x_ + side * by->x_side;
    for (int64_t solved = 0; solved < by->size; solved++) {
      int64_t i = by->forward ? solved : by->size - 1 - solved;
      int64_t first = by->forward ? 0 : i + 1;
      int64_t end = by->forward ? i : by->size;
      SIMD_NAME(lane) rest = x[i * by->x_unknown];
      for (int64_t k = first; k < end; k++)
        rest -= a[i * by->equation + k * by->unknown] * x[k * by->x_unknown];
      x[i * by->x_unknown] = by->unit ? rest : rest / a[i * (by->equation + by->unknown)];
    }
  }
}

/* One step of gtsv on the right-hand sides of rows i and i + 1, exchanged in some lanes. */
SIMD_INLINE void SIMD_NAME(eliminate)(int64_t k, SIMD_NAME(bits) swaps, SIMD_NAME(lane) factor,
                                      SIMD_NAME(lane) * b) {
  for (int64_t c = 0; c < k; c++) {
    SIMD_NAME(lane) upper = b[c], lower = b[k + c];
    b[c] = SIMD_NAME(choose)(swaps, lower, upper);
    b[k + c] = SIMD_NAME(choose)(swaps, upper, lower) - factor * b[c];
  }
}

SIMD_INLINE void SIMD_NAME(substitute)(int64_t n, int64_t k, const SIMD_NAME(lane) * lower,
                                       const SIMD_NAME(lane) * d, const SIMD_NAME(lane) * du,
                                       SIMD_NAME(lane) * b) {
  for (int64_t c = 0; c < k; c++) {
    SIMD_NAME(lane) below = b[(n - 1) * k + c] /= d[n - 1], second = {0};
    for (int64_t i = n - 2; i >= 0; i--) {
      SIMD_NAME(lane) rest = b[i * k + c] - du[i] * below;
      if (i + 2 < n) rest -= lower[i] * second;
      second = below;
      below = b[i * k + c] = rest / d[i];
    }
  }
}

SIMD_TARGET static bool SIMD_NAME(gtsv)(int64_t n, int64_t k, void *dl, void *d_, void *du_,
                                        void *b_) {
  const SIMD_NAME(lane) zero = {0};
  SIMD_NAME(lane) *lower = (SIMD_NAME(lane) *)dl + 1, *d = d_, *du = du_, *b = b_;
  const SIMD_NAME(integer) magnitude = SIMD_NAME(magnitude);
  SIMD_NAME(bits) is_regular = ~(SIMD_NAME(bits)){0};
  for (int64_t i = 0; i + 1 < n; i++) {
    SIMD_NAME(lane) size = (SIMD_NAME(lane))((SIMD_NAME(bits))d[i] & magnitude);
    SIMD_NAME(bits) swaps = ~(size >= (SIMD_NAME(lane))((SIMD_NAME(bits))lower[i] & magnitude));
    SIMD_NAME(lane) pivot = SIMD_NAME(choose)(swaps, lower[i], d[i]);
    SIMD_NAME(lane) factor = SIMD_NAME(choose)(swaps, d[i], lower[i]) / pivot;
    SIMD_NAME(lane) above = SIMD_NAME(choose)(swaps, d[i + 1], du[i]);
    d[i + 1] = SIMD_NAME(choose)(swaps, du[i], d[i + 1]) - factor * above;
    is_regular &= pivot != zero;
    d[i] = pivot;
    du[i] = above;
    if (i + 2 < n) {
      SIMD_NAME(lane) next = du[i + 1];
      lower[i] = SIMD_NAME(choose)(swaps, next, zero);
      du[i + 1] = SIMD_NAME(choose)(swaps, -factor * next, next);
    }
    SIMD_NAME(eliminate)(k, swaps, factor, b + i * k);
  }
  is_regular &= d[n - 1] != zero;
  SIMD_NAME(substitute)(n, k, lower, d, du, b);
  return SIMD_NAME(all)(is_regular);
}

static const batched_small_loops_t SIMD_NAME(loops) = {LANES,
                                                       SIMD_NAME(load),
                                                       SIMD_NAME(store),
                                                       SIMD_NAME(geqrf),
                                                       SIMD_NAME(orgqr),
                                                       SIMD_NAME(sytrd),
                                                       SIMD_NAME(gebrd),
                                                       SIMD_NAME(potrf),
                                                       SIMD_NAME(getrf),
                                                       SIMD_NAME(trsm),
                                                       SIMD_NAME(gtsv)};

#undef LANES
#undef SIMD_INLINE
