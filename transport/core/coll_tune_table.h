/* What `hlorun --tune` has measured: how long each algorithm takes for so many ranks of one
 * machine, and bytes. Where there are measurements they choose the algorithm; elsewhere, and across
 * machines, the formulas of algorithms.def do. The table is a text, one line each: COLLECTIVE
 * ALGORITHM RANKS BYTES MICROSECONDS; "#" begins a comment. It is the file that HLORUN_TUNING
 * names, else $XDG_CONFIG_HOME/hlorun/collectives.txt (~/.config). Thread: that of the endpoint. */
#ifndef TP_COLL_TUNE_TABLE_H
#define TP_COLL_TUNE_TABLE_H

#include "base/text.h"
#include "transport/core/request.h"

typedef struct tp_tuning tp_tuning_t;

/* Rank 0 reads the table, if there is one, and tells the others, so that all come to the same
 * choices. All ranks call it together. Of a table that cannot be read or has a wrong line, rank 0
 * says so on stderr; it is then not used. */
hr_status_t tp_tuning_load(tp_groups_t *groups);
void tp_tuning_destroy(tp_tuning_t *tuning); /* accepts NULL */
/* Microseconds, between the measured sizes by a line between their logarithms; negative: nothing
 * was measured. */
double tp_tuning_cost(const tp_tuning_t *tuning, tp_collective_t collective, const char *algorithm,
                      int ranks, size_t bytes);

/* Writes the table: the lines of `text`, and those that were there for other numbers of ranks.
 * `path` NULL: the usual place. Gives the path that was written, in `arena`. */
hr_status_t tp_tuning_save(hr_arena_t *arena, const char *path, int ranks, const hr_strbuf_t *text,
                           const char **out_path);

#endif
