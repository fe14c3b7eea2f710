/* Convolutions of f32 and f64 as sums over taps, the elements of the window: a place of the result is the sum, over the
 * taps, of the channels at one place of the input times a matrix of weights. Nothing is copied to say so: tiles of a
 * few places and vectors of columns (channels of the result) stay in registers while they read the input through
 * pointers, one for each place and tap. Outside of the input they lead to a line of zeros.
 *
 *   phase    results that meet the same taps. With holes in the input (gradients, transposed convolutions) there is one
 *            for each remainder of a place by the holes' width; no hole is ever read
 *   strip    two or four vectors of columns of the weights, packed [tap][channel][column]
 *   block    some lines of results of a phase and group, on one worker; all strips go past it
 *   region   a copy of what a block reads, channels innermost and with zeros around it: where channels are not
 *            innermost in the program, or so few that the taps of a row are better read as one
 *
 * Results go where they belong at once, or by way of a copy of the block if channels are not innermost or do not fill
 * vectors. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "ops/native_convolution.h"
#include "ops/native_cpu.h"
#include "ops/native_transpose.h"

#define CHUNK_WEIGHTS 32768      /* of a strip at once: they stay in the second cache */
#define BLOCK_BYTES (384 << 10)  /* of a block's input and results: a part of it too */
#define TABLE_BYTES (128 << 10)  /* of its pointers */
#define TERM_UNIT 16             /* of a tap at once, at least */
#define LEAST_PLACES 32          /* of a block: weights must be used often enough */
#define MOST_PLACES 1024
#define MERGED_CHANNELS 16       /* with fewer of them the taps of a row are one */
#define LEAST_TERMS 8            /* of a tap: with fewer other ways are better */
#define SPLIT_FLOPS 2e5

/* A strip past the tiles of a block: some terms of each tap. Steps in elements. */
typedef struct tap_strip {
  int64_t rows, vectors, tiles, taps; /* of a tile; of the block; most taps of a tile */
  const int32_t *live;                /* of each tile: how many taps any of its places has, and which */
  const void *const *places;          /* of each tile and live tap: where its rows are */
  void *const *results;               /* of each tile: of its rows */
  int64_t column, first, count;       /* terms [first, first + count) of each tap */
  const void *weights;                /* of these terms and columns */
  int64_t tap_step, width;            /* of the weights: to the next tap and term */
  bool adds;                          /* to what is there */
} tap_strip_t;

/* Weights of a tap, before they are packed. */
typedef struct tap_weights {
  int64_t terms, columns, term_step, column_step, width;
} tap_weights_t;

#define TILES_FILE "ops/tap_tiles.h"
#include "ops/each_width.h"

/* One spatial dimension of a phase. */
typedef struct taps_axis {
  int64_t first, step, count; /* its results */
  int64_t in_step;            /* of the input, from one result to the next */
  int64_t taps;
  int64_t *starts, *elements; /* of each: the first result's place, ascending, and which of the window it is */
} taps_axis_t;

typedef struct taps_phase {
  taps_axis_t axes[CONV_MAX_SPATIAL];
  int64_t taps, terms;  /* pointers of a place, terms at each */
  int64_t *offsets;     /* of each tap from the place that a result starts from; elements of the input or region */
  int64_t line_places, lines, block_lines, blocks, first_task;
  int64_t strip;        /* elements of a packed strip */
  int64_t packed_at;    /* elements; of group 0 */
  int64_t region[CONV_MAX_SPATIAL], region_steps[CONV_MAX_SPATIAL]; /* places of an image, and steps */
} taps_phase_t;

typedef struct conv_taps {
  const conv_problem_t *problem;
  conv_array_t from, to;
  const int64_t *from_sizes, *to_sizes;
  int64_t terms, columns, term_step, column_step; /* of a group's weights */
  int64_t bytes;                                  /* of an element */
  int64_t lanes, rows, width, strips, padded; /* of a vector, of a tile; of a group: strips, columns that they have */
  int workers, phase_count;
  taps_phase_t *phases;
  int64_t parts, part_strips, tasks; /* parts of the columns */
  bool merges, has_region, has_copy;
  int64_t group_packed, packed_count; /* elements */
  const void *packed;                 /* weights that are known */
  int64_t block_places, block_taps;   /* most places of a block, most pointers */
  size_t packed_at, spaces_at, space_bytes;                   /* spaces: one a worker */
  size_t zeros_at, spare_at, table_at, live_at, results_at, region_at, copy_at; /* in a space */
} conv_taps_t;

typedef struct taps_run {
  const conv_taps_t *plan;
  const char *from, *weights;
  char *to, *packed, *spaces;
} taps_run_t;

