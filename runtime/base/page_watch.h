/* Finds accessed pages by page protection: the first access to each armed page faults, and the
 * handler of SIGSEGV marks the page and unprotects it. Other faults go to the previous handler.
 * System calls on armed pages fail with EFAULT.
 * Cost: some microseconds per page.
 * Thread: one watch per process, used by one thread; any thread may access armed pages. */
#ifndef HR_BASE_PAGE_WATCH_H
#define HR_BASE_PAGE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define HR_PAGE_BYTES ((size_t)4096)

typedef struct hr_page_watch hr_page_watch_t;

/* Errors: NO_MEMORY; USAGE if the process has one. */
hr_status_t hr_page_watch_create(hr_page_watch_t **out_watch);
void hr_page_watch_destroy(hr_page_watch_t *watch); /* accepts NULL; the pages must not be armed */
/* Removes all pages. */
void hr_page_watch_clear(hr_page_watch_t *watch);
/* Adds the pages that lie wholly in this memory, which is readable and writable. Errors: NO_MEMORY.
 */
hr_status_t hr_page_watch_add(hr_page_watch_t *watch, const void *memory, size_t size_bytes);
/* Starts recording: protects all pages. */
void hr_page_watch_arm(hr_page_watch_t *watch);

/* `is_present`: the page had memory before it was armed. */
typedef void hr_page_visit_fn(void *context, uintptr_t page, bool is_present);
/* Stops recording and calls `visit` once for each accessed page, in order of addresses. */
void hr_page_watch_disarm(hr_page_watch_t *watch, hr_page_visit_fn *visit, void *context);

#endif
