/* Every overlap of a part of the result with a chunk of a source is a transfer. A greedy edge
 * colouring of the graph of sending and receiving parts distributes transfers over rounds; or all
 * of them form one exchange. */
#include "partition/lower/piece_moves.h"

#include "base/arith.h"

#define MAX_COLOURS 63

typedef struct overlap {
  int64_t source, target, from, length, place; /* from: in the concatenated chunks of a part */
  int row;  /* round, from 1; -1 - k: elements of piece k that the part holds itself */
  int slot; /* exchange: number among the transfers of the same two parts */
} overlap_t;

typedef struct plan {
  int count;
  const spmd_piece_t *pieces;
  int64_t parts, width;
  overlap_t *overlaps;
  int64_t overlap_count;
  int rounds; /* number 0 included */
} plan_t;

/* Elements of a piece from number `at` of the source on that lie in one chunk after each other. */
static int64_t run_length(const spmd_piece_t *piece, int64_t at) {
  if (piece->is_whole || !piece->step) return piece->size;
  return piece->step > 0 ? piece->chunk - at % piece->chunk : at % piece->chunk + 1;
}

/* Offset of element `at` of the source in the concatenated chunks of the part that holds it. */
static int64_t offset_of(const spmd_piece_t *piece, int64_t at) {
  int64_t within = at % piece->chunk;
  if (!piece->step) return piece->base;
  return piece->base + (piece->step > 0 ? within : piece->chunk - 1 - within);
}

/* Adds the transfers of piece k to part j of the result. */
static void add_overlaps(plan_t *plan, int k, int64_t j) {
  const spmd_piece_t *piece = &plan->pieces[k];
  int64_t begin = hr_max(j * plan->width, piece->at);
  int64_t end = hr_min((j + 1) * plan->width, piece->at + piece->size);
  while (begin < end) {
    int64_t at = piece->from + (begin - piece->at) * piece->step;
    int64_t source = piece->is_whole ? j : at / piece->chunk;
    int64_t length = hr_min(end - begin, run_length(piece, at));
    plan->overlaps[plan->overlap_count++] = (overlap_t){.source = source,
                                                        .target = j,
                                                        .from = offset_of(piece, at),
                                                        .length = length,
                                                        .place = begin - j * plan->width,
                                                        .row = source == j ? -1 - k : 0};
    begin += length;
  }
}

/* Per piece, a part overlaps at most one chunk more than fit into its width. */
static hr_status_t find_overlaps(hr_arena_t *arena, plan_t *plan) {
  int64_t room = 0;
  for (int k = 0; k < plan->count; k++)
    room += plan->parts * 2 + plan->pieces[k].size / plan->pieces[k].chunk + 1;
  HR_TRY(HR_NEW_ARRAY(arena, room, &plan->overlaps));
  for (int64_t j = 0; j < plan->parts; j++)
    for (int k = 0; k < plan->count; k++) add_overlaps(plan, k, j);
  return NULL;
}

/* Gives each transfer the first round in which both of its parts are free. *out_possible is false
 * if that takes more than MAX_COLOURS rounds. */
static hr_status_t colour(hr_arena_t *arena, plan_t *plan, bool *out_possible) {
  uint64_t *sends, *gets;
  HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &sends));
  HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &gets));
  plan->rounds = 1;
  *out_possible = true;
  for (int64_t i = 0; i < plan->overlap_count; i++) {
    overlap_t *overlap = &plan->overlaps[i];
    int free = 0;
    if (overlap->row < 0) continue;
    uint64_t taken = sends[overlap->source] | gets[overlap->target];
    while (free < MAX_COLOURS && taken >> free & 1) free++;
    if (free == MAX_COLOURS) {
      *out_possible = false;
      return NULL;
    }
    sends[overlap->source] |= UINT64_C(1) << free;
    gets[overlap->target] |= UINT64_C(1) << free;
    overlap->row = free + 1;
    if (plan->rounds < free + 2) plan->rounds = free + 2;
  }
  return NULL;
}

/* Allocates the rows, with empty ranges. */
static hr_status_t new_rows(hr_arena_t *arena, const plan_t *plan, spmd_piece_moves_t *out) {
  int rows = plan->rounds + plan->count;
  *out = (spmd_piece_moves_t){.moves = {.count = plan->rounds}};
  HR_TRY(HR_NEW_ARRAY(arena, rows, &out->first));
  HR_TRY(HR_NEW_ARRAY(arena, rows, &out->past));
  HR_TRY(HR_NEW_ARRAY(arena, plan->rounds, &out->moves.rounds));
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &out->held_at));
  for (int k = 0; k < plan->count; k++) HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &out->held_at[k]));
  for (int r = 0; r < rows; r++) {
    HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &out->first[r]));
    HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &out->past[r]));
  }
  for (int r = 0; r < plan->rounds; r++) {
    spmd_round_t *round = &out->moves.rounds[r];
    HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &round->sources));
    HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &round->sent_from));
    HR_TRY(HR_NEW_ARRAY(arena, plan->parts, &round->placed_at));
    for (int64_t j = 0; j < plan->parts; j++) round->sources[j] = -1;
  }
  return NULL;
}

