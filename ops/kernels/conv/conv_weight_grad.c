/* Weight gradient with channels innermost. For each tap and input channel (a row of the product)
 * and output channel (a column) it sums input times result gradient over all result positions:
 * C[tap, in][out] = sum over positions of A[position + tap][in] * B[position][out].
 *
 *   for each task: a range of tiles and a range of positions      own sums in memory
 *     for each chunk of 96 positions                              lists of positions by tap
 *       for each panel of columns      chunk x panel of B copied: first-level cache
 *         for each tile                rows x vectors of sums in registers
 *           for each position of the tap's list: C[r][v] += A[r] * B[v]
 *
 * Sums of several position ranges are added in order. With few channels the taps of a row are
 * merged, since they are contiguous in the input; one that reaches past the line is copied with
 * zeros around it. Cost: the multiply-adds, plus one copy of B for each range of tiles. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/simd/simd_target.h"

#define CHUNK 96           /* positions whose gradients are copied at a time */
#define MERGED_CHANNELS 32 /* most channels that are merged with the taps of a row */
#define LEAST_TILES 8      /* least tiles of a task: B is copied for each task */
#define MOST_TAPS 4096
#define LEAST_COLUMNS 8 /* least columns; with fewer im2col or oneDNN is faster */
#define LEAST_TERMS \
  64 /* least terms of all taps: with fewer, lists and copies are most of the work */
#define LEAST_FLOPS 1e5

typedef struct grad_position {
  const void *from; /* input at the tap */
  int64_t result;   /* offset in the copied gradients, elements */
} grad_position_t;

/* One tile over the positions of a list. Strides in elements. */
typedef struct grad_tile {
  int64_t rows, vectors, count;
  const grad_position_t *positions;
  int64_t k_offsets[8]; /* offset of each row from a position */
  const void *results;
  void *sums;
  int64_t sums_step;
} grad_tile_t;

#define TILES_FILE "ops/kernels/conv/conv_weight_grad_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

/* Sizes of the products: a tap's gradient is a [k, columns] matrix. */
typedef struct grad_sizes {
  int64_t bytes;     /* size of an element */
  int64_t taps;      /* taps with separate sums */
  int64_t k;         /* terms of a tap: input channels times merged taps */
  int64_t columns;   /* output channels */
  int64_t positions; /* positions of the result, of all images */
} grad_sizes_t;

/* Division of the sums into register tiles. */
typedef struct grad_tiling {
  int64_t lanes;     /* elements of a vector */
  int64_t rows;      /* rows of a tile, each a term */
  int64_t width;     /* columns of a panel */
  int64_t panels;    /* panels of all columns */
  int64_t tap_tiles; /* tiles of a tap */
  int64_t tiles;     /* tiles of all taps */
  bool in_place;     /* one panel, whose gradients are read in place */
} grad_tiling_t;

/* Offsets in bytes within the step's scratch memory; those after space_bytes are within a worker's
 * space. */
typedef struct grad_scratch {
  int64_t sums_count; /* sums of a range of positions */
  size_t sums_at;
  size_t spaces_at, space_bytes;
  size_t results_at;
  size_t lists_at;
  size_t counts_at;
  size_t edge_copies_at;
} grad_scratch_t;

typedef struct conv_weight_grad {
  const conv_problem_t *problem;
  void (*add_tile)(const grad_tile_t *tile);
  bool merges; /* the innermost taps are merged into the terms of one tap */
  int workers;
  grad_sizes_t sizes;
  grad_tiling_t tiling;
  int64_t tile_parts, place_parts; /* tasks: parts of the tiles times parts of the positions */
  grad_scratch_t scratch;
} conv_weight_grad_t;

typedef struct gradient_run {
  const conv_weight_grad_t *plan;
  const char *src, *dst;
  char *out, *sums, *spaces;
} gradient_run_t;

/* --- running --- */

/* Number of axes whose taps are counted; those of the last one may be merged. */
static int kept_axes(const conv_weight_grad_t *plan) {
  return plan->problem->spatial - plan->merges;
}

static void split_tap(const conv_weight_grad_t *plan, int64_t tap, int64_t *k) {
  memset(k, 0, CONV_MAX_SPATIAL * sizeof *k);
  for (int d = kept_axes(plan) - 1; d >= 0; d--) {
    k[d] = tap % plan->problem->window[d];
    tap /= plan->problem->window[d];
  }
}

