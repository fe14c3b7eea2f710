/* Atomic writing of files: readers never see an incomplete file, even after a crash of the machine.
 * Data go to a new temporary file with a random name in the target's folder, which is flushed to
 * the disk and renamed to the target at the end. Symbolic links of this user or of root are
 * followed, as by the shell's >; a link of another user, who could choose the overwritten file, is
 * itself replaced. Permissions of a replaced file are kept. Targets that are no regular files
 * (pipes, devices) are written directly; "-", /dev/stdout, /dev/fd/N and the like are open
 * descriptors.
 * Errors: UNAVAILABLE with the path and the system's reason.
 * Thread: one at a time. */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct hr_file_writer hr_file_writer_t;

hr_status_t hr_file_create(const char *path, hr_file_writer_t **out_writer);
/* Creates the file `name` in an open folder; the folder's path is for messages only. If `lasting`,
 * the contents are flushed to the disk; the caller flushes the folder to make the name durable. */
hr_status_t hr_file_create_in(int folder, const char *folder_path, const char *name, bool lasting,
                              hr_file_writer_t **out_writer);
hr_status_t hr_file_write(hr_file_writer_t *writer, const void *bytes, size_t size_bytes);
uint64_t hr_file_offset(const hr_file_writer_t *writer); /* bytes written so far */
/* Renames the file to the target if `status` is NULL, else removes it; frees the writer. Returns
 * `status`, or the failure to finish. Accepts a NULL writer. */
hr_status_t hr_file_finish(hr_file_writer_t *writer, hr_status_t status);
/* Replaces the target by an empty file at once, for files that may be read while they are written.
 * The caller closes the descriptor. */
hr_status_t hr_file_open(const char *path, int *out_fd);
/* Opens a file in place for writing, or creates it: for streams and for appending. `flags`: O_TRUNC
 * or O_APPEND. Errors: UNAVAILABLE, also for a link of another user; DEADLINE for a FIFO without a
 * reader (base/open.h). The caller closes the descriptor. */
hr_status_t hr_file_open_in_place(const char *path, int flags, int *out_fd);
/* Writes a whole file atomically. */
hr_status_t hr_file_write_all(const char *path, const void *bytes, size_t size_bytes);

/* Creates a folder, unless it exists; its parent must exist. */
hr_status_t hr_folder_make(const char *path);

#endif
