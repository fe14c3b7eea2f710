/* Concatenations along a dimension that is cut, of which all pieces travel together: in common
 * rounds, or in one exchange (piece_moves.h). */
#ifndef HR_PARTITION_LOWER_MOVE_PIECES_H
#define HR_PARTITION_LOWER_MOVE_PIECES_H

#include "partition/lower/lower.h"
#include "partition/lower/piece_moves.h"

/* `size` elements of an array, of which each is `step` after the one before, become a part of the
 * result. */
typedef struct spmd_array_piece {
  spmd_local_t *source;
  int64_t from, size, at; /* at: offset in the result */
  int step;               /* 1; -1; 0: one element, again and again */
  bool is_whole;          /* every part has all of the source along the dimension at no cost */
} spmd_array_piece_t;

/* A concatenation along d whose result the axes cut. */
typedef struct spmd_concatenation {
  const spmd_array_piece_t *pieces;
  int count, d;
  spmd_axes_t axes;
  int64_t width;    /* elements of a part of the result along d */
  double row_bytes; /* size of all elements that share one index of d */
} spmd_concatenation_t;

/* Elements of a part of piece k's source along d. */
int64_t spmd_piece_chunk(const spmd_concatenation_t *cut, int k);
/* Plans common rounds of all pieces, or one exchange if that costs less. False: too many rounds. */
bool spmd_plan_pieces(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                      spmd_piece_moves_t *out_moves);
/* Cost of the plan in microseconds. */
double spmd_plan_us(const spmd_concatenation_t *cut, const spmd_piece_moves_t *plan);
/* Emits the plan. `sharding`: that of the sources. */
hlo_instr_t *spmd_move_pieces(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                              const spmd_sharding_t *sharding, const spmd_piece_moves_t *plan);

#endif
