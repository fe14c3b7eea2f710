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

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"

NATIVE_OPTIMIZE

enum {
  SIDE_BYTES = 256,            /* side of a tile: four cache lines */
  LINES_BYTES = 128,           /* side along the result's rows with non-temporal stores */
  ROW_BYTES = SIDE_BYTES + 64, /* row of the buffer */
  MAX_ROWS = 128,              /* rows of the buffer */
  SHORT_DIM = 4,               /* most streams that are interleaved */
  LONG_STREAM = 16,            /* least elements of a stream */
  SHORT_RUN_BYTES = 64,        /* longest run copied by fixed-size moves */
  FAR_BYTES = 1 << 12,         /* stride whose rows map to the same sets of the L1 cache */
  GRAIN = 1 << 15,             /* least bytes per worker */
  LONG_SIDE = 8,               /* least side of planes in the form of tiles; twice this for bytes */
  PLANE_ELEMENTS = 128,        /* least elements of such a plane */
  MANY_ELEMENTS = 1 << 12      /* elements of an array that justify the compilation of a kernel */
};

struct native_transpose_plan {
  int element_bytes;         /* size of the moved element, after merging of short runs */
  int64_t run_bytes;         /* size of a contiguous run; 0 in the form of tiles */
  int64_t i_count, i_stride; /* dimension dense in the operand; its stride in the result, bytes */
  int64_t j_count, j_stride; /* dimension dense in the result; its stride in the operand, bytes */
  int64_t i_side, j_side;    /* sides of a tile, elements */
  bool interleaves, deinterleaves; /* form of few streams, instead of tiles */
  loop_nest_t outer;               /* loops around; operands: 0 result, 1 operand; bytes */
  int64_t units;                   /* units of work: runs, rows of short runs, or tiles */
  int64_t bytes;                   /* size of the array */
  int64_t to_offset, from_offset;  /* offset of the first element written, and read; bytes */
  bool nontemporal;                /* stores bypass the caches */
  bool whole_lines;                /* rows are whole cache lines, provided the result is aligned */
  bool buffered;                   /* tiles pass through a buffer */
  hr_workers_fn copy;              /* copies a range of units */
};

typedef struct transpose_job {
  const native_transpose_plan_t *plan;
  char *to;
  const char *from, *from_end;
  bool whole_lines; /* tiles are stored non-temporally straight from registers */
} transpose_job_t;

/* --- tiles ------------------------------------------------------------------------------------ */

typedef struct wide_element {
  uint64_t low, high;
} wide_element_t;

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
  char buffer[MAX_ROWS * ROW_BYTES] __attribute__((aligned(64)));
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

static int64_t tile_row_count(const native_transpose_plan_t *plan) {
  return (plan->i_count + plan->i_side - 1) / plan->i_side;
}

static int64_t tile_column_count(const native_transpose_plan_t *plan) {
  return (plan->j_count + plan->j_side - 1) / plan->j_side;
}

