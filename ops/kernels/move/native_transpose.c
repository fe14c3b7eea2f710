/* Transpose of any rank.
 *
 * Dimensions that stay neighbours are merged first, and a dense run of 2, 4, 8 or 16 bytes becomes
 * one element. Four forms remain:
 *
 *   copy      nothing moves: one dense copy
 *   runs      the last dimension stays last: rows of bytes are copied
 *   streams   a dimension of 2 to 4 is swapped with a long one: few streams are (de)interleaved
 *   tiles     two dimensions are swapped, i (dense in the operand) and j (dense in the result):
 *
 *     operand: rows j      result: rows i
 *     j0  i i i i          i0  j j j j    ->   non-temporal stores of whole cache lines, if the
 *     j1  i i i i    ->    i1  j j j j         result is larger than the caches
 *
 * Dimensions may be reversed: loops around walk the operand backwards from its last element on, and
 * so do tiles along j; along i the operand is read forwards and the result's rows are written
 * backwards. A reversed last dimension that stays last is no form of these. Large arrays whose
 * planes of two dimensions are small are left to generated code.
 *
 * Tiles are transposed in registers (transpose_tiles.h). Each cache line of the operand is read
 * once, as a whole. Where rows of the result do not begin at a cache line, a tile is transposed
 * into a buffer on the stack, from which rows are copied. Consecutive tiles share rows of the
 * operand: DRAM pages that are read cost more to switch than those that are written. Cost: one read
 * and one write of the array. Workers share the tiles; the result does not depend on how. */
#include "ops/kernels/move/native_transpose.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/move/native_transpose_plan.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  ROW_BYTES = TRANSPOSE_SIDE_BYTES + 64, /* row of the buffer */
  GRAIN = 1 << 15                        /* least bytes per worker */
};

typedef struct transpose_job {
  const native_transpose_plan_t *plan;
  char *to;
  const char *from, *from_end;
  bool whole_lines; /* tiles are stored non-temporally straight from registers */
} transpose_job_t;

/* --- tiles ------------------------------------------------------------------------------------ */

#define VECTOR_FILE "ops/kernels/move/transpose_tiles.h"
#include "ops/kernels/simd/simd_foreach.h"

static void transpose_elements(int element_bytes, int64_t i_count, int64_t j_count,
                               const char *from, int64_t j_stride, char *to, int64_t i_stride) {
  for (int64_t j = 0; j < j_count; j++)
    for (int64_t i = 0; i < i_count; i++)
      memcpy(to + i * i_stride + j * element_bytes, from + j * j_stride + i * element_bytes,
             (size_t)element_bytes);
}

