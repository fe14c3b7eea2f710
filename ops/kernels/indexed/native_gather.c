/* Gather: workers share the index vectors; each computes the offsets of some hundred windows
 * (gather_offsets.h), then copies them. Windows that are one run of bytes, such as rows of an
 * embedding table, are copied as such, with later rows prefetched. Many single elements, and
 * windows of several short rows, are left to generated code. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/indexed/gather_offsets.h"
#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"

NATIVE_OPTIMIZE

enum {
  GRAIN = 1 << 15,       /* bytes of windows per worker, at least */
  PREFETCH_DISTANCE = 4, /* windows between prefetch and copy */
  PREFETCH_LINES = 16    /* cache lines prefetched per window, at most */
};

typedef struct native_gather_plan {
  gather_offsets_t offsets;
  loop_copy_t copy;
  int64_t bytes;        /* element size */
  int64_t run_bytes;    /* size of a window that is one contiguous run; else 0 */
  int64_t window_bytes; /* size of any window */
  int64_t table_bytes;  /* size of the operand */
  int workers;
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

/* Short runs: a move at the start and one at the end, which may overlap. */
#define COPY_ENDS(T)                                                                     \
  for (int64_t i = 0; i < count; i++) {                                                  \
    const char *from = job->from + operand_at[i] * plan->bytes;                          \
    char *to = job->to + other_at[i] * plan->bytes;                                      \
    if (prefetches && i + PREFETCH_DISTANCE < count)                                     \
      prefetch_window(job->from + operand_at[i + PREFETCH_DISTANCE] * plan->bytes, run); \
    T first, last;                                                                       \
    memcpy(&first, from, sizeof(T)), memcpy(&last, from + end, sizeof(T));               \
    memcpy(to, &first, sizeof(T)), memcpy(to + end, &last, sizeof(T));                   \
  }                                                                                      \
  return true

/* Runs of the size of a move. */
#define COPY_WHOLE(T)                                                                    \
  for (int64_t i = 0; i < count; i++) {                                                  \
    if (prefetches && i + PREFETCH_DISTANCE < count)                                     \
      prefetch_window(job->from + operand_at[i + PREFETCH_DISTANCE] * plan->bytes, run); \
    T all;                                                                               \
    memcpy(&all, job->from + operand_at[i] * plan->bytes, sizeof(T));                    \
    memcpy(job->to + other_at[i] * plan->bytes, &all, sizeof(T));                        \
  }                                                                                      \
  return true

typedef struct block_32 {
  block_16_t low, high;
} block_32_t;


/* Runs of 2 to 64 bytes by two moves each; false for other windows. */
static bool copy_short_runs(const gather_job_t *job, const int64_t *operand_at,
                            const int64_t *other_at, int64_t count) {
  const native_gather_plan_t *plan = job->plan;
  int64_t run = plan->run_bytes;
  bool prefetches = plan->table_bytes > GATHER_CACHED_BYTES;
  if (run < 2 || run > 64) return false;
  int64_t move_bytes = run >= 32   ? 32
                       : run >= 16 ? 16
                       : run >= 8  ? 8
                       : run >= 4  ? 4
                                   : 2,
          end = run - move_bytes;
  if (run == 8) {
    COPY_WHOLE(uint64_t);
  }
  if (run == 16) {
    COPY_WHOLE(block_16_t);
  }
  switch (move_bytes) {
    case 2:
      COPY_ENDS(uint16_t);
    case 4:
      COPY_ENDS(uint32_t);
    case 8:
      COPY_ENDS(uint64_t);
    case 16:
      COPY_ENDS(block_16_t);
    default:
      COPY_ENDS(block_32_t);
  }
}

/* Copies a block of windows; windows PREFETCH_DISTANCE ahead are prefetched. */
static void copy_windows(const gather_job_t *job, const int64_t *operand_at,
                         const int64_t *other_at, int64_t count) {
  const native_gather_plan_t *plan = job->plan;
  if (copy_short_runs(job, operand_at, other_at, count)) return;
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

/* Blocks of GATHER_OFFSETS_BLOCK windows: offsets first, then copies. */
static void gather_windows(void *context, int64_t begin, int64_t end, int worker) {
  const gather_job_t *job = context;
  int64_t operand_at[GATHER_OFFSETS_BLOCK], other_at[GATHER_OFFSETS_BLOCK];
  (void)worker;
  for (int64_t first = begin; first < end; first += GATHER_OFFSETS_BLOCK) {
    int64_t count = hr_min(end - first, GATHER_OFFSETS_BLOCK);
    gather_offsets_find(&job->plan->offsets, job->indices, first, count, operand_at, other_at);
    if (!copy_elements(job, operand_at, other_at, count))
      copy_windows(job, operand_at, other_at, count);
  }
}

/* An empty window copies nothing. */
static hr_status_t run_gather(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_gather_plan_t *plan = plan_;
  gather_job_t job = {plan, in[0], in[1], out[0]};
  if (plan->copy.nest.empty) return NULL;
  hr_workers_for(run->workers, plan->offsets.count, GRAIN / plan->window_bytes + 1, gather_windows,
                 &job);
  return NULL;
}

enum { MANY_ELEMENTS = 1 << 15 };

/* True for many single elements, and for many windows of several short rows: generated code
 * writes their results in order. */
static bool prefers_codegen(const native_gather_plan_t *plan, const op_step_t *step) {
  bool is_single = plan->window_bytes == plan->bytes;
  if (plan->run_bytes && !is_single) return false;
  return op_can_codegen(step->instr) &&
         plan->offsets.count * plan->window_bytes / plan->bytes >= MANY_ELEMENTS;
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
  out->plan = plan;
  out->bytes = 2.0 * (double)(plan->window_bytes * plan->offsets.count);
  return NULL;
}

const op_native_t native_gather = {"gather of windows", prepare_gather, run_gather};
