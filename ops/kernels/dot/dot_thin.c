/* Products of at most 8 rows with a matrix that comes from memory, such as the weights of a model
 * that generates one token: the speed is that of memory. bf16, f16, s8 and u8 elements are widened
 * to f32 in registers, so that narrow weights take less time. Sums of integers of 8 and 16 bits
 * have loops of their own (dot_thin_pairs.c).
 *
 *   rows      rows of b are dense: b is read from end to end, THIN_TERMS rows at a time, and the
 *             result, which stays in the caches, is updated by tiles of some vectors; later rows
 *             are prefetched, by the columns of the tile
 *   columns   columns of b are dense: a sum for each row and column
 *
 * Terms are added in ascending order (rows), or in lanes (columns), whatever part of the columns a
 * worker has, so the result does not depend on the number of workers. Not handled: more rows,
 * double precision, wider integers, operands that must be reordered. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include "ops/kernels/dot/dot_thin.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/dot/dot_pairs.h"
#include "ops/kernels/dot/native_dot.h"

#define THIN_TERMS 8     /* rows of b at a time */
#define THIN_AHEAD 2     /* prefetch distance, in groups of THIN_TERMS rows */
#define WIDE_COLUMNS 128 /* columns that are widened, or copied, for several rows of a */

typedef enum thin_type { THIN_F32, THIN_BF16, THIN_F16, THIN_S8, THIN_U8, THIN_TYPES } thin_type_t;

static inline int64_t thin_bytes(thin_type_t type) {
  if (type == THIN_F32) return 4;
  return type == THIN_S8 || type == THIN_U8 ? 1 : 2;
}

/* f16 has the bits of an f32 of a smaller exponent, shifted to the right: this times it is the
 * number. */
#define THIN_F16_SCALE 0x1p112f

/* One element of b as f32; bf16 is the upper half of an f32. */
static inline float thin_element(thin_type_t type, const char *from) {
  if (type == THIN_F32) return *(const float *)from;
  if (type == THIN_S8) return *(const int8_t *)from;
  if (type == THIN_U8) return *(const uint8_t *)from;
  if (type == THIN_F16) return hr_f16_to_f32(*(const uint16_t *)from);
  uint32_t bits = (uint32_t) * (const uint16_t *)from << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Columns of adjacent rows of b as f32, and their factors. */
typedef struct thin_wide {
  thin_type_t type;   /* type of b */
  int terms, columns; /* at most THIN_TERMS and WIDE_COLUMNS */
  float values[THIN_TERMS][WIDE_COLUMNS];
  float factors[THIN_TERMS][THIN_ROWS]; /* elements of a */
} thin_wide_t;

#define VECTOR_FILE "ops/kernels/dot/dot_thin_tiles.h"
#include "ops/kernels/simd/simd_foreach.h"

/* By columns if columns of b are dense, else by rows. */
static thin_fn choose_float_loop(thin_type_t type, bool by_columns) {
  switch (type) {
    case THIN_F32:
      return by_columns ? SIMD_FOREACH(columns_f32) : SIMD_FOREACH(rows_f32);
    case THIN_BF16:
      return by_columns ? SIMD_FOREACH(columns_bf16) : SIMD_FOREACH(rows_bf16);
    case THIN_F16:
      return by_columns ? SIMD_FOREACH(columns_f16) : SIMD_FOREACH(rows_f16);
    case THIN_S8:
      return by_columns ? SIMD_FOREACH(columns_s8) : SIMD_FOREACH(rows_s8);
    default:
      return by_columns ? SIMD_FOREACH(columns_u8) : SIMD_FOREACH(rows_u8);
  }
}

/* One plan. "few" is the side of at most 8 rows, "many" the matrix that comes from memory. */
typedef struct dot_thin {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  thin_fn loop;
  thin_job_t job; /* without addresses */
  bool exchanged; /* the job's a is the program's b, one column */
  bool integers;  /* sums of integers, by pairs of terms */
  const dot_matrices_t *few, *many;
  int64_t few_row;  /* distance from one row of the job's a to the next, elements */
  int64_t few_step; /* distance from one term to the next, elements */
  int64_t columns;  /* columns of the job's result */
  bool packed;      /* the job's a is converted or gathered in scratch memory */
  bool narrowed;    /* sums are f32 in scratch memory and are converted to the result's type */
  size_t sums_at;
  int64_t shares, share; /* parts of the columns, and columns of each */
} dot_thin_t;

/* One execution: operands and the destination of sums, either the result or scratch memory. */
typedef struct dot_thin_run {
  const dot_thin_t *plan;
  const char *few, *many;
  char *sums;
} dot_thin_run_t;

/* Size of an element of the job's a. */
static inline int64_t few_bytes(const dot_thin_t *plan) { return plan->integers ? 2 : 4; }

/* Task i is share i % shares of the columns of matrix i / shares. Shares are rounded up to
 * multiples of SHARE_COLUMNS, so the last ones may be empty. */
static void run_shares(void *context, int64_t begin, int64_t end, int worker) {
  const dot_thin_run_t *r = context;
  const dot_thin_t *plan = r->plan;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    thin_job_t job = plan->job;
    int64_t matrix = i / plan->shares, first = i % plan->shares * plan->share;
    int64_t last = hr_min(first + plan->share, plan->columns);
    int64_t a_at = plan->packed ? matrix * job.m * job.a_row : plan->few->starts[matrix];
    job.a = (const float *)(r->few + a_at * few_bytes(plan));
    job.b = r->many + plan->many->starts[matrix] * job.b_bytes;
    job.c = (float *)r->sums + matrix * job.m * plan->columns;
    if (first < last) plan->loop(&job, first, last);
  }
}

