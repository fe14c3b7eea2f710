/* The factorisations of batched_small.h for matrices of numbers with NUMBER_PARTS parts, real ones
 * or real and imaginary: included by batched_small_tiles.h once for each. NUMBER(x) is their name
 * of x; strides count numbers. Algorithms are unblocked (LAPACK's geqr2, org2r, gebd2, potf2,
 * getf2). */

typedef struct NUMBER(lanes) {
  SIMD_NAME(lane) re;
#if NUMBER_PARTS == 2
  SIMD_NAME(lane) im;
#endif
} NUMBER(t);

/* --- arithmetic of lanes --- */

#if NUMBER_PARTS == 2
#define OF_PARTS(real, complex) complex
#else
#define OF_PARTS(real, complex) real
#endif

SIMD_INLINE NUMBER(t) NUMBER(from_real)(SIMD_NAME(lane) re) {
  return OF_PARTS((NUMBER(t)){re}, ((NUMBER(t)){re, (SIMD_NAME(lane)){0}}));
}

SIMD_INLINE NUMBER(t) NUMBER(conjugate)(NUMBER(t) a) {
  OF_PARTS((void)0, a.im = -a.im);
  return a;
}

SIMD_INLINE NUMBER(t) NUMBER(scaled)(NUMBER(t) a, SIMD_NAME(lane) by) {
  a.re *= by;
  OF_PARTS((void)0, a.im *= by);
  return a;
}

/* sum + a b and sum - a b: two fused multiply-adds per part. */
SIMD_INLINE NUMBER(t) NUMBER(plus_product)(NUMBER(t) sum, NUMBER(t) a, NUMBER(t) b) {
  sum.re += a.re * b.re;
#if NUMBER_PARTS == 2
  sum.re -= a.im * b.im;
  sum.im += a.re * b.im;
  sum.im += a.im * b.re;
#endif
  return sum;
}

SIMD_INLINE NUMBER(t) NUMBER(minus_product)(NUMBER(t) sum, NUMBER(t) a, NUMBER(t) b) {
  sum.re -= a.re * b.re;
#if NUMBER_PARTS == 2
  sum.re += a.im * b.im;
  sum.im -= a.re * b.im;
  sum.im -= a.im * b.re;
#endif
  return sum;
}

SIMD_INLINE NUMBER(t) NUMBER(product)(NUMBER(t) a, NUMBER(t) b) {
  NUMBER(t) c = NUMBER(from_real)(a.re * b.re);
#if NUMBER_PARTS == 2
  c.re -= a.im * b.im;
  c.im = a.re * b.im + a.im * b.re;
#endif
  return c;
}

SIMD_INLINE NUMBER(t) NUMBER(minus)(NUMBER(t) a, NUMBER(t) b) {
  a.re -= b.re;
  OF_PARTS((void)0, a.im -= b.im);
  return a;
}

SIMD_INLINE NUMBER(t) NUMBER(choose)(SIMD_NAME(bits) is_a, NUMBER(t) a, NUMBER(t) b) {
  a.re = SIMD_NAME(choose)(is_a, a.re, b.re);
  OF_PARTS((void)0, a.im = SIMD_NAME(choose)(is_a, a.im, b.im));
  return a;
}

/* |a|^2. */
SIMD_INLINE SIMD_NAME(lane) NUMBER(square)(NUMBER(t) a) {
  return OF_PARTS(a.re * a.re, a.re * a.re + a.im * a.im);
}

/* The magnitude that LAPACK compares: the sum of those of the parts. */
SIMD_INLINE SIMD_NAME(lane) NUMBER(size)(NUMBER(t) a) {
  return OF_PARTS(SIMD_NAME(absolute)(a.re), SIMD_NAME(absolute)(a.re) + SIMD_NAME(absolute)(a.im));
}

/* divided(x, divisor(a)) is x / a: real numbers are divided, complex ones multiplied by the
 * inverse, which is scaled so that no square overflows. */
SIMD_INLINE NUMBER(t) NUMBER(divisor)(NUMBER(t) a) {
#if NUMBER_PARTS == 2
  SIMD_NAME(lane) re = SIMD_NAME(absolute)(a.re), im = SIMD_NAME(absolute)(a.im);
  SIMD_NAME(lane) most = SIMD_NAME(choose)(re > im, re, im);
  re = a.re / most;
  im = a.im / most;
  most *= re * re + im * im;
  a.re = re / most;
  a.im = -im / most;
#endif
  return a;
}

