/* One propagation step: makes the shardings of an op's tensors agree as far as possible. */
#ifndef HR_PARTITION_STEP_H
#define HR_PARTITION_STEP_H

#include "partition/propagate/graph.h"

typedef enum prop_direction {
  PROP_NONE = 0,
  PROP_FORWARD = 1,
  PROP_BACKWARD = 2,
  PROP_BOTH = 3
} prop_direction_t;

/* Extends the shardings of the op's nodes, each factor in its direction, and lists the nodes that
 * changed: operands, then results. `scratch` may be reset after the call. Errors: NO_MEMORY. */
hr_status_t prop_step(prop_graph_t *graph, hr_arena_t *scratch, const prop_op_t *op,
                      const uint8_t *directions, int *changed, int *out_changed_count);

/* Sets the axes of a node's dimensions; openness and priorities stay. */
hr_status_t prop_set_axes(prop_graph_t *graph, int node, const spmd_axes_t *axes);

#endif
