/* Legalisation of calls: vectors wider than a register are passed and returned part by part, each
 * in a register of its own. A call may have no result.
 *
 *   <64 x float> f(<64 x float> x)  ->  16 | 16 | 16 | 16 in zmm0 .. zmm3, both ways
 *
 * A call has the first part of its result; KIR_RESULT instructions right after it have the others.
 */
#include <string.h>

#include "jit/x64/x64_legalize.h"

static unsigned part_count(const kir_type_t *type) {
  if (!x64_is_illegal(type)) return 1;
  unsigned at_once = x64_legal_lanes(type);
  return (type->lanes + at_once - 1) / at_once;
}

static kir_type_t *type_of_part(kir_type_t *type, unsigned part) {
  if (!x64_is_illegal(type)) return type;
  unsigned at_once = x64_legal_lanes(type);
  return kir_vector_type(type->element, x64_part_lanes(type->lanes, at_once, part * at_once));
}

/* Adds the parts of a value to a list that has room for X64_ARGUMENTS_MAX. */
static void add_parts(split_t *s, kir_value_t *value, kir_value_t **list, int *count) {
  bool is_whole = !x64_is_illegal(value->type);
  unsigned parts = part_count(value->type), at_once = is_whole ? 1 : x64_legal_lanes(value->type);
  if (*count + (int)parts > X64_ARGUMENTS_MAX) s->code->unsupported = "wide arguments";
  if (s->code->unsupported) return;
  for (unsigned k = 0; k < parts; k++)
    list[(*count)++] =
        is_whole ? value : x64_lanes_of(s, value, k * at_once, type_of_part(value->type, k)->lanes);
}

/* The parameters that are not split keep their ids. */
static void split_parameter(split_t *s, kir_value_t *old, kir_value_t *params) {
  if (!x64_is_illegal(old->type)) {
    *params = *old;
    return;
  }
  kir_value_t **parts = x64_new_parts(s, old, x64_legal_lanes(old->type));
  if (s->module->status) return;
  for (unsigned k = 0; k < part_count(old->type); k++) {
    params[k] = (kir_value_t){.type = type_of_part(old->type, k),
                              .op = KIR_PARAM,
                              .id = s->code->function->value_count++};
    parts[k] = &params[k];
  }
}

void x64_split_parameters(split_t *s) {
  kir_function_t *function = s->code->function;
  unsigned count = 0, at = 0;
  for (int k = 0; k < function->param_count; k++) count += part_count(function->params[k].type);
  kir_value_t *params = kir_alloc(s->module, count * sizeof *params);
  if (s->module->status) return;
  for (int k = 0; k < function->param_count; k++) {
    split_parameter(s, &function->params[k], &params[at]);
    at += part_count(function->params[k].type);
  }
  function->params = params;
  function->param_count = (int)count;
}

void x64_split_call(split_t *s, kir_value_t *call) {
  kir_value_t *args[X64_ARGUMENTS_MAX];
  int count = 0;
  for (int k = 0; k < call->arg_count; k++) add_parts(s, call->args[k], args, &count);
  if (s->code->unsupported || s->module->status) return;
  kir_value_t *made = kir_append(s->builder, KIR_CALL, type_of_part(call->type, 0), args, count);
  if (s->module->status) return;
  made->memory_type = call->memory_type;
  if (!kir_has_result(call)) {
    kir_unlink(call);
    return;
  }
  kir_value_t **parts = x64_new_parts(s, call, x64_legal_lanes(call->type));
  if (s->module->status) return;
  parts[0] = made;
  for (unsigned k = 1; k < part_count(call->type); k++) {
    parts[k] = kir_append(s->builder, KIR_RESULT, type_of_part(call->type, k), &made, 1);
    if (!s->module->status) parts[k]->detail = (int)k;
  }
  x64_replace_by_parts(s, call);
}

/* The terminator stays and gets the parts as its operands. */
void x64_split_return(split_t *s, kir_value_t *instr) {
  kir_value_t *parts[X64_ARGUMENTS_MAX];
  int count = 0;
  add_parts(s, instr->args[0], parts, &count);
  kir_value_t **args = kir_alloc(s->module, (size_t)count * sizeof *args);
  if (s->code->unsupported || s->module->status) return;
  memcpy(args, parts, (size_t)count * sizeof *args);
  instr->args = args;
  instr->arg_count = count;
}
