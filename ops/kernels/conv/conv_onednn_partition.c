/* Division of a convolution among the workers, for oneDNN: each part is a separate problem, with
 * the starts of its arrays moved, and a primitive that runs on one thread.
 *
 *   batch          parts share the weights; weight gradients of the parts are summed afterwards
 *   groups         independent arrays
 *   channels       of the result, in multiples of 16, a vector and a half block of oneDNN's layouts
 *
 * Parts are as equal as the units allow. Small problems are not divided. Weight gradients are
 * divided by their sizes alone: the sums have the same order with any number of workers. */
#include "ops/kernels/conv/conv_onednn.h"

#define SPLIT_FLOPS 2e5
#define CHANNEL_UNIT 16

conv_problem_t conv_onednn_part_problem(const conv_problem_t *whole, conv_split_t split,
                                        int64_t begin, int64_t count) {
  conv_problem_t p = *whole;
  conv_array_t *src = &p.arrays[CONV_SRC];
  conv_array_t *wei = &p.arrays[CONV_WEI];
  conv_array_t *dst = &p.arrays[CONV_DST];
  switch (split) {
    case CONV_SPLIT_NONE:
      break;
    case CONV_SPLIT_BATCH:
      p.batch = count;
      src->start += begin * src->outer;
      dst->start += begin * dst->outer;
      break;
    case CONV_SPLIT_OUT_CHANNELS:
      p.out_channels = count;
      wei->start += begin * wei->outer;
      dst->start += begin * dst->inner;
      break;
    case CONV_SPLIT_IN_CHANNELS:
      p.in_channels = count;
      wei->start += begin * wei->inner;
      src->start += begin * src->inner;
      break;
    case CONV_SPLIT_GROUPS:
      p.groups = count;
      wei->start += begin * wei->group;
      src->start += begin * p.in_channels * src->inner;
      dst->start += begin * p.out_channels * dst->inner;
  }
  return p;
}

/* Divides batch entries if there are enough; for weight gradients only if they are small compared
 * with the activations, since each part has a copy. */
conv_split_t conv_onednn_choose_split(const conv_problem_t *p, int workers, int64_t *out_units,
                                      int64_t *out_unit) {
  *out_units = *out_unit = 1;
  bool adds_gradients = p->kind == CONV_WEIGHTS;
  if (adds_gradients) workers = NATIVE_SUM_PARTS;
  if (workers < 2 || p->flops < SPLIT_FLOPS) return CONV_SPLIT_NONE;
  bool cheap = p->arrays[CONV_WEI].count * workers < p->arrays[CONV_DST].count * 2;
  int64_t channels = p->kind == CONV_DATA ? p->in_channels : p->out_channels;
  *out_units = p->batch;
  if ((p->batch % workers == 0 || p->batch >= 4 * workers) && (!adds_gradients || cheap))
    return CONV_SPLIT_BATCH;
  *out_units = p->groups;
  if (p->groups >= 2 * workers) {
    *out_unit = p->groups >= 2 * CHANNEL_UNIT * workers ? CHANNEL_UNIT : 1;
    return CONV_SPLIT_GROUPS;
  }
  *out_units = channels;
  *out_unit = CHANNEL_UNIT;
  if (p->groups == 1 && channels >= 2 * CHANNEL_UNIT)
    return p->kind == CONV_DATA ? CONV_SPLIT_IN_CHANNELS : CONV_SPLIT_OUT_CHANNELS;
  *out_units = p->batch;
  *out_unit = 1;
  return p->batch > 1 ? CONV_SPLIT_BATCH : CONV_SPLIT_NONE;
}
