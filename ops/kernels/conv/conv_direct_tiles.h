/* The loops of conv_direct.c for one width of vectors and one type. Included once for each; see
 * simd_foreach_real.h. With TAPS_FACTOR(bits, flip), what a unit of the input is multiplied as, and
 * TAPS_ADD(sum, factor, line) units are what a processor multiplies and adds up at once, of the
 * size of a SIMD_REAL. */
#ifndef TAPS_ADD
#define TAPS_DEFAULT
#define TAPS_FACTOR(bits, flip) (bits)
#define TAPS_ADD(sum, factor, line) ((sum) + (factor) * (line))
#endif
#define LANES (SIMD_BYTES / (int)sizeof(SIMD_REAL))
#define SIMD_INLINE SIMD_TARGET static inline __attribute__((always_inline))

typedef SIMD_REAL SIMD_NAME(vec)
    __attribute__((vector_size(SIMD_BYTES), aligned(sizeof(SIMD_REAL)), may_alias));
typedef SIMD_REAL SIMD_NAME(acc) __attribute__((vector_size(SIMD_BYTES)));

/* One tap of a tile: `rows` places times `vecs` vectors of columns, constants where this is called.
 */
SIMD_INLINE void SIMD_NAME(add_tap)(int rows, int vecs, const direct_panel_t *at, int64_t tap,
                                    const SIMD_REAL *const *a, SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)at->weights + tap * at->tap_stride;
  for (int64_t p = 0; p < at->count; p++, weights += at->width) {
    SIMD_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      __typeof__(TAPS_FACTOR(a[r][p], at->flip)) factor = TAPS_FACTOR(a[r][p], at->flip);
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] = TAPS_ADD(sums[r][v], factor, line[v]);
    }
  }
}

/* The same where each column has terms of its own. */
SIMD_INLINE void SIMD_NAME(add_depthwise_tap)(int rows, int vecs, const direct_panel_t *at,
                                              int64_t tap, const SIMD_REAL *const *a,
                                              SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)at->weights + tap * at->tap_stride;
  for (int64_t p = 0; p < at->count; p++, weights += at->width)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) {
      SIMD_NAME(acc) line = ((const SIMD_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++)
        sums[r][v] += ((const SIMD_NAME(vec) *)(a[r] + p * at->k_stride))[v] * line;
    }
}

/* Those of a tile of a line. */
SIMD_INLINE void SIMD_NAME(add_depthwise_line)(int rows, int vecs, const direct_panel_t *at,
                                               int64_t tap, const char *first,
                                               SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)at->weights + tap * at->tap_stride;
  int64_t stride = at->from_stride, p = at->count;
  do {
    SIMD_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const SIMD_NAME(vec) *)weights)[v];
    const char *from = first;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, from += stride)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const SIMD_NAME(vec) *)from)[v] * line[v];
    weights += at->width;
    first += at->k_stride * (int64_t)sizeof(SIMD_REAL);
  } while (--p);
}

/* The sums of a tile to where they belong. */
SIMD_INLINE void SIMD_NAME(keep_sums)(int rows, int vecs, const direct_panel_t *at,
                                      SIMD_REAL *const *results, SIMD_NAME(acc) (*sums)[4]) {
  if (at->starts && !at->adds) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const SIMD_NAME(vec) *)at->starts)[v];
  }
  if (at->adds) {
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

SIMD_INLINE void SIMD_NAME(sum_pointed)(int rows, int vecs, bool depthwise,
                                        const direct_panel_t *at, const int32_t *live,
                                        const void *const *pointers, void *const *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    results[r] = (SIMD_REAL *)to[r] + at->column;
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) __builtin_prefetch(results[r] + v * LANES, 1);
  }
  for (int32_t t = 1; t <= live[0]; t++, pointers += rows) {
    const SIMD_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const SIMD_REAL *)pointers[r] + at->first;
    if (depthwise)
      SIMD_NAME(add_depthwise_tap)(rows, vecs, at, live[t], a, sums);
    else
      SIMD_NAME(add_tap)(rows, vecs, at, live[t], a, sums);
  }
  SIMD_NAME(keep_sums)(rows, vecs, at, results, sums);
}

