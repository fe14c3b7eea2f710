/* Plan of a Winograd convolution: whether it is faster by a cost model, tiles of a block, layouts
 * of the arrays, scratch memory. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/conv_winograd.h"

#define BLOCK_BYTES \
  (512 << 10)         /* bytes of the points of a block: a part of the second-level cache */
#define LEAST_UNIT 32 /* least tiles of a block: each block reads all weights */
#define SUMS_BYTES \
  (4 << 20)         /* most bytes of partial sums of weight gradients, if there are more than two */
#define TILE_UNIT 8 /* rows of the products' register tile */

static bool has_type(const matmul_types_t *types) {
  return !types->is_complex && (types->real == HR_F32 || types->real == HR_F64) &&
         types->lhs == types->real && types->rhs == types->real && types->out == types->real;
}

bool winograd_has_form(const conv_problem_t *p) {
  if (!has_type(&p->types) || p->kind == CONV_DATA || p->spatial != 2 || p->groups != 1 ||
      p->zero_first)
    return false;
  for (int d = 0; d < 2; d++)
    if (p->window[d] != 3 || p->stride[d] != 1 || p->dilation[d] != 1) return false;
  return p->in_channels >= MIN_CHANNELS && p->out_channels >= MIN_CHANNELS;
}

/* Costs in multiply-adds; the transforms count by their measured time. Weights are read at all
 * points, and transformed in every run unless they are constant, which costs less if they stay in
 * the caches. Weight gradients are partial sums at all points, which are transformed back. */
static bool is_cheaper(const winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  bool gradient = p->kind == CONV_WEIGHTS;
  double in = (double)p->in_channels, out = (double)p->out_channels,
         tiles = (double)plan->tiling.count;
  double each = 12, weights = 60;
  if (p->constant_weights) weights = 20;
  if (plan->columns.count) {
    weights = 16;
    tiles = (double)hr_round_up(plan->tiling.count, 4);
  }
  if (gradient) {
    each = 30;
    weights = 200;
  }
  double cost = tiles * POINTS * (in * out + each * (in + out)) + POINTS * weights * in * out;
  return cost < 0.4 * p->flops;
}

static void plan_tiles(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  plan->tiling.rows = hr_div_ceil(p->out[0], OUT_SIDE);
  plan->tiling.columns = hr_div_ceil(p->out[1], OUT_SIDE);
  plan->tiling.count = p->batch * plan->tiling.rows * plan->tiling.columns;
  winograd_plan_columns(plan);
  if (plan->columns.count) {
    plan->tiling.unit = plan->tiling.count;
    plan->tiling.blocks = 1;
    return;
  }
  int64_t unit = BLOCK_BYTES / (POINTS * (p->in_channels + p->out_channels) * plan->element_bytes);
  if (unit < LEAST_UNIT) unit = LEAST_UNIT;
  int workers = p->kind == CONV_WEIGHTS ? NATIVE_SUM_PARTS : plan->workers;
  int64_t blocks = hr_workers_balance(hr_div_ceil(plan->tiling.count, unit), workers);
  plan->tiling.unit = hr_div_ceil(hr_div_ceil(plan->tiling.count, blocks), TILE_UNIT) * TILE_UNIT;
  plan->tiling.blocks = hr_div_ceil(plan->tiling.count, plan->tiling.unit);
}

/* Reals of a line of so many vectors: long lines, and planes of them, must not all start in the
 * same cache set. */
static int64_t line_of(int64_t vectors) {
  return (vectors % MIN_CHANNELS ? vectors : vectors + 1) * MIN_CHANNELS;
}

/* Number of parts of the sums over tiles, from the sizes only: fewer if their memory would be
 * large. */
static int sum_parts(const winograd_t *plan) {
  int64_t parts = hr_min(plan->tiling.blocks, NATIVE_SUM_PARTS);
  int64_t each = POINTS * plan->sums.plane * plan->element_bytes;
  return (int)hr_min(parts, hr_max(2, SUMS_BYTES / each));
}

