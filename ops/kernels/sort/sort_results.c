#include "ops/kernels/sort/sort_results.h"

#include <string.h>

#include "ops/kernels/reference/sort_ties.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/kernels/sort/sort_network.h"

NATIVE_OPTIMIZE

/* Space for the lines of one operand: where items are no longer. */
static char *free_lines(const sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  char *items = line->scratch + plan->items;
  if (plan->has_temporary) return line->scratch + plan->temporary;
  return line->items == items ? line->scratch + plan->spare : items;
}

/* --- decoding keys ---------------------------------------------------------------------------- */

/* Key i of items that are only keys. */
static uint64_t key_at(const sort_line_t *line, int64_t i) {
  return line->plan->kind == RADIX_KEY_32 ? ((const uint32_t *)line->items)[i]
                                          : ((const uint64_t *)line->items)[i];
}

/* Binary search among the sorted items of line l: the first one whose key is not below `key`. */
static int64_t find_key(const sort_line_t *line, int64_t l, uint64_t key) {
  int64_t low = l * line->plan->count, high = low + line->plan->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (key_at(line, middle) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Elements that differ but have equal keys (zeros, NaNs) are contiguous in the result: a run of
 * `count` from `first` on, whose original elements are at `saved`. */
typedef struct sort_tie {
  int64_t first, count;
  const char *saved;
} sort_tie_t;

/* Copies the zeros, or the NaNs, of line l in their original order; returns their number. */
static int64_t list_ties(const sort_line_t *line, int64_t l, bool nans, char *to) {
  const native_sort_plan_t *plan = line->plan;
  const sort_encoding_t *encoding = &plan->keys[0].encoding;
  int64_t bytes = plan->bytes[0], found = 0, first = l * plan->count;
  uint64_t sign = (uint64_t)1 << (encoding->bits - 1), bits = 0;
  for (int64_t i = first; i < first + plan->count; i++) {
    memcpy(&bits, line->from[0] + i * bytes, (size_t)bytes);
    uint64_t magnitude = bits & (sign - 1);
    if (nans ? magnitude <= encoding->infinity : magnitude != 0) continue;
    memcpy(to + found++ * bytes, &bits, (size_t)bytes);
  }
  return found;
}

/* The run of line l with this key. Its original elements are stored at *next, which is advanced. */
static sort_tie_t save_ties(const sort_line_t *line, int64_t l, bool nans, uint64_t key,
                            char **next) {
  int64_t first = find_key(line, l, key), last = (l + 1) * line->plan->count;
  sort_tie_t tie = {first, (key == UINT64_MAX ? last : find_key(line, l, key + 1)) - first, *next};
  if (tie.count) *next += list_ties(line, l, nans, *next) * line->plan->bytes[0];
  return tie;
}

static void restore_ties(const sort_line_t *line, const sort_tie_t *tie) {
  int64_t bytes = line->plan->bytes[0];
  if (tie->count)
    memcpy(line->to[0] + tie->first * bytes, tie->saved, (size_t)(tie->count * bytes));
}

#define HAS_KEY(T)                                                                         \
  do {                                                                                     \
    const T *keys = line->items, one = (T)a, other = (T)b;                                 \
    for (int64_t i = 0; i < line->count; i++) found |= keys[i] == one || keys[i] == other; \
  } while (0)

NATIVE_CLONES
/* True if any key is one of these two. */
static bool has_key(const sort_line_t *line, uint64_t a, uint64_t b) {
  int found = 0;
  if (line->plan->kind == RADIX_KEY_32)
    HAS_KEY(uint32_t);
  else
    HAS_KEY(uint64_t);
  return found;
}

/* Sorted keys are the elements: no permutation is needed for a single operand without ties. */
static void decode_items(void *context, int64_t begin, int64_t end, int worker) {
  const sort_line_t *line = context;
  const sort_encoding_t *encoding = &line->plan->keys[0].encoding;
  char *to = line->to[0] + begin * line->plan->bytes[0];
  (void)worker;
  if (line->plan->kind == RADIX_KEY_32)
    sort_decode_32(encoding, (const uint32_t *)line->items + begin, end - begin, to);
  else
    sort_decode_64(encoding, (const uint64_t *)line->items + begin, end - begin, to);
}

void sort_decode_lines(sort_line_t *line) {
  const sort_encoding_t *encoding = &line->plan->keys[0].encoding;
  sort_tie_t ties[2 * SORT_NETWORK_MOST_LINES];
  uint64_t zero_key = encoding->nan_key;
  char *saved = free_lines(line);
  int count = 0;
  if (encoding->zero) sort_encode_block(encoding, &(uint64_t){0}, 1, &zero_key);
  bool has_ties = encoding->zero || encoding->ties;
  if (has_ties && line->lines > 1) has_ties = has_key(line, zero_key, encoding->nan_key);
  for (int64_t l = 0; l < line->lines && has_ties; l++) {
    if (encoding->zero) ties[count++] = save_ties(line, l, false, zero_key, &saved);
    if (encoding->ties) ties[count++] = save_ties(line, l, true, encoding->nan_key, &saved);
  }
  hr_workers_for(line->workers, line->count, SORT_GRAIN, decode_items, line);
  for (int t = 0; t < count; t++) restore_ties(line, &ties[t]);
}

/* --- permuting operands ----------------------------------------------------------------------- */

/* Extracts the indices in place: they are smaller than the items. */
static void extract_order(sort_line_t *line) {
  uint32_t *order = line->items;
  for (int64_t i = 0; i < line->count; i++)
    order[i] = line->plan->kind == RADIX_PAIR
                   ? (uint32_t)((const radix_pair_t *)line->items)[i].index
                   : (uint32_t)((const uint64_t *)line->items)[i];
  line->order = order;
}

/* The key part of a sorted item. */
static uint64_t sorted_key(const sort_line_t *line, int64_t i) {
  return line->plan->kind == RADIX_PAIR ? ((const radix_pair_t *)line->items)[i].key
                                        : ((const uint64_t *)line->items)[i] >> 32;
}

/* True if two adjacent sorted items have equal keys. */
static bool has_ties(const sort_line_t *line) {
  for (int64_t i = 1; i < line->plan->count; i++)
    if (sorted_key(line, i) == sorted_key(line, i - 1)) return true;
  return false;
}

/* For an unstable sort with ties: sorts once more by rank, in the order that sort_ties.h
 * defines. */
static void extract_unstable_order(sort_line_t *line) {
  int64_t count = line->plan->count, rank = 0;
  sort_item_t *ties = (sort_item_t *)(line->scratch + line->plan->ties);
  if (!has_ties(line)) {
    extract_order(line);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t index = line->plan->kind == RADIX_PAIR
                        ? (int64_t)((const radix_pair_t *)line->items)[i].index
                        : (int64_t)(uint32_t)((const uint64_t *)line->items)[i];
    rank += i > 0 && sorted_key(line, i) != sorted_key(line, i - 1);
    ties[index] = (sort_item_t){(uint64_t)rank, index};
  }
  sort_items_unstably(ties, ties + count, count);
  for (int64_t i = 0; i < count; i++) ((uint32_t *)line->items)[i] = (uint32_t)ties[i].index;
  line->order = line->items;
}

/* Elements of one size are gathered as integers; iota operands need no gather. */
#define PERMUTE(T)                                                                              \
  do {                                                                                          \
    T *to = (T *)line->target;                                                                  \
    const T *from = (const T *)line->from[line->operand];                                       \
    for (int64_t i = begin; i < end; i++) to[i] = line->is_iota ? (T)order[i] : from[order[i]]; \
  } while (0)
#define PERMUTE_16                                                      \
  do {                                                                  \
    const char *from = line->from[line->operand];                       \
    for (int64_t i = begin; i < end; i++)                               \
      memcpy(line->target + i * 16, from + (int64_t)order[i] * 16, 16); \
  } while (0)

NATIVE_CLONES
/* out[i] = in[order[i]] for elements of one size. */
static void permute_items(void *context, int64_t begin, int64_t end, int worker) {
  const sort_line_t *line = context;
  const uint32_t *order = line->order;
  (void)worker;
  switch (line->plan->bytes[line->operand]) {
    case 1:
      PERMUTE(uint8_t);
      break;
    case 2:
      PERMUTE(uint16_t);
      break;
    case 4:
      PERMUTE(uint32_t);
      break;
    case 8:
      PERMUTE(uint64_t);
      break;
    case 16:
      PERMUTE_16;
      break;
  }
}

/* True for 0, 1, 2, ...: the indices of an arg-sort, which need not be read. */
static bool is_iota_sequence(const void *elements, int64_t bytes, int64_t count) {
  if (bytes != 4 && bytes != 8) return false;
  for (int64_t i = 0; i < count; i++)
    if (bytes == 4 ? ((const uint32_t *)elements)[i] != (uint32_t)i
                   : ((const uint64_t *)elements)[i] != (uint64_t)i)
      return false;
  return true;
}

/* An operand 0, 1, 2, ... (of an arg-sort) need not be read: its result is the order itself. */
static void permute_operands(sort_line_t *line) {
  const native_sort_plan_t *plan = line->plan;
  for (int k = 0; k < plan->operands; k++) {
    line->operand = k;
    line->is_iota = is_iota_sequence(line->from[k], plan->bytes[k], line->count);
    bool in_place = line->from[k] == line->to[k] && !line->is_iota;
    line->target = in_place ? free_lines(line) : line->to[k];
    hr_workers_for(line->workers, line->count, SORT_GRAIN, permute_items, line);
    if (in_place) memcpy(line->to[k], line->target, (size_t)(line->count * plan->bytes[k]));
  }
}

void sort_permute_operands(sort_line_t *line) {
  if (line->plan->stable)
    extract_order(line);
  else
    extract_unstable_order(line);
  permute_operands(line);
}
