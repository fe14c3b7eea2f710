/* Direct convolution with few output channels and a contiguous last axis: filters of signals,
 * stencils, blurs. Vectors of channels would be mostly empty, so vectors are along the last axis:
 * each tap is a scalar weight times a vector of the input at that offset.
 *
 *   out[x .. x + lanes) += weight[tap] * in[offset[tap] + x .. + lanes), for all taps
 *
 * A block is some lines of one channel of a result, or a part of one line. If it reads beyond the
 * input, a zero-padded copy is read instead. Cost: taps * lanes multiply-adds per vector of
 * results; weights are gathered once per block. Not handled: several channels in vectors, base
 * dilation, strides along the last axis. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/simd/simd_target.h"

/* One line of results: result x is the sum over the taps of from[offsets[tap] + x] *
 * weights[tap]. */
typedef struct lines_sum {
  const void *from, *weights;
  void *to;
  const int64_t *offsets; /* elements */
  int64_t taps, count;
} lines_sum_t;

#define TILES_FILE "ops/kernels/conv/conv_direct_narrow_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

#define AXES CONV_MAX_SPATIAL /* the convolution's are the last ones; the others have size 1 */
#define SPLIT_FLOPS 2e5       /* FLOPs below which one worker is as fast */
#define BLOCK_POSITIONS \
  4096 /* results of a block, which fit the first-level cache with their input */
#define LINE_POSITIONS 2048
#define MOST_TAPS 65536

typedef struct lines_axis {
  int64_t in, out, window, stride, dilation, low;
  int64_t from_step, to_step;
  int64_t block, blocks;       /* results of a block; number of blocks */
  int64_t region, region_step; /* positions of a block's copy; stride in it */
} lines_axis_t;

typedef struct conv_direct_narrow {
  const conv_problem_t *problem;
  lines_axis_t axes[AXES];
  int workers;
  int64_t bytes, lanes, taps;    /* taps: over all channels of the input */
  int64_t *in_place, *in_region; /* offset of each tap from a result's first tap: in elements of the
                                    input, of a copy */
  int64_t *weights; /* offset of each tap's weight, from those of the result's channel */
  int64_t tasks;
  size_t space_bytes, copy_at; /* a worker's weights, and the offset of the copy after them */
  void (*sum_line)(const lines_sum_t *line);
} conv_direct_narrow_t;

typedef struct lines_run {
  const conv_direct_narrow_t *plan;
  const char *from, *weights;
  char *to, *spaces;
} lines_run_t;

typedef struct lines_block {
  const lines_run_t *run;
  int64_t image, group, channel;
  int64_t begin[AXES], count[AXES];
  char *space;
} lines_block_t;

/* --- blocks --- */

/* Tasks number blocks along the last axis fastest, then the other axes, channels, groups and
 * images. */
static lines_block_t block_of(const lines_run_t *run, int64_t task, int worker) {
  const conv_direct_narrow_t *plan = run->plan;
  const conv_problem_t *p = plan->problem;
  lines_block_t block = {.run = run, .space = run->spaces + (size_t)worker * plan->space_bytes};
  for (int d = AXES - 1; d >= 0; d--) {
    const lines_axis_t *axis = &plan->axes[d];
    block.begin[d] = task % axis->blocks * axis->block;
    task /= axis->blocks;
    block.count[d] = hr_min(axis->block, axis->out - block.begin[d]);
  }
  block.channel = task % p->out_channels;
  task /= p->out_channels;
  block.group = task % p->groups;
  block.image = task / p->groups;
  return block;
}

/* Offset of the input at the first tap of the block's first result; it may be outside of the
 * array. */
static int64_t first_position(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const conv_array_t *src = &plan->problem->arrays[CONV_SRC];
  int64_t at = src->start + block->image * src->outer +
               block->group * plan->problem->in_channels * src->inner;
  for (int d = 0; d < AXES; d++)
    at += (block->begin[d] * plan->axes[d].stride - plan->axes[d].low) * plan->axes[d].from_step;
  return at;
}

/* Number of input positions that `count` results span. */
static int64_t reach_of(const lines_axis_t *axis, int64_t count) {
  return (count - 1) * axis->stride + (axis->window - 1) * axis->dilation + 1;
}

/* True if all reads are inside the input, surplus lanes of the last vector included. */
static bool is_inside(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const conv_array_t *src = &plan->problem->arrays[CONV_SRC];
  int64_t end = first_position(block) + (plan->problem->in_channels - 1) * src->inner + plan->lanes;
  for (int d = 0; d < AXES; d++) {
    const lines_axis_t *axis = &plan->axes[d];
    int64_t first = block->begin[d] * axis->stride - axis->low;
    int64_t reach = reach_of(axis, block->count[d]);
    if (first < 0 || first + reach > axis->in) return false;
    end += (reach - 1) * axis->from_step;
  }
  return end <= src->count;
}