SIMD_INLINE NUMBER(t) NUMBER(divided)(NUMBER(t) x, NUMBER(t) divisor) {
  return OF_PARTS((NUMBER(t)){x.re / divisor.re}, NUMBER(product)(x, divisor));
}

/* --- reflectors --- */

/* Generates H^H (alpha, x) = (beta, 0) with real beta, which replaces *alpha; the caller multiplies
 * x by the returned scale. squares: sum of |x|^2. H = 1 - tau v v^H. */
SIMD_INLINE NUMBER(t)
    NUMBER(make_reflector)(NUMBER(t) * alpha, SIMD_NAME(lane) squares, NUMBER(t) * tau) {
  const SIMD_NAME(lane) none = {0}, one = 1 + none;
  NUMBER(t) scale = NUMBER(from_real)(none);
  SIMD_NAME(lane) a = alpha->re, rest = OF_PARTS(squares, squares + alpha->im * alpha->im);
  rest = SIMD_NAME(choose)(a * a + rest < SIMD_NAME(negligible), none, rest);
  SIMD_NAME(bits) is_zero = rest == none;
  SIMD_NAME(lane) norm = SIMD_NAME(square_root)(a * a + rest);
  SIMD_NAME(lane) beta = SIMD_NAME(choose)(a < none, norm, -norm), less = a - beta;
  SIMD_NAME(lane) inverse = 1 / SIMD_NAME(choose)(is_zero, one, beta);
  tau->re = SIMD_NAME(choose)(is_zero, none, -less * inverse);
#if NUMBER_PARTS == 2
  SIMD_NAME(lane) size = SIMD_NAME(choose)(is_zero, one, less * less + alpha->im * alpha->im);
  tau->im = SIMD_NAME(choose)(is_zero, none, -alpha->im * inverse);
  scale.im = SIMD_NAME(choose)(is_zero, none, -alpha->im / size);
  scale.re = SIMD_NAME(choose)(is_zero, none, less / size);
  alpha->im = SIMD_NAME(choose)(is_zero, alpha->im, none);
#else
  scale.re = SIMD_NAME(choose)(is_zero, none, 1 / less);
#endif
  alpha->re = SIMD_NAME(choose)(is_zero, a, beta);
  return scale;
}

/* Replaces a column of `rows` elements, the first of them the pivot, by beta and v. Returns tau. */
SIMD_INLINE NUMBER(t) NUMBER(reflector)(int64_t rows, NUMBER(t) * column, int64_t stride) {
  SIMD_NAME(lane) sums[4] = {0};
  NUMBER(t) tau, scale;
  for (int64_t i = 1; i < rows; i++) sums[i & 3] += NUMBER(square)(column[i * stride]);
  scale = NUMBER(make_reflector)(column, (sums[0] + sums[1]) + (sums[2] + sums[3]), &tau);
  for (int64_t i = 1; i < rows; i++)
    column[i * stride] = NUMBER(product)(column[i * stride], scale);
  return tau;
}

/* c -= tau v (v^H c) for `count` columns (a constant at each call); v[0] counts as one. */
SIMD_INLINE void NUMBER(reflect_columns)(int count, int64_t rows, const NUMBER(t) * v,
                                         int64_t v_step, NUMBER(t) tau, NUMBER(t) * c, int64_t row,
                                         int64_t col) {
  NUMBER(t) sums[4];
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) sums[j] = c[j * col];
  for (int64_t i = 1; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < count; j++)
      sums[j] =
          NUMBER(plus_product)(sums[j], NUMBER(conjugate)(v[i * v_step]), c[i * row + j * col]);
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) {
    sums[j] = NUMBER(product)(sums[j], tau);
    c[j * col] = NUMBER(minus)(c[j * col], sums[j]);
  }
  for (int64_t i = 1; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < count; j++)
      c[i * row + j * col] = NUMBER(minus_product)(c[i * row + j * col], v[i * v_step], sums[j]);
}

SIMD_TARGET static void NUMBER(reflect)(int64_t columns, int64_t rows, const NUMBER(t) * v,
                                        int64_t v_step, const NUMBER(t) * tau, NUMBER(t) * c,
                                        int64_t row, int64_t col) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4)
    NUMBER(reflect_columns)(4, rows, v, v_step, *tau, c + j * col, row, col);
  for (; j < columns; j++) NUMBER(reflect_columns)(1, rows, v, v_step, *tau, c + j * col, row, col);
}

