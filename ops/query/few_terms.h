/* Sums of few terms keep the program's order, and each of its roundings, in both engines: other
 * ways gain nothing there, and give other last bits. */
#ifndef HLO_OPS_FEW_TERMS_H
#define HLO_OPS_FEW_TERMS_H

#include "ops/query/op_step.h"

/* Is the step a reduce-window or convolution of floats, or a product of complex numbers, of few
 * terms in all? Shapes are those of the step. */
bool op_has_few_terms(const op_step_t *step);

#endif
