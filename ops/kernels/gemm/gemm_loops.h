/* Loops of gemm.c for one vector width and type. gemm.c includes this file once for
 * each of them. Columns of B and C, and k, count reals here: two per complex element.
 *
 *   part                  loop over blocks of A, by rows and depth blocks
 *   columns               loop over groups of panels of B
 *   panels, rows_panels   loops over the tiles of a block and a group
 *   any_tile, edge        a tile of 1 to 3 vectors by 1 .. BLOCK_ROWS rows (gemm_tiles.h)
 *
 * Operands are packed (gemm_packing.h), except those that are read in place: A where a copy would
 * not pay (packs_a in gemm.c), B where few rows use the copy (reads_b_in_place). B with dense rows
 * is packed by the tiles of the first rows, which have its vectors in registers. Tiles of all rows
 * prefetch the elements of B that the next group packs. */
#include "ops/kernels/gemm/gemm_microkernel.h"

#define BLOCK_ROWS GEMM_TILE_ROWS(SIMD_BYTES)
#define WIDTH PANEL_WIDTH
#define THREE_VECTOR_ROWS 4 /* most rows of a tile of three vectors that 16 registers hold */
/* Terms in an iteration of a tile with packed columns of A: of four terms, the compiler keeps a sum
 * in memory if there are 16 registers. */
#define PACKED_UNROLL (SIMD_BYTES == 64 ? 4 : 2)
#define PANEL(depth)      \
  (BLOCK_ROWS * (depth) + \
   LANES) /* elements of a packed panel of A: the padding keeps panels in different cache sets */

#include "ops/kernels/gemm/gemm_packing.h"
#include "ops/kernels/gemm/gemm_tiles.h"

/* True if tiles read `columns` columns of B and nothing beyond them. */
SIMD_INLINE bool SIMD_NAME(reads_exactly)(int64_t columns) {
  return SIMD_BYTES == 64 || columns % LANES == 0;
}

/* How tiles treat a last vector with at most half of its lanes. Whether terms are paired depends on
 * the job alone, not on what a worker packs. */
SIMD_INLINE gemm_last_t SIMD_NAME(narrow_last)(const gemm_job_t *job, int parts,
                                               const SIMD_NAME(block_t) * block) {
  if (job->fill || job->a_rows || parts == 2 || job->a_col == 1) return LAST_TERM_PAIRS;
  return block->row == 1 ? LAST_ROW_PAIRS : LAST_MASKED;
}

/* Elements of B that are prefetched: `count` runs of `lines` cache lines each; `lines` 0: none. */
typedef struct SIMD_NAME(lines) {
  const SIMD_REAL *first;
  int64_t step, count, lines; /* step: distance between runs */
} SIMD_NAME(lines_t);

/* A group of panels, and the block of A that is multiplied by them. */
typedef struct SIMD_NAME(group) {
  const gemm_job_t *job;
  const SIMD_NAME(block_t) * block;
  SIMD_NAME(target_t) at;
  gemm_mode_t mode;
  int64_t columns;
  const SIMD_REAL *b; /* panels */
  int64_t b_step;     /* reals from a column to the next, for columns that begin panels */
  /* B in place, with the first column at `source`, if the first rows pack the panels; else NULL. */
  const SIMD_REAL *source;
  SIMD_NAME(target_t) from;
  SIMD_NAME(lines_t) next; /* elements of B that the next group packs */
} SIMD_NAME(group_t);

/* Elements of the next BLOCK_ROWS rows that a tile prefetches; NULL: none. The tile is number
 * `number` of those at row `row`. Each tile prefetches two rows if rows are dense; otherwise the
 * first tile prefetches all rows. */
SIMD_INLINE const SIMD_REAL *SIMD_NAME(ahead_of)(const SIMD_NAME(block_t) * block, int64_t row,
                                                 int64_t number) {
  int64_t first = number * (block->col == 1 ? 2 : BLOCK_ROWS);
  if (first >= BLOCK_ROWS || row + BLOCK_ROWS + first + 1 >= block->rows) return NULL;
  return block->data + (row / BLOCK_ROWS + 1) * block->panel + first * block->row;
}

