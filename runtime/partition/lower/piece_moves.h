/* The rounds of a concatenation, for all of its pieces together: a part may send elements of one
 * piece while it receives elements of another. Pure arithmetic, like range_moves.h.
 *
 *   pieces a b c d | e f g h     4 parts: have a e, b f, c g, d h; want a b, c d, e f, g h
 *   round 1        b to part 0, c to 1, e to 2, g to 3; round 2: d to 1, f to 2 */
#ifndef HR_PARTITION_LOWER_PIECE_MOVES_H
#define HR_PARTITION_LOWER_PIECE_MOVES_H

#include "partition/lower/range_moves.h"

typedef struct spmd_piece {
  int64_t from, size; /* element i of the piece is number from + i * step of a source */
  int64_t at;         /* first element in the result */
  int64_t chunk;      /* elements of the source in one part */
  /* Offset, in the concatenated chunks of a part, of that chunk in the order of the piece: reversed
   * for step -1; for step 0 the one element, as often as a part of the result may have it. */
  int64_t base;
  int step;
  bool is_whole; /* every part holds all of the source: nothing is sent, and base is 0 */
} spmd_piece_t;

/* The pieces of one result. */
typedef struct spmd_pieces {
  int count;
  const spmd_piece_t *items;
  int64_t parts;
  int64_t width; /* elements of each part of the result */
  int64_t total; /* elements of the concatenated chunks of a part */
} spmd_pieces_t;

typedef struct spmd_piece_moves {
  spmd_moves_t moves; /* round 0 is empty; blocks are slices of a part's concatenated chunks */
  /* By round and target part: range of places of the result's part that the block fills. One row
   * for each piece follows, for elements that the part holds itself. */
  int64_t **first, **past;
  /* By piece and part: the place at which the first element of the chunk lies that the part holds
   * itself. */
  int64_t **held_at;
  /* Blocks that each part sends to each other part in a single all-to-all. Round 1 + p * slots + k
   * describes the k-th blocks sent to part p (sent_from), and the places of those received from p.
   * 0: each round is a permute. */
  int slots;
} spmd_piece_moves_t;

/* *out_possible: false if a part would send or get more than 63 blocks. Errors: NO_MEMORY. */
hr_status_t spmd_piece_moves(hr_arena_t *arena, const spmd_pieces_t *pieces, bool *out_possible,
                             spmd_piece_moves_t *out_moves);
/* The same transfers in one all-to-all. Errors: NO_MEMORY. Cost: the square of `parts`. */
hr_status_t spmd_piece_exchange(hr_arena_t *arena, const spmd_pieces_t *pieces,
                                spmd_piece_moves_t *out_moves);

#endif
