/* Index expressions as instructions.
 *
 * Scalars: each term is computed at the level of its own variables and added to the sum of the
 * outer levels' terms, so the innermost loop adds only its own terms. Vectors: an index that
 * differs from lane to lane is a splat of lane 0's plus a ramp times the factor of the lanes'
 * variable; quotients and remainders of the lanes' variable are computed on vectors, in 32 bits
 * where the interval allows, since vector division of 64-bit integers has no instruction. Starts of
 * dynamic slices are clamped as StableHLO demands (dynamic_slice, gather). */
#include "jit/element/element.h"
#include "jit/emit/emit_kernel.h"

kir_value_t *jit_emit_lane_numbers(jit_emit_t *emit, kir_type_t *element) {
  kir_value_t *numbers[1024];
  for (int i = 0; i < emit->lane.count; i++) numbers[i] = kir_const_int(element, (uint64_t)i);
  return emit->lane.count == 1 ? numbers[0] : kir_const_vector(numbers, (unsigned)emit->lane.count);
}

static kir_value_t *clamped_start(jit_emit_t *emit, const jit_symbol_t *symbol) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *start = jit_emit_node(emit, symbol->node);
  kir_type_t *i64 = kir_int_type(emit->code->module, 64);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  bool is_signed = hr_dtype_class(symbol->node->dtype) == HR_CLASS_SIGNED;
  if (hr_dtype_bytes(symbol->node->dtype) < 8)
    start = is_signed ? kir_sext(b, start, i64) : kir_zext(b, start, i64);
  kir_value_t *low = jit_emit_i64(emit, symbol->low), *high = jit_emit_i64(emit, symbol->high);
  if (is_signed) start = jit_intrinsic(emit->code, KIR_SMAX, i64, (kir_value_t *[]){start, low}, 2);
  return jit_intrinsic(emit->code, is_signed ? KIR_SMIN : KIR_UMIN, i64,
                       (kir_value_t *[]){start, high}, 2);
}

/* The quotient `of` / divisor, in 32 bits where the interval of `of` allows: division by a constant
 * is one product then. */
static kir_value_t *scalar_quotient(jit_emit_t *emit, const jit_symbol_t *symbol, kir_value_t *of) {
  kir_builder_t *b = emit->code->builder;
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  if (symbol->of->low < 0 || symbol->of->high > UINT32_MAX || symbol->divisor > INT32_MAX)
    return kir_udiv(b, of, jit_emit_i64(emit, symbol->divisor));
  kir_value_t *divisor = kir_const_int(i32, (uint64_t)symbol->divisor);
  return kir_zext(b, kir_udiv(b, kir_trunc(b, of, i32), divisor), kir_type_of(of));
}

/* The remainder comes from the quotient, which is often needed as well, or is a mask. */
static kir_value_t *scalar_symbol(jit_emit_t *emit, const jit_symbol_t *symbol) {
  kir_builder_t *b = emit->code->builder;
  if (symbol->kind == JIT_SYMBOL_LOOP) return emit->variables[symbol->index];
  if (symbol->kind == JIT_SYMBOL_START) return clamped_start(emit, symbol);
  kir_value_t *of = jit_emit_expr(emit, symbol->of), *divisor = jit_emit_i64(emit, symbol->divisor);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  if (symbol->kind == JIT_SYMBOL_QUOTIENT) return scalar_quotient(emit, symbol, of);
  if ((symbol->divisor & (symbol->divisor - 1)) == 0) return kir_urem(b, of, divisor);
  return kir_sub(b, of, kir_mul(b, scalar_quotient(emit, symbol, of), divisor));
}

const jit_expr_t *jit_emit_outer_part(jit_emit_t *emit, const jit_expr_t *expr, int depth) {
  jit_exprs_t *exprs = &emit->graph->exprs;
  const jit_expr_t *rest = expr;
  for (int i = 0; i < expr->count; i++) {
    int symbol = expr->terms[i].symbol;
    if (jit_emit_depth(emit, exprs->symbols[symbol].vars) < depth) continue;
    rest = jit_expr_without(exprs, rest, symbol);
  }
  return rest;
}

