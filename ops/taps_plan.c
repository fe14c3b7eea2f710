/* How a convolution by taps is done: types, phases, blocks, and where everything goes. */
#include "ops/native_cpu.h"
#include "ops/taps.h"

#define CHUNK_BYTES (128 << 10)  /* of a strip at once: a part of the second cache */
#define TERM_UNIT 16             /* of a tap at once, at least */
#define BLOCK_BYTES (384 << 10)  /* of a block's input and results: a part of it too */
#define TABLE_BYTES (128 << 10)  /* of its pointers */
#define LEAST_PLACES 32          /* of a block: weights must be used often enough */
#define MOST_PLACES 512
#define MERGED_CHANNELS 32       /* with no more of them the taps of a row are one */
#define LEAST_TERMS 8            /* of a tap: with fewer other ways are better, */
#define LEAST_FEW_TERMS 3        /* but not if columns fill no more than half a vector */
#define MOST_OWN_TERMS 16        /* of columns that are taken together though they are of several groups */
#define SPARSE_FLOPS 2e7         /* vectors may be half empty if there is no more to do */
#define FEW_COLUMNS 4
#define MOST_PHASES 64
#define MOST_TAPS 65536

int64_t taps_piece(const conv_taps_t *plan, const taps_phase_t *phase) {
  if (plan->few || plan->lanewise) return phase->terms;
  int64_t pieces = taps_divide_up(phase->terms * phase->taps * plan->width * plan->in_bytes, CHUNK_BYTES);
  pieces = taps_least(taps_most(pieces, 1), taps_divide_up(phase->terms, TERM_UNIT));
  return taps_divide_up(taps_divide_up(phase->terms, pieces), TERM_UNIT) * TERM_UNIT;
}

static bool is_float(hr_dtype_t dtype, hr_dtype_t real) {
  return dtype == real || (hr_dtype_is_float(dtype) && hr_dtype_table[dtype].compute == real);
}

/* How terms are multiplied: several at once, or widened. False: not at all. */
static bool plan_types(conv_taps_t *plan) {
  const matmul_types_t *t = &plan->problem->types;
  bool bytes = (t->lhs == HR_S8 || t->lhs == HR_U8) && t->rhs == HR_S8 && t->out == HR_S32;
  bool halves = t->lhs == HR_BF16 && t->rhs == HR_BF16 && (t->out == HR_BF16 || t->out == HR_F32);
  if (t->is_complex || ((bytes || halves) && native_has_matrices())) return false;
  plan->unit = bytes && native_has_fours() ? 4 : halves && native_has_pairs() ? 2 : 1;
  if (plan->terms % plan->unit != 0 || plan->lanewise) plan->unit = 1;
  plan->bytes = t->element_bytes, plan->in_bytes = plan->bytes / plan->unit;
  plan->out_bytes = (int64_t)hr_dtype_bytes(t->out);
  plan->flips = t->lhs == HR_S8, plan->narrows = t->out != t->real && plan->unit < 4;
  plan->widens[0] = plan->unit == 1 && t->lhs != t->real, plan->widens[1] = plan->unit == 1 && t->rhs != t->real;
  if (plan->unit > 1) return true;
  return (t->real == HR_F32 || t->real == HR_F64) && is_float(t->lhs, t->real) && is_float(t->rhs, t->real) &&
         is_float(t->out, t->real);
}

/* What is read and what is made, whichever of the forward arrays they are. */
static void plan_sides(conv_taps_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *wei = &p->arrays[CONV_WEI];
  bool forward = p->kind == CONV_FORWARD;
  plan->from = p->arrays[conv_role_lhs(p->kind)], plan->to = p->arrays[conv_role_out(p->kind)];
  plan->from_sizes = forward ? p->in : p->out, plan->to_sizes = forward ? p->out : p->in;
  plan->terms = forward ? p->in_channels : p->out_channels, plan->columns = forward ? p->out_channels : p->in_channels;
  plan->term_step = forward ? wei->inner : wei->outer, plan->column_step = forward ? wei->outer : wei->inner;
  plan->groups = p->groups, plan->joined = 1, plan->channels = plan->place = plan->terms;
}

