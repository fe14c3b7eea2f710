/* A limit for the memory of base/mem.h. */
#ifndef HR_BASE_MEM_LIMIT_H
#define HR_BASE_MEM_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Lowers hr_mem_physical_bytes() to a limit of this process. Thread: any. */
void hr_mem_limit(size_t bytes);

/* The value set by hr_mem_any_machine: plans are of programs that do not run here. */
bool hr_mem_is_any_machine(void);

/* NO_MEMORY: "NEEDS 123 bytes (0.1 GiB), this machine has 0.1 GiB", or "this process" under a
 * limit. */
hr_status_t hr_mem_too_large(const char *needs, size_t bytes);

#endif
