/* The report of --explain-sharding: the partitioner's decisions and their reasons, as text. */
#ifndef HR_PARTITION_EXPLAIN_SHARDING_H
#define HR_PARTITION_EXPLAIN_SHARDING_H

#include "partition/lower/report.h"
#include "partition/program.h"

/* Prints a line for each array of a propagated program: place, name, shape, sharding, origin. */
void spmd_explain_values(hr_strbuf_t *text, const spmd_program_t *program);
/* Prints a line for each collective of a partitioned program, a line for their sum, and a line with
 * advice for each array that had to be whole, the largest first. Errors: NO_MEMORY. */
hr_status_t spmd_explain_report(hr_strbuf_t *text, const spmd_program_t *program);
/* The arrays that had to be whole, the largest first; in the program's arena. Errors: NO_MEMORY. */
hr_status_t spmd_explain_rank(const spmd_program_t *program,
                              const spmd_replication_t ***out_sorted);
double spmd_explain_bytes(const hlo_shape_t *shape);
/* Advice to the user about an op that needs a whole array. */
const char *spmd_explain_advice(hlo_opcode_t op);

/* The same as one JSON object: members `values`; `collectives`, `bytes` and `whole`. The second
 * ends the object, with the report's members if the program was partitioned. */
void spmd_explain_values_json(hr_strbuf_t *text, const spmd_program_t *program);
hr_status_t spmd_explain_report_json(hr_strbuf_t *text, const spmd_program_t *program);

#endif
