/* Concatenate. A concatenation of slices fetches from the operands of the slices. Pieces that
 * continue each other around the end of one array (a roll) are one window of it. Other pieces of a
 * cut dimension have a window each, or their blocks travel together (piece_moves.h). */
#include <math.h>

#include "base/arith.h"
#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "partition/lower/piece_moves.h"

#define MAX_EXCHANGED 16 /* most parts of an exchange: each adds instructions */

/* Elements of the result that one part has along d. */
static int64_t own_width(const spmd_choice_t *choice, int d) {
  const spmd_sharding_t *sharding = choice->tensors[choice->rule->operand_count];
  return spmd_local_size(sharding, d, choice->instr->shape->dims[d]);
}

typedef struct piece { /* elements [from, from + size) of an array become a part of the result */
  spmd_local_t *source;
  int64_t from, size, at; /* at: offset in the result */
} piece_t;

/* The piece of operand k; for a slice, a piece of the slice's operand. */
static piece_t piece_of(spmd_lower_t *lower, const hlo_instr_t *concatenate, int k, int d,
                        int64_t at) {
  const hlo_instr_t *operand = concatenate->operands[k];
  piece_t piece = {
      .source = spmd_operand(lower, concatenate, k), .size = operand->shape->dims[d], .at = at};
  if (operand->op != HLO_SLICE || spmd_run_dim(operand) != d) return piece;
  piece.source = spmd_operand(lower, operand, 0);
  piece.from = hlo_attr_slice(operand)->dims[d].start;
  return piece;
}

/* True if the pieces are the elements of one array in order, starting anywhere and wrapping around
 * its end, and no part needs a chunk twice. */
static bool is_roll(const piece_t *pieces, int count, int d, int64_t parts, int64_t chunk) {
  int64_t size = pieces[0].source->shape->dims[d];
  for (int k = 1; k < count; k++) {
    const piece_t *last = &pieces[k - 1];
    if (pieces[k].source != last->source || pieces[k].from != (last->from + last->size) % size)
      return false;
  }
  return size % parts == 0 && chunk + size / parts <= size;
}

/* The window of one piece; contents of places that the piece does not fill are undefined. */
static spmd_window_t window_of_piece(spmd_lower_t *lower, const piece_t *piece, int d,
                                     spmd_axes_t axes, int64_t chunk, bool wrap) {
  int64_t size = piece->source->shape->dims[d];
  spmd_window_t window = {.d = d,
                          .axes = axes,
                          .size = size,
                          .first = piece->from,
                          .past = wrap ? size : piece->from + piece->size,
                          .wrap = wrap};
  spmd_window_over(lower, &window, &(spmd_reads_t){piece->from - piece->at, 1, 1, 1}, chunk);
  return window;
}

static hlo_instr_t *piece_window(spmd_lower_t *lower, const spmd_choice_t *choice,
                                 const piece_t *piece, int d, bool wrap) {
  const spmd_sharding_t *sharding = choice->tensors[0];
  spmd_window_t window =
      window_of_piece(lower, piece, d, sharding->dims[d].axes, own_width(choice, d), wrap);
  window.x = spmd_use(lower, piece->source, sharding);
  return spmd_emit_window(lower, &window);
}

/* By operand; NULL after a failure. */
static piece_t *pieces_of(spmd_lower_t *lower, const hlo_instr_t *concatenate, int d) {
  piece_t *pieces;
  int64_t at = 0;
  if (spmd_emit_failed(&lower->emit,
                       HR_NEW_ARRAY(lower->arena, concatenate->operand_count, &pieces)))
    return NULL;
  for (int k = 0; k < concatenate->operand_count; k++) {
    pieces[k] = piece_of(lower, concatenate, k, d, at);
    at += pieces[k].size;
  }
  return pieces;
}

/* Cost of the common rounds of all pieces. Two rounds travel at the same time, as those of a halo;
 * more run one after another. */
static double together_us(const spmd_piece_moves_t *plan, int64_t parts, double row_bytes) {
  const spmd_moves_t *moves = &plan->moves;
  double cost = 0, sent = moves->sent * row_bytes;
  if (plan->slots)
    return spmd_step_us(SPMD_ALL_TO_ALL, sent * (double)parts / (double)(parts - 1), (double)parts);
  if (moves->count <= 3) return moves->count > 1 ? spmd_block_us(sent) : 0;
  for (int r = 1; r < moves->count; r++) cost += spmd_block_us(moves->rounds[r].sent * row_bytes);
  return cost;
}

/* A concatenation along d whose result the axes cut. */
typedef struct cut {
  const piece_t *pieces;
  int count, d;
  spmd_axes_t axes;
  int64_t width;    /* elements of a part of the result along d */
  double row_bytes; /* size of all elements that share one index of d */
} cut_t;

