/* Planes turned in registers, for one width of vectors. Included once per width by each_vector.h.
 *
 * A register has one piece of 16 bytes of a row of the operand, N elements, in each of its LANES lanes: register k has
 * those of the rows k, N + k, 2 N + k, ... Rounds of interleaving within the lanes make of N registers N runs of the
 * result's rows:
 *     a0 b0 c0 d0 | a4 b4 c4 d4          a0 a1 a2 a3 a4 a5 a6 a7
 *     a1 b1 c1 d1 | a5 b5 c5 d5   ->     b0 b1 b2 b3 b4 b5 b6 b7      (f32, registers of 32 bytes; rows a0, a1, ...)
 *     a2 b2 c2 d2 | a6 b6 c6 d6          c0 ...
 *     a3 b3 c3 d3 | a7 b7 c7 d7          d0 ... */
#define LANES (VECTOR_BYTES / 16)
#define TURN_INLINE VECTOR_TARGET static inline __attribute__((always_inline))

typedef uint64_t VECTOR_NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));

/* A piece of 16 bytes in each lane, of rows `apart` bytes apart. */
TURN_INLINE VECTOR_NAME(bits) VECTOR_NAME(load)(const char *from, int64_t apart) {
  typedef uint64_t piece_t __attribute__((vector_size(16), aligned(1)));
  typedef uint64_t lane_t __attribute__((vector_size(16)));
#define PIECE(l) ((lane_t)*(const piece_t *)(from + (l) * apart))
#if LANES == 4
  typedef uint64_t pair_t __attribute__((vector_size(32)));
  pair_t low = __builtin_shufflevector(PIECE(0), PIECE(1), 0, 1, 2, 3);
  pair_t high = __builtin_shufflevector(PIECE(2), PIECE(3), 0, 1, 2, 3);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#elif LANES == 2
  return __builtin_shufflevector(PIECE(0), PIECE(1), 0, 1, 2, 3);
#else
  return PIECE(0);
#endif
#undef PIECE
}

TURN_INLINE void VECTOR_NAME(store)(char *to, VECTOR_NAME(bits) line, bool past) {
  if (past)
    VECTOR_STREAM(to, line);
  else
    memcpy(to, &line, VECTOR_BYTES);
}

/* The indices of what is interleaved, of N elements in each lane; M are in a register. */
#define WEAVE_2(b, M) b, b + M
#define WEAVE_4(b, M) WEAVE_2(b, M), WEAVE_2(b + 1, M)
#define WEAVE_8(b, M) WEAVE_4(b, M), WEAVE_4(b + 2, M)
#define WEAVE_16(b, M) WEAVE_8(b, M), WEAVE_8(b + 4, M)
#if LANES == 4
#define WEAVE(N, b) \
  WEAVE_##N(b, 4 * N), WEAVE_##N(b + N, 4 * N), WEAVE_##N(b + 2 * N, 4 * N), WEAVE_##N(b + 3 * N, 4 * N)
#elif LANES == 2
#define WEAVE(N, b) WEAVE_##N(b, 2 * N), WEAVE_##N(b + N, 2 * N)
#else
#define WEAVE(N, b) WEAVE_##N(b, N)
#endif

/* N columns of N * LANES rows; log2(N) rounds. */
#define TURN(T, N)                                                                                           \
  typedef T VECTOR_NAME(vector_##T) __attribute__((vector_size(VECTOR_BYTES)));                                  \
  TURN_INLINE void VECTOR_NAME(turn_##T)(const char *from, int64_t from_stride, char *to, int64_t to_stride,   \
                                       bool past) {                                                          \
    VECTOR_NAME(vector_##T) a[N], b[N];                                                                        \
    for (int k = 0; k < N; k++)                                                                              \
      a[k] = (VECTOR_NAME(vector_##T))VECTOR_NAME(load)(from + k * from_stride, N * from_stride);                \
    for (int round = 1; round < N; round *= 2) {                                                             \
      for (int k = 0; k < N / 2; k++) {                                                                      \
        b[2 * k] = __builtin_shufflevector(a[k], a[k + N / 2], WEAVE(N, 0));                                 \
        b[2 * k + 1] = __builtin_shufflevector(a[k], a[k + N / 2], WEAVE(N, N / 2));                         \
      }                                                                                                      \
      for (int k = 0; k < N; k++) a[k] = b[k];                                                               \
    }                                                                                                        \
    for (int k = 0; k < N; k++) VECTOR_NAME(store)(to + k * to_stride, (VECTOR_NAME(bits))a[k], past);           \
  }
TURN(uint8_t, 16)
TURN(uint16_t, 8)
TURN(uint32_t, 4)
TURN(uint64_t, 2)
#undef TURN

TURN_INLINE void VECTOR_NAME(turn_wide_t)(const char *from, int64_t from_stride, char *to, int64_t to_stride,
                                          bool past) {
  (void)to_stride;
  VECTOR_NAME(store)(to, VECTOR_NAME(load)(from, from_stride), past);
}

/* i_count x j_count elements. Where the last squares would go beyond an edge, they end there and are over others. Rows
 * of the operand are read to their ends before the next. Past the caches, lines of the result are written as a whole:
 * there j_count is a multiple of them. */
#define TURN_ALL(T, N)                                                                               \
  do {                                                                                               \
    const int64_t each = sizeof(T), rows = N * LANES, line = past ? 64 / each : rows;                \
    for (int64_t j = 0; j < j_count; j += line)                                                      \
      for (int64_t i = 0; i < i_count; i += N)                                                       \
        for (int64_t k = j; k < j + line; k += rows) {                                               \
          int64_t at_i = least(i, i_count - N), at_j = least(k, j_count - rows);                     \
          VECTOR_NAME(turn_##T)(from + at_j * j_stride + at_i * each, j_stride,                        \
                              to + at_i * i_stride + at_j * each, i_stride, past);                   \
        }                                                                                            \
  } while (0)

TURN_INLINE void VECTOR_NAME(turn_any)(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                                     int64_t j_stride, char *to, int64_t i_stride, bool past) {
  switch (element_bytes) {
    case 1: TURN_ALL(uint8_t, 16); break;
    case 2: TURN_ALL(uint16_t, 8); break;
    case 4: TURN_ALL(uint32_t, 4); break;
    case 8: TURN_ALL(uint64_t, 2); break;
    case 16: TURN_ALL(wide_t, 1); break;
  }
}

VECTOR_TARGET static void VECTOR_NAME(turn_square)(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                                               int64_t j_stride, char *to, int64_t i_stride) {
  VECTOR_NAME(turn_any)(element_bytes, i_count, j_count, from, j_stride, to, i_stride, false);
}

#if LANES > 1
VECTOR_TARGET static void VECTOR_NAME(turn_past)(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                                             int64_t j_stride, char *to, int64_t i_stride) {
  VECTOR_NAME(turn_any)(element_bytes, i_count, j_count, from, j_stride, to, i_stride, true);
}
#endif
#undef TURN_ALL
#undef WEAVE
#undef WEAVE_2
#undef WEAVE_4
#undef WEAVE_8
#undef WEAVE_16
#undef TURN_INLINE
#undef LANES
