/* Loads and stores of arrays that a region keeps in registers (region_scalar_replacement.c):
 * elements are extracted from or inserted into the SSA value of the array, or are that value. */
#include "jit/element/element.h"
#include "jit/emit/emit_kernel.h"

static bool is_only_lanes(const jit_exprs_t *exprs, const jit_expr_t *expr, int lane_var) {
  for (int i = 0; i < expr->count; i++) {
    const jit_symbol_t *symbol = &exprs->symbols[expr->terms[i].symbol];
    if (symbol->of ? !is_only_lanes(exprs, symbol->of, lane_var)
                   : expr->terms[i].symbol != lane_var)
      return false;
  }
  return true;
}

bool jit_register_can_read(const jit_exprs_t *exprs, const jit_expr_t *expr, int lane_var) {
  bool is_spread = lane_var >= 0 && expr->vars >> lane_var & 1;
  return !is_spread || is_only_lanes(exprs, expr, lane_var);
}

bool jit_register_can_write(const jit_expr_t *expr, int lane_var, int lanes, int count) {
  bool is_spread = lane_var >= 0 && expr->vars >> lane_var & 1;
  if (!is_spread) return true;
  return count == lanes && expr->count == 1 && !expr->constant &&
         jit_expr_factor(expr, lane_var) == 1;
}

static kir_value_t *lane_constant(jit_emit_t *emit, int64_t lane) {
  return kir_const_int(kir_int_type(emit->code->module, 32), (uint64_t)lane);
}

/* Permutes the register to lane order. One iteration covers all lanes, so lane k's variable is
 * k. */
static kir_value_t *put_in_order(jit_emit_t *emit, const jit_register_t *reg,
                                 const jit_expr_t *index) {
  kir_value_t *lanes[JIT_MAX_LANES];
  bool is_same = reg->count == emit->lane.count;
  for (int k = 0; k < emit->lane.count; k++) {
    int64_t from = jit_lane_value(&emit->graph->exprs, index, emit->lane.var, k);
    if (from < 0 || from >= reg->count) from = 0;
    is_same = is_same && from == k;
    lanes[k] = lane_constant(emit, from);
  }
  if (is_same) return reg->value;
  kir_type_t *type = kir_vector_type(kir_type_of(reg->value), 1);
  kir_value_t *value = reg->value;
  if (reg->count == 1)
    value = kir_insert(emit->code->builder, kir_poison(type), value, lane_constant(emit, 0));
  return kir_shuffle(emit->code->builder, value, kir_poison(kir_type_of(value)),
                     kir_const_vector(lanes, (unsigned)emit->lane.count));
}

kir_value_t *jit_emit_register(jit_emit_t *emit, int number, const jit_expr_t *index) {
  const jit_register_t *reg = emit->function_part->in_registers[number];
  kir_value_t *value = reg->value;
  if (jit_emit_in_lanes(emit, index->vars)) {
    jit_emit_at(emit, emit->level);
    value = put_in_order(emit, reg, index);
  } else if (reg->count > 1) {
    kir_value_t *lane = jit_emit_expr(emit, index);
    jit_emit_at(emit, jit_emit_depth(emit, index->vars));
    value = kir_extract(emit->code->builder, value, lane);
  } else {
    jit_emit_at(emit, 0);
  }
  return jit_from_memory(emit->code, reg->dtype, value);
}

static void write_register(jit_emit_t *emit, jit_register_t *reg, const jit_expr_t *index,
                           kir_value_t *value) {
  bool is_element = !jit_emit_in_lanes(emit, index->vars) && reg->count > 1;
  kir_value_t *lane = is_element ? jit_emit_expr(emit, index) : NULL;
  jit_emit_at(emit, emit->level);
  value = jit_to_memory(emit->code, reg->dtype, value);
  reg->value = is_element ? kir_insert(emit->code->builder, reg->value, value, lane) : value;
}

void jit_emit_root(jit_emit_t *emit, int number, hr_dtype_t dtype, const jit_expr_t *index,
                   kir_value_t *value, bool streams) {
  jit_register_t *reg = emit->function_part ? emit->function_part->out_registers[number] : NULL;
  if (reg)
    write_register(emit, reg, index, value);
  else
    jit_emit_store(emit, jit_emit_out(emit, number), dtype, index, value, streams);
}