/* Lets a tile prefetch elements that the next group packs. Tiles are numbered through the group; a
 * tile prefetches one line of as many runs as it has iterations. */
SIMD_INLINE void SIMD_NAME(prefetch_next)(const SIMD_NAME(group_t) * group, int64_t number,
                                          SIMD_NAME(operands_t) * in) {
  enum { UNROLL = 4, LINE = 64 / (int)sizeof(SIMD_REAL) };
  const SIMD_NAME(lines_t) *next = &group->next;
  int64_t runs = group->at.k / (group->at.a_col == BLOCK_ROWS ? PACKED_UNROLL : UNROLL);
  in->next = in->b;
  in->next_step = 0;
  if (!next->lines || !runs) return;
  int64_t parts = hr_div_ceil(next->count, runs);
  if (number >= parts * next->lines) return;
  in->next = next->first + number / parts * LINE + number % parts * runs * next->step;
  in->next_step = next->step;
}

/* Operands of the tile of columns from `column` on, of rows from `row` on. The first rows pack the
 * panels if they read exactly `count` columns; *out_at: the strides. */
SIMD_INLINE SIMD_NAME(operands_t)
    SIMD_NAME(operands_of)(const SIMD_NAME(group_t) * group, int64_t row, int64_t column,
                           int64_t count, const SIMD_REAL *a, const SIMD_NAME(target_t) * *out_at) {
  int64_t panels = hr_div_ceil(group->columns, WIDTH), number = hr_div_ceil(column, WIDTH);
  int64_t panel = column / WIDTH * WIDTH;
  const SIMD_REAL *b = group->b + panel * group->b_step + column - panel;
  SIMD_NAME(operands_t) in = {.a = a, .b = b};
  in.ahead = SIMD_NAME(ahead_of)(group->block, row, number);
  SIMD_NAME(prefetch_next)(group, row / BLOCK_ROWS * panels + number, &in);
  *out_at = &group->at;
  if (!group->source || row || !SIMD_NAME(reads_exactly)(count)) return in;
  in.packed = (SIMD_REAL *)in.b;
  in.b = group->source + column;
  *out_at = &group->from;
  return in;
}

#if SIMD_BYTES == 64
/* Multiplies BLOCK_ROWS rows by the last columns of a group, a panel and one vector more, by two
 * tiles of two vectors: with a tile of one vector 64 columns take 1.06 times as long, as it has too
 * few sums to hide the latency of an addition. */
SIMD_INLINE void SIMD_NAME(last_panels)(const SIMD_NAME(group_t) * group, int64_t row,
                                        int64_t first, const SIMD_REAL *a, SIMD_REAL *c) {
  const int64_t second = first + 2 * LANES;
  const SIMD_NAME(target_t) * at;
  SIMD_NAME(operands_t) in = SIMD_NAME(operands_of)(group, row, first, WIDTH, a, &at);
  SIMD_NAME(all_rows2)(group->mode, at, &in, c + first);
  in = SIMD_NAME(operands_of)(group, row, second, 2 * LANES, a, &at);
  in.packed_gap = group->b_step * WIDTH - WIDTH;
  in.b_gap = in.packed || group->b_step == 1 ? 0 : in.packed_gap;
  SIMD_NAME(all_rows2_across)(group->mode, at, &in, c + second);
}
#else
/* Multiplies at most BLOCK_ROWS rows by the last columns of a group, a panel and one vector more.
 * A tile of one vector has too few sums to hide the latency of an addition, so that tiles have
 * three vectors and half of the rows. False: the rows have no such tile. */