/* Elements of a part of piece k's source along d. */
static int64_t chunk_of(const cut_t *cut, int k) {
  return hr_div_ceil(cut->pieces[k].source->shape->dims[cut->d], spmd_axes_parts(cut->axes));
}

/* Plans common rounds of all pieces, or one exchange if that costs less. False: too many rounds. */
static bool plan_jointly(spmd_lower_t *lower, const cut_t *cut, spmd_piece_moves_t *out_moves) {
  spmd_piece_t *plain;
  spmd_piece_moves_t exchange;
  int64_t parts = spmd_axes_parts(cut->axes);
  bool possible;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, cut->count, &plain))) return false;
  spmd_pieces_t all = {cut->count, plain, parts, cut->width, 0};
  for (int k = 0; k < cut->count; k++) {
    const piece_t *piece = &cut->pieces[k];
    int64_t chunk = chunk_of(cut, k);
    if (!chunk) return false;
    plain[k] = (spmd_piece_t){piece->from, piece->size, piece->at, chunk, all.total};
    all.total += chunk;
  }
  if (spmd_emit_failed(&lower->emit, spmd_piece_moves(lower->arena, &all, &possible, out_moves)))
    return false;
  if (parts > MAX_EXCHANGED || (possible && out_moves->moves.count <= 4)) return possible;
  if (spmd_emit_failed(&lower->emit, spmd_piece_exchange(lower->arena, &all, &exchange)))
    return false;
  if (possible && together_us(out_moves, parts, cut->row_bytes) <=
                      together_us(&exchange, parts, cut->row_bytes))
    return true;
  *out_moves = exchange;
  return true;
}

/* Cost of gathering piece k. Several gathers become one instruction: only the first has latency. */
static double gather_us(const cut_t *cut, int k, bool first) {
  double parts = (double)spmd_axes_parts(cut->axes);
  double all = spmd_step_us(SPMD_ALL_GATHER, (double)chunk_of(cut, k) * cut->row_bytes, parts);
  return first ? all : all - spmd_step_us(SPMD_ALL_GATHER, 0, parts);
}

/* Cost of separate rounds for each piece, or of gathering a piece if that is cheaper and `gathers`
 * allows it. */
static double apart_us(spmd_lower_t *lower, const cut_t *cut, bool gathers) {
  double cost = 0;
  bool first = true;
  for (int k = 0; k < cut->count; k++) {
    spmd_window_t window =
        window_of_piece(lower, &cut->pieces[k], cut->d, cut->axes, cut->width, false);
    double rounds = spmd_window_us(lower, &window, chunk_of(cut, k), cut->row_bytes);
    bool gather = gathers && gather_us(cut, k, true) < rounds;
    cost += gather ? gather_us(cut, k, first) : rounds;
    first &= !gather;
  }
  return cost;
}

/* A roll is one window; other pieces have one each, or move together. */
double spmd_concatenate_us(spmd_lower_t *lower, const hlo_instr_t *instr, int d, spmd_axes_t axes,
                           int64_t chunk, double row_bytes) {
  hr_arena_mark_t mark = hr_arena_mark(lower->arena);
  piece_t *pieces = pieces_of(lower, instr, d);
  int count = instr->operand_count;
  int64_t parts = spmd_axes_parts(axes);
  spmd_piece_moves_t moves;
  double cost = 0;
  if (!pieces) return 0;
  cut_t cut = {pieces, count, d, axes, chunk, row_bytes};
  if (is_roll(pieces, count, d, parts, chunk)) {
    spmd_window_t window = window_of_piece(lower, &pieces[0], d, axes, chunk, true);
    cost = spmd_window_us(lower, &window, chunk_of(&cut, 0), row_bytes);
  } else {
    cost = apart_us(lower, &cut, false);
    if (plan_jointly(lower, &cut, &moves)) cost = fmin(cost, together_us(&moves, parts, row_bytes));
  }
  hr_arena_rewind(lower->arena, mark);
  return cost;
}

/* x at placed[part] of `width` places along d. */
static hlo_instr_t *place(spmd_lower_t *lower, hlo_instr_t *x, int d, spmd_axes_t axes,
                          int64_t width, const int64_t *placed) {
  int64_t *starts = spmd_window_starts(lower, axes, 0, 0);
  if (!x || !starts) return NULL;
  for (int64_t j = 0; j < spmd_axes_parts(axes); j++)
    starts[j] = hr_max(0, hr_min(width - placed[j], width + x->shape->dims[d]));
  x = spmd_emit_pad(&lower->emit, x, d, width, width, 0, NULL);
  return spmd_emit_dynamic_slice(&lower->emit, x, d, spmd_emit_table(&lower->emit, axes, starts),
                                 width);
}

