/* Folders of torch_xla's save_as_stablehlo. functions/NAME.meta lists the sources of the arguments
 * of functions/NAME.mlir or .bytecode: weights in data/, constants in constants/, and inputs of the
 * caller. */
#ifndef CLI_BUNDLE_H
#define CLI_BUNDLE_H

#include "cli/arrays/cli_signature.h"

/* The program of such a folder, functions/forward or the only one; NULL: `path` is no such folder.
 * *out_path lives in the arena. Errors: USAGE for several functions and none of them forward. */
hr_status_t cli_bundle_program(hr_arena_t *arena, const char *path, const char **out_path);

/* Fills values[k] that are NULL with weights and constants, if the program lies in such a folder.
 * Errors: INVALID for a damaged .meta file; as cli_value_from_npy. */
hr_status_t cli_bundle_inputs(const char *program_path, const cli_signature_t *signature,
                              hlo_value_t **values);

/* Names the parameters of such a program: weights get their files' names, inputs input0, input1,
 * ... (also matched by arr_0, arr_1, ...). Others keep their names. Errors: INVALID for a damaged
 * .meta file. */
hr_status_t cli_bundle_name_params(const char *program_path, cli_signature_t *signature);

#endif
