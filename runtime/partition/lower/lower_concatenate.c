/* Concatenate. A concatenation of slices fetches from the operands of the slices. Pieces that
 * continue each other around the end of one array (a roll) are one window of it. Other pieces of a
 * cut dimension have a window each, or their blocks travel together (piece_moves.h). */
#include <math.h>

#include "base/arith.h"
#include "partition/lower/array_runs.h"
#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "partition/lower/move_pieces.h"

#define MAX_RUNS 16 /* most pieces that are found through operands */

static int concatenated_dim(const hlo_instr_t *instr) {
  return (int)hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
}

/* The concatenation of pieces that are not known yet; `sharding` is that of operands and result. */
static spmd_concatenation_t cut_of(const hlo_instr_t *instr, const spmd_sharding_t *sharding) {
  int d = concatenated_dim(instr);
  const hlo_shape_t *shape = instr->shape;
  spmd_concatenation_t cut = {.d = d,
                              .axes = sharding->dims[d].axes,
                              .width = spmd_local_size(sharding, d, shape->dims[d]),
                              .row_bytes = (double)hr_dtype_bytes(shape->dtype)};
  for (int i = 0; i < shape->rank; i++)
    if (i != d) cut.row_bytes *= (double)spmd_local_size(sharding, i, shape->dims[i]);
  return cut;
}

/* The piece of operand k; for a slice, a piece of the slice's operand. */
static spmd_array_piece_t piece_of(spmd_lower_t *lower, const hlo_instr_t *concatenate, int k,
                                   int d, int64_t at) {
  const hlo_instr_t *operand = concatenate->operands[k];
  spmd_array_piece_t piece = {.source = spmd_operand(lower, concatenate, k),
                              .size = operand->shape->dims[d],
                              .at = at,
                              .step = 1};
  if (operand->op != HLO_SLICE || spmd_run_dim(operand) != d) return piece;
  piece.source = spmd_operand(lower, operand, 0);
  piece.from = hlo_attr_slice(operand)->dims[d].start;
  return piece;
}

/* True if the pieces are the elements of one array in order, starting anywhere and wrapping around
 * its end, and no part needs a chunk twice. */
static bool is_roll(const spmd_concatenation_t *cut) {
  int64_t size = cut->pieces[0].source->shape->dims[cut->d], parts = spmd_axes_parts(cut->axes);
  for (int k = 1; k < cut->count; k++) {
    const spmd_array_piece_t *last = &cut->pieces[k - 1];
    if (cut->pieces[k].source != last->source ||
        cut->pieces[k].from != (last->from + last->size) % size)
      return false;
  }
  return size % parts == 0 && cut->width + size / parts <= size;
}

/* The window of piece k; contents of places that the piece does not fill are undefined. */
static spmd_window_t window_of_piece(spmd_lower_t *lower, const spmd_concatenation_t *cut, int k,
                                     bool wrap) {
  const spmd_array_piece_t *piece = &cut->pieces[k];
  int64_t size = piece->source->shape->dims[cut->d];
  spmd_window_t window = {.d = cut->d,
                          .axes = cut->axes,
                          .size = size,
                          .first = piece->from,
                          .past = wrap ? size : piece->from + piece->size,
                          .wrap = wrap};
  spmd_window_over(lower, &window, &(spmd_reads_t){piece->from - piece->at, 1, 1, 1}, cut->width);
  return window;
}

static hlo_instr_t *piece_window(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                                 const spmd_sharding_t *sharding, int k, bool wrap) {
  spmd_window_t window = window_of_piece(lower, cut, k, wrap);
  window.x = spmd_use(lower, cut->pieces[k].source, sharding);
  return spmd_emit_window(lower, &window);
}

/* The pieces are the operands, and slices that operands are. False after a failure. */
static bool find_pieces(spmd_lower_t *lower, const hlo_instr_t *concatenate,
                        spmd_concatenation_t *cut) {
  spmd_array_piece_t *pieces;
  int64_t at = 0;
  cut->count = concatenate->operand_count;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, cut->count, &pieces))) return false;
  for (int k = 0; k < cut->count; k++) {
    pieces[k] = piece_of(lower, concatenate, k, cut->d, at);
    at += pieces[k].size;
  }
  cut->pieces = pieces;
  return true;
}