static kir_value_t *add_terms_of_level(jit_emit_t *emit, const jit_expr_t *expr, int depth,
                                       kir_value_t *sum) {
  kir_builder_t *b = emit->code->builder;
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t symbol = emit->graph->exprs.symbols[expr->terms[i].symbol];
    if (jit_emit_depth(emit, symbol.vars) < depth) continue;
    kir_value_t *term = scalar_symbol(emit, &symbol);
    jit_emit_at(emit, depth);
    if (expr->terms[i].factor != 1)
      term = kir_mul(b, term, jit_emit_i64(emit, expr->terms[i].factor));
    sum = sum ? kir_add(b, sum, term) : term;
  }
  return sum;
}

kir_value_t *jit_emit_expr(jit_emit_t *emit, const jit_expr_t *expr) {
  jit_expr_t *memo = (jit_expr_t *)expr;
  int depth = jit_emit_depth(emit, expr->vars);
  if (!expr->count) return jit_emit_i64(emit, expr->constant);
  if (memo->epoch == emit->levels[depth].epoch) return memo->value;
  const jit_expr_t *rest = jit_emit_outer_part(emit, expr, depth);
  kir_value_t *sum = rest->count || rest->constant ? jit_emit_expr(emit, rest) : NULL;
  memo->value = add_terms_of_level(emit, expr, depth, sum);
  memo->epoch = emit->levels[depth].epoch;
  return memo->value;
}

/* Indices that differ from lane to lane are computed in 32 bits where their intervals allow. */
static kir_type_t *lane_index_type(jit_emit_t *emit, const jit_expr_t *expr) {
  bool is_short = expr->low >= INT32_MIN && expr->high <= INT32_MAX;
  for (int i = 0; i < expr->count && is_short; i++) {
    const jit_expr_t *of = emit->graph->exprs.symbols[expr->terms[i].symbol].of;
    if (of) is_short = of->low >= INT32_MIN && of->high <= INT32_MAX;
  }
  return is_short ? kir_int_type(emit->code->module, 32) : kir_int_type(emit->code->module, 64);
}

static kir_value_t *lane_expr(jit_emit_t *emit, const jit_expr_t *expr, kir_type_t *element);

/* Start indices that differ from lane to lane, each clamped. */
static kir_value_t *lane_start(jit_emit_t *emit, const jit_symbol_t *symbol, kir_type_t *element) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *start = jit_emit_lanes(emit, symbol->node);
  bool is_signed = hr_dtype_class(symbol->node->dtype) == HR_CLASS_SIGNED;
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  if (jit_element_bits(kir_type_of(start)) < jit_element_bits(element))
    start = kir_int_cast(b, start, kir_vector_type(element, (unsigned)emit->lane.count), is_signed);
  kir_type_t *type = kir_type_of(start);
  kir_value_t *low = jit_int(type, symbol->low), *high = jit_int(type, symbol->high);
  if (is_signed)
    start = jit_intrinsic(emit->code, KIR_SMAX, type, (kir_value_t *[]){start, low}, 2);
  start = jit_intrinsic(emit->code, is_signed ? KIR_SMIN : KIR_UMIN, type,
                        (kir_value_t *[]){start, high}, 2);
  return kir_int_cast(b, start, kir_vector_type(element, (unsigned)emit->lane.count), is_signed);
}

static kir_value_t *lane_symbol(jit_emit_t *emit, const jit_symbol_t *symbol, kir_type_t *element) {
  kir_builder_t *b = emit->code->builder;
  kir_type_t *type = kir_vector_type(element, (unsigned)emit->lane.count);
  if (symbol->kind == JIT_SYMBOL_START) return lane_start(emit, symbol, element);
  kir_type_t *of_type = lane_index_type(emit, symbol->of);
  if (jit_element_bits(of_type) < jit_element_bits(element)) of_type = element;
  kir_value_t *of = lane_expr(emit, symbol->of, of_type);
  kir_value_t *divisor = jit_int(kir_type_of(of), symbol->divisor);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  kir_value_t *result =
      symbol->kind == JIT_SYMBOL_QUOTIENT ? kir_udiv(b, of, divisor) : kir_urem(b, of, divisor);
  return kir_int_cast(b, result, type, true);
}

