/* What benchmark programs in C share. */
#ifndef HLORUN_BENCH_TOOLS_H
#define HLORUN_BENCH_TOOLS_H

#include <stdlib.h>

#include "base/clock.h"
#include "base/status.h"

/* Prints an error and ends the program. */
static inline void bench_check(hr_status_t st) {
  if (!st) return;
  hr_status_print(stderr, st);
  exit(1);
}

#endif
