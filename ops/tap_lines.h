/* The loops of native_convolution_lines.c for one width of vectors and one type. Included once for each; see
 * each_width.h. */
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* `vecs` vectors of results from number `x` on, a constant where this is called. */
TILES_INLINE void TILES_NAME(sum_vectors)(int vecs, const lines_sum_t *at, int64_t x, TILES_NAME(acc) *sums) {
  const TILES_REAL *weights = at->weights, *from = (const TILES_REAL *)at->from + x;
  for (int64_t t = 0; t < at->taps; t++) {
    const TILES_NAME(vec) *line = (const TILES_NAME(vec) *)(from + at->offsets[t]);
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v++) sums[v] += weights[t] * line[v];
  }
}

TILES_INLINE int64_t TILES_NAME(sum_run)(int vecs, const lines_sum_t *at, int64_t x) {
  for (; x + vecs * LANES <= at->count; x += vecs * LANES) {
    TILES_NAME(acc) sums[8] = {0};
    TILES_NAME(sum_vectors)(vecs, at, x, sums);
    TILES_NAME(vec) *to = (TILES_NAME(vec) *)((TILES_REAL *)at->to + x);
#pragma GCC unroll 8
    for (int v = 0; v < vecs; v++) to[v] = sums[v];
  }
  return x;
}

/* The last vector is written as far as there are results. */
TILES_TARGET static void TILES_NAME(sum_line)(const lines_sum_t *at) {
  int64_t x = TILES_NAME(sum_run)(8, at, 0);
  x = TILES_NAME(sum_run)(4, at, x);
  x = TILES_NAME(sum_run)(2, at, x);
  x = TILES_NAME(sum_run)(1, at, x);
  if (x == at->count) return;
  TILES_NAME(acc) sums[1] = {0};
  TILES_NAME(sum_vectors)(1, at, x, sums);
  memcpy((TILES_REAL *)at->to + x, sums, (size_t)(at->count - x) * sizeof(TILES_REAL));
}

#undef LANES
#undef TILES_INLINE
