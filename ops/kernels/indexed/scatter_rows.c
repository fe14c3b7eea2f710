#include "ops/kernels/indexed/scatter_rows.h"

#include <math.h>

#include "ops/kernels/elementwise/scalar.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

NATIVE_INLINE int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Of equal places the owner is the same; neighbours have different ones. */
NATIVE_INLINE bool is_owner(const scatter_rows_job_t *job, int64_t offset) {
  uint64_t mixed = (uint64_t)offset * 0x9e3779b97f4a7c15u;
  return (uint32_t)((mixed >> 32) * job->parts >> 32) == job->part;
}

/* The place of a window in the operand, if it fits; else any number, so that the product may
 * overflow. */
#define OFFSET_OF(INDEX, COMPONENTS)                                                 \
  const INDEX *vector = (const INDEX *)job->indices + i * job->index_step;           \
  int64_t first = (int64_t)vector[0], offset = times(first, job->strides[0]);        \
  bool fits = (uint64_t)first <= (uint64_t)job->limits[0];                           \
  if (COMPONENTS > 1) {                                                              \
    int64_t second = (int64_t)vector[job->component_step];                           \
    fits &= (uint64_t)second <= (uint64_t)job->limits[1];                            \
    offset = (int64_t)((uint64_t)offset + (uint64_t)times(second, job->strides[1])); \
  }

/* What is done with one element, and with a row of them. */
#define DEFINE_ONE(NAME, T, ALONE, TARGET)        \
  TARGET NATIVE_INLINE T NAME##_alone(T a, T b) { \
    (void)a;                                      \
    return (T)(ALONE);                            \
  }

#define DEFINE_ROW(NAME, T, IN_ROWS)                                                        \
  NATIVE_INLINE void NAME##_row(T *restrict row, const T *restrict values, int64_t count) { \
    for (int64_t j = 0; j < count; j++) {                                                   \
      T a = row[j], b = values[j];                                                          \
      (void)a;                                                                              \
      row[j] = (T)(IN_ROWS);                                                                \
    }                                                                                       \
  }

#define DEFINE_LOOP(NAME, ONE, T, INDEX, COMPONENTS, TARGET)           \
  TARGET static void NAME##_alone_all(const scatter_rows_job_t *job) { \
    T *restrict to = (T *)job->to + job->begin;                        \
    const T *restrict from = (const T *)job->from + job->begin;        \
    for (int64_t i = job->first; i < job->last; i++) {                 \
      OFFSET_OF(INDEX, COMPONENTS)                                     \
      if (fits) to[offset] = ONE##_alone(to[offset], from[i]);         \
    }                                                                  \
  }                                                                    \
                                                                       \
  TARGET static void NAME##_all(const scatter_rows_job_t *job) {       \
    T *restrict to = (T *)job->to + job->begin;                        \
    const T *restrict from = (const T *)job->from + job->begin;        \
    int64_t stride = job->width, width = job->end - job->begin;        \
    for (int64_t i = job->first; i < job->last; i++) {                 \
      OFFSET_OF(INDEX, COMPONENTS)                                     \
      if (fits) ONE##_row(to + offset, from + i * stride, width);      \
    }                                                                  \
  }

#define DEFINE_LISTED(NAME, T, TARGET)                                                      \
  TARGET static void NAME##_listed(const scatter_rows_job_t *job, const int64_t *offsets,   \
                                   const int64_t *windows, int64_t count) {                 \
    T *restrict to = (T *)job->to + job->begin;                                             \
    const T *restrict from = (const T *)job->from + job->begin;                             \
    int64_t width = job->end - job->begin;                                                  \
    for (int64_t k = 0; width == 1 && k < count; k++)                                       \
      if (offsets[k] >= 0) to[offsets[k]] = NAME##_alone(to[offsets[k]], from[windows[k]]); \
    for (int64_t k = 0; width > 1 && k < count; k++)                                        \
      if (offsets[k] >= 0) NAME##_row(to + offsets[k], from + windows[k], width);           \
  }

