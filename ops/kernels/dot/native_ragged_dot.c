/* ragged-dot in the compiled engine: products of runs of rows, each with the matrix of its group
 * (mixtures of experts), by gemm.h.
 *
 *   free          [r,k] x [g,k,n] -> [r,n]     blocks of rows of each run are tasks
 *   contracting   [r,m] x [r,n] -> [g,m,n]     blocks of rows of each group's result are tasks
 *
 * No row is multiplied by the matrix of another group. Rows outside of all runs give 0.
 *
 * If the product stands for a masked one (ragged_masked.h), elements of a matrix that are not
 * finite have an effect on the rows of all groups. A matrix with such elements makes the first row
 * of its run not finite, so only matrices without rows have to be read for a check. If the check
 * finds such a matrix or a negative size, the product is computed again, group by group.
 *
 * Blocks have a fixed size, so the result does not depend on the number of workers. The reference
 * computes batches, several free or contracting dimensions, group sizes per batch, integers and
 * complex numbers. */
#include <string.h>

#include "base/arith.h"
#include "base/fp_mode.h"
#include "ops/kernels/conv/conv_nonfinite.h"
#include "ops/kernels/dot/native_dot.h"
#include "ops/kernels/reference/ragged_masked.h"

#define BLOCK_ROWS 192 /* most rows of a task */

typedef struct ragged_plan {
  gemm_job_t job;   /* product of a block of rows over all of k, without addresses */
  bool is_free;     /* the ragged dimension is free; else it is contracting */
  bool masked;      /* a row counts as zeros in the groups that it is not in */
  int64_t ragged;   /* size of the ragged dimension */
  int64_t groups;   /* number of groups */
  int64_t rows;     /* size of the free dimension of a; rows of a group's result if contracting */
  int64_t a_ragged; /* stride of a along the ragged dimension, in elements */
  int64_t b_ragged; /* stride of b along the contracting dimension, in elements */
  int64_t b_group;  /* stride of b from one group to the next, in elements; 0 if contracting */
  hr_dtype_t sizes; /* type of the group sizes */
  matmul_types_t types;
  int64_t a_count, b_count, c_count;   /* elements of the operands and the result */
  bool a_widened, b_widened, narrowed; /* arrays that are converted in scratch memory */
  int workers;
  size_t a_at, b_at, sums_at, tasks_at, space_at; /* offsets in scratch memory, in bytes */
  size_t space_bytes;                             /* packing space of a worker */
} ragged_plan_t;

/* A block of rows: [first, first + rows) of a if the ragged dimension is free, of the group's
 * result if it is contracting. */
typedef struct ragged_task {
  int64_t group, first, rows;
  int64_t start, end; /* run of the group in the ragged dimension */
} ragged_task_t;

/* One execution: operands, widened where necessary, and the tasks for the group sizes of this
 * call. */
typedef struct ragged_run {
  const ragged_plan_t *plan;
  const char *a, *b;
  char *c, *space;
  const ragged_task_t *tasks;
} ragged_run_t;

/* Reads a group size; is_supported admits s32, u32, s64 and u64 only. */
static int64_t read_size(hr_dtype_t dtype, const void *list, int64_t i) {
  switch (dtype) {
    case HR_S64:
    case HR_U64:
      return ((const int64_t *)list)[i];
    case HR_U32:
      return ((const uint32_t *)list)[i];
    default:
      return ((const int32_t *)list)[i];
  }
}

static int64_t clip(int64_t value, int64_t high) { return hr_min(hr_max(value, 0), high); }

/* Computes tasks [begin, end). A task without terms (an empty group, if contracting) writes zeros
 * itself, because the GEMM would leave its block as it is. */
static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const ragged_run_t *r = context;
  const ragged_plan_t *plan = r->plan;
  int64_t bytes = plan->types.element_bytes;
  for (int64_t i = begin; i < end; i++) {
    const ragged_task_t *task = &r->tasks[i];
    gemm_job_t job = plan->job;
    job.m = task->rows;
    if (plan->is_free) {
      job.a = r->a + task->first * job.a_row * bytes;
      job.b = r->b + task->group * plan->b_group * bytes;
      job.c = r->c + task->first * job.n * bytes;
    } else {
      job.k = task->end - task->start;
      job.a = r->a + (task->start * plan->a_ragged + task->first * job.a_row) * bytes;
      job.b = r->b + task->start * plan->b_ragged * bytes;
      job.c = r->c + (task->group * plan->rows + task->first) * job.n * bytes;
    }
    if (job.k)
      gemm_run_serial(&job, worker, r->space + (size_t)worker * plan->space_bytes);
    else
      memset(job.c, 0, (size_t)(job.m * job.n * bytes));
  }
}

