/* Winograd convolution divided by output channels, for few tiles and many weights: transformed
 * weights have four times as many bytes and would go to memory and back. Here a part of them is
 * transformed into the second-level cache, multiplied by all tiles, and discarded. Each task reads
 * the points of all tiles, which may have 1.5 times as many bytes as transformed weights: up to
 * there it is faster (1.2 to 1.6 times on a Zen 5), and takes no more memory.
 *
 *   all tiles are transformed to the points
 *   for each few output channels                 one task of a worker
 *     for each few input channels                weights transformed: WEIGHTS_BYTES
 *       for each of the 36 points                C[tiles][columns] += A[tiles][terms] B
 *   all tiles are transformed back
 *
 * Sums run over the input channels in parts that follow from the sizes alone, so that results have
 * the same bits with any number of workers. */
#include "base/arith.h"
#include "ops/kernels/conv/conv_winograd.h"

#define WEIGHTS_BYTES (448 << 10) /* transformed at a time: half of the second-level cache */
#define LEAST_BYTES (512 << 10)   /* bytes; smaller weights stay in that cache as a whole */
#define TERM_UNIT 8
#define GRAIN 2 /* tiles per task */

static int64_t vectors_of(const winograd_t *plan) {
  return hr_div_ceil(plan->problem->out_channels, MIN_CHANNELS);
}

/* Columns that are both whole panels of a product and whole vectors of weights. */
static int64_t whole_columns(const winograd_t *plan) {
  gemm_panels_t panels = gemm_panels_of(&(gemm_job_t){.dtype = plan->problem->types.real, .n = 1});
  return panels.width / hr_gcd(panels.width, MIN_CHANNELS) * MIN_CHANNELS;
}

/* Columns of a task: whole_columns, or fewer if there would be too few tasks for the workers;
 * always whole vectors of weights. */
static int64_t task_columns(const winograd_t *plan, int64_t width) {
  int64_t each = hr_div_ceil(vectors_of(plan), plan->workers);
  return hr_max(hr_min(each * MIN_CHANNELS, width), MIN_CHANNELS);
}

void winograd_plan_columns(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t each = POINTS * plan->element_bytes;
  int64_t weights = each * p->in_channels * p->out_channels;
  int64_t points = each * plan->tiling.count * (p->in_channels + p->out_channels);
  if (p->kind != CONV_FORWARD || p->constant_weights || weights < LEAST_BYTES ||
      2 * points > 3 * weights)
    return;
  int64_t width = whole_columns(plan);
  plan->columns.count = task_columns(plan, width);
  int64_t most = hr_max(WEIGHTS_BYTES / (each * width), TERM_UNIT);
  int64_t parts = hr_div_ceil(p->in_channels, most);
  plan->columns.terms = hr_round_up(hr_div_ceil(p->in_channels, parts), TERM_UNIT);
  gemm_job_t job = winograd_columns_job(plan);
  plan->columns.plane =
      ((int64_t)gemm_packed_bytes(&job) / plan->element_bytes / MIN_CHANNELS | 1) * MIN_CHANNELS;
}

gemm_job_t winograd_columns_job(const winograd_t *plan) {
  return (gemm_job_t){.dtype = plan->problem->types.real,
                      .m = plan->tiling.count,
                      .n = plan->columns.count,
                      .k = plan->columns.terms,
                      .a_row = plan->tiling.in_line,
                      .a_col = 1,
                      .c_row = plan->tiling.out_line};
}

size_t winograd_columns_bytes(const winograd_t *plan) {
  return (size_t)(POINTS * plan->columns.plane * plan->element_bytes);
}

static void read_tiles(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  winograd_read_tiles(
      r, begin, end - begin, r->spaces + (size_t)worker * plan->scratch.space_bytes,
      r->scratch + plan->scratch.in_at + begin * plan->tiling.in_line * plan->element_bytes);
}

static void write_tiles(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  winograd_write_tiles(
      r, begin, end - begin, worker,
      r->scratch + plan->scratch.out_at + begin * plan->tiling.out_line * plan->element_bytes);
}

/* Transforms the weights of the terms from `first` on, for the columns of a task. */
static void pack_terms(const winograd_run_t *r, const gemm_job_t *job, int64_t first,
                       int64_t column, void *packed) {
  const winograd_t *plan = r->plan;
  winograd_weights_t part = r->weights;
  part.data = (const char *)part.data +
              (first * part.in_step + column * part.out_step) * plan->element_bytes;
  part.in_channels = job->k;
  part.out_channels = hr_min(part.out_channels - column, job->n);
  part.panels = gemm_panels_of(job);
  part.plane = plan->columns.plane;
  winograd_pack(plan, &part, 0, job->n / MIN_CHANNELS, packed);
}

static void multiply_terms(const winograd_run_t *r, gemm_job_t job, int64_t first, int64_t column,
                           int worker) {
  const winograd_t *plan = r->plan;
  int64_t bytes = plan->element_bytes;
  char *space = r->spaces + (size_t)worker * plan->scratch.space_bytes;
  const char *in = r->scratch + plan->scratch.in_at + first * bytes;
  char *out = r->scratch + plan->scratch.out_at + column * bytes;
  char *packed = space + plan->scratch.weights_at;
  job.k = hr_min(job.k, plan->problem->in_channels - first);
  job.mode = first ? GEMM_ADD : GEMM_SET;
  pack_terms(r, &job, first, column, packed);
  for (int64_t i = 0; i < POINTS; i++) {
    job.a = in + i * plan->tiling.in_plane * bytes;
    job.c = out + i * plan->tiling.out_plane * bytes;
    job.packed_b = packed + i * plan->columns.plane * bytes;
    gemm_run_serial(&job, worker, space + plan->scratch.gemm_at);
  }
}

static void multiply_columns(void *context, int64_t begin, int64_t end, int worker) {
  const winograd_run_t *r = context;
  const winograd_t *plan = r->plan;
  for (int64_t task = begin; task < end; task++) {
    int64_t column = task * plan->columns.count;
    gemm_job_t job = winograd_columns_job(plan);
    job.n = hr_min(job.n, vectors_of(plan) * MIN_CHANNELS - column);
    for (int64_t first = 0; first < plan->problem->in_channels; first += job.k)
      multiply_terms(r, job, first, column, worker);
  }
}

void winograd_run_columns(hr_workers_t *workers, const winograd_run_t *r) {
  const winograd_t *plan = r->plan;
  int64_t tasks = hr_div_ceil(vectors_of(plan) * MIN_CHANNELS, plan->columns.count);
  hr_workers_for(workers, plan->tiling.count, GRAIN, read_tiles, (void *)r);
  hr_workers_for(workers, tasks, 1, multiply_columns, (void *)r);
  hr_workers_for(workers, plan->tiling.count, GRAIN, write_tiles, (void *)r);
}
