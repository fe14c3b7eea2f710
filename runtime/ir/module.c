/* Creation and destruction of modules, computations and instructions, and errors about them. A
 * module is one arena: nothing is freed before the module is, apart from the growing lists, the
 * values and the source text, which are counted or allocated on their own. Shapes are inferred
 * one layer up (ops/rules/builder.h). */
#include "ir/module.h"
#include "base/decimal.h"

#include <stdio.h>
#include <stdlib.h>

hr_status_t hlo_module_create(hr_str_t name, hlo_module_t **out_module) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hlo_module_t), &memory));
  hlo_module_t *module = memory;
  hr_arena_init(&module->arena);
  module->replica_count = 1;
  module->num_partitions = 1;
  hr_status_t st = hr_arena_str(&module->arena, name, &module->name);
  if (st)
    hlo_module_destroy(module);
  else
    *out_module = module;
  return st;
}

void hlo_module_destroy(hlo_module_t *module) {
  if (!module) return;
  for (size_t i = 0; i < module->computations.count; i++) {
    HR_VEC_FREE(&module->computations.data[i]->instrs);
    HR_VEC_FREE(&module->computations.data[i]->params);
  }
  HR_VEC_FREE(&module->computations);
  for (size_t i = 0; i < module->values.count; i++) hlo_value_release(module->values.data[i]);
  HR_VEC_FREE(&module->values);
  hr_buffer_release(module->source_buffer);
  hr_arena_deinit(&module->arena);
  hr_free(module);
}

hr_status_t hlo_module_adopt_value(hlo_module_t *module, hlo_value_t *value) {
  hr_status_t st = HR_VEC_RESERVE(&module->values, module->values.count + 1);
  if (st)
    hlo_value_release(value);
  else
    module->values.data[module->values.count++] = value;
  return st;
}

hr_status_t hlo_computation_add(hlo_module_t *module, hr_str_t name,
                                hlo_computation_t **out_computation) {
  hlo_computation_t *computation;
  HR_TRY(HR_NEW(&module->arena, &computation));
  HR_TRY(hr_arena_str(&module->arena, name, &computation->name));
  computation->module = module;
  computation->id = (uint32_t)module->computations.count;
  HR_VEC_PUSH(&module->computations, computation);
  *out_computation = computation;
  return NULL;
}

int hlo_computation_param_leaf_count(const hlo_computation_t *computation) {
  int count = 0;
  for (size_t p = 0; p < computation->params.count; p++)
    count += hlo_shape_leaf_count(computation->params.data[p]->shape);
  return count;
}

/* Enters a parameter under its number; gaps stay NULL until the verifier looks. */
static hr_status_t enter_parameter(hlo_computation_t *computation, hlo_instr_t *instr) {
  int64_t number = hlo_parameter_number(instr);
  hr_pos_t pos = hlo_instr_pos(instr);
  if (number < 0 || number > 1000000)
    return hr_error_at(HR_INVALID, &pos, "parameter number %ld, want 0 to 1000000", (long)number);
  size_t wanted = (size_t)number + 1;
  HR_TRY(HR_VEC_RESERVE(&computation->params, wanted));
  while (computation->params.count < wanted)
    computation->params.data[computation->params.count++] = NULL;
  if (computation->params.data[number])
    return hr_error_at(HR_INVALID, &pos, "parameter number %ld is taken by %%%.*s", (long)number,
                       HR_STR_ARGS(computation->params.data[number]->name));
  computation->params.data[number] = instr;
  return NULL;
}

/* Copies `count` elements to the arena; an empty list becomes NULL. */
static hr_status_t copy_list_to_arena(hr_arena_t *arena, const void *list, int count,
                                      size_t element_bytes, void *out_copy) {
  void *copy = NULL;
  if (count) HR_TRY(hr_arena_copy(arena, list, (size_t)count * element_bytes, &copy));
  *(void **)out_copy = copy;
  return NULL;
}

hr_status_t hlo_operand_shapes(hr_arena_t *arena, const hlo_instr_t *instr,
                               const hlo_shape_t *const **out_shapes) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count, &shapes));
  for (int k = 0; k < instr->operand_count; k++) shapes[k] = instr->operands[k]->shape;
  *out_shapes = shapes;
  return NULL;
}

/* Copies the description with its lists; the id is the position that hlo_instr_append will give. */
hlo_instr_def_t hlo_instr_def_of(const hlo_instr_t *from, hlo_instr_t *const *operands) {
  return (hlo_instr_def_t){.op = from->op,
                           .name = from->name,
                           .shape = from->shape,
                           .operand_count = from->operand_count,
                           .operands = operands,
                           .attr_count = from->attr_count,
                           .attrs = from->attrs,
                           .called_count = from->called_count,
                           .called = from->called,
                           .literal = from->literal,
                           .line = from->line,
                           .column = from->column};
}

hr_status_t hlo_instr_create(hlo_computation_t *computation, const hlo_instr_def_t *def,
                             hlo_instr_t **out_instr) {
  hr_arena_t *arena = &computation->module->arena;
  hlo_instr_t *instr;
  HR_TRY(HR_NEW(arena, &instr));
  instr->op = def->op;
  instr->parent = computation;
  instr->id = (uint32_t)computation->instrs.count;
  HR_TRY(hr_arena_str(arena, def->name, &instr->name));
  instr->operand_count = def->operand_count;
  instr->attr_count = def->attr_count;
  instr->called_count = def->called_count;
  HR_TRY(copy_list_to_arena(arena, def->operands, def->operand_count, sizeof *def->operands,
                            &instr->operands));
  HR_TRY(copy_list_to_arena(arena, def->attrs, def->attr_count, sizeof *def->attrs, &instr->attrs));
  HR_TRY(copy_list_to_arena(arena, def->called, def->called_count, sizeof *def->called,
                            &instr->called));
  instr->literal = def->literal;
  instr->extra = def->extra;
  instr->line = def->line;
  instr->column = def->column;
  instr->shape = def->shape;
  *out_instr = instr;
  return NULL;
}

hr_status_t hlo_instr_append(hlo_instr_t *instr) {
  hlo_computation_t *computation = instr->parent;
  if (instr->op == HLO_PARAMETER) HR_TRY(enter_parameter(computation, instr));
  HR_VEC_PUSH(&computation->instrs, instr);
  return NULL;
}

hr_str_t hlo_frontend_attribute(const hlo_instr_t *instr, const char *name) {
  for (int i = 0; instr->extra && i < instr->extra->frontend_attributes.count; i++)
    if (hr_str_is(instr->extra->frontend_attributes.items[i].name, name))
      return instr->extra->frontend_attributes.items[i].value;
  return (hr_str_t){"", 0};
}

hr_status_t hlo_error_from(const char *file, int line, hr_code_t code, const hlo_instr_t *instr,
                           const char *label, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *message = NULL;
  int size = hr_vasprintf(&message, format, args);
  va_end(args);
  hr_pos_t pos = hlo_instr_pos(instr);
  const char *text = size < 0 ? "out of memory" : message;
  const char *op = hlo_op_name(instr->op);
  hr_status_t st;
  if (label)
    st = hr_error_from(file, line, code, &pos, "%s of %%%.*s: %s (%s)", op,
                       HR_STR_ARGS(instr->name), text, label);
  else
    st = hr_error_from(file, line, code, &pos, "%s of %%%.*s: %s", op, HR_STR_ARGS(instr->name),
                       text);
  if (size >= 0) free(message);
  return st;
}
