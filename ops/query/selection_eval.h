/* Evaluates reducers that only choose among their arguments by comparisons, such as argmax and
 * first NaN: passes test them with numbers. */
#ifndef HLO_OPS_SELECTION_EVAL_H
#define HLO_OPS_SELECTION_EVAL_H

#include "ir/module.h"

/* The value of one instruction: a parameter, constant, comparison, select or logical op; `args` are
 * the reducer's arguments, `results` the values of the instructions before it, by id. Nonzero is
 * true. `direction` is the HLO_DIRECTION_ of a comparison, and ignored otherwise. */
double selection_eval(const hlo_instr_t *instr, int direction, const double *args,
                      const double *results);

#endif
