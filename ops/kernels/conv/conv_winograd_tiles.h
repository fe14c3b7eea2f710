/* The loops of conv_winograd.c for one width of vectors and one type. Included once for each; see
 * simd_foreach_real.h.
 *
 * A line of 6 inputs and 3 weights gives 4 sums of 3 products, computed by polynomial evaluation at
 * 6 points: 0, A, -A, B, -B and infinity. With these points all factors of inputs and sums are
 * exact, and errors are small. */
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

#define AHEAD 4 /* prefetch distance of weights, in input channels */
#define C(value) ((SIMD_REAL)(value))

/* Evaluates 6 inputs, `step` apart, at the 6 points. */
SIMD_INLINE void SIMD_NAME(at_points)(const SIMD_NAME(acc) * x, int step, SIMD_NAME(acc) * to,
                                      int to_step) {
  SIMD_NAME(acc) x1 = x[step];
  SIMD_NAME(acc) x2 = x[2 * step];
  SIMD_NAME(acc) x3 = x[3 * step];
  SIMD_NAME(acc) x4 = x[4 * step];
  SIMD_NAME(acc) even_a = x4 - C(B2) * x2;
  SIMD_NAME(acc) odd_a = C(A1) * (x3 - C(B2) * x1);
  SIMD_NAME(acc) even_b = x4 - C(A2) * x2;
  SIMD_NAME(acc) odd_b = C(B1) * (x3 - C(A2) * x1);
  to[0] = C(A2 * B2) * x[0] - C(A2 + B2) * x2 + x4;
  to[to_step] = even_a + odd_a;
  to[2 * to_step] = even_a - odd_a;
  to[3 * to_step] = even_b + odd_b;
  to[4 * to_step] = even_b - odd_b;
  to[5 * to_step] = C(A2 * B2) * x1 - C(A2 + B2) * x3 + x[5 * step];
}

/* Evaluates 3 weights, `step` apart, at the 6 points, with the factors of the products. */
SIMD_INLINE void SIMD_NAME(weights_at_points)(const SIMD_NAME(acc) * g, int step,
                                              SIMD_NAME(acc) * to, int to_step) {
  SIMD_NAME(acc) a = C(1 / (2 * A2 * (A2 - B2))) * (g[0] + C(A2) * g[2 * step]);
  SIMD_NAME(acc) b = C(1 / (2 * B2 * (B2 - A2))) * (g[0] + C(B2) * g[2 * step]);
  SIMD_NAME(acc) odd_a = C(A1 / (2 * A2 * (A2 - B2))) * g[step];
  SIMD_NAME(acc) odd_b = C(B1 / (2 * B2 * (B2 - A2))) * g[step];
  to[0] = C(1 / (A2 * B2)) * g[0];
  to[to_step] = a + odd_a;
  to[2 * to_step] = a - odd_a;
  to[3 * to_step] = b + odd_b;
  to[4 * to_step] = b - odd_b;
  to[5 * to_step] = g[2 * step];
}

/* The 4 sums from the products at the 6 points. */
SIMD_INLINE void SIMD_NAME(from_points)(const SIMD_NAME(acc) * m, int step, SIMD_NAME(acc) * to,
                                        int to_step) {
  SIMD_NAME(acc) even_a = m[step] + m[2 * step];
  SIMD_NAME(acc) odd_a = m[step] - m[2 * step];
  SIMD_NAME(acc) even_b = m[3 * step] + m[4 * step];
  SIMD_NAME(acc) odd_b = m[3 * step] - m[4 * step];
  to[0] = m[0] + even_a + even_b;
  to[to_step] = C(A1) * odd_a + C(B1) * odd_b;
  to[2 * to_step] = C(A2) * even_a + C(B2) * even_b;
  to[3 * to_step] = C(A1 * A2) * odd_a + C(B1 * B2) * odd_b + m[5 * step];
}

/* Evaluates 4 gradients of sums at the 6 points, with the factors of the products; and the 3
 * gradients of weights from their products with the inputs, with the roles of sums and weights
 * exchanged. */
