/* What a block of a convolution by taps reads and writes: pointers, regions, results. */
#include <string.h>

#include "ops/taps.h"

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
 * region, each with its step; in elements. A merged tap starts where its first one does. */
typedef struct taps_stretch {
  taps_place_t place;
  int64_t count, in, in_step, out, out_step;
} taps_stretch_t;

/* A merged tap that reaches beyond the end of a line: a copy of what is there, with zeros around it. */
static const void *make_rim(taps_block_t *block, const char *from, int64_t low, int64_t count) {
  const conv_taps_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t size = plan->from_sizes[last], each = plan->terms * plan->in_bytes;
  int64_t begin = taps_least(taps_most(-low, 0), count), end = taps_most(begin, taps_least(size - low, count));
  char *rim = block->rim;
  memset(rim, 0, (size_t)(count * each));
  memcpy(rim + begin * each, from + begin * each, (size_t)((end - begin) * each));
  block->rim += count * each;
  return rim;
}

/* Pointers of a place whose taps are not all in the input: one by one. */
static void point_carefully(taps_block_t *block, const taps_place_t *place, const char *base, const void **to) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  const void *zeros = block->space + plan->zeros_at;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int last = plan->problem->spatial - 1, kept = plan->merges ? last : last + 1;
  int64_t low = phase->axes[last].starts[0] + place->at[last] * phase->axes[last].in_step;
  bool cut = plan->merges && phase->taps && (low < 0 || low + phase->axes[last].taps > plan->from_sizes[last]);
  for (int64_t t = 0; t < phase->taps; t++, to += plan->rows) {
    bool inside = true;
    for (int d = 0; d < kept; d++) {
      int64_t x = phase->axes[d].starts[at[d]] + place->at[d] * phase->axes[d].in_step;
      inside &= x >= 0 && x < plan->from_sizes[d];
    }
    *to = !inside ? zeros : base + phase->offsets[t];
    if (inside && cut) *to = make_rim(block, *to, low, phase->axes[last].taps);
    for (int d = kept - 1; d >= 0 && ++at[d] == phase->axes[d].taps; d--) at[d] = 0;
  }
}

/* The results of a stretch all of whose taps are in the input or the region: [*low, *high). */
static void find_inner(const taps_block_t *block, const taps_stretch_t *s, int64_t *low, int64_t *high) {
  const conv_taps_t *plan = block->run->plan;
  *low = 0, *high = s->count;
  for (int d = 0; d < plan->problem->spatial && !plan->has_region; d++) {
    const taps_axis_t *axis = &block->phase->axes[d];
    int64_t first = axis->starts[0] + s->place.at[d] * axis->in_step;
    int64_t room = plan->from_sizes[d] - 1 - first - taps_span(axis);
    if (d < plan->problem->spatial - 1 && (first < 0 || room < 0)) *high = 0;
    if (d < plan->problem->spatial - 1) continue;
    *low = first < 0 ? taps_divide_up(-first, axis->in_step) : 0;
    *high = room < 0 ? 0 : taps_least(*high, room / axis->in_step + 1);
  }
  *high = taps_most(*high, *low = taps_least(*low, s->count));
}

static const char *in_address(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  return (plan->has_region ? block->space + plan->region_at : block->run->from) + s->in * plan->in_bytes;
}

/* Where results are summed: in place, or in the block's copy, where the stretch starts with result `number`; bytes from
 * one to the next. */
static int64_t out_step(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  return (plan->has_copy ? plan->padded : s->out_step) * plan->bytes;
}

static char *out_address(const taps_block_t *block, const taps_stretch_t *s, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  return plan->has_copy ? block->space + plan->copy_at + number * plan->padded * plan->bytes
                        : block->run->to + s->out * plan->bytes;
}

const void **taps_block_row(const taps_block_t *block, int64_t number) {
  int64_t rows = block->run->plan->rows;
  return (const void **)(block->space + block->run->plan->table_at) + number / rows * rows * block->phase->taps +
         number % rows;
}

