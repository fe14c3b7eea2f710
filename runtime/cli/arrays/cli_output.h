/* --output: writes results to a file whose ending chooses the format. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/options.h"
#include "hlorun.h"
#include "ir/value.h"

/* Errors: USAGE for an ending that names no form. */
hr_status_t cli_output_check(const hr_options_t *options);

/* Collective: rank 0 writes outK, and outK@RANK of each rank if there are several. Archives also
 * say where parts of global arrays lie (cli_shards.h), unless the program has replicas.
 *   .npz, or no ending   an archive of NumPy arrays
 *   .safetensors         the same names; types that the format lacks are refused
 *   .npy                 the only result of one process; of several results "%k" in the path is the
 *                        number of each
 *   .txt                 a line "outK = f32[2] {1, 2}" for each, whole
 * Errors: USAGE for results that the form cannot hold; UNAVAILABLE. */
hr_status_t cli_output_write(hlorun_client_t *client, const hlorun_program_t *program,
                             const char *path, int count, hlo_value_t *const *results);

/* Writes the results of this process alone, as outK; not collective. Errors as cli_output_write. */
hr_status_t cli_output_write_alone(const char *path, int count, hlo_value_t *const *results);

#endif
