/* Shared parts of the native kernels of linear algebra: look-up of routines by name and type, the
 * check of a custom call's layouts, small transpositions, and distribution of a batch of matrices
 * over the workers. */
#include "ops/kernels/linalg/native_linalg.h"

#include "base/dl.h"

bool native_lapack_find(hr_dtype_t dtype, const char *prefix, const char *name,
                        void **out_routine) {
  static const char letters[HR_DTYPE_COUNT] = {
      [HR_F32] = 's', [HR_F64] = 'd', [HR_C64] = 'c', [HR_C128] = 'z'};
  char symbol[24];
  if (!letters[dtype]) return false;
  snprintf(symbol, sizeof symbol, "%s%c%s", prefix, letters[dtype], name);
  hr_status_t missing = hr_dl_symbol(HR_LIBRARY_LAPACK, symbol, out_routine);
  hr_status_release(missing);
  return !missing;
}

/* --- custom calls --- */

/* True if matrices are column-major and all other dimensions row-major: LAPACK's column-major
 * matrix then is the program's matrix. */
static bool has_lapack_layout(const hlo_layout_t *layout, const hlo_shape_t *shape,
                              int batch_rank) {
  int rank = shape->rank, columns = rank == batch_rank + 2;
  if (!layout) return !columns;
  if (layout->minor_to_major.count != rank) return false;
  const int64_t *order = layout->minor_to_major.data;
  for (int d = 0; d < rank; d++) {
    int wanted_dim = columns && d < 2 ? 1 - d : d;
    if (order[d] != rank - 1 - wanted_dim) return false;
  }
  return true;
}

/* True if all operands and results of a custom call have LAPACK's layout. */
static bool have_lapack_layouts(const op_step_t *step, int batch_rank) {
  for (int k = 0; k < step->instr->operand_count; k++)
    if (!has_lapack_layout(custom_operand_layout(step->instr, k), step->in_shapes[k], batch_rank))
      return false;
  for (int k = 0; k < custom_result_count(step->out_shape); k++)
    if (!has_lapack_layout(custom_result_layout(step->instr, k),
                           custom_result_shape(step->out_shape, k), batch_rank))
      return false;
  return true;
}

/* The reference kernel's own check; NULL if layouts differ or the call has the old form. */
hr_status_t native_lapack_check(const op_native_target_t *target, const op_step_t *step,
                                const op_kernel_t *kernel, int rank,
                                const lapack_plan_t **out_plan) {
  const void *plan = NULL;
  *out_plan = NULL;
  if (step->instr->operand_count == 0 || step->in_shapes[0]->rank < rank) return NULL;
  if (!have_lapack_layouts(step, step->in_shapes[0]->rank - rank)) return NULL;
  HR_TRY(kernel->prepare(target->arena, step, &plan));
  if (!((const lapack_plan_t *)plan)->scalars) *out_plan = plan;
  return NULL;
}

#define DEFINE_TRANSPOSE(T)                                                                       \
  static void transpose_##T(const T *from, int64_t rows, int64_t columns, int64_t parts, T *to) { \
    for (int64_t j = 0; j < columns; j++)                                                         \
      for (int64_t i = 0; i < rows; i++)                                                          \
        for (int64_t p = 0; p < parts; p++) *to++ = from[(i * columns + j) * parts + p];          \
  }
DEFINE_TRANSPOSE(float)
DEFINE_TRANSPOSE(double)

void native_transpose_small(hr_dtype_t dtype, const void *from, int64_t rows, int64_t columns,
                            void *to) {
  int64_t parts = hr_dtype_is_complex(dtype) ? 2 : 1;
  if (hr_dtype_real(dtype) == HR_F32)
    transpose_float(from, rows, columns, parts, to);
  else
    transpose_double(from, rows, columns, parts, to);
}

/* --- batches --- */

/* If problems are small, or there are at least two matrices per worker, each worker processes one
 * matrix at a time; otherwise all workers share each matrix. Memory is rounded up to cache
 * lines. */
size_t native_matrices_plan(const op_native_target_t *target, int64_t batch, double products,
                            size_t matrix_bytes, size_t worker_bytes, native_matrices_t *out) {
  *out = (native_matrices_t){.batch = batch, .workers = target->workers};
  out->one_per_worker = batch >= 2 * target->workers || products < 1e5;
  out->grain = 1 + (int64_t)(100000 / products);
  out->matrix_bytes = (matrix_bytes + 63) / 64 * 64;
  out->worker_bytes = (worker_bytes + 63) / 64 * 64;
  return out->matrix_bytes * (size_t)(out->one_per_worker ? target->workers : 1) +
         out->worker_bytes * (size_t)target->workers;
}

typedef struct matrices_run {
  const native_matrices_t *plan;
  native_matrix_fn fn;
  const void *context;
  char *matrices, *spaces;
} matrices_run_t;

/* `fn` gets no workers: its matrix belongs to this one. */
static void run_one_per_worker(void *context, int64_t begin, int64_t end, int worker) {
  const matrices_run_t *r = context;
  for (int64_t i = begin; i < end; i++)
    r->fn(r->context, i, NULL, r->matrices + (size_t)worker * r->plan->matrix_bytes,
          r->spaces + (size_t)worker * r->plan->worker_bytes);
}

void native_matrices_run(const native_matrices_t *plan, const op_native_run_t *run,
                         native_matrix_fn fn, const void *context) {
  hr_workers_t *workers = native_workers(run, plan->workers);
  matrices_run_t r = {plan, fn, context, run->scratch, run->scratch};
  r.spaces += plan->matrix_bytes * (size_t)(plan->one_per_worker ? plan->workers : 1);
  if (plan->one_per_worker) {
    hr_workers_for(workers, plan->batch, plan->grain, run_one_per_worker, &r);
    return;
  }
  for (int64_t i = 0; i < plan->batch; i++) fn(context, i, workers, r.matrices, r.spaces);
}
