/* Finds the mapped file that an address belongs to, for handlers of SIGBUS, which a truncation of a
 * mapped file causes. Thread: any. */
#ifndef HR_BASE_MAPPED_FILES_H
#define HR_BASE_MAPPED_FILES_H

#include <stddef.h>

/* Registers a mapping; the path is copied and may be shortened. The number of entries is limited;
 * further mappings are not found. */
void hr_mapped_file_add(const void *data, size_t size_bytes, const char *path);
void hr_mapped_file_remove(const void *data); /* accepts one that is not kept */
/* The file's path; NULL: not registered. Async-signal-safe. */
const char *hr_mapped_file_at(const void *address);

#endif
