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

/* Widens LANES bytes to 32-bit integers, by one instruction that the compiler does not find by
 * itself, or in two steps. */
THIN_INLINE SIMD_VECTOR_NAME(ints) SIMD_VECTOR_NAME(widen_bytes)(const char *from) {
#if SIMD_VECTOR_BYTES == 64
  return (SIMD_VECTOR_NAME(ints))_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from));
#elif SIMD_VECTOR_BYTES == 32
  return (SIMD_VECTOR_NAME(ints))_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from));
#else
  SIMD_VECTOR_NAME(shorts)
  shorts =
      __builtin_convertvector(*(const SIMD_VECTOR_NAME(bytes) *)from, SIMD_VECTOR_NAME(shorts));
  return __builtin_convertvector(shorts, SIMD_VECTOR_NAME(ints));
#endif
}

/* LANES elements of type `type`, a constant where this is called, as f32. */
THIN_INLINE SIMD_VECTOR_NAME(vec) SIMD_VECTOR_NAME(widen)(thin_type_t type, const char *from) {
  if (type == THIN_F32) return *(const SIMD_VECTOR_NAME(part) *)from;
  if (type == THIN_S8)
    return __builtin_convertvector(SIMD_VECTOR_NAME(widen_bytes)(from), SIMD_VECTOR_NAME(vec));
  return (SIMD_VECTOR_NAME(vec))(
      __builtin_convertvector(*(const SIMD_VECTOR_NAME(halves) *)from, SIMD_VECTOR_NAME(bits))
      << 16);
}

/* Asks for what is read after the next rows while vector j of these is used: where rows follow each
 * other without a gap, in the order in which they lie in memory. */
THIN_INLINE void SIMD_VECTOR_NAME(fetch_ahead)(int terms, thin_type_t type, const thin_job_t *job,
                                               const char *b, int64_t j, int64_t begin,
                                               int64_t end) {
  bool dense = (end - begin) * job->b_bytes == job->b_row_bytes;
  int64_t used = terms * LANES * thin_bytes(type);
  const char *next = b + THIN_AHEAD_BYTES + j * job->b_bytes * terms;
  for (int64_t i = 0; dense && i < used; i += 64) __builtin_prefetch(next + i);
  next = b + terms * job->b_row_bytes + j * job->b_bytes;
  for (int t = 0; !dense && t < terms; t++) __builtin_prefetch(next + t * job->b_row_bytes);
}

/* c += `terms` rows of b times their factors, for whole vectors of columns; the first time c is
 * set. `m`, `terms`, `type` and `ahead` are constants where this is called. */
THIN_INLINE void SIMD_VECTOR_NAME(add_terms)(int m, int terms, thin_type_t type,
                                             bool ahead, const thin_job_t *job, const char *b,
                                             int64_t p, int64_t begin, int64_t end) {
  float factors[8][THIN_TERMS];
  for (int r = 0; r < m; r++)
    for (int t = 0; t < terms; t++) factors[r][t] = job->a[r * job->k + p + t];
  for (int64_t j = begin; j < end; j += LANES) {
    SIMD_VECTOR_NAME(vec) line[THIN_TERMS];
    const char *from = b + j * job->b_bytes;
    if (ahead) SIMD_VECTOR_NAME(fetch_ahead)(terms, type, job, b, j, begin, end);
#pragma GCC unroll 4
    for (int t = 0; t < terms; t++) {
      line[t] = SIMD_VECTOR_NAME(widen)(type, from + t * job->b_row_bytes);
      if (terms == 1) __builtin_prefetch(from + THIN_PREFETCH_BYTES);
    }
#pragma GCC unroll 8
    for (int r = 0; r < m; r++) {
      SIMD_VECTOR_NAME(part) *to = (SIMD_VECTOR_NAME(part) *)(job->c + r * job->c_row + j);
      SIMD_VECTOR_NAME(vec) sum = {0};
      if (p) sum = *to;
#pragma GCC unroll 4
      for (int t = 0; t < terms; t++) sum += factors[r][t] * line[t];
      *to = sum;
    }
  }
}

