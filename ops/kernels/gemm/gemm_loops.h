/* Loops of gemm.c for one vector width and type. gemm.c includes this file once for
 * each of them. Columns of B and C, and k, count reals here: two per complex element.
 *
 *   part                  loop over blocks of A, by rows and depth blocks
 *   columns               loop over groups of panels of B, which are packed together
 *   panels, rows_panels   loops over the tiles of a block and a group
 *   any_tile              a tile of 1 to 3 vectors by 1 .. BLOCK_ROWS rows (gemm_microkernel.h)
 *
 * Operands are packed (gemm_packing.h), except those that are read in place: A where a copy would
 * not pay (packs_a in gemm.c), B where few rows use the copy (reads_b_in_place). */
#include "ops/kernels/gemm/gemm_microkernel.h"

#if SIMD_SUMS == 16
#define BLOCK_ROWS 8
#else
#define BLOCK_ROWS 4
#endif
#define WIDTH (GEMM_TILE_VECTORS(SIMD_BYTES) * LANES)
#define PANEL(depth)      \
  (BLOCK_ROWS * (depth) + \
   LANES) /* elements of a packed panel of A: the padding keeps panels in different cache sets */

#include "ops/kernels/gemm/gemm_packing.h"

/* --- products --- */

/* Computes a tile of BLOCK_ROWS rows. The strides of packed B are constants here, and so are those
 * of A if its columns are packed, or if its rows are dense and vectors long: with shorter vectors
 * dense rows gain nothing from constants. */
SIMD_INLINE void SIMD_NAME(whole_tile)(int vecs, gemm_last_t last, gemm_mode_t mode,
                                       const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                       const SIMD_REAL *ahead, const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(target_t) steps = {at->k, at->a_row, at->a_col, WIDTH, at->c_row, at->last};
  int64_t prefetch = vecs == 3 ? PREFETCH_ROWS * WIDTH : 0;
  if (SIMD_BYTES == 64 && at->a_col == 1) {
    steps.a_col = 1;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, last, 4, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  } else if (at->a_row == 1 && at->a_col == BLOCK_ROWS) {
    steps.a_row = 1;
    steps.a_col = BLOCK_ROWS;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, last, 4, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  } else {
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, last, 1, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  }
}

/* Computes a tile of BLOCK_ROWS rows with B in place. Either rows or columns of A are dense. */
SIMD_INLINE void SIMD_NAME(place_tile)(int vecs, gemm_last_t last, gemm_mode_t mode,
                                       const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                       const SIMD_REAL *ahead, const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(target_t) steps = *at;
  if (at->a_col == 1) {
    steps.a_col = 1;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, last, 4, mode, &steps, PREFETCH_ROWS * at->b_row,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  } else {
    steps.a_row = 1;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, last, 2, mode, &steps, PREFETCH_ROWS * at->b_row,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  }
}

/* Cases of few_rows for tiles of fewer than BLOCK_ROWS rows. */
#define ROWS(COUNT, VECS, LAST)                                                                 \
  case COUNT:                                                                                   \
    SIMD_NAME(tile)                                                                             \
    (COUNT, VECS, LAST, 1, mode, &steps, 0, SIMD_NAME(place_of)(COUNT, &steps, a, b, NULL), c); \
    break;
#if SIMD_SUMS == 16
#define FEW_ROWS(VECS, LAST) \
  ROWS(1, VECS, LAST)        \
  ROWS(2, VECS, LAST)        \
  ROWS(3, VECS, LAST)        \
  ROWS(4, VECS, LAST) ROWS(5, VECS, LAST) ROWS(6, VECS, LAST) ROWS(7, VECS, LAST)
#else
#define FEW_ROWS(VECS, LAST) ROWS(1, VECS, LAST) ROWS(2, VECS, LAST) ROWS(3, VECS, LAST)
#endif
#define FEW_ROWS_OF(VECS, NAME, LAST)                                                     \
  SIMD_TARGET static void SIMD_NAME(few_rows##VECS##NAME)(                                \
      int64_t rows, gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a, \
      const SIMD_REAL *b, SIMD_REAL *c) {                                                 \
    const SIMD_NAME(target_t) steps = *at;                                                \
    switch (rows) { FEW_ROWS(VECS, LAST) }                                                \
  }