/* Makes line `number` of the padded copy, counted over channels and all axes but the last. */
static void copy_line(const lines_block_t *block, int64_t number, char *to) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const lines_axis_t *line = &plan->axes[AXES - 1];
  int64_t low = block->begin[AXES - 1] * line->stride - line->low;
  int64_t at = first_position(block);
  int64_t begin = hr_min(hr_max(-low, 0), line->region);
  int64_t end = hr_max(hr_min(line->in - low, line->region), begin);
  bool inside = true;
  for (int d = AXES - 2; d >= 0; d--) {
    const lines_axis_t *axis = &plan->axes[d];
    int64_t y = number % axis->region;
    int64_t at_input = block->begin[d] * axis->stride - axis->low + y;
    number /= axis->region;
    at += y * axis->from_step;
    inside &= at_input >= 0 && at_input < axis->in;
  }
  at += number * plan->problem->arrays[CONV_SRC].inner;
  if (!inside) {
    end = line->region;
    begin = end;
  }
  memset(to, 0, (size_t)(begin * plan->bytes));
  memcpy(to + begin * plan->bytes, block->run->from + (inside ? (at + begin) * plan->bytes : 0),
         (size_t)((end - begin) * plan->bytes));
  memset(to + end * plan->bytes, 0, (size_t)((line->region - end) * plan->bytes));
}

/* Copies the input of the block, zeros included, line by line into scratch memory. */
static char *copy_block(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  char *to = block->space + plan->copy_at;
  int64_t lines = plan->problem->in_channels * plan->axes[0].region * plan->axes[1].region;
  for (int64_t i = 0; i < lines; i++)
    copy_line(block, i, to + i * plan->axes[AXES - 1].region * plan->bytes);
  return to;
}

/* Gathers the weights of one output channel, in the order of the taps' offsets. */
static void gather_weights(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  const char *from =
      block->run->weights +
      (wei->start + block->group * wei->group + block->channel * wei->outer) * plan->bytes;
  for (int64_t t = 0; t < plan->taps; t++)
    memcpy(block->space + t * plan->bytes, from + plan->weights[t] * plan->bytes,
           (size_t)plan->bytes);
}

/* Offset of the block's first result in elements. */
static int64_t result_at(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const conv_array_t *dst = &plan->problem->arrays[CONV_DST];
  int64_t channel = block->group * plan->problem->out_channels + block->channel;
  int64_t at = dst->start + block->image * dst->outer + channel * dst->inner;
  for (int d = 0; d < AXES; d++) at += block->begin[d] * plan->axes[d].to_step;
  return at;
}

/* Each line of results is one call of sum_line over all taps. */
static void run_block(const lines_block_t *block) {
  const conv_direct_narrow_t *plan = block->run->plan;
  const lines_axis_t *axes = plan->axes;
  bool inside = is_inside(block);
  const char *from =
      inside ? block->run->from + first_position(block) * plan->bytes : copy_block(block);
  char *to = block->run->to + result_at(block) * plan->bytes;
  gather_weights(block);
  lines_sum_t line = {.weights = block->space,
                      .offsets = inside ? plan->in_place : plan->in_region,
                      .taps = plan->taps,
                      .count = block->count[AXES - 1]};
  for (int64_t i = 0; i < block->count[0] * block->count[1]; i++) {
    int64_t z = i / block->count[1];
    int64_t y = i % block->count[1];
    int64_t strides[] = {inside ? axes[0].from_step : axes[0].region_step,
                         inside ? axes[1].from_step : axes[1].region_step};
    line.from =
        from + (z * axes[0].stride * strides[0] + y * axes[1].stride * strides[1]) * plan->bytes;
    line.to = to + (z * axes[0].to_step + y * axes[1].to_step) * plan->bytes;
    plan->sum_line(&line);
  }
}

static void run_blocks(void *context, int64_t begin, int64_t end, int worker) {
  for (int64_t task = begin; task < end; task++) {
    lines_block_t block = block_of(context, task, worker);
    run_block(&block);
  }
}

hr_status_t conv_run_direct_narrow(const op_native_run_t *native, const void *plan_,
                                   void *const *in, void *const *out) {
  const conv_direct_narrow_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  lines_run_t run = {
      .plan = plan, .from = in[0], .weights = in[1], .to = out[0], .spaces = native->scratch};
  int64_t grain = p->flops < SPLIT_FLOPS ? plan->tasks : 1;
  if (p->zero_first) memset(out[0], 0, (size_t)(p->arrays[CONV_DST].count * plan->bytes));
  hr_workers_for(native_workers(native, plan->workers), plan->tasks, grain, run_blocks, &run);
  return NULL;
}

/* --- planning --- */

/* Sets three axes; those that the problem lacks have size 1. */
static void plan_axes(conv_direct_narrow_t *plan) {
  const conv_problem_t *p = plan->problem;
  for (int i = 0; i < AXES; i++) {
    int d = i - (AXES - p->spatial);
    plan->axes[i] = (lines_axis_t){.in = 1, .out = 1, .window = 1, .stride = 1, .dilation = 1};
    if (d >= 0)
      plan->axes[i] = (lines_axis_t){.in = p->in[d],
                                     .out = p->out[d],
                                     .window = p->window[d],
                                     .stride = p->stride[d],
                                     .dilation = p->dilation[d],
                                     .low = p->low[d],
                                     .from_step = p->arrays[CONV_SRC].spatial[d],
                                     .to_step = p->arrays[CONV_DST].spatial[d]};
  }
}