/* A block at work. Lines [begin, end) are counted over all images. */
typedef struct taps_block {
  const taps_run_t *run;
  const taps_phase_t *phase;
  int64_t group, begin, end, places, tiles;
  char *space;
} taps_block_t;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

/* From the first tap to the last one. */
static int64_t span_of(const taps_axis_t *axis) {
  return axis->taps ? axis->starts[axis->taps - 1] - axis->starts[0] : 0;
}

/* In how many pieces terms of a tap are summed. */
static int64_t pieces_of(const conv_taps_t *plan, const taps_phase_t *phase) {
  return least(divide_up(phase->terms * phase->taps * plan->width, CHUNK_WEIGHTS), divide_up(phase->terms, TERM_UNIT));
}

/* --- places --- */

/* A result by its number in the block: its image and its places along the axes, counted in the phase. */
typedef struct taps_place {
  int64_t image, at[CONV_MAX_SPATIAL];
} taps_place_t;

static taps_place_t place_of(const taps_block_t *block, int64_t number) {
  const taps_phase_t *phase = block->phase;
  int64_t line = block->begin + number / phase->line_places, rest = number % phase->line_places;
  taps_place_t place = {line / phase->axes[0].count, {line % phase->axes[0].count}};
  for (int d = block->run->plan->problem->spatial - 1; d > 0; d--) {
    place.at[d] = rest % phase->axes[d].count;
    rest /= phase->axes[d].count;
  }
  return place;
}

/* Where a result belongs, in elements. */
static int64_t result_at(const taps_block_t *block, const taps_place_t *place) {
  const conv_taps_t *plan = block->run->plan;
  int64_t at = plan->to.start + place->image * plan->to.outer + block->group * plan->columns * plan->to.inner;
  for (int d = 0; d < plan->problem->spatial; d++) {
    const taps_axis_t *axis = &block->phase->axes[d];
    at += (axis->first + place->at[d] * axis->step) * plan->to.spatial[d];
  }
  return at;
}

/* Results that follow each other along the last axis: where they are, and the first one's place in the input or the
 * region, each with its step; in elements. */
typedef struct taps_stretch {
  taps_place_t place;
  int64_t count, in, in_step, out, out_step;
} taps_stretch_t;

/* Pointers of a place whose taps are not all in the input: one by one. */
static void point_carefully(const taps_block_t *block, const taps_place_t *place, const char *base, const void **to) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  const void *zeros = block->space + plan->zeros_at;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int spatial = plan->problem->spatial;
  for (int64_t t = 0; t < phase->taps; t++, to += plan->rows) {
    bool inside = true;
    for (int d = 0; d < spatial; d++) {
      int64_t x = phase->axes[d].starts[at[d]] + place->at[d] * phase->axes[d].in_step;
      inside &= x >= 0 && x < plan->from_sizes[d];
    }
    *to = inside ? base + phase->offsets[t] * plan->bytes : zeros;
    for (int d = spatial - 1; d >= 0 && ++at[d] == phase->axes[d].taps; d--) at[d] = 0;
  }
}

/* The results of a stretch all of whose taps are in the input or the region: [*low, *high). */
static void find_inner(const taps_block_t *block, const taps_stretch_t *s, int64_t *low, int64_t *high) {
  const conv_taps_t *plan = block->run->plan;
  *low = 0, *high = s->count;
  for (int d = 0; d < plan->problem->spatial && !plan->has_region; d++) {
    const taps_axis_t *axis = &block->phase->axes[d];
    int64_t first = axis->starts[0] + s->place.at[d] * axis->in_step;
    int64_t room = plan->from_sizes[d] - 1 - first - span_of(axis);
    if (d < plan->problem->spatial - 1 && (first < 0 || room < 0)) *high = 0;
    if (d < plan->problem->spatial - 1) continue;
    *low = first < 0 ? divide_up(-first, axis->in_step) : 0;
    *high = room < 0 ? 0 : least(*high, room / axis->in_step + 1);
  }
  *high = most(*high, *low = least(*low, s->count));
}

/* Where pointers of result `number` of the block start in the table. */
static const void **row_of(const taps_block_t *block, int64_t number) {
  int64_t rows = block->run->plan->rows;
  return (const void **)(block->space + block->run->plan->table_at) + number / rows * rows * block->phase->taps +
         number % rows;
}

