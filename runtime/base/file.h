/* Writing files so that a reader never sees half of one, after a crash of the machine neither: into
 * a temporary file in the target's folder, of a name that cannot be guessed and that was not there,
 * which is brought to the disk and takes the target's place when all is written. A symbolic link of
 * this user or of root leads to the target, as it does for the shell's > ; one of another user, who
 * could choose the file that is overwritten, is replaced itself. Permissions of a file that is
 * replaced are kept. Targets that are no regular files (pipes, devices) are written directly; "-",
 * /dev/stdout, /dev/fd/N and the like are the descriptors that are open. Errors: UNAVAILABLE with
 * the path and the system's reason. Thread: one at a time. */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct hr_file_writer hr_file_writer_t;

hr_status_t hr_file_create(const char *path, hr_file_writer_t **out_writer);
/* The file `name` of an open folder, whatever has become of the folder's path, which is for
 * messages. Its bytes are brought to the disk if it is `lasting`; its name is when the caller
 * synchronises the folder. */
hr_status_t hr_file_create_in(int folder, const char *folder_path, const char *name, bool lasting,
                              hr_file_writer_t **out_writer);
hr_status_t hr_file_write(hr_file_writer_t *writer, const void *bytes, size_t size_bytes);
uint64_t hr_file_offset(const hr_file_writer_t *writer); /* bytes written so far */
/* Puts the file in its place if `status` is NULL, else removes what was written; frees the writer.
 * Returns `status`, or the failure to finish. Accepts a NULL writer. */
hr_status_t hr_file_finish(hr_file_writer_t *writer, hr_status_t status);
/* For what is written bit by bit and may be read meanwhile: an empty file takes the target's place
 * at once. The caller closes the descriptor. */
hr_status_t hr_file_open(const char *path, int *out_fd);
/* Writes into what is there, or makes it: for streams, and for what is continued. `flags`: O_TRUNC
 * or O_APPEND. Errors: UNAVAILABLE, also of a link of another user; DEADLINE, of a FIFO that has no
 * reader (base/open.h). The caller closes the descriptor. */
hr_status_t hr_file_open_in_place(const char *path, int flags, int *out_fd);
/* All at once. */
hr_status_t hr_file_write_all(const char *path, const void *bytes, size_t size_bytes);

/* Makes a folder in one that is there; fine if it is there already. */
hr_status_t hr_folder_make(const char *path);

#endif