/* `next` at the places first[part] .. past[part] - 1, else x. */
static hlo_instr_t *fill_places(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t *next, int d,
                                spmd_axes_t axes, const int64_t *first, const int64_t *past) {
  spmd_emit_t *emit = &lower->emit;
  int64_t *before = spmd_window_starts(lower, axes, 0, 0);
  int64_t *length = spmd_window_starts(lower, axes, 0, 0);
  if (!x || !next || !before || !length) return next;
  for (int64_t j = 0; j < spmd_axes_parts(axes); j++) {
    before[j] = -first[j];
    length[j] = past[j] - first[j];
  }
  hlo_instr_t *at = spmd_emit_positions(emit, next, d, spmd_emit_table(emit, axes, before));
  hlo_instr_t *zero = spmd_emit_fill_like(emit, spmd_emit_index(emit, 0), at);
  hlo_instr_t *end = spmd_emit_fill_like(emit, spmd_emit_table(emit, axes, length), at);
  hlo_instr_t *inside =
      hlo_build_binary(&emit->b, HLO_AND, hlo_build_compare(&emit->b, HLO_DIRECTION_GE, at, zero),
                       hlo_build_compare(&emit->b, HLO_DIRECTION_LT, at, end));
  return hlo_build_select(&emit->b, inside, next, x);
}

static bool is_used(const int64_t *past, int64_t parts) {
  for (int64_t j = 0; j < parts; j++)
    if (past[j]) return true;
  return false;
}

/* The elements of a piece that a part holds itself, at their places in its part of the result. */
static hlo_instr_t *own_piece(spmd_lower_t *lower, const piece_t *piece, hlo_instr_t *x, int d,
                              spmd_axes_t axes, int64_t width) {
  int64_t step = x ? x->shape->dims[d] - width : 0;
  int64_t *placed = spmd_window_starts(lower, axes, piece->at - piece->from, step);
  return placed ? place(lower, x, d, axes, width, placed) : NULL;
}

/* The received blocks, by round; `all`: the concatenated chunks of a part. NULL after a failure. */
static hlo_instr_t **send_blocks(spmd_lower_t *lower, spmd_axes_t axes, int d,
                                 const spmd_piece_moves_t *plan, hlo_instr_t *all) {
  spmd_emit_t *emit = &lower->emit;
  int count = plan->moves.count;
  hlo_instr_t **blocks;
  if (!all || spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, count, &blocks))) return NULL;
  for (int r = 1; r < count; r++) {
    const spmd_round_t *round = &plan->moves.rounds[r];
    hlo_instr_t *from = spmd_emit_table(emit, axes, round->sent_from);
    blocks[r] = spmd_emit_dynamic_slice(emit, all, d, from, round->block);
    if (!plan->slots) blocks[r] = spmd_send_round(lower, axes, round, blocks[r]);
  }
  if (!plan->slots) return blocks;
  int64_t block = plan->moves.rounds[1].block;
  hlo_instr_t *x = spmd_emit_concat(emit, count - 1, blocks + 1, d);
  x = spmd_emit_all_to_all(emit, x, d, d, axes);
  for (int r = 1; r < count; r++) blocks[r] = spmd_emit_slice(emit, x, d, (r - 1) * block, block);
  return blocks;
}

/* Emits pieces whose blocks travel in common rounds or in one exchange. */
static hlo_instr_t *move_pieces(spmd_lower_t *lower, const spmd_choice_t *choice,
                                const piece_t *pieces, int d, const spmd_piece_moves_t *plan) {
  int count = choice->instr->operand_count, rounds = plan->moves.count;
  spmd_axes_t axes = choice->tensors[0]->dims[d].axes;
  int64_t width = own_width(choice, d), parts = spmd_axes_parts(axes);
  hlo_instr_t **chunks, *x = NULL;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, count, &chunks))) return NULL;
  for (int k = 0; k < count; k++) {
    chunks[k] = spmd_use(lower, pieces[k].source, choice->tensors[0]);
    if (!is_used(plan->past[rounds + k], parts)) continue;
    x = fill_places(lower, x, own_piece(lower, &pieces[k], chunks[k], d, axes, width), d, axes,
                    plan->first[rounds + k], plan->past[rounds + k]);
  }
  hlo_instr_t **blocks =
      send_blocks(lower, axes, d, plan, spmd_emit_concat(&lower->emit, count, chunks, d));
  for (int r = 1; r < rounds && blocks; r++)
    x = fill_places(lower, x,
                    place(lower, blocks[r], d, axes, width, plan->moves.rounds[r].placed_at), d,
                    axes, plan->first[r], plan->past[r]);
  return x;
}

