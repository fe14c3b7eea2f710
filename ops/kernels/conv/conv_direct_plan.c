/* How a convolution by taps is done: types, phases, blocks, and where everything goes. */
#include "ops/kernels/conv/conv_direct.h"
#include "ops/kernels/simd/simd_target.h"

#define CHUNK_BYTES (128 << 10) /* of a strip at once: a part of the second cache */
#define TERM_UNIT 16            /* of a tap at once, at least */
#define BLOCK_BYTES (384 << 10) /* of a block's input and results: a part of it too */
#define TABLE_BYTES (128 << 10) /* of its pointers */
#define MIN_POSITIONS 32        /* of a block: weights must be used often enough */
#define MAX_POSITIONS 512
#define MERGED_CHANNELS 32 /* with no more of them the taps of a row are one */
#define LEAST_TERMS 8      /* of a tap: with fewer other ways are better, */
#define LEAST_FEW_TERMS 3  /* but not if columns fill no more than half a vector */
#define MAX_DEPTHWISE_TERMS \
  16                     /* of columns that are taken together though they are of several groups */
#define SPARSE_FLOPS 2e7 /* vectors may be half empty if there is no more to do */
#define FEW_COLUMNS 4
#define MOST_PHASES 64
#define MOST_TAPS 65536

int64_t direct_k_block(const conv_direct_t *plan, const direct_phase_t *phase) {
  if (plan->narrow_n || plan->depthwise) return phase->k;
  int64_t pieces = hr_div_ceil(phase->k * phase->taps * plan->width * plan->in_bytes, CHUNK_BYTES);
  pieces = hr_min(hr_max(pieces, 1), hr_div_ceil(phase->k, TERM_UNIT));
  return hr_div_ceil(hr_div_ceil(phase->k, pieces), TERM_UNIT) * TERM_UNIT;
}

static bool is_float(hr_dtype_t dtype, hr_dtype_t real) {
  return dtype == real || (hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == real);
}

