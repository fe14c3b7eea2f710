/* The number of processes that a program file is meant for, found before it is loaded. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/options.h"

typedef struct cli_grid {
  int replicas, partitions; /* at least 1 */
} cli_grid_t;

/* The grid in the first header line of `text` that has one. False: no line has one, and the whole
 * program must be read. *out_end: begin of the header line, for directives before it; NULL: no such
 * line. */
bool cli_grid_of_text(hr_str_t text, cli_grid_t *out_grid, const char **out_end);

/* The grid of a program in any format; 1 x 1 for one that cannot be read, which loading reports. */
cli_grid_t cli_grid_of_file(const char *path);

/* Number of processes that a command's programs need: the size of the grid of a single program, the
 * last rank plus one for --program, 1 for standard input, which can be read only once. */
int cli_grid_world(const hr_options_t *options);

#endif
