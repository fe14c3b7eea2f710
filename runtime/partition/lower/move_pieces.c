/* Plans and emits the common moves of the pieces of a concatenation. */
#include "partition/lower/move_pieces.h"

#include "base/arith.h"
#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"

#define MAX_EXCHANGED 16 /* most parts of an exchange: each adds instructions */

int64_t spmd_piece_chunk(const spmd_concatenation_t *cut, int k) {
  int64_t size = cut->pieces[k].source->shape->dims[cut->d];
  return cut->pieces[k].is_whole ? size : hr_div_ceil(size, spmd_axes_parts(cut->axes));
}

/* Two rounds travel at the same time, as those of a halo; more run one after another. */
double spmd_plan_us(const spmd_concatenation_t *cut, const spmd_piece_moves_t *plan) {
  const spmd_moves_t *moves = &plan->moves;
  double parts = (double)spmd_axes_parts(cut->axes), cost = 0, sent = moves->sent * cut->row_bytes;
  if (plan->slots) return spmd_step_us(SPMD_ALL_TO_ALL, sent * parts / (parts - 1), parts);
  if (moves->count <= 3) return moves->count > 1 ? spmd_block_us(sent) : 0;
  for (int r = 1; r < moves->count; r++)
    cost += spmd_block_us(moves->rounds[r].sent * cut->row_bytes);
  return cost;
}

/* Elements that a part sends from: its chunk, or the repeated element. */
static int64_t sent_size(const spmd_concatenation_t *cut, int k) {
  const spmd_array_piece_t *piece = &cut->pieces[k];
  return piece->step ? spmd_piece_chunk(cut, k) : hr_min(piece->size, cut->width);
}

/* False: a source has no elements. */
static bool set_pieces(const spmd_concatenation_t *cut, spmd_piece_t *plain, int64_t *out_total) {
  *out_total = 0;
  for (int k = 0; k < cut->count; k++) {
    const spmd_array_piece_t *piece = &cut->pieces[k];
    int64_t chunk = spmd_piece_chunk(cut, k);
    if (!chunk) return false;
    plain[k] = (spmd_piece_t){.from = piece->from,
                              .size = piece->size,
                              .at = piece->at,
                              .chunk = chunk,
                              .base = piece->is_whole ? 0 : *out_total,
                              .step = piece->step,
                              .is_whole = piece->is_whole};
    if (!piece->is_whole) *out_total += sent_size(cut, k);
  }
  return true;
}

bool spmd_plan_pieces(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                      spmd_piece_moves_t *out_moves) {
  spmd_piece_t *plain;
  spmd_piece_moves_t exchange;
  int64_t parts = spmd_axes_parts(cut->axes);
  bool possible;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, cut->count, &plain))) return false;
  spmd_pieces_t all = {cut->count, plain, parts, cut->width, 0};
  if (!set_pieces(cut, plain, &all.total) ||
      spmd_emit_failed(&lower->emit, spmd_piece_moves(lower->arena, &all, &possible, out_moves)))
    return false;
  if (parts > MAX_EXCHANGED || (possible && out_moves->moves.count <= 4)) return possible;
  if (spmd_emit_failed(&lower->emit, spmd_piece_exchange(lower->arena, &all, &exchange)))
    return false;
  if (possible && spmd_plan_us(cut, out_moves) <= spmd_plan_us(cut, &exchange)) return true;
  *out_moves = exchange;
  return true;
}

/* x at placed[part] of the places of a part. */
static hlo_instr_t *place(spmd_lower_t *lower, const spmd_concatenation_t *cut, hlo_instr_t *x,
                          const int64_t *placed) {
  spmd_emit_t *emit = &lower->emit;
  int64_t *starts = spmd_window_starts(lower, cut->axes, 0, 0), width = cut->width;
  if (!x || !starts) return NULL;
  for (int64_t j = 0; j < spmd_axes_parts(cut->axes); j++)
    starts[j] = hr_max(0, hr_min(width - placed[j], width + x->shape->dims[cut->d]));
  x = spmd_emit_pad(emit, x, cut->d, width, width, 0, NULL);
  return spmd_emit_dynamic_slice(emit, x, cut->d, spmd_emit_table(emit, cut->axes, starts), width);
}

