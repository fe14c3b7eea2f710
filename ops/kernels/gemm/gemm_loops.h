/* Packing and loops of gemm.c for one vector width and type, included once for each. Columns of B
 * and C, and k, are counted in reals here: two for a complex element.
 *
 *   part            blocks of A, by depth blocks and rows
 *   columns         groups of panels of B: packed together, then multiplied
 *   panels          panels of a group against a block
 *   block_panel     tiles of one panel; the first rows may pack a whole panel on their way
 *   rows1, rows2    tiles of 1 or 2 vectors by 1 .. BLOCK_ROWS rows (gemm_microkernel.h)
 *
 * Packed A is [rows / BLOCK_ROWS][depth][BLOCK_ROWS] where columns of the program's A are dense,
 * else [row][depth]; packed B is [column / WIDTH][depth][WIDTH]. */
#include "ops/kernels/gemm/gemm_microkernel.h"

#if SIMD_SUMS == 16
#define BLOCK_ROWS 8
#else
#define BLOCK_ROWS 4
#endif
#define WIDTH (2 * LANES)
#define PANEL(depth)      \
  (BLOCK_ROWS * (depth) + \
   LANES) /* elements of a packed panel of A: the padding keeps panels in different cache sets */

/* --- packing of A --- */

typedef struct SIMD_NAME(block) {
  const SIMD_REAL *data;
  int64_t row, col, panel; /* strides to the next row, column, and BLOCK_ROWS rows */
  gemm_ahead_t ahead;      /* for the first panel of B; later ones find A in a cache */
} SIMD_NAME(block_t);

/* Columns of A are dense: panels of [depth][BLOCK_ROWS], several at once, as neighbours share cache
 * lines. */
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

/* Copies a row, and asks for the one that is copied after the next: rows are too short for the
 * processor to notice them, and come from memory. */
SIMD_INLINE void SIMD_NAME(copy_row)(const SIMD_REAL *from, int64_t row, int64_t count,
                                     SIMD_REAL *to) {
  int64_t p = 0;
  for (; p + LANES <= count; p += LANES) {
    __builtin_prefetch(from + 2 * row + p);
    *(SIMD_NAME(vec) *)(to + p) = *(const SIMD_NAME(vec) *)(from + p);
  }
  memcpy(to + p, from + p, (size_t)(count - p) * sizeof *to);
}

/* Copies rows of A, `parts` reals an element. */
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

/* Length of the contiguous run that `offsets` starts with. */
SIMD_INLINE int64_t SIMD_NAME(run_length)(const int64_t *offsets, int64_t count) {
  int64_t run = 1;
  while (run < count && offsets[run] == offsets[0] + run) run++;
  return run;
}

/* The same by row and column offsets: runs are copied for all rows before the next run. */
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

/* Rows [row, row + rows) of A, k from `first` on, in place or packed into `space`. */
SIMD_TARGET static SIMD_NAME(block_t)
    SIMD_NAME(prepare_block)(const gemm_job_t *job, int parts, int worker, bool packed, int64_t row,
                             int64_t rows, int64_t first, int64_t depth, SIMD_REAL *space) {
  const SIMD_REAL *a =
      (const SIMD_REAL *)job->a + (row * job->a_row + first / parts * job->a_col) * parts;
  if (!packed)
    return (SIMD_NAME(block_t)){a, job->a_row * parts, job->a_col, job->a_row * parts * BLOCK_ROWS,
                                job->a_col == 1 ? GEMM_AHEAD_ROWS : GEMM_AHEAD_COLUMNS};
  if (!job->fill && !job->a_rows && parts == 1 && job->a_row == 1 && job->a_col != 1) {
    SIMD_NAME(pack_columns)(a, job->a_col, rows, depth, space);
    return (SIMD_NAME(block_t)){space, 1, BLOCK_ROWS, PANEL(depth), GEMM_AHEAD_NONE};
  }
  if (job->fill)
    job->fill(job->context, worker, row, rows, first, depth, space);
  else if (job->a_rows)
    SIMD_NAME(gather_rows)(job, parts, row, rows, first, depth, space);
  else
    SIMD_NAME(pack_rows)(job, parts, a, rows, depth, space);
  return (SIMD_NAME(block_t)){space, depth, 1, BLOCK_ROWS * depth, GEMM_AHEAD_NONE};
}

/* --- packing of B --- */

/* Transposes a LANES x LANES square: halves of rows are interleaved log2(LANES) times. Asks for the
 * square of the next rows. */
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

