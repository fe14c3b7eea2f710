/* Addresses of one block of a direct convolution: lines, indirection buffer, live taps.
 *
 * A block is divided into spans, one per line of results. The middle of a span, whose taps are all
 * inside the input, becomes a line: its tiles compute addresses from strides. Borders, and
 * remainders smaller than a tile, use the indirection buffer, one address for each position and
 * tap, as in XNNPACK's indirect convolution; padding reads a line of zeros. Border results at the
 * same coordinate of neighbouring spans are put into one tile, because they miss the same taps, and
 * taps that no row of a tile has are skipped (live taps).
 *
 * Cost: O(positions) for lines, O(border positions * taps) for the buffer, once a block and not
 * once a panel. */
#include <string.h>

#include "ops/kernels/conv/conv_direct.h"

/* --- positions --- */

/* Positions of a phase count line by line; the first spatial axis and the image are in the line. */
static direct_position_t result_position(const direct_block_t *block, int64_t number) {
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

/* Offset of a result in the output. */
static int64_t result_offset(const direct_block_t *block, const direct_position_t *position) {
  const conv_direct_t *plan = block->run->plan;
  int64_t at = plan->output.start + position->image * plan->output.outer +
               block->group * plan->gemm.n * plan->output.inner;
  for (int d = 0; d < plan->problem->spatial; d++) {
    const direct_axis_t *axis = &block->phase->axes[d];
    at += (axis->first + position->at[d] * axis->stride) * plan->output.spatial[d];
  }
  return at;
}

/* Copy of a merged tap's `count` positions from coordinate `low` on, with zeros where they are
 * outside of the input. Precondition: the workspace holds as many copies as the block can need. */
static const void *make_edge_copy(direct_block_t *block, const char *from, int64_t low,
                                  int64_t count) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t size = plan->input_sizes[last];
  int64_t each = plan->gemm.k * plan->types.in_bytes;
  int64_t begin = hr_min(hr_max(-low, 0), count);
  int64_t end = hr_max(begin, hr_min(size - low, count));
  char *edge_copy = block->edge_copy;
  memset(edge_copy, 0, (size_t)(count * each));
  memcpy(edge_copy + begin * each, from + begin * each, (size_t)((end - begin) * each));
  block->edge_copy += count * each;
  return edge_copy;
}

/* True if a tap is inside the input along the first `axes` axes. */
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

/* True if all taps are inside along the first `axes` axes: the first and the last tap of each
 * are. */
static bool all_taps_inside(const direct_block_t *block, const direct_position_t *position,
                            int axes) {
  int64_t first[CONV_MAX_SPATIAL] = {0}, last[CONV_MAX_SPATIAL];
  for (int d = 0; d < axes; d++) last[d] = block->phase->axes[d].taps - 1;
  return is_inside(block, position, first, axes) && is_inside(block, position, last, axes);
}

/* Sets the inner range of a span. In a region all results are inner. With flipped signs padding is
 * 128 and not 0, so no tap may be skipped and a row beyond an outer border has no inner range. */
static void set_inner_range(const direct_block_t *block, direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  const direct_axis_t *axis = &block->phase->axes[last];
  s->inner_begin = 0;
  s->inner_end = block->phase->taps ? s->count : 0;
  s->outer_inside =
      plan->form.has_region || !block->phase->taps || all_taps_inside(block, &s->position, last);
  if (plan->form.has_region || !block->phase->taps) return;
  int64_t first = axis->starts[0] + s->position.at[last] * axis->in_stride;
  int64_t last_start = plan->input_sizes[last] - 1 - first - direct_tap_span(axis);
  s->inner_begin = first < 0 ? hr_min(hr_div_ceil(-first, axis->in_stride), s->count) : 0;
  s->inner_end = last_start < 0 ? 0 : hr_min(s->count, last_start / axis->in_stride + 1);
  if (plan->types.flips_sign && !s->outer_inside) s->inner_end = 0;
  s->inner_end = hr_max(s->inner_end, s->inner_begin);
}

