/* The loops of native_convolution_taps.c for one width of vectors and one type. Included once for each; see
 * each_width.h. With TAPS_FACTOR(bits, flip), what a unit of the input is multiplied as, and
 * TAPS_ADD(sum, factor, line) units are what a processor multiplies and adds up at once, of the size of a TILES_REAL. */
#ifndef TAPS_ADD
#define TAPS_DEFAULT
#define TAPS_FACTOR(bits, flip) (bits)
#define TAPS_ADD(sum, factor, line) ((sum) + (factor) * (line))
#endif
#define LANES (TILES_BYTES / (int)sizeof(TILES_REAL))
#define TILES_INLINE TILES_TARGET static inline __attribute__((always_inline))

typedef TILES_REAL TILES_NAME(vec) __attribute__((vector_size(TILES_BYTES), aligned(sizeof(TILES_REAL)), may_alias));
typedef TILES_REAL TILES_NAME(acc) __attribute__((vector_size(TILES_BYTES)));

/* One tap of a tile: `rows` places times `vecs` vectors of columns, constants where this is called. */
TILES_INLINE void TILES_NAME(add_tap)(int rows, int vecs, const tap_strip_t *at, int64_t tap,
                                      const TILES_REAL *const *a, TILES_NAME(acc) (*sums)[4]) {
  const TILES_REAL *weights = (const TILES_REAL *)at->weights + tap * at->tap_step;
  for (int64_t p = 0; p < at->count; p++, weights += at->width) {
    TILES_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      __typeof__(TAPS_FACTOR(a[r][p], at->flip)) factor = TAPS_FACTOR(a[r][p], at->flip);
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] = TAPS_ADD(sums[r][v], factor, line[v]);
    }
  }
}

/* The same where each column has terms of its own. */
TILES_INLINE void TILES_NAME(add_own_tap)(int rows, int vecs, const tap_strip_t *at, int64_t tap,
                                          const TILES_REAL *const *a, TILES_NAME(acc) (*sums)[4]) {
  const TILES_REAL *weights = (const TILES_REAL *)at->weights + tap * at->tap_step;
  for (int64_t p = 0; p < at->count; p++, weights += at->width)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) {
      TILES_NAME(acc) line = ((const TILES_NAME(vec) *)weights)[v];
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) sums[r][v] += ((const TILES_NAME(vec) *)(a[r] + p * at->term_step))[v] * line;
    }
}

/* Those of a tile of a line. */
TILES_INLINE void TILES_NAME(add_own_line)(int rows, int vecs, const tap_strip_t *at, int64_t tap, const char *first,
                                           TILES_NAME(acc) (*sums)[4]) {
  const TILES_REAL *weights = (const TILES_REAL *)at->weights + tap * at->tap_step;
  int64_t step = at->from_step, p = at->count;
  do {
    TILES_NAME(acc) line[4];
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = ((const TILES_NAME(vec) *)weights)[v];
    const char *from = first;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, from += step)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const TILES_NAME(vec) *)from)[v] * line[v];
    weights += at->width, first += at->term_step * (int64_t)sizeof(TILES_REAL);
  } while (--p);
}

/* The sums of a tile to where they belong. */
TILES_INLINE void TILES_NAME(keep_sums)(int rows, int vecs, const tap_strip_t *at, TILES_REAL *const *results,
                                        TILES_NAME(acc) (*sums)[4]) {
  if (at->starts && !at->adds) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((const TILES_NAME(vec) *)at->starts)[v];
  }
  if (at->adds) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += ((TILES_NAME(vec) *)results[r])[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) ((TILES_NAME(vec) *)results[r])[v] = sums[r][v];
}

TILES_INLINE void TILES_NAME(sum_pointed)(int rows, int vecs, bool own, const tap_strip_t *at, const int32_t *live,
                                          const void *const *places, void *const *to) {
  TILES_NAME(acc) sums[8][4] = {0};
  TILES_REAL *results[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    results[r] = (TILES_REAL *)to[r] + at->column;
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) __builtin_prefetch(results[r] + v * LANES, 1);
  }
  for (int32_t t = 1; t <= live[0]; t++, places += rows) {
    const TILES_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const TILES_REAL *)places[r] + at->first;
    if (own)
      TILES_NAME(add_own_tap)(rows, vecs, at, live[t], a, sums);
    else
      TILES_NAME(add_tap)(rows, vecs, at, live[t], a, sums);
  }
  TILES_NAME(keep_sums)(rows, vecs, at, results, sums);
}

