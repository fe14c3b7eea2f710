/* Emits range moves: one collective-permute per round, then the blocks are assembled. If offsets
 * are the same for all parts, blocks are static slices and are concatenated. Otherwise they are
 * written into a buffer with margins, at offsets from a table. Dilated windows are fetched densely
 * and spread locally. If a gather costs less than the rounds, the dimension is gathered and every
 * part slices its window. */
#include "partition/lower/fetch_window.h"

#include <math.h>

#include "base/arith.h"
#include "partition/lower/comm_cost.h"

int64_t *spmd_window_starts(spmd_lower_t *lower, spmd_axes_t axes, int64_t offset, int64_t step) {
  int64_t parts = spmd_axes_parts(axes), *starts;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, parts, &starts))) return NULL;
  for (int64_t j = 0; j < parts; j++) starts[j] = offset + j * step;
  return starts;
}

/* Part j of the result has elements [j * chunk, (j + 1) * chunk). */
void spmd_window_over(spmd_lower_t *lower, spmd_window_t *window, const spmd_reads_t *reads,
                      int64_t chunk) {
  int64_t step = reads->step;
  int64_t first = step < 0 ? chunk - 1 : 0; /* the part's element that reads lowest */
  window->width = 0;
  if (chunk) window->width = (chunk - 1) * (step < 0 ? -step : step) + reads->footprint;
  window->dilation = reads->dilation;
  window->starts =
      spmd_window_starts(lower, window->axes, reads->offset + first * step, chunk * step);
}

/* Slices the window from an array that is whole on every partition. */
static hlo_instr_t *cut_window(spmd_lower_t *lower, const spmd_window_t *w) {
  int64_t parts = spmd_axes_parts(w->axes), low = 0, high = 0, *starts;
  for (int64_t j = 0; j < parts; j++) {
    if (-w->starts[j] > low) low = -w->starts[j];
    if (w->starts[j] + w->width - w->size > high) high = w->starts[j] + w->width - w->size;
  }
  starts = spmd_window_starts(lower, w->axes, 0, 0);
  for (int64_t j = 0; starts && j < parts; j++) starts[j] = w->starts[j] + low;
  if (!starts) return NULL;
  hlo_instr_t *x = spmd_emit_pad(&lower->emit, w->x, w->d, low, high, 0, NULL);
  return spmd_emit_dynamic_slice(&lower->emit, x, w->d,
                                 spmd_emit_table(&lower->emit, w->axes, starts), w->width);
}

hlo_instr_t *spmd_send_round(spmd_lower_t *lower, spmd_axes_t axes, const spmd_round_t *round,
                             hlo_instr_t *x) {
  spmd_emit_t *emit = &lower->emit;
  int64_t parts = spmd_axes_parts(axes), count = 0, *positions, *pairs;
  int64_t groups = lower->mesh->device_count / parts;
  if (spmd_emit_failed(emit, spmd_axes_groups(lower->arena, lower->mesh, axes, &positions)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, 2 * groups * parts, &pairs)))
    return NULL;
  for (int64_t g = 0; g < groups; g++)
    for (int64_t j = 0; j < parts; j++) {
      if (round->sources[j] < 0) continue;
      pairs[2 * count] = positions[g * parts + round->sources[j]];
      pairs[2 * count++ + 1] = positions[g * parts + j];
    }
  return spmd_emit_permute(emit, x, count, pairs);
}

/* The received blocks, in the order of the rounds. */
typedef struct blocks {
  int count;
  hlo_instr_t **items;
  const spmd_round_t **rounds;
  bool uniform;
  int64_t *places; /* offsets in the window, of uniform rounds */
} blocks_t;

/* If all parts send from the same offset, the block is a static slice. */
static hr_status_t fetch_blocks(spmd_lower_t *lower, const spmd_window_t *w,
                                const spmd_moves_t *moves, blocks_t *out) {
  int64_t parts = spmd_axes_parts(w->axes);
  *out = (blocks_t){.uniform = true};
  HR_TRY(HR_NEW_ARRAY(lower->arena, moves->count, &out->items));
  HR_TRY(HR_NEW_ARRAY(lower->arena, moves->count, &out->rounds));
  HR_TRY(HR_NEW_ARRAY(lower->arena, moves->count, &out->places));
  for (int r = 0; r < moves->count; r++) {
    const spmd_round_t *round = &moves->rounds[r];
    int64_t from = 0, place = 0;
    hlo_instr_t *x;
    if (!round->block) continue;
    bool uniform = spmd_round_is_uniform(round, parts, &from, &place);
    if (uniform)
      x = spmd_emit_slice(&lower->emit, w->x, w->d, from, round->block);
    else
      x = spmd_emit_dynamic_slice(&lower->emit, w->x, w->d,
                                  spmd_emit_table(&lower->emit, w->axes, round->sent_from),
                                  round->block);
    out->uniform &= uniform;
    out->places[out->count] = place;
    out->rounds[out->count] = round;
    out->items[out->count++] = r ? spmd_send_round(lower, w->axes, round, x) : x;
  }
  return NULL;
}