/* Results [first, first + count) of the block, a stretch. */
static void point_stretch(const taps_block_t *block, const taps_stretch_t *s, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int64_t low, high, rows = plan->rows, bytes = plan->bytes, taps = phase->taps;
  const int64_t *offsets = phase->offsets;
  const char *base = (plan->has_region ? block->space + plan->region_at : block->run->from) + s->in * bytes;
  find_inner(block, s, &low, &high);
  const void **to = row_of(block, number);
  taps_place_t place = s->place;
  for (int64_t x = 0, row = number % rows; x < s->count; x++, base += s->in_step * bytes) {
    if (x < low || x >= high)
      point_carefully(block, &place, base, to);
    else
      for (int64_t t = 0; t < taps; t++) to[t * rows] = base + offsets[t] * bytes;
    place.at[plan->problem->spatial - 1]++, to++;
    if (++row == rows) row = 0, to += rows * (taps - 1);
  }
}

static void point_results(const taps_block_t *block, const taps_stretch_t *s, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  void **to = (void **)(block->space + plan->results_at) + number;
  int64_t step = (plan->has_copy ? plan->padded : s->out_step) * plan->bytes;
  char *at = plan->has_copy ? block->space + plan->copy_at + number * step : block->run->to + s->out * plan->bytes;
  for (int64_t x = 0; x < s->count; x++, at += step) to[x] = at;
}

/* The stretch that starts with result `number` of the block. */
static taps_stretch_t stretch_at(const taps_block_t *block, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  taps_stretch_t s = {.place = place_of(block, number)};
  const int64_t *steps = plan->has_region ? phase->region_steps : plan->from.spatial, *at = s.place.at;
  s.count = last == 0 ? least(phase->axes[0].count - at[0], block->places - number) : phase->axes[last].count;
  s.in_step = phase->axes[last].in_step * steps[last], s.out_step = phase->axes[last].step * plan->to.spatial[last];
  for (int d = 0; d <= last; d++) s.in += at[d] * phase->axes[d].in_step * steps[d];
  s.out = result_at(block, &s.place);
  if (plan->has_region)
    s.in += (s.place.image - block->begin / phase->axes[0].count) * phase->region[0] * steps[0] -
            block->begin % phase->axes[0].count * phase->axes[0].in_step * steps[0];
  else
    s.in += plan->from.start + s.place.image * plan->from.outer + block->group * plan->terms * plan->from.inner;
  return s;
}

/* Rows that the last tile has too many read what its last one reads. */
static void point_spare_rows(const taps_block_t *block) {
  const conv_taps_t *plan = block->run->plan;
  void **results = (void **)(block->space + plan->results_at);
  for (int64_t i = block->places; i < block->tiles * plan->rows; i++) {
    results[i] = block->space + plan->spare_at;
    for (int64_t t = 0; t < block->phase->taps; t++)
      row_of(block, i)[t * plan->rows] = row_of(block, block->places - 1)[t * plan->rows];
  }
}

/* Of each tile: how many taps lead to the input, and which. */
static int32_t *live_of(const taps_block_t *block, int64_t tile) {
  return (int32_t *)(block->space + block->run->plan->live_at) + tile * (block->phase->taps + 1);
}

/* Leaves out taps of a tile that lead all its places to zeros. In a region no pointer does. */
static void find_live(const taps_block_t *block, int64_t tile) {
  const conv_taps_t *plan = block->run->plan;
  const void *zeros = block->space + plan->zeros_at;
  const void **table = row_of(block, tile * plan->rows), **to = table;
  int32_t *live = live_of(block, tile), count = 0;
  for (int32_t t = 0; t < block->phase->taps; t++, table += plan->rows) {
    bool any = plan->has_region;
    for (int64_t r = 0; r < plan->rows && !any; r++) any = table[r] != zeros;
    if (!any) continue;
    if (to != table) memcpy(to, table, (size_t)plan->rows * sizeof *to);
    live[1 + count++] = t;
    to += plan->rows;
  }
  live[0] = count;
}

/* All pointers of a block: of each tile those of the input, and of its results. */
static void point_block(const taps_block_t *block) {
  for (int64_t i = 0; i < block->places;) {
    taps_stretch_t s = stretch_at(block, i);
    if (block->phase->taps) point_stretch(block, &s, i);
    point_results(block, &s, i);
    i += s.count;
  }
  point_spare_rows(block);
  for (int64_t i = 0; i < block->tiles; i++) find_live(block, i);
}

/* --- regions --- */

/* Turns a plane, as native_turn_plane does, some lines of the caches at a time: rows may be a page apart. */
static void turn(int64_t bytes, int64_t i_count, int64_t j_count, const char *from, int64_t j_stride, char *to,
                 int64_t i_stride) {
  int64_t unit = 64 / bytes;
  for (int64_t i = 0; i < i_count; i += unit)
    native_turn_plane((int)bytes, least(unit, i_count - i), j_count, from + i * bytes, j_stride, to + i * i_stride,
                      i_stride);
}

