/* Products of matrices of integers of 8 and 16 bits, small enough for the inner cache, with
 * AVX-512. Terms are multiplied and added by pairs, VPDPWSSD or VPMADDWD, into sums of 32 bits:
 *
 *          a  [ row: a0 a1 | a2 a3 | ... ]       one pair is broadcast
 *          b  [ b00 b10 | b01 b11 | ... ]        16 columns of two rows, interleaved
 *
 * b is packed for each task, a for ROWS rows at a time, both widened to 16 bits on the way. Sums
 * wrap as those of the reference, and are cut to the result's type as they are stored, so nothing
 * is converted in memory. */
#include "base/arith.h"
#include "ops/kernels/dot/dot_pairs.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/simd/simd_target.h"

#if SIMD_HAS_WIDTHS
#include <immintrin.h>

NATIVE_OPTIMIZE

#define ROWS 8              /* rows whose sums are in registers */
#define LANES 16            /* columns of a vector of sums */
#define B_BYTES (64 << 10)  /* most bytes of packed b */
#define A_BYTES (32 << 10)  /* most bytes of ROWS packed rows of a */
#define TASK_PRODUCTS 30000 /* least products of a task */

typedef struct pairs_job {
  const dot_problem_t *problem;
  const char *a, *b; /* first elements of the rows and of the matrix */
  char *c;
  int64_t rows;
  int64_t pairs; /* number of pairs of terms */
  int32_t *a_space, *b_space;
} pairs_job_t;

typedef void (*pairs_fn)(const pairs_job_t *job);

typedef struct dot_pairs {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  pairs_fn multiply;
  int64_t unit, parts; /* rows of a task, tasks of a matrix */
  int64_t grain;       /* tasks that a worker takes at once */
  size_t space_bytes;  /* scratch per worker, for packed b and then a */
  size_t a_at;         /* offset of packed a */
} dot_pairs_t;

typedef struct dot_pairs_run {
  const dot_pairs_t *plan;
  const char *a, *b;
  char *c, *space;
} dot_pairs_run_t;

#define TARGET __attribute__((target(SIMD_512_MACHINE)))
#define TARGET_VNNI __attribute__((target(SIMD_512_MACHINE ",avx512vnni")))
#define INLINE static inline __attribute__((always_inline))

/* Pairs of terms of a packed row, in whole vectors. */
static int64_t row_pairs(int64_t pairs) { return hr_round_up(pairs, LANES); }

/* --- packing ---------------------------------------------------------------------------------- */

TARGET static __m512i load_apart(hr_dtype_t type, const char *from, int64_t step, int64_t count) {
  int32_t lanes[LANES] = {0};
  for (int64_t i = 0; i < count; i++) lanes[i] = dot_pair_element(type, from, i * step);
  return _mm512_loadu_si512(lanes);
}

/* Up to 16 elements, `step` apart, one in each lane. */
TARGET INLINE __m512i load_lanes(hr_dtype_t type, const char *from, int64_t step, int64_t count) {
  __mmask16 mask = (__mmask16)((1u << count) - 1);
  if (step != 1) return load_apart(type, from, step, count);
  if (type == HR_S8) return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, from));
  if (type == HR_U8) return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, from));
  return _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}

/* [columns / LANES][pairs][LANES] pairs. */
TARGET INLINE void pack_b(const pairs_job_t *job) {
  const dot_problem_t *p = job->problem;
  int64_t each = (int64_t)hr_dtype_bytes(p->types.rhs), down = p->b.row_step * each;
  int32_t *to = job->b_space;
  const __m512i low = _mm512_set1_epi32(0xffff);
  for (int64_t j = 0; j < p->n; j += LANES) {
    const char *from = job->b + j * p->b.col_step * each;
    int64_t count = hr_min(LANES, p->n - j);
    for (int64_t i = 0; i < p->k; i += 2, from += 2 * down, to += LANES) {
      __m512i first = load_lanes(p->types.rhs, from, p->b.col_step, count), second = low;
      second = i + 1 < p->k ? load_lanes(p->types.rhs, from + down, p->b.col_step, count)
                            : _mm512_setzero_si512();
      first = _mm512_and_si512(first, low);
      _mm512_storeu_si512(to, _mm512_or_si512(first, _mm512_slli_epi32(second, 16)));
    }
  }
}

