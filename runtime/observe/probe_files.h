/* Probed values as files: FOLDER/probe1.npy, probe2.npy, ... in the order of the visits, and
 * FOLDER/index.csv with a line `id,type,path` each. With several processes: probe1@RANK.npy and
 * index@RANK.csv. */
#ifndef EXEC_PROBE_FILES_H
#define EXEC_PROBE_FILES_H

#include "ir/value.h"

typedef struct exec_probe_files exec_probe_files_t;

/* pattern: an extended regular expression that ids of probes must match somewhere; rank: -1 for a
 * process without peers. Creates the folder.
 * Errors: USAGE for a bad pattern, UNAVAILABLE when the folder or the index cannot be created.
 * Owner:  copies its arguments. */
hr_status_t exec_probe_files_open(const char *folder, const char *pattern, int rank,
                                  exec_probe_files_t **out_files);
void exec_probe_files_close(exec_probe_files_t *files); /* accepts NULL */
/* Writes the value if the id matches.
 * Thread:  any.
 * Errors:  UNAVAILABLE. */
hr_status_t exec_probe_files_add(exec_probe_files_t *files, hr_str_t id, const hlo_value_t *value);

#endif
