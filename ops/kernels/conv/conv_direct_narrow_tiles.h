/* The loops of conv_direct_narrow.c for one width of vectors and one type. Included once for each;
 * see simd_foreach_real.h. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* `vecs` vectors of results from number `x` on; vecs is a constant at each call. */
SIMD_INLINE void SIMD_NAME(sum_vectors)(int vecs, const lines_sum_t *at, int64_t x,
                                        SIMD_NAME(acc) * sums) {
  const SIMD_REAL *weights = at->weights;
  const SIMD_REAL *from = (const SIMD_REAL *)at->from + x;
  for (int64_t t = 0; t < at->taps; t++) {
    const SIMD_NAME(vec) *line = (const SIMD_NAME(vec) *)(from + at->offsets[t]);
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v++) sums[v] += weights[t] * line[v];
  }
}

SIMD_INLINE int64_t SIMD_NAME(sum_run)(int vecs, const lines_sum_t *at, int64_t x) {
  for (; x + vecs * LANES <= at->count; x += vecs * LANES) {
    SIMD_NAME(acc) sums[8] = {0};
    SIMD_NAME(sum_vectors)(vecs, at, x, sums);
    SIMD_NAME(vec) *to = (SIMD_NAME(vec) *)((SIMD_REAL *)at->to + x);
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v++) to[v] = sums[v];
  }
  return x;
}

/* The last vector is written up to the last result. */
SIMD_TARGET static void SIMD_NAME(sum_line)(const lines_sum_t *at) {
  int64_t x = SIMD_NAME(sum_run)(8, at, 0);
  x = SIMD_NAME(sum_run)(4, at, x);
  x = SIMD_NAME(sum_run)(2, at, x);
  x = SIMD_NAME(sum_run)(1, at, x);
  if (x == at->count) return;
  SIMD_NAME(acc) sums[1] = {0};
  SIMD_NAME(sum_vectors)(1, at, x, sums);
  memcpy((SIMD_REAL *)at->to + x, sums, (size_t)(at->count - x) * sizeof(SIMD_REAL));
}

#undef LANES
#undef SIMD_INLINE
