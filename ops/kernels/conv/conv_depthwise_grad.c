/* Weight gradient of a depthwise convolution with channels innermost. Each weight is a sum over all
 * result positions:
 *
 *   C[tap][c] = sum over positions of A[position + tap][c] * B[position][c]
 *
 *   for each task: a block of channels and a range of lines         own sums in memory
 *     for each chunk of 96 positions along the last axis
 *       for each line of results                                    axes other than the last one
 *         for each tap of these axes    its input, copied with zeros around it: first-level cache
 *           for each 8 taps of the last axis                        sums in registers
 *             for each position: sums[t][v] += A[t][v] * B[v]
 *
 * A line of input is copied once for all taps that read it. Sums of several ranges of lines are
 * added in order. */
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

#define CHUNK 96    /* most positions whose inputs are copied at a time */
#define MOST_TAPS 8 /* most taps of a call of add_line */
#define MOST_WINDOW 1024
#define MOST_COPIED 65536 /* most elements of a channel that are copied for a chunk */

/* Positions of a line and taps of its last axis; steps in elements. */
typedef struct depthwise_line {
  int64_t taps, vectors, count;
  const void *from, *gradients;
  int64_t step, tap_step; /* distance between the inputs of neighbouring positions, and taps */
  int64_t gradient_step;
  void *sums; /* [tap][channel] */
} depthwise_line_t;

#define TILES_FILE "ops/kernels/conv/conv_depthwise_grad_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

/* Offsets in bytes within the step's scratch memory; those after space_bytes are within a worker's
 * space. */
typedef struct depthwise_scratch {
  size_t widened_at[2]; /* input and gradients in the type of sums */
  size_t result_at;     /* the result in the type of sums */
  size_t sums_at;
  size_t spaces_at, space_bytes;
  size_t lines_at, names_at;
} depthwise_scratch_t;

typedef struct depthwise_grad {
  const conv_problem_t *problem;
  void (*add_line)(const depthwise_line_t *line);
  int workers;
  int64_t bytes;         /* size of an element */
  int64_t vectors;       /* vectors of a block */
  int64_t width, blocks; /* channels of a block; the last block may overlap the one before */
  int64_t lines, parts;  /* lines of results; ranges of them with own sums */
  int64_t taps;          /* taps of all axes */
  int64_t chunk, reach;  /* positions of a chunk; inputs that they read along the last axis */
  int64_t extent[CONV_MAX_SPATIAL]; /* inputs along each other axis that a position reads */
  int64_t slots;                    /* copied lines of input: the product of the extents */
  bool widens[2], narrows;
  depthwise_scratch_t scratch;
} depthwise_grad_t;

typedef struct depthwise_run {
  const depthwise_grad_t *plan;
  const char *src, *dst;
  char *out, *sums, *spaces;
} depthwise_run_t;

/* --- running --- */

/* A task's block of channels and memory. */
typedef struct depthwise_task {
  const depthwise_run_t *run;
  int64_t channel; /* first of the block */
  int64_t first;   /* first position of the chunk */
  char *sums, *lines;
  int64_t *names; /* by slot: number of the line of input that it holds; -1: none */
} depthwise_task_t;

/* Copies the inputs of the chunk from a line, with zeros where there are none. */
static void copy_line(const depthwise_task_t *task, const char *line, char *to) {
  const depthwise_grad_t *plan = task->run->plan;
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t step = p->arrays[CONV_SRC].spatial[last] * plan->bytes, bytes = plan->width * plan->bytes;
  int64_t at = task->first * p->stride[last] - p->low[last];
  int64_t begin = hr_min(hr_max(-at, 0), plan->reach);
  int64_t end = hr_max(begin, hr_min(p->in[last] - at, plan->reach));
  memset(to, 0, (size_t)(begin * bytes));
  for (int64_t i = begin; i < end; i++)
    memcpy(to + i * bytes, line + (at + i) * step, (size_t)bytes);
  memset(to + end * bytes, 0, (size_t)((plan->reach - end) * bytes));
}

/* The copied line of input that a position of the other axes reads at a tap; NULL: it is outside.
 */
