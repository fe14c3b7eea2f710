/* Packing and loops of gemm.c for one vector width and type. gemm.c includes this file once for
 * each of them. Columns of B and C, and k, count reals here: two per complex element.
 *
 *   part                  loop over blocks of A, by rows and depth blocks
 *   columns               loop over groups of panels of B, which are packed together
 *   panels, rows_panels   loops over the tiles of a block and a group
 *   any_tile              a tile of 1 to 3 vectors by 1 .. BLOCK_ROWS rows (gemm_microkernel.h)
 *
 * Layouts of packed operands:
 *   A with dense columns   [row / BLOCK_ROWS][depth][BLOCK_ROWS]
 *   A, otherwise           [row][depth]
 *   B                      [column / WIDTH][depth][WIDTH] */
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

/* --- packing of A --- */

typedef struct SIMD_NAME(block) {
  const SIMD_REAL *data;
  int64_t rows, depth;
  int64_t row, col, panel; /* strides to the next row, column, and BLOCK_ROWS rows */
} SIMD_NAME(block_t);

/* Packs A with dense columns into panels of [depth][BLOCK_ROWS]. PANELS panels are packed at once,
 * as neighbours share cache lines of A. */
SIMD_TARGET static void SIMD_NAME(pack_columns)(const SIMD_REAL *a, int64_t col, int64_t rows,
                                                int64_t depth, SIMD_REAL *to) {
  enum { PANELS = 16 };
  for (int64_t i = 0; i < rows; i += PANELS * BLOCK_ROWS)
    for (int64_t p = 0; p < depth; p++)
      for (int64_t at = i; at < i + PANELS * BLOCK_ROWS && at < rows; at += BLOCK_ROWS) {
        const SIMD_REAL *from = a + at + p * col;
        SIMD_REAL *panel = to + at / BLOCK_ROWS * PANEL(depth) + p * BLOCK_ROWS;
        if (at + BLOCK_ROWS <= rows)
          memcpy(panel, from, BLOCK_ROWS * sizeof *panel);
        else
          memcpy(panel, from, (size_t)(rows - at) * sizeof *panel);
      }
}

/* Copies a row, and prefetches the second row after it: rows come from memory, and are too short
 * for the hardware prefetcher. */
SIMD_INLINE void SIMD_NAME(copy_row)(const SIMD_REAL *from, int64_t row, int64_t count,
                                     SIMD_REAL *to) {
  int64_t p = 0;
  for (; p + LANES <= count; p += LANES) {
    __builtin_prefetch(from + 2 * row + p);
    *(SIMD_NAME(vec) *)(to + p) = *(const SIMD_NAME(vec) *)(from + p);
  }
  memcpy(to + p, from + p, (size_t)(count - p) * sizeof *to);
}

/* Packs rows of A one after the other. parts: reals per element. */
SIMD_TARGET static void SIMD_NAME(pack_rows)(const gemm_job_t *job, int parts, const SIMD_REAL *a,
                                             int64_t rows, int64_t depth, SIMD_REAL *to) {
  for (int64_t i = 0; i < rows; i++, to += depth) {
    const SIMD_REAL *from = a + i * job->a_row * parts;
    if (job->a_col == 1) {
      SIMD_NAME(copy_row)(from, job->a_row * parts, depth, to);
    } else if (parts == 1) {
      for (int64_t p = 0; p < depth; p++) to[p] = from[p * job->a_col];
    } else {
      for (int64_t p = 0; p < depth; p += 2, from += 2 * job->a_col) {
        to[p] = from[0];
        to[p + 1] = from[1];
      }
    }
  }
}

/* Length of the contiguous run at the start of `offsets`. */
SIMD_INLINE int64_t SIMD_NAME(run_length)(const int64_t *offsets, int64_t count) {
  int64_t run = 1;
  while (run < count && offsets[run] == offsets[0] + run) run++;
  return run;
}

/* Packs rows of A that are given by row and column offsets. A run of adjacent columns is copied for
 * all rows before the next run. */
