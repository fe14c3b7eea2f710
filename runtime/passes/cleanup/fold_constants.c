/* Constant folding with the reference engine's kernels:
 *
 *   add(constant 2, constant 3)   ->   constant 5
 *   constant {7, 7, 7, 7}         ->   broadcast(constant 7)
 *
 * Not folded: generators (iota, broadcast, random bits), which are cheaper to compute than to read;
 * results that are large and larger than their operands; kernels whose cost is not linear. Exact:
 * the same kernels would run later. */
#include <string.h>

#include "passes/lib/pass_evaluate.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

enum {
  MAX_BYTES = 65536, /* size of a result that is larger than its operands */
  MAX_WORK = 4 << 20 /* most operand bytes of a folded instruction */
};

/* ---- candidates ---- */

static bool is_generator(hlo_opcode_t op) {
  return op == HLO_IOTA || op == HLO_BROADCAST || op == HLO_RNG_BIT_GENERATOR;
}

/* Values of the operands; false if one is not constant. */
static bool constant_operands(const hlo_instr_t *instr, hlo_value_t **values, size_t *out_bytes) {
  *out_bytes = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (operand->op != HLO_CONSTANT || !operand->literal || !hlo_shape_is_array(operand->shape))
      return false;
    values[k] = operand->literal;
    *out_bytes += hlo_value_bytes(operand->literal);
  }
  return true;
}

static bool is_profitable(const hlo_instr_t *instr, size_t operand_bytes) {
  size_t bytes;
  hr_status_t st = hlo_shape_bytes(instr->shape, &bytes);
  hr_status_release(st);
  return !st && operand_bytes <= MAX_WORK && (bytes <= MAX_BYTES || bytes <= operand_bytes);
}

/* Is the kernel's cost not linear in its operands? */
static bool is_expensive(hlo_opcode_t op) {
  return op == HLO_CONVOLUTION || op == HLO_DOT || op == HLO_RAGGED_DOT || op == HLO_SCALED_DOT ||
         op == HLO_TRIANGULAR_SOLVE || op == HLO_CHOLESKY || op == HLO_FFT ||
         op == HLO_REDUCE_WINDOW || op == HLO_SELECT_AND_SCATTER;
}

static bool may_fold(const hlo_instr_t *instr) {
  if (!instr->operand_count || is_generator(instr->op) || is_expensive(instr->op)) return false;
  return !(instr->extra && instr->extra->control_count) && pass_can_evaluate(instr);
}

/* ---- equal elements ---- */

static bool has_equal_elements(const hlo_value_t *value) {
  const char *bytes = value->data;
  size_t element_bytes = hr_dtype_bytes(value->dtype), total = hlo_value_bytes(value);
  return value->rank > 0 && value->count > 1 &&
         !memcmp(bytes, bytes + element_bytes, total - element_bytes);
}

static hlo_instr_t *build_splat(pass_rewrite_t *rewrite, const hlo_value_t *value,
                                const hlo_shape_t *shape) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_value_t *scalar;
  if (!builder->status) builder->status = hlo_value_array(value->dtype, 0, NULL, &scalar);
  if (builder->status) return NULL;
  memcpy(scalar->data, value->data, hr_dtype_bytes(value->dtype));
  return hlo_build_broadcast(builder, hlo_build_constant(builder, scalar), shape,
                             (hr_ints_t){NULL, 0});
}

/* Takes ownership of the value. */
static hlo_instr_t *build_constant(pass_rewrite_t *rewrite, hlo_value_t *value,
                                   const hlo_shape_t *shape) {
  if (!has_equal_elements(value)) {
    hlo_instr_t *constant = hlo_build_constant(&rewrite->builder, value);
    if (constant) constant->shape = shape;
    return constant;
  }
  hlo_instr_t *splat = build_splat(rewrite, value, shape);
  hlo_value_release(value);
  return splat;
}

/* ---- the pass ---- */

static hr_status_t fold_instr(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_value_t **values, *result = NULL;
  size_t bytes;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, instr->operand_count, &values));
  if (!constant_operands(instr, values, &bytes) || !is_profitable(instr, bytes)) return NULL;
  HR_TRY(pass_evaluate(instr, values, &result));
  return result ? pass_replace(rewrite, instr, build_constant(rewrite, result, instr->shape))
                : NULL;
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  bool is_array = instr->op == HLO_CONSTANT && instr->literal && hlo_shape_is_array(instr->shape);
  if (is_array && has_equal_elements(instr->literal))
    return pass_replace(rewrite, instr, build_splat(rewrite, instr->literal, instr->shape));
  return may_fold(instr) ? fold_instr(rewrite, instr) : NULL;
}

hr_status_t pass_fold(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_module(module, visit, NULL, out_changed);
}
