/* Convolution by im2col: the patches of a block of positions are gathered into a matrix, row by
 * row, and multiplied by the weights as one matrix product per group. Handles all types and
 * windows; other kernels are faster for the problems that they accept. Patches are never stored as
 * a whole: the product asks for the rows of its blocks (gemm_job_t.fill), so scratch memory is one
 * block per worker. With a plain window the input itself is the matrix. Cost: the product, plus one
 * gather of each patch for each block of rows. */
#include <limits.h>
#include <string.h>

#include "ops/kernels/common/native_copy.h"
#include "ops/kernels/conv/conv_nonfinite.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/reference/convolution.h"

#define ROW_UNIT 24 /* rows of a block are a multiple of this: rows of the products' tiles */
#define TASKS_PER_WORKER 2
#define LINE_UNIT 2048 /* positions of a line at a time: they stay in the first-level cache */

/* Conversion of an operand to the layout and type of the products; scratch offsets in bytes. */
typedef struct conv_operand {
  const matmul_order_t *order;
  hr_dtype_t dtype;
  int64_t count;
  bool widened;
  size_t wide_at, ordered_at;
} conv_operand_t;

/* One group's product: the matrix of patches [m, k] times the weights [k, n]. */
typedef struct products_sizes {
  int64_t groups;
  int64_t m, n, k;
  int64_t rows;      /* rows of a block of patches */
  int64_t blocks;    /* blocks of a group */
  int64_t out_count; /* elements of the result */
} products_sizes_t;

/* Offsets in bytes within the step's scratch memory. */
typedef struct products_scratch {
  size_t sums_at, narrow_at;
  size_t offsets_at, offsets_bytes; /* window offsets, per worker */
  size_t space_at, space_bytes;     /* packing space, per worker */
} products_scratch_t;

typedef struct conv_products {
  conv_plan_t conv;
  int workers;
  conv_operand_t lhs, rhs;
  bool is_integer;
  matmul_space_t **spaces; /* packing space of integer products, one per worker */
  gemm_job_t job;          /* other products: job of one group, without addresses */
  gemm_partition_t partition;
  products_sizes_t sizes;
  bool plain;     /* the input itself is the matrix of patches */
  bool by_groups; /* a worker computes whole groups */
  bool narrowed;  /* the result is narrower than the sums */
  products_scratch_t scratch;
} conv_products_t;

typedef struct conv_job {
  const conv_products_t *plan;
  const char *lhs, *rhs;
  char *sums, *scratch;
  bool multiplies_padding; /* some weight is not finite, see conv_view_t */
} conv_job_t;

static bool is_summed_directly(const conv_plan_t *conv) {
  return conv_is_line(conv) || conv_is_depthwise(conv);
}

/* --- running --- */

/* The view of one group, with offsets in the worker's scratch memory. */
static conv_view_t view_of(const conv_job_t *job, int64_t group, int worker) {
  const conv_products_t *plan = job->plan;
  const conv_plan_t *conv = &plan->conv;
  conv_view_t view;
  conv_view_init(conv,
                 (int64_t *)(job->scratch + plan->scratch.offsets_at +
                             (size_t)worker * plan->scratch.offsets_bytes),
                 &view);
  int64_t start =
      conv->batch_groups > 1 ? group * conv->out_batch * conv->in_batch_stride : group * view.unit;
  view.input = job->lhs + start * view.real_bytes;
  view.multiplies_padding = job->multiplies_padding;
  return view;
}

static int64_t rows_of(const conv_products_t *plan, int64_t block) {
  int64_t left = plan->sizes.m - block * plan->sizes.rows;
  return left < plan->sizes.rows ? left : plan->sizes.rows;
}

/* Context of the callback that makes the patches of a group. */
typedef struct conv_source {
  const conv_job_t *job;
  int64_t group;
} conv_source_t;

/* Callback of the product: rows [row, row + rows) of the matrix of patches, terms from `first`
 * on. */
static void fill_patches(const void *context, int worker, int64_t row, int64_t rows, int64_t first,
                         int64_t count, void *to) {
  const conv_source_t *source = context;
  conv_view_t view = view_of(source->job, source->group, worker);
  conv_patches_fill(&view, row, rows, first, count, to);
}

/* The product of one group: patches on demand, or the input itself (plain). */
static gemm_job_t product_of(const conv_source_t *source) {
  const conv_job_t *job = source->job;
  const conv_products_t *plan = job->plan;
  gemm_job_t product = plan->job;
  int64_t bytes = plan->conv.types.element_bytes;
  if (plan->plain)
    product.a = view_of(job, source->group, 0).input;
  else {
    product.fill = fill_patches;
    product.context = source;
  }
  product.b = job->rhs + source->group * plan->sizes.n * bytes;
  product.c = job->sums + source->group * plan->sizes.n * bytes;
  return product;
}