SIMD_TARGET static void SIMD_NAME(gather_rows)(const gemm_job_t *job, int parts, int64_t row,
                                               int64_t rows, int64_t first, int64_t depth,
                                               SIMD_REAL *to) {
  enum { FEW = 8 };
  const int64_t *columns = job->a_cols + first / parts;
  int pair = parts - 1;
  for (int64_t p = 0, run; p < depth; p += run) {
    run = SIMD_NAME(run_length)(columns + p / parts, (depth - p) / parts) * parts;
    bool scattered = run < FEW * parts;
    if (scattered) run = hr_min(FEW * parts, depth - p);
    for (int64_t i = 0; i < rows; i++) {
      const SIMD_REAL *from = (const SIMD_REAL *)job->a + job->a_rows[row + i] * parts;
      SIMD_REAL *line = to + i * depth + p;
      if (!scattered)
        memcpy(line, from + columns[p / parts] * parts, (size_t)run * sizeof *line);
      else
        for (int64_t q = 0; q < run; q++)
          line[q] = from[columns[(p + q) >> pair] * parts + (q & pair)];
    }
  }
}

/* The block of A with rows and depth `now`, in place or packed into `space`. */
SIMD_TARGET static SIMD_NAME(block_t)
    SIMD_NAME(prepare_block)(const gemm_job_t *job, int parts, int worker, bool packed,
                             const gemm_range_t *now, SIMD_REAL *space) {
  const SIMD_REAL *a =
      (const SIMD_REAL *)job->a + (now->row * job->a_row + now->first / parts * job->a_col) * parts;
  int64_t row = job->a_row * parts, depth = now->depth;
  if (!packed) return (SIMD_NAME(block_t)){a, now->rows, depth, row, job->a_col, row * BLOCK_ROWS};
  if (!job->fill && !job->a_rows && parts == 1 && job->a_row == 1 && job->a_col != 1) {
    SIMD_NAME(pack_columns)(a, job->a_col, now->rows, depth, space);
    return (SIMD_NAME(block_t)){space, now->rows, depth, 1, BLOCK_ROWS, PANEL(depth)};
  }
  if (job->fill)
    job->fill(job->context, worker, now->row, now->rows, now->first, depth, space);
  else if (job->a_rows)
    SIMD_NAME(gather_rows)(job, parts, now->row, now->rows, now->first, depth, space);
  else
    SIMD_NAME(pack_rows)(job, parts, a, now->rows, depth, space);
  return (SIMD_NAME(block_t)){space, now->rows, depth, depth, 1, BLOCK_ROWS * depth};
}

/* --- packing of B --- */

/* Transposes a square of LANES x LANES reals: log2(LANES) rounds interleave the halves of rows.
 * Prefetches the square below. */