/* Lists the blocks of a run if the ragged dimension is free, else those of its group's result.
 * Returns their number. */
static int64_t add_blocks(const ragged_plan_t *plan, ragged_task_t run, ragged_task_t *tasks) {
  int64_t count = 0, last = plan->is_free ? run.end : plan->rows;
  for (run.first = plan->is_free ? run.start : 0; run.first < last; run.first += BLOCK_ROWS) {
    run.rows = hr_min(last - run.first, BLOCK_ROWS);
    tasks[count++] = run;
  }
  return count;
}

/* Lists the blocks of all runs. Returns the number of rows that runs cover. */
static int64_t list_tasks(const ragged_plan_t *plan, const void *sizes, ragged_task_t *tasks,
                          int64_t *out_count) {
  int64_t last = 0;
  uint64_t end = 0; /* may wrap on invalid sizes; clipping makes that harmless */
  *out_count = 0;
  for (int64_t g = 0; g < plan->groups; g++) {
    ragged_task_t run = {.group = g, .start = clip((int64_t)end, plan->ragged)};
    end += (uint64_t)read_size(plan->sizes, sizes, g);
    if (plan->is_free) run.start = hr_max(run.start, last); /* a size may be negative */
    run.end = hr_max(clip((int64_t)end, plan->ragged), run.start);
    last = hr_max(last, run.end);
    *out_count += add_blocks(plan, run, tasks + *out_count);
  }
  return last;
}

/* Converts an operand to the type of the products in scratch memory, and returns the copy. */
static const void *widen(const op_native_run_t *run, const ragged_plan_t *plan, hr_dtype_t dtype,
                         const void *from, int64_t count, void *to) {
  native_widen(run->workers, &plan->types, dtype, from, count, to);
  return to;
}

/* --- masked products --- */

/* Sets the rows [start, end) of run->group. They overlap with rows of other groups if a size is
 * negative. `end`: sum of the sizes of all groups before, then also of this one. */
static void next_run(const ragged_plan_t *plan, const void *sizes, ragged_task_t *run,
                     uint64_t *end) {
  run->start = clip((int64_t)*end, plan->ragged);
  *end += (uint64_t)read_size(plan->sizes, sizes, run->group);
  run->end = clip((int64_t)*end, plan->ragged);
}

/* True if a group's matrix has only finite elements. The first row of a run tells so without
 * reading the matrix: a term that is not finite would make it not finite. given: the program's
 * array of matrices. */
static bool is_plain_group(const op_native_run_t *run, const ragged_run_t *r, const char *given,
                           const ragged_task_t *task) {
  const ragged_plan_t *plan = r->plan;
  int64_t row_bytes = plan->job.n * plan->types.element_bytes;
  int64_t all = plan->b_count / plan->groups;
  int64_t bytes = (int64_t)hr_dtype_bytes(plan->types.rhs);
  if (task->start < task->end)
    return conv_are_finite(NULL, plan->types.real, r->c + task->start * row_bytes, plan->job.n);
  if (plan->b_group == all)
    return conv_are_finite(run->workers, plan->types.rhs, given + task->group * all * bytes, all);
  return conv_are_finite(run->workers, plan->types.rhs, given, plan->b_count);
}

static bool are_plain_groups(const op_native_run_t *run, const ragged_run_t *r, const void *sizes,
                             const char *given) {
  uint64_t end = 0;
  for (ragged_task_t task = {0}; task.group < r->plan->groups; task.group++) {
    next_run(r->plan, sizes, &task, &end);
    if (read_size(r->plan->sizes, sizes, task.group) < 0 || !is_plain_group(run, r, given, &task))
      return false;
  }
  return true;
}