#define DEFINE_DIRECT(NAME, T, INDEX, COMPONENTS, FORM, TARGET)  \
  DEFINE_LOOP(NAME##_##FORM, NAME, T, INDEX, COMPONENTS, TARGET) \
  static void NAME##_##FORM(const scatter_rows_job_t *job) {     \
    if (job->width == 1)                                         \
      NAME##_##FORM##_alone_all(job);                            \
    else                                                         \
      NAME##_##FORM##_all(job);                                  \
  }

#define DEFINE_FORMS(NAME, T, TARGET)               \
  DEFINE_DIRECT(NAME, T, int32_t, 1, s32_1, TARGET) \
  DEFINE_DIRECT(NAME, T, int32_t, 2, s32_2, TARGET) \
  DEFINE_DIRECT(NAME, T, int64_t, 1, s64_1, TARGET) \
  DEFINE_DIRECT(NAME, T, int64_t, 2, s64_2, TARGET) \
  DEFINE_LISTED(NAME, T, TARGET)

#define ANY_TARGET
#define DEFINE_LIST(NAME, T, ALONE, IN_ROWS) \
  DEFINE_ONE(NAME, T, ALONE, ANY_TARGET)     \
  DEFINE_ROW(NAME, T, IN_ROWS)               \
  DEFINE_LISTED(NAME, T, ANY_TARGET)
#define DEFINE_LOOPS(NAME, T, ALONE, IN_ROWS) \
  DEFINE_ONE(NAME, T, ALONE, ANY_TARGET)      \
  DEFINE_ROW(NAME, T, IN_ROWS)                \
  DEFINE_FORMS(NAME, T, ANY_TARGET)

