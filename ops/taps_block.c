/* What a block of a convolution by taps reads and writes: pointers, regions, results. */
#include <string.h>

#include "ops/taps.h"

/* --- places --- */

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

/* Whether a tap meets the input along the first `axes` axes. */
static bool is_inside(const taps_block_t *block, const taps_place_t *place, const int64_t *tap, int axes) {
  bool inside = true;
  for (int d = 0; d < axes; d++) {
    const taps_axis_t *axis = &block->phase->axes[d];
    int64_t x = axis->starts[tap[d]] + place->at[d] * axis->in_step;
    inside &= x >= 0 && x < block->run->plan->from_sizes[d];
  }
  return inside;
}

/* Whether all taps meet the input along the first `axes` axes. */
static bool sees_all(const taps_block_t *block, const taps_place_t *place, int axes) {
  int64_t first[CONV_MAX_SPATIAL] = {0}, last[CONV_MAX_SPATIAL];
  for (int d = 0; d < axes; d++) last[d] = block->phase->axes[d].taps - 1;
  return is_inside(block, place, first, axes) && is_inside(block, place, last, axes);
}

/* Sets [low, high) of a stretch. In a region all are inside. Flipped zeros are no zeros: no tap can be left out. */
static void find_inner(const taps_block_t *block, taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  const taps_axis_t *axis = &block->phase->axes[last];
  s->low = 0, s->high = block->phase->taps ? s->count : 0;
  s->sees_all = plan->has_region || !block->phase->taps || sees_all(block, &s->place, last);
  if (plan->has_region || !block->phase->taps) return;
  int64_t first = axis->starts[0] + s->place.at[last] * axis->in_step;
  int64_t room = plan->from_sizes[last] - 1 - first - taps_span(axis);
  s->low = first < 0 ? taps_least(taps_divide_up(-first, axis->in_step), s->count) : 0;
  s->high = room < 0 ? 0 : taps_least(s->count, room / axis->in_step + 1);
  if (plan->flips && !s->sees_all) s->high = 0;
  s->high = taps_most(s->high, s->low);
}

/* Taps of a row: those of the last axis, or that one which they are merged to. */
static int64_t row_taps(const taps_block_t *block) {
  return block->run->plan->merges ? 1 : block->phase->axes[block->run->plan->problem->spatial - 1].taps;
}

/* The next row of taps. */
static void next_row(const taps_block_t *block, int64_t *tap) {
  for (int d = block->run->plan->problem->spatial - 2; d >= 0 && ++tap[d] == block->phase->axes[d].taps; d--) tap[d] = 0;
}

/* Pointers of a place that does not see all taps, row by row. */
static void point_taps(taps_block_t *block, const taps_place_t *place, const char *base, const void **to) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  const void *zeros = block->space + plan->zeros_at;
  int64_t at[CONV_MAX_SPATIAL] = {0}, row = row_taps(block);
  int last = plan->problem->spatial - 1;
  const taps_axis_t *axis = &phase->axes[last];
  int64_t first = place->at[last] * axis->in_step, size = plan->from_sizes[last];
  bool cut = plan->merges && (axis->starts[0] + first < 0 || axis->starts[0] + first + axis->taps > size);
  for (int64_t t = 0; t < phase->taps; next_row(block, at)) {
    bool inside = is_inside(block, place, at, last);
    for (int64_t k = 0; k < row; k++, t++, to += plan->rows) {
      bool sees = inside && (plan->merges || (uint64_t)(axis->starts[k] + first) < (uint64_t)size);
      const char *from = base + phase->offsets[t];
      *to = !sees ? zeros : cut ? make_rim(block, from, axis->starts[0] + first, axis->taps) : from;
    }
  }
}

static const char *in_address(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  return (plan->has_region ? block->space + plan->region_at : block->run->from) + s->in * plan->in_bytes;
}

/* Where results are summed, in place or in the block's copy: bytes from one to the next. */
static int64_t out_step(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  return (plan->has_copy ? plan->padded : s->out_step) * plan->bytes;
}

static char *out_address(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  return plan->has_copy ? block->space + plan->copy_at + s->number * plan->padded * plan->bytes
                        : block->run->to + s->out * plan->bytes;
}

const void **taps_block_row(const taps_block_t *block, int64_t number) {
  int64_t rows = block->run->plan->rows;
  return (const void **)(block->space + block->run->plan->table_at) + number / rows * rows * block->phase->taps +
         number % rows;
}

/* Result `x` of a stretch by pointers: of those that have some the next one. */
static void point_result(taps_block_t *block, const taps_stretch_t *s, int64_t x) {
  const conv_taps_t *plan = block->run->plan;
  taps_place_t place = s->place;
  const char *base = in_address(block, s) + x * s->in_step * plan->in_bytes;
  const void **to = taps_block_row(block, block->pointed);
  place.at[plan->problem->spatial - 1] += x;
  if (!s->sees_all || x < s->low || x >= s->high)
    point_taps(block, &place, base, to);
  else
    for (int64_t t = 0; t < block->phase->taps; t++) to[t * plan->rows] = base + block->phase->offsets[t];
  void **results = (void **)(block->space + plan->results_at);
  results[block->pointed++] = out_address(block, s) + x * out_step(block, s);
}

