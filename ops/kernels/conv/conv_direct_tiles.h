/* Micro-kernels of direct convolution for one vector width and one type; conv_direct.c includes
 * this file once for each, see simd_foreach_real.h.
 *
 * A tile is C[rows][vecs] in registers: at most 8 x 2 or 6 x 4 vectors, and `vecs` of B beside
 * them. rows and vecs are constants at each call of the always-inline functions, so all loops over
 * them unroll and the accumulators stay in registers. PANEL_KERNEL(name, rows, vecs, depthwise)
 * makes one kernel: all lines of a block by strides, then its indirect tiles. A new tile shape
 * needs an instance there and an entry in the table after it.
 *
 *   accumulate_tap             C[r][v] += broadcast(A[r][k]) * B[k][v], for all k of one tap
 *   accumulate_depthwise       C[r][v] += A[r][k][v] * B[k][v], elementwise
 *   accumulate_sliding         the same for 3 or 5 adjacent taps: each A is loaded once
 *   accumulate_terms           C[r][c] += A[r][k..] * B[c][k..], vectors along k (n <= 4)
 *
 * DIRECT_FACTOR(bits, flip) is a unit of A as the instruction wants it, DIRECT_ADD(sum, factor, b)
 * the multiply-add; by default those of the element type. With them a unit is a k group of the size
 * of a SIMD_REAL. */
#ifndef DIRECT_ADD
#define DIRECT_DEFAULT
#define DIRECT_FACTOR(bits, flip) (bits)
#define DIRECT_ADD(sum, factor, b) ((sum) + (factor) * (b))
#endif
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* One tap of a tile; a[r] is row r of A. */
SIMD_INLINE void SIMD_NAME(accumulate_tap)(int rows, int vecs, const direct_panel_t *panel,
                                           int64_t tap, const SIMD_REAL *const *a,
                                           SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)panel->weights + tap * panel->tap_stride;
#pragma GCC unroll 4
  for (int64_t p = 0; p < panel->k_count; p++, weights += panel->width) {
    SIMD_NAME(acc) b[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) b[v] = ((const SIMD_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      __typeof__(DIRECT_FACTOR(a[r][p], panel->sign_flip)) factor =
          DIRECT_FACTOR(a[r][p], panel->sign_flip);
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] = DIRECT_ADD(sums[r][v], factor, b[v]);
    }
  }
}

/* The same in the depthwise form: each column has its own terms. */
SIMD_INLINE void SIMD_NAME(accumulate_depthwise)(int rows, int vecs, const direct_panel_t *panel,
                                                 int64_t tap, const SIMD_REAL *const *a,
                                                 SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)panel->weights + tap * panel->tap_stride;
  for (int64_t p = 0; p < panel->k_count; p++, weights += panel->width)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) {
      SIMD_NAME(acc) b = ((const SIMD_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++)
        sums[r][v] += ((const SIMD_NAME(vec) *)(a[r] + p * panel->k_stride))[v] * b;
    }
}

/* The same for a tile of a line, by stride. Precondition: k_count > 0. */
SIMD_INLINE void SIMD_NAME(accumulate_depthwise_line)(int rows, int vecs,
                                                      const direct_panel_t *panel, int64_t tap,
                                                      const char *first,
                                                      SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)panel->weights + tap * panel->tap_stride;
  int64_t stride = panel->from_stride, p = panel->k_count;
  do {
    SIMD_NAME(acc) b[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) b[v] = ((const SIMD_NAME(vec) *)weights)[v];
    const char *from = first;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, from += stride)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const SIMD_NAME(vec) *)from)[v] * b[v];
    weights += panel->width;
    first += panel->k_stride * (int64_t)sizeof(SIMD_REAL);
  } while (--p);
}

