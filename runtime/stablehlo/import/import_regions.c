/* Regions of ops as computations. A body of reduce, sort and the like has the region's arguments
 * as parameters; a body of a loop or branch has one tuple of arguments and captured values, which
 * regions use from outside and HLO computations must receive as parameters. */
#include "base/mem.h"
#include "stablehlo/import/import.h"

/* True if the value is defined in the region or in a nested one. Cost: the depth of the nesting. */
static bool is_inside(const mlir_value_t *value, const mlir_region_t *region) {
  const mlir_block_t *block = value->owner ? value->owner->parent : value->block;
  while (block && block->parent != region)
    block = block->parent->parent ? block->parent->parent->parent : NULL;
  return block != NULL;
}

void import_values_deinit(import_values_t *values) {
  HR_VEC_FREE(values);
  hr_map_deinit(&values->known);
}

/* `place` must not move: the address in it is the key. */
static hr_status_t add_once(import_values_t *values, mlir_value_t *const *place) {
  void *known;
  HR_TRY(
      hr_map_put(&values->known, (hr_str_t){(const char *)place, sizeof *place}, *place, &known));
  if (!known) HR_VEC_PUSH(values, *place);
  return NULL;
}

/* Adds captured values of a region and of nested regions. */
static hr_status_t capture_in(const mlir_region_t *whole, const mlir_region_t *region,
                              import_values_t *values) {
  for (size_t b = 0; b < region->blocks.count; b++)
    for (size_t i = 0; i < region->blocks.data[b]->ops.count; i++) {
      const mlir_op_t *op = region->blocks.data[b]->ops.data[i];
      for (int k = 0; k < op->operand_count; k++)
        if (!is_inside(op->operands[k], whole)) HR_TRY(add_once(values, &op->operands[k]));
      for (int r = 0; r < op->region_count; r++) HR_TRY(capture_in(whole, op->regions[r], values));
    }
  return NULL;
}

/* Values from outside that the region uses, each once, in the order of first use. */
hr_status_t import_captures(const mlir_region_t *region, import_values_t *values) {
  return capture_in(region, region, values);
}

/* Bodies are named region_0, region_1, ..., numbered through the module. */
static hr_status_t new_body_scope(import_scope_t *scope, const mlir_op_t *op,
                                  import_scope_t *body) {
  const char *name;
  HR_TRY(
      hr_arena_printf(scope->importer->arena, &name, "region_%d", scope->importer->body_count++));
  return import_scope_new(scope->importer, hr_str_from(name), op, body);
}

/* Copies a captured constant into a body. In a loop or branch that has captured the constant, too,
 * the value is an element of the state, and the literal comes from the defining op. */
static hr_status_t copy_constant(import_scope_t *scope, const mlir_op_t *op, mlir_value_t *value,
                                 import_scope_t *body) {
  const hlo_instr_t *outside = value->mapped;
  const mlir_op_t *owner = value->owner;
  bool is_constant = owner && hr_str_is(owner->name, "stablehlo.constant");
  const mlir_attr_t *attr = is_constant ? mlir_op_attr(owner, "value") : NULL;
  hlo_value_t *literal;
  if (outside && outside->op == HLO_CONSTANT)
    literal = hlo_value_retain(outside->literal);
  else if (attr)
    HR_TRY(import_literal(scope->importer, attr, &literal));
  else
    return import_error(
        scope, op,
        "its region uses a value from outside that is not a constant, which has no form in HLO");
  value->mapped = hlo_build_constant(&body->builder, literal);
  return NULL;
}

