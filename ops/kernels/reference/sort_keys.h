/* Sorting by numbers instead of comparator calls. Nearly every comparator of real programs compares
 * key(a) with key(b), where key is a scalar function of one side's elements, or does so
 * lexicographically:
 *
 *     key0(a) < key0(b)   or   key0(a) < key0(b) | (key0(a) = key0(b) & ...)
 *
 * Such comparators are recognised by their structure; keys are then computed for whole lines,
 * turned into unsigned integers of the same order, and sorted by merging. */
#ifndef HLO_OPS_SORT_KEYS_H
#define HLO_OPS_SORT_KEYS_H

#include "ops/kernels/elementwise/body.h"

#define SORT_MAX_KEYS 4

typedef struct sort_key {
  const op_body_t
      *body; /* the key from the comparator's parameters, of which it reads one side's */
  const hlo_instr_t *expression; /* the instruction of the comparator that it is the value of */
  hr_dtype_t dtype;
  bool descending;
  bool total; /* order of floats: total (-NaN < -inf < ... < NaN); else the two zeros tie and NaNs
                 come last */
} sort_key_t;

typedef struct sort_keys {
  int count; /* most significant first */
  sort_key_t keys[SORT_MAX_KEYS];
} sort_keys_t;

/* False if the comparator is of no such form. */
hr_status_t sort_keys_recognise(hr_arena_t *arena, const hlo_computation_t *comparator,
                                sort_keys_t *keys, bool *out_recognised);

typedef struct sort_item {
  uint64_t key;
  int64_t index;
} sort_item_t;

/* items[i].key from elements `stride` apart (in elements), by the type's order. */
void sort_encode(const sort_key_t *key, const void *elements, int64_t stride, int64_t count,
                 sort_item_t *items);
/* Stable, by ascending key. Either array may hold the result, which is returned. Cost: count *
 * log2(count). */
sort_item_t *sort_items(sort_item_t *items, sort_item_t *spare, int64_t count);
/* The same in place by insertion: for few items, or such as are nearly in order. Cost: count times
 * the longest way. */
void sort_few_items(sort_item_t *items, int64_t count);

#endif
