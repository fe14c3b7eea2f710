/* The program of each process: one for all, or several on one command line (MPMD):
 *   hlorun -n 8 --program 0-3=a.hlo --program 4-7=b.hlo       by ranks
 *   hlorun -n 2 a.hlo b.hlo                                   one per rank, in order */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H

#include "base/options.h"

/* Checks that do not need the number of processes. Errors: USAGE. */
hr_status_t cli_programs_check(const hr_options_t *options);
/* The largest rank that --program names; -1: none, or a list that cannot be read. */
int cli_programs_last_rank(const hr_options_t *options);
bool cli_programs_are_several(const hr_options_t *options);
/* The program of one rank; every rank of the world must have exactly one. Errors: USAGE, the same
 * on all ranks. */
hr_status_t cli_programs_choose(const hr_options_t *options, int rank, int world,
                                const char **out_path);

#endif
