/* Convolutions as sums over taps, the elements of the window: a place of the result is the sum,
 * over the taps, of the channels at one place of the input times a matrix of weights. Nothing is
 * copied to say so: tiles of a few places and vectors of columns (channels of the result) stay in
 * registers while they read the input. Those of places that follow each other along a line, and
 * have the same taps, find them by steps; the others through pointers, one for each place and tap.
 * Outside of the input these lead to a line of zeros.
 *
 *   phase    results that meet the same taps. With holes in the input (gradients, transposed
 * convolutions) there is one for each remainder of a place by the holes' width; no hole is ever
 * read strip    two or four vectors of columns of the weights, packed [tap][channel][column] block
 * some lines of results of a phase and group, on one worker; all strips go past it region   a copy
 * of what a block reads, channels innermost and with zeros around it: where channels are not
 *            innermost in the program
 *   rim      where channels are so few that the taps of a row are better read as one, and these lie
 * side by side: a copy of one that reaches beyond the end of a line
 *
 * A result of very few columns does not fill vectors: then they are of terms (channels of the
 * input), whose lanes are added at the end. Groups of so few columns that they do not fill vectors
 * are taken together: then each column has terms of its own, and vectors of these are multiplied by
 * vectors of weights. If there are not as many as columns a region has them as often as they are
 * wanted. Such tiles look for the ends of a line themselves, and where three or five taps follow
 * each other as the results do, what is read is multiplied by all of them while it is in a
 * register.
 *
 * Results go where they belong at once, or by way of a copy of the block if channels are not
 * innermost or do not fill vectors, or where sums are narrowed.
 *
 * Types: f32 and f64; floats that are widened to them; where the processor multiplies pairs of bf16
 * or groups of four bytes (VNNI), these as they are. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include <string.h>

#include "ops/kernels/conv/conv_direct.h"
#include "ops/kernels/simd/simd_target.h"

#if SIMD_HAS_WIDTHS
#include <immintrin.h>
#endif

#define SPLIT_FLOPS 2e5           /* below this one worker is as quick */
#define FLIPPED ((int)0x80808080) /* signs of four bytes */

#define TILES_FILE "ops/kernels/conv/conv_direct_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

/* Pairs of bf16 and groups of four bytes (VNNI), where the processor multiplies them. */
#if SIMD_HAS_WIDTHS
#define SIMD_BYTES 64
#define SIMD_SUMS 16

#define SIMD_TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512,avx512bf16")))
#define SIMD_REAL float
#define SIMD_NAME(x) SIMD_JOIN(f32_bf16_, x)
#define TAPS_FACTOR(bits, flip) (__m512bh) _mm512_set1_ps(bits)
#define TAPS_ADD(sum, factor, line) \
  ((SIMD_NAME(acc))_mm512_dpbf16_ps(sum, factor, (__m512bh)(line)))
#include "ops/kernels/conv/conv_direct_tiles.h"
#undef SIMD_TARGET
#undef SIMD_REAL
#undef SIMD_NAME
#undef TAPS_FACTOR
#undef TAPS_ADD

#define SIMD_TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512,avx512vnni")))
#define SIMD_REAL int32_t
#define SIMD_NAME(x) SIMD_JOIN(s32_vnni_, x)
#define TAPS_FACTOR(bits, flip) _mm512_xor_si512(_mm512_set1_epi32(bits), _mm512_set1_epi32(flip))
#define TAPS_ADD(sum, factor, line) \
  ((SIMD_NAME(acc))_mm512_dpbusd_epi32((__m512i)(sum), factor, (__m512i)(line)))
#include "ops/kernels/conv/conv_direct_tiles.h"
#undef SIMD_TARGET
#undef SIMD_REAL
#undef SIMD_NAME
#undef TAPS_FACTOR
#undef TAPS_ADD
#endif

/* Rows of weights, `step` bytes apart, into one of pairs or fours. */
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

