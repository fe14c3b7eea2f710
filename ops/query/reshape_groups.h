/* Which dimensions of a reshape's operand become which of its result. */
#ifndef HLO_OPS_RESHAPE_GROUPS_H
#define HLO_OPS_RESHAPE_GROUPS_H

#include "ir/shape.h"

/* Dimensions from[0] up to from[1] of the operand become to[0] up to to[1] of the result: as few as
 * have one product. Start with all zero. */
typedef struct op_reshape_group {
  int from[2], to[2];
} op_reshape_group_t;

/* The next group, by the sizes (bounds of dynamic ones); false if there is none. */
bool op_reshape_next(const hlo_shape_t *in, const hlo_shape_t *out, op_reshape_group_t *group);

#endif