static void plan_product(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t in = hr_div_ceil(p->in_channels, MIN_CHANNELS);
  int64_t out = hr_div_ceil(p->out_channels, MIN_CHANNELS);
  plan->tiling.in_line = line_of(in);
  plan->tiling.out_line = line_of(out);
  plan->tiling.in_plane =
      (plan->tiling.unit * plan->tiling.in_line / MIN_CHANNELS | 1) * MIN_CHANNELS;
  plan->tiling.out_plane =
      (plan->tiling.unit * plan->tiling.out_line / MIN_CHANNELS | 1) * MIN_CHANNELS;
  plan->job = (gemm_job_t){.dtype = p->types.real,
                           .m = plan->tiling.unit,
                           .n = out * MIN_CHANNELS,
                           .k = p->in_channels,
                           .a_row = plan->tiling.in_line,
                           .a_col = 1,
                           .c_row = plan->tiling.out_line};
  if (p->kind != CONV_WEIGHTS) return;
  plan->job.m = p->in_channels;
  plan->job.k = plan->tiling.unit;
  plan->job.a_row = 1;
  plan->job.a_col = plan->tiling.in_line;
  plan->job.b_row = plan->tiling.out_line;
  plan->job.b_col = 1;
  plan->sums.plane = (p->in_channels * plan->tiling.out_line / MIN_CHANNELS | 1) * MIN_CHANNELS;
  plan->sums.parts = sum_parts(plan);
}

static void plan_weights(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  plan->weights = (winograd_weights_t){.in_channels = p->in_channels,
                                       .out_channels = p->out_channels,
                                       .columns = plan->job.n,
                                       .in_step = wei->inner,
                                       .out_step = wei->outer,
                                       .panels = gemm_panels_of(&plan->job)};
  plan->weights.plane = (int64_t)gemm_packed_bytes(&plan->job) / plan->element_bytes;
  for (int k = 0; k < 9; k++) {
    int64_t row = wei->reversed[0] ? 2 - k / 3 : k / 3;
    int64_t column = wei->reversed[1] ? 2 - k % 3 : k % 3;
    plan->weights.tap_offsets[k] = row * wei->spatial[0] + column * wei->spatial[1];
  }
}

/* Sorts by descending strides; false if these are not those of a dense array. */
static bool sort_dims(int rank, int64_t *dims, int64_t *strides, int64_t *others) {
  for (int i = 1; i < rank; i++)
    for (int j = i; j > 0 && strides[j - 1] < strides[j]; j--) {
      int64_t dim = dims[j];
      int64_t stride = strides[j];
      int64_t other = others[j];
      dims[j] = dims[j - 1];
      strides[j] = strides[j - 1];
      others[j] = others[j - 1];
      dims[j - 1] = dim;
      strides[j - 1] = stride;
      others[j - 1] = other;
    }
  int64_t size = 1;
  for (int d = rank - 1; d >= 0; size *= dims[d], d--)
    if (dims[d] > 1 && strides[d] != size) return false;
  return true;
}

/* False: the array cannot be transposed to channels innermost. */
static hr_status_t plan_array(hr_arena_t *arena, const winograd_t *plan, conv_role_t role,
                              winograd_array_t *side, bool *out_fits) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *given = &p->arrays[role];
  const int64_t *sizes = role == CONV_SRC ? p->in : p->out;
  int64_t channels = role == CONV_SRC ? p->in_channels : p->out_channels, dense[4];
  int64_t dims[] = {p->batch, sizes[0], sizes[1], channels};
  int64_t sorted[] = {dims[0], dims[1], dims[2], dims[3]};
  int64_t strides[] = {given->outer, given->spatial[0], given->spatial[1], given->inner}, lies[4];
  side->as_read = *given;
  *out_fits = true;
  if (given->inner == 1) return NULL;
  loop_dense_strides(4, dims, 1, dense);
  memcpy(lies, strides, sizeof lies);
  side->as_read = (conv_array_t){
      .inner = 1, .outer = dense[0], .count = dims[0] * dense[0], .spatial = {dense[1], dense[2]}};
  *out_fits =
      sort_dims(4, sorted, lies, dense) && given->start == 0 && given->count == side->as_read.count;
  if (!*out_fits) return NULL;
  bool reads = role == CONV_SRC || p->kind == CONV_WEIGHTS;
  return native_transpose_plan_new(arena, (int)plan->element_bytes, 4, reads ? dims : sorted,
                                   reads ? strides : dense, &side->order);
}

