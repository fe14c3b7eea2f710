/* Data parallelism of a compiled training step: every replica has its own examples, and the
 * gradients of all variables become means over the replicas.
 * Thread: one per module. */
#ifndef TF_DATA_PARALLEL_H
#define TF_DATA_PARALLEL_H

#include "ir/module.h"

typedef struct tf_data_parallel {
  int parameter_count;
  const bool *is_variable; /* by parameter: the same on all replicas */
  int loss;                /* result that is averaged over the replicas, too */
  int first_update;        /* result that is the first new value of a variable */
  int update_count;
  const hr_str_t *names; /* variables, by update */
  bool is_strict;        /* refuses leaves that may hide a part of the optimizer: sums of rows */
} tf_data_parallel_t;

/* Changes the entry computation. Errors: USAGE for a loss that is none; UNSUPPORTED with the
 * variable whose update cannot be shown to stay the same on all replicas. */
hr_status_t tf_make_data_parallel(hlo_module_t *module, const tf_data_parallel_t *what);

#endif
