/* Radix sort, instantiated from radix_sort_template.h for each kind of item.
 *
 *   up to MAX_MERGE items   merge sort of runs, in which an item's rank is counted
 *   more                    LSD radix sort over the bits in which keys differ: digits of 8 bits, or
 *                           of 11 bits from WIDE_DIGITS_MIN items on (passes over memory dominate)
 *   long, by all workers    one MSD split by the topmost digit, then each bucket separately */
#include "ops/kernels/sort/radix_sort.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  RANK_RUN = 32,             /* items that are compared with each other */
  MAX_MERGE = 160,           /* most items for which merge sort is faster */
  WIDE_DIGITS_MIN = 1 << 11, /* least items for which wide digits pay: fewer passes over memory */
  COUNTS = 6 << 11,          /* counters of a radix sort: six passes of 11 bits */
  SPLIT_BITS = 11,           /* bits of the topmost digit of a long line */
  SPLIT_BUCKETS = 1 << SPLIT_BITS,
  MAX_PARTS = 256
};

static int digit_bits(int64_t count) { return count < WIDE_DIGITS_MIN ? 8 : 11; }

#define ITEM uint32_t
#define NAME(f) f##_key_32
#define KEY_OF(x) ((uint64_t)(x))
#include "ops/kernels/sort/radix_sort_template.h"

#define ITEM uint64_t
#define NAME(f) f##_key_64
#define KEY_OF(x) (x)
#include "ops/kernels/sort/radix_sort_template.h"

#define ITEM uint64_t
#define NAME(f) f##_indexed
#define KEY_OF(x) ((x) >> 32)
#include "ops/kernels/sort/radix_sort_template.h"

#define ITEM radix_pair_t
#define NAME(f) f##_pair
#define KEY_OF(x) ((x).key)
#include "ops/kernels/sort/radix_sort_template.h"

/* Merges need no counters; eight passes of 8 bits need fewer than six of 11. */
size_t radix_scratch_bytes(int64_t count) {
  if (count <= MAX_MERGE) return 0;
  return (count < WIDE_DIGITS_MIN ? (size_t)8 << 8 : COUNTS) * sizeof(uint32_t);
}

size_t radix_long_scratch_bytes(int workers) {
  size_t parts = workers < MAX_PARTS ? (size_t)workers : MAX_PARTS;
  return (parts * SPLIT_BUCKETS + SPLIT_BUCKETS + 16 + (size_t)workers * COUNTS) * sizeof(uint32_t);
}

/* Returns items or spare, whichever has the result. */
void *radix_sort(radix_kind_t kind, void *items, void *spare, int64_t count, void *scratch) {
  switch (kind) {
    case RADIX_KEY_32:
      return sort_key_32(items, spare, count, scratch);
    case RADIX_KEY_64:
      return sort_key_64(items, spare, count, scratch);
    case RADIX_INDEXED:
      return sort_indexed(items, spare, count, scratch);
    case RADIX_PAIR:
      return sort_pair(items, spare, count, scratch);
  }
  return items;
}

/* The same by all workers. */
void *radix_sort_long(hr_workers_t *workers, int parts, radix_kind_t kind, void *items, void *spare,
                      int64_t count, void *scratch) {
  if (parts > MAX_PARTS) parts = MAX_PARTS;
  switch (kind) {
    case RADIX_KEY_32:
      return sort_long_key_32(workers, parts, items, spare, count, scratch);
    case RADIX_KEY_64:
      return sort_long_key_64(workers, parts, items, spare, count, scratch);
    case RADIX_INDEXED:
      return sort_long_indexed(workers, parts, items, spare, count, scratch);
    case RADIX_PAIR:
      return sort_long_pair(workers, parts, items, spare, count, scratch);
  }
  return items;
}
