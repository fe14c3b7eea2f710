/* The loop sets of window_rows.h: one macro, ROWS, defines all loops of an op on a type. Sums of
 * f32 are scanned in f64, so that long prefix sums keep their precision. */
#include "ops/kernels/window/window_rows.h"

#include <string.h>

#include "ops/kernels/elementwise/scalar.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum { TOTAL_LANES = 32 }; /* independent accumulators of a total */

/* name: suffix of the functions; T: element type; A: accumulator type of scans; f and g: the op
 * on T and on A.
 *    start     sets results from the first one to three rows
 *    lanes     combines all rows of a window into one row, three rows per pass over it
 *    row       adds one tap along a row, with stride 1, 2 or any
 *    row4      adds four taps, whose results are loaded and stored once
 *    scan      prefix sums of whole lines; the carry goes in and out
 *    total     combines a line in TOTAL_LANES chains, for scans divided among workers
 *    columns   prefix sums down several columns at once */
#define ROWS(name, T, A, f, g)                                                                     \
  /* The first rows initialise the result without reading it: results outside the caches are       \
   * only written. */                                                                              \
  NATIVE_INLINE int64_t start_lanes_##name(T *restrict to, const void *init, const T *from,        \
                                           const int64_t *offsets, int64_t count, int64_t lanes) { \
    T first = init ? *(const T *)init : 0;                                                         \
    const T *a = from + (count > 0 ? offsets[0] : 0);                                              \
    const T *b = from + (count > 1 ? offsets[1] : 0);                                              \
    const T *c = from + (count > 2 ? offsets[2] : 0);                                              \
    if (count == 0) {                                                                              \
      for (int64_t l = 0; l < lanes; l++) to[l] = first;                                           \
    } else if (!init && count == 1) {                                                              \
      memcpy(to, a, (size_t)lanes * sizeof(T));                                                    \
    } else if (!init) {                                                                            \
      for (int64_t l = 0; l < lanes; l++) to[l] = f(a[l], b[l]);                                   \
      return 2;                                                                                    \
    } else if (count >= 3) {                                                                       \
      for (int64_t l = 0; l < lanes; l++) to[l] = f(f(f(first, a[l]), b[l]), c[l]);                \
      return 3;                                                                                    \
    } else {                                                                                       \
      for (int64_t l = 0; l < lanes; l++) to[l] = f(first, a[l]);                                  \
    }                                                                                              \
    return 1;                                                                                      \
  }                                                                                                \
  NATIVE_CLONES static void lanes_##name(void *out, const void *init, const void *in,              \
                                         const int64_t *offsets, int64_t count, int64_t lanes) {   \
    T *restrict to = out;                                                                          \
    const T *from = in;                                                                            \
    int64_t p = start_lanes_##name(to, init, from, offsets, count, lanes);                         \
    for (; p + 3 <= count; p += 3) {                                                               \
      const T *a = from + offsets[p], *b = from + offsets[p + 1], *c = from + offsets[p + 2];      \
      for (int64_t l = 0; l < lanes; l++) to[l] = f(f(f(to[l], a[l]), b[l]), c[l]);                \
    }                                                                                              \
    for (; p < count; p++) {                                                                       \
      const T *a = from + offsets[p];                                                              \
      for (int64_t l = 0; l < lanes; l++) to[l] = f(to[l], a[l]);                                  \
    }                                                                                              \
  }                                                                                                \
  NATIVE_CLONES static void row_##name(void *out, const void *in, int64_t count, int64_t stride) { \
    T *restrict to = out;                                                                          \
    const T *from = in;                                                                            \
    if (stride == 1)                                                                               \
      for (int64_t i = 0; i < count; i++) to[i] = f(to[i], from[i]);                               \
    else if (stride == 2)                                                                          \
      for (int64_t i = 0; i < count; i++) to[i] = f(to[i], from[2 * i]);                           \
    else                                                                                           \
      for (int64_t i = 0; i < count; i++) to[i] = f(to[i], from[i * stride]);                      \
  }                                                                                                \
  NATIVE_CLONES static void row4_##name(void *out, const void *const *in, int64_t count) {         \
    T *restrict to = out;                                                                          \
    const T *a = in[0], *b = in[1], *c = in[2], *d = in[3];                                        \
    for (int64_t i = 0; i < count; i++) to[i] = f(f(f(f(to[i], a[i]), b[i]), c[i]), d[i]);         \
  }                                                                                                \
  static void scan_##name(const void *in, void *out, int64_t lines, int64_t count, bool back,      \
                          window_carry_t *carry) {                                                 \
    int64_t stride = back ? -1 : 1;                                                                \
    const T *from = (const T *)in + (back ? count - 1 : 0);                                        \
    T *to = (T *)out + (back ? count - 1 : 0);                                                     \
    A first, a;                                                                                    \
    memcpy(&first, carry, sizeof(A));                                                              \
    a = first;                                                                                     \
    for (int64_t l = 0; l < lines; l++, from += count, to += count) {                              \
      a = first;                                                                                   \
      for (int64_t n = 0; n < count; n++) to[n * stride] = (T)(a = g(a, (A)from[n * stride]));     \
    }                                                                                              \
    memcpy(carry, &a, sizeof(A));                                                                  \
  }                                                                                                \
  NATIVE_CLONES static void total_##name(const void *in, int64_t count, window_carry_t *carry) {   \
    const T *from = in;                                                                            \
    int64_t i = 0;                                                                                 \
    A a[TOTAL_LANES], total;                                                                       \
    memcpy(&total, carry, sizeof(A));                                                              \
    if (count >= TOTAL_LANES) {                                                                    \
      for (int l = 0; l < TOTAL_LANES; l++) a[l] = (A)from[l];                                     \
      for (i = TOTAL_LANES; i + TOTAL_LANES <= count; i += TOTAL_LANES)                            \
        for (int l = 0; l < TOTAL_LANES; l++) a[l] = g(a[l], (A)from[i + l]);                      \
      for (int l = 0; l < TOTAL_LANES; l++) total = g(total, a[l]);                                \
    }                                                                                              \
    for (; i < count; i++) total = g(total, (A)from[i]);                                           \
    memcpy(carry, &total, sizeof(A));                                                              \
  }                                                                                                \
  NATIVE_CLONES static void columns_##name(const void *in, void *out, int64_t count,               \
                                           int64_t row_stride, int64_t columns,                    \
                                           window_carry_t carry) {                                 \
    const T *from = in;                                                                            \
    T *to = out;                                                                                   \
    A a[WINDOW_SCAN_COLUMNS], first;                                                               \
    memcpy(&first, &carry, sizeof(A));                                                             \
    for (int64_t c = 0; c < columns; c++) a[c] = first;                                            \
    for (int64_t i = 0; i < count; i++, from += row_stride, to += row_stride) {                    \
      for (int64_t c = 0; c < columns; c++) a[c] = g(a[c], (A)from[c]);                            \
      for (int64_t c = 0; c < columns; c++) to[c] = (T)a[c];                                       \
    }                                                                                              \
  }                                                                                                \
  static window_carry_t start_##name(const void *element) {                                        \
    window_carry_t carry = {{0, 0}};                                                               \
    A a = (A) * (const T *)element;                                                                \
    memcpy(&carry, &a, sizeof(A));                                                                 \
    return carry;                                                                                  \
  }                                                                                                \
  static window_carry_t combine_##name(window_carry_t x, window_carry_t y) {                       \
    window_carry_t carry = {{0, 0}};                                                               \
    A a, b;                                                                                        \
    memcpy(&a, &x, sizeof(A));                                                                     \
    memcpy(&b, &y, sizeof(A));                                                                     \
    a = g(a, b);                                                                                   \
    memcpy(&carry, &a, sizeof(A));                                                                 \
    return carry;                                                                                  \
  }