/* Number of taps of a row: those of the last axis, or 1 if they are merged. */
static int64_t row_taps(const direct_block_t *block) {
  return block->run->plan->form.merges_last_axis
             ? 1
             : block->phase->axes[block->run->plan->problem->spatial - 1].taps;
}

/* Advances to the next row of taps, over all axes except the last. */
static void advance_tap_row(const direct_block_t *block, int64_t *tap) {
  for (int d = block->run->plan->problem->spatial - 2;
       d >= 0 && ++tap[d] == block->phase->axes[d].taps; d--)
    tap[d] = 0;
}

/* Fills the indirection slots of a border position, row of taps by row of taps. */
static void fill_indirection(direct_block_t *block, const direct_position_t *position,
                             const char *base, const void **to) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  const void *zeros = block->workspace + plan->workspace.zeros_at;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int64_t row = row_taps(block);
  int last = plan->problem->spatial - 1;
  const direct_axis_t *axis = &phase->axes[last];
  int64_t first = position->at[last] * axis->in_stride;
  int64_t size = plan->input_sizes[last];
  bool is_clipped = plan->form.merges_last_axis &&
                    (axis->starts[0] + first < 0 || axis->starts[0] + first + axis->taps > size);
  for (int64_t t = 0; t < phase->taps; advance_tap_row(block, at)) {
    bool inside = is_inside(block, position, at, last);
    for (int64_t k = 0; k < row; k++, t++, to += plan->tile.rows) {
      bool sees = inside && (plan->form.merges_last_axis ||
                             (uint64_t)(axis->starts[k] + first) < (uint64_t)size);
      const char *from = base + phase->offsets[t];
      if (!sees)
        *to = zeros;
      else if (is_clipped)
        *to = make_edge_copy(block, from, axis->starts[0] + first, axis->taps);
      else
        *to = from;
    }
  }
}

static const char *span_input(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return (plan->form.has_region ? block->workspace + plan->workspace.region_at : block->run->from) +
         s->in_offset * plan->types.in_bytes;
}

/* Bytes from one result of the span to the next, in the output or in the block's buffer. */
static int64_t span_result_stride(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return (plan->form.has_copy ? plan->tile.padded_n : s->out_stride) * plan->types.sum_bytes;
}

/* Destination of the sums of a span: the buffer whose contents are transformed later, or the
 * result. */
static char *span_result(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  return plan->form.has_copy ? block->workspace + plan->workspace.copy_at +
                                   s->first_result * plan->tile.padded_n * plan->types.sum_bytes
                             : block->run->to + s->out_offset * plan->types.sum_bytes;
}

const void **direct_block_indirection(const direct_block_t *block, int64_t number) {
  int64_t rows = block->run->plan->tile.rows;
  return (const void **)(block->workspace + block->run->plan->workspace.indirection_at) +
         number / rows * rows * block->phase->taps + number % rows;
}

/* Appends result `x` of the span to the indirection buffer. */
static void add_indirect_result(direct_block_t *block, const direct_span_t *s, int64_t x) {
  const conv_direct_t *plan = block->run->plan;
  direct_position_t position = s->position;
  const char *base = span_input(block, s) + x * s->in_stride * plan->types.in_bytes;
  const void **to = direct_block_indirection(block, block->indirect_rows);
  position.at[plan->problem->spatial - 1] += x;
  if (!s->outer_inside || x < s->inner_begin || x >= s->inner_end)
    fill_indirection(block, &position, base, to);
  else
    for (int64_t t = 0; t < block->phase->taps; t++)
      to[t * plan->tile.rows] = base + block->phase->offsets[t];
  void **results = (void **)(block->workspace + plan->workspace.results_at);
  results[block->indirect_rows++] = span_result(block, s) + x * span_result_stride(block, s);
}