/* Stores a tile: plus the bias in the first k block, plus C in later ones. */
SIMD_INLINE void SIMD_NAME(store_tile)(int rows, int vecs, const direct_panel_t *panel,
                                       SIMD_REAL *const *results, SIMD_NAME(acc) (*sums)[4]) {
  if (panel->bias && !panel->accumulate) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const SIMD_NAME(vec) *)panel->bias)[v];
  }
  if (panel->accumulate) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((SIMD_NAME(vec) *)results[r])[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) ((SIMD_NAME(vec) *)results[r])[v] = sums[r][v];
}

/* A tile by the indirection buffer. The results are prefetched: they may be far apart. */
SIMD_INLINE void SIMD_NAME(compute_indirect_tile)(int rows, int vecs, bool depthwise,
                                                  const direct_panel_t *panel, int64_t tile,
                                                  const int32_t *live, const void *const *pointers,
                                                  void *const *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    results[r] = (SIMD_REAL *)to[r] + panel->column;
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) __builtin_prefetch(results[r] + v * LANES, 1);
  }
  for (int32_t t = 1; t <= live[0]; t++, pointers += rows) {
    const SIMD_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const SIMD_REAL *)pointers[r] + panel->k_first;
    if (depthwise) {
      SIMD_NAME(accumulate_depthwise)(rows, vecs, panel, live[t], a, sums);
      continue;
    }
    if (panel->next.rows) conv_prefetch_rows(&panel->next, live[t], tile);
    SIMD_NAME(accumulate_tap)(rows, vecs, panel, live[t], a, sums);
  }
  SIMD_NAME(store_tile)(rows, vecs, panel, results, sums);
}

/* A tile of a line whose taps are all inside; rows are from_stride apart. */
SIMD_INLINE void SIMD_NAME(compute_line_tile)(int rows, int vecs, bool depthwise,
                                              const direct_panel_t *panel, int64_t tile,
                                              const int32_t *live, const char *from, char *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const char *first =
        from + panel->tap_offsets[live[t]] + panel->k_first * (int64_t)sizeof(SIMD_REAL);
    if (depthwise) {
      SIMD_NAME(accumulate_depthwise_line)(rows, vecs, panel, live[t], first, sums);
      continue;
    }
    const SIMD_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const SIMD_REAL *)(first + r * panel->from_stride);
    if (panel->next.rows) conv_prefetch_rows(&panel->next, live[t], tile);
    SIMD_NAME(accumulate_tap)(rows, vecs, panel, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    results[r] = (SIMD_REAL *)(to + r * panel->to_stride) + panel->column;
  SIMD_NAME(store_tile)(rows, vecs, panel, results, sums);
}

/* A depthwise tile of a line at the border: rows whose tap is outside of the axis read zeros.
 * `position` is the coordinate of row 0. */
SIMD_INLINE void SIMD_NAME(compute_border_tile)(int rows, int vecs, const direct_panel_t *panel,
                                                const int32_t *live, int64_t position,
                                                const char *from, char *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const SIMD_REAL *a[8];
    const char *first = from + panel->tap_offsets[live[t]];
    int64_t x = position + panel->tap_positions[live[t]];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, first += panel->from_stride, x += panel->position_stride)
      a[r] = (const SIMD_REAL *)((uint64_t)x < (uint64_t)panel->axis_size ? first : panel->zeros) +
             panel->k_first;
    SIMD_NAME(accumulate_depthwise)(rows, vecs, panel, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    results[r] = (SIMD_REAL *)(to + r * panel->to_stride) + panel->column;
  SIMD_NAME(store_tile)(rows, vecs, panel, results, sums);
}

/* One panel over all tiles of a block. The arguments are copied, so that stores to C cannot change
 * them and they stay in registers. */
