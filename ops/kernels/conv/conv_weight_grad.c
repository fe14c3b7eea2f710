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

#define CHUNK 96           /* positions */
#define MERGED_CHANNELS 32 /* at most so many channels are merged with the taps of a row */
#define LEAST_TILES 8      /* tiles of a task, at least: B is copied for each task */
#define MOST_TAPS 4096
#define LEAST_COLUMNS 8 /* with fewer columns im2col or oneDNN is faster */
#define LEAST_TERMS 64  /* terms of all taps: with fewer, lists and copies are most of the work */
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

typedef struct conv_weight_grad {
  const conv_problem_t *problem;
  void (*add_tile)(const grad_tile_t *tile);
  bool merges, in_place; /* in_place: one panel, whose gradients are read in place */
  int workers;
  int64_t bytes, taps, k, columns;    /* terms of a tap */
  int64_t lanes, rows, width, panels; /* elements of a vector; rows and columns of a tile; panels */
  int64_t tap_tiles, tiles, positions;                    /* tiles of a tap and in all */
  int64_t tile_parts, place_parts;                        /* tasks */
  int64_t sums_count;                                     /* sums of a range of positions */
  size_t sums_at, spaces_at, space_bytes;                 /* spaces: one a worker */
  size_t results_at, lists_at, counts_at, edge_copies_at; /* in a space */
} conv_weight_grad_t;

typedef struct gradient_run {
  const conv_weight_grad_t *plan;
  const char *src, *dst;
  char *out, *sums, *spaces;
} gradient_run_t;

/* --- running --- */

/* Axes whose taps are counted; the last one's may be merged. */
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
  for (int d = p->spatial - 1; d >= 0; d--) at[d] = number % p->out[d], number /= p->out[d];
  return number;
}

/* Copies the gradients of a position, panel by panel; columns past the last one are zero. */
static void copy_position(const conv_weight_grad_t *plan, const char *from, char *to) {
  int64_t panel = plan->width * plan->bytes;
  int64_t whole = plan->columns / plan->width;
  int64_t rest = plan->columns % plan->width;
  for (int64_t s = 0; s < whole; s++, from += panel, to += CHUNK * panel)
    memcpy(to, from, (size_t)panel);
  if (!rest) return;
  memcpy(to, from, (size_t)(rest * plan->bytes));
  memset(to + rest * plan->bytes, 0, (size_t)(panel - rest * plan->bytes));
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
      copy_position(plan, r->dst + from * plan->bytes, to + i * plan->width * plan->bytes);
  }
}

/* The list of one tap for the positions of a chunk, in progress. */
typedef struct grad_list {
  const gradient_run_t *run;
  const int64_t *k;
  grad_position_t *positions;
  int64_t count;
  char *edge_copy; /* free for the next copy */
} grad_list_t;

/* Copies a merged tap from position x of a line on, which may reach beyond the line's ends. */
static void add_edge_copy(grad_list_t *list, const char *line, int64_t x, int64_t result) {
  const conv_problem_t *p = list->run->plan->problem;
  int last = p->spatial - 1;
  int64_t each = p->in_channels * list->run->plan->bytes;
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
  int64_t each = p->arrays[CONV_SRC].spatial[last] * plan->bytes;
  int64_t room = p->in[last] - 1 - x - (plan->merges ? p->window[last] - 1 : 0);
  int64_t low = x < 0 ? hr_min(hr_div_ceil(-x, stride), count) : 0;
  int64_t high = room < 0 ? 0 : hr_min(count, room / stride + 1);
  high = hr_max(low, high);
  for (int64_t i = 0; i < low && plan->merges; i++)
    add_edge_copy(list, line, x + i * stride, result + i * plan->width);
  const char *from = line + (x + low * stride) * each;
  grad_position_t *to = list->positions + list->count - low;
  for (int64_t i = low; i < high; i++, from += stride * each)
    to[i] = (grad_position_t){from, result + i * plan->width};
  list->count += high - low;
  for (int64_t i = high; i < count && plan->merges; i++)
    add_edge_copy(list, line, x + i * stride, result + i * plan->width);
}

/* Lists where a tap meets the input, for positions [first, first + count). */
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
      list_line(list, list->run->src + line * list->run->plan->bytes, x, next - i,
                i * list->run->plan->width);
  }
}

