/* Optionals whose branches return arrays of different shapes. */
#ifndef TF_OPTIONAL_H
#define TF_OPTIONAL_H

#include "tf/compile/tf_lower.h"

/* Adds a shape to those of an optional, unless it is there. */
hr_status_t tf_alternatives_add(hr_arena_t *arena, const hlo_shape_t *shape,
                                const tf_alternatives_t **alternatives);
/* Encodes an array, or the vector of fewer alternatives, as a vector padded with zeros; x NULL:
 * zeros. */
expr_t tf_optional_encode(hlo_builder_t *b, expr_t x, const tf_alternatives_t *alternatives);

#endif
