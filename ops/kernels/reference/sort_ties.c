/* Introsort with fixed comparisons and swaps, since they define the order of ties. A depth limit of
 * 2 log2(count), beyond which pieces are merge sorted, bounds the cost on adversarial input. */
#include "ops/kernels/reference/sort_ties.h"

#include <string.h>

#define SMALL 16 /* pieces left to the final insertion sort */

static void swap_items(sort_item_t *a, sort_item_t *b) {
  sort_item_t item = *a;
  *a = *b;
  *b = item;
}

/* The item with the median key of three. Which of equal keys is returned affects the order of
 * ties. */
static sort_item_t *median(sort_item_t *a, sort_item_t *b, sort_item_t *c) {
  if (a->key < b->key) {
    if (b->key < c->key) return b;
    return a->key < c->key ? c : a;
  }
  if (a->key < c->key) return a;
  return b->key < c->key ? c : b;
}

/* Hoare partition of the items after the pivot, items[0]: keys up to it go first. Returns the
 * start of the second part. The median of three leaves an item on either side, so that neither
 * scan runs out of the array. */
static int64_t partition(sort_item_t *items, int64_t count) {
  int64_t low = 1, high = count;
  for (;; low++) {
    while (items[low].key < items[0].key) low++;
    do high--;
    while (items[0].key < items[high].key);
    if (low >= high) return low;
    swap_items(&items[low], &items[high]);
  }
}

/* Leaves pieces of up to SMALL items unsorted. */
static void quick_sort(sort_item_t *items, sort_item_t *spare, int64_t count, int splits_left) {
  while (count > SMALL) {
    if (splits_left-- == 0) {
      sort_item_t *sorted = sort_items(items, spare, count);
      if (sorted != items) memcpy(items, sorted, (size_t)count * sizeof *items);
      return;
    }
    swap_items(&items[0], median(&items[1], &items[count / 2], &items[count - 1]));
    int64_t cut = partition(items, count);
    quick_sort(items + cut, spare, count - cut, splits_left);
    count = cut;
  }
}

void sort_items_unstably(sort_item_t *items, sort_item_t *spare, int64_t count) {
  int splits = 0;
  for (int64_t rest = count; rest > 1; rest /= 2) splits += 2;
  quick_sort(items, spare, count, splits);
  sort_few_items(items, count);
}
