/* The manifest of a checkpoint, a list of its files:
 *
 *   hlorun checkpoint 2
 *   step 300
 *   began 1764000000000000000          when the training began; those of one training have the same
 *   grid 4 2                           replicas, partitions
 *   rank0.npz 16640 9f.. 03.. 5a.. m   size, hash, hash of the carried values; BLAKE2b
 *   ...                                and name of the program
 *   blake2b e3b0..                     of all bytes before this line
 *
 * Manifests of version 1 are read, too. They lack the lines `began` and `blake2b` and the programs,
 * end with "end", and count as the oldest. */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "cli/checkpoint/cli_folder.h"
#include "cli/checkpoint/cli_identity.h"

typedef struct cli_sum {                  /* check sums of a file */
  uint64_t size_bytes, hash, values_hash; /* values_hash: of the values that replicas share */
  cli_identity_t program; /* program that wrote the file; empty digest in version 1 */
} cli_sum_t;

typedef struct cli_manifest {
  uint64_t step;
  uint64_t began; /* start of the training, ns since 1970, increased to exceed all replaced ones; 0
                     in version 1 */
  int num_replicas, num_partitions;
  cli_sum_t *sums;    /* indexed by rank */
  uint64_t text_hash; /* hash of the manifest: equal in all processes that see the same one */
} cli_manifest_t;

#define CLI_STEP_NAME 32
/* "step-000000000300": the name of the checkpoint's folder. */
void cli_step_name(char into[CLI_STEP_NAME], uint64_t step);
/* True if it is such a name, in exactly this form. */
bool cli_step_parse(const char *name, uint64_t *out_step);

/* Size and hash of a file's bytes. */
void cli_sum_of(const hr_buffer_t *bytes, cli_sum_t *sum);
/* "rank3.npz" */
void cli_rank_file(char into[CLI_STEP_NAME], int rank);

/* Writes FOLDER/manifest. */
hr_status_t cli_manifest_write(const cli_folder_t *folder, const cli_manifest_t *manifest);
/* Reads the manifest of a checkpoint of that step; in `arena`. Errors: INVALID with what is wrong,
 * UNAVAILABLE. */
hr_status_t cli_manifest_read(hr_arena_t *arena, const cli_folder_t *folder, uint64_t step,
                              cli_manifest_t *out_manifest);
/* Reads a rank's file and compares it with the manifest. `out_bytes` may be NULL. */
hr_status_t cli_manifest_check(const cli_folder_t *folder, const cli_manifest_t *manifest, int rank,
                               hr_buffer_t **out_bytes);

#endif