/* Cost of gathering piece k. Several gathers become one instruction: only the first has latency. */
static double gather_us(const spmd_concatenation_t *cut, int k, bool first) {
  double parts = (double)spmd_axes_parts(cut->axes);
  double bytes = (double)spmd_piece_chunk(cut, k) * cut->row_bytes;
  double all = spmd_step_us(SPMD_ALL_GATHER, bytes, parts);
  return first ? all : all - spmd_step_us(SPMD_ALL_GATHER, 0, parts);
}

/* Cost of separate rounds for each piece, or of gathering a piece if that is cheaper and `gathers`
 * allows it. */
static double apart_us(spmd_lower_t *lower, const spmd_concatenation_t *cut, bool gathers) {
  double cost = 0;
  bool first = true;
  for (int k = 0; k < cut->count; k++) {
    spmd_window_t window = window_of_piece(lower, cut, k, false);
    double rounds = spmd_window_us(lower, &window, spmd_piece_chunk(cut, k), cut->row_bytes);
    bool gather = gathers && gather_us(cut, k, true) < rounds;
    cost += gather ? gather_us(cut, k, first) : rounds;
    first &= !gather;
  }
  return cost;
}

/* A roll is one window; other pieces have one each, or move together. */
static double pieces_us(spmd_lower_t *lower, const spmd_concatenation_t *cut) {
  spmd_piece_moves_t moves;
  if (is_roll(cut)) {
    spmd_window_t window = window_of_piece(lower, cut, 0, true);
    return spmd_window_us(lower, &window, spmd_piece_chunk(cut, 0), cut->row_bytes);
  }
  double cost = apart_us(lower, cut, false);
  return spmd_plan_pieces(lower, cut, &moves) ? fmin(cost, spmd_plan_us(cut, &moves)) : cost;
}

double spmd_concatenate_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_sharding_t *sharding) {
  hr_arena_mark_t mark = hr_arena_mark(lower->arena);
  spmd_concatenation_t cut = cut_of(instr, sharding);
  double cost = find_pieces(lower, instr, &cut) ? pieces_us(lower, &cut) : 0;
  hr_arena_rewind(lower->arena, mark);
  return cost;
}

/* --- runs: pieces that operands are made of --- */

/* True if every part has all of the array along d at no cost, if others are cut as the result. */
static bool is_whole(spmd_lower_t *lower, const spmd_local_t *source,
                     const spmd_sharding_t *sharding, int d) {
  const spmd_sharding_t *whole;
  hr_status_t st = spmd_sharding_with_dim(lower->arena, sharding, d, (spmd_axes_t){0}, &whole);
  return !spmd_emit_failed(&lower->emit, st) && spmd_use_cost(lower, source, whole) == 0;
}

/* The pieces are runs of the arrays that operands take their elements from. False: too many. */
static bool find_runs(spmd_lower_t *lower, const hlo_instr_t *instr,
                      const spmd_sharding_t *sharding, spmd_concatenation_t *cut) {
  spmd_run_rules_t rules = {.longest = INT64_MAX};
  spmd_array_piece_t *pieces = NULL;
  spmd_runs_t runs = {0};
  int64_t at = 0;
  if (instr->operand_count > MAX_RUNS) return false;
  hr_status_t st =
      spmd_add_runs(&runs, (hlo_instr_t *)instr, cut->d, 0, instr->shape->dims[cut->d], &rules);
  spmd_join_runs(&runs);
  cut->count = (int)runs.count;
  if (!st) st = HR_NEW_ARRAY(lower->arena, runs.count, &pieces);
  for (size_t k = 0; k < runs.count && !st; k++) {
    const spmd_run_t *run = &runs.data[k];
    spmd_local_t *source = lower->values[run->source->id][0];
    pieces[k] = (spmd_array_piece_t){.source = source,
                                     .from = run->from,
                                     .size = run->count,
                                     .at = at,
                                     .step = run->step,
                                     .is_whole = is_whole(lower, source, sharding, cut->d)};
    at += run->count;
  }
  HR_VEC_FREE(&runs);
  cut->pieces = pieces;
  return !spmd_emit_failed(&lower->emit, st) && cut->count && cut->count <= MAX_RUNS;
}

/* True if the runs are just the pieces. */
static bool same_pieces(const spmd_concatenation_t *runs, const spmd_concatenation_t *cut) {
  if (runs->count != cut->count) return false;
  for (int k = 0; k < cut->count; k++)
    if (runs->pieces[k].is_whole || runs->pieces[k].source != cut->pieces[k].source) return false;
  return true;
}

