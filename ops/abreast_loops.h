/* The loops of abreast.c for one width of vectors. Included once per width by each_width.h. A `lane` is a vector: the
 * same element of LANES matrices. Steps are in lanes. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(lane) __attribute__((vector_size(TILES_BYTES)));

TILES_TARGET static void TILES_NAME(load)(const void *from_, int64_t elements, int64_t count, void *to_) {
  const TILES_REAL *from = from_;
  TILES_REAL *to = to_;
  for (int64_t i = 0; i < elements; i++)
    for (int64_t l = 0; l < LANES; l++) to[i * LANES + l] = from[(l < count ? l : count - 1) * elements + i];
}

TILES_TARGET static void TILES_NAME(store)(const void *from_, int64_t elements, int64_t count, void *to_) {
  const TILES_REAL *from = from_;
  TILES_REAL *to = to_;
  for (int64_t l = 0; l < count; l++)
    for (int64_t i = 0; i < elements; i++) to[l * elements + i] = from[i * LANES + l];
}

/* Squares that small have lost digits: a column of them is what rounding left of one that depended on others. */
static const TILES_REAL TILES_NAME(nothing) = sizeof(TILES_REAL) == 4 ? (TILES_REAL)1e-30 : (TILES_REAL)1e-240;

/* H for a column: *alpha becomes beta; what stands below it is to be multiplied by the result. Squares: of what stands
 * below. */
TILES_INLINE TILES_NAME(lane)
    TILES_NAME(make)(TILES_NAME(lane) * alpha, TILES_NAME(lane) squares, TILES_NAME(lane) * tau) {
  TILES_NAME(lane) factor;
#pragma GCC unroll 16
  for (int l = 0; l < LANES; l++) {
    TILES_REAL a = (*alpha)[l], s = a * a + squares[l] < TILES_NAME(nothing) ? 0 : squares[l];
    TILES_REAL norm = sizeof(TILES_REAL) == 4 ? (TILES_REAL)__builtin_sqrtf((float)(a * a + s))
                                              : (TILES_REAL)__builtin_sqrt((double)(a * a + s));
    TILES_REAL beta = s == 0 ? a : a < 0 ? norm : -norm;
    (*tau)[l] = s == 0 ? 0 : (beta - a) / beta;
    factor[l] = s == 0 ? 0 : 1 / (a - beta);
    (*alpha)[l] = beta;
  }
  return factor;
}

/* A column of `rows` elements, the first of them the pivot, to beta and v. Returns tau. */
TILES_INLINE TILES_NAME(lane) TILES_NAME(reflector)(int64_t rows, TILES_NAME(lane) * column, int64_t step) {
  TILES_NAME(lane) sums[4] = {0}, tau, factor;
  for (int64_t i = 1; i < rows; i++) sums[i & 3] += column[i * step] * column[i * step];
  factor = TILES_NAME(make)(column, (sums[0] + sums[1]) + (sums[2] + sums[3]), &tau);
  for (int64_t i = 1; i < rows; i++) column[i * step] *= factor;
  return tau;
}

/* c = H c for `count` columns, a constant where this is called; v[0] is taken as one. */
TILES_INLINE void TILES_NAME(reflect_some)(int count, int64_t rows, const TILES_NAME(lane) * v, int64_t v_step,
                                           TILES_NAME(lane) tau, TILES_NAME(lane) * c, int64_t row, int64_t col) {
  TILES_NAME(lane) sums[4];
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

TILES_TARGET static void TILES_NAME(reflect)(int64_t columns, int64_t rows, const TILES_NAME(lane) * v, int64_t v_step,
                                             const TILES_NAME(lane) * tau, TILES_NAME(lane) * c, int64_t row,
                                             int64_t col) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) TILES_NAME(reflect_some)(4, rows, v, v_step, *tau, c + j * col, row, col);
  for (; j < columns; j++) TILES_NAME(reflect_some)(1, rows, v, v_step, *tau, c + j * col, row, col);
}

TILES_TARGET static void TILES_NAME(factor)(int64_t m, int64_t n, void *a_, void *taus_) {
  TILES_NAME(lane) *a = a_, *taus = taus_;
  for (int64_t j = 0; j < n && j < m; j++) {
    TILES_NAME(lane) *v = a + j * n + j;
    taus[j] = TILES_NAME(reflector)(m - j, v, n);
    TILES_NAME(reflect)(n - j - 1, m - j, v, n, &taus[j], v + 1, n, 1);
  }
}

