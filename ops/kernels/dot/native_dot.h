/* dot in the compiled engine: a batch of matrix products c[m][n] = a[m][k] b[k][n]. native_dot.c
 * describes the operands as matrices and chooses a strategy; each strategy is a file of its own. */
#ifndef HLO_OPS_NATIVE_DOT_H
#define HLO_OPS_NATIVE_DOT_H

#include "ops/kernels/common/native_common.h"
#include "ops/kernels/gemm/native_widen.h"
#include "ops/kernels/gemm/gemm.h"
#include "ops/kernels/reference/dot.h"

/* An operand as a batch of matrices. Strides and offsets are in elements of its own type.
 *
 * If the dimensions of a group (batch, rows, columns) have no single stride, a kernel either uses
 * offsets (`offsets`, `rows`, `cols`, as in gemm), or strides (`starts`, `row_step`, `col_step`)
 * after the operand has been reordered in scratch memory. */
typedef struct dot_matrices {
  hr_dtype_t dtype;
  int64_t count; /* elements of the operand */

  const int64_t *starts; /* [batch]: first element of each matrix, after reordering */
  int64_t batch_step;    /* distance between adjacent matrices if it is constant; else -1 */
  int64_t row_step;      /* distance from one row to the next, after reordering */
  int64_t col_step;      /* distance from one column to the next, after reordering */

  const int64_t *offsets; /* [batch]: first element of each matrix in the program's array */
  const int64_t *rows;    /* offset of each row; NULL: by row_step */
  const int64_t *cols;    /* offset of each column; NULL: by col_step */

  bool ordered;             /* the operand must be reordered for kernels that need strides */
  loop_copy_t slice;        /* copy of one entry of the outermost dimension */
  int64_t slices;           /* entries of the outermost dimension, one task each */
  int64_t slice_to_bytes;   /* distance from one entry to the next in the copy */
  int64_t slice_from_bytes; /* distance from one entry to the next in the program's array */
} dot_matrices_t;

typedef struct dot_problem {
  matmul_types_t types;
  int64_t batch, m, n, k;
  dot_matrices_t a, b;                 /* c is dense: [batch][m][n] */
  const void *constant_a, *constant_b; /* elements of constant operands; else NULL */
  bool packed_b;                       /* operand 1 has been packed by gemm_pack */
  bool symmetric;                      /* each matrix of the result is symmetric */
  double flops;
} dot_problem_t;

/* Describes the operands as matrices. side: the operand (0, 1) that determines the order of
 * contracting dimensions; -1: the order that is read fastest. Operands are left unset if the
 * product has no terms or no results (flops 0). */
hr_status_t dot_plan_problem(hr_arena_t *arena, const op_step_t *step, int side,
                             dot_problem_t *problem);

/* A strategy's `prepare` fills in *out, or leaves out->plan NULL to decline. Every plan starts with
 * this struct, so that native_dot.c can run it. */
typedef struct dot_strategy {
  const char *name;
  hr_status_t (*run)(const op_native_run_t *run, const struct dot_strategy *strategy,
                     void *const *in, void *const *out);
} dot_strategy_t;
typedef hr_status_t (*dot_prepare_fn)(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);

hr_status_t dot_prepare_thin(const op_native_target_t *target, const dot_problem_t *problem,
                             op_native_step_t *out);
hr_status_t dot_prepare_small(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out);
hr_status_t dot_prepare_small_complex(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);
hr_status_t dot_prepare_complex_as_real(const op_native_target_t *target,
                                        const dot_problem_t *problem, op_native_step_t *out);
hr_status_t dot_prepare_low_precision(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);
hr_status_t dot_prepare_pairs(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out);
hr_status_t dot_prepare_pairs_blocked(const op_native_target_t *target,
                                      const dot_problem_t *problem, op_native_step_t *out);
hr_status_t dot_prepare_onednn(const op_native_target_t *target, const dot_problem_t *problem,
                               op_native_step_t *out);
hr_status_t dot_prepare_gemm(const op_native_target_t *target, const dot_problem_t *problem,
                             op_native_step_t *out);
hr_status_t dot_prepare_exact(const op_native_target_t *target, const dot_problem_t *problem,
                              op_native_step_t *out);
hr_status_t dot_prepare_integer(const op_native_target_t *target, const dot_problem_t *problem,
                                op_native_step_t *out);

/* Products of floats below which a library call, or packing, costs more than it saves. */
#define DOT_TINY_PRODUCTS 20000
/* The same for integers. */
#define DOT_TINY_INTEGER_PRODUCTS 40000
static inline bool dot_is_tiny(const dot_problem_t *p, int64_t products) {
  return p->m * p->n * p->k <= products;
}
/* Least terms for which sums in lanes, of pairs of rows and columns, pay for adding the lanes. */
#define DOT_PAIR_TERMS 512
/* True if packing b once pays, in case b is constant or loop-invariant. */
bool dot_packs_once(const dot_problem_t *problem);
/* Plans how b is packed before a loop; *out_prepack stays NULL if it is not. */
hr_status_t dot_plan_prepack(const op_native_target_t *target, const dot_problem_t *problem,
                             const op_native_prepack_t **out_prepack);
gemm_job_t dot_gemm_job(const dot_problem_t *problem); /* sizes and strides, no addresses */

/* Conversion of an operand in scratch memory: reordered if necessary, then widened to the type of
 * the products. Offsets in bytes. */
typedef struct dot_conversion {
  bool ordered, widened;
  size_t ordered_at, wide_at;
} dot_conversion_t;
void dot_conversion_init(const dot_problem_t *problem, const dot_matrices_t *side, bool ordered,
                         bool widened, size_t *total_bytes, dot_conversion_t *out_conversion);
const void *dot_convert_operand(const op_native_run_t *run, const dot_problem_t *problem,
                                const dot_matrices_t *side, const dot_conversion_t *conversion,
                                const void *from);

#endif
