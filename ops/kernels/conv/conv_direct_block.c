/* What a block of a convolution by taps reads and writes: pointers, regions, results. */
#include <string.h>

#include "ops/kernels/conv/conv_direct.h"

/* --- places --- */

static direct_position_t position_of(const direct_block_t *block, int64_t number) {
  const direct_phase_t *phase = block->phase;
  int64_t line = block->begin + number / phase->line_positions;
  int64_t rest = number % phase->line_positions;
  direct_position_t position = {line / phase->axes[0].count, {line % phase->axes[0].count}};
  for (int d = block->run->plan->problem->spatial - 1; d > 0; d--) {
    position.at[d] = rest % phase->axes[d].count;
    rest /= phase->axes[d].count;
  }
  return position;
}

/* Where a result belongs, in elements. */
static int64_t result_at(const direct_block_t *block, const direct_position_t *position) {
  const conv_direct_t *plan = block->run->plan;
  int64_t at = plan->output.start + position->image * plan->output.outer +
               block->group * plan->n * plan->output.inner;
  for (int d = 0; d < plan->problem->spatial; d++) {
    const direct_axis_t *axis = &block->phase->axes[d];
    at += (axis->first + position->at[d] * axis->stride) * plan->output.spatial[d];
  }
  return at;
}

/* A merged tap that reaches beyond the end of a line: a copy of what is there, with zeros around
 * it. */
static const void *make_edge_copy(direct_block_t *block, const char *from, int64_t low,
                                  int64_t count) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t size = plan->input_sizes[last];
  int64_t each = plan->k * plan->in_bytes;
  int64_t begin = hr_min(hr_max(-low, 0), count);
  int64_t end = hr_max(begin, hr_min(size - low, count));
  char *edge_copy = block->edge_copy;
  memset(edge_copy, 0, (size_t)(count * each));
  memcpy(edge_copy + begin * each, from + begin * each, (size_t)((end - begin) * each));
  block->edge_copy += count * each;
  return edge_copy;
}

/* Whether a tap meets the input along the first `axes` axes. */
static bool is_inside(const direct_block_t *block, const direct_position_t *position,
                      const int64_t *tap, int axes) {
  bool inside = true;
  for (int d = 0; d < axes; d++) {
    const direct_axis_t *axis = &block->phase->axes[d];
    int64_t x = axis->starts[tap[d]] + position->at[d] * axis->in_stride;
    inside &= x >= 0 && x < block->run->plan->input_sizes[d];
  }
  return inside;
}

/* Whether all taps meet the input along the first `axes` axes. */
static bool sees_all(const direct_block_t *block, const direct_position_t *position, int axes) {
  int64_t first[CONV_MAX_SPATIAL] = {0}, last[CONV_MAX_SPATIAL];
  for (int d = 0; d < axes; d++) last[d] = block->phase->axes[d].taps - 1;
  return is_inside(block, position, first, axes) && is_inside(block, position, last, axes);
}

/* Sets [low, high) of a stretch. In a region all are inside. Flipped zeros are no zeros: no tap can
 * be left out. */
static void find_inner(const direct_block_t *block, direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  const direct_axis_t *axis = &block->phase->axes[last];
  s->low = 0;
  s->high = block->phase->taps ? s->count : 0;
  s->sees_all = plan->has_region || !block->phase->taps || sees_all(block, &s->position, last);
  if (plan->has_region || !block->phase->taps) return;
  int64_t first = axis->starts[0] + s->position.at[last] * axis->in_stride;
  int64_t room = plan->input_sizes[last] - 1 - first - direct_tap_span(axis);
  s->low = first < 0 ? hr_min(hr_div_ceil(-first, axis->in_stride), s->count) : 0;
  s->high = room < 0 ? 0 : hr_min(s->count, room / axis->in_stride + 1);
  if (plan->flips_sign && !s->sees_all) s->high = 0;
  s->high = hr_max(s->high, s->low);
}

/* Taps of a row: those of the last axis, or that one which they are merged to. */
static int64_t row_taps(const direct_block_t *block) {
  return block->run->plan->merges_last_axis
             ? 1
             : block->phase->axes[block->run->plan->problem->spatial - 1].taps;
}