/* A tile of a line: rows are steps apart. */
SIMD_INLINE void SIMD_NAME(sum_in_line)(int rows, int vecs, bool depthwise,
                                        const direct_panel_t *at, const int32_t *live,
                                        const char *from, char *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const char *first = from + at->offsets[live[t]] + at->first * (int64_t)sizeof(SIMD_REAL);
    if (depthwise) {
      SIMD_NAME(add_depthwise_line)(rows, vecs, at, live[t], first, sums);
      continue;
    }
    const SIMD_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const SIMD_REAL *)(first + r * at->from_stride);
    SIMD_NAME(add_tap)(rows, vecs, at, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) results[r] = (SIMD_REAL *)(to + r * at->to_stride) + at->column;
  SIMD_NAME(keep_sums)(rows, vecs, at, results, sums);
}

/* The same where some rows may meet an end of the line's axis, for columns with terms of their own.
 * The first row is at `position` of the axis. */
SIMD_INLINE void SIMD_NAME(sum_at_end)(int rows, int vecs, const direct_panel_t *at,
                                       const int32_t *live, int64_t position, const char *from,
                                       char *to) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const SIMD_REAL *a[8];
    const char *first = from + at->offsets[live[t]];
    int64_t x = position + at->tap_positions[live[t]];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, first += at->from_stride, x += at->position_stride)
      a[r] = (const SIMD_REAL *)((uint64_t)x < (uint64_t)at->size ? first : at->zeros) + at->first;
    SIMD_NAME(add_depthwise_tap)(rows, vecs, at, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) results[r] = (SIMD_REAL *)(to + r * at->to_stride) + at->column;
  SIMD_NAME(keep_sums)(rows, vecs, at, results, sums);
}

#define TILES_AS(NAME, ROWS, VECS, DEPTHWISE)                                                   \
  SIMD_TARGET static void SIMD_NAME(NAME##_##ROWS##x##VECS)(const direct_panel_t *panel) {      \
    const direct_panel_t at = *panel;                                                           \
    for (const direct_line_t *line = at.lines; line < at.lines + at.line_count; line++)         \
      for (int64_t i = 0; i < line->tiles; i++) {                                               \
        int64_t row = direct_line_row(line, i, ROWS);                                           \
        const char *from = line->from + row * at.from_stride;                                   \
        char *to = line->to + row * at.to_stride;                                               \
        if (!(DEPTHWISE) || (row >= line->low && row + ROWS <= line->high))                     \
          SIMD_NAME(sum_in_line)(ROWS, VECS, DEPTHWISE, &at, line->live, from, to);             \
        else                                                                                    \
          SIMD_NAME(sum_at_end)                                                                 \
        (ROWS, VECS, &at, line->live, line->position + row * at.position_stride, from, to);     \
      }                                                                                         \
    for (int64_t i = 0; i < at.tiles; i++) SIMD_NAME(sum_pointed)                               \
    (ROWS, VECS, DEPTHWISE, &at, at.live + i * (at.taps + 1), at.pointers + i * at.taps * ROWS, \
     at.results + i * ROWS);                                                                    \
  }
#define TILES(ROWS, VECS) TILES_AS(sum, ROWS, VECS, false)
#if SIMD_SUMS == 16
TILES(8, 1)
TILES(8, 2)
TILES(6, 1)
TILES(6, 2)
TILES(6, 3)
TILES(6, 4)

SIMD_TARGET static void SIMD_NAME(sum_panel)(const direct_panel_t *at) {
  static void (*const sums[2][4])(const direct_panel_t *) = {
      {SIMD_NAME(sum_8x1), SIMD_NAME(sum_8x2)},
      {SIMD_NAME(sum_6x1), SIMD_NAME(sum_6x2), SIMD_NAME(sum_6x3), SIMD_NAME(sum_6x4)}};
  sums[at->rows == 6][at->vectors - 1](at);
}
#else
TILES(4, 1)
TILES(4, 2)

SIMD_TARGET static void SIMD_NAME(sum_panel)(const direct_panel_t *at) {
  (at->vectors == 1 ? SIMD_NAME(sum_4x1) : SIMD_NAME(sum_4x2))(at);
}
#endif
#undef TILES