/* The affine part: a splat of the scalar part, plus a ramp of the lanes' variable. */
static kir_value_t *affine_lanes(jit_emit_t *emit, const jit_expr_t *expr, kir_type_t *element) {
  jit_exprs_t *exprs = &emit->graph->exprs;
  kir_builder_t *b = emit->code->builder;
  kir_type_t *type = kir_vector_type(element, (unsigned)emit->lane.count);
  const jit_expr_t *plain = expr;
  int64_t factor = jit_expr_factor(expr, emit->lane.var);
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    if (symbol->kind != JIT_SYMBOL_LOOP && symbol->vars >> emit->lane.var & 1)
      plain = jit_expr_without(exprs, plain, expr->terms[i].symbol);
  }
  kir_value_t *base = jit_emit_expr(emit, plain);
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  base = kir_int_cast(b, base, element, true);
  kir_value_t *sum = jit_splat(emit->code, type, base);
  if (!factor) return sum;
  kir_value_t *ramp = kir_mul(b, jit_emit_lane_numbers(emit, element), jit_int(type, factor));
  return kir_add(b, sum, ramp);
}

static bool is_affine_in_lanes(const jit_emit_t *emit, const jit_expr_t *expr) {
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &emit->graph->exprs.symbols[expr->terms[i].symbol];
    if (symbol->kind != JIT_SYMBOL_LOOP && symbol->vars >> emit->lane.var & 1) return false;
  }
  return true;
}

/* Quotients whose offsets from lane 0's are constants: a splat of lane 0's index plus these. NULL:
 * there are no quotients, or the offsets vary. */
static kir_value_t *known_lanes(jit_emit_t *emit, const jit_expr_t *expr, kir_type_t *element) {
  kir_builder_t *b = emit->code->builder;
  kir_value_t *numbers[JIT_MAX_LANES];
  int64_t offsets[JIT_MAX_LANES];
  if (is_affine_in_lanes(emit, expr) || !jit_lane_offsets(emit, expr, offsets)) return NULL;
  for (int k = 0; k < emit->lane.count; k++)
    numbers[k] = kir_const_int(element, (uint64_t)offsets[k]);
  kir_value_t *added = kir_const_vector(numbers, (unsigned)emit->lane.count);
  kir_value_t *first = jit_emit_expr(emit, expr);
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  first = jit_splat(emit->code, kir_type_of(added), kir_int_cast(b, first, element, true));
  return kir_add(b, first, added);
}

/* Adds the nonaffine terms as vectors. Values are memoised, since many indices share quotients. */
static kir_value_t *lane_expr(jit_emit_t *emit, const jit_expr_t *expr, kir_type_t *element) {
  jit_expr_t *memo = (jit_expr_t *)expr;
  kir_builder_t *b = emit->code->builder;
  kir_type_t *type = kir_vector_type(element, (unsigned)emit->lane.count);
  int depth = jit_emit_depth(emit, expr->vars);
  if (memo->lanes_epoch == emit->levels[depth].epoch && kir_type_of(memo->lanes_value) == type)
    return memo->lanes_value;
  kir_value_t *sum = known_lanes(emit, expr, element);
  bool is_known = sum != NULL;
  if (!is_known) sum = affine_lanes(emit, expr, element);
  for (int i = 0; i < expr->count && !is_known; i++) {
    const jit_symbol_t symbol = emit->graph->exprs.symbols[expr->terms[i].symbol];
    if (symbol.kind == JIT_SYMBOL_LOOP || !(symbol.vars >> emit->lane.var & 1)) continue;
    kir_value_t *term = lane_symbol(emit, &symbol, element);
    jit_emit_at(emit, depth);
    sum = kir_add(b, sum, kir_mul(b, term, jit_int(type, expr->terms[i].factor)));
  }
  memo->lanes_value = sum;
  memo->lanes_epoch = emit->levels[depth].epoch;
  return sum;
}

kir_value_t *jit_emit_lane_expr(jit_emit_t *emit, const jit_expr_t *expr) {
  kir_value_t *value = lane_expr(emit, expr, lane_index_type(emit, expr));
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  return value;
}