SIMD_INLINE bool SIMD_NAME(last_panels)(const SIMD_NAME(group_t) * group, int64_t row, int64_t rows,
                                        int64_t first, const SIMD_REAL *a, SIMD_REAL *c) {
  const SIMD_NAME(target_t) * at;
  SIMD_NAME(operands_t) in = SIMD_NAME(operands_of)(group, row, first, WIDTH + LANES, a, &at);
  in.packed_gap = group->b_step * WIDTH - WIDTH;
  in.b_gap = in.packed ? 0 : in.packed_gap;
  if (rows < BLOCK_ROWS) {
    if (rows <= THREE_VECTOR_ROWS)
      SIMD_NAME(few_rows3_across)(rows, group->mode, at, &in, c + first);
    return rows <= THREE_VECTOR_ROWS;
  }
  SIMD_NAME(half_rows3_across)(group->mode, at, &in, c + first);
  SIMD_NAME(operands_t) lower = SIMD_NAME(operands_of)(group, row, first + WIDTH, LANES, a, &at);
  lower.a += BASE_ROWS * group->block->row;
  lower.b = group->b + first * group->b_step;
  lower.b_gap = in.packed_gap;
  lower.packed = NULL;
  SIMD_NAME(half_rows3_across)
  (group->mode, &group->at, &lower, c + first + BASE_ROWS * group->at.c_row);
  return true;
}
#endif

/* Multiplies at most BLOCK_ROWS rows of a block, from `row` on, by columns [first, end) of a
 * group. The first rows pack the panels. */
SIMD_TARGET static void SIMD_NAME(rows_panels)(const SIMD_NAME(group_t) * group, int64_t row,
                                               int64_t first, int64_t end, const SIMD_REAL *a,
                                               SIMD_REAL *c) {
  int64_t rows = hr_min(BLOCK_ROWS, group->block->rows - row);
  for (int64_t s = first; s < end; s += WIDTH) {
    int64_t count = hr_min(WIDTH, end - s);
    const SIMD_NAME(target_t) * at;
#if SIMD_BYTES == 64
    if (rows == BLOCK_ROWS && s + WIDTH + LANES == group->columns) {
      SIMD_NAME(last_panels)(group, row, s, a, c);
      return;
    }
#else
    if (s + WIDTH + LANES == end && SIMD_NAME(last_panels)(group, row, rows, s, a, c)) return;
#endif
    SIMD_NAME(operands_t) in = SIMD_NAME(operands_of)(group, row, s, count, a, &at);
    if (count % LANES == 0) SIMD_NAME(any_tile)
    (rows, count / LANES, group->mode, at, &in, c + s);
    else SIMD_NAME(edge)(rows, count, group->mode, at, &in, c + s);
  }
}

/* Multiplies a block by a group of panels, which stays in the second-level cache. BLOCK_ROWS rows
 * at a time are multiplied by all panels, and C is written in long runs. A panel of vectors of 16
 * bytes stays in the first-level cache while all rows are multiplied by it, unless sums are so
 * short that C is most of the traffic. */
SIMD_TARGET static void SIMD_NAME(panels)(const SIMD_NAME(group_t) * group, SIMD_REAL *c) {
  const SIMD_NAME(block_t) *block = group->block;
  bool is_long = SIMD_BYTES >= 32 || block->depth <= SHORT_DEPTH;
  int64_t unit = is_long ? group->columns : WIDTH, step = BLOCK_ROWS * group->at.c_row;
  for (int64_t s = 0; s < group->columns; s += unit)
    for (int64_t i = 0; i < block->rows; i += BLOCK_ROWS) SIMD_NAME(rows_panels)
  (group, i, s, hr_min(s + unit, group->columns), block->data + i / BLOCK_ROWS * block->panel,
   c + i / BLOCK_ROWS * step);
}

/* True if the first rows pack panels of B while they are multiplied by them. */
SIMD_INLINE bool SIMD_NAME(packs_first_rows)(const gemm_job_t *job, int parts,
                                             const SIMD_NAME(block_t) * block) {
  return !job->packed_b && SIMD_NAME(has_dense_rows)(job, parts) && block->rows >= BLOCK_ROWS &&
         (block->col == 1 || (block->row == 1 && block->col == BLOCK_ROWS));
}

/* True if B is read in place: few rows use it, its rows are dense and fill vectors unless these can
 * be masked, and the second cache keeps its part. Rows that share cache sets are read again from
 * the second cache by each tile, so that only a few tiles do; so are rows of which a panel takes
 * one line each: packing makes 24 to 128 rows 1.05 to 1.2 times as fast. Sums have the same order
 * either way. */
