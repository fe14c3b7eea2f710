/* Arrays of NumPy files as values. Errors: NO_MEMORY. */
#ifndef HLO_IR_VALUE_NPY_H
#define HLO_IR_VALUE_NPY_H

#include "io/npy.h"
#include "ir/value.h"

/* The array as a value; npy_is must accept `dtype`. Uses the bytes of the file in place if possible
 * (native order, row-major, aligned to the element, no bits to mask), else converts them. */
hr_status_t hlo_value_from_npy(const npy_t *npy, hr_dtype_t dtype, hlo_value_t **out_value);
/* The array as a value for callers that only copy rows: the data may have any alignment. */
hr_status_t hlo_value_rows_from_npy(const npy_t *npy, hr_dtype_t dtype, hlo_value_t **out_value);

#endif
