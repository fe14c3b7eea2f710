/* Moves of elements along one dimension that give every part the window that it needs: halos of
 * stencils and convolutions, slices, pads, reversal, concatenation, rolls. Pure arithmetic;
 * fetch_window.h makes instructions of it.
 *
 *   chunks     |0 1 2|3 4 5|6 7 .|     size 8, chunk 3
 *   windows  [-1 0 1 2 3]              part j needs `width` elements from starts[j]
 *                  [2 3 4 5 6]
 *
 * The elements travel in rounds. In a round every part sends and gets at most one block, of the
 * same size for all: one collective-permute. Round 0 holds the elements that a part has itself. */
#ifndef HR_PARTITION_LOWER_RANGE_MOVES_H
#define HR_PARTITION_LOWER_RANGE_MOVES_H

#include "base/arena.h"

typedef struct spmd_ranges {
  int64_t size;  /* elements; no part holds those outside 0 .. size - 1 */
  int64_t chunk; /* elements of a part: part j holds [j * chunk, (j + 1) * chunk), if there are no
                    copies */
  int64_t parts;
  int64_t width;         /* elements of every window */
  const int64_t *starts; /* by part: first element of the window; may be negative */
  const int64_t *ends;   /* by part: end of the needed elements; NULL: all are needed */
  int64_t copies;        /* parts that hold one chunk: part j holds chunk j / copies; 0 means 1 */
  double round_elements; /* cost of a round in elements sent */
  bool wrap; /* elements repeat with period `size` == chunk * parts; a window and a chunk together
                have at most `size` elements */
} spmd_ranges_t;

typedef struct spmd_round {
  int64_t block;      /* elements of a block; 0: nothing is sent */
  double sent;        /* average number of elements that a part sends; round 0: keeps */
  int64_t *sources;   /* by target part: the sending part, -1: none */
  int64_t *sent_from; /* by sending part: offset of its block in its chunk */
  int64_t *placed_at; /* by target part: offset of the block in the window, -block .. width - 1;
                         -block if it gets none. Elements outside of the window are dropped. */
} spmd_round_t;

typedef struct spmd_moves {
  int count; /* rounds, number 0 included */
  spmd_round_t *rounds;
  double sent; /* average number of elements that a part sends in all rounds */
} spmd_moves_t;

/* Errors: NO_MEMORY. Cost: parts times chunks per window. */
hr_status_t spmd_range_moves(hr_arena_t *arena, const spmd_ranges_t *ranges,
                             spmd_moves_t *out_moves);
/* Turns windows over a dilated dimension, element e at place e * dilation, into windows over the
 * elements: part j fetches `width` elements from starts[j] on, puts dilation - 1 places of padding
 * in front of each, and slices its window out at cuts[j].
 *
 *   dilation 2, window [3, 8):     places   3 4 5 6 7        elements 2 and 3 lie at 4 and 6
 *   starts 2, width 3, cut 0:      . 2 . 3 . 4               place 3 is the padding in front of 2
 */
typedef struct spmd_undilated {
  int64_t width;
  int64_t *starts, *cuts; /* by part */
  int64_t *ends;          /* by part: elements from here on lie after the window */
} spmd_undilated_t;
hr_status_t spmd_undilate(hr_arena_t *arena, int64_t parts, const int64_t *starts, int64_t width,
                          int64_t dilation, spmd_undilated_t *out_windows);

/* Sources and elements that the parts of a select-and-scatter's result need along one dimension:
 * the sources whose windows meet part j (from source_starts[j] on), and the elements that these
 * windows cover (from starts[j] on). Both ranges may exceed the dimension at either end. */
typedef struct spmd_reach {
  int64_t source_width, width; /* sources and elements of every part */
  int64_t *source_starts, *starts;
  int64_t *source_ends, *ends; /* by part: ends of the needed ones within the widths */
} spmd_reach_t;
/* Windows of `size` elements begin at s * stride - low; part j is [j * chunk, (j + 1) * chunk).
 * Errors: NO_MEMORY. */
hr_status_t spmd_reach_of(hr_arena_t *arena, int64_t parts, int64_t chunk, int64_t size,
                          int64_t stride, int64_t low, spmd_reach_t *out_reach);
/* True if offsets are the same for all parts of a round: two constants describe it. */
bool spmd_round_is_uniform(const spmd_round_t *round, int64_t parts, int64_t *out_sent_from,
                           int64_t *out_placed_at);

#endif
