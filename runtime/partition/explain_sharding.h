/* What the partitioner decided and why, as text: --explain-sharding. */
#ifndef HR_PARTITION_EXPLAIN_SHARDING_H
#define HR_PARTITION_EXPLAIN_SHARDING_H

#include "partition/lower/report.h"
#include "partition/program.h"

/* A line for each array of a propagated program: place, name, shape, sharding, where it came from.
 */
void spmd_explain_values(hr_strbuf_t *text, const spmd_program_t *program);
/* A line for each collective of a partitioned program, one for their sum, and one for each array
 * that had to be whole, ranked by bytes, with advice. Errors: NO_MEMORY. */
hr_status_t spmd_explain_report(hr_strbuf_t *text, const spmd_program_t *program);
/* The arrays that had to be whole, the largest first; in the program's arena. Errors: NO_MEMORY. */
hr_status_t spmd_explain_rank(const spmd_program_t *program,
                              const spmd_replication_t ***out_sorted);
double spmd_explain_bytes(const hlo_shape_t *shape);
/* What a user can do about an op that wants an array whole. */
const char *spmd_explain_advice(hlo_opcode_t op);

/* The same as one JSON object: members `values`; `collectives`, `bytes` and `whole`. The second
 * ends the object, with the report's members if the program was partitioned. */
void spmd_explain_values_json(hr_strbuf_t *text, const spmd_program_t *program);
hr_status_t spmd_explain_report_json(hr_strbuf_t *text, const spmd_program_t *program);

#endif