/* The taps of a line that meet the input: those of all axes but the last do so or not for all its results. */
static const int32_t *live_of_line(const taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int64_t at[CONV_MAX_SPATIAL] = {0}, row = row_taps(block);
  int last = plan->problem->spatial - 1;
  int32_t *live = (int32_t *)(block->space + plan->line_live_at) + block->line_count * (phase->taps + 1), count = 0;
  for (int32_t t = 0; t < phase->taps; t += (int32_t)row, next_row(block, at)) {
    bool inside = s->sees_all || is_inside(block, &s->place, at, last);
    for (int32_t k = 0; inside && k < row; k++) live[++count] = t + k;
  }
  live[0] = count;
  return live;
}

#define AGAIN_MOST 16 /* one in so many results of a line is made again; more cost more than pointers to what is left */

/* Sets [begin, end) of a stretch: the results that meet no end, and where it costs little to look for ends, all. If they
 * are not added to, a last tile that is not whole takes some of the one before: a few, or where products are few. */
static void find_line(const taps_block_t *block, taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  bool all = plan->lanewise && block->phase->taps;
  s->begin = all ? 0 : s->low, s->end = all ? s->count : s->high;
  int64_t count = s->end - s->begin;
  int64_t repeated = (plan->rows - count % plan->rows) % plan->rows;
  bool is_cheap = plan->lanewise || repeated * AGAIN_MOST <= count;
  bool again = is_cheap && count >= plan->rows && taps_piece(plan, block->phase) >= block->phase->terms;
  if (!again) s->end = s->begin + count / plan->rows * plan->rows;
}

/* Results of a line need no pointers. */
static void add_line(taps_block_t *block, const taps_stretch_t *s) {
  const conv_taps_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t count = s->end - s->begin;
  if (!count) return;
  ((tap_line_t *)(block->space + plan->lines_at))[block->line_count] =
      (tap_line_t){.from = in_address(block, s) + s->begin * s->in_step * plan->in_bytes,
                   .to = out_address(block, s) + s->begin * out_step(block, s), .last = count - plan->rows,
                   .tiles = taps_divide_up(count, plan->rows), .low = s->low - s->begin, .high = s->high - s->begin,
                   .place = (s->place.at[last] + s->begin) * block->phase->axes[last].in_step,
                   .live = live_of_line(block, s)};
  block->line_count++;
}

/* The results that are in no line; those at the same place of their stretches one after the other, as they have the
 * same taps. */
static void point_others(taps_block_t *block, const taps_stretch_t *stretches, int64_t count) {
  int64_t begin = 0, end = INT64_MAX, longest = 0;
  for (const taps_stretch_t *s = stretches; s < stretches + count; s++) {
    begin = taps_most(begin, s->begin), end = taps_least(end, s->end);
    longest = taps_most(longest, s->count);
  }
  for (int64_t x = begin > 0 ? 0 : end; x < longest; x = x + 1 == begin ? taps_most(begin, end) : x + 1)
    for (const taps_stretch_t *s = stretches; s < stretches + count; s++)
      if (x < s->count && (x < s->begin || x >= s->end)) point_result(block, s, x);
}

/* The stretch that starts with result `number` of the block. */
static taps_stretch_t stretch_at(const taps_block_t *block, int64_t number) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  taps_stretch_t s = {.place = place_of(block, number), .number = number};
  const int64_t *steps = plan->has_region ? phase->region_steps : plan->from.spatial, *at = s.place.at;
  s.count = last == 0 ? taps_least(phase->axes[0].count - at[0], block->places - number) : phase->axes[last].count;
  s.in_step = phase->axes[last].in_step * steps[last], s.out_step = phase->axes[last].step * plan->to.spatial[last];
  for (int d = 0; d <= last; d++) s.in += at[d] * phase->axes[d].in_step * steps[d];
  s.out = result_at(block, &s.place);
  if (plan->has_region)
    s.in += (s.place.image - block->begin / phase->axes[0].count) * phase->region[0] * steps[0] -
            block->begin % phase->axes[0].count * phase->axes[0].in_step * steps[0];
  else
    s.in += plan->from.start + s.place.image * plan->from.outer + block->group * plan->channels * plan->from.inner;
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
  const conv_taps_t *plan = block->run->plan;
  taps_stretch_t *stretches = (taps_stretch_t *)(block->space + plan->stretches_at);
  int64_t count = 0;
  for (int64_t i = 0; i < block->places; i += stretches[count++].count) {
    stretches[count] = stretch_at(block, i);
    find_inner(block, &stretches[count]);
    find_line(block, &stretches[count]);
    add_line(block, &stretches[count]);
  }
  block->rim = block->space + plan->rims_at;
  point_others(block, stretches, count);
  block->tiles = taps_divide_up(block->pointed, plan->rows);
  point_spare_rows(block);
  for (int64_t i = 0; i < block->tiles; i++) find_live(block, i);
}

