/* Measured peak rates of this host, to which kernels are compared. */
#ifndef EXEC_MACHINE_PEAK_H
#define EXEC_MACHINE_PEAK_H

#include "base/workers.h"

typedef struct machine_peak {
  double bytes_per_s; /* triad over arrays larger than any cache, all workers: reads plus writes */
  double flops;       /* f32 fused multiply-adds in registers, all workers; each counts as two */
} machine_peak_t;

/* Measures both rates; the best of a few short runs.
 * Cost:    tens of milliseconds, and 96 MiB meanwhile.
 * Errors:  NO_MEMORY.
 * Thread:  worker 0. `workers` may be NULL: one. */
hr_status_t machine_peak_measure(hr_workers_t *workers, machine_peak_t *out_peak);

#endif