/* The next row of taps. */
static void next_row(const direct_block_t *block, int64_t *tap) {
  for (int d = block->run->plan->problem->spatial - 2;
       d >= 0 && ++tap[d] == block->phase->axes[d].taps; d--)
    tap[d] = 0;
}

/* Pointers of a place that does not see all taps, row by row. */
static void point_taps(direct_block_t *block, const direct_position_t *position, const char *base,
                       const void **to) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  const void *zeros = block->space + plan->zeros_at;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int64_t row = row_taps(block);
  int last = plan->problem->spatial - 1;
  const direct_axis_t *axis = &phase->axes[last];
  int64_t first = position->at[last] * axis->in_stride;
  int64_t size = plan->input_sizes[last];
  bool cut = plan->merges_last_axis &&
             (axis->starts[0] + first < 0 || axis->starts[0] + first + axis->taps > size);
  for (int64_t t = 0; t < phase->taps; next_row(block, at)) {
    bool inside = is_inside(block, position, at, last);
    for (int64_t k = 0; k < row; k++, t++, to += plan->rows) {
      bool sees = inside &&
                  (plan->merges_last_axis || (uint64_t)(axis->starts[k] + first) < (uint64_t)size);
      const char *from = base + phase->offsets[t];
      *to = !sees ? zeros
            : cut ? make_edge_copy(block, from, axis->starts[0] + first, axis->taps)
                  : from;
    }
  }
}

static const char *in_address(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return (plan->has_region ? block->space + plan->region_at : block->run->from) +
         s->in * plan->in_bytes;
}

/* Where results are summed, in place or in the block's copy: bytes from one to the next. */
static int64_t out_step(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return (plan->has_copy ? plan->padded : s->out_stride) * plan->bytes;
}

static char *out_address(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return plan->has_copy
             ? block->space + plan->copy_at + s->first_result * plan->padded * plan->bytes
             : block->run->to + s->out * plan->bytes;
}

const void **direct_block_row(const direct_block_t *block, int64_t number) {
  int64_t rows = block->run->plan->rows;
  return (const void **)(block->space + block->run->plan->table_at) +
         number / rows * rows * block->phase->taps + number % rows;
}

/* Result `x` of a stretch by pointers: of those that have some the next one. */
static void point_result(direct_block_t *block, const direct_span_t *s, int64_t x) {
  const conv_direct_t *plan = block->run->plan;
  direct_position_t position = s->position;
  const char *base = in_address(block, s) + x * s->in_stride * plan->in_bytes;
  const void **to = direct_block_row(block, block->pointed);
  position.at[plan->problem->spatial - 1] += x;
  if (!s->sees_all || x < s->low || x >= s->high)
    point_taps(block, &position, base, to);
  else
    for (int64_t t = 0; t < block->phase->taps; t++)
      to[t * plan->rows] = base + block->phase->offsets[t];
  void **results = (void **)(block->space + plan->results_at);
  results[block->pointed++] = out_address(block, s) + x * out_step(block, s);
}

/* The taps of a line that meet the input: those of all axes but the last do so or not for all its
 * results. */
static const int32_t *live_of_line(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int64_t row = row_taps(block);
  int last = plan->problem->spatial - 1;
  int32_t *live =
      (int32_t *)(block->space + plan->line_live_at) + block->line_count * (phase->taps + 1);
  int32_t count = 0;
  for (int32_t t = 0; t < phase->taps; t += (int32_t)row, next_row(block, at)) {
    bool inside = s->sees_all || is_inside(block, &s->position, at, last);
    for (int32_t k = 0; inside && k < row; k++) live[++count] = t + k;
  }
  live[0] = count;
  return live;
}

#define AGAIN_MOST                                                                              \
  16 /* one in so many results of a line is made again; more cost more than pointers to what is \
        left */

/* Sets [begin, end) of a stretch: the results that meet no end, and where it costs little to look
 * for ends, all. If they are not added to, a last tile that is not whole takes some of the one
 * before: a few, or where products are few. */
