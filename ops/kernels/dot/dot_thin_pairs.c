/* Products of at most THIN_ROWS rows of integers of 8 and 16 bits with a matrix that comes
 * from memory, with AVX2: terms are widened to 16 bits in registers, and multiplied and added by
 * pairs (VPMADDWD). dot_thin.c plans them.
 *
 *   rows      rows of b are dense: blocks of BLOCK_ROWS rows and BLOCK_COLUMNS columns are
 *             widened, a cache line of each row, and then added to the result by tiles whose sums
 *             are in registers
 *   columns   columns of b are dense: a sum for each row and column
 *
 * Sums wrap as those of the reference, so they do not depend on the order of the terms. */
#include "ops/kernels/dot/dot_thin.h"

#include "base/arith.h"
#include "ops/kernels/dot/dot_pairs.h"
#include "ops/kernels/simd/simd_target.h"

#if SIMD_HAS_WIDTHS
#include <immintrin.h>
#include <string.h>

#define BLOCK_ROWS 16    /* most rows of a block */
#define BLOCK_COLUMNS 64 /* most columns of a block */
#define ROWS_AHEAD 16    /* prefetch distance, in rows */
#define TILE_ROWS 4      /* most rows of a tile */
#define LANES 8          /* sums of a vector */
#define GROUP 16         /* columns of a tile: two vectors of sums */
#define TERMS 16         /* terms of a vector */

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE __m256i widen_bytes(hr_dtype_t type, __m128i bytes) {
  return type == HR_S8 ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/* The pairs of LANES columns of two rows of 16 bits. */
INLINE __m256i pair_shorts(const char *even, const char *odd) {
  __m128i first = _mm_loadu_si128((const __m128i *)even), second = _mm_setzero_si128();
  if (odd) second = _mm_loadu_si128((const __m128i *)odd);
  return _mm256_set_m128i(_mm_unpackhi_epi16(first, second), _mm_unpacklo_epi16(first, second));
}

/* The pairs of GROUP columns of two rows; odd: NULL for zeros. type: a constant at each call. */
INLINE void pair_rows(hr_dtype_t type, const char *even, const char *odd, __m256i to[2]) {
  if (type == HR_S16) {
    to[0] = pair_shorts(even, odd);
    to[1] = pair_shorts(even + 2 * LANES, odd ? odd + 2 * LANES : NULL);
    return;
  }
  __m128i first = _mm_loadu_si128((const __m128i *)even), second = _mm_setzero_si128();
  if (odd) second = _mm_loadu_si128((const __m128i *)odd);
  to[0] = widen_bytes(type, _mm_unpacklo_epi8(first, second));
  to[1] = widen_bytes(type, _mm_unpackhi_epi8(first, second));
}

INLINE __m256i add_product(__m256i sum, __m256i factor, __m256i pairs) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(factor, pairs));
}

/* Some columns of adjacent rows of b, by pairs of rows. */
typedef struct thin_pairs {
  int64_t first; /* row of b */
  __m256i pairs[BLOCK_ROWS / 2][BLOCK_COLUMNS / LANES];
} thin_pairs_t;

/* Widens `rows` rows and `columns` columns, from column j on; zeros follow an odd last row. Both
 * numbers and the type are constants at most calls. */
INLINE void widen_rows(hr_dtype_t type, int rows, int columns, const thin_job_t *job, int64_t j,
                       thin_pairs_t *block) {
  const char *even = job->b + block->first * job->b_row_bytes + j * job->b_bytes;
#pragma GCC unroll 4
  for (int i = 0; i < rows; i += 2, even += 2 * job->b_row_bytes) {
    const char *odd = i + 1 < rows ? even + job->b_row_bytes : NULL;
    __builtin_prefetch(even + ROWS_AHEAD * job->b_row_bytes, 0, 2);
    __builtin_prefetch(even + (ROWS_AHEAD + 1) * job->b_row_bytes, 0, 2);
#pragma GCC unroll 4
    for (int c = 0; c < columns; c += GROUP) {
      int64_t at = c * (type == HR_S16 ? 2 : 1);
      pair_rows(type, even + at, odd ? odd + at : NULL, &block->pairs[i / 2][c / LANES]);
    }
  }
}

/* sums += rows [row, row + m) of a, times the pairs of the GROUP columns from `column` on. m: a
 * constant at each call. */
