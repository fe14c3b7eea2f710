/* Durations of executions in bounded memory: the first, the shortest, their sum and their median.
 */
#ifndef CLI_TIMES_H
#define CLI_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The median of up to CLI_TIMES_EXACT durations is exact. That of more has a relative error of at
 * most CLI_TIMES_ERROR: they are counted in a histogram with logarithmic buckets. */
#define CLI_TIMES_EXACT 4096
#define CLI_TIMES_ERROR 0.004

typedef struct cli_times {
  uint64_t count;
  double first_s, best_s, total_s;
  double *exact_s;     /* durations, while there are at most CLI_TIMES_EXACT */
  uint64_t *histogram; /* counts by bucket, of more durations */
} cli_times_t;

/* Adds one duration. A cleared struct is empty. */
hr_status_t cli_times_add(cli_times_t *times, double seconds);
double cli_times_median_s(const cli_times_t *times); /* 0 without durations */
void cli_times_deinit(cli_times_t *times);

#endif