SIMD_INLINE void SIMD_NAME(sums_at_points)(const SIMD_NAME(acc) * y, int step, SIMD_NAME(acc) * to,
                                           int to_step) {
  SIMD_NAME(acc) y2 = y[2 * step], y3 = y[3 * step];
  SIMD_NAME(acc) a = C(1 / (2 * A2 * (A2 - B2))) * (y[0] + C(A2) * y2);
  SIMD_NAME(acc) b = C(1 / (2 * B2 * (B2 - A2))) * (y[0] + C(B2) * y2);
  SIMD_NAME(acc) odd_a = C(A1 / (2 * A2 * (A2 - B2))) * (y[step] + C(A2) * y3);
  SIMD_NAME(acc) odd_b = C(B1 / (2 * B2 * (B2 - A2))) * (y[step] + C(B2) * y3);
  to[0] = C(1 / (A2 * B2)) * y[0];
  to[to_step] = a + odd_a;
  to[2 * to_step] = a - odd_a;
  to[3 * to_step] = b + odd_b;
  to[4 * to_step] = b - odd_b;
  to[5 * to_step] = y3;
}

SIMD_INLINE void SIMD_NAME(weights_from_points)(const SIMD_NAME(acc) * m, int step,
                                                SIMD_NAME(acc) * to, int to_step) {
  SIMD_NAME(acc) even_a = m[step] + m[2 * step];
  SIMD_NAME(acc) odd_a = m[step] - m[2 * step];
  SIMD_NAME(acc) even_b = m[3 * step] + m[4 * step];
  SIMD_NAME(acc) odd_b = m[3 * step] - m[4 * step];
  to[0] = m[0] + even_a + even_b;
  to[to_step] = C(A1) * odd_a + C(B1) * odd_b;
  to[2 * to_step] = C(A2) * even_a + C(B2) * even_b + m[5 * step];
}

/* Next vector of channels: the last one ends with the last channel and overlaps the previous
 * one. */
SIMD_INLINE int64_t SIMD_NAME(next)(int64_t at, int64_t channels) {
  return at + LANES < channels && at + 2 * LANES > channels ? channels - LANES : at + LANES;
}

/* Transforms all channels of a tile's inputs, one line of `points` per point; prefetches the next
 * tile. */
SIMD_TARGET static void SIMD_NAME(tile_at_points)(const void *const *pointers,
                                                  const void *const *next, int64_t channels,
                                                  int64_t plane, void *points) {
  for (int64_t c = 0; c < channels; c = SIMD_NAME(next)(c, channels)) {
    SIMD_NAME(acc) x[POINTS], t[POINTS];
    SIMD_REAL *to = (SIMD_REAL *)points + c;
#pragma GCC unroll 6
    for (int q = 0; q < SIDE; q++) {
#pragma GCC unroll 6
      for (int r = 0; r < SIDE; r++) {
        __builtin_prefetch((const SIMD_REAL *)next[r * SIDE + q] + c);
        x[r] = *(const SIMD_NAME(vec) *)((const SIMD_REAL *)pointers[r * SIDE + q] + c);
      }
      SIMD_NAME(at_points)(x, 1, t + q, SIDE);
    }
#pragma GCC unroll 6
    for (int r = 0; r < SIDE; r++) {
      SIMD_NAME(at_points)(t + r * SIDE, 1, x, 1);
#pragma GCC unroll 6
      for (int q = 0; q < SIDE; q++) *(SIMD_NAME(vec) *)(to + (r * SIDE + q) * plane) = x[q];
    }
  }
}

/* Transforms the results of a tile back. False: some are not finite, perhaps only because of the
 * transform. */
SIMD_TARGET static bool SIMD_NAME(tile_from_points)(const void *points, int64_t channels,
                                                    int64_t plane, void *const *pointers) {
  SIMD_NAME(acc) check = {0};
  for (int64_t c = 0; c < channels; c = SIMD_NAME(next)(c, channels)) {
    SIMD_NAME(acc) m[SIDE], t[OUT_SIDE * SIDE], y[OUT_SIDE];
    const SIMD_REAL *from = (const SIMD_REAL *)points + c;
#pragma GCC unroll 6
    for (int q = 0; q < SIDE; q++) {
#pragma GCC unroll 6
      for (int r = 0; r < SIDE; r++)
        m[r] = *(const SIMD_NAME(vec) *)(from + (r * SIDE + q) * plane);
      SIMD_NAME(from_points)(m, 1, t + q, SIDE);
    }
#pragma GCC unroll 4
    for (int r = 0; r < OUT_SIDE; r++) {
      SIMD_NAME(from_points)(t + r * SIDE, 1, y, 1);
#pragma GCC unroll 4
      for (int q = 0; q < OUT_SIDE; q++) {
        check += C(0) * y[q];
        *(SIMD_NAME(vec) *)((SIMD_REAL *)pointers[r * OUT_SIDE + q] + c) = y[q];
      }
    }
  }
  SIMD_REAL sum = 0;
  for (int i = 0; i < LANES; i++) sum += check[i];
  return sum == 0;
}

