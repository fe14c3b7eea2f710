/* Plan of a direct convolution: whether this kernel accepts the problem, and with which blocking.
 *
 * The steps, in the order of direct_plan_init:
 *   plan_gemm            which array is A and which is C; sizes of one group's product
 *   plan_fused_groups    depthwise form for groups that would leave vectors of columns half empty
 *   plan_types           VNNI or bf16 pairs as they are, other floats widened
 *   plan_tiles           register tile (rows x vectors) and width of a panel
 *   plan_phases          taps of each phase
 *   plan_offsets         addresses of the taps in the input or in the region
 *   plan_tasks           blocks of positions, and parts of the columns if blocks are too few
 *   plan_packed_weights  layout of the packed panels
 *
 * Register tiles: 8 x 2 or 6 x 4 vectors with AVX-512 (32 registers), 4 x 2 else. All is decided
 * from the sizes, the types and the processor: equal programs have equal plans. To change the
 * blocking, change the limits below or plan_tiles and plan_blocks; each tile that plan_tiles names
 * needs an instance in conv_direct_tiles.h. */
#include "ops/kernels/conv/conv_direct.h"
#include "ops/kernels/simd/simd_target.h"

#define K_BLOCK_BYTES \
  (128 << 10)     /* bytes of the packed panel of one k block: a part of the second-level cache */
#define K_UNIT 16 /* smallest k block */
#define BLOCK_BYTES \
  (384 << 10) /* bytes of a block's input and results: a part of the second-level cache */
#define INDIRECTION_BYTES (128 << 10) /* bytes of a block's indirection buffer */
#define MIN_POSITIONS 32 /* least positions of a block: each block reads all packed weights */
#define MAX_POSITIONS 512
#define MAX_MERGED_CHANNELS 32 /* most channels that are merged with the taps of a row */
#define MIN_K 8                /* least terms of a tap: with fewer im2col is faster, */
#define MIN_K_NARROW 3         /* unless the columns fill no more than half a vector */
#define MAX_DEPTHWISE_K 16     /* most terms of columns of fused groups; more fill half a vector */
#define SPARSE_FLOPS 2e7       /* FLOPs up to which vectors may be half empty */
#define MAX_NARROW_N 4
#define MAX_PHASES 64          /* most phases of a plan */
#define MAX_SPARSE_PHASES 4096 /* most phases if each meets only some of the taps */
#define LATE_POSITIONS 1024    /* most positions for which weights are packed late, */
#define LATE_BYTES (512 << 10) /* if they do not stay in the second-level cache */
#define MAX_TAPS 65536

/* Terms per pass over a block, so that a panel of weights stays in the cache: a multiple of K_UNIT,
 * in passes of equal size. */
int64_t direct_k_block(const conv_direct_t *plan, const direct_phase_t *phase) {
  if (plan->form.narrow_n || plan->form.depthwise) return phase->k;
  int64_t pieces =
      hr_div_ceil(phase->k * phase->taps * plan->tile.width * plan->types.in_bytes, K_BLOCK_BYTES);
  pieces = hr_min(hr_max(pieces, 1), hr_div_ceil(phase->k, K_UNIT));
  return hr_div_ceil(hr_div_ceil(phase->k, pieces), K_UNIT) * K_UNIT;
}

static bool computes_in(hr_dtype_t dtype, hr_dtype_t real) {
  return dtype == real || (hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == real);
}

/* Chooses k_group and the conversions. False: no kernel for these types. On processors with AMX
 * oneDNN multiplies bytes and bf16 faster. */
