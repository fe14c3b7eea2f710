/* Direct convolution: sums over the taps of the window, without im2col. See conv_direct.h for the
 * terms (m, n, k, tap, panel, tile, block).
 *
 * The loop nest, outermost first:
 *
 *   for each phase, group, block of positions, part of the columns     one task of a worker
 *     copy the region, compute addresses                               block: second-level cache
 *     for each k block
 *       for each panel of the part                                     panel: second-level cache
 *         pack it, unless all are packed before
 *         for each tile of the block                                   tile: registers
 *           C[rows][vectors] = 0, the bias or the former C
 *           for each live tap
 *             for each k of the k block
 *               C[row][v] += A[row][k] * B[tap][k][v]
 *     copy or narrow the results, run the epilogue
 *
 * How a tile of rows r0 .. r3 reads the input (in_stride 1, 3 taps): the A of tap t is the line
 * from position t on, so rows are addressed by a stride and nothing is copied.
 *
 *   input line   x0 x1 x2 x3 x4 x5
 *   tap 0        r0 r1 r2 r3
 *   tap 1           r0 r1 r2 r3
 *   tap 2              r0 r1 r2 r3
 *
 * Forms (direct_form_t): with few channels the taps of a row are merged into one of taps * k terms.
 * With n <= 4 vectors are along k, and lanes are added at the end. Depthwise groups are fused and
 * multiplied elementwise; where 3 or 5 taps are adjacent, a sliding tile multiplies each loaded
 * vector by all of them. Channels that are not innermost are copied to a region first.
 *
 * Types: f32 and f64; narrower floats widened; bf16 pairs and byte quads (VNNI) as they are. The
 * sum runs over k blocks, within these over taps, within these over k: an order that follows from
 * sizes and processor, not from the number of workers. Weight gradients are conv_weight_grad.c,
 * other types conv_im2col.c. */
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

#define SPLIT_FLOPS 2e5 /* FLOPs below which one worker is as fast */

#define TILES_FILE "ops/kernels/conv/conv_direct_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

/* The micro-kernels of bf16 pairs and byte quads (VNNI), whose units are 32 bits: two or four
 * terms. */
#if SIMD_HAS_WIDTHS
#define SIMD_BYTES 64
#define SIMD_SUMS 16

#define SIMD_TARGET __attribute__((target(SIMD_512_MACHINE ",avx512bf16")))
#define SIMD_REAL float
#define SIMD_NAME(x) SIMD_JOIN(f32_bf16_, x)
#define DIRECT_FACTOR(bits, flip) (__m512bh) _mm512_set1_ps(bits)
#define DIRECT_ADD(sum, factor, line) \
  ((SIMD_NAME(acc))_mm512_dpbf16_ps(sum, factor, (__m512bh)(line)))
#include "ops/kernels/conv/conv_direct_tiles.h"
#undef SIMD_TARGET
#undef SIMD_REAL
#undef SIMD_NAME
#undef DIRECT_FACTOR
#undef DIRECT_ADD

#define SIMD_TARGET __attribute__((target(SIMD_512_MACHINE ",avx512vnni")))
#define SIMD_REAL int32_t
#define SIMD_NAME(x) SIMD_JOIN(s32_vnni_, x)
#define DIRECT_FACTOR(bits, flip) _mm512_xor_si512(_mm512_set1_epi32(bits), _mm512_set1_epi32(flip))
#define DIRECT_ADD(sum, factor, line) \
  ((SIMD_NAME(acc))_mm512_dpbusd_epi32((__m512i)(sum), factor, (__m512i)(line)))
#include "ops/kernels/conv/conv_direct_tiles.h"
#undef SIMD_TARGET
#undef SIMD_REAL
#undef SIMD_NAME
#undef DIRECT_FACTOR
#undef DIRECT_ADD
#endif

/* Arguments of the micro-kernels that do not change from panel to panel. */
static direct_panel_t panel_arguments(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int last = plan->problem->spatial - 1;
  int64_t from = plan->form.has_region ? phase->region_strides[last] : plan->input.spatial[last];
  int64_t to = plan->form.has_copy ? plan->tile.padded_n
                                   : phase->axes[last].stride * plan->output.spatial[last];
  return (direct_panel_t){
      .rows = plan->tile.rows,
      .indirect_tiles = block->indirect_tiles,
      .taps = phase->taps,
      .lines = (const direct_line_t *)(block->workspace + plan->workspace.lines_at),
      .line_count = block->line_count,
      .from_stride = from * phase->axes[last].in_stride * plan->types.in_bytes,
      .to_stride = to * plan->types.sum_bytes,
      .tap_offsets = phase->offsets,
      .tap_positions = phase->tap_positions,
      .axis_size = plan->input_sizes[last],
      .position_stride = phase->axes[last].in_stride,
      .zeros = block->workspace + plan->workspace.zeros_at,
      .tap_reuse = plan->depthwise.tap_reuse,
      .live_taps = direct_block_live_taps(block, 0),
      .indirection = (const void *const *)direct_block_indirection(block, 0),
      .results = (void *const *)(block->workspace + plan->workspace.results_at),
      .width = plan->tile.width,
      .tap_stride = phase->k / plan->types.k_group * plan->tile.width,
      .k_stride = plan->tile.padded_n,
      .sign_flip = plan->types.flips_sign ? DIRECT_SIGN_BITS : 0};
}

