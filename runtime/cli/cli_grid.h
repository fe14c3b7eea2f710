/* How many processes a program file is meant for, before anything is loaded. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/options.h"

typedef struct cli_grid {
  int replicas, partitions; /* at least 1 */
} cli_grid_t;

/* The grid in the first header line of `text` that has one. False: no line says it, and the whole
 * program has to be read. *out_end: where the header line begins, for directives before it; NULL:
 * there is none. */
bool cli_grid_of_text(hr_str_t text, cli_grid_t *out_grid, const char **out_end);

/* The grid of a program in any form. A program that cannot be read has one process: the error comes
 * when it is loaded. */
cli_grid_t cli_grid_of_file(const char *path);

/* Processes that the programs of a command name: as many as its grid has for one program, up to the
 * last rank for --program; 1 for standard input, which can be read but once. */
int cli_grid_world(const hr_options_t *options);

#endif
