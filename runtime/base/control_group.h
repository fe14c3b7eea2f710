/* Limits that Linux control groups, versions 1 and 2, set for this process: containers, batch
 * systems, systemd. The smallest limit of the process's group and its ancestors applies; unreadable
 * limits are ignored.
 * Source: the kernel's documentation of cgroup-v2 and of the version 1 controllers. */
#ifndef HR_BASE_CONTROL_GROUP_H
#define HR_BASE_CONTROL_GROUP_H

#include <stdint.h>

typedef struct hr_control_group {
  uint64_t memory_bytes; /* 0: no limit */
  int processors;        /* processor time as a number of processors, rounded up; 0: no limit */
} hr_control_group_t;

/* Limits of this process, read at the first call. Thread: any. */
const hr_control_group_t *hr_control_group(void);
/* Limits read from files below `root`, for tests; not cached. */
hr_control_group_t hr_control_group_read(const char *root);

#endif
