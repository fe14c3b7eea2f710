/* The table of `hlorun --tune`: measured times of algorithms by number of ranks of one machine and
 * by size. Measurements choose the algorithm where the table has them; elsewhere, and across
 * machines, the formulas of algorithms.def do.
 * Format:  text, one line each: COLLECTIVE ALGORITHM RANKS BYTES MICROSECONDS; "#" begins a
 * comment.
 * File:    $HLORUN_TUNING, else $XDG_CONFIG_HOME/hlorun/collectives.txt (~/.config).
 * Thread:  that of the endpoint. */
#ifndef TP_COLL_TUNE_TABLE_H
#define TP_COLL_TUNE_TABLE_H

#include "base/text.h"
#include "transport/core/request.h"

typedef struct tp_tuning tp_tuning_t;

/* Rank 0 reads the table, if there is one, and broadcasts it, so that all ranks choose alike.
 * Collective over the world. A table that cannot be read, or has a wrong line, is not used; rank 0
 * warns on stderr. */
hr_status_t tp_tuning_load(tp_groups_t *groups);
/* The table of this machine, for one process; *out_tuning NULL: there is none.
 * Errors:  those that rank 0 warns about in tp_tuning_load.
 * Owner:   the caller, by tp_tuning_destroy. */
hr_status_t tp_tuning_read(tp_tuning_t **out_tuning);
void tp_tuning_destroy(tp_tuning_t *tuning); /* accepts NULL */
/* Microseconds, interpolated linearly in the logarithms of size and time; negative: not
 * measured. */
double tp_tuning_cost(const tp_tuning_t *tuning, tp_collective_t collective, const char *algorithm,
                      int ranks, size_t bytes);

/* Writes the table: the lines of `text`, and the existing lines for other numbers of ranks. `path`
 * NULL: the default path. Gives the path written, in `arena`. */
hr_status_t tp_tuning_save(hr_arena_t *arena, const char *path, int ranks, const hr_strbuf_t *text,
                           const char **out_path);

#endif