/* A tile of a line: rows are steps apart. */
TILES_INLINE void TILES_NAME(sum_in_line)(int rows, int vecs, bool own, const tap_strip_t *at, const int32_t *live,
                                          const char *from, char *to) {
  TILES_NAME(acc) sums[8][4] = {0};
  TILES_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const char *first = from + at->offsets[live[t]] + at->first * (int64_t)sizeof(TILES_REAL);
    if (own) {
      TILES_NAME(add_own_line)(rows, vecs, at, live[t], first, sums);
      continue;
    }
    const TILES_REAL *a[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) a[r] = (const TILES_REAL *)(first + r * at->from_step);
    TILES_NAME(add_tap)(rows, vecs, at, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) results[r] = (TILES_REAL *)(to + r * at->to_step) + at->column;
  TILES_NAME(keep_sums)(rows, vecs, at, results, sums);
}

/* The same where some rows may meet an end of the line's axis, for columns with terms of their own. The first row is at
 * `place` of the axis. */
TILES_INLINE void TILES_NAME(sum_at_end)(int rows, int vecs, const tap_strip_t *at, const int32_t *live, int64_t place,
                                         const char *from, char *to) {
  TILES_NAME(acc) sums[8][4] = {0};
  TILES_REAL *results[8];
  for (int32_t t = 1; t <= live[0]; t++) {
    const TILES_REAL *a[8];
    const char *first = from + at->offsets[live[t]];
    int64_t x = place + at->along[live[t]];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, first += at->from_step, x += at->place_step)
      a[r] = (const TILES_REAL *)((uint64_t)x < (uint64_t)at->size ? first : at->zeros) + at->first;
    TILES_NAME(add_own_tap)(rows, vecs, at, live[t], a, sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) results[r] = (TILES_REAL *)(to + r * at->to_step) + at->column;
  TILES_NAME(keep_sums)(rows, vecs, at, results, sums);
}

#define TILES_AS(NAME, ROWS, VECS, OWN)                                                                           \
  TILES_TARGET static void TILES_NAME(NAME##_##ROWS##x##VECS)(const tap_strip_t *strip) {                        \
    const tap_strip_t at = *strip;                                                                               \
    for (const tap_line_t *line = at.lines; line < at.lines + at.line_count; line++)                             \
      for (int64_t i = 0; i < line->tiles; i++) {                                                                \
        int64_t row = tap_line_row(line, i, ROWS);                                                               \
        const char *from = line->from + row * at.from_step;                                                      \
        char *to = line->to + row * at.to_step;                                                                  \
        if (!(OWN) || (row >= line->low && row + ROWS <= line->high))                                            \
          TILES_NAME(sum_in_line)(ROWS, VECS, OWN, &at, line->live, from, to);                                   \
        else                                                                                                     \
          TILES_NAME(sum_at_end)(ROWS, VECS, &at, line->live, line->place + row * at.place_step, from, to);      \
      }                                                                                                          \
    for (int64_t i = 0; i < at.tiles; i++)                                                                       \
      TILES_NAME(sum_pointed)(ROWS, VECS, OWN, &at, at.live + i * (at.taps + 1), at.places + i * at.taps * ROWS, \
                              at.results + i * ROWS);                                                            \
  }
#define TILES(ROWS, VECS) TILES_AS(sum, ROWS, VECS, false)
#if TILES_SUMS == 16
TILES(8, 1)
TILES(8, 2)
TILES(6, 1)
TILES(6, 2)
TILES(6, 3)
TILES(6, 4)

TILES_TARGET static void TILES_NAME(sum_strip)(const tap_strip_t *at) {
  static void (*const sums[2][4])(const tap_strip_t *) = {
      {TILES_NAME(sum_8x1), TILES_NAME(sum_8x2)},
      {TILES_NAME(sum_6x1), TILES_NAME(sum_6x2), TILES_NAME(sum_6x3), TILES_NAME(sum_6x4)}};
  sums[at->rows == 6][at->vectors - 1](at);
}
#else
TILES(4, 1)
TILES(4, 2)

