/* Pad, row by row in one pass over the result.
 *
 *     . . . . . . .      rows of padding only
 *     . . a a a a .      a row: low padding, operand's row, high padding
 *     . . . . . . .      (interior padding between the operand's rows)
 *     . . a a a a .
 *
 * A row spans the last padded dimension and all dimensions after it, which are contiguous. If that
 * dimension has interior padding, rows begin one dimension later. Rows of few bytes are left to
 * generated code. Large results are written with non-temporal stores. */
#include <string.h>

#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/native.h"
#include "ops/query/pad_range.h"

enum {
  GRAIN = 1 << 18,       /* least bytes per worker */
  MIN_ROW_BYTES = 32,    /* shortest copied row in a large result */
  SMALL_BYTES = 1 << 14, /* results up to this size are accepted with rows of any length */
  MIN_STREAM_BYTES = 512 /* shortest row that is stored non-temporally */
};

/* A dimension outside the rows: result index start + k * stride holds index k of the operand,
 * for k < count. */
typedef struct pad_dim {
  int64_t size;                 /* size in the result */
  int64_t start, stride, count; /* result indices with operand elements */
  int64_t from_stride;          /* operand's stride, bytes */
} pad_dim_t;

typedef struct native_pad_plan {
  int rank;
  pad_dim_t dims[HLO_MAX_RANK];
  int64_t rows;              /* rows of the result */
  int64_t low, copied, high; /* parts of a row, elements */
  int64_t from_offset;       /* offset of the first copied operand element, bytes */
  int element_bytes;
  bool nontemporal, by_pattern;
} native_pad_plan_t;

#define PATTERN 16 /* bytes of the padding value, repeated */

typedef struct pad_job {
  const native_pad_plan_t *plan;
  char *to;
  const char *from, *padding_value;
  char pattern[PATTERN];
} pad_job_t;

/* The operand's row that the result row at `index` holds; NULL for a row of padding. */
static const char *row_operand(const pad_job_t *job, const int64_t *index) {
  const native_pad_plan_t *plan = job->plan;
  const char *from = job->from + plan->from_offset;
  for (int d = 0; d < plan->rank; d++) {
    const pad_dim_t *dim = &plan->dims[d];
    int64_t at = index[d] - dim->start;
    if (at < 0 || at > (dim->count - 1) * dim->stride) return NULL;
    if (dim->stride > 1) {
      if (at % dim->stride) return NULL;
      at /= dim->stride;
    }
    from += at * dim->from_stride;
  }
  return from;
}

/* A row whose padding fits the pattern at both ends, where the operand's run overwrites the rest of
 * the pattern. */
static void pad_row_by_pattern(const pad_job_t *job, char *to, const char *from) {
  const native_pad_plan_t *plan = job->plan;
  int64_t bytes = plan->element_bytes, copied = plan->copied * bytes;
  char *run = to + plan->low * bytes;
  if (plan->low) memcpy(to, job->pattern, PATTERN);
  if (plan->high) memcpy(run + copied + plan->high * bytes - PATTERN, job->pattern, PATTERN);
  if (copied <= LOOP_SHORT_MOST)
    loop_copy_short(run, from, copied);
  else
    memcpy(run, from, (size_t)copied);
}

/* One row: low padding, the operand's run, high padding; counts are elements. */
static void pad_row(const pad_job_t *job, char *to, const char *from) {
  const native_pad_plan_t *plan = job->plan;
  int64_t bytes = plan->element_bytes, copied = plan->copied * bytes;
  if (plan->by_pattern) {
    pad_row_by_pattern(job, to, from);
    return;
  }
  native_fill_row(to, job->padding_value, (int)bytes, plan->low);
  to += plan->low * bytes;
  if (plan->nontemporal)
    native_stream(to, from, copied);
  else
    memcpy(to, from, (size_t)copied);
  native_fill_row(to + copied, job->padding_value, (int)bytes, plan->high);
}

static void pad_index_at(const native_pad_plan_t *plan, int64_t row, int64_t *index) {
  for (int d = plan->rank - 1; d >= 0; d--) {
    index[d] = row % plan->dims[d].size;
    row /= plan->dims[d].size;
  }
}

static void pad_index_next(const native_pad_plan_t *plan, int64_t *index) {
  for (int d = plan->rank - 1; d >= 0; d--) {
    if (++index[d] < plan->dims[d].size) return;
    index[d] = 0;
  }
}

/* The index of a row counts through the padded dimensions before the row's; row_operand is NULL for
 * rows of padding only. */