/* Bytes of two rows in turns, then these pairs. */
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

static const char *starts_of(const direct_run_t *run, const direct_phase_t *phase, int64_t group) {
  const conv_direct_t *plan = run->plan;
  int64_t number = (phase - plan->phases) * plan->groups + group;
  return run->packed + plan->starts_at + number * plan->padded * plan->bytes;
}

/* All that does not change from strip to strip. */
static direct_panel_t panels_of(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  int64_t from = plan->has_region ? phase->region_strides[last] : plan->input.spatial[last];
  int64_t to =
      plan->has_copy ? plan->padded : phase->axes[last].stride * plan->output.spatial[last];
  return (direct_panel_t){.rows = plan->rows,
                          .tiles = block->tiles,
                          .taps = phase->taps,
                          .lines = (const direct_line_t *)(block->space + plan->lines_at),
                          .line_count = block->line_count,
                          .from_stride = from * phase->axes[last].in_stride * plan->in_bytes,
                          .to_stride = to * plan->bytes,
                          .offsets = phase->offsets,
                          .tap_positions = phase->tap_positions,
                          .size = plan->input_sizes[last],
                          .position_stride = phase->axes[last].in_stride,
                          .zeros = block->space + plan->zeros_at,
                          .tap_reuse = plan->tap_reuse,
                          .live = direct_block_live(block, 0),
                          .pointers = (const void *const *)direct_block_row(block, 0),
                          .results = (void *const *)(block->space + plan->results_at),
                          .width = plan->width,
                          .tap_stride = phase->k / plan->k_group * plan->width,
                          .k_stride = plan->padded,
                          .flip = plan->flips_sign ? FLIPPED : 0};
}

/* Strips [begin, end), some terms of each tap at a time. */
static void sum_block(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int64_t piece = direct_k_block(plan, phase);
  int64_t packed = phase->packed_at + block->group * plan->group_packed;
  const char *starts = plan->flips_sign ? starts_of(block->run, phase, block->group) : NULL;
  direct_panel_t at = panels_of(block);
  for (int64_t first = 0; first < phase->k; first += piece) {
    at.first = first / plan->k_group;
    at.count = hr_min(piece, phase->k - first) / plan->k_group;
    at.adds = first > 0;
    for (int64_t s = begin; s < end; s++) {
      at.column = s * plan->width;
      at.vectors = hr_min(plan->width, plan->padded - at.column) / plan->lanes;
      if (plan->depthwise) at.first = at.column;
      at.weights =
          block->run->packed + (packed + s * phase->panel + first * plan->width) * plan->in_bytes;
      at.starts = starts ? starts + at.column * plan->bytes : NULL;
      plan->sum_panel(&at);
    }
  }
}

static void zero_results(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  void *const *results = (void *const *)(block->space + plan->results_at);
  for (int64_t i = 0; i < block->pointed; i++)
    memset(results[i], 0, (size_t)(plan->padded * plan->bytes));
}

static void finish_block(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  op_native_part_t part = {.row = block->begin * block->phase->line_positions,
                           .rows = block->positions};
  part.column = begin * plan->width;
  part.columns = hr_min(end * plan->width, plan->n) - part.column;
  block->run->epilogue->run(block->run->epilogue, &part, block->worker);
}