/* Results of so few columns that vectors are filled by terms instead: `rows` places times
 * `columns`, constants where this is called. Weights are [tap][column][term], counts of terms fill
 * vectors. */
SIMD_INLINE void SIMD_NAME(sum_terms)(int rows, int columns, const direct_panel_t *at,
                                      const SIMD_REAL *const *a, int64_t tap,
                                      SIMD_NAME(acc) (*sums)[4]) {
  const SIMD_REAL *weights = (const SIMD_REAL *)at->weights + tap * at->tap_stride;
  for (int64_t p = 0; p < at->count; p += LANES)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      SIMD_NAME(acc) terms = *(const SIMD_NAME(vec) *)(a[r] + p);
#pragma GCC unroll 4
      for (int c = 0; c < columns; c++)
        sums[r][c] += terms * *(const SIMD_NAME(vec) *)(weights + c * at->count + p);
    }
}

/* The sum of a vector's lanes, by halves. */
SIMD_INLINE SIMD_REAL SIMD_NAME(sum_lanes)(SIMD_NAME(acc) sum) {
  SIMD_REAL lanes[LANES];
  *(SIMD_NAME(vec) *)lanes = sum;
#pragma GCC unroll 4
  for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

SIMD_INLINE void SIMD_NAME(keep_terms)(int rows, int columns, SIMD_REAL *const *results,
                                       SIMD_NAME(acc) (*sums)[4]) {
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) results[r][c] = SIMD_NAME(sum_lanes)(sums[r][c]);
}

SIMD_INLINE void SIMD_NAME(sum_few_pointed)(int columns, const direct_panel_t *at, int64_t tile) {
  SIMD_NAME(acc) sums[4][4] = {0};
  const int32_t *live = at->live + tile * (at->taps + 1);
  const SIMD_REAL *const *pointers = (const SIMD_REAL *const *)(at->pointers + tile * at->taps * 4);
  for (int32_t t = 1; t <= live[0]; t++, pointers += 4)
    SIMD_NAME(sum_terms)(4, columns, at, pointers, live[t], sums);
  SIMD_NAME(keep_terms)(4, columns, (SIMD_REAL *const *)at->results + tile * 4, sums);
}

SIMD_INLINE void SIMD_NAME(sum_few_in_line)(int columns, const direct_panel_t *at,
                                            const direct_line_t *line, int64_t tile) {
  SIMD_NAME(acc) sums[4][4] = {0};
  int64_t row = direct_line_row(line, tile, 4);
  SIMD_REAL *results[4];
  const SIMD_REAL *a[4];
  for (int32_t t = 1; t <= line->live[0]; t++) {
    const char *first = line->from + row * at->from_stride + at->offsets[line->live[t]];
    for (int r = 0; r < 4; r++) a[r] = (const SIMD_REAL *)(first + r * at->from_stride);
    SIMD_NAME(sum_terms)(4, columns, at, a, line->live[t], sums);
  }
  for (int r = 0; r < 4; r++) results[r] = (SIMD_REAL *)(line->to + (row + r) * at->to_stride);
  SIMD_NAME(keep_terms)(4, columns, results, sums);
}

#define FEW(COLUMNS)                                                                               \
  SIMD_TARGET static void SIMD_NAME(sum_few_##COLUMNS)(const direct_panel_t *panel) {              \
    const direct_panel_t at = *panel;                                                              \
    for (const direct_line_t *line = at.lines; line < at.lines + at.line_count; line++)            \
      for (int64_t i = 0; i < line->tiles; i++) SIMD_NAME(sum_few_in_line)(COLUMNS, &at, line, i); \
    for (int64_t i = 0; i < at.tiles; i++) SIMD_NAME(sum_few_pointed)(COLUMNS, &at, i);            \
  }
#ifdef TAPS_DEFAULT
/* Has a vector read once, not again for each of its uses. */
#if SIMD_BYTES == 64
#define TILES_KEEP(vector) __asm__("" : "+v"(vector))
#else
#define TILES_KEEP(vector) (void)(vector)
#endif