/* Live taps of a line. Along the axes except the last, a tap is inside for all its results or for
 * none. */
static const int32_t *list_line_taps(const direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int64_t at[CONV_MAX_SPATIAL] = {0};
  int64_t row = row_taps(block);
  int last = plan->problem->spatial - 1;
  int32_t *live = (int32_t *)(block->workspace + plan->workspace.line_taps_at) +
                  block->line_count * (phase->taps + 1);
  int32_t count = 0;
  for (int32_t t = 0; t < phase->taps; t += (int32_t)row, advance_tap_row(block, at)) {
    bool inside = s->outer_inside || is_inside(block, &s->position, at, last);
    for (int32_t k = 0; inside && k < row; k++) live[++count] = t + k;
  }
  live[0] = count;
  return live;
}

#define MIN_RESULTS_PER_REPEAT \
  16 /* a last tile may recompute one in this many results; more cost more than indirection */

/* Sets the line of a span: its inner results, or in the depthwise form, whose tiles check the
 * borders themselves, all results. A last tile that is not full overlaps the previous one if that
 * is cheap and nothing is accumulated. */
static void set_line_range(const direct_block_t *block, direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  bool all = plan->form.depthwise && block->phase->taps;
  s->line_begin = all ? 0 : s->inner_begin;
  s->line_end = all ? s->count : s->inner_end;
  int64_t count = s->line_end - s->line_begin;
  int64_t repeated = (plan->tile.rows - count % plan->tile.rows) % plan->tile.rows;
  bool is_cheap = plan->form.depthwise || repeated * MIN_RESULTS_PER_REPEAT <= count;
  bool overlaps =
      is_cheap && count >= plan->tile.rows && direct_k_block(plan, block->phase) >= block->phase->k;
  if (!overlaps) s->line_end = s->line_begin + count / plan->tile.rows * plan->tile.rows;
}

/* Appends the span's line to those of the block. */
static void add_line(direct_block_t *block, const direct_span_t *s) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t count = s->line_end - s->line_begin;
  if (!count) return;
  ((direct_line_t *)(block->workspace + plan->workspace.lines_at))[block->line_count] =
      (direct_line_t){
          .from = span_input(block, s) + s->line_begin * s->in_stride * plan->types.in_bytes,
          .to = span_result(block, s) + s->line_begin * span_result_stride(block, s),
          .last_row = count - plan->tile.rows,
          .tiles = hr_div_ceil(count, plan->tile.rows),
          .inner_begin = s->inner_begin - s->line_begin,
          .inner_end = s->inner_end - s->line_begin,
          .position = (s->position.at[last] + s->line_begin) * block->phase->axes[last].in_stride,
          .live_taps = list_line_taps(block, s)};
  block->line_count++;
}

/* Appends the results outside of lines, ordered by coordinate, since those at the same coordinate
 * have the same live taps. */
static void add_indirect_results(direct_block_t *block, const direct_span_t *spans, int64_t count) {
  int64_t begin = 0, end = INT64_MAX, longest = 0;
  for (const direct_span_t *s = spans; s < spans + count; s++) {
    begin = hr_max(begin, s->line_begin);
    end = hr_min(end, s->line_end);
    longest = hr_max(longest, s->count);
  }
  for (int64_t x = begin > 0 ? 0 : end; x < longest;
       x = x + 1 == begin ? hr_max(begin, end) : x + 1)
    for (const direct_span_t *s = spans; s < spans + count; s++)
      if (x < s->count && (x < s->line_begin || x >= s->line_end)) add_indirect_result(block, s, x);
}