static int64_t lanes_of(int64_t bytes) {
  return (native_width() == NATIVE_WIDE ? 64 : native_width() == NATIVE_MIDDLE ? 32 : 16) / bytes;
}

/* How many groups are taken together: all, or, if a region must have their channels several times, no more than have
 * the columns of a strip. */
static int64_t joined_groups(const conv_taps_t *plan, int64_t width) {
  if (plan->columns == 1 && plan->terms == 1) return plan->groups;
  int64_t joined = taps_most(1, width / plan->columns);
  while (plan->groups % joined != 0) joined--;
  return joined * plan->columns * 4 > width * 3 ? joined : plan->groups;
}

/* Groups that do not fill vectors of columns are taken together. */
static void join_groups(conv_taps_t *plan) {
  int64_t lanes = lanes_of(plan->problem->types.element_bytes);
  bool sparse = plan->columns * 2 < lanes, few = plan->terms < LEAST_TERMS && plan->columns < lanes;
  plan->lanewise = plan->groups > 1 && (few || (sparse && plan->terms <= MOST_OWN_TERMS)) &&
                   plan->columns * plan->groups * 2 >= lanes;
  if (!plan->lanewise) return;
  plan->joined = joined_groups(plan, 4 * lanes);
  plan->columns *= plan->joined, plan->channels *= plan->joined, plan->groups /= plan->joined;
}

/* Vectors whose lanes are all of the two that start from the first channel among them. */
static void plan_vectors(const conv_taps_t *plan, tap_spread_t *spread) {
  for (int64_t v = 0; v < spread->count / plan->lanes; v++) {
    const int32_t *sources = spread->sources + v * plan->lanes;
    int64_t start = sources[0], end = 0;
    for (int64_t i = 0; i < plan->lanes; i++)
      start = taps_least(start, sources[i]), end = taps_most(end, sources[i]);
    spread->starts[v] = end - start < 2 * plan->lanes ? (int32_t)start : -1;
    for (int64_t i = v * plan->lanes; i < (v + 1) * plan->lanes; i++)
      if (plan->bytes == 8)
        ((int64_t *)spread->lanes)[i] = spread->sources[i] - start;
      else
        ((int32_t *)spread->lanes)[i] = spread->sources[i] - (int32_t)start;
  }
}

/* The first terms of all columns, then the second ones, and so on. */
static hr_status_t plan_spread(hr_arena_t *arena, conv_taps_t *plan) {
  tap_spread_t *spread = &plan->spread;
  int64_t each = plan->columns / plan->joined;
  plan->place = spread->count = plan->terms * plan->padded, spread->channels = plan->channels;
  plan->has_region = plan->place != plan->channels || plan->terms > 1 || plan->from.inner != 1;
  if (plan->columns == plan->channels && plan->terms == 1) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, plan->place, &spread->sources));
  HR_TRY(HR_NEW_ARRAY(arena, plan->place, &spread->starts));
  HR_TRY(hr_arena_alloc(arena, (size_t)(plan->place * plan->bytes), &spread->lanes));
  for (int64_t i = 0; i < plan->place; i++) {
    int64_t column = taps_least(i % plan->padded, plan->columns - 1);
    spread->sources[i] = (int32_t)(column / each * plan->terms + i / plan->padded);
  }
  plan_vectors(plan, spread);
  return NULL;
}

/* Rows of a tile of lanewise sums, of one or two vectors or of more: those which a line is made of with the least that
 * is made twice. */
static int64_t lanewise_rows(const conv_taps_t *plan, bool broad) {
  const conv_problem_t *p = plan->problem;
  int last = p->spatial - 1;
  int64_t count = taps_divide_up(plan->to_sizes[last], p->kind == CONV_FORWARD ? 1 : p->stride[last]);
  int64_t other = broad ? 6 : 8;
  return taps_divide_up(count, other) * other < taps_divide_up(count, 7) * 7 ? other : 7;
}