static void run_block(const direct_run_t *run, const direct_phase_t *phase, int64_t task,
                      int worker) {
  const conv_direct_t *plan = run->plan;
  int64_t part = task % plan->parts;
  int64_t number = task / plan->parts % phase->blocks;
  direct_block_t block = {
      .run = run, .phase = phase, .group = task / plan->parts / phase->blocks, .worker = worker};
  block.begin = phase->lines * number / phase->blocks;
  block.end = phase->lines * (number + 1) / phase->blocks;
  block.positions = (block.end - block.begin) * phase->line_positions;
  block.space = run->spaces + (size_t)worker * plan->space_bytes;
  int64_t begin = part * plan->part_panels;
  int64_t end = hr_min(begin + plan->part_panels, plan->panels);
  direct_block_ready(&block);
  if (phase->taps)
    sum_block(&block, begin, end);
  else
    zero_results(&block);
  if (plan->has_copy)
    direct_block_finish(&block, begin * plan->width, hr_min(end * plan->width, plan->n));
  if (run->epilogue) finish_block(&block, begin, end);
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const direct_run_t *run = context;
  const direct_phase_t *phase = run->plan->phases;
  for (int64_t task = begin; task < end; task++) {
    while (task < phase->first_task) phase--;
    while (phase + 1 < run->plan->phases + run->plan->phase_count && task >= phase[1].first_task)
      phase++;
    run_block(run, phase, task - phase->first_task, worker);
  }
}

/* Where the weights of a tap are among those of a term and column, in elements. Taps that are
 * merged count apart. */
static int64_t element_of(const conv_direct_t *plan, const direct_phase_t *phase, int64_t tap) {
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  int64_t at = 0;
  for (int d = plan->problem->spatial - 1; d >= 0; d--) {
    int64_t k = phase->axes[d].elements[tap % phase->axes[d].taps];
    tap /= phase->axes[d].taps;
    at += (wei->reversed[d] ? plan->problem->window[d] - 1 - k : k) * wei->spatial[d];
  }
  return at;
}

/* Weights of a tap and strip: `columns` of them, `terms` each, to [terms / unit][width][unit] or,
 * of few columns, to [column][term]. */
