/* Row-per-lane loops: contiguous elements belong to one lane, and neighbouring lanes are a row
 * apart. Rows are loaded as whole vectors and transposed in registers.
 *
 *     memory      a0 a1 a2 b0 b1 b2 c0 ...
 *     rows        a0 a1 a2 .  |  b0 b1 b2 .  |  c0 c1 c2 .  |  d0 d1 d2 .
 *     transposed  a0 b0 c0 d0 |  a1 b1 c1 d1 |  a2 b2 c2 d2
 *
 * A square of n vectors of n lanes takes log2(n) steps of n shuffles: each step exchanges one bit
 * of the lane's number with one bit of the vector's number. Steps within 128 bits come first,
 * because processors shuffle within 128-bit lanes with one cycle of latency. Narrow rows that
 * fill a register together (packed) need only log2(row) steps. Stores do the same in reverse:
 * interleaved results are transposed, or each output vector is assembled from the columns,
 * whichever takes fewer shuffles. */
#include "jit/element/element.h"
#include "jit/emit/emit_kernel.h"

#define SHUFFLE_LANE_BITS 128 /* bits of a lane within which shuffles are cheapest */
/* Shuffles that move bytes to any place in a vector; 16-bit elements take half. */
#define NARROW_SHUFFLES 4
#define MOST_ROWS 32 /* most rows of a transposition, limited by registers */

/* Replaces each pair of vectors a, b whose numbers differ in this bit: by the lanes `low` and
 * `high` of a followed by b. */
static void exchange_lanes(jit_code_t *code, kir_value_t **vectors, int count, int lanes, int bit,
                           const int *low, const int *high) {
  kir_type_t *i32 = kir_int_type(code->module, 32);
  kir_value_t *lows[JIT_MAX_LANES], *highs[JIT_MAX_LANES];
  for (int i = 0; i < lanes; i++) {
    lows[i] = kir_const_int(i32, (uint64_t)low[i]);
    highs[i] = kir_const_int(i32, (uint64_t)high[i]);
  }
  kir_value_t *low_lanes = kir_const_vector(lows, (unsigned)lanes);
  kir_value_t *high_lanes = kir_const_vector(highs, (unsigned)lanes);
  for (int k = 0; k < count; k++) {
    if (k & bit) continue;
    kir_value_t *a = vectors[k], *b = vectors[k + bit];
    vectors[k] = kir_shuffle(code->builder, a, b, low_lanes);
    vectors[k + bit] = kir_shuffle(code->builder, a, b, high_lanes);
  }
}

/* Interleaves a and b within runs of lanes: a0 b0 a1 b1 ... from the lower halves of runs, then the
 * same from the upper halves. The highest bit of a lane's number in its run becomes the vector's
 * bit, which becomes the lowest. */
static void interleave(jit_code_t *code, kir_value_t **vectors, int count, int lanes, int bit,
                       int run) {
  int low[JIT_MAX_LANES], high[JIT_MAX_LANES];
  for (int i = 0; i < lanes; i++) {
    low[i] = i / run * run + i % run / 2 + (i & 1 ? lanes : 0);
    high[i] = low[i] + run / 2;
  }
  exchange_lanes(code, vectors, count, lanes, bit, low, high);
}

/* Collects the even-numbered runs of lanes of a, then of b, and likewise the odd-numbered ones. The
 * lowest bit of a run's number becomes the vector's bit, which becomes the highest. */
static void deinterleave(jit_code_t *code, kir_value_t **vectors, int count, int lanes, int bit,
                         int run) {
  int low[JIT_MAX_LANES], high[JIT_MAX_LANES];
  for (int i = 0; i < lanes; i++) {
    low[i] = 2 * (i / run) * run + i % run; /* numbers above a's lanes are b's */
    high[i] = low[i] + run;
  }
  exchange_lanes(code, vectors, count, lanes, bit, low, high);
}

/* Exchanges first the bits within runs of 16 bytes, then the bits of the runs' numbers; each step
 * is one shuffle instruction. */
void jit_emit_transposed(jit_code_t *code, kir_value_t **rows, int count) {
  int run = SHUFFLE_LANE_BITS / jit_element_bits(kir_type_of(rows[0]));
  if (run > count) run = count;
  for (int bit = run / 2; bit; bit /= 2) interleave(code, rows, count, count, bit, run);
  for (int bit = run; bit < count; bit *= 2) deinterleave(code, rows, count, count, bit, run);
}

