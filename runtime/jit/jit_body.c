/* A single instruction wrapped as the body of a fusion. */
#include "base/vec.h"
#include "jit/jit_parts.h"

/* Makes the parameter that stands for an operand inside the body. */
static hr_status_t add_parameter(hr_arena_t *arena, hlo_computation_t *body,
                                 const hlo_instr_t *operand, int number, hlo_instr_t *instr) {
  hlo_attr_t *attr;
  HR_TRY(HR_NEW(arena, &attr));
  *attr = (hlo_attr_t){.key = HLO_ATTR_PARAMETER_NUMBER, .integer = number};
  *instr = (hlo_instr_t){.op = HLO_PARAMETER,
                         .id = (uint32_t)number,
                         .name = operand->name,
                         .shape = operand->shape,
                         .attr_count = 1,
                         .attrs = attr,
                         .parent = body};
  return NULL;
}

static bool is_scalar_constant(const hlo_instr_t *instr) {
  return instr->op == HLO_CONSTANT && instr->literal && instr->literal->count == 1;
}

/* Wraps an instruction: parameter k has the shape of operand k, the root is a copy of instr with
 * the parameters as its operands. Scalar constants are copied into the body instead, where the
 * kernel's code can fold them; the parameter list then holds a constant at that position.
 * Nothing is copied deeper than one level: shapes, names and called computations stay shared
 * with instr. */
hr_status_t jit_body_of(hr_arena_t *arena, const hlo_instr_t *instr,
                        const hlo_computation_t **out_body) {
  int count = instr->operand_count;
  hlo_computation_t *body;
  hlo_instr_t *instrs, **list, **operands;
  HR_TRY(HR_NEW(arena, &body));
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &instrs));
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &list));
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &operands));
  for (int k = 0; k <= count; k++) list[k] = &instrs[k];
  for (int k = 0; k < count; k++) {
    HR_TRY(add_parameter(arena, body, instr->operands[k], k, &instrs[k]));
    if (is_scalar_constant(instr->operands[k])) instrs[k] = *instr->operands[k];
    instrs[k].id = (uint32_t)k;
    instrs[k].operand_count = 0;
    instrs[k].parent = body;
    operands[k] = &instrs[k];
  }
  instrs[count] = *instr;
  instrs[count].id = (uint32_t)count;
  instrs[count].operands = operands;
  instrs[count].parent = body;
  *body = (hlo_computation_t){
      .name = instr->name, .module = instr->parent->module, .root = &instrs[count]};
  body->instrs.data = list;
  body->instrs.count = (size_t)count + 1;
  body->params.data = list;
  body->params.count = (size_t)count;
  *out_body = body;
  return NULL;
}