/* Splits the index of a position, counted over all images; returns its image. */
static int64_t split_position(const conv_problem_t *p, int64_t number, int64_t *at) {
  for (int d = p->spatial - 1; d >= 0; d--) {
    at[d] = number % p->out[d];
    number /= p->out[d];
  }
  return number;
}

/* Copies the gradients of a position, panel by panel; columns past the last one are zero. */
static void copy_position(const conv_weight_grad_t *plan, const char *from, char *to) {
  int64_t panel = plan->tiling.width * plan->sizes.bytes;
  int64_t whole = plan->sizes.columns / plan->tiling.width;
  int64_t rest = plan->sizes.columns % plan->tiling.width;
  for (int64_t s = 0; s < whole; s++, from += panel, to += CHUNK * panel)
    memcpy(to, from, (size_t)panel);
  if (!rest) return;
  memcpy(to, from, (size_t)(rest * plan->sizes.bytes));
  memset(to + rest * plan->sizes.bytes, 0, (size_t)(panel - rest * plan->sizes.bytes));
}

/* Copies the gradients of positions [first, first + count). */
static void copy_results(const gradient_run_t *r, int64_t first, int64_t count, char *to) {
  const conv_weight_grad_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *dst = &p->arrays[CONV_DST];
  int last = p->spatial - 1;
  for (int64_t i = 0, next; i < count; i = next) {
    int64_t at[CONV_MAX_SPATIAL], from = dst->start + split_position(p, first + i, at) * dst->outer;
    next = hr_min(count, i + p->out[last] - at[last]);
    for (int d = 0; d < p->spatial; d++) from += at[d] * dst->spatial[d];
    for (; i < next; i++, from += dst->spatial[last])
      copy_position(plan, r->dst + from * plan->sizes.bytes,
                    to + i * plan->tiling.width * plan->sizes.bytes);
  }
}

/* The list of one tap for the positions of a chunk, in progress. */
typedef struct grad_list {
  const gradient_run_t *run;
  const int64_t *k;
  grad_position_t *positions;
  int64_t count;
  char *edge_copy; /* free space for the next copy */
} grad_list_t;

/* Copies a merged tap from position x of a line on, which may reach beyond the line's ends. */
static void add_edge_copy(grad_list_t *list, const char *line, int64_t x, int64_t result) {
  const conv_problem_t *p = list->run->plan->problem;
  int last = p->spatial - 1;
  int64_t each = p->in_channels * list->run->plan->sizes.bytes;
  int64_t window = p->window[last];
  int64_t begin = hr_min(hr_max(-x, 0), window);
  int64_t end = hr_max(begin, hr_min(p->in[last] - x, window));
  if (begin == end) return;
  memset(list->edge_copy, 0, (size_t)(window * each));
  memcpy(list->edge_copy + begin * each, line + (x + begin) * each, (size_t)((end - begin) * each));
  list->positions[list->count++] = (grad_position_t){list->edge_copy, result};
  list->edge_copy += window * each;
}

/* Appends `count` positions along the last axis; the first reads position x of the line. */
static void list_line(grad_list_t *list, const char *line, int64_t x, int64_t count,
                      int64_t result) {
  const conv_weight_grad_t *plan = list->run->plan;
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t stride = p->stride[last];
  int64_t each = p->arrays[CONV_SRC].spatial[last] * plan->sizes.bytes;
  int64_t room = p->in[last] - 1 - x - (plan->merges ? p->window[last] - 1 : 0);
  int64_t low = x < 0 ? hr_min(hr_div_ceil(-x, stride), count) : 0;
  int64_t high = room < 0 ? 0 : hr_min(count, room / stride + 1);
  high = hr_max(low, high);
  for (int64_t i = 0; i < low && plan->merges; i++)
    add_edge_copy(list, line, x + i * stride, result + i * plan->tiling.width);
  const char *from = line + (x + low * stride) * each;
  grad_position_t *to = list->positions + list->count - low;
  for (int64_t i = low; i < high; i++, from += stride * each)
    to[i] = (grad_position_t){from, result + i * plan->tiling.width};
  list->count += high - low;
  for (int64_t i = high; i < count && plan->merges; i++)
    add_edge_copy(list, line, x + i * stride, result + i * plan->tiling.width);
}