/* Transforms all channels of the gradients of a tile's results, one line of `points` per point. */
SIMD_TARGET static void SIMD_NAME(results_at_points)(const void *const *pointers, int64_t channels,
                                                     int64_t plane, void *points) {
  for (int64_t c = 0; c < channels; c = SIMD_NAME(next)(c, channels)) {
    SIMD_NAME(acc) y[SIDE], t[SIDE * OUT_SIDE];
    SIMD_REAL *to = (SIMD_REAL *)points + c;
#pragma GCC unroll 4
    for (int q = 0; q < OUT_SIDE; q++) {
#pragma GCC unroll 4
      for (int r = 0; r < OUT_SIDE; r++)
        y[r] = *(const SIMD_NAME(vec) *)((const SIMD_REAL *)pointers[r * OUT_SIDE + q] + c);
      SIMD_NAME(sums_at_points)(y, 1, t + q, OUT_SIDE);
    }
#pragma GCC unroll 6
    for (int r = 0; r < SIDE; r++) {
      SIMD_NAME(sums_at_points)(t + r * OUT_SIDE, 1, y, 1);
#pragma GCC unroll 6
      for (int q = 0; q < SIDE; q++) *(SIMD_NAME(vec) *)(to + (r * SIDE + q) * plane) = y[q];
    }
  }
}

/* Loads neighbouring output channels, up to the last one. */
SIMD_INLINE SIMD_NAME(acc)
    SIMD_NAME(few_weights)(const SIMD_REAL *from, int64_t step, int64_t count) {
  SIMD_NAME(acc) x = {0};
  if (step == 1 && count >= LANES) return *(const SIMD_NAME(vec) *)from;
  for (int i = 0; i < LANES && i < count; i++) x[i] = from[i * step];
  return x;
}

/* Transforms the weights of an input channel and a vector of output channels. Those of the next
 * input channels are not contiguous, and are prefetched. */
SIMD_INLINE void SIMD_NAME(pack_vector)(const winograd_weights_t *w, int64_t c, int64_t o,
                                        SIMD_REAL *to) {
  SIMD_NAME(acc) g[9], t[POINTS / 2], u[SIDE];
  const SIMD_REAL *from = (const SIMD_REAL *)w->data + c * w->in_step + o * w->out_step;
#pragma GCC unroll 9
  for (int k = 0; k < 9; k++) {
    __builtin_prefetch(from + w->tap_offsets[k] + AHEAD * w->in_step);
    g[k] = SIMD_NAME(few_weights)(from + w->tap_offsets[k], w->out_step, w->out_channels - o);
  }
#pragma GCC unroll 3
  for (int q = 0; q < 3; q++) SIMD_NAME(weights_at_points)(g + q, 3, t + q, 3);
#pragma GCC unroll 6
  for (int r = 0; r < SIDE; r++, to += SIDE * w->plane) {
    SIMD_NAME(weights_at_points)(t + 3 * r, 1, u, 1);
#pragma GCC unroll 6
    for (int q = 0; q < SIDE; q++) *(SIMD_NAME(vec) *)(to + q * w->plane) = u[q];
  }
}

/* Transforms weights of input channels [first, last) and output channels [begin, end), whole
 * vectors, into the packed right sides of the products. */
SIMD_TARGET static void SIMD_NAME(pack_weights)(const winograd_weights_t *w, int64_t first,
                                                int64_t last, int64_t begin, int64_t end,
                                                void *packed) {
  const gemm_panels_t *panels = &w->panels;
  int64_t start = begin / panels->width * panels->width;
  for (int64_t c = first, next; c < last; c = next) {
    int64_t block = c / panels->depth * panels->depth;
    next = hr_min(block + panels->depth, last);
    int64_t panel = hr_min(panels->depth, panels->k - block) * panels->width;
    SIMD_REAL *line = (SIMD_REAL *)packed + gemm_packed_at(panels, c, start);
    for (int64_t i = c; i < next; i++, line += panels->width) {
      SIMD_REAL *to = line;
      for (int64_t o = start, at = 0; o < end; o += LANES) {
        if (o >= begin) SIMD_NAME(pack_vector)(w, i, o, to + at);
        at += LANES;
        if (at < panels->width) continue;
        at = 0;
        to += panel;
      }
    }
  }
}