INLINE void add_group(int m, int rows, const thin_job_t *job, int64_t row,
                      const thin_pairs_t *block, int64_t column, __m256i sums[][2]) {
  const int16_t *a = job->a_pairs + row * job->a_row + block->first;
#pragma GCC unroll 8
  for (int i = 0; i < (rows + 1) / 2; i++, a += 2) {
    const __m256i *pairs = &block->pairs[i][column / LANES];
#pragma GCC unroll 4
    for (int r = 0; r < m; r++) {
      int32_t pair;
      memcpy(&pair, a + r * job->a_row, sizeof pair);
      sums[r][0] = add_product(sums[r][0], _mm256_set1_epi32(pair), pairs[0]);
      sums[r][1] = add_product(sums[r][1], _mm256_set1_epi32(pair), pairs[1]);
    }
  }
}

/* c += rows [row, row + m) of a, times the block, whose columns begin at j; the first rows of b set
 * c. */
INLINE void add_block_rows(int m, int rows, int columns, const thin_job_t *job, int64_t row,
                           const thin_pairs_t *block, int64_t j) {
  for (int column = 0; column < columns; column += GROUP) {
    int32_t *to = job->c_sums + row * job->c_row + j + column;
    __m256i sums[TILE_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < m; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++)
        sums[r][v] = block->first
                         ? _mm256_loadu_si256((const __m256i *)(to + r * job->c_row + v * LANES))
                         : _mm256_setzero_si256();
    add_group(m, rows, job, row, block, column, sums);
#pragma GCC unroll 4
    for (int r = 0; r < m; r++)
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++)
        _mm256_storeu_si256((__m256i *)(to + r * job->c_row + v * LANES), sums[r][v]);
  }
}

INLINE void add_all_rows(int m, int rows, int columns, const thin_job_t *job,
                         const thin_pairs_t *block, int64_t j) {
  int64_t rest = m / TILE_ROWS * TILE_ROWS;
  if (m >= TILE_ROWS) add_block_rows(TILE_ROWS, rows, columns, job, 0, block, j);
  if (m == 2 * TILE_ROWS) add_block_rows(TILE_ROWS, rows, columns, job, TILE_ROWS, block, j);
  if (m % TILE_ROWS) add_block_rows(m % TILE_ROWS, rows, columns, job, rest, block, j);
}

#define ADD_CASE(M)                                              \
  case M:                                                        \
    if (rows == BLOCK_ROWS && columns == BLOCK_COLUMNS)          \
      add_all_rows(M, BLOCK_ROWS, BLOCK_COLUMNS, job, block, j); \
    else                                                         \
      add_all_rows(M, rows, columns, job, block, j);             \
    break;

/* c += a times the block, whose columns begin at j: one copy of the code for all types of b. */
TARGET static __attribute__((noinline)) void add_block(int rows, int columns, const thin_job_t *job,
                                                       const thin_pairs_t *block, int64_t j) {
  switch (job->m) {
    ADD_CASE(1)
    ADD_CASE(2)
    ADD_CASE(3)
    ADD_CASE(4)
    ADD_CASE(5)
    ADD_CASE(6)
    ADD_CASE(7)
    ADD_CASE(8)
  }
}

/* Columns from `begin` on that do not fill a group: the group that ends with them, whose other
 * columns are not stored. */
INLINE void add_rest(hr_dtype_t type, const thin_job_t *job, int64_t begin, int64_t end) {
  int64_t first = end - GROUP;
  thin_pairs_t block;
  for (int64_t r = 0; r < job->m; r++) {
    __m256i sums[1][2] = {{_mm256_setzero_si256(), _mm256_setzero_si256()}};
    for (block.first = 0; block.first < job->k; block.first += BLOCK_ROWS) {
      int rows = (int)hr_min(BLOCK_ROWS, job->k - block.first);
      widen_rows(type, rows, GROUP, job, first, &block);
      add_group(1, rows, job, r, &block, 0, sums);
    }
    memcpy(job->c_sums + r * job->c_row + begin, (const int32_t *)sums[0] + (begin - first),
           (size_t)(end - begin) * sizeof(int32_t));
  }
}

/* Reads whole rows of b at a time, so that memory is read in long stretches. */
INLINE void stream_rows(hr_dtype_t type, const thin_job_t *original, int64_t begin, int64_t end) {
  const thin_job_t job = *original; /* a copy that stores to c cannot alias */
  int64_t whole = begin + (end - begin) / GROUP * GROUP;
  int64_t blocks = begin + (end - begin) / BLOCK_COLUMNS * BLOCK_COLUMNS;
  thin_pairs_t block;
  for (block.first = 0; block.first < job.k; block.first += BLOCK_ROWS) {
    int64_t j = begin;
    int rows = (int)hr_min(BLOCK_ROWS, job.k - block.first);
    for (; j < blocks && rows == BLOCK_ROWS; j += BLOCK_COLUMNS) {
      widen_rows(type, BLOCK_ROWS, BLOCK_COLUMNS, &job, j, &block);
      add_block(BLOCK_ROWS, BLOCK_COLUMNS, &job, &block, j);
    }
    for (; j < whole; j += GROUP) {
      widen_rows(type, rows, GROUP, &job, j, &block);
      add_block(rows, GROUP, &job, &block, j);
    }
  }
  if (whole < end) add_rest(type, &job, whole, end);
}

