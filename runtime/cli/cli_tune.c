/* --tune: measures the algorithms of collectives on these processes, and writes the table that later runs choose by. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/cli_launch.h"
#include "transport/tuning.h"

#define SECONDS 0.02 /* for each algorithm and size */

static hr_status_t measure_and_save(tp_endpoint_t *endpoint, const char *path, hr_text_t *text) {
  tp_groups_t *groups;
  const char *written;
  HR_TRY(tp_groups_of(endpoint, &groups));
  HR_TRY(tp_tune(groups, SECONDS, text));
  if (endpoint->rank) return NULL;
  HR_TRY(tp_tuning_save(&groups->arena, path, endpoint->world_size, text, &written));
  printf("%d ranks measured: %s\n", endpoint->world_size, written);
  return NULL;
}

static hr_status_t tune(const char *path) {
  tp_endpoint_t *endpoint;
  hr_text_t text;
  HR_TRY(tp_mpi_open(&endpoint));
  hr_text_init(&text);
  hr_status_t st = measure_and_save(endpoint, path, &text);
  hr_text_deinit(&text);
  tp_close(endpoint, st != NULL, hr_status_exit_code(st));
  return st;
}

hr_status_t cli_tune(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  const char *path = hr_option_text(options, HR_OPTION_TUNE);
  int processes;
  HR_TRY(cli_launch_needed(options, &processes));
  if (processes) return cli_launch_run(processes, arguments->all_argc, arguments->all_argv);
  if (tp_launcher_world_size() < 2)
    return hr_error(HR_USAGE, "--tune measures what processes do together: how many are there? -n N, or mpirun");
  return tune(path && *path ? path : NULL);
}
