/* Packing of the weights of a direct convolution: of each group and phase the panels
 * [panel][tap][k][column], or with k groups [panel][tap][k / g][column][g], the order in which the
 * micro-kernels read them. Columns past n are zero, so that tiles need no masks.
 *
 *   program's weights                 packed panel
 *   [tap][k][n], any strides    ->    tap 0: k = 0: column 0 .. width - 1
 *                                            k = 1: column 0 .. width - 1   ...
 *                                     tap 1: ...
 *
 * Taps are those of the phase, in the order of its axes; a data gradient reads the window
 * backwards. Cost: one pass over the weights. Panels are independent, so workers share them.
 * Constant weights are packed once, in the plan; many weights of few positions are packed just
 * before their use, so that they do not go to memory and back (direct_pack_k_block). */
#include <string.h>

#include "ops/kernels/conv/conv_direct.h"

/* Interleave `columns` columns of 2 or 4 rows of weights, `step` bytes apart. */
typedef uint8_t bytes_16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t halves_8 __attribute__((vector_size(16), aligned(1), may_alias));

static void pack_bf16_pairs(const char *from, int64_t step, int64_t columns, char *to) {
  int64_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    halves_8 a = *(const halves_8 *)(from + 2 * j);
    halves_8 b = *(const halves_8 *)(from + 2 * j + step);
    *(halves_8 *)(to + 4 * j) = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    *(halves_8 *)(to + 4 * j + 16) = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (; j < columns; j++)
    for (int q = 0; q < 2; q++) memcpy(to + 4 * j + 2 * q, from + 2 * j + q * step, 2);
}

