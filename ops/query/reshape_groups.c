/* Two pointers: the side with the smaller product advances by one dimension until the products
 * agree. */
#include "ops/query/reshape_groups.h"

bool op_reshape_next(const hlo_shape_t *in, const hlo_shape_t *out, op_reshape_group_t *group) {
  int i = group->from[1], o = group->to[1];
  int64_t in_product = 1, out_product = 1;
  if (i >= in->rank || o >= out->rank) return false;
  group->from[0] = i;
  group->to[0] = o;
  in_product = in->dims[i++];
  out_product = out->dims[o++];
  while (in_product != out_product) {
    bool takes_in = in_product < out_product;
    if (takes_in ? i >= in->rank : o >= out->rank) return false;
    int64_t *side = takes_in ? &in_product : &out_product;
    if (__builtin_mul_overflow(*side, takes_in ? in->dims[i++] : out->dims[o++], side))
      return false;
  }
  /* Dimensions of size 1 join the group before them. */
  while (i < in->rank && (in->dims[i] == 1 || o == out->rank)) i++;
  while (o < out->rank && (out->dims[o] == 1 || i == in->rank)) o++;
  group->from[1] = i;
  group->to[1] = o;
  return true;
}
