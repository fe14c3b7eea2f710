/* convolution in the compiled engine. What JAX writes as one op is three to a library: a forward
 * convolution, and the two that its gradients are: with holes in the input it is that of the input
 * (or a transposed convolution), with a window larger than the result that of the weights.
 * native_convolution.c finds out which. */
#ifndef HLO_OPS_NATIVE_CONVOLUTION_H
#define HLO_OPS_NATIVE_CONVOLUTION_H

#include "ops/kernels/common/native_common.h"

#define CONV_MAX_SPATIAL 3

/* Which of the three arrays is computed from the two others. */
typedef enum conv_kind { CONV_FORWARD, CONV_DATA, CONV_WEIGHTS } conv_kind_t;
typedef enum conv_role { CONV_SRC, CONV_WEI, CONV_DST, CONV_ROLES } conv_role_t;

/* An array of the program: steps in elements of every index that the role has. Channels are g *
 * (channels of a group) + c for activations. */
typedef struct conv_array {
  hr_dtype_t dtype;
  int64_t count;
  int64_t start; /* of the part in question */
  int64_t outer; /* batch; weights: output channel of the group */
  int64_t inner; /* channel; weights: input channel of the group */
  int64_t group; /* weights only */
  int64_t spatial[CONV_MAX_SPATIAL];
  bool reversed[CONV_MAX_SPATIAL]; /* weights only: they are to be read backwards */
} conv_array_t;

/* dst[n][g, o][y] = sum over i, k of src[n][g, i][y * stride + k * dilation - low] wei[g][o][i][k]
 */
typedef struct conv_problem {
  conv_kind_t kind;
  matmul_types_t types;
  int spatial;
  int64_t batch, groups, in_channels, out_channels; /* channels of a group */
  int64_t in[CONV_MAX_SPATIAL], out[CONV_MAX_SPATIAL], window[CONV_MAX_SPATIAL];
  int64_t stride[CONV_MAX_SPATIAL], dilation[CONV_MAX_SPATIAL], low[CONV_MAX_SPATIAL],
      high[CONV_MAX_SPATIAL];
  conv_array_t arrays[CONV_ROLES];
  bool zero_first; /* the result is larger than what the arrays here say: the rest is zero */
  const void *constant_weights; /* their elements, where they are known */
  double flops;
} conv_problem_t;

/* Roles of the operands and of the result. */
static inline conv_role_t conv_role_lhs(conv_kind_t kind) {
  return kind == CONV_DATA ? CONV_DST : CONV_SRC;
}
static inline conv_role_t conv_role_rhs(conv_kind_t kind) {
  return kind == CONV_WEIGHTS ? CONV_DST : CONV_WEI;
}
static inline conv_role_t conv_role_out(conv_kind_t kind) {
  return kind == CONV_FORWARD ? CONV_DST : kind == CONV_DATA ? CONV_SRC : CONV_WEI;
}

/* Which of the three it is; *out_fits false: none. `out_problem` is zero before. */
hr_status_t conv_problem_read(const op_step_t *step, conv_problem_t *out_problem, bool *out_fits);

/* The order of dimensions, slowest first, in which the kernels read and write arrays as they are,
 * with channels at the end: of the two operands and the result. Others are brought into it and out
 * of it in every run. */
typedef struct conv_orders {
  bool matters[3]; /* no: weights, which are packed anyway */
  int64_t dims[3][HLO_MAX_RANK];
} conv_orders_t;
/* For static shapes. False: it is none of the three kinds. */
bool conv_orders_find(const hlo_instr_t *conv, conv_orders_t *out_orders);

/* Whether an array of activations is dense with channels innermost. */
bool conv_is_plain(const conv_problem_t *problem, conv_role_t role);

/* Winograd: windows of 3 x 3 over enough channels, in f32 and f64. */
hr_status_t conv_prepare_winograd(const op_native_target_t *target, const conv_problem_t *problem,
                                  op_native_step_t *out);
hr_status_t conv_run_winograd(const op_native_run_t *run, const void *plan, void *const *in,
                              void *const *out);

/* Direct, forward with few output channels, last axis contiguous, in f32 and f64. */
hr_status_t conv_prepare_direct_narrow(const op_native_target_t *target,
                                       const conv_problem_t *problem, op_native_step_t *out);
hr_status_t conv_run_direct_narrow(const op_native_run_t *run, const void *plan, void *const *in,
                                   void *const *out);

/* Direct, forward and data gradient, with enough channels: floats, and bf16 and int8 as they are
 * where the processor multiplies these. See conv_direct.h. */
hr_status_t conv_prepare_direct(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out);
hr_status_t conv_run_direct(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out);

/* Weight gradient with channels innermost, in f32 and f64. */
hr_status_t conv_prepare_weight_grad(const op_native_target_t *target,
                                     const conv_problem_t *problem, op_native_step_t *out);
hr_status_t conv_run_weight_grad(const op_native_run_t *run, const void *plan, void *const *in,
                                 void *const *out);

hr_status_t conv_prepare_onednn(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out);
hr_status_t conv_run_onednn(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out);

/* im2col, for everything else: f64, complex and integers, and any window. Patches of a block of
 * positions are multiplied by gemm.h, or integers by matmul.h; groups and blocks are divided among
 * the workers. */
hr_status_t conv_prepare_im2col(const op_native_target_t *target, const op_step_t *step,
                                op_native_step_t *out);
hr_status_t conv_run_im2col(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out);

#endif
