/* Are two MLIR trees the same program? Names of values do not count. */
#ifndef TESTS_UNIT_MLIR_TREE_H
#define TESTS_UNIT_MLIR_TREE_H

#include "mlir/mlir.h"

static bool tree_regions_equal(const mlir_region_t *a, const mlir_region_t *b);

static bool tree_named_equal(int count, const mlir_named_attr_t *a, const mlir_named_attr_t *b) {
  for (int i = 0; i < count; i++)
    if (!hr_str_equal(a[i].name, b[i].name) || !mlir_attr_equal(a[i].value, b[i].value))
      return false;
  return true;
}

/* Values are the same if what defines them has been met at the same place: `mapped` of the one
 * points to the other. */
static bool tree_values_equal(int count, mlir_value_t *const *a, mlir_value_t *const *b) {
  for (int i = 0; i < count; i++)
    if (a[i]->mapped != b[i]) return false;
  return true;
}

static bool tree_pair_values(int count, mlir_value_t *a, mlir_value_t *b) {
  for (int i = 0; i < count; i++) {
    if (!mlir_type_equal(a[i].type, b[i].type)) return false;
    a[i].mapped = &b[i];
  }
  return true;
}

static bool tree_ops_equal(const mlir_op_t *a, const mlir_op_t *b) {
  if (!hr_str_equal(a->name, b->name) || a->operand_count != b->operand_count ||
      a->attr_count != b->attr_count || a->extra_count != b->extra_count ||
      a->region_count != b->region_count || a->successor_count != b->successor_count)
    return false;
  if (!tree_values_equal(a->operand_count, a->operands, b->operands) ||
      !tree_named_equal(a->attr_count, a->attrs, b->attrs) ||
      !tree_named_equal(a->extra_count, a->extras, b->extras))
    return false;
  for (int i = 0; i < a->region_count; i++)
    if (!tree_regions_equal(a->regions[i], b->regions[i])) return false;
  return true;
}

static bool tree_pair_block(mlir_block_t *a, mlir_block_t *b) {
  if (a->arg_count != b->arg_count || a->ops.count != b->ops.count) return false;
  if (!tree_pair_values(a->arg_count, a->args, b->args)) return false;
  for (size_t i = 0; i < a->ops.count; i++) {
    mlir_op_t *left = a->ops.data[i], *right = b->ops.data[i];
    if (left->result_count != right->result_count ||
        !tree_pair_values(left->result_count, left->results, right->results))
      return false;
  }
  return true;
}

static bool tree_regions_equal(const mlir_region_t *a, const mlir_region_t *b) {
  if (a->blocks.count != b->blocks.count) return false;
  for (size_t i = 0; i < a->blocks.count; i++)
    if (!tree_pair_block(a->blocks.data[i], b->blocks.data[i])) return false;
  for (size_t i = 0; i < a->blocks.count; i++)
    for (size_t k = 0; k < a->blocks.data[i]->ops.count; k++)
      if (!tree_ops_equal(a->blocks.data[i]->ops.data[k], b->blocks.data[i]->ops.data[k]))
        return false;
  return true;
}

#endif
