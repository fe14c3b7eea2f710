/* The folder of the object cache: which one, whether it can be trusted, and how it is kept small.
 * Thread: one at a time for each folder. */
#ifndef JIT_CACHE_FOLDER_H
#define JIT_CACHE_FOLDER_H

#include <sys/stat.h>

#include "base/status.h"

/* Opens the folder that `given` (NULL: the variables) means, making it and its parents where they
 * are missing. Its path is malloc'd, the caller frees it. Returns -1 if there is none to use:
 * "none" was asked for, or it cannot be trusted or opened, which is logged. */
int cache_folder_open(const char *given, char **out_path);
/* Does this belong to the user alone? */
bool cache_is_private(const struct stat *info);
bool cache_folder_is_empty(int folder);
/* Removes the files whose last use is longest ago until no more than `limit_bytes` are left, and
 * what processes that ended too early have left behind. Returns how many. */
uint64_t cache_folder_trim(int folder, uint64_t limit_bytes);

#endif
