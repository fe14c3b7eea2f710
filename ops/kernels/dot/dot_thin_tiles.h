/* The loops of dot_thin.c for one width of vectors. Included once per width by simd_foreach.h. */
#define LANES (SIMD_VECTOR_BYTES / 4)
#define THIN_INLINE SIMD_VECTOR_TARGET static inline __attribute__((always_inline))

typedef float SIMD_VECTOR_NAME(vec) __attribute__((vector_size(SIMD_VECTOR_BYTES)));
typedef float SIMD_VECTOR_NAME(part)
    __attribute__((vector_size(SIMD_VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t SIMD_VECTOR_NAME(bits) __attribute__((vector_size(SIMD_VECTOR_BYTES)));
typedef int32_t SIMD_VECTOR_NAME(ints) __attribute__((vector_size(SIMD_VECTOR_BYTES)));
typedef uint16_t SIMD_VECTOR_NAME(halves)
    __attribute__((vector_size(SIMD_VECTOR_BYTES / 2), aligned(2), may_alias));
typedef int16_t SIMD_VECTOR_NAME(shorts) __attribute__((vector_size(SIMD_VECTOR_BYTES / 2)));
typedef int8_t SIMD_VECTOR_NAME(bytes)
    __attribute__((vector_size(SIMD_VECTOR_BYTES / 4), aligned(1), may_alias));

/* Widens LANES bytes to 32-bit integers, by one instruction that the compiler does not choose by
 * itself, or in two steps. */
THIN_INLINE SIMD_VECTOR_NAME(ints) SIMD_VECTOR_NAME(widen_bytes)(bool is_signed, const char *from) {
#if SIMD_VECTOR_BYTES == 64
  __m128i bytes = _mm_loadu_si128((const __m128i *)from);
  return (SIMD_VECTOR_NAME(ints))(is_signed ? _mm512_cvtepi8_epi32(bytes)
                                            : _mm512_cvtepu8_epi32(bytes));
#elif SIMD_VECTOR_BYTES == 32
  __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
  return (SIMD_VECTOR_NAME(ints))(is_signed ? _mm256_cvtepi8_epi32(bytes)
                                            : _mm256_cvtepu8_epi32(bytes));
#else
  SIMD_VECTOR_NAME(shorts)
  shorts =
      __builtin_convertvector(*(const SIMD_VECTOR_NAME(bytes) *)from, SIMD_VECTOR_NAME(shorts));
  if (!is_signed) shorts &= 255;
  return __builtin_convertvector(shorts, SIMD_VECTOR_NAME(ints));
#endif
}

/* Widens LANES f16, by one instruction or in four steps. */
THIN_INLINE SIMD_VECTOR_NAME(vec) SIMD_VECTOR_NAME(widen_f16)(const char *from) {
#if SIMD_VECTOR_BYTES == 64
  return (SIMD_VECTOR_NAME(vec))_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
#else
  SIMD_VECTOR_NAME(bits)
  bits = __builtin_convertvector(*(const SIMD_VECTOR_NAME(halves) *)from, SIMD_VECTOR_NAME(bits));
  SIMD_VECTOR_NAME(bits) sign = (bits & 0x8000) << 16, magnitude = (bits & 0x7fff) << 13;
  SIMD_VECTOR_NAME(bits)
  scaled = (SIMD_VECTOR_NAME(bits))((SIMD_VECTOR_NAME(vec))magnitude * THIN_F16_SCALE);
  SIMD_VECTOR_NAME(bits) not_finite = (SIMD_VECTOR_NAME(bits))((bits & 0x7c00) == 0x7c00);
  return (SIMD_VECTOR_NAME(vec))(scaled | sign | (not_finite & 0x7f800000));
#endif
}

/* Widens LANES bf16, by one instruction, for which the compiler takes five, and a shift. */
THIN_INLINE SIMD_VECTOR_NAME(vec) SIMD_VECTOR_NAME(widen_bf16)(const char *from) {
#if SIMD_VECTOR_BYTES == 64
  __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
  return (SIMD_VECTOR_NAME(vec))_mm512_slli_epi32(bits, 16);
#elif SIMD_VECTOR_BYTES == 32
  __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
  return (SIMD_VECTOR_NAME(vec))_mm256_slli_epi32(bits, 16);
#else
  return (SIMD_VECTOR_NAME(vec))(
      __builtin_convertvector(*(const SIMD_VECTOR_NAME(halves) *)from, SIMD_VECTOR_NAME(bits))
      << 16);
#endif
}

/* LANES elements of type `type`, a constant at each call, as f32. */
THIN_INLINE SIMD_VECTOR_NAME(vec) SIMD_VECTOR_NAME(widen)(thin_type_t type, const char *from) {
  if (type == THIN_F32) return *(const SIMD_VECTOR_NAME(part) *)from;
  if (type == THIN_S8 || type == THIN_U8)
    return __builtin_convertvector(SIMD_VECTOR_NAME(widen_bytes)(type == THIN_S8, from),
                                   SIMD_VECTOR_NAME(vec));
  return type == THIN_F16 ? SIMD_VECTOR_NAME(widen_f16)(from) : SIMD_VECTOR_NAME(widen_bf16)(from);
}

/* Vectors of columns in a tile of m rows, whose sums stay in registers. */
THIN_INLINE int SIMD_VECTOR_NAME(tile_vectors)(int m) {
  if (SIMD_VECTOR_BYTES == 64) return m <= 4 ? 4 : 2;
  if (m <= 2) return 4;
  return m <= 6 ? 2 : 1;
}

/* Rows of the first tile of m rows of a. */
THIN_INLINE int SIMD_VECTOR_NAME(tile_rows)(int m) {
  return SIMD_VECTOR_BYTES == 64 || m <= 6 ? m : 4;
}

/* Prefetches the columns of this tile in the rows after the next ones: into the second-level cache,
 * as rows at a distance that is a power of two would evict each other from the first. */
THIN_INLINE void SIMD_VECTOR_NAME(fetch_ahead)(int bytes, const thin_job_t *job, const char *from) {
  from += THIN_AHEAD * THIN_TERMS * job->b_row_bytes;
#pragma GCC unroll 4
  for (int i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, 0, 2);
}

/* c += `terms` rows of b times their factors for `vecs` vectors of columns from `from` and `to` on;
 * the first time c is set. All numbers except `p` are constants at each call. fetches: the rows
 * come from memory. */
THIN_INLINE void SIMD_VECTOR_NAME(add_tile)(int m, int vecs, int terms, thin_type_t type,
                                            bool fetches, const thin_job_t *job, int64_t p,
                                            float (*factors)[THIN_ROWS], const char *from,
                                            float *to) {
  SIMD_VECTOR_NAME(vec) sums[THIN_ROWS][4] = {0};
  int bytes = LANES * (int)thin_bytes(type);
#pragma GCC unroll 8
  for (int r = 0; r < m && p; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++)
      sums[r][v] = *(const SIMD_VECTOR_NAME(part) *)(to + r * job->c_row + v * LANES);
#pragma GCC unroll 8
  for (int t = 0; t < terms; t++, from += job->b_row_bytes) {
    SIMD_VECTOR_NAME(vec) line[4];
    if (fetches) SIMD_VECTOR_NAME(fetch_ahead)(vecs * bytes, job, from);
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++) line[v] = SIMD_VECTOR_NAME(widen)(type, from + v * bytes);
#pragma GCC unroll 8
    for (int r = 0; r < m; r++)
#pragma GCC unroll 4
      for (int v = 0; v < vecs; v++) sums[r][v] += factors[t][r] * line[v];
  }
#pragma GCC unroll 8
  for (int r = 0; r < m; r++)
#pragma GCC unroll 4
    for (int v = 0; v < vecs; v++)
      *(SIMD_VECTOR_NAME(part) *)(to + r * job->c_row + v * LANES) = sums[r][v];
}

/* add_tile for whole vectors of columns [begin, end). The address of the factors is
 * reloaded for each tile: otherwise the compiler would broadcast all factors before the loop, for
 * which there are too few registers. */
THIN_INLINE void SIMD_VECTOR_NAME(add_terms)(int m, int terms, thin_type_t type,
                                             const thin_job_t *job, int64_t p, int64_t begin,
                                             int64_t end) {
  const thin_job_t local = *job; /* a copy that stores to c cannot alias */
  float factors[THIN_TERMS][THIN_ROWS];
  float(*volatile place)[THIN_ROWS] = factors;
  const char *b = local.b + p * local.b_row_bytes;
  int64_t j = begin;
  int vecs = SIMD_VECTOR_NAME(tile_vectors)(m);
  for (int r = 0; r < m; r++)
    for (int t = 0; t < terms; t++) factors[t][r] = local.a[r * local.k + p + t];
  for (; j + vecs * LANES <= end; j += vecs * LANES) SIMD_VECTOR_NAME(add_tile)
  (m, vecs, terms, type, terms > 1, &local, p, place, b + j * local.b_bytes, local.c + j);
  for (; j < end; j += LANES) SIMD_VECTOR_NAME(add_tile)
  (m, 1, terms, type, terms > 1, &local, p, place, b + j * local.b_bytes, local.c + j);
}

/* Columns that do not fill a vector: the vector that ends with them. end: at least LANES. */
THIN_INLINE void SIMD_VECTOR_NAME(add_rest)(int m, thin_type_t type, const thin_job_t *job,
                                            int64_t begin, int64_t end) {
  SIMD_VECTOR_NAME(vec) sums[THIN_ROWS] = {0};
  int64_t first = end - LANES;
  const char *from = job->b + first * job->b_bytes;
  for (int64_t p = 0; p < job->k; p++, from += job->b_row_bytes) {
    SIMD_VECTOR_NAME(vec) line = SIMD_VECTOR_NAME(widen)(type, from);
#pragma GCC unroll 8
    for (int r = 0; r < m; r++) sums[r] += job->a[r * job->k + p] * line;
  }
  for (int r = 0; r < m; r++)
    memcpy(job->c + r * job->c_row + begin, (const float *)&sums[r] + (begin - first),
           (size_t)(end - begin) * sizeof(float));
}

/* Reads whole rows of b at a time, so that memory is read in long stretches. */
THIN_INLINE void SIMD_VECTOR_NAME(stream_rows)(int m, thin_type_t type, const thin_job_t *job,
                                               int64_t begin, int64_t end) {
  int64_t whole = begin + (end - begin) / LANES * LANES, p = 0;
  for (; p + THIN_TERMS <= job->k; p += THIN_TERMS)
    SIMD_VECTOR_NAME(add_terms)(m, THIN_TERMS, type, job, p, begin, whole);
  for (; p < job->k; p++) SIMD_VECTOR_NAME(add_terms)(m, 1, type, job, p, begin, whole);
  if (whole < end) SIMD_VECTOR_NAME(add_rest)(m, type, job, whole, end);
}

/* --- by widened columns --- */

/* Widens `terms` rows and `columns` columns, THIN_TERMS and WIDE_COLUMNS at most calls. */
THIN_INLINE void SIMD_VECTOR_NAME(widen_rows)(thin_type_t type, int terms, int columns,
                                              const thin_job_t *job, const char *from,
                                              float (*to)[WIDE_COLUMNS]) {
  int bytes = (int)thin_bytes(type);
#pragma GCC unroll 8
  for (int t = 0; t < terms; t++, from += job->b_row_bytes) {
    SIMD_VECTOR_NAME(fetch_ahead)(columns * bytes, job, from);
#pragma GCC unroll 16
    for (int j = 0; j < columns; j += LANES)
      *(SIMD_VECTOR_NAME(part) *)&to[t][j] = SIMD_VECTOR_NAME(widen)(type, from + j * bytes);
  }
}

#define WIDEN_CASE(TYPE)                                                                       \
  case TYPE:                                                                                   \
    if (wide->terms == THIN_TERMS && wide->columns == WIDE_COLUMNS)                            \
      SIMD_VECTOR_NAME(widen_rows)(TYPE, THIN_TERMS, WIDE_COLUMNS, job, from, wide->values);   \
    else                                                                                       \
      SIMD_VECTOR_NAME(widen_rows)(TYPE, wide->terms, wide->columns, job, from, wide->values); \
    break;

SIMD_VECTOR_TARGET static __attribute__((noinline)) void SIMD_VECTOR_NAME(widen_columns)(
    const thin_job_t *job, const char *from, thin_wide_t *wide) {
  switch (wide->type) {
    WIDEN_CASE(THIN_F32)
    WIDEN_CASE(THIN_BF16)
    WIDEN_CASE(THIN_F16)
    WIDEN_CASE(THIN_S8)
    WIDEN_CASE(THIN_U8)
    case THIN_TYPES:
      break;
  }
}

/* add_tile for rows [row, row + rows) of a. */
THIN_INLINE void SIMD_VECTOR_NAME(add_wide_tiles)(int row, int rows, int vecs, int terms,
                                                  int columns, const thin_job_t *job, int64_t p,
                                                  thin_wide_t *wide, float *to) {
  float(*factors)[THIN_ROWS] = (float(*)[THIN_ROWS]) & wide->factors[0][row];
  for (int j = 0; j < columns; j += vecs * LANES) SIMD_VECTOR_NAME(add_tile)
  (rows, vecs, terms, THIN_F32, false, job, p, factors, (const char *)&wide->values[0][j],
   to + row * job->c_row + j);
}

/* add_tile for all rows of a, m of them, WIDE_COLUMNS columns and THIN_TERMS terms. */
THIN_INLINE void SIMD_VECTOR_NAME(add_whole)(int m, const thin_job_t *job, int64_t p,
                                             thin_wide_t *wide, float *to) {
  int rows = SIMD_VECTOR_NAME(tile_rows)(m), rest = m - rows;
  SIMD_VECTOR_NAME(add_wide_tiles)
  (0, rows, SIMD_VECTOR_NAME(tile_vectors)(rows), THIN_TERMS, WIDE_COLUMNS, job, p, wide, to);
  if (rest) SIMD_VECTOR_NAME(add_wide_tiles)
  (rows, rest, SIMD_VECTOR_NAME(tile_vectors)(rest), THIN_TERMS, WIDE_COLUMNS, job, p, wide, to);
}

#define ADD_WHOLE_CASE(M)                                \
  case M:                                                \
    SIMD_VECTOR_NAME(add_whole)(M, &local, p, wide, to); \
    break;

/* add_tile for all rows of a and the columns that have been widened. */
SIMD_VECTOR_TARGET static __attribute__((noinline)) void SIMD_VECTOR_NAME(add_wide)(
    const thin_job_t *job, int64_t p, thin_wide_t *wide, float *to) {
  thin_job_t local = *job;
  local.b_row_bytes = sizeof wide->values[0];
  bool is_whole = wide->terms == THIN_TERMS && wide->columns == WIDE_COLUMNS;
  switch (is_whole ? job->m : 0) {
    ADD_WHOLE_CASE(3)
    ADD_WHOLE_CASE(4)
    ADD_WHOLE_CASE(5)
    ADD_WHOLE_CASE(6)
    ADD_WHOLE_CASE(7)
    ADD_WHOLE_CASE(8)
    default:
      for (int r = 0; r < job->m; r++) SIMD_VECTOR_NAME(add_wide_tiles)
      (r, 1, 1, wide->terms, wide->columns, &local, p, wide, to);
  }
}

/* All terms of `columns` columns, whole vectors, of b from `from` on. */
static void SIMD_VECTOR_NAME(stream_vectors)(thin_type_t type, const thin_job_t *job,
                                             const char *from, int64_t columns, float *to) {
  thin_wide_t wide = {.type = type};
  for (int64_t p = 0; p < job->k; p += THIN_TERMS, from += THIN_TERMS * job->b_row_bytes) {
    wide.terms = (int)hr_min(THIN_TERMS, job->k - p);
    for (int r = 0; r < job->m; r++)
      for (int t = 0; t < wide.terms; t++) wide.factors[t][r] = job->a[r * job->k + p + t];
    for (int64_t j = 0; j < columns; j += WIDE_COLUMNS) {
      wide.columns = (int)hr_min(WIDE_COLUMNS, columns - j);
      SIMD_VECTOR_NAME(widen_columns)(job, from + j * job->b_bytes, &wide);
      SIMD_VECTOR_NAME(add_wide)(job, p, &wide, to + j);
    }
  }
}

/* As stream_rows, for more rows of a: columns are widened once for all of them, and a cache line is
 * read once for all tiles. */
static void SIMD_VECTOR_NAME(stream_widened)(thin_type_t type, const thin_job_t *job, int64_t begin,
                                             int64_t end) {
  int64_t whole = begin + (end - begin) / LANES * LANES, last = end - LANES;
  float rest[THIN_ROWS][LANES];
  thin_job_t rest_job = *job;
  SIMD_VECTOR_NAME(stream_vectors)
  (type, job, job->b + begin * job->b_bytes, whole - begin, job->c + begin);
  if (whole == end) return;
  rest_job.c_row = LANES;
  SIMD_VECTOR_NAME(stream_vectors)
  (type, &rest_job, job->b + last * job->b_bytes, LANES, rest[0]);
  for (int r = 0; r < job->m; r++)
    memcpy(job->c + r * job->c_row + whole, &rest[r][whole - last],
           (size_t)(end - whole) * sizeof(float));
}

/* --- by columns --- */

/* Adds lanes [half, 2 half) to lanes [0, half); `half` is a constant at each call. */
THIN_INLINE SIMD_VECTOR_NAME(vec) SIMD_VECTOR_NAME(fold_lanes)(SIMD_VECTOR_NAME(vec) x, int half) {
  SIMD_VECTOR_NAME(ints) from = {0};
#pragma GCC unroll 16
  for (int i = 0; i < half; i++) from[i] = i + half;
  return x + SIMD_SHUFFLE_1(x, from);
}

/* The sum of the lanes of x, by halves. */
THIN_INLINE float SIMD_VECTOR_NAME(sum_lanes)(SIMD_VECTOR_NAME(vec) x) {
  if (LANES > 8) x = SIMD_VECTOR_NAME(fold_lanes)(x, 8);
  if (LANES > 4) x = SIMD_VECTOR_NAME(fold_lanes)(x, 4);
  x = SIMD_VECTOR_NAME(fold_lanes)(x, 2);
  return SIMD_VECTOR_NAME(fold_lanes)(x, 1)[0];
}

/* Adds the halves of each sum: x has LANES sums, as many in each vector, of `lanes` lanes each,
 * and then half as many vectors. `lanes` is a constant at each call. */
THIN_INLINE void SIMD_VECTOR_NAME(add_halves)(SIMD_VECTOR_NAME(vec) * x, int lanes) {
  SIMD_VECTOR_NAME(ints) low = {0}, high = {0};
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) {
    low[i] = i / (lanes / 2) * lanes + i % (lanes / 2);
    high[i] = low[i] + lanes / 2;
  }
#pragma GCC unroll 8
  for (int i = 0; i < lanes / 2; i++)
    x[i] =
        SIMD_SHUFFLE_2(x[2 * i], x[2 * i + 1], low) + SIMD_SHUFFLE_2(x[2 * i], x[2 * i + 1], high);
}

/* sum_lanes of LANES vectors at once, with the same bits. */
THIN_INLINE SIMD_VECTOR_NAME(vec)
    SIMD_VECTOR_NAME(sum_vectors)(const SIMD_VECTOR_NAME(vec) * from) {
  SIMD_VECTOR_NAME(vec) x[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) x[i] = from[i];
  if (LANES > 8) SIMD_VECTOR_NAME(add_halves)(x, 16);
  if (LANES > 4) SIMD_VECTOR_NAME(add_halves)(x, 8);
  SIMD_VECTOR_NAME(add_halves)(x, 4);
  SIMD_VECTOR_NAME(add_halves)(x, 2);
  return x[0];
}

/* sums[row][at + c] = the sum over the whole vectors of terms of column `first` + c, for each of
 * `columns` columns, one or two. */
THIN_INLINE void SIMD_VECTOR_NAME(sum_columns)(int m, int columns, thin_type_t type,
                                               const thin_job_t *job, int64_t first, int at,
                                               SIMD_VECTOR_NAME(vec) sums[][LANES]) {
  const char *from = job->b + first * job->b_col_bytes;
  SIMD_VECTOR_NAME(vec) local[THIN_ROWS][2] = {0};
  for (int64_t p = 0; p + LANES <= job->k; p += LANES) {
    SIMD_VECTOR_NAME(vec) line[2];
#pragma GCC unroll 2
    for (int c = 0; c < columns; c++) {
      const char *terms = from + c * job->b_col_bytes + p * job->b_bytes;
      line[c] = SIMD_VECTOR_NAME(widen)(type, terms);
      __builtin_prefetch(terms + THIN_COLUMNS_AHEAD * job->b_col_bytes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < m; r++) {
      SIMD_VECTOR_NAME(vec) factors = *(const SIMD_VECTOR_NAME(part) *)(job->a + r * job->k + p);
#pragma GCC unroll 2
      for (int c = 0; c < columns; c++) local[r][c] += factors * line[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < m; r++)
#pragma GCC unroll 2
    for (int c = 0; c < columns; c++) sums[r][at + c] = local[r][c];
}

/* Adds the terms that do not fill a vector to the result of one column. */
THIN_INLINE void SIMD_VECTOR_NAME(add_last_terms)(int m, thin_type_t type, const thin_job_t *job,
                                                  int64_t column) {
  const char *from = job->b + column * job->b_col_bytes;
  for (int64_t p = job->k / LANES * LANES; p < job->k; p++)
    for (int r = 0; r < m; r++)
      job->c[r * job->c_row + column] +=
          job->a[r * job->k + p] * thin_element(type, from + p * job->b_bytes);
}

/* A sum over the terms for each row and column: columns of b are dense. The lanes of LANES columns
 * are summed together. */
THIN_INLINE void SIMD_VECTOR_NAME(stream_columns)(int m, thin_type_t type, const thin_job_t *job,
                                                  int64_t begin, int64_t end) {
  SIMD_VECTOR_NAME(vec) sums[THIN_ROWS][LANES];
  int64_t j = begin;
  for (; j + LANES <= end; j += LANES) {
    for (int c = 0; c < LANES; c += 2) {
      SIMD_VECTOR_NAME(sum_columns)(m, 2, type, job, j + c, c, sums);
    }
    for (int r = 0; r < m; r++)
      *(SIMD_VECTOR_NAME(part) *)(job->c + r * job->c_row + j) =
          SIMD_VECTOR_NAME(sum_vectors)(sums[r]);
  }
  for (; j < end; j++) {
    SIMD_VECTOR_NAME(sum_columns)(m, 1, type, job, j, 0, sums);
    for (int r = 0; r < m; r++)
      job->c[r * job->c_row + j] = SIMD_VECTOR_NAME(sum_lanes)(sums[r][0]);
  }
  for (j = begin; j < end && job->k % LANES; j++) SIMD_VECTOR_NAME(add_last_terms)(m, type, job, j);
}

/* --- a loop for each type --- */

#define THIN_CASE(M, TYPE, LOOP)                      \
  case M:                                             \
    SIMD_VECTOR_NAME(LOOP)(M, TYPE, job, begin, end); \
    break;
#define WIDENED_CASE(TYPE) \
  default:                 \
    SIMD_VECTOR_NAME(stream_widened)(TYPE, job, begin, end);
#define CASES_1_TO_2(TYPE, LOOP) THIN_CASE(1, TYPE, LOOP) THIN_CASE(2, TYPE, LOOP)
#define CASES_3_TO_6(TYPE, LOOP) \
  THIN_CASE(3, TYPE, LOOP)       \
  THIN_CASE(4, TYPE, LOOP) THIN_CASE(5, TYPE, LOOP) THIN_CASE(6, TYPE, LOOP)
#define CASES_7_TO_8(TYPE, LOOP) THIN_CASE(7, TYPE, LOOP) THIN_CASE(8, TYPE, LOOP)
#define THIN_LOOP(NAME, CASES)                                                                \
  SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(NAME)(const thin_job_t *job, int64_t begin, \
                                                        int64_t end) {                        \
    switch (job->m) { CASES }                                                                 \
  }
#define NARROW_LOOP(NAME, TYPE) THIN_LOOP(NAME, CASES_1_TO_2(TYPE, stream_rows) WIDENED_CASE(TYPE))
#define COLUMNS_LOOP(NAME, TYPE)                                                        \
  THIN_LOOP(NAME, CASES_1_TO_2(TYPE, stream_columns) CASES_3_TO_6(TYPE, stream_columns) \
                      CASES_7_TO_8(TYPE, stream_columns))
/* Columns of f32 are copied where the rows of a need two tiles. */
#if SIMD_VECTOR_BYTES == 64
#define F32_CASES_7_TO_8 CASES_7_TO_8(THIN_F32, stream_rows)
#else
#define F32_CASES_7_TO_8 WIDENED_CASE(THIN_F32)
#endif
THIN_LOOP(rows_f32,
          CASES_1_TO_2(THIN_F32, stream_rows) CASES_3_TO_6(THIN_F32, stream_rows) F32_CASES_7_TO_8)
NARROW_LOOP(rows_bf16, THIN_BF16)
NARROW_LOOP(rows_f16, THIN_F16)
NARROW_LOOP(rows_s8, THIN_S8)
NARROW_LOOP(rows_u8, THIN_U8)
COLUMNS_LOOP(columns_f32, THIN_F32)
COLUMNS_LOOP(columns_bf16, THIN_BF16)
COLUMNS_LOOP(columns_f16, THIN_F16)
COLUMNS_LOOP(columns_s8, THIN_S8)
COLUMNS_LOOP(columns_u8, THIN_U8)

#undef THIN_LOOP
#undef NARROW_LOOP
#undef COLUMNS_LOOP
#undef F32_CASES_7_TO_8
#undef CASES_1_TO_2
#undef CASES_3_TO_6
#undef CASES_7_TO_8
#undef WIDENED_CASE
#undef THIN_CASE
#undef WIDEN_CASE
#undef ADD_WHOLE_CASE
#undef THIN_INLINE
#undef LANES
