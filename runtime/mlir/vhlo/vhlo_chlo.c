/* CHLO in portable artifacts, which have no form for its ops. Ops that XLA knows by name become
 * custom calls, as in JAX's artifacts:
 *
 *   stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64}
 *
 * chlo.tan became an op of StableHLO, and atan(x) is atan2(x, 1). The importer must have expanded
 * all other ops before. */
#include <string.h>

#include "mlir/text/mlir_parser.h"
#include "mlir/vhlo/vhlo.h"

static bool is_chlo(hr_str_t name) { return name.size > 5 && !memcmp(name.data, "chlo.", 5); }

/* Ops that XLA knows as mhlo custom calls. */
static bool has_custom_call(hr_str_t name) {
  static const char *const names[] = {"chlo.acos",  "chlo.acosh", "chlo.asin",
                                      "chlo.asinh", "chlo.atanh", "chlo.cosh",
                                      "chlo.erf",   "chlo.sinh",  "chlo.top_k"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hr_str_is(name, names[i])) return true;
  return false;
}

/* Ops that vhlo_replace_chlo can convert in place. */
static bool has_portable_form(hr_str_t name) {
  return has_custom_call(name) || hr_str_is(name, "chlo.tan") || hr_str_is(name, "chlo.atan");
}

/* First op that has no form in portable artifacts; NULL: none. */
const mlir_op_t *vhlo_find_chlo(const mlir_module_t *module) {
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++) {
      const mlir_op_t *op = module->all_blocks.data[b]->ops.data[i];
      if (is_chlo(op->name) && !has_portable_form(op->name)) return op;
    }
  return NULL;
}

/* Converts a dictionary's sorted fields to the attribute list of an op. */
static hr_status_t set_attrs(mlir_named_attr_t **into, hr_arena_t *arena, int count,
                             const mlir_named_attr_t *fields) {
  const mlir_attr_t *dict;
  HR_TRY(mlir_make_dict(arena, count, fields, &dict));
  *into = (mlir_named_attr_t *)dict->fields;
  return NULL;
}

/* {k = 2 : i64, largest = true} for top_k, {} for the others. */
static hr_status_t call_attributes(hr_arena_t *arena, const mlir_op_t *op,
                                   const mlir_attr_t **out_dict) {
  mlir_named_attr_t fields[2] = {{HR_STR("k"), mlir_op_attr(op, "k")}, {HR_STR("largest"), NULL}};
  if (!hr_str_is(op->name, "chlo.top_k")) return mlir_make_dict(arena, 0, NULL, out_dict);
  HR_TRY(mlir_make_bool(arena, true, &fields[1].value));
  return mlir_make_dict(arena, 2, fields, out_dict);
}

/* Converts the op to a custom call in place; operands, results and discardable attributes stay. */
static hr_status_t make_call(hr_arena_t *arena, mlir_op_t *op) {
  mlir_named_attr_t target_attr = {HR_STR("call_target_name"), NULL};
  mlir_named_attr_t *extras;
  mlir_named_attr_t *sorted;
  const char *target;
  bool top = hr_str_is(op->name, "chlo.top_k");
  int count = op->extra_count;
  HR_TRY(HR_NEW_ARRAY(arena, count + 2, &extras));
  for (int i = 0; i < count; i++) extras[i] = op->extras[i];
  extras[count] = (mlir_named_attr_t){HR_STR("mhlo.attributes"), NULL};
  HR_TRY(call_attributes(arena, op, &extras[count++].value));
  extras[count] = (mlir_named_attr_t){HR_STR("mhlo.version"), NULL};
  HR_TRY(mlir_make_i64(arena, 1, &extras[count++].value));
  HR_TRY(hr_arena_printf(arena, &target, "mhlo.%.*s", (int)op->name.size - 5, op->name.data + 5));
  HR_TRY(
      mlir_make_string(arena, top ? HR_STR("mhlo.topk") : hr_str_from(target), &target_attr.value));
  HR_TRY(set_attrs(&sorted, arena, 1, &target_attr));
  op->attrs = sorted;
  op->attr_count = 1;
  HR_TRY(set_attrs(&sorted, arena, count, extras));
  op->extras = sorted;
  op->extra_count = count;
  op->name = HR_STR("stablehlo.custom_call");
  return NULL;
}