/* Number of positions of an image, if its channels are contiguous planes. */
static int64_t plane_of(const conv_array_t *given, const int64_t *sizes, int64_t channels) {
  int64_t plane = sizes[0] * sizes[1];
  bool fits = given->start == 0 && given->inner == plane && given->spatial[0] == sizes[1] &&
              given->spatial[1] == 1 && given->outer == plane * channels;
  return fits ? plane : 0;
}

/* Decides whether whole images divide evenly among the workers. */
static void plan_images(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  plan->src.plane = plane_of(&p->arrays[CONV_SRC], p->in, p->in_channels);
  plan->dst.plane = plane_of(&p->arrays[CONV_DST], p->out, p->out_channels);
  plan->by_images = p->kind == CONV_FORWARD && !plan->columns.count && plan->src.plane &&
                    plan->dst.plane &&
                    (p->batch % plan->workers == 0 || p->batch >= 4 * plan->workers);
}

/* Reserves memory for arrays that are transposed as a whole. */
static void set_ordered(winograd_t *plan, size_t *total) {
  winograd_array_t *sides[] = {&plan->src, &plan->dst};
  for (int i = 0; i < 2; i++)
    sides[i]->at = scratch_reserve(
        total, sides[i]->order ? (size_t)(sides[i]->as_read.count * plan->element_bytes) : 0);
}

size_t winograd_plan_scratch(winograd_t *plan) {
  const conv_problem_t *p = plan->problem;
  size_t total = 0, each = 0, bytes = (size_t)plan->element_bytes;
  int64_t longest = p->in_channels > p->out_channels ? p->in_channels : p->out_channels;
  size_t *points = plan->columns.count ? &total : &each;
  plan->scratch.in_at = scratch_reserve(points, POINTS * (size_t)plan->tiling.in_plane * bytes);
  plan->scratch.out_at = scratch_reserve(points, POINTS * (size_t)plan->tiling.out_plane * bytes);
  plan->scratch.weights_at = scratch_reserve(&each, winograd_columns_bytes(plan));
  plan->scratch.zeros_at = scratch_reserve(&each, (size_t)longest * bytes);
  plan->scratch.sums_at = scratch_reserve(&each, POINTS * (size_t)plan->sums.plane * bytes);
  plan->scratch.spare_at = scratch_reserve(&each, (size_t)p->out_channels * bytes);
  gemm_job_t job = plan->columns.count ? winograd_columns_job(plan) : plan->job;
  plan->scratch.gemm_at = scratch_reserve(&each, gemm_space_bytes(&job));
  if (plan->by_images) {
    plan->src.at = scratch_reserve(&each, (size_t)(plan->src.plane * p->in_channels) * bytes);
    plan->dst.at = scratch_reserve(&each, (size_t)(plan->dst.plane * p->out_channels) * bytes);
  }
  plan->scratch.space_bytes = each;
  plan->scratch.zeros_bytes = (size_t)longest * bytes;
  bool packs_all = !plan->packed && p->kind != CONV_WEIGHTS && !plan->columns.count;
  plan->scratch.packed_at = scratch_reserve(&total, packs_all ? winograd_packed_bytes(plan) : 0);
  if (!plan->by_images) set_ordered(plan, &total);
  int spaces = hr_max(plan->workers, plan->sums.parts);
  plan->scratch.spaces_at = scratch_reserve(&total, each * (size_t)spaces);
  return total;
}

hr_status_t winograd_plan_init(hr_arena_t *arena, winograd_t *plan, bool *out_fits) {
  bool src_fits, dst_fits;
  plan->element_bytes = plan->problem->types.element_bytes;
  *out_fits = false;
  plan_tiles(plan);
  if (!is_cheaper(plan)) return NULL;
  plan_product(plan);
  plan_weights(plan);
  HR_TRY(plan_array(arena, plan, CONV_SRC, &plan->src, &src_fits));
  HR_TRY(plan_array(arena, plan, CONV_DST, &plan->dst, &dst_fits));
  plan_images(plan);
  *out_fits = src_fits && dst_fits;
  return NULL;
}