/* Lists the inputs of a tap, for positions [first, first + count). */
static void list_offsets(grad_list_t *list, int64_t first, int64_t count) {
  const conv_problem_t *p = list->run->plan->problem;
  const conv_array_t *src = &p->arrays[CONV_SRC];
  int last = p->spatial - 1;
  for (int64_t i = 0, next; i < count; i = next) {
    int64_t at[CONV_MAX_SPATIAL], line = src->start + split_position(p, first + i, at) * src->outer;
    bool inside = true;
    next = hr_min(count, i + p->out[last] - at[last]);
    for (int d = 0; d < last; d++) {
      int64_t x = at[d] * p->stride[d] + list->k[d] * p->dilation[d] - p->low[d];
      inside &= x >= 0 && x < p->in[d];
      line += x * src->spatial[d];
    }
    int64_t x = at[last] * p->stride[last] + list->k[last] * p->dilation[last] - p->low[last];
    if (inside)
      list_line(list, list->run->src + line * list->run->plan->sizes.bytes, x, next - i,
                i * list->run->plan->tiling.width);
  }
}

/* Lists all taps of tiles [begin, end). */
static void list_taps(const gradient_run_t *r, int64_t begin, int64_t end, int64_t first,
                      int64_t count, char *space) {
  const conv_weight_grad_t *plan = r->plan;
  grad_position_t *positions = (grad_position_t *)(space + plan->scratch.lists_at);
  int64_t *counts = (int64_t *)(space + plan->scratch.counts_at), k[CONV_MAX_SPATIAL];
  grad_list_t list = {.run = r, .k = k, .edge_copy = space + plan->scratch.edge_copies_at};
  for (int64_t tap = begin / plan->tiling.tap_tiles; tap <= (end - 1) / plan->tiling.tap_tiles;
       tap++) {
    split_tap(plan, tap, k);
    list.positions = positions + tap * CHUNK;
    list.count = 0;
    list_offsets(&list, first, count);
    counts[tap] = list.count;
  }
}

/* Computes one panel of tiles [begin, end). */
static void add_panel(const conv_weight_grad_t *plan, int64_t panel, int64_t begin, int64_t end,
                      const char *results, const char *space, char *sums) {
  const int64_t *counts = (const int64_t *)(space + plan->scratch.counts_at);
  int64_t left = hr_div_ceil(plan->sizes.columns - panel * plan->tiling.width, plan->tiling.lanes);
  grad_tile_t tile = {.rows = plan->tiling.rows,
                      .vectors = hr_min(plan->tiling.width / plan->tiling.lanes, left),
                      .sums_step = plan->tiling.panels * plan->tiling.width};
  tile.results = results + panel * CHUNK * plan->tiling.width * plan->sizes.bytes;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap = i / plan->tiling.tap_tiles;
    int64_t row = i % plan->tiling.tap_tiles * plan->tiling.rows;
    for (int64_t t = 0; t < plan->tiling.rows; t++)
      tile.k_offsets[t] = hr_min(row + t, plan->sizes.k - 1);
    tile.positions = (const grad_position_t *)(space + plan->scratch.lists_at) + tap * CHUNK;
    tile.count = counts[tap];
    tile.sums = sums + (i * plan->tiling.rows * tile.sums_step + panel * plan->tiling.width) *
                           plan->sizes.bytes;
    if (tile.count) plan->add_tile(&tile);
  }
}

static void run_task(const gradient_run_t *r, int64_t task, char *space) {
  const conv_weight_grad_t *plan = r->plan;
  int64_t part = task / plan->tile_parts;
  int64_t number = task % plan->tile_parts;
  int64_t begin = plan->tiling.tiles * number / plan->tile_parts;
  int64_t end = plan->tiling.tiles * (number + 1) / plan->tile_parts;
  int64_t first = plan->sizes.positions * part / plan->place_parts;
  int64_t limit = plan->sizes.positions * (part + 1) / plan->place_parts;
  int64_t tile_bytes =
      plan->tiling.rows * plan->tiling.panels * plan->tiling.width * plan->sizes.bytes;
  char *sums = r->sums + part * plan->scratch.sums_count * plan->sizes.bytes;
  memset(sums + begin * tile_bytes, 0, (size_t)((end - begin) * tile_bytes));
  for (; first < limit; first += CHUNK) {
    int64_t count = hr_min(CHUNK, limit - first);
    char *copied = space + plan->scratch.results_at;
    const char *results =
        plan->tiling.in_place ? r->dst + first * plan->tiling.width * plan->sizes.bytes : copied;
    if (!plan->tiling.in_place) copy_results(r, first, count, copied);
    list_taps(r, begin, end, first, count, space);
    for (int64_t s = 0; s < plan->tiling.panels; s++)
      add_panel(plan, s, begin, end, results, space, sums);
  }
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const gradient_run_t *r = context;
  for (int64_t i = begin; i < end; i++)
    run_task(r, i, r->spaces + (size_t)worker * r->plan->scratch.space_bytes);
}

