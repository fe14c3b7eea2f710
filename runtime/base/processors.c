#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/control_group.h"

int hr_processor_limit(int count) {
  int limit = hr_control_group()->processors;
  return hr_max(limit ? hr_min(count, limit) : count, 1);
}

int hr_processor_count(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed))
    return hr_processor_limit((int)sysconf(_SC_NPROCESSORS_ONLN));
  return hr_processor_limit(CPU_COUNT(&allowed));
}
