/* Products of matrices of integers of 8 and 16 bits with AVX2, blocked for the caches. Terms are
 * widened to 16 bits, and multiplied and added by pairs (VPMADDWD), into sums of 32 bits:
 *
 *   for each task              some rows, or some columns, of one matrix of the batch
 *     for each block of rows, of DEPTH terms              a: [row][pair], packed
 *       for each group of panels of PANEL columns         b: [panel][pair][PANEL], packed
 *         for ROWS rows at a time, for each panel         sums in registers
 *
 * Sums wrap as those of the reference, so they do not depend on the order of the terms. */
#include "base/arith.h"
#include "ops/kernels/dot/dot_pairs.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/simd/simd_target.h"

#if SIMD_HAS_WIDTHS
#include <immintrin.h>
#include <string.h>

NATIVE_OPTIMIZE

#define ROWS 6               /* rows of a tile */
#define PANEL 16             /* columns of a tile: two vectors of sums */
#define DEPTH 512            /* most terms of a block: a panel stays in the first-level cache */
#define GROUP_COLUMNS 256    /* most columns of a group: 256 KiB, of a second-level cache */
#define BLOCK_ROWS 384       /* most rows of a block */
#define TASK_PRODUCTS 100000 /* least products of a task */
#define LEAST_PRODUCTS 4096  /* products from which packing pays */

typedef struct pairs_blocked {
  dot_strategy_t strategy;
  const dot_problem_t *problem;
  int64_t row_unit, column_unit;   /* rows and columns of a task */
  int64_t row_parts, column_parts; /* tasks of a matrix */
  int64_t grain;                   /* tasks that a worker takes at once */
  size_t space_bytes;              /* scratch per worker, for packed a and then b */
  size_t b_at;                     /* offset of packed b */
} pairs_blocked_t;

typedef struct pairs_blocked_run {
  const pairs_blocked_t *plan;
  const char *a, *b;
  char *c, *space;
} pairs_blocked_run_t;

/* A part of the result, [row, row + rows) x [column, column + columns), and of the terms. */
typedef struct pairs_block {
  const dot_problem_t *problem;
  const char *a, *b; /* first elements of the matrices */
  char *c;
  int64_t row, rows, column, columns, first, depth;
  int32_t *a_pairs, *b_pairs;
} pairs_block_t;

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* --- packing --- */

/* `count` elements, `step` apart, and zeros. */
INLINE __m256i load_line(hr_dtype_t type, const char *from, int64_t step, int64_t count) {
  int16_t line[PANEL] = {0};
  if (step == 1 && count == PANEL) return dot_pair_elements(type, from);
  for (int64_t i = 0; i < count; i++) line[i] = dot_pair_element(type, from, i * step);
  return _mm256_loadu_si256((const __m256i *)line);
}

/* Packs a panel of `count` columns of b. The vectors of a pair of rows have columns 0 to 3 and 8 to
 * 11, and 4 to 7 and 12 to 15. */
INLINE void pack_panel(hr_dtype_t type, const pairs_block_t *block, const char *from, int64_t count,
                       int32_t *to) {
  const dot_matrices_t *b = &block->problem->b;
  int64_t down = b->row_step * (int64_t)hr_dtype_bytes(type);
  for (int64_t i = 0; i < block->depth; i += 2, from += 2 * down, to += PANEL) {
    __m256i even = load_line(type, from, b->col_step, count), odd = _mm256_setzero_si256();
    if (i + 1 < block->depth) odd = load_line(type, from + down, b->col_step, count);
    _mm256_storeu_si256((__m256i *)to, _mm256_unpacklo_epi16(even, odd));
    _mm256_storeu_si256((__m256i *)to + 1, _mm256_unpackhi_epi16(even, odd));
  }
}

/* Packs `columns` columns from `column` on. */
TARGET static void pack_b(const pairs_block_t *block, int64_t column, int64_t columns) {
  const dot_matrices_t *b = &block->problem->b;
  hr_dtype_t type = block->problem->types.rhs;
  int64_t bytes = (int64_t)hr_dtype_bytes(type), panel = dot_pair_count(block->depth) * PANEL;
  for (int64_t j = 0; j < columns; j += PANEL) {
    const char *from = block->b + (block->first * b->row_step + (column + j) * b->col_step) * bytes;
    pack_panel(type, block, from, hr_min(PANEL, columns - j), block->b_pairs + j / PANEL * panel);
  }
}