/* Adds row `from` of all position ranges to that of the first. */
static void add_parts(const gradient_run_t *r, char *row) {
  const conv_weight_grad_t *plan = r->plan;
  for (int64_t part = 1; part < plan->place_parts; part++) {
    const char *other = row + part * plan->scratch.sums_count * plan->sizes.bytes;
    for (int64_t c = 0; c < plan->sizes.columns && plan->sizes.bytes == 4; c++)
      ((float *)row)[c] += ((const float *)other)[c];
    for (int64_t c = 0; c < plan->sizes.columns && plan->sizes.bytes == 8; c++)
      ((double *)row)[c] += ((const double *)other)[c];
  }
}

/* Stores rows [begin, end), counted over all taps, to the result. */
static void finish_terms(void *context, int64_t begin, int64_t end, int worker) {
  const gradient_run_t *r = context;
  const conv_weight_grad_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap = i / plan->sizes.k;
    int64_t term = i % plan->sizes.k;
    int64_t k[CONV_MAX_SPATIAL];
    split_tap(plan, tap, k);
    if (plan->merges) k[p->spatial - 1] = term / p->in_channels;
    int64_t to = wei->start + term % p->in_channels * wei->inner;
    for (int d = 0; d < p->spatial; d++) to += k[d] * wei->spatial[d];
    char *row = r->sums + (tap * plan->tiling.tap_tiles * plan->tiling.rows + term) *
                              plan->tiling.panels * plan->tiling.width * plan->sizes.bytes;
    add_parts(r, row);
    loop_copy_row(r->out + to * plan->sizes.bytes, row, plan->sizes.columns,
                  wei->outer * plan->sizes.bytes, plan->sizes.bytes, (int)plan->sizes.bytes);
  }
}

hr_status_t conv_run_weight_grad(const op_native_run_t *run, const void *opaque, void *const *in,
                                 void *const *out) {
  const conv_weight_grad_t *plan = opaque;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  gradient_run_t r = {plan,
                      in[0],
                      in[1],
                      out[0],
                      scratch + plan->scratch.sums_at,
                      scratch + plan->scratch.spaces_at};
  hr_workers_for(workers, plan->tile_parts * plan->place_parts, 1, run_tasks, &r);
  hr_workers_split(workers, plan->sizes.taps * plan->sizes.k, 1 + 20000 / plan->sizes.columns,
                   finish_terms, &r);
  return NULL;
}

/* --- planning --- */

static bool has_types(const matmul_types_t *t) {
  return !t->is_complex && (t->real == HR_F32 || t->real == HR_F64) && t->lhs == t->real &&
         t->rhs == t->real && t->out == t->real;
}

static bool has_form(const conv_problem_t *p) {
  double taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d];
  return p->kind == CONV_WEIGHTS && p->groups == 1 && taps <= MOST_TAPS &&
         p->flops >= LEAST_FLOPS && taps * (double)p->in_channels >= LEAST_TERMS &&
         p->out_channels >= LEAST_COLUMNS && p->arrays[CONV_SRC].inner == 1 &&
         p->arrays[CONV_DST].inner == 1;
}

/* The best number of rows: surplus rows of a tap's last tile are wasted work, and each tile reads
 * the gradients. */
static int64_t best_rows(const conv_weight_grad_t *plan, int64_t limit) {
  int64_t best = limit;
  double least_cost = INFINITY;
  for (int64_t rows = limit; rows > 0; rows--) {
    double cost = (double)hr_div_ceil(plan->sizes.k, rows) * ((double)rows + 1.5);
    if (cost < least_cost) {
      least_cost = cost;
      best = rows;
    }
  }
  return best;
}

