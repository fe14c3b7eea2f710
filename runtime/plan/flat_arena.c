/* Assignment of arena offsets to buffers: best fit by a sweep over time; where that leaves gaps,
 * best fit in the order of weight if it needs less.
 *
 * The sweep: at each step the items that start are allocated, then those that end are freed. Memory
 * is a list of blocks in address order, neighbours that become free are joined. Free blocks are
 * also nodes of a treap ordered by (size, offset), so that the smallest block that fits is found in
 * O(log n). Without such a block the arena grows at its end. O(n log n) for n items; priorities are
 * pseudo-random with a fixed seed, so results are deterministic.
 *
 * By weight: items are placed in descending order of size times lifetime, each in the smallest gap
 * between those that are placed and live at the same time. O(n^2), so only for few items, and only
 * if the arena of the sweep is larger than the most that is alive at a time.
 *
 * Both are heuristics: the optimum (dynamic storage allocation) is NP-hard. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/flat.h"

typedef struct block {
  size_t offset, size;
  bool is_free;
  int before, after; /* neighbours in address order; -1: none */
  int left, right;   /* children in the treap of free blocks */
  uint32_t priority;
} block_t;

typedef struct space {
  block_t *blocks;
  int count, root, last; /* last: the block with the highest offset */
  int free_records;      /* list of unused records, by `after` */
  uint32_t random;
} space_t;

/* --- treap of free blocks --- */

/* The treap's order: by size, equal sizes by address, so that the lowest of them is taken. */
static bool block_less(const block_t *a, const block_t *b) {
  return a->size != b->size ? a->size < b->size : a->offset < b->offset;
}

/* Merges two treaps of which all nodes of `a` come before those of `b`; the higher priority is the
 * root. */
static int merge_trees(space_t *space, int a, int b) {
  if (a < 0 || b < 0) return a < 0 ? b : a;
  block_t *blocks = space->blocks;
  if (blocks[a].priority > blocks[b].priority) {
    blocks[a].right = merge_trees(space, blocks[a].right, b);
    return a;
  }
  blocks[b].left = merge_trees(space, a, blocks[b].left);
  return b;
}

/* Splits a treap: nodes less than `key` go to *low, the others to *high. */
static void split_tree(space_t *space, int tree, const block_t *key, int *low, int *high) {
  if (tree < 0) {
    *low = -1;
    *high = -1;
    return;
  }
  block_t *at = &space->blocks[tree];
  if (block_less(at, key)) {
    split_tree(space, at->right, key, &at->right, high);
    *low = tree;
  } else {
    split_tree(space, at->left, key, low, &at->left);
    *high = tree;
  }
}

/* Makes a block free: a node with a new priority, between the nodes less than it and the others.
 * The next priority comes from a linear congruential generator. */
static void insert_free(space_t *space, int block) {
  int low, high;
  block_t *at = &space->blocks[block];
  space->random = space->random * 1664525u + 1013904223u;
  *at = (block_t){at->offset, at->size, true, at->before, at->after, -1, -1, space->random};
  split_tree(space, space->root, at, &low, &high);
  space->root = merge_trees(space, merge_trees(space, low, block), high);
}

/* Takes a free block out of the treap: it is the greatest node less than (size, offset + 1). */
static void remove_free(space_t *space, int block) {
  int low, high;
  block_t *at = &space->blocks[block], next = {.size = at->size, .offset = at->offset + 1};
  split_tree(space, space->root, &next, &low, &high);
  int *link = &low;
  while (space->blocks[*link].right >= 0) link = &space->blocks[*link].right;
  *link = at->left; /* the block is the last one before `next`: it has no right child */
  space->root = merge_trees(space, low, high);
  at->is_free = false;
}

/* The smallest free block of at least this size; -1: none. */
static int find_fit(const space_t *space, size_t size) {
  int best = -1;
  for (int at = space->root; at >= 0;) {
    bool fits = space->blocks[at].size >= size;
    if (fits) best = at;
    at = fits ? space->blocks[at].left : space->blocks[at].right;
  }
  return best;
}

/* --- list of blocks --- */

/* A new block in use, between two neighbours; its record is one of those that joins left over, if
 * there is one. An allocation makes one block at most, so 2 * count + 1 records are enough. */
static int add_block(space_t *space, size_t offset, size_t size, int before, int after) {
  int block = space->free_records;
  if (block >= 0)
    space->free_records = space->blocks[block].after;
  else
    block = space->count++;
  space->blocks[block] = (block_t){offset, size, false, before, after, -1, -1, 0};
  if (before >= 0) space->blocks[before].after = block;
  if (after >= 0) space->blocks[after].before = block;
  if (after < 0) space->last = block;
  return block;
}

