/* The number of processes that a program file is meant for, found before it is loaded. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/arena.h"
#include "base/options.h"
#include "partition/program.h"

typedef struct cli_grid {
  int replicas, partitions; /* at least 1 */
} cli_grid_t;

/* The grid in the first header line of `text` that has one. False: no line has one, and the whole
 * program must be read. *out_end: begin of the header line, for directives before it; NULL: no such
 * line. */
bool cli_grid_of_text(hr_str_t text, cli_grid_t *out_grid, const char **out_end);

/* The grid of a program in any format; 1 x 1 for one that cannot be read, which loading reports. */
cli_grid_t cli_grid_of_file(const char *path);

/* The partitioner's options for `world` processes; 0: as many as -n says. */
spmd_options_t cli_grid_partitioning(const hr_options_t *options, int64_t world);

/* The numbers of processes on which a global program runs, descending: those that its mesh, or that
 * of --mesh, can be reduced to. *out_count is 0 for another program and for one that cannot be
 * read.
 * Owner:   `arena`.
 * Errors:  NO_MEMORY. */
hr_status_t cli_grid_worlds(hr_arena_t *arena, const hr_options_t *options, const int **out_worlds,
                            int *out_count);

/* Number of processes that a command's programs need: the size of the grid of a single program, the
 * last rank plus one for --program, 1 for standard input, which can be read only once. */
int cli_grid_world(const hr_options_t *options);

#endif