static bool plan_types(conv_direct_t *plan) {
  const matmul_types_t *t = &plan->problem->types;
  bool bytes = (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 && t->out == HR_S32;
  bool halves = t->lhs == HR_BF16 && t->rhs == HR_BF16 && (t->out == HR_BF16 || t->out == HR_F32);
  if (t->is_complex || ((bytes || halves) && cpu_has_amx())) return false;
  plan->types.k_group = 1;
  if (halves && cpu_has_fast_bf16()) plan->types.k_group = 2;
  if (bytes && cpu_has_avx512_vnni()) plan->types.k_group = 4;
  if (plan->gemm.k % plan->types.k_group != 0 || plan->form.depthwise) plan->types.k_group = 1;
  plan->types.sum_bytes = t->element_bytes;
  plan->types.in_bytes = plan->types.sum_bytes / plan->types.k_group;
  plan->types.out_bytes = (int64_t)hr_dtype_bytes(t->out);
  plan->types.flips_sign = t->lhs == HR_S8;
  plan->types.narrows_result = t->out != t->real && plan->types.k_group < 4;
  plan->types.widens_operand[0] = plan->types.k_group == 1 && t->lhs != t->real;
  plan->types.widens_operand[1] = plan->types.k_group == 1 && t->rhs != t->real;
  if (plan->types.k_group > 1) return true;
  return (t->real == HR_F32 || t->real == HR_F64) && computes_in(t->lhs, t->real) &&
         computes_in(t->rhs, t->real) && computes_in(t->out, t->real);
}

/* Sizes of one group's product. A data gradient is the forward convolution with input and output
 * exchanged and the weights transposed. */
static void plan_gemm(conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  bool forward = p->kind == CONV_FORWARD;
  plan->input = p->arrays[conv_role_lhs(p->kind)];
  plan->output = p->arrays[conv_role_out(p->kind)];
  plan->input_sizes = forward ? p->in : p->out;
  plan->output_sizes = forward ? p->out : p->in;
  plan->gemm.k = forward ? p->in_channels : p->out_channels;
  plan->gemm.n = forward ? p->out_channels : p->in_channels;
  plan->gemm.k_stride = forward ? wei->inner : wei->outer;
  plan->gemm.n_stride = forward ? wei->outer : wei->inner;
  plan->gemm.groups = p->groups;
  plan->gemm.fused_groups = 1;
  plan->position_elements = plan->gemm.k;
  plan->channels = plan->position_elements;
}

/* Number of groups to fuse. An expanded region repeats each channel, so at most as many groups as
 * fill a panel; all groups without expansion (one channel each). */
static int64_t choose_fused_groups(const conv_direct_t *plan, int64_t width) {
  if (plan->gemm.n == 1 && plan->gemm.k == 1) return plan->gemm.groups;
  int64_t fused = hr_max(1, width / plan->gemm.n);
  while (plan->gemm.groups % fused != 0) fused--;
  return fused * plan->gemm.n * 4 > width * 3 ? fused : plan->gemm.groups;
}

/* Fuses groups whose columns would not fill vectors (mostly depthwise convolutions). */
static void plan_fused_groups(conv_direct_t *plan) {
  int64_t lanes = gemm_vector_bytes() / plan->problem->types.element_bytes;
  bool sparse = plan->gemm.n * 2 < lanes;
  bool few = plan->gemm.k < MIN_K && plan->gemm.n < lanes;
  plan->form.depthwise = plan->gemm.groups > 1 &&
                         (few || (sparse && plan->gemm.k <= MAX_DEPTHWISE_K)) &&
                         plan->gemm.n * plan->gemm.groups * 2 >= lanes;
  if (!plan->form.depthwise) return;
  plan->gemm.fused_groups = choose_fused_groups(plan, 4 * lanes);
  plan->gemm.n *= plan->gemm.fused_groups;
  plan->channels *= plan->gemm.fused_groups;
  plan->gemm.groups /= plan->gemm.fused_groups;
}

/* Finds the vectors whose lanes all come from two source vectors: one permutation makes them. */
static void plan_expand_vectors(const conv_direct_t *plan, channel_expand_t *expand) {
  for (int64_t v = 0; v < expand->count / plan->tile.lanes; v++) {
    const int32_t *sources = expand->sources + v * plan->tile.lanes;
    int64_t start = sources[0], end = 0;
    for (int64_t i = 0; i < plan->tile.lanes; i++) {
      start = hr_min(start, sources[i]);
      end = hr_max(end, sources[i]);
    }
    expand->starts[v] = end - start < 2 * plan->tile.lanes ? (int32_t)start : -1;
    for (int64_t i = v * plan->tile.lanes; i < (v + 1) * plan->tile.lanes; i++)
      if (plan->types.sum_bytes == 8)
        ((int64_t *)expand->lanes)[i] = expand->sources[i] - start;
      else
        ((int32_t *)expand->lanes)[i] = expand->sources[i] - (int32_t)start;
  }
}

/* Element i of an expanded position is term i / padded_n of column i % padded_n: the first terms of
 * all columns, then the second ones. */
static hr_status_t plan_expand(hr_arena_t *arena, conv_direct_t *plan) {
  channel_expand_t *expand = &plan->depthwise.expand;
  int64_t each = plan->gemm.n / plan->gemm.fused_groups;
  expand->count = plan->gemm.k * plan->tile.padded_n;
  plan->position_elements = expand->count;
  expand->channels = plan->channels;
  plan->form.has_region =
      plan->position_elements != plan->channels || plan->gemm.k > 1 || plan->input.inner != 1;
  if (plan->gemm.n == plan->channels && plan->gemm.k == 1) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, plan->position_elements, &expand->sources));
  HR_TRY(HR_NEW_ARRAY(arena, plan->position_elements, &expand->starts));
  HR_TRY(hr_arena_alloc(arena, (size_t)(plan->position_elements * plan->types.sum_bytes),
                        &expand->lanes));
  for (int64_t i = 0; i < plan->position_elements; i++) {
    int64_t column = hr_min(i % plan->tile.padded_n, plan->gemm.n - 1);
    expand->sources[i] = (int32_t)(column / each * plan->gemm.k + i / plan->tile.padded_n);
  }
  plan_expand_vectors(plan, expand);
  return NULL;
}

