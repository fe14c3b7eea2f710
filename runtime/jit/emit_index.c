/* Indices of kernels as instructions: scalars, each term as far out of the loops as what it depends on allows, and
 * vectors where they differ from lane to lane. */
#include "jit/element.h"
#include "jit/emit_kernel.h"

LLVMValueRef jit_emit_lane_numbers(jit_emit_t *emit, LLVMTypeRef element) {
  LLVMValueRef numbers[1024];
  for (int i = 0; i < emit->lanes; i++) numbers[i] = llvm()->ConstInt(element, (uint64_t)i, false);
  return emit->lanes == 1 ? numbers[0] : llvm()->ConstVector(numbers, (unsigned)emit->lanes);
}

static LLVMValueRef limited_start(jit_emit_t *emit, const jit_symbol_t *symbol) {
  LLVMBuilderRef b = emit->code->builder;
  LLVMValueRef start = jit_emit_node(emit, symbol->node);
  LLVMTypeRef i64 = llvm()->Int64TypeInContext(emit->code->context);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  bool is_signed = hr_dtype_class(symbol->node->dtype) == HR_CLASS_SIGNED;
  if (hr_dtype_bytes(symbol->node->dtype) < 8)
    start = is_signed ? llvm()->BuildSExt(b, start, i64, "") : llvm()->BuildZExt(b, start, i64, "");
  LLVMValueRef low = jit_emit_i64(emit, symbol->low), high = jit_emit_i64(emit, symbol->high);
  if (is_signed) start = jit_intrinsic(emit->code, "llvm.smax", i64, (LLVMValueRef[]){start, low}, 2);
  return jit_intrinsic(emit->code, is_signed ? "llvm.smin" : "llvm.umin", i64, (LLVMValueRef[]){start, high}, 2);
}

static LLVMValueRef scalar_symbol(jit_emit_t *emit, const jit_symbol_t *symbol) {
  LLVMBuilderRef b = emit->code->builder;
  if (symbol->kind == JIT_SYMBOL_LOOP) return emit->variables[symbol->index];
  if (symbol->kind == JIT_SYMBOL_START) return limited_start(emit, symbol);
  LLVMValueRef of = jit_emit_expr(emit, symbol->of), divisor = jit_emit_i64(emit, symbol->divisor);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  return symbol->kind == JIT_SYMBOL_QUOTIENT ? llvm()->BuildUDiv(b, of, divisor, "")
                                             : llvm()->BuildURem(b, of, divisor, "");
}

const jit_expr_t *jit_emit_outer_part(jit_emit_t *emit, const jit_expr_t *expr, int depth) {
  jit_exprs_t *exprs = &emit->formula->exprs;
  const jit_expr_t *rest = expr;
  for (int i = 0; i < expr->count; i++) {
    int symbol = expr->terms[i].symbol;
    if (jit_emit_depth(emit, exprs->symbols[symbol].vars) < depth) continue;
    rest = jit_expr_without(exprs, rest, symbol);
  }
  return rest;
}

static LLVMValueRef sum_deepest(jit_emit_t *emit, const jit_expr_t *expr, int depth, LLVMValueRef sum) {
  LLVMBuilderRef b = emit->code->builder;
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t symbol = emit->formula->exprs.symbols[expr->terms[i].symbol];
    if (jit_emit_depth(emit, symbol.vars) < depth) continue;
    LLVMValueRef term = scalar_symbol(emit, &symbol);
    jit_emit_at(emit, depth);
    if (expr->terms[i].factor != 1) term = llvm()->BuildMul(b, term, jit_emit_i64(emit, expr->terms[i].factor), "");
    sum = sum ? llvm()->BuildAdd(b, sum, term, "") : term;
  }
  return sum;
}

LLVMValueRef jit_emit_expr(jit_emit_t *emit, const jit_expr_t *expr) {
  jit_expr_t *memo = (jit_expr_t *)expr;
  int depth = jit_emit_depth(emit, expr->vars);
  if (!expr->count) return jit_emit_i64(emit, expr->constant);
  if (memo->epoch == emit->levels[depth].epoch) return memo->value;
  const jit_expr_t *rest = jit_emit_outer_part(emit, expr, depth);
  LLVMValueRef sum = rest->count || rest->constant ? jit_emit_expr(emit, rest) : NULL;
  memo->value = sum_deepest(emit, expr, depth, sum);
  memo->epoch = emit->levels[depth].epoch;
  return memo->value;
}

/* Indices that differ from lane to lane are computed in 32 bits where that is enough. */
static LLVMTypeRef lane_index_type(jit_emit_t *emit, const jit_expr_t *expr) {
  bool is_short = expr->low >= INT32_MIN && expr->high <= INT32_MAX;
  for (int i = 0; i < expr->count && is_short; i++) {
    const jit_expr_t *of = emit->formula->exprs.symbols[expr->terms[i].symbol].of;
    if (of) is_short = of->low >= INT32_MIN && of->high <= INT32_MAX;
  }
  return is_short ? llvm()->Int32TypeInContext(emit->code->context) : llvm()->Int64TypeInContext(emit->code->context);
}

static LLVMValueRef lane_expr(jit_emit_t *emit, const jit_expr_t *expr, LLVMTypeRef element);

