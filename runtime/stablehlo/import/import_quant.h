/* Quantised values are arrays of their storage type in the IR. The importer expands the ops on
 * them, so that later stages need no knowledge of quantisation. */
#ifndef STABLEHLO_IMPORT_QUANT_H
#define STABLEHLO_IMPORT_QUANT_H

#include "stablehlo/import/import.h"

/* The quantised element type of a tensor type; NULL if it has none. */
const mlir_quant_t *import_quant_of(const mlir_type_t *type);
/* True if an operand or result has a quantised element type. */
bool import_is_quantised(const mlir_op_t *op);
/* Imports such an op by its class. */
hr_status_t import_quantised(import_scope_t *scope, mlir_op_t *op, const import_row_t *row);

/* An op's treatment of quantised values; NULL: it accepts none. */
typedef enum import_quant_class {
  QUANT_MOVE,
  QUANT_DEQUANTIZE,
  QUANT_CONTRACT,
  QUANT_QUANTIZE
} import_quant_class_t;
typedef struct import_quant_rule {
  const char *name;
  import_quant_class_t class_;
  bool per_axis; /* scales along an axis are allowed */
} import_quant_rule_t;
/* The rules of the specification about quantised operands and results (import_quant_verify.c). */
hr_status_t import_verify_quantised(import_scope_t *scope, const mlir_op_t *op,
                                    const import_quant_rule_t *rule);

#endif
