/* dot in the compiled engine: a batch of matrix products c = a b, [m][k] times [k][n], each way of
 * computing it in a file of its own. native_dot.c works out where the matrices lie and chooses. */
#ifndef HLO_OPS_NATIVE_DOT_H
#define HLO_OPS_NATIVE_DOT_H

#include "ops/kernels/common/native_common.h"
#include "ops/kernels/gemm/native_widen.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/reference/dot.h"

/* An operand as matrices. Steps are in elements of its own type. */
typedef struct dot_matrices {
  hr_dtype_t dtype;
  int64_t count;         /* elements in all */
  const int64_t *starts; /* of each matrix of the batch */
  int64_t batch_step;    /* between neighbouring matrices, where that is always the same; else -1 */
  int64_t row_step, col_step;
  /* Dimensions that cannot be walked by one step: where each matrix, row and column starts; or,
   * with the starts and steps above, they are brought into order first, in parallel over the
   * outermost one. */
  bool ordered;
  const int64_t *offsets, *rows, *cols;
  loop_copy_t slice; /* one entry of the outermost dimension */
  int64_t slices, slice_to_bytes, slice_from_bytes;
} dot_matrices_t;

typedef struct dot_problem {
  matmul_types_t types;
  int64_t batch, m, n, k;
  dot_matrices_t a, b;                 /* c is dense: [batch][m][n] */
  const void *constant_a, *constant_b; /* their elements, where they are known; else NULL */
  bool packed_b;                       /* operand 1 is what gemm_pack made of it */
  double flops;
} dot_problem_t;

/* A way: fills in *out, or leaves out->plan NULL. Plans start with how they are run. */
typedef struct dot_strategy {
  const char *name;
  hr_status_t (*run)(const op_native_run_t *run, const struct dot_strategy *way, void *const *in,
                     void *const *out);
} dot_strategy_t;
typedef hr_status_t (*dot_prepare_fn)(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);

hr_status_t dot_prepare_small(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out);
hr_status_t dot_prepare_low_precision(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);
hr_status_t dot_prepare_onednn(const op_native_target_t *target, const dot_problem_t *problem,
                               op_native_step_t *out);
hr_status_t dot_prepare_gemm(const op_native_target_t *target, const dot_problem_t *problem,
                             op_native_step_t *out);
hr_status_t dot_prepare_integer(const op_native_target_t *target, const dot_problem_t *problem,
                                op_native_step_t *out);

/* Is a right side that is known, or stays as it is, better packed once? */
bool dot_packs_once(const dot_problem_t *problem);
/* How it is packed before a loop; NULL if it is not. */
hr_status_t dot_plan_prepack(const op_native_target_t *target, const dot_problem_t *problem,
                             const op_native_prepack_t **out_prepack);
gemm_job_t dot_gemm_job(const dot_problem_t *problem); /* without addresses */

/* What is made of an operand before it is multiplied, in scratch memory: brought into order if it
 * must be, then widened to the type of the products. */
typedef struct dot_ready {
  bool ordered, widened;
  size_t ordered_at, wide_at;
} dot_ready_t;
void dot_ready_layout(const dot_problem_t *problem, const dot_matrices_t *side, bool ordered,
                      bool widened, size_t *total_bytes, dot_ready_t *out_ready);
const void *dot_ready_run(const op_native_run_t *run, const dot_problem_t *problem,
                          const dot_matrices_t *side, const dot_ready_t *ready, const void *from);

#endif