/* Turns vectors of several whole rows each, one vector per element of a row, into columns: the low
 * bits of lane numbers, which are the column, become bits of the vector number. */
static void transpose_packed(jit_code_t *code, kir_value_t **vectors, int width, int lanes) {
  for (int bit = 1; bit < width; bit *= 2) deinterleave(code, vectors, width, lanes, bit, 1);
}

/* Number of shuffles of jit_emit_transposed. */
static int transpose_cost(int lanes) { return lanes * (31 - __builtin_clz((unsigned)lanes)); }

static kir_value_t *element_at(jit_emit_t *emit, kir_type_t *element, kir_value_t *array,
                               int64_t index) {
  kir_value_t *offset = jit_emit_i64(emit, index);
  return kir_inbounds_gep(emit->code->builder, element, array, offset);
}

/* --- interleaved stores ----------------------------------------------------------------------- */

/* Delays the first source until there is a second one, so that one shuffle joins both. */
typedef struct merge {
  kir_value_t *value;
  int first; /* the source that `value` is; -1: lanes are in order */
} merge_t;

static kir_value_t *shuffle(jit_emit_t *emit, kir_value_t *a, kir_value_t *b, const int *lanes) {
  kir_value_t *order[JIT_MAX_LANES];
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  for (int i = 0; i < emit->lane.count; i++) order[i] = kir_const_int(i32, (uint64_t)lanes[i]);
  return kir_shuffle(emit->code->builder, a, b,
                     kir_const_vector(order, (unsigned)emit->lane.count));
}

/* Builds a vector whose lane i is lane lane[i] of sources[of[i]]. */
static kir_value_t *merge_lanes(jit_emit_t *emit, kir_value_t **sources, int count, const int *of,
                                const int *lane) {
  merge_t merge = {NULL, -1};
  for (int k = 0; k < count; k++) {
    int lanes[JIT_MAX_LANES];
    bool is_used = false;
    for (int i = 0; i < emit->lane.count; i++) {
      is_used |= of[i] == k;
      lanes[i] = of[i] == merge.first ? lane[i] : i;
      if (of[i] == k) lanes[i] = emit->lane.count + lane[i];
    }
    if (!is_used) continue;
    merge = merge.value ? (merge_t){shuffle(emit, merge.value, sources[k], lanes), -1}
                        : (merge_t){sources[k], k};
  }
  return merge.first < 0 ? merge.value : shuffle(emit, merge.value, merge.value, lane);
}

/* Output vector `number`: element l * count + k of the output is lane l of values[k]. The sources
 * are columns, or rows if transposed. */
static kir_value_t *interleaved_vector(jit_emit_t *emit, kir_value_t **sources, int count,
                                       bool is_transposed, int number) {
  int of[JIT_MAX_LANES], lane[JIT_MAX_LANES], lanes = emit->lane.count;
  for (int i = 0; i < lanes; i++) {
    int row = (number * lanes + i) / count, column = (number * lanes + i) % count;
    of[i] = is_transposed ? column / lanes * lanes + row : column;
    lane[i] = is_transposed ? column % lanes : row;
  }
  return merge_lanes(emit, sources, is_transposed ? (count + lanes - 1) / lanes * lanes : count, of,
                     lane);
}

void jit_emit_interleaved(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                          const jit_expr_t *index, int count, kir_value_t **values) {
  kir_type_t *element = jit_memory_type(emit->code, dtype);
  kir_value_t *first = jit_emit_address(emit, array, dtype, index),
              *sources[JIT_MAX_LANES + JIT_MAX_INTERLEAVED];
  int lanes = emit->lane.count, groups = (count + lanes - 1) / lanes;
  bool can_transpose = (lanes & (lanes - 1)) == 0 && groups * lanes <= JIT_MAX_LANES;
  bool is_transposed =
      can_transpose && count * (count - 1) > (transpose_cost(lanes) + lanes) * groups;
  jit_emit_at(emit, emit->level);
  for (int k = 0; k < count; k++) sources[k] = jit_to_memory(emit->code, dtype, values[k]);
  for (int k = count; k < groups * lanes; k++) sources[k] = kir_poison(kir_type_of(sources[0]));
  for (int g = 0; is_transposed && g < groups; g++)
    jit_emit_transposed(emit->code, sources + g * lanes, lanes);
  for (int q = 0; q < count; q++) {
    kir_value_t *line = interleaved_vector(emit, sources, count, is_transposed, q);
    kir_value_t *store =
        kir_store(emit->code->builder, line, element_at(emit, element, first, q * lanes));
    kir_set_align(store, (unsigned)hr_dtype_bytes(dtype));
  }
}

