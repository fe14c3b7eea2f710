/* What this machine can do at most, measured now: what kernels are compared with. */
#ifndef EXEC_MACHINE_PEAK_H
#define EXEC_MACHINE_PEAK_H

#include "base/workers.h"

typedef struct machine_peak {
  double bytes_per_s; /* of a triad over arrays that no cache holds: read and written, by all
                         workers together */
  double flops;       /* f32 fused multiply-adds a second in registers, each counted as two, by all
                         workers together */
} machine_peak_t;

/* The best of a few short tries.
 * Cost: tens of milliseconds, and 96 MiB while it measures. Errors: NO_MEMORY. */
hr_status_t machine_peak_measure(hr_workers_t *workers, machine_peak_t *out_peak);

#endif