static const char *find_line(const depthwise_task_t *task, int64_t image, const int64_t *at,
                             const int64_t *tap) {
  const depthwise_grad_t *plan = task->run->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *src = &p->arrays[CONV_SRC];
  int64_t slot = 0, name = image, from = src->start + image * src->outer + task->channel;
  for (int d = 0; d < p->spatial - 1; d++) {
    int64_t x = at[d] * p->stride[d] + tap[d] * p->dilation[d] - p->low[d];
    if (x < 0 || x >= p->in[d]) return NULL;
    slot = slot * plan->extent[d] + x % plan->extent[d];
    name = name * p->in[d] + x;
    from += x * src->spatial[d];
  }
  char *to = task->lines + slot * plan->reach * plan->width * plan->bytes;
  if (task->names[slot] != name) copy_line(task, task->run->src + from * plan->bytes, to);
  task->names[slot] = name;
  return to;
}

/* Adds the products of a chunk of a line of results to the sums of the taps of the last axis. */
static void add_taps(const depthwise_task_t *task, const char *from, const char *gradients,
                     char *sums) {
  const depthwise_grad_t *plan = task->run->plan;
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t groups = hr_div_ceil(p->window[last], MOST_TAPS);
  depthwise_line_t line = {.vectors = plan->vectors,
                           .count = hr_min(plan->chunk, p->out[last] - task->first),
                           .gradients = gradients,
                           .step = p->stride[last] * plan->width,
                           .tap_step = p->dilation[last] * plan->width,
                           .gradient_step = p->arrays[CONV_DST].spatial[last]};
  for (int64_t g = 0; g < groups; g++) {
    int64_t tap = p->window[last] * g / groups;
    line.taps = p->window[last] * (g + 1) / groups - tap;
    line.from = from + tap * line.tap_step * plan->bytes;
    line.sums = sums + tap * plan->width * plan->bytes;
    plan->add_line(&line);
  }
}

/* Splits a number into indices of all axes but the last; returns what is left. */
static int64_t split(const conv_problem_t *p, int64_t number, const int64_t *sizes, int64_t *at) {
  for (int d = p->spatial - 2; d >= 0; d--) {
    at[d] = number % sizes[d];
    number /= sizes[d];
  }
  return number;
}

static void add_result_line(const depthwise_task_t *task, int64_t number) {
  const depthwise_grad_t *plan = task->run->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *dst = &p->arrays[CONV_DST];
  int last = p->spatial - 1;
  int64_t at[CONV_MAX_SPATIAL], tap[CONV_MAX_SPATIAL], image = split(p, number, p->out, at);
  int64_t gradients = dst->start + image * dst->outer + task->channel;
  for (int d = 0; d < last; d++) gradients += at[d] * dst->spatial[d];
  gradients += task->first * dst->spatial[last];
  for (int64_t t = 0; t < plan->taps / p->window[last]; t++) {
    split(p, t, p->window, tap);
    const char *from = find_line(task, image, at, tap);
    if (from)
      add_taps(task, from, task->run->dst + gradients * plan->bytes,
               task->sums + t * p->window[last] * plan->width * plan->bytes);
  }
}

static void run_task(const depthwise_run_t *r, int64_t number, char *space) {
  const depthwise_grad_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  int64_t part = number / plan->blocks, block = number % plan->blocks;
  int64_t sums_bytes = plan->taps * plan->width * plan->bytes;
  depthwise_task_t task = {r,
                           hr_min(block * plan->width, p->groups - plan->width),
                           0,
                           r->sums + number * sums_bytes,
                           space + plan->scratch.lines_at,
                           (int64_t *)(space + plan->scratch.names_at)};
  memset(task.sums, 0, (size_t)sums_bytes);
  for (; task.first < p->out[p->spatial - 1]; task.first += plan->chunk) {
    for (int64_t i = 0; i < plan->slots; i++) task.names[i] = -1;
    int64_t end = plan->lines * (part + 1) / plan->parts;
    for (int64_t i = plan->lines * part / plan->parts; i < end; i++) add_result_line(&task, i);
  }
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const depthwise_run_t *r = context;
  for (int64_t i = begin; i < end; i++)
    run_task(r, i, r->spaces + (size_t)worker * r->plan->scratch.space_bytes);
}