/* Joins block b to its predecessor a. */
static void join_blocks(space_t *space, int a, int b) {
  block_t *blocks = space->blocks;
  blocks[a].size += blocks[b].size;
  blocks[a].after = blocks[b].after;
  if (blocks[b].after >= 0) blocks[blocks[b].after].before = a;
  if (space->last == b) space->last = a;
  blocks[b].after = space->free_records;
  space->free_records = b;
}

/* Allocates from the smallest free block that fits, else at the end of the arena, which grows. */
static int allocate_block(space_t *space, size_t size) {
  int block = find_fit(space, size);
  if (block < 0 && space->last >= 0 && space->blocks[space->last].is_free) {
    block = space->last;
    remove_free(space, block);
    space->blocks[block].size = size;
    return block;
  }
  if (block < 0) {
    size_t end =
        space->last < 0 ? 0 : space->blocks[space->last].offset + space->blocks[space->last].size;
    return add_block(space, end, size, space->last, -1);
  }
  remove_free(space, block);
  if (space->blocks[block].size > size) {
    size_t rest = space->blocks[block].size - size, offset = space->blocks[block].offset + size;
    space->blocks[block].size = size;
    insert_free(space, add_block(space, offset, rest, block, space->blocks[block].after));
  }
  return block;
}

/* Frees a block and joins it with free neighbours, so that no two free blocks are neighbours. */
static void free_block(space_t *space, int block) {
  int after = space->blocks[block].after, before = space->blocks[block].before;
  if (after >= 0 && space->blocks[after].is_free) {
    remove_free(space, after);
    join_blocks(space, block, after);
  }
  if (before >= 0 && space->blocks[before].is_free) {
    remove_free(space, before);
    join_blocks(space, before, block);
    block = before;
  }
  insert_free(space, block);
}

/* --- the sweep --- */

typedef struct sweep {
  space_t space;
  int *first_start, *next_start, *first_end,
      *next_end; /* lists of items by the step of their start and end */
  int *block_of;
} sweep_t;

/* Lists the items by the steps at which they start and end. Lists are in the order of items. */
static hr_status_t init_sweep(hr_arena_t *scratch, const flat_item_t *items, int count,
                              int step_count, sweep_t *sweep) {
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &sweep->first_start));
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &sweep->first_end));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->next_start));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->next_end));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->block_of));
  HR_TRY(HR_NEW_ARRAY(scratch, 2 * (size_t)count + 1, &sweep->space.blocks));
  sweep->space.root = -1;
  sweep->space.last = -1;
  sweep->space.free_records = -1;
  for (int s = 0; s <= step_count; s++) {
    sweep->first_start[s] = -1;
    sweep->first_end[s] = -1;
  }
  for (int i = count; i-- > 0;) {
    int end = items[i].end < step_count ? items[i].end : step_count;
    sweep->next_start[i] = sweep->first_start[items[i].start];
    sweep->first_start[items[i].start] = i;
    sweep->next_end[i] = sweep->first_end[end];
    sweep->first_end[end] = i;
  }
  return NULL;
}

#define SET_BYTES 4096 /* bytes between lines that share a set of the first-level cache */
#define STAGGER_LEAST (4 * SET_BYTES) /* least size of an item that is staggered */
#define STAGGER_LINES 5               /* odd, so that 64 neighbours begin in different sets */

/* Sizes become multiples of HR_ALIGNMENT, at least one, so that all offsets are aligned. Items that
 * fill whole pages get some lines more: neighbours of one size would else begin in the same set,
 * and a loop over more arrays than a set has ways would find none of them in the first-level cache.
 * Refused: sums that size_t cannot hold, so that no offset can overflow. */
static hr_status_t round_sizes(flat_item_t *items, int count) {
  size_t sum = 0;
  for (int i = 0; i < count; i++) {
    size_t rounded = (items[i].size_bytes + HR_ALIGNMENT - 1) & ~(size_t)(HR_ALIGNMENT - 1);
    if (!rounded) rounded = HR_ALIGNMENT;
    if (rounded >= STAGGER_LEAST && rounded % SET_BYTES == 0)
      rounded += STAGGER_LINES * HR_ALIGNMENT;
    if (rounded < items[i].size_bytes || __builtin_add_overflow(sum, rounded, &sum))
      return hr_error(HR_NO_MEMORY, "the program needs more bytes than can be addressed");
    items[i].size_bytes = rounded;
  }
  return NULL;
}

/* Starts of a step come before its ends: the operands and results of a step never share memory,
 * unless they are one buffer. */
static hr_status_t assign_by_sweep(hr_arena_t *scratch, flat_item_t *items, int count,
                                   int step_count, size_t *out_total_bytes) {
  sweep_t sweep = {0};
  HR_TRY(init_sweep(scratch, items, count, step_count, &sweep));
  for (int s = 0; s <= step_count; s++) {
    for (int i = sweep.first_start[s]; i >= 0; i = sweep.next_start[i]) {
      sweep.block_of[i] = allocate_block(&sweep.space, items[i].size_bytes);
      items[i].offset_bytes = sweep.space.blocks[sweep.block_of[i]].offset;
    }
    for (int i = sweep.first_end[s]; i >= 0; i = sweep.next_end[i])
      free_block(&sweep.space, sweep.block_of[i]);
  }
  const space_t *space = &sweep.space;
  *out_total_bytes =
      space->last < 0 ? 0 : space->blocks[space->last].offset + space->blocks[space->last].size;
  return NULL;
}

