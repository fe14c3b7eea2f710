/* Transpose of any rank. Dimensions that stay neighbours are merged; then either the last ones stay
 * last, and runs of bytes are copied, or two dimensions change places: the one that is dense in the
 * operand and the one that is dense in the result. Squares of these are turned in registers:
 *
 *     operand: rows j      result: rows i
 *     j0  i i i i          i0  j j j j    ->   written past the caches, as whole lines, if the
 * result is larger j1  i i i i    ->    i1  j j j j         than they are
 *
 * Each cache line of the operand is read as a whole before the next. Where the result's rows do not
 * begin with lines, squares are turned in a buffer of which runs are copied. Squares that share the
 * operand's rows follow each other: memory takes longer to change between places that it reads than
 * between those that it writes. */
#include "ops/kernels/move/native_transpose.h"

#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  SIDE_BYTES = 256,  /* of a square: some cache lines */
  LINES_BYTES = 128, /* along the result's rows, where whole lines are written past the caches */
  ROW_BYTES = SIDE_BYTES + 64, /* of the buffer */
  MAX_ROWS = 128,              /* of the buffer */
  SHORT_RUN_BYTES = 64,
  FAR_BYTES = 1 << 12, /* rows so far apart, or a multiple, share few places of the first cache */
  GRAIN = 1 << 15      /* bytes that are worth a worker */
};

struct native_transpose_plan {
  int element_bytes; /* of what changes places: an element, or a few that stay together */
  int64_t run_bytes; /* of runs that stay together, if nothing smaller changes places; else 0 */
  int64_t i_count, i_stride; /* the dimension that is dense in the operand, and its stride in the
                                result, bytes */
  int64_t j_count,
      j_stride;           /* the one that is dense in the result, and its stride in the operand */
  int64_t i_side, j_side; /* of a square, elements */
  bool weaves, splits;    /* few streams instead of squares */
  loop_nest_t outer;      /* operands: 0 result, 1 operand; bytes */
  int64_t units;          /* runs, rows of short ones, or squares */
  int64_t bytes;
  bool streams;
  bool by_lines;      /* past the caches, rows are whole lines, if the result begins with one */
  bool buffers;       /* squares are turned in a buffer */
  hr_workers_fn copy; /* of some units */
};

typedef struct transpose_job {
  const native_transpose_plan_t *plan;
  char *to;
  const char *from;
  bool by_lines; /* the result is written past the caches as it is turned */
} transpose_job_t;

/* --- squares ---------------------------------------------------------------------------------- */

typedef struct wide {
  uint64_t low, high;
} wide_t;

#define VECTOR_FILE "ops/kernels/move/transpose_tiles.h"
#include "ops/kernels/simd/simd_foreach.h"

static void transpose_elements(int element_bytes, int64_t i_count, int64_t j_count,
                               const char *from, int64_t j_stride, char *to, int64_t i_stride) {
  for (int64_t j = 0; j < j_count; j++)
    for (int64_t i = 0; i < i_count; i++)
      memcpy(to + i * i_stride + j * element_bytes, from + j * j_stride + i * element_bytes,
             (size_t)element_bytes);
}