TARGET static void pack_row_apart(hr_dtype_t type, const char *from, int64_t step, int64_t count,
                                  int16_t *to) {
  for (int64_t i = 0; i < count; i++) to[i] = dot_pair_element(type, from, i * step);
  to[count] = 0; /* the other half of the last pair, or an element after it that is not read */
}

/* Dense terms of one row, as 16 bits, with zeros up to a whole vector. */
TARGET INLINE void pack_row(hr_dtype_t type, const char *from, int64_t count, int16_t *to) {
  for (int64_t i = 0; i < count; i += 2 * LANES) {
    __mmask32 mask = count - i >= 2 * LANES ? ~0u : (1u << (count - i)) - 1;
    __m512i wide;
    if (type == HR_S16)
      wide = _mm512_maskz_loadu_epi16(mask, from + 2 * i);
    else if (type == HR_S8)
      wide = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, from + i));
    else
      wide = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, from + i));
    _mm512_storeu_si512(to + i, wide);
  }
}

TARGET INLINE void pack_a(const pairs_job_t *job, int64_t row, int64_t rows) {
  const dot_problem_t *p = job->problem;
  hr_dtype_t type = p->types.lhs;
  int64_t step = p->a.row_step * (int64_t)hr_dtype_bytes(type);
  const char *from = job->a + row * step;
  int16_t *to = (int16_t *)job->a_space;
  for (int64_t r = 0; r < rows; r++, from += step, to += 2 * row_pairs(job->pairs)) {
    if (p->a.col_step == 1)
      pack_row(type, from, p->k, to);
    else
      pack_row_apart(type, from, p->a.col_step, p->k, to);
  }
}

/* --- products --------------------------------------------------------------------------------- */

TARGET INLINE void store_sums(size_t bytes, __mmask16 mask, __m512i sums, char *to) {
  if (bytes == 1)
    _mm_mask_storeu_epi8(to, mask, _mm512_cvtepi32_epi8(sums));
  else if (bytes == 2)
    _mm256_mask_storeu_epi16(to, mask, _mm512_cvtepi32_epi16(sums));
  else
    _mm512_mask_storeu_epi32(to, mask, sums);
}

/* `rows`, a constant at each call, times all columns. ADD: the instruction that adds the products
 * of pairs. */
#define DEFINE_MULTIPLY(NAME, TARGET_OF, ADD)                                                  \
  TARGET_OF INLINE void NAME##_rows(int rows, const pairs_job_t *job, int64_t row) {           \
    const dot_problem_t *p = job->problem;                                                     \
    int64_t bytes = (int64_t)hr_dtype_bytes(p->types.out), a_step = row_pairs(job->pairs);     \
    const int32_t *b = job->b_space;                                                           \
    pack_a(job, row, rows);                                                                    \
    for (int64_t j = 0; j < p->n; j += LANES) {                                                \
      __m512i sums[ROWS];                                                                      \
      __mmask16 mask = p->n - j >= LANES ? 0xffff : (__mmask16)((1u << (p->n - j)) - 1);       \
      _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) sums[r] = _mm512_setzero_si512(); \
      for (int64_t i = 0; i < job->pairs; i++, b += LANES) {                                   \
        __m512i line = _mm512_loadu_si512(b);                                                  \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) sums[r] =                       \
            ADD(sums[r], line, _mm512_set1_epi32(job->a_space[r * a_step + i]));               \
      }                                                                                        \
      char *to = job->c + (row * p->n + j) * bytes;                                            \
      _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)                                   \
          store_sums((size_t)bytes, mask, sums[r], to + r * p->n * bytes);                     \
    }                                                                                          \
  }                                                                                            \
  TARGET_OF static void NAME(const pairs_job_t *job) {                                         \
    int64_t row = 0;                                                                           \
    pack_b(job);                                                                               \
    for (; row + ROWS <= job->rows; row += ROWS) NAME##_rows(ROWS, job, row);                  \
    if (row + 4 <= job->rows) NAME##_rows(4, job, row), row += 4;                              \
    if (row + 2 <= job->rows) NAME##_rows(2, job, row), row += 2;                              \
    if (row < job->rows) NAME##_rows(1, job, row);                                             \
  }

