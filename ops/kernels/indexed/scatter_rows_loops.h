/* Macros of the loops of scatter_rows.c, from one function NAME_alone for an element and one
 * NAME_row for a row of elements:
 *
 *   DEFINE_DIRECT  the direct form, per index type     DEFINE_LISTED  the listed form
 *
 * Rows of 8, 16, 32 and 64 bytes, frequent in embeddings and sums over a graph's edges, and rows of
 * 3, 5 and 7 elements in the caches have special loops. */
#ifndef HLO_OPS_SCATTER_ROWS_LOOPS_H
#define HLO_OPS_SCATTER_ROWS_LOOPS_H

#include "base/arith.h"
#include "ops/kernels/elementwise/scalar.h"
#include "ops/kernels/indexed/scatter_rows.h"
#include "ops/kernels/simd/simd_target.h"

/* Equal values and NaNs are rare, so that the branch is predicted. */
#define LARGER (a > b ? a : b)
#define SMALLER (a < b ? a : b)
#define FLOAT_MOST(p) __builtin_islessgreater(a, b) ? LARGER : p##_maximum(a, b)
#define FLOAT_LEAST(p) __builtin_islessgreater(a, b) ? SMALLER : p##_minimum(a, b)

/* 16-bit floats are combined as f32 and rounded once: f32 has more than twice their precision
 * plus two bits, so that the result equals the rounded exact one. */
#define AS_F32(p, VALUE) p##_from_f32(VALUE(p##_to_f32(a), p##_to_f32(b)))
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))

NATIVE_INLINE int64_t wrap_multiply(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Computes the operand offset of window i and whether it fits. The product wraps for windows
 * that do not fit; it is then not used. */
#define OFFSET_OF(INDEX, COMPONENTS)                                                         \
  const INDEX *vector = (const INDEX *)job->indices + i * job->index_step;                   \
  int64_t first = (int64_t)vector[0], offset = wrap_multiply(first, job->strides[0]);        \
  bool fits = (uint64_t)first <= (uint64_t)job->limits[0];                                   \
  if (COMPONENTS > 1) {                                                                      \
    int64_t second = (int64_t)vector[job->component_step];                                   \
    fits &= (uint64_t)second <= (uint64_t)job->limits[1];                                    \
    offset = (int64_t)((uint64_t)offset + (uint64_t)wrap_multiply(second, job->strides[1])); \
  }

/* Rows of large arrays come from memory: those of later windows are prefetched. Rows of at most a
 * cache line need more of them under way, and their updates are prefetched, too, whose stream
 * processors lose among such rows. */
#define CACHE_LINE 64
#define PREFETCH_WINDOWS 12
#define PREFETCH_SHORT_WINDOWS 40
#define PREFETCH_UPDATE_BYTES 5120
#define PREFETCH_ROW(T, INDEX, COMPONENTS)                                                       \
  bool is_short = width * (int64_t)sizeof(T) <= CACHE_LINE;                                      \
  int64_t next = i + (is_short ? PREFETCH_SHORT_WINDOWS : PREFETCH_WINDOWS);                     \
  if (is_short) __builtin_prefetch((const char *)(from + i * stride) + PREFETCH_UPDATE_BYTES);   \
  if (next < job->last) {                                                                        \
    const INDEX *ahead = (const INDEX *)job->indices + next * job->index_step;                   \
    int64_t at = wrap_multiply((int64_t)ahead[0], job->strides[0]);                              \
    if (COMPONENTS > 1)                                                                          \
      at = (int64_t)((uint64_t)at + (uint64_t)wrap_multiply((int64_t)ahead[job->component_step], \
                                                            job->strides[1]));                   \
    __builtin_prefetch((const void *)((uintptr_t)to + (uint64_t)at * sizeof(T)), 1);             \
  }

/* NAME##_alone combines one element, NAME##_row one row. SCALAR and VECTOR are expressions in a
 * (accumulator) and b (update). */
#define DEFINE_ONE(NAME, T, SCALAR, TARGET)       \
  TARGET NATIVE_INLINE T NAME##_alone(T a, T b) { \
    (void)a;                                      \
    return (T)(SCALAR);                           \
  }

#define DEFINE_ROW(NAME, T, VECTOR)                                                         \
  NATIVE_INLINE void NAME##_row(T *restrict row, const T *restrict values, int64_t count) { \
    for (int64_t j = 0; j < count; j++) {                                                   \
      T a = row[j], b = values[j];                                                          \
      (void)a;                                                                              \
      row[j] = (T)(VECTOR);                                                                 \
    }                                                                                       \
  }

/* Windows whose indices are compared with the limits before any of them is combined. */
#define CHECKED_WINDOWS 512