/* --- bands of loads --------------------------------------------------------------------------- */

/* Loads of one array under one condition whose indices differ by constants: columns low .. high of
 * rows that are `jump` elements apart. */
typedef struct jit_band {
  int number, count;
  hr_dtype_t dtype;
  const jit_expr_t *base;
  jit_node_t *guard; /* condition common to all lanes; NULL: always true */
  int64_t jump, low, high;
  int lanes;                      /* lanes of the kernel, a power of two */
  bool is_packed;                 /* rows are contiguous, several per register */
  unsigned epochs[JIT_MAX_LANES]; /* epochs of `columns`, by column */
  kir_value_t *columns[JIT_MAX_LANES];
  struct jit_band *next;
} jit_band_t;

static bool is_band_candidate(const jit_graph_t *graph, const jit_node_t *node, int var) {
  if (node->kind != JIT_LOAD || hr_dtype_bytes(node->dtype) > 8) return false;
  if (node->guard && node->guard->vars >> var & 1) return false;
  return !jit_expr_is_nonaffine(&graph->exprs, node->expr, var) &&
         jit_expr_factor(node->expr, var) > 1;
}

static hr_status_t add_to_band(jit_graph_t *graph, jit_band_t **bands, jit_node_t *node, int var) {
  const jit_expr_t *base = jit_expr_affine(&graph->exprs, node->expr, 1, -node->expr->constant);
  int64_t column = node->expr->constant;
  jit_band_t *band = *bands;
  while (band && (band->number != node->number || band->base != base ||
                  band->dtype != node->dtype || band->guard != node->guard))
    band = band->next;
  if (!band) {
    HR_TRY(HR_NEW(graph->arena, &band));
    *band = (jit_band_t){.number = node->number,
                         .dtype = node->dtype,
                         .base = base,
                         .guard = node->guard,
                         .low = column,
                         .high = column,
                         .jump = jit_expr_factor(base, var),
                         .next = *bands};
    *bands = band;
  }
  band->low = column < band->low ? column : band->low;
  band->high = column > band->high ? column : band->high;
  band->count++;
  node->band = band;
  return NULL;
}

static bool is_packed(const jit_band_t *band) {
  int64_t width = band->high - band->low + 1;
  return width == band->jump && (width & (width - 1)) == 0 && width < band->lanes;
}

/* Does the whole band fit into the dummy memory, if it has a guard? */
static bool is_readable(const jit_band_t *band) {
  int64_t span = (band->lanes - 1) * band->jump + band->high - band->low + 1;
  return !band->guard || span * (int64_t)hr_dtype_bytes(band->dtype) <= JIT_DUMMY_BYTES;
}

/* Cost of one column without the transposition: whole vectors and shuffles, a gather, or, for
 * elements too narrow to gather, a load and an insertion per lane. */
static int64_t column_cost(const jit_band_t *band) {
  int64_t offsets[JIT_MAX_LANES];
  size_t bytes = hr_dtype_bytes(band->dtype);
  for (int l = 0; l < band->lanes; l++) offsets[l] = l * band->jump;
  if (bytes < 4 && !jit_window_fits(band->lanes, offsets, bytes)) return 2 * band->lanes;
  int64_t pieces = band->jump < band->lanes ? band->jump : band->lanes;
  return bytes < 4 ? pieces * NARROW_SHUFFLES / (int64_t)bytes : pieces;
}

/* Is it cheaper to transpose whole rows? */
static bool is_profitable(const jit_band_t *band) {
  int64_t width = band->high - band->low + 1, lanes = band->lanes,
          groups = (width + lanes - 1) / lanes;
  int64_t cost = band->is_packed ? transpose_cost((int)width) : groups * transpose_cost((int)lanes);
  return width <= JIT_MAX_LANES && lanes <= MOST_ROWS && band->count * column_cost(band) >= cost;
}

