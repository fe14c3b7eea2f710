/* The folder of the object cache: its path, its trust, and its trimming. Thread: one at a time per
 * folder. */
#ifndef JIT_CACHE_FOLDER_H
#define JIT_CACHE_FOLDER_H

#include <sys/stat.h>

#include "base/status.h"

#define CACHE_NAME_BYTES 48 /* size of the longest file name: 32 digits and an ending */

/* Opens the folder named by `given` (NULL: by the environment variables); creates it and its
 * parents if missing. *out_path is allocated by malloc, the caller frees it. Returns -1 if there is
 * no usable folder: "none" was given, or it cannot be trusted or opened, which is logged. */
int cache_folder_open(const char *given, char **out_path);
/* Does the file belong to the user, and is it writable by nobody else? */
bool cache_is_private(const struct stat *info);
bool cache_folder_is_empty(int folder);
/* Removes the least recently used files until at most `limit_bytes` are left, and leftovers of
 * crashed processes. Returns the number of files removed. */
uint64_t cache_folder_trim(int folder, uint64_t limit_bytes);

#endif
