/* Loops of triangular_halves.c for one vector width and type, which includes this file once for
 * each of them.
 *
 * A leaf solves the unknowns of CHUNK_BYTES of right-hand sides, TOGETHER of them at a time: their
 * sums are in registers, and each solved unknown that is loaded is used in all of them. The
 * triangle has LEAF columns. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define VECTORS (SIMD_SUMS / TOGETHER) /* right-hand sides at a time, in vectors */
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Solves `count` unknowns, a constant at each call, after `solved` others. `step`: rows from an
 * unknown to the next; `first`: row of the one that is solved first. */
SIMD_INLINE void SIMD_NAME(solve_unknowns)(int count, bool unit, int64_t solved, int64_t first,
                                           int64_t step, const SIMD_REAL *triangle, SIMD_REAL *x,
                                           int64_t x_row) {
  int64_t row = first + solved * step;
  const SIMD_REAL *t = triangle + row * LEAF;
  SIMD_NAME(acc) sums[TOGETHER][VECTORS];
#pragma GCC unroll 4
  for (int g = 0; g < count; g++)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++)
      sums[g][v] = ((const SIMD_NAME(vec) *)(x + (row + g * step) * x_row))[v];
  for (int64_t q = 0, k = first; q < solved; q++, k += step)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
      SIMD_NAME(acc) other = ((const SIMD_NAME(vec) *)(x + k * x_row))[v];
#pragma GCC unroll 4
      for (int g = 0; g < count; g++) sums[g][v] -= t[g * step * LEAF + k] * other;
    }
#pragma GCC unroll 4
  for (int g = 0; g < count; g++)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
#pragma GCC unroll 4
      for (int h = 0; h < g; h++) sums[g][v] -= t[g * step * LEAF + row + h * step] * sums[h][v];
      if (!unit) sums[g][v] /= t[g * step * LEAF + row + g * step];
      ((SIMD_NAME(vec) *)(x + (row + g * step) * x_row))[v] = sums[g][v];
    }
}

/* Solves all `n` unknowns of a leaf for the first `sides` right-hand sides of a chunk, or some
 * more. */
SIMD_TARGET static void SIMD_NAME(solve)(bool upper, bool unit, int64_t n, const void *triangle,
                                         void *x, int64_t x_row, int64_t sides) {
  int64_t first = upper ? n - 1 : 0;
  int64_t step = upper ? -1 : 1;
  SIMD_REAL *chunk = x, *end = chunk + sides;
  for (; chunk < end; chunk += VECTORS * LANES) {
    int64_t solved = 0;
    for (; solved + TOGETHER <= n; solved += TOGETHER)
      SIMD_NAME(solve_unknowns)(TOGETHER, unit, solved, first, step, triangle, chunk, x_row);
    for (; solved < n; solved++)
      SIMD_NAME(solve_unknowns)(1, unit, solved, first, step, triangle, chunk, x_row);
  }
}

#undef LANES
#undef VECTORS
#undef SIMD_INLINE