TILES_TARGET static void TILES_NAME(sum_strip)(const tap_strip_t *at) {
  (at->vectors == 1 ? TILES_NAME(sum_4x1) : TILES_NAME(sum_4x2))(at);
}
#endif
#undef TILES

/* Results of so few columns that vectors are filled by terms instead: `rows` places times `columns`, constants where
 * this is called. Weights are [tap][column][term], counts of terms fill vectors. */
TILES_INLINE void TILES_NAME(sum_terms)(int rows, int columns, const tap_strip_t *at, const TILES_REAL *const *a,
                                        int64_t tap, TILES_NAME(acc) (*sums)[4]) {
  const TILES_REAL *weights = (const TILES_REAL *)at->weights + tap * at->tap_step;
  for (int64_t p = 0; p < at->count; p += LANES)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      TILES_NAME(acc) terms = *(const TILES_NAME(vec) *)(a[r] + p);
#pragma GCC unroll 4
      for (int c = 0; c < columns; c++)
        sums[r][c] += terms * *(const TILES_NAME(vec) *)(weights + c * at->count + p);
    }
}

/* The sum of a vector's lanes, by halves. */
TILES_INLINE TILES_REAL TILES_NAME(sum_lanes)(TILES_NAME(acc) sum) {
  TILES_REAL lanes[LANES];
  *(TILES_NAME(vec) *)lanes = sum;
#pragma GCC unroll 4
  for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

TILES_INLINE void TILES_NAME(keep_terms)(int rows, int columns, TILES_REAL *const *results,
                                         TILES_NAME(acc) (*sums)[4]) {
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) results[r][c] = TILES_NAME(sum_lanes)(sums[r][c]);
}

TILES_INLINE void TILES_NAME(sum_few_pointed)(int columns, const tap_strip_t *at, int64_t tile) {
  TILES_NAME(acc) sums[4][4] = {0};
  const int32_t *live = at->live + tile * (at->taps + 1);
  const TILES_REAL *const *places = (const TILES_REAL *const *)(at->places + tile * at->taps * 4);
  for (int32_t t = 1; t <= live[0]; t++, places += 4) TILES_NAME(sum_terms)(4, columns, at, places, live[t], sums);
  TILES_NAME(keep_terms)(4, columns, (TILES_REAL *const *)at->results + tile * 4, sums);
}

TILES_INLINE void TILES_NAME(sum_few_in_line)(int columns, const tap_strip_t *at, const tap_line_t *line,
                                              int64_t tile) {
  TILES_NAME(acc) sums[4][4] = {0};
  int64_t row = tap_line_row(line, tile, 4);
  TILES_REAL *results[4];
  const TILES_REAL *a[4];
  for (int32_t t = 1; t <= line->live[0]; t++) {
    const char *first = line->from + row * at->from_step + at->offsets[line->live[t]];
    for (int r = 0; r < 4; r++) a[r] = (const TILES_REAL *)(first + r * at->from_step);
    TILES_NAME(sum_terms)(4, columns, at, a, line->live[t], sums);
  }
  for (int r = 0; r < 4; r++) results[r] = (TILES_REAL *)(line->to + (row + r) * at->to_step);
  TILES_NAME(keep_terms)(4, columns, results, sums);
}

#define FEW(COLUMNS)                                                                                  \
  TILES_TARGET static void TILES_NAME(sum_few_##COLUMNS)(const tap_strip_t *strip) {                  \
    const tap_strip_t at = *strip;                                                                    \
    for (const tap_line_t *line = at.lines; line < at.lines + at.line_count; line++)                  \
      for (int64_t i = 0; i < line->tiles; i++) TILES_NAME(sum_few_in_line)(COLUMNS, &at, line, i);   \
    for (int64_t i = 0; i < at.tiles; i++) TILES_NAME(sum_few_pointed)(COLUMNS, &at, i);              \
  }
#ifdef TAPS_DEFAULT
/* Has a vector read once, not again for each of its uses. */
#if TILES_BYTES == 64
#define TILES_KEEP(vector) __asm__("" : "+v"(vector))
#else
#define TILES_KEEP(vector) (void)(vector)
#endif