static void find_line(const direct_block_t *block, direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  bool all = plan->depthwise && block->phase->taps;
  s->begin = all ? 0 : s->low;
  s->end = all ? s->count : s->high;
  int64_t count = s->end - s->begin;
  int64_t repeated = (plan->rows - count % plan->rows) % plan->rows;
  bool is_cheap = plan->depthwise || repeated * AGAIN_MOST <= count;
  bool again =
      is_cheap && count >= plan->rows && direct_k_block(plan, block->phase) >= block->phase->k;
  if (!again) s->end = s->begin + count / plan->rows * plan->rows;
}

/* Results of a line need no pointers. */
static void add_line(direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t count = s->end - s->begin;
  if (!count) return;
  ((direct_line_t *)(block->space + plan->lines_at))[block->line_count] = (direct_line_t){
      .from = in_address(block, s) + s->begin * s->in_stride * plan->in_bytes,
      .to = out_address(block, s) + s->begin * out_step(block, s),
      .last = count - plan->rows,
      .tiles = hr_div_ceil(count, plan->rows),
      .low = s->low - s->begin,
      .high = s->high - s->begin,
      .position = (s->position.at[last] + s->begin) * block->phase->axes[last].in_stride,
      .live = live_of_line(block, s)};
  block->line_count++;
}

/* The results that are in no line; those at the same place of their stretches one after the other,
 * as they have the same taps. */
static void point_others(direct_block_t *block, const direct_span_t *stretches, int64_t count) {
  int64_t begin = 0, end = INT64_MAX, longest = 0;
  for (const direct_span_t *s = stretches; s < stretches + count; s++) {
    begin = hr_max(begin, s->begin);
    end = hr_min(end, s->end);
    longest = hr_max(longest, s->count);
  }
  for (int64_t x = begin > 0 ? 0 : end; x < longest;
       x = x + 1 == begin ? hr_max(begin, end) : x + 1)
    for (const direct_span_t *s = stretches; s < stretches + count; s++)
      if (x < s->count && (x < s->begin || x >= s->end)) point_result(block, s, x);
}

/* The stretch that starts with result `number` of the block. */
static direct_span_t span_at(const direct_block_t *block, int64_t number) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  direct_span_t s = {.position = position_of(block, number), .first_result = number};
  const int64_t *steps = plan->has_region ? phase->region_strides : plan->input.spatial;
  const int64_t *at = s.position.at;
  s.count = last == 0 ? hr_min(phase->axes[0].count - at[0], block->positions - number)
                      : phase->axes[last].count;
  s.in_stride = phase->axes[last].in_stride * steps[last];
  s.out_stride = phase->axes[last].stride * plan->output.spatial[last];
  for (int d = 0; d <= last; d++) s.in += at[d] * phase->axes[d].in_stride * steps[d];
  s.out = result_at(block, &s.position);
  if (plan->has_region)
    s.in += (s.position.image - block->begin / phase->axes[0].count) * phase->region[0] * steps[0] -
            block->begin % phase->axes[0].count * phase->axes[0].in_stride * steps[0];
  else
    s.in += plan->input.start + s.position.image * plan->input.outer +
            block->group * plan->channels * plan->input.inner;
  return s;
}

/* Rows that the last tile has too many read what its last one reads. */
static void point_spare_rows(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  void **results = (void **)(block->space + plan->results_at);
  for (int64_t i = block->pointed; i < block->tiles * plan->rows; i++) {
    results[i] = block->space + plan->spare_at;
    for (int64_t t = 0; t < block->phase->taps; t++)
      direct_block_row(block, i)[t * plan->rows] =
          direct_block_row(block, block->pointed - 1)[t * plan->rows];
  }
}

int32_t *direct_block_live(const direct_block_t *block, int64_t tile) {
  return (int32_t *)(block->space + block->run->plan->live_at) + tile * (block->phase->taps + 1);
}