/* Computes the masked product, products by zeros included, group by group on the calling worker. */
static void run_masked(const ragged_run_t *r, const void *sizes) {
  const ragged_plan_t *plan = r->plan;
  int64_t bytes = plan->types.element_bytes;
  gemm_job_t job = plan->job;
  ragged_masked_t masked = {plan->types.real, plan->ragged, job.k, job.n,
                            job.b_row,        job.b_col,    r->c};
  uint64_t end = 0;
  memset(r->c, 0, (size_t)(plan->ragged * job.n * bytes));
  job.mode = GEMM_ADD;
  for (int pass = 0; pass < 2; pass++, end = 0)
    for (ragged_task_t task = {0}; task.group < plan->groups; task.group++) {
      job.b = r->b + task.group * plan->b_group * bytes;
      next_run(plan, sizes, &task, &end);
      if (pass == 1) ragged_masked_multiply_zeros(&masked, job.b, task.start, task.end);
      for (task.first = task.start; pass == 0 && task.first < task.end; task.first += job.m) {
        job.m = hr_min(BLOCK_ROWS, task.end - task.first);
        job.a = r->a + task.first * job.a_row * bytes;
        job.c = r->c + task.first * job.n * bytes;
        gemm_run_serial(&job, 0, r->space);
      }
    }
}

/* Lists the tasks and runs them. Group sizes are data, so every call has its own list; scratch
 * memory has room for the longest list that any sizes can give (plan_scratch). */
static hr_status_t run_groups(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const ragged_plan_t *plan = plan_;
  char *scratch = run->scratch;
  ragged_task_t *tasks = (ragged_task_t *)(scratch + plan->tasks_at);
  ragged_run_t r = {plan, in[0], in[1], out[0], scratch + plan->space_at, tasks};
  int64_t count, row_bytes = plan->job.n * plan->types.element_bytes;
  if (plan->a_widened)
    r.a = widen(run, plan, plan->types.lhs, in[0], plan->a_count, scratch + plan->a_at);
  if (plan->b_widened)
    r.b = widen(run, plan, plan->types.rhs, in[1], plan->b_count, scratch + plan->b_at);
  if (plan->narrowed) r.c = scratch + plan->sums_at;
  int64_t covered = list_tasks(plan, in[2], tasks, &count);
  if (plan->is_free)
    memset(r.c + covered * row_bytes, 0, (size_t)((plan->ragged - covered) * row_bytes));
  hr_workers_for(native_workers(run, plan->workers), count, 1, run_tasks, &r);
  if (plan->masked && !are_plain_groups(run, &r, in[2], in[1])) run_masked(&r, in[2]);
  if (plan->narrowed) native_narrow(run->workers, &plan->types, r.c, plan->c_count, out[0]);
  return NULL;
}

static hr_status_t run_ragged(const op_native_run_t *run, const void *plan, void *const *in,
                              void *const *out) {
  hr_fp_mode_t mode = hr_fp_mode_flush();
  hr_status_t st = run_groups(run, plan, in, out);
  hr_fp_mode_set(mode);
  return st;
}

/* --- planning --- */

/* True if the operands have one ragged dimension, one other dimension on each side, and the groups,
 * and types that the GEMM has. */
static bool is_supported(const op_step_t *step, const dot_groups_t *g, bool is_free,
                         const matmul_types_t *types) {
  const hlo_shape_t *sizes = step->in_shapes[2];
  hr_dtype_t dtype = sizes->dtype;
  bool has_sizes = sizes->rank == 1 &&
                   (dtype == HR_S32 || dtype == HR_U32 || dtype == HR_S64 || dtype == HR_U64);
  return has_sizes && !types->is_complex && (types->real == HR_F32 || types->real == HR_F64) &&
         step->in_shapes[0]->rank == 2 && step->in_shapes[1]->rank == (is_free ? 3 : 2) &&
         g->lhs_free.count == 1 && g->lhs_contracting.count == 1 && g->rhs_free.count == 1;
}

/* Sets sizes and strides for the two forms:
 *   ragged free          b has a dimension for the group; task.first is a row of a and c
 *   ragged contracting   runs are terms; task.start is the first term, task.first a row of c */
static void plan_job(const op_step_t *step, const dot_groups_t *g, int group_dim,
                     ragged_plan_t *plan) {
  const hlo_shape_t *lhs = step->in_shapes[0], *rhs = step->in_shapes[1];
  int64_t a[HLO_MAX_RANK], b[HLO_MAX_RANK];
  int free = g->lhs_free.dims[0], term = g->lhs_contracting.dims[0];
  int column = g->rhs_free.dims[0], rhs_term = g->rhs_contracting.dims[0];
  loop_dense_strides(lhs->rank, lhs->dims, 1, a);
  loop_dense_strides(rhs->rank, rhs->dims, 1, b);
  plan->groups = step->in_shapes[2]->dims[0];
  plan->ragged = lhs->dims[plan->is_free ? free : term];
  plan->rows = lhs->dims[free];
  plan->a_ragged = a[plan->is_free ? free : term];
  plan->b_ragged = b[rhs_term];
  plan->b_group = plan->is_free ? b[group_dim] : 0;
  plan->job = (gemm_job_t){.dtype = plan->types.real,
                           .m = BLOCK_ROWS,
                           .n = rhs->dims[column],
                           .k = lhs->dims[term],
                           .a_row = a[free],
                           .a_col = a[term],
                           .b_row = b[rhs_term],
                           .b_col = b[column],
                           .c_row = rhs->dims[column]};
}