/* `next` at the places first[part] .. past[part] - 1, else x. */
static hlo_instr_t *fill_places(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                                hlo_instr_t *x, hlo_instr_t *next, const int64_t *first,
                                const int64_t *past) {
  spmd_emit_t *emit = &lower->emit;
  int64_t *before = spmd_window_starts(lower, cut->axes, 0, 0);
  int64_t *length = spmd_window_starts(lower, cut->axes, 0, 0);
  if (!x || !next || !before || !length) return next;
  for (int64_t j = 0; j < spmd_axes_parts(cut->axes); j++) {
    before[j] = -first[j];
    length[j] = past[j] - first[j];
  }
  hlo_instr_t *at =
      spmd_emit_positions(emit, next, cut->d, spmd_emit_table(emit, cut->axes, before));
  hlo_instr_t *zero = spmd_emit_fill_like(emit, spmd_emit_index(emit, 0), at);
  hlo_instr_t *end = spmd_emit_fill_like(emit, spmd_emit_table(emit, cut->axes, length), at);
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

static hlo_instr_t *reverse(spmd_lower_t *lower, hlo_instr_t *x, int d) {
  hlo_builder_t *b = &lower->emit.b;
  int64_t dim = d;
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, 1, &dim);
  return x ? hlo_build(b, HLO_REVERSE, x->shape, 1, &x, 1, &attr, 0, NULL) : NULL;
}

/* Element `at` of x along d, `count` times. */
static hlo_instr_t *repeat(spmd_lower_t *lower, hlo_instr_t *x, int d, int64_t at, int64_t count) {
  spmd_emit_t *emit = &lower->emit;
  int64_t dims[HLO_MAX_RANK], kept[HLO_MAX_RANK];
  int rank = 0;
  for (int i = 0; x && i < x->shape->rank; i++) {
    if (i == d) continue;
    dims[rank] = x->shape->dims[i];
    kept[rank++] = i;
  }
  x = spmd_emit_slice(emit, x, d, at, 1);
  const hlo_shape_t *shape = x ? spmd_emit_resized(emit, x, d, count) : NULL;
  x = spmd_emit_reshape(emit, x, rank, dims);
  return x && shape ? hlo_build_broadcast(&emit->b, x, shape, (hr_ints_t){kept, rank}) : NULL;
}

/* What a part has of piece k's source, in the order of the piece. */
static hlo_instr_t *own_chunk(spmd_lower_t *lower, const spmd_concatenation_t *cut, int k,
                              const spmd_sharding_t *sharding) {
  const spmd_array_piece_t *piece = &cut->pieces[k];
  if (piece->is_whole &&
      spmd_emit_failed(&lower->emit, spmd_sharding_with_dim(lower->arena, sharding, cut->d,
                                                            (spmd_axes_t){0}, &sharding)))
    return NULL;
  hlo_instr_t *x = spmd_use(lower, piece->source, sharding);
  if (piece->step > 0) return x;
  return piece->step < 0
             ? reverse(lower, x, cut->d)
             : repeat(lower, x, cut->d, piece->from % spmd_piece_chunk(cut, k), sent_size(cut, k));
}

/* The received blocks, by round; `all`: the concatenated chunks of a part. NULL after a failure. */
static hlo_instr_t **send_blocks(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                                 const spmd_piece_moves_t *plan, hlo_instr_t *all) {
  spmd_emit_t *emit = &lower->emit;
  int count = plan->moves.count, d = cut->d;
  hlo_instr_t **blocks;
  if (!all || spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, count, &blocks))) return NULL;
  for (int r = 1; r < count; r++) {
    const spmd_round_t *round = &plan->moves.rounds[r];
    hlo_instr_t *from = spmd_emit_table(emit, cut->axes, round->sent_from);
    blocks[r] = spmd_emit_dynamic_slice(emit, all, d, from, round->block);
    if (!plan->slots) blocks[r] = spmd_send_round(lower, cut->axes, round, blocks[r]);
  }
  if (!plan->slots) return blocks;
  int64_t block = plan->moves.rounds[1].block;
  hlo_instr_t *x = spmd_emit_concat(emit, count - 1, blocks + 1, d);
  x = spmd_emit_all_to_all(emit, x, d, d, cut->axes);
  for (int r = 1; r < count; r++) blocks[r] = spmd_emit_slice(emit, x, d, (r - 1) * block, block);
  return blocks;
}

hlo_instr_t *spmd_move_pieces(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                              const spmd_sharding_t *sharding, const spmd_piece_moves_t *plan) {
  int rounds = plan->moves.count, sent = 0;
  hlo_instr_t **chunks, **blocks, *x = NULL;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, cut->count, &chunks))) return NULL;
  for (int k = 0; k < cut->count; k++) {
    hlo_instr_t *chunk = own_chunk(lower, cut, k, sharding);
    if (!cut->pieces[k].is_whole) chunks[sent++] = chunk;
    if (is_used(plan->past[rounds + k], spmd_axes_parts(cut->axes)))
      x = fill_places(lower, cut, x, place(lower, cut, chunk, plan->held_at[k]),
                      plan->first[rounds + k], plan->past[rounds + k]);
  }
  if (rounds == 1) return x;
  blocks = send_blocks(lower, cut, plan, spmd_emit_concat(&lower->emit, sent, chunks, cut->d));
  for (int r = 1; r < rounds && blocks; r++)
    x = fill_places(lower, cut, x, place(lower, cut, blocks[r], plan->moves.rounds[r].placed_at),
                    plan->first[r], plan->past[r]);
  return x;
}
