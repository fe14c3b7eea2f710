/* Memory that shows where a step leaves it (HLORUN_CHECK=memory): each block has pages of its own
 * between two pages that nobody may touch, and ends at the second one, as far as HR_ALIGNMENT
 * allows (memory:start: begins at the first one). The bytes that are left over hold a pattern,
 * which is compared after each step. What a step does beyond its blocks ends the process with exit
 * code 5 (reads and writes that reach a page) or fails (writes that stay in what is left over),
 * with the instruction that ran.
 * Blocks that were given back are used again for others of as many pages: late accesses are not
 * found. Thread: any. */
#ifndef HR_BASE_FENCE_H
#define HR_BASE_FENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum hr_fence_mode { HR_FENCE_NONE, HR_FENCE_END, HR_FENCE_START } hr_fence_mode_t;

typedef struct hr_fence hr_fence_t; /* one block */

/* As HLORUN_CHECK says, unless it was set. */
hr_fence_mode_t hr_fence_mode(void);
/* Sets the mode of blocks that are made from now on. */
void hr_fence_set_mode(hr_fence_mode_t mode);
static inline bool hr_fence_is_on(void) { return hr_fence_mode() != HR_FENCE_NONE; }

/* A block aligned to HR_ALIGNMENT, of undefined contents. Errors: NO_MEMORY. */
hr_status_t hr_fence_create(size_t size_bytes, hr_fence_t **out_fence);
void hr_fence_destroy(hr_fence_t *fence); /* accepts NULL */
void *hr_fence_data(const hr_fence_t *fence);
/* From now on it may only be read (until it is given back), or written again. */
void hr_fence_seal(hr_fence_t *fence, bool is_sealed);
/* Is this address in a block? */
bool hr_fence_owns(const void *address);

/* Another pattern, of all blocks and of those to come: what reads it by mistake gives another
 * result than before. */
void hr_fence_repaint(void);

/* Says what runs now. The strings outlive it. */
void hr_fence_note(const char *op, const char *instruction, const char *computation,
                   const hr_pos_t *pos);
/* Errors: INTERNAL if a pattern beside some block was written, which it then is no more. */
hr_status_t hr_fence_check(void);

#endif