/* Lists of all taps of tiles [begin, end). */
static void list_taps(const gradient_run_t *r, int64_t begin, int64_t end, int64_t first,
                      int64_t count, char *space) {
  const conv_weight_grad_t *plan = r->plan;
  grad_position_t *positions = (grad_position_t *)(space + plan->lists_at);
  int64_t *counts = (int64_t *)(space + plan->counts_at), k[CONV_MAX_SPATIAL];
  grad_list_t list = {.run = r, .k = k, .edge_copy = space + plan->edge_copies_at};
  for (int64_t tap = begin / plan->tap_tiles; tap <= (end - 1) / plan->tap_tiles; tap++) {
    split_tap(plan, tap, k);
    list.positions = positions + tap * CHUNK;
    list.count = 0;
    list_offsets(&list, first, count);
    counts[tap] = list.count;
  }
}

/* One panel of tiles [begin, end). */
static void add_panel(const conv_weight_grad_t *plan, int64_t panel, int64_t begin, int64_t end,
                      const char *results, const char *space, char *sums) {
  const int64_t *counts = (const int64_t *)(space + plan->counts_at);
  int64_t left = hr_div_ceil(plan->columns - panel * plan->width, plan->lanes);
  grad_tile_t tile = {.rows = plan->rows,
                      .vectors = hr_min(plan->width / plan->lanes, left),
                      .sums_step = plan->panels * plan->width};
  tile.results = results + panel * CHUNK * plan->width * plan->bytes;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap = i / plan->tap_tiles;
    int64_t row = i % plan->tap_tiles * plan->rows;
    for (int64_t t = 0; t < plan->rows; t++) tile.k_offsets[t] = hr_min(row + t, plan->k - 1);
    tile.positions = (const grad_position_t *)(space + plan->lists_at) + tap * CHUNK;
    tile.count = counts[tap];
    tile.sums = sums + (i * plan->rows * tile.sums_step + panel * plan->width) * plan->bytes;
    if (tile.count) plan->add_tile(&tile);
  }
}

static void run_task(const gradient_run_t *r, int64_t task, char *space) {
  const conv_weight_grad_t *plan = r->plan;
  int64_t part = task / plan->tile_parts;
  int64_t number = task % plan->tile_parts;
  int64_t begin = plan->tiles * number / plan->tile_parts;
  int64_t end = plan->tiles * (number + 1) / plan->tile_parts;
  int64_t first = plan->positions * part / plan->place_parts;
  int64_t limit = plan->positions * (part + 1) / plan->place_parts;
  int64_t tile_bytes = plan->rows * plan->panels * plan->width * plan->bytes;
  char *sums = r->sums + part * plan->sums_count * plan->bytes;
  memset(sums + begin * tile_bytes, 0, (size_t)((end - begin) * tile_bytes));
  for (; first < limit; first += CHUNK) {
    int64_t count = hr_min(CHUNK, limit - first);
    char *copied = space + plan->results_at;
    const char *results = plan->in_place ? r->dst + first * plan->width * plan->bytes : copied;
    if (!plan->in_place) copy_results(r, first, count, copied);
    list_taps(r, begin, end, first, count, space);
    for (int64_t s = 0; s < plan->panels; s++) add_panel(plan, s, begin, end, results, space, sums);
  }
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const gradient_run_t *r = context;
  for (int64_t i = begin; i < end; i++)
    run_task(r, i, r->spaces + (size_t)worker * r->plan->space_bytes);
}

/* Adds row `from` of all position ranges to that of the first. */
static void add_parts(const gradient_run_t *r, char *row) {
  const conv_weight_grad_t *plan = r->plan;
  for (int64_t part = 1; part < plan->place_parts; part++) {
    const char *other = row + part * plan->sums_count * plan->bytes;
    for (int64_t c = 0; c < plan->columns && plan->bytes == 4; c++)
      ((float *)row)[c] += ((const float *)other)[c];
    for (int64_t c = 0; c < plan->columns && plan->bytes == 8; c++)
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
    int64_t tap = i / plan->k;
    int64_t term = i % plan->k;
    int64_t k[CONV_MAX_SPATIAL];
    split_tap(plan, tap, k);
    if (plan->merges) k[p->spatial - 1] = term / p->in_channels;
    int64_t to = wei->start + term % p->in_channels * wei->inner;
    for (int d = 0; d < p->spatial; d++) to += k[d] * wei->spatial[d];
    char *row = r->sums + (tap * plan->tap_tiles * plan->rows + term) * plan->panels * plan->width *
                              plan->bytes;
    add_parts(r, row);
    loop_copy_row(r->out + to * plan->bytes, row, plan->columns, wei->outer * plan->bytes,
                  plan->bytes, (int)plan->bytes);
  }
}