/* Coordinates from one result of a phase to the next. The results between them meet other taps:
 * their inputs are at other residues modulo the width of the holes. */
static int64_t phase_step(const conv_problem_t *p, int d) {
  return p->kind == CONV_DATA ? p->stride[d] : p->base[d] / hr_gcd(p->base[d], p->stride[d]);
}

/* True if holes leave each result only some taps, so that other kernels would multiply zeros. */
static bool is_sparse(const conv_problem_t *p) {
  bool sparse = conv_has_holes(p);
  for (int d = 0; d < p->spatial; d++)
    sparse |= p->kind == CONV_DATA && p->stride[d] > 1 && p->dilation[d] > 1;
  return sparse;
}

/* Rows of a depthwise tile: the count that divides a line with the fewest recomputed results.
 * `wide_panel`: with more than two vectors 6 rows fill the registers, otherwise 8; 7 always
 * fits. */
static int64_t depthwise_tile_rows(const conv_direct_t *plan, bool wide_panel) {
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t count = hr_div_ceil(plan->output_sizes[last], phase_step(p, last));
  int64_t alternative = wide_panel ? 6 : 8;
  return hr_div_ceil(count, alternative) * alternative < hr_div_ceil(count, 7) * 7 ? alternative
                                                                                   : 7;
}

/* Chooses register tile and panel width: as many accumulators as registers hold, minus those of
 * B. */
