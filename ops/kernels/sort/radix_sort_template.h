/* Sorting of one kind of item by the bits of its key; included by radix_sort.c once per kind, with
 *   ITEM        the item type
 *   NAME(f)     the name of function f for this type
 *   KEY_OF(x)   the key of an item, uint64_t
 * The significant digits are bits `low` .. `low + bits - 1`. All sorts are stable. */

/* Up to RANK_RUN items: each item's position is the number of items before it. Positions beyond the
 * run have the greatest key, and are after all others. */
NATIVE_CLONES
static void NAME(sort_run)(ITEM *items, int64_t count) {
  uint64_t keys[RANK_RUN];
  ITEM from[RANK_RUN];
  for (int64_t i = 0; i < RANK_RUN; i++) keys[i] = UINT64_MAX;
  for (int64_t i = 0; i < count; i++) {
    from[i] = items[i];
    keys[i] = KEY_OF(from[i]);
  }
  for (int64_t i = 0; i < count; i++) {
    uint64_t key = keys[i], rank = 0;
    for (int64_t j = 0; j < RANK_RUN; j++) rank += (keys[j] < key) | ((keys[j] == key) & (j < i));
    items[rank] = from[i];
  }
}

/* Merges two adjacent runs, the left one first on ties, without branches on keys. */
static void NAME(merge)(const ITEM *a, const ITEM *a_end, const ITEM *b_end, ITEM *to) {
  const ITEM *b = a_end;
  while (a < a_end && b < b_end) {
    bool right = KEY_OF(*b) < KEY_OF(*a);
    const ITEM *from = right ? b : a;
    *to++ = *from;
    b += right;
    a += !right;
  }
  memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

static ITEM *NAME(merge_sort)(ITEM *items, ITEM *spare, int64_t count) {
  for (int64_t i = 0; i < count; i += RANK_RUN)
    NAME(sort_run)(items + i, hr_min(count - i, RANK_RUN));
  for (int64_t width = RANK_RUN; width < count; width *= 2) {
    for (int64_t i = 0; i < count; i += 2 * width) {
      int64_t middle = hr_min(i + width, count), end = hr_min(middle + width, count);
      NAME(merge)(items + i, items + middle, items + end, spare + i);
    }
    ITEM *swap = items;
    items = spare;
    spare = swap;
  }
  return items;
}

/* Bits in which any key differs from the first. */
NATIVE_CLONES
/* The bits in which any key differs from the first; all others need no pass. */
static uint64_t NAME(varying)(const ITEM *items, int64_t count) {
  uint64_t first = KEY_OF(items[0]), differences = 0;
  for (int64_t i = 1; i < count; i++) differences |= KEY_OF(items[i]) ^ first;
  return differences;
}

/* Exclusive prefix sums of a digit's histogram: the position of each digit's first item. False
 * if all items share one digit, so that the pass can be skipped. */
static bool NAME(prefix_sums)(uint32_t *counts, int buckets, int64_t count) {
  uint32_t offset = 0;
  for (int b = 0; b < buckets; b++) {
    uint32_t here = counts[b];
    if (here == (uint32_t)count) return false;
    counts[b] = offset;
    offset += here;
  }
  return true;
}

static void NAME(move)(const ITEM *from, ITEM *to, int64_t count, int shift, uint64_t mask,
                       uint32_t *offsets) {
  for (int64_t i = 0; i < count; i++) to[offsets[KEY_OF(from[i]) >> shift & mask]++] = from[i];
}

/* LSD radix sort; the histograms of all digits are computed in one pass. */
static ITEM *NAME(digit_sort)(ITEM *items, ITEM *spare, int64_t count, int low, int bits,
                              uint32_t *counts) {
  int passes = (bits + digit_bits(count) - 1) / digit_bits(count),
      digit = (bits + passes - 1) / passes;
  uint64_t mask = ((uint64_t)1 << digit) - 1;
  memset(counts, 0, ((size_t)passes << digit) * sizeof *counts);
  for (int64_t i = 0; i < count; i++) {
    uint64_t key = KEY_OF(items[i]) >> low;
    for (int p = 0; p < passes; p++, key >>= digit) counts[((uint64_t)p << digit) + (key & mask)]++;
  }
  for (int p = 0; p < passes; p++) {
    uint32_t *offsets = counts + ((size_t)p << digit);
    if (!NAME(prefix_sums)(offsets, 1 << digit, count)) continue;
    NAME(move)(items, spare, count, low + p * digit, mask, offsets);
    ITEM *swap = items;
    items = spare;
    spare = swap;
  }
  return items;
}

static ITEM *NAME(sort)(ITEM *items, ITEM *spare, int64_t count, uint32_t *counts) {
  if (count <= MAX_MERGE) return NAME(merge_sort)(items, spare, count);
  uint64_t varying = NAME(varying)(items, count);
  if (varying == 0) return items;
  int low = __builtin_ctzll(varying);
  return NAME(digit_sort)(items, spare, count, low, 64 - __builtin_clzll(varying) - low, counts);
}

/* --- parallel sort: split by the topmost digit, then sort each bucket by itself --- */

typedef struct NAME(split) {
  ITEM *items, *spare;
  int64_t count;
  int parts, shift, buckets;
  uint64_t *varying; /* [parts] */
  uint32_t *counts;  /* [parts][buckets]: histogram, then the position of the next item */
  uint32_t *starts;  /* [buckets + 1] */
  uint32_t *scratch; /* [workers][COUNTS] */
} NAME(split_t);

static void NAME(find_varying)(void *context, int64_t begin, int64_t end, int worker) {
  NAME(split_t) *split = context;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    int64_t from = split->count * p / split->parts, to = split->count * (p + 1) / split->parts;
    split->varying[p] = NAME(varying)(split->items + from, to - from);
    split->varying[p] |= KEY_OF(split->items[from]) ^ KEY_OF(split->items[0]);
  }
}