/* Emits a window for each piece and selects the piece of each place. */
static hlo_instr_t *choose_pieces(spmd_lower_t *lower, const spmd_choice_t *choice,
                                  const piece_t *pieces, int d) {
  spmd_emit_t *emit = &lower->emit;
  hlo_instr_t *x = NULL;
  spmd_axes_t axes = choice->tensors[0]->dims[d].axes;
  int64_t *starts = spmd_window_starts(lower, axes, 0, own_width(choice, d));
  for (int k = 0; k < choice->instr->operand_count && starts; k++) {
    hlo_instr_t *next = piece_window(lower, choice, &pieces[k], d, false);
    if (!next) return NULL;
    if (!x) {
      x = next;
      continue;
    }
    hlo_instr_t *positions =
        spmd_emit_positions(emit, next, d, spmd_emit_table(emit, axes, starts));
    hlo_instr_t *begin = spmd_emit_fill_like(emit, spmd_emit_index(emit, pieces[k].at), positions);
    x = hlo_build_select(&emit->b, hlo_build_compare(&emit->b, HLO_DIRECTION_GE, positions, begin),
                         next, x);
  }
  return x;
}

/* Emits common or separate rounds, whichever cost less. */
static hlo_instr_t *cut_pieces(spmd_lower_t *lower, const spmd_choice_t *choice,
                               const piece_t *pieces, int d) {
  const spmd_sharding_t *sharding = choice->tensors[0];
  const hlo_shape_t *shape = choice->instr->shape;
  cut_t cut = {.pieces = pieces,
               .count = choice->instr->operand_count,
               .d = d,
               .axes = sharding->dims[d].axes,
               .width = own_width(choice, d),
               .row_bytes = (double)hr_dtype_bytes(shape->dtype)};
  spmd_piece_moves_t moves;
  for (int i = 0; i < shape->rank; i++)
    if (i != d) cut.row_bytes *= (double)spmd_local_size(sharding, i, shape->dims[i]);
  if (!plan_jointly(lower, &cut, &moves) ||
      apart_us(lower, &cut, true) <= together_us(&moves, spmd_axes_parts(cut.axes), cut.row_bytes))
    return choose_pieces(lower, choice, pieces, d);
  return move_pieces(lower, choice, pieces, d, &moves);
}

/* The array that all operands are slices of along d; NULL: none. */
static spmd_local_t *common_source(spmd_lower_t *lower, const hlo_instr_t *instr, int d) {
  const hlo_instr_t *first = instr->operands[0];
  if (instr->operand_count < 2 || first->op != HLO_SLICE) return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (operand->op != HLO_SLICE || spmd_run_dim(operand) != d ||
        operand->operands[0] != first->operands[0])
      return NULL;
  }
  return spmd_operand(lower, first, 0);
}

double spmd_whole_pieces_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                            const spmd_sharding_t *sharding) {
  int d = (int)hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  const spmd_local_t *source = sharding->dims[d].axes.count ? NULL : common_source(lower, instr, d);
  return source ? spmd_use_cost(lower, source, sharding) : INFINITY;
}

/* Moves the common array of all operands if that costs less than to move each; several collectives
 * are combined. */
static void move_source(spmd_lower_t *lower, const spmd_choice_t *choice, int d) {
  const hlo_instr_t *instr = choice->instr;
  const spmd_sharding_t *sharding = choice->tensors[0];
  double together = spmd_whole_pieces_us(lower, instr, sharding);
  double apart = (1 - instr->operand_count) * spmd_step_us(SPMD_ALL_GATHER, 0, 2);
  if (together == INFINITY) return;
  for (int k = 0; k < instr->operand_count; k++)
    apart += spmd_use_cost(lower, spmd_operand(lower, instr, k), sharding);
  if (together < apart) spmd_use(lower, common_source(lower, instr, d), sharding);
}

/* concat(x[5:], x[:5]) is a roll: one window of x that runs around its end. */
hlo_instr_t *spmd_lower_concatenate(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  int d = (int)hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  hlo_instr_t **operands;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, instr->operand_count, &operands)))
    return NULL;
  if (choice->tensors[0]->dims[d].axes.count) {
    piece_t *pieces = pieces_of(lower, instr, d);
    if (!pieces) return NULL;
    if (is_roll(pieces, instr->operand_count, d, spmd_chosen_parts(choice, 0, d),
                own_width(choice, d)))
      return piece_window(lower, choice, &pieces[0], d, true);
    return cut_pieces(lower, choice, pieces, d);
  }
  move_source(lower, choice, d);
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = spmd_chosen_operand(lower, choice, k);
  return spmd_emit_concat(&lower->emit, instr->operand_count, operands, d);
}