/* Divides scratch memory. If the ragged dimension is free, each run starts a block of its own, so
 * there is at most one task per group more than blocks of all rows. */
static hr_status_t plan_scratch(const op_step_t *step, ragged_plan_t *plan,
                                size_t *out_scratch_bytes) {
  const matmul_types_t *types = &plan->types;
  size_t total = 0, bytes = (size_t)types->element_bytes;
  int64_t blocks = ((plan->is_free ? plan->ragged : plan->rows) + BLOCK_ROWS - 1) / BLOCK_ROWS;
  int64_t tasks = plan->is_free ? blocks + plan->groups : blocks * plan->groups;
  HR_TRY(hlo_shape_count(step->in_shapes[0], &plan->a_count));
  HR_TRY(hlo_shape_count(step->in_shapes[1], &plan->b_count));
  HR_TRY(hlo_shape_count(step->out_shape, &plan->c_count));
  plan->a_widened = !matmul_is_widened(types, types->lhs);
  plan->b_widened = !matmul_is_widened(types, types->rhs);
  plan->narrowed = !matmul_is_widened(types, types->out);
  plan->a_at = scratch_reserve(&total, plan->a_widened ? (size_t)plan->a_count * bytes : 0);
  plan->b_at = scratch_reserve(&total, plan->b_widened ? (size_t)plan->b_count * bytes : 0);
  plan->sums_at = scratch_reserve(&total, plan->narrowed ? (size_t)plan->c_count * bytes : 0);
  plan->tasks_at = scratch_reserve(&total, (size_t)tasks * sizeof(ragged_task_t));
  plan->space_bytes = gemm_space_bytes(&plan->job);
  plan->space_at = scratch_reserve(&total, plan->space_bytes * (size_t)plan->workers);
  *out_scratch_bytes = total;
  return NULL;
}

/* Signature of op_native_t.prepare. The flops count each row once, as its group does not matter. */
static hr_status_t prepare_ragged(const op_native_target_t *target, const op_step_t *step,
                                  op_native_step_t *out) {
  hr_ints_t groups = hlo_attr_ints(step->instr, HLO_ATTR_RHS_GROUP_DIMS);
  hr_ints_t ragged = hlo_attr_ints(step->instr, HLO_ATTR_LHS_RAGGED_DIMS);
  const hlo_shape_t *lhs = step->in_shapes[0], *rhs = step->in_shapes[1];
  ragged_plan_t *plan;
  dot_groups_t g;
  if (groups.count > 1 || ragged.count != 1) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->is_free = groups.count == 1;
  plan->masked = hlo_attr_bool(step->instr, HLO_ATTR_MASKED);
  plan->workers = target->workers;
  plan->sizes = step->in_shapes[2]->dtype;
  HR_TRY(
      matmul_types_init(step->instr, lhs->dtype, rhs->dtype, step->out_shape->dtype, &plan->types));
  int group_dim = plan->is_free ? (int)groups.data[0] : -1;
  HR_TRY(dot_read_groups(step->instr, lhs, rhs, group_dim, &g));
  if (!is_supported(step, &g, plan->is_free, &plan->types) || (plan->masked && !plan->is_free))
    return NULL;
  if (ragged.data[0] != (plan->is_free ? g.lhs_free.dims[0] : g.lhs_contracting.dims[0]))
    return NULL;
  plan_job(step, &g, group_dim, plan);
  if (!hlo_shape_elements(step->out_shape) || !plan->job.k) return NULL;
  HR_TRY(plan_scratch(step, plan, &out->scratch_bytes));
  out->flops = 2.0 * (double)plan->a_count * (double)plan->job.n;
  out->plan = plan;
  return NULL;
}

const op_native_t native_ragged_dot = {"ragged dot", prepare_ragged, run_ragged};
