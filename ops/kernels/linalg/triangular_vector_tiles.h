/* Loops of triangular_vector.c for one vector width and type, which includes this file once for
 * each of them. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

SIMD_INLINE SIMD_REAL SIMD_NAME(sum_of)(const SIMD_REAL *a, const SIMD_REAL *x, int64_t count) {
  SIMD_NAME(acc) sums[2] = {0};
  SIMD_REAL sum = 0;
  int64_t k = 0;
  for (; k + 2 * LANES <= count; k += 2 * LANES)
    for (int v = 0; v < 2; v++)
      sums[v] += ((const SIMD_NAME(vec) *)(a + k))[v] * ((const SIMD_NAME(vec) *)(x + k))[v];
  sums[0] += sums[1];
  for (; k < count; k++) sum += a[k] * x[k];
  for (int l = 0; l < LANES; l++) sum += sums[0][l];
  return sum;
}

/* x[first .. first + count) -= the terms of `terms` unknowns `solved`, equations dense. */
SIMD_INLINE void SIMD_NAME(subtract)(const SIMD_REAL *t, int64_t unknown, const SIMD_REAL *solved,
                                     int64_t terms, int64_t count, SIMD_REAL *x) {
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES) {
    SIMD_NAME(acc) rest = *(const SIMD_NAME(vec) *)(x + j);
    for (int64_t k = 0; k < terms; k++)
      rest -= solved[k] * *(const SIMD_NAME(vec) *)(t + k * unknown + j);
    *(SIMD_NAME(vec) *)(x + j) = rest;
  }
  for (; j < count; j++)
    for (int64_t k = 0; k < terms; k++) x[j] -= solved[k] * t[k * unknown + j];
}

/* Solves the block [low, high), whose other terms have been subtracted. */
SIMD_INLINE void SIMD_NAME(block)(const triangle_t *by, const SIMD_REAL *t, bool forward, bool unit,
                                  int64_t low, int64_t high, SIMD_REAL *x) {
  for (int64_t s = 0; s < high - low; s++) {
    int64_t i = forward ? low + s : high - 1 - s;
    SIMD_REAL rest = x[i];
    int64_t begin = forward ? low : i + 1;
    int64_t end = forward ? i : high;
    for (int64_t k = begin; k < end; k++) rest -= t[i * by->equation + k * by->unknown] * x[k];
    x[i] = unit ? rest : rest / t[i * (by->equation + by->unknown)];
  }
}

SIMD_TARGET static void SIMD_NAME(solve)(const triangle_t *by, const void *triangle, bool forward,
                                         bool unit, int64_t n, void *side) {
  const SIMD_REAL *t = triangle;
  SIMD_REAL *x = side;
  for (int64_t done = 0; done < n; done += BLOCK) {
    int64_t count = hr_min(BLOCK, n - done), low = forward ? done : n - done - count;
    int64_t high = low + count, solved = forward ? 0 : high;
    int64_t rest = forward ? high : 0;
    for (int64_t i = low; i < high && by->unknown == 1; i++)
      x[i] -= SIMD_NAME(sum_of)(t + i * by->equation + solved, x + solved, done);
    SIMD_NAME(block)(by, t, forward, unit, low, high, x);
    if (by->unknown == 1) continue;
    SIMD_NAME(subtract)
    (t + low * by->unknown + rest, by->unknown, x + low, count, n - done - count, x + rest);
  }
}

#undef LANES
#undef SIMD_INLINE
