/* Which pages of memory are touched, found by page protection: while a set of pages is armed, the
 * first access to each of them faults, and the handler of SIGSEGV marks it and gives it free.
 * Cost: some microseconds for a page. Other faults go to the handler that was there before. System
 * calls on armed pages fail with EFAULT. Thread: one watch in a process, used by one thread; armed
 * pages may be touched by any. */
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
/* Forgets all pages. */
void hr_page_watch_clear(hr_page_watch_t *watch);
/* Adds the pages that lie wholly in this memory, which is readable and writable. Errors: NO_MEMORY.
 */
hr_status_t hr_page_watch_add(hr_page_watch_t *watch, const void *memory, size_t size_bytes);
/* From now on the first access to each page is noted. */
void hr_page_watch_arm(hr_page_watch_t *watch);

/* `is_present`: the page had memory before it was armed. */
typedef void hr_page_visit_fn(void *context, uintptr_t page, bool is_present);
/* Ends that, and calls `visit` for each page that was touched since, once, by address. */
void hr_page_watch_disarm(hr_page_watch_t *watch, hr_page_visit_fn *visit, void *context);

#endif
