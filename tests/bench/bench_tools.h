/* What benchmark programs in C share. */
#ifndef HLORUN_BENCH_TOOLS_H
#define HLORUN_BENCH_TOOLS_H

#include <stdlib.h>
#include <time.h>

#include "base/status.h"

/* Prints an error and ends the program. */
static inline void bench_check(hr_status_t st) {
  if (!st) return;
  hr_status_print(stderr, st);
  exit(1);
}

static inline double bench_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