/* Packs one row of k elements, `step` elements apart, as f32. */
static void pack_row(hr_dtype_t dtype, const char *from, int64_t step, int64_t k, float *to) {
  int64_t bytes = (int64_t)hr_dtype_bytes(dtype);
  if (step == 1) {
    hr_floats_to_f32(dtype, from, to, k);
  } else if (dtype == HR_F32) {
    for (int64_t q = 0; q < k; q++) to[q] = ((const float *)from)[q * step];
  } else {
    for (int64_t q = 0; q < k; q++) hr_floats_to_f32(dtype, from + q * step * bytes, to + q, 1);
  }
}

/* Packs one row of k integers, `step` elements apart, as s16; zero follows a last odd one. */
static void pack_pairs(hr_dtype_t dtype, const char *from, int64_t step, int64_t k, int16_t *to) {
  for (int64_t q = 0; q < k; q++) to[q] = dot_pair_element(dtype, from, q * step);
  if (k % 2) to[k] = 0;
}

/* Packs the few rows of all matrices. */
static void pack_rows(const dot_thin_t *plan, const char *from, char *to) {
  hr_dtype_t dtype = plan->few->dtype;
  int64_t bytes = (int64_t)hr_dtype_bytes(dtype), k = plan->job.k;
  int64_t row_bytes = plan->job.a_row * few_bytes(plan);
  for (int64_t i = 0; i < plan->problem->batch * plan->job.m; i++, to += row_bytes) {
    int64_t first = plan->few->starts[i / plan->job.m] + i % plan->job.m * plan->few_row;
    if (plan->integers)
      pack_pairs(dtype, from + first * bytes, plan->few_step, k, (int16_t *)to);
    else
      pack_row(dtype, from + first * bytes, plan->few_step, k, (float *)to);
  }
}

