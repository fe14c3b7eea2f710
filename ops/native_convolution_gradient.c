/* Gradients of a convolution's weights, with channels innermost: for each tap, an element of the window, and channel of
 * the input (a term) the sum over all places of the result of what the tap sees there times the gradients of the
 * channels of the result (columns).
 *
 *   tile     a few terms of a tap by some vectors of columns: in registers, while all places of a chunk go past
 *   chunk    some places: the gradients of a strip of columns, copied, stay in the innermost cache while all tiles
 *            go past; of each tap a list of the places where it meets the input
 *   task     some tiles and a range of places, with sums of its own in memory; those of several ranges are added
 *
 * Where channels are few the taps of a row are one: they lie side by side in the input. One that reaches beyond the end
 * of a line is copied, with zeros around it. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "ops/native_convolution.h"
#include "ops/native_cpu.h"

#define CHUNK 96                  /* places */
#define MERGED_CHANNELS 32        /* with no more of them the taps of a row are one */
#define LEAST_TILES 8             /* of a task: its gradients are copied for it alone */
#define MOST_TAPS 4096
#define LEAST_COLUMNS 8           /* others are better done in other ways */
#define LEAST_FLOPS 1e5

typedef struct gradient_place {
  const void *from; /* what the tap sees */
  int64_t result;   /* of the copied gradients, in elements */
} gradient_place_t;

/* Steps in elements. */
typedef struct gradient_tile {
  int64_t rows, vectors, count;
  const gradient_place_t *places;
  int64_t terms[8]; /* of its rows, from a place */
  const void *results;
  void *sums;
  int64_t sums_step;
} gradient_tile_t;

#define TILES_FILE "ops/gradient_tiles.h"
#include "ops/each_width.h"

typedef struct conv_gradient {
  const conv_problem_t *problem;
  void (*add_tile)(const gradient_tile_t *tile);
  bool merges;
  int workers;
  int64_t bytes, taps, terms, columns; /* terms of a tap */
  int64_t lanes, rows, width, strips;  /* of a vector; of a tile; columns of a strip */
  int64_t tap_tiles, tiles, places;    /* tiles of a tap and in all */
  int64_t tile_parts, place_parts;     /* tasks */
  int64_t sums_count;                  /* of a range of places */
  size_t sums_at, spaces_at, space_bytes;                 /* spaces: one a worker */
  size_t results_at, lists_at, counts_at, rims_at;        /* in a space */
} conv_gradient_t;

typedef struct gradient_run {
  const conv_gradient_t *plan;
  const char *src, *dst;
  char *out, *sums, *spaces;
} gradient_run_t;

/* --- running --- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

/* Axes whose taps are counted; the last one's may be merged. */
static int kept_axes(const conv_gradient_t *plan) { return plan->problem->spatial - plan->merges; }

static void split_tap(const conv_gradient_t *plan, int64_t tap, int64_t *k) {
  memset(k, 0, CONV_MAX_SPATIAL * sizeof *k);
  for (int d = kept_axes(plan) - 1; d >= 0; d--) k[d] = tap % plan->problem->window[d], tap /= plan->problem->window[d];
}

/* Splits a place's number, counted over all images; returns its image. */
static int64_t split_place(const conv_problem_t *p, int64_t number, int64_t *at) {
  for (int d = p->spatial - 1; d >= 0; d--) at[d] = number % p->out[d], number /= p->out[d];
  return number;
}

/* Gradients of places [first, first + count), strip by strip; columns past the last one are zero. */
static void copy_results(const gradient_run_t *r, int64_t first, int64_t count, char *to) {
  const conv_gradient_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *dst = &p->arrays[CONV_DST];
  for (int64_t i = 0; i < count; i++) {
    int64_t at[CONV_MAX_SPATIAL], from = dst->start + split_place(p, first + i, at) * dst->outer;
    for (int d = 0; d < p->spatial; d++) from += at[d] * dst->spatial[d];
    for (int64_t s = 0; s < plan->strips; s++) {
      int64_t columns = least(plan->width, plan->columns - s * plan->width);
      char *line = to + (s * CHUNK + i) * plan->width * plan->bytes;
      memcpy(line, r->dst + (from + s * plan->width) * plan->bytes, (size_t)(columns * plan->bytes));
      memset(line + columns * plan->bytes, 0, (size_t)((plan->width - columns) * plan->bytes));
    }
  }
}