/* Multiplies whole groups, each on one worker. */
static void multiply_groups(void *context, int64_t begin, int64_t end, int worker) {
  const conv_job_t *job = context;
  for (int64_t group = begin; group < end; group++) {
    gemm_job_t product = product_of(&(conv_source_t){job, group});
    gemm_run_serial(&product, worker,
                    job->scratch + job->plan->scratch.space_at +
                        (size_t)worker * job->plan->scratch.space_bytes);
  }
}

/* Many groups are divided among the workers; few groups are each divided. */
static void multiply_floats(hr_workers_t *workers, conv_job_t *job) {
  const conv_products_t *plan = job->plan;
  if (plan->by_groups) {
    hr_workers_for(workers, plan->sizes.groups, 1, multiply_groups, job);
    return;
  }
  for (int64_t group = 0; group < plan->sizes.groups; group++) {
    gemm_job_t product = product_of(&(conv_source_t){job, group});
    gemm_run(workers, &product, &plan->partition, job->scratch + plan->scratch.space_at);
  }
}

/* The rows of patches of a block, counted from its first. */
typedef struct conv_block {
  conv_view_t view;
  int64_t first;
} conv_block_t;

static void fill_block(const void *context, int64_t row, int64_t rows, int64_t first, int64_t count,
                       void *to) {
  const conv_block_t *block = context;
  conv_patches_fill(&block->view, block->first + row, rows, first, count, to);
}

/* Multiplies integers by the reference's blocks, which wrap as the specification says. */
static void multiply_integers(const conv_job_t *job, int64_t group, int64_t block, int worker) {
  const conv_products_t *plan = job->plan;
  int64_t bytes = plan->conv.types.element_bytes;
  int64_t features = plan->conv.out_features;
  int64_t row = block * plan->sizes.rows;
  conv_block_t context = {view_of(job, group, worker), row};
  matmul_job_t product = {.real = plan->conv.types.real,
                          .m = rows_of(plan, block),
                          .n = plan->sizes.n,
                          .k = plan->sizes.k};
  product.fill = fill_block;
  product.context = &context;
  product.b = job->rhs + group * plan->sizes.n * bytes;
  product.b_row = features;
  product.b_col = 1;
  product.c = job->sums + (row * features + group * plan->sizes.n) * bytes;
  product.c_row = features;
  product.c_col = 1;
  matmul_run(&product, plan->spaces[worker]);
}

/* Task = block * groups + group. */
static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const conv_job_t *job = context;
  const conv_products_t *plan = job->plan;
  for (int64_t task = begin; task < end; task++)
    multiply_integers(job, task % plan->sizes.groups, task / plan->sizes.groups, worker);
}

static void run_depthwise(void *context, int64_t begin, int64_t end, int worker) {
  const conv_job_t *job = context;
  conv_view_t view = view_of(job, 0, worker);
  conv_depthwise_rows(&view, begin, end - begin, job->lhs, job->rhs, job->sums);
}

static int64_t line_width(const conv_plan_t *conv) {
  return conv->out_dims[conv->spatial_rank - 1];
}

/* Computes parts of LINE_UNIT positions of result lines. */
static void run_lines(void *context, int64_t begin, int64_t end, int worker) {
  const conv_job_t *job = context;
  conv_view_t view = view_of(job, 0, worker);
  int64_t width = line_width(&job->plan->conv);
  int64_t parts = (width + LINE_UNIT - 1) / LINE_UNIT;
  for (int64_t task = begin; task < end; task++) {
    int64_t first = task % parts * LINE_UNIT;
    int64_t limit = first + LINE_UNIT < width ? first + LINE_UNIT : width;
    conv_line_run(&view, task / parts, first, limit, job->lhs, job->rhs, job->sums);
  }
}

/* Chooses among lines, depthwise, integer products, and products of floats. */
static void compute(hr_workers_t *workers, conv_job_t *job) {
  const conv_products_t *plan = job->plan;
  int64_t width = conv_is_line(&plan->conv) ? line_width(&plan->conv) : 1;
  if (conv_is_line(&plan->conv))
    hr_workers_for(workers, plan->sizes.m / width * ((width + LINE_UNIT - 1) / LINE_UNIT),
                   1 + LINE_UNIT / width, run_lines, job);
  else if (conv_is_depthwise(&plan->conv))
    hr_workers_for(workers, plan->sizes.m, plan->sizes.rows, run_depthwise, job);
  else if (plan->is_integer)
    hr_workers_for(workers, plan->sizes.groups * plan->sizes.blocks, 1, run_tasks, job);
  else
    multiply_floats(workers, job);
}

