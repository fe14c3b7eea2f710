/* Indices that programs compute: integers of any type; unsigned ones are never negative. */
#ifndef HLO_OPS_INDEX_VALUES_H
#define HLO_OPS_INDEX_VALUES_H

#include "ir/value.h"

/* Element i of an integer array as an index; values above the range of int64_t become INT64_MAX. */
static inline int64_t op_index_at(const hlo_value_t *value, int64_t i) {
  int64_t index = hlo_value_int_at(value, i);
  return index < 0 && value->dtype == HR_U64 ? INT64_MAX : index;
}

/* All elements of an integer array as indices, in `scratch` (or the array itself, if it is
 * s64). */
hr_status_t op_indices_load(hr_arena_t *scratch, const hlo_value_t *value,
                            const int64_t **out_indices);

#endif
