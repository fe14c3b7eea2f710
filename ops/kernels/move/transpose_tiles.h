/* Transposition of tiles in registers, for one vector width. Included once per width by
 * simd_foreach.h.
 *
 * A register holds, in each of its LANES lanes of 16 bytes, one block of N elements of an operand
 * row: register k has the rows k, N + k, 2 N + k, ... log2(N) rounds of interleaving within the
 * lanes turn N registers into N runs of the result's rows. For f32, registers of 32 bytes and rows
 * a0, a1,
 * ...:
 *
 *   a0 b0 c0 d0 | a4 b4 c4 d4          a0 a1 a2 a3 a4 a5 a6 a7
 *   a1 b1 c1 d1 | a5 b5 c5 d5    ->    b0 b1 b2 b3 b4 b5 b6 b7
 *   a2 b2 c2 d2 | a6 b6 c6 d6          c0 ...
 *   a3 b3 c3 d3 | a7 b7 c7 d7          d0 ... */
#define LANES (SIMD_VECTOR_BYTES / 16)
#define TRANSPOSE_INLINE SIMD_VECTOR_TARGET static inline __attribute__((always_inline))

typedef uint64_t SIMD_VECTOR_NAME(bits) __attribute__((vector_size(SIMD_VECTOR_BYTES)));

/* Loads a block of 16 bytes into each lane, from rows `row_stride` bytes apart. */
TRANSPOSE_INLINE SIMD_VECTOR_NAME(bits)
    SIMD_VECTOR_NAME(load)(const char *from, int64_t row_stride) {
  typedef uint64_t block_t __attribute__((vector_size(16), aligned(1)));
  typedef uint64_t lane_t __attribute__((vector_size(16)));
#define BLOCK_16(l) ((lane_t) * (const block_t *)(from + (l)*row_stride))
#if LANES == 4
  typedef uint64_t half_t __attribute__((vector_size(32)));
  half_t low = __builtin_shufflevector(BLOCK_16(0), BLOCK_16(1), 0, 1, 2, 3);
  half_t high = __builtin_shufflevector(BLOCK_16(2), BLOCK_16(3), 0, 1, 2, 3);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#elif LANES == 2
  return __builtin_shufflevector(BLOCK_16(0), BLOCK_16(1), 0, 1, 2, 3);
#else
  return BLOCK_16(0);
#endif
#undef BLOCK_16
}

TRANSPOSE_INLINE void SIMD_VECTOR_NAME(store)(char *to, SIMD_VECTOR_NAME(bits) line,
                                              bool nontemporal) {
  if (nontemporal)
    SIMD_VECTOR_STREAM(to, line);
  else
    memcpy(to, &line, SIMD_VECTOR_BYTES);
}

/* Shuffle indices that interleave two registers of M elements within lanes of N elements. */
#define INTERLEAVE_2(b, M) b, b + M
#define INTERLEAVE_4(b, M) INTERLEAVE_2(b, M), INTERLEAVE_2(b + 1, M)
#define INTERLEAVE_8(b, M) INTERLEAVE_4(b, M), INTERLEAVE_4(b + 2, M)
#define INTERLEAVE_16(b, M) INTERLEAVE_8(b, M), INTERLEAVE_8(b + 4, M)
#if LANES == 4
#define INTERLEAVE(N, b)                                                                    \
  INTERLEAVE_##N(b, 4 * N), INTERLEAVE_##N(b + N, 4 * N), INTERLEAVE_##N(b + 2 * N, 4 * N), \
      INTERLEAVE_##N(b + 3 * N, 4 * N)
#elif LANES == 2
#define INTERLEAVE(N, b) INTERLEAVE_##N(b, 2 * N), INTERLEAVE_##N(b + N, 2 * N)
#else
#define INTERLEAVE(N, b) INTERLEAVE_##N(b, N)
#endif