/* Tiles: as many sums as registers hold. */
static void plan_tiles(conv_taps_t *plan) {
  bool wide = native_width() == NATIVE_WIDE;
  plan->lanes = lanes_of(plan->bytes);
  plan->few = plan->columns <= FEW_COLUMNS && plan->columns < plan->lanes && plan->unit == 1 &&
              plan->terms % plan->lanes == 0 && plan->groups == 1 && !plan->lanewise;
  plan->padded = taps_divide_up(plan->columns, plan->lanes) * plan->lanes;
  bool broad = wide && plan->padded > 2 * plan->lanes;
  plan->rows = broad ? 6 : wide ? 8 : 4, plan->width = (broad ? 4 : 2) * plan->lanes;
  if (plan->lanewise && wide) plan->rows = lanewise_rows(plan, broad);
  if (plan->few) plan->rows = 4, plan->width = plan->padded = plan->columns;
  plan->strips = taps_divide_up(plan->columns, plan->width);
  plan->has_copy = plan->to.inner != 1 || plan->padded != plan->columns || plan->narrows;
}

/* Whether some result of the axis meets the input there. */
static bool meets_input(const taps_axis_t *axis, int64_t start, int64_t size) {
  int64_t first = start < 0 ? taps_divide_up(-start, axis->in_step) : 0;
  return first < axis->count && start + first * axis->in_step < size;
}

/* Taps of a dimension; with holes those of the results that are `first` modulo their width. */
static hr_status_t plan_axis(hr_arena_t *arena, const conv_taps_t *plan, int d, int64_t first, taps_axis_t *axis) {
  const conv_problem_t *p = plan->problem;
  bool forward = p->kind == CONV_FORWARD;
  axis->first = first, axis->step = forward ? 1 : p->stride[d], axis->in_step = forward ? p->stride[d] : 1;
  axis->count = taps_divide_up(plan->to_sizes[d] - first, axis->step);
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->starts));
  HR_TRY(HR_NEW_ARRAY(arena, p->window[d], &axis->elements));
  for (int64_t i = 0; i < p->window[d]; i++) {
    int64_t k = forward ? i : p->window[d] - 1 - i;
    int64_t start = forward ? k * p->dilation[d] - p->low[d] : first + p->low[d] - k * p->dilation[d];
    if (!forward && start % p->stride[d] != 0) continue;
    if (!forward) start /= p->stride[d];
    if (!meets_input(axis, start, plan->from_sizes[d])) continue;
    axis->starts[axis->taps] = start, axis->elements[axis->taps++] = k;
  }
  return NULL;
}

/* Phases by their number: the remainders of all dimensions. */
static hr_status_t plan_phases(hr_arena_t *arena, conv_taps_t *plan) {
  const conv_problem_t *p = plan->problem;
  int64_t counts[CONV_MAX_SPATIAL];
  plan->phase_count = 1;
  for (int d = 0; d < p->spatial; d++) {
    counts[d] = p->kind == CONV_FORWARD ? 1 : taps_least(p->stride[d], plan->to_sizes[d]);
    plan->phase_count *= (int)counts[d];
  }
  HR_TRY(HR_NEW_ARRAY(arena, plan->phase_count, &plan->phases));
  for (int i = 0; i < plan->phase_count; i++) {
    taps_phase_t *phase = &plan->phases[i];
    int64_t rest = i;
    phase->taps = 1, phase->terms = plan->terms;
    for (int d = p->spatial - 1; d >= 0; rest /= counts[d--]) {
      HR_TRY(plan_axis(arena, plan, d, rest % counts[d], &phase->axes[d]));
      phase->taps *= phase->axes[d].taps;
    }
  }
  return NULL;
}

/* Whether the taps of a row can be read as one from a region. */
static bool may_merge(const conv_taps_t *plan) {
  int last = plan->problem->spatial - 1;
  for (int i = 0; i < plan->phase_count; i++)
    if (taps_span(&plan->phases[i].axes[last]) + 1 != plan->phases[i].axes[last].taps) return false;
  return plan->problem->window[last] > 1;
}

/* How many taps a row of the window has if these are next to each other, as are the places of results next to each
 * other, and tiles exist for so many; otherwise 0. */