/* Interleaves bytes of two rows each, then these pairs. */
static void pack_vnni_quads(const char *from, int64_t step, int64_t columns, char *to) {
  int64_t j = 0;
  for (; j + 16 <= columns; j += 16) {
    bytes_16 x[4], low[2], high[2];
    for (int q = 0; q < 4; q++) x[q] = *(const bytes_16 *)(from + j + q * step);
    for (int q = 0; q < 2; q++) {
      low[q] = __builtin_shufflevector(x[2 * q], x[2 * q + 1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                       21, 6, 22, 7, 23);
      high[q] = __builtin_shufflevector(x[2 * q], x[2 * q + 1], 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                        28, 13, 29, 14, 30, 15, 31);
    }
    for (int half = 0; half < 2; half++) {
      halves_8 a = (halves_8)(half ? high[0] : low[0]);
      halves_8 b = (halves_8)(half ? high[1] : low[1]);
      *(halves_8 *)(to + 4 * j + 32 * half) =
          __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      *(halves_8 *)(to + 4 * j + 32 * half + 16) =
          __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
  }
  for (; j < columns; j++)
    for (int q = 0; q < 4; q++) to[4 * j + q] = from[j + q * step];
}

const char *direct_flip_bias(const direct_run_t *run, const direct_phase_t *phase, int64_t group) {
  const conv_direct_t *plan = run->plan;
  int64_t number = (phase - plan->partition.phases) * plan->gemm.groups + group;
  return run->packed + plan->packed.bias_at + number * plan->tile.padded_n * plan->types.sum_bytes;
}

/* Offset of a tap's weights from those of the first element of the window. Merged taps are numbered
 * separately. */
static int64_t tap_weight_offset(const conv_direct_t *plan, const direct_phase_t *phase,
                                 int64_t tap) {
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  int64_t at = 0;
  for (int d = plan->problem->spatial - 1; d >= 0; d--) {
    int64_t k = phase->axes[d].elements[tap % phase->axes[d].taps];
    tap /= phase->axes[d].taps;
    at += (wei->reversed[d] ? plan->problem->window[d] - 1 - k : k) * wei->spatial[d];
  }
  return at;
}

/* Packs `count` terms of one tap of a panel: `columns` x k weights to [k / g][width][g], or in the
 * narrow form to [column][k]. The cases differ in which index is contiguous in the program's
 * weights. */
static void pack_tap(const conv_direct_t *plan, int64_t columns, int64_t count, const char *from,
                     char *to) {
  int64_t bytes = plan->types.in_bytes;
  int64_t unit = plan->types.k_group;
  int64_t line = plan->tile.width * unit * bytes;
  int64_t term = plan->gemm.k_stride * bytes;
  int64_t column = plan->gemm.n_stride * bytes;
  int64_t terms = count / unit;
  if (columns < plan->tile.width) memset(to, 0, (size_t)(terms * line));
  if (plan->form.narrow_n) {
    for (int64_t j = 0; j < columns; j++)
      loop_copy_row(to + j * terms * bytes, from + j * column, terms, bytes, term, (int)bytes);
  } else if (term == bytes) {
    native_transpose_plane((int)(bytes * unit), terms, columns, from, column, to, line);
  } else if (column == bytes && unit == 1 && term == line && columns == plan->tile.width) {
    memcpy(to, from, (size_t)(terms * line));
  } else if (column == bytes && unit == 1) {
    for (int64_t p = 0; p < terms; p++)
      memcpy(to + p * line, from + p * term, (size_t)(columns * bytes));
  } else if (column == bytes) {
    for (int64_t p = 0; p < terms; p++, from += unit * term, to += line)
      (unit == 2 ? pack_bf16_pairs : pack_vnni_quads)(from, term, columns, to);
  } else {
    for (int64_t j = 0; j < columns * unit; j++)
      loop_copy_row(to + j * bytes, from + j / unit * column + j % unit * term, terms, line,
                    unit * term, (int)bytes);
  }
}

/* Bias of a panel for int8 input. VPDPBUSD multiplies unsigned by signed bytes, so the input is
 * read as a + 128; the surplus 128 * sum(weights) is subtracted by starting from its negative. The
 * micro-kernel computes it: a position of zeros, flipped, is 128. */
static void compute_flip_bias(const direct_run_t *run, const direct_phase_t *phase, int64_t group,
                              int64_t panel) {
  const conv_direct_t *plan = run->plan;
  enum { UNITS = 256 };
  int32_t live[] = {1, 0};
  int32_t *starts = (int32_t *)direct_flip_bias(run, phase, group) + panel * plan->tile.width;
  int32_t spare[64];
  int32_t zeros[UNITS] = {0};
  int32_t count = (int32_t)hr_min(plan->tile.width, plan->tile.padded_n - panel * plan->tile.width);
  const void *pointers[8] = {zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros};
  void *results[8] = {starts, spare, spare, spare, spare, spare, spare, spare};
  const char *packed = run->packed + phase->packed_at + group * plan->packed.group_elements +
                       panel * phase->panel_elements;
  direct_panel_t panel_args = {.rows = plan->tile.rows,
                               .vectors = count / plan->tile.lanes,
                               .indirect_tiles = 1,
                               .taps = 1,
                               .live_taps = live,
                               .indirection = pointers,
                               .results = results,
                               .width = plan->tile.width,
                               .sign_flip = DIRECT_SIGN_BITS};
  for (int64_t p = 0, units = phase->taps * phase->k / plan->types.k_group; p < units;
       p += UNITS, panel_args.accumulate = true) {
    panel_args.k_count = hr_min(UNITS, units - p);
    panel_args.weights = packed + p * plan->types.k_group * plan->tile.width;
    plan->sum_panel(&panel_args);
  }
  for (int32_t j = 0; j < count; j++) starts[j] = -starts[j];
}

static int64_t count_taps(const conv_direct_t *plan, const direct_phase_t *phase) {
  int64_t taps = 1;
  for (int d = 0; d < plan->problem->spatial; d++) taps *= phase->axes[d].taps;
  return taps;
}

#define TRANSPOSED_BYTES (32 << 10)

/* Number of elements of a window that is innermost in the program's weights: a whole window is then
 * transposed at once, as reading tap by tap would touch every cache line once per tap. 0: the
 * window is not innermost, or has one element. */
static int64_t innermost_window(const conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t window = 1;
  for (int d = p->spatial - 1; d >= 0; window *= p->window[d--])
    if (p->arrays[CONV_WEI].spatial[d] != window) return 0;
  return window > 1 && plan->types.k_group == 1 && !plan->form.narrow_n ? window : 0;
}

/* True if the buffer holds the windows of a panel. */
static bool packs_transposed(const conv_direct_t *plan) {
  int64_t window = innermost_window(plan);
  return window && window * plan->tile.width * plan->types.sum_bytes <= TRANSPOSED_BYTES;
}

/* True if a panel of one term is the transposed window itself. It may be larger than the buffer. */
static bool is_window_transposed(const conv_direct_t *plan, const direct_phase_t *phase) {
  int64_t taps = count_taps(plan, phase);
  if (plan->gemm.k != 1 || taps != innermost_window(plan)) return false;
  for (int64_t t = 0; t < taps; t++)
    if (tap_weight_offset(plan, phase, t) != t) return false;
  return true;
}

static void pack_window(const conv_direct_t *plan, const direct_phase_t *phase, int64_t columns,
                        const char *from, char *to) {
  int64_t bytes = plan->types.in_bytes;
  int64_t line = plan->tile.width * bytes, taps = count_taps(plan, phase);
  if (columns < plan->tile.width) memset(to, 0, (size_t)(taps * line));
  native_transpose_plane((int)bytes, taps, columns, from, plan->gemm.n_stride * bytes, to, line);
}

/* Packs a panel of such weights, as many terms at a time as fit the buffer: first to [k][window
 * element][column], then each tap's rows to the panel. */
static void pack_transposed(const conv_direct_t *plan, const direct_phase_t *phase, int64_t columns,
                            const char *from, char *to) {
  double transposed[TRANSPOSED_BYTES / sizeof(double)];
  int64_t bytes = plan->types.sum_bytes;
  int64_t window = 1;
  int64_t line = plan->tile.width * bytes;
  int64_t taps = count_taps(plan, phase);
  for (int d = 0; d < plan->problem->spatial; d++) window *= plan->problem->window[d];
  int64_t chunk = TRANSPOSED_BYTES / (window * line);
  int64_t joined = plan->gemm.k_stride == window ? chunk : 1;
  memset(transposed, 0, sizeof transposed);
  for (int64_t p = 0, count; p < plan->gemm.k;
       p += count, from += count * plan->gemm.k_stride * bytes) {
    count = hr_min(chunk, plan->gemm.k - p);
    for (int64_t i = 0; i < count; i += joined)
      native_transpose_plane((int)bytes, window * hr_min(joined, count), columns,
                             from + i * plan->gemm.k_stride * bytes, plan->gemm.n_stride * bytes,
                             (char *)transposed + i * window * line, line);
    for (int64_t t = 0; t < taps; t++)
      for (int64_t i = 0; i < count; i++)
        memcpy(to + (t * plan->gemm.k + p + i) * line,
               (const char *)transposed + (i * window + tap_weight_offset(plan, phase, t)) * line,
               (size_t)line);
  }
}

/* Packs one panel of one phase and group. */
static void pack_panel(const direct_run_t *run, const direct_phase_t *phase, int64_t group,
                       int64_t panel) {
  const conv_direct_t *plan = run->plan;
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  int64_t column = panel * plan->tile.width;
  int64_t columns = hr_min(plan->tile.width, plan->gemm.n - column);
  char *to = run->packed + (phase->packed_at + group * plan->packed.group_elements +
                            panel * phase->panel_elements) *
                               plan->types.in_bytes;
  const char *from = run->weights + (wei->start + group * plan->gemm.fused_groups * wei->group +
                                     column * plan->gemm.n_stride) *
                                        plan->types.in_bytes;
  if (is_window_transposed(plan, phase))
    pack_window(plan, phase, columns, from, to);
  else if (packs_transposed(plan))
    pack_transposed(plan, phase, columns, from, to);
  else
    for (int64_t t = 0, taps = count_taps(plan, phase); t < taps;
         t++, to += plan->gemm.k * plan->tile.width * plan->types.in_bytes)
      pack_tap(plan, columns, plan->gemm.k,
               from + tap_weight_offset(plan, phase, t) * plan->types.in_bytes, to);
  if (plan->types.flips_sign) compute_flip_bias(run, phase, group, panel);
}

hr_status_t direct_plan_weight_offsets(hr_arena_t *arena, conv_direct_t *plan) {
  for (int i = 0; i < plan->partition.phase_count; i++) {
    direct_phase_t *phase = &plan->partition.phases[i];
    HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->weight_offsets));
    for (int64_t t = 0; t < phase->taps; t++)
      phase->weight_offsets[t] = tap_weight_offset(plan, phase, t);
  }
  return NULL;
}

