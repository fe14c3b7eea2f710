#include "base/nesting.h"

#include <sys/resource.h>

#include "base/arith.h"

/* LEVEL_BYTES is the room for one level in the reference engine, the largest, with sanitizers. */
enum { MOST_LEVELS = 2000, LEVEL_BYTES = 4096 };

int hr_nesting_limit(void) {
  struct rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur == RLIM_INFINITY) return MOST_LEVELS;
  return (int)hr_min((int64_t)(stack.rlim_cur / LEVEL_BYTES), MOST_LEVELS);
}