/* Results [begin, end) of a stretch, by pointers: of those that have some the next ones. */
static void point_results(taps_block_t *block, const taps_stretch_t *s, int64_t number, int64_t begin, int64_t end,
                          bool careful) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  void **results = (void **)(block->space + plan->results_at);
  taps_place_t place = s->place;
  place.at[plan->problem->spatial - 1] += begin;
  for (int64_t x = begin; x < end; x++, place.at[plan->problem->spatial - 1]++) {
    const char *base = in_address(block, s) + x * s->in_step * plan->in_bytes;
    const void **to = taps_block_row(block, block->pointed);
    if (careful)
      point_carefully(block, &place, base, to);
    else
      for (int64_t t = 0; t < phase->taps; t++) to[t * plan->rows] = base + phase->offsets[t];
    results[block->pointed++] = out_address(block, s, number) + x * out_step(block, s);
  }
}

/* Whole tiles of those that have all taps need no pointers. */
static void point_stretch(taps_block_t *block, const taps_stretch_t *s, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  int64_t low = 0, high = 0;
  if (block->phase->taps) find_inner(block, s, &low, &high);
  int64_t tiles = (high - low) / plan->rows, end = low + tiles * plan->rows;
  tap_line_t *line = (tap_line_t *)(block->space + plan->lines_at) + block->line_count;
  *line = (tap_line_t){in_address(block, s) + low * s->in_step * plan->in_bytes,
                       out_address(block, s, number) + low * out_step(block, s), tiles};
  block->line_count += tiles > 0;
  point_results(block, s, number, 0, low, true);
  point_results(block, s, number, end, high, false);
  point_results(block, s, number, high, s->count, true);
}

/* The stretch that starts with result `number` of the block. */
static taps_stretch_t stretch_at(const taps_block_t *block, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  taps_stretch_t s = {.place = place_of(block, number)};
  const int64_t *steps = plan->has_region ? phase->region_steps : plan->from.spatial, *at = s.place.at;
  s.count = last == 0 ? taps_least(phase->axes[0].count - at[0], block->places - number) : phase->axes[last].count;
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
  for (int64_t i = block->pointed; i < block->tiles * plan->rows; i++) {
    results[i] = block->space + plan->spare_at;
    for (int64_t t = 0; t < block->phase->taps; t++)
      taps_block_row(block, i)[t * plan->rows] = taps_block_row(block, block->pointed - 1)[t * plan->rows];
  }
}

int32_t *taps_block_live(const taps_block_t *block, int64_t tile) {
  return (int32_t *)(block->space + block->run->plan->live_at) + tile * (block->phase->taps + 1);
}

/* Leaves out taps of a tile that lead all its places to zeros. In a region no pointer does. */
static void find_live(const taps_block_t *block, int64_t tile) {
  const conv_taps_t *plan = block->run->plan;
  const void *zeros = block->space + plan->zeros_at;
  const void **table = taps_block_row(block, tile * plan->rows), **to = table;
  int32_t *live = taps_block_live(block, tile), count = 0;
  for (int32_t t = 0; t < block->phase->taps; t++, table += plan->rows) {
    bool any = plan->has_region || plan->flips;
    for (int64_t r = 0; r < plan->rows && !any; r++) any = table[r] != zeros;
    if (!any) continue;
    if (to != table) memcpy(to, table, (size_t)plan->rows * sizeof *to);
    live[1 + count++] = t;
    to += plan->rows;
  }
  live[0] = count;
}

/* All lines and pointers of a block. */
static void point_block(taps_block_t *block) {
  block->rim = block->space + block->run->plan->rims_at;
  for (int64_t i = 0; i < block->places;) {
    taps_stretch_t s = stretch_at(block, i);
    point_stretch(block, &s, i);
    i += s.count;
  }
  block->tiles = taps_divide_up(block->pointed, block->run->plan->rows);
  point_spare_rows(block);
  for (int64_t i = 0; i < block->tiles; i++) find_live(block, i);
}

/* --- regions --- */

/* A line of places along the last axis, channels innermost. */
static void copy_line(const conv_taps_t *plan, const char *from, int64_t count, char *to) {
  int64_t bytes = plan->in_bytes, step = plan->from.spatial[plan->problem->spatial - 1], run = plan->terms * bytes;
  if (plan->from.inner == 1 && step == plan->terms) {
    memcpy(to, from, (size_t)(count * run));
  } else if (plan->from.inner == 1) {
    for (int64_t x = 0; x < count; x++) memcpy(to + x * run, from + x * step * bytes, (size_t)run);
  } else if (step == 1) {
    native_turn_plane((int)bytes, count, plan->terms, from, plan->from.inner * bytes, to, run);
  } else {
    for (int64_t x = 0; x < count; x++)
      for (int64_t c = 0; c < plan->terms; c++)
        memcpy(to + x * run + c * bytes, from + (x * step + c * plan->from.inner) * bytes, (size_t)bytes);
  }
}