static void plan_tiles(conv_direct_t *plan) {
  bool has_512 = simd_width() == SIMD_512;
  plan->tile.lanes = gemm_vector_bytes() / plan->types.sum_bytes;
  plan->form.narrow_n = plan->gemm.n <= MAX_NARROW_N && plan->gemm.n < plan->tile.lanes &&
                        plan->types.k_group == 1 && plan->gemm.k % plan->tile.lanes == 0 &&
                        plan->gemm.groups == 1 && !plan->form.depthwise;
  plan->tile.padded_n = hr_div_ceil(plan->gemm.n, plan->tile.lanes) * plan->tile.lanes;
  bool wide_panel = has_512 && plan->tile.padded_n > 2 * plan->tile.lanes;
  plan->tile.rows = has_512 && !wide_panel ? 8 : 6;
  plan->tile.width = (wide_panel ? 4 : 2) * plan->tile.lanes;
  if (plan->form.depthwise) plan->tile.rows = has_512 ? depthwise_tile_rows(plan, wide_panel) : 4;
  if (plan->form.narrow_n) {
    plan->tile.rows = 4;
    plan->tile.padded_n = plan->gemm.n;
    plan->tile.width = plan->tile.padded_n;
  }
  plan->tile.panels = hr_div_ceil(plan->gemm.n, plan->tile.width);
  plan->form.has_copy =
      plan->output.inner != 1 || plan->tile.padded_n != plan->gemm.n || plan->types.narrows_result;
}

/* True if the tap meets the input for any result of the axis. */
static bool tap_meets_input(const direct_axis_t *axis, int64_t start, int64_t size) {
  int64_t first = start < 0 ? hr_div_ceil(-start, axis->in_stride) : 0;
  return first < axis->count && start + first * axis->in_stride < size;
}

/* Taps of one axis, for the results that are `first` modulo the phase's step. With holes of width
 * `hole` (the stride of a data gradient), tap k reads (first * stride + k * dilation - low) / hole,
 * in a data gradient (first + low - k * dilation) / hole, if that is an integer. */
static hr_status_t plan_axis(hr_arena_t *arena, const conv_direct_t *plan, int d, int64_t first,
                             direct_axis_t *axis) {
  const conv_problem_t *p = plan->problem;
  bool forward = p->kind == CONV_FORWARD;
  int64_t hole = forward ? p->base[d] : p->stride[d];
  axis->first = first;
  axis->stride = phase_step(p, d);
  axis->in_stride = forward ? p->stride[d] / hr_gcd(p->base[d], p->stride[d]) : 1;
  axis->count = hr_div_ceil(plan->output_sizes[d] - first, axis->stride);
  /* distance of taps that meet no hole */
  int64_t spacing = hole / hr_gcd(hole, p->dilation[d]);
  int64_t most = hr_div_ceil(p->window[d], spacing);
  HR_TRY(HR_NEW_ARRAY(arena, most, &axis->starts));
  HR_TRY(HR_NEW_ARRAY(arena, most, &axis->elements));
  for (int64_t i = 0, step; i < p->window[d]; i += step) {
    int64_t k = forward ? i : p->window[d] - 1 - i;
    int64_t start = forward ? first * p->stride[d] + k * p->dilation[d] - p->low[d]
                            : first + p->low[d] - k * p->dilation[d];
    step = start % hole == 0 ? spacing : 1;
    if (start % hole != 0) continue;
    start /= hole;
    if (!tap_meets_input(axis, start, plan->input_sizes[d])) continue;
    axis->starts[axis->taps] = start;
    axis->elements[axis->taps++] = k;
  }
  return NULL;
}

/* Phase i has the residues of all axes as mixed-radix digits of i. */
static hr_status_t plan_phases(hr_arena_t *arena, conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t counts[CONV_MAX_SPATIAL];
  plan->partition.phase_count = 1;
  for (int d = 0; d < p->spatial; d++) {
    counts[d] = hr_min(phase_step(p, d), plan->output_sizes[d]);
    plan->partition.phase_count *= (int)counts[d];
  }
  HR_TRY(HR_NEW_ARRAY(arena, plan->partition.phase_count, &plan->partition.phases));
  for (int i = 0; i < plan->partition.phase_count; i++) {
    direct_phase_t *phase = &plan->partition.phases[i];
    int64_t rest = i;
    phase->taps = 1;
    phase->k = plan->gemm.k;
    for (int d = p->spatial - 1; d >= 0; rest /= counts[d--]) {
      HR_TRY(plan_axis(arena, plan, d, rest % counts[d], &phase->axes[d]));
      phase->taps *= phase->axes[d].taps;
    }
  }
  return NULL;
}