/* A row of taps that follow each other as the results do: what is read is multiplied by all of them
 * while it is in a register. The first row's first tap is at `position` of the axis; those of rows
 * that are `inside` are all there. */
SIMD_INLINE void SIMD_NAME(add_sliding)(int rows, int vecs, int taps, bool inside,
                                        const direct_panel_t *at, const SIMD_REAL *weights,
                                        const char *from, uint64_t position,
                                        SIMD_NAME(acc) (*sums)[4]) {
  int64_t p = at->count;
  do {
    SIMD_NAME(acc) line[5][2];
#pragma GCC unroll 5
    for (int k = 0; k < taps; k++)
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++)
        line[k][v] = ((const SIMD_NAME(vec) *)(weights + k * at->tap_stride))[v];
    const char *first = from;
#pragma GCC unroll 12
    for (int x = 0; x < rows + taps - 1; x++, first += at->from_stride) {
      const char *read = inside || position + (uint64_t)x < (uint64_t)at->size ? first : at->zeros;
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) {
        SIMD_NAME(acc) terms = ((const SIMD_NAME(vec) *)read)[v];
        TILES_KEEP(terms);
#pragma GCC unroll 5
        for (int k = 0; k < taps; k++)
          if (x >= k && x < rows + k) sums[x - k][v] += terms * line[k][v];
      }
    }
    weights += at->width;
    from += at->k_stride * (int64_t)sizeof(SIMD_REAL);
  } while (--p);
}