/* Integers wrap; the cast undoes C's promotion to int. */
#define ADD(a, b) ((__typeof__(a))((a) + (b)))
#define MULTIPLY(a, b) ((__typeof__(a))((a) * (b)))
#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))

ROWS(f32_add, float, double, f32_add, f64_add)
ROWS(f32_multiply, float, float, f32_multiply, f32_multiply)
ROWS(f32_maximum, float, float, f32_maximum, f32_maximum)
ROWS(f32_minimum, float, float, f32_minimum, f32_minimum)
ROWS(f64_add, double, double, f64_add, f64_add)
ROWS(f64_multiply, double, double, f64_multiply, f64_multiply)
ROWS(f64_maximum, double, double, f64_maximum, f64_maximum)
ROWS(f64_minimum, double, double, f64_minimum, f64_minimum)
ROWS(u32_add, uint32_t, uint32_t, ADD, ADD)
ROWS(u32_multiply, uint32_t, uint32_t, MULTIPLY, MULTIPLY)
ROWS(u32_maximum, uint32_t, uint32_t, MAXIMUM, MAXIMUM)
ROWS(u32_minimum, uint32_t, uint32_t, MINIMUM, MINIMUM)
ROWS(s32_maximum, int32_t, int32_t, MAXIMUM, MAXIMUM)
ROWS(s32_minimum, int32_t, int32_t, MINIMUM, MINIMUM)
ROWS(u64_add, uint64_t, uint64_t, ADD, ADD)
ROWS(u64_multiply, uint64_t, uint64_t, MULTIPLY, MULTIPLY)
ROWS(u64_maximum, uint64_t, uint64_t, MAXIMUM, MAXIMUM)
ROWS(u64_minimum, uint64_t, uint64_t, MINIMUM, MINIMUM)
ROWS(s64_maximum, int64_t, int64_t, MAXIMUM, MAXIMUM)
ROWS(s64_minimum, int64_t, int64_t, MINIMUM, MINIMUM)