SIMD_TARGET static void NUMBER(geqrf)(int64_t m, int64_t n, void *a_, void *taus_) {
  NUMBER(t) *a = a_, *taus = taus_;
  for (int64_t j = 0; j < n && j < m; j++) {
    NUMBER(t) *v = a + j * n + j, adjoint;
    taus[j] = NUMBER(reflector)(m - j, v, n);
    adjoint = NUMBER(conjugate)(taus[j]);
    NUMBER(reflect)(n - j - 1, m - j, v, n, &adjoint, v + 1, n, 1);
  }
}

/* Replaces the vectors by columns of Q, the last one first (org2r). */
SIMD_TARGET static void NUMBER(orgqr)(int64_t m, int64_t n, void *a_, const void *taus_) {
  const SIMD_NAME(lane) none = {0};
  NUMBER(t) *a = a_;
  const NUMBER(t) *taus = taus_;
  for (int64_t j = n - 1; j >= 0; j--) {
    NUMBER(t) *v = a + j * n + j, tau = taus[j];
    for (int64_t c = 1; c < n - j; c++) v[c] = NUMBER(from_real)(none);
    NUMBER(reflect)(n - j - 1, m - j, v, n, &tau, v + 1, n, 1);
    tau = NUMBER(scaled)(tau, none - 1);
    for (int64_t i = 1; i < m - j; i++) v[i * n] = NUMBER(product)(v[i * n], tau);
    tau.re += 1;
    *v = tau;
    for (int64_t i = 0; i < j; i++) a[i * n + j] = NUMBER(from_real)(none);
  }
}

/* Vectors of columns are v, those of rows their conjugates: conj(tau) is applied to both sides. */
SIMD_TARGET static void NUMBER(gebrd)(int64_t m, int64_t n, void *a_, void *diagonal_,
                                      void *off_diagonal_) {
  NUMBER(t) *a = a_, adjoint;
  SIMD_NAME(lane) *diagonal = diagonal_, *off_diagonal = off_diagonal_;
  for (int64_t i = 0; i < n; i++) {
    NUMBER(t) *v = a + i * n + i;
    adjoint = NUMBER(conjugate)(NUMBER(reflector)(m - i, v, n));
    diagonal[i] = v->re;
    NUMBER(reflect)(n - i - 1, m - i, v, n, &adjoint, v + 1, n, 1);
    if (i + 1 == n) break;
    adjoint = NUMBER(conjugate)(NUMBER(reflector)(n - i - 1, v + 1, 1));
    off_diagonal[i] = v[1].re;
    NUMBER(reflect)(m - i - 1, n - i - 1, v + 1, 1, &adjoint, v + 1 + n, 1, n);
  }
}

/* --- triangles --- */

SIMD_TARGET static bool NUMBER(potrf)(int64_t n, int64_t row, int64_t col, void *a_) {
  NUMBER(t) *a = a_;
  SIMD_NAME(bits) is_positive = ~(SIMD_NAME(bits)){0};
  for (int64_t j = 0; j < n; j++) {
    NUMBER(t) *pivot_row = a + j * row;
    SIMD_NAME(lane) square = pivot_row[j * col].re;
    for (int64_t k = 0; k < j; k++) square -= NUMBER(square)(pivot_row[k * col]);
    is_positive &= square > (SIMD_NAME(lane)){0};
    NUMBER(t) pivot = NUMBER(from_real)(SIMD_NAME(square_root)(square));
    pivot_row[j * col] = pivot;
    for (int64_t i = j + 1; i < n; i++) {
      NUMBER(t) *other = a + i * row, rest = other[j * col];
      for (int64_t k = 0; k < j; k++)
        rest = NUMBER(minus_product)(rest, other[k * col], NUMBER(conjugate)(pivot_row[k * col]));
      rest.re /= pivot.re;
      OF_PARTS((void)0, rest.im /= pivot.re);
      other[j * col] = rest;
    }
  }
  return SIMD_NAME(all)(is_positive);
}

/* Exchanges row j with row at[l] in each lane l. */
SIMD_INLINE void NUMBER(swap_rows)(int64_t m, int64_t n, int64_t j, SIMD_NAME(bits) at,
                                   NUMBER(t) * a) {
  for (int64_t i = j + 1; i < m; i++) {
    SIMD_NAME(bits) is_pivot = at == (SIMD_NAME(integer))i;
    for (int64_t c = 0; c < n; c++) {
      NUMBER(t) upper = a[j * n + c], lower = a[i * n + c];
      a[j * n + c] = NUMBER(choose)(is_pivot, lower, upper);
      a[i * n + c] = NUMBER(choose)(is_pivot, upper, lower);
    }
  }
}

