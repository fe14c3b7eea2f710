/* The allocator of hlorun, with fault injection (HLORUN_FAULT=alloc:N), counts of leaks, and the
 * peak of memory. Errors: NO_MEMORY with the requested size. Units: bytes. Thread: any. */
#ifndef HR_BASE_MEM_H
#define HR_BASE_MEM_H

#include <stddef.h>

#include "base/status.h"

#define HR_ALIGNMENT 64 /* alignment of every allocation: a cache line, and the widest vector */

/* Not cleared. A size of 0 gives a unique pointer. */
hr_status_t hr_alloc(size_t size_bytes, void **out_memory);
hr_status_t hr_alloc_zeroed(size_t size_bytes, void **out_memory);
/* Grows *memory from old_bytes to new_bytes, keeping its contents; on failure it is untouched. */
hr_status_t hr_realloc(void **memory, size_t old_bytes, size_t new_bytes);
void hr_free(void *memory); /* accepts NULL */
/* Zeroes memory. For hot paths: compilers replace a memset of known size by a string instruction
 * whose start-up takes longer than the library's memset. */
void hr_clear(void *memory, size_t size_bytes);

/* Bytes of `count` elements of `each` bytes. Errors: NO_MEMORY with the needed size if the product
 * overflows or exceeds this machine's memory. */
hr_status_t hr_size_product(size_t count, size_t each, size_t *out_bytes);
/* With `true`, hr_size_product compares with the address space of any machine instead of this one's
 * memory, for commands that do not run programs. hr_alloc still refuses sizes that do not fit here.
 * Thread: the only one. */
void hr_mem_any_machine(bool any_machine);

/* A block that stays as long as the process is live no more: it is not freed, and no leak. */
void hr_mem_keep(const void *block);
size_t hr_mem_live_blocks(void); /* allocations not yet freed: 0 at a clean exit */
size_t hr_mem_total_allocations(void);
size_t hr_mem_physical_bytes(
    void); /* memory of this machine or of its control group, whichever is less */
/* Makes the n-th following allocation fail; 0 switches this off. */
void hr_mem_fail_at(size_t n);

#endif