/* True if the taps of a row are contiguous positions in every phase, so that they can be one
 * tap. */
static bool can_merge_row_taps(const conv_direct_t *plan) {
  int last = plan->problem->spatial - 1;
  for (int i = 0; i < plan->partition.phase_count; i++)
    if (direct_tap_span(&plan->partition.phases[i].axes[last]) + 1 !=
        plan->partition.phases[i].axes[last].taps)
      return false;
  return plan->problem->window[last] > 1;
}

/* Number of taps of a row between which a sliding tile shares loads: adjacent taps, if results are
 * adjacent, too. 0 if no such tile is compiled. */
static int64_t count_reusable_taps(const conv_direct_t *plan) {
  const direct_axis_t *axis = &plan->partition.phases[0].axes[plan->problem->spatial - 1];
  bool near = plan->partition.phase_count == 1 && axis->in_stride == 1 &&
              direct_tap_span(axis) + 1 == axis->taps;
  return plan->form.depthwise && near && (axis->taps == 3 || axis->taps == 5) ? axis->taps : 0;
}

/* Region sizes of an image, and byte offsets of the taps in the region or the input. */
static hr_status_t plan_offsets(hr_arena_t *arena, const conv_direct_t *plan,
                                direct_phase_t *phase) {
  int spatial = plan->problem->spatial;
  int outer_axes = plan->form.merges_last_axis ? spatial - 1 : spatial;
  int64_t step = plan->position_elements;
  for (int d = spatial - 1; d >= 0; step *= phase->region[d--]) {
    phase->region[d] = (phase->axes[d].count - 1) * phase->axes[d].in_stride +
                       direct_tap_span(&phase->axes[d]) + 1;
    phase->region_strides[d] = step;
  }
  if (plan->form.merges_last_axis && phase->taps) {
    phase->k *= phase->axes[outer_axes].taps;
    phase->taps /= phase->axes[outer_axes].taps;
  }
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->offsets));
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->tap_positions));
  for (int64_t t = 0; t < phase->taps; t++)
    for (int64_t d = outer_axes - 1, rest = t; d >= 0; rest /= phase->axes[d--].taps) {
      const int64_t *starts = phase->axes[d].starts;
      const int64_t at = rest % phase->axes[d].taps;
      if (d == spatial - 1) phase->tap_positions[t] = starts[at];
      phase->offsets[t] += plan->form.has_region
                               ? (starts[at] - starts[0]) * phase->region_strides[d]
                               : starts[at] * plan->input.spatial[d];
    }
  int64_t first = plan->form.merges_last_axis && !plan->form.has_region && phase->taps
                      ? phase->axes[outer_axes].starts[0] * plan->gemm.k
                      : 0;
  for (int64_t t = 0; t < phase->taps; t++)
    phase->offsets[t] = (phase->offsets[t] + first) * plan->types.in_bytes;
  return NULL;
}

/* True if weights are packed just before their use: many weights for few positions, with contiguous
 * rows or columns. */
static bool packs_late(const conv_direct_t *plan) {
  int64_t positions = 0, elements = 0;
  for (int i = 0; i < plan->partition.phase_count; i++) {
    const direct_phase_t *phase = &plan->partition.phases[i];
    int64_t results = plan->problem->batch;
    for (int d = 0; d < plan->problem->spatial; d++) results *= phase->axes[d].count;
    positions = hr_max(positions, results);
    elements += phase->taps * phase->k * plan->tile.padded_n;
  }
  return positions <= LATE_POSITIONS && elements * plan->types.in_bytes >= LATE_BYTES &&
         plan->gemm.groups == 1 && !plan->problem->constant_weights && plan->types.k_group == 1 &&
         (plan->gemm.n_stride == 1 || plan->gemm.k_stride == 1) && !plan->form.has_region &&
         !plan->form.narrow_n && !plan->form.depthwise && !plan->form.merges_last_axis;
}