/* An insertion sort by offset in the window; there are few blocks. */
static void sort_blocks(blocks_t *blocks) {
  for (int i = 1; i < blocks->count; i++)
    for (int k = i; k > 0 && blocks->places[k] < blocks->places[k - 1]; k--) {
      int64_t place = blocks->places[k];
      hlo_instr_t *item = blocks->items[k];
      const spmd_round_t *round = blocks->rounds[k];
      blocks->places[k] = blocks->places[k - 1];
      blocks->items[k] = blocks->items[k - 1];
      blocks->rounds[k] = blocks->rounds[k - 1];
      blocks->places[k - 1] = place;
      blocks->items[k - 1] = item;
      blocks->rounds[k - 1] = round;
    }
}

/* Concatenates uniform blocks and pads missing ends; NULL if blocks leave gaps or overlap. */
static hlo_instr_t *side_by_side(spmd_lower_t *lower, const spmd_window_t *w, blocks_t *blocks) {
  if (!blocks->uniform || !blocks->count) return NULL;
  sort_blocks(blocks);
  int64_t at = blocks->places[0];
  for (int i = 0; i < blocks->count; i++) {
    if (blocks->places[i] != at) return NULL;
    at += blocks->rounds[i]->block;
  }
  hlo_instr_t *x = spmd_emit_concat(&lower->emit, blocks->count, blocks->items, w->d);
  return spmd_emit_pad(&lower->emit, x, w->d, blocks->places[0], w->width - at, 0, NULL);
}

/* Writes the blocks into a buffer. Its margins take elements outside of the window, and the blocks
 * of parts that received nothing. */
static hlo_instr_t *into_buffer(spmd_lower_t *lower, const spmd_window_t *w,
                                const blocks_t *blocks) {
  spmd_emit_t *emit = &lower->emit;
  int64_t parts = spmd_axes_parts(w->axes), margin = 0;
  for (int i = 0; i < blocks->count; i++)
    if (blocks->rounds[i]->block > margin) margin = blocks->rounds[i]->block;
  const hlo_shape_t *shape = spmd_emit_resized(emit, w->x, w->d, w->width + 2 * margin);
  if (!shape) return NULL;
  hlo_instr_t *buffer = hlo_build_broadcast(&emit->b, hlo_build_number(&emit->b, 0, shape->dtype),
                                            shape, (hr_ints_t){NULL, 0});
  for (int i = 0; i < blocks->count; i++) {
    int64_t *places = spmd_window_starts(lower, w->axes, margin, 0);
    for (int64_t j = 0; places && j < parts; j++) places[j] += blocks->rounds[i]->placed_at[j];
    if (!places) return NULL;
    buffer = spmd_emit_update(emit, buffer, blocks->items[i], w->d,
                              spmd_emit_table(emit, w->axes, places));
  }
  return spmd_emit_slice(emit, buffer, w->d, margin, w->width);
}

/* Puts `fill` where the window exceeds the valid elements. */
static hlo_instr_t *mask_window(spmd_lower_t *lower, const spmd_window_t *w, hlo_instr_t *x) {
  int64_t parts = spmd_axes_parts(w->axes), low = INT64_MIN, high = INT64_MAX;
  if (!w->fill || w->wrap) return x;
  for (int64_t j = 0; j < parts; j++) {
    if (w->starts[j] < w->first) low = w->first;
    if (w->starts[j] + w->width > w->past) high = w->past;
  }
  if (low == INT64_MIN && high == INT64_MAX) return x;
  return spmd_emit_mask(&lower->emit, x, w->d, spmd_emit_table(&lower->emit, w->axes, w->starts),
                        low, high, w->fill);
}