static void NAME(count_part)(void *context, int64_t begin, int64_t end, int worker) {
  NAME(split_t) *split = context;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    int64_t from = split->count * p / split->parts, to = split->count * (p + 1) / split->parts;
    uint32_t *counts = split->counts + p * split->buckets;
    uint64_t mask = (uint64_t)(split->buckets - 1);
    memset(counts, 0, (size_t)split->buckets * sizeof *counts);
    for (int64_t i = from; i < to; i++) counts[KEY_OF(split->items[i]) >> split->shift & mask]++;
  }
}

static void NAME(move_part)(void *context, int64_t begin, int64_t end, int worker) {
  NAME(split_t) *split = context;
  (void)worker;
  for (int64_t p = begin; p < end; p++) {
    int64_t from = split->count * p / split->parts, to = split->count * (p + 1) / split->parts;
    NAME(move)
    (split->items + from, split->spare, to - from, split->shift, (uint64_t)(split->buckets - 1),
     split->counts + p * split->buckets);
  }
}

/* After the split, buckets lie in `spare`; each sorted bucket ends there, copied back if
 * necessary. */
static void NAME(sort_buckets)(void *context, int64_t begin, int64_t end, int worker) {
  NAME(split_t) *split = context;
  for (int64_t b = begin; b < end; b++) {
    int64_t start = split->starts[b], count = split->starts[b + 1] - start;
    if (count < 2) continue;
    ITEM *sorted = NAME(sort)(split->spare + start, split->items + start, count,
                              split->scratch + worker * COUNTS);
    if (sorted != split->spare + start)
      memcpy(split->spare + start, sorted, (size_t)count * sizeof *sorted);
  }
}

/* Positions of all (bucket, part) pairs: buckets in order, and within each the parts in order,
 * which keeps the split stable. */
static void NAME(assign_bucket_offsets)(NAME(split_t) * split) {
  uint32_t offset = 0;
  for (int b = 0; b < split->buckets; b++) {
    split->starts[b] = offset;
    for (int p = 0; p < split->parts; p++) {
      uint32_t here = split->counts[p * split->buckets + b];
      split->counts[p * split->buckets + b] = offset;
      offset += here;
    }
  }
  split->starts[split->buckets] = offset;
}

static ITEM *NAME(sort_long)(hr_workers_t *workers, int parts, ITEM *items, ITEM *spare,
                             int64_t count, uint32_t *scratch) {
  uint64_t varying[MAX_PARTS], all = 0;
  NAME(split_t) split = {items, spare, count, parts, 0, 0, varying, scratch, NULL, NULL};
  hr_workers_split(workers, parts, 1, NAME(find_varying), &split);
  for (int p = 0; p < parts; p++) all |= varying[p];
  if (all == 0) return items;
  int top = 64 - __builtin_clzll(all), low = __builtin_ctzll(all);
  int digit = hr_min(top - low, SPLIT_BITS);
  split.shift = top - digit;
  split.buckets = 1 << digit;
  split.starts = split.counts + (size_t)parts * SPLIT_BUCKETS;
  split.scratch = split.starts + SPLIT_BUCKETS + 16;
  hr_workers_split(workers, parts, 1, NAME(count_part), &split);
  NAME(assign_bucket_offsets)(&split);
  hr_workers_split(workers, parts, 1, NAME(move_part), &split);
  if (split.shift > low) hr_workers_for(workers, split.buckets, 1, NAME(sort_buckets), &split);
  return spare;
}

#undef ITEM
#undef NAME
#undef KEY_OF
