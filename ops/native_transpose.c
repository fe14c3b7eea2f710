/* Transpose of any rank. Dimensions that stay neighbours are merged; then either the last ones stay last, and runs of
 * bytes are copied, or two dimensions change places: the one that is dense in the operand and the one that is dense in
 * the result. Squares of these are turned in the first-level cache, by interleaving registers of 16 bytes:
 *
 *     operand: rows j      buffer: rows i      result
 *     j0  i i i i          i0  j j j j    ->   a row of the buffer is a run of cache lines,
 *     j1  i i i i    ->    i1  j j j j         written past the caches if the result is larger than they are
 *
 * Each cache line of the operand is read as a whole before the next, and each of the result written as a whole. */
#include "ops/native_transpose.h"

#include <string.h>

#include "base/mem.h"
#include "ops/loops.h"
#include "ops/native.h"
#include "ops/native_copy.h"
#include "ops/native_cpu.h"

NATIVE_OPTIMIZE

enum {
  ROW_BYTES = 256, /* of the buffer: some cache lines */
  MAX_SIDE = 128,
  GROUP = 8,
  MANY_SQUARES = 1 << 12,
  GRAIN = 1 << 15 /* bytes that are worth a worker */
};

struct native_transpose_plan {
  int element_bytes;         /* of what changes places: an element, or a few that stay together */
  int64_t run_bytes;         /* of runs that stay together, if nothing smaller changes places; else 0 */
  int64_t i_count, i_stride; /* the dimension that is dense in the operand, and its stride in the result, bytes */
  int64_t j_count, j_stride; /* the one that is dense in the result, and its stride in the operand */
  int64_t i_side, j_side;    /* of a square, elements */
  int64_t group;             /* squares along either side of a unit */
  bool weaves, splits;       /* few streams instead of squares */
  loop_nest_t outer;         /* operands: 0 result, 1 operand; bytes */
  int64_t units;             /* runs, or squares */
  int64_t bytes;
  bool streams;
  hr_workers_fn copy; /* of some units */
};

typedef struct transpose_job {
  const native_transpose_plan_t *plan;
  char *to;
  const char *from;
} transpose_job_t;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* --- squares ----------------------------------------------------------------------------------------------------- */

/* Turns N x N elements of type T, N of them in 16 bytes: log2(N) rounds of interleaving register k with k + N / 2. */
#define TURN(T, N, LOW, HIGH)                                                                       \
  typedef T vector_##T __attribute__((vector_size(16)));                                            \
  NATIVE_INLINE void turn_##T(const char *from, int64_t from_stride, char *to, int64_t to_stride) { \
    vector_##T a[N], b[N];                                                                          \
    for (int k = 0; k < N; k++) memcpy(&a[k], from + k * from_stride, 16);                          \
    for (int round = 1; round < N; round *= 2) {                                                    \
      for (int k = 0; k < N / 2; k++) {                                                             \
        b[2 * k] = __builtin_shufflevector(a[k], a[k + N / 2], LOW);                                \
        b[2 * k + 1] = __builtin_shufflevector(a[k], a[k + N / 2], HIGH);                           \
      }                                                                                             \
      for (int k = 0; k < N; k++) a[k] = b[k];                                                      \
    }                                                                                               \
    for (int k = 0; k < N; k++) memcpy(to + k * to_stride, &a[k], 16);                              \
  }
#define LIST(...) __VA_ARGS__

