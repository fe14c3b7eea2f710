/* Progress of the steps and metrics, on standard error of rank 0: a bar on a terminal, else a line
 * from time to time. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "base/clock.h"
#include "base/options.h"
#include "cli/run/cli_series.h"
#include "cli/arrays/cli_signature.h"

typedef struct cli_metric {
  int result;
  const char *name;
  double now; /* at the last step */
  cli_series_t history;
} cli_metric_t;

typedef struct cli_progress {
  FILE *stream; /* NULL: shows nothing */
  bool terminal;
  uint64_t steps;
  double started_s, shown_s, pause_s; /* start; last output; least time until the next */
  HR_VEC(cli_metric_t) metrics;
} cli_progress_t;

/* Adds "loss 0.0288", with so many digits, and a newline. */
void cli_metric_print(hr_strbuf_t *text, const cli_metric_t *metric, int digits);

/* --metric options; with --curve and none of them, the first float scalar among the results. Deinit
 * also after a failure. Errors: USAGE: no such result, not a number. */
hr_status_t cli_progress_init(cli_progress_t *progress, const hr_options_t *options,
                              const cli_signature_t *signature, uint64_t steps, bool visible);
void cli_progress_deinit(cli_progress_t *progress);
/* After step number `step` (from 1): notes the metrics and shows them. */
hr_status_t cli_progress_step(cli_progress_t *progress, uint64_t step, hlo_value_t *const *results);
/* Leaves the line of the bar. */
void cli_progress_end(cli_progress_t *progress);

#endif
