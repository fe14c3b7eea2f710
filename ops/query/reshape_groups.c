#include "ops/query/reshape_groups.h"

bool op_reshape_next(const hlo_shape_t *in, const hlo_shape_t *out, op_reshape_group_t *group) {
  int i = group->from[1], o = group->to[1];
  int64_t left = 1, right = 1;
  if (i >= in->rank || o >= out->rank) return false;
  group->from[0] = i;
  group->to[0] = o;
  left = in->dims[i++];
  right = out->dims[o++];
  while (left != right) {
    bool is_left = left < right;
    if (is_left ? i >= in->rank : o >= out->rank) return false;
    int64_t *side = is_left ? &left : &right;
    if (__builtin_mul_overflow(*side, is_left ? in->dims[i++] : out->dims[o++], side)) return false;
  }
  /* Sizes of 1 belong to what they stand beside. */
  while (i < in->rank && (in->dims[i] == 1 || o == out->rank)) i++;
  while (o < out->rank && (out->dims[o] == 1 || i == in->rank)) o++;
  group->from[1] = i;
  group->to[1] = o;
  return true;
}
