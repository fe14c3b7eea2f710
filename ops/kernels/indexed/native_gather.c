/* Gather: workers share the index vectors; each computes the offsets of some hundred windows
 * (gather_offsets.h), then copies the windows. A window that is one run of bytes, such as a row of
 * an embedding table, is copied as a run, with later rows prefetched. Columns are copied row by
 * row. Many single elements, and many windows of several short rows, are left to generated code. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/indexed/gather_offsets.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"

NATIVE_OPTIMIZE

enum {
  GRAIN = 1 << 15,       /* least bytes of windows per worker */
  PREFETCH_DISTANCE = 4, /* windows between prefetch and copy */
  PREFETCH_LINES = 16,   /* most cache lines prefetched per window */
  LEAST_COLUMNS = 8      /* least columns that are copied row by row */
};

struct gather_job;
typedef void (*gather_listed_fn)(const struct gather_job *job, const int64_t *operand_at,
                                 const int64_t *other_at, int64_t count);
typedef void (*gather_direct_fn)(const struct gather_job *job, int64_t first, int64_t end);

typedef struct native_gather_plan {
  gather_offsets_t offsets;
  loop_copy_t copy;
  int64_t bytes;        /* element size */
  int64_t run_bytes;    /* size of a window that is one contiguous run; else 0 */
  int64_t window_bytes; /* size of any window */
  int64_t table_bytes;  /* size of the operand */
  int workers;
  gather_listed_fn listed; /* loop for short runs; NULL: other windows */
  gather_direct_fn direct; /* loop for short runs without lists of offsets; NULL: with lists */
  bool by_columns;         /* windows are columns, copied row by row */
} native_gather_plan_t;

typedef struct gather_job {
  const native_gather_plan_t *plan;
  const char *from;
  const void *indices;
  char *to;
} gather_job_t;

#define COPY_ELEMENTS(T)              \
  for (int64_t i = 0; i < count; i++) \
  ((T *)job->to)[other_at[i]] = ((const T *)job->from)[operand_at[i]]

typedef struct block_16 {
  uint64_t low, high;
} block_16_t;

/* Scalar loops: the gather and scatter instructions are slower on many processors. */
static bool copy_elements(const gather_job_t *job, const int64_t *operand_at,
                          const int64_t *other_at, int64_t count) {
  if (job->plan->run_bytes != job->plan->bytes) return false;
  switch (job->plan->bytes) {
    case 1:
      COPY_ELEMENTS(uint8_t);
      break;
    case 2:
      COPY_ELEMENTS(uint16_t);
      break;
    case 4:
      COPY_ELEMENTS(uint32_t);
      break;
    case 8:
      COPY_ELEMENTS(uint64_t);
      break;
    case 16:
      COPY_ELEMENTS(block_16_t);
      break;
  }
  return true;
}

static void prefetch_window(const char *window, int64_t bytes) {
  for (int64_t b = 0; b < bytes && b < PREFETCH_LINES * 64; b += 64) __builtin_prefetch(window + b);
}

/* Copies runs of 1 to 64 bytes, by a move of MOVE bytes at the start and one at the end, which
 * overlap; by one move if both are the same. FROM: the run of window i, TO: its destination. */
#define COPY_RUN(MOVE, FROM, TO)                        \
  {                                                     \
    const char *from = FROM;                            \
    char *to = TO, move[MOVE], last[MOVE];              \
    memcpy(move, from, MOVE);                           \
    if (!is_one) memcpy(last, from + run - MOVE, MOVE); \
    memcpy(to, move, MOVE);                             \
    if (!is_one) memcpy(to + run - MOVE, last, MOVE);   \
  }

/* Loops by lists of offsets. */
#define DEFINE_LISTED(MOVE)                                                                  \
  NATIVE_INLINE void listed_runs_##MOVE(const gather_job_t *job, const int64_t *operand_at,  \
                                        const int64_t *other_at, int64_t count, bool is_one, \
                                        bool prefetches) {                                   \
    int64_t run = job->plan->run_bytes, bytes = job->plan->bytes;                            \
    const char *table = job->from;                                                           \
    char *all = job->to;                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                    \
      if (prefetches && i + PREFETCH_DISTANCE < count)                                       \
        prefetch_window(table + operand_at[i + PREFETCH_DISTANCE] * bytes, run);             \
      COPY_RUN(MOVE, table + operand_at[i] * bytes, all + other_at[i] * bytes)               \
    }                                                                                        \
  }                                                                                          \
  static void listed_##MOVE(const gather_job_t *job, const int64_t *operand_at,              \
                            const int64_t *other_at, int64_t count) {                        \
    if (job->plan->table_bytes > GATHER_CACHED_BYTES)                                        \
      listed_runs_##MOVE(job, operand_at, other_at, count, false, true);                     \
    else if (job->plan->run_bytes == MOVE)                                                   \
      listed_runs_##MOVE(job, operand_at, other_at, count, true, false);                     \
    else                                                                                     \
      listed_runs_##MOVE(job, operand_at, other_at, count, false, false);                    \
  }
