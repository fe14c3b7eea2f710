/* Attributes of sdy's operations. The tree keeps them as strings without their kinds, like the
 * pretty forms; generic forms and bytecode include the kinds. */
#ifndef MLIR_MLIR_SDY_H
#define MLIR_MLIR_SDY_H

#include "mlir/mlir.h"

typedef struct mlir_sdy_kind {
  const char *prefix, *suffix; /* #sdy.sharding< and > around @mesh, [{"x"}] */
} mlir_sdy_kind_t;

/* Prefix and suffix of an inherent attribute of an operation; false: not such an attribute. */
bool mlir_sdy_kind_of(const mlir_op_t *op, const mlir_named_attr_t *entry,
                      mlir_sdy_kind_t *out_kind);

#endif