/* A line of places along the last axis, channels innermost. */
static void copy_line(const conv_taps_t *plan, const char *from, int64_t count, char *to) {
  int64_t bytes = plan->bytes, step = plan->from.spatial[plan->problem->spatial - 1], run = plan->terms * bytes;
  if (plan->from.inner == 1 && step == plan->terms) {
    memcpy(to, from, (size_t)(count * run));
  } else if (plan->from.inner == 1) {
    for (int64_t x = 0; x < count; x++) memcpy(to + x * run, from + x * step * bytes, (size_t)run);
  } else if (step == 1) {
    turn(bytes, count, plan->terms, from, plan->from.inner * bytes, to, run);
  } else {
    for (int64_t x = 0; x < count; x++)
      for (int64_t c = 0; c < plan->terms; c++)
        memcpy(to + x * run + c * bytes, from + (x * step + c * plan->from.inner) * bytes, (size_t)bytes);
  }
}

/* A line of the region, [low, low + count) of the input along the last axis, with zeros where that has none. */
static void fill_line(const conv_taps_t *plan, const char *from, bool inside, int64_t low, int64_t count, char *to) {
  int last = plan->problem->spatial - 1;
  int64_t run = plan->terms * plan->bytes, size = plan->from_sizes[last];
  int64_t begin = inside ? least(most(-low, 0), count) : count, end = inside ? most(least(size - low, count), begin) : count;
  memset(to, 0, (size_t)(begin * run));
  if (begin < end)
    copy_line(plan, from + (low + begin) * plan->from.spatial[last] * plan->bytes, end - begin, to + begin * run);
  memset(to + end * run, 0, (size_t)((count - end) * run));
}

/* Line `number` of an image's region, counted along all axes but the last. */
static void fill_region_line(const taps_block_t *block, int64_t image, int64_t number, char *to) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  int64_t at = plan->from.start + image * plan->from.outer + block->group * plan->terms * plan->from.inner;
  bool inside = true;
  for (int d = last - 1; d >= 0; d--) {
    int64_t x = number % phase->region[d] + phase->axes[d].starts[0];
    number /= phase->region[d];
    inside &= x >= 0 && x < plan->from_sizes[d];
    at += x * plan->from.spatial[d];
  }
  fill_line(plan, block->run->from + (inside ? at * plan->bytes : 0), inside, phase->axes[last].starts[0],
            phase->region[last], to);
}

/* With one axis an image is one line, of which a part is wanted. */
static void fill_region_part(const taps_block_t *block, int64_t image, int64_t begin, int64_t end, char *to) {
  const conv_taps_t *plan = block->run->plan;
  int64_t at = plan->from.start + image * plan->from.outer + block->group * plan->terms * plan->from.inner;
  fill_line(plan, block->run->from + at * plan->bytes, true, block->phase->axes[0].starts[0] + begin, end - begin, to);
}

/* What the block's lines see, image after image. */
static void fill_region(const taps_block_t *block) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  const taps_axis_t *axis = &phase->axes[0];
  int64_t count = axis->count, reach = phase->region[0] - (count - 1) * axis->in_step, each = 1;
  int64_t first = block->begin / count * phase->region[0] + block->begin % count * axis->in_step;
  char *region = block->space + plan->region_at;
  for (int d = 1; d < plan->problem->spatial - 1; d++) each *= phase->region[d];
  for (int64_t line = block->begin, next; line < block->end; line = next) {
    int64_t image = line / count, y = line % count;
    next = least(block->end, (image + 1) * count);
    int64_t begin = y * axis->in_step, end = (y + next - line - 1) * axis->in_step + reach;
    char *to = region + (image * phase->region[0] + begin - first) * phase->region_steps[0] * plan->bytes;
    if (plan->problem->spatial == 1)
      fill_region_part(block, image, begin, end, to);
    else
      for (int64_t i = begin * each; i < end * each; i++, to += phase->region_steps[0] / each * plan->bytes)
        fill_region_line(block, image, i, to);
  }
}

/* --- running --- */

/* Strips [begin, end), some terms of each tap at a time. */
static void sum_block(const taps_block_t *block, int64_t begin, int64_t end) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int64_t piece = divide_up(divide_up(phase->terms, pieces_of(plan, phase)), TERM_UNIT) * TERM_UNIT;
  const char *packed = block->run->packed + (phase->packed_at + block->group * plan->group_packed) * plan->bytes;
  tap_strip_t at = {.rows = plan->rows, .tiles = block->tiles, .taps = phase->taps, .live = live_of(block, 0),
                    .places = (const void *const *)row_of(block, 0), .width = plan->width,
                    .results = (void *const *)(block->space + plan->results_at)};
  at.tap_step = phase->terms * plan->width;
  for (; at.first < phase->terms; at.first += piece) {
    at.count = least(piece, phase->terms - at.first), at.adds = at.first > 0;
    for (int64_t s = begin; s < end; s++) {
      at.column = s * plan->width, at.vectors = least(plan->width, plan->padded - at.column) / plan->lanes;
      at.weights = packed + (s * phase->strip + at.first * plan->width) * plan->bytes;
      EACH_WIDTH(sum_strip, plan->bytes == 8)(&at);
    }
  }
}