/* A tap at work on the places of a chunk: what it has found so far. */
typedef struct gradient_list {
  const gradient_run_t *run;
  const int64_t *k;
  gradient_place_t *places;
  int64_t count;
  char *rim; /* free for the next copy */
} gradient_list_t;

/* A merged tap from place x of a line on, which may reach beyond the line's ends. */
static void add_rim(gradient_list_t *list, const char *line, int64_t x, int64_t result) {
  const conv_problem_t *p = list->run->plan->problem;
  int last = p->spatial - 1;
  int64_t each = p->in_channels * list->run->plan->bytes, window = p->window[last];
  int64_t begin = least(most(-x, 0), window), end = most(begin, least(p->in[last] - x, window));
  if (begin == end) return;
  memset(list->rim, 0, (size_t)(window * each));
  memcpy(list->rim + begin * each, line + (x + begin) * each, (size_t)((end - begin) * each));
  list->places[list->count++] = (gradient_place_t){list->rim, result};
  list->rim += window * each;
}

/* `count` places along the last axis, the first of which sees place x of the line. */
static void list_line(gradient_list_t *list, const char *line, int64_t x, int64_t count, int64_t result) {
  const conv_gradient_t *plan = list->run->plan;
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t stride = p->stride[last], each = p->arrays[CONV_SRC].spatial[last] * plan->bytes;
  int64_t room = p->in[last] - 1 - x - (plan->merges ? p->window[last] - 1 : 0);
  int64_t low = x < 0 ? least(divide_up(-x, stride), count) : 0, high = room < 0 ? 0 : least(count, room / stride + 1);
  high = most(low, high);
  for (int64_t i = 0; i < low && plan->merges; i++) add_rim(list, line, x + i * stride, result + i * plan->width);
  const char *from = line + (x + low * stride) * each;
  gradient_place_t *to = list->places + list->count - low;
  for (int64_t i = low; i < high; i++, from += stride * each)
    to[i] = (gradient_place_t){from, result + i * plan->width};
  list->count += high - low;
  for (int64_t i = high; i < count && plan->merges; i++) add_rim(list, line, x + i * stride, result + i * plan->width);
}

/* Where a tap meets the input, of places [first, first + count). */
static void list_places(gradient_list_t *list, int64_t first, int64_t count) {
  const conv_problem_t *p = list->run->plan->problem;
  const conv_array_t *src = &p->arrays[CONV_SRC];
  int last = p->spatial - 1;
  for (int64_t i = 0, next; i < count; i = next) {
    int64_t at[CONV_MAX_SPATIAL], line = src->start + split_place(p, first + i, at) * src->outer;
    bool inside = true;
    next = least(count, i + p->out[last] - at[last]);
    for (int d = 0; d < last; d++) {
      int64_t x = at[d] * p->stride[d] + list->k[d] * p->dilation[d] - p->low[d];
      inside &= x >= 0 && x < p->in[d];
      line += x * src->spatial[d];
    }
    int64_t x = at[last] * p->stride[last] + list->k[last] * p->dilation[last] - p->low[last];
    if (inside)
      list_line(list, list->run->src + line * list->run->plan->bytes, x, next - i, i * list->run->plan->width);
  }
}

/* Of each tap of tiles [begin, end). */
static void list_taps(const gradient_run_t *r, int64_t begin, int64_t end, int64_t first, int64_t count, char *space) {
  const conv_gradient_t *plan = r->plan;
  gradient_place_t *places = (gradient_place_t *)(space + plan->lists_at);
  int64_t *counts = (int64_t *)(space + plan->counts_at), k[CONV_MAX_SPATIAL];
  gradient_list_t list = {.run = r, .k = k, .rim = space + plan->rims_at};
  for (int64_t tap = begin / plan->tap_tiles; tap <= (end - 1) / plan->tap_tiles; tap++) {
    split_tap(plan, tap, k);
    list.places = places + tap * CHUNK, list.count = 0;
    list_places(&list, first, count);
    counts[tap] = list.count;
  }
}

