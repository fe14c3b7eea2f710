/* Cases for several processes: one launch of mpirun runs all cases of a world size, as `hlorun test
 * --worker REPORT`, whose rank 0 writes a record to the report after each case. A case that crashes
 * or hangs its launch is run once more in its own launch, whose outcome counts; the other cases
 * continue in a new launch. */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "cli/cases/cli_case_runner.h"

typedef struct cli_batch_options {
  int world;
  double timeout_s; /* longest silence of a launch */
  bool quiet;       /* output of the processes goes to /dev/null */
  int option_count;
  const char *const *words; /* options passed to the workers */
} cli_batch_options_t;

/* As cli_case_runner_run, for cases that all need options->world processes. */
hr_status_t cli_batch_run(const cli_batch_options_t *options, const cli_case_t *cases,
                          const size_t *chosen, size_t count, cli_outcome_fn outcome,
                          void *context);

/* The worker's side: runs the cases with this launch's peers and reports each. `options` are the
 * command's, for cli_sandbox_close. */
hr_status_t cli_batch_work(const char *report, const hr_options_t *options,
                           const hlorun_client_options_t *client_options,
                           const hlo_tolerance_t *tolerance, const cli_case_t *cases, size_t count);

#endif