/* Divides the axis into parts of at most `positions`, as many as workers can share evenly. */
static void plan_parts(lines_axis_t *axis, int64_t positions, int64_t unit, int workers) {
  int64_t blocks = hr_workers_balance(hr_div_ceil(axis->out, positions), workers);
  axis->block = hr_min(hr_div_ceil(hr_div_ceil(axis->out, blocks), unit) * unit, axis->out);
}

/* A block is some lines, or a part of one line if there are fewer lines than workers. */
static void plan_blocks(conv_direct_narrow_t *plan) {
  lines_axis_t *axes = plan->axes;
  lines_axis_t *line = &axes[AXES - 1];
  const conv_problem_t *p = plan->problem;
  bool single = axes[0].out * axes[1].out * p->batch * p->groups * p->out_channels < plan->workers;
  plan_parts(line, LINE_POSITIONS, plan->lanes, single ? plan->workers : 1);
  plan_parts(&axes[1], hr_max(1, BLOCK_POSITIONS / line->block), 1, plan->workers);
  axes[0].block = 1;
  plan->tasks = p->batch * p->groups * p->out_channels;
  int64_t stride = 1;
  for (int d = AXES - 1; d >= 0; stride *= axes[d--].region) {
    axes[d].blocks = hr_div_ceil(axes[d].out, axes[d].block);
    plan->tasks *= axes[d].blocks;
    axes[d].region = reach_of(&axes[d], axes[d].block) + (d == AXES - 1 ? plan->lanes : 0);
    axes[d].region_step = stride;
  }
  scratch_reserve(&plan->space_bytes, (size_t)(plan->taps * plan->bytes));
  plan->copy_at =
      scratch_reserve(&plan->space_bytes, (size_t)(p->in_channels * stride * plan->bytes));
}

/* Taps are numbered over the input's channels and then along the axes. */
static hr_status_t plan_taps(hr_arena_t *arena, conv_direct_narrow_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *src = &p->arrays[CONV_SRC];
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  int64_t channel = plan->axes[0].region * plan->axes[0].region_step;
  HR_TRY(HR_NEW_ARRAY(arena, plan->taps, &plan->in_place));
  HR_TRY(HR_NEW_ARRAY(arena, plan->taps, &plan->in_region));
  HR_TRY(HR_NEW_ARRAY(arena, plan->taps, &plan->weights));
  for (int64_t t = 0; t < plan->taps; t++) {
    int64_t rest = t;
    for (int i = AXES - 1; i >= AXES - p->spatial; i--) {
      const lines_axis_t *axis = &plan->axes[i];
      int64_t k = rest % axis->window;
      int64_t d = i - (AXES - p->spatial);
      rest /= axis->window;
      plan->in_place[t] += k * axis->dilation * axis->from_step;
      plan->in_region[t] += k * axis->dilation * axis->region_step;
      plan->weights[t] += (wei->reversed[d] ? axis->window - 1 - k : k) * wei->spatial[d];
    }
    plan->in_place[t] += rest * src->inner;
    plan->in_region[t] += rest * channel;
    plan->weights[t] += rest * wei->inner;
  }
  return NULL;
}

static int64_t count_taps(const conv_problem_t *p) {
  double taps = (double)p->in_channels;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d];
  return taps <= MOST_TAPS ? (int64_t)taps : 0;
}

/* True if vectors along the last axis are fuller than those of channels would be. */
static bool has_form(const conv_problem_t *p, int64_t lanes) {
  const matmul_types_t *t = &p->types;
  int last = p->spatial - 1;
  bool real = (t->real == HR_F32 || t->real == HR_F64) && t->lhs == t->real && t->rhs == t->real &&
              t->out == t->real;
  bool in_line =
      last >= 0 && p->arrays[CONV_SRC].spatial[last] == 1 && p->arrays[CONV_DST].spatial[last] == 1;
  return p->kind == CONV_FORWARD && real && !t->is_complex && in_line && p->stride[last] == 1 &&
         p->out[last] >= lanes && p->out_channels * 4 <= lanes &&
         (p->groups == 1 || p->in_channels == 1);
}

/* Declines everything that has_form refuses. */
hr_status_t conv_prepare_direct_narrow(const op_native_target_t *target,
                                       const conv_problem_t *problem, op_native_step_t *out) {
  conv_direct_narrow_t *plan;
  int64_t bytes = problem->types.element_bytes;
  int64_t lanes = gemm_vector_bytes() / bytes;
  if (!has_form(problem, lanes) || !count_taps(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem;
  plan->workers = target->workers;
  plan->bytes = bytes;
  plan->lanes = lanes;
  plan->taps = count_taps(problem);
  plan->sum_line = SIMD_FOREACH_REAL(sum_line, bytes == 8);
  plan_axes(plan);
  plan_blocks(plan);
  HR_TRY(plan_taps(target->arena, plan));
  out->scratch_bytes = plan->space_bytes * (size_t)target->workers;
  out->plan = plan;
  return NULL;
}
