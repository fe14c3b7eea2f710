/* interpreter.run_parallel: runs a grid of processes inside one step, each a thread with its own
 * machine. */
#ifndef EXEC_RUN_PARALLEL_H
#define EXEC_RUN_PARALLEL_H

#include "exec/machine.h"

/* Signature of op_env_t.run_parallel. Errors: the first failure that is not CANCELLED, with its
 * process; UNAVAILABLE if no thread can be started. */
hr_status_t exec_run_parallel(op_env_t *env, const hlo_instr_t *instr, int num_replicas,
                              int num_partitions, hlo_value_t *const *in, hlo_value_t **out_value);

#endif
