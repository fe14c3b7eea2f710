/* Parts of a global array that were written on another mesh, put together to this process's part.
 * Equal parts of several processes are copied once, so that the number of copied elements must
 * equal that of the part. */
#ifndef CLI_ASSEMBLY_H
#define CLI_ASSEMBLY_H

#include "cli/arrays/cli_part.h"

/* Ending of the array that says where a part lies: s64[2,rank], the sizes of the global array and
 * the offsets of the part. */
#define CLI_PART ".part"

/* The place of a part in a global array. */
typedef struct cli_place {
  int64_t whole[HLO_MAX_RANK], starts[HLO_MAX_RANK];
} cli_place_t;

typedef struct cli_assembly {
  hr_dtype_t dtype;
  cli_part_t part; /* the part of this process */
  int64_t *starts; /* starts of the parts so far, one row for each */
  int count;       /* parts so far */
  int64_t copied;  /* elements */
  hlo_value_t *value;
} cli_assembly_t;

/* The numbers of an array with the ending CLI_PART: 2 * part->rank. */
void cli_place_numbers(const cli_part_t *part, int64_t *out_numbers);
/* Reads such an array. Errors: USAGE for an array of another rank; the label is for messages. */
hr_status_t cli_place_read(const char *label, const npy_t *npy, int rank, cli_place_t *out_place);

/* Makes an empty array for the part that `process` has, and room for the places of `most` parts.
 * Release the value also after a failure. */
hr_status_t cli_assembly_init(hr_arena_t *arena, const cli_arg_t *slot, int process, int most,
                              cli_assembly_t *assembly);
/* Keeps the place of the next part. False: an earlier part lies there, too. */
bool cli_assembly_take_place(cli_assembly_t *assembly, const cli_place_t *place);
/* True if an array at this place is a part of what the slot is. */
bool cli_assembly_fits(const cli_assembly_t *assembly, const npy_t *npy, const cli_place_t *place);
/* Copies the elements that the array, which fits, has of this process's part. */
hr_status_t cli_assembly_add(cli_assembly_t *assembly, const npy_t *npy, const cli_place_t *place);

#endif