/* One strip of tiles [begin, end). */
static void add_strip(const conv_gradient_t *plan, int64_t strip, int64_t begin, int64_t end, const char *space,
                      char *sums) {
  const int64_t *counts = (const int64_t *)(space + plan->counts_at);
  int64_t left = divide_up(plan->columns - strip * plan->width, plan->lanes);
  gradient_tile_t tile = {.rows = plan->rows, .vectors = least(plan->width / plan->lanes, left),
                          .sums_step = plan->strips * plan->width};
  tile.results = space + plan->results_at + strip * CHUNK * plan->width * plan->bytes;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap = i / plan->tap_tiles, row = i % plan->tap_tiles * plan->rows;
    for (int64_t t = 0; t < plan->rows; t++) tile.terms[t] = least(row + t, plan->terms - 1);
    tile.places = (const gradient_place_t *)(space + plan->lists_at) + tap * CHUNK, tile.count = counts[tap];
    tile.sums = sums + (i * plan->rows * tile.sums_step + strip * plan->width) * plan->bytes;
    if (tile.count) plan->add_tile(&tile);
  }
}

static void run_task(const gradient_run_t *r, int64_t task, char *space) {
  const conv_gradient_t *plan = r->plan;
  int64_t part = task / plan->tile_parts, number = task % plan->tile_parts;
  int64_t begin = plan->tiles * number / plan->tile_parts, end = plan->tiles * (number + 1) / plan->tile_parts;
  int64_t first = plan->places * part / plan->place_parts, limit = plan->places * (part + 1) / plan->place_parts;
  int64_t tile_bytes = plan->rows * plan->strips * plan->width * plan->bytes;
  char *sums = r->sums + part * plan->sums_count * plan->bytes;
  memset(sums + begin * tile_bytes, 0, (size_t)((end - begin) * tile_bytes));
  for (; first < limit; first += CHUNK) {
    int64_t count = least(CHUNK, limit - first);
    copy_results(r, first, count, space + plan->results_at);
    list_taps(r, begin, end, first, count, space);
    for (int64_t s = 0; s < plan->strips; s++) add_strip(plan, s, begin, end, space, sums);
  }
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const gradient_run_t *r = context;
  for (int64_t i = begin; i < end; i++) run_task(r, i, r->spaces + (size_t)worker * r->plan->space_bytes);
}

/* Sums of row `from` of all ranges of places, in that of the first. */
static void add_parts(const gradient_run_t *r, char *row) {
  const conv_gradient_t *plan = r->plan;
  for (int64_t part = 1; part < plan->place_parts; part++) {
    const char *other = row + part * plan->sums_count * plan->bytes;
    for (int64_t c = 0; c < plan->columns && plan->bytes == 4; c++) ((float *)row)[c] += ((const float *)other)[c];
    for (int64_t c = 0; c < plan->columns && plan->bytes == 8; c++) ((double *)row)[c] += ((const double *)other)[c];
  }
}

/* Terms [begin, end), counted over all taps, to where they belong. */
static void finish_terms(void *context, int64_t begin, int64_t end, int worker) {
  const gradient_run_t *r = context;
  const conv_gradient_t *plan = r->plan;
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t tap = i / plan->terms, term = i % plan->terms, k[CONV_MAX_SPATIAL];
    split_tap(plan, tap, k);
    if (plan->merges) k[p->spatial - 1] = term / p->in_channels;
    int64_t to = wei->start + term % p->in_channels * wei->inner;
    for (int d = 0; d < p->spatial; d++) to += k[d] * wei->spatial[d];
    char *row = r->sums + (tap * plan->tap_tiles * plan->rows + term) * plan->strips * plan->width * plan->bytes;
    add_parts(r, row);
    loop_copy_row(r->out + to * plan->bytes, row, plan->columns, wei->outer * plan->bytes, plan->bytes,
                  (int)plan->bytes);
  }
}