/* Blocks of lines that fit the cache, and as many as workers can share evenly. If weights are
 * packed late, as few as possible, as each block packs them again. */
static void plan_blocks(const conv_direct_t *plan, direct_phase_t *phase) {
  int64_t in_positions = 1;
  phase->line_positions = 1;
  for (int d = 0; d < plan->problem->spatial; d++) {
    if (d > 0) phase->line_positions *= phase->axes[d].count;
    in_positions *= phase->axes[d].in_stride;
  }
  phase->lines = plan->problem->batch * phase->axes[0].count;
  int64_t results = plan->tile.padded_n * plan->types.sum_bytes;
  if (direct_k_block(plan, phase) >= phase->k)
    results /= 4; /* one k block: results are written once and need not stay cached */
  int64_t positions =
      BLOCK_BYTES / (in_positions * plan->position_elements * plan->types.in_bytes + results);
  positions = hr_min(hr_min(positions, MAX_POSITIONS), INDIRECTION_BYTES / (8 * (phase->taps + 1)));
  positions = hr_max(positions, plan->packed.late ? LATE_POSITIONS : MIN_POSITIONS);
  phase->blocks = hr_div_ceil(phase->lines, hr_max(1, positions / phase->line_positions));
  if (plan->packed.late)
    phase->blocks = hr_min(hr_div_ceil(plan->workers, plan->partition.parts), phase->lines);
  else if (plan->partition.parts == 1)
    phase->blocks = hr_min(hr_workers_balance(phase->blocks, plan->workers), phase->lines);
  phase->block_lines = hr_div_ceil(phase->lines, phase->blocks);
}

/* True if the slowest worker would do over 20% more than the average, and there are enough whole
 * panels to divide the columns instead. */
static bool is_load_uneven(const conv_direct_t *plan) {
  int64_t tiles = 0, largest = 0;
  for (int i = 0; i < plan->partition.phase_count; i++) {
    const direct_phase_t *phase = &plan->partition.phases[i];
    tiles += hr_div_ceil(phase->lines * phase->line_positions, plan->tile.rows);
    int64_t rounds = hr_div_ceil(phase->blocks * plan->gemm.groups, plan->workers);
    largest += rounds * hr_div_ceil(phase->block_lines * phase->line_positions, plan->tile.rows);
  }
  return largest * plan->workers > tiles * plan->gemm.groups * 6 / 5 &&
         plan->tile.panels >= plan->workers;
}

/* Workers divide positions; if these do not balance, the columns (panels) are divided, too. */
static void plan_tasks(conv_direct_t *plan) {
  plan->packed.late = packs_late(plan);
  plan->partition.parts = plan->packed.late ? hr_min(plan->tile.panels, plan->workers) : 1;
  for (int i = 0; i < plan->partition.phase_count; i++)
    plan_blocks(plan, &plan->partition.phases[i]);
  if (!plan->packed.late && is_load_uneven(plan)) {
    plan->partition.parts = plan->workers;
    for (int i = 0; i < plan->partition.phase_count; i++)
      plan_blocks(plan, &plan->partition.phases[i]);
  }
  plan->partition.part_panels = hr_div_ceil(plan->tile.panels, plan->partition.parts);
  plan->partition.parts = hr_div_ceil(plan->tile.panels, plan->partition.part_panels);
  for (int i = 0; i < plan->partition.phase_count; i++) {
    plan->partition.phases[i].first_task = plan->partition.tasks;
    plan->partition.tasks +=
        plan->partition.phases[i].blocks * plan->gemm.groups * plan->partition.parts;
  }
}