/* By the widest vectors that the square has rows for. */
static void transpose_square(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                             int64_t j_stride, char *to, int64_t i_stride) {
  int64_t piece = 16 / element_bytes, pieces = i_count >= piece ? j_count / piece : 0;
  if (pieces == 0)
    return transpose_elements(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#if SIMD_HAS_WIDTHS
  if (pieces >= 4 && simd_width() == SIMD_512)
    return v512_transpose_square(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
  if (pieces >= 2 && simd_width() >= SIMD_256)
    return v256_transpose_square(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#endif
  v128_transpose_square(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
}

/* Past the caches, as transpose_past of transpose_tiles.h says. */
static void transpose_past(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                           int64_t j_stride, char *to, int64_t i_stride) {
#if SIMD_HAS_WIDTHS
  if (simd_width() == SIMD_512)
    v512_transpose_past(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
  else
    v256_transpose_past(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#else
  transpose_square(element_bytes, i_count, j_count, from, j_stride, to, i_stride);
#endif
}

/* Some lines of the caches at a time, as rows may be a page apart. */
void native_transpose_plane(int element_bytes, int64_t i_count, int64_t j_count, const char *from,
                            int64_t j_stride, char *to, int64_t i_stride) {
  int64_t unit = 64 / element_bytes;
  for (int64_t i = 0; i < i_count; i += unit)
    transpose_square(element_bytes, hr_min(unit, i_count - i), j_count, from + i * element_bytes,
                     j_stride, to + i * i_stride, i_stride);
}

/* At most a row of the buffer: where it is no multiple of 16 bytes, the last 16 are over others. */
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

/* Its lines are far apart, which processors do not foresee: they come to the second cache while
 * another is turned. */
NATIVE_INLINE void prefetch_square(const char *from, int64_t stride, int64_t row_bytes,
                                   int64_t rows) {
  for (int64_t r = 0; r < rows; r++, from += stride)
    for (int64_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

/* What is written of a row, in bytes from its beginning, for the columns j to `end` of it: whole
 * lines, so that the columns of the square behind begin with one too. */
typedef struct span {
  int64_t begin, end;
} span_t;

NATIVE_INLINE span_t span_of(const native_transpose_plan_t *plan, const char *row, int64_t j,
                             int64_t end) {
  int64_t bytes = plan->element_bytes, into_line = (int64_t)((uintptr_t)row & 63);
  span_t span = {j * bytes, end * bytes};
  if (!plan->streams) return span;
  if (j > 0) span.begin = ((span.begin + into_line + 63) & ~INT64_C(63)) - into_line;
  span.end = ((span.end + into_line + 63) & ~INT64_C(63)) - into_line;
  span.end = hr_min(span.end, plan->j_count * bytes);
  return (span_t){hr_min(span.begin, span.end), span.end};
}

/* By way of a buffer; with the columns that the last lines of its rows need. */
static void copy_by_buffer(const transpose_job_t *job, char *to, const char *from, int64_t i_count,
                           int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  char buffer[MAX_ROWS * ROW_BYTES] __attribute__((aligned(64)));
  int64_t bytes = plan->element_bytes, j_end = hr_min(plan->j_count, j + plan->j_side);
  int64_t j_more = plan->streams ? hr_min(plan->j_count, j_end + 64 / bytes) : j_end;
  /* The result's lines are on their way while the square is turned. */
  for (int64_t r = 0; r < i_count && !plan->streams; r++)
    __builtin_prefetch(to + r * plan->i_stride + j * bytes, 1);
  transpose_square((int)bytes, i_count, j_more - j, from, plan->j_stride, buffer, ROW_BYTES);
  for (int64_t r = 0; r < i_count; r++, to += plan->i_stride) {
    span_t span = span_of(plan, to, j, j_end);
    const char *row = buffer + r * ROW_BYTES + span.begin - j * bytes;
    if (plan->streams)
      native_stream(to + span.begin, row, span.end - span.begin);
    else
      copy_row(to + span.begin, row, span.end - span.begin);
  }
}

/* The square whose first elements are at `i` and `j`. */
static void copy_square(const transpose_job_t *job, char *to, const char *from, int64_t i,
                        int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  int64_t i_count = hr_min(plan->i_side, plan->i_count - i),
          j_count = hr_min(plan->j_side, plan->j_count - j);
  int64_t bytes = plan->element_bytes;
  to += i * plan->i_stride;
  from += j * plan->j_stride + i * bytes;
  if (plan->streams)
    prefetch_square(from + i_count * bytes, plan->j_stride, i_count * bytes, j_count);
  if (job->by_lines && i_count * bytes >= 16)
    transpose_past((int)bytes, i_count, j_count, from, plan->j_stride, to + j * bytes,
                   plan->i_stride);
  else if (plan->streams || plan->buffers)
    copy_by_buffer(job, to, from, i_count, j);
  else
    transpose_square((int)bytes, i_count, j_count, from, plan->j_stride, to + j * bytes,
                     plan->i_stride);
}

/* The two dimensions' planes one after the other, in the order of the outer dimensions. */
typedef struct planes {
  const transpose_job_t *job;
  loop_walk_t walk;
  int64_t in_row;
} split_matrix_t;

static split_matrix_t split_matrix_at(const transpose_job_t *job, int64_t plane) {
  const loop_nest_t *outer = &job->plan->outer;
  return (split_matrix_t){job, loop_walk_at(outer, plane / outer->row_count),
                          plane % outer->row_count};
}

static void planes_next(split_matrix_t *planes) {
  const loop_nest_t *outer = &planes->job->plan->outer;
  if (++planes->in_row < outer->row_count) return;
  planes->in_row = 0;
  loop_walk_next(outer, &planes->walk);
}

NATIVE_INLINE char *plane_to(const split_matrix_t *planes) {
  return planes->job->to + planes->walk.at[0] +
         planes->in_row * planes->job->plan->outer.row_strides[0];
}

NATIVE_INLINE const char *plane_from(const split_matrix_t *planes) {
  return planes->job->from + planes->walk.at[1] +
         planes->in_row * planes->job->plan->outer.row_strides[1];
}

static int64_t rows_of_squares(const native_transpose_plan_t *plan) {
  return (plan->i_count + plan->i_side - 1) / plan->i_side;
}

static int64_t columns_of_squares(const native_transpose_plan_t *plan) {
  return (plan->j_count + plan->j_side - 1) / plan->j_side;
}

/* Squares along the operand's rows are next to each other. */
static void copy_squares(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  const native_transpose_plan_t *plan = job->plan;
  int64_t rows = rows_of_squares(plan), columns = columns_of_squares(plan);
  split_matrix_t planes = split_matrix_at(job, begin / (rows * columns));
  int64_t column = begin / rows % columns, row = begin % rows;
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    copy_square(job, plane_to(&planes), plane_from(&planes), row * plan->i_side,
                column * plan->j_side);
    if (++row < rows) continue;
    row = 0;
    if (++column < columns) continue;
    column = 0;
    planes_next(&planes);
  }
  if (plan->streams) native_stream_end();
}

/* --- few streams ------------------------------------------------------------------------------ */

/* A dimension of 2, 3 or 4 changes places with a long one: that many streams are woven into one, or
 * one is split. */
#define INTERLEAVE(T, N)                      \
  for (int64_t i = 0; i < plan->i_count; i++) \
    for (int j = 0; j < N; j++) ((T *)to)[i * N + j] = ((const T *)(from + j * plan->j_stride))[i]
#define SPLIT(T, N)                           \
  for (int64_t j = 0; j < plan->j_count; j++) \
    for (int i = 0; i < N; i++) ((T *)(to + i * plan->i_stride))[j] = ((const T *)from)[j * N + i]
#define STREAMS(T)                                            \
  switch (plan->weaves ? plan->j_count + 4 : plan->i_count) { \
    case 2:                                                   \
      SPLIT(T, 2);                                            \
      break;                                                  \
    case 3:                                                   \
      SPLIT(T, 3);                                            \
      break;                                                  \
    case 4:                                                   \
      SPLIT(T, 4);                                            \
      break;                                                  \
    case 6:                                                   \
      INTERLEAVE(T, 2);                                       \
      break;                                                  \
    case 7:                                                   \
      INTERLEAVE(T, 3);                                       \
      break;                                                  \
    case 8:                                                   \
      INTERLEAVE(T, 4);                                       \
      break;                                                  \
  }

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
  split_matrix_t planes = split_matrix_at(job, begin);
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++, planes_next(&planes))
    copy_streams(job->plan, plane_to(&planes), plane_from(&planes));
}

/* --- runs ------------------------------------------------------------------------------------- */

static void copy_run(char *to, const char *from, int64_t bytes, bool streams) {
  if (streams && (bytes >= 512 || (bytes | (int64_t)(uintptr_t)to) % 64 == 0))
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
               job->from + walk.at[1] + i * outer->row_strides[1], plan->run_bytes, plan->streams);
  if (plan->streams) native_stream_end();
}

/* `count` runs of `bytes`, in the result's order, each as `width` bytes: the next one goes over
 * what is too much. */
NATIVE_INLINE void copy_row_of_runs(char *to, const char *from, int64_t step, int64_t bytes,
                                    int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; i++, to += bytes, from += step) memcpy(to, from, (size_t)width);
}

/* Rows of them, `apart` in the operand, as far as both arrays have so many bytes; the others as
 * they are. */
NATIVE_INLINE void copy_rows_of_runs(const native_transpose_plan_t *plan, char *to,
                                     const char *to_end, const char *from, const char *from_end,
                                     int64_t rows, int64_t width) {
  int64_t bytes = plan->run_bytes, step = plan->outer.row_strides[1], count = plan->outer.row_count;
  int64_t apart = plan->outer.rank ? plan->outer.strides[1][plan->outer.rank - 1] : 0;
  for (int64_t r = 0; r < rows; r++, to += count * bytes, from += apart)
    if (to_end - to >= count * bytes + width && from_end - from >= (count - 1) * step + width)
      copy_row_of_runs(to, from, step, bytes, count, width);
    else
      copy_row_of_runs(to, from, step, bytes, count, bytes);
}

NATIVE_INLINE void copy_runs_as(const transpose_job_t *job, int64_t begin, int64_t end,
                                int64_t width) {
  const native_transpose_plan_t *plan = job->plan;
  const loop_nest_t *outer = &plan->outer;
  loop_walk_t walk = loop_walk_at(outer, begin);
  int64_t row_bytes = outer->row_count * plan->run_bytes;
  for (int64_t row = begin; row < end;) {
    int64_t rows = loop_walk_even(outer, &walk, end - row);
    copy_rows_of_runs(plan, job->to + row * row_bytes, job->to + end * row_bytes,
                      job->from + walk.at[1], job->from + plan->bytes, rows, width);
    loop_walk_skip(outer, &walk, rows);
    row += rows;
  }
}

/* Runs of a vector or less. */
NATIVE_CLONES
static void copy_short_runs(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  int64_t bytes = job->plan->run_bytes;
  (void)worker;
  if (bytes <= 8)
    copy_runs_as(job, begin, end, 8);
  else if (bytes <= 16)
    copy_runs_as(job, begin, end, 16);
  else if (bytes <= 32)
    copy_runs_as(job, begin, end, 32);
  else
    copy_runs_as(job, begin, end, 64);
}

void native_transpose_run(hr_workers_t *workers, const native_transpose_plan_t *plan, void *to,
                          const void *from) {
  transpose_job_t job = {plan, to, from, plan->by_lines && ((uintptr_t)to & 63) == 0};
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

/* Dimensions in the order of the result, merged, with their strides in the operand; in elements. */
typedef struct transpose_dims {
  int rank;
  int64_t dims[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
} transpose_dims_t;

static void list_dims(int rank, const int64_t *dims, const int64_t *strides, transpose_dims_t *t) {
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

static void drop_dim(transpose_dims_t *t, int at) {
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

/* Runs that stay together are an element if they are as large as one could be. */
static bool widen_elements(transpose_dims_t *t, int64_t *bytes) {
  int last = t->rank - 1;
  if (last < 0 || t->from[last] != 1) return true;
  int64_t run = t->dims[last];
  if (run * *bytes > 16 || (run & (run - 1))) return false;
  drop_dim(t, last);
  for (int d = 0; d < t->rank; d++) t->to[d] /= run, t->from[d] /= run;
  *bytes *= run;
  return true;
}

static bool is_few(int64_t count, int64_t bytes) { return count >= 2 && count <= 4 && bytes <= 8; }

/* Whether all rows of the result begin and end with cache lines, if it begins with one. */
static bool is_of_lines(const transpose_dims_t *t, int64_t bytes) {
  bool of_lines = t->dims[t->rank - 1] * bytes % 64 == 0;
  for (int d = 0; d < t->rank - 1; d++) of_lines &= t->to[d] * bytes % 64 == 0;
  return of_lines;
}

static void plan_squares(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int dense = 0, last = t->rank - 1;
  while (t->from[dense] != 1) dense++;
  plan->element_bytes = (int)bytes;
  plan->i_count = t->dims[dense];
  plan->i_stride = t->to[dense] * bytes;
  plan->j_count = t->dims[last];
  plan->j_stride = t->from[last] * bytes;
  plan->by_lines = plan->streams && simd_width() != SIMD_128 && is_of_lines(t, bytes);
  plan->buffers = plan->streams ? !plan->by_lines : plan->i_stride % FAR_BYTES == 0;
  plan->j_side = (plan->by_lines ? LINES_BYTES : SIDE_BYTES) / bytes;
  plan->i_side =
      plan->streams || plan->buffers ? hr_min(SIDE_BYTES / bytes, MAX_ROWS) : SIDE_BYTES / bytes;
  plan->weaves = is_few(plan->j_count, bytes) && plan->i_stride == plan->j_count * bytes &&
                 plan->i_count >= 16;
  plan->splits =
      !plan->weaves && is_few(plan->i_count, bytes) && plan->j_stride == plan->i_count * bytes;
  plan->copy = plan->weaves || plan->splits ? copy_stream_planes : copy_squares;
  plan->units = plan->copy == copy_squares ? rows_of_squares(plan) * columns_of_squares(plan) : 1;
  drop_dim(t, last);
  drop_dim(t, dense);
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

/* In the operand's order: memory is read on from where it was last, and runs past the caches are
 * written anywhere. */
static void sort_dims(transpose_dims_t *t) {
  for (int d = 1; d < t->rank; d++)
    for (int e = d; e > 0 && t->from[e] > t->from[e - 1]; e--) swap_dims(t, e, e - 1);
}

static void plan_runs(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int last = t->rank - 1;
  plan->run_bytes = (last < 0 ? 1 : t->dims[last]) * bytes;
  bool is_short = plan->run_bytes <= SHORT_RUN_BYTES;
  plan->streams &= !is_short;
  plan->copy = is_short ? copy_short_runs : copy_runs;
  plan->units = 1;
  if (last >= 0) drop_dim(t, last);
  if (plan->streams) sort_dims(t);
  plan_outer(plan, t, bytes);
  if (is_short) plan->units = loop_row_total(&plan->outer);
}

hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank,
                                      const int64_t *dims, const int64_t *strides,
                                      const native_transpose_plan_t **out_plan) {
  native_transpose_plan_t *plan;
  transpose_dims_t t;
  int64_t bytes = element_bytes;
  HR_TRY(HR_NEW(arena, &plan));
  plan->bytes = bytes;
  for (int d = 0; d < rank; d++) plan->bytes *= dims[d];
  plan->streams = plan->bytes >= NATIVE_STREAM_BYTES;
  *out_plan = plan;
  if (plan->bytes == 0) return NULL;
  list_dims(rank, dims, strides, &t);
  if (t.rank < 2 || !widen_elements(&t, &bytes) || t.rank < 2)
    plan_runs(plan, &t, bytes);
  else
    plan_squares(plan, &t, bytes);
  return NULL;
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
  HR_TRY(native_transpose_plan_new(target->arena, (int)hr_dtype_bytes(shape->dtype), shape->rank,
                                   shape->dims, strides, &plan));
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->bytes;
  if (plan->bytes > 0 && plan->run_bytes == plan->bytes) out->reuse = in_place;
  return NULL;
}

const op_native_t native_transpose = {"transpose", prepare_transpose, run_transpose};