#define PANEL_KERNEL(NAME, ROWS, VECS, DEPTHWISE)                                                \
  SIMD_TARGET static void SIMD_NAME(NAME##_##ROWS##x##VECS)(const direct_panel_t *shared) {      \
    const direct_panel_t panel = *shared;                                                        \
    int64_t tile = 0;                                                                            \
    for (const direct_line_t *line = panel.lines; line < panel.lines + panel.line_count; line++) \
      for (int64_t i = 0; i < line->tiles; i++, tile++) {                                        \
        int64_t row = direct_line_row(line, i, ROWS);                                            \
        const char *from = line->from + row * panel.from_stride;                                 \
        char *to = line->to + row * panel.to_stride;                                             \
        if (!(DEPTHWISE) || (row >= line->inner_begin && row + ROWS <= line->inner_end))         \
          SIMD_NAME(compute_line_tile)                                                           \
        (ROWS, VECS, DEPTHWISE, &panel, tile, line->live_taps, from, to);                        \
        else SIMD_NAME(compute_border_tile)(ROWS, VECS, &panel, line->live_taps,                 \
                                            line->position + row * panel.position_stride, from,  \
                                            to);                                                 \
      }                                                                                          \
    for (int64_t i = 0; i < panel.indirect_tiles; i++, tile++) SIMD_NAME(compute_indirect_tile)  \
    (ROWS, VECS, DEPTHWISE, &panel, tile, panel.live_taps + i * (panel.taps + 1),                \
     panel.indirection + i * panel.taps * ROWS, panel.results + i * ROWS);                       \
  }
#define TILE(ROWS, VECS) PANEL_KERNEL(sum, ROWS, VECS, false)
#if SIMD_SUMS == 16
TILE(8, 1)
TILE(8, 2)
TILE(6, 1)
TILE(6, 2)
TILE(6, 3)
TILE(6, 4)

SIMD_TARGET static void SIMD_NAME(sum_panel)(const direct_panel_t *panel) {
  static void (*const sums[2][4])(const direct_panel_t *) = {
      {SIMD_NAME(sum_8x1), SIMD_NAME(sum_8x2)},
      {SIMD_NAME(sum_6x1), SIMD_NAME(sum_6x2), SIMD_NAME(sum_6x3), SIMD_NAME(sum_6x4)}};
  sums[panel->rows == 6][panel->vectors - 1](panel);
}
#else
TILE(6, 1)
TILE(6, 2)

SIMD_TARGET static void SIMD_NAME(sum_panel)(const direct_panel_t *panel) {
  (panel->vectors == 1 ? SIMD_NAME(sum_6x1) : SIMD_NAME(sum_6x2))(panel);
}
#endif
#undef TILE

/* Narrow form: `rows` positions times `columns`, vectors along k, which is a multiple of the lanes.
 * Weights are [tap][column][k]. */
SIMD_INLINE void SIMD_NAME(accumulate_terms)(int rows, int columns, const direct_panel_t *panel,
                                             const SIMD_REAL *const *a, int64_t tap,
                                             SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)panel->weights + tap * panel->tap_stride;
  for (int64_t p = 0; p < panel->k_count; p += LANES)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      SIMD_NAME(acc) terms = *(const SIMD_NAME(vec) *)(a[r] + p);
#pragma GCC unroll 4
      for (int c = 0; c < columns; c++)
        sums[r][c] += terms * *(const SIMD_NAME(vec) *)(weights + c * panel->k_count + p);
    }
}

/* Sum of the lanes, by halves: a fixed order. */
SIMD_INLINE SIMD_REAL SIMD_NAME(sum_lanes)(SIMD_NAME(acc) sum) {
  SIMD_REAL lanes[LANES];
  *(SIMD_NAME(vec) *)lanes = sum;
#pragma GCC unroll 4
  for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

SIMD_INLINE void SIMD_NAME(store_lane_sums)(int rows, int columns, SIMD_REAL *const *results,
                                            SIMD_NAME(acc) (*sums)[4]) {
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) results[r][c] = SIMD_NAME(sum_lanes)(sums[r][c]);
}