/* Leaves out taps of a tile that lead all its places to zeros. In a region no pointer does. */
static void find_live(const direct_block_t *block, int64_t tile) {
  const conv_direct_t *plan = block->run->plan;
  const void *zeros = block->space + plan->zeros_at;
  const void **table = direct_block_row(block, tile * plan->rows);
  const void **to = table;
  int32_t *live = direct_block_live(block, tile), count = 0;
  for (int32_t t = 0; t < block->phase->taps; t++, table += plan->rows) {
    bool any = plan->has_region || plan->flips_sign;
    for (int64_t r = 0; r < plan->rows && !any; r++) any = table[r] != zeros;
    if (!any) continue;
    if (to != table) memcpy(to, table, (size_t)plan->rows * sizeof *to);
    live[1 + count++] = t;
    to += plan->rows;
  }
  live[0] = count;
}

/* All lines and pointers of a block. */
static void point_block(direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  direct_span_t *stretches = (direct_span_t *)(block->space + plan->spans_at);
  int64_t count = 0;
  for (int64_t i = 0; i < block->positions; i += stretches[count++].count) {
    stretches[count] = span_at(block, i);
    find_inner(block, &stretches[count]);
    find_line(block, &stretches[count]);
    add_line(block, &stretches[count]);
  }
  block->edge_copy = block->space + plan->edge_copies_at;
  point_others(block, stretches, count);
  block->tiles = hr_div_ceil(block->pointed, plan->rows);
  point_spare_rows(block);
  for (int64_t i = 0; i < block->tiles; i++) find_live(block, i);
}

/* --- regions --- */

/* `count` rows of so many bytes. Short ones are not worth a call each. */
static void copy_rows(const char *from, int64_t from_step, int64_t count, int64_t bytes, char *to,
                      int64_t to_step) {
  enum { UNIT = 32, SHORT = 256 };
  if (bytes == to_step && bytes == from_step) {
    bytes *= count;
    count = 1;
  }
  if (bytes % UNIT || bytes > SHORT) {
    for (int64_t x = 0; x < count; x++, from += from_step, to += to_step)
      memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t x = 0; x < count; x++, from += from_step, to += to_step)
    for (int64_t i = 0; i < bytes; i += UNIT) memcpy(to + i, from + i, UNIT);
}

/* A line of places along the last axis, channels innermost, each of `run` bytes. */
static void copy_positions(const conv_direct_t *plan, const char *from, int64_t count, int64_t run,
                           char *to) {
  int64_t bytes = plan->in_bytes;
  int64_t step = plan->input.spatial[plan->problem->spatial - 1];
  int64_t used = plan->channels * bytes;
  if (plan->input.inner == 1) {
    copy_rows(from, step * bytes, count, used, to, run);
  } else if (step == 1) {
    native_transpose_plane((int)bytes, count, plan->channels, from, plan->input.inner * bytes, to,
                           run);
  } else {
    for (int64_t x = 0; x < count; x++)
      loop_copy_row(to + x * run, from + x * step * bytes, plan->channels, bytes,
                    plan->input.inner * bytes, (int)bytes);
  }
}

/* The same, with channels as the region has them. */
static void copy_line(const direct_block_t *block, const char *from, int64_t count, char *to) {
  const conv_direct_t *plan = block->run->plan;
  if (!plan->expand.sources) {
    copy_positions(plan, from, count, plan->position_elements * plan->in_bytes, to);
    return;
  }
  char *line = block->space + plan->line_at;
  copy_positions(plan, from, count, plan->channels * plan->in_bytes, line);
  plan->expand_line(&plan->expand, line, count, to);
}

/* A line of the region, [low, low + count) of the input along the last axis, with zeros where that
 * has none. */
static void fill_line(const direct_block_t *block, const char *from, bool inside, int64_t low,
                      int64_t count, char *to) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t run = plan->position_elements * plan->in_bytes;
  int64_t size = plan->input_sizes[last];
  int64_t begin = inside ? hr_min(hr_max(-low, 0), count) : count;
  int64_t end = inside ? hr_max(hr_min(size - low, count), begin) : count;
  memset(to, 0, (size_t)(begin * run));
  if (begin < end)
    copy_line(block, from + (low + begin) * plan->input.spatial[last] * plan->in_bytes, end - begin,
              to + begin * run);
  memset(to + end * run, 0, (size_t)((count - end) * run));
}