/* A row of taps that follow each other as the results do: what is read is multiplied by all of them while it is in a
 * register. The first row's first tap is at `place` of the axis; those of rows that are `inside` are all there. */
TILES_INLINE void TILES_NAME(add_sliding)(int rows, int vecs, int taps, bool inside, const tap_strip_t *at,
                                          const TILES_REAL *weights, const char *from, uint64_t place,
                                          TILES_NAME(acc) (*sums)[4]) {
  int64_t p = at->count;
  do {
    TILES_NAME(acc) line[5][2];
#pragma GCC unroll 5
    for (int k = 0; k < taps; k++)
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) line[k][v] = ((const TILES_NAME(vec) *)(weights + k * at->tap_step))[v];
    const char *first = from;
#pragma GCC unroll 12
    for (int x = 0; x < rows + taps - 1; x++, first += at->from_step) {
      const char *read = inside || place + (uint64_t)x < (uint64_t)at->size ? first : at->zeros;
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) {
        TILES_NAME(acc) terms = ((const TILES_NAME(vec) *)read)[v];
        TILES_KEEP(terms);
#pragma GCC unroll 5
        for (int k = 0; k < taps; k++)
          if (x >= k && x < rows + k) sums[x - k][v] += terms * line[k][v];
      }
    }
    weights += at->width, from += at->term_step * (int64_t)sizeof(TILES_REAL);
  } while (--p);
}