hr_status_t jit_bands_find(jit_graph_t *graph, int var, int lanes) {
  jit_band_t *bands = NULL;
  for (jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (is_band_candidate(graph, node, var)) HR_TRY(add_to_band(graph, &bands, node, var));
  for (jit_band_t *band = bands; band; band = band->next) {
    band->lanes = lanes;
    band->is_packed = is_packed(band);
  }
  for (jit_node_t *node = graph->first_made; node; node = node->next_made)
    if (node->band && !(is_readable(node->band) && is_profitable(node->band))) node->band = NULL;
  return NULL;
}

static kir_value_t *load_vector(jit_emit_t *emit, const jit_band_t *band, kir_value_t *first,
                                int64_t at) {
  kir_type_t *element = jit_memory_type(emit->code, band->dtype);
  kir_type_t *vector = kir_vector_type(element, (unsigned)emit->lane.count);
  kir_value_t *line = kir_load(emit->code->builder, vector, element_at(emit, element, first, at));
  kir_set_align(line, (unsigned)hr_dtype_bytes(band->dtype));
  return line;
}

/* Columns from `from` on, of each lane's row. Nothing beyond the last row's last column is read:
 * vectors that would extend beyond it end there instead and are shifted down in registers. Lanes
 * out of bounds get the first row. */
static void load_rows(jit_emit_t *emit, const jit_band_t *band, kir_value_t *first, int from,
                      kir_value_t **rows) {
  int count = emit->lane.mask ? emit->lane.in_bounds : emit->lane.count;
  int64_t last = (count - 1) * band->jump + band->high - band->low + 1 - emit->lane.count;
  for (int l = 0; l < count; l++) {
    int64_t at = l * band->jump + from, offset = at < last ? at : last;
    int lanes[JIT_MAX_LANES];
    rows[l] = load_vector(emit, band, first, offset);
    for (int i = 0; i < emit->lane.count; i++)
      lanes[i] = i + at - offset < emit->lane.count ? (int)(i + at - offset) : i;
    if (at > offset) rows[l] = shuffle(emit, rows[l], rows[l], lanes);
  }
  for (int l = count; l < emit->lane.count; l++) rows[l] = rows[0];
  jit_emit_transposed(emit->code, rows, emit->lane.count);
}

static void load_packed(jit_emit_t *emit, const jit_band_t *band, kir_value_t *first,
                        kir_value_t **vectors) {
  int width = (int)band->jump;
  for (int k = 0; k < width; k++) vectors[k] = load_vector(emit, band, first, k * emit->lane.count);
  transpose_packed(emit->code, vectors, width, emit->lane.count);
}

static void load_columns(jit_emit_t *emit, jit_band_t *band, int from) {
  const jit_expr_t *index = jit_expr_affine(&emit->graph->exprs, band->base, 1, band->low);
  kir_value_t *first = jit_emit_address(emit, jit_emit_in(emit, band->number), band->dtype, index);
  kir_value_t *columns[JIT_MAX_LANES];
  int count = band->is_packed ? (int)band->jump : emit->lane.count;
  if (band->guard)
    first = jit_emit_readable(emit, first, jit_emit_guard(emit, band->guard).all, emit->level);
  jit_emit_at(emit, emit->level);
  if (band->is_packed)
    load_packed(emit, band, first, columns);
  else
    load_rows(emit, band, first, from, columns);
  for (int i = 0; i < count && from + i < JIT_MAX_LANES; i++) {
    band->columns[from + i] = columns[i];
    band->epochs[from + i] = emit->levels[emit->level].epoch;
  }
}

/* Can the rows of the lanes in bounds be loaded as vectors, without reading before the first one?
 */
static bool suits_mask(const jit_emit_t *emit, const jit_band_t *band) {
  if (!emit->lane.mask) return true;
  int64_t span = (emit->lane.in_bounds - 1) * band->jump + band->high - band->low + 1;
  return emit->lane.in_bounds && !band->is_packed && span >= emit->lane.count;
}

kir_value_t *jit_band_given(jit_emit_t *emit, jit_node_t *node) {
  jit_band_t *band = node->band;
  if (!band || emit->lane.count != band->lanes || !suits_mask(emit, band)) return NULL;
  if (emit->function_part && emit->function_part->in_registers[node->number]) return NULL;
  int column = (int)(node->expr->constant - band->low);
  if (band->epochs[column] != emit->levels[emit->level].epoch)
    load_columns(emit, band, column / emit->lane.count * emit->lane.count);
  jit_emit_at(emit, emit->level);
  return jit_from_memory(emit->code, node->dtype, band->columns[column]);
}