/* Weights of a k block of a panel; `args` has its terms. */
static void set_weights(const direct_block_t *block, int64_t panel, int64_t first, int64_t terms,
                        direct_panel_t *args) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int64_t packed = phase->packed_at + block->group * plan->packed.group_elements;
  if (plan->packed.late) {
    char *to = block->workspace + plan->workspace.weights_at;
    direct_pack_k_block(block->run, phase, panel, first, terms, to);
    args->weights = to;
    args->tap_stride = terms * plan->tile.width;
  } else {
    args->weights =
        block->run->packed +
        (packed + panel * phase->panel_elements + first * plan->tile.width) * plan->types.in_bytes;
  }
}

static int64_t count_tiles(const direct_panel_t *panel) {
  int64_t tiles = panel->indirect_tiles;
  for (int64_t i = 0; i < panel->line_count; i++) tiles += panel->lines[i].tiles;
  return tiles;
}

/* Weights of the panel and k block after these, of panels [begin, end). */
static conv_prefetch_t next_weights(const direct_block_t *block, const direct_panel_t *args,
                                    int64_t begin, int64_t end, int64_t panel, int64_t first) {
  const direct_phase_t *phase = block->phase;
  int64_t k_block = direct_k_block(block->run->plan, phase);
  if (++panel == end) {
    panel = begin;
    first += k_block;
  }
  if (first >= phase->k) return (conv_prefetch_t){0};
  return direct_k_block_rows(block->run, phase, panel, first, hr_min(k_block, phase->k - first),
                             count_tiles(args));
}

/* Panels [begin, end), one k block at a time. */
static void multiply_block(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  const direct_phase_t *phase = block->phase;
  int64_t k_block = direct_k_block(plan, phase);
  const char *starts =
      plan->types.flips_sign ? direct_flip_bias(block->run, phase, block->group) : NULL;
  direct_panel_t panel_args = panel_arguments(block);
  for (int64_t first = 0; first < phase->k; first += k_block) {
    int64_t terms = hr_min(k_block, phase->k - first);
    panel_args.k_first = first / plan->types.k_group;
    panel_args.k_count = terms / plan->types.k_group;
    panel_args.accumulate = first > 0;
    for (int64_t s = begin; s < end; s++) {
      panel_args.column = s * plan->tile.width;
      panel_args.vectors =
          hr_min(plan->tile.width, plan->tile.padded_n - panel_args.column) / plan->tile.lanes;
      if (plan->form.depthwise) panel_args.k_first = panel_args.column;
      set_weights(block, s, first, terms, &panel_args);
      if (plan->packed.late)
        panel_args.next = next_weights(block, &panel_args, begin, end, s, first);
      panel_args.bias = starts ? starts + panel_args.column * plan->types.sum_bytes : NULL;
      plan->sum_panel(&panel_args);
    }
  }
}

static void zero_results(const direct_block_t *block) {
  const conv_direct_t *plan = block->run->plan;
  void *const *results = (void *const *)(block->workspace + plan->workspace.results_at);
  for (int64_t i = 0; i < block->indirect_rows; i++)
    memset(results[i], 0, (size_t)(plan->tile.padded_n * plan->types.sum_bytes));
}

static void run_block_epilogue(const direct_block_t *block, int64_t begin, int64_t end) {
  const conv_direct_t *plan = block->run->plan;
  op_native_part_t part = {.row = block->begin * block->phase->line_positions,
                           .rows = block->positions};
  part.column = begin * plan->tile.width;
  part.columns = hr_min(end * plan->tile.width, plan->gemm.n) - part.column;
  block->run->epilogue->run(block->run->epilogue, &part, block->worker);
}

static void run_block(const direct_run_t *run, const direct_phase_t *phase, int64_t task,
                      int worker) {
  const conv_direct_t *plan = run->plan;
  int64_t part = task % plan->partition.parts;
  int64_t number = task / plan->partition.parts % phase->blocks;
  direct_block_t block = {.run = run,
                          .phase = phase,
                          .group = task / plan->partition.parts / phase->blocks,
                          .worker = worker};
  block.begin = phase->lines * number / phase->blocks;
  block.end = phase->lines * (number + 1) / phase->blocks;
  block.positions = (block.end - block.begin) * phase->line_positions;
  block.workspace = run->workspaces + (size_t)worker * plan->scratch.worker_bytes;
  int64_t begin = part * plan->partition.part_panels;
  int64_t end = hr_min(begin + plan->partition.part_panels, plan->tile.panels);
  direct_block_prepare(&block);
  if (phase->taps)
    multiply_block(&block, begin, end);
  else
    zero_results(&block);
  if (plan->form.has_copy)
    direct_block_store(&block, begin * plan->tile.width,
                       hr_min(end * plan->tile.width, plan->gemm.n));
  if (run->epilogue) run_block_epilogue(&block, begin, end);
}