/* Transposes N columns of N * LANES rows, in log2(N) rounds. */
#define TRANSPOSE(T, N)                                                                       \
  typedef T SIMD_VECTOR_NAME(vector_##T) __attribute__((vector_size(SIMD_VECTOR_BYTES)));     \
  TRANSPOSE_INLINE void SIMD_VECTOR_NAME(transpose_##T)(                                      \
      const char *from, int64_t from_stride, char *to, int64_t to_stride, bool nontemporal) { \
    SIMD_VECTOR_NAME(vector_##T) a[N], b[N];                                                  \
    for (int k = 0; k < N; k++)                                                               \
      a[k] = (SIMD_VECTOR_NAME(vector_##T))SIMD_VECTOR_NAME(load)(from + k * from_stride,     \
                                                                  N * from_stride);           \
    for (int round = 1; round < N; round *= 2) {                                              \
      for (int k = 0; k < N / 2; k++) {                                                       \
        b[2 * k] = __builtin_shufflevector(a[k], a[k + N / 2], INTERLEAVE(N, 0));             \
        b[2 * k + 1] = __builtin_shufflevector(a[k], a[k + N / 2], INTERLEAVE(N, N / 2));     \
      }                                                                                       \
      for (int k = 0; k < N; k++) a[k] = b[k];                                                \
    }                                                                                         \
    for (int k = 0; k < N; k++)                                                               \
      SIMD_VECTOR_NAME(store)(to + k * to_stride, (SIMD_VECTOR_NAME(bits))a[k], nontemporal); \
  }
TRANSPOSE(uint8_t, 16)
TRANSPOSE(uint16_t, 8)
TRANSPOSE(uint32_t, 4)
TRANSPOSE(uint64_t, 2)
#undef TRANSPOSE

TRANSPOSE_INLINE void SIMD_VECTOR_NAME(transpose_wide_element_t)(const char *from,
                                                                 int64_t from_stride, char *to,
                                                                 int64_t to_stride,
                                                                 bool nontemporal) {
  (void)to_stride;
  SIMD_VECTOR_NAME(store)(to, SIMD_VECTOR_NAME(load)(from, from_stride), nontemporal);
}

/* Transposes i_count x j_count elements (at least one register tile). A register tile that would
 * cross an edge is moved back inside and overlaps its neighbour. Non-temporal stores write whole
 * cache lines, so j_count must be a multiple of a line and the result aligned. */
#define TRANSPOSE_ALL(T, N)                                                                    \
  do {                                                                                         \
    const int64_t each = sizeof(T), rows = N * LANES, line = nontemporal ? 64 / each : rows;   \
    for (int64_t j = 0; j < j_count; j += line)                                                \
      for (int64_t i = 0; i < i_count; i += N)                                                 \
        for (int64_t k = j; k < j + line; k += rows) {                                         \
          int64_t at_i = hr_min(i, i_count - N), at_j = hr_min(k, j_count - rows);             \
          SIMD_VECTOR_NAME(transpose_##T)                                                      \
          (from + at_j * j_stride + at_i * each, j_stride, to + at_i * i_stride + at_j * each, \
           i_stride, nontemporal);                                                             \
        }                                                                                      \
  } while (0)

TRANSPOSE_INLINE void SIMD_VECTOR_NAME(transpose_any)(int element_bytes, int64_t i_count,
                                                      int64_t j_count, const char *from,
                                                      int64_t j_stride, char *to, int64_t i_stride,
                                                      bool nontemporal) {
  switch (element_bytes) {
    case 1:
      TRANSPOSE_ALL(uint8_t, 16);
      break;
    case 2:
      TRANSPOSE_ALL(uint16_t, 8);
      break;
    case 4:
      TRANSPOSE_ALL(uint32_t, 4);
      break;
    case 8:
      TRANSPOSE_ALL(uint64_t, 2);
      break;
    case 16:
      TRANSPOSE_ALL(wide_element_t, 1);
      break;
  }
}

SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(transpose_tile)(int element_bytes, int64_t i_count,
                                                                int64_t j_count, const char *from,
                                                                int64_t j_stride, char *to,
                                                                int64_t i_stride) {
  SIMD_VECTOR_NAME(transpose_any)
  (element_bytes, i_count, j_count, from, j_stride, to, i_stride, false);
}

#if LANES > 1
SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(transpose_nontemporal)(
    int element_bytes, int64_t i_count, int64_t j_count, const char *from, int64_t j_stride,
    char *to, int64_t i_stride) {
  SIMD_VECTOR_NAME(transpose_any)
  (element_bytes, i_count, j_count, from, j_stride, to, i_stride, true);
}
#endif
#undef TRANSPOSE_ALL
#undef INTERLEAVE
#undef INTERLEAVE_2
#undef INTERLEAVE_4
#undef INTERLEAVE_8
#undef INTERLEAVE_16
#undef TRANSPOSE_INLINE
#undef LANES