/* Columns of B are dense. Rows of the panel have WIDTH reals whatever `columns` is. */
SIMD_TARGET static void SIMD_NAME(pack_transposed)(const SIMD_REAL *b, int64_t col, int64_t depth,
                                                   int64_t columns, SIMD_REAL *to) {
  int64_t whole_depth = depth / LANES * LANES;
  int64_t whole = columns / LANES * LANES;
  for (int64_t j = 0; j < whole; j += LANES)
    for (int64_t p = 0; p < whole_depth; p += LANES)
      SIMD_NAME(transpose)(b + j * col + p, col, to + p * WIDTH + j);
  for (int64_t j = 0; j < columns; j++)
    for (int64_t p = j < whole ? whole_depth : 0; p < depth; p++)
      to[p * WIDTH + j] = b[j * col + p];
}

/* By row and column offsets. */
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

/* Each element b becomes the block ((br, bi), (-bi, br)). */
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

/* Rows of B are dense: whole panels side by side, so that B is read in long runs. */
SIMD_TARGET static void SIMD_NAME(pack_plain)(const SIMD_REAL *b, int64_t row, int64_t depth,
                                              int64_t panels, SIMD_REAL *to) {
  for (int64_t p = 0; p < depth; p++, to += WIDTH, b += row)
    for (int64_t s = 0; s < panels; s++) {
      ((SIMD_NAME(vec) *)(to + s * depth * WIDTH))[0] =
          ((const SIMD_NAME(vec) *)(b + s * WIDTH))[0];
      ((SIMD_NAME(vec) *)(to + s * depth * WIDTH))[1] =
          ((const SIMD_NAME(vec) *)(b + s * WIDTH))[1];
    }
}

/* Rows of B are dense and fewer than WIDTH columns remain: whole vectors, as far as they do not
 * reach past the end of B. Another worker may be writing the columns beyond; the lanes read from
 * them are never stored. */
__attribute__((no_sanitize("thread"))) SIMD_TARGET static void SIMD_NAME(pack_narrow)(
    const gemm_job_t *job, const SIMD_REAL *b, int64_t depth, int64_t columns, SIMD_REAL *to) {
  int64_t width = columns <= LANES ? LANES : WIDTH, p = 0;
  const SIMD_REAL *last = (const SIMD_REAL *)job->b + (job->k - 1) * job->b_row + job->n - width;
  for (; job->b_row > 0 && p < depth && b <= last; p++, to += WIDTH, b += job->b_row) {
    ((SIMD_NAME(vec) *)to)[0] = ((const SIMD_NAME(vec) *)b)[0];
    if (width > LANES) ((SIMD_NAME(vec) *)to)[1] = ((const SIMD_NAME(vec) *)b)[1];
  }
  for (; p < depth; p++, to += WIDTH, b += job->b_row)
    for (int64_t j = 0; j < columns; j++) to[j] = b[j];
}

/* Surplus lanes are never stored to C, but must be no denormal numbers, with which processors take
 * a hundred times as long: zeros, or other elements of B. */
SIMD_TARGET static void SIMD_NAME(clear_surplus)(int64_t depth, int64_t columns, SIMD_REAL *to) {
  if (columns < WIDTH) memset(to, 0, (size_t)(depth * WIDTH) * sizeof *to);
}

/* A panel of at most WIDTH columns. */
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

/* Packs columns [column, column + columns) for k from `first` on. `later`: whole panels of dense
 * rows are packed by the first tiles that multiply them. */
SIMD_TARGET static void SIMD_NAME(pack_panels)(const gemm_job_t *job, int parts, int64_t first,
                                               int64_t depth, int64_t column, int64_t columns,
                                               bool later, SIMD_REAL *to) {
  if (job->b_rows) {
    SIMD_NAME(gather_panels)(job, parts, first, depth, column, columns, to);
    return;
  }
  int64_t whole = SIMD_NAME(has_dense_rows)(job, parts) ? columns / WIDTH * WIDTH : 0;
  const SIMD_REAL *b = (const SIMD_REAL *)job->b +
                       (first / parts * job->b_row + column / parts * job->b_col) * parts;
  if (whole && !later) SIMD_NAME(pack_plain)(b, job->b_row, depth, whole / WIDTH, to);
  for (int64_t j = whole; j < columns; j += WIDTH) SIMD_NAME(pack_panel)
  (job, parts, b + j * job->b_col, depth, hr_min(WIDTH, columns - j), to + j * depth);
}

/* --- products --- */

/* A tile of `rows` rows by VECS vectors. */
#define CASE(ROWS, VECS)                            \
  case ROWS:                                        \
    SIMD_NAME(tile)(ROWS, VECS, mode, at, a, b, c); \
    break;