/* Computes one result of a tile directly: `pointers` are the 3 lines of 3 inputs of its window,
 * SIDE apart. */
SIMD_TARGET static void SIMD_NAME(copy_directly)(const winograd_weights_t *w,
                                                 const void *const *pointers, void *out) {
  for (int64_t o = 0; o < w->out_channels; o += LANES) {
    SIMD_NAME(acc) sum = {0};
    int64_t count = w->out_channels - o;
    for (int k = 0; k < 9; k++) {
      const SIMD_REAL *x = pointers[k / 3 * SIDE + k % 3];
      const SIMD_REAL *from = (const SIMD_REAL *)w->data + w->tap_offsets[k] + o * w->out_step;
      for (int64_t c = 0; c < w->in_channels; c++)
        sum += x[c] * SIMD_NAME(few_weights)(from + c * w->in_step, w->out_step, count);
    }
    for (int i = 0; i < LANES && i < count; i++) ((SIMD_REAL *)out)[o + i] = sum[i];
  }
}

SIMD_INLINE bool SIMD_NAME(is_finite)(SIMD_NAME(acc) x) {
  SIMD_REAL sum = 0;
  for (int i = 0; i < LANES; i++) sum += C(0) * x[i];
  return sum == 0;
}

/* Computes gradients of weights directly, for an input channel and a vector of output channels. */
SIMD_TARGET static void SIMD_NAME(gradients_directly)(const winograd_gradients_t *g, int64_t c,
                                                      int64_t o, SIMD_NAME(acc) * to) {
  int64_t count = g->out_channels - o;
  for (int k = 0; k < 9; k++) to[k] = (SIMD_NAME(acc)){0};
  for (int64_t tile = 0; tile < g->tiles; tile++) {
    const void *in[POINTS], *out[OUT_SIDE * OUT_SIDE];
    g->find(g->context, tile, in, out);
    for (int i = 0; i < OUT_SIDE * OUT_SIDE; i++)
      for (int k = 0; out[i] && k < 9; k++) {
        const SIMD_REAL *x = in[(i / OUT_SIDE + k / 3) * SIDE + i % OUT_SIDE + k % 3];
        to[k] += x[c] * SIMD_NAME(few_weights)((const SIMD_REAL *)out[i] + o, 1, count);
      }
  }
}

/* Transforms the sums over all tiles back, for input channels [begin, end); sums of several parts
 * are added. */
SIMD_TARGET static void SIMD_NAME(gradients_from_points)(const winograd_gradients_t *g,
                                                         int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; c++)
    for (int64_t o = 0; o < g->out_channels; o += LANES) {
      SIMD_NAME(acc) m[POINTS], t[3 * SIDE], w[9], check = {0};
      for (int p = 0; p < POINTS; p++) {
        const SIMD_REAL *from = (const SIMD_REAL *)g->sums + p * g->plane + c * g->row + o;
        m[p] = *(const SIMD_NAME(vec) *)from;
        for (int part = 1; part < g->parts; part++)
          m[p] += *(const SIMD_NAME(vec) *)(from + part * g->part_step);
      }
      for (int q = 0; q < SIDE; q++) SIMD_NAME(weights_from_points)(m + q, SIDE, t + q, SIDE);
      for (int r = 0; r < 3; r++) SIMD_NAME(weights_from_points)(t + r * SIDE, 1, w + 3 * r, 1);
      for (int k = 0; k < 9; k++)
        for (int i = 0; i < LANES; i++) check[i] += o + i < g->out_channels ? C(0) * w[k][i] : C(0);
      if (!SIMD_NAME(is_finite)(check)) SIMD_NAME(gradients_directly)(g, c, o, w);
      for (int k = 0; k < 9; k++)
        for (int i = 0; i < LANES && o + i < g->out_channels; i++)
          ((SIMD_REAL *)g->to)[g->tap_offsets[k] + c * g->in_step + (o + i) * g->out_step] =
              w[k][i];
    }
}

#undef C
#undef LANES
#undef SIMD_INLINE
