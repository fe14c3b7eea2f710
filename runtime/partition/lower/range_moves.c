/* Every part's window overlaps a run of neighbouring chunks; each overlap is a transfer. There are
 * three ways to group transfers into rounds:
 *   by distance (target to source): no part ever sends or gets two blocks;
 *   by number within the window: fewer rounds for windows in reverse order; possible if no part
 *   would send twice;
 *   by edge colouring, each in the first round in which its two parts are free: fewer rounds if
 *   distances grow along the parts.
 * Fewer rounds may send more. The first two rounds travel together, as those of a halo; each other
 * round costs round_elements. Blocks of a round have the size of its largest transfer: shorter ones
 * include neighbouring elements, which land at their right places or outside of the window. */
#include "partition/lower/range_moves.h"

#include <limits.h>
#include <string.h>

/* `length` elements from offset `from` of the source's chunk to offset `place` of the target's
 * window. */
typedef struct transfer {
  int64_t source, target, from, length, place;
  int64_t keys[3]; /* round key by grouping: by_distance, by_number, by_colour */
} transfer_t;

/* Ways to group transfers. */
typedef enum grouping { by_distance, by_number, by_colour, grouping_count } grouping_t;

/* Most rounds of a grouping if there is another grouping: the distances of a reversal are all
 * different, and a round has an entry for each part. */
#define MAX_ROUNDS 64

/* Transfers in the order of targets, then of chunks. */
typedef struct transfers {
  int64_t count;
  transfer_t *items;
} transfers_t;

/* Rounds towards minus infinity, as starts may be negative: floor(-1 / 3) is -1. */
static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smallest(int64_t a, int64_t b) { return a < b ? a : b; }

/* End of the elements that part j needs. */
static int64_t end_of(const spmd_ranges_t *ranges, int64_t j) {
  int64_t end = ranges->starts[j] + ranges->width;
  return ranges->ends ? smallest(end, ranges->ends[j]) : end;
}

/* The chunks first .. last - 1 that part j's window overlaps. */
static void chunks_of(const spmd_ranges_t *ranges, int64_t j, int64_t *out_first,
                      int64_t *out_last) {
  int64_t begin = ranges->starts[j], end = end_of(ranges, j);
  if (!ranges->wrap) begin = largest(begin, 0);
  if (!ranges->wrap) end = smallest(end, ranges->size);
  *out_first = floor_div(begin, ranges->chunk);
  *out_last = begin < end ? floor_div(end - 1, ranges->chunk) + 1 : *out_first;
}

/* Gives each transfer the first colour that both of its parts have free; the last colour if there
 * is none: then a part sends twice, which rules out this grouping. */
static hr_status_t colour(hr_arena_t *arena, int64_t parts, transfers_t *all) {
  uint64_t *sends, *gets;
  HR_TRY(HR_NEW_ARRAY(arena, parts, &sends));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &gets));
  for (int64_t i = 0; i < all->count; i++) {
    transfer_t *t = &all->items[i];
    int64_t free = 0;
    if (t->source == t->target) continue;
    while (free < 63 && ((sends[t->source] | gets[t->target]) >> free & 1)) free++;
    sends[t->source] |= UINT64_C(1) << free;
    gets[t->target] |= UINT64_C(1) << free;
    t->keys[by_colour] = free;
  }
  return NULL;
}

/* The part that sends chunk s to part j: j itself if it has the chunk, else one of the copies in
 * turn. */
static int64_t source_of(const spmd_ranges_t *ranges, int64_t s, int64_t j) {
  int64_t copies = ranges->copies > 1 ? ranges->copies : 1;
  int64_t chunks = ranges->parts / copies, own = s - floor_div(s, chunks) * chunks;
  return j / copies == own ? j : own * copies + j % copies;
}

/* Chunk 3, window [2, 7) of part 1: chunks 0, 1, 2 give 1, 3 and 1 elements, to places 0, 1 and 4.
 */