/* Packs the rows of a block. A last odd term is followed by zero. */
TARGET static void pack_a(const pairs_block_t *block) {
  const dot_matrices_t *a = &block->problem->a;
  hr_dtype_t type = block->problem->types.lhs;
  int64_t bytes = (int64_t)hr_dtype_bytes(type), step = 2 * dot_pair_count(block->depth);
  int16_t *to = (int16_t *)block->a_pairs;
  for (int64_t r = 0; r < block->rows; r++, to += step) {
    const char *from =
        block->a + ((block->row + r) * a->row_step + block->first * a->col_step) * bytes;
    int64_t i = 0;
    for (; a->col_step == 1 && i + PANEL <= block->depth; i += PANEL)
      _mm256_storeu_si256((__m256i *)(to + i), dot_pair_elements(type, from + i * bytes));
    for (; i < block->depth; i++) to[i] = dot_pair_element(type, from, i * a->col_step);
    if (block->depth % 2) to[block->depth] = 0;
  }
}

/* --- products --- */

/* Adds `count` sums to the result, or stores them: the low bytes of each. */
static void store_part(size_t bytes, bool adds, int64_t count, const uint32_t *sums, char *to) {
  for (int64_t i = 0; i < count; i++, to += bytes) {
    uint32_t old = 0;
    if (adds) memcpy(&old, to, bytes);
    old += sums[i];
    memcpy(to, &old, bytes);
  }
}

/* Stores the sums of a row of a tile, in the order of columns. */
INLINE void store_row(size_t bytes, bool adds, int64_t count, const __m256i sums[2], char *to) {
  __m256i *c = (__m256i *)to;
  __m256i low = _mm256_permute2x128_si256(sums[0], sums[1], 0x20);
  __m256i high = _mm256_permute2x128_si256(sums[0], sums[1], 0x31);
  if (bytes == 4 && count == PANEL) {
    if (adds) low = _mm256_add_epi32(low, _mm256_loadu_si256(c));
    if (adds) high = _mm256_add_epi32(high, _mm256_loadu_si256(c + 1));
    _mm256_storeu_si256(c, low);
    _mm256_storeu_si256(c + 1, high);
    return;
  }
  uint32_t part[PANEL];
  _mm256_storeu_si256((__m256i *)part, low);
  _mm256_storeu_si256((__m256i *)part + 1, high);
  store_part(bytes, adds, count, part, to);
}

/* Multiplies `rows`, a constant at each call, by a panel. Element (0, 0) of the tile is at `c`. */
INLINE void tile(int rows, const pairs_block_t *block, const int32_t *a, const int32_t *b,
                 int64_t count, char *c) {
  int64_t pairs = dot_pair_count(block->depth);
  size_t bytes = hr_dtype_bytes(block->problem->types.out);
  __m256i sums[ROWS][2];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  for (int64_t i = 0; i < pairs; i++, b += PANEL) {
    __m256i first = _mm256_loadu_si256((const __m256i *)b);
    __m256i second = _mm256_loadu_si256((const __m256i *)b + 1);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      __m256i factor = _mm256_set1_epi32(a[r * pairs + i]);
      sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(factor, first));
      sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(factor, second));
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++, c += block->problem->n * (int64_t)bytes)
    store_row(bytes, block->first > 0, count, sums[r], c);
}

/* Multiplies the rows of a block by a group of packed columns. */
TARGET static void multiply_group(const pairs_block_t *block, int64_t column, int64_t columns) {
  const dot_problem_t *p = block->problem;
  int64_t pairs = dot_pair_count(block->depth), bytes = (int64_t)hr_dtype_bytes(p->types.out);
  for (int64_t r = 0; r < block->rows; r += ROWS)
    for (int64_t j = 0; j < columns; j += PANEL) {
      const int32_t *a = block->a_pairs + r * pairs, *b = block->b_pairs + j * pairs;
      int64_t count = hr_min(PANEL, columns - j);
      char *c = block->c + ((block->row + r) * p->n + column + j) * bytes;
      switch (hr_min(ROWS, block->rows - r)) {
        case 1:
          tile(1, block, a, b, count, c);
          break;
        case 2:
          tile(2, block, a, b, count, c);
          break;
        case 3:
          tile(3, block, a, b, count, c);
          break;
        case 4:
          tile(4, block, a, b, count, c);
          break;
        case 5:
          tile(5, block, a, b, count, c);
          break;
        default:
          tile(ROWS, block, a, b, count, c);
      }
    }
}

/* Computes a part of the result, with all its terms. */
static void multiply(const pairs_block_t *part) {
  pairs_block_t block = *part;
  int64_t end = part->row + part->rows;
  for (block.row = part->row; block.row < end; block.row += BLOCK_ROWS) {
    block.rows = hr_min(BLOCK_ROWS, end - block.row);
    for (block.first = 0; block.first < part->problem->k; block.first += DEPTH) {
      block.depth = hr_min(DEPTH, part->problem->k - block.first);
      pack_a(&block);
      for (int64_t j = 0; j < part->columns; j += GROUP_COLUMNS) {
        int64_t columns = hr_min(GROUP_COLUMNS, part->columns - j);
        pack_b(&block, part->column + j, columns);
        multiply_group(&block, part->column + j, columns);
      }
    }
  }
}

