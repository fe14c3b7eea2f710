/* Products that are too small to be packed, or too thin: vectors times matrices are bound by
 * memory, and no loop is faster than one over the matrix in place. In f32 or f64: narrower operands
 * are widened before, and the result is narrowed after.
 *
 *   columns      rows of b are dense: a strip of b's columns at a time, all rows of a against it
 *   rows         rows of a are dense and b is one dense vector: a sum along each row
 *   pairs        rows of a and columns of b are dense, few of one of them: a sum for each pair
 *   padded       b is small, and its columns are dense or do not fill vectors: a copy in whole
 *                vectors
 *   tiny         at most 4 terms and columns, with any strides
 *   transposed   columns of a are dense, b has few columns: the transpose of `columns`
 *
 * A product with a vector on the other side is the transpose of one of these: C' = B' A'. Not
 * handled, and left to the next strategy: operands without a dense dimension. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/dot/native_dot.h"

#if defined(__clang__)
#define ROWS_AT_A_TIME
#else
#define ROWS_AT_A_TIME __attribute__((optimize("O3", "fp-contract=fast")))
#endif

/* One product c[m][n] = a[m][k] b[k][n] for the loops; all strides are in elements. c_col is used
 * by `pairs` and `transposed` only: elsewhere the columns of c are dense. */
typedef struct dot_small_job {
  const void *a, *b;
  void *c;
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col, c_row,
      c_col; /* strides: from row to row, from column to column */
  int64_t depth,
      prefetch_rows; /* columns loop: rows of b per pass; prefetch distance in elements */
} dot_small_job_t;

#define PAIR_ROWS 4
#define PAIR_COLUMNS 4
#define PREFETCH_PAIRS 1024 /* prefetch distance of a row, in bytes */
#define PADDED_REALS 2048   /* most elements of b in whole vectors */
#define PADDED_COLUMNS 64
#define PADDED_ROWS 16 /* rows of c that are computed together */
#define TURNED_ROWS 4  /* most rows of sums that are columns of c */
#define TURNED_COLUMNS 64
#define TILES_FILE "ops/kernels/dot/dot_small_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

/* Runs units [begin, end): columns, or rows. */
typedef void (*dot_small_fn)(const dot_small_job_t *job, int64_t begin, int64_t end);