/* --- regions --- */

/* `count` rows of so many bytes. Short ones are not worth a call each. */
static void copy_rows(const char *from, int64_t from_step, int64_t count, int64_t bytes, char *to, int64_t to_step) {
  enum { UNIT = 32, SHORT = 256 };
  if (bytes == to_step && bytes == from_step) bytes *= count, count = 1;
  if (bytes % UNIT || bytes > SHORT) {
    for (int64_t x = 0; x < count; x++, from += from_step, to += to_step) memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t x = 0; x < count; x++, from += from_step, to += to_step)
    for (int64_t i = 0; i < bytes; i += UNIT) memcpy(to + i, from + i, UNIT);
}

/* A line of places along the last axis, channels innermost, each of `run` bytes. */
static void copy_places(const conv_taps_t *plan, const char *from, int64_t count, int64_t run, char *to) {
  int64_t bytes = plan->in_bytes, step = plan->from.spatial[plan->problem->spatial - 1];
  int64_t used = plan->channels * bytes;
  if (plan->from.inner == 1) {
    copy_rows(from, step * bytes, count, used, to, run);
  } else if (step == 1) {
    native_turn_plane((int)bytes, count, plan->channels, from, plan->from.inner * bytes, to, run);
  } else {
    for (int64_t x = 0; x < count; x++)
      loop_copy_row(to + x * run, from + x * step * bytes, plan->channels, bytes, plan->from.inner * bytes, (int)bytes);
  }
}

/* The same, with channels as the region has them. */
static void copy_line(const taps_block_t *block, const char *from, int64_t count, char *to) {
  const conv_taps_t *plan = block->run->plan;
  if (!plan->spread.sources) {
    copy_places(plan, from, count, plan->place * plan->in_bytes, to);
    return;
  }
  char *line = block->space + plan->line_at;
  copy_places(plan, from, count, plan->channels * plan->in_bytes, line);
  plan->spread_line(&plan->spread, line, count, to);
}

/* A line of the region, [low, low + count) of the input along the last axis, with zeros where that has none. */
static void fill_line(const taps_block_t *block, const char *from, bool inside, int64_t low, int64_t count, char *to) {
  const conv_taps_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t run = plan->place * plan->in_bytes, size = plan->from_sizes[last];
  int64_t begin = inside ? taps_least(taps_most(-low, 0), count) : count;
  int64_t end = inside ? taps_most(taps_least(size - low, count), begin) : count;
  memset(to, 0, (size_t)(begin * run));
  if (begin < end)
    copy_line(block, from + (low + begin) * plan->from.spatial[last] * plan->in_bytes, end - begin, to + begin * run);
  memset(to + end * run, 0, (size_t)((count - end) * run));
}

/* Line `number` of an image's region, counted along all axes but the last. */
static void fill_region_line(const taps_block_t *block, int64_t image, int64_t number, char *to) {
  const conv_taps_t *plan = block->run->plan;
  const taps_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  int64_t at = plan->from.start + image * plan->from.outer + block->group * plan->channels * plan->from.inner;
  bool inside = true;
  for (int d = last - 1; d >= 0; d--) {
    int64_t x = number % phase->region[d] + phase->axes[d].starts[0];
    number /= phase->region[d];
    inside &= x >= 0 && x < plan->from_sizes[d];
    at += x * plan->from.spatial[d];
  }
  fill_line(block, block->run->from + (inside ? at * plan->in_bytes : 0), inside, phase->axes[last].starts[0],
            phase->region[last], to);
}

/* With one axis an image is one line, of which a part is wanted. */
static void fill_region_part(const taps_block_t *block, int64_t image, int64_t begin, int64_t end, char *to) {
  const conv_taps_t *plan = block->run->plan;
  int64_t at = plan->from.start + image * plan->from.outer + block->group * plan->channels * plan->from.inner;
  int64_t low = block->phase->axes[0].starts[0] + begin;
  fill_line(block, block->run->from + at * plan->in_bytes, true, low, end - begin, to);
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

/* A stretch of the block's copy, columns [begin, end). */
static void copy_stretch(const taps_block_t *block, const taps_stretch_t *s, int64_t begin, int64_t end) {
  const conv_taps_t *plan = block->run->plan;
  int64_t bytes = plan->out_bytes, line = plan->padded * bytes, inner = plan->to.inner * bytes;
  const char *from = block->space + (plan->narrows ? plan->narrow_at : plan->copy_at);
  from += s->number * line + begin * bytes;
  char *to = block->run->to + s->out * bytes + begin * inner;
  if (inner == bytes) {
    copy_rows(from, line, s->count, (end - begin) * bytes, to, s->out_step * bytes);
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
  const taps_stretch_t *s = (const taps_stretch_t *)(block->space + plan->stretches_at);
  for (int64_t i = 0; i < block->places; i += s++->count) copy_stretch(block, s, begin, end);
}