static void pad_rows(void *context, int64_t begin, int64_t end, int worker) {
  const pad_job_t *job = context;
  const native_pad_plan_t *plan = job->plan;
  int64_t index[HLO_MAX_RANK], elements = plan->low + plan->copied + plan->high;
  (void)worker;
  pad_index_at(plan, begin, index);
  for (int64_t row = begin; row < end; row++, pad_index_next(plan, index)) {
    char *to = job->to + row * elements * plan->element_bytes;
    const char *from = row_operand(job, index);
    if (from)
      pad_row(job, to, from);
    else
      native_fill_row(to, job->padding_value, plan->element_bytes, elements);
  }
  if (plan->nontemporal) native_stream_end();
}

static hr_status_t run_pad(const op_native_run_t *run, const void *plan_, void *const *in,
                           void *const *out) {
  const native_pad_plan_t *plan = plan_;
  pad_job_t job = {.plan = plan, .to = out[0], .from = in[0], .padding_value = in[1]};
  int64_t row_bytes = (plan->low + plan->copied + plan->high) * plan->element_bytes;
  for (int at = 0; at < PATTERN; at += plan->element_bytes)
    memcpy(job.pattern + at, in[1], (size_t)plan->element_bytes);
  if (plan->rows * row_bytes > 0)
    hr_workers_split(run->workers, plan->rows, GRAIN / row_bytes + 1, pad_rows, &job);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* The first dimension of the rows: the last padded one, or the one after it if it has interior
 * padding. */
static int first_row_dim(const hlo_padding_t *padding, int rank) {
  int d = rank - 1;
  while (d >= 0 && !padding->dims[d].low && !padding->dims[d].high && !padding->dims[d].interior)
    d--;
  if (d < 0) return 0;
  return padding->dims[d].interior ? d + 1 : d;
}

/* Adds dimension d to those outside of the rows (before row_dim), makes it the row's own, or
 * lengthens the row by it. */
static void add_dim(native_pad_plan_t *plan, const hlo_shape_t *result, int d, const pad_dim_t *dim,
                    int row_dim) {
  if (d < row_dim) {
    plan->dims[plan->rank++] = *dim;
    plan->rows *= result->dims[d];
  } else if (d == row_dim) {
    plan->low = dim->start;
    plan->copied = dim->count;
    plan->high = dim->size - dim->start - dim->count;
  } else {
    plan->low *= dim->size;
    plan->copied *= dim->size;
    plan->high *= dim->size;
  }
}

static void plan_rows(native_pad_plan_t *plan, const hlo_padding_t *padding, const hlo_shape_t *in,
                      const hlo_shape_t *result) {
  int64_t strides[HLO_MAX_RANK], first;
  int row_dim = first_row_dim(padding, result->rank);
  loop_dense_strides(in->rank, in->dims, plan->element_bytes, strides);
  plan->rows = 1;
  plan->copied = 1;
  for (int d = 0; d < result->rank; d++) {
    pad_dim_t dim = {.size = result->dims[d], .from_stride = strides[d]};
    pad_range(in->dims[d], dim.size, &padding->dims[d], &first, &dim.count, &dim.stride,
              &dim.start);
    plan->from_offset += first * strides[d];
    add_dim(plan, result, d, &dim, row_dim);
  }
}

/* Declines if the operand's rows are short and the result is large. */
static hr_status_t prepare_pad(const op_native_target_t *target, const op_step_t *step,
                               op_native_step_t *out) {
  const hlo_shape_t *result = step->out_shape;
  native_pad_plan_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->element_bytes = (int)hr_dtype_bytes(result->dtype);
  plan_rows(plan, hlo_attr_padding(step->instr), step->in_shapes[0], result);
  int64_t copied = plan->copied * plan->element_bytes;
  int64_t bytes = plan->rows * (plan->low + plan->copied + plan->high) * plan->element_bytes;
  plan->nontemporal = bytes >= NATIVE_STREAM_BYTES && copied >= MIN_STREAM_BYTES;
  plan->by_pattern = !plan->nontemporal && copied >= LOOP_SHORT_LEAST &&
                     plan->low * plan->element_bytes <= PATTERN &&
                     plan->high * plan->element_bytes <= PATTERN;
  if (copied < MIN_ROW_BYTES && bytes > SMALL_BYTES) return NULL;
  out->plan = plan;
  out->bytes = 2.0 * (double)bytes;
  return NULL;
}

const op_native_t native_pad = {"pad", prepare_pad, run_pad};
