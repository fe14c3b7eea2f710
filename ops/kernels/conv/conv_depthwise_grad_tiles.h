/* The loops of conv_depthwise_grad.c for one width of vectors and one type. Included once for each;
 * see simd_foreach_real.h. */
typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* Adds the products of all positions to the sums of `taps` taps of `vecs` vectors of channels,
 * which are constants at each call. */
SIMD_TARGET static inline __attribute__((always_inline)) void SIMD_NAME(add_positions)(
    int taps, int vecs, const depthwise_line_t *at) {
  SIMD_NAME(acc) sums[8][4] = {0};
  const SIMD_REAL *from = at->from, *gradients = at->gradients;
  for (int64_t i = 0; i < at->count; i++) {
    SIMD_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)gradients)[v];
#pragma GCC unroll 8
    for (int t = 0; t < taps; t++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++)
        sums[t][v] += ((const SIMD_NAME(vec) *)(from + t * at->tap_step))[v] * line[v];
    from += at->step;
    gradients += at->gradient_step;
  }
  SIMD_NAME(vec) *to = at->sums;
#pragma GCC unroll 8
  for (int t = 0; t < taps; t++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) to[t * vecs + v] += sums[t][v];
}

#define LINES(TAPS, VECS)                                                              \
  SIMD_TARGET static void SIMD_NAME(add_##TAPS##x##VECS)(const depthwise_line_t *at) { \
    SIMD_NAME(add_positions)(TAPS, VECS, at);                                          \
  }
#define LINES_OF(VECS) \
  LINES(1, VECS)       \
  LINES(2, VECS)       \
  LINES(3, VECS)       \
  LINES(4, VECS)       \
  LINES(5, VECS)       \
  LINES(6, VECS)       \
  LINES(7, VECS)       \
  LINES(8, VECS)
#define ADDS_OF(VECS)                                                              \
  {                                                                                \
    SIMD_NAME(add_1x##VECS), SIMD_NAME(add_2x##VECS), SIMD_NAME(add_3x##VECS),     \
        SIMD_NAME(add_4x##VECS), SIMD_NAME(add_5x##VECS), SIMD_NAME(add_6x##VECS), \
        SIMD_NAME(add_7x##VECS), SIMD_NAME(add_8x##VECS)                           \
  }
LINES_OF(1)
LINES_OF(2)
LINES_OF(4)

SIMD_TARGET static void SIMD_NAME(add_line)(const depthwise_line_t *at) {
  static void (*const adds[3][8])(const depthwise_line_t *) = {ADDS_OF(1), ADDS_OF(2), ADDS_OF(4)};
  adds[at->vectors / 2][at->taps - 1](at);
}
#undef ADDS_OF
#undef LINES_OF
#undef LINES
