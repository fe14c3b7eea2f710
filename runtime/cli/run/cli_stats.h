/* --stats: times and memory of each process and of the whole run. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "base/text.h"
#include "cli/run/cli_times.h"
#include "hlorun.h"

typedef struct cli_stats {
  double compile_s;
  hlorun_program_figures_t program;
  cli_times_t executions;
} cli_stats_t;

void cli_stats_deinit(cli_stats_t *stats);

/* Figures of one process. Times in seconds. */
typedef struct cli_figures {
  double compile_s, read_s, passes_s, plan_s,
      code_s; /* compile_s: all of loading, the next ones its parts */
  double first_s, best_s, median_s, total_s, steps_per_s;
  uint64_t executions, peak_rss_bytes, arena_bytes;
  uint64_t native_steps, generated_steps, reference_steps, copy_steps, code_kernels, code_modules,
      code_modules_cached, code_bytes, copies;
} cli_figures_t;
cli_figures_t cli_stats_figures(const cli_stats_t *stats);

/* Collective: rank 0 writes the JSON file. Figures of the whole run are the slowest process's
 * times, the largest memory, and the first process's counts of steps and code. */
hr_status_t cli_stats_write(hlorun_client_t *client, const cli_stats_t *stats, const char *path);

#endif
