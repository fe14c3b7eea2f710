/* The correspondence of dimensions between a reshape's operand and its result. */
#ifndef HLO_OPS_RESHAPE_GROUPS_H
#define HLO_OPS_RESHAPE_GROUPS_H

#include "ir/shape.h"

/* Operand dimensions from[0] .. from[1] - 1 become result dimensions to[0] .. to[1] - 1: the
 * fewest with equal products. Starts zeroed. */
typedef struct op_reshape_group {
  int from[2], to[2];
} op_reshape_group_t;

/* The next group, by sizes (bounds of dynamic ones); false if there is none. */
bool op_reshape_next(const hlo_shape_t *in, const hlo_shape_t *out, op_reshape_group_t *group);

#endif