/* The first row of the largest element of column j from row j on, per lane. Magnitudes are compared
 * as integers, so that NaN is the largest, as in lu_loops.h. */
SIMD_INLINE SIMD_NAME(bits)
    NUMBER(pivot_rows)(int64_t m, int64_t n, int64_t j, const NUMBER(t) * a) {
  SIMD_NAME(bits)
  most = (SIMD_NAME(bits))NUMBER(size)(a[j * n + j]),
  at = (SIMD_NAME(bits)){0} + (SIMD_NAME(integer))j;
  for (int64_t i = j + 1; i < m; i++) {
    SIMD_NAME(bits) size = (SIMD_NAME(bits))NUMBER(size)(a[i * n + j]), is_larger = size > most;
    most = (size & is_larger) | (most & ~is_larger);
    at = (is_larger & (SIMD_NAME(integer))i) | (at & ~is_larger);
  }
  return at;
}

SIMD_TARGET static bool NUMBER(getrf)(int64_t m, int64_t n, void *a_, int32_t *pivots) {
  NUMBER(t) *a = a_;
  SIMD_NAME(bits) is_regular = ~(SIMD_NAME(bits)){0};
  for (int64_t j = 0; j < m && j < n; j++) {
    SIMD_NAME(bits) at = NUMBER(pivot_rows)(m, n, j, a);
    for (int l = 0; l < LANES; l++) pivots[j * LANES + l] = (int32_t)at[l] + 1;
    NUMBER(swap_rows)(m, n, j, at, a);
    NUMBER(t) pivot = a[j * n + j];
    is_regular &= NUMBER(size)(pivot) != (SIMD_NAME(lane)){0};
    pivot = NUMBER(divisor)(pivot);
    for (int64_t i = j + 1; i < m; i++) {
      NUMBER(t) factor = a[i * n + j] = NUMBER(divided)(a[i * n + j], pivot);
      for (int64_t c = j + 1; c < n; c++)
        a[i * n + c] = NUMBER(minus_product)(a[i * n + c], factor, a[j * n + c]);
    }
  }
  return SIMD_NAME(all)(is_regular);
}

/* One right-hand side: each unknown takes the products of the known ones. */
SIMD_INLINE void NUMBER(solve_side)(const batched_triangle_t *by, bool conjugate,
                                    const NUMBER(t) * a, const NUMBER(t) * divisors,
                                    NUMBER(t) * x) {
  for (int64_t solved = 0; solved < by->size; solved++) {
    int64_t i = by->forward ? solved : by->size - 1 - solved;
    int64_t first = by->forward ? 0 : i + 1;
    int64_t end = by->forward ? i : by->size;
    NUMBER(t) rest = x[i * by->x_unknown];
    for (int64_t k = first; k < end; k++) {
      NUMBER(t) factor = a[i * by->equation + k * by->unknown];
      if (conjugate) factor = NUMBER(conjugate)(factor);
      rest = NUMBER(minus_product)(rest, factor, x[k * by->x_unknown]);
    }
    x[i * by->x_unknown] = by->unit ? rest : NUMBER(divided)(rest, divisors[i]);
  }
}

/* One right-hand side after the other: their chains of operations overlap. */
SIMD_TARGET static void NUMBER(trsm)(const batched_triangle_t *by, const void *a_, void *x_) {
  const NUMBER(t) *a = a_;
  NUMBER(t) divisors[BATCHED_SMALL_SIZE];
  for (int64_t i = 0; i < by->size && !by->unit; i++) {
    divisors[i] = a[i * (by->equation + by->unknown)];
    if (by->conjugate) divisors[i] = NUMBER(conjugate)(divisors[i]);
    divisors[i] = NUMBER(divisor)(divisors[i]);
  }
  for (int64_t side = 0; side < by->sides; side++) {
    NUMBER(t) *x = (NUMBER(t) *)x_ + side * by->x_side;
    if (NUMBER_PARTS == 2 && by->conjugate)
      NUMBER(solve_side)(by, true, a, divisors, x);
    else
      NUMBER(solve_side)(by, false, a, divisors, x);
  }
}

#undef OF_PARTS
