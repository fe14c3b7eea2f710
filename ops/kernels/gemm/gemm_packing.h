/* Packing of operands for gemm_loops.h, which includes this file once for each vector width and
 * type.
 *
 * Layouts of packed operands:
 *   A with dense columns   [row / BLOCK_ROWS][depth][BLOCK_ROWS]
 *   A, otherwise           [row][depth]
 *   B                      [column / WIDTH][depth][WIDTH] */
#include "ops/kernels/simd/simd_square.h"

/* --- packing of A --- */

typedef struct SIMD_NAME(block) {
  const SIMD_REAL *data;
  int64_t rows, depth;
  int64_t row, col, panel; /* strides to the next row, column, and BLOCK_ROWS rows */
} SIMD_NAME(block_t);

/* Copies a column of a panel, of which `left` rows are in A. Whole vectors, if A has as many rows:
 * the surplus is overwritten by the next column, or is in the padding of the panel. */
SIMD_INLINE void SIMD_NAME(pack_column)(const SIMD_REAL *from, int64_t left, SIMD_REAL *panel) {
  enum { REACH = (BLOCK_ROWS + LANES - 1) / LANES * LANES };
  enum { IS_ONE_MOVE = (BLOCK_ROWS & (BLOCK_ROWS - 1)) == 0 };
  if (!IS_ONE_MOVE && left >= REACH)
    for (int i = 0; i < REACH; i += LANES)
      *(SIMD_NAME(vec) *)(panel + i) = *(const SIMD_NAME(vec) *)(from + i);
  else if (left >= BLOCK_ROWS)
    memcpy(panel, from, BLOCK_ROWS * sizeof *panel);
  else
    memcpy(panel, from, (size_t)left * sizeof *panel);
}

/* Packs A with dense columns into panels of [depth][BLOCK_ROWS]. `offsets`: of the columns; NULL:
 * they are `col` apart. PANELS panels are packed at once, as neighbours share cache lines of A.
 * These stretches of columns are too short for hardware prefetchers: those AHEAD columns on are
 * prefetched. */
SIMD_TARGET static void SIMD_NAME(pack_columns)(const SIMD_REAL *a, int64_t col,
                                                const int64_t *offsets, int64_t rows, int64_t depth,
                                                SIMD_REAL *to) {
  enum { PANELS = 16, AHEAD = 16, LINE = 64 / (int)sizeof(SIMD_REAL) };
  for (int64_t i = 0; i < rows; i += PANELS * BLOCK_ROWS)
    for (int64_t p = 0; p < depth; p++) {
      int64_t end = hr_min(i + PANELS * BLOCK_ROWS, rows);
      const SIMD_REAL *column = a + (offsets ? offsets[p] : p * col);
      const SIMD_REAL *later =
          a + (offsets ? offsets[hr_min(p + AHEAD, depth - 1)] : (p + AHEAD) * col);
      for (int64_t at = i; at < end; at += LINE) __builtin_prefetch(later + at);
      SIMD_REAL *panel = to + i / BLOCK_ROWS * PANEL(depth) + p * BLOCK_ROWS;
      for (int64_t at = i; at < end; at += BLOCK_ROWS, panel += PANEL(depth))
        SIMD_NAME(pack_column)(column + at, rows - at, panel);
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

/* True if offsets say that columns of A are dense, and rows are not. Vectors of 64 bytes pair terms
 * of rows where A has offsets (narrow_last), so that their blocks have rows whatever these are. */
SIMD_INLINE bool SIMD_NAME(lists_dense_columns)(const gemm_job_t *job, int parts,
                                                const gemm_range_t *now) {
  if (SIMD_BYTES == 64 || !job->a_rows || parts > 1 || now->depth < 2) return false;
  return SIMD_NAME(run_length)(job->a_rows + now->row, now->rows) == now->rows &&
         SIMD_NAME(run_length)(job->a_cols + now->first, 2) == 1;
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
    SIMD_NAME(pack_columns)(a, job->a_col, NULL, now->rows, depth, space);
    return (SIMD_NAME(block_t)){space, now->rows, depth, 1, BLOCK_ROWS, PANEL(depth)};
  }
  if (!job->fill && SIMD_NAME(lists_dense_columns)(job, parts, now)) {
    SIMD_NAME(pack_columns)
    ((const SIMD_REAL *)job->a + job->a_rows[now->row], 0, job->a_cols + now->first, now->rows,
     depth, space);
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

SIMD_DEFINE_SQUARE(SIMD_NAME(square), SIMD_INLINE, SIMD_NAME(acc))

/* Transposes a square of LANES x LANES reals, and prefetches the square below. */
SIMD_INLINE void SIMD_NAME(transpose)(const SIMD_REAL *b, int64_t col, SIMD_REAL *to) {
  SIMD_NAME(acc) x[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) __builtin_prefetch(b + (LANES + i) * col);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) x[i] = *(const SIMD_NAME(vec) *)(b + i * col);
  SIMD_NAME(square_transpose)(x);
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

/* Packs a panel of B that is given by row and column offsets, one run of adjacent columns after the
 * other. */
SIMD_TARGET static void SIMD_NAME(gather_panel)(const gemm_job_t *job, int64_t first, int64_t depth,
                                                int64_t column, int64_t columns, SIMD_REAL *to) {
  const int64_t *offsets = job->b_cols + column;
  const int64_t *rows = job->b_rows + first;
  for (int64_t j = 0, run; j < columns; j += run) {
    const SIMD_REAL *from = (const SIMD_REAL *)job->b + offsets[j];
    run = SIMD_NAME(run_length)(offsets + j, columns - j);
    for (int64_t p = 0; p < depth; p++) {
      SIMD_REAL *line = to + p * WIDTH + j;
      if (run == WIDTH)
        memcpy(line, from + rows[p], WIDTH * sizeof *line);
      else if (run % LANES == 0)
        for (int64_t v = 0; v < run; v += LANES)
          *(SIMD_NAME(vec) *)(line + v) = *(const SIMD_NAME(vec) *)(from + rows[p] + v);
      else
        for (int64_t i = 0; i < run; i++) line[i] = from[rows[p] + i];
    }
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

/* Clears a panel if its last vector has surplus lanes that tiles read. Surplus lanes are never
 * stored to C, but must not be denormal numbers, for which processors take a hundred times as long:
 * they are zeros, or other elements of B. */
SIMD_TARGET static void SIMD_NAME(clear_surplus)(int64_t depth, int64_t columns, SIMD_REAL *to) {
  if (columns % LANES && SIMD_BYTES < 64) memset(to, 0, (size_t)(depth * WIDTH) * sizeof *to);
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