/* LOOPS: DEFINE_LOOPS, or for types that are rarely scattered DEFINE_LIST. */
#define DEFINE_NUMBERS(LOOPS, NAME, T, PRODUCT, MOST, LEAST, MOST_IN_ROWS, LEAST_IN_ROWS) \
  LOOPS(NAME##_add, T, a + b, a + b)                                                      \
  LOOPS(NAME##_multiply, T, PRODUCT, PRODUCT)                                             \
  LOOPS(NAME##_maximum, T, MOST, MOST_IN_ROWS)                                            \
  LOOPS(NAME##_minimum, T, LEAST, LEAST_IN_ROWS)
/* S: the type that is compared. Products of narrow types are made without sign, as they may
 * overflow an int. */
#define DEFINE_INTEGERS(LOOPS, NAME, T, S)                                             \
  DEFINE_NUMBERS(LOOPS, NAME, T, 1u * a * b, (S)a > (S)b ? a : b, (S)a < (S)b ? a : b, \
                 (S)a > (S)b ? a : b, (S)a < (S)b ? a : b)

/* As p##_maximum and p##_minimum, by masks of bits, of which compilers make vectors. */
#define DEFINE_EXTREMES(p, T, U)                                                        \
  NATIVE_INLINE T p##_chosen(T a, T b, U is_a, U both) {                                \
    U x = p##_bits(a), y = p##_bits(b), is_equal = -(U)(a == b);                        \
    is_a |= -(U)(a != a);                                                               \
    return p##_from_bits((both & is_equal) | (((x & is_a) | (y & ~is_a)) & ~is_equal)); \
  }                                                                                     \
  NATIVE_INLINE T p##_most(T a, T b) {                                                  \
    return p##_chosen(a, b, -(U)(a > b), p##_bits(a) & p##_bits(b));                    \
  }                                                                                     \
  NATIVE_INLINE T p##_least(T a, T b) {                                                 \
    return p##_chosen(a, b, -(U)(a < b), p##_bits(a) | p##_bits(b));                    \
  }

DEFINE_EXTREMES(f32, float, uint32_t)
DEFINE_EXTREMES(f64, double, uint64_t)
/* Equal values and those that are no numbers are rare, so that a branch is guessed right. */
#define FLOAT_MOST(p) __builtin_islessgreater(a, b) ? (a > b ? a : b) : p##_maximum(a, b)
#define FLOAT_LEAST(p) __builtin_islessgreater(a, b) ? (a < b ? a : b) : p##_minimum(a, b)
#define DEFINE_FLOATS(p, T)                                                               \
  DEFINE_NUMBERS(DEFINE_LOOPS, p, T, a *b, FLOAT_MOST(p), FLOAT_LEAST(p), p##_most(a, b), \
                 p##_least(a, b))

/* Floats of 16 bits are combined as f32 and rounded, which is the same as to combine them exactly
 * and to round. */
#define AS_F32(p, VALUE) p##_from_f32(VALUE(p##_to_f32(a), p##_to_f32(b)))
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define DEFINE_HALVES(p)                                                          \
  DEFINE_LIST(p##_add, uint16_t, AS_F32(p, SUM), AS_F32(p, SUM))                  \
  DEFINE_LIST(p##_multiply, uint16_t, AS_F32(p, PRODUCT), AS_F32(p, PRODUCT))     \
  DEFINE_LIST(p##_maximum, uint16_t, AS_F32(p, f32_maximum), AS_F32(p, f32_most)) \
  DEFINE_LIST(p##_minimum, uint16_t, AS_F32(p, f32_minimum), AS_F32(p, f32_least))
#define f16_to_f32 hr_f16_to_f32
#define f16_from_f32 hr_f32_to_f16
#define bf16_to_f32 hr_bf16_to_f32
#define bf16_from_f32 hr_f32_to_bf16

DEFINE_FLOATS(f32, float)
DEFINE_FLOATS(f64, double)
DEFINE_HALVES(f16)
DEFINE_HALVES(bf16)
DEFINE_INTEGERS(DEFINE_LOOPS, s32, uint32_t, int32_t)
DEFINE_INTEGERS(DEFINE_LOOPS, s64, uint64_t, int64_t)
DEFINE_INTEGERS(DEFINE_LIST, s8, uint8_t, int8_t)
DEFINE_INTEGERS(DEFINE_LIST, s16, uint16_t, int16_t)
DEFINE_INTEGERS(DEFINE_LIST, u8, uint8_t, uint8_t)
DEFINE_INTEGERS(DEFINE_LIST, u16, uint16_t, uint16_t)
DEFINE_INTEGERS(DEFINE_LIST, u32, uint32_t, uint32_t)
DEFINE_INTEGERS(DEFINE_LIST, u64, uint64_t, uint64_t)
#define DEFINE_BITS(NAME, T)              \
  DEFINE_LIST(and_##NAME, T, a &b, a &b)  \
  DEFINE_LIST(or_##NAME, T, a | b, a | b) \
  DEFINE_LIST(xor_##NAME, T, a ^ b, a ^ b)
DEFINE_BITS(8, uint8_t)
DEFINE_BITS(16, uint16_t)
DEFINE_BITS(32, uint32_t)
DEFINE_BITS(64, uint64_t)
DEFINE_LOOPS(set_8, uint8_t, b, b)
DEFINE_LOOPS(set_16, uint16_t, b, b)
DEFINE_LOOPS(set_32, uint32_t, b, b)
DEFINE_LOOPS(set_64, uint64_t, b, b)

/* --- with AVX-512: what does not fill a vector goes by a mask --- */

#if SIMD_HAS_WIDTHS
#include <immintrin.h>

#define WIDE_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,f16c")))

/* `t` ends the names of the instructions for T. */
#define DEFINE_WIDE_ROWS(NAME, T, V, MASK, LANES, LOAD, STORE, COMBINED)                      \
  WIDE_TARGET NATIVE_INLINE void v512_##NAME##_some(T *row, const T *values, MASK mask) {     \
    V a = LOAD(mask, row), b = LOAD(mask, values);                                            \
    STORE(row, mask, COMBINED);                                                               \
  }                                                                                           \
                                                                                              \
  WIDE_TARGET NATIVE_INLINE void v512_##NAME##_row(T *restrict row, const T *restrict values, \
                                                   int64_t count) {                           \
    int64_t j = 0;                                                                            \
    for (; j + LANES <= count; j += LANES) v512_##NAME##_some(row + j, values + j, (MASK)-1); \
    j += v512_##NAME##_parts(row + j, values + j, count - j);                                 \
    if (j < count) v512_##NAME##_some(row + j, values + j, (MASK)((1u << (count - j)) - 1));  \
  }

/* Half and quarter of a vector: unlike what goes by a mask, they are quickly read again when the
 * next row falls on them. Returns how many elements were done. */
#define LOAD_32(from) _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(from)))
#define LOAD_16(from) _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(from)))
#define STORE_32(to, x) _mm256_storeu_si256((__m256i *)(to), _mm512_castsi512_si256((__m512i)(x)))
#define STORE_16(to, x) _mm_storeu_si128((__m128i *)(to), _mm512_castsi512_si128((__m512i)(x)))
#define WIDE_PART(T, V, BYTES, COMBINED)                             \
  if ((count - j) * (int64_t)sizeof(T) >= BYTES) {                   \
    V a = (V)LOAD_##BYTES(row + j), b = (V)LOAD_##BYTES(values + j); \
    STORE_##BYTES(row + j, COMBINED);                                \
    j += BYTES / (int64_t)sizeof(T);                                 \
  }
#define DEFINE_WIDE_PARTS(NAME, T, V, COMBINED)                                                   \
  WIDE_TARGET NATIVE_INLINE int64_t v512_##NAME##_parts(T *row, const T *values, int64_t count) { \
    int64_t j = 0;                                                                                \
    WIDE_PART(T, V, 32, COMBINED)                                                                 \
    WIDE_PART(T, V, 16, COMBINED)                                                                 \
    return j;                                                                                     \
  }

#define DEFINE_WIDE(NAME, T, V, MASK, t, ALONE, COMBINED)                               \
  DEFINE_WIDE_PARTS(NAME, T, V, COMBINED)                                               \
  DEFINE_WIDE_ROWS(NAME, T, V, MASK, (int64_t)(64 / sizeof(T)), _mm512_maskz_loadu_##t, \
                   _mm512_mask_storeu_##t, COMBINED)                                    \
  DEFINE_ONE(v512_##NAME, T, ALONE, WIDE_TARGET)                                        \
  DEFINE_FORMS(v512_##NAME, T, WIDE_TARGET)

/* The instruction orders zeros by their signs, but of a number and none it chooses the number. */
#define EXTREME(t, which)                                                                          \
  _mm512_mask_add_##t(_mm512_range_##t(a, b, which), _mm512_cmp_##t##_mask(a, b, _CMP_UNORD_Q), a, \
                      b)

/* Of one number; where one is none, by a branch, which is guessed right as such are rare. */
#define DEFINE_EXTREME_ALONE(p, T, set, s, get)                                         \
  WIDE_TARGET NATIVE_INLINE T v512_##p##_most(T a, T b) {                               \
    return __builtin_isunordered(a, b) ? a + b : get(_mm_range_##s(set(a), set(b), 5)); \
  }                                                                                     \
  WIDE_TARGET NATIVE_INLINE T v512_##p##_least(T a, T b) {                              \
    return __builtin_isunordered(a, b) ? a + b : get(_mm_range_##s(set(a), set(b), 4)); \
  }
DEFINE_EXTREME_ALONE(f32, float, _mm_set_ss, ss, _mm_cvtss_f32)
DEFINE_EXTREME_ALONE(f64, double, _mm_set_sd, sd, _mm_cvtsd_f64)

#define DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, PRODUCT, MOST, LEAST, MOST_ALONE, LEAST_ALONE) \
  DEFINE_WIDE(NAME##_add, T, V, MASK, t, a + b, _mm512_add_##t(a, b))                           \
  DEFINE_WIDE(NAME##_multiply, T, V, MASK, t, a *b, PRODUCT)                                    \
  DEFINE_WIDE(NAME##_maximum, T, V, MASK, t, MOST_ALONE, MOST)                                  \
  DEFINE_WIDE(NAME##_minimum, T, V, MASK, t, LEAST_ALONE, LEAST)
#define DEFINE_WIDE_FLOATS(NAME, T, V, MASK, t)                                                \
  DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, _mm512_mul_##t(a, b), EXTREME(t, 5), EXTREME(t, 4), \
                      v512_##NAME##_most(a, b), v512_##NAME##_least(a, b))
#define DEFINE_WIDE_INTEGERS(NAME, T, V, MASK, t)                                        \
  DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, _mm512_mullo_##t(a, b), _mm512_max_##t(a, b), \
                      _mm512_min_##t(a, b), NAME##_maximum_alone(a, b),                  \
                      NAME##_minimum_alone(a, b))

DEFINE_WIDE_FLOATS(f32, float, __m512, __mmask16, ps)
DEFINE_WIDE_FLOATS(f64, double, __m512d, __mmask8, pd)
DEFINE_WIDE_INTEGERS(s32, uint32_t, __m512i, __mmask16, epi32)
DEFINE_WIDE_INTEGERS(s64, uint64_t, __m512i, __mmask8, epi64)

/* Sixteen floats of 16 bits, as f32. */
#define LOAD_f16(mask, from) _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from))
#define STORE_f16(to, mask, x) \
  _mm256_mask_storeu_epi16(to, mask, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
#define LOAD_bf16(mask, from) \
  _mm512_castsi512_ps(        \
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16))
#define STORE_bf16(to, mask, x) _mm256_mask_storeu_epi16(to, mask, v512_to_bf16(x))

/* As hr_f32_to_bf16. */
WIDE_TARGET NATIVE_INLINE __m256i v512_to_bf16(__m512 x) {
  __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16),
          one = _mm512_set1_epi32(1);
  __m512i half = _mm512_add_epi32(_mm512_and_si512(high, one), _mm512_set1_epi32(0x7fff));
  __m512i none =
      _mm512_or_si512(_mm512_and_si512(high, _mm512_set1_epi32(0x8000)), _mm512_set1_epi32(0x7fc0));
  __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  return _mm512_cvtepi32_epi16(
      _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), none));
}

WIDE_TARGET NATIVE_INLINE float v512_f16_to_f32(uint16_t bits) { return _cvtsh_ss(bits); }
WIDE_TARGET NATIVE_INLINE uint16_t v512_f16_from_f32(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}
#define v512_bf16_to_f32 hr_bf16_to_f32
#define v512_bf16_from_f32 hr_f32_to_bf16

#define DEFINE_WIDE_HALF(p, OP, VALUE, COMBINED)                                                   \
  WIDE_TARGET NATIVE_INLINE int64_t v512_##p##_##OP##_parts(uint16_t *row, const uint16_t *values, \
                                                            int64_t count) {                       \
    (void)row, (void)values, (void)count;                                                          \
    return 0;                                                                                      \
  }                                                                                                \
  DEFINE_WIDE_ROWS(p##_##OP, uint16_t, __m512, __mmask16, 16, LOAD_##p, STORE_##p, COMBINED)       \
  DEFINE_ONE(v512_##p##_##OP, uint16_t, AS_F32(v512_##p, VALUE), WIDE_TARGET)                      \
  DEFINE_LISTED(v512_##p##_##OP, uint16_t, WIDE_TARGET)
#define DEFINE_WIDE_HALVES(p)                                 \
  DEFINE_WIDE_HALF(p, add, SUM, _mm512_add_ps(a, b))          \
  DEFINE_WIDE_HALF(p, multiply, PRODUCT, _mm512_mul_ps(a, b)) \
  DEFINE_WIDE_HALF(p, maximum, f32_maximum, EXTREME(ps, 5))   \
  DEFINE_WIDE_HALF(p, minimum, f32_minimum, EXTREME(ps, 4))
DEFINE_WIDE_HALVES(f16)
DEFINE_WIDE_HALVES(bf16)
#endif

/* --- which loops ------------------------------------------------------------------------------ */

typedef struct scatter_loops {
  scatter_list_fn listed;
  scatter_rows_fn direct[2 * SCATTER_ROWS_COMPONENTS]; /* indices of 32 bits, then of 64 */
} scatter_loops_t;

enum { NUMBER_OPS = 4, BIT_OPS = 3 };

#define LIST_OF(NAME) \
  { .listed = NAME##_listed }
#define LOOPS_OF(NAME)                                                        \
  {                                                                           \
    NAME##_listed, { NAME##_s32_1, NAME##_s32_2, NAME##_s64_1, NAME##_s64_2 } \
  }
#define NUMBERS_OF(LOOPS, NAME) \
  { LOOPS(NAME##_add), LOOPS(NAME##_multiply), LOOPS(NAME##_maximum), LOOPS(NAME##_minimum) }
#define BITS_OF(NAME) \
  { LIST_OF(and_##NAME), LIST_OF(or_##NAME), LIST_OF(xor_##NAME) }

static const scatter_loops_t set_loops[] = {LOOPS_OF(set_8), LOOPS_OF(set_16), LOOPS_OF(set_32),
                                            LOOPS_OF(set_64)};
static const scatter_loops_t bit_loops[][BIT_OPS] = {BITS_OF(8), BITS_OF(16), BITS_OF(32),
                                                     BITS_OF(64)};
static const scatter_loops_t number_loops[HR_DTYPE_COUNT][NUMBER_OPS] = {
    [HR_F32] = NUMBERS_OF(LOOPS_OF, f32), [HR_F64] = NUMBERS_OF(LOOPS_OF, f64),
    [HR_S32] = NUMBERS_OF(LOOPS_OF, s32), [HR_S64] = NUMBERS_OF(LOOPS_OF, s64),
    [HR_F16] = NUMBERS_OF(LIST_OF, f16),  [HR_BF16] = NUMBERS_OF(LIST_OF, bf16),
    [HR_S8] = NUMBERS_OF(LIST_OF, s8),    [HR_S16] = NUMBERS_OF(LIST_OF, s16),
    [HR_U8] = NUMBERS_OF(LIST_OF, u8),    [HR_U16] = NUMBERS_OF(LIST_OF, u16),
    [HR_U32] = NUMBERS_OF(LIST_OF, u32),  [HR_U64] = NUMBERS_OF(LIST_OF, u64)};
#if SIMD_HAS_WIDTHS
static const scatter_loops_t v512_loops[HR_DTYPE_COUNT][NUMBER_OPS] = {
    [HR_F32] = NUMBERS_OF(LOOPS_OF, v512_f32), [HR_F64] = NUMBERS_OF(LOOPS_OF, v512_f64),
    [HR_S32] = NUMBERS_OF(LOOPS_OF, v512_s32), [HR_S64] = NUMBERS_OF(LOOPS_OF, v512_s64),
    [HR_F16] = NUMBERS_OF(LIST_OF, v512_f16),  [HR_BF16] = NUMBERS_OF(LIST_OF, v512_bf16)};
#endif

static const scatter_loops_t *loops_of_number(int op, hr_dtype_t dtype) {
#if SIMD_HAS_WIDTHS
  if (simd_width() == SIMD_512 && v512_loops[dtype][op].listed) return &v512_loops[dtype][op];
#endif
  return &number_loops[dtype][op];
}

static bool has_bits(hr_dtype_t dtype) {
  hr_dtype_class_t class = hr_dtype_class(dtype);
  return dtype == HR_PRED || class == HR_CLASS_SIGNED || class == HR_CLASS_UNSIGNED;
}

static const scatter_loops_t *find_loops(hlo_opcode_t op, hr_dtype_t dtype) {
  size_t bytes = hr_dtype_bytes(dtype);
  if (bytes > 8) return NULL;
  int size = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  switch (op) {
    case HLO_COPY:
      return &set_loops[size];
    case HLO_ADD:
      return loops_of_number(0, dtype);
    case HLO_MULTIPLY:
      return loops_of_number(1, dtype);
    case HLO_MAXIMUM:
      return loops_of_number(2, dtype);
    case HLO_MINIMUM:
      return loops_of_number(3, dtype);
    case HLO_AND:
      return has_bits(dtype) ? &bit_loops[size][0] : NULL;
    case HLO_OR:
      return has_bits(dtype) ? &bit_loops[size][1] : NULL;
    case HLO_XOR:
      return has_bits(dtype) ? &bit_loops[size][2] : NULL;
    default:
      return NULL;
  }
}

bool scatter_rows_choose(hlo_opcode_t op, hr_dtype_t dtype, scatter_rows_job_t *job) {
  const scatter_loops_t *loops = find_loops(op, dtype);
  hr_dtype_t index = job->offsets->index_dtype;
  int components = job->offsets->starts.vector_size;
  if (!loops || !loops->listed) return false;
  job->listed = loops->listed;
  if ((index == HR_S32 || index == HR_S64) && components >= 1 &&
      components <= SCATTER_ROWS_COMPONENTS)
    job->direct = loops->direct[(index == HR_S64 ? SCATTER_ROWS_COMPONENTS : 0) + components - 1];
  return true;
}

bool scatter_rows_init(const gather_offsets_t *native, int64_t width, scatter_rows_job_t *job) {
  const window_starts_t *offsets = &native->starts;
  const int64_t *strides = offsets->batch.row_strides;
  if (offsets->batch.empty || strides[0] != width || strides[2] != 0) return false;
  *job = (scatter_rows_job_t){.offsets = native,
                              .last = offsets->batch.row_count,
                              .width = width,
                              .end = width,
                              .parts = 1};
  job->index_step = strides[1];
  job->component_step = offsets->vector_stride;
  for (int c = 0; c < offsets->vector_size && c < SCATTER_ROWS_COMPONENTS; c++) {
    if (offsets->operand_limit[c] < 0) return false;
    job->limits[c] = offsets->operand_limit[c];
    job->strides[c] = offsets->operand_stride[c];
  }
  return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Leaves the windows that fit and are this part's, which is as good as random, so that a branch
 * would be guessed wrong half of the time; that one does not fit is rare. Returns how many. */
static int64_t keep_owned(const scatter_rows_job_t *job, int64_t *offsets, int64_t *windows,
                          int64_t count) {
  int64_t kept = 0;
  if (job->parts == 1) return count;
  for (int64_t i = 0; i < count; i++) {
    bool is_owned = (offsets[i] >= 0) & is_owner(job, offsets[i]);
    offsets[kept] = offsets[i];
    windows[kept] = windows[i];
    kept += is_owned;
  }
  return kept;
}

void scatter_rows_run(const scatter_rows_job_t *job) {
  int64_t offsets[GATHER_OFFSETS_BLOCK], windows[GATHER_OFFSETS_BLOCK];
  if (job->direct && job->parts == 1) {
    job->direct(job);
    return;
  }
  for (int64_t first = job->first; first < job->last; first += GATHER_OFFSETS_BLOCK) {
    int64_t count =
        job->last - first < GATHER_OFFSETS_BLOCK ? job->last - first : GATHER_OFFSETS_BLOCK;
    gather_offsets_find(job->offsets, job->indices, first, count, offsets, windows);
    job->listed(job, offsets, windows, keep_owned(job, offsets, windows, count));
  }
}

/* --- copies that are combined at the end ------------------------------------------------------ */

/* The bits of what changes no value of the type. Floats: -0 does not change +0, but +0 would change
 * -0. */
static uint64_t neutral_float(hlo_opcode_t op, hr_dtype_t dtype) {
  return hr_float_encode(dtype, op == HLO_MULTIPLY  ? 1
                                : op == HLO_MAXIMUM ? -INFINITY
                                : op == HLO_MINIMUM ? INFINITY
                                                    : -0.0);
}

static uint64_t neutral_integer(hlo_opcode_t op, hr_dtype_t dtype) {
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  uint64_t all = dtype == HR_PRED ? 1 : UINT64_MAX >> (64 - 8 * hr_dtype_bytes(dtype));
  switch (op) {
    case HLO_MULTIPLY:
      return 1;
    case HLO_AND:
      return all;
    case HLO_MAXIMUM:
      return is_signed ? all / 2 + 1 : 0;
    case HLO_MINIMUM:
      return is_signed ? all / 2 : all;
    default:
      return 0;
  }
}

#define FILL(T) \
  for (int64_t i = 0; i < count; i++) ((T *)to)[i] = (T)bits

void scatter_rows_fill(hlo_opcode_t op, hr_dtype_t dtype, void *to, int64_t count) {
  uint64_t bits = hr_dtype_is_float(dtype) ? neutral_float(op, dtype) : neutral_integer(op, dtype);
  switch (hr_dtype_bytes(dtype)) {
    case 1:
      FILL(uint8_t);
      return;
    case 2:
      FILL(uint16_t);
      return;
    case 4:
      FILL(uint32_t);
      return;
    default:
      FILL(uint64_t);
      return;
  }
}
