/* Operations of mhlo that neither StableHLO nor CHLO has: most are the HLO instruction of the same
 * name. Some also occur as custom calls, since StableHLO cannot express them otherwise. */
#include <string.h>

#include "mlir/mlir_mhlo.h"
#include "stablehlo/import/import.h"

/* HLO's topk gives values and indices as a tuple. chlo.top_k takes the largest values, mhlo.topk
 * the largest or smallest. */
hr_status_t import_top_k(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *x = import_operand(op, 0);
  import_attrs_t attrs = {.count = 0};
  import_add(&attrs, hlo_attr_of_int(HLO_ATTR_K, import_int(op, "k", -1)));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_LARGEST, import_bool(op, "largest", true)));
  import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_IS_STABLE, import_bool(op, "is_stable", true)));
  if (op->result_count != 2)
    return import_error(scope, op, "%d results, want values and indices", op->result_count);
  return import_set_tuple_results(
      scope, op,
      hlo_build(&scope->builder, row->op, NULL, 1, &x, attrs.count, attrs.items, 0, NULL));
}

/* The state of a generator, advanced by `delta`. */
hr_status_t import_rng_state(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *shape;
  hlo_attr_t delta = hlo_attr_of_int(HLO_ATTR_DELTA, import_int(op, "delta", 0));
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  return import_set_results(
      scope, op, hlo_build(&scope->builder, row->op, shape, 0, NULL, 1, &delta, 0, NULL));
}

/* The region is the fused computation. */
hr_status_t import_fusion(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t **operands;
  hlo_computation_t *body;
  const hlo_shape_t *shape;
  int kind;
  HR_TRY(import_operands(scope, op, &operands));
  HR_TRY(import_results_shape(scope, op, &shape));
  HR_TRY(import_body(scope, op, 0, &body));
  HR_TRY(import_enum(scope, op, "fusion_kind", HLO_ENUM_FUSION_KIND, "", &kind));
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_KIND, kind < 0 ? HLO_FUSION_KIND_LOOP : kind),
                        hlo_attr_of_called(HLO_ATTR_CALLS, 1)};
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, shape, op->operand_count, operands, 2, attrs, 1, &body));
}

/* The row of the operation that a call of target "mhlo.x" stands for; NULL: none. Such calls come
 * from JAX for operations that it lowers to CHLO, from vhlo_chlo.c for operations missing in
 * portable artifacts, and from XLA's exporter of StableHLO for remaining mhlo operations:
 *   stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} */
static hr_status_t find_row(const import_scope_t *scope, const mlir_op_t *op,
                            const import_row_t **out_row) {
  hr_str_t target = import_str(op, "call_target_name"), name;
  const mlir_attr_t *attrs = mlir_op_attr(op, "mhlo.attributes");
  *out_row = NULL;
  if (!attrs || attrs->kind != MLIR_ATTR_DICT) return NULL;
  if (target.size < 5 || memcmp(target.data, "mhlo.", 5) != 0) return NULL;
  HR_TRY(mlir_mhlo_name(scope->importer->arena, target, &name));
  *out_row = hr_map_get(scope->importer->rows, name);
  return NULL;
}

hr_status_t import_mhlo_call(import_scope_t *scope, mlir_op_t *op, bool *out_done) {
  const import_row_t *row;
  mlir_op_t *plain;
  const mlir_attr_t *attrs = mlir_op_attr(op, "mhlo.attributes");
  HR_TRY(find_row(scope, op, &row));
  *out_done = row && !import_bool(op, "has_side_effect", false) && !op->region_count;
  if (!*out_done) return NULL;
  HR_TRY(HR_NEW(scope->importer->arena, &plain));
  *plain = *op;
  plain->name = hr_str_from(row->name);
  plain->attrs = attrs->fields;
  plain->attr_count = attrs->count;
  return import_by_row(scope, plain, row);
}
