/* Operations that StableHLO and XLA define differently under the same name. Each is expanded into
 * instructions with the same definition in both, so that the meaning survives every conversion:
 *
 *   convert              complex to i1 uses only the real part (XLA: both parts)
 *   bitcast_convert      an i1 is one bit (XLA: pred is a byte next to types of 8 bits and more)
 *   reduce_precision     a NaN without mantissa bits becomes infinity (XLA: stays NaN)
 *   all_gather,          the members of cross_replica_and_partition are ordered by partition, then
 *   reduce_scatter       replica (XLA: by replica, then partition)
 *
 * export_differences.c does the opposite. Source: StableHLO spec and its interpreter's tests. */
#include <math.h>

#include "stablehlo/import/import_formula.h"

/* Complex to i1 compares only the real part with 0. */
hr_status_t import_convert(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *shape;
  hlo_builder_t *f = &scope->builder;
  expr_t x = import_operand(op, 0);
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  bool to_pred = hlo_shape_is_array(shape) && shape->dtype == HR_PRED;
  if (!to_pred || !hr_dtype_is_complex(x->shape->dtype)) return import_plain(scope, op, row);
  return import_set_results(scope, op, hlo_build_convert(f, f_real(f, x), HR_PRED));
}

/* An i1 is converted through u1, which is a bit in HLO, too. */
hr_status_t import_bitcast_convert(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *shape, *bits;
  hlo_builder_t *f = &scope->builder;
  expr_t x = import_operand(op, 0);
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  hr_dtype_t from = x->shape->dtype;
  hr_dtype_t to = shape->dtype;
  if (from == to || (from != HR_PRED && to != HR_PRED)) return import_plain(scope, op, row);
  HR_TRY(hlo_shape_with_dtype(scope->importer->arena, shape, to == HR_PRED ? HR_U1 : to, &bits));
  if (from == HR_PRED) x = hlo_build_convert(f, x, HR_U1);
  x = hlo_build(f, row->op, bits, 1, &x, 0, NULL, 0, NULL);
  return import_set_results(scope, op, to == HR_PRED ? hlo_build_convert(f, x, HR_PRED) : x);
}

/* Only formats without mantissa bits differ: they have no NaN, so that it becomes infinity. */
hr_status_t import_reduce_precision(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int64_t exponent = import_int(op, "exponent_bits", 0);
  int64_t mantissa = import_int(op, "mantissa_bits", 0);
  hlo_builder_t *f = &scope->builder;
  expr_t x = import_operand(op, 0);
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_EXPONENT_BITS, exponent),
                        hlo_attr_of_int(HLO_ATTR_MANTISSA_BITS, mantissa)};
  expr_t reduced = hlo_build(f, row->op, NULL, 1, &x, 2, attrs, 0, NULL);
  if (mantissa == 0 && reduced)
    reduced = f_select(f, f_ne(f, x, x), f_number(f, INFINITY, x), reduced);
  return import_set_results(scope, op, reduced);
}

/* --- order of a collective's members --- */

/* Replica groups among the collected attributes; NULL: none. */
static const hlo_groups_t *groups_of(const import_attrs_t *attrs) {
  for (int i = 0; i < attrs->count; i++)
    if (attrs->items[i].key == HLO_ATTR_REPLICA_GROUPS) return attrs->items[i].groups;
  return NULL;
}

static bool has_attr(const import_attrs_t *attrs, hlo_attr_key_t key) {
  for (int i = 0; i < attrs->count; i++)
    if (attrs->items[i].key == key) return true;
  return false;
}

/* Number of partitions for `members` participants in the mode cross_replica_and_partition (a
 * channel, no global ids); 1 in other modes. */
static int64_t partitions_of(const import_scope_t *scope, const import_attrs_t *attrs,
                             int64_t members) {
  const hlo_groups_t *groups = groups_of(attrs);
  bool both =
      has_attr(attrs, HLO_ATTR_CHANNEL_ID) && !has_attr(attrs, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  int64_t partitions = scope->importer->module->num_partitions;
  if (!both || members < 1) return 1;
  if (groups && groups->groups.count && groups->groups.lists[0].count)
    partitions = members / groups->groups.lists[0].count;
  return partitions > 0 && members % partitions == 0 ? partitions : 1;
}

/* Reorders the outer x inner chunks of x along a dimension as inner x outer chunks. */
static hlo_instr_t *swap_chunks(import_scope_t *scope, hlo_instr_t *x, int64_t dimension,
                                int64_t outer, int64_t inner) {
  int64_t dims[HLO_MAX_RANK], order[HLO_MAX_RANK];
  const hlo_shape_t *split;
  const hlo_shape_t *shape = x->shape;
  hlo_builder_t *b = &scope->builder;
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (d == dimension) dims[rank++] = outer;
    if (d == dimension) dims[rank++] = inner;
    dims[rank++] = d == dimension ? shape->dims[d] / (outer * inner) : shape->dims[d];
  }
  for (int d = 0; d < rank; d++) order[d] = d;
  order[dimension] = dimension + 1;
  order[dimension + 1] = dimension;
  b->status = hlo_shape_array(scope->importer->arena, shape->dtype, rank, dims, &split);
  if (b->status) return NULL;
  hlo_attr_t attr = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, rank, order);
  x = hlo_build_reshape(b, x, split);
  x = hlo_build(b, HLO_TRANSPOSE, NULL, 1, &x, 1, &attr, 0, NULL);
  return hlo_build_reshape(b, x, shape);
}

/* The number of chunks and their grid follow from the sizes. No reordering if a side of the grid
 * is 1. */
hr_status_t import_order_members(import_scope_t *scope, const import_attrs_t *attrs,
                                 const member_chunks_t *chunks, hlo_instr_t **x) {
  hlo_instr_t *whole = *x;
  int64_t d = chunks->dimension;
  bool has_dimension = !scope->builder.status && whole && hlo_shape_is_array(whole->shape) &&
                       d >= 0 && d < whole->shape->rank && chunks->part->rank == whole->shape->rank;
  if (!has_dimension || chunks->part->dims[d] < 1) return NULL;
  int64_t members = whole->shape->dims[d] / chunks->part->dims[d];
  int64_t partitions = partitions_of(scope, attrs, members);
  int64_t replicas = members / partitions;
  bool fits = members * chunks->part->dims[d] == whole->shape->dims[d];
  if (!fits || partitions == 1 || replicas == 1) return NULL;
  if (hlo_shape_is_dynamic(whole->shape) || whole->shape->rank + 2 > HLO_MAX_RANK)
    return import_error(scope, scope->importer->at,
                        "the order of its members takes static sizes and at most %d dimensions",
                        HLO_MAX_RANK - 2);
  *x = swap_chunks(scope, whole, d, chunks->by_partition ? partitions : replicas,
                   chunks->by_partition ? replicas : partitions);
  return NULL;
}