SIMD_INLINE bool SIMD_NAME(reads_b_in_place)(const gemm_job_t *job, int parts,
                                             const gemm_range_t *range, const gemm_range_t *now,
                                             const SIMD_NAME(block_t) * block) {
  enum { SIZE = sizeof(SIMD_REAL), HAS_MASKS = SIMD_BYTES == 64 };
  if (job->packed_b || !SIMD_NAME(has_dense_rows)(job, parts)) return false;
  if (block->col != 1 && (block->row != 1 || !HAS_MASKS)) return false;
  if (range->columns % LANES && !HAS_MASKS) return false;
  bool conflicts = !HAS_MASKS || job->b_row * SIZE % CONFLICT_BYTES == 0;
  if (range->rows > (conflicts ? 2 * BLOCK_ROWS : PLACE_ROWS) || job->b_row == WIDTH ||
      (job->b_row < WIDTH && !HAS_MASKS))
    return false;
  return now->depth * range->columns * SIZE <= PLACE_BYTES;
}

SIMD_INLINE const SIMD_REAL *SIMD_NAME(place_in_b)(const gemm_job_t *job, int64_t row,
                                                   int64_t column) {
  return (const SIMD_REAL *)job->b + row * job->b_row + column * job->b_col;
}

/* Elements of B with `columns` columns from `column` on and `depth` terms from `first` on. */
SIMD_INLINE SIMD_NAME(lines_t) SIMD_NAME(lines_of)(const gemm_job_t *job, int parts, int64_t first,
                                                   int64_t depth, int64_t column, int64_t columns) {
  enum { LINE = 64 / (int)sizeof(SIMD_REAL) };
  if (parts > 1 || job->packed_b || job->b_rows || columns <= 0 || depth <= 0)
    return (SIMD_NAME(lines_t)){0};
  const SIMD_REAL *b = SIMD_NAME(place_in_b)(job, first, column);
  if (job->b_col == 1)
    return (SIMD_NAME(lines_t)){b, job->b_row, depth, hr_div_ceil(columns, LINE) + 1};
  if (job->b_row == 1)
    return (SIMD_NAME(lines_t)){b, job->b_col, columns, hr_div_ceil(depth, LINE) + 1};
  return (SIMD_NAME(lines_t)){0};
}

/* Elements of B that are needed after the group of columns from `j` on: those of the next group, or
 * of the first group of the next depth block. */
SIMD_INLINE SIMD_NAME(lines_t)
    SIMD_NAME(lines_after)(const gemm_job_t *job, int parts, const gemm_range_t *range,
                           const gemm_range_t *now, int64_t j, int64_t width) {
  int64_t after = j + width, end = now->first + now->depth;
  if (after < range->columns)
    return SIMD_NAME(lines_of)(job, parts, now->first, now->depth, range->column + after,
                               hr_min(width, range->columns - after));
  int64_t depth = hr_min(now->depth, range->first + range->depth - end);
  return SIMD_NAME(lines_of)(job, parts, end, depth, range->column, hr_min(width, range->columns));
}

/* Packs the columns of a group that the first rows do not pack. */
SIMD_INLINE void SIMD_NAME(pack_group)(const SIMD_NAME(group_t) * group, int parts,
                                       const gemm_range_t *now, int64_t column, SIMD_REAL *space) {
  int64_t first = 0;
  if (group->source)
    first =
        SIMD_NAME(reads_exactly)(group->columns) ? group->columns : group->columns / WIDTH * WIDTH;
  if (first < group->columns) SIMD_NAME(pack_panels)
  (group->job, parts, now->first, now->depth, column + first, group->columns - first,
   space + first * now->depth);
}