/* How terms are multiplied: several at once, or widened. False: not at all. */
static bool plan_types(conv_direct_t *plan) {
  const matmul_types_t *t = &plan->problem->types;
  bool bytes = (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 && t->out == HR_S32;
  bool halves = t->lhs == HR_BF16 && t->rhs == HR_BF16 && (t->out == HR_BF16 || t->out == HR_F32);
  if (t->is_complex || ((bytes || halves) && cpu_has_amx())) return false;
  plan->k_group = bytes && cpu_has_avx512_vnni() ? 4 : halves && cpu_has_avx512_bf16() ? 2 : 1;
  if (plan->k % plan->k_group != 0 || plan->depthwise) plan->k_group = 1;
  plan->bytes = t->element_bytes;
  plan->in_bytes = plan->bytes / plan->k_group;
  plan->out_bytes = (int64_t)hr_dtype_bytes(t->out);
  plan->flips_sign = t->lhs == HR_S8;
  plan->narrows_result = t->out != t->real && plan->k_group < 4;
  plan->widens_operand[0] = plan->k_group == 1 && t->lhs != t->real;
  plan->widens_operand[1] = plan->k_group == 1 && t->rhs != t->real;
  if (plan->k_group > 1) return true;
  return (t->real == HR_F32 || t->real == HR_F64) && is_float(t->lhs, t->real) &&
         is_float(t->rhs, t->real) && is_float(t->out, t->real);
}

/* What is read and what is made, whichever of the forward arrays they are. */
static void plan_sides(conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  bool forward = p->kind == CONV_FORWARD;
  plan->input = p->arrays[conv_role_lhs(p->kind)];
  plan->output = p->arrays[conv_role_out(p->kind)];
  plan->input_sizes = forward ? p->in : p->out;
  plan->output_sizes = forward ? p->out : p->in;
  plan->k = forward ? p->in_channels : p->out_channels;
  plan->n = forward ? p->out_channels : p->in_channels;
  plan->k_stride = forward ? wei->inner : wei->outer;
  plan->n_stride = forward ? wei->outer : wei->inner;
  plan->groups = p->groups;
  plan->fused_groups = 1;
  plan->channels = plan->position_elements = plan->k;
}

static int64_t lanes_of(int64_t bytes) {
  return (simd_width() == SIMD_512 ? 64 : simd_width() == SIMD_256 ? 32 : 16) / bytes;
}

/* How many groups are taken together: all, or, if a region must have their channels several times,
 * no more than have the columns of a strip. */
static int64_t joined_groups(const conv_direct_t *plan, int64_t width) {
  if (plan->n == 1 && plan->k == 1) return plan->groups;
  int64_t joined = hr_max(1, width / plan->n);
  while (plan->groups % joined != 0) joined--;
  return joined * plan->n * 4 > width * 3 ? joined : plan->groups;
}

/* Groups that do not fill vectors of columns are taken together. */
static void join_groups(conv_direct_t *plan) {
  int64_t lanes = lanes_of(plan->problem->types.element_bytes);
  bool sparse = plan->n * 2 < lanes;
  bool few = plan->k < LEAST_TERMS && plan->n < lanes;
  plan->depthwise = plan->groups > 1 && (few || (sparse && plan->k <= MAX_DEPTHWISE_TERMS)) &&
                    plan->n * plan->groups * 2 >= lanes;
  if (!plan->depthwise) return;
  plan->fused_groups = joined_groups(plan, 4 * lanes);
  plan->n *= plan->fused_groups;
  plan->channels *= plan->fused_groups;
  plan->groups /= plan->fused_groups;
}

/* Vectors whose lanes are all of the two that start from the first channel among them. */
static void plan_vectors(const conv_direct_t *plan, channel_expand_t *expand) {
  for (int64_t v = 0; v < expand->count / plan->lanes; v++) {
    const int32_t *sources = expand->sources + v * plan->lanes;
    int64_t start = sources[0], end = 0;
    for (int64_t i = 0; i < plan->lanes; i++) {
      start = hr_min(start, sources[i]);
      end = hr_max(end, sources[i]);
    }
    expand->starts[v] = end - start < 2 * plan->lanes ? (int32_t)start : -1;
    for (int64_t i = v * plan->lanes; i < (v + 1) * plan->lanes; i++)
      if (plan->bytes == 8)
        ((int64_t *)expand->lanes)[i] = expand->sources[i] - start;
      else
        ((int32_t *)expand->lanes)[i] = expand->sources[i] - (int32_t)start;
  }
}

/* The first terms of all columns, then the second ones, and so on. */
static hr_status_t plan_expand(hr_arena_t *arena, conv_direct_t *plan) {
  channel_expand_t *expand = &plan->expand;
  int64_t each = plan->n / plan->fused_groups;
  plan->position_elements = expand->count = plan->k * plan->padded;
  expand->channels = plan->channels;
  plan->has_region =
      plan->position_elements != plan->channels || plan->k > 1 || plan->input.inner != 1;
  if (plan->n == plan->channels && plan->k == 1) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, plan->position_elements, &expand->sources));
  HR_TRY(HR_NEW_ARRAY(arena, plan->position_elements, &expand->starts));
  HR_TRY(hr_arena_alloc(arena, (size_t)(plan->position_elements * plan->bytes), &expand->lanes));
  for (int64_t i = 0; i < plan->position_elements; i++) {
    int64_t column = hr_min(i % plan->padded, plan->n - 1);
    expand->sources[i] = (int32_t)(column / each * plan->k + i / plan->padded);
  }
  plan_vectors(plan, expand);
  return NULL;
}

/* Rows of a tile of lanewise sums, of one or two vectors or of more: those which a line is made of
 * with the least that is made twice. */
static int64_t lanewise_rows(const conv_direct_t *plan, bool broad) {
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t count =
      hr_div_ceil(plan->output_sizes[last], p->kind == CONV_FORWARD ? 1 : p->stride[last]);
  int64_t other = broad ? 6 : 8;
  return hr_div_ceil(count, other) * other < hr_div_ceil(count, 7) * 7 ? other : 7;
}

