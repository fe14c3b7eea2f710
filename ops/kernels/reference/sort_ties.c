#include "ops/kernels/reference/sort_ties.h"

#include <string.h>

#define SMALL 16

static void swap_items(sort_item_t *a, sort_item_t *b) {
  sort_item_t item = *a;
  *a = *b;
  *b = item;
}

/* Which of three holds the median key; which of equals it is decides the order of ties. */
static sort_item_t *median(sort_item_t *a, sort_item_t *b, sort_item_t *c) {
  if (a->key < b->key) return b->key < c->key ? b : a->key < c->key ? c : a;
  return a->key < c->key ? a : b->key < c->key ? c : b;
}

/* Splits the items after the pivot, items[0]: keys up to it go first. Returns where the second part
 * starts. The median of three has something on either side of it, so that neither search runs out
 * of the items. */
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

/* Leaves pieces of up to SMALL items unsorted. Splits that go badly too often end in a merge sort.
 */
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
