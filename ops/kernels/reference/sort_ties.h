/* The order of ties in unstable sorts. Any order conforms to the specification; in XLA's CPU
 * backend it is that of the quick sort of its C++ library, and stored results of programs depend on
 * it. The same algorithm is used here so that such results compare equal: quick sort about the
 * median of the second, middle and last element down to pieces of 16, then one insertion sort over
 * all. */
#ifndef HLO_OPS_SORT_TIES_H
#define HLO_OPS_SORT_TIES_H

#include "ops/kernels/reference/sort_keys.h"

/* Sorts by ascending key. `spare` has room for as many items. */
void sort_items_unstably(sort_item_t *items, sort_item_t *spare, int64_t count);

#endif
