/* The loops of scan_lines.c for one vector width. Included once per width by simd_foreach.h.
 *
 * Prefix sums within a vector take log2(lanes) rounds: in each, every lane is combined with the one
 * 1, 2, 4, ... lanes before it. The carry from earlier vectors is combined last, so that only this
 * one step is a serial dependency:
 *
 *   a        b          c            d             each lane, and the elements in its sum
 *   a        a b        b c          c d           round 1
 *   a        a b        a b c        a b c d       round 2 */
#define SCAN_INLINE SIMD_VECTOR_TARGET static inline __attribute__((always_inline))

/* Shuffle indices of the lanes from the i-th on. */
#define LANES_2(i) i, (i) + 1
#define LANES_4(i) LANES_2(i), LANES_2((i) + 2)
#define LANES_8(i) LANES_4(i), LANES_4((i) + 4)
#define LANES_16(i) LANES_8(i), LANES_8((i) + 8)
#if SIMD_VECTOR_BYTES == 64
#define COUNT_4 16
#define COUNT_8 8
#elif SIMD_VECTOR_BYTES == 32
#define COUNT_4 8
#define COUNT_8 4
#else
#define COUNT_4 4
#define COUNT_8 2
#endif

/* The vector shifted by `apart` of its N lanes; `none`, the identity, is shifted in. */
#define MOVED(N, apart)                                            \
  (back ? __builtin_shufflevector(v, none, LANES_##N((apart) % N)) \
        : __builtin_shufflevector(none, v, LANES_##N(N - (apart) % N)))

/* Scan of vectors of N elements T. BOTH: an expression in the vectors a and b; none_: its
 * identity; A: the type of the carry, g: the op on it. */
#define SCAN_OF(N, name, T, A, BOTH, none_, g)                                                    \
  typedef T SIMD_VECTOR_NAME(name##_t) __attribute__((vector_size(SIMD_VECTOR_BYTES)));           \
  typedef T SIMD_VECTOR_NAME(name##_loose_t)                                                      \
      __attribute__((vector_size(SIMD_VECTOR_BYTES), aligned(sizeof(T))));                        \
  SCAN_INLINE SIMD_VECTOR_NAME(name##_t)                                                          \
      SIMD_VECTOR_NAME(name##_both)(SIMD_VECTOR_NAME(name##_t) a, SIMD_VECTOR_NAME(name##_t) b) { \
    return (SIMD_VECTOR_NAME(name##_t))(BOTH);                                                    \
  }                                                                                               \
  SCAN_INLINE SIMD_VECTOR_NAME(name##_t)                                                          \
      SIMD_VECTOR_NAME(name##_totals)(SIMD_VECTOR_NAME(name##_t) v, bool back) {                  \
    const SIMD_VECTOR_NAME(name##_t) none = (SIMD_VECTOR_NAME(name##_t)){0} + (T)(none_);         \
    v = SIMD_VECTOR_NAME(name##_both)(v, MOVED(N, 1));                                            \
    if (N > 2) v = SIMD_VECTOR_NAME(name##_both)(v, MOVED(N, 2));                                 \
    if (N > 4) v = SIMD_VECTOR_NAME(name##_both)(v, MOVED(N, 4));                                 \
    if (N > 8) v = SIMD_VECTOR_NAME(name##_both)(v, MOVED(N, 8));                                 \
    return v;                                                                                     \
  }                                                                                               \
  SCAN_INLINE void SIMD_VECTOR_NAME(name##_loop)(const T *from, T *to, int64_t count, bool back,  \
                                                 bool past, A *carry) {                           \
    A a = *carry;                                                                                 \
    for (int64_t i = 0; i < count; i += N) {                                                      \
      int64_t at = back ? count - N - i : i;                                                      \
      SIMD_VECTOR_NAME(name##_t) v = *(const SIMD_VECTOR_NAME(name##_loose_t) *)(from + at);      \
      SIMD_VECTOR_NAME(name##_t) before = (SIMD_VECTOR_NAME(name##_t)){0} + (T)a;                 \
      v = SIMD_VECTOR_NAME(name##_totals)(v, back);                                               \
      a = g(a, (A)v[back ? 0 : N - 1]);                                                           \
      v = SIMD_VECTOR_NAME(name##_both)(v, before);                                               \
      if (past)                                                                                   \
        SIMD_VECTOR_STREAM(to + at, v);                                                           \
      else                                                                                        \
        *(SIMD_VECTOR_NAME(name##_loose_t) *)(to + at) = v;                                       \
    }                                                                                             \
    *carry = a;                                                                                   \
  }                                                                                               \
  SIMD_VECTOR_TARGET static void SIMD_VECTOR_NAME(name)(                                          \
      const void *in, void *out, int64_t count, bool back, bool past, window_carry_t *carry) {    \
    A a;                                                                                          \
    memcpy(&a, carry, sizeof a);                                                                  \
    if (back)                                                                                     \
      SIMD_VECTOR_NAME(name##_loop)(in, out, count, true, past, &a);                              \
    else                                                                                          \
      SIMD_VECTOR_NAME(name##_loop)(in, out, count, false, past, &a);                             \
    memcpy(carry, &a, sizeof a);                                                                  \
  }
#define SCAN_JOIN(...) SCAN_OF(__VA_ARGS__)
#define SCAN_4(...) SCAN_JOIN(COUNT_4, __VA_ARGS__)
#define SCAN_8(...) SCAN_JOIN(COUNT_8, __VA_ARGS__)

/* By the definitions of scalar.h: NaN wins, and -0 is less than +0. */
#define MASK(x) ((__typeof__(a > b))(x))
#define CHOOSE(m) ((MASK(a) & (m)) | (MASK(b) & ~(m)))
#define FLOAT_MAXIMUM (CHOOSE((a > b) | (a != a)) & (MASK(a) | ~(a == b)))
#define FLOAT_MINIMUM (CHOOSE((a < b) | (a != a)) | (MASK(a) & (a == b)))

SCAN_4(f32_add, float, double, a + b, 0, f64_add)
SCAN_4(f32_multiply, float, float, a *b, 1, f32_multiply)
SCAN_4(f32_maximum, float, float, FLOAT_MAXIMUM, -INFINITY, f32_maximum)
SCAN_4(f32_minimum, float, float, FLOAT_MINIMUM, INFINITY, f32_minimum)
SCAN_8(f64_add, double, double, a + b, 0, f64_add)
SCAN_8(f64_multiply, double, double, a *b, 1, f64_multiply)
SCAN_8(f64_maximum, double, double, FLOAT_MAXIMUM, -INFINITY, f64_maximum)
SCAN_8(f64_minimum, double, double, FLOAT_MINIMUM, INFINITY, f64_minimum)
SCAN_4(u32_add, uint32_t, uint32_t, a + b, 0, u32_add)
SCAN_4(u32_multiply, uint32_t, uint32_t, a *b, 1, u32_multiply)
SCAN_4(u32_maximum, uint32_t, uint32_t, CHOOSE(a > b), 0, u32_maximum)
SCAN_4(u32_minimum, uint32_t, uint32_t, CHOOSE(a < b), UINT32_MAX, u32_minimum)
SCAN_4(s32_maximum, int32_t, int32_t, CHOOSE(a > b), INT32_MIN, s32_maximum)
SCAN_4(s32_minimum, int32_t, int32_t, CHOOSE(a < b), INT32_MAX, s32_minimum)
SCAN_8(u64_add, uint64_t, uint64_t, a + b, 0, u64_add)
SCAN_8(u64_multiply, uint64_t, uint64_t, a *b, 1, u64_multiply)
SCAN_8(u64_maximum, uint64_t, uint64_t, CHOOSE(a > b), 0, u64_maximum)
SCAN_8(u64_minimum, uint64_t, uint64_t, CHOOSE(a < b), UINT64_MAX, u64_minimum)
SCAN_8(s64_maximum, int64_t, int64_t, CHOOSE(a > b), INT64_MIN, s64_maximum)
SCAN_8(s64_minimum, int64_t, int64_t, CHOOSE(a < b), INT64_MAX, s64_minimum)

#undef SCAN_INLINE
#undef LANES_2
#undef LANES_4
#undef LANES_8
#undef LANES_16
#undef COUNT_4
#undef COUNT_8
#undef MOVED
#undef SCAN_OF
#undef SCAN_JOIN
#undef SCAN_4
#undef SCAN_8
#undef MASK
#undef CHOOSE
#undef FLOAT_MAXIMUM
#undef FLOAT_MINIMUM