/* --- the strategy --- */

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const pairs_blocked_run_t *r = context;
  const pairs_blocked_t *plan = r->plan;
  const dot_problem_t *p = plan->problem;
  char *space = r->space + (size_t)worker * plan->space_bytes;
  for (int64_t task = begin; task < end; task++) {
    int64_t matrix = task / (plan->row_parts * plan->column_parts);
    int64_t row = task / plan->column_parts % plan->row_parts * plan->row_unit;
    int64_t column = task % plan->column_parts * plan->column_unit;
    pairs_block_t part = {.problem = p,
                          .a = r->a + p->a.starts[matrix] * (int64_t)hr_dtype_bytes(p->types.lhs),
                          .b = r->b + p->b.starts[matrix] * (int64_t)hr_dtype_bytes(p->types.rhs),
                          .c = r->c + matrix * p->m * p->n * (int64_t)hr_dtype_bytes(p->types.out),
                          .row = row,
                          .rows = hr_min(plan->row_unit, p->m - row),
                          .column = column,
                          .columns = hr_min(plan->column_unit, p->n - column),
                          .a_pairs = (int32_t *)space,
                          .b_pairs = (int32_t *)(space + plan->b_at)};
    multiply(&part);
  }
}

static hr_status_t run_pairs_blocked(const op_native_run_t *run, const dot_strategy_t *strategy,
                                     void *const *in, void *const *out) {
  const pairs_blocked_t *plan = (const pairs_blocked_t *)strategy;
  pairs_blocked_run_t r = {
      .plan = plan, .a = in[0], .b = in[1], .c = out[0], .space = run->scratch};
  int64_t tasks = plan->row_parts * plan->column_parts * plan->problem->batch;
  hr_workers_split(run->workers, tasks, plan->grain, run_tasks, &r);
  return NULL;
}

/* Sums of several depth blocks are added in the result, which must have 32 bits then. */
static bool is_supported(const dot_problem_t *p) {
  const matmul_types_t *t = &p->types;
  size_t out_bytes = hr_dtype_bytes(t->out);
  return simd_width() == SIMD_256 && t->real == HR_U32 && dot_fits_16_bits(t->lhs) &&
         dot_fits_16_bits(t->rhs) && (out_bytes == 4 || (out_bytes < 4 && p->k <= DEPTH)) &&
         !p->a.ordered && !p->b.ordered && p->m * p->n * p->k >= LEAST_PRODUCTS;
}

/* The longer side of the result is divided among the workers if the batch is too short to occupy
 * them. */
hr_status_t dot_prepare_pairs_blocked(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out) {
  pairs_blocked_t *plan;
  const dot_problem_t *p = problem;
  if (!is_supported(p)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->strategy = (dot_strategy_t){"pairs in blocks", run_pairs_blocked};
  plan->problem = p;
  int64_t products = p->m * p->n * p->k;
  int64_t parts = p->batch < 4 * target->workers && target->workers > 1
                      ? hr_min(target->workers, hr_div_ceil(products, TASK_PRODUCTS))
                      : 1;
  bool by_rows = p->m >= p->n;
  plan->row_unit = by_rows ? hr_round_up(hr_div_ceil(p->m, parts), ROWS) : p->m;
  plan->column_unit = by_rows ? p->n : hr_round_up(hr_div_ceil(p->n, parts), PANEL);
  plan->row_parts = hr_div_ceil(p->m, plan->row_unit);
  plan->column_parts = hr_div_ceil(p->n, plan->column_unit);
  plan->grain = 1 + TASK_PRODUCTS / hr_max(1, plan->row_unit * plan->column_unit * p->k);
  int64_t pairs = dot_pair_count(hr_min(p->k, DEPTH));
  int64_t rows = hr_min(hr_round_up(plan->row_unit, ROWS), BLOCK_ROWS);
  int64_t columns = hr_min(hr_round_up(plan->column_unit, PANEL), GROUP_COLUMNS);
  plan->b_at = (size_t)hr_round_up(rows * pairs * (int64_t)sizeof(int32_t), 64);
  plan->space_bytes = plan->b_at + (size_t)(columns * pairs) * sizeof(int32_t);
  out->scratch_bytes = plan->space_bytes * (size_t)target->workers;
  out->plan = plan;
  return NULL;
}

#else
hr_status_t dot_prepare_pairs_blocked(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out) {
  (void)target, (void)problem, (void)out;
  return NULL;
}
#endif