/* Tiles: as many sums as registers hold. */
static void plan_tiles(conv_direct_t *plan) {
  bool wide = simd_width() == SIMD_512;
  plan->lanes = lanes_of(plan->bytes);
  plan->narrow_n = plan->n <= FEW_COLUMNS && plan->n < plan->lanes && plan->k_group == 1 &&
                   plan->k % plan->lanes == 0 && plan->groups == 1 && !plan->depthwise;
  plan->padded = hr_div_ceil(plan->n, plan->lanes) * plan->lanes;
  bool broad = wide && plan->padded > 2 * plan->lanes;
  plan->rows = broad ? 6 : wide ? 8 : 4;
  plan->width = (broad ? 4 : 2) * plan->lanes;
  if (plan->depthwise && wide) plan->rows = lanewise_rows(plan, broad);
  if (plan->narrow_n) {
    plan->rows = 4;
    plan->width = plan->padded = plan->n;
  }
  plan->panels = hr_div_ceil(plan->n, plan->width);
  plan->has_copy = plan->output.inner != 1 || plan->padded != plan->n || plan->narrows_result;
}

/* Whether some result of the axis meets the input there. */
static bool meets_input(const direct_axis_t *axis, int64_t start, int64_t size) {
  int64_t first = start < 0 ? hr_div_ceil(-start, axis->in_stride) : 0;
  return first < axis->count && start + first * axis->in_stride < size;
}

/* Taps of a dimension; with holes those of the results that are `first` modulo their width. */
static hr_status_t plan_axis(hr_arena_t *arena, const conv_direct_t *plan, int d, int64_t first,
                             direct_axis_t *axis) {
  const conv_problem_t *p = plan->problem;
  bool forward = p->kind == CONV_FORWARD;
  axis->first = first;
  axis->stride = forward ? 1 : p->stride[d];
  axis->in_stride = forward ? p->stride[d] : 1;
  axis->count = hr_div_ceil(plan->output_sizes[d] - first, axis->stride);
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->starts));
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->elements));
  for (int64_t i = 0; i < p->window[d]; i++) {
    int64_t k = forward ? i : p->window[d] - 1 - i;
    int64_t start =
        forward ? k * p->dilation[d] - p->low[d] : first + p->low[d] - k * p->dilation[d];
    if (!forward && start % p->stride[d] != 0) continue;
    if (!forward) start /= p->stride[d];
    if (!meets_input(axis, start, plan->input_sizes[d])) continue;
    axis->starts[axis->taps] = start;
    axis->elements[axis->taps++] = k;
  }
  return NULL;
}

/* Phases by their number: the remainders of all dimensions. */
static hr_status_t plan_phases(hr_arena_t *arena, conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t counts[CONV_MAX_SPATIAL];
  plan->phase_count = 1;
  for (int d = 0; d < p->spatial; d++) {
    counts[d] = p->kind == CONV_FORWARD ? 1 : hr_min(p->stride[d], plan->output_sizes[d]);
    plan->phase_count *= (int)counts[d];
  }
  HR_TRY(HR_NEW_ARRAY(arena, plan->phase_count, &plan->phases));
  for (int i = 0; i < plan->phase_count; i++) {
    direct_phase_t *phase = &plan->phases[i];
    int64_t rest = i;
    phase->taps = 1;
    phase->k = plan->k;
    for (int d = p->spatial - 1; d >= 0; rest /= counts[d--]) {
      HR_TRY(plan_axis(arena, plan, d, rest % counts[d], &phase->axes[d]));
      phase->taps *= phase->axes[d].taps;
    }
  }
  return NULL;
}

/* Whether the taps of a row can be read as one from a region. */
static bool may_merge(const conv_direct_t *plan) {
  int last = plan->problem->spatial - 1;
  for (int i = 0; i < plan->phase_count; i++)
    if (direct_tap_span(&plan->phases[i].axes[last]) + 1 != plan->phases[i].axes[last].taps)
      return false;
  return plan->problem->window[last] > 1;
}

/* How many taps a row of the window has if these are next to each other, as are the places of
 * results next to each other, and tiles exist for so many; otherwise 0. */
static int64_t sliding_taps(const conv_direct_t *plan) {
  const direct_axis_t *axis = &plan->phases[0].axes[plan->problem->spatial - 1];
  bool near =
      plan->phase_count == 1 && axis->in_stride == 1 && direct_tap_span(axis) + 1 == axis->taps;
  return plan->depthwise && near && (axis->taps == 3 || axis->taps == 5) ? axis->taps : 0;
}