/* First weight of a k block of a panel, before the tap's offset. */
static const char *k_block_start(const direct_run_t *run, int64_t panel, int64_t first) {
  const conv_direct_t *plan = run->plan;
  int64_t start = plan->problem->arrays[CONV_WEI].start +
                  panel * plan->tile.width * plan->gemm.n_stride + first * plan->gemm.k_stride;
  return run->weights + start * plan->types.in_bytes;
}

static int64_t panel_columns(const conv_direct_t *plan, int64_t panel) {
  return hr_min(plan->tile.width, plan->gemm.n - panel * plan->tile.width);
}

void direct_pack_k_block(const direct_run_t *run, const direct_phase_t *phase, int64_t panel,
                         int64_t first, int64_t terms, void *to) {
  const conv_direct_t *plan = run->plan;
  const char *start = k_block_start(run, panel, first);
  for (int64_t t = 0; t < phase->taps; t++)
    pack_tap(plan, panel_columns(plan, panel), terms,
             start + phase->weight_offsets[t] * plan->types.in_bytes,
             (char *)to + t * terms * plan->tile.width * plan->types.in_bytes);
}

conv_prefetch_t direct_k_block_rows(const direct_run_t *run, const direct_phase_t *phase,
                                    int64_t panel, int64_t first, int64_t terms, int64_t steps) {
  const conv_direct_t *plan = run->plan;
  bool by_terms = plan->gemm.n_stride == 1;
  int64_t columns = panel_columns(plan, panel);
  int64_t rows = by_terms ? terms : columns;
  return (conv_prefetch_t){
      .from = k_block_start(run, panel, first),
      .tap_offsets = phase->weight_offsets,
      .element_bytes = plan->types.in_bytes,
      .rows = rows,
      .row_stride = (by_terms ? plan->gemm.k_stride : plan->gemm.n_stride) * plan->types.in_bytes,
      .row_bytes = (by_terms ? columns : terms) * plan->types.in_bytes,
      .share = hr_div_ceil(rows, hr_max(steps, 1))};
}

void direct_pack_panels(void *context, int64_t begin, int64_t end, int worker) {
  const direct_run_t *run = context;
  const conv_direct_t *plan = run->plan;
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    for (int p = 0; p < plan->partition.phase_count; p++)
      pack_panel(run, &plan->partition.phases[p], i / plan->tile.panels, i % plan->tile.panels);
}