/* Narrow tiles have four rows, by indirection or by stride. */
SIMD_INLINE void SIMD_NAME(compute_narrow_indirect)(int columns, const direct_panel_t *panel,
                                                    int64_t tile) {
  SIMD_NAME(acc) sums[4][4] = {0};
  const int32_t *live = panel->live_taps + tile * (panel->taps + 1);
  const SIMD_REAL *const *pointers =
      (const SIMD_REAL *const *)(panel->indirection + tile * panel->taps * 4);
  for (int32_t t = 1; t <= live[0]; t++, pointers += 4)
    SIMD_NAME(accumulate_terms)(4, columns, panel, pointers, live[t], sums);
  SIMD_NAME(store_lane_sums)(4, columns, (SIMD_REAL *const *)panel->results + tile * 4, sums);
}

SIMD_INLINE void SIMD_NAME(compute_narrow_line)(int columns, const direct_panel_t *panel,
                                                const direct_line_t *line, int64_t tile) {
  SIMD_NAME(acc) sums[4][4] = {0};
  int64_t row = direct_line_row(line, tile, 4);
  SIMD_REAL *results[4];
  const SIMD_REAL *a[4];
  for (int32_t t = 1; t <= line->live_taps[0]; t++) {
    const char *first =
        line->from + row * panel->from_stride + panel->tap_offsets[line->live_taps[t]];
    for (int r = 0; r < 4; r++) a[r] = (const SIMD_REAL *)(first + r * panel->from_stride);
    SIMD_NAME(accumulate_terms)(4, columns, panel, a, line->live_taps[t], sums);
  }
  for (int r = 0; r < 4; r++) results[r] = (SIMD_REAL *)(line->to + (row + r) * panel->to_stride);
  SIMD_NAME(store_lane_sums)(4, columns, results, sums);
}

#define NARROW(COLUMNS)                                                                          \
  SIMD_TARGET static void SIMD_NAME(narrow_##COLUMNS)(const direct_panel_t *shared) {            \
    const direct_panel_t panel = *shared;                                                        \
    for (const direct_line_t *line = panel.lines; line < panel.lines + panel.line_count; line++) \
      for (int64_t i = 0; i < line->tiles; i++)                                                  \
        SIMD_NAME(compute_narrow_line)(COLUMNS, &panel, line, i);                                \
    for (int64_t i = 0; i < panel.indirect_tiles; i++)                                           \
      SIMD_NAME(compute_narrow_indirect)(COLUMNS, &panel, i);                                    \
  }
#ifdef DIRECT_DEFAULT
/* Keeps the compiler from folding the load into each use as a memory operand. */
#if SIMD_BYTES == 64 && !defined(__clang__)
#define KEEP_IN_REGISTER(vector) __asm__("" : "+v"(vector))
#else
#define KEEP_IN_REGISTER(vector) (void)(vector)
#endif

/* One row of adjacent taps: input position x contributes to results x - taps + 1 .. x, so it is
 * loaded once and multiplied by all taps. `position` is the coordinate of the first row's first
 * tap; with `inside` no tap of the rows is outside of the axis. Unsigned comparison covers both
 * borders. */
SIMD_INLINE void SIMD_NAME(accumulate_sliding)(int rows, int vecs, int taps, bool inside,
                                               const direct_panel_t *panel,
                                               const SIMD_REAL *weights, const char *from,
                                               uint64_t position, SIMD_NAME(acc) (*sums)[4]) {
  int64_t p = panel->k_count;
  do {
    SIMD_NAME(acc) b[5][2];
#pragma GCC unroll 5
    for (int k = 0; k < taps; k++)
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++)
        b[k][v] = ((const SIMD_NAME(vec) *)(weights + k * panel->tap_stride))[v];
    const char *first = from;
#pragma GCC unroll 12
    for (int x = 0; x < rows + taps - 1; x++, first += panel->from_stride) {
      const char *read =
          inside || position + (uint64_t)x < (uint64_t)panel->axis_size ? first : panel->zeros;
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) {
        SIMD_NAME(acc) terms = ((const SIMD_NAME(vec) *)read)[v];
        KEEP_IN_REGISTER(terms);
#pragma GCC unroll 5
        for (int k = 0; k < taps; k++)
          if (x >= k && x < rows + k) sums[x - k][v] += terms * b[k][v];
      }
    }
    weights += panel->width;
    from += panel->k_stride * (int64_t)sizeof(SIMD_REAL);
  } while (--p);
}