/* Complex numbers; products are the textbook formula. */
typedef float _Complex c64_rows_t;
typedef double _Complex c128_rows_t;
#define COMPLEX_MULTIPLY(p, T, R)                                                   \
  NATIVE_INLINE T p##_product(T a, T b) {                                           \
    R a_re = __real a, a_im = __imag a, b_re = __real b, b_im = __imag b;           \
    return __builtin_complex(a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re); \
  }
COMPLEX_MULTIPLY(c64, c64_rows_t, float)
COMPLEX_MULTIPLY(c128, c128_rows_t, double)
ROWS(c64_add, c64_rows_t, c128_rows_t, ADD, ADD)
ROWS(c64_multiply, c64_rows_t, c64_rows_t, c64_product, c64_product)
ROWS(c128_add, c128_rows_t, c128_rows_t, ADD, ADD)
ROWS(c128_multiply, c128_rows_t, c128_rows_t, c128_product, c128_product)

/* Integers of 8 and 16 bits. Predicates are bytes 0 and 1, whose `and` is the minimum and whose
 * `or` is the maximum. */
ROWS(u8_add, uint8_t, uint8_t, ADD, ADD)
ROWS(u8_maximum, uint8_t, uint8_t, MAXIMUM, MAXIMUM)
ROWS(u8_minimum, uint8_t, uint8_t, MINIMUM, MINIMUM)
ROWS(s8_maximum, int8_t, int8_t, MAXIMUM, MAXIMUM)
ROWS(s8_minimum, int8_t, int8_t, MINIMUM, MINIMUM)
ROWS(u16_add, uint16_t, uint16_t, ADD, ADD)
ROWS(u16_maximum, uint16_t, uint16_t, MAXIMUM, MAXIMUM)
ROWS(u16_minimum, uint16_t, uint16_t, MINIMUM, MINIMUM)
ROWS(s16_maximum, int16_t, int16_t, MAXIMUM, MAXIMUM)
ROWS(s16_minimum, int16_t, int16_t, MINIMUM, MINIMUM)

#define ROW(op, dtype, name)                                                                \
  {                                                                                         \
    HLO_##op, HR_##dtype, lanes_##name, row_##name, row4_##name, scan_##name, total_##name, \
        columns_##name, start_##name, combine_##name                                        \
  }
static const window_rows_t table[] = {
    ROW(ADD, F32, f32_add),         ROW(MULTIPLY, F32, f32_multiply),
    ROW(MAXIMUM, F32, f32_maximum), ROW(MINIMUM, F32, f32_minimum),
    ROW(ADD, F64, f64_add),         ROW(MULTIPLY, F64, f64_multiply),
    ROW(MAXIMUM, F64, f64_maximum), ROW(MINIMUM, F64, f64_minimum),
    ROW(ADD, C64, c64_add),         ROW(MULTIPLY, C64, c64_multiply),
    ROW(ADD, C128, c128_add),       ROW(MULTIPLY, C128, c128_multiply),
    ROW(ADD, S32, u32_add),         ROW(MULTIPLY, S32, u32_multiply),
    ROW(MAXIMUM, S32, s32_maximum), ROW(MINIMUM, S32, s32_minimum),
    ROW(ADD, U32, u32_add),         ROW(MULTIPLY, U32, u32_multiply),
    ROW(MAXIMUM, U32, u32_maximum), ROW(MINIMUM, U32, u32_minimum),
    ROW(ADD, S64, u64_add),         ROW(MULTIPLY, S64, u64_multiply),
    ROW(MAXIMUM, S64, s64_maximum), ROW(MINIMUM, S64, s64_minimum),
    ROW(ADD, U64, u64_add),         ROW(MULTIPLY, U64, u64_multiply),
    ROW(MAXIMUM, U64, u64_maximum), ROW(MINIMUM, U64, u64_minimum),
    ROW(ADD, S8, u8_add),           ROW(MAXIMUM, S8, s8_maximum),
    ROW(MINIMUM, S8, s8_minimum),   ROW(ADD, U8, u8_add),
    ROW(MAXIMUM, U8, u8_maximum),   ROW(MINIMUM, U8, u8_minimum),
    ROW(ADD, S16, u16_add),         ROW(MAXIMUM, S16, s16_maximum),
    ROW(MINIMUM, S16, s16_minimum), ROW(ADD, U16, u16_add),
    ROW(MAXIMUM, U16, u16_maximum), ROW(MINIMUM, U16, u16_minimum),
    ROW(OR, PRED, u8_maximum),      ROW(AND, PRED, u8_minimum),
    ROW(MAXIMUM, PRED, u8_maximum), ROW(MINIMUM, PRED, u8_minimum),
};

const window_rows_t *window_rows_find(hlo_opcode_t op, hr_dtype_t dtype) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].op == op && table[i].dtype == dtype) return &table[i];
  return NULL;
}
