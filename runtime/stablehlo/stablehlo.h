/* StableHLO (with CHLO, func, check and the rest) from the MLIR tree to the IR. */
#ifndef STABLEHLO_STABLEHLO_H
#define STABLEHLO_STABLEHLO_H

#include "ir/module.h"
#include "mlir/mlir.h"

/* Fills `module` with the program in `from`, whose @main (or only function) becomes the entry.
 * Regions that use values from outside get them as parameters; ops with several results become tuples and their
 * elements. Errors: INVALID, UNSUPPORTED with the op's place. */
hr_status_t stablehlo_import(const mlir_module_t *from, hlo_module_t *module);

/* The inverse: fills the empty tree `to` with the program as StableHLO, CHLO and func. Tuples dissolve into several
 * values. The module is verified. Errors: UNSUPPORTED with the instruction that StableHLO has no form for. */
hr_status_t stablehlo_export(const hlo_module_t *from, mlir_module_t *to);

#endif