/* Elements from `past` on are treated as nonexistent, so that they are not fetched. */
static hr_status_t plan_moves(spmd_lower_t *lower, const spmd_window_t *w, int64_t chunk,
                              double row_bytes, spmd_moves_t *out_moves) {
  double round_bytes = spmd_block_us(0) / spmd_byte_us();
  spmd_ranges_t ranges = {.size = w->wrap ? w->size : w->past,
                          .chunk = chunk,
                          .parts = spmd_axes_parts(w->axes),
                          .width = w->width,
                          .starts = w->starts,
                          .ends = w->ends,
                          .copies = w->copies,
                          .round_elements = row_bytes > 0 ? round_bytes / row_bytes : 0,
                          .wrap = w->wrap};
  return spmd_range_moves(lower->arena, &ranges, out_moves);
}

/* True if every part moves to one other part as a whole. */
static bool change_places(const spmd_moves_t *moves, int64_t chunk) {
  if (moves->count != 2 || moves->rounds[1].block != chunk) return false;
  return fabs(moves->rounds[0].sent + moves->rounds[1].sent - (double)chunk) < 1e-6;
}

/* True if all windows begin and end within so many elements of their parts' chunks that a part and
 * both of its halos are less than the dimension, or that neighbours have the halos. Then the rounds
 * send fewer bytes than a gather, and there are no more of them than chunks that a halo meets. */
static bool has_near_halos(const spmd_window_t *w, int64_t chunk) {
  int64_t before = 0, after = 0;
  if (!w->is_halo) return false;
  for (int64_t j = 0; j < spmd_axes_parts(w->axes); j++) {
    before = hr_max(before, j * chunk - hr_max(w->starts[j], 0));
    after = hr_max(after, hr_min(w->starts[j] + w->width, w->past) - (j + 1) * chunk);
  }
  return before + chunk + after < w->size || (before <= chunk && after <= chunk);
}

/* Cost of the rounds. The first two, such as those of a halo, travel at the same time; so do all of
 * near halos. Parts that move as a whole, as in a reversal, are one permute. */
static double moves_us(const spmd_window_t *w, const spmd_moves_t *moves, int64_t chunk,
                       double row_bytes) {
  double cost = 0, halo = 0;
  if (change_places(moves, chunk))
    return spmd_step_us(SPMD_PERMUTE, moves->rounds[1].sent * row_bytes, 2);
  if (moves->sent <= 0) return 0;
  if (has_near_halos(w, chunk)) return spmd_block_us(moves->sent * row_bytes);
  for (int r = 1; r < moves->count; r++) {
    double sent = moves->rounds[r].sent * row_bytes;
    halo += r <= 2 ? sent : 0;
    cost += r <= 2 ? 0 : spmd_block_us(sent);
  }
  return halo > 0 ? cost + spmd_block_us(halo) : cost;
}

static double gather_us(const spmd_window_t *w, int64_t chunk, double row_bytes) {
  double parts = (double)spmd_axes_parts(w->axes);
  return spmd_step_us(SPMD_ALL_GATHER, (double)chunk * row_bytes, parts);
}

/* True if a gather costs less than the rounds; never for near halos, for windows that wrap around,
 * and for chunks with copies, which a resharding gathers better. */
static bool gathers(const spmd_window_t *w, const spmd_moves_t *moves, int64_t chunk,
                    double row_bytes) {
  return !w->wrap && w->copies <= 1 && !has_near_halos(w, chunk) &&
         gather_us(w, chunk, row_bytes) < moves_us(w, moves, chunk, row_bytes);
}

double spmd_window_us(spmd_lower_t *lower, const spmd_window_t *window, int64_t chunk,
                      double row_bytes) {
  hr_arena_mark_t mark = hr_arena_mark(lower->arena);
  spmd_window_t dense = *window;
  spmd_undilated_t apart;
  spmd_moves_t moves;
  double cost = 0;
  if (window->dilation > 1 &&
      !spmd_emit_failed(&lower->emit,
                        spmd_undilate(lower->arena, spmd_axes_parts(window->axes), window->starts,
                                      window->width, window->dilation, &apart))) {
    dense.starts = apart.starts;
    dense.ends = apart.ends;
    dense.width = apart.width;
  }
  if (dense.starts && chunk &&
      !spmd_emit_failed(&lower->emit, plan_moves(lower, &dense, chunk, row_bytes, &moves)))
    cost = moves_us(&dense, &moves, chunk, row_bytes);
  hr_arena_rewind(lower->arena, mark);
  return cost;
}

