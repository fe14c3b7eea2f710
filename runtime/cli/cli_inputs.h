/* The parameters' values, from --input and --random-inputs. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "base/options.h"
#include "cli/cli_feed.h"
#include "cli/cli_signature.h"

/* values[k]: the value of parameter k; NULL if it is fed or a token. `values` starts cleared and
 * may be partly filled after a failure. `program_path` is read again for --random-inputs, to find
 * bounds of indices. Errors: USAGE naming the missing parameters, or an array and the parameter
 * that it does not fit. */
hr_status_t cli_inputs_load(const hr_options_t *options, const char *program_path,
                            const cli_signature_t *signature, const cli_feed_t *feed, int rank,
                            hlo_value_t **values);
/* The arrays of one file (io/array_file.h). Errors: USAGE if it has none for a program with
 * parameters. */
hr_status_t cli_inputs_from_file(const char *path, const cli_signature_t *signature, int rank,
                                 hlo_value_t **values);
/* Fills missing values for --wild-inputs=SEED; feed may be NULL. */
hr_status_t cli_inputs_wild(uint64_t seed, const cli_signature_t *signature, const cli_feed_t *feed,
                            int rank, hlo_value_t **values);
/* Errors: USAGE if a parameter that is an array has no value and is not fed. */
hr_status_t cli_inputs_check(const cli_signature_t *signature, const cli_feed_t *feed,
                             hlo_value_t *const *values);
void cli_values_release(hlo_value_t **values, int count);

#endif
