/* Stable sorting by unsigned integer keys: merge sort for short runs, LSD radix sort for others,
 * and a parallel sort for long lines. An item is a key alone, a key and an index in one word, or a
 * pair of words. Thread: any, on the caller's memory. */
#ifndef HLO_OPS_RADIX_SORT_H
#define HLO_OPS_RADIX_SORT_H

#include "base/workers.h"

typedef struct radix_pair {
  uint64_t key, index;
} radix_pair_t;

typedef enum radix_kind {
  RADIX_KEY_32,  /* uint32_t */
  RADIX_KEY_64,  /* uint64_t: all bits are the key; a 32-bit key above an index sorts by both */
  RADIX_INDEXED, /* uint64_t: the key is the upper half, the index the lower */
  RADIX_PAIR     /* radix_pair_t */
} radix_kind_t;

#define RADIX_MAX_COUNT INT32_MAX /* items per sort */

static inline size_t radix_item_bytes(radix_kind_t kind) {
  if (kind == RADIX_KEY_32) return 4;
  return kind == RADIX_PAIR ? 16 : 8;
}

/* Scratch bytes of radix_sort for up to `count` items, and of radix_sort_long by `workers`. */
size_t radix_scratch_bytes(int64_t count);
size_t radix_long_scratch_bytes(int workers);

/* Sorts `count` items, ascending. `spare` has room for as many. Returns whichever of the two
 * arrays holds the result. */
void *radix_sort(radix_kind_t kind, void *items, void *spare, int64_t count, void *scratch);
/* The same by all workers together, which pays from about ten thousand items. `parts`: the number
 * of workers for which the scratch was sized. */
void *radix_sort_long(hr_workers_t *workers, int parts, radix_kind_t kind, void *items, void *spare,
                      int64_t count, void *scratch);

#endif