/* A line of the region, [low, low + count) of the input along the last axis, with zeros where that has none. */
static void fill_line(const conv_taps_t *plan, const char *from, bool inside, int64_t low, int64_t count, char *to) {
  int last = plan->problem->spatial - 1;
  int64_t run = plan->terms * plan->in_bytes, size = plan->from_sizes[last];
  int64_t begin = inside ? taps_least(taps_most(-low, 0), count) : count;
  int64_t end = inside ? taps_most(taps_least(size - low, count), begin) : count;
  memset(to, 0, (size_t)(begin * run));
  if (begin < end)
    copy_line(plan, from + (low + begin) * plan->from.spatial[last] * plan->in_bytes, end - begin, to + begin * run);
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
  fill_line(plan, block->run->from + (inside ? at * plan->in_bytes : 0), inside, phase->axes[last].starts[0],
            phase->region[last], to);
}

/* With one axis an image is one line, of which a part is wanted. */
static void fill_region_part(const taps_block_t *block, int64_t image, int64_t begin, int64_t end, char *to) {
  const conv_taps_t *plan = block->run->plan;
  int64_t at = plan->from.start + image * plan->from.outer + block->group * plan->terms * plan->from.inner;
  int64_t low = block->phase->axes[0].starts[0] + begin;
  fill_line(plan, block->run->from + at * plan->in_bytes, true, low, end - begin, to);
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
    next = taps_least(block->end, (image + 1) * count);
    int64_t begin = y * axis->in_step, end = (y + next - line - 1) * axis->in_step + reach;
    char *to = region + (image * phase->region[0] + begin - first) * phase->region_steps[0] * plan->in_bytes;
    if (plan->problem->spatial == 1)
      fill_region_part(block, image, begin, end, to);
    else
      for (int64_t i = begin * each; i < end * each; i++, to += phase->region_steps[0] / each * plan->in_bytes)
        fill_region_line(block, image, i, to);
  }
}

void taps_block_ready(taps_block_t *block) {
  const conv_taps_t *plan = block->run->plan;
  memset(block->space + plan->zeros_at, 0, plan->zeros_bytes);
  if (plan->has_region && block->phase->taps) fill_region(block);
  point_block(block);
}

/* --- results --- */

/* A stretch of the block's copy, from result `number` on, columns [begin, end). */
static void copy_stretch(const taps_block_t *block, const taps_stretch_t *s, int64_t number, int64_t begin,
                         int64_t end) {
  const conv_taps_t *plan = block->run->plan;
  int64_t bytes = plan->out_bytes, line = plan->padded * bytes, inner = plan->to.inner * bytes;
  const char *from = block->space + (plan->narrows ? plan->narrow_at : plan->copy_at) + number * line + begin * bytes;
  char *to = block->run->to + s->out * bytes + begin * inner;
  if (inner == bytes) {
    for (int64_t x = 0; x < s->count; x++)
      memcpy(to + x * s->out_step * bytes, from + x * line, (size_t)((end - begin) * bytes));
  } else if (s->out_step == 1) {
    native_turn_plane((int)bytes, end - begin, s->count, from, line, to, inner);
  } else {
    for (int64_t c = 0; c < end - begin; c++)
      loop_copy_row(to + c * inner, from + c * bytes, s->count, s->out_step * bytes, line, (int)bytes);
  }
}

/* Columns that other workers make are narrowed too, whatever they hold. */
void taps_block_finish(const taps_block_t *block, int64_t begin, int64_t end) {
  const conv_taps_t *plan = block->run->plan;
  if (plan->narrows)
    matmul_narrow(&plan->problem->types, block->space + plan->copy_at, block->space + plan->narrow_at,
                  block->places * plan->padded);
  for (int64_t i = 0; i < block->places;) {
    taps_stretch_t s = stretch_at(block, i);
    copy_stretch(block, &s, i, begin, end);
    i += s.count;
  }
}
