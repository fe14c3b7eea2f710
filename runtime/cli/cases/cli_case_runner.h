/* Cases for one process, each in its own child process: a case that crashes or hangs fails, and the
 * others continue. */
#ifndef CLI_CASE_RUNNER_H
#define CLI_CASE_RUNNER_H

#include "base/options.h"
#include "cli/cases/cli_case.h"

/* Callback for the outcome of a case; `text` may be empty and is borrowed for the call. */
typedef hr_status_t (*cli_outcome_fn)(void *context, size_t index, cli_case_result_t verdict,
                                      const char *text);

typedef struct cli_case_runner_options {
  const hr_options_t *command_options; /* for --sandbox */
  int jobs;
  double timeout_s; /* limit of each case */
  hlorun_client_options_t client;
  hlo_tolerance_t tolerance;
  bool is_wild; /* cli_case_run_wild with this seed */
  uint64_t wild_seed;
} cli_case_runner_options_t;

/* Runs cases[chosen[0..count)], calling `outcome` as each ends. Errors: what `outcome` returns;
 * CANCELLED after a signal; UNAVAILABLE when no process can be started. No child is left behind. */
hr_status_t cli_case_runner_run(const cli_case_runner_options_t *options, const cli_case_t *cases,
                                const size_t *chosen, size_t count, cli_outcome_fn outcome,
                                void *context);

/* Makes SIGINT, SIGTERM and SIGHUP set a flag only. Children restore the default actions. */
void cli_case_runner_catch_signals(void);
void cli_case_runner_default_signals(void);
hr_status_t cli_case_runner_check_signals(void); /* CANCELLED once one has arrived */
int cli_case_runner_caught(void);                /* the signal; 0: none */

#endif