#define MULTIPLY_THEN_ADD(sums, x, y) _mm512_add_epi32(sums, _mm512_madd_epi16(x, y))
DEFINE_MULTIPLY(multiply_vnni, TARGET_VNNI, _mm512_dpwssd_epi32)
DEFINE_MULTIPLY(multiply_plain, TARGET, MULTIPLY_THEN_ADD)

/* --- the strategy ----------------------------------------------------------------------------- */

/* A task is a range of rows of one matrix of the batch; the last range may be shorter. */
static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const dot_pairs_run_t *r = context;
  const dot_pairs_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  char *space = r->space + (size_t)worker * plan->space_bytes;
  pairs_job_t job = {.problem = p,
                     .pairs = dot_pair_count(p->k),
                     .b_space = (int32_t *)space,
                     .a_space = (int32_t *)(space + plan->a_at)};
  int64_t a_bytes = (int64_t)hr_dtype_bytes(p->types.lhs),
          b_bytes = (int64_t)hr_dtype_bytes(p->types.rhs),
          c_bytes = (int64_t)hr_dtype_bytes(p->types.out);
  for (int64_t task = begin; task < end; task++) {
    int64_t matrix = task / plan->parts, row = task % plan->parts * plan->unit;
    job.rows = hr_min(plan->unit, p->m - row);
    job.a = r->a + (p->a.starts[matrix] + row * p->a.row_step) * a_bytes;
    job.b = r->b + p->b.starts[matrix] * b_bytes;
    job.c = r->c + (matrix * p->m + row) * p->n * c_bytes;
    plan->multiply(&job);
  }
}

static hr_status_t run_pairs(const op_native_run_t *run, const dot_strategy_t *strategy,
                             void *const *in, void *const *out) {
  const dot_pairs_t *plan = (const dot_pairs_t *)strategy;
  const dot_problem_t *p = plan->problem;
  dot_pairs_run_t r = {.plan = plan, .a = in[0], .b = in[1], .c = out[0], .space = run->scratch};
  hr_workers_split(run->workers, plan->parts * p->batch, plan->grain, run_tasks, &r);
  return NULL;
}

static bool is_supported(const dot_problem_t *p) {
  const matmul_types_t *t = &p->types;
  int64_t pairs = dot_pair_count(p->k);
  return simd_width() == SIMD_512 && t->real == HR_U32 && dot_fits_16_bits(t->lhs) &&
         dot_fits_16_bits(t->rhs) && hr_dtype_bytes(t->out) <= 4 && !p->a.ordered &&
         !p->b.ordered && pairs * hr_round_up(p->n, LANES) * 4 <= B_BYTES &&
         ROWS * row_pairs(pairs) * 4 + 4 <= A_BYTES;
}

/* Rows are divided among workers only if the batch is too short to occupy them. */
hr_status_t dot_prepare_pairs(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out) {
  dot_pairs_t *plan;
  const dot_problem_t *p = problem;
  if (!is_supported(p)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"pairs", run_pairs};
  plan->problem = p;
  plan->multiply = cpu_has_avx512_vnni() ? multiply_vnni : multiply_plain;
  int64_t pairs = dot_pair_count(p->k), columns = hr_round_up(p->n, LANES),
          each = p->m * p->n * p->k;
  bool splits = p->batch < 4 * target->workers && each > TASK_PRODUCTS;
  int64_t share = splits ? (p->m + target->workers - 1) / target->workers : p->m;
  plan->unit = splits ? hr_round_up(share, ROWS) : p->m;
  plan->parts = (p->m + plan->unit - 1) / plan->unit;
  plan->grain = 1 + TASK_PRODUCTS / hr_max(1, plan->unit * p->n * p->k);
  plan->a_at = (size_t)(pairs * columns) * sizeof(int32_t);
  plan->space_bytes = plan->a_at + A_BYTES;
  out->scratch_bytes = plan->space_bytes * (size_t)target->workers;
  out->plan = plan;
  return NULL;
}

#else
hr_status_t dot_prepare_pairs(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out) {
  (void)target, (void)problem, (void)out;
  return NULL;
}
#endif