SIMD_INLINE void SIMD_NAME(transpose)(const SIMD_REAL *b, int64_t col, SIMD_REAL *to) {
  typedef __typeof__((SIMD_NAME(acc)){0} == (SIMD_NAME(acc)){0}) mask_t;
  SIMD_NAME(acc) x[LANES], y[LANES];
  mask_t low, high;
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) {
    low[i] = i / 2 + i % 2 * LANES;
    high[i] = low[i] + LANES / 2;
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) __builtin_prefetch(b + (LANES + i) * col);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) x[i] = *(const SIMD_NAME(vec) *)(b + i * col);
#pragma GCC unroll 4
  for (int left = LANES; left > 1; left /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 2; i++) {
      y[2 * i] = SIMD_SHUFFLE_2(x[i], x[i + LANES / 2], low);
      y[2 * i + 1] = SIMD_SHUFFLE_2(x[i], x[i + LANES / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) *(SIMD_NAME(vec) *)(to + i * WIDTH) = x[i];
}

/* Packs a panel of B with dense columns. Rows of the panel have WIDTH reals whatever `columns` is.
 * The last squares end at the last row or column and overlap the squares before them. */
SIMD_TARGET static void SIMD_NAME(pack_transposed)(const SIMD_REAL *b, int64_t col, int64_t depth,
                                                   int64_t columns, SIMD_REAL *to) {
  if (columns < LANES || depth < LANES) {
    for (int64_t j = 0; j < columns; j++)
      for (int64_t p = 0; p < depth; p++) to[p * WIDTH + j] = b[j * col + p];
    return;
  }
  for (int64_t j = 0; j < columns; j += LANES)
    for (int64_t p = 0; p < depth; p += LANES) {
      int64_t column = hr_min(j, columns - LANES), term = hr_min(p, depth - LANES);
      SIMD_NAME(transpose)(b + column * col + term, col, to + term * WIDTH + column);
    }
}

/* Packs a panel of B that is given by row and column offsets. */
SIMD_TARGET static void SIMD_NAME(gather_panel)(const gemm_job_t *job, int64_t first, int64_t depth,
                                                int64_t column, int64_t columns, SIMD_REAL *to) {
  const int64_t *offsets = job->b_cols + column;
  const int64_t *rows = job->b_rows + first;
  bool dense = SIMD_NAME(run_length)(offsets, columns) == columns;
  for (int64_t p = 0; p < depth; p++, to += WIDTH) {
    const SIMD_REAL *from = (const SIMD_REAL *)job->b + rows[p];
    if (dense && columns == WIDTH)
      memcpy(to, from + offsets[0], WIDTH * sizeof *to);
    else
      for (int64_t j = 0; j < columns; j++) to[j] = from[offsets[j]];
  }
}

SIMD_TARGET static void SIMD_NAME(gather_complex)(const gemm_job_t *job, int64_t first,
                                                  int64_t depth, int64_t column, int64_t columns,
                                                  SIMD_REAL *to) {
  const int64_t *offsets = job->b_cols + column / 2;
  const int64_t *rows = job->b_rows + first / 2;
  for (int64_t p = 0; p < depth; p += 2, to += 2 * WIDTH)
    for (int64_t j = 0; j < columns; j += 2) {
      const SIMD_REAL *from = (const SIMD_REAL *)job->b + 2 * (rows[p / 2] + offsets[j / 2]);
      to[j] = from[0];
      to[j + 1] = from[1];
      to[WIDTH + j] = -from[1];
      to[WIDTH + j + 1] = from[0];
    }
}

/* Packs complex B: each element b becomes the block ((br, bi), (-bi, br)). */
SIMD_TARGET static void SIMD_NAME(pack_complex)(const gemm_job_t *job, const SIMD_REAL *b,
                                                int64_t depth, int64_t columns, SIMD_REAL *to) {
  for (int64_t p = 0; p < depth; p += 2, to += 2 * WIDTH, b += 2 * job->b_row)
    for (int64_t j = 0; j < columns; j += 2) {
      SIMD_REAL re = b[j * job->b_col];
      SIMD_REAL im = b[j * job->b_col + 1];
      to[j] = re;
      to[j + 1] = im;
      to[WIDTH + j] = -im;
      to[WIDTH + j + 1] = re;
    }
}

/* Copies `vecs` vectors of one row. */
SIMD_INLINE void SIMD_NAME(copy_vectors)(int vecs, const SIMD_REAL *from, SIMD_REAL *to) {
#pragma GCC unroll 4
  for (int v = 0; v < vecs; v++) ((SIMD_NAME(vec) *)to)[v] = ((const SIMD_NAME(vec) *)from)[v];
}

/* Packs whole panels of B with dense rows. All panels get a row before the next row, so that B is
 * read in long runs. Prefetches the next row. */
SIMD_TARGET static void SIMD_NAME(pack_plain)(const SIMD_REAL *b, int64_t row, int64_t depth,
                                              int64_t panels, SIMD_REAL *to) {
  for (int64_t p = 0; p < depth; p++, to += WIDTH, b += row)
    for (int64_t s = 0; s < panels; s++) {
#pragma GCC unroll 4
      for (int v = 0; v < WIDTH / LANES; v++) __builtin_prefetch(b + row + s * WIDTH + v * LANES);
      SIMD_NAME(copy_vectors)(WIDTH / LANES, b + s * WIDTH, to + s * depth * WIDTH);
    }
}

/* Packs the last panel of B with dense rows, of fewer than WIDTH columns. Whole vectors are copied
 * as long as they do not reach past the end of B. Another worker may be writing the columns beyond
 * the panel; lanes that were read from them are never stored to C. */
__attribute__((no_sanitize("thread"))) SIMD_TARGET static void SIMD_NAME(pack_narrow)(
    const gemm_job_t *job, const SIMD_REAL *b, int64_t depth, int64_t columns, SIMD_REAL *to) {
  int vecs = (int)hr_div_ceil(columns, LANES);
  const SIMD_REAL *end = (const SIMD_REAL *)job->b + (job->k - 1) * job->b_row + job->n;
  int64_t p = 0;
  for (; job->b_row > 0 && p < depth && b <= end - vecs * LANES; p++, to += WIDTH, b += job->b_row)
    for (int v = 0; v < vecs; v++) SIMD_NAME(copy_vectors)(1, b + v * LANES, to + v * LANES);
  for (; p < depth; p++, to += WIDTH, b += job->b_row)
    for (int64_t j = 0; j < columns; j++) to[j] = b[j];
}

/* Clears a panel if its last vector has surplus lanes. Surplus lanes are never stored to C, but
 * must not be denormal numbers, for which processors take a hundred times as long: they are zeros,
 * or other elements of B. */
SIMD_TARGET static void SIMD_NAME(clear_surplus)(int64_t depth, int64_t columns, SIMD_REAL *to) {
  if (columns % LANES) memset(to, 0, (size_t)(depth * WIDTH) * sizeof *to);
}

/* Packs a panel of at most WIDTH columns. */
SIMD_TARGET static void SIMD_NAME(pack_panel)(const gemm_job_t *job, int parts, const SIMD_REAL *b,
                                              int64_t depth, int64_t columns, SIMD_REAL *to) {
  SIMD_NAME(clear_surplus)(depth, columns, to);
  if (parts == 2) {
    SIMD_NAME(pack_complex)(job, b, depth, columns, to);
  } else if (job->b_col == 1) {
    SIMD_NAME(pack_narrow)(job, b, depth, columns, to);
  } else if (job->b_row == 1) {
    SIMD_NAME(pack_transposed)(b, job->b_col, depth, columns, to);
  } else {
    for (int64_t p = 0; p < depth; p++)
      for (int64_t j = 0; j < columns; j++) to[p * WIDTH + j] = b[p * job->b_row + j * job->b_col];
  }
}

SIMD_TARGET static void SIMD_NAME(gather_panels)(const gemm_job_t *job, int parts, int64_t first,
                                                 int64_t depth, int64_t column, int64_t columns,
                                                 SIMD_REAL *to) {
  for (int64_t j = 0; j < columns; j += WIDTH, to += depth * WIDTH) {
    int64_t count = hr_min(WIDTH, columns - j);
    SIMD_NAME(clear_surplus)(depth, count, to);
    (parts == 1 ? SIMD_NAME(gather_panel) : SIMD_NAME(gather_complex))(job, first, depth,
                                                                       column + j, count, to);
  }
}

SIMD_INLINE bool SIMD_NAME(has_dense_rows)(const gemm_job_t *job, int parts) {
  return parts == 1 && job->b_col == 1 && !job->b_rows;
}

/* Packs rows [first, first + depth) and columns [column, column + columns) of B. */
SIMD_TARGET static void SIMD_NAME(pack_panels)(const gemm_job_t *job, int parts, int64_t first,
                                               int64_t depth, int64_t column, int64_t columns,
                                               SIMD_REAL *to) {
  if (job->b_rows) {
    SIMD_NAME(gather_panels)(job, parts, first, depth, column, columns, to);
    return;
  }
  int64_t whole = SIMD_NAME(has_dense_rows)(job, parts) ? columns / WIDTH * WIDTH : 0;
  const SIMD_REAL *b = (const SIMD_REAL *)job->b +
                       (first / parts * job->b_row + column / parts * job->b_col) * parts;
  if (whole) SIMD_NAME(pack_plain)(b, job->b_row, depth, whole / WIDTH, to);
  for (int64_t j = whole; j < columns; j += WIDTH) SIMD_NAME(pack_panel)
  (job, parts, b + j * job->b_col, depth, hr_min(WIDTH, columns - j), to + j * depth);
}

/* --- products --- */

/* Computes a tile of BLOCK_ROWS rows. The strides of packed B are constants here, and so are those
 * of A if its columns are packed, or if its rows are dense and vectors long: with shorter vectors
 * dense rows gain nothing from constants. */
SIMD_INLINE void SIMD_NAME(whole_tile)(int vecs, gemm_mode_t mode, const SIMD_NAME(target_t) * at,
                                       const SIMD_REAL *a, const SIMD_REAL *ahead,
                                       const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(target_t) steps = {at->k, at->a_row, at->a_col, WIDTH, at->c_row};
  int64_t prefetch = vecs == 3 ? PREFETCH_ROWS * WIDTH : 0;
  if (SIMD_BYTES == 64 && at->a_col == 1) {
    steps.a_col = 1;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, 4, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  } else if (at->a_row == 1 && at->a_col == BLOCK_ROWS) {
    steps.a_row = 1;
    steps.a_col = BLOCK_ROWS;
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, 4, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  } else {
    SIMD_NAME(tile)
    (BLOCK_ROWS, vecs, 1, mode, &steps, prefetch,
     SIMD_NAME(place_of)(BLOCK_ROWS, &steps, a, b, ahead), c);
  }
}

/* Cases of few_rows for tiles of fewer than BLOCK_ROWS rows. */
#define ROWS(COUNT, VECS)                                                                 \
  case COUNT:                                                                             \
    SIMD_NAME(tile)                                                                       \
    (COUNT, VECS, 1, mode, &steps, 0, SIMD_NAME(place_of)(COUNT, &steps, a, b, NULL), c); \
    break;
#if SIMD_SUMS == 16
#define FEW_ROWS(VECS) \
  ROWS(1, VECS) ROWS(2, VECS) ROWS(3, VECS) ROWS(4, VECS) ROWS(5, VECS) ROWS(6, VECS) ROWS(7, VECS)
#else
#define FEW_ROWS(VECS) ROWS(1, VECS) ROWS(2, VECS) ROWS(3, VECS)
#endif
#define TILES_OF(VECS)                                                                    \
  SIMD_TARGET static void SIMD_NAME(few_rows##VECS)(                                      \
      int64_t rows, gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a, \
      const SIMD_REAL *b, SIMD_REAL *c) {                                                 \
    const SIMD_NAME(target_t) steps = {at->k, at->a_row, at->a_col, WIDTH, at->c_row};    \
    switch (rows) { FEW_ROWS(VECS) }                                                      \
  }                                                                                       \
  SIMD_TARGET static void SIMD_NAME(all_rows##VECS)(                                      \
      gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a,               \
      const SIMD_REAL *ahead, const SIMD_REAL *b, SIMD_REAL *c) {                         \
    if (ahead)                                                                            \
      SIMD_NAME(whole_tile)(VECS, mode, at, a, ahead, b, c);                              \
    else                                                                                  \
      SIMD_NAME(whole_tile)(VECS, mode, at, a, NULL, b, c);                               \
  }
TILES_OF(1)
TILES_OF(2)
TILES_OF(3)
#undef TILES_OF
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

/* A group of panels, and the block of A that is multiplied by them. */
typedef struct SIMD_NAME(group) {
  const gemm_job_t *job;
  const SIMD_NAME(block_t) * block;
  SIMD_NAME(target_t) at;
  gemm_mode_t mode;
  int64_t columns;
  SIMD_REAL *b; /* packed panels */
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
    SIMD_REAL *b = group->b + s * at->k;
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

/* Multiplies rows and depth `now` of a range by all columns of the range, group by group. */
SIMD_TARGET static void SIMD_NAME(columns)(const gemm_range_t *range, const gemm_range_t *now,
                                           int worker, SIMD_NAME(group_t) * group, SIMD_REAL *c) {
  const gemm_job_t *job = group->job;
  int parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  gemm_panels_t panels = gemm_panels_of(job);
  int64_t width = gemm_group_columns(job, range->columns, now->depth, WIDTH, sizeof(SIMD_REAL));
  for (int64_t j = 0; j < range->columns; j += width) {
    int64_t column = range->column + j;
    group->columns = hr_min(width, range->columns - j);
    if (job->packed_b)
      group->b = (SIMD_REAL *)job->packed_b + gemm_packed_at(&panels, now->first, column);
    else
      SIMD_NAME(pack_panels)
    (job, parts, now->first, now->depth, column, group->columns, group->b);
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
               .at = {now.depth, block.row, block.col, WIDTH, job->c_row * parts},
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