/* Packing is serial: the few rows are small compared to the matrix. */
static hr_status_t run_thin(const op_native_run_t *run, const dot_strategy_t *strategy,
                            void *const *in, void *const *out) {
  const dot_thin_t *plan = (const dot_thin_t *)strategy;
  const dot_problem_t *p = plan->problem;
  char *scratch = run->scratch;
  dot_thin_run_t r = {plan, in[plan->exchanged], in[!plan->exchanged], out[0]};
  if (plan->narrowed) r.sums = scratch + plan->sums_at;
  if (plan->packed) {
    pack_rows(plan, in[plan->exchanged], scratch);
    r.few = scratch;
  }
  hr_workers_split(run->workers, p->batch * plan->shares, 1, run_shares, &r);
  if (plan->narrowed)
    native_narrow(run->workers, &p->types, r.sums, p->batch * p->m * p->n, out[0]);
  return NULL;
}

#define MIN_BYTES \
  (256 << 10) /* bytes; smaller matrices of f32 stay in the caches, where dot_small is as fast */
#define SHARE_PRODUCTS 30000 /* least products of a worker's share */
#define SHARE_COLUMNS 64     /* shares are multiples of this */
#define LEAST_COLUMNS 16     /* least columns of a loop by rows: a vector */
#define SUMS_COLUMNS 128     /* most columns whose sums dot_small keeps in registers */
#define SUMS_ROWS 4          /* most rows of these sums */

/* THIN_TYPES: the type is not widened in registers. */
static thin_type_t thin_type_of(hr_dtype_t dtype) {
  switch (dtype) {
    case HR_F32:
      return THIN_F32;
    case HR_BF16:
      return THIN_BF16;
    case HR_F16:
      return THIN_F16;
    case HR_S8:
      return THIN_S8;
    case HR_U8:
      return THIN_U8;
    default:
      return THIN_TYPES;
  }
}

/* Chooses the side of the matrix. A vector on the right is one row of the transposed product. */
static void choose_sides(const dot_problem_t *p, dot_thin_t *plan) {
  plan->exchanged = p->n == 1 && p->m > 1;
  plan->few = plan->exchanged ? &p->b : &p->a;
  plan->many = plan->exchanged ? &p->a : &p->b;
  int64_t b_bytes = (int64_t)hr_dtype_bytes(plan->many->dtype);
  plan->columns = plan->exchanged ? p->m : p->n;
  plan->few_row = plan->exchanged ? p->b.col_step : p->a.row_step;
  plan->few_step = plan->exchanged ? p->b.row_step : p->a.col_step;
  int64_t row = plan->exchanged ? p->a.col_step : p->b.row_step;
  int64_t column = plan->exchanged ? p->a.row_step : p->b.col_step;
  plan->job = (thin_job_t){.m = plan->exchanged ? 1 : p->m,
                           .k = p->k,
                           .c_row = plan->columns,
                           .b_bytes = b_bytes,
                           .b_row_bytes = row * b_bytes,
                           .b_col_bytes = column * b_bytes};
}

/* Is the matrix dense in one direction, and are there as many columns as a loop by rows needs? */
static bool has_loop(const dot_problem_t *p, const dot_thin_t *plan, int64_t least_columns) {
  const thin_job_t *job = &plan->job;
  if (p->packed_b || p->a.ordered || p->b.ordered) return false;
  if (job->b_col_bytes == job->b_bytes) return plan->columns >= least_columns;
  return job->b_row_bytes == job->b_bytes;
}

/* Integers of 8 and 16 bits, with sums of 32. */
static bool is_supported_integer(const dot_problem_t *p, const dot_thin_t *plan) {
  const matmul_types_t *t = &p->types;
  return t->real == HR_U32 && dot_fits_16_bits(t->lhs) && dot_fits_16_bits(t->rhs) &&
         hr_dtype_bytes(t->out) == 4 && plan->job.m <= THIN_ROWS &&
         has_loop(p, plan, THIN_PAIR_COLUMNS) && !dot_is_tiny(p, DOT_TINY_INTEGER_PRODUCTS);
}