static int64_t sliding_taps(const conv_taps_t *plan) {
  const taps_axis_t *axis = &plan->phases[0].axes[plan->problem->spatial - 1];
  bool near = plan->phase_count == 1 && axis->in_step == 1 && taps_span(axis) + 1 == axis->taps;
  return plan->lanewise && near && (axis->taps == 3 || axis->taps == 5) ? axis->taps : 0;
}

/* Where an image's region is, and how the taps lie in it, or in the input. */
static hr_status_t plan_offsets(hr_arena_t *arena, const conv_taps_t *plan, taps_phase_t *phase) {
  int spatial = plan->problem->spatial, kept = plan->merges ? spatial - 1 : spatial;
  int64_t step = plan->place;
  for (int d = spatial - 1; d >= 0; step *= phase->region[d--]) {
    phase->region[d] = (phase->axes[d].count - 1) * phase->axes[d].in_step + taps_span(&phase->axes[d]) + 1;
    phase->region_steps[d] = step;
  }
  if (plan->merges && phase->taps)
    phase->terms *= phase->axes[kept].taps, phase->taps /= phase->axes[kept].taps;
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->offsets));
  HR_TRY(HR_NEW_ARRAY(arena, phase->taps, &phase->along));
  for (int64_t t = 0; t < phase->taps; t++)
    for (int64_t d = kept - 1, rest = t; d >= 0; rest /= phase->axes[d--].taps) {
      const int64_t *starts = phase->axes[d].starts, at = rest % phase->axes[d].taps;
      if (d == spatial - 1) phase->along[t] = starts[at];
      phase->offsets[t] += plan->has_region ? (starts[at] - starts[0]) * phase->region_steps[d]
                                            : starts[at] * plan->from.spatial[d];
    }
  int64_t first = plan->merges && !plan->has_region && phase->taps ? phase->axes[kept].starts[0] * plan->terms : 0;
  for (int64_t t = 0; t < phase->taps; t++) phase->offsets[t] = (phase->offsets[t] + first) * plan->in_bytes;
  return NULL;
}

/* Lines of a block: as much as the caches hold, and as many blocks as workers can share evenly. */
static void plan_blocks(const conv_taps_t *plan, taps_phase_t *phase) {
  int64_t in_places = 1;
  phase->line_places = 1;
  for (int d = 0; d < plan->problem->spatial; d++) {
    if (d > 0) phase->line_places *= phase->axes[d].count;
    in_places *= phase->axes[d].in_step;
  }
  phase->lines = plan->problem->batch * phase->axes[0].count;
  int64_t results = plan->padded * plan->bytes;
  if (taps_piece(plan, phase) >= phase->terms) results /= 4; /* they are written once, and may go */
  int64_t places = BLOCK_BYTES / (in_places * plan->place * plan->in_bytes + results);
  places = taps_least(taps_least(places, MOST_PLACES), TABLE_BYTES / (8 * (phase->taps + 1)));
  places = taps_most(places, LEAST_PLACES);
  phase->blocks = taps_divide_up(phase->lines, taps_most(1, places / phase->line_places));
  if (plan->parts == 1) phase->blocks = taps_least(hr_workers_even(phase->blocks, plan->workers), phase->lines);
  phase->block_lines = taps_divide_up(phase->lines, phase->blocks);
}

/* Where lines cannot be shared out evenly, columns are. */
static bool is_uneven(const conv_taps_t *plan) {
  int64_t tiles = 0, largest = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const taps_phase_t *phase = &plan->phases[i];
    tiles += taps_divide_up(phase->lines * phase->line_places, plan->rows);
    int64_t rounds = taps_divide_up(phase->blocks * plan->groups, plan->workers);
    largest += rounds * taps_divide_up(phase->block_lines * phase->line_places, plan->rows);
  }
  return largest * plan->workers > tiles * plan->groups * 6 / 5 && plan->strips >= plan->workers;
}

