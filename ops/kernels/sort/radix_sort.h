/* Stable sorting by unsigned integer keys: short runs by merging, others by digits, long ones by
 * all workers. An item is a key alone, a key and an index in one word, or a pair of words. */
#ifndef HLO_OPS_RADIX_SORT_H
#define HLO_OPS_RADIX_SORT_H

#include "base/workers.h"

typedef struct radix_pair {
  uint64_t key, index;
} radix_pair_t;

typedef enum radix_kind {
  RADIX_KEY_32,  /* uint32_t */
  RADIX_KEY_64,  /* uint64_t; a short key above an index of 32 bits is one too, and sorts by both */
  RADIX_INDEXED, /* uint64_t: the key in the upper half, of which alone it is sorted */
  RADIX_PAIR     /* radix_pair_t */
} radix_kind_t;

#define RADIX_MAX_COUNT INT32_MAX /* of items */

static inline size_t radix_item_bytes(radix_kind_t kind) {
  return kind == RADIX_KEY_32 ? 4 : kind == RADIX_PAIR ? 16 : 8;
}

/* Scratch of one sort, bytes: of radix_sort, and of radix_sort_long by so many workers. */
size_t radix_scratch_bytes(void);
size_t radix_long_scratch_bytes(int workers);

/* Sorts `count` items, ascending; either array may hold the result, which is returned. */
void *radix_sort(radix_kind_t kind, void *items, void *spare, int64_t count, void *scratch);
/* The same by all workers together, worth it from some ten thousands of items on. `parts` is how
 * many workers the scratch was made for. */
void *radix_sort_long(hr_workers_t *workers, int parts, radix_kind_t kind, void *items, void *spare,
                      int64_t count, void *scratch);

#endif
