/* All memory of hlorun comes from here, so that faults can be injected (HLORUN_FAULT=alloc:N),
 * leaks counted, and the peak reported. Errors: NO_MEMORY with the size asked for. Units: bytes.
 * Thread: any. */
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
/* Zeroes. For the hottest paths: of a memset whose size it knows, a compiler makes an instruction
 * that takes longer to begin than the library takes for all of it. */
void hr_clear(void *memory, size_t size_bytes);

/* Bytes in `count` elements of `each`, checked: NO_MEMORY says how much is needed when the product
 * overflows or is larger than this machine's memory. */
hr_status_t hr_size_product(size_t count, size_t each, size_t *out_bytes);
/* From now on hr_size_product compares with what any machine can address, not with this one's
 * memory: for commands that look at programs and run none. hr_alloc still refuses what does not
 * fit here. Thread: the only one. */
void hr_mem_any_machine(bool any_machine);

size_t hr_mem_live_blocks(void); /* allocations not yet freed: 0 at a clean exit */
size_t hr_mem_total_allocations(void);
size_t hr_mem_physical_bytes(
    void); /* memory of this machine or of its control group, whichever is less */
/* Makes allocation number n (from 1, counted from now) fail; 0 switches it off. */
void hr_mem_fail_at(size_t n);

#endif