/* Where an image's region is, and how the taps lie in it, or in the input. */
static hr_status_t plan_offsets(hr_arena_t *arena, const conv_direct_t *plan,
                                direct_phase_t *phase) {
  int spatial = plan->problem->spatial;
  int kept = plan->merges_last_axis ? spatial - 1 : spatial;
  int64_t step = plan->position_elements;
  for (int d = spatial - 1; d >= 0; step *= phase->region[d--]) {
    phase->region[d] = (phase->axes[d].count - 1) * phase->axes[d].in_stride +
                       direct_tap_span(&phase->axes[d]) + 1;
    phase->region_strides[d] = step;
  }
  if (plan->merges_last_axis && phase->taps) {
    phase->k *= phase->axes[kept].taps;
    phase->taps /= phase->axes[kept].taps;
  }
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->offsets));
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->tap_positions));
  for (int64_t t = 0; t < phase->taps; t++)
    for (int64_t d = kept - 1, rest = t; d >= 0; rest /= phase->axes[d--].taps) {
      const int64_t *starts = phase->axes[d].starts;
      const int64_t at = rest % phase->axes[d].taps;
      if (d == spatial - 1) phase->tap_positions[t] = starts[at];
      phase->offsets[t] += plan->has_region ? (starts[at] - starts[0]) * phase->region_strides[d]
                                            : starts[at] * plan->input.spatial[d];
    }
  int64_t first = plan->merges_last_axis && !plan->has_region && phase->taps
                      ? phase->axes[kept].starts[0] * plan->k
                      : 0;
  for (int64_t t = 0; t < phase->taps; t++)
    phase->offsets[t] = (phase->offsets[t] + first) * plan->in_bytes;
  return NULL;
}

/* Lines of a block: as much as the caches hold, and as many blocks as workers can share evenly. */
static void plan_blocks(const conv_direct_t *plan, direct_phase_t *phase) {
  int64_t in_positions = 1;
  phase->line_positions = 1;
  for (int d = 0; d < plan->problem->spatial; d++) {
    if (d > 0) phase->line_positions *= phase->axes[d].count;
    in_positions *= phase->axes[d].in_stride;
  }
  phase->lines = plan->problem->batch * phase->axes[0].count;
  int64_t results = plan->padded * plan->bytes;
  if (direct_k_block(plan, phase) >= phase->k) results /= 4; /* they are written once, and may go */
  int64_t positions =
      BLOCK_BYTES / (in_positions * plan->position_elements * plan->in_bytes + results);
  positions = hr_min(hr_min(positions, MAX_POSITIONS), TABLE_BYTES / (8 * (phase->taps + 1)));
  positions = hr_max(positions, MIN_POSITIONS);
  phase->blocks = hr_div_ceil(phase->lines, hr_max(1, positions / phase->line_positions));
  if (plan->parts == 1)
    phase->blocks = hr_min(hr_workers_balance(phase->blocks, plan->workers), phase->lines);
  phase->block_lines = hr_div_ceil(phase->lines, phase->blocks);
}

/* Where lines cannot be shared out evenly, columns are. */
static bool is_uneven(const conv_direct_t *plan) {
  int64_t tiles = 0, largest = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const direct_phase_t *phase = &plan->phases[i];
    tiles += hr_div_ceil(phase->lines * phase->line_positions, plan->rows);
    int64_t rounds = hr_div_ceil(phase->blocks * plan->groups, plan->workers);
    largest += rounds * hr_div_ceil(phase->block_lines * phase->line_positions, plan->rows);
  }
  return largest * plan->workers > tiles * plan->groups * 6 / 5 && plan->panels >= plan->workers;
}

static void plan_tasks(conv_direct_t *plan) {
  plan->parts = 1;
  for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  if (is_uneven(plan)) {
    plan->parts = plan->workers;
    for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  }
  plan->part_panels = hr_div_ceil(plan->panels, plan->parts);
  plan->parts = hr_div_ceil(plan->panels, plan->part_panels);
  for (int i = 0; i < plan->phase_count; i++) {
    plan->phases[i].first_task = plan->tasks;
    plan->tasks += plan->phases[i].blocks * plan->groups * plan->parts;
  }
}

