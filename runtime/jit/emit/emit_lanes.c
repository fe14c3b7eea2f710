/* Loads whose lanes are at distances that are known at compile time: backwards, with a stride,
 * each element several times, or by the remainder of the lanes' variable.
 *
 * Such a load is a few whole vectors and shuffles, several times faster than a gather. The
 * offsets of the lanes follow from the index expression if the lanes' variable modulo the loop's
 * step is known (lane.phase, lane.period). The same knowledge decides range checks at compile
 * time: a condition that holds in all lanes of an interval of the loop needs no code there. */
#include "jit/emit/emit_kernel.h"

/* Most bytes of a window, which may be read from dummy memory instead. */
#define WINDOW_BYTES JIT_DUMMY_BYTES
#define MOST_PIECES 8

/* --- increments of indices -------------------------------------------------------------------- */

#define ALL_TERMS (~(uint32_t)0)

/* Increment of an index for `step` of one of its symbols, at all values, in the terms that depend
 * on any of `vars`, or in ALL_TERMS. False: not constant. */
static bool growth_in(const jit_exprs_t *exprs, const jit_expr_t *expr, uint32_t vars, int of,
                      int64_t step, int64_t *out_growth) {
  int64_t sum = 0, inner;
  for (int i = 0; i < expr->count; i++) {
    const jit_term_t *term = &expr->terms[i];
    const jit_symbol_t *symbol = &exprs->symbols[term->symbol];
    if (vars != ALL_TERMS && !(symbol->vars & vars)) continue;
    bool is_nonaffine = symbol->kind == JIT_SYMBOL_QUOTIENT || symbol->kind == JIT_SYMBOL_REMAINDER;
    if (!is_nonaffine) {
      sum += term->symbol == of ? term->factor * step : 0;
      continue;
    }
    if (symbol->of->low < 0 || !growth_in(exprs, symbol->of, ALL_TERMS, of, step, &inner) ||
        inner % symbol->divisor)
      return false;
    if (symbol->kind == JIT_SYMBOL_QUOTIENT) sum += term->factor * (inner / symbol->divisor);
  }
  *out_growth = sum;
  return true;
}

static bool growth_of(const jit_exprs_t *exprs, const jit_expr_t *expr, int of, int64_t step,
                      int64_t *out_growth) {
  return growth_in(exprs, expr, ALL_TERMS, of, step, out_growth);
}

static int64_t floor_rest(int64_t a, int64_t b) {
  int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

/* Value of the index for lane variable `at` and all other symbols 0. */
static int64_t value_at(const jit_exprs_t *exprs, const jit_expr_t *expr, int lane_var,
                        int64_t at) {
  int64_t value = expr->constant;
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    int64_t part = expr->terms[i].symbol == lane_var ? at : 0;
    if (symbol->of) part = value_at(exprs, symbol->of, lane_var, at);
    if (symbol->kind == JIT_SYMBOL_REMAINDER) part = floor_rest(part, symbol->divisor);
    if (symbol->kind == JIT_SYMBOL_QUOTIENT)
      part = (part - floor_rest(part, symbol->divisor)) / symbol->divisor;
    value += expr->terms[i].factor * part;
  }
  return value;
}

/* Does every other symbol than the lanes' variable change the index in all lanes alike, and by a
 * multiple of `unit` (0: not at all)? Start indices that differ from lane to lane do not. Terms
 * that do not depend on the lanes' variable are alike in all lanes; with a unit of 1 that is
 * enough. */
static bool others_are_even(const jit_emit_t *emit, const jit_expr_t *expr, const jit_expr_t *in,
                            int64_t unit) {
  const jit_exprs_t *exprs = &emit->graph->exprs;
  uint32_t lane_var = (uint32_t)1 << emit->lane.var, vars = unit == 1 ? lane_var : ALL_TERMS;
  int64_t growth;
  for (int i = 0; i < in->count; i++) {
    int number = in->terms[i].symbol;
    const jit_symbol_t *symbol = &exprs->symbols[number];
    if (in == expr && unit == 1 && !(symbol->vars & lane_var)) continue;
    if (symbol->of && !others_are_even(emit, expr, symbol->of, unit)) return false;
    if (symbol->of || number == emit->lane.var) continue;
    if (symbol->vars & lane_var || !growth_in(exprs, expr, vars, number, 1, &growth)) return false;
    if (unit ? growth % unit : growth != 0) return false;
  }
  return true;
}

