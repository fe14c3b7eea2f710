/* Detection of out-of-bounds accesses (HLORUN_CHECK=memory). Each block has its own pages between
 * two protected guard pages, and ends at the second one as closely as HR_ALIGNMENT allows
 * (memory:start: begins at the first one). The remaining bytes hold a pattern, which is checked
 * after each step. An access to a guard page ends the process with exit code 5; a write to the
 * pattern is an error. Both reports name the instruction that ran. Freed blocks are used again for
 * blocks of as many pages, so that use after free is not found.
 * Thread: any. */
#ifndef HR_BASE_FENCE_H
#define HR_BASE_FENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum hr_fence_mode { HR_FENCE_NONE, HR_FENCE_END, HR_FENCE_START } hr_fence_mode_t;

typedef struct hr_fence hr_fence_t; /* one block */

/* The mode: as set, by default according to HLORUN_CHECK. */
hr_fence_mode_t hr_fence_mode(void);
/* Sets the mode of blocks that are made later. */
void hr_fence_set_mode(hr_fence_mode_t mode);
static inline bool hr_fence_is_on(void) { return hr_fence_mode() != HR_FENCE_NONE; }

/* A block aligned to HR_ALIGNMENT, of undefined contents. Errors: NO_MEMORY. */
hr_status_t hr_fence_create(size_t size_bytes, hr_fence_t **out_fence);
void hr_fence_destroy(hr_fence_t *fence); /* accepts NULL */
void *hr_fence_data(const hr_fence_t *fence);
/* Makes a block read-only (until it is destroyed), or writable again. */
void hr_fence_seal(hr_fence_t *fence, bool is_sealed);
/* True if this address is in a block. */
bool hr_fence_owns(const void *address);

/* Changes the pattern of existing and later blocks, so that results that depend on it change. */
void hr_fence_repaint(void);

/* Sets the current instruction, for reports. The strings must stay valid while it runs. */
void hr_fence_note(const char *op, const char *instruction, const char *computation,
                   const hr_pos_t *pos);
/* Checks the patterns of all blocks. Errors: INTERNAL if one was written; restores it. */
hr_status_t hr_fence_check(void);

#endif