/* Captured values must be constants, which are copied into the body. */
static hr_status_t import_body_with(import_scope_t *scope, const mlir_op_t *op, int region,
                                    import_values_t *captured,
                                    hlo_computation_t **out_computation) {
  mlir_block_t *block = import_block_of(op, region);
  import_scope_t body;
  mlir_op_t *terminator;
  void **outside;
  if (!block) return import_error(scope, op, "region %d has no body", region);
  HR_TRY(import_captures(op->regions[region], captured));
  HR_TRY(new_body_scope(scope, op, &body));
  for (int i = 0; i < block->arg_count; i++) {
    const hlo_shape_t *shape;
    HR_TRY(import_shape(scope->importer, block->args[i].type, &shape));
    block->args[i].mapped = hlo_build_parameter(&body.builder, i, shape);
  }
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, captured->count, &outside));
  for (size_t i = 0; i < captured->count; i++) {
    outside[i] = captured->data[i]->mapped;
    HR_TRY(copy_constant(scope, op, captured->data[i], &body));
  }
  HR_TRY(import_block(&body, block, &terminator));
  HR_TRY(import_scope_close(&body, import_returned(&body, terminator, true)));
  for (size_t i = 0; i < captured->count; i++) captured->data[i]->mapped = outside[i];
  *out_computation = body.builder.computation;
  return NULL;
}

/* A body whose parameters are exactly its arguments, without captured values. */
hr_status_t import_body(import_scope_t *scope, const mlir_op_t *op, int region,
                        hlo_computation_t **out_computation) {
  import_values_t captured = {0};
  hr_status_t st = import_body_with(scope, op, region, &captured, out_computation);
  import_values_deinit(&captured);
  return st;
}

/* Shape of (args..., captured...). */
static hr_status_t state_shape(import_scope_t *scope, const mlir_block_t *block,
                               const import_values_t *captured, const hlo_shape_t **out_shape) {
  int count = block->arg_count + (int)captured->count;
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  for (int i = 0; i < block->arg_count; i++)
    HR_TRY(import_shape(scope->importer, block->args[i].type, &shapes[i]));
  for (size_t i = 0; i < captured->count; i++)
    shapes[block->arg_count + (int)i] = ((hlo_instr_t *)captured->data[i]->mapped)->shape;
  return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
}

/* The body returns captured values unchanged, as they are loop state. */
static hlo_instr_t *returned_with_captures(import_scope_t *body, const mlir_op_t *terminator,
                                           const import_values_t *captured) {
  int count = terminator->operand_count + (int)captured->count;
  hlo_instr_t **elements;
  if (!body->builder.status)
    body->builder.status = HR_NEW_ARRAY(body->importer->arena, count, &elements);
  if (body->builder.status) return NULL;
  for (int k = 0; k < terminator->operand_count; k++) elements[k] = import_operand(terminator, k);
  for (size_t i = 0; i < captured->count; i++)
    elements[terminator->operand_count + (int)i] = captured->data[i]->mapped;
  body->builder.extra = NULL; /* belongs to the last op */
  return hlo_build_tuple(&body->builder, count, elements);
}

/* `mapped` of the captured values is replaced while the region is imported, and restored. */
hr_status_t import_region(import_scope_t *scope, const mlir_op_t *op, int region,
                          const import_region_form_t *form, hlo_computation_t **out_computation) {
  mlir_block_t *block = import_block_of(op, region);
  const import_values_t *captured = form->captured;
  import_scope_t body;
  mlir_op_t *terminator;
  const hlo_shape_t *shape;
  void **outside;
  if (!block) return import_error(scope, op, "region %d has no body", region);
  HR_TRY(state_shape(scope, block, captured, &shape));
  HR_TRY(new_body_scope(scope, op, &body));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, captured->count, &outside));
  hlo_instr_t *state = hlo_build_parameter(&body.builder, 0, shape);
  for (int i = 0; i < block->arg_count; i++)
    block->args[i].mapped = hlo_build_element(&body.builder, state, i);
  for (size_t i = 0; i < captured->count; i++) {
    outside[i] = captured->data[i]->mapped;
    captured->data[i]->mapped = hlo_build_element(&body.builder, state, block->arg_count + (int)i);
  }
  HR_TRY(import_block(&body, block, &terminator));
  hlo_instr_t *root = form->pass_captured ? returned_with_captures(&body, terminator, captured)
                                          : import_returned(&body, terminator, form->bare);
  HR_TRY(import_scope_close(&body, root));
  for (size_t i = 0; i < captured->count; i++) captured->data[i]->mapped = outside[i];
  *out_computation = body.builder.computation;
  return NULL;
}
