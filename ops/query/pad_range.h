/* Which elements of a pad's operand are in the result, and at which indices, along one
 * dimension. */
#ifndef HLO_OPS_PAD_RANGE_H
#define HLO_OPS_PAD_RANGE_H

#include "ir/attr.h"

/* One dimension: element i of the operand goes to index low + i * step of the result if that is
 * within it. The program may choose any numbers, so sums and products are computed in a wider
 * type. */
static inline void pad_range(int64_t in_size, int64_t out_size, const hlo_padding_dim_t *pad,
                             int64_t *out_first, int64_t *out_count, int64_t *out_step,
                             int64_t *out_start) {
  __int128 step = (__int128)pad->interior + 1, low = pad->low;
  __int128 first = low >= 0 ? 0 : (-low + step - 1) / step;
  __int128 past = low >= out_size ? 0 : ((__int128)out_size - 1 - low) / step + 1;
  if (past > in_size) past = in_size;
  *out_count = past > first ? (int64_t)(past - first) : 0;
  *out_first = *out_count ? (int64_t)first : 0;
  *out_step = *out_count > 1 ? (int64_t)step : 1;
  *out_start = *out_count ? (int64_t)(low + first * step) : 0;
}

#endif
