/* Merge exchange (Knuth, The Art of Computer Programming, volume 3, 5.2.2, algorithm M): a sorting
 * network for any number of items. The compared positions do not depend on the values, so that
 * vectors compare items of as many lines as they have lanes, without a branch:
 *
 *     lane      0   1   2  ...          smaller(v[i], v[j]) -> v[i]
 *     v[i]     a_i b_i c_i ...          larger(v[i], v[j])  -> v[j]
 *     v[j]     a_j b_j c_j ...
 *
 * Cost: about count * log2(count)^2 / 4 such steps for all lines together. */
#include "ops/kernels/sort/sort_network.h"

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

/* `lanes`: items at position i of all lines, then those at position i + 1. */
#define SORT_LANES(T, NAME)                                                                      \
  enum { NAME##_lanes = SORT_NETWORK_BYTES / sizeof(T) };                                        \
  NATIVE_INLINE void NAME##_exchange(T *low, T *high) {                                          \
    for (int l = 0; l < NAME##_lanes; l++) {                                                     \
      T a = low[l], b = high[l];                                                                 \
      low[l] = a < b ? a : b;                                                                    \
      high[l] = a < b ? b : a;                                                                   \
    }                                                                                            \
  }                                                                                              \
  NATIVE_INLINE void NAME##_exchange_all(T *lanes, int64_t count, int64_t period, int64_t first, \
                                         int64_t apart) {                                        \
    for (int64_t run = first; run < count - apart; run += 2 * period) {                          \
      int64_t end = hr_min(run + period, count - apart);                                         \
      for (int64_t i = run; i < end; i++)                                                        \
        NAME##_exchange(lanes + i * NAME##_lanes, lanes + (i + apart) * NAME##_lanes);           \
    }                                                                                            \
  }                                                                                              \
  NATIVE_CLONES                                                                                  \
  static void NAME(T *lanes, int64_t count) {                                                    \
    int64_t half = 1;                                                                            \
    while (2 * half < count) half *= 2;                                                          \
    for (int64_t period = half; period; period /= 2) {                                           \
      NAME##_exchange_all(lanes, count, period, 0, period);                                      \
      for (int64_t step = half; step > period; step /= 2)                                        \
        NAME##_exchange_all(lanes, count, period, period, step - period);                        \
    }                                                                                            \
  }                                                                                              \
  static void NAME##_deal(const T *items, T *lanes, int64_t lines, int64_t count) {              \
    for (int64_t l = 0; l < NAME##_lanes; l++)                                                   \
      for (int64_t i = 0; i < count; i++)                                                        \
        lanes[i * NAME##_lanes + l] = l < lines ? items[l * count + i] : 0;                      \
  }                                                                                              \
  static void NAME##_collect(const T *lanes, T *items, int64_t lines, int64_t count) {           \
    for (int64_t l = 0; l < lines; l++)                                                          \
      for (int64_t i = 0; i < count; i++) items[l * count + i] = lanes[i * NAME##_lanes + l];    \
  }

SORT_LANES(uint32_t, network_32)
SORT_LANES(uint64_t, network_64)

void sort_network(int item_bytes, void *items, void *spare, int64_t lines, int64_t count) {
  if (item_bytes == 4) {
    network_32_deal(items, spare, lines, count);
    network_32(spare, count);
    network_32_collect(spare, items, lines, count);
  } else {
    network_64_deal(items, spare, lines, count);
    network_64(spare, count);
    network_64_collect(spare, items, lines, count);
  }
}
