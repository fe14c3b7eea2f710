/* Which mapped file an address belongs to, for handlers of SIGBUS: a file that others cut while it
 * is mapped. Thread: any. */
#ifndef HR_BASE_MAPPED_FILES_H
#define HR_BASE_MAPPED_FILES_H

#include <stddef.h>

/* Notes a mapping; the path is copied and may be shortened. A few at a time are kept, further ones
 * are not found. */
void hr_mapped_file_add(const void *data, size_t size_bytes, const char *path);
void hr_mapped_file_remove(const void *data); /* accepts one that is not kept */
/* The file's path; NULL: none that is known. Async-signal-safe. */
const char *hr_mapped_file_at(const void *address);

#endif