/* Columns of Q in place of the vectors, the last one first. */
TILES_TARGET static void TILES_NAME(form)(int64_t m, int64_t n, void *a_, const void *taus_) {
  TILES_NAME(lane) *a = a_;
  const TILES_NAME(lane) *taus = taus_;
  for (int64_t j = n - 1; j >= 0; j--) {
    TILES_NAME(lane) *v = a + j * n + j, tau = taus[j];
    for (int64_t c = 1; c < n - j; c++) v[c] = (TILES_NAME(lane)){0};
    TILES_NAME(reflect)(n - j - 1, m - j, v, n, &tau, v + 1, n, 1);
    for (int64_t i = 1; i < m - j; i++) v[i * n] *= -tau;
    *v = 1 - tau;
    for (int64_t i = 0; i < j; i++) a[i * n + j] = (TILES_NAME(lane)){0};
  }
}

/* rows i + 1, ...: a -= v w^T + w v^T, with w = tau A v - (tau^2 v^T A v / 2) v. */
TILES_INLINE void TILES_NAME(both_sides)(int64_t rows, const TILES_NAME(lane) * v, int64_t v_step, TILES_NAME(lane) tau,
                                         TILES_NAME(lane) * a, int64_t step) {
  TILES_NAME(lane) w[ABREAST_SIZE], u[ABREAST_SIZE], sum = {0};
  u[0] = 1 - (TILES_NAME(lane)){0};
  for (int64_t i = 1; i < rows; i++) u[i] = v[i * v_step];
  for (int64_t i = 0; i < rows; i++) {
    TILES_NAME(lane) sums[2] = {0};
    for (int64_t j = 0; j < rows; j++) sums[j & 1] += a[i * step + j] * u[j];
    w[i] = tau * (sums[0] + sums[1]);
    sum += w[i] * u[i];
  }
  sum *= -tau / 2;
  for (int64_t i = 0; i < rows; i++) w[i] += sum * u[i];
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < rows; j++) a[i * step + j] -= u[i] * w[j] + w[i] * u[j];
}

TILES_TARGET static void TILES_NAME(tridiagonal)(int64_t n, void *a_, void *diagonal_, void *beside_, void *taus_) {
  TILES_NAME(lane) *a = a_, *diagonal = diagonal_, *beside = beside_, *taus = taus_;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
  for (int64_t i = 0; i < n - 1; i++) {
    TILES_NAME(lane) *v = a + (i + 1) * n + i;
    diagonal[i] = a[i * n + i];
    taus[i] = TILES_NAME(reflector)(n - i - 1, v, n);
    beside[i] = *v;
    TILES_NAME(both_sides)(n - i - 1, v, n, taus[i], v + 1, n);
  }
  diagonal[n - 1] = a[n * n - 1];
}

TILES_TARGET static void TILES_NAME(bidiagonal)(int64_t m, int64_t n, void *a_, void *diagonal_, void *beside_,
                                                void *left_, void *right_) {
  TILES_NAME(lane) *a = a_, *diagonal = diagonal_, *beside = beside_, *left = left_, *right = right_;
  for (int64_t i = 0; i < n; i++) {
    TILES_NAME(lane) *v = a + i * n + i;
    left[i] = TILES_NAME(reflector)(m - i, v, n);
    diagonal[i] = *v;
    TILES_NAME(reflect)(n - i - 1, m - i, v, n, &left[i], v + 1, n, 1);
    if (i + 1 == n) break;
    right[i] = TILES_NAME(reflector)(n - i - 1, v + 1, 1);
    beside[i] = v[1];
    TILES_NAME(reflect)(m - i - 1, n - i - 1, v + 1, 1, &right[i], v + 1 + n, 1, n);
  }
}

static const abreast_loops_t TILES_NAME(loops) = {LANES, TILES_NAME(load), TILES_NAME(store), TILES_NAME(factor),
                                                  TILES_NAME(form), TILES_NAME(tridiagonal), TILES_NAME(bidiagonal)};

#undef LANES
#undef TILES_INLINE
