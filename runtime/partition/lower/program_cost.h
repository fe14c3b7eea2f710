/* The cost of a whole program of one partition, by which the partitioner chooses among several. */
#ifndef HR_PARTITION_LOWER_PROGRAM_COST_H
#define HR_PARTITION_LOWER_PROGRAM_COST_H

#include "base/arena.h"
#include "partition/lower/report.h"

/* Estimated time of the program that begins at `entry`, in microseconds. `notes` has its
 * collectives, those that are executed only. Errors: NO_MEMORY. */
hr_status_t spmd_program_us(hr_arena_t *arena, const hlo_computation_t *entry,
                            const spmd_report_notes_t *notes, double *out_us);

#endif