/* Line `number` of an image's region, counted along all axes but the last. */
static void fill_region_line(const direct_block_t *block, int64_t image, int64_t number, char *to) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  int64_t at = plan->input.start + image * plan->input.outer +
               block->group * plan->channels * plan->input.inner;
  bool inside = true;
  for (int d = last - 1; d >= 0; d--) {
    int64_t x = number % phase->region[d] + phase->axes[d].starts[0];
    number /= phase->region[d];
    inside &= x >= 0 && x < plan->input_sizes[d];
    at += x * plan->input.spatial[d];
  }
  fill_line(block, block->run->from + (inside ? at * plan->in_bytes : 0), inside,
            phase->axes[last].starts[0], phase->region[last], to);
}

/* With one axis an image is one line, of which a part is wanted. */
static void fill_region_part(const direct_block_t *block, int64_t image, int64_t begin, int64_t end,
                             char *to) {
  const conv_direct_t *plan = block->run->plan;
  int64_t at = plan->input.start + image * plan->input.outer +
               block->group * plan->channels * plan->input.inner;
  int64_t low = block->phase->axes[0].starts[0] + begin;
  fill_line(block, block->run->from + at * plan->in_bytes, true, low, end - begin, to);
}

/* What the block's lines see, image after image. */
static void fill_region(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  const direct_axis_t *axis = &phase->axes[0];
  int64_t count = axis->count;
  int64_t reach = phase->region[0] - (count - 1) * axis->in_stride;
  int64_t each = 1;
  int64_t first = block->begin / count * phase->region[0] + block->begin % count * axis->in_stride;
  char *region = block->space + plan->region_at;
  for (int d = 1; d < plan->problem->spatial - 1; d++) each *= phase->region[d];
  for (int64_t line = block->begin, next; line < block->end; line = next) {
    int64_t image = line / count, y = line % count;
    next = hr_min(block->end, (image + 1) * count);
    int64_t begin = y * axis->in_stride;
    int64_t end = (y + next - line - 1) * axis->in_stride + reach;
    char *to = region + (image * phase->region[0] + begin - first) * phase->region_strides[0] *
                            plan->in_bytes;
    if (plan->problem->spatial == 1)
      fill_region_part(block, image, begin, end, to);
    else
      for (int64_t i = begin * each; i < end * each;
           i++, to += phase->region_strides[0] / each * plan->in_bytes)
        fill_region_line(block, image, i, to);
  }
}

void direct_block_ready(direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  memset(block->space + plan->zeros_at, 0, plan->zeros_bytes);
  if (plan->has_region && block->phase->taps) fill_region(block);
  point_block(block);
}

/* --- results --- */

/* A stretch of the block's copy, columns [begin, end). */
static void copy_span(const direct_block_t *block, const direct_span_t *s, int64_t begin,
                      int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  int64_t bytes = plan->out_bytes;
  int64_t line = plan->padded * bytes;
  int64_t inner = plan->output.inner * bytes;
  const char *from = block->space + (plan->narrows_result ? plan->narrow_at : plan->copy_at);
  from += s->first_result * line + begin * bytes;
  char *to = block->run->to + s->out * bytes + begin * inner;
  if (inner == bytes) {
    copy_rows(from, line, s->count, (end - begin) * bytes, to, s->out_stride * bytes);
  } else if (s->out_stride == 1) {
    native_transpose_plane((int)bytes, end - begin, s->count, from, line, to, inner);
  } else {
    for (int64_t c = 0; c < end - begin; c++)
      loop_copy_row(to + c * inner, from + c * bytes, s->count, s->out_stride * bytes, line,
                    (int)bytes);
  }
}

/* Columns that other workers make are narrowed too, whatever they hold. */
void direct_block_finish(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  if (plan->narrows_result)
    matmul_narrow(&plan->problem->types, block->space + plan->copy_at,
                  block->space + plan->narrow_at, block->positions * plan->padded);
  const direct_span_t *s = (const direct_span_t *)(block->space + plan->spans_at);
  for (int64_t i = 0; i < block->positions; i += s++->count) copy_span(block, s, begin, end);
}