/* Bytes of all elements that share one index of dimension d. */
static double row_bytes_of(const hlo_shape_t *shape, int d) {
  double bytes = (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
  return shape->dims[d] ? bytes / (double)shape->dims[d] : 0;
}

/* Slices the window from the gathered dimension. */
static hlo_instr_t *window_of_all(spmd_lower_t *lower, const spmd_window_t *w) {
  spmd_window_t whole = *w;
  whole.x = spmd_emit_all_gather(&lower->emit, w->x, w->d, w->axes);
  if (!whole.x) return NULL;
  whole.size = whole.x->shape->dims[w->d];
  return mask_window(lower, w, cut_window(lower, &whole));
}

static hlo_instr_t *dense_window(spmd_lower_t *lower, const spmd_window_t *w) {
  if (!w->x || !w->starts) return NULL;
  if (w->is_whole) return mask_window(lower, w, cut_window(lower, w));
  int64_t chunk = w->x->shape->dims[w->d];
  double row_bytes = row_bytes_of(w->x->shape, w->d);
  spmd_moves_t moves;
  blocks_t blocks;
  if (spmd_emit_failed(&lower->emit, plan_moves(lower, w, chunk, row_bytes, &moves))) return NULL;
  if (gathers(w, &moves, chunk, row_bytes)) return window_of_all(lower, w);
  if (spmd_emit_failed(&lower->emit, fetch_blocks(lower, w, &moves, &blocks))) return NULL;
  hlo_instr_t *x = side_by_side(lower, w, &blocks);
  if (!x) x = into_buffer(lower, w, &blocks);
  return mask_window(lower, w, x);
}

/* Turns a dilated window into a window over the elements. */
static bool undilate(spmd_lower_t *lower, const spmd_window_t *w, spmd_undilated_t *out_apart) {
  return w->starts && !spmd_emit_failed(&lower->emit,
                                        spmd_undilate(lower->arena, spmd_axes_parts(w->axes),
                                                      w->starts, w->width, w->dilation, out_apart));
}

static hlo_instr_t *undilated_window(spmd_lower_t *lower, const spmd_window_t *w) {
  spmd_undilated_t apart;
  spmd_window_t dense = *w;
  if (!undilate(lower, w, &apart)) return NULL;
  dense.starts = apart.starts;
  dense.ends = apart.ends;
  dense.dilation = 1;
  dense.width = apart.width;
  return dense_window(lower, &dense);
}

/* A window over a dimension without elements is all fill. */
static hlo_instr_t *empty_window(spmd_lower_t *lower, const spmd_window_t *w) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_shape_t *shape = spmd_emit_resized(emit, w->x, w->d, w->width);
  hlo_instr_t *fill = w->fill ? w->fill : hlo_build_number(&emit->b, 0, w->x->shape->dtype);
  return shape ? hlo_build_broadcast(&emit->b, fill, shape, (hr_ints_t){NULL, 0}) : NULL;
}

static bool is_empty(const spmd_window_t *window) {
  return window->x && !window->x->shape->dims[window->d];
}

hlo_instr_t *spmd_fetch_window(spmd_lower_t *lower, const spmd_window_t *window) {
  if (is_empty(window)) return empty_window(lower, window);
  return window->dilation > 1 ? undilated_window(lower, window) : dense_window(lower, window);
}

hlo_instr_t *spmd_spread_window(spmd_lower_t *lower, const spmd_window_t *w, hlo_instr_t *x) {
  spmd_undilated_t apart;
  int64_t b = w->dilation;
  if (b <= 1 || is_empty(w)) return x;
  if (!undilate(lower, w, &apart)) return NULL;
  int64_t high = w->width - ((apart.width - 1) * b + 1);
  x = spmd_emit_pad(&lower->emit, x, w->d, b - 1, high > 0 ? high : 0, b - 1, w->fill);
  return spmd_emit_dynamic_slice(&lower->emit, x, w->d,
                                 spmd_emit_table(&lower->emit, w->axes, apart.cuts), w->width);
}

hlo_instr_t *spmd_emit_window(spmd_lower_t *lower, const spmd_window_t *window) {
  return spmd_spread_window(lower, window, spmd_fetch_window(lower, window));
}
