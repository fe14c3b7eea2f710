/* The names of mhlo, the dialect that StableHLO came from. */
#ifndef MLIR_MLIR_MHLO_H
#define MLIR_MLIR_MHLO_H

#include "mlir/mlir.h"

/* The name of the StableHLO or CHLO operation that is the same as an operation of mhlo; other
 * names, and those of mhlo operations that have no equal, stay as they are. */
hr_status_t mlir_mhlo_name(hr_arena_t *arena, hr_str_t name, hr_str_t *out_name);
/* Puts attributes of an operation of CHLO that are StableHLO's, or were mhlo's, into CHLO's own
 * enumeration. */
hr_status_t mlir_mhlo_adapt_attrs(hr_arena_t *arena, mlir_op_t *op);
/* What to do about one that has none. */
#define MLIR_MHLO_ALONE                                                                \
  "this operation of mhlo has no equal in StableHLO; export the program as StableHLO " \
  "(mlir-hlo-opt --hlo-legalize-to-stablehlo, or as_text(\"hlo\") of JAX)"
/* Is it an operation of mhlo that has no equal? */
bool mlir_mhlo_is_alone(hr_str_t name);

/* The dialect of an operation of none that a StableHLO program has, such as linalg; else empty. */
hr_str_t mlir_foreign_dialect(hr_str_t name);
/* Takes the dialect's size and letters. */
#define MLIR_FOREIGN_DIALECT \
  "%.*s is another dialect of MLIR: want StableHLO, before it is lowered any further"

#endif
