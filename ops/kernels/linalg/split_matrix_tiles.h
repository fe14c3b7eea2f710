/* The loops of split_matrix.c for one vector width. Included once per width and real type by
 * simd_foreach_real.h. Rows are `stride` reals apart and contiguous; counts are multiples of
 * SPLIT_MATRIX_UNIT, so that there is no remainder. Eight (or four) rows at a time share the loads
 * of their common vector and hide the latency of fused multiply-adds. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));

typedef SIMD_REAL SIMD_NAME(vec_128) __attribute__((vector_size(16)));

/* Sum of the lanes, as a tree. */
SIMD_INLINE SIMD_REAL SIMD_NAME(lane_sum)(SIMD_NAME(vec) v) {
  enum { PIECES = SIMD_BYTES / 16, LEFT = 16 / (int)sizeof(SIMD_REAL) };
  SIMD_NAME(vec_128) pieces[PIECES], sum;
  memcpy(pieces, &v, sizeof pieces);
  sum = PIECES == 4   ? (pieces[0] + pieces[1]) + (pieces[2 % PIECES] + pieces[3 % PIECES])
        : PIECES == 2 ? pieces[0] + pieces[1 % PIECES]
                      : pieces[0];
  return LEFT == 4 ? (sum[0] + sum[1]) + (sum[2 % LEFT] + sum[3 % LEFT]) : sum[0] + sum[1];
}

/* Dot products of `rows` rows with x; `rows` is a constant at each call. */
SIMD_INLINE void SIMD_NAME(dot_rows)(int rows, int64_t count, const SIMD_REAL *a, int64_t stride,
                                     const SIMD_REAL *x, SIMD_REAL scale, SIMD_REAL *out) {
  SIMD_NAME(vec) sums[8] = {0};
  for (int64_t j = 0; j < count; j += LANES) {
    SIMD_NAME(vec) x_vector = *(const SIMD_NAME(vec) *)(x + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
      sums[r] += *(const SIMD_NAME(vec) *)(a + r * stride + j) * x_vector;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) out[r] += scale * SIMD_NAME(lane_sum)(sums[r]);
}

SIMD_TARGET static void SIMD_NAME(gemv_t)(int64_t rows, int64_t count, const void *a_,
                                          int64_t stride, const void *x_, double scale,
                                          void *out_) {
  const SIMD_REAL *a = a_, *x = x_;
  SIMD_REAL *out = out_;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8)
    SIMD_NAME(dot_rows)(8, count, a + r * stride, stride, x, (SIMD_REAL)scale, out + r);
  for (; r + 4 <= rows; r += 4)
    SIMD_NAME(dot_rows)(4, count, a + r * stride, stride, x, (SIMD_REAL)scale, out + r);
  for (; r < rows; r++)
    SIMD_NAME(dot_rows)(1, count, a + r * stride, stride, x, (SIMD_REAL)scale, out + r);
}

/* y += scale * sum of factors[r] a[r] over `rows` rows. */
SIMD_INLINE void SIMD_NAME(gemv_rows)(int rows, int64_t count, const SIMD_REAL *a, int64_t stride,
                                      const SIMD_REAL *factors, SIMD_REAL scale, SIMD_REAL *y) {
  SIMD_REAL f[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) f[r] = scale * factors[r];
  for (int64_t j = 0; j < count; j += LANES) {
    SIMD_NAME(vec) sum = *(SIMD_NAME(vec) *)(y + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) sum += *(const SIMD_NAME(vec) *)(a + r * stride + j) * f[r];
    *(SIMD_NAME(vec) *)(y + j) = sum;
  }
}

SIMD_TARGET static void SIMD_NAME(gemv)(int64_t rows, int64_t count, const void *a_, int64_t stride,
                                        const void *factors_, double scale, void *y) {
  const SIMD_REAL *a = a_, *factors = factors_;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8)
    SIMD_NAME(gemv_rows)(8, count, a + r * stride, stride, factors + r, (SIMD_REAL)scale, y);
  for (; r + 4 <= rows; r += 4)
    SIMD_NAME(gemv_rows)(4, count, a + r * stride, stride, factors + r, (SIMD_REAL)scale, y);
  for (; r < rows; r++)
    SIMD_NAME(gemv_rows)(1, count, a + r * stride, stride, factors + r, (SIMD_REAL)scale, y);
}

/* a[r] += scale * factors[r] x for `rows` rows. */
SIMD_INLINE void SIMD_NAME(ger_rows)(int rows, int64_t count, const SIMD_REAL *x,
                                     const SIMD_REAL *factors, SIMD_REAL scale, SIMD_REAL *a,
                                     int64_t stride) {
  SIMD_REAL f[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) f[r] = scale * factors[r];
  for (int64_t j = 0; j < count; j += LANES) {
    SIMD_NAME(vec) x_vector = *(const SIMD_NAME(vec) *)(x + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) *(SIMD_NAME(vec) *)(a + r * stride + j) += x_vector * f[r];
  }
}

SIMD_TARGET static void SIMD_NAME(ger)(int64_t rows, int64_t count, const void *x,
                                       const void *factors_, double scale, void *a_,
                                       int64_t stride) {
  SIMD_REAL *a = a_;
  const SIMD_REAL *factors = factors_;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    SIMD_NAME(ger_rows)(4, count, x, factors + r, (SIMD_REAL)scale, a + r * stride, stride);
  for (; r < rows; r++)
    SIMD_NAME(ger_rows)(1, count, x, factors + r, (SIMD_REAL)scale, a + r * stride, stride);
}

SIMD_TARGET static void SIMD_NAME(scale)(int64_t count, void *re_, void *im_, double f_re,
                                         double f_im) {
  SIMD_REAL *re = re_, *im = im_, a = (SIMD_REAL)f_re, b = (SIMD_REAL)f_im;
  for (int64_t j = 0; j < count; j += LANES) {
    SIMD_NAME(vec) *x = (SIMD_NAME(vec) *)(re + j), *y = (SIMD_NAME(vec) *)(im + j), old_re = *x;
    *x = im ? old_re * a - *y * b : old_re * a;
    if (im) *y = old_re * b + *y * a;
  }
}

static const split_matrix_loops_t SIMD_NAME(loops) = {SIMD_NAME(gemv_t), SIMD_NAME(gemv),
                                                      SIMD_NAME(ger), SIMD_NAME(scale)};

#undef LANES
#undef SIMD_INLINE
