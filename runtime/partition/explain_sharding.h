/* What the partitioner decided and why, as text: --explain-sharding. */
#ifndef HR_PARTITION_EXPLAIN_SHARDING_H
#define HR_PARTITION_EXPLAIN_SHARDING_H

#include "partition/program.h"

/* A line for each array of a propagated program: place, name, shape, sharding, where it came from.
 */
void spmd_explain_values(hr_strbuf_t *text, const spmd_program_t *program);
/* A line for each collective of a partitioned program, one for their sum, and one for each array
 * that had to be whole, ranked by bytes, with advice. Errors: NO_MEMORY. */
hr_status_t spmd_explain_report(hr_strbuf_t *text, const spmd_program_t *program);

#endif