static void plan_packed(conv_direct_t *plan) {
  for (int i = 0; i < plan->phase_count; i++) {
    direct_phase_t *phase = &plan->phases[i];
    phase->packed_at = plan->group_packed;
    phase->panel = phase->taps * phase->k * plan->width;
    plan->group_packed += phase->panel * plan->panels;
  }
  plan->packed_count = plan->group_packed * plan->groups;
  size_t starts = (size_t)(plan->phase_count * plan->groups * plan->padded * plan->bytes);
  plan->packed_bytes = (size_t)(plan->packed_count * plan->in_bytes);
  plan->starts_at = scratch_reserve(&plan->packed_bytes, plan->flips_sign ? starts : 0);
}

/* Bytes of the longest block's region. Where it goes over to the next image it takes in the end of
 * one and the start of the other. */
static int64_t region_bytes(const conv_direct_t *plan, const direct_phase_t *phase) {
  const direct_axis_t *axis = &phase->axes[0];
  int64_t reach = direct_tap_span(axis) + 1;
  int64_t ends = hr_div_ceil(phase->block_lines - 1, axis->count);
  int64_t lines = (phase->block_lines - 1) * axis->in_stride + reach +
                  ends * hr_max(0, reach - axis->in_stride);
  return plan->has_region ? lines * phase->region_strides[0] * plan->in_bytes : 0;
}

static int64_t most_terms(const conv_direct_t *plan) {
  int64_t terms = 0;
  for (int i = 0; i < plan->phase_count; i++) terms = hr_max(terms, plan->phases[i].k);
  return terms;
}

/* Stretches of the longest block. */
static int64_t stretches_of(const conv_direct_t *plan, const direct_phase_t *phase) {
  int last = plan->problem->spatial - 1;
  if (last == 0) return phase->block_lines / phase->axes[0].count + 2;
  return phase->block_lines * phase->line_positions / phase->axes[last].count;
}

/* Bytes of the copies of merged taps that reach beyond the ends of lines. */
static int64_t rims_bytes(const conv_direct_t *plan, const direct_phase_t *phase) {
  const direct_axis_t *axis = &phase->axes[plan->problem->spatial - 1];
  int64_t rims = 0;
  for (int64_t x = 0; x < axis->count && axis->taps; x++) {
    int64_t low = axis->starts[0] + x * axis->in_stride;
    rims += low < 0 || low + axis->taps > plan->input_sizes[plan->problem->spatial - 1];
  }
  rims = hr_min(rims * stretches_of(plan, phase), phase->block_lines * phase->line_positions);
  return plan->merges_last_axis && !plan->has_region
             ? rims * phase->taps * phase->k * plan->in_bytes
             : 0;
}

/* The longest line of a region, as the input has it, and what vectors read past its end. */
static size_t line_bytes(const conv_direct_t *plan) {
  int64_t positions = 0;
  for (int i = 0; i < plan->phase_count; i++)
    positions = hr_max(positions, plan->phases[i].region[plan->problem->spatial - 1]);
  return (size_t)((positions * plan->channels + 3 * plan->lanes) * plan->bytes);
}

