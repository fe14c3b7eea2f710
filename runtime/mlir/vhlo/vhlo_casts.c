/* Ops of other dialects (sdy) in portable artifacts. Since version 1.11 they are stored unchanged,
 * with types of builtin, between casts from and to the types of VHLO:
 *
 *   %1 = builtin.unrealized_conversion_cast %0 : !vhlo.tensor_v1<4x!vhlo.f32_v1> to tensor<4xf32>
 *   %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<4xf32> */
#include <string.h>

#include "mlir/vhlo/vhlo.h"

/* True if `name` is "dialect.rest". */
static bool is_of(hr_str_t name, const char *dialect) {
  size_t size = strlen(dialect);
  return name.size > size && !memcmp(name.data, dialect, size) && name.data[size] == '.';
}

/* True for ops without a versioned form in VHLO, such as those of sdy: their dialect is not one of
 * these five. */
bool vhlo_is_foreign(const mlir_op_t *op) {
  static const char *const own[] = {"stablehlo", "chlo", "func", "vhlo", "builtin"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (is_of(op->name, own[i])) return false;
  return memchr(op->name.data, '.', op->name.size) != NULL;
}

/* True if a value has a type of builtin: a result of a foreign op, or an argument of its region. */
static bool is_builtin(const mlir_value_t *value) {
  const mlir_op_t *op = value->owner   ? value->owner
                        : value->block ? value->block->parent->parent
                                       : NULL;
  return op && vhlo_is_foreign(op);
}

/* The tree has the same type on both sides of a cast; the op that made the operand decides which
 * side is VHLO's. */
bool vhlo_casts_to_vhlo(const mlir_op_t *op) {
  return hr_str_is(op->name, VHLO_CAST) && is_builtin(op->operands[0]);
}

/* Inserts a cast of one value and replaces the operand by it; both sides have the tree's type. */
static hr_status_t make_cast(hr_arena_t *arena, mlir_block_t *block, const mlir_op_t *user,
                             mlir_value_t **operand, mlir_op_t **out_cast) {
  mlir_op_t *cast;
  HR_TRY(HR_NEW(arena, &cast));
  HR_TRY(HR_NEW(arena, &cast->results));
  HR_TRY(HR_NEW(arena, &cast->operands));
  cast->name = HR_STR(VHLO_CAST);
  cast->operand_count = 1;
  cast->result_count = 1;
  cast->operands[0] = *operand;
  cast->results[0] = (mlir_value_t){.type = (*operand)->type, .owner = cast};
  cast->location = user->location;
  cast->parent = block;
  *operand = cast->results;
  *out_cast = cast;
  return NULL;
}

/* Rebuilds the list of ops of a block with casts before the ops that need them. */
static hr_status_t add_casts(hr_arena_t *arena, mlir_block_t *block) {
  size_t count = block->ops.count;
  mlir_op_t **ops;
  HR_TRY(HR_NEW_ARRAY(arena, count, &ops));
  memcpy(ops, block->ops.data, count * sizeof *ops);
  block->ops.count = 0;
  for (size_t i = 0; i < count; i++) {
    bool foreign = vhlo_is_foreign(ops[i]);
    for (int k = 0; k < ops[i]->operand_count; k++) {
      mlir_op_t *cast;
      if (is_builtin(ops[i]->operands[k]) == foreign) continue;
      HR_TRY(make_cast(arena, block, ops[i], &ops[i]->operands[k], &cast));
      HR_VEC_PUSH(&block->ops, cast);
    }
    HR_VEC_PUSH(&block->ops, ops[i]);
  }
  return NULL;
}

/* Searches all blocks, nested ones included, as the module lists them. */
static bool has_foreign(const mlir_module_t *module) {
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++)
      if (vhlo_is_foreign(module->all_blocks.data[b]->ops.data[i])) return true;
  return false;
}

/* Modules without foreign ops, the usual case, are unchanged. */
hr_status_t vhlo_add_casts(mlir_module_t *module) {
  if (!has_foreign(module)) return NULL;
  for (size_t b = 0; b < module->all_blocks.count; b++)
    HR_TRY(add_casts(&module->arena, module->all_blocks.data[b]));
  return NULL;
}