#define TILE_ROWS(VECS)                                                                         \
  SIMD_TARGET static void SIMD_NAME(rows##VECS)(                                                \
      int64_t rows, gemm_mode_t mode, const SIMD_NAME(target_t) * at, const SIMD_REAL *a,       \
      const SIMD_REAL *b, SIMD_REAL *c) {                                                       \
    switch (rows) { CASE(1, VECS) CASE(2, VECS) CASE(3, VECS) CASE(4, VECS) CASES_ABOVE(VECS) } \
  }
#if SIMD_SUMS == 16
#define CASES_ABOVE(VECS) CASE(5, VECS) CASE(6, VECS) CASE(7, VECS) CASE(8, VECS)
#else
#define CASES_ABOVE(VECS)
#endif
TILE_ROWS(1)
TILE_ROWS(2)
#undef TILE_ROWS
#undef CASES_ABOVE
#undef CASE

/* A whole tile that asks for the A of the next one. */
SIMD_TARGET static void SIMD_NAME(rows_ahead)(gemm_mode_t mode, gemm_ahead_t ahead,
                                              const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                              const SIMD_REAL *b, SIMD_REAL *c) {
  if (ahead == GEMM_AHEAD_ROWS)
    SIMD_NAME(tile_keeping)(BLOCK_ROWS, 2, mode, GEMM_AHEAD_ROWS, at, a, b, 0, NULL, c);
  else
    SIMD_NAME(tile_keeping)(BLOCK_ROWS, 2, mode, GEMM_AHEAD_COLUMNS, at, a, b, 0, NULL, c);
}

/* A tile whose columns do not fill its vectors: computed to `spare`, then copied. */
SIMD_TARGET static void SIMD_NAME(edge)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                        const SIMD_NAME(target_t) * at, const SIMD_REAL *a,
                                        const SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_REAL spare[BLOCK_ROWS * WIDTH];
  SIMD_NAME(target_t) strides = *at;
  strides.c_row = WIDTH;
  (columns <= LANES ? SIMD_NAME(rows1) : SIMD_NAME(rows2))(rows, GEMM_SET, &strides, a, b, spare);
  for (int64_t i = 0; i < rows; i++, c += at->c_row)
    for (int64_t j = 0; j < columns; j++) {
      SIMD_REAL sum = spare[i * WIDTH + j];
      if (mode == GEMM_ADD) sum = c[j] + sum;
      if (mode == GEMM_SUBTRACT) sum = c[j] - sum;
      c[j] = sum;
    }
}

/* Source of a panel that is not packed yet; b NULL: it is packed. */
typedef struct SIMD_NAME(unpacked) {
  const SIMD_REAL *b;
  int64_t row;
} SIMD_NAME(unpacked_t);

/* The first rows of a block read B in place and write the packed panel on their way. */
SIMD_TARGET static void SIMD_NAME(pack_rows2)(gemm_mode_t mode, const SIMD_NAME(target_t) * at,
                                              const SIMD_NAME(unpacked_t) * plain,
                                              const SIMD_REAL *a, SIMD_REAL *b, SIMD_REAL *c) {
  SIMD_NAME(target_t) strides = *at;
  strides.b_row = plain->row;
  SIMD_NAME(tile_keeping)
  (BLOCK_ROWS, 2, mode, GEMM_AHEAD_NONE, &strides, a, plain->b, 0, b, c);
}

/* Rows of a block against one panel. */
SIMD_TARGET static void SIMD_NAME(block_panel)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                               const SIMD_NAME(target_t) * at,
                                               const SIMD_NAME(unpacked_t) * plain,
                                               gemm_ahead_t ahead, int64_t panel,
                                               const SIMD_REAL *a, SIMD_REAL *b, SIMD_REAL *c) {
  bool whole = columns == WIDTH || columns == LANES;
  for (int64_t i = 0; i < rows; i += BLOCK_ROWS, a += panel, c += BLOCK_ROWS * at->c_row) {
    int64_t count = rows - i < BLOCK_ROWS ? rows - i : BLOCK_ROWS;
    if (i == 0 && plain->b)
      SIMD_NAME(pack_rows2)(mode, at, plain, a, b, c);
    else if (columns == WIDTH && count == BLOCK_ROWS && ahead)
      SIMD_NAME(rows_ahead)(mode, ahead, at, a, b, c);
    else if (columns == WIDTH)
      SIMD_NAME(rows2)(count, mode, at, a, b, c);
    else if (whole)
      SIMD_NAME(rows1)(count, mode, at, a, b, c);
    else
      SIMD_NAME(edge)(count, columns, mode, at, a, b, c);
  }
}

/* Rows of a block against some panels. Usually all rows before the next panel; with short sums,
 * where C is most of the traffic, all panels before the next rows, so that C is written in long
 * runs. */
