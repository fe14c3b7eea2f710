/* Refcounted bytes: tensor data, file contents, the caller's own memory. Thread: any for reference
 * counts; writing requires the only reference (hr_buffer_is_exclusive). */
#ifndef HR_BASE_BUFFER_H
#define HR_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct hr_buffer hr_buffer_t;

typedef void (*hr_buffer_free_fn)(void *context, void *data, size_t size_bytes);

/* Own memory, aligned to HR_ALIGNMENT, not cleared. */
hr_status_t hr_buffer_create(size_t size_bytes, hr_buffer_t **out_buffer);
/* A buffer over borrowed memory; free_fn (NULL: none) is called when the last reference is dropped.
 */
hr_status_t hr_buffer_wrap(void *data, size_t size_bytes, bool writable, hr_buffer_free_fn free_fn,
                           void *context, hr_buffer_t **out_buffer);
/* A whole file, mapped read-only where possible; "-" is standard input. A pipe or terminal can be
 * read only once, so its contents are cached by path.
 * Thread: any.
 * Errors: UNAVAILABLE with the path. */
hr_status_t hr_buffer_map_file(const char *path, hr_buffer_t **out_buffer);
/* Maps or reads an open file, which the caller closes; not cached. `path` is for messages.
 * Errors: UNAVAILABLE. */
hr_status_t hr_buffer_map_descriptor(int fd, const char *path, hr_buffer_t **out_buffer);
/* Copies bytes that will not be read again soon: copied pages of a mapped file are dropped, so that
 * a large file is not in memory twice. */
void hr_buffer_copy_out(const hr_buffer_t *buffer, size_t offset_bytes, void *to,
                        size_t size_bytes);

hr_buffer_t *hr_buffer_retain(hr_buffer_t *buffer);
void hr_buffer_release(hr_buffer_t *buffer); /* accepts NULL */
void hr_buffer_disown(hr_buffer_t *buffer);  /* free_fn will not be called */
void *hr_buffer_data(const hr_buffer_t *buffer);
size_t hr_buffer_size(const hr_buffer_t *buffer);
/* True if the caller's reference is the only one and the memory may be written. */
bool hr_buffer_is_exclusive(const hr_buffer_t *buffer);

#endif