/* The span that starts with result `number` of the block. */
static direct_span_t span_from(const direct_block_t *block, int64_t number) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  direct_span_t s = {.position = result_position(block, number), .first_result = number};
  const int64_t *steps = plan->form.has_region ? phase->region_strides : plan->input.spatial;
  const int64_t *at = s.position.at;
  s.count = last == 0 ? hr_min(phase->axes[0].count - at[0], block->positions - number)
                      : phase->axes[last].count;
  s.in_stride = phase->axes[last].in_stride * steps[last];
  s.out_stride = phase->axes[last].stride * plan->output.spatial[last];
  for (int d = 0; d <= last; d++) s.in_offset += at[d] * phase->axes[d].in_stride * steps[d];
  s.out_offset = result_offset(block, &s.position);
  if (plan->form.has_region)
    s.in_offset +=
        (s.position.image - block->begin / phase->axes[0].count) * phase->region[0] * steps[0] -
        block->begin % phase->axes[0].count * phase->axes[0].in_stride * steps[0];
  else
    s.in_offset += plan->input.start + s.position.image * plan->input.outer +
                   block->group * plan->channels * plan->input.inner;
  return s;
}

/* Surplus rows of the last tile read the addresses of its last row, and write to the spare
 * results. */
static void pad_last_tile(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  void **results = (void **)(block->workspace + plan->workspace.results_at);
  for (int64_t i = block->indirect_rows; i < block->indirect_tiles * plan->tile.rows; i++) {
    results[i] = block->workspace + plan->workspace.spare_at;
    for (int64_t t = 0; t < block->phase->taps; t++)
      direct_block_indirection(block, i)[t * plan->tile.rows] =
          direct_block_indirection(block, block->indirect_rows - 1)[t * plan->tile.rows];
  }
}

int32_t *direct_block_live_taps(const direct_block_t *block, int64_t tile) {
  return (int32_t *)(block->workspace + block->run->plan->workspace.live_taps_at) +
         tile * (block->phase->taps + 1);
}

/* Removes the taps of a tile whose rows all read padding, and closes the gaps in its slots. In a
 * region every address is valid, so none is removed. */
static void compact_live_taps(const direct_block_t *block, int64_t tile) {
  const conv_direct_t *plan = block->run->plan;
  const void *zeros = block->workspace + plan->workspace.zeros_at;
  const void **slots = direct_block_indirection(block, tile * plan->tile.rows);
  const void **to = slots;
  int32_t *live = direct_block_live_taps(block, tile), count = 0;
  for (int32_t t = 0; t < block->phase->taps; t++, slots += plan->tile.rows) {
    bool any = plan->form.has_region || plan->types.flips_sign;
    for (int64_t r = 0; r < plan->tile.rows && !any; r++) any = slots[r] != zeros;
    if (!any) continue;
    if (to != slots) memcpy(to, slots, (size_t)plan->tile.rows * sizeof *to);
    live[1 + count++] = t;
    to += plan->tile.rows;
  }
  live[0] = count;
}

/* Divides the block into spans, and these into lines and indirect tiles. */
static void plan_block_tiles(direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  direct_span_t *spans = (direct_span_t *)(block->workspace + plan->workspace.spans_at);
  int64_t count = 0;
  for (int64_t i = 0; i < block->positions; i += spans[count++].count) {
    spans[count] = span_from(block, i);
    set_inner_range(block, &spans[count]);
    set_line_range(block, &spans[count]);
    add_line(block, &spans[count]);
  }
  block->edge_copy = block->workspace + plan->workspace.edge_copies_at;
  add_indirect_results(block, spans, count);
  block->indirect_tiles = hr_div_ceil(block->indirect_rows, plan->tile.rows);
  pad_last_tile(block);
  for (int64_t i = 0; i < block->indirect_tiles; i++) compact_live_taps(block, i);
}

/* Writes the zeros first, as border taps read them. */
void direct_block_prepare(direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  memset(block->workspace + plan->workspace.zeros_at, 0, plan->workspace.zeros_bytes);
  if (plan->form.has_region && block->phase->taps) direct_block_fill_region(block);
  plan_block_tiles(block);
}