/* Copies tiles begin .. end - 1; the tile index runs along the operand's rows first. */
static void copy_tiles(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  const native_transpose_plan_t *plan = job->plan;
  int64_t rows = tile_row_count(plan), columns = tile_column_count(plan);
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

static void copy_stream_planes(void *context, int64_t begin, int64_t end, int worker) {
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

static void copy_runs(void *context, int64_t begin, int64_t end, int worker) {
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

/* Runs of a vector or less. */
NATIVE_CLONES
/* Runs of one vector or less: the smallest move that holds a run. */
static void copy_short_runs(void *context, int64_t begin, int64_t end, int worker) {
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

static hr_status_t run_transpose(const op_native_run_t *run, const void *plan, void *const *in,
                                 void *const *out) {
  native_transpose_run(run->workers, plan, out[0], in[0]);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* Merged dimensions in the order of the result, outermost first. Strides in elements. */
typedef struct transpose_dims {
  int rank;
  int64_t dims[HLO_MAX_RANK];
  int64_t to[HLO_MAX_RANK];   /* strides in the result */
  int64_t from[HLO_MAX_RANK]; /* strides in the operand */
} transpose_dims_t;

/* Drops dimensions of size 1 and merges neighbours that are contiguous in both arrays. */
static void merge_dims(int rank, const int64_t *dims, const int64_t *strides, transpose_dims_t *t) {
  t->rank = 0;
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 1) continue;
    int last = t->rank - 1;
    if (last >= 0 && t->from[last] == strides[d] * dims[d]) {
      t->dims[last] *= dims[d];
      t->from[last] = strides[d];
    } else {
      t->dims[t->rank] = dims[d];
      t->from[t->rank++] = strides[d];
    }
  }
  loop_dense_strides(t->rank, t->dims, 1, t->to);
}

static void remove_dim(transpose_dims_t *t, int at) {
  t->rank--;
  for (int d = at; d < t->rank; d++) {
    t->dims[d] = t->dims[d + 1];
    t->to[d] = t->to[d + 1];
    t->from[d] = t->from[d + 1];
  }
}

static void plan_outer(native_transpose_plan_t *plan, const transpose_dims_t *t, int64_t bytes) {
  int64_t to[HLO_MAX_RANK], from[HLO_MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    to[d] = t->to[d] * bytes;
    from[d] = t->from[d] * bytes;
  }
  loop_nest_init(&plan->outer, t->rank, t->dims, 2, (const int64_t *[]){to, from},
                 LOOP_PROGRAM_ORDER);
  plan->units *= loop_row_total(&plan->outer) * plan->outer.row_count;
}

/* If the last dimension is dense in both arrays and its run is 2, 4, 8 or 16 bytes, the run becomes
 * the moved element. Returns false if runs of another size remain. */
static bool merge_run_into_element(transpose_dims_t *t, int64_t *bytes) {
  int last = t->rank - 1;
  if (last < 0 || t->from[last] != 1) return true;
  int64_t run = t->dims[last];
  if (run * *bytes > 16 || (run & (run - 1))) return false;
  remove_dim(t, last);
  for (int d = 0; d < t->rank; d++) {
    t->to[d] /= run;
    t->from[d] /= run;
  }
  *bytes *= run;
  return true;
}

static int dense_dim(const transpose_dims_t *t) {
  int dense = 0;
  while (llabs(t->from[dense]) != 1) dense++;
  return dense;
}

/* Reversed dimensions begin at their ends; the one that is dense in the operand is described
 * above. */
static void begin_at_ends(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  for (int d = 0; d < t->rank; d++) {
    if (t->from[d] >= 0) continue;
    if (t->from[d] == -1) {
      plan->to_offset += (t->dims[d] - 1) * t->to[d] * bytes;
      t->to[d] = -t->to[d];
      t->from[d] = 1;
    } else {
      plan->from_offset -= (t->dims[d] - 1) * t->from[d] * bytes;
    }
  }
}

static bool is_short_dim(int64_t count, int64_t bytes) {
  return count >= 2 && count <= SHORT_DIM && bytes <= 8;
}

static bool interleaves(const transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  return is_short_dim(t->dims[last], bytes) && t->to[dense] == t->dims[last] &&
         t->dims[dense] >= LONG_STREAM;
}

static bool deinterleaves(const transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  return !interleaves(t, bytes) && is_short_dim(t->dims[dense], bytes) &&
         t->from[last] == t->dims[dense];
}

/* True if every row of the result is a whole number of cache lines, given an aligned result. */
static bool rows_are_cache_lines(const transpose_dims_t *t, int64_t bytes) {
  bool are_lines = t->dims[t->rank - 1] * bytes % 64 == 0;
  for (int d = 0; d < t->rank - 1; d++) are_lines &= t->to[d] * bytes % 64 == 0;
  return are_lines;
}

static void plan_tiles(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int dense = dense_dim(t), last = t->rank - 1;
  plan->element_bytes = (int)bytes;
  plan->i_count = t->dims[dense];
  plan->i_stride = t->to[dense] * bytes;
  plan->j_count = t->dims[last];
  plan->j_stride = t->from[last] * bytes;
  plan->whole_lines =
      plan->nontemporal && simd_width() != SIMD_128 && rows_are_cache_lines(t, bytes);
  plan->buffered = plan->nontemporal ? !plan->whole_lines : plan->i_stride % FAR_BYTES == 0;
  plan->j_side = (plan->whole_lines ? LINES_BYTES : SIDE_BYTES) / bytes;
  plan->i_side = plan->nontemporal || plan->buffered ? hr_min(SIDE_BYTES / bytes, MAX_ROWS)
                                                     : SIDE_BYTES / bytes;
  plan->interleaves = interleaves(t, bytes);
  plan->deinterleaves = deinterleaves(t, bytes);
  plan->copy = plan->interleaves || plan->deinterleaves ? copy_stream_planes : copy_tiles;
  plan->units = plan->copy == copy_tiles ? tile_row_count(plan) * tile_column_count(plan) : 1;
  remove_dim(t, last);
  remove_dim(t, dense);
  plan_outer(plan, t, bytes);
}

static void swap_dims(transpose_dims_t *t, int a, int b) {
  transpose_dims_t old = *t;
  t->dims[a] = old.dims[b];
  t->dims[b] = old.dims[a];
  t->to[a] = old.to[b];
  t->to[b] = old.to[a];
  t->from[a] = old.from[b];
  t->from[b] = old.from[a];
}

/* Orders the outer loops by the operand's strides: reads are then sequential, while non-temporal
 * stores of whole runs may go anywhere. */
static void sort_dims(transpose_dims_t *t) {
  for (int d = 1; d < t->rank; d++)
    for (int e = d; e > 0 && llabs(t->from[e]) > llabs(t->from[e - 1]); e--) swap_dims(t, e, e - 1);
}

static void plan_runs(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int last = t->rank - 1;
  plan->run_bytes = (last < 0 ? 1 : t->dims[last]) * bytes;
  bool is_short = plan->run_bytes <= SHORT_RUN_BYTES;
  plan->nontemporal &= !is_short;
  plan->copy = is_short ? copy_short_runs : copy_runs;
  plan->units = 1;
  if (last >= 0) remove_dim(t, last);
  if (plan->nontemporal) sort_dims(t);
  plan_outer(plan, t, bytes);
  if (is_short) plan->units = loop_row_total(&plan->outer);
}

static bool is_any_reversed(const transpose_dims_t *t) {
  for (int d = 0; d < t->rank; d++)
    if (t->from[d] < 0) return true;
  return false;
}

/* True for planes with enough elements: small ones leave tiles half empty; elements of 16 bytes are
 * moved singly anyway. */
static bool are_planes_large(const transpose_dims_t *t, int64_t bytes) {
  int64_t i_count = t->dims[dense_dim(t)], j_count = t->dims[t->rank - 1];
  int64_t side = bytes == 1 ? 2 * LONG_SIDE : LONG_SIDE;
  if (bytes == sizeof(wide_element_t)) return i_count * j_count >= 2 * LONG_SIDE;
  return hr_min(i_count, j_count) >= side && i_count * j_count >= PLANE_ELEMENTS;
}

/* True if one of the forms here is faster than generated code: runs, unless the op only reverses;
 * streams, if they are long and not reversed; tiles, if planes are large. */
static bool is_faster_than_codegen(const transpose_dims_t *t, int64_t bytes, bool are_runs) {
  int last = t->rank - 1;
  if (are_runs) return !is_any_reversed(t) || (t->rank > 1 && t->from[last] == 1);
  int dense = dense_dim(t);
  bool is_reversed = t->from[dense] < 0 || t->from[last] < 0;
  if (!is_reversed && (interleaves(t, bytes) || deinterleaves(t, bytes)))
    return hr_max(t->dims[dense], t->dims[last]) >= LONG_STREAM;
  return dense != last && are_planes_large(t, bytes);
}

/* is_optional: *out_plan is NULL if generated code is faster. */
static hr_status_t make_plan(hr_arena_t *arena, int element_bytes, int rank, const int64_t *dims,
                             const int64_t *strides, bool is_optional,
                             const native_transpose_plan_t **out_plan) {
  native_transpose_plan_t *plan;
  transpose_dims_t t;
  int64_t bytes = element_bytes;
  HR_TRY(HR_NEW(arena, &plan));
  plan->bytes = element_bytes;
  for (int d = 0; d < rank; d++) plan->bytes *= dims[d];
  plan->nontemporal = plan->bytes >= NATIVE_STREAM_BYTES;
  *out_plan = plan;
  if (plan->bytes == 0) return NULL;
  merge_dims(rank, dims, strides, &t);
  bool are_runs = t.rank < 2 || !merge_run_into_element(&t, &bytes) || t.rank < 2;
  if (is_optional && !is_faster_than_codegen(&t, bytes, are_runs)) {
    *out_plan = NULL;
    return NULL;
  }
  begin_at_ends(plan, &t, bytes);
  if (are_runs)
    plan_runs(plan, &t, bytes);
  else
    plan_tiles(plan, &t, bytes);
  return NULL;
}

hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                      const int64_t *dims, const int64_t *strides,
                                      const native_transpose_plan_t **out_plan) {
  return make_plan(arena, element_bytes, rank, dims, strides, false, out_plan);
}

hr_status_t native_transpose_optional_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                               const int64_t *dims, const int64_t *strides,
                                               const native_transpose_plan_t **out_plan) {
  return make_plan(arena, element_bytes, rank, dims, strides, true, out_plan);
}

/* True if code can be generated, for enough elements to justify its compilation. */
static bool can_decline(const op_native_target_t *target, const op_step_t *step) {
  return target->generated && op_can_codegen(step->instr) &&
         fusion_count(step->out_shape) >= MANY_ELEMENTS;
}

static hr_status_t prepare_transpose(const op_native_target_t *target, const op_step_t *step,
                                     op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  const hlo_shape_t *in = step->in_shapes[0], *shape = step->out_shape;
  const int64_t *order = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data;
  const native_transpose_plan_t *plan;
  int64_t dense[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  loop_dense_strides(in->rank, in->dims, 1, dense);
  for (int d = 0; d < shape->rank; d++) strides[d] = dense[order[d]];
  HR_TRY(make_plan(target->arena, (int)hr_dtype_bytes(shape->dtype), shape->rank, shape->dims,
                   strides, can_decline(target, step), &plan));
  if (!plan) return NULL;
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->bytes;
  if (plan->bytes > 0 && plan->run_bytes == plan->bytes) out->reuse = in_place;
  return NULL;
}

const op_native_t native_transpose = {"transpose", prepare_transpose, run_transpose};
