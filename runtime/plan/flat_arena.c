/* Best fit by a sweep over time. Memory is a list of blocks in the order of their places; free
 * blocks are also in a treap by size, then place, so that the smallest one that fits is found in
 * O(log n). Neighbours that become free join. */
#include "base/mem.h"
#include "plan/flat.h"

typedef struct block {
  size_t offset, size;
  bool is_free;
  int before, after; /* neighbours in memory; -1: none */
  int left, right;   /* in the tree of free blocks */
  uint32_t priority;
} block_t;

typedef struct space {
  block_t *blocks;
  int count, root, last; /* last: the block with the highest place */
  int spare;             /* list of unused records, by `after` */
  uint32_t random;
} space_t;

/* --- the tree --- */

static bool is_before(const block_t *a, const block_t *b) {
  return a->size != b->size ? a->size < b->size : a->offset < b->offset;
}

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

/* Blocks before `key` go to *low, the others to *high. */
static void split_tree(space_t *space, int tree, const block_t *key, int *low, int *high) {
  if (tree < 0) {
    *low = *high = -1;
    return;
  }
  block_t *at = &space->blocks[tree];
  if (is_before(at, key)) {
    split_tree(space, at->right, key, &at->right, high);
    *low = tree;
  } else {
    split_tree(space, at->left, key, low, &at->left);
    *high = tree;
  }
}

static void insert_free(space_t *space, int block) {
  int low, high;
  block_t *at = &space->blocks[block];
  space->random = space->random * 1664525u + 1013904223u;
  *at = (block_t){at->offset, at->size, true, at->before, at->after, -1, -1, space->random};
  split_tree(space, space->root, at, &low, &high);
  space->root = merge_trees(space, merge_trees(space, low, block), high);
}

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

/* --- the list --- */

static int new_block(space_t *space, size_t offset, size_t size, int before, int after) {
  int block = space->spare;
  if (block >= 0)
    space->spare = space->blocks[block].after;
  else
    block = space->count++;
  space->blocks[block] = (block_t){offset, size, false, before, after, -1, -1, 0};
  if (before >= 0) space->blocks[before].after = block;
  if (after >= 0) space->blocks[after].before = block;
  if (after < 0) space->last = block;
  return block;
}

/* Block b, right behind a, becomes a part of it. */
static void join_blocks(space_t *space, int a, int b) {
  block_t *blocks = space->blocks;
  blocks[a].size += blocks[b].size;
  blocks[a].after = blocks[b].after;
  if (blocks[b].after >= 0) blocks[blocks[b].after].before = a;
  if (space->last == b) space->last = a;
  blocks[b].after = space->spare;
  space->spare = b;
}

/* Takes the smallest gap that fits, else the end of memory, which grows. */
static int take(space_t *space, size_t size) {
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
    return new_block(space, end, size, space->last, -1);
  }
  remove_free(space, block);
  if (space->blocks[block].size > size) {
    size_t rest = space->blocks[block].size - size, offset = space->blocks[block].offset + size;
    space->blocks[block].size = size;
    insert_free(space, new_block(space, offset, rest, block, space->blocks[block].after));
  }
  return block;
}

static void give_back(space_t *space, int block) {
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

static hr_status_t set_up(hr_arena_t *scratch, const flat_item_t *items, int count, int step_count,
                          sweep_t *sweep) {
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &sweep->first_start));
  HR_TRY(HR_NEW_ARRAY(scratch, step_count + 1, &sweep->first_end));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->next_start));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->next_end));
  HR_TRY(HR_NEW_ARRAY(scratch, count, &sweep->block_of));
  HR_TRY(HR_NEW_ARRAY(scratch, 2 * (size_t)count + 1, &sweep->space.blocks));
  sweep->space.root = sweep->space.last = sweep->space.spare = -1;
  for (int s = 0; s <= step_count; s++) sweep->first_start[s] = sweep->first_end[s] = -1;
  for (int i = count; i-- > 0;) {
    int end = items[i].end < step_count ? items[i].end : step_count;
    sweep->next_start[i] = sweep->first_start[items[i].start];
    sweep->first_start[items[i].start] = i;
    sweep->next_end[i] = sweep->first_end[end];
    sweep->first_end[end] = i;
  }
  return NULL;
}

static hr_status_t round_sizes(flat_item_t *items, int count) {
  size_t sum = 0;
  for (int i = 0; i < count; i++) {
    size_t rounded = (items[i].size_bytes + HR_ALIGNMENT - 1) & ~(size_t)(HR_ALIGNMENT - 1);
    if (!rounded) rounded = HR_ALIGNMENT;
    if (rounded < items[i].size_bytes || __builtin_add_overflow(sum, rounded, &sum))
      return hr_error(HR_NO_MEMORY, "the program needs more bytes than can be addressed");
    items[i].size_bytes = rounded;
  }
  return NULL;
}

hr_status_t flat_assign_offsets(hr_arena_t *scratch, flat_item_t *items, int count, int step_count,
                                size_t *out_total_bytes) {
  sweep_t sweep = {0};
  HR_TRY(round_sizes(items, count));
  HR_TRY(set_up(scratch, items, count, step_count, &sweep));
  for (int s = 0; s <= step_count; s++) {
    for (int i = sweep.first_start[s]; i >= 0; i = sweep.next_start[i]) {
      sweep.block_of[i] = take(&sweep.space, items[i].size_bytes);
      items[i].offset_bytes = sweep.space.blocks[sweep.block_of[i]].offset;
    }
    for (int i = sweep.first_end[s]; i >= 0; i = sweep.next_end[i])
      give_back(&sweep.space, sweep.block_of[i]);
  }
  const space_t *space = &sweep.space;
  *out_total_bytes =
      space->last < 0 ? 0 : space->blocks[space->last].offset + space->blocks[space->last].size;
  return NULL;
}
