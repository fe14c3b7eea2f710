/* Statuses in fuzz targets of the API: refusals are fine, internal errors end the process. */
#include "fuzz_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

void fuzz_fail(const char *what) {
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  abort();
}

bool fuzz_is_fine(hlorun_status_t status) {
  if (hr_status_code(status) == HR_INTERNAL) {
    hr_status_print(stderr, status);
    fuzz_fail("internal error");
  }
  if (status && (!hlorun_status_message(status) || !hlorun_status_exit_code(status)))
    fuzz_fail("a status without a message or an exit code");
  free(hr_status_format(status));
  hlorun_status_release(status);
  return !status;
}

hlorun_client_t *fuzz_client(hlorun_engine_t engine) {
  hlorun_client_options_t options;
  hlorun_client_t *client;
  setenv("HLORUN_CACHE", "none", 1);
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.threads = 1;
  options.bind = HLORUN_BIND_NONE;
  options.engine = engine;
  if (!fuzz_is_fine(hlorun_client_create(&options, &client))) fuzz_fail("there is no client");
  return client;
}