/* In a worker's space. */
static size_t assign_block_offsets(conv_direct_t *plan) {
  size_t each = 0;
  int64_t rows = 0;
  int64_t pointers = 0;
  int64_t region = 0;
  int64_t stretches = 0;
  int64_t line_live = 0;
  int64_t rims = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const direct_phase_t *phase = &plan->phases[i];
    int64_t positions =
        hr_div_ceil(phase->block_lines * phase->line_positions, plan->rows) * plan->rows;
    rows = hr_max(rows, positions);
    pointers = hr_max(pointers, positions * phase->taps);
    region = hr_max(region, region_bytes(plan, phase));
    rims = hr_max(rims, rims_bytes(plan, phase));
    stretches = hr_max(stretches, stretches_of(plan, phase));
    line_live = hr_max(line_live, stretches_of(plan, phase) * (phase->taps + 1));
  }
  plan->zeros_bytes = (size_t)(hr_max(most_terms(plan), plan->position_elements) * plan->in_bytes);
  plan->zeros_at = scratch_reserve(&each, plan->zeros_bytes);
  plan->spans_at = scratch_reserve(&each, (size_t)stretches * sizeof(direct_span_t));
  plan->lines_at = scratch_reserve(&each, (size_t)stretches * sizeof(direct_line_t));
  plan->line_live_at = scratch_reserve(&each, (size_t)line_live * sizeof(int32_t));
  plan->edge_copies_at = scratch_reserve(&each, (size_t)rims);
  plan->spare_at = scratch_reserve(&each, (size_t)(plan->padded * plan->bytes));
  plan->table_at = scratch_reserve(&each, (size_t)pointers * sizeof(void *));
  plan->live_at = scratch_reserve(&each, (size_t)(pointers + rows) * sizeof(int32_t));
  plan->results_at = scratch_reserve(&each, (size_t)rows * sizeof(void *));
  plan->region_at = scratch_reserve(&each, (size_t)region);
  plan->line_at = scratch_reserve(&each, plan->expand.sources ? line_bytes(plan) : 0);
  plan->copy_at =
      scratch_reserve(&each, plan->has_copy ? (size_t)(rows * plan->padded * plan->bytes) : 0);
  plan->narrow_at = scratch_reserve(
      &each, plan->narrows_result ? (size_t)(rows * plan->padded * plan->out_bytes) : 0);
  return each;
}

size_t direct_plan_scratch(conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *inputs[] = {&plan->input, &p->arrays[CONV_WEI]};
  size_t total = 0;
  plan->space_bytes = assign_block_offsets(plan);
  for (int i = 0; i < 2; i++)
    plan->wide_at[i] = scratch_reserve(
        &total, plan->widens_operand[i] ? (size_t)(inputs[i]->count * plan->bytes) : 0);
  plan->packed_at = scratch_reserve(&total, plan->constant_packed ? 0 : plan->packed_bytes);
  plan->spaces_at = scratch_reserve(&total, plan->space_bytes * (size_t)plan->workers);
  return total;
}

/* Few enough phases and taps. */
static bool has_form(const conv_problem_t *p) {
  double phases = 1, taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d], phases *= (double)p->stride[d];
  return p->kind != CONV_WEIGHTS && taps <= MOST_TAPS &&
         (p->kind == CONV_FORWARD || phases <= MOST_PHASES);
}

/* Places with hardly any terms, and much work on groups that do not fill vectors, are better done
 * in other ways. */
static bool is_worthwhile(const conv_direct_t *plan) {
  if (plan->depthwise) return true;
  int64_t least_terms = plan->n * 2 > plan->lanes ? LEAST_TERMS : LEAST_FEW_TERMS;
  int64_t least_columns = plan->problem->flops < SPARSE_FLOPS ? plan->lanes / 2 : plan->lanes;
  return most_terms(plan) >= least_terms && (plan->groups == 1 || plan->n >= least_columns);
}

hr_status_t direct_plan_init(hr_arena_t *arena, conv_direct_t *plan, bool *out_fits) {
  *out_fits = false;
  if (!has_form(plan->problem)) return NULL;
  plan_sides(plan);
  join_groups(plan);
  if (!plan_types(plan)) return NULL;
  plan_tiles(plan);
  HR_TRY(plan_phases(arena, plan));
  plan->merges_last_axis = plan->k <= MERGED_CHANNELS && plan->k_group == 1 && !plan->narrow_n &&
                           !plan->depthwise && may_merge(plan);
  bool in_row =
      plan->input.inner == 1 && plan->input.spatial[plan->problem->spatial - 1] == plan->k;
  plan->has_region = plan->merges_last_axis ? !in_row : plan->input.inner != 1;
  plan->tap_reuse = sliding_taps(plan);
  if (plan->depthwise) HR_TRY(plan_expand(arena, plan));
  for (int i = 0; i < plan->phase_count; i++) HR_TRY(plan_offsets(arena, plan, &plan->phases[i]));
  *out_fits = is_worthwhile(plan);
  if (!*out_fits) return NULL;
  plan_tasks(plan);
  plan_packed(plan);
  return NULL;
}