/* A stretch of the block's copy, from result `number` on, columns [begin, end). */
static void copy_stretch(const taps_block_t *block, const taps_stretch_t *s, int64_t number, int64_t begin, int64_t end) {
  const conv_taps_t *plan = block->run->plan;
  int64_t bytes = plan->bytes, line = plan->padded * bytes, inner = plan->to.inner * bytes;
  const char *from = block->space + plan->copy_at + number * line + begin * bytes;
  char *to = block->run->to + s->out * bytes + begin * inner;
  for (int64_t x = 0; x < s->count && inner == bytes; x++)
    memcpy(to + x * s->out_step * bytes, from + x * line, (size_t)((end - begin) * bytes));
  if (inner != bytes && s->out_step == 1) {
    turn(bytes, end - begin, s->count, from, line, to, inner);
  } else if (inner != bytes) {
    for (int64_t c = 0; c < end - begin; c++)
      loop_copy_row(to + c * inner, from + c * bytes, s->count, s->out_step * bytes, line, (int)bytes);
  }
}

/* The block's copy to where the results belong. Results that follow each other closely, with channels apart, are
 * turned. */
static void copy_results(const taps_block_t *block, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < block->places;) {
    taps_stretch_t s = stretch_at(block, i);
    copy_stretch(block, &s, i, begin, end);
    i += s.count;
  }
}

static void zero_results(const taps_block_t *block) {
  const conv_taps_t *plan = block->run->plan;
  void *const *results = (void *const *)(block->space + plan->results_at);
  for (int64_t i = 0; i < block->places; i++) memset(results[i], 0, (size_t)(plan->padded * plan->bytes));
}

static void run_block(const taps_run_t *run, const taps_phase_t *phase, int64_t task, int worker) {
  const conv_taps_t *plan = run->plan;
  int64_t part = task % plan->parts, number = task / plan->parts % phase->blocks;
  taps_block_t block = {.run = run, .phase = phase, .group = task / plan->parts / phase->blocks};
  block.begin = phase->lines * number / phase->blocks, block.end = phase->lines * (number + 1) / phase->blocks;
  block.places = (block.end - block.begin) * phase->line_places;
  block.tiles = divide_up(block.places, plan->rows);
  block.space = run->spaces + (size_t)worker * plan->space_bytes;
  int64_t begin = part * plan->part_strips, end = least(begin + plan->part_strips, plan->strips);
  memset(block.space + plan->zeros_at, 0, (size_t)(plan->terms * plan->bytes));
  if (plan->has_region && phase->taps) fill_region(&block);
  point_block(&block);
  if (phase->taps)
    sum_block(&block, begin, end);
  else
    zero_results(&block);
  if (plan->has_copy) copy_results(&block, begin * plan->width, least(end * plan->width, plan->columns));
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const taps_run_t *run = context;
  const taps_phase_t *phase = run->plan->phases;
  for (int64_t task = begin; task < end; task++) {
    while (task < phase->first_task) phase--;
    while (phase + 1 < run->plan->phases + run->plan->phase_count && task >= phase[1].first_task) phase++;
    run_block(run, phase, task - phase->first_task, worker);
  }
}

/* Where the weights of a tap are, in elements. A merged tap's are those of a row of the window. */
static int64_t weights_at(const conv_taps_t *plan, const taps_phase_t *phase, int64_t tap) {
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  int64_t at = wei->start;
  for (int d = plan->problem->spatial - 1; d >= 0; d--) {
    int64_t k = phase->axes[d].elements[tap % phase->axes[d].taps];
    tap /= phase->axes[d].taps;
    at += (wei->reversed[d] ? plan->problem->window[d] - 1 - k : k) * wei->spatial[d];
  }
  return at;
}

