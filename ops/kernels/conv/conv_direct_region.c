/* Copies of a block of a direct convolution: of its input before the sums (the region), of its
 * results after them.
 *
 * The region holds the input positions that the block's lines read, image after image, channels
 * innermost and zeros where the window reaches past the input:
 *
 *   axis 0     begin * in_stride ... (end - 1) * in_stride + span of the taps
 *   other axes region[d] = (count - 1) * in_stride + span of the taps + 1 positions
 *
 * With a region no tap needs a border case, and neighbouring results share the copy. Results are
 * copied from the block's buffer if the program's channels are not innermost, do not fill vectors,
 * or have another type than the sums. Cost: one pass over the input and one over the results, in
 * the second-level cache. */
#include <string.h>

#include "ops/kernels/conv/conv_direct.h"

/* --- input --- */

/* Copies `count` rows of `bytes`. Short rows are copied in 32-byte units, which inlines. */
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

/* Copies `count` positions along the last axis, channels innermost, `run` bytes each. */
static void copy_positions(const conv_direct_t *plan, const char *from, int64_t count, int64_t run,
                           char *to) {
  int64_t bytes = plan->types.in_bytes;
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

/* The same, with the channels expanded if the form is depthwise. */
static void copy_region_line(const direct_block_t *block, const char *from, int64_t count,
                             char *to) {
  const conv_direct_t *plan = block->run->plan;
  if (!plan->depthwise.expand.sources) {
    copy_positions(plan, from, count, plan->position_elements * plan->types.in_bytes, to);
    return;
  }
  char *line = block->workspace + plan->workspace.line_at;
  copy_positions(plan, from, count, plan->channels * plan->types.in_bytes, line);
  plan->depthwise.expand_line(&plan->depthwise.expand, line, count, to);
}

/* One line of the region: input coordinates [low, low + count) of the last axis, zeros outside. */
static void fill_line(const direct_block_t *block, const char *from, bool inside, int64_t low,
                      int64_t count, char *to) {
  const conv_direct_t *plan = block->run->plan;
  int last = plan->problem->spatial - 1;
  int64_t run = plan->position_elements * plan->types.in_bytes;
  int64_t size = plan->input_sizes[last];
  int64_t begin = inside ? hr_min(hr_max(-low, 0), count) : count;
  int64_t end = inside ? hr_max(hr_min(size - low, count), begin) : count;
  memset(to, 0, (size_t)(begin * run));
  if (begin < end)
    copy_region_line(block, from + (low + begin) * plan->input.spatial[last] * plan->types.in_bytes,
                     end - begin, to + begin * run);
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
  fill_line(block, block->run->from + (inside ? at * plan->types.in_bytes : 0), inside,
            phase->axes[last].starts[0], phase->region[last], to);
}

/* With one spatial axis an image is one line: copies region positions [begin, end) of it. */
static void fill_region_part(const direct_block_t *block, int64_t image, int64_t begin, int64_t end,
                             char *to) {
  const conv_direct_t *plan = block->run->plan;
  int64_t at = plan->input.start + image * plan->input.outer +
               block->group * plan->channels * plan->input.inner;
  int64_t low = block->phase->axes[0].starts[0] + begin;
  fill_line(block, block->run->from + at * plan->types.in_bytes, true, low, end - begin, to);
}

/* Copies the input of the block's lines. `first` is the index of the block's first region entry. */
void direct_block_fill_region(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  const direct_axis_t *axis = &phase->axes[0];
  int64_t count = axis->count;
  int64_t reach = phase->region[0] - (count - 1) * axis->in_stride;
  int64_t each = 1;
  int64_t first = block->begin / count * phase->region[0] + block->begin % count * axis->in_stride;
  char *region = block->workspace + plan->workspace.region_at;
  for (int d = 1; d < plan->problem->spatial - 1; d++) each *= phase->region[d];
  for (int64_t line = block->begin, next; line < block->end; line = next) {
    int64_t image = line / count, y = line % count;
    next = hr_min(block->end, (image + 1) * count);
    int64_t begin = y * axis->in_stride;
    int64_t end = (y + next - line - 1) * axis->in_stride + reach;
    char *to = region + (image * phase->region[0] + begin - first) * phase->region_strides[0] *
                            plan->types.in_bytes;
    if (plan->problem->spatial == 1)
      fill_region_part(block, image, begin, end, to);
    else
      for (int64_t i = begin * each; i < end * each;
           i++, to += phase->region_strides[0] / each * plan->types.in_bytes)
        fill_region_line(block, image, i, to);
  }
}

/* --- results --- */

/* Copies columns [begin, end) of a span from the block's buffer. */
static void copy_span(const direct_block_t *block, const direct_span_t *s, int64_t begin,
                      int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  int64_t bytes = plan->types.out_bytes;
  int64_t line = plan->tile.padded_n * bytes;
  int64_t inner = plan->output.inner * bytes;
  const char *from = block->workspace + (plan->types.narrows_result ? plan->workspace.narrow_at
                                                                    : plan->workspace.copy_at);
  from += s->first_result * line + begin * bytes;
  char *to = block->run->to + s->out_offset * bytes + begin * inner;
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

/* All padded columns are narrowed; those of other parts are undefined and are not copied. */
void direct_block_store(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  if (plan->types.narrows_result)
    matmul_narrow(&plan->problem->types, block->workspace + plan->workspace.copy_at,
                  block->workspace + plan->workspace.narrow_at,
                  block->positions * plan->tile.padded_n);
  const direct_span_t *s = (const direct_span_t *)(block->workspace + plan->workspace.spans_at);
  for (int64_t i = 0; i < block->positions; i += s++->count) copy_span(block, s, begin, end);
}