/* Columns that do not fill a vector. */
THIN_INLINE void SIMD_VECTOR_NAME(add_rest)(thin_type_t type, const thin_job_t *job, int64_t begin,
                                            int64_t end) {
  for (int r = 0; r < job->m; r++)
    for (int64_t j = begin; j < end; j++) {
      float sum = 0;
      const char *from = job->b + j * job->b_bytes;
      for (int64_t p = 0; p < job->k; p++, from += job->b_row_bytes)
        sum += job->a[r * job->k + p] * thin_element(type, from);
      job->c[r * job->c_row + j] = sum;
    }
}

THIN_INLINE void SIMD_VECTOR_NAME(stream_rows)(int m, thin_type_t type, const thin_job_t *job,
                                               int64_t begin, int64_t end) {
  int64_t whole = begin + (end - begin) / LANES * LANES, p = 0;
  const char *b = job->b;
  bool is_long = m > 2 || job->b_row_bytes > THIN_SHORT_BYTES;
  bool ahead = m <= 2 && !is_long && type == THIN_S8; /* others wait for memory */
  for (; ahead && p + THIN_TERMS <= job->k; p += THIN_TERMS, b += THIN_TERMS * job->b_row_bytes)
    SIMD_VECTOR_NAME(add_terms)(m, THIN_TERMS, type, true, job, b, p, begin, whole);
  for (; is_long && p + THIN_TERMS <= job->k; p += THIN_TERMS, b += THIN_TERMS * job->b_row_bytes)
    SIMD_VECTOR_NAME(add_terms)(m, THIN_TERMS, type, false, job, b, p, begin, whole);
  for (; p < job->k; p++, b += job->b_row_bytes)
    SIMD_VECTOR_NAME(add_terms)(m, 1, type, false, job, b, p, begin, whole);
  if (whole < end) SIMD_VECTOR_NAME(add_rest)(type, job, whole, end);
}

/* A sum over the terms for each row and column: columns of b are dense. */
THIN_INLINE void SIMD_VECTOR_NAME(stream_columns)(int m, thin_type_t type, const thin_job_t *job,
                                                  int64_t begin, int64_t end) {
  int64_t whole = job->k / LANES * LANES;
  for (int64_t j = begin; j < end; j++) {
    const char *from = job->b + j * job->b_col_bytes;
    SIMD_VECTOR_NAME(vec) sums[8] = {0};
    for (int64_t p = 0; p < whole; p += LANES) {
      SIMD_VECTOR_NAME(vec) line = SIMD_VECTOR_NAME(widen)(type, from + p * job->b_bytes);
#pragma GCC unroll 8
      for (int r = 0; r < m; r++)
        sums[r] += *(const SIMD_VECTOR_NAME(part) *)(job->a + r * job->k + p) * line;
    }
    for (int r = 0; r < m; r++) {
      float lanes[LANES], total;
      memcpy(lanes, &sums[r], sizeof lanes);
      for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
      total = lanes[0];
      for (int64_t p = whole; p < job->k; p++)
        total += job->a[r * job->k + p] * thin_element(type, from + p * job->b_bytes);
      job->c[r * job->c_row + j] = total;
    }
  }
}

#define THIN_ROWS_CASE(M, TYPE, LOOP)                 \
  case M:                                             \
    SIMD_VECTOR_NAME(LOOP)(M, TYPE, job, begin, end); \
    break;
#define THIN_LOOP(NAME, TYPE, LOOP)                                                           \
  SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(NAME)(const thin_job_t *job, int64_t begin, \
                                                        int64_t end) {                        \
    switch (job->m) {                                                                         \
      THIN_ROWS_CASE(1, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(2, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(3, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(4, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(5, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(6, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(7, TYPE, LOOP)                                                           \
      THIN_ROWS_CASE(8, TYPE, LOOP)                                                           \
    }                                                                                         \
  }
THIN_LOOP(rows_f32, THIN_F32, stream_rows)
THIN_LOOP(rows_bf16, THIN_BF16, stream_rows)
THIN_LOOP(rows_s8, THIN_S8, stream_rows)
THIN_LOOP(columns_f32, THIN_F32, stream_columns)
THIN_LOOP(columns_bf16, THIN_BF16, stream_columns)
THIN_LOOP(columns_s8, THIN_S8, stream_columns)

#undef THIN_LOOP
#undef THIN_ROWS_CASE
#undef THIN_INLINE
#undef LANES