static void fill_places(const plan_t *plan, spmd_piece_moves_t *out) {
  for (int64_t i = 0; i < plan->overlap_count; i++) {
    const overlap_t *overlap = &plan->overlaps[i];
    int piece = -1 - overlap->row;
    int row = overlap->row < 0 ? plan->rounds + piece : overlap->row;
    out->first[row][overlap->target] = overlap->place;
    out->past[row][overlap->target] = overlap->place + overlap->length;
    if (overlap->row < 0) {
      int64_t within = overlap->from - plan->pieces[piece].base;
      out->held_at[piece][overlap->target] = overlap->place - within;
      continue;
    }
    spmd_round_t *round = &out->moves.rounds[row];
    round->block = hr_max(round->block, overlap->length);
  }
}

/* Blocks that would exceed the chunks are shifted to begin earlier, in the result, too. */
static void fill_rounds(const plan_t *plan, int64_t total, spmd_piece_moves_t *out) {
  spmd_round_t *rounds = out->moves.rounds;
  for (int64_t i = 0; i < plan->overlap_count; i++) {
    const overlap_t *overlap = &plan->overlaps[i];
    if (overlap->row < 0) continue;
    spmd_round_t *round = &rounds[overlap->row];
    int64_t from = hr_min(overlap->from, total - round->block);
    round->sources[overlap->target] = overlap->source;
    round->sent_from[overlap->source] = from;
    round->placed_at[overlap->target] = overlap->place - (overlap->from - from);
    round->sent += (double)round->block / (double)plan->parts;
    out->moves.sent += (double)round->block / (double)plan->parts;
  }
}

static plan_t plan_of(const spmd_pieces_t *pieces) {
  return (plan_t){.count = pieces->count,
                  .pieces = pieces->items,
                  .parts = pieces->parts,
                  .width = pieces->width};
}

hr_status_t spmd_piece_moves(hr_arena_t *arena, const spmd_pieces_t *pieces, bool *out_possible,
                             spmd_piece_moves_t *out_moves) {
  plan_t plan = plan_of(pieces);
  HR_TRY(find_overlaps(arena, &plan));
  HR_TRY(colour(arena, &plan, out_possible));
  if (!*out_possible) return NULL;
  HR_TRY(new_rows(arena, &plan, out_moves));
  fill_places(&plan, out_moves);
  fill_rounds(&plan, pieces->total, out_moves);
  return NULL;
}

/* --- exchanges --- */

/* Numbers the transfers of each pair of parts; *out_slots is the largest count. */
static hr_status_t number_slots(hr_arena_t *arena, plan_t *plan, int *out_slots) {
  int *used;
  *out_slots = 0;
  HR_TRY(HR_NEW_ARRAY(arena, plan->parts * plan->parts, &used));
  for (int64_t i = 0; i < plan->overlap_count; i++) {
    overlap_t *overlap = &plan->overlaps[i];
    int *count = &used[overlap->source * plan->parts + overlap->target];
    if (overlap->row < 0) continue;
    overlap->slot = (*count)++;
    if (*count > *out_slots) *out_slots = *count;
  }
  return NULL;
}

/* All blocks have the size of the largest. */
static void fill_exchange(const plan_t *plan, int64_t total, spmd_piece_moves_t *out) {
  spmd_round_t *rounds = out->moves.rounds;
  int64_t block = 0;
  for (int r = 1; r < plan->rounds; r++) block = hr_max(block, rounds[r].block);
  for (int r = 1; r < plan->rounds; r++) rounds[r].block = block;
  for (int64_t i = 0; i < plan->overlap_count; i++) {
    const overlap_t *overlap = &plan->overlaps[i];
    if (overlap->row < 0) continue;
    int64_t from = hr_min(overlap->from, total - block);
    rounds[1 + overlap->target * out->slots + overlap->slot].sent_from[overlap->source] = from;
    rounds[overlap->row].placed_at[overlap->target] = overlap->place - (overlap->from - from);
  }
  out->moves.sent = (double)((plan->parts - 1) * out->slots * block);
}

hr_status_t spmd_piece_exchange(hr_arena_t *arena, const spmd_pieces_t *pieces,
                                spmd_piece_moves_t *out_moves) {
  plan_t plan = plan_of(pieces);
  int slots;
  HR_TRY(find_overlaps(arena, &plan));
  HR_TRY(number_slots(arena, &plan, &slots));
  plan.rounds = 1 + (int)pieces->parts * slots;
  for (int64_t i = 0; i < plan.overlap_count; i++) {
    overlap_t *overlap = &plan.overlaps[i];
    if (overlap->row >= 0) overlap->row = 1 + (int)overlap->source * slots + overlap->slot;
  }
  HR_TRY(new_rows(arena, &plan, out_moves));
  out_moves->slots = slots;
  fill_places(&plan, out_moves);
  fill_exchange(&plan, pieces->total, out_moves);
  return NULL;
}
