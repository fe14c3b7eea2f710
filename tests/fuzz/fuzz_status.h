/* How the fuzz targets of readers fail, and what they do with the status of what they called. */
#ifndef TESTS_FUZZ_FUZZ_STATUS_H
#define TESTS_FUZZ_FUZZ_STATUS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

/* Ends the target as a crash does. */
static inline void fuzz_fail(const char *what) {
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  abort();
}

/* Releases a status, NULL too. An error must be the input's, and be printable: an internal one ends
 * the target, as a crash does. */
static inline void fuzz_drop_status(hr_status_t st) {
  if (hr_status_code(st) == HR_INTERNAL) {
    hr_status_print(stderr, st);
    abort();
  }
  free(hr_status_format(st));
  hr_status_release(st);
}

#endif
