/* The order of ties in sorts that need not be stable. Any order is right; XLA on CPUs leaves them
 * as the quick sort of its C++ library does, and results that people keep from it show that. The
 * same steps are taken here, so that such results compare equal: quick sort about the median of the
 * second, the middle and the last element down to pieces of 16, then one insertion sort over
 * everything. */
#ifndef HLO_OPS_SORT_TIES_H
#define HLO_OPS_SORT_TIES_H

#include "ops/kernels/reference/sort_keys.h"

/* Sorts by ascending key. `spare` has room for as many items. */
void sort_items_unstably(sort_item_t *items, sort_item_t *spare, int64_t count);

#endif