/* Panels of all phases of a group are contiguous, then the other groups, then the bias of the sign
 * flip (u8 operands are read as s8). */
static void plan_packed_weights(conv_direct_t *plan) {
  for (int i = 0; i < plan->partition.phase_count; i++) {
    direct_phase_t *phase = &plan->partition.phases[i];
    phase->packed_at = plan->packed.group_elements;
    phase->panel_elements = phase->taps * phase->k * plan->tile.width;
    plan->packed.group_elements += phase->panel_elements * plan->tile.panels;
  }
  plan->packed.elements = plan->packed.group_elements * plan->gemm.groups;
  size_t starts = (size_t)(plan->partition.phase_count * plan->gemm.groups * plan->tile.padded_n *
                           plan->types.sum_bytes);
  plan->packed.bytes = (size_t)(plan->packed.elements * plan->types.in_bytes);
  plan->packed.bias_at = scratch_reserve(&plan->packed.bytes, plan->types.flips_sign ? starts : 0);
}

int64_t direct_max_k(const conv_direct_t *plan) {
  int64_t terms = 0;
  for (int i = 0; i < plan->partition.phase_count; i++)
    terms = hr_max(terms, plan->partition.phases[i].k);
  return terms;
}

/* Limits on phases and taps, which bound the plan's memory. In doubles, as the products may
 * overflow. */
static bool has_supported_size(const conv_problem_t *p) {
  double phases = 1, taps = 1;
  for (int d = 0; d < p->spatial; d++) {
    taps *= (double)p->window[d];
    phases *= (double)phase_step(p, d);
  }
  return p->kind != CONV_WEIGHTS && taps <= MAX_TAPS &&
         phases <= (is_sparse(p) ? MAX_SPARSE_PHASES : MAX_PHASES);
}

/* True unless positions have hardly any terms, or much work is on groups that do not fill vectors:
 * im2col or oneDNN are faster then. */
static bool is_worthwhile(const conv_direct_t *plan) {
  if (plan->form.depthwise || is_sparse(plan->problem)) return true;
  int64_t min_k = plan->gemm.n * 2 > plan->tile.lanes ? MIN_K : MIN_K_NARROW;
  int64_t min_n = plan->problem->flops < SPARSE_FLOPS ? plan->tile.lanes / 2 : plan->tile.lanes;
  return direct_max_k(plan) >= min_k && (plan->gemm.groups == 1 || plan->gemm.n >= min_n);
}

/* *out_fits is false, without an error, if another kernel is faster or is required. */
hr_status_t direct_plan_init(hr_arena_t *arena, conv_direct_t *plan, bool *out_fits) {
  *out_fits = false;
  if (!has_supported_size(plan->problem)) return NULL;
  plan_gemm(plan);
  plan_fused_groups(plan);
  if (!plan_types(plan)) return NULL;
  plan_tiles(plan);
  HR_TRY(plan_phases(arena, plan));
  plan->form.merges_last_axis = plan->gemm.k <= MAX_MERGED_CHANNELS && plan->types.k_group == 1 &&
                                !plan->form.narrow_n && !plan->form.depthwise &&
                                can_merge_row_taps(plan);
  bool in_row =
      plan->input.inner == 1 && plan->input.spatial[plan->problem->spatial - 1] == plan->gemm.k;
  plan->form.has_region = plan->form.merges_last_axis ? !in_row : plan->input.inner != 1;
  plan->depthwise.tap_reuse = count_reusable_taps(plan);
  if (plan->form.depthwise) HR_TRY(plan_expand(arena, plan));
  for (int i = 0; i < plan->partition.phase_count; i++)
    HR_TRY(plan_offsets(arena, plan, &plan->partition.phases[i]));
  *out_fits = is_worthwhile(plan);
  if (!*out_fits) return NULL;
  plan_tasks(plan);
  plan_packed_weights(plan);
  return plan->packed.late ? direct_plan_weight_offsets(arena, plan) : NULL;
}
