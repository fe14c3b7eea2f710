/* An open folder. Its entries are accessed through its descriptor, so that later changes of its
 * path do not matter. Symbolic links in it are never followed, also when files are removed. Only
 * regular files are read. Errors: UNAVAILABLE with the path and the system's reason; INVALID for a
 * missing entry or one of another type; NO_MEMORY also when descriptors run out. */
#ifndef CLI_FOLDER_H
#define CLI_FOLDER_H

#include <limits.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"

typedef struct cli_folder {
  int fd;
  char path[PATH_MAX]; /* for messages */
} cli_folder_t;

/* Opens the folder; creates it if only its last component is missing. Links in the path itself are
 * followed. */
hr_status_t cli_folder_open(const char *path, cli_folder_t *out_folder);
/* Opens the folder `name` of another one. */
hr_status_t cli_folder_enter(const cli_folder_t *parent, const char *name,
                             cli_folder_t *out_folder);
/* Opens the folder `name` of another one, and creates it if it is missing. */
hr_status_t cli_folder_make(const cli_folder_t *parent, const char *name, cli_folder_t *out_folder);
/* False if the path of the folder no longer leads to it: it was renamed, removed or replaced. A
 * failure to find out, as of a file system that does not answer, counts as true. */
bool cli_folder_is_in_place(const cli_folder_t *folder);
/* Where the folder is now, by the kernel's list of open files; "somewhere else" if that fails. */
void cli_folder_place(const cli_folder_t *folder, char out_path[PATH_MAX]);
void cli_folder_close(cli_folder_t *folder);
/* Flushes the folder's directory entries to the disk. */
hr_status_t cli_folder_flush(const cli_folder_t *folder);

/* Names in the folder, without "." and ".."; in `arena`. */
hr_status_t cli_folder_list(const cli_folder_t *folder, hr_arena_t *arena, const char ***out_names,
                            int *out_count);
bool cli_folder_has(const cli_folder_t *folder, const char *name);
/* Size of a file in bytes, so that one which is too large need not be mapped. */
hr_status_t cli_folder_size(const cli_folder_t *folder, const char *name, uint64_t *out_bytes);
hr_status_t cli_folder_map(const cli_folder_t *folder, const char *name, hr_buffer_t **out_bytes);
/* Writes a file that appears only when it is complete. If `lasting`, its contents are then flushed
 * to the disk; its name is after cli_folder_flush. */
hr_status_t cli_folder_create(const cli_folder_t *folder, const char *name, bool lasting,
                              hr_file_writer_t **out_writer);
hr_status_t cli_folder_write(const cli_folder_t *folder, const char *name, bool lasting,
                             const void *bytes, size_t size_bytes);
hr_status_t cli_folder_rename(const cli_folder_t *folder, const char *from, const char *to);
/* Removes a file, a link, or a folder with its files; ignores failures. */
void cli_folder_remove(const cli_folder_t *folder, const char *name);

#endif