/* Two or one vectors of columns, from `column` of the panel on, of a sliding tile. */
SIMD_INLINE void SIMD_NAME(compute_sliding_tile)(int rows, int vecs, int taps, bool inside,
                                                 const direct_panel_t *panel,
                                                 const direct_line_t *line, int64_t row,
                                                 int64_t column) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  const char *from = line->from + row * panel->from_stride +
                     (panel->k_first + column) * (int64_t)sizeof(SIMD_REAL);
  const SIMD_REAL *weights = (const SIMD_REAL *)panel->weights + column;
  for (int32_t t = 1; t <= line->live_taps[0]; t += taps) {
    int32_t tap = line->live_taps[t];
    SIMD_NAME(accumulate_sliding)
    (rows, vecs, taps, inside, panel, weights + tap * panel->tap_stride,
     from + panel->tap_offsets[tap], (uint64_t)(line->position + row + panel->tap_positions[tap]),
     sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    results[r] = (SIMD_REAL *)(line->to + (row + r) * panel->to_stride) + panel->column + column;
  SIMD_NAME(store_tile)(rows, vecs, panel, results, sums);
}

#define SLIDE(ROWS, TAPS)                                                                        \
  SIMD_TARGET static void SIMD_NAME(slide_##ROWS##x##TAPS)(const direct_panel_t *shared) {       \
    const direct_panel_t panel = *shared;                                                        \
    for (const direct_line_t *line = panel.lines; line < panel.lines + panel.line_count; line++) \
      for (int64_t i = 0; i < line->tiles; i++) {                                                \
        int64_t row = direct_line_row(line, i, ROWS), v = 0;                                     \
        for (; v + 2 <= panel.vectors; v += 2)                                                   \
          if (row >= line->inner_begin && row + ROWS <= line->inner_end)                         \
            SIMD_NAME(compute_sliding_tile)(ROWS, 2, TAPS, true, &panel, line, row, v * LANES);  \
          else                                                                                   \
            SIMD_NAME(compute_sliding_tile)(ROWS, 2, TAPS, false, &panel, line, row, v * LANES); \
        if (v < panel.vectors)                                                                   \
          SIMD_NAME(compute_sliding_tile)(ROWS, 1, TAPS, false, &panel, line, row, v * LANES);   \
      }                                                                                          \
  }

#define DEPTHWISE(ROWS, VECS) PANEL_KERNEL(depthwise, ROWS, VECS, true)
#if SIMD_SUMS == 16
DEPTHWISE(6, 1)
DEPTHWISE(6, 2)
DEPTHWISE(6, 3)
DEPTHWISE(6, 4)
DEPTHWISE(7, 1)
DEPTHWISE(7, 2)
DEPTHWISE(7, 3)
DEPTHWISE(7, 4)
DEPTHWISE(8, 1)
DEPTHWISE(8, 2)
SLIDE(6, 3)
SLIDE(6, 5)
SLIDE(7, 3)
SLIDE(7, 5)
SLIDE(8, 3)
SLIDE(8, 5)

SIMD_TARGET static void SIMD_NAME(sum_sliding)(const direct_panel_t *panel) {
  static void (*const sums[3][2])(const direct_panel_t *) = {
      {SIMD_NAME(slide_6x3), SIMD_NAME(slide_6x5)},
      {SIMD_NAME(slide_7x3), SIMD_NAME(slide_7x5)},
      {SIMD_NAME(slide_8x3), SIMD_NAME(slide_8x5)}};
  sums[panel->rows - 6][panel->tap_reuse == 5](panel);
}

SIMD_TARGET static void SIMD_NAME(sum_depthwise)(const direct_panel_t *panel) {
  static void (*const sums[3][4])(const direct_panel_t *) = {
      {SIMD_NAME(depthwise_6x1), SIMD_NAME(depthwise_6x2), SIMD_NAME(depthwise_6x3),
       SIMD_NAME(depthwise_6x4)},
      {SIMD_NAME(depthwise_7x1), SIMD_NAME(depthwise_7x2), SIMD_NAME(depthwise_7x3),
       SIMD_NAME(depthwise_7x4)},
      {SIMD_NAME(depthwise_8x1), SIMD_NAME(depthwise_8x2)}};
  direct_panel_t rest = *panel;
  if (panel->tap_reuse) {
    SIMD_NAME(sum_sliding)(panel);
    rest.line_count = 0;
  }
  sums[panel->rows - 6][panel->vectors - 1](&rest);
}
#else
DEPTHWISE(4, 1)
DEPTHWISE(4, 2)
SLIDE(4, 3)
SLIDE(4, 5)

SIMD_TARGET static void SIMD_NAME(sum_depthwise)(const direct_panel_t *panel) {
  direct_panel_t rest = *panel;
  if (panel->tap_reuse)
    (panel->tap_reuse == 5 ? SIMD_NAME(slide_4x5) : SIMD_NAME(slide_4x3))(panel),
        rest.line_count = 0;
  (panel->vectors == 1 ? SIMD_NAME(depthwise_4x1) : SIMD_NAME(depthwise_4x2))(&rest);
}
#endif
#undef SLIDE
#undef KEEP_IN_REGISTER
#undef DEPTHWISE

/* Permutes the lanes of the two vectors that start at `from`. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(permute_lanes)(const SIMD_REAL *from, const void *lanes) {
#if SIMD_BYTES == 64
  __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + LANES),
          index = _mm512_loadu_si512(lanes);
  return (SIMD_NAME(acc))(sizeof *from == 8 ? _mm512_permutex2var_epi64(a, index, b)
                                            : _mm512_permutex2var_epi32(a, index, b));
#else
  SIMD_NAME(acc) picked;
#pragma GCC unroll 8
  for (int i = 0; i < LANES; i++)
    picked[i] = from[sizeof *from == 8 ? ((const int64_t *)lanes)[i] : ((const int32_t *)lanes)[i]];
  return picked;
#endif
}

/* Expands a line of positions, see channel_expand_t. */
SIMD_TARGET static void SIMD_NAME(expand_line)(const channel_expand_t *s, const void *line,
                                               int64_t count, void *to_) {
  const SIMD_REAL *from = line;
  SIMD_REAL *to = to_;
  for (int64_t x = 0; x < count; x++, from += s->channels, to += s->count)
    for (int64_t v = 0; v < s->count / LANES; v++) {
      SIMD_NAME(vec) *at = (SIMD_NAME(vec) *)to + v;
      if (s->starts[v] >= 0)
        *at =
            SIMD_NAME(permute_lanes)(from + s->starts[v], (const SIMD_REAL *)s->lanes + v * LANES);
      else
        for (int64_t i = v * LANES; i < (v + 1) * LANES; i++) to[i] = from[s->sources[i]];
    }
}

NARROW(1)
NARROW(2)
NARROW(3)
NARROW(4)

SIMD_TARGET static void SIMD_NAME(sum_narrow_n)(const direct_panel_t *panel) {
  static void (*const sums[])(const direct_panel_t *) = {SIMD_NAME(narrow_1), SIMD_NAME(narrow_2),
                                                         SIMD_NAME(narrow_3), SIMD_NAME(narrow_4)};
  sums[panel->width - 1](panel);
}
#endif
#undef NARROW
#undef PANEL_KERNEL

#undef LANES
#undef SIMD_INLINE
#ifdef DIRECT_DEFAULT
#undef DIRECT_DEFAULT
#undef DIRECT_FACTOR
#undef DIRECT_ADD
#endif
