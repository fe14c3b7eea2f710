/* The loops of planes.c for one width of vectors. Included once per width by each_width.h. Rows are `step` reals apart,
 * their reals are dense; counts of reals in a row are multiples of PLANES_UNIT. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));

typedef TILES_REAL TILES_NAME(least_vec) __attribute__((vector_size(16)));

TILES_INLINE TILES_REAL TILES_NAME(lane_sum)(TILES_NAME(vec) v) {
  enum { PIECES = TILES_BYTES / 16, LEFT = 16 / (int)sizeof(TILES_REAL) };
  TILES_NAME(least_vec) pieces[PIECES], sum;
  memcpy(pieces, &v, sizeof pieces);
  sum = PIECES == 4 ? (pieces[0] + pieces[1]) + (pieces[2 % PIECES] + pieces[3 % PIECES])
        : PIECES == 2 ? pieces[0] + pieces[1 % PIECES]
                      : pieces[0];
  return LEFT == 4 ? (sum[0] + sum[1]) + (sum[2 % LEFT] + sum[3 % LEFT]) : sum[0] + sum[1];
}

/* `rows` is a constant where this is called. */
TILES_INLINE void TILES_NAME(dot_rows)(int rows, int64_t count, const TILES_REAL *a, int64_t step, const TILES_REAL *x,
                                       TILES_REAL scale, TILES_REAL *out) {
  TILES_NAME(vec) sums[8] = {0};
  for (int64_t j = 0; j < count; j += LANES) {
    TILES_NAME(vec) line = *(const TILES_NAME(vec) *)(x + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) sums[r] += *(const TILES_NAME(vec) *)(a + r * step + j) * line;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) out[r] += scale * TILES_NAME(lane_sum)(sums[r]);
}

TILES_TARGET static void TILES_NAME(dots)(int64_t rows, int64_t count, const void *a_, int64_t step, const void *x_,
                                          double scale, void *out_) {
  const TILES_REAL *a = a_, *x = x_;
  TILES_REAL *out = out_;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) TILES_NAME(dot_rows)(8, count, a + r * step, step, x, (TILES_REAL)scale, out + r);
  for (; r + 4 <= rows; r += 4) TILES_NAME(dot_rows)(4, count, a + r * step, step, x, (TILES_REAL)scale, out + r);
  for (; r < rows; r++) TILES_NAME(dot_rows)(1, count, a + r * step, step, x, (TILES_REAL)scale, out + r);
}

TILES_INLINE void TILES_NAME(add_some)(int rows, int64_t count, const TILES_REAL *a, int64_t step,
                                       const TILES_REAL *factors, TILES_REAL scale, TILES_REAL *y) {
  TILES_REAL f[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) f[r] = scale * factors[r];
  for (int64_t j = 0; j < count; j += LANES) {
    TILES_NAME(vec) sum = *(TILES_NAME(vec) *)(y + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) sum += *(const TILES_NAME(vec) *)(a + r * step + j) * f[r];
    *(TILES_NAME(vec) *)(y + j) = sum;
  }
}

TILES_TARGET static void TILES_NAME(add_rows)(int64_t rows, int64_t count, const void *a_, int64_t step,
                                              const void *factors_, double scale, void *y) {
  const TILES_REAL *a = a_, *factors = factors_;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8)
    TILES_NAME(add_some)(8, count, a + r * step, step, factors + r, (TILES_REAL)scale, y);
  for (; r + 4 <= rows; r += 4)
    TILES_NAME(add_some)(4, count, a + r * step, step, factors + r, (TILES_REAL)scale, y);
  for (; r < rows; r++) TILES_NAME(add_some)(1, count, a + r * step, step, factors + r, (TILES_REAL)scale, y);
}

TILES_INLINE void TILES_NAME(spread_some)(int rows, int64_t count, const TILES_REAL *x, const TILES_REAL *factors,
                                          TILES_REAL scale, TILES_REAL *a, int64_t step) {
  TILES_REAL f[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) f[r] = scale * factors[r];
  for (int64_t j = 0; j < count; j += LANES) {
    TILES_NAME(vec) line = *(const TILES_NAME(vec) *)(x + j);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) *(TILES_NAME(vec) *)(a + r * step + j) += line * f[r];
  }
}

TILES_TARGET static void TILES_NAME(spread)(int64_t rows, int64_t count, const void *x, const void *factors_,
                                            double scale, void *a_, int64_t step) {
  TILES_REAL *a = a_;
  const TILES_REAL *factors = factors_;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    TILES_NAME(spread_some)(4, count, x, factors + r, (TILES_REAL)scale, a + r * step, step);
  for (; r < rows; r++) TILES_NAME(spread_some)(1, count, x, factors + r, (TILES_REAL)scale, a + r * step, step);
}

TILES_TARGET static void TILES_NAME(scale)(int64_t count, void *re_, void *im_, double f_re, double f_im) {
  TILES_REAL *re = re_, *im = im_, a = (TILES_REAL)f_re, b = (TILES_REAL)f_im;
  for (int64_t j = 0; j < count; j += LANES) {
    TILES_NAME(vec) *x = (TILES_NAME(vec) *)(re + j), *y = (TILES_NAME(vec) *)(im + j), was = *x;
    *x = im ? was * a - *y * b : was * a;
    if (im) *y = was * b + *y * a;
  }
}

static const planes_loops_t TILES_NAME(loops) = {TILES_NAME(dots), TILES_NAME(add_rows), TILES_NAME(spread),
                                                 TILES_NAME(scale)};

#undef LANES
#undef TILES_INLINE
