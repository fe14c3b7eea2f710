/* Sizes that are known only at run time: the result shape for the actual operands, and the rules
 * that could not be checked before. */
#ifndef HLO_OPS_DYNAMIC_SHAPE_H
#define HLO_OPS_DYNAMIC_SHAPE_H

#include "ops/query/op_step.h"

/* The result shape of a step whose in_shapes are actual ones. Ops that determine their sizes as
 * they run keep the declared shape. Errors: INVALID if the operands do not fit the declared
 * shape. */
hr_status_t op_actual_shape(hr_arena_t *arena, const op_step_t *step, hlo_value_t *const *in,
                            const hlo_shape_t **out_shape);

/* Number of a custom call's operands before those that are sizes of its results
 * (indices_of_shape_operands); all of them without that attribute. */
int op_shape_operands_start(const hlo_instr_t *instr);

/* The value with another size along dimension d; added elements are zero. */
hr_status_t op_resize_dimension(const hlo_value_t *value, int64_t d, int64_t size,
                                hlo_value_t **out_value);

#endif