static hr_status_t find_transfers(hr_arena_t *arena, const spmd_ranges_t *ranges,
                                  transfers_t *out) {
  int64_t count = 0, first, last;
  for (int64_t j = 0; j < ranges->parts; j++) {
    chunks_of(ranges, j, &first, &last);
    count += last - first;
  }
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &out->items));
  out->count = 0;
  for (int64_t j = 0; j < ranges->parts; j++) {
    int64_t begin = ranges->starts[j], end = end_of(ranges, j);
    chunks_of(ranges, j, &first, &last);
    for (int64_t s = first; s < last; s++) {
      int64_t low = largest(begin, s * ranges->chunk);
      int64_t high = smallest(end, (s + 1) * ranges->chunk);
      if (!ranges->wrap) high = smallest(high, ranges->size);
      out->items[out->count++] =
          (transfer_t){.source = source_of(ranges, s, j),
                       .target = j,
                       .from = low - s * ranges->chunk,
                       .length = high - low,
                       .place = low - begin,
                       .keys = {ranges->copies > 1 ? source_of(ranges, s, j) - j : s - j,
                                s - floor_div(begin, ranges->chunk)}};
    }
  }
  return colour(arena, ranges->parts, out);
}

/* Allocates a round in which no part sends. */
static hr_status_t new_round(hr_arena_t *arena, int64_t parts, spmd_round_t *out_round) {
  out_round->block = 0;
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_round->sources));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_round->sent_from));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_round->placed_at));
  for (int64_t j = 0; j < parts; j++) out_round->sources[j] = -1;
  return NULL;
}

/* Enters the transfers of one key (`own`: those within a part). False if a part would send or get
 * two blocks. */
static bool fill_round(const spmd_ranges_t *ranges, const transfers_t *all, bool own,
                       grouping_t grouping, int64_t key, bool *sends, spmd_round_t *round) {
  memset(sends, 0, (size_t)ranges->parts);
  for (int64_t i = 0; i < all->count; i++) {
    const transfer_t *t = &all->items[i];
    bool is_own = t->source == t->target;
    if (is_own != own || (!own && t->keys[grouping] != key)) continue;
    if (sends[t->source] || round->sources[t->target] >= 0) return false;
    sends[t->source] = true;
    round->sources[t->target] = t->source;
    round->sent_from[t->source] = t->from;
    round->placed_at[t->target] = t->place;
    round->block = largest(round->block, t->length);
  }
  for (int64_t j = 0; j < ranges->parts; j++) {
    int64_t s = round->sources[j];
    if (s < 0) {
      round->placed_at[j] = -round->block;
      continue;
    }
    int64_t moved =
        round->sent_from[s] - smallest(round->sent_from[s], ranges->chunk - round->block);
    round->sent_from[s] -= moved;
    round->placed_at[j] -= moved;
  }
  return true;
}

/* The next larger key after `key`; false: none. */
static bool next_key(const transfers_t *all, grouping_t grouping, int64_t *key) {
  bool found = false;
  int64_t next = 0;
  for (int64_t i = 0; i < all->count; i++) {
    const transfer_t *t = &all->items[i];
    int64_t own = t->keys[grouping];
    if (t->source == t->target || own <= *key || (found && own >= next)) continue;
    next = own;
    found = true;
  }
  *key = next;
  return found;
}

/* Average number of elements sent, over all parts. */
static double sent_by(const spmd_round_t *round, int64_t parts) {
  int64_t pairs = 0;
  for (int64_t j = 0; j < parts; j++) pairs += round->sources[j] >= 0;
  return (double)(pairs * round->block) / (double)parts;
}

/* Makes round 0, the elements that parts hold themselves, then one round for each key in ascending
 * order. */
static hr_status_t group(hr_arena_t *arena, const spmd_ranges_t *ranges, const transfers_t *all,
                         grouping_t grouping, int max_rounds, bool *out_possible,
                         spmd_moves_t *out) {
  bool *sends;
  int64_t key = INT64_MIN;
  int count = 1;
  while (count <= max_rounds && next_key(all, grouping, &key)) count++;
  *out_possible = count <= max_rounds;
  if (!*out_possible) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, ranges->parts, &sends));
  HR_TRY(HR_NEW_ARRAY(arena, count, &out->rounds));
  out->count = count;
  out->sent = 0;
  key = INT64_MIN;
  for (int r = 0; r < count && *out_possible; r++) {
    HR_TRY(new_round(arena, ranges->parts, &out->rounds[r]));
    if (r) next_key(all, grouping, &key);
    *out_possible = fill_round(ranges, all, r == 0, grouping, key, sends, &out->rounds[r]);
    out->rounds[r].sent = sent_by(&out->rounds[r], ranges->parts);
    if (r) out->sent += out->rounds[r].sent;
  }
  return NULL;
}

