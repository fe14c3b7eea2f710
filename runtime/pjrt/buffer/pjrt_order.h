/* Memory orders of the dimensions of an array. Programs work on row-major arrays. The framework may
 * request other orders; then a buffer's value has its dimensions in memory order, the slowest
 * varying first:
 *
 *   f32[8, 128], minor to major {0, 1}  ->  a value of sizes [128, 8]
 *
 * Owner:  orders live as long as the process; equal ones are one object.
 * Thread: any. */
#ifndef PJRT_ORDER_H
#define PJRT_ORDER_H

#include "base/text.h"
#include "ir/value.h"
#include "pjrt/buffer/pjrt_strides.h"

typedef struct pjrt_order {
  int rank;
  bool is_row_major;
  int64_t minor_to_major[HLO_MAX_RANK];
  const struct pjrt_order *next; /* list of all orders */
} pjrt_order_t;

/* NULL for `minor_to_major` is row-major. Errors: USAGE if it is no permutation; NO_MEMORY. */
hr_status_t pjrt_order_find(int rank, const int64_t *minor_to_major,
                            const pjrt_order_t **out_order);
/* Parses a program's order such as "{0,1}"; text after the numbers, such as tiles, is an error. "",
 * "auto" and "default" are row-major. Errors: UNSUPPORTED, USAGE. */
hr_status_t pjrt_order_read(hr_str_t text, int rank, const pjrt_order_t **out_order);

/* The order of a strided array, the dimension of the smallest stride first; NULL: row-major. The
 * array may have gaps. Errors: NO_MEMORY. */
hr_status_t pjrt_order_of_strides(const pjrt_strided_t *array, const pjrt_order_t **out_order);
/* Permutes the dimensions of an array to memory order. No effect if `order` is NULL.
 * Owner: `dims` is the caller's memory for the sizes, and must live as long as the array. */
void pjrt_order_permute(const pjrt_order_t *order, pjrt_strided_t *array, int64_t *dims);
/* Permutes the sizes of an array to memory order. */
void pjrt_order_sizes(const pjrt_order_t *order, const int64_t *dims, int64_t *out_dims);
/* A row-major copy of a value in memory order, whose array has the sizes `dims`.
 * Errors: NO_MEMORY. */
hr_status_t pjrt_order_undo(const pjrt_order_t *order, const hlo_value_t *value,
                            const int64_t *dims, hlo_value_t **out_value);
/* A copy of a row-major value in memory order. Errors: NO_MEMORY. */
hr_status_t pjrt_order_apply(const pjrt_order_t *order, const hlo_value_t *value,
                             hlo_value_t **out_value);

#endif
