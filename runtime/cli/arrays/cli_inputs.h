/* The parameters' values, from --input and --random-inputs. */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "base/options.h"
#include "cli/run/cli_feed.h"
#include "cli/arrays/cli_signature.h"

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
/* What an --input of one parameter names. */
typedef struct cli_given {
  const char *text; /* all of the option */
  const char *rest; /* its value, behind the '=' */
  int param;        /* -1: the text is a file's path */
  int rank;         /* number of the process that it is for; -1: all */
} cli_given_t;

/* Reads the text of an option --input "3=...", "in3=..." or, for one process, "3@RANK=...". False:
 * another form. A RANK that is no number is read as -2. */
bool cli_given_number(const char *text, cli_given_t *out_given);
void cli_values_release(hlo_value_t **values, int count);

#endif