/* Columns from `column` of the strip on of a tile of a line. */
SIMD_INLINE void SIMD_NAME(slide_tile)(int rows, int vecs, int taps, bool inside,
                                       const direct_panel_t *at, const direct_line_t *line,
                                       int64_t row, int64_t column) {
  SIMD_NAME(acc) sums[8][4] = {0};
  SIMD_REAL *results[8];
  const char *from =
      line->from + row * at->from_stride + (at->first + column) * (int64_t)sizeof(SIMD_REAL);
  const SIMD_REAL *weights = (const SIMD_REAL *)at->weights + column;
  for (int32_t t = 1; t <= line->live[0]; t += taps) {
    int32_t tap = line->live[t];
    SIMD_NAME(add_sliding)
    (rows, vecs, taps, inside, at, weights + tap * at->tap_stride, from + at->offsets[tap],
     (uint64_t)(line->position + row + at->tap_positions[tap]), sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    results[r] = (SIMD_REAL *)(line->to + (row + r) * at->to_stride) + at->column + column;
  SIMD_NAME(keep_sums)(rows, vecs, at, results, sums);
}

#define SLIDE(ROWS, TAPS)                                                                 \
  SIMD_TARGET static void SIMD_NAME(slide_##ROWS##x##TAPS)(const direct_panel_t *panel) { \
    const direct_panel_t at = *panel;                                                     \
    for (const direct_line_t *line = at.lines; line < at.lines + at.line_count; line++)   \
      for (int64_t i = 0; i < line->tiles; i++) {                                         \
        int64_t row = direct_line_row(line, i, ROWS), v = 0;                              \
        for (; v + 2 <= at.vectors; v += 2)                                               \
          if (row >= line->low && row + ROWS <= line->high)                               \
            SIMD_NAME(slide_tile)(ROWS, 2, TAPS, true, &at, line, row, v * LANES);        \
          else                                                                            \
            SIMD_NAME(slide_tile)(ROWS, 2, TAPS, false, &at, line, row, v * LANES);       \
        if (v < at.vectors)                                                               \
          SIMD_NAME(slide_tile)(ROWS, 1, TAPS, false, &at, line, row, v * LANES);         \
      }                                                                                   \
  }

#define DEPTHWISE(ROWS, VECS) TILES_AS(depthwise, ROWS, VECS, true)
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

SIMD_TARGET static void SIMD_NAME(sum_sliding)(const direct_panel_t *at) {
  static void (*const sums[3][2])(const direct_panel_t *) = {
      {SIMD_NAME(slide_6x3), SIMD_NAME(slide_6x5)},
      {SIMD_NAME(slide_7x3), SIMD_NAME(slide_7x5)},
      {SIMD_NAME(slide_8x3), SIMD_NAME(slide_8x5)}};
  sums[at->rows - 6][at->tap_reuse == 5](at);
}

SIMD_TARGET static void SIMD_NAME(sum_depthwise)(const direct_panel_t *at) {
  static void (*const sums[3][4])(const direct_panel_t *) = {
      {SIMD_NAME(depthwise_6x1), SIMD_NAME(depthwise_6x2), SIMD_NAME(depthwise_6x3),
       SIMD_NAME(depthwise_6x4)},
      {SIMD_NAME(depthwise_7x1), SIMD_NAME(depthwise_7x2), SIMD_NAME(depthwise_7x3),
       SIMD_NAME(depthwise_7x4)},
      {SIMD_NAME(depthwise_8x1), SIMD_NAME(depthwise_8x2)}};
  direct_panel_t rest = *at;
  if (at->tap_reuse) {
    SIMD_NAME(sum_sliding)(at);
    rest.line_count = 0;
  }
  sums[at->rows - 6][at->vectors - 1](&rest);
}
#else
DEPTHWISE(4, 1)
DEPTHWISE(4, 2)
SLIDE(4, 3)
SLIDE(4, 5)

SIMD_TARGET static void SIMD_NAME(sum_depthwise)(const direct_panel_t *at) {
  direct_panel_t rest = *at;
  if (at->tap_reuse)
    (at->tap_reuse == 5 ? SIMD_NAME(slide_4x5) : SIMD_NAME(slide_4x3))(at), rest.line_count = 0;
  (at->vectors == 1 ? SIMD_NAME(depthwise_4x1) : SIMD_NAME(depthwise_4x2))(&rest);
}
#endif
#undef SLIDE
#undef TILES_KEEP
#undef DEPTHWISE

/* Lanes of a vector out of the two that start at `from`. */
SIMD_INLINE SIMD_NAME(acc) SIMD_NAME(pick_lanes)(const SIMD_REAL *from, const void *lanes) {
#if SIMD_BYTES == 64
  __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + LANES),
          at = _mm512_loadu_si512(lanes);
  return (SIMD_NAME(acc))(sizeof *from == 8 ? _mm512_permutex2var_epi64(a, at, b)
                                            : _mm512_permutex2var_epi32(a, at, b));
#else
  SIMD_NAME(acc) picked;
#pragma GCC unroll 8
  for (int i = 0; i < LANES; i++)
    picked[i] = from[sizeof *from == 8 ? ((const int64_t *)lanes)[i] : ((const int32_t *)lanes)[i]];
  return picked;
#endif
}

/* See channel_expand_t. */
SIMD_TARGET static void SIMD_NAME(expand_line)(const channel_expand_t *s, const void *line,
                                               int64_t count, void *to_) {
  const SIMD_REAL *from = line;
  SIMD_REAL *to = to_;
  for (int64_t x = 0; x < count; x++, from += s->channels, to += s->count)
    for (int64_t v = 0; v < s->count / LANES; v++) {
      SIMD_NAME(vec) *at = (SIMD_NAME(vec) *)to + v;
      if (s->starts[v] >= 0)
        *at = SIMD_NAME(pick_lanes)(from + s->starts[v], (const SIMD_REAL *)s->lanes + v * LANES);
      else
        for (int64_t i = v * LANES; i < (v + 1) * LANES; i++) to[i] = from[s->sources[i]];
    }
}

FEW(1)
FEW(2)
FEW(3)
FEW(4)

SIMD_TARGET static void SIMD_NAME(sum_narrow_n)(const direct_panel_t *at) {
  static void (*const sums[])(const direct_panel_t *) = {
      SIMD_NAME(sum_few_1), SIMD_NAME(sum_few_2), SIMD_NAME(sum_few_3), SIMD_NAME(sum_few_4)};
  sums[at->width - 1](at);
}
#endif
#undef FEW
#undef TILES_AS

#undef LANES
#undef SIMD_INLINE
#ifdef TAPS_DEFAULT
#undef TAPS_DEFAULT
#undef TAPS_FACTOR
#undef TAPS_ADD
#endif