FEW_ROWS_OF(1, , LAST_WHOLE)
FEW_ROWS_OF(2, , LAST_WHOLE)
FEW_ROWS_OF(3, , LAST_WHOLE)
#define ALL_ROWS_OF(VECS)                                                   \
  SIMD_TARGET static void SIMD_NAME(all_rows##VECS)(                        \
      gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a, \
      const SIMD_REAL *ahead, const SIMD_REAL *b, SIMD_REAL *c) {           \
    if (at->b_row != WIDTH)                                                 \
      SIMD_NAME(place_tile)(VECS, LAST_WHOLE, mode, at, a, ahead, b, c);    \
    else if (ahead)                                                         \
      SIMD_NAME(whole_tile)(VECS, LAST_WHOLE, mode, at, a, ahead, b, c);    \
    else                                                                    \
      SIMD_NAME(whole_tile)(VECS, LAST_WHOLE, mode, at, a, NULL, b, c);     \
  }
ALL_ROWS_OF(1)
ALL_ROWS_OF(2)
ALL_ROWS_OF(3)
#if SIMD_BYTES == 64
#define EDGE_OF(VECS, NAME, LAST)                                                               \
  SIMD_TARGET static void SIMD_NAME(all_rows##VECS##NAME)(                                      \
      gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a, const SIMD_REAL *b, \
      SIMD_REAL *c) {                                                                           \
    if (at->b_row != WIDTH)                                                                     \
      SIMD_NAME(place_tile)(VECS, LAST, mode, at, a, NULL, b, c);                               \
    else                                                                                        \
      SIMD_NAME(whole_tile)(VECS, LAST, mode, at, a, NULL, b, c);                               \
  }
FEW_ROWS_OF(1, _masked, LAST_MASKED)
FEW_ROWS_OF(2, _masked, LAST_MASKED)
FEW_ROWS_OF(3, _masked, LAST_MASKED)
EDGE_OF(1, _masked, LAST_MASKED)
EDGE_OF(2, _masked, LAST_MASKED)
EDGE_OF(3, _masked, LAST_MASKED)
EDGE_OF(2, _halves, LAST_HALVES)
EDGE_OF(3, _halves, LAST_HALVES)
#undef EDGE_OF
#endif
#undef ALL_ROWS_OF
#undef FEW_ROWS_OF
#undef FEW_ROWS
#undef ROWS

/* Computes a tile. ahead: elements of A that the next tile reads, which a tile of BLOCK_ROWS rows
 * prefetches; or NULL. */
SIMD_TARGET static void SIMD_NAME(any_tile)(int64_t rows, int64_t vecs, gemm_mode_t mode,
                                            const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                            const SIMD_REAL *ahead, const SIMD_REAL *b,
                                            SIMD_REAL *c) {
  if (rows == BLOCK_ROWS)
    (vecs == 1   ? SIMD_NAME(all_rows1)
     : vecs == 2 ? SIMD_NAME(all_rows2)
                 : SIMD_NAME(all_rows3))(mode, at, a, ahead, b, c);
  else
    (vecs == 1   ? SIMD_NAME(few_rows1)
     : vecs == 2 ? SIMD_NAME(few_rows2)
                 : SIMD_NAME(few_rows3))(rows, mode, at, a, b, c);
}

