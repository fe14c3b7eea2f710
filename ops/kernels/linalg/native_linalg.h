/* Shared parts of the native kernels of cholesky, triangular-solve and LAPACK's custom calls: the
 * check of a call's form, look-up of routines, and distribution of batches over the workers. */
#ifndef HLO_OPS_NATIVE_LINALG_H
#define HLO_OPS_NATIVE_LINALG_H

#include "ops/kernels/common/native_common.h"
#include "ops/kernels/custom/custom_lapack.h"

/* Checks a custom call by the reference kernel's `prepare` and returns its plan. rank: rank of the
 * first operand without its batch. *out_plan is NULL for another form: untyped scalars, or layouts
 * other than column-major matrices with row-major batch dimensions, which LAPACK reads as the
 * program's matrices. */
hr_status_t native_lapack_check(const op_native_target_t *target, const op_step_t *step,
                                const op_kernel_t *kernel, int rank,
                                const lapack_plan_t **out_plan);

/* Transposes a dense rows x columns matrix: between a program's matrix and LAPACK's column-major
 * one. */
void native_transpose_small(hr_dtype_t dtype, const void *from, int64_t rows, int64_t columns,
                            void *to);

/* Finds the routine prefix + type letter (s, d, c, z) + name, such as "dpotrf_" or "cblas_dtrsm".
 * False if the type has none, or the library or the routine is missing. */
bool native_lapack_find(hr_dtype_t dtype, const char *prefix, const char *name, void **out_routine);

/* Distribution of a batch: one matrix per worker at a time, or all workers on one matrix. */
typedef struct native_matrices {
  int64_t batch, grain; /* matrices; least matrices per task */
  bool one_per_worker;
  int workers;
  size_t matrix_bytes, worker_bytes; /* scratch bytes per matrix in progress, and per worker */
} native_matrices_t;

/* Plans the distribution. products: approximate multiplications per matrix. Returns the scratch
 * bytes in total. */
size_t native_matrices_plan(const op_native_target_t *target, int64_t batch, double products,
                            size_t matrix_bytes, size_t worker_bytes, native_matrices_t *out);
/* Processes matrix i of the batch. `workers` is NULL if the matrix belongs to one worker; `memory`
 * has matrix_bytes, `space` worker_bytes for each of the workers. */
typedef void (*native_matrix_fn)(const void *context, int64_t i, hr_workers_t *workers,
                                 char *memory, char *space);
void native_matrices_run(const native_matrices_t *plan, const op_native_run_t *run,
                         native_matrix_fn fn, const void *context);

#endif