hr_status_t conv_run_weight_grad(const op_native_run_t *run, const void *opaque, void *const *in,
                                 void *const *out) {
  const conv_weight_grad_t *plan = opaque;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  gradient_run_t r = {
      plan, in[0], in[1], out[0], scratch + plan->sums_at, scratch + plan->spaces_at};
  hr_workers_for(workers, plan->tile_parts * plan->place_parts, 1, run_tasks, &r);
  hr_workers_split(workers, plan->taps * plan->k, 1 + 20000 / plan->columns, finish_terms, &r);
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

/* Surplus rows of a tap's last tile are wasted work, and each tile reads the gradients. */
static int64_t best_rows(const conv_weight_grad_t *plan, int64_t limit) {
  int64_t best = limit;
  double least_cost = INFINITY;
  for (int64_t rows = limit; rows > 0; rows--) {
    double cost = (double)hr_div_ceil(plan->k, rows) * ((double)rows + 1.5);
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
  plan->bytes = p->types.element_bytes;
  plan->columns = p->out_channels;
  plan->lanes = gemm_vector_bytes() / plan->bytes;
  plan->width = wide && plan->columns > 2 * plan->lanes ? 4 * plan->lanes : 2 * plan->lanes;
  plan->in_place = plan->columns <= plan->width && plan->columns % plan->lanes == 0 &&
                   conv_is_plain(p, CONV_DST);
  if (plan->in_place) plan->width = plan->columns;
  plan->panels = hr_div_ceil(plan->columns, plan->width);
  plan->merges = p->in_channels <= MERGED_CHANNELS && p->window[last] > 1 &&
                 p->dilation[last] == 1 && p->arrays[CONV_SRC].spatial[last] == p->in_channels;
  plan->k = p->in_channels * (plan->merges ? p->window[last] : 1);
  plan->taps = plan->positions = 1;
  for (int d = 0; d < kept_axes(plan); d++) plan->taps *= p->window[d];
  plan->positions = p->batch;
  for (int d = 0; d < p->spatial; d++) plan->positions *= p->out[d];
  int max_rows = plan->width > 2 * plan->lanes ? 6 : 8;
  plan->rows = best_rows(plan, wide ? max_rows : 4);
  plan->tap_tiles = hr_div_ceil(plan->k, plan->rows);
  plan->tiles = plan->taps * plan->tap_tiles;
  plan->sums_count = plan->tiles * plan->rows * plan->panels * plan->width;
}

/* Divides the tiles first, then the positions. */
static void plan_tasks(conv_weight_grad_t *plan) {
  int64_t workers = plan->workers;
  plan->tile_parts = hr_min(workers, hr_max(1, plan->tiles / LEAST_TILES));
  plan->place_parts = hr_min(workers / plan->tile_parts, hr_div_ceil(plan->positions, CHUNK));
  if (plan->place_parts < 1) plan->place_parts = 1;
}

static size_t assign_offsets(conv_weight_grad_t *plan) {
  size_t each = 0, total = 0, bytes = (size_t)plan->bytes;
  plan->results_at = scratch_reserve(&each, (size_t)(plan->panels * CHUNK * plan->width) * bytes);
  plan->lists_at = scratch_reserve(&each, (size_t)(plan->taps * CHUNK) * sizeof(grad_position_t));
  plan->counts_at = scratch_reserve(&each, (size_t)plan->taps * sizeof(int64_t));
  plan->edge_copies_at =
      scratch_reserve(&each, plan->merges ? (size_t)(plan->taps * CHUNK * plan->k) * bytes : 0);
  plan->space_bytes = each;
  plan->sums_at = scratch_reserve(&total, (size_t)(plan->place_parts * plan->sums_count) * bytes);
  plan->spaces_at = scratch_reserve(&total, each * (size_t)plan->workers);
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
  plan->add_tile = SIMD_FOREACH_REAL(add_tile, plan->bytes == 8);
  out->scratch_bytes = assign_offsets(plan);
  out->plan = plan;
  return NULL;
}