#if SIMD_BYTES == 64
/* Computes a tile whose columns do not fill its vectors. */
SIMD_TARGET static void SIMD_NAME(edge)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                        const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                        const SIMD_REAL *b, SIMD_REAL *c) {
  int64_t vecs = hr_div_ceil(columns, LANES);
  SIMD_NAME(target_t) to = *at;
  to.last = columns % LANES;
  if (rows < BLOCK_ROWS)
    (vecs == 1   ? SIMD_NAME(few_rows1_masked)
     : vecs == 2 ? SIMD_NAME(few_rows2_masked)
                 : SIMD_NAME(few_rows3_masked))(rows, mode, &to, a, b, c);
  else if (vecs > 1 && to.last <= LANES / 2)
    (vecs == 2 ? SIMD_NAME(all_rows2_halves) : SIMD_NAME(all_rows3_halves))(mode, &to, a, b, c);
  else
    (vecs == 1   ? SIMD_NAME(all_rows1_masked)
     : vecs == 2 ? SIMD_NAME(all_rows2_masked)
                 : SIMD_NAME(all_rows3_masked))(mode, &to, a, b, c);
}
#else
/* A vector of sums, combined with the vector at c as `mode` says. */
SIMD_INLINE SIMD_NAME(acc)
    SIMD_NAME(merge)(gemm_mode_t mode, const SIMD_REAL *c, const SIMD_REAL *sums) {
  SIMD_NAME(acc) sum = *(const SIMD_NAME(vec) *)sums;
  if (mode == GEMM_SET) return sum;
  SIMD_NAME(acc) old = *(const SIMD_NAME(vec) *)c;
  return mode == GEMM_ADD ? old + sum : old - sum;
}

/* Stores a row whose columns do not fill its vectors. The last vector ends with the row and
 * overlaps the vector before it. */
SIMD_INLINE void SIMD_NAME(merge_row)(gemm_mode_t mode, int64_t columns, const SIMD_REAL *sums,
                                      SIMD_REAL *c) {
  int64_t last = columns - LANES;
  if (last >= 0) {
    SIMD_NAME(acc) end = SIMD_NAME(merge)(mode, c + last, sums + last);
    for (int64_t j = 0; j < last; j += LANES)
      *(SIMD_NAME(vec) *)(c + j) = SIMD_NAME(merge)(mode, c + j, sums + j);
    *(SIMD_NAME(vec) *)(c + last) = end;
    return;
  }
  for (int64_t j = 0; j < columns; j++) {
    if (mode == GEMM_SET)
      c[j] = sums[j];
    else
      c[j] = mode == GEMM_ADD ? c[j] + sums[j] : c[j] - sums[j];
  }
}

/* Computes a tile whose columns do not fill its vectors in `spare`, then stores it to C. */
SIMD_TARGET static void SIMD_NAME(edge)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                        const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                        const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_REAL spare[BLOCK_ROWS * WIDTH];
  SIMD_NAME(target_t) strides = *at;
  strides.c_row = WIDTH;
  SIMD_NAME(any_tile)(rows, hr_div_ceil(columns, LANES), GEMM_SET, &strides, a, NULL, b, spare);
  for (int64_t i = 0; i < rows; i++) {
    const SIMD_REAL *sums = spare + i * WIDTH;
    if (mode == GEMM_SET)
      SIMD_NAME(merge_row)(GEMM_SET, columns, sums, c + i * at->c_row);
    else
      SIMD_NAME(merge_row)(mode, columns, sums, c + i * at->c_row);
  }
}
#endif

