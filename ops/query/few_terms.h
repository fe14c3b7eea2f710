/* Sums of few terms keep the program's order and each of its roundings in both engines: other
 * algorithms would be no faster and change the last bits of results. */
#ifndef HLO_OPS_FEW_TERMS_H
#define HLO_OPS_FEW_TERMS_H

#include "ops/query/op_step.h"

/* True for a reduce-window or convolution of floats with few terms in total. Shapes are those of
 * the step. */
bool op_has_few_terms(const op_step_t *step);

#endif