/* The operand in the product's type and order; the original if it already has both. */
static const char *ready(hr_workers_t *workers, const conv_products_t *plan,
                         const conv_operand_t *operand, const char *from, char *scratch) {
  if (operand->widened) {
    native_widen(workers, &plan->conv.types, operand->dtype, from, operand->count,
                 scratch + operand->wide_at);
    from = scratch + operand->wide_at;
  }
  if (!operand->order->needed) return from;
  native_copy_strided(workers, &operand->order->copy, scratch + operand->ordered_at,
                      from + operand->order->from_bytes);
  return scratch + operand->ordered_at;
}

/* Padding is multiplied only if a weight is not finite: otherwise its products are zeros. */
hr_status_t conv_run_im2col(const op_native_run_t *run, const void *plan_, void *const *in,
                            void *const *out) {
  const conv_products_t *plan = plan_;
  const conv_plan_t *conv = &plan->conv;
  hr_workers_t *workers = native_workers(run, plan->workers);
  char *scratch = run->scratch;
  char *narrow = conv->out_order.needed ? scratch + plan->scratch.narrow_at : out[0];
  conv_job_t job = {.plan = plan,
                    .scratch = scratch,
                    .sums = plan->narrowed ? scratch + plan->scratch.sums_at : narrow};
  job.lhs = ready(workers, plan, &plan->lhs, in[0], scratch);
  job.rhs = ready(workers, plan, &plan->rhs, in[1], scratch);
  if (is_summed_directly(conv))
    job.multiplies_padding = !conv_are_finite(workers, conv->types.real, job.rhs, conv->rhs_count);
  compute(workers, &job);
  if (plan->narrowed) native_narrow(workers, &conv->types, job.sums, plan->sizes.out_count, narrow);
  if (conv->out_order.needed) native_copy_strided(workers, &conv->out_order.copy, out[0], narrow);
  return NULL;
}

/* --- planning --- */

/* A window of size 1 without padding: the patches are the input. */
static bool is_plain(const conv_plan_t *conv) {
  for (int d = 0; d < conv->spatial_rank; d++) {
    const hlo_window_dim_t *w = &conv->window[d];
    if (w->size != 1 || w->stride != 1 || w->base_dilation != 1 || w->pad_low ||
        conv->in_dims[d] != conv->out_dims[d])
      return false;
  }
  return true;
}

