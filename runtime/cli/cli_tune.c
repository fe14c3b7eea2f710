/* --tune: measures the algorithms of collectives on these processes, and writes the table from
 * which later runs choose. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/launch/cli_launch.h"
#include "transport/core/transport.h"

#define SECONDS 0.02 /* measuring time for each algorithm and size */

static hr_status_t tune(const char *path) {
  tp_endpoint_t *endpoint;
  const char *written;
  HR_TRY(tp_world_open(&endpoint));
  hr_status_t st = tp_tune(endpoint, SECONDS, path, &written);
  if (!st && !endpoint->rank) printf("%d ranks measured: %s\n", endpoint->world_size, written);
  tp_close(endpoint, st != NULL, hr_status_exit_code(st));
  return st;
}

/* Starts the processes if that is asked for, else measures as one of them. */
hr_status_t cli_tune(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  const char *path = hr_option_text(options, HR_OPTION_TUNE);
  int processes;
  HR_TRY(cli_launch_needed(options, &processes));
  if (processes)
    return cli_launch_run(processes, hr_option_text(options, HR_OPTION_HOSTS), arguments->all_argc,
                          arguments->all_argv);
  if (tp_launcher_world_size() < 2)
    return hr_error(
        HR_USAGE,
        "--tune measures what processes do together: how many are there? -n N, or mpirun");
  return tune(path && *path ? path : NULL);
}