/* One strip of one phase and group. */
static void pack_strip(const taps_run_t *run, const taps_phase_t *phase, int64_t group, int64_t strip) {
  const conv_taps_t *plan = run->plan;
  int64_t column = strip * plan->width, taps = 1;
  tap_weights_t w = {plan->terms, least(plan->width, plan->columns - column), plan->term_step, plan->column_step,
                     plan->width};
  char *to = run->packed + (phase->packed_at + group * plan->group_packed + strip * phase->strip) * plan->bytes;
  for (int d = 0; d < plan->problem->spatial; d++) taps *= phase->axes[d].taps;
  for (int64_t t = 0; t < taps; t++, to += plan->terms * plan->width * plan->bytes) {
    int64_t at = weights_at(plan, phase, t) + group * plan->problem->arrays[CONV_WEI].group + column * w.column_step;
    EACH_WIDTH(pack, plan->bytes == 8)(&w, run->weights + at * plan->bytes, to);
  }
}

static void pack_strips(void *context, int64_t begin, int64_t end, int worker) {
  const taps_run_t *run = context;
  const conv_taps_t *plan = run->plan;
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    for (int p = 0; p < plan->phase_count; p++)
      pack_strip(run, &plan->phases[p], i / plan->strips, i % plan->strips);
}

hr_status_t conv_run_taps(const op_native_run_t *native, const void *plan_, void *const *in, void *const *out) {
  const conv_taps_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  hr_workers_t *workers = native_workers(native, plan->workers);
  char *scratch = native->scratch;
  taps_run_t run = {.plan = plan, .from = in[0], .weights = in[1], .to = out[0], .spaces = scratch + plan->spaces_at};
  run.packed = plan->packed ? (char *)plan->packed : scratch + plan->packed_at;
  int64_t grain = p->flops < SPLIT_FLOPS ? plan->tasks : 1;
  if (p->zero_first) memset(out[0], 0, (size_t)(p->arrays[conv_role_out(p->kind)].count * plan->bytes));
  if (!plan->packed)
    hr_workers_split(workers, plan->strips * p->groups, 1 + 20000 / (plan->packed_count / plan->strips / p->groups + 1),
                     pack_strips, &run);
  hr_workers_for(workers, plan->tasks, grain, run_tasks, &run);
  return NULL;
}

/* --- planning --- */

static bool has_type(const matmul_types_t *types) {
  return !types->is_complex && (types->real == HR_F32 || types->real == HR_F64) && types->lhs == types->real &&
         types->rhs == types->real && types->out == types->real;
}

/* What is read and what is made, whichever of the forward arrays they are. */
static void plan_sides(conv_taps_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  bool forward = p->kind == CONV_FORWARD, wide = native_width() == NATIVE_WIDE;
  plan->from = p->arrays[conv_role_lhs(p->kind)], plan->to = p->arrays[conv_role_out(p->kind)];
  plan->from_sizes = forward ? p->in : p->out, plan->to_sizes = forward ? p->out : p->in;
  plan->terms = forward ? p->in_channels : p->out_channels, plan->columns = forward ? p->out_channels : p->in_channels;
  plan->term_step = forward ? wei->inner : wei->outer, plan->column_step = forward ? wei->outer : wei->inner;
  plan->bytes = p->types.element_bytes;
  plan->lanes = (wide ? 64 : native_width() == NATIVE_MIDDLE ? 32 : 16) / plan->bytes;
  plan->padded = divide_up(plan->columns, plan->lanes) * plan->lanes;
  bool broad = wide && plan->padded > 2 * plan->lanes;
  plan->rows = broad ? 6 : wide ? 8 : 4, plan->width = (broad ? 4 : 2) * plan->lanes;
  plan->strips = divide_up(plan->columns, plan->width);
  plan->has_copy = plan->to.inner != 1 || plan->padded != plan->columns;
}

/* Whether some result of the axis meets the input there. */
static bool meets_input(const taps_axis_t *axis, int64_t start, int64_t size) {
  int64_t first = start < 0 ? divide_up(-start, axis->in_step) : 0;
  return first < axis->count && start + first * axis->in_step < size;
}

/* Taps of a dimension; with holes those of the results that are `first` modulo their width. */
static hr_status_t plan_axis(hr_arena_t *arena, const conv_taps_t *plan, int d, int64_t first, taps_axis_t *axis) {
  const conv_problem_t *p = plan->problem;
  bool forward = p->kind == CONV_FORWARD;
  axis->first = first, axis->step = forward ? 1 : p->stride[d], axis->in_step = forward ? p->stride[d] : 1;
  axis->count = divide_up(plan->to_sizes[d] - first, axis->step);
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->starts));
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->elements));
  for (int64_t i = 0; i < p->window[d]; i++) {
    int64_t k = forward ? i : p->window[d] - 1 - i;
    int64_t start = forward ? k * p->dilation[d] - p->low[d] : first + p->low[d] - k * p->dilation[d];
    if (!forward && start % p->stride[d] != 0) continue;
    if (!forward) start /= p->stride[d];
    if (!meets_input(axis, start, plan->from_sizes[d])) continue;
    axis->starts[axis->taps] = start, axis->elements[axis->taps++] = k;
  }
  return NULL;
}