/* Starts that differ from lane to lane, each limited. */
static LLVMValueRef lane_start(jit_emit_t *emit, const jit_symbol_t *symbol, LLVMTypeRef element) {
  LLVMBuilderRef b = emit->code->builder;
  LLVMValueRef start = jit_emit_lanes(emit, symbol->node);
  bool is_signed = hr_dtype_class(symbol->node->dtype) == HR_CLASS_SIGNED;
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  if (jit_element_bits(llvm()->TypeOf(start)) < jit_element_bits(element))
    start = llvm()->BuildIntCast2(b, start, llvm()->VectorType(element, (unsigned)emit->lanes), is_signed, "");
  LLVMTypeRef type = llvm()->TypeOf(start);
  LLVMValueRef low = jit_int(type, symbol->low), high = jit_int(type, symbol->high);
  if (is_signed) start = jit_intrinsic(emit->code, "llvm.smax", type, (LLVMValueRef[]){start, low}, 2);
  start = jit_intrinsic(emit->code, is_signed ? "llvm.smin" : "llvm.umin", type, (LLVMValueRef[]){start, high}, 2);
  return llvm()->BuildIntCast2(b, start, llvm()->VectorType(element, (unsigned)emit->lanes), is_signed, "");
}

static LLVMValueRef lane_symbol(jit_emit_t *emit, const jit_symbol_t *symbol, LLVMTypeRef element) {
  LLVMBuilderRef b = emit->code->builder;
  LLVMTypeRef type = llvm()->VectorType(element, (unsigned)emit->lanes);
  if (symbol->kind == JIT_SYMBOL_START) return lane_start(emit, symbol, element);
  LLVMTypeRef of_type = lane_index_type(emit, symbol->of);
  if (jit_element_bits(of_type) < jit_element_bits(element)) of_type = element;
  LLVMValueRef of = lane_expr(emit, symbol->of, of_type);
  LLVMValueRef divisor = jit_int(llvm()->TypeOf(of), symbol->divisor);
  jit_emit_at(emit, jit_emit_depth(emit, symbol->vars));
  LLVMValueRef result = symbol->kind == JIT_SYMBOL_QUOTIENT ? llvm()->BuildUDiv(b, of, divisor, "")
                                                            : llvm()->BuildURem(b, of, divisor, "");
  return llvm()->BuildIntCast2(b, result, type, true, "");
}

/* Scalar part in all lanes, and the lanes' own variable as a ramp. */
static LLVMValueRef straight_lanes(jit_emit_t *emit, const jit_expr_t *expr, LLVMTypeRef element) {
  jit_exprs_t *exprs = &emit->formula->exprs;
  LLVMBuilderRef b = emit->code->builder;
  LLVMTypeRef type = llvm()->VectorType(element, (unsigned)emit->lanes);
  const jit_expr_t *plain = expr;
  int64_t factor = jit_expr_factor(expr, emit->lane_var);
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    if (symbol->kind != JIT_SYMBOL_LOOP && symbol->vars >> emit->lane_var & 1)
      plain = jit_expr_without(exprs, plain, expr->terms[i].symbol);
  }
  LLVMValueRef base = jit_emit_expr(emit, plain);
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  base = llvm()->BuildIntCast2(b, base, element, true, "");
  LLVMValueRef sum = jit_splat(emit->code, type, base);
  if (!factor) return sum;
  LLVMValueRef ramp = llvm()->BuildMul(b, jit_emit_lane_numbers(emit, element), jit_int(type, factor), "");
  return llvm()->BuildAdd(b, sum, ramp, "");
}

/* What is bent is added as vectors. Many indices may have the same quotients in them: each is written once. */
static LLVMValueRef lane_expr(jit_emit_t *emit, const jit_expr_t *expr, LLVMTypeRef element) {
  jit_expr_t *memo = (jit_expr_t *)expr;
  LLVMBuilderRef b = emit->code->builder;
  LLVMTypeRef type = llvm()->VectorType(element, (unsigned)emit->lanes);
  int depth = jit_emit_depth(emit, expr->vars);
  if (memo->lanes_epoch == emit->levels[depth].epoch && llvm()->TypeOf(memo->lanes_value) == type)
    return memo->lanes_value;
  LLVMValueRef sum = straight_lanes(emit, expr, element);
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t symbol = emit->formula->exprs.symbols[expr->terms[i].symbol];
    if (symbol.kind == JIT_SYMBOL_LOOP || !(symbol.vars >> emit->lane_var & 1)) continue;
    LLVMValueRef term = lane_symbol(emit, &symbol, element);
    jit_emit_at(emit, depth);
    sum = llvm()->BuildAdd(b, sum, llvm()->BuildMul(b, term, jit_int(type, expr->terms[i].factor), ""), "");
  }
  memo->lanes_value = sum, memo->lanes_epoch = emit->levels[depth].epoch;
  return sum;
}

LLVMValueRef jit_emit_lane_expr(jit_emit_t *emit, const jit_expr_t *expr) {
  LLVMValueRef value = lane_expr(emit, expr, lane_index_type(emit, expr));
  jit_emit_at(emit, jit_emit_depth(emit, expr->vars));
  return value;
}