/* Are the lanes' offsets the same in all iterations, and all values equal modulo `unit`? */
static bool is_even(const jit_emit_t *emit, const jit_expr_t *expr, int64_t unit) {
  int64_t growth = 0, period = emit->lane.period ? emit->lane.period : 1;
  if (emit->lane.count > JIT_MAX_LANES) return false;
  if (!emit->lane.is_only && !growth_of(&emit->graph->exprs, expr, emit->lane.var, period, &growth))
    return false;
  return (unit ? growth % unit == 0 : growth == 0) && others_are_even(emit, expr, expr, unit);
}

bool jit_lane_repeats(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t step,
                      int64_t divisor) {
  int64_t growth;
  return growth_of(exprs, expr, var, step, &growth) && growth % divisor == 0;
}

static int64_t lane_value(const jit_emit_t *emit, const jit_expr_t *expr, int lane) {
  return value_at(&emit->graph->exprs, expr, emit->lane.var, emit->lane.phase + lane);
}

bool jit_lane_offsets(const jit_emit_t *emit, const jit_expr_t *expr,
                      int64_t offsets[JIT_MAX_LANES]) {
  if (!is_even(emit, expr, 1)) return false;
  for (int k = 0; k < emit->lane.count; k++)
    offsets[k] = lane_value(emit, expr, k) - lane_value(emit, expr, 0);
  return true;
}

/* --- ranges ----------------------------------------------------------------------------------- */

bool jit_lane_rises(const jit_exprs_t *exprs, const jit_expr_t *expr, int var) {
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    bool rises = symbol->kind == JIT_SYMBOL_QUOTIENT
                     ? symbol->of->low >= 0 && jit_lane_rises(exprs, symbol->of, var)
                     : expr->terms[i].symbol == var;
    if (!rises || expr->terms[i].factor < 0) return false;
  }
  return true;
}

int64_t jit_lane_value(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t at) {
  return value_at(exprs, expr, var, at);
}

bool jit_part_decides(const jit_exprs_t *exprs, const jit_expr_t *expr, int var, int64_t from,
                      int64_t to, int64_t low, int64_t high, bool *out_inside) {
  if (from == to || !jit_lane_rises(exprs, expr, var)) return false;
  int64_t first = value_at(exprs, expr, var, from), last = value_at(exprs, expr, var, to - 1);
  *out_inside = first >= low && last < high;
  return *out_inside || last < low || first >= high;
}

kir_value_t *jit_part_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high) {
  bool inside, is_known = jit_part_decides(&emit->graph->exprs, expr, emit->part.var,
                                           emit->part.from, emit->part.to, low, high, &inside);
  return is_known ? kir_const_int(kir_int_type(emit->code->module, 1), inside) : NULL;
}

kir_value_t *jit_lane_range(const jit_emit_t *emit, const jit_expr_t *expr, int64_t low,
                            int64_t high) {
  kir_type_t *bit = kir_int_type(emit->code->module, 1);
  kir_value_t *bits[JIT_MAX_LANES];
  bool inside;
  if (jit_part_decides(&emit->graph->exprs, expr, emit->lane.var, emit->lane.from, emit->lane.to,
                       low, high, &inside)) {
    kir_type_t *all = kir_vector_type(bit, (unsigned)emit->lane.count);
    return inside ? kir_all_ones(all) : kir_null(all);
  }
  if (!is_even(emit, expr, 0)) return NULL;
  for (int k = 0; k < emit->lane.count; k++) {
    int64_t value = lane_value(emit, expr, k);
    bits[k] = kir_const_int(bit, value >= low && value < high);
  }
  return kir_const_vector(bits, (unsigned)emit->lane.count);
}