/* Uses the widest vectors for which the tile has enough rows. */
static void transpose_tile(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                           int64_t j_stride, char *to, int64_t i_stride) {
  int64_t vector_elements = 16 / element_bytes,
          vectors = i_count >= vector_elements ? j_count / vector_elements : 0;
  if (vectors == 0)
    return transpose_elements(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#if SIMD_HAS_WIDTHS
  if (vectors >= 4 && simd_width() == SIMD_512)
    return v512_transpose_tile(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
  if (vectors >= 2 && simd_width() >= SIMD_256)
    return v256_transpose_tile(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#endif
  v128_transpose_tile(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
}

/* Stores bypass the caches; conditions: see TRANSPOSE_ALL in transpose_tiles.h. */
static void transpose_nontemporal(int element_bytes, int64_t i_count, int64_t j_count,
                                  const char *from, int64_t j_stride, char *to, int64_t i_stride) {
#if SIMD_HAS_WIDTHS
  if (simd_width() == SIMD_512)
    v512_transpose_nontemporal(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
  else
    v256_transpose_nontemporal(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#else
  transpose_tile(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#endif
}

/* Processes one cache line's columns at a time: rows may be a page apart, and each needs a TLB
 * entry. */
void native_transpose_plane(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                            int64_t j_stride, char *to, int64_t i_stride) {
  int64_t unit = 64 / element_bytes;
  for (int64_t i = 0; i < i_count; i += unit)
    transpose_tile(element_bytes, hr_min(unit, i_count - i), j_count, from + i * element_bytes,
                   j_stride, to + i * i_stride, i_stride);
}

/* Copies at most one row of the buffer, in moves of 16 bytes; the last one overlaps its
 * predecessor where the length is no multiple of 16. */
NATIVE_INLINE void copy_row(char *to, const char *row, int64_t bytes) {
  if (bytes == ROW_BYTES) {
    memcpy(to, row, ROW_BYTES);
    return;
  }
  if (bytes < 16) {
    memcpy(to, row, (size_t)bytes);
    return;
  }
  for (int64_t at = 0; at + 16 <= bytes; at += 16) memcpy(to + at, row + at, 16);
  memcpy(to + bytes - 16, row + bytes - 16, 16);
}

/* Prefetches the next tile into L2 while this one is transposed: its cache lines are a large
 * stride apart, which hardware prefetchers do not follow. */
NATIVE_INLINE void prefetch_tile(const char *from, int64_t stride, int64_t row_bytes,
                                 int64_t rows) {
  for (int64_t r = 0; r < rows; r++, from += stride)
    for (int64_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

/* The bytes stored of one result row for the columns j to `end`. With non-temporal stores both ends
 * are rounded up to cache lines, so that the next tile's span begins at a line, too. */
typedef struct span {
  int64_t begin, end;
} span_t;

NATIVE_INLINE span_t row_span(const native_transpose_plan_t *plan, const char *row, int64_t j,
                              int64_t end) {
  int64_t bytes = plan->element_bytes, into_line = (int64_t)((uintptr_t)row & 63);
  span_t span = {j * bytes, end * bytes};
  if (!plan->nontemporal) return span;
  if (j > 0) span.begin = ((span.begin + into_line + 63) & ~INT64_C(63)) - into_line;
  span.end = ((span.end + into_line + 63) & ~INT64_C(63)) - into_line;
  span.end = hr_min(span.end, plan->j_count * bytes);
  return (span_t){hr_min(span.begin, span.end), span.end};
}

/* Transposes a tile into a buffer on the stack, then copies its rows. The buffer has the extra
 * columns that complete the last cache line of each row. */
static void copy_tile_buffered(const transpose_job_t *job, char *to, const char *from,
                               int64_t i_count, int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  char buffer[TRANSPOSE_MAX_ROWS * ROW_BYTES] __attribute__((aligned(64)));
  int64_t bytes = plan->element_bytes, j_end = hr_min(plan->j_count, j + plan->j_side);
  int64_t j_more = plan->nontemporal ? hr_min(plan->j_count, j_end + 64 / bytes) : j_end;
  /* Prefetches the result's cache lines for writing while the tile is transposed. */
  for (int64_t r = 0; r < i_count && !plan->nontemporal; r++)
    __builtin_prefetch(to + r * plan->i_stride + j * bytes, 1);
  transpose_tile((int)bytes, i_count, j_more - j, from, plan->j_stride, buffer, ROW_BYTES);
  for (int64_t r = 0; r < i_count; r++, to += plan->i_stride) {
    span_t span = row_span(plan, to, j, j_end);
    const char *row = buffer + r * ROW_BYTES + span.begin - j * bytes;
    if (plan->nontemporal)
      native_stream(to + span.begin, row, span.end - span.begin);
    else
      copy_row(to + span.begin, row, span.end - span.begin);
  }
}

/* Transposes the tile whose first elements are at `i` and `j` of one plane. */
static void copy_tile(const transpose_job_t *job, char *to, const char *from, int64_t i,
                      int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  int64_t i_count = hr_min(plan->i_side, plan->i_count - i),
          j_count = hr_min(plan->j_side, plan->j_count - j);
  int64_t bytes = plan->element_bytes;
  to += i * plan->i_stride;
  from += j * plan->j_stride + i * bytes;
  if (plan->nontemporal)
    prefetch_tile(from + i_count * bytes, plan->j_stride, i_count * bytes, j_count);
  if (job->whole_lines && i_count * bytes >= 16)
    transpose_nontemporal((int)bytes, i_count, j_count, from, plan->j_stride, to + j * bytes,
                          plan->i_stride);
  else if (plan->nontemporal || plan->buffered)
    copy_tile_buffered(job, to, from, i_count, j);
  else
    transpose_tile((int)bytes, i_count, j_count, from, plan->j_stride, to + j * bytes,
                   plan->i_stride);
}

/* Position in the sequence of planes (i x j), in the order of the outer dimensions. */
typedef struct plane_cursor {
  const transpose_job_t *job;
  loop_walk_t walk;
  int64_t in_row;
} plane_cursor_t;

static plane_cursor_t plane_cursor_at(const transpose_job_t *job, int64_t plane) {
  const loop_nest_t *outer = &job->plan->outer;
  return (plane_cursor_t){job, loop_walk_at(outer, plane / outer->row_count),
                          plane % outer->row_count};
}

static void plane_cursor_next(plane_cursor_t *plane_cursor) {
  const loop_nest_t *outer = &plane_cursor->job->plan->outer;
  if (++plane_cursor->in_row < outer->row_count) return;
  plane_cursor->in_row = 0;
  loop_walk_next(outer, &plane_cursor->walk);
}

NATIVE_INLINE char *plane_result(const plane_cursor_t *plane_cursor) {
  return plane_cursor->job->to + plane_cursor->walk.at[0] +
         plane_cursor->in_row * plane_cursor->job->plan->outer.row_strides[0];
}

NATIVE_INLINE const char *plane_operand(const plane_cursor_t *plane_cursor) {
  return plane_cursor->job->from + plane_cursor->walk.at[1] +
         plane_cursor->in_row * plane_cursor->job->plan->outer.row_strides[1];
}

/* Copies tiles begin .. end - 1; the tile index runs along the operand's rows first. */
void transpose_copy_tiles(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  const native_transpose_plan_t *plan = job->plan;
  int64_t rows = transpose_tile_row_count(plan), columns = transpose_tile_column_count(plan);
  plane_cursor_t plane_cursor = plane_cursor_at(job, begin / (rows * columns));
  int64_t column = begin / rows % columns, row = begin % rows;
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    copy_tile(job, plane_result(&plane_cursor), plane_operand(&plane_cursor), row * plan->i_side,
              column * plan->j_side);
    if (++row < rows) continue;
    row = 0;
    if (++column < columns) continue;
    column = 0;
    plane_cursor_next(&plane_cursor);
  }
  if (plan->nontemporal) native_stream_end();
}

/* --- few streams ------------------------------------------------------------------------------ */

/* A dimension of 2, 3 or 4 is swapped with a long one: N streams are interleaved into one, or
 * one stream is split into N. The constant N lets the compiler use shuffles. */
#define INTERLEAVE(T, N)                      \
  for (int64_t i = 0; i < plan->i_count; i++) \
    for (int j = 0; j < N; j++) ((T *)to)[i * N + j] = ((const T *)(from + j * plan->j_stride))[i]
#define DEINTERLEAVE(T, N)                    \
  for (int64_t j = 0; j < plan->j_count; j++) \
    for (int i = 0; i < N; i++) ((T *)(to + i * plan->i_stride))[j] = ((const T *)from)[j * N + i]
#define STREAMS(T)                                                 \
  switch (plan->interleaves ? plan->j_count + 4 : plan->i_count) { \
    case 2:                                                        \
      DEINTERLEAVE(T, 2);                                          \
      break;                                                       \
    case 3:                                                        \
      DEINTERLEAVE(T, 3);                                          \
      break;                                                       \
    case 4:                                                        \
      DEINTERLEAVE(T, 4);                                          \
      break;                                                       \
    case 6:                                                        \
      INTERLEAVE(T, 2);                                            \
      break;                                                       \
    case 7:                                                        \
      INTERLEAVE(T, 3);                                            \
      break;                                                       \
    case 8:                                                        \
      INTERLEAVE(T, 4);                                            \
      break;                                                       \
  }

/* Units: elements of the merged transpose, 1, 2, 4 or 8 bytes. */
NATIVE_CLONES
static void copy_streams(const native_transpose_plan_t *plan, char *restrict to,
                         const char *restrict from) {
  switch (plan->element_bytes) {
    case 1:
      STREAMS(uint8_t);
      break;
    case 2:
      STREAMS(uint16_t);
      break;
    case 4:
      STREAMS(uint32_t);
      break;
    case 8:
      STREAMS(uint64_t);
      break;
  }
}

void transpose_copy_streams(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  plane_cursor_t plane_cursor = plane_cursor_at(job, begin);
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++, plane_cursor_next(&plane_cursor))
    copy_streams(job->plan, plane_result(&plane_cursor), plane_operand(&plane_cursor));
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Non-temporal stores pay for runs of whole cache lines, and for long ones. */
static void copy_run(char *to, const char *from, int64_t bytes, bool nontemporal) {
  if (nontemporal && (bytes >= 512 || (bytes | (int64_t)(uintptr_t)to) % 64 == 0))
    native_stream(to, from, bytes);
  else if (bytes == 128)
    memcpy(to, from, 128);
  else
    memcpy(to, from, (size_t)bytes);
}

void transpose_copy_runs(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  const native_transpose_plan_t *plan = job->plan;
  const loop_nest_t *outer = &plan->outer;
  loop_walk_t walk = loop_walk_at(outer, begin / outer->row_count);
  (void)worker;
  for (int64_t i = begin % outer->row_count, unit = begin; unit < end;
       loop_walk_next(outer, &walk), i = 0)
    for (; i < outer->row_count && unit < end; i++, unit++)
      copy_run(job->to + walk.at[0] + i * outer->row_strides[0],
               job->from + walk.at[1] + i * outer->row_strides[1], plan->run_bytes,
               plan->nontemporal);
  if (plan->nontemporal) native_stream_end();
}

/* Copies `count` runs of `bytes` each to consecutive addresses, each by a move of the fixed size
 * `copy_bytes` >= bytes. The surplus is overwritten by the next run, which therefore must
 * follow. */
NATIVE_INLINE void copy_row_of_runs(char *to, const char *from, int64_t step, int64_t bytes,
                                    int64_t count, int64_t copy_bytes) {
  for (int64_t i = 0; i < count; i++, to += bytes, from += step)
    memcpy(to, from, (size_t)copy_bytes);
}

/* Copies rows of runs, `row_stride` apart in the operand. The fixed-size moves are used as long
 * as neither array ends within the surplus; the remaining rows are copied at their exact size. */
NATIVE_INLINE void copy_rows_of_runs(const native_transpose_plan_t *plan, char *to,
                                     const char *to_end, const char *from, const char *from_end,
                                     int64_t rows, int64_t copy_bytes) {
  int64_t bytes = plan->run_bytes, step = plan->outer.row_strides[1], count = plan->outer.row_count;
  int64_t row_stride = plan->outer.rank ? plan->outer.strides[1][plan->outer.rank - 1] : 0;
  for (int64_t r = 0; r < rows; r++, to += count * bytes, from += row_stride)
    if (to_end - to >= count * bytes + copy_bytes &&
        from_end - from >= hr_max((count - 1) * step, 0) + copy_bytes)
      copy_row_of_runs(to, from, step, bytes, count, copy_bytes);
    else
      copy_row_of_runs(to, from, step, bytes, count, bytes);
}

NATIVE_INLINE void copy_runs_padded(const transpose_job_t *job, int64_t begin, int64_t end,
                                    int64_t copy_bytes) {
  const native_transpose_plan_t *plan = job->plan;
  const loop_nest_t *outer = &plan->outer;
  loop_walk_t walk = loop_walk_at(outer, begin);
  int64_t row_bytes = outer->row_count * plan->run_bytes;
  for (int64_t row = begin; row < end;) {
    int64_t rows = loop_walk_even(outer, &walk, end - row);
    copy_rows_of_runs(plan, job->to + row * row_bytes, job->to + end * row_bytes,
                      job->from + walk.at[1], job->from_end, rows, copy_bytes);
    loop_walk_skip(outer, &walk, rows);
    row += rows;
  }
}

/* Copies runs of one vector or less by the smallest move that holds a run. */
NATIVE_CLONES
void transpose_copy_short_runs(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  int64_t bytes = job->plan->run_bytes;
  (void)worker;
  if (bytes <= 8)
    copy_runs_padded(job, begin, end, 8);
  else if (bytes <= 16)
    copy_runs_padded(job, begin, end, 16);
  else if (bytes <= 32)
    copy_runs_padded(job, begin, end, 32);
  else
    copy_runs_padded(job, begin, end, 64);
}

void native_transpose_run(hr_workers_t *workers, const native_transpose_plan_t *plan, void *to,
                          const void *from) {
  transpose_job_t job = {.plan = plan,
                         .to = (char *)to + plan->to_offset,
                         .from = (const char *)from + plan->from_offset,
                         .from_end = (const char *)from + plan->bytes,
                         .whole_lines = plan->whole_lines && ((uintptr_t)to & 63) == 0};
  if (plan->bytes == 0) return;
  if (plan->run_bytes == plan->bytes)
    native_copy(workers, to, from, plan->bytes);
  else
    hr_workers_for(workers, plan->units, GRAIN / (plan->bytes / plan->units + 1) + 1, plan->copy,
                   &job);
}