hr_status_t conv_run_gradient(const op_native_run_t *run, const void *opaque, void *const *in, void *const *out) {
  const conv_gradient_t *plan = opaque;
  char *scratch = run->scratch;
  hr_workers_t *workers = native_workers(run, plan->workers);
  gradient_run_t r = {plan, in[0], in[1], out[0], scratch + plan->sums_at, scratch + plan->spaces_at};
  hr_workers_for(workers, plan->tile_parts * plan->place_parts, 1, run_tasks, &r);
  hr_workers_split(workers, plan->taps * plan->terms, 1 + 20000 / plan->columns, finish_terms, &r);
  return NULL;
}

/* --- planning --- */

static bool has_form(const conv_problem_t *p) {
  const matmul_types_t *t = &p->types;
  double taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d];
  return p->kind == CONV_WEIGHTS && !t->is_complex && (t->real == HR_F32 || t->real == HR_F64) && t->lhs == t->real &&
         t->rhs == t->real && t->out == t->real && p->groups == 1 && taps <= MOST_TAPS && p->flops >= LEAST_FLOPS &&
         p->arrays[CONV_SRC].inner == 1 && p->arrays[CONV_DST].inner == 1 && p->out_channels >= LEAST_COLUMNS;
}

static void plan_tiles(conv_gradient_t *plan) {
  const conv_problem_t *p = plan->problem;
  bool wide = native_width() == NATIVE_WIDE;
  int last = p->spatial - 1;
  plan->bytes = p->types.element_bytes, plan->columns = p->out_channels;
  plan->lanes = (wide ? 64 : native_width() == NATIVE_MIDDLE ? 32 : 16) / plan->bytes;
  bool broad = wide && plan->columns > 2 * plan->lanes;
  plan->rows = broad ? 6 : wide ? 8 : 4, plan->width = (broad ? 4 : 2) * plan->lanes;
  plan->strips = divide_up(plan->columns, plan->width);
  plan->merges = p->in_channels <= MERGED_CHANNELS && p->window[last] > 1 && p->dilation[last] == 1 &&
                 p->arrays[CONV_SRC].spatial[last] == p->in_channels;
  plan->terms = p->in_channels * (plan->merges ? p->window[last] : 1), plan->taps = plan->places = 1;
  for (int d = 0; d < kept_axes(plan); d++) plan->taps *= p->window[d];
  plan->places = p->batch;
  for (int d = 0; d < p->spatial; d++) plan->places *= p->out[d];
  plan->tap_tiles = divide_up(plan->terms, plan->rows), plan->tiles = plan->taps * plan->tap_tiles;
  plan->sums_count = plan->tiles * plan->rows * plan->strips * plan->width;
}

/* Tiles are shared out first, and then places. */
static void plan_tasks(conv_gradient_t *plan) {
  int64_t workers = plan->workers;
  plan->tile_parts = least(workers, most(1, plan->tiles / LEAST_TILES));
  plan->place_parts = least(workers / plan->tile_parts, divide_up(plan->places, CHUNK));
  if (plan->place_parts < 1) plan->place_parts = 1;
}

static size_t place_all(conv_gradient_t *plan) {
  size_t each = 0, total = 0, bytes = (size_t)plan->bytes;
  plan->results_at = native_take(&each, (size_t)(plan->strips * CHUNK * plan->width) * bytes);
  plan->lists_at = native_take(&each, (size_t)(plan->taps * CHUNK) * sizeof(gradient_place_t));
  plan->counts_at = native_take(&each, (size_t)plan->taps * sizeof(int64_t));
  plan->rims_at = native_take(&each, plan->merges ? (size_t)(plan->taps * CHUNK * plan->terms) * bytes : 0);
  plan->space_bytes = each;
  plan->sums_at = native_take(&total, (size_t)(plan->place_parts * plan->sums_count) * bytes);
  plan->spaces_at = native_take(&total, each * (size_t)plan->workers);
  return total;
}

hr_status_t conv_prepare_gradient(const op_native_target_t *target, const conv_problem_t *problem,
                                  op_native_step_t *out) {
  conv_gradient_t *plan;
  if (!has_form(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem, plan->workers = target->workers > 0 ? target->workers : 1;
  plan_tiles(plan);
  plan_tasks(plan);
  plan->add_tile = EACH_WIDTH(add_tile, plan->bytes == 8);
  out->scratch_bytes = place_all(plan);
  out->plan = plan;
  return NULL;
}