/* dense<1> of the operand's type. The bytes of the splat are the real part; the imaginary part of
 * a complex element stays zero. */
static hr_status_t make_one(hr_arena_t *arena, const mlir_type_t *type,
                            const mlir_attr_t **out_attr) {
  const mlir_type_t *element = type->element;
  const mlir_type_t *scalar = element->kind == MLIR_TYPE_COMPLEX ? element->element : element;
  hr_dtype_t dtype;
  mlir_attr_t *attr;
  char *data;
  if (type->kind != MLIR_TYPE_TENSOR || scalar->kind != MLIR_TYPE_FLOAT ||
      !mlir_float_dtype(scalar, &dtype))
    return hr_error(HR_UNSUPPORTED, "chlo.atan of this type has no form in VHLO");
  HR_TRY(HR_NEW(arena, &attr));
  HR_TRY(HR_NEW_ARRAY(arena, mlir_element_bytes(element), &data));
  uint64_t bits = hr_float_encode(dtype, 1);
  memcpy(data, &bits, mlir_element_bytes(scalar));
  *attr = (mlir_attr_t){
      .kind = MLIR_ATTR_DENSE, .type = type, .data = data, .splat = true, .element_count = 1};
  *out_attr = attr;
  return NULL;
}

/* Replaces atan(x) by atan2(x, 1), with the constant inserted before op number `at` of its block.
 * UNSUPPORTED for dynamic sizes, which a constant cannot have. */
static hr_status_t make_atan2(hr_arena_t *arena, mlir_block_t *block, size_t at) {
  mlir_op_t *op = block->ops.data[at];
  mlir_op_t *one;
  mlir_named_attr_t *value;
  mlir_value_t **operands;
  for (int d = 0; d < op->operands[0]->type->rank; d++)
    if (op->operands[0]->type->dims[d] < 0)
      return hr_error(HR_UNSUPPORTED, "chlo.atan of a dynamic size in VHLO");
  HR_TRY(HR_NEW(arena, &one));
  HR_TRY(HR_NEW(arena, &value));
  HR_TRY(HR_NEW(arena, &one->results));
  HR_TRY(HR_NEW_ARRAY(arena, 2, &operands));
  value->name = HR_STR("value");
  HR_TRY(make_one(arena, op->operands[0]->type, &value->value));
  *one = (mlir_op_t){.name = HR_STR("stablehlo.constant"),
                     .result_count = 1,
                     .results = one->results,
                     .attr_count = 1,
                     .attrs = value,
                     .location = op->location};
  *one->results = (mlir_value_t){.type = op->operands[0]->type, .owner = one};
  operands[0] = op->operands[0];
  operands[1] = one->results;
  op->operands = operands;
  op->operand_count = 2;
  op->name = HR_STR("stablehlo.atan2");
  HR_TRY(mlir_block_add_op(block, one));
  memmove(block->ops.data + at + 1, block->ops.data + at,
          (block->ops.count - 1 - at) * sizeof *block->ops.data);
  block->ops.data[at] = one;
  return NULL;
}

/* make_atan2 inserts a constant at i, so that the op moves to i + 1. */
hr_status_t vhlo_replace_chlo(mlir_module_t *module) {
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++) {
      mlir_block_t *block = module->all_blocks.data[b];
      mlir_op_t *op = block->ops.data[i];
      if (hr_str_is(op->name, "chlo.tan")) op->name = HR_STR("stablehlo.tan");
      if (has_custom_call(op->name)) HR_TRY(make_call(&module->arena, op));
      if (hr_str_is(op->name, "chlo.atan")) HR_TRY(make_atan2(&module->arena, block, i++));
    }
  return NULL;
}