static void plan_tiles(conv_weight_grad_t *plan) {
  const conv_problem_t *p = plan->problem;
  bool wide = simd_width() == SIMD_512;
  int last = p->spatial - 1;
  plan->sizes.bytes = p->types.element_bytes;
  plan->sizes.columns = p->out_channels;
  plan->tiling.lanes = gemm_vector_bytes() / plan->sizes.bytes;
  plan->tiling.width = wide && plan->sizes.columns > 2 * plan->tiling.lanes
                           ? 4 * plan->tiling.lanes
                           : 2 * plan->tiling.lanes;
  plan->tiling.in_place = plan->sizes.columns <= plan->tiling.width &&
                          plan->sizes.columns % plan->tiling.lanes == 0 &&
                          conv_is_plain(p, CONV_DST);
  if (plan->tiling.in_place) plan->tiling.width = plan->sizes.columns;
  plan->tiling.panels = hr_div_ceil(plan->sizes.columns, plan->tiling.width);
  plan->merges = p->in_channels <= MERGED_CHANNELS && p->window[last] > 1 &&
                 p->dilation[last] == 1 && p->arrays[CONV_SRC].spatial[last] == p->in_channels;
  plan->sizes.k = p->in_channels * (plan->merges ? p->window[last] : 1);
  plan->sizes.taps = 1;
  plan->sizes.positions = 1;
  for (int d = 0; d < kept_axes(plan); d++) plan->sizes.taps *= p->window[d];
  plan->sizes.positions = p->batch;
  for (int d = 0; d < p->spatial; d++) plan->sizes.positions *= p->out[d];
  int max_rows = wide && plan->tiling.width <= 2 * plan->tiling.lanes ? 8 : 6;
  plan->tiling.rows = best_rows(plan, max_rows);
  plan->tiling.tap_tiles = hr_div_ceil(plan->sizes.k, plan->tiling.rows);
  plan->tiling.tiles = plan->sizes.taps * plan->tiling.tap_tiles;
  plan->scratch.sums_count =
      plan->tiling.tiles * plan->tiling.rows * plan->tiling.panels * plan->tiling.width;
}

/* Divides the positions by the sizes only, because that decides the order of sums: into as many
 * parts as NATIVE_SUM_PARTS workers need in addition to the tiles. Then divides the tiles by the
 * workers. */
static void plan_tasks(conv_weight_grad_t *plan) {
  int64_t most = hr_max(1, plan->tiling.tiles / LEAST_TILES);
  plan->place_parts = hr_min(NATIVE_SUM_PARTS / hr_min(most, NATIVE_SUM_PARTS),
                             hr_div_ceil(plan->sizes.positions, CHUNK));
  plan->place_parts = hr_max(1, plan->place_parts);
  plan->tile_parts = hr_min(hr_div_ceil(plan->workers, plan->place_parts), most);
}

static size_t assign_offsets(conv_weight_grad_t *plan) {
  size_t each = 0, total = 0, bytes = (size_t)plan->sizes.bytes;
  plan->scratch.results_at =
      scratch_reserve(&each, (size_t)(plan->tiling.panels * CHUNK * plan->tiling.width) * bytes);
  plan->scratch.lists_at =
      scratch_reserve(&each, (size_t)(plan->sizes.taps * CHUNK) * sizeof(grad_position_t));
  plan->scratch.counts_at = scratch_reserve(&each, (size_t)plan->sizes.taps * sizeof(int64_t));
  plan->scratch.edge_copies_at = scratch_reserve(
      &each, plan->merges ? (size_t)(plan->sizes.taps * CHUNK * plan->sizes.k) * bytes : 0);
  plan->scratch.space_bytes = each;
  plan->scratch.sums_at =
      scratch_reserve(&total, (size_t)(plan->place_parts * plan->scratch.sums_count) * bytes);
  plan->scratch.spaces_at = scratch_reserve(&total, each * (size_t)plan->workers);
  return total;
}

hr_status_t conv_prepare_weight_grad(const op_native_target_t *target,
                                     const conv_problem_t *problem, op_native_step_t *out) {
  conv_weight_grad_t *plan;
  if (!has_form(problem) || !has_types(&problem->types)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem;
  plan->workers = target->workers > 0 ? target->workers : 1;
  plan_tiles(plan);
  plan_tasks(plan);
  plan->add_tile = SIMD_FOREACH_REAL(add_tile, plan->sizes.bytes == 8);
  out->scratch_bytes = assign_offsets(plan);
  out->plan = plan;
  return NULL;
}