/* Cost of the arrays of which pieces are not whole, cut as given. */
static double sources_us(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                         const spmd_sharding_t *sharding) {
  double cost = 0;
  for (int k = 0; k < cut->count; k++) {
    int i = 0;
    while (i < k && (cut->pieces[i].is_whole || cut->pieces[i].source != cut->pieces[k].source))
      i++;
    if (i == k && !cut->pieces[k].is_whole)
      cost += spmd_use_cost(lower, cut->pieces[k].source, sharding);
  }
  return cost;
}

/* Plans the runs. The microseconds that they save, compared to the pieces; negative: there are no
 * other runs, or they cost more. */
static double plan_runs(spmd_lower_t *lower, const hlo_instr_t *instr,
                        const spmd_sharding_t *sharding, spmd_concatenation_t *runs,
                        spmd_piece_moves_t *out_plan) {
  spmd_concatenation_t cut = *runs;
  if (!find_pieces(lower, instr, &cut) || is_roll(&cut) ||
      !find_runs(lower, instr, sharding, runs) || same_pieces(runs, &cut) ||
      !spmd_plan_pieces(lower, runs, out_plan))
    return -1;
  double apart = sources_us(lower, &cut, sharding) + pieces_us(lower, &cut);
  return apart - sources_us(lower, runs, sharding) - spmd_plan_us(runs, out_plan);
}

double spmd_runs_saving_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_sharding_t *sharding) {
  hr_arena_mark_t mark = hr_arena_mark(lower->arena);
  spmd_concatenation_t runs = cut_of(instr, sharding);
  spmd_piece_moves_t plan;
  double saving = runs.axes.count ? plan_runs(lower, instr, sharding, &runs, &plan) : 0;
  hr_arena_rewind(lower->arena, mark);
  return fmax(0, saving);
}

/* --- emission --- */

/* Emits a window for each piece and selects the piece of each place. */
static hlo_instr_t *choose_pieces(spmd_lower_t *lower, const spmd_concatenation_t *cut,
                                  const spmd_sharding_t *sharding) {
  spmd_emit_t *emit = &lower->emit;
  hlo_instr_t *x = NULL;
  int64_t *starts = spmd_window_starts(lower, cut->axes, 0, cut->width);
  for (int k = 0; k < cut->count && starts; k++) {
    hlo_instr_t *next = piece_window(lower, cut, sharding, k, false);
    if (!next) return NULL;
    if (!x) {
      x = next;
      continue;
    }
    hlo_instr_t *positions =
        spmd_emit_positions(emit, next, cut->d, spmd_emit_table(emit, cut->axes, starts));
    hlo_instr_t *begin =
        spmd_emit_fill_like(emit, spmd_emit_index(emit, cut->pieces[k].at), positions);
    x = hlo_build_select(&emit->b, hlo_build_compare(&emit->b, HLO_DIRECTION_GE, positions, begin),
                         next, x);
  }
  return x;
}

/* Emits runs, or common or separate rounds of the pieces, whichever cost less. */
static hlo_instr_t *cut_pieces(spmd_lower_t *lower, const hlo_instr_t *instr,
                               const spmd_sharding_t *sharding) {
  spmd_concatenation_t cut = cut_of(instr, sharding), runs = cut;
  spmd_piece_moves_t plan;
  if (plan_runs(lower, instr, sharding, &runs, &plan) >= 0)
    return spmd_move_pieces(lower, &runs, sharding, &plan);
  if (!find_pieces(lower, instr, &cut)) return NULL;
  if (is_roll(&cut)) return piece_window(lower, &cut, sharding, 0, true);
  if (!spmd_plan_pieces(lower, &cut, &plan) ||
      apart_us(lower, &cut, true) <= spmd_plan_us(&cut, &plan))
    return choose_pieces(lower, &cut, sharding);
  return spmd_move_pieces(lower, &cut, sharding, &plan);
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
  int d = concatenated_dim(instr);
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
  int d = concatenated_dim(instr);
  hlo_instr_t **operands;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, instr->operand_count, &operands)))
    return NULL;
  if (choice->tensors[0]->dims[d].axes.count) return cut_pieces(lower, instr, choice->tensors[0]);
  move_source(lower, choice, d);
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = spmd_chosen_operand(lower, choice, k);
  return spmd_emit_concat(&lower->emit, instr->operand_count, operands, d);
}
