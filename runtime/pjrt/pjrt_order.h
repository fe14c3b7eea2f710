/* Orders of dimensions: how the elements of an array lie in memory. Programs work on row-major
 * arrays; the framework may ask for others, and then a buffer's value has its dimensions in the
 * order in which they lie, the slowest first:
 *
 *   f32[8, 128], minor to major {0, 1}  ->  a value of sizes [128, 8]
 *
 * Owner:  orders live as long as the process; equal ones are one object.
 * Thread: any. */
#ifndef PJRT_ORDER_H
#define PJRT_ORDER_H

#include "base/text.h"
#include "ir/value.h"
#include "pjrt/pjrt_strides.h"

typedef struct pjrt_order {
  int rank;
  bool is_row_major;
  int64_t minor_to_major[HLO_MAX_RANK];
  const struct pjrt_order *next; /* of all that were asked for */
} pjrt_order_t;

/* NULL for `minor_to_major` is row-major. Errors: USAGE if it is no permutation; NO_MEMORY. */
hr_status_t pjrt_order_find(int rank, const int64_t *minor_to_major,
                            const pjrt_order_t **out_order);
/* "{0,1}", as a program writes it; text behind the numbers, such as tiles, is an error. "", "auto"
 * and "default" are row-major. Errors: UNSUPPORTED, USAGE. */
hr_status_t pjrt_order_read(hr_str_t text, int rank, const pjrt_order_t **out_order);

/* The order in which an array's elements lie, the dimension of the smallest stride first; NULL:
 * row-major. The array may have gaps in it. Errors: NO_MEMORY. */
hr_status_t pjrt_order_of_strides(const pjrt_strided_t *array, const pjrt_order_t **out_order);
/* The same elements with the dimensions as they lie in the order. NULL changes nothing.
 * Owner: `dims` is the caller's room for the sizes, and must live as long as the array. */
void pjrt_order_permute(const pjrt_order_t *order, pjrt_strided_t *array, int64_t *dims);
/* Sizes as they lie in memory, from those of the array. */
void pjrt_order_sizes(const pjrt_order_t *order, const int64_t *dims, int64_t *out_dims);
/* A row-major copy of a value that lies in the order, whose array has the sizes `dims`.
 * Errors: NO_MEMORY. */
hr_status_t pjrt_order_undo(const pjrt_order_t *order, const hlo_value_t *value,
                            const int64_t *dims, hlo_value_t **out_value);
/* A copy of a row-major value in the order. Errors: NO_MEMORY. */
hr_status_t pjrt_order_apply(const pjrt_order_t *order, const hlo_value_t *value,
                             hlo_value_t **out_value);

#endif