static void plan_tasks(conv_taps_t *plan) {
  plan->parts = 1;
  for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  if (is_uneven(plan)) {
    plan->parts = plan->workers;
    for (int i = 0; i < plan->phase_count; i++) plan_blocks(plan, &plan->phases[i]);
  }
  plan->part_strips = taps_divide_up(plan->strips, plan->parts);
  plan->parts = taps_divide_up(plan->strips, plan->part_strips);
  for (int i = 0; i < plan->phase_count; i++) {
    plan->phases[i].first_task = plan->tasks;
    plan->tasks += plan->phases[i].blocks * plan->groups * plan->parts;
  }
}

static void plan_packed(conv_taps_t *plan) {
  for (int i = 0; i < plan->phase_count; i++) {
    taps_phase_t *phase = &plan->phases[i];
    phase->packed_at = plan->group_packed, phase->strip = phase->taps * phase->terms * plan->width;
    plan->group_packed += phase->strip * plan->strips;
  }
  plan->packed_count = plan->group_packed * plan->groups;
  size_t starts = (size_t)(plan->phase_count * plan->groups * plan->padded * plan->bytes);
  plan->packed_bytes = (size_t)(plan->packed_count * plan->in_bytes);
  plan->starts_at = native_take(&plan->packed_bytes, plan->flips ? starts : 0);
}

/* Bytes of the longest block's region. Where it goes over to the next image it takes in the end of one and the start of
 * the other. */
static int64_t region_bytes(const conv_taps_t *plan, const taps_phase_t *phase) {
  const taps_axis_t *axis = &phase->axes[0];
  int64_t reach = taps_span(axis) + 1, ends = taps_divide_up(phase->block_lines - 1, axis->count);
  int64_t lines = (phase->block_lines - 1) * axis->in_step + reach + ends * taps_most(0, reach - axis->in_step);
  return plan->has_region ? lines * phase->region_steps[0] * plan->in_bytes : 0;
}

static int64_t most_terms(const conv_taps_t *plan) {
  int64_t terms = 0;
  for (int i = 0; i < plan->phase_count; i++) terms = taps_most(terms, plan->phases[i].terms);
  return terms;
}

/* Stretches of the longest block. */
static int64_t stretches_of(const conv_taps_t *plan, const taps_phase_t *phase) {
  int last = plan->problem->spatial - 1;
  if (last == 0) return phase->block_lines / phase->axes[0].count + 2;
  return phase->block_lines * phase->line_places / phase->axes[last].count;
}

/* Bytes of the copies of merged taps that reach beyond the ends of lines. */
static int64_t rims_bytes(const conv_taps_t *plan, const taps_phase_t *phase) {
  const taps_axis_t *axis = &phase->axes[plan->problem->spatial - 1];
  int64_t rims = 0;
  for (int64_t x = 0; x < axis->count && axis->taps; x++) {
    int64_t low = axis->starts[0] + x * axis->in_step;
    rims += low < 0 || low + axis->taps > plan->from_sizes[plan->problem->spatial - 1];
  }
  rims = taps_least(rims * stretches_of(plan, phase), phase->block_lines * phase->line_places);
  return plan->merges && !plan->has_region ? rims * phase->taps * phase->terms * plan->in_bytes : 0;
}

/* The longest line of a region, as the input has it, and what vectors read past its end. */
static size_t line_bytes(const conv_taps_t *plan) {
  int64_t places = 0;
  for (int i = 0; i < plan->phase_count; i++)
    places = taps_most(places, plan->phases[i].region[plan->problem->spatial - 1]);
  return (size_t)((places * plan->channels + 3 * plan->lanes) * plan->bytes);
}