typedef enum dot_loop {
  LOOP_COLUMNS,
  LOOP_ROWS,
  LOOP_PAIRS,
  LOOP_PADDED,
  LOOP_TINY,
  LOOP_TURNED,
  LOOPS
} dot_loop_t;
#define LOOPS_OF_TYPE(name) \
  { name##_columns, name##_rows, name##_pairs, name##_padded, name##_tiny, name##_transposed }
#define LOOPS_OF(width) \
  { LOOPS_OF_TYPE(f32_##width), LOOPS_OF_TYPE(f64_##width) }

/* The loop for the widest vectors of the processor. */
static dot_small_fn choose_loop(bool is_double, dot_loop_t loop) {
#if SIMD_HAS_WIDTHS
  static const dot_small_fn v512[2][LOOPS] = LOOPS_OF(v512), v256[2][LOOPS] = LOOPS_OF(v256);
  if (simd_width() == SIMD_512) return v512[is_double][loop];
  if (simd_width() == SIMD_256) return v256[is_double][loop];
#endif
  static const dot_small_fn v128[2][LOOPS] = LOOPS_OF(v128);
  return v128[is_double][loop];
}

/* One plan. Either each product's `units` are divided among the workers in multiples of unit_grain
 * (split), or whole matrices of the batch in groups of batch_grain. */
typedef struct dot_small {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  dot_small_fn loop;
  dot_small_job_t job; /* without addresses */
  bool exchanged;      /* the job's a is the program's b */
  bool transposed;     /* b is first transposed in scratch memory, so that its columns are dense */
  bool narrowed;       /* sums are in scratch memory and are converted to the result's type */
  dot_conversion_t a, b;
  size_t transposed_at, sums_at;
  int64_t units, unit_grain; /* columns or rows of one product */
  int64_t finish_unit;       /* columns that an epilogue gets at once; 0: all */
  bool split;                /* divides the units, else the matrices of the batch */
  int64_t batch_grain;
} dot_small_t;

/* One execution: the arrays, and the job that all workers share if units are divided. */
typedef struct dot_small_run {
  const dot_small_t *plan;
  const char *a, *b;
  char *c;
  const op_native_epilogue_t *epilogue; /* columns loop only; else NULL */
  dot_small_job_t job;                  /* if units are divided */
  int64_t matrix;                       /* its number in the batch */
} dot_small_run_t;

/* Writes the job of one matrix in place: copying a job that was just written costs more than a
 * small product. */
static void fill_job(const dot_small_run_t *r, int64_t matrix, dot_small_job_t *job) {
  const dot_small_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  int64_t each = p->types.element_bytes;
  const char *a = r->a + p->a.starts[matrix] * each;
  const char *b = r->b + p->b.starts[matrix] * each;
  *job = plan->job;
  if (plan->transposed) b = r->b;
  job->a = plan->exchanged ? b : a;
  job->b = plan->exchanged ? a : b;
  job->c = r->c + matrix * p->m * p->n * each;
}

/* Runs columns [begin, end) of a product, with the epilogue after each finish_unit of them. */
static void run_columns(const dot_small_run_t *r, const dot_small_job_t *job, int64_t matrix,
                        int64_t begin, int64_t end, int worker) {
  int64_t unit = r->plan->finish_unit ? r->plan->finish_unit : end - begin;
  for (int64_t column = begin; column < end; column += unit) {
    int64_t next = hr_min(column + unit, end);
    op_native_part_t part = {matrix * job->m, job->m, column, next - column};
    r->plan->loop(job, column, next);
    r->epilogue->run(r->epilogue, &part, worker);
  }
}

/* Runs units [begin, end) of a product. */
static void run_product(const dot_small_run_t *r, const dot_small_job_t *job, int64_t matrix,
                        int64_t begin, int64_t end, int worker) {
  if (r->epilogue)
    run_columns(r, job, matrix, begin, end, worker);
  else
    r->plan->loop(job, begin, end);
}

/* Runs whole products, matrices [begin, end) of the batch. */
static void run_matrices(void *context, int64_t begin, int64_t end, int worker) {
  const dot_small_run_t *r = context;
  for (int64_t i = begin; i < end; i++) {
    dot_small_job_t job;
    fill_job(r, i, &job);
    run_product(r, &job, i, 0, r->plan->units, worker);
  }
}

/* Runs a part of one product: units are columns or rows, counted in grains. */
static void run_units(void *context, int64_t begin, int64_t end, int worker) {
  const dot_small_run_t *r = context;
  int64_t grain = r->plan->unit_grain;
  run_product(r, &r->job, r->matrix, begin * grain, hr_min(end * grain, r->plan->units), worker);
}

/* Copies b so that its columns are dense; to[n][k] holds column n. */
static const void *transpose_columns(const dot_problem_t *p, const void *from, void *to) {
  int bytes = p->types.element_bytes;
  int64_t dims[] = {p->n, p->k};
  int64_t to_strides[] = {p->k * bytes, bytes};
  int64_t from_strides[] = {p->b.col_step * bytes, p->b.row_step * bytes};
  loop_copy_t copy;
  loop_copy_init(&copy, bytes, 2, dims, to_strides, from_strides);
  loop_copy_run(&copy, to, (const char *)from + p->b.starts[0] * bytes);
  return to;
}

/* Three ways: one product by this thread, the batch divided among workers, or each product
 * divided. */
static void run_products(hr_workers_t *workers, dot_small_run_t *r) {
  const dot_small_t *plan = r->plan;
  if (!plan->split && plan->problem->batch == 1) {
    fill_job(r, 0, &r->job);
    run_product(r, &r->job, 0, 0, plan->units, 0);
    return;
  }
  if (!plan->split) {
    hr_workers_split(workers, plan->problem->batch, plan->batch_grain, run_matrices, r);
    return;
  }
  for (int64_t i = 0; i < plan->problem->batch; i++) {
    fill_job(r, i, &r->job);
    r->matrix = i;
    hr_workers_split(workers, (plan->units + plan->unit_grain - 1) / plan->unit_grain, 1, run_units,
                     r);
  }
}

static hr_status_t run_small(const op_native_run_t *run, const dot_strategy_t *strategy,
                             void *const *in, void *const *out) {
  const dot_small_t *plan = (const dot_small_t *)strategy;
  const dot_problem_t *p = plan->problem;
  char *scratch = run->scratch;
  dot_small_run_t r = {.plan = plan,
                       .a = dot_convert_operand(run, p, &p->a, &plan->a, in[0]),
                       .b = dot_convert_operand(run, p, &p->b, &plan->b, in[1]),
                       .c = plan->narrowed ? scratch + plan->sums_at : out[0],
                       .epilogue = run->epilogue};
  if (plan->transposed) r.b = transpose_columns(p, r.b, scratch + plan->transposed_at);
  run_products(run->workers, &r);
  if (plan->narrowed) native_narrow(run->workers, &p->types, r.c, p->batch * p->m * p->n, out[0]);
  return NULL;
}

#define THIN_ROWS 16           /* most rows of a thin product */
#define THIN_ROWS_OF_LARGE 48  /* most rows if b is large: packing writes as much as it reads */
#define THIN_ROWS_OF_ALIASED 8 /* most rows if rows of b share cache sets */
/* Most rows if a strip of b stays in a first-level cache, without AVX-512: up to 96 rows packing
 * gains nothing there (256 x 512, 240 x 256, 800 x 1000 in f32), and it costs 1.1 times at 32. */
#define THIN_ROWS_OF_CACHED 64
#define CACHED_TERMS 1024 /* most rows of such a b */
#define CACHED_LINES 8192 /* most rows times the lines by which they share cache sets */
#define CACHE_LINE 64
/* Number of rows of b, an odd number of cache lines apart, that do not stay in a second-level cache
 * for the next rows of a: four times the lines of 512 KiB. */
#define ALIASED_TERMS 32768
#define FEW_ROWS 3 /* fewest rows for which packing is faster */
#define TINY 4     /* most terms and columns of a tiny product */
#define SPLIT_PRODUCTS 30000
#define COLUMN_UNIT 128 /* a worker's share of columns is a multiple of this */
#define STRIP_UNIT 64   /* the same for more than THIN_ROWS rows, which use the lines they read */
#define GROUP_UNIT \
  16 /* divisor of a worker's rows: loops group rows, and sums depend on the groups */

#define PADDED_LEAST_ROWS 8
#define PADDED_PRODUCTS \
  1000000                  /* most products; more rows come from memory, and blocks are as fast */
#define PADDED_ELEMENTS 32 /* most elements of b per row, if its columns are dense */

#define FEW_PAIRS 8           /* most rows or columns; with more, blocks are as fast */
#define HEAD_COLUMNS 4        /* most rows or columns if sums have few terms */
#define HEAD_TERMS 16         /* least terms of these */
#define TURNED_LEAST 16       /* least rows of a product whose rows are lanes */
#define TURNED_DEPTH 512      /* its terms that are summed at a time */
#define PAIR_BYTES (1 << 20)  /* size of the side that is read once, in bytes */
#define LARGE_BYTES (8 << 20) /* size in bytes above which a right matrix comes from memory */
#define WIDE_ROWS 4           /* most rows of a for wide strips of b */
#define LARGE_TERMS 64        /* rows of a large b per pass */
#define PREFETCH_TERMS 48     /* prefetch distance of a wide panel, in terms */
#define PREFETCH_BYTES 512    /* prefetch distance of a row, in bytes */

static bool is_large(const dot_problem_t *p) {
  return p->k * p->n * p->types.element_bytes > LARGE_BYTES;
}

/* The number of cache sets of which a column of b uses one: a distance between rows of a multiple
 * of 2^i lines leaves it one set of 2^i. */
static int64_t sets_per_line(const dot_problem_t *p) {
  int64_t bytes = p->b.row_step * p->types.element_bytes, lines = bytes / CACHE_LINE;
  return bytes % CACHE_LINE ? 1 : lines & -lines;
}

/* Most rows of a for which b is read in place. A strip of b has to stay in a cache for the next
 * rows of a. Sharing of cache sets was not measured with AVX-512, whose processors have larger
 * caches. */
static int64_t most_thin_rows(const dot_problem_t *p) {
  int64_t lines = p->k * sets_per_line(p);
  bool is_measured = simd_width() != SIMD_512;
  if (is_measured && lines > ALIASED_TERMS) return THIN_ROWS_OF_ALIASED;
  if (is_large(p)) return THIN_ROWS_OF_LARGE;
  bool is_cached =
      is_measured && p->a.col_step == 1 && p->k <= CACHED_TERMS && lines <= CACHED_LINES;
  return is_cached ? THIN_ROWS_OF_CACHED : THIN_ROWS;
}

/* How a right matrix is read that comes from memory. Few rows of a (at most WIDE_ROWS): strips of
 * many columns from top to bottom, prefetched PREFETCH_TERMS rows ahead. More rows: LARGE_TERMS
 * rows of b at a time from end to end, prefetched along the row; c is then updated in passes. */
static void plan_reading(const dot_problem_t *p, dot_small_job_t *job) {
  if (p->m == 1 || !is_large(p)) return;
  if (p->m <= WIDE_ROWS)
    job->prefetch_rows = PREFETCH_TERMS * job->b_row;
  else {
    job->depth = LARGE_TERMS;
    job->prefetch_rows = PREFETCH_BYTES / p->types.element_bytes;
  }
}

/* Computes the transpose, so that the longer free dimension is the job's m: c is then written along
 * its columns (c_row = 1). */
static void exchange_sides(const dot_problem_t *p, dot_small_t *plan) {
  dot_small_job_t *job = &plan->job;
  plan->exchanged = true;
  plan->units = p->n;
  job->m = p->n;
  job->n = p->m;
  job->a_row = p->b.col_step;
  job->a_col = p->b.row_step;
  job->b_row = p->a.col_step;
  job->b_col = p->a.row_step;
  job->c_row = 1;
  job->c_col = p->n;
}

/* Chooses dot products of row pairs if few rows or columns are multiplied with a matrix that is
 * small, or that is large with long sums. Columns of the small side that are not dense are
 * transposed, which is cheap compared to reading the large side. */
static bool plan_pairs(const dot_problem_t *p, bool tiny, dot_small_t *plan) {
  int64_t few = p->m < p->n ? p->m : p->n;
  int64_t many = p->m + p->n - few;
  bool large = p->k >= DOT_PAIR_TERMS && many * p->k * p->types.element_bytes > PAIR_BYTES &&
               few <= FEW_PAIRS;
  bool is_head = few > 1 && few <= HEAD_COLUMNS && p->k >= HEAD_TERMS && many > few;
  bool transposed = p->b.row_step != 1;
  tiny &= few < FEW_PAIRS;
  if (p->a.col_step != 1 || !(tiny || large || is_head)) return false;
  if (transposed && (!(large || is_head) || p->n > few || p->batch > 1)) return false;
  plan->transposed = transposed;
  plan->units = p->m;
  plan->job.c_col = 1;
  if (transposed) {
    plan->job.b_row = 1;
    plan->job.b_col = p->k;
  }
  if (p->n > p->m) exchange_sides(p, plan);
  return true;
}

/* Chooses the transpose of the columns loop if b has at most TURNED_ROWS columns and those of a are
 * dense: lanes are rows of the product. Sums have TURNED_DEPTH terms at a time. */
static bool plan_transposed(const dot_problem_t *p, dot_small_t *plan) {
  if (p->n < 2 || p->n > TURNED_ROWS || p->a.row_step != 1 || p->m < TURNED_LEAST) return false;
  exchange_sides(p, plan);
  plan->units = p->m;
  plan->job.depth = TURNED_DEPTH;
  return true;
}

/* True if rows of b are shorter than a vector, unless they can be masked and the product is tiny;
 * or if columns are dense, all is small, and they are few compared to the rows of a. */
static bool suits_padding(const dot_problem_t *p, bool tiny) {
  int64_t lanes = gemm_vector_bytes() / p->types.element_bytes;
  int64_t width = hr_round_up(p->n, lanes);
  if (p->m < PADDED_LEAST_ROWS || width > PADDED_COLUMNS || p->k * width > PADDED_REALS)
    return false;
  bool has_masks = gemm_vector_bytes() == 64;
  if (p->b.col_step == 1 && has_masks && tiny) return false;
  if (p->b.col_step == 1)
    return p->n < lanes && p->b.row_step > 0 && dot_is_tiny(p, PADDED_PRODUCTS);
  return tiny && p->k * p->n <= PADDED_ELEMENTS * p->m;
}

/* Sets the loop, the job's strides and its units. The order of tests is that of specialisation:
 * tiny before vectors before pairs before padding before columns. False: no loop fits, the product
 * is packed instead. */
static bool plan_job(const dot_problem_t *p, dot_small_t *plan, dot_loop_t *out_loop) {
  const dot_matrices_t *a = &p->a, *b = &p->b;
  bool tiny = dot_is_tiny(p, DOT_TINY_PRODUCTS);
  *out_loop = LOOP_COLUMNS;
  plan->units = p->n;
  if (p->k <= TINY && p->n <= TINY) {
    *out_loop = LOOP_TINY;
    plan->units = p->m;
  } else if (p->n == 1 && a->col_step == 1 && b->row_step == 1) {
    *out_loop = LOOP_ROWS;
    plan->units = p->m;
    plan->job.c_row = 1;
  } else if (p->m == 1 && b->row_step == 1 && b->col_step >= p->k && a->col_step == 1) {
    *out_loop = LOOP_ROWS;
    plan->exchanged = true;
    plan->job.a_row = b->col_step;
    plan->job.c_row = 1;
  } else if (p->n == 1 && a->row_step == 1) {
    plan->exchanged = true;
    plan->units = p->m;
    plan->job.m = 1;
    plan->job.n = p->m;
    plan->job.b_row = a->col_step;
    plan->job.a_row = 0;
    plan->job.a_col = b->row_step;
  } else if (plan_transposed(p, plan)) {
    *out_loop = LOOP_TURNED;
  } else if (plan_pairs(p, tiny && b->col_step != 1, plan)) {
    *out_loop = LOOP_PAIRS;
  } else if (suits_padding(p, tiny)) {
    *out_loop = LOOP_PADDED;
    plan->units = p->m;
  } else {
    plan_reading(p, &plan->job);
    return b->col_step == 1 && (p->m <= most_thin_rows(p) || tiny);
  }
  return true;
}

/* True if long sums of few columns are better divided among the workers by terms, which gemm.h can
 * do and these loops cannot: a worker's share of columns would be narrower than a vector. */
static bool is_better_by_terms(const dot_problem_t *p, dot_loop_t loop) {
  if (loop != LOOP_COLUMNS || p->batch > 1 || p->m < FEW_ROWS || p->n > COLUMN_UNIT) return false;
  gemm_job_t job = dot_gemm_job(p);
  return (double)p->m * (double)p->n * (double)p->k > 4 * SPLIT_PRODUCTS &&
         gemm_depth_parts(&job) > 1;
}

/* Reserves widened operands, b with dense columns, and sums to be narrowed. */
static void plan_scratch(dot_small_t *plan, op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  const matmul_types_t *t = &p->types;
  size_t total = 0, each = (size_t)t->element_bytes;
  dot_conversion_init(p, &p->a, false, !matmul_is_widened(t, t->lhs), &total, &plan->a);
  dot_conversion_init(p, &p->b, false, !matmul_is_widened(t, t->rhs), &total, &plan->b);
  plan->transposed_at =
      scratch_reserve(&total, plan->transposed ? (size_t)(p->k * p->n) * each : 0);
  plan->narrowed = !matmul_is_widened(t, t->out);
  plan->sums_at =
      scratch_reserve(&total, plan->narrowed ? (size_t)(p->batch * p->m * p->n) * each : 0);
  out->scratch_bytes = total;
}

/* Divisor of a worker's units. */
static int64_t unit_of(const dot_problem_t *p, dot_loop_t loop) {
  if (loop == LOOP_TURNED) return TURNED_COLUMNS;
  if (loop != LOOP_COLUMNS) return GROUP_UNIT;
  return p->m > THIN_ROWS && !is_large(p) ? STRIP_UNIT : COLUMN_UNIT;
}

/* Signature of op_native_parts_t.fuse. */
static hr_status_t fuse_epilogue(const op_native_target_t *target, const void *before,
                                 const op_native_grid_t *grid, op_native_step_t *out) {
  dot_small_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  *plan = *(const dot_small_t *)before;
  plan->finish_unit = grid->unit;
  plan_scratch(plan, out);
  out->plan = plan;
  return NULL;
}

/* Describes the parts of the result for epilogues, of products whose time is not that of reading
 * b. A large b is read along its rows, not by strips. */
static void plan_parts(const dot_small_t *plan, dot_loop_t loop, op_native_step_t *out) {
  const dot_problem_t *p = plan->problem;
  if (loop != LOOP_COLUMNS || plan->exchanged || plan->narrowed) return;
  if (p->m <= THIN_ROWS || is_large(p)) return;
  out->parts.grid = (op_native_grid_t){p->batch * p->m, p->n, STRIP_UNIT, !plan->split, false};
  out->parts.fuse = fuse_epilogue;
}

/* Declines (out->plan stays NULL) integers and complex numbers, operands to be reordered, larger
 * products of narrow types, and right sides that are packed once because they are constant or
 * loop-invariant. */
hr_status_t dot_prepare_small(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out) {
  const matmul_types_t *t = &problem->types;
  dot_small_t *plan;
  dot_loop_t loop;
  bool converts = !matmul_is_widened(t, t->lhs) || !matmul_is_widened(t, t->rhs) ||
                  !matmul_is_widened(t, t->out);
  if (t->is_complex || (t->real != HR_F32 && t->real != HR_F64)) return NULL;
  if (converts && !dot_is_tiny(problem, DOT_TINY_PRODUCTS)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"loops", run_small};
  plan->problem = problem;
  if (problem->a.ordered || problem->b.ordered) return NULL;
  plan->job = (dot_small_job_t){
      .m = problem->m, .n = problem->n, .k = problem->k, .c_row = problem->n, .depth = problem->k};
  plan->job.a_row = problem->a.row_step;
  plan->job.a_col = problem->a.col_step;
  plan->job.b_row = problem->b.row_step;
  plan->job.b_col = problem->b.col_step;
  if (problem->packed_b || (problem->constant_b && dot_packs_once(problem))) return NULL;
  if (!plan_job(problem, plan, &loop) || is_better_by_terms(problem, loop)) return NULL;
  plan_scratch(plan, out);
  plan->loop = choose_loop(t->real == HR_F64, loop);
  double products = problem->flops / 2, each = products / (double)problem->batch;
  plan->batch_grain = 1 + (int64_t)(SPLIT_PRODUCTS / each);
  plan->split =
      target->workers > 1 && each >= SPLIT_PRODUCTS && problem->batch < 2 * target->workers;
  int64_t share = (plan->units + target->workers - 1) / target->workers;
  plan->unit_grain = hr_round_up(hr_max(1, share), unit_of(problem, loop));
  plan_parts(plan, loop, out);
  out->plan = plan;
  return NULL;
}