static void run_tasks(void *context, int64_t begin, int64_t end, int worker) {
  const direct_run_t *run = context;
  const direct_phase_t *phase = run->plan->partition.phases;
  for (int64_t task = begin; task < end; task++) {
    while (task < phase->first_task) phase--;
    while (phase + 1 < run->plan->partition.phases + run->plan->partition.phase_count &&
           task >= phase[1].first_task)
      phase++;
    run_block(run, phase, task - phase->first_task, worker);
  }
}

static const void *widen_operand(hr_workers_t *workers, const conv_direct_t *plan, int which,
                                 const void *from, char *scratch) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *array = which ? &p->arrays[CONV_WEI] : &plan->input;
  if (!plan->types.widens_operand[which]) return from;
  native_widen(workers, &p->types, array->dtype, from, array->count,
               scratch + plan->scratch.wide_at[which]);
  return scratch + plan->scratch.wide_at[which];
}

hr_status_t conv_run_direct(const op_native_run_t *native, const void *plan_, void *const *in,
                            void *const *out) {
  const conv_direct_t *plan = plan_;
  const conv_problem_t *p = plan->problem;
  hr_workers_t *workers = native_workers(native, plan->workers);
  char *scratch = native->scratch;
  direct_run_t run = {.plan = plan,
                      .to = out[0],
                      .packed = scratch + plan->scratch.packed_at,
                      .epilogue = native->epilogue};
  run.workspaces = scratch + plan->scratch.workers_at;
  int64_t grain = p->flops < SPLIT_FLOPS ? plan->partition.tasks : 1;
  int64_t panels = plan->tile.panels * plan->gemm.groups;
  run.from = widen_operand(workers, plan, 0, in[0], scratch);
  if (p->zero_first)
    memset(out[0], 0, (size_t)(p->arrays[conv_role_out(p->kind)].count * plan->types.out_bytes));
  if (plan->packed.constant) {
    run.packed = (char *)plan->packed.constant;
  } else {
    run.weights = widen_operand(workers, plan, 1, in[1], scratch);
    if (!plan->packed.late)
      hr_workers_split(workers, panels, 1 + 20000 / (plan->packed.elements / panels + 1),
                       direct_pack_panels, &run);
  }
  hr_workers_for(workers, plan->partition.tasks, grain, run_tasks, &run);
  return NULL;
}

/* --- planning --- */

static hr_status_t pack_constant(const op_native_target_t *target, conv_direct_t *plan) {
  void *packed;
  if (!plan->problem->constant_weights || plan->types.widens_operand[1]) return NULL;
  HR_TRY(hr_arena_alloc(target->arena, plan->packed.bytes, &packed));
  direct_run_t run = {.plan = plan, .weights = plan->problem->constant_weights, .packed = packed};
  direct_pack_panels(&run, 0, plan->tile.panels * plan->gemm.groups, 0);
  plan->packed.constant = packed;
  return NULL;
}

static void (*choose_panel_kernel(const conv_direct_t *plan))(const direct_panel_t *panel) {
#if SIMD_HAS_WIDTHS
  if (plan->types.k_group == 2) return f32_bf16_sum_panel;
  if (plan->types.k_group == 4) return s32_vnni_sum_panel;
#endif
  if (plan->form.depthwise) return SIMD_FOREACH_REAL(sum_depthwise, plan->types.sum_bytes == 8);
  return plan->form.narrow_n ? SIMD_FOREACH_REAL(sum_narrow_n, plan->types.sum_bytes == 8)
                             : SIMD_FOREACH_REAL(sum_panel, plan->types.sum_bytes == 8);
}

/* Describes parts for epilogues: whole rows of a result with channels innermost, or a part's
 * columns. */
static void describe_parts(const conv_direct_t *plan, op_native_step_t *out) {
  const conv_problem_t *p = plan->problem;
  if (plan->partition.phase_count != 1 || plan->gemm.groups != 1 ||
      !conv_is_plain(p, conv_role_out(p->kind)))
    return;
  out->parts.grid = (op_native_grid_t){
      .rows = plan->partition.phases[0].lines * plan->partition.phases[0].line_positions,
      .columns = plan->gemm.n,
      .whole_rows = plan->partition.parts == 1,
      .unit = plan->partition.parts > 1 ? plan->partition.part_panels * plan->tile.width : 0};
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
  plan->sum_panel = choose_panel_kernel(plan);
  plan->depthwise.expand_line = SIMD_FOREACH_REAL(expand_line, plan->types.sum_bytes == 8);
  HR_TRY(pack_constant(target, plan));
  out->scratch_bytes = direct_plan_scratch(plan);
  out->plan = plan;
  describe_parts(plan, out);
  return NULL;
}
