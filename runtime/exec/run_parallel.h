/* interpreter.run_parallel: a grid of processes inside one step of a program, each a thread with a
 * machine of its own.
 */
#ifndef EXEC_RUN_PARALLEL_H
#define EXEC_RUN_PARALLEL_H

#include "exec/machine.h"

/* Signature of op_env_t.run_parallel. The first failure of a process that was not cancelled by
 * another is the step's.
 */
hr_status_t exec_run_parallel(op_env_t *env, const hlo_instr_t *instr, int num_replicas,
                              int num_partitions, hlo_value_t *const *in, hlo_value_t **out_value);

#endif