/* True if all windows of the job fit. The loops have no branch, so that they vectorise. */
#define DEFINE_FIT(INDEX, UNSIGNED, COMPONENTS, FORM)                                           \
  NATIVE_CLONES                                                                                 \
  static bool all_fit_##FORM(const scatter_rows_job_t *job) {                                   \
    const INDEX *indices = (const INDEX *)job->indices + job->first * job->index_step;          \
    int64_t count = job->last - job->first, step = job->index_step, next = job->component_step; \
    UNSIGNED outside = 0, limits[COMPONENTS];                                                   \
    for (int c = 0; c < COMPONENTS; c++)                                                        \
      limits[c] = (UNSIGNED)hr_min(job->limits[c], (int64_t)((UNSIGNED)-1 >> 1));               \
    if (step == COMPONENTS && (COMPONENTS == 1 || next == 1))                                   \
      for (int64_t i = 0; i < count; i++)                                                       \
        for (int c = 0; c < COMPONENTS; c++)                                                    \
          outside |= (UNSIGNED)indices[i * COMPONENTS + c] > limits[c];                         \
    else                                                                                        \
      for (int64_t i = 0; i < count; i++)                                                       \
        for (int c = 0; c < COMPONENTS; c++)                                                    \
          outside |= (UNSIGNED)indices[i * step + c * next] > limits[c];                        \
    return !outside;                                                                            \
  }
DEFINE_FIT(int32_t, uint32_t, 1, s32_1)
DEFINE_FIT(int32_t, uint32_t, 2, s32_2)
DEFINE_FIT(int64_t, uint64_t, 1, s64_1)
DEFINE_FIT(int64_t, uint64_t, 2, s64_2)

#define RUN_WIDTH 4 /* most elements of a row that stays in registers in runs */

/* Loops over a block of windows, of which all may be known to fit. The job is the loop's own copy,
 * which stores do not alias, so that its fields stay in registers.
 *
 * A run is updates of one element, or of one short row, in succession. Its value stays in a
 * register, since the load after each store would wait for it; where runs are short, the branch
 * would be mispredicted. */
#define DEFINE_LOOP(NAME, ONE, T, INDEX, COMPONENTS, TARGET)                                     \
  TARGET NATIVE_INLINE void NAME##_alone(const scatter_rows_job_t *job, bool runs, bool known) { \
    T *restrict to = (T *)job->to + job->begin;                                                  \
    const T *restrict from = (const T *)job->from + job->begin;                                  \
    int64_t at = -1;                                                                             \
    T value = {0};                                                                               \
    for (int64_t i = job->first; i < job->last; i++) {                                           \
      OFFSET_OF(INDEX, COMPONENTS)                                                               \
      if (!known && !fits) continue;                                                             \
      value = ONE##_alone(runs && offset == at ? value : to[offset], from[i]);                   \
      to[at = offset] = value;                                                                   \
    }                                                                                            \
  }                                                                                              \
                                                                                                 \
  TARGET NATIVE_INLINE void NAME##_rows(const scatter_rows_job_t *job, int64_t width, bool far,  \
                                        bool known) {                                            \
    T *restrict to = (T *)job->to + job->begin;                                                  \
    const T *restrict from = (const T *)job->from + job->begin;                                  \
    int64_t stride = job->width;                                                                 \
    for (int64_t i = job->first; i < job->last; i++) {                                           \
      if (far) {                                                                                 \
        PREFETCH_ROW(T, INDEX, COMPONENTS)                                                       \
      }                                                                                          \
      OFFSET_OF(INDEX, COMPONENTS)                                                               \
      if (known || fits) ONE##_row(to + offset, from + i * stride, width);                       \
    }                                                                                            \
  }                                                                                              \
                                                                                                 \
  /* Runs of rows of a few elements: `width` is a constant at each call. */                      \
  TARGET NATIVE_INLINE void NAME##_run_rows(const scatter_rows_job_t *job, int64_t width) {      \
    T *restrict to = (T *)job->to + job->begin;                                                  \
    const T *restrict from = (const T *)job->from + job->begin;                                  \
    int64_t stride = job->width, at = -1;                                                        \
    T values[RUN_WIDTH] = {0};                                                                   \
    for (int64_t i = job->first; i < job->last; i++) {                                           \
      OFFSET_OF(INDEX, COMPONENTS)                                                               \
      if (!fits) continue;                                                                       \
      if (offset != at) {                                                                        \
        for (int64_t j = 0; j < width && at >= 0; j++) to[at + j] = values[j];                   \
        for (int64_t j = 0; j < width; j++) values[j] = to[offset + j];                          \
        at = offset;                                                                             \
      }                                                                                          \
      for (int64_t j = 0; j < width; j++)                                                        \
        values[j] = ONE##_alone(values[j], from[i * stride + j]);                                \
    }                                                                                            \
    for (int64_t j = 0; j < width && at >= 0; j++) to[at + j] = values[j];                       \
  }                                                                                              \
                                                                                                 \
  TARGET static void NAME##_alone_block(const scatter_rows_job_t *shared, bool known) {          \
    const scatter_rows_job_t own = *shared;                                                      \
    if (own.has_runs)                                                                            \
      NAME##_alone(&own, true, false);                                                           \
    else if (known)                                                                              \
      NAME##_alone(&own, false, true);                                                           \
    else                                                                                         \
      NAME##_alone(&own, false, false);                                                          \
  }                                                                                              \
                                                                                                 \
  TARGET static void NAME##_block(const scatter_rows_job_t *shared, bool known) {                \
    const scatter_rows_job_t own = *shared;                                                      \
    enum { WHOLE = 64 / sizeof(T) };                                                             \
    int64_t width = own.end - own.begin;                                                         \
    bool far = own.limits[0] > GATHER_CACHED_BYTES / (int64_t)sizeof(T) / (own.strides[0] + 1);  \
    if (own.has_runs && width <= RUN_WIDTH) {                                                    \
      if (width == 2)                                                                            \
        NAME##_run_rows(&own, 2);                                                                \
      else if (width == 3)                                                                       \
        NAME##_run_rows(&own, 3);                                                                \
      else                                                                                       \
        NAME##_run_rows(&own, width == 1 ? 1 : RUN_WIDTH);                                       \
      return;                                                                                    \
    }                                                                                            \
    if (far && width == WHOLE / 4)                                                               \
      NAME##_rows(&own, WHOLE / 4, true, false);                                                 \
    else if (far && width == WHOLE / 2)                                                          \
      NAME##_rows(&own, WHOLE / 2, true, false);                                                 \
    else if (far && width == WHOLE)                                                              \
      NAME##_rows(&own, WHOLE, true, false);                                                     \
    else if (far || !known)                                                                      \
      NAME##_rows(&own, width, far, false);                                                      \
    else if (width == WHOLE / 8)                                                                 \
      NAME##_rows(&own, WHOLE / 8, false, true);                                                 \
    else if (width == 3)                                                                         \
      NAME##_rows(&own, 3, false, true);                                                         \
    else if (width == 5)                                                                         \
      NAME##_rows(&own, 5, false, true);                                                         \
    else if (width == 7)                                                                         \
      NAME##_rows(&own, 7, false, true);                                                         \
    else if (width == WHOLE / 4)                                                                 \
      NAME##_rows(&own, WHOLE / 4, false, true);                                                 \
    else if (width == WHOLE / 2)                                                                 \
      NAME##_rows(&own, WHOLE / 2, false, true);                                                 \
    else if (width == WHOLE)                                                                     \
      NAME##_rows(&own, WHOLE, false, true);                                                     \
    else                                                                                         \
      NAME##_rows(&own, width, false, true);                                                     \
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

