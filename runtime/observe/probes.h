/* Values seen by the probes of one execution, by id. Thread: that of the execution. */
#ifndef EXEC_PROBES_H
#define EXEC_PROBES_H

#include "base/vec.h"
#include "ops/kernels/kernel.h"

typedef struct exec_probe_value {
  hr_str_t id; /* borrowed from the program, which outlives the machine */
  hlo_value_t *value;
} exec_probe_value_t;
typedef struct exec_probes {
  HR_VEC(exec_probe_value_t) values; /* in the order of the visits */
} exec_probes_t;

/* Appends a value and retains it. Errors: NO_MEMORY. */
hr_status_t exec_probes_add(exec_probes_t *probes, hr_str_t id, hlo_value_t *value);
/* The n-th value (from 0) of this id, as a new reference; NULL if there are fewer. */
hlo_value_t *exec_probes_find(const exec_probes_t *probes, hr_str_t id, int64_t n);
void exec_probes_clear(exec_probes_t *probes);

#endif
