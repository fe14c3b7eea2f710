/* Scatters of many updates into a small operand: ranges of windows are combined into privatised
 * copies of the operand, which are then added to the result in their order. The number of copies
 * depends on the workers only if the order of combination has no influence on the bits. */
#include "base/arith.h"
#include "ops/kernels/indexed/native_scatter.h"

enum {
  MAX_COPIES = 8,
  COPIES_SHARE = 8 /* least updates of an element, on average, that justify a copy */
};

typedef struct copies_job {
  const native_scatter_plan_t *plan;
  const void *indices, *from;
  char *to, *copies;
} copies_job_t;

/* Copy 0 is the result itself. */
static char *copy_address(const copies_job_t *job, int64_t copy) {
  const native_scatter_plan_t *plan = job->plan;
  return copy ? job->copies + (size_t)(copy - 1) * plan->copy_bytes : job->to;
}

/* Combines the copy's range of windows into `to`. Copy 0 is the result; the others start at the
 * op's identity. */
static void scatter_into_copy(const copies_job_t *job, int64_t copy, char *to) {
  const native_scatter_plan_t *plan = job->plan;
  scatter_rows_job_t rows = plan->rows_job;
  rows.indices = job->indices;
  rows.from = job->from;
  rows.to = to;
  rows.first = plan->offsets.count * copy / plan->copies;
  rows.last = plan->offsets.count * (copy + 1) / plan->copies;
  if (copy) scatter_rows_fill(plan->op, plan->body.work, to, plan->counts[0]);
  scatter_rows_run(&rows);
}

static void scatter_into_copies(void *context, int64_t begin, int64_t end, int worker) {
  const copies_job_t *job = context;
  (void)worker;
  for (int64_t copy = begin; copy < end; copy++)
    scatter_into_copy(job, copy, copy_address(job, copy));
}

/* Adds elements begin .. end - 1 of a copy to the result. */
static void reduce_copy(const copies_job_t *job, const char *copy, int64_t begin, int64_t end) {
  const native_scatter_plan_t *plan = job->plan;
  int64_t bytes = (int64_t)plan->body.bytes[0], steps[] = {1, 1};
  char *to = job->to + begin * bytes;
  const void *ins[] = {to, copy + begin * bytes};
  ew_kernel_run(plan->body.kernel, end - begin, ins, steps, to);
}

/* Adds the copies to the result, in their order, by ranges of elements. */
static void reduce_copies(void *context, int64_t begin, int64_t end, int worker) {
  const copies_job_t *job = context;
  (void)worker;
  for (int64_t copy = 1; copy < job->plan->copies; copy++)
    reduce_copy(job, copy_address(job, copy), begin, end);
}

/* Workers scatter updates into privatised copies, which are then added. A single worker does so
 * copy by copy, all at one address, which stays in its cache. */
void scatter_copies_run(const op_native_run_t *run, const native_scatter_plan_t *plan,
                        void *const *in, void *to) {
  copies_job_t job = {plan, in[1], in[2], to, run->scratch};
  if (plan->workers == 1) {
    scatter_into_copy(&job, 0, to);
    for (int64_t copy = 1; copy < plan->copies; copy++) {
      scatter_into_copy(&job, copy, job.copies);
      reduce_copy(&job, job.copies, 0, plan->counts[0]);
    }
    return;
  }
  hr_workers_for(run->workers, plan->copies, 1, scatter_into_copies, &job);
  hr_workers_split(run->workers, plan->counts[0], 4096, reduce_copies, &job);
}

/* Sums of 16-bit floats are excluded, as their rounding depends too much on the order; complex ones
 * have no identity. */
static bool may_use_copies(hlo_opcode_t op, hr_dtype_t dtype) {
  if (hr_dtype_is_complex(dtype)) return false;
  return hr_dtype_bytes(dtype) > 2 || !hr_dtype_is_float(dtype) || op == HLO_MAXIMUM ||
         op == HLO_MINIMUM;
}

/* True for ops whose result does not depend on the order: there may be as many copies as workers,
 * and few updates justify them. */
static bool is_order_independent(hlo_opcode_t op, hr_dtype_t dtype) {
  return !hr_dtype_is_float(dtype) || op == HLO_MAXIMUM || op == HLO_MINIMUM;
}

size_t scatter_copies_plan(native_scatter_plan_t *plan) {
  bool any_order = is_order_independent(plan->op, plan->body.work);
  int64_t updates = plan->offsets.count * plan->window_elements;
  int64_t copies = updates / ((any_order ? 1 : COPIES_SHARE) * plan->counts[0] + 1);
  int64_t min_bytes = any_order ? SCATTER_BYTES_MIN / 2 : 2 * SCATTER_BYTES_MIN;
  int64_t max_copies = any_order ? hr_min(plan->workers, MAX_COPIES) : MAX_COPIES;
  copies = hr_min(copies, max_copies);
  if (!plan->has_row_loop || plan->by_elements || plan->by_batches || plan->overwrite || copies < 2)
    return 0;
  if (plan->has_long_rows || !may_use_copies(plan->op, plan->body.work)) return 0;
  if (updates * (int64_t)plan->body.bytes[0] < min_bytes) return 0;
  plan->copies = (int)copies;
  plan->copy_bytes = ((size_t)plan->counts[0] * plan->body.bytes[0] + HR_ALIGNMENT - 1) /
                     HR_ALIGNMENT * HR_ALIGNMENT;
  return (plan->workers == 1 ? 1 : (size_t)copies - 1) * plan->copy_bytes;
}