#define DEFINE_ADD_PARTS(T)                                            \
  static T add_parts_##T(const T *sums, int64_t parts, int64_t step) { \
    T sum = sums[0];                                                   \
    for (int64_t i = 1; i < parts; i++) sum += sums[i * step];         \
    return sum;                                                        \
  }
DEFINE_ADD_PARTS(float)
DEFINE_ADD_PARTS(double)

/* Stores the weights of a tap: the sums of all parts. */
static void store_tap(const depthwise_run_t *r, int64_t tap, int64_t to) {
  const depthwise_grad_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  int64_t block_step = plan->taps * plan->width, part_step = plan->blocks * block_step;
  for (int64_t c = 0; c < p->groups; c++) {
    int64_t block = c / plan->width;
    int64_t first = hr_min(block * plan->width, p->groups - plan->width);
    int64_t from = block * block_step + tap * plan->width + c - first;
    int64_t at = to + c * p->arrays[CONV_WEI].group;
    if (plan->bytes == 4)
      ((float *)r->out)[at] = add_parts_float((float *)r->sums + from, plan->parts, part_step);
    else
      ((double *)r->out)[at] = add_parts_double((double *)r->sums + from, plan->parts, part_step);
  }
}

static void store_taps(void *context, int64_t begin, int64_t end, int worker) {
  const depthwise_run_t *r = context;
  const conv_problem_t *p = r->plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  int last = p->spatial - 1;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap[CONV_MAX_SPATIAL], to = wei->start + i % p->window[last] * wei->spatial[last];
    split(p, i / p->window[last], p->window, tap);
    for (int d = 0; d < last; d++) to += tap[d] * wei->spatial[d];
    store_tap(r, i, to);
  }
}

static const void *widen(hr_workers_t *workers, const depthwise_grad_t *plan, int which,
                         conv_role_t role, const void *from, char *scratch) {
  const conv_array_t *array = &plan->problem->arrays[role];
  void *to = scratch + plan->scratch.widened_at[which];
  if (!plan->widens[which]) return from;
  native_widen(workers, &plan->problem->types, array->dtype, from, array->count, to);
  return to;
}

hr_status_t conv_run_depthwise_grad(const op_native_run_t *run, const void *opaque, void *const *in,
                                    void *const *out) {
  const depthwise_grad_t *plan = opaque;
  const conv_problem_t *p = plan->problem;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  depthwise_run_t r = {plan,
                       widen(workers, plan, 0, CONV_SRC, in[0], scratch),
                       widen(workers, plan, 1, CONV_DST, in[1], scratch),
                       plan->narrows ? scratch + plan->scratch.result_at : out[0],
                       scratch + plan->scratch.sums_at,
                       scratch + plan->scratch.spaces_at};
  hr_workers_for(workers, plan->blocks * plan->parts, 1, run_tasks, &r);
  hr_workers_split(workers, plan->taps, 1 + 20000 / (p->groups * plan->parts), store_taps, &r);
  if (plan->narrows) native_narrow(workers, &p->types, r.out, p->arrays[CONV_WEI].count, out[0]);
  return NULL;
}

/* --- planning --- */

static bool has_types(const matmul_types_t *t) {
  return !t->is_complex && (t->real == HR_F32 || t->real == HR_F64) && hr_dtype_is_float(t->lhs) &&
         hr_dtype_is_float(t->rhs) && hr_dtype_is_float(t->out);
}

/* Elements of a channel that the positions of a chunk read. */
static double copied_elements(const conv_problem_t *p) {
  double lines = 1, reach = CHUNK * (double)p->stride[p->spatial - 1];
  for (int d = 0; d < p->spatial; d++) {
    double extent = (double)(p->window[d] - 1) * (double)p->dilation[d] + 1;
    if (d < p->spatial - 1)
      lines *= extent;
    else
      reach += extent;
  }
  return lines * reach;
}

