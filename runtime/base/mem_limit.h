/* A limit for the memory of base/mem.h. */
#ifndef HR_BASE_MEM_LIMIT_H
#define HR_BASE_MEM_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Lowers hr_mem_physical_bytes() to a limit of this process. Thread: any. */
void hr_mem_limit(size_t bytes);

/* The value set by hr_mem_any_machine: plans are of programs that do not run here. */
bool hr_mem_is_any_machine(void);

#endif