TURN(uint8_t, 16, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
     LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TURN(uint16_t, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TURN(uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TURN(uint64_t, 2, LIST(0, 2), LIST(1, 3))

typedef struct wide {
  uint64_t low, high;
} wide_t;
NATIVE_INLINE void turn_wide_t(const char *from, int64_t from_stride, char *to, int64_t to_stride) {
  (void)from_stride, (void)to_stride;
  memcpy(to, from, 16);
}

/* i_count x j_count elements by small squares: where the last ones would go beyond an edge, they end there and are over
 * others. Rows of the operand are read to their ends before the next. */
#define TURN_ALL(T, N)                                                                                        \
  do {                                                                                                        \
    bool by_squares = i_count >= N && j_count >= N;                                                           \
    for (int64_t j = 0; by_squares && j < j_count; j += N)                                                    \
      for (int64_t i = 0; i < i_count; i += N) {                                                              \
        int64_t at_i = least(i, i_count - N), at_j = least(j, j_count - N);                                   \
        turn_##T(from + at_j * j_stride + at_i * (int64_t)sizeof(T), j_stride,                                \
                 to + at_i * i_stride + at_j * (int64_t)sizeof(T), i_stride);                                 \
      }                                                                                                       \
    for (int64_t j = 0; !by_squares && j < j_count; j++)                                                      \
      for (int64_t i = 0; i < i_count; i++)                                                                   \
        memcpy(to + i * i_stride + j * (int64_t)sizeof(T), from + j * j_stride + i * (int64_t)sizeof(T),      \
               sizeof(T));                                                                                    \
  } while (0)

static void turn_square(int element_bytes, int64_t i_count, int64_t j_count, const char *from, int64_t j_stride,
                        char *to, int64_t i_stride) {
  switch (element_bytes) {
    case 1: TURN_ALL(uint8_t, 16); break;
    case 2: TURN_ALL(uint16_t, 8); break;
    case 4: TURN_ALL(uint32_t, 4); break;
    case 8: TURN_ALL(uint64_t, 2); break;
    case 16: TURN_ALL(wide_t, 1); break;
  }
}

/* Some lines of the caches at a time, as rows may be a page apart. */
void native_turn_plane(int element_bytes, int64_t i_count, int64_t j_count, const char *from, int64_t j_stride,
                       char *to, int64_t i_stride) {
  int64_t unit = 64 / element_bytes;
  for (int64_t i = 0; i < i_count; i += unit)
    turn_square(element_bytes, least(unit, i_count - i), j_count, from + i * element_bytes, j_stride, to + i * i_stride,
                i_stride);
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

/* Its lines are far apart, which processors do not foresee: they come to the second cache while another is turned. */
NATIVE_INLINE void ask_for_square(const char *from, int64_t stride, int64_t row_bytes, int64_t rows) {
  for (int64_t r = 0; r < rows; r++, from += stride)
    for (int64_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

/* The square whose first elements are at `i` and `j`. */
static void copy_square(const transpose_job_t *job, char *to, const char *from, int64_t i, int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  char buffer[MAX_SIDE * ROW_BYTES] __attribute__((aligned(64)));
  int64_t i_count = least(plan->i_side, plan->i_count - i), j_count = least(plan->j_side, plan->j_count - j);
  int64_t bytes = plan->element_bytes, row_bytes = j_count * bytes;
  /* The result's lines are on their way while the square is turned. */
  for (int64_t r = 0; r < i_count && !plan->streams; r++)
    __builtin_prefetch(to + (i + r) * plan->i_stride + j * bytes, 1);
  if (plan->streams)
    ask_for_square(from + (j + j_count) * plan->j_stride + i * bytes, plan->j_stride, i_count * bytes, j_count);
  turn_square((int)bytes, i_count, j_count, from + j * plan->j_stride + i * bytes, plan->j_stride, buffer, ROW_BYTES);
  to += i * plan->i_stride + j * bytes;
  for (int64_t r = 0; r < i_count; r++, to += plan->i_stride) {
    const char *row = buffer + r * ROW_BYTES;
    if (plan->streams)
      native_stream(to, row, row_bytes);
    else
      copy_row(to, row, row_bytes);
  }
}

/* Squares of one unit, which share their pages of memory. */
static void copy_unit(const transpose_job_t *job, char *to, const char *from, int64_t i, int64_t j) {
  const native_transpose_plan_t *plan = job->plan;
  int64_t i_end = least(plan->i_count, i + plan->group * plan->i_side);
  int64_t j_end = least(plan->j_count, j + plan->group * plan->j_side);
  for (; i < i_end; i += plan->i_side)
    for (int64_t at = j; at < j_end; at += plan->j_side) copy_square(job, to, from, i, at);
}

/* The two dimensions' planes one after the other, in the order of the outer dimensions. */
typedef struct planes {
  const transpose_job_t *job;
  loop_walk_t walk;
  int64_t in_row;
} planes_t;

static planes_t planes_at(const transpose_job_t *job, int64_t plane) {
  const loop_nest_t *outer = &job->plan->outer;
  return (planes_t){job, loop_walk_at(outer, plane / outer->row_count), plane % outer->row_count};
}

static void planes_next(planes_t *planes) {
  const loop_nest_t *outer = &planes->job->plan->outer;
  if (++planes->in_row < outer->row_count) return;
  planes->in_row = 0;
  loop_walk_next(outer, &planes->walk);
}

NATIVE_INLINE char *plane_to(const planes_t *planes) {
  return planes->job->to + planes->walk.at[0] + planes->in_row * planes->job->plan->outer.row_strides[0];
}

NATIVE_INLINE const char *plane_from(const planes_t *planes) {
  return planes->job->from + planes->walk.at[1] + planes->in_row * planes->job->plan->outer.row_strides[1];
}

/* Units along the result's rows are next to each other. */
static void copy_squares(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  const native_transpose_plan_t *plan = job->plan;
  int64_t i_step = plan->group * plan->i_side, j_step = plan->group * plan->j_side;
  int64_t rows = (plan->i_count + i_step - 1) / i_step, columns = (plan->j_count + j_step - 1) / j_step;
  planes_t planes = planes_at(job, begin / (rows * columns));
  int64_t row = begin / columns % rows, column = begin % columns;
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++) {
    copy_unit(job, plane_to(&planes), plane_from(&planes), row * i_step, column * j_step);
    if (++column < columns) continue;
    column = 0;
    if (++row < rows) continue;
    row = 0;
    planes_next(&planes);
  }
  if (plan->streams) native_stream_end();
}

/* --- few streams ------------------------------------------------------------------------------------------------- */

/* A dimension of 2, 3 or 4 changes places with a long one: that many streams are woven into one, or one is split. */
#define WEAVE(T, N)                           \
  for (int64_t i = 0; i < plan->i_count; i++) \
    for (int j = 0; j < N; j++) ((T *)to)[i * N + j] = ((const T *)(from + j * plan->j_stride))[i]
#define SPLIT(T, N)                           \
  for (int64_t j = 0; j < plan->j_count; j++) \
    for (int i = 0; i < N; i++) ((T *)(to + i * plan->i_stride))[j] = ((const T *)from)[j * N + i]
#define STREAMS(T)                                            \
  switch (plan->weaves ? plan->j_count + 4 : plan->i_count) { \
    case 2: SPLIT(T, 2); break;                               \
    case 3: SPLIT(T, 3); break;                               \
    case 4: SPLIT(T, 4); break;                               \
    case 6: WEAVE(T, 2); break;                               \
    case 7: WEAVE(T, 3); break;                               \
    case 8: WEAVE(T, 4); break;                               \
  }

NATIVE_CLONES
static void copy_streams(const native_transpose_plan_t *plan, char *restrict to, const char *restrict from) {
  switch (plan->element_bytes) {
    case 1: STREAMS(uint8_t); break;
    case 2: STREAMS(uint16_t); break;
    case 4: STREAMS(uint32_t); break;
    case 8: STREAMS(uint64_t); break;
  }
}

static void copy_stream_planes(void *context, int64_t begin, int64_t end, int worker) {
  const transpose_job_t *job = context;
  planes_t planes = planes_at(job, begin);
  (void)worker;
  for (int64_t unit = begin; unit < end; unit++, planes_next(&planes))
    copy_streams(job->plan, plane_to(&planes), plane_from(&planes));
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static void copy_run(char *to, const char *from, int64_t bytes, bool streams) {
  if (streams && bytes >= 512)
    native_stream(to, from, bytes);
  else if (bytes == 64)
    memcpy(to, from, 64);
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
  for (int64_t i = begin % outer->row_count, unit = begin; unit < end; loop_walk_next(outer, &walk), i = 0)
    for (; i < outer->row_count && unit < end; i++, unit++)
      copy_run(job->to + walk.at[0] + i * outer->row_strides[0], job->from + walk.at[1] + i * outer->row_strides[1],
               plan->run_bytes, plan->streams);
  if (plan->streams) native_stream_end();
}

void native_transpose_run(hr_workers_t *workers, const native_transpose_plan_t *plan, void *to, const void *from) {
  transpose_job_t job = {plan, to, from};
  if (plan->bytes == 0) return;
  if (plan->run_bytes == plan->bytes)
    native_copy(workers, to, from, plan->bytes);
  else
    hr_workers_for(workers, plan->units, GRAIN / (plan->bytes / plan->units + 1) + 1, plan->copy, &job);
}

static hr_status_t run_transpose(const op_native_run_t *run, const void *plan, void *const *in, void *const *out) {
  native_transpose_run(run->workers, plan, out[0], in[0]);
  return NULL;
}

/* --- planning ---------------------------------------------------------------------------------------------------- */

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
  loop_nest_init(&plan->outer, t->rank, t->dims, 2, (const int64_t *[]){to, from}, LOOP_PROGRAM_ORDER);
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

/* Groups of squares, unless there would be too few for the workers. */
static int64_t count_units(native_transpose_plan_t *plan) {
  int64_t rows = (plan->i_count + plan->i_side - 1) / plan->i_side;
  int64_t columns = (plan->j_count + plan->j_side - 1) / plan->j_side;
  plan->group = rows * columns >= MANY_SQUARES ? GROUP : 1;
  return ((rows + plan->group - 1) / plan->group) * ((columns + plan->group - 1) / plan->group);
}

static void plan_squares(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int dense = 0, last = t->rank - 1;
  while (t->from[dense] != 1) dense++;
  plan->element_bytes = (int)bytes;
  plan->i_count = t->dims[dense];
  plan->i_stride = t->to[dense] * bytes;
  plan->j_count = t->dims[last];
  plan->j_stride = t->from[last] * bytes;
  plan->j_side = least(ROW_BYTES / bytes, MAX_SIDE);
  plan->i_side = plan->j_side < 16 ? 16 : plan->j_side;
  plan->weaves = is_few(plan->j_count, bytes) && plan->i_stride == plan->j_count * bytes && plan->i_count >= 16;
  plan->splits = !plan->weaves && is_few(plan->i_count, bytes) && plan->j_stride == plan->i_count * bytes;
  plan->copy = plan->weaves || plan->splits ? copy_stream_planes : copy_squares;
  plan->units = plan->copy == copy_squares ? count_units(plan) : 1;
  drop_dim(t, last);
  drop_dim(t, dense);
  plan_outer(plan, t, bytes);
}

static void plan_runs(native_transpose_plan_t *plan, transpose_dims_t *t, int64_t bytes) {
  int last = t->rank - 1;
  plan->copy = copy_runs;
  plan->run_bytes = (last < 0 ? 1 : t->dims[last]) * bytes;
  plan->units = 1;
  if (last >= 0) drop_dim(t, last);
  plan_outer(plan, t, bytes);
}

hr_status_t native_transpose_plan_new(hr_arena_t *arena, int element_bytes, int rank, const int64_t *dims,
                                      const int64_t *strides, const native_transpose_plan_t **out_plan) {
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

static hr_status_t prepare_transpose(const op_native_target_t *target, const op_step_t *step, op_native_step_t *out) {
  static const uint64_t in_place[] = {1};
  const hlo_shape_t *in = step->in_shapes[0], *shape = step->out_shape;
  const int64_t *order = hlo_attr_ints(step->instr, HLO_ATTR_DIMENSIONS).data;
  const native_transpose_plan_t *plan;
  int64_t dense[HLO_MAX_RANK], strides[HLO_MAX_RANK];
  loop_dense_strides(in->rank, in->dims, 1, dense);
  for (int d = 0; d < shape->rank; d++) strides[d] = dense[order[d]];
  HR_TRY(native_transpose_plan_new(target->arena, (int)hr_dtype_bytes(shape->dtype), shape->rank, shape->dims, strides,
                                   &plan));
  out->plan = plan;
  out->bytes = 2.0 * (double)plan->bytes;
  if (plan->bytes > 0 && plan->run_bytes == plan->bytes) out->reuse = in_place;
  return NULL;
}

const op_native_t native_transpose = {"transpose", prepare_transpose, run_transpose};