static void pack_tap(const conv_direct_t *plan, int64_t columns, const char *from, char *to) {
  int64_t bytes = plan->in_bytes;
  int64_t unit = plan->k_group;
  int64_t line = plan->width * unit * bytes;
  int64_t term = plan->k_stride * bytes;
  int64_t column = plan->n_stride * bytes;
  int64_t terms = plan->k / unit;
  if (columns < plan->width) memset(to, 0, (size_t)(terms * line));
  if (plan->narrow_n) {
    for (int64_t j = 0; j < columns; j++)
      loop_copy_row(to + j * terms * bytes, from + j * column, terms, bytes, term, (int)bytes);
  } else if (term == bytes) {
    native_transpose_plane((int)(bytes * unit), terms, columns, from, column, to, line);
  } else if (column == bytes && unit == 1 && term == line && columns == plan->width) {
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

/* Bytes of the input become unsigned by 128 more: what that adds to the sums is taken off at their
 * start. It is what a place of zeros has for its sums. */
static void flip_starts(const direct_run_t *run, const direct_phase_t *phase, int64_t group,
                        int64_t panel) {
  const conv_direct_t *plan = run->plan;
  enum { UNITS = 256 };
  int32_t live[] = {1, 0};
  int32_t *starts = (int32_t *)starts_of(run, phase, group) + panel * plan->width;
  int32_t spare[64];
  int32_t zeros[UNITS] = {0};
  int32_t count = (int32_t)hr_min(plan->width, plan->padded - panel * plan->width);
  const void *pointers[8] = {zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros};
  void *results[8] = {starts, spare, spare, spare, spare, spare, spare, spare};
  const char *packed =
      run->packed + phase->packed_at + group * plan->group_packed + panel * phase->panel;
  direct_panel_t at = {.rows = plan->rows,
                       .vectors = count / plan->lanes,
                       .tiles = 1,
                       .taps = 1,
                       .live = live,
                       .pointers = pointers,
                       .results = results,
                       .width = plan->width,
                       .flip = FLIPPED};
  for (int64_t p = 0, units = phase->taps * phase->k / plan->k_group; p < units;
       p += UNITS, at.adds = true) {
    at.count = hr_min(UNITS, units - p);
    at.weights = packed + p * plan->k_group * plan->width;
    plan->sum_panel(&at);
  }
  for (int32_t j = 0; j < count; j++) starts[j] = -starts[j];
}

static int64_t count_taps(const conv_direct_t *plan, const direct_phase_t *phase) {
  int64_t taps = 1;
  for (int d = 0; d < plan->problem->spatial; d++) taps *= phase->axes[d].taps;
  return taps;
}

#define TRANSPOSED_BYTES (32 << 10)

/* Whether the weights of a term and column lie together: then they are turned, as reading them tap
 * by tap would touch all of them for each. */
static bool is_transposed(const conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t window = 1;
  for (int d = p->spatial - 1; d >= 0; window *= p->window[d--])
    if (p->arrays[CONV_WEI].spatial[d] != window) return false;
  return window > 1 && plan->k_group == 1 && !plan->narrow_n &&
         window * plan->width * plan->bytes <= TRANSPOSED_BYTES;
}

/* `columns` of the strip, whose weights start at `from`, some terms at a time: first to
 * [term][element][column]. */
static void pack_transposed(const conv_direct_t *plan, const direct_phase_t *phase, int64_t columns,
                            const char *from, char *to) {
  double transposed[TRANSPOSED_BYTES / sizeof(double)];
  int64_t bytes = plan->bytes;
  int64_t window = 1;
  int64_t line = plan->width * bytes;
  int64_t taps = count_taps(plan, phase);
  for (int d = 0; d < plan->problem->spatial; d++) window *= plan->problem->window[d];
  int64_t chunk = TRANSPOSED_BYTES / (window * line);
  int64_t joined = plan->k_stride == window ? chunk : 1;
  memset(transposed, 0, sizeof transposed);
  for (int64_t p = 0, count; p < plan->k; p += count, from += count * plan->k_stride * bytes) {
    count = hr_min(chunk, plan->k - p);
    for (int64_t i = 0; i < count; i += joined)
      native_transpose_plane((int)bytes, window * hr_min(joined, count), columns,
                             from + i * plan->k_stride * bytes, plan->n_stride * bytes,
                             (char *)transposed + i * window * line, line);
    for (int64_t t = 0; t < taps; t++)
      for (int64_t i = 0; i < count; i++)
        memcpy(to + (t * plan->k + p + i) * line,
               (const char *)transposed + (i * window + element_of(plan, phase, t)) * line,
               (size_t)line);
  }
}

/* One strip of one phase and group. */
static void pack_panel(const direct_run_t *run, const direct_phase_t *phase, int64_t group,
                       int64_t panel) {
  const conv_direct_t *plan = run->plan;
  const conv_array_t *wei = &plan->problem->arrays[CONV_WEI];
  int64_t column = panel * plan->width;
  int64_t columns = hr_min(plan->width, plan->n - column);
  char *to = run->packed + (phase->packed_at + group * plan->group_packed + panel * phase->panel) *
                               plan->in_bytes;
  const char *from = run->weights + (wei->start + group * plan->fused_groups * wei->group +
                                     column * plan->n_stride) *
                                        plan->in_bytes;
  if (is_transposed(plan))
    pack_transposed(plan, phase, columns, from, to);
  else
    for (int64_t t = 0, taps = count_taps(plan, phase); t < taps;
         t++, to += plan->k * plan->width * plan->in_bytes)
      pack_tap(plan, columns, from + element_of(plan, phase, t) * plan->in_bytes, to);
  if (plan->flips_sign) flip_starts(run, phase, group, panel);
}

static void pack_panels(void *context, int64_t begin, int64_t end, int worker) {
  const direct_run_t *run = context;
  const conv_direct_t *plan = run->plan;
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    for (int p = 0; p < plan->phase_count; p++)
      pack_panel(run, &plan->phases[p], i / plan->panels, i % plan->panels);
}

static const void *widened(hr_workers_t *workers, const conv_direct_t *plan, int which,
                           const void *from, char *scratch) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *array = which ? &p->arrays[CONV_WEI] : &plan->input;
  if (!plan->widens_operand[which]) return from;
  native_widen(workers, &p->types, array->dtype, from, array->count,
               scratch + plan->wide_at[which]);
  return scratch + plan->wide_at[which];
}

hr_status_t conv_run_direct(const op_native_run_t *native, const void *plan_, void *const *in,
                            void *const *out) {
  const conv_direct_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  hr_workers_t *workers = native_workers(native, plan->workers);
  char *scratch = native->scratch;
  direct_run_t run = {.plan = plan,
                      .to = out[0],
                      .packed = scratch + plan->packed_at,
                      .epilogue = native->epilogue};
  run.spaces = scratch + plan->spaces_at;
  int64_t grain = p->flops < SPLIT_FLOPS ? plan->tasks : 1;
  int64_t panels = plan->panels * plan->groups;
  run.from = widened(workers, plan, 0, in[0], scratch);
  if (p->zero_first)
    memset(out[0], 0, (size_t)(p->arrays[conv_role_out(p->kind)].count * plan->out_bytes));
  if (plan->constant_packed) {
    run.packed = (char *)plan->constant_packed;
  } else {
    run.weights = widened(workers, plan, 1, in[1], scratch);
    hr_workers_split(workers, panels, 1 + 20000 / (plan->packed_count / panels + 1), pack_panels,
                     &run);
  }
  hr_workers_for(workers, plan->tasks, grain, run_tasks, &run);
  return NULL;
}

/* --- planning --- */

static hr_status_t pack_constant(const op_native_target_t *target, conv_direct_t *plan) {
  void *packed;
  if (!plan->problem->constant_weights || plan->widens_operand[1]) return NULL;
  HR_TRY(hr_arena_alloc(target->arena, plan->packed_bytes, &packed));
  direct_run_t run = {.plan = plan, .weights = plan->problem->constant_weights, .packed = packed};
  pack_panels(&run, 0, plan->panels * plan->groups, 0);
  plan->constant_packed = packed;
  return NULL;
}

static void (*choose_sums(const conv_direct_t *plan))(const direct_panel_t *panel) {
#if SIMD_HAS_WIDTHS
  if (plan->k_group == 2) return f32_bf16_sum_panel;
  if (plan->k_group == 4) return s32_vnni_sum_panel;
#endif
  if (plan->depthwise) return SIMD_FOREACH_REAL(sum_depthwise, plan->bytes == 8);
  return plan->narrow_n ? SIMD_FOREACH_REAL(sum_narrow_n, plan->bytes == 8)
                        : SIMD_FOREACH_REAL(sum_panel, plan->bytes == 8);
}

/* Blocks are whole rows of a result with channels innermost, or some columns of them. */
static void plan_parts(const conv_direct_t *plan, op_native_step_t *out) {
  const conv_problem_t *p = plan->problem;
  if (plan->phase_count != 1 || plan->groups != 1 || !conv_is_plain(p, conv_role_out(p->kind)))
    return;
  out->parts.grid =
      (op_native_grid_t){.rows = plan->phases[0].lines * plan->phases[0].line_positions,
                         .columns = plan->n,
                         .whole_rows = plan->parts == 1,
                         .unit = plan->parts > 1 ? plan->part_panels * plan->width : 0};
  out->parts.fit_caches = true;
}

hr_status_t conv_prepare_direct(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out) {
  conv_direct_t *plan;
  bool fits;
  HR_TRY(HR_NEW(target->arena, &plan));
  plan->problem = problem;
  plan->workers = target->workers;
  HR_TRY(direct_plan_init(target->arena, plan, &fits));
  if (!fits) return NULL;
  plan->sum_panel = choose_sums(plan);
  plan->expand_line = SIMD_FOREACH_REAL(expand_line, plan->bytes == 8);
  HR_TRY(pack_constant(target, plan));
  out->scratch_bytes = direct_plan_scratch(plan);
  out->plan = plan;
  plan_parts(plan, out);
  return NULL;
}
