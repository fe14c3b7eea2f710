/* A Python module for a program's arguments and results. */
#ifndef CLI_PYTHON_H
#define CLI_PYTHON_H

#include "base/text.h"
#include "ir/module.h"
#include "mlir/mlir.h"

/* Prints a module that writes arguments in the order of the parameters and returns results as the
 * tree that their names describe ("result['loss']", "params['w'][0]"). `tree`: the MLIR program,
 * which has the names of results (jax.result_info); NULL: not an MLIR program. */
void cli_python_print(hr_strbuf_t *text, const hlo_module_t *module, const mlir_module_t *tree);

#endif
