/* Sorting by integer keys instead of comparator calls. Nearly every comparator of real programs
 * compares key(a) with key(b), where key is a scalar function of one side's elements, or compares
 * several keys lexicographically:
 *
 *     key0(a) < key0(b)   or   key0(a) < key0(b) | (key0(a) = key0(b) & ...)
 *
 * Such comparators are recognised by their structure. Keys are computed for whole lines, encoded as
 * unsigned integers of the same order, and merge sorted. */
#ifndef HLO_OPS_SORT_KEYS_H
#define HLO_OPS_SORT_KEYS_H

#include "ops/kernels/elementwise/body.h"

#define SORT_MAX_KEYS 4

typedef struct sort_key {
  const op_body_t *body;         /* computes the key; reads one side's parameters */
  const hlo_instr_t *expression; /* the comparator's instruction whose value is the key */
  hr_dtype_t dtype;
  bool descending;
  bool
      total; /* floats in total order (-NaN < -inf < ... < NaN); else zeros tie and NaNs are last */
} sort_key_t;

typedef struct sort_keys {
  int count; /* most significant first */
  sort_key_t keys[SORT_MAX_KEYS];
} sort_keys_t;

/* *out_recognised is false if the comparator has another form. */
hr_status_t sort_keys_recognise(hr_arena_t *arena, const hlo_computation_t *comparator,
                                sort_keys_t *keys, bool *out_recognised);

typedef struct sort_item {
  uint64_t key;
  int64_t index;
} sort_item_t;

/* Encodes `count` elements, `stride` elements apart, as items[i].key in the key's order. */
void sort_encode(const sort_key_t *key, const void *elements, int64_t stride, int64_t count,
                 sort_item_t *items);
/* Stable merge sort by ascending key. Either array may hold the result, which is returned. Cost:
 * count * log2(count). */
sort_item_t *sort_items(sort_item_t *items, sort_item_t *spare, int64_t count);
/* Insertion sort in place, for few or nearly sorted items. Cost: count times the longest
 * displacement. */
void sort_few_items(sort_item_t *items, int64_t count);

#endif