/* Multiplies rows and depth `now` of a range by all columns of the range, group by group. */
SIMD_TARGET static void SIMD_NAME(columns)(const gemm_range_t *range, const gemm_range_t *now,
                                           int worker, SIMD_NAME(group_t) * group, SIMD_REAL *c) {
  const gemm_job_t *job = group->job;
  int parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  gemm_panels_t panels = gemm_panels_of(job);
  int64_t width = gemm_group_columns(job, range->columns, now->depth, WIDTH, sizeof(SIMD_REAL));
  bool in_place = SIMD_NAME(reads_b_in_place)(job, parts, range, now, group->block);
  bool packs_first = !in_place && SIMD_NAME(packs_first_rows)(job, parts, group->block);
  SIMD_REAL *space = (SIMD_REAL *)group->b;
  group->from = group->at;
  group->from.b_row = job->b_row;
  if (in_place) group->at.b_row = job->b_row;
  group->b_step = in_place ? 1 : now->depth;
  if (job->packed_b) group->b_step = hr_min(panels.depth, panels.k - now->first);
  for (int64_t j = 0; j < range->columns; j += width) {
    int64_t column = range->column + j;
    group->columns = hr_min(width, range->columns - j);
    group->source = packs_first ? SIMD_NAME(place_in_b)(job, now->first, column) : NULL;
    group->next = SIMD_NAME(lines_after)(job, parts, range, now, j, width);
    if (in_place)
      group->b = SIMD_NAME(place_in_b)(job, now->first, column);
    else if (job->packed_b)
      group->b = (const SIMD_REAL *)job->packed_b + gemm_packed_at(&panels, now->first, column);
    else
      SIMD_NAME(pack_group)(group, parts, now, column, space);
    SIMD_NAME(panels)(group, c + j);
    if (job->finish_unit) gemm_report_finished(job, range, now, worker, column, group->columns);
  }
}

/* Packs all of B. */
SIMD_TARGET static void SIMD_NAME(pack_all)(const gemm_job_t *job, SIMD_REAL *to) {
  gemm_panels_t panels = gemm_panels_of(job);
  for (int64_t p = 0; p < job->k; p += panels.depth) SIMD_NAME(pack_panels)
  (job, 1, p, hr_min(panels.depth, job->k - p), 0, job->n, to + gemm_packed_at(&panels, p, 0));
}

/* Computes a part of a partition on the calling worker. */
SIMD_TARGET static void SIMD_NAME(part)(const gemm_job_t *job, const gemm_range_t *range,
                                        int worker, void *space) {
  enum { SIZE = sizeof(SIMD_REAL) };
  int parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  int64_t depth = job->packed_k ? job->packed_k : range->depth;
  int64_t block_rows = gemm_part_rows(job, depth, SIZE);
  int64_t panel_depth = gemm_panel_depth(depth);
  SIMD_REAL *b = space;
  SIMD_REAL *a = b + gemm_panels_bytes(job, range->depth, SIZE) / SIZE;
  for (int64_t i = 0; i < range->rows; i += block_rows)
    for (int64_t p = 0; p < range->depth; p += panel_depth) {
      gemm_range_t now = {.row = range->row + i,
                          .rows = hr_min(block_rows, range->rows - i),
                          .first = range->first + p,
                          .depth = hr_min(panel_depth, range->depth - p)};
      SIMD_NAME(block_t)
      block = SIMD_NAME(prepare_block)(job, parts, worker, range->packed, &now, a);
      SIMD_NAME(group_t)
      group = {.job = job,
               .block = &block,
               .at = {now.depth, block.row, block.col, WIDTH, job->c_row * parts, 0,
                      SIMD_NAME(narrow_last)(job, parts, &block)},
               .mode = gemm_mode_of(job, range, now.first),
               .b = b};
      SIMD_REAL *c = (SIMD_REAL *)job->c + now.row * group.at.c_row + range->column;
      SIMD_NAME(columns)(range, &now, worker, &group, c);
      if (!job->finish_unit)
        gemm_report_finished(job, range, &now, worker, range->column, range->columns);
    }
}

#undef BLOCK_ROWS
#undef WIDTH
#undef THREE_VECTOR_ROWS
#undef PACKED_UNROLL
#undef PANEL
#undef LANES
#undef SIMD_INLINE