/* Rows per task: TASKS_PER_WORKER tasks for each worker, in multiples of ROW_UNIT. */
static void choose_rows(conv_products_t *plan) {
  int64_t tasks = plan->workers * TASKS_PER_WORKER;
  int64_t share = (plan->sizes.m * plan->sizes.groups + tasks - 1) / tasks;
  int64_t rows = (share + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
  plan->sizes.rows = rows < plan->sizes.m ? rows : plan->sizes.m;
  plan->sizes.blocks = (plan->sizes.m + plan->sizes.rows - 1) / plan->sizes.rows;
}

static bool is_multiplied(const conv_products_t *plan) {
  return !plan->is_integer && !is_summed_directly(&plan->conv);
}

/* Reserves memory for the widened and the reordered copy, if they are needed. */
static void assign_operand_offsets(const matmul_types_t *types, conv_operand_t *operand,
                                   size_t *total) {
  operand->widened = !matmul_is_widened(types, operand->dtype);
  size_t bytes = (size_t)operand->count * (size_t)types->element_bytes;
  operand->wide_at = scratch_reserve(total, operand->widened ? bytes : 0);
  operand->ordered_at = scratch_reserve(total, operand->order->needed ? bytes : 0);
}

/* Lays out the scratch memory: copies of operands, sums, workers' offsets, the product's blocks. */
static size_t assign_offsets(conv_products_t *plan) {
  const conv_plan_t *conv = &plan->conv;
  const matmul_types_t *types = &conv->types;
  size_t total = 0, workers = (size_t)plan->workers;
  plan->lhs =
      (conv_operand_t){.order = &conv->lhs_order, .dtype = types->lhs, .count = conv->lhs_count};
  plan->rhs =
      (conv_operand_t){.order = &conv->rhs_order, .dtype = types->rhs, .count = conv->rhs_count};
  assign_operand_offsets(types, &plan->lhs, &total);
  assign_operand_offsets(types, &plan->rhs, &total);
  plan->narrowed = !matmul_is_widened(types, types->out);
  plan->scratch.sums_at = scratch_reserve(
      &total, plan->narrowed ? (size_t)plan->sizes.out_count * (size_t)types->element_bytes : 0);
  plan->scratch.narrow_at =
      scratch_reserve(&total, conv->out_order.needed ? conv->out_order.size_bytes : 0);
  plan->scratch.offsets_bytes = ((size_t)conv_view_offsets(conv) * sizeof(int64_t) + 63) / 64 * 64;
  plan->scratch.offsets_at = scratch_reserve(&total, workers * plan->scratch.offsets_bytes);
  if (!is_multiplied(plan)) return total;
  plan->scratch.space_bytes = gemm_space_bytes(&plan->job);
  plan->scratch.space_at = scratch_reserve(
      &total, plan->by_groups ? workers * plan->scratch.space_bytes
                              : gemm_scratch_bytes(&plan->job, &plan->partition, plan->workers));
  return total;
}

/* Complex numbers are multiplied by complex products, not by real ones of twice the size. */
static void choose_product(conv_products_t *plan) {
  const matmul_types_t *types = &plan->conv.types;
  plan->is_integer = !hr_dtype_is_float(types->real);
  if (!is_multiplied(plan)) return;
  plan->job = (gemm_job_t){.dtype = types->real,
                           .m = plan->sizes.m,
                           .n = plan->sizes.n,
                           .k = plan->sizes.k,
                           .whole_depth = plan->sizes.groups > 1,
                           .a_col = 1,
                           .b_col = 1};
  if (types->is_complex) plan->job.dtype = types->real == HR_F32 ? HR_C64 : HR_C128;
  plan->job.a_row = plan->conv.in_features;
  plan->job.c_row = plan->conv.out_features;
  plan->job.b_row = plan->job.c_row;
  if (!plan->plain) plan->job.fill = fill_patches;
  plan->partition = gemm_partition_choose(&plan->job, plan->workers);
  plan->by_groups =
      plan->sizes.groups >= 2 * plan->workers ||
      plan->partition.row_parts * plan->partition.col_parts * plan->partition.depth_parts == 1;
}

/* False: an empty result, or sizes that exceed the product's int. */
static bool set_sizes(conv_products_t *plan) {
  const conv_plan_t *conv = &plan->conv;
  plan->sizes.groups = conv->feature_groups * conv->batch_groups;
  plan->sizes.m = conv->out_batch * conv->positions;
  plan->sizes.n = conv->out_features / plan->sizes.groups;
  plan->sizes.k = conv->window_count * conv->group_features;
  plan->sizes.out_count = plan->sizes.m * conv->out_features;
  plan->plain = is_plain(conv);
  return plan->sizes.out_count > 0 && conv->lhs_count > 0 && conv->rhs_count > 0 &&
         plan->sizes.m <= INT_MAX && plan->sizes.k <= INT_MAX && conv->in_features <= INT_MAX &&
         conv->out_features <= INT_MAX;
}

/* Integer products need their own blocks of memory per worker. */
static hr_status_t make_spaces(const op_native_target_t *target, conv_products_t *plan) {
  if (!plan->is_integer || is_summed_directly(&plan->conv)) return NULL;
  HR_TRY(HR_NEW_ARRAY(target->arena, plan->workers, &plan->spaces));
  for (int w = 0; w < plan->workers; w++)
    HR_TRY(matmul_space_new(target->arena, plan->conv.types.real, plan->sizes.rows, plan->sizes.n,
                            plan->sizes.k, &plan->spaces[w]));
  return NULL;
}

/* flops count complex products as four. */
hr_status_t conv_prepare_im2col(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out) {
  conv_products_t *plan;
  HR_TRY(HR_NEW(target->arena, &plan));
  *plan = (conv_products_t){.workers = target->workers};
  hr_status_t refused = conv_plan_init(step, &plan->conv);
  if (refused) { /* the reference kernel reports the reason */
    hr_status_release(refused);
    return NULL;
  }
  if (!set_sizes(plan)) return NULL;
  choose_product(plan);
  choose_rows(plan);
  HR_TRY(make_spaces(target, plan));
  out->scratch_bytes = assign_offsets(plan);
  out->flops = 2.0 * (plan->conv.types.is_complex ? 4 : 1) * (double)plan->sizes.out_count *
               (double)plan->sizes.k;
  out->plan = plan;
  return NULL;
}
