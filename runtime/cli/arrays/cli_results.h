/* Printing of results and comparison with expected ones. */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "cli/cases/cli_tolerance.h"
#include "cli/arrays/cli_signature.h"

/* A readable form: "f32[2,2] {{1, 2}, {3, 4}}", long dimensions elided. */
void cli_value_print(hr_strbuf_t *text, const hlo_value_t *value);
void cli_value_print_whole(hr_strbuf_t *text, const hlo_value_t *value); /* nothing elided */

/* Expected results and the form of the report. */
typedef struct cli_expectation {
  const array_file_t *file; /* arrays out0, out1@3, ...; unused with `single` */
  const char *single; /* FILE.npy or FILE.npz:NAME for result `index` alone; NULL: uses `file` */
  int index;
  int rank;
  bool mark_rank; /* lines say "out0@3" */
  bool all_lines; /* lines for arrays within tolerance, too */
  hlo_tolerance_t tolerance;
} cli_expectation_t;

/* Compares this process's results, adding lines to `text`. *out_bad: number of arrays out of
 * tolerance. Errors: USAGE for arrays that do not fit the program. */
hr_status_t cli_results_compare(const cli_expectation_t *expectation,
                                const cli_signature_t *signature, hlo_value_t *const *results,
                                hr_strbuf_t *text, int *out_bad);

/* K=FILE.npy or K=FILE.npz:NAME: an array for result K. False: the text is the path of a file of
 * arrays. */
bool cli_expectation_is_single(const char *text, int *out_index, const char **out_file);

/* Collective: rank 0 gets the texts of all ranks, in order. */
hr_status_t cli_gather_text(hlorun_client_t *client, const hr_strbuf_t *mine, hr_strbuf_t *all);

#endif