kir_value_t *jit_lane_multiple(const jit_emit_t *emit, const jit_expr_t *expr, int64_t divisor) {
  kir_type_t *bit = kir_int_type(emit->code->module, 1);
  kir_value_t *bits[JIT_MAX_LANES];
  if (!is_even(emit, expr, divisor)) return NULL;
  for (int k = 0; k < emit->lane.count; k++)
    bits[k] = kir_const_int(bit, floor_rest(lane_value(emit, expr, k), divisor) == 0);
  return kir_const_vector(bits, (unsigned)emit->lane.count);
}

/* --- windows ---------------------------------------------------------------------------------- */

static int64_t span_of(int lanes, const int64_t *offsets) {
  int64_t low = offsets[0], high = offsets[0];
  for (int k = 1; k < lanes; k++) {
    low = offsets[k] < low ? offsets[k] : low;
    high = offsets[k] > high ? offsets[k] : high;
  }
  return high - low + 1;
}

/* Elements per piece: the greatest power of two that neither `lanes` nor `span` is below. */
static int64_t piece_of(int lanes, int64_t span) {
  int64_t piece = 1;
  while (2 * piece <= span && 2 * piece <= lanes) piece *= 2;
  return piece;
}

bool jit_window_fits(int lanes, const int64_t *offsets, size_t element_bytes) {
  int64_t span = span_of(lanes, offsets), piece = piece_of(lanes, span);
  return span * (int64_t)element_bytes <= WINDOW_BYTES && (span + piece - 1) / piece <= MOST_PIECES;
}

static kir_value_t *in_order(jit_emit_t *emit, kir_value_t *a, kir_value_t *b, const int *order) {
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  kir_value_t *numbers[JIT_MAX_LANES], *none = kir_poison(kir_type_of(a));
  for (int k = 0; k < emit->lane.count; k++) numbers[k] = kir_const_int(i32, (uint64_t)order[k]);
  kir_value_t *shuffle_mask = kir_const_vector(numbers, (unsigned)emit->lane.count);
  return kir_shuffle(emit->code->builder, a, b ? b : none, shuffle_mask);
}

/* Lanes assembled so far: lanes order[k] of `value`. The first two pieces are ordered by one
 * shuffle. */
typedef struct window_lanes {
  kir_value_t *value;
  int order[JIT_MAX_LANES];
} window_lanes_t;

/* Takes the lanes that lie in the piece, which starts at element `begin`. */
static void take_piece(jit_emit_t *emit, window_lanes_t *lanes, kir_value_t *piece,
                       const int64_t *offsets, int64_t begin, int64_t size) {
  int own[JIT_MAX_LANES] = {0};
  bool fits = !lanes->value || kir_type_of(piece) == kir_type_of(lanes->value);
  int base = lanes->value ? jit_lanes(kir_type_of(lanes->value)) : 0;
  for (int k = 0; k < emit->lane.count; k++) {
    if (offsets[k] < begin || offsets[k] >= begin + size) continue;
    own[k] = (int)(offsets[k] - begin);
    lanes->order[k] = base + (fits ? own[k] : k);
  }
  if (!lanes->value) {
    lanes->value = piece;
    return;
  }
  if (!fits) piece = in_order(emit, piece, NULL, own);
  lanes->value = in_order(emit, lanes->value, piece, lanes->order);
  for (int k = 0; k < emit->lane.count; k++) lanes->order[k] = k;
}

kir_value_t *jit_window_load(jit_emit_t *emit, kir_type_t *element, kir_value_t *first,
                             const int64_t *offsets) {
  int64_t span = span_of(emit->lane.count, offsets), size = piece_of(emit->lane.count, span);
  window_lanes_t lanes = {.value = NULL};
  for (int64_t begin = 0; begin < span; begin += size) {
    int64_t at =
        begin + size <= span ? begin : span - size; /* the last piece overlaps its predecessor */
    kir_value_t *index = jit_emit_i64(emit, at);
    kir_value_t *address = kir_inbounds_gep(emit->code->builder, element, first, index);
    kir_type_t *type = kir_vector_type(element, (unsigned)size);
    kir_value_t *piece = kir_load(emit->code->builder, type, address);
    kir_set_align(piece, 1);
    take_piece(emit, &lanes, piece, offsets, at, size);
  }
  return span > size ? lanes.value : in_order(emit, lanes.value, NULL, lanes.order);
}