/* The sums of the lanes of four vectors. */
INLINE __m128i sum_lanes(const __m256i x[4]) {
  __m256i low = _mm256_hadd_epi32(x[0], x[1]), high = _mm256_hadd_epi32(x[2], x[3]);
  __m256i all = _mm256_hadd_epi32(low, high);
  return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

/* Sums of `columns` columns from j on, at most 4. */
INLINE void sum_columns(int m, int columns, hr_dtype_t type, const thin_job_t *job, int64_t j) {
  const char *from = job->b + j * job->b_col_bytes;
  int64_t bytes = type == HR_S16 ? 2 : 1, p = 0;
  __m256i sums[THIN_ROWS][4];
#pragma GCC unroll 8
  for (int r = 0; r < m; r++)
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) sums[r][c] = _mm256_setzero_si256();
  for (; p + TERMS <= job->k; p += TERMS)
#pragma GCC unroll 4
    for (int c = 0; c < columns; c++) {
      const char *at = from + c * job->b_col_bytes + p * bytes;
      __m256i terms = dot_pair_elements(type, at);
      __builtin_prefetch(at + THIN_COLUMNS_AHEAD * job->b_col_bytes);
#pragma GCC unroll 8
      for (int r = 0; r < m; r++)
        sums[r][c] =
            add_product(sums[r][c], terms,
                        _mm256_loadu_si256((const __m256i *)(job->a_pairs + r * job->a_row + p)));
    }
  for (int r = 0; r < m; r++) {
    int32_t part[4];
    _mm_storeu_si128((__m128i *)part, sum_lanes(sums[r]));
    for (int c = 0; c < columns; c++) {
      uint32_t sum = (uint32_t)part[c];
      const char *at = from + c * job->b_col_bytes;
      for (int64_t q = p; q < job->k; q++)
        sum += (uint32_t)(job->a_pairs[r * job->a_row + q] * dot_pair_element(type, at, q));
      job->c_sums[r * job->c_row + j + c] = (int32_t)sum;
    }
  }
}

INLINE void stream_columns(int m, hr_dtype_t type, const thin_job_t *job, int64_t begin,
                           int64_t end) {
  int64_t j = begin;
  int columns = hr_min(4, 8 / m);
  for (; j + columns <= end; j += columns) sum_columns(m, columns, type, job, j);
  for (; j < end; j++) sum_columns(m, 1, type, job, j);
}

#define ROWS_LOOP(NAME, TYPE)                                                  \
  TARGET static void NAME(const thin_job_t *job, int64_t begin, int64_t end) { \
    stream_rows(TYPE, job, begin, end);                                        \
  }
ROWS_LOOP(rows_s8, HR_S8)
ROWS_LOOP(rows_u8, HR_U8)
ROWS_LOOP(rows_s16, HR_S16)

/* A function with m and the type as constants. */
#define COLUMNS_LOOP(NAME, TYPE)                                                    \
  TARGET static void NAME(const thin_job_t *original, int64_t begin, int64_t end) { \
    thin_job_t job = *original; /* a copy that stores to c cannot alias */          \
    if (job.m == 1) stream_columns(1, TYPE, &job, begin, end);                      \
    if (job.m == 2) stream_columns(2, TYPE, &job, begin, end);                      \
    if (job.m == 3) stream_columns(3, TYPE, &job, begin, end);                      \
    if (job.m == 4) stream_columns(4, TYPE, &job, begin, end);                      \
    if (job.m == 5) stream_columns(5, TYPE, &job, begin, end);                      \
    if (job.m == 6) stream_columns(6, TYPE, &job, begin, end);                      \
    if (job.m == 7) stream_columns(7, TYPE, &job, begin, end);                      \
    if (job.m == 8) stream_columns(8, TYPE, &job, begin, end);                      \
  }
COLUMNS_LOOP(columns_s8, HR_S8)
COLUMNS_LOOP(columns_u8, HR_U8)
COLUMNS_LOOP(columns_s16, HR_S16)

thin_fn dot_thin_pairs_loop(hr_dtype_t type, bool by_columns) {
  if (simd_width() != SIMD_256) return NULL;
  if (type == HR_S8) return by_columns ? columns_s8 : rows_s8;
  if (type == HR_U8) return by_columns ? columns_u8 : rows_u8;
  return by_columns ? columns_s16 : rows_s16;
}

#else
thin_fn dot_thin_pairs_loop(hr_dtype_t type, bool by_columns) {
  (void)type, (void)by_columns;
  return NULL;
}
#endif