/* Columns from `column` of the strip on of a tile of a line. */
TILES_INLINE void TILES_NAME(slide_tile)(int rows, int vecs, int taps, bool inside, const tap_strip_t *at,
                                         const tap_line_t *line, int64_t row, int64_t column) {
  TILES_NAME(acc) sums[8][4] = {0};
  TILES_REAL *results[8];
  const char *from = line->from + row * at->from_step + (at->first + column) * (int64_t)sizeof(TILES_REAL);
  const TILES_REAL *weights = (const TILES_REAL *)at->weights + column;
  for (int32_t t = 1; t <= line->live[0]; t += taps) {
    int32_t tap = line->live[t];
    TILES_NAME(add_sliding)(rows, vecs, taps, inside, at, weights + tap * at->tap_step, from + at->offsets[tap],
                            (uint64_t)(line->place + row + at->along[tap]), sums);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    results[r] = (TILES_REAL *)(line->to + (row + r) * at->to_step) + at->column + column;
  TILES_NAME(keep_sums)(rows, vecs, at, results, sums);
}

#define SLIDE(ROWS, TAPS)                                                                            \
  TILES_TARGET static void TILES_NAME(slide_##ROWS##x##TAPS)(const tap_strip_t *strip) {             \
    const tap_strip_t at = *strip;                                                                   \
    for (const tap_line_t *line = at.lines; line < at.lines + at.line_count; line++)                 \
      for (int64_t i = 0; i < line->tiles; i++) {                                                    \
        int64_t row = tap_line_row(line, i, ROWS), v = 0;                                            \
        for (; v + 2 <= at.vectors; v += 2)                                                          \
          if (row >= line->low && row + ROWS <= line->high)                                          \
            TILES_NAME(slide_tile)(ROWS, 2, TAPS, true, &at, line, row, v * LANES);                  \
          else                                                                                       \
            TILES_NAME(slide_tile)(ROWS, 2, TAPS, false, &at, line, row, v * LANES);                 \
        if (v < at.vectors) TILES_NAME(slide_tile)(ROWS, 1, TAPS, false, &at, line, row, v * LANES); \
      }                                                                                              \
  }

#define OWN(ROWS, VECS) TILES_AS(own, ROWS, VECS, true)
#if TILES_SUMS == 16
OWN(6, 1)
OWN(6, 2)
OWN(6, 3)
OWN(6, 4)
OWN(7, 1)
OWN(7, 2)
OWN(7, 3)
OWN(7, 4)
OWN(8, 1)
OWN(8, 2)
SLIDE(6, 3)
SLIDE(6, 5)
SLIDE(7, 3)
SLIDE(7, 5)
SLIDE(8, 3)
SLIDE(8, 5)

TILES_TARGET static void TILES_NAME(sum_sliding)(const tap_strip_t *at) {
  static void (*const sums[3][2])(const tap_strip_t *) = {{TILES_NAME(slide_6x3), TILES_NAME(slide_6x5)},
                                                          {TILES_NAME(slide_7x3), TILES_NAME(slide_7x5)},
                                                          {TILES_NAME(slide_8x3), TILES_NAME(slide_8x5)}};
  sums[at->rows - 6][at->slide == 5](at);
}

TILES_TARGET static void TILES_NAME(sum_lanewise)(const tap_strip_t *at) {
  static void (*const sums[3][4])(const tap_strip_t *) = {
      {TILES_NAME(own_6x1), TILES_NAME(own_6x2), TILES_NAME(own_6x3), TILES_NAME(own_6x4)},
      {TILES_NAME(own_7x1), TILES_NAME(own_7x2), TILES_NAME(own_7x3), TILES_NAME(own_7x4)},
      {TILES_NAME(own_8x1), TILES_NAME(own_8x2)}};
  tap_strip_t rest = *at;
  if (at->slide) TILES_NAME(sum_sliding)(at), rest.line_count = 0;
  sums[at->rows - 6][at->vectors - 1](&rest);
}
#else
OWN(4, 1)
OWN(4, 2)
SLIDE(4, 3)
SLIDE(4, 5)

TILES_TARGET static void TILES_NAME(sum_lanewise)(const tap_strip_t *at) {
  tap_strip_t rest = *at;
  if (at->slide) (at->slide == 5 ? TILES_NAME(slide_4x5) : TILES_NAME(slide_4x3))(at), rest.line_count = 0;
  (at->vectors == 1 ? TILES_NAME(own_4x1) : TILES_NAME(own_4x2))(&rest);
}
#endif
#undef SLIDE
#undef TILES_KEEP
#undef OWN

/* Lanes of a vector out of the two that start at `from`. */
TILES_INLINE TILES_NAME(acc) TILES_NAME(pick_lanes)(const TILES_REAL *from, const void *lanes) {
#if TILES_BYTES == 64
  __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + LANES), at = _mm512_loadu_si512(lanes);
  return (TILES_NAME(acc))(sizeof *from == 8 ? _mm512_permutex2var_epi64(a, at, b)
                                             : _mm512_permutex2var_epi32(a, at, b));
#else
  TILES_NAME(acc) picked;
#pragma GCC unroll 8
  for (int i = 0; i < LANES; i++)
    picked[i] = from[sizeof *from == 8 ? ((const int64_t *)lanes)[i] : ((const int32_t *)lanes)[i]];
  return picked;
#endif
}

/* See tap_spread_t. */
TILES_TARGET static void TILES_NAME(spread_line)(const tap_spread_t *s, const void *line, int64_t count, void *to_) {
  const TILES_REAL *from = line;
  TILES_REAL *to = to_;
  for (int64_t x = 0; x < count; x++, from += s->channels, to += s->count)
    for (int64_t v = 0; v < s->count / LANES; v++) {
      TILES_NAME(vec) *at = (TILES_NAME(vec) *)to + v;
      if (s->starts[v] >= 0)
        *at = TILES_NAME(pick_lanes)(from + s->starts[v], (const TILES_REAL *)s->lanes + v * LANES);
      else
        for (int64_t i = v * LANES; i < (v + 1) * LANES; i++) to[i] = from[s->sources[i]];
    }
}

FEW(1)
FEW(2)
FEW(3)
FEW(4)

TILES_TARGET static void TILES_NAME(sum_few)(const tap_strip_t *at) {
  static void (*const sums[])(const tap_strip_t *) = {TILES_NAME(sum_few_1), TILES_NAME(sum_few_2),
                                                      TILES_NAME(sum_few_3), TILES_NAME(sum_few_4)};
  sums[at->width - 1](at);
}
#endif
#undef FEW
#undef TILES_AS

#undef LANES
#undef TILES_INLINE
#ifdef TAPS_DEFAULT
#undef TAPS_DEFAULT
#undef TAPS_FACTOR
#undef TAPS_ADD
#endif
