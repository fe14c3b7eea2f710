/* Compile-time values: instructions that depend on constants only are evaluated with the
 * reference kernels, each at most once. */
#include "passes/lib/pass_evaluate.h"
#include "tf/compile/xla_compilation.h"

#define EVALUATE_DEPTH_MAX 2000

/* Marks instructions in compiler->evaluated that depend on parameters. */
static char not_constant;

static hr_status_t evaluate_instr(tf_compiler_t *compiler, expr_t instr, int depth,
                                  hlo_value_t **out_value);

/* Leaves *out_value NULL if an operand is not constant, or if pass_evaluate does not support the
 * instruction. The module owns the values, so that the map can share them. */
static hr_status_t evaluate_operands(tf_compiler_t *compiler, expr_t instr, int depth,
                                     hlo_value_t **out_value) {
  hlo_value_t *in[HLO_MAX_RANK + 8];
  if (instr->operand_count > (int)(sizeof in / sizeof *in) || !pass_can_evaluate(instr))
    return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    HR_TRY(evaluate_instr(compiler, instr->operands[k], depth + 1, &in[k]));
    if (!in[k]) return NULL;
  }
  hlo_value_t *value;
  HR_TRY(pass_evaluate(instr, in, &value));
  if (!value) return NULL;
  HR_TRY(hlo_module_adopt_value(compiler->module, value));
  *out_value = value;
  return NULL;
}

/* A constant's value, whose elements can be read: a borrowed one is copied first. */
static hr_status_t literal_of(tf_compiler_t *compiler, hlo_instr_t *instr,
                              hlo_value_t **out_value) {
  hlo_value_t *aligned;
  *out_value = instr->literal;
  if ((uintptr_t)instr->literal->data % HR_ALIGNMENT == 0) return NULL;
  HR_TRY(hlo_value_copy(instr->literal, &aligned));
  HR_TRY(hlo_module_adopt_value(compiler->module, aligned));
  instr->literal = *out_value = aligned;
  return NULL;
}

/* XlaCompiler demands compile-time constants for shapes, axes, permutations and
 * begin/end/strides. They often come from Shape, Pack and arithmetic, so that whole expressions
 * are folded here. The map is indexed by the address of the instruction; its key is a copy in
 * the arena. */
static hr_status_t evaluate_instr(tf_compiler_t *compiler, expr_t instr, int depth,
                                  hlo_value_t **out_value) {
  *out_value = NULL;
  if (instr->op == HLO_CONSTANT) return literal_of(compiler, instr, out_value);
  if (instr->op == HLO_PARAMETER || depth > EVALUATE_DEPTH_MAX) return NULL;
  expr_t *key;
  void *found = hr_map_get(&compiler->evaluated, (hr_str_t){(const char *)&instr, sizeof instr});
  if (found) {
    *out_value = found == &not_constant ? NULL : found;
    return NULL;
  }
  HR_TRY(evaluate_operands(compiler, instr, depth, out_value));
  HR_TRY(HR_NEW(compiler->arena, &key));
  *key = instr;
  void *value = *out_value ? (void *)*out_value : &not_constant;
  return hr_map_put(&compiler->evaluated, (hr_str_t){(const char *)key, sizeof *key}, value, NULL);
}

hr_status_t tf_evaluate(tf_compiler_t *compiler, expr_t instr, hlo_value_t **out_value) {
  return evaluate_instr(compiler, instr, 0, out_value);
}
