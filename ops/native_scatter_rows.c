#include "ops/native_scatter_rows.h"

#include <math.h>

#include "ops/native_cpu.h"
#include "ops/scalar.h"

NATIVE_OPTIMIZE

NATIVE_INLINE int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Of equal places the owner is the same; neighbours have different ones. */
NATIVE_INLINE bool is_owner(const scatter_rows_job_t *job, int64_t place) {
  uint64_t mixed = (uint64_t)place * 0x9e3779b97f4a7c15u;
  return (uint32_t)((mixed >> 32) * job->parts >> 32) == job->part;
}

/* The place of a window in the operand, if it fits; else any number, so that the product may overflow. */
#define PLACE_OF(INDEX, COMPONENTS)                                                   \
  const INDEX *vector = (const INDEX *)job->indices + i * job->index_step;            \
  int64_t first = (int64_t)vector[0], place = times(first, job->strides[0]);          \
  bool fits = (uint64_t)first <= (uint64_t)job->limits[0];                            \
  if (COMPONENTS > 1) {                                                               \
    int64_t second = (int64_t)vector[job->component_step];                            \
    fits &= (uint64_t)second <= (uint64_t)job->limits[1];                             \
    place = (int64_t)((uint64_t)place + (uint64_t)times(second, job->strides[1]));    \
  }

/* Whether a window is this part's is as good as random, so that a branch would be guessed wrong half of the time: those
 * that are go into a list first. */
#define BLOCK 256

/* What is done with one element, and with a row of them. */
#define DEFINE_ONE(NAME, T, ALONE)         \
  NATIVE_INLINE T NAME##_alone(T a, T b) { \
    (void)a;                               \
    return (T)(ALONE);                     \
  }

#define DEFINE_ROW(NAME, T, IN_ROWS)                                                        \
  NATIVE_INLINE void NAME##_row(T *restrict row, const T *restrict values, int64_t count) { \
    for (int64_t j = 0; j < count; j++) {                                                   \
      T a = row[j], b = values[j];                                                          \
      (void)a;                                                                              \
      row[j] = (T)(IN_ROWS);                                                                \
    }                                                                                       \
  }