static bool has_form(const conv_problem_t *p) {
  int64_t taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= p->window[d];
  for (int d = 0; d < p->spatial; d++)
    if (p->arrays[CONV_WEI].reversed[d]) return false;
  return p->kind == CONV_WEIGHTS && p->spatial > 0 && p->in_channels == 1 && p->out_channels == 1 &&
         !p->zero_first && taps <= MOST_WINDOW && copied_elements(p) <= MOST_COPIED &&
         p->arrays[CONV_SRC].inner == 1 && p->arrays[CONV_DST].inner == 1;
}

/* Vectors of a block: sums of all taps of a call, and a vector of gradients for each, stay in
 * registers; as few channels as possible are computed by two blocks. */
static void plan_blocks(depthwise_grad_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t window = p->window[p->spatial - 1], lanes = gemm_vector_bytes() / plan->bytes, best = 0;
  int64_t taps = hr_div_ceil(window, hr_div_ceil(window, MOST_TAPS));
  int64_t registers = simd_width() == SIMD_512 ? 32 : 16;
  for (int64_t vectors = 4; vectors > 0; vectors /= 2) {
    int64_t blocks = hr_div_ceil(p->groups, vectors * lanes);
    bool fits = vectors == 1 || vectors * (taps + 1) < registers;
    if (!fits || vectors * lanes > p->groups || (best && blocks * vectors >= best)) continue;
    best = blocks * vectors;
    plan->vectors = vectors;
    plan->blocks = blocks;
    plan->width = vectors * lanes;
  }
}

/* Ranges of lines follow from sizes only, as they decide the order of sums. */
static void plan_lines(depthwise_grad_t *plan) {
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  plan->taps = p->window[last];
  plan->lines = p->batch;
  plan->slots = 1;
  for (int d = 0; d < last; d++) {
    plan->taps *= p->window[d];
    plan->lines *= p->out[d];
    plan->extent[d] = (p->window[d] - 1) * p->dilation[d] + 1;
    plan->slots *= plan->extent[d];
  }
  plan->parts = hr_max(1, hr_min(NATIVE_SUM_PARTS / plan->blocks, plan->lines));
  plan->chunk = hr_div_ceil(p->out[last], hr_div_ceil(p->out[last], CHUNK));
  plan->reach = (plan->chunk - 1) * p->stride[last] + (p->window[last] - 1) * p->dilation[last] + 1;
}

static size_t assign_offsets(depthwise_grad_t *plan) {
  static const conv_role_t roles[] = {CONV_SRC, CONV_DST};
  const conv_problem_t *p = plan->problem;
  size_t each = 0, total = 0, bytes = (size_t)plan->bytes, width = (size_t)plan->width * bytes;
  for (int i = 0; i < 2; i++) {
    size_t count = (size_t)p->arrays[roles[i]].count;
    plan->widens[i] = p->arrays[roles[i]].dtype != p->types.real;
    plan->scratch.widened_at[i] = scratch_reserve(&total, plan->widens[i] ? count * bytes : 0);
  }
  plan->narrows = p->types.out != p->types.real;
  plan->scratch.result_at =
      scratch_reserve(&total, plan->narrows ? (size_t)p->arrays[CONV_WEI].count * bytes : 0);
  plan->scratch.sums_at =
      scratch_reserve(&total, (size_t)(plan->parts * plan->blocks * plan->taps) * width);
  plan->scratch.lines_at = scratch_reserve(&each, (size_t)(plan->slots * plan->reach) * width);
  plan->scratch.names_at = scratch_reserve(&each, (size_t)plan->slots * sizeof(int64_t));
  plan->scratch.space_bytes = each;
  plan->scratch.spaces_at = scratch_reserve(&total, each * (size_t)plan->workers);
  return total;
}

hr_status_t conv_prepare_depthwise_grad(const op_native_target_t *target,
                                        const conv_problem_t *problem, op_native_step_t *out) {
  depthwise_grad_t *plan;
  if (!has_form(problem) || !has_types(&problem->types)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem;
  plan->bytes = problem->types.element_bytes;
  plan->workers = target->workers > 0 ? target->workers : 1;
  plan_blocks(plan);
  if (!plan->width || problem->flops == 0) return NULL;
  plan_lines(plan);
  plan->add_line = SIMD_FOREACH_REAL(add_line, plan->bytes == 8);
  out->scratch_bytes = assign_offsets(plan);
  out->plan = plan;
  return NULL;
}
