/* Writing files so that a reader never sees half of one: into a temporary file beside the target, which takes its place
 * when all is written. Targets that are no regular files (pipes, devices) are written directly; "-" is standard output.
 * Errors: UNAVAILABLE with the path and the system's reason.
 * Thread: one at a time. */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct hr_file_writer hr_file_writer_t;

hr_status_t hr_file_create(const char *path, hr_file_writer_t **out_writer);
hr_status_t hr_file_write(hr_file_writer_t *writer, const void *bytes, size_t size_bytes);
uint64_t hr_file_offset(const hr_file_writer_t *writer); /* bytes written so far */
/* Puts the file in its place if `status` is NULL, else removes what was written; frees the writer. Returns `status`, or
 * the failure to finish. Accepts a NULL writer. */
hr_status_t hr_file_finish(hr_file_writer_t *writer, hr_status_t status);
/* All at once. */
hr_status_t hr_file_write_all(const char *path, const void *bytes, size_t size_bytes);

/* Makes a folder in one that is there; fine if it is there already. */
hr_status_t hr_folder_make(const char *path);

#endif