SIMD_TARGET static void SIMD_NAME(panels)(int64_t rows, int64_t columns, gemm_mode_t mode,
                                          const SIMD_NAME(target_t) * at,
                                          const SIMD_NAME(unpacked_t) * plain,
                                          const SIMD_NAME(block_t) * block, SIMD_REAL *b,
                                          SIMD_REAL *c) {
  int64_t unit = at->k <= SHORT_DEPTH ? BLOCK_ROWS : rows;
  for (int64_t i = 0; i < rows; i += unit)
    for (int64_t s = 0; s < columns; s += WIDTH) {
      bool packs = i == 0 && plain->b && columns - s >= WIDTH;
      SIMD_NAME(unpacked_t) from = {packs ? plain->b + s : NULL, plain->row};
      SIMD_NAME(block_panel)
      (hr_min(unit, rows - i), hr_min(WIDTH, columns - s), mode, at, &from,
       s ? GEMM_AHEAD_NONE : block->ahead, block->panel,
       block->data + i / BLOCK_ROWS * block->panel, b + s * at->k, c + i * at->c_row + s);
    }
}

/* Rows and depth `now` of a range against all its columns, packed in groups that stay cached. */
SIMD_TARGET static void SIMD_NAME(columns)(const gemm_job_t *job, const gemm_range_t *range,
                                           const gemm_range_t *now, int worker,
                                           const SIMD_NAME(target_t) * at,
                                           const SIMD_NAME(block_t) * block, SIMD_REAL *b,
                                           SIMD_REAL *c) {
  int parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  bool later = now->rows >= BLOCK_ROWS && SIMD_NAME(has_dense_rows)(job, parts);
  const SIMD_REAL *from = (const SIMD_REAL *)job->b + now->first * job->b_row + range->column;
  int64_t width = gemm_group_columns(job, at->k, WIDTH);
  for (int64_t j = 0; j < range->columns; j += width) {
    int64_t group = hr_min(width, range->columns - j);
    SIMD_NAME(unpacked_t) plain = {later ? from + j : NULL, job->b_row};
    SIMD_NAME(pack_panels)(job, parts, now->first, at->k, range->column + j, group, later, b);
    SIMD_NAME(panels)
    (now->rows, group, gemm_mode_of(job, range, now->first), at, &plain, block, b, c + j);
    if (job->finish_unit) gemm_report_finished(job, range, now, worker, range->column + j, group);
  }
}

/* The same with packed B. */
SIMD_TARGET static void SIMD_NAME(packed_columns)(const gemm_job_t *job, const gemm_range_t *range,
                                                  const gemm_range_t *now, int worker,
                                                  const SIMD_NAME(target_t) * at,
                                                  const SIMD_NAME(block_t) * block, SIMD_REAL *c) {
  gemm_panels_t panels = gemm_panels_of(job);
  SIMD_NAME(unpacked_t) none = {NULL, 0};
  int64_t width = job->finish_unit ? gemm_group_columns(job, at->k, WIDTH) : range->columns;
  for (int64_t j = 0; j < range->columns; j += width) {
    int64_t group = hr_min(width, range->columns - j);
    SIMD_REAL *b =
        (SIMD_REAL *)job->packed_b + gemm_packed_at(&panels, now->first, range->column + j);
    SIMD_NAME(panels)
    (now->rows, group, gemm_mode_of(job, range, now->first), at, &none, block, b, c + j);
    if (job->finish_unit) gemm_report_finished(job, range, now, worker, range->column + j, group);
  }
}

/* Packs all of B. */
SIMD_TARGET static void SIMD_NAME(pack_all)(const gemm_job_t *job, SIMD_REAL *to) {
  gemm_panels_t panels = gemm_panels_of(job);
  for (int64_t p = 0; p < job->k; p += panels.depth) SIMD_NAME(pack_panels)
  (job, 1, p, hr_min(panels.depth, job->k - p), 0, job->n, false,
   to + gemm_packed_at(&panels, p, 0));
}

/* One part of a partition on one worker. */
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
      block = SIMD_NAME(prepare_block)(job, parts, worker, range->packed, now.row, now.rows,
                                       now.first, now.depth, a);
      SIMD_NAME(target_t) at = {now.depth, block.row, block.col, WIDTH, job->c_row * parts};
      SIMD_REAL *c = (SIMD_REAL *)job->c + now.row * at.c_row + range->column;
      if (job->packed_b)
        SIMD_NAME(packed_columns)(job, range, &now, worker, &at, &block, c);
      else
        SIMD_NAME(columns)(job, range, &now, worker, &at, &block, b, c);
      if (!job->finish_unit)
        gemm_report_finished(job, range, &now, worker, range->column, range->columns);
    }
}

#undef BLOCK_ROWS
#undef WIDTH
#undef PANEL
#undef LANES
#undef SIMD_INLINE
