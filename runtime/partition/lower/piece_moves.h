/* The rounds of a concatenation, for all of its pieces together: a part may send of one piece while
 * it gets of another. Pure arithmetic, as range_moves.h.
 *
 *   pieces a b c d | e f g h     4 parts: have a e, b f, c g, d h; want a b, c d, e f, g h
 *   round 1        b to part 0, c to 1, e to 2, g to 3; round 2: d to 1, f to 2 */
#ifndef HR_PARTITION_LOWER_PIECE_MOVES_H
#define HR_PARTITION_LOWER_PIECE_MOVES_H

#include "partition/lower/range_moves.h"

typedef struct spmd_piece {
  int64_t from, size; /* elements of a source */
  int64_t at;         /* where they begin in the result */
  int64_t chunk;      /* elements of the source that a part has */
  int64_t base;       /* where that chunk lies among all chunks of a part, side by side */
} spmd_piece_t;

typedef struct spmd_piece_moves {
  spmd_moves_t moves; /* round 0 is empty; blocks are cut from the chunks side by side */
  /* By round and target part: the places of the result's part that the block fills. Those of a
   * piece that a part has itself come behind the rounds, one row for each piece. */
  int64_t **first, **past;
  /* All blocks travel at once, by an all-to-all: what a part sends is `slots` blocks for each part,
   * and what it gets as many of each. Round 1 + p * slots + k tells what each part sends to p
   * (sent_from), and where each part puts what it gets of p. 0: each round travels by itself. */
  int slots;
} spmd_piece_moves_t;

/* Parts of the result have `width` elements, all chunks of a part `total`. *out_possible: false if
 * a part would send or get more than 63 blocks. Errors: NO_MEMORY. */
hr_status_t spmd_piece_moves(hr_arena_t *arena, int count, const spmd_piece_t *pieces,
                             int64_t parts, int64_t width, int64_t total, bool *out_possible,
                             spmd_piece_moves_t *out_moves);
/* The same transfers at once. Errors: NO_MEMORY. Cost: the square of `parts`. */
hr_status_t spmd_piece_exchange(hr_arena_t *arena, int count, const spmd_piece_t *pieces,
                                int64_t parts, int64_t width, int64_t total,
                                spmd_piece_moves_t *out_moves);

#endif