static double cost_of(const spmd_ranges_t *ranges, const spmd_moves_t *moves) {
  int waits = moves->count > 3 ? moves->count - 2 : moves->count > 1;
  return moves->sent + waits * ranges->round_elements;
}

/* Tries all groupings and keeps the cheapest, which has at most as many rounds as the first one
 * that is possible; among equals the first one with the fewest rounds. */
hr_status_t spmd_range_moves(hr_arena_t *arena, const spmd_ranges_t *ranges,
                             spmd_moves_t *out_moves) {
  transfers_t all;
  spmd_moves_t other;
  bool possible, found = false;
  HR_TRY(find_transfers(arena, ranges, &all));
  for (grouping_t grouping = by_distance; grouping < grouping_count; grouping++) {
    int most_rounds = found ? out_moves->count : MAX_ROUNDS;
    HR_TRY(group(arena, ranges, &all, grouping, most_rounds, &possible, &other));
    if (!possible) continue;
    double cost = cost_of(ranges, &other), least = found ? cost_of(ranges, out_moves) : cost;
    bool fewer = found && other.count < out_moves->count;
    if (!found || cost < least || (cost == least && fewer)) *out_moves = other;
    found = true;
  }
  return found ? NULL : group(arena, ranges, &all, by_distance, INT_MAX, &possible, out_moves);
}

/* ceil(starts[j] / dilation) is the first element that lies in window j. */
hr_status_t spmd_undilate(hr_arena_t *arena, int64_t parts, const int64_t *starts, int64_t width,
                          int64_t dilation, spmd_undilated_t *out_windows) {
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_windows->starts));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_windows->cuts));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &out_windows->ends));
  out_windows->width = (width - 1) / dilation + 1;
  for (int64_t j = 0; j < parts; j++) {
    int64_t first = -floor_div(-starts[j], dilation);
    out_windows->starts[j] = first;
    out_windows->ends[j] = floor_div(starts[j] + width - 1, dilation) + 1;
    out_windows->cuts[j] = dilation - 1 - (first * dilation - starts[j]);
  }
  return NULL;
}

/* Source s covers s * stride - low .. s * stride - low + size - 1. Those that meet [first, last]
 * are s = ceil((first + low - size + 1) / stride) .. floor((last + low) / stride). */
hr_status_t spmd_reach_of(hr_arena_t *arena, int64_t parts, int64_t chunk, int64_t size,
                          int64_t stride, int64_t low, spmd_reach_t *out_reach) {
  spmd_reach_t reach = {.source_width = 1};
  HR_TRY(HR_NEW_ARRAY(arena, parts, &reach.source_starts));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &reach.starts));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &reach.source_ends));
  HR_TRY(HR_NEW_ARRAY(arena, parts, &reach.ends));
  for (int64_t j = 0; j < parts; j++) {
    int64_t first = j * chunk, last = first + chunk - 1;
    int64_t begin = -floor_div(-(first + low - size + 1), stride);
    int64_t end = floor_div(last + low, stride);
    reach.source_starts[j] = begin;
    reach.starts[j] = begin * stride - low;
    reach.source_ends[j] = end + 1;
    reach.ends[j] = end < begin ? reach.starts[j] : end * stride - low + size;
    reach.source_width = largest(reach.source_width, end - begin + 1);
  }
  reach.width = (reach.source_width - 1) * stride + size;
  *out_reach = reach;
  return NULL;
}

/* Parts that get nothing do not matter. */
bool spmd_round_is_uniform(const spmd_round_t *round, int64_t parts, int64_t *out_sent_from,
                           int64_t *out_placed_at) {
  bool found = false;
  for (int64_t j = 0; j < parts; j++) {
    int64_t s = round->sources[j];
    if (s < 0) continue;
    bool same = round->sent_from[s] == *out_sent_from && round->placed_at[j] == *out_placed_at;
    if (found && !same) return false;
    *out_sent_from = round->sent_from[s];
    *out_placed_at = round->placed_at[j];
    found = true;
  }
  return true;
}