DEFINE_LISTED(2)
DEFINE_LISTED(4)
DEFINE_LISTED(8)
DEFINE_LISTED(16)
DEFINE_LISTED(32)

/* Loop by the only component of the indices, for contiguous results. COPY copies the run at start *
 * stride of the table to `i * run` of the result. */
#define DIRECT_LOOP(INDEX, COPY)                                                                   \
  const window_starts_t *starts = &job->plan->offsets.starts;                                      \
  int64_t run = job->plan->run_bytes, step = starts->batch.row_strides[1];                         \
  int64_t limit = starts->operand_limit[0], stride = starts->operand_stride[0] * job->plan->bytes; \
  const INDEX *indices = (const INDEX *)job->indices;                                              \
  const char *table = job->from;                                                                   \
  char *all = job->to;                                                                             \
  for (int64_t i = first; i < end; i++) {                                                          \
    int64_t ahead = prefetches && i + PREFETCH_DISTANCE < end                                      \
                        ? (int64_t)indices[(i + PREFETCH_DISTANCE) * step]                         \
                        : -1;                                                                      \
    if (ahead >= 0 && ahead <= limit) prefetch_window(table + ahead * stride, run);                \
    int64_t start = (int64_t)indices[i * step];                                                    \
    start = start > limit ? limit : start;                                                         \
    start = start < 0 ? 0 : start;                                                                 \
    COPY                                                                                           \
  }

#define DEFINE_DIRECT(MOVE, INDEX)                                                             \
  NATIVE_INLINE void direct_runs_##MOVE##_##INDEX(const gather_job_t *job, int64_t first,      \
                                                  int64_t end, bool is_one, bool prefetches) { \
    DIRECT_LOOP(INDEX, COPY_RUN(MOVE, table + start * stride, all + i * run))                  \
  }                                                                                            \
  static void direct_##MOVE##_##INDEX(const gather_job_t *job, int64_t first, int64_t end) {   \
    bool is_one = job->plan->run_bytes == MOVE;                                                \
    if (job->plan->table_bytes > GATHER_CACHED_BYTES && is_one)                                \
      direct_runs_##MOVE##_##INDEX(job, first, end, true, true);                               \
    else if (job->plan->table_bytes > GATHER_CACHED_BYTES)                                     \
      direct_runs_##MOVE##_##INDEX(job, first, end, false, true);                              \
    else if (is_one)                                                                           \
      direct_runs_##MOVE##_##INDEX(job, first, end, true, false);                              \
    else                                                                                       \
      direct_runs_##MOVE##_##INDEX(job, first, end, false, false);                             \
  }

/* Copies longer runs, each by vectors of MOVE bytes in total, of which more than half belong to the
 * run. The next run overwrites the surplus; the last run, and one at the end of the table, is
 * copied at its exact size. */
#define COPY_PADDED(MOVE)                                             \
  if (start * stride <= job->plan->table_bytes - MOVE && i + 1 < end) \
    memcpy(all + i * run, table + start * stride, MOVE);              \
  else                                                                \
    memcpy(all + i * run, table + start * stride, (size_t)run);
#define DEFINE_PADDED(MOVE, INDEX)                                                          \
  NATIVE_INLINE void padded_runs_##MOVE##_##INDEX(const gather_job_t *job, int64_t first,   \
                                                  int64_t end, bool prefetches) {           \
    DIRECT_LOOP(INDEX, COPY_PADDED(MOVE))                                                   \
  }                                                                                         \
  static NATIVE_CLONES void direct_##MOVE##_##INDEX(const gather_job_t *job, int64_t first, \
                                                    int64_t end) {                          \
    if (job->plan->table_bytes > GATHER_CACHED_BYTES)                                       \
      padded_runs_##MOVE##_##INDEX(job, first, end, true);                                  \
    else                                                                                    \
      padded_runs_##MOVE##_##INDEX(job, first, end, false);                                 \
  }

#define DEFINE_DIRECTS(DEFINE, MOVE) \
  DEFINE(MOVE, int32_t)              \
  DEFINE(MOVE, int64_t)