/* In a worker's space. */
static size_t place_block(conv_taps_t *plan) {
  size_t each = 0;
  int64_t rows = 0, pointers = 0, region = 0, stretches = 0, line_live = 0, rims = 0;
  for (int i = 0; i < plan->phase_count; i++) {
    const taps_phase_t *phase = &plan->phases[i];
    int64_t places = taps_divide_up(phase->block_lines * phase->line_places, plan->rows) * plan->rows;
    rows = taps_most(rows, places), pointers = taps_most(pointers, places * phase->taps);
    region = taps_most(region, region_bytes(plan, phase)), rims = taps_most(rims, rims_bytes(plan, phase));
    stretches = taps_most(stretches, stretches_of(plan, phase));
    line_live = taps_most(line_live, stretches_of(plan, phase) * (phase->taps + 1));
  }
  plan->zeros_bytes = (size_t)(taps_most(most_terms(plan), plan->place) * plan->in_bytes);
  plan->zeros_at = native_take(&each, plan->zeros_bytes);
  plan->stretches_at = native_take(&each, (size_t)stretches * sizeof(taps_stretch_t));
  plan->lines_at = native_take(&each, (size_t)stretches * sizeof(tap_line_t));
  plan->line_live_at = native_take(&each, (size_t)line_live * sizeof(int32_t));
  plan->rims_at = native_take(&each, (size_t)rims);
  plan->spare_at = native_take(&each, (size_t)(plan->padded * plan->bytes));
  plan->table_at = native_take(&each, (size_t)pointers * sizeof(void *));
  plan->live_at = native_take(&each, (size_t)(pointers + rows) * sizeof(int32_t));
  plan->results_at = native_take(&each, (size_t)rows * sizeof(void *));
  plan->region_at = native_take(&each, (size_t)region);
  plan->line_at = native_take(&each, plan->spread.sources ? line_bytes(plan) : 0);
  plan->copy_at = native_take(&each, plan->has_copy ? (size_t)(rows * plan->padded * plan->bytes) : 0);
  plan->narrow_at = native_take(&each, plan->narrows ? (size_t)(rows * plan->padded * plan->out_bytes) : 0);
  return each;
}

size_t taps_plan_place(conv_taps_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *inputs[] = {&plan->from, &p->arrays[CONV_WEI]};
  size_t total = 0;
  plan->space_bytes = place_block(plan);
  for (int i = 0; i < 2; i++)
    plan->wide_at[i] = native_take(&total, plan->widens[i] ? (size_t)(inputs[i]->count * plan->bytes) : 0);
  plan->packed_at = native_take(&total, plan->packed ? 0 : plan->packed_bytes);
  plan->spaces_at = native_take(&total, plan->space_bytes * (size_t)plan->workers);
  return total;
}

/* Few enough phases and taps. */
static bool has_form(const conv_problem_t *p) {
  double phases = 1, taps = 1;
  for (int d = 0; d < p->spatial; d++) taps *= (double)p->window[d], phases *= (double)p->stride[d];
  return p->kind != CONV_WEIGHTS && taps <= MOST_TAPS && (p->kind == CONV_FORWARD || phases <= MOST_PHASES);
}

/* Places with hardly any terms, and much work on groups that do not fill vectors, are better done in other ways. */
static bool is_worthwhile(const conv_taps_t *plan) {
  if (plan->lanewise) return true;
  int64_t least_terms = plan->columns * 2 > plan->lanes ? LEAST_TERMS : LEAST_FEW_TERMS;
  int64_t least_columns = plan->problem->flops < SPARSE_FLOPS ? plan->lanes / 2 : plan->lanes;
  return most_terms(plan) >= least_terms && (plan->groups == 1 || plan->columns >= least_columns);
}

hr_status_t taps_plan_init(hr_arena_t *arena, conv_taps_t *plan, bool *out_fits) {
  *out_fits = false;
  if (!has_form(plan->problem)) return NULL;
  plan_sides(plan);
  join_groups(plan);
  if (!plan_types(plan)) return NULL;
  plan_tiles(plan);
  HR_TRY(plan_phases(arena, plan));
  plan->merges = plan->terms <= MERGED_CHANNELS && plan->unit == 1 && !plan->few && !plan->lanewise && may_merge(plan);
  bool in_row = plan->from.inner == 1 && plan->from.spatial[plan->problem->spatial - 1] == plan->terms;
  plan->has_region = plan->merges ? !in_row : plan->from.inner != 1;
  plan->slide = sliding_taps(plan);
  if (plan->lanewise) HR_TRY(plan_spread(arena, plan));
  for (int i = 0; i < plan->phase_count; i++) HR_TRY(plan_offsets(arena, plan, &plan->phases[i]));
  *out_fits = is_worthwhile(plan);
  if (!*out_fits) return NULL;
  plan_tasks(plan);
  plan_packed(plan);
  return NULL;
}
