/* The values of a metric, one per step, in bounded memory: up to CLI_SERIES_MAX values are kept; of
 * longer series, the means of runs of 2, 4, 8, ... steps. */
#ifndef CLI_SERIES_H
#define CLI_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CLI_SERIES_MAX 4096 /* even */

typedef struct cli_series {
  uint64_t count;   /* steps */
  uint64_t stride;  /* steps of each run; 0: no step yet */
  double *sums;     /* sum of each run; the last one may be incomplete */
  double low, high; /* range of all finite values, if low <= high */
} cli_series_t;

/* Adds a value; the struct starts cleared. */
hr_status_t cli_series_add(cli_series_t *series, double value);
void cli_series_deinit(cli_series_t *series);

size_t cli_series_runs(const cli_series_t *series);
/* Steps of this run, all of the same length but the last one. */
uint64_t cli_series_run_steps(const cli_series_t *series, size_t run);

#endif