/* A group of panels, and the block of A that is multiplied by them. */
typedef struct SIMD_NAME(group) {
  const gemm_job_t *job;
  const SIMD_NAME(block_t) * block;
  SIMD_NAME(target_t) at;
  gemm_mode_t mode;
  int64_t columns;
  const SIMD_REAL *b; /* panels */
  int64_t b_step;     /* reals from a column to the next, for columns that begin panels */
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

/* Multiplies at most BLOCK_ROWS rows of a block, from `row` on, by columns [first, end) of a
 * group. */
SIMD_TARGET static void SIMD_NAME(rows_panels)(const SIMD_NAME(group_t) * group, int64_t row,
                                               int64_t first, int64_t end, const SIMD_REAL *a,
                                               SIMD_REAL *c) {
  int64_t rows = hr_min(BLOCK_ROWS, group->block->rows - row);
  const SIMD_NAME(target_t) *at = &group->at;
  for (int64_t s = first; s < end; s += WIDTH) {
    int64_t count = hr_min(WIDTH, end - s);
    const SIMD_REAL *b = group->b + s * group->b_step;
    if (count % LANES == 0) SIMD_NAME(any_tile)
    (rows, count / LANES, group->mode, at, a, SIMD_NAME(ahead_of)(group->block, row, s / WIDTH), b,
     c + s);
    else SIMD_NAME(edge)(rows, count, group->mode, at, a, b, c + s);
  }
}

/* Multiplies a block by a group of panels, which stays in the second-level cache. A panel of long
 * vectors is as large as the first-level cache, so BLOCK_ROWS rows at a time are multiplied by all
 * panels, and C is written in long runs. A panel of shorter vectors stays in the first-level cache
 * while all rows are multiplied by it, unless sums are so short that C is most of the traffic. */
SIMD_TARGET static void SIMD_NAME(panels)(const SIMD_NAME(group_t) * group, SIMD_REAL *c) {
  const SIMD_NAME(block_t) *block = group->block;
  bool is_long = SIMD_BYTES == 64 || block->depth <= SHORT_DEPTH;
  int64_t unit = is_long ? group->columns : WIDTH, step = BLOCK_ROWS * group->at.c_row;
  for (int64_t s = 0; s < group->columns; s += unit)
    for (int64_t i = 0; i < block->rows; i += BLOCK_ROWS) SIMD_NAME(rows_panels)
  (group, i, s, hr_min(s + unit, group->columns), block->data + i / BLOCK_ROWS * block->panel,
   c + i / BLOCK_ROWS * step);
}

/* True if B is read in place: few rows use it, its rows are dense and fill vectors unless these can
 * be masked, and the second cache keeps its part. Sharing of cache sets by its rows costs less than
 * a copy, as a tile reads each row once. Sums have the same order either way. */
SIMD_INLINE bool SIMD_NAME(reads_b_in_place)(const gemm_job_t *job, int parts,
                                             const gemm_range_t *range, const gemm_range_t *now,
                                             const SIMD_NAME(block_t) * block) {
  enum { SIZE = sizeof(SIMD_REAL), HAS_MASKS = SIMD_BYTES == 64 };
  if (job->packed_b || !SIMD_NAME(has_dense_rows)(job, parts)) return false;
  if (block->col != 1 && (block->row != 1 || !HAS_MASKS)) return false;
  if (range->columns % LANES && !HAS_MASKS) return false;
  if (range->rows > PLACE_ROWS || job->b_row == WIDTH || (job->b_row < WIDTH && !HAS_MASKS))
    return false;
  return now->depth * range->columns * SIZE <= GROUP_BYTES;
}

/* Multiplies rows and depth `now` of a range by all columns of the range, group by group. */
SIMD_TARGET static void SIMD_NAME(columns)(const gemm_range_t *range, const gemm_range_t *now,
                                           int worker, SIMD_NAME(group_t) * group, SIMD_REAL *c) {
  const gemm_job_t *job = group->job;
  int parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  gemm_panels_t panels = gemm_panels_of(job);
  int64_t width = gemm_group_columns(job, range->columns, now->depth, WIDTH, sizeof(SIMD_REAL));
  bool in_place = SIMD_NAME(reads_b_in_place)(job, parts, range, now, group->block);
  SIMD_REAL *space = (SIMD_REAL *)group->b;
  if (in_place) group->at.b_row = job->b_row;
  group->b_step = in_place ? 1 : now->depth;
  for (int64_t j = 0; j < range->columns; j += width) {
    int64_t column = range->column + j;
    group->columns = hr_min(width, range->columns - j);
    if (in_place)
      group->b = (const SIMD_REAL *)job->b + now->first * job->b_row + column;
    else if (job->packed_b)
      group->b = (const SIMD_REAL *)job->packed_b + gemm_packed_at(&panels, now->first, column);
    else
      SIMD_NAME(pack_panels)
    (job, parts, now->first, now->depth, column, group->columns, space);
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
  int64_t block_rows = gemm_part_rows(job, range->depth, SIZE);
  int64_t panel_depth = gemm_panel_depth(range->depth);
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
               .at = {now.depth, block.row, block.col, WIDTH, job->c_row * parts, 0},
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
#undef PANEL
#undef LANES
#undef SIMD_INLINE
