/* Values that probes saw, by their ids, for the length of a machine's life. */
#ifndef EXEC_PROBES_H
#define EXEC_PROBES_H

#include "base/vec.h"
#include "ops/kernels/kernel.h"

typedef struct exec_probe_value {
  hr_str_t id; /* of the program, which outlives the machine */
  hlo_value_t *value;
} exec_probe_value_t;
typedef struct exec_probes {
  HR_VEC(exec_probe_value_t) values; /* in the order in which they were seen */
} exec_probes_t;

/* Keeps a reference. */
hr_status_t exec_probes_add(exec_probes_t *probes, hr_str_t id, hlo_value_t *value);
/* The n-th value under this id, as a new reference; NULL if there are fewer. */
hlo_value_t *exec_probes_find(const exec_probes_t *probes, hr_str_t id, int64_t n);
void exec_probes_clear(exec_probes_t *probes);

#endif
