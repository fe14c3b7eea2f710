/* ragged-dot as a product of masked copies (attribute `masked`): each row of the result is the sum
 * over all groups, in which rows of other groups are zeros that are multiplied, too. So an infinite
 * or NaN element of a group's matrix makes its column NaN in the rows of all other groups. */
#ifndef HLO_OPS_RAGGED_MASKED_H
#define HLO_OPS_RAGGED_MASKED_H

#include "base/dtype.h"

/* Strides in elements of `real` (f32 or f64): from one term of a group's matrix, and from one
 * column, to the next. The result is dense, [rows][columns]. */
typedef struct ragged_masked {
  hr_dtype_t real;
  int64_t rows, terms, columns;
  int64_t term_step, column_step;
  void *result;
} ragged_masked_t;

/* Multiplies the zeros outside of rows [start, end) by one group's matrix. Thread: any. */
void ragged_masked_multiply_zeros(const ragged_masked_t *masked, const void *matrix, int64_t start,
                                  int64_t end);

#endif
