/* What a convolution computes, independent of the algorithm: which of input, weights and output is
 * the result, the sizes and strides by role, and the layouts that kernels read and write without a
 * copy. JAX's single op is three problems of a library: a forward convolution and its two
 * gradients. An op with base dilation is the gradient of the input (or a transposed convolution);
 * an op whose window is larger than its result is the gradient of the weights. Used by kernels,
 * layout assignment and the simplifier of convolutions. Thread: any. */
#ifndef HLO_OPS_CONV_PROBLEM_H
#define HLO_OPS_CONV_PROBLEM_H

#include "ops/query/matmul_types.h"
#include "ops/query/op_step.h"

#define CONV_MAX_SPATIAL 3

/* Which of the three arrays is computed from the two others. */
typedef enum conv_kind { CONV_FORWARD, CONV_DATA, CONV_WEIGHTS } conv_kind_t;
typedef enum conv_role { CONV_SRC, CONV_WEI, CONV_DST, CONV_ROLES } conv_role_t;

/* An array of the program: the stride, in elements, of each index of its role. Channels of
 * activations are g * (channels of a group) + c. */
typedef struct conv_array {
  hr_dtype_t dtype;
  int64_t count;
  int64_t start; /* offset of the first used element */
  int64_t outer; /* batch; weights: output channel of the group */
  int64_t inner; /* channel; weights: input channel of the group */
  int64_t group; /* weights only */
  int64_t spatial[CONV_MAX_SPATIAL];
  bool reversed[CONV_MAX_SPATIAL]; /* weights only: read in reverse order */
} conv_array_t;

/* dst[n][g, o][y] = sum over i, k of src[n][g, i][(y * stride + k * dilation - low) / base]
 * wei[g][o][i][k], without the terms whose division leaves a rest */
typedef struct conv_problem {
  conv_kind_t kind;
  matmul_types_t types;
  int spatial;
  int64_t batch, groups, in_channels, out_channels; /* channels of a group */
  int64_t in[CONV_MAX_SPATIAL], out[CONV_MAX_SPATIAL], window[CONV_MAX_SPATIAL];
  int64_t stride[CONV_MAX_SPATIAL], dilation[CONV_MAX_SPATIAL], low[CONV_MAX_SPATIAL],
      high[CONV_MAX_SPATIAL];
  int64_t base[CONV_MAX_SPATIAL]; /* 1 unless the op has strides and base dilation */
  conv_array_t arrays[CONV_ROLES];
  bool zero_first;              /* the result is larger than the sizes here: the rest is zero */
  const void *constant_weights; /* elements of constant weights; NULL: unknown */
  double flops;
} conv_problem_t;

/* True if some input coordinates are holes: a forward problem with base dilation. */
static inline bool conv_has_holes(const conv_problem_t *problem) {
  bool holes = false;
  for (int d = 0; d < problem->spatial; d++) holes |= problem->base[d] > 1;
  return holes;
}

/* Roles of the operands and of the result. */
static inline conv_role_t conv_role_lhs(conv_kind_t kind) {
  return kind == CONV_DATA ? CONV_DST : CONV_SRC;
}
static inline conv_role_t conv_role_rhs(conv_kind_t kind) {
  return kind == CONV_WEIGHTS ? CONV_DST : CONV_WEI;
}
static inline conv_role_t conv_role_out(conv_kind_t kind) {
  if (kind == CONV_FORWARD) return CONV_DST;
  return kind == CONV_DATA ? CONV_SRC : CONV_WEI;
}

/* Finds the kind of the problem; *out_fits false: none of the three. `out_problem` is zero before
 * the call. */
hr_status_t conv_problem_read(const op_step_t *step, conv_problem_t *out_problem, bool *out_fits);

/* The orders of dimensions, slowest first, of the two operands and the result that kernels read and
 * write without a copy, with channels last. Arrays in other orders are transposed in every run. */
typedef struct conv_orders {
  bool matters[3]; /* false: weights, which are packed in any case */
  int64_t dims[3][HLO_MAX_RANK];
} conv_orders_t;
/* For static shapes. False: the op is none of the three kinds. */
bool conv_orders_find(const hlo_instr_t *conv, conv_orders_t *out_orders);

/* True if the instruction gives each dimension a role and its window has the right rank. */
bool conv_has_labels(const hlo_instr_t *conv);

/* True if an array of activations is dense with channels innermost. */
bool conv_is_plain(const conv_problem_t *problem, conv_role_t role);

#endif