/* --- by weight --- */

#define MAX_WEIGHED 1024 /* most items; more keep the offsets of the sweep */

typedef struct weighed {
  double weight;
  int item;
} weighed_t;

static int heavier_first(const void *a, const void *b) {
  const weighed_t *x = a, *y = b;
  if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
  return x->item - y->item;
}

static hr_status_t weigh_items(hr_arena_t *scratch, const flat_item_t *items, int count,
                               weighed_t **out_order) {
  HR_TRY(HR_NEW_ARRAY(scratch, count, out_order));
  for (int i = 0; i < count; i++)
    (*out_order)[i] =
        (weighed_t){(double)items[i].size_bytes * (items[i].end - items[i].start + 1.0), i};
  qsort(*out_order, (size_t)count, sizeof **out_order, heavier_first);
  return NULL;
}

static bool live_together(const flat_item_t *a, const flat_item_t *b) {
  return a->start <= b->end && b->start <= a->end;
}

/* Offset of the smallest gap that fits, else the end of all items that live together with the item.
 * `placed`: items in order of their offsets. */
static size_t find_gap(const flat_item_t *items, const int *placed, int count,
                       const flat_item_t *item) {
  size_t at = 0, best = 0, smallest = SIZE_MAX;
  for (int i = 0; i < count; i++) {
    const flat_item_t *other = &items[placed[i]];
    if (!live_together(other, item)) continue;
    size_t gap = other->offset_bytes > at ? other->offset_bytes - at : 0;
    if (gap >= item->size_bytes && gap < smallest) {
      best = at;
      smallest = gap;
    }
    size_t end = other->offset_bytes + other->size_bytes;
    if (end > at) at = end;
  }
  return smallest < SIZE_MAX ? best : at;
}

static void insert_by_offset(const flat_item_t *items, int *placed, int count, int item) {
  int at = count;
  while (at > 0 && items[placed[at - 1]].offset_bytes > items[item].offset_bytes) at--;
  memmove(placed + at + 1, placed + at, (size_t)(count - at) * sizeof *placed);
  placed[at] = item;
}

static hr_status_t assign_by_weight(hr_arena_t *scratch, flat_item_t *items, int count,
                                    size_t *out_total_bytes) {
  weighed_t *order;
  int *placed;
  *out_total_bytes = 0;
  HR_TRY(weigh_items(scratch, items, count, &order));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &placed));
  for (int k = 0; k < count; k++) {
    flat_item_t *item = &items[order[k].item];
    item->offset_bytes = find_gap(items, placed, k, item);
    insert_by_offset(items, placed, k, order[k].item);
    size_t end = item->offset_bytes + item->size_bytes;
    if (end > *out_total_bytes) *out_total_bytes = end;
  }
  return NULL;
}

/* --- both --- */

/* The most bytes alive at a time, a lower bound for the arena. */
static hr_status_t most_alive(hr_arena_t *scratch, const flat_item_t *items, int count,
                              int step_count, size_t *out_bytes) {
  size_t *begun, *ended, alive = 0;
  *out_bytes = 0;
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &begun));
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &ended));
  for (int i = 0; i < count; i++) {
    begun[items[i].start] += items[i].size_bytes;
    ended[items[i].end < step_count ? items[i].end : step_count] += items[i].size_bytes;
  }
  for (int s = 0; s <= step_count; s++) {
    alive += begun[s];
    if (alive > *out_bytes) *out_bytes = alive;
    alive -= ended[s];
  }
  return NULL;
}

hr_status_t flat_assign_offsets(hr_arena_t *scratch, flat_item_t *items, int count, int step_count,
                                size_t *out_total_bytes) {
  size_t least, total;
  flat_item_t *weighed;
  HR_TRY(round_sizes(items, count));
  HR_TRY(assign_by_sweep(scratch, items, count, step_count, out_total_bytes));
  if (count > MAX_WEIGHED) return NULL;
  HR_TRY(most_alive(scratch, items, count, step_count, &least));
  if (*out_total_bytes == least) return NULL;
  HR_TRY(HR_NEW_ARRAY(scratch, count, &weighed));
  memcpy(weighed, items, (size_t)count * sizeof *items);
  HR_TRY(assign_by_weight(scratch, weighed, count, &total));
  if (total >= *out_total_bytes) return NULL;
  memcpy(items, weighed, (size_t)count * sizeof *items);
  *out_total_bytes = total;
  return NULL;
}
