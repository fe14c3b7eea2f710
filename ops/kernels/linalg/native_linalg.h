/* What the native kernels of LAPACK's custom calls share. */
#ifndef HLO_OPS_NATIVE_LINALG_H
#define HLO_OPS_NATIVE_LINALG_H

#include "ops/kernels/common/native_common.h"
#include "ops/kernels/custom/custom_lapack.h"

/* The typed form, on matrices by columns and vectors and numbers by rows, which then mean what the
 * program means by rows; the checks are those of the reference kernel, whose plan it is. NULL:
 * another form. */
hr_status_t native_lapack_check(const op_native_target_t *target, const op_step_t *step,
                                const op_kernel_t *kernel, const lapack_plan_t **out_plan);

/* rows x columns elements to columns x rows: between a program's matrix and LAPACK's. */
void native_transpose_small(hr_dtype_t dtype, const void *from, int64_t rows, int64_t columns,
                            void *to);

/* How the matrices of a batch are shared out: one on each worker, or all workers on one. */
typedef struct native_matrices {
  int64_t batch, grain;
  bool one_per_worker;
  int workers;
  size_t matrix_bytes, worker_bytes; /* scratch memory for a matrix under way, and for a worker */
} native_matrices_t;

/* products: of one matrix, about. Returns the scratch memory in all. */
size_t native_matrices_plan(const op_native_target_t *target, int64_t batch, double products,
                            size_t matrix_bytes, size_t worker_bytes, native_matrices_t *out);
/* Matrix i of the batch; `space` is the memory of as many workers as there are. */
typedef void (*native_matrix_fn)(const void *context, int64_t i, hr_workers_t *workers,
                                 char *memory, char *space);
void native_matrices_run(const native_matrices_t *plan, const op_native_run_t *run,
                         native_matrix_fn fn, const void *context);

#endif
