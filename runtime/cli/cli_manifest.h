/* The folder of one checkpoint, and the list of what it holds. */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "base/arena.h"
#include "base/status.h"

typedef struct cli_sum { /* of a file */
  uint64_t size_bytes, hash, values_hash; /* the last: of what may be compared between replicas */
} cli_sum_t;

typedef struct cli_manifest {
  uint64_t step;
  int num_replicas, num_partitions;
  cli_sum_t *sums; /* by rank */
} cli_manifest_t;

/* Size and check sum of a file as it is now. */
hr_status_t cli_sum_of(const char *path, cli_sum_t *sum);

/* Writes FOLDER/manifest, and flushes it to the disk. */
hr_status_t cli_manifest_write(const char *folder, const cli_manifest_t *manifest);
/* Reads it, and compares every file with it. Errors: INVALID with what is wrong, UNAVAILABLE. */
hr_status_t cli_manifest_check(hr_arena_t *arena, const char *folder, cli_manifest_t *out_manifest);

/* Flushes a file or folder to the disk. */
hr_status_t cli_flush_path(const char *path);
/* Steps of the folders step-... in `folder`, the newest first; in `arena`. */
hr_status_t cli_list_steps(hr_arena_t *arena, const char *folder, uint64_t **out_steps, int *out_count);
/* Finds a folder writing-... in `folder`; `path` has PATH_MAX bytes. */
bool cli_find_writing(const char *folder, char *path);
/* Removes a folder of files. */
void cli_remove_folder(const char *folder);

#endif