#define DEFINE_LOOP(NAME, ONE, T, INDEX, COMPONENTS, TARGET)                                      \
  TARGET static void NAME##_alone_all(const scatter_rows_job_t *job) {                            \
    T *restrict to = (T *)job->to + job->begin;                                                   \
    const T *restrict from = (const T *)job->from + job->begin;                                   \
    for (int64_t i = job->first; i < job->last; i++) {                                            \
      PLACE_OF(INDEX, COMPONENTS)                                                                 \
      if (fits) to[place] = ONE##_alone(to[place], from[i]);                                      \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  TARGET static void NAME##_all(const scatter_rows_job_t *job) {                                  \
    T *restrict to = (T *)job->to + job->begin;                                                   \
    const T *restrict from = (const T *)job->from + job->begin;                                   \
    int64_t step = job->width, width = job->end - job->begin;                                     \
    for (int64_t i = job->first; i < job->last; i++) {                                            \
      PLACE_OF(INDEX, COMPONENTS)                                                                 \
      if (fits) ONE##_row(to + place, from + i * step, width);                                    \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  TARGET static int NAME##_list(const scatter_rows_job_t *job, int64_t first, int64_t last,       \
                                int64_t *places, int64_t *windows) {                              \
    int count = 0;                                                                                \
    for (int64_t i = first; i < last; i++) {                                                      \
      PLACE_OF(INDEX, COMPONENTS)                                                                 \
      places[count] = place, windows[count] = i;                                                  \
      count += fits & is_owner(job, place);                                                       \
    }                                                                                             \
    return count;                                                                                 \
  }                                                                                               \
                                                                                                  \
  TARGET static void NAME##_part(const scatter_rows_job_t *job) {                                 \
    T *restrict to = (T *)job->to + job->begin;                                                   \
    const T *restrict from = (const T *)job->from + job->begin;                                   \
    int64_t places[BLOCK], windows[BLOCK], step = job->width, width = job->end - job->begin;      \
    for (int64_t first = job->first; first < job->last; first += BLOCK) {                         \
      int64_t last = job->last - first < BLOCK ? job->last : first + BLOCK;                       \
      int count = NAME##_list(job, first, last, places, windows);                                 \
      for (int k = 0; k < count; k++) ONE##_row(to + places[k], from + windows[k] * step, width); \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void NAME(const scatter_rows_job_t *job) {                                               \
    if (job->parts > 1)                                                                           \
      NAME##_part(job);                                                                           \
    else if (job->width == 1)                                                                     \
      NAME##_alone_all(job);                                                                      \
    else                                                                                          \
      NAME##_all(job);                                                                            \
  }

#define DEFINE_FORMS(NAME, ONE, T, TARGET)            \
  DEFINE_LOOP(NAME##_s32_1, ONE, T, int32_t, 1, TARGET) \
  DEFINE_LOOP(NAME##_s32_2, ONE, T, int32_t, 2, TARGET) \
  DEFINE_LOOP(NAME##_s64_1, ONE, T, int64_t, 1, TARGET) \
  DEFINE_LOOP(NAME##_s64_2, ONE, T, int64_t, 2, TARGET)

#define ANY_TARGET
#define DEFINE_LOOPS(NAME, T, ALONE, IN_ROWS) \
  DEFINE_ONE(NAME, T, ALONE)                  \
  DEFINE_ROW(NAME, T, IN_ROWS)                \
  DEFINE_FORMS(NAME, NAME, T, ANY_TARGET)

#define DEFINE_NUMBERS(NAME, T, MOST, LEAST, MOST_IN_ROWS, LEAST_IN_ROWS) \
  DEFINE_LOOPS(NAME##_add, T, a + b, a + b)                               \
  DEFINE_LOOPS(NAME##_multiply, T, a *b, a *b)                            \
  DEFINE_LOOPS(NAME##_maximum, T, MOST, MOST_IN_ROWS)                     \
  DEFINE_LOOPS(NAME##_minimum, T, LEAST, LEAST_IN_ROWS)

#define SIGNED_MOST(S) (S) a > (S)b ? a : b
#define SIGNED_LEAST(S) (S) a < (S)b ? a : b

/* As p##_maximum and p##_minimum, by masks of bits, of which compilers make vectors. */
#define DEFINE_EXTREMES(p, T, U)                                                                          \
  NATIVE_INLINE T p##_chosen(T a, T b, U is_a, U both) {                                                  \
    U x = p##_bits(a), y = p##_bits(b), is_equal = -(U)(a == b);                                          \
    is_a |= -(U)(a != a);                                                                                 \
    return p##_from_bits((both & is_equal) | (((x & is_a) | (y & ~is_a)) & ~is_equal));                   \
  }                                                                                                       \
  NATIVE_INLINE T p##_most(T a, T b) { return p##_chosen(a, b, -(U)(a > b), p##_bits(a) & p##_bits(b)); } \
  NATIVE_INLINE T p##_least(T a, T b) { return p##_chosen(a, b, -(U)(a < b), p##_bits(a) | p##_bits(b)); }

DEFINE_EXTREMES(f32, float, uint32_t)
DEFINE_EXTREMES(f64, double, uint64_t)
/* Equal values and those that are no numbers are rare, so that a branch is guessed right. */
#define FLOAT_MOST(p) __builtin_islessgreater(a, b) ? (a > b ? a : b) : p##_maximum(a, b)
#define FLOAT_LEAST(p) __builtin_islessgreater(a, b) ? (a < b ? a : b) : p##_minimum(a, b)

DEFINE_NUMBERS(f32, float, FLOAT_MOST(f32), FLOAT_LEAST(f32), f32_most(a, b), f32_least(a, b))
DEFINE_NUMBERS(f64, double, FLOAT_MOST(f64), FLOAT_LEAST(f64), f64_most(a, b), f64_least(a, b))
DEFINE_NUMBERS(i32, uint32_t, SIGNED_MOST(int32_t), SIGNED_LEAST(int32_t), SIGNED_MOST(int32_t), SIGNED_LEAST(int32_t))
DEFINE_NUMBERS(i64, uint64_t, SIGNED_MOST(int64_t), SIGNED_LEAST(int64_t), SIGNED_MOST(int64_t), SIGNED_LEAST(int64_t))
DEFINE_LOOPS(set_8, uint8_t, b, b)
DEFINE_LOOPS(set_16, uint16_t, b, b)
DEFINE_LOOPS(set_32, uint32_t, b, b)
DEFINE_LOOPS(set_64, uint64_t, b, b)

/* --- with AVX-512: what does not fill a vector goes by a mask --- */

#if NATIVE_HAS_WIDTHS
#include <immintrin.h>

#define WIDE_TARGET __attribute__((target("avx512f,avx512dq")))

/* `t` ends the names of the instructions for T. */
#define DEFINE_WIDE(NAME, T, V, MASK, t, COMBINED)                                                           \
  WIDE_TARGET NATIVE_INLINE void wide_##NAME##_some(T *row, const T *values, MASK mask) {                    \
    V a = _mm512_maskz_loadu_##t(mask, row), b = _mm512_maskz_loadu_##t(mask, values);                       \
    _mm512_mask_storeu_##t(row, mask, COMBINED);                                                             \
  }                                                                                                          \
                                                                                                             \
  WIDE_TARGET NATIVE_INLINE void wide_##NAME##_row(T *restrict row, const T *restrict values, int64_t count) { \
    int64_t lanes = 64 / (int64_t)sizeof(T), j = 0;                                                          \
    for (; j + lanes <= count; j += lanes) wide_##NAME##_some(row + j, values + j, (MASK)-1);                \
    if (j < count) wide_##NAME##_some(row + j, values + j, (MASK)((1u << (count - j)) - 1));                 \
  }                                                                                                          \
                                                                                                             \
  NATIVE_INLINE T wide_##NAME##_alone(T a, T b) { return NAME##_alone(a, b); }                               \
  DEFINE_FORMS(wide_##NAME, wide_##NAME, T, WIDE_TARGET)

/* The instruction orders zeros by their signs, but of a number and none it chooses the number. */
#define EXTREME(t, which) \
  _mm512_mask_add_##t(_mm512_range_##t(a, b, which), _mm512_cmp_##t##_mask(a, b, _CMP_UNORD_Q), a, b)

#define DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, PRODUCT, MOST, LEAST)    \
  DEFINE_WIDE(NAME##_add, T, V, MASK, t, _mm512_add_##t(a, b))            \
  DEFINE_WIDE(NAME##_multiply, T, V, MASK, t, PRODUCT)                    \
  DEFINE_WIDE(NAME##_maximum, T, V, MASK, t, MOST)                        \
  DEFINE_WIDE(NAME##_minimum, T, V, MASK, t, LEAST)
#define DEFINE_WIDE_FLOATS(NAME, T, V, MASK, t) \
  DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, _mm512_mul_##t(a, b), EXTREME(t, 5), EXTREME(t, 4))
#define DEFINE_WIDE_INTEGERS(NAME, T, V, MASK, t)                            \
  DEFINE_WIDE_NUMBERS(NAME, T, V, MASK, t, _mm512_mullo_##t(a, b), _mm512_max_##t(a, b), _mm512_min_##t(a, b))

DEFINE_WIDE_FLOATS(f32, float, __m512, __mmask16, ps)
DEFINE_WIDE_FLOATS(f64, double, __m512d, __mmask8, pd)
DEFINE_WIDE_INTEGERS(i32, uint32_t, __m512i, __mmask16, epi32)
DEFINE_WIDE_INTEGERS(i64, uint64_t, __m512i, __mmask8, epi64)
#endif

#define LOOPS_OF(NAME) {NAME##_s32_1, NAME##_s32_2, NAME##_s64_1, NAME##_s64_2}
#define NUMBERS_OF(NAME) \
  {LOOPS_OF(NAME##_add), LOOPS_OF(NAME##_multiply), LOOPS_OF(NAME##_maximum), LOOPS_OF(NAME##_minimum)}

static int number_of_op(hlo_opcode_t op) {
  switch (op) {
    case HLO_ADD: return 0;
    case HLO_MULTIPLY: return 1;
    case HLO_MAXIMUM: return 2;
    case HLO_MINIMUM: return 3;
    default: return -1;
  }
}

static int number_of_type(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32: return 0;
    case HR_F64: return 1;
    case HR_S32: return 2;
    case HR_S64: return 3;
    default: return -1;
  }
}

scatter_rows_fn scatter_rows_find(hlo_opcode_t op, hr_dtype_t dtype, hr_dtype_t index_dtype, int components) {
  static const scatter_rows_fn numbers[4][4][4] = {NUMBERS_OF(f32), NUMBERS_OF(f64), NUMBERS_OF(i32), NUMBERS_OF(i64)};
  static const scatter_rows_fn sets[4][4] = {LOOPS_OF(set_8), LOOPS_OF(set_16), LOOPS_OF(set_32), LOOPS_OF(set_64)};
  int type = number_of_type(dtype), number = number_of_op(op);
  int form = (index_dtype == HR_S64 ? 2 : 0) + components - 1;
  size_t bytes = hr_dtype_bytes(dtype);
  if ((index_dtype != HR_S32 && index_dtype != HR_S64) || components < 1 || components > SCATTER_ROWS_COMPONENTS)
    return NULL;
  if (op == HLO_COPY) return bytes > 8 ? NULL : sets[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3][form];
  if (type < 0 || number < 0) return NULL;
#if NATIVE_HAS_WIDTHS
  static const scatter_rows_fn wide[4][4][4] = {NUMBERS_OF(wide_f32), NUMBERS_OF(wide_f64), NUMBERS_OF(wide_i32),
                                                NUMBERS_OF(wide_i64)};
  if (native_width() == NATIVE_WIDE) return wide[type][number][form];
#endif
  return numbers[type][number][form];
}

bool scatter_rows_init(const native_places_t *native, int64_t width, scatter_rows_job_t *job) {
  const window_places_t *places = &native->places;
  const int64_t *steps = places->batch.row_strides;
  if (places->batch.empty || steps[0] != width || steps[2] != 0) return false;
  *job = (scatter_rows_job_t){.last = places->batch.row_count, .width = width, .end = width, .parts = 1};
  job->index_step = steps[1], job->component_step = places->vector_stride;
  for (int c = 0; c < places->vector_size && c < SCATTER_ROWS_COMPONENTS; c++) {
    if (places->operand_limit[c] < 0) return false;
    job->limits[c] = places->operand_limit[c], job->strides[c] = places->operand_stride[c];
  }
  return true;
}

/* --- copies that are combined at the end --- */

static void fill(hr_dtype_t dtype, double value, void *to, int64_t count) {
  if (dtype == HR_F32)
    for (int64_t i = 0; i < count; i++) ((float *)to)[i] = (float)value;
  else
    for (int64_t i = 0; i < count; i++) ((double *)to)[i] = value;
}

static void fill_integers(hr_dtype_t dtype, int64_t value, void *to, int64_t count) {
  if (dtype == HR_S32)
    for (int64_t i = 0; i < count; i++) ((uint32_t *)to)[i] = (uint32_t)value;
  else
    for (int64_t i = 0; i < count; i++) ((uint64_t *)to)[i] = (uint64_t)value;
}

void scatter_rows_fill(hlo_opcode_t op, hr_dtype_t dtype, void *to, int64_t count) {
  bool is_float = hr_dtype_is_float(dtype), is_short = dtype == HR_S32;
  int64_t most = is_short ? INT32_MAX : INT64_MAX;
  switch (op) {
    case HLO_MULTIPLY: is_float ? fill(dtype, 1, to, count) : fill_integers(dtype, 1, to, count); return;
    case HLO_MAXIMUM: is_float ? fill(dtype, -INFINITY, to, count) : fill_integers(dtype, ~most, to, count); return;
    case HLO_MINIMUM: is_float ? fill(dtype, INFINITY, to, count) : fill_integers(dtype, most, to, count); return;
    default: is_float ? fill(dtype, -0.0, to, count) : fill_integers(dtype, 0, to, count); return;
  }
}