/* Phases by their number: the remainders of all dimensions. */
static hr_status_t plan_phases(hr_arena_t *arena, conv_taps_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t counts[CONV_MAX_SPATIAL];
  plan->phase_count = 1;
  for (int d = 0; d < p->spatial; d++) {
    counts[d] = p->kind == CONV_FORWARD ? 1 : least(p->stride[d], plan->to_sizes[d]);
    plan->phase_count *= (int)counts[d];
  }
  HR_TRY(HR_NEW_ARRAY(arena, plan->phase_count, &plan->phases));
  for (int i = 0; i < plan->phase_count; i++) {
    taps_phase_t *phase = &plan->phases[i];
    int64_t rest = i;
    phase->taps = 1, phase->terms = plan->terms;
    for (int d = p->spatial - 1; d >= 0; rest /= counts[d--]) {
      HR_TRY(plan_axis(arena, plan, d, rest % counts[d], &phase->axes[d]));
      phase->taps *= phase->axes[d].taps;
    }
  }
  return NULL;
}

/* Whether the taps of a row can be read as one from a region. */
static bool may_merge(const conv_taps_t *plan) {
  int last = plan->problem->spatial - 1;
  for (int i = 0; i < plan->phase_count; i++)
    if (span_of(&plan->phases[i].axes[last]) + 1 != plan->phases[i].axes[last].taps) return false;
  return plan->problem->window[last] > 1;
}

/* Where an image's region is, and how the taps lie in it, or in the input. */
static hr_status_t plan_offsets(hr_arena_t *arena, const conv_taps_t *plan, taps_phase_t *phase) {
  int spatial = plan->problem->spatial, kept = plan->merges ? spatial - 1 : spatial;
  int64_t step = plan->terms;
  for (int d = spatial - 1; d >= 0; step *= phase->region[d--]) {
    phase->region[d] = (phase->axes[d].count - 1) * phase->axes[d].in_step + span_of(&phase->axes[d]) + 1;
    phase->region_steps[d] = step;
  }
  if (plan->merges && phase->taps)
    phase->terms *= phase->axes[kept].taps, phase->taps /= phase->axes[kept].taps;
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->offsets));
  for (int64_t t = 0; t < phase->taps; t++)
    for (int64_t d = kept - 1, rest = t; d >= 0; rest /= phase->axes[d--].taps) {
      const int64_t *starts = phase->axes[d].starts, at = rest % phase->axes[d].taps;
      phase->offsets[t] += plan->has_region ? (starts[at] - starts[0]) * phase->region_steps[d]
                                            : starts[at] * plan->from.spatial[d];
    }
  return NULL;
}

/* Lines of a block: as much as the caches hold, and as many blocks as workers can share evenly. */
static void plan_blocks(const conv_taps_t *plan, taps_phase_t *phase) {
  int64_t in_places = 1;
  phase->line_places = 1;
  for (int d = 0; d < plan->problem->spatial; d++) {
    if (d > 0) phase->line_places *= phase->axes[d].count;
    in_places *= phase->axes[d].in_step;
  }
  phase->lines = plan->problem->batch * phase->axes[0].count;
  int64_t results = pieces_of(plan, phase) > 1 ? plan->padded : plan->padded / 4; /* those written once may go */
  int64_t places = least(BLOCK_BYTES / ((in_places * plan->terms + results) * plan->bytes), MOST_PLACES);
  places = most(least(places, TABLE_BYTES / (8 * (phase->taps + 1))), LEAST_PLACES);
  phase->blocks = divide_up(phase->lines, most(1, places / phase->line_places));
  if (plan->parts == 1) phase->blocks = least(hr_workers_even(phase->blocks, plan->workers), phase->lines);
  phase->block_lines = divide_up(phase->lines, phase->blocks);
}

/* Where lines cannot be shared out evenly, columns are. */
static bool is_uneven(const conv_taps_t *plan) {
  int64_t tiles = 0, largest = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const taps_phase_t *phase = &plan->phases[i];
    tiles += divide_up(phase->lines * phase->line_places, plan->rows);
    int64_t rounds = divide_up(phase->blocks * plan->problem->groups, plan->workers);
    largest += rounds * divide_up(phase->block_lines * phase->line_places, plan->rows);
  }
  return largest * plan->workers > tiles * plan->problem->groups * 6 / 5 && plan->strips >= plan->workers;
}