DEFINE_DIRECTS(DEFINE_DIRECT, 2)
DEFINE_DIRECTS(DEFINE_DIRECT, 4)
DEFINE_DIRECTS(DEFINE_DIRECT, 8)
DEFINE_DIRECTS(DEFINE_DIRECT, 16)
DEFINE_DIRECTS(DEFINE_PADDED, 64)
DEFINE_DIRECTS(DEFINE_PADDED, 128)

/* The loop for runs of 2 to 64 bytes, with the largest move that fits; NULL: other windows. */
static gather_listed_fn find_listed(int64_t run) {
  static const gather_listed_fn listed[] = {listed_2, listed_4, listed_8, listed_16, listed_32};
  if (run < 2 || run > 64) return NULL;
  int size = 63 - __builtin_clzll((uint64_t)run); /* log2, rounded down */
  return listed[size > 5 ? 4 : size - 1];
}

/* The same for direct loops, for runs of 2 to 128 bytes: up to 32 by two moves, else by one. */
static gather_direct_fn find_direct(int64_t run, hr_dtype_t index) {
#define DIRECT(MOVE) \
  { direct_##MOVE##_int32_t, direct_##MOVE##_int64_t }
  static const gather_direct_fn direct[][2] = {DIRECT(2),  DIRECT(4),  DIRECT(8),
                                               DIRECT(16), DIRECT(64), DIRECT(128)};
#undef DIRECT
  if (run < 2 || run > 128 || (index != HR_S32 && index != HR_S64)) return NULL;
  int size = 63 - __builtin_clzll((uint64_t)run); /* log2, rounded down */
  if (run > 32) return direct[run > 64 ? 5 : 4][index == HR_S64];
  return direct[size > 4 ? 3 : size - 1][index == HR_S64];
}

/* True if the results of all windows are dense runs in the order of indices with one component. */
static bool is_direct(const native_gather_plan_t *plan) {
  const window_starts_t *starts = &plan->offsets.starts;
  const loop_nest_t *batch = &starts->batch;
  return starts->vector_size == 1 && !batch->rank && !batch->empty &&
         batch->row_strides[0] * plan->bytes == plan->run_bytes && batch->row_strides[2] == 0;
}

/* Copies a block of windows; windows PREFETCH_DISTANCE ahead are prefetched. */
static void copy_windows(const gather_job_t *job, const int64_t *operand_at,
                         const int64_t *other_at, int64_t count) {
  const native_gather_plan_t *plan = job->plan;
  if (plan->listed) {
    plan->listed(job, operand_at, other_at, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    const char *from = job->from + operand_at[i] * plan->bytes;
    char *to = job->to + other_at[i] * plan->bytes;
    if (i + PREFETCH_DISTANCE < count)
      prefetch_window(job->from + operand_at[i + PREFETCH_DISTANCE] * plan->bytes,
                      plan->window_bytes);
    if (plan->run_bytes)
      memcpy(to, from, (size_t)plan->run_bytes);
    else
      loop_copy_run(&plan->copy, to, from);
  }
}

/* Copies runs directly, or blocks of GATHER_OFFSETS_BLOCK windows: offsets first, then copies. */
static void gather_windows(void *context, int64_t begin, int64_t end, int worker) {
  const gather_job_t *job = context;
  int64_t operand_at[GATHER_OFFSETS_BLOCK], other_at[GATHER_OFFSETS_BLOCK];
  (void)worker;
  if (job->plan->direct) {
    job->plan->direct(job, begin, end);
    return;
  }
  for (int64_t first = begin; first < end; first += GATHER_OFFSETS_BLOCK) {
    int64_t count = hr_min(end - first, GATHER_OFFSETS_BLOCK);
    gather_offsets_find(&job->plan->offsets, job->indices, first, count, operand_at, other_at);
    if (!copy_elements(job, operand_at, other_at, count))
      copy_windows(job, operand_at, other_at, count);
  }
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Columns first .. first + count - 1 of rows begin .. end - 1. */
#define COPY_COLUMNS(T)                                                         \
  for (int64_t r = begin; r < end; r++) {                                       \
    const T *restrict from = (const T *)(job->from + r * nest->row_strides[1]); \
    T *restrict to = (T *)(job->to + r * nest->row_strides[0]) + first;         \
    for (int64_t c = 0; c < count; c++) to[c] = from[operand_at[c]];            \
  }

/* All columns of some rows: contiguously writes the indexed elements of each row. */
static void gather_columns(void *context, int64_t begin, int64_t end, int worker) {
  const gather_job_t *job = context;
  const gather_offsets_t *offsets = &job->plan->offsets;
  const loop_nest_t *nest = &job->plan->copy.nest;
  int64_t operand_at[GATHER_OFFSETS_BLOCK], other_at[GATHER_OFFSETS_BLOCK];
  (void)worker;
  for (int64_t first = 0; first < offsets->count; first += GATHER_OFFSETS_BLOCK) {
    int64_t count = hr_min(offsets->count - first, GATHER_OFFSETS_BLOCK);
    gather_offsets_find(offsets, job->indices, first, count, operand_at, other_at);
    switch (job->plan->bytes) {
      case 1:
        COPY_COLUMNS(uint8_t)
        break;
      case 2:
        COPY_COLUMNS(uint16_t)
        break;
      case 4:
        COPY_COLUMNS(uint32_t)
        break;
      case 8:
        COPY_COLUMNS(uint64_t)
        break;
      case 16:
        COPY_COLUMNS(block_16_t)
        break;
    }
  }
}

/* True if windows are columns of several elements, whose results lie side by side. */
static bool are_columns(const native_gather_plan_t *plan) {
  const loop_nest_t *nest = &plan->copy.nest, *batch = &plan->offsets.starts.batch;
  return !nest->rank && !nest->empty && !plan->copy.cross_count && nest->row_count > 1 &&
         !batch->rank && !batch->empty && batch->row_strides[0] == 1 &&
         batch->row_strides[2] == 0 && plan->offsets.count >= LEAST_COLUMNS;
}

/* An empty window copies nothing. */
static hr_status_t run_gather(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_gather_plan_t *plan = plan_;
  gather_job_t job = {plan, in[0], in[1], out[0]};
  if (plan->copy.nest.empty) return NULL;
  if (plan->by_columns) {
    hr_workers_for(run->workers, plan->copy.nest.row_count,
                   GRAIN / (plan->offsets.count * plan->bytes) + 1, gather_columns, &job);
    return NULL;
  }
  hr_workers_for(run->workers, plan->offsets.count, GRAIN / plan->window_bytes + 1, gather_windows,
                 &job);
  return NULL;
}

/* Least elements for generated code: of windows that are columns, and of others. */
enum { MANY_IN_COLUMNS = 1 << 15, MANY_ELEMENTS = 1 << 10 };

/* True for many single elements, and for many windows of several short rows: generated code
 * writes their results in order. */
static bool prefers_codegen(const native_gather_plan_t *plan, const op_step_t *step) {
  bool is_single = plan->window_bytes == plan->bytes;
  if (plan->run_bytes && !is_single) return false;
  return op_can_codegen(step->instr) && plan->offsets.count * plan->window_bytes / plan->bytes >=
                                            (are_columns(plan) ? MANY_IN_COLUMNS : MANY_ELEMENTS);
}

/* Indices are clamped, so every window lies within the operand. */
static hr_status_t prepare_gather(const op_native_target_t *target, const op_step_t *step,
                                  op_native_step_t *out) {
  const hlo_shape_t *operand = step->in_shapes[0], *result = step->out_shape;
  op_gather_dims_t dims = op_gather_dims(step->instr);
  int64_t sizes[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK],
      bytes = (int64_t)hr_dtype_bytes(result->dtype);
  native_gather_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->offsets.index_dtype = step->in_shapes[1]->dtype;
  plan->offsets.clamps = true;
  window_starts_init(&plan->offsets.starts, &dims, operand, step->in_shapes[1], result,
                     hlo_attr_ints(step->instr, HLO_ATTR_SLICE_SIZES).data);
  plan->offsets.count =
      loop_row_total(&plan->offsets.starts.batch) * plan->offsets.starts.batch.row_count;
  plan->table_bytes = bytes * fusion_count(operand);
  int rank = window_strides(&dims, operand, result, sizes, from, to);
  plan->window_bytes = bytes;
  plan->bytes = bytes;
  for (int d = 0; d < rank; d++) {
    from[d] *= bytes;
    to[d] *= bytes;
    plan->window_bytes *= sizes[d];
  }
  loop_copy_init(&plan->copy, (int)bytes, rank, sizes, to, from);
  if (loop_copy_is_run(&plan->copy)) plan->run_bytes = plan->window_bytes;
  plan->workers = target->workers;
  if (prefers_codegen(plan, step)) return NULL;
  plan->by_columns = are_columns(plan);
  plan->listed = find_listed(plan->run_bytes);
  if (is_direct(plan)) plan->direct = find_direct(plan->run_bytes, plan->offsets.index_dtype);
  out->plan = plan;
  out->bytes = 2.0 * (double)(plan->window_bytes * plan->offsets.count);
  return NULL;
}

const op_native_t native_gather = {"gather of windows", prepare_gather, run_gather};
