/* Parts of global arrays in one file: outK@RANK, and outK.part@RANK with the place of each, so that
 * any number of processes can read them. */
#ifndef CLI_SHARDS_H
#define CLI_SHARDS_H

#include "cli/arrays/cli_assembly.h"

/* Room for a name such as "out3.part@17". */
#define CLI_SHARD_NAME 64

/* The name of the array with the place of PREFIXk@RANK. */
const char *cli_shard_place_name(const char *prefix, int k, int rank, char into[CLI_SHARD_NAME]);

/* Puts this process's part of array PREFIXk together from the parts of all processes. *out_value
 * NULL: the file does not say where they lie, or PREFIXk@RANK is the part.
 * Errors: USAGE for arrays that are no parts of what the slot is, or not all of it. */
hr_status_t cli_shards_assemble(const array_file_t *file, const cli_arg_t *slot, const char *prefix,
                                int k, int rank, hlo_value_t **out_value);

#endif
