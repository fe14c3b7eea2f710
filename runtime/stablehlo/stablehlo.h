/* StableHLO (with CHLO, func, check and the rest) from the MLIR tree to the IR. */
#ifndef STABLEHLO_STABLEHLO_H
#define STABLEHLO_STABLEHLO_H

#include "ir/module.h"
#include "mlir/mlir.h"

/* Reads what mhlo.sharding says: HLO text, or the bytes of an OpSharding. The result lives in the module's arena. */
typedef hr_status_t (*stablehlo_read_sharding_fn)(hlo_module_t *module, hr_str_t sharding,
                                                  const hlo_sharding_t **out_sharding);

/* Fills `module` with the program in `from`, whose @main (or only function) becomes the entry.
 * Regions that use values from outside get them as parameters; ops with several results become tuples and their
 * elements. Errors: INVALID, UNSUPPORTED with the op's place. */
hr_status_t stablehlo_import(const mlir_module_t *from, stablehlo_read_sharding_fn read_sharding, hlo_module_t *module);

/* Verifies every function, whether the entry calls it or not. Errors: as above, and those of hlo_verify. */
hr_status_t stablehlo_verify(const mlir_module_t *from, stablehlo_read_sharding_fn read_sharding);

/* The inverse: fills the empty tree `to` with the program as StableHLO, CHLO and func. Tuples dissolve into several
 * values. The module is verified. Errors: UNSUPPORTED with the instruction that StableHLO has no form for. */
hr_status_t stablehlo_export(const hlo_module_t *from, mlir_module_t *to);

#endif
