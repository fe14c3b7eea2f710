/* A limit of what base/mem.h gives. */
#ifndef HR_BASE_MEM_LIMIT_H
#define HR_BASE_MEM_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Lowers hr_mem_physical_bytes() to a limit of this process, from now on. Thread: any. */
void hr_mem_limit(size_t bytes);

/* What hr_mem_any_machine said: plans are of programs that do not run here. */
bool hr_mem_is_any_machine(void);

#endif