static void plan_tasks(conv_taps_t *plan) {
  plan->parts = 1;
  for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  if (is_uneven(plan)) {
    plan->parts = plan->workers;
    for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  }
  plan->part_strips = divide_up(plan->strips, plan->parts), plan->parts = divide_up(plan->strips, plan->part_strips);
  for (int i = 0; i < plan->phase_count; i++) {
    plan->phases[i].first_task = plan->tasks;
    plan->tasks += plan->phases[i].blocks * plan->problem->groups * plan->parts;
  }
}

static void plan_packed(conv_taps_t *plan) {
  for (int i = 0; i < plan->phase_count; i++) {
    taps_phase_t *phase = &plan->phases[i];
    phase->packed_at = plan->group_packed, phase->strip = phase->taps * phase->terms * plan->width;
    plan->group_packed += phase->strip * plan->strips;
  }
  plan->packed_count = plan->group_packed * plan->problem->groups;
}

/* Bytes of the longest block's region. Where it goes over to the next image it takes in the end of one and the start of
 * the other. */
static int64_t region_bytes(const conv_taps_t *plan, const taps_phase_t *phase) {
  const taps_axis_t *axis = &phase->axes[0];
  int64_t reach = span_of(axis) + 1, ends = divide_up(phase->block_lines - 1, axis->count);
  int64_t lines = (phase->block_lines - 1) * axis->in_step + reach + ends * most(0, reach - axis->in_step);
  return plan->has_region ? lines * phase->region_steps[0] * plan->bytes : 0;
}

static size_t place_all(conv_taps_t *plan) {
  size_t total = 0, each = 0, bytes = (size_t)plan->bytes;
  int64_t rows = 0, pointers = 0, region = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const taps_phase_t *phase = &plan->phases[i];
    int64_t places = divide_up(phase->block_lines * phase->line_places, plan->rows) * plan->rows;
    rows = most(rows, places), pointers = most(pointers, places * phase->taps);
    region = most(region, region_bytes(plan, phase));
  }
  plan->zeros_at = native_take(&each, (size_t)plan->terms * bytes);
  plan->spare_at = native_take(&each, (size_t)plan->padded * bytes);
  plan->table_at = native_take(&each, (size_t)pointers * sizeof(void *));
  plan->live_at = native_take(&each, (size_t)(pointers + rows) * sizeof(int32_t));
  plan->results_at = native_take(&each, (size_t)rows * sizeof(void *));
  plan->region_at = native_take(&each, (size_t)region);
  plan->copy_at = native_take(&each, plan->has_copy ? (size_t)(rows * plan->padded) * bytes : 0);
  plan->space_bytes = each;
  plan->packed_at = native_take(&total, plan->packed ? 0 : (size_t)plan->packed_count * bytes);
  plan->spaces_at = native_take(&total, each * (size_t)plan->workers);
  return total;
}

static hr_status_t pack_constant(const op_native_target_t *target, conv_taps_t *plan) {
  void *packed;
  if (!plan->problem->constant_weights) return NULL;
  HR_TRY(hr_arena_alloc(target->arena, (size_t)(plan->packed_count * plan->bytes), &packed));
  taps_run_t run = {.plan = plan, .weights = plan->problem->constant_weights, .packed = packed};
  pack_strips(&run, 0, plan->strips * plan->problem->groups, 0);
  plan->packed = packed;
  return NULL;
}

#define MOST_PHASES 64
#define MOST_TAPS 65536

/* Few enough phases and taps. */
static bool has_form(const conv_problem_t *p) {
  double phases = 1, taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d], phases *= (double)p->stride[d];
  return p->kind != CONV_WEIGHTS && taps <= MOST_TAPS && (p->kind == CONV_FORWARD || phases <= MOST_PHASES);
}

static int64_t most_terms(const conv_taps_t *plan) {
  int64_t terms = 0;
  for (int i = 0; i < plan->phase_count; i++) terms = most(terms, plan->phases[i].terms);
  return terms;
}

hr_status_t conv_prepare_taps(const op_native_target_t *target, const conv_problem_t *problem, op_native_step_t *out) {
  conv_taps_t *plan;
  if (!has_type(&problem->types) || !has_form(problem)) return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem, plan->workers = target->workers;
  plan_sides(plan);
  HR_TRY(plan_phases(target->arena, plan));
  plan->merges = plan->terms < MERGED_CHANNELS && may_merge(plan);
  plan->has_region = plan->merges || plan->from.inner != 1;
  for (int i = 0; i < plan->phase_count; i++) HR_TRY(plan_offsets(target->arena, plan, &plan->phases[i]));
  if (most_terms(plan) < LEAST_TERMS) return NULL;
  plan_tasks(plan);
  plan_packed(plan);
  HR_TRY(pack_constant(target, plan));
  out->scratch_bytes = place_all(plan);
  out->plan = plan;
  return NULL;
}