/* Constant operands of some rows are packed by other strategies. Left to dot_small: tiny products,
 * sums of fewer columns than a vector has, f32 matrices that stay in the caches, those of few sums,
 * and those of long dense columns. Constant matrices of narrow types with 4 or more rows of a are
 * packed once by other strategies. */
static bool is_supported(const dot_problem_t *p, const dot_thin_t *plan) {
  const matmul_types_t *t = &p->types;
  const thin_job_t *job = &plan->job;
  if (t->real != HR_F32 || t->is_complex || !has_loop(p, plan, LEAST_COLUMNS)) return false;
  if (thin_type_of(plan->many->dtype) == THIN_TYPES || !hr_dtype_is_float(plan->few->dtype) ||
      !hr_dtype_is_float(t->out) || job->m > THIN_ROWS)
    return false;
  bool by_rows = job->b_col_bytes == job->b_bytes;
  if (dot_is_tiny(p, DOT_TINY_PRODUCTS)) return false;
  if (plan->many->dtype != HR_F32) return !p->constant_b || job->m < 4;
  if (by_rows && plan->columns <= SUMS_COLUMNS && job->m <= SUMS_ROWS) return false;
  int64_t matrices = by_rows ? 1 : p->batch;
  return (by_rows || (job->m > 1 && p->k < DOT_PAIR_TERMS)) &&
         matrices * p->k * plan->columns * 4 >= MIN_BYTES && !(p->constant_b && dot_packs_once(p));
}

/* As many shares as are worth it, at most one per worker. A batch that the workers divide evenly is
 * not divided further. */
static void plan_shares(const op_native_target_t *target, dot_thin_t *plan) {
  int64_t n = plan->columns;
  double products = (double)plan->job.m * (double)n * (double)plan->job.k;
  int64_t most = (n + SHARE_COLUMNS - 1) / SHARE_COLUMNS;
  plan->shares = 1 + (int64_t)(products / SHARE_PRODUCTS);
  if (plan->shares > target->workers) plan->shares = target->workers;
  if (plan->problem->batch % target->workers == 0) plan->shares = 1;
  if (plan->shares > most) plan->shares = most;
  plan->share = hr_round_up((n + plan->shares - 1) / plan->shares, SHARE_COLUMNS);
}

/* NULL: the processor has no loop. */
static thin_fn choose_loop(const dot_thin_t *plan) {
  hr_dtype_t dtype = plan->many->dtype;
  bool by_columns = plan->job.b_col_bytes != plan->job.b_bytes;
  return plan->integers ? dot_thin_pairs_loop(dtype, by_columns)
                        : choose_float_loop(thin_type_of(dtype), by_columns);
}

hr_status_t dot_prepare_thin(const op_native_target_t *target, const dot_problem_t *problem,
                             op_native_step_t *out) {
  const dot_problem_t *p = problem;
  dot_thin_t *plan;
  size_t total = 0;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"thin", run_thin};
  plan->problem = p;
  choose_sides(p, plan);
  plan->integers = is_supported_integer(p, plan);
  if (!plan->integers && !is_supported(p, plan)) return NULL;
  plan->loop = choose_loop(plan);
  if (!plan->loop) return NULL;
  plan->packed = plan->few->dtype != HR_F32 || plan->few_step != 1 ||
                 (plan->job.m > 1 && plan->few_row != p->k);
  plan->job.a_row = plan->integers ? 2 * dot_pair_count(p->k) : p->k;
  plan->narrowed = !plan->integers && p->types.out != HR_F32;
  int64_t packed = plan->packed ? p->batch * plan->job.m * plan->job.a_row : 0;
  scratch_reserve(&total, (size_t)(packed * few_bytes(plan)));
  plan->sums_at =
      scratch_reserve(&total, plan->narrowed ? (size_t)(p->batch * p->m * p->n) * 4 : 0);
  out->scratch_bytes = total;
  plan_shares(target, plan);
  out->plan = plan;
  return NULL;
}
