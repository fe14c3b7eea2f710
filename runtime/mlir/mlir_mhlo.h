/* Names of mhlo, the predecessor dialect of StableHLO. */
#ifndef MLIR_MLIR_MHLO_H
#define MLIR_MLIR_MHLO_H

#include "mlir/mlir.h"

/* The name of the StableHLO or CHLO operation that equals an mhlo operation. Other names, and those
 * of mhlo operations without an equivalent, are returned unchanged. */
hr_status_t mlir_mhlo_name(hr_arena_t *arena, hr_str_t name, hr_str_t *out_name);
/* Converts attributes of a CHLO operation from StableHLO's or mhlo's enumerations to CHLO's. */
hr_status_t mlir_mhlo_adapt_attrs(hr_arena_t *arena, mlir_op_t *op);
/* Advice for mhlo operations without an equivalent. */
#define MLIR_MHLO_ALONE                                                                \
  "this operation of mhlo has no equal in StableHLO; export the program as StableHLO " \
  "(mlir-hlo-opt --hlo-legalize-to-stablehlo, or as_text(\"hlo\") of JAX)"
/* True for an mhlo operation without an equivalent. */
bool mlir_mhlo_is_alone(hr_str_t name);

/* The dialect of an operation, if StableHLO programs cannot contain it (such as linalg); else
 * empty.
 */
hr_str_t mlir_foreign_dialect(hr_str_t name);
/* Takes the dialect's size and letters. */
#define MLIR_FOREIGN_DIALECT \
  "%.*s is another dialect of MLIR: want StableHLO, before it is lowered any further"

#endif