#define DEFINE_DIRECT(NAME, T, INDEX, COMPONENTS, FORM, TARGET)      \
  DEFINE_LOOP(NAME##_##FORM, NAME, T, INDEX, COMPONENTS, TARGET)     \
  static void NAME##_##FORM(const scatter_rows_job_t *job) {         \
    scatter_rows_job_t block = *job;                                 \
    for (int64_t i = job->first; i < job->last; i = block.last) {    \
      block.first = i;                                               \
      block.last = hr_min(i + CHECKED_WINDOWS, job->last);           \
      if (job->width == 1)                                           \
        NAME##_##FORM##_alone_block(&block, all_fit_##FORM(&block)); \
      else                                                           \
        NAME##_##FORM##_block(&block, all_fit_##FORM(&block));       \
    }                                                                \
  }

#define DEFINE_FORMS(NAME, T, TARGET)               \
  DEFINE_DIRECT(NAME, T, int32_t, 1, s32_1, TARGET) \
  DEFINE_DIRECT(NAME, T, int32_t, 2, s32_2, TARGET) \
  DEFINE_DIRECT(NAME, T, int64_t, 1, s64_1, TARGET) \
  DEFINE_DIRECT(NAME, T, int64_t, 2, s64_2, TARGET) \
  DEFINE_LISTED(NAME, T, TARGET)

/* --- tables ---------------------------------------------------------------------------------- */

typedef struct scatter_loops {
  scatter_list_fn list_loop;
  scatter_rows_fn direct_loop[2 * SCATTER_ROWS_COMPONENTS]; /* indices of 32 bits, then of 64 */
} scatter_loops_t;

enum { NUMBER_OPS = 4, BIT_OPS = 3 };

#if SIMD_HAS_WIDTHS
/* With AVX2; entries without loops: those of scatter_rows.c serve. */
extern const scatter_loops_t scatter_loops_256[HR_DTYPE_COUNT][NUMBER_OPS];
#endif

#define LIST_LOOP(NAME) \
  { .list_loop = NAME##_listed }
#define LOOPS_OF(NAME)                                                        \
  {                                                                           \
    NAME##_listed, { NAME##_s32_1, NAME##_s32_2, NAME##_s64_1, NAME##_s64_2 } \
  }
#define NUMBERS_OF(LOOPS, NAME) \
  { LOOPS(NAME##_add), LOOPS(NAME##_multiply), LOOPS(NAME##_maximum), LOOPS(NAME##_minimum) }
/* Sums have all loops, those of the type SUM; other ops have lists. */
#define SUMS_AND_LISTS(SUM, NAME)                                               \
  {                                                                             \
    LOOPS_OF(SUM##_add), LIST_LOOP(NAME##_multiply), LIST_LOOP(NAME##_maximum), \
        LIST_LOOP(NAME##_minimum)                                               \
  }
#define HALVES_OF(NAME) SUMS_AND_LISTS(NAME, NAME)

#endif
