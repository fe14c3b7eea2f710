/* convolution in the compiled engine. JAX's single op is three problems of a library: a forward
 * convolution and its two gradients. An op with base dilation is the gradient of the input (or a
 * transposed convolution); one whose window is larger than the result is the gradient of the
 * weights. native_convolution.c finds out which. */
#ifndef HLO_OPS_NATIVE_CONVOLUTION_H
#define HLO_OPS_NATIVE_CONVOLUTION_H

#include "ops/kernels/common/native_common.h"
#include "ops/kernels/gemm/native_widen.h"
#include "ops/query/conv_problem.h"

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

/* Direct, forward and data gradient, with enough channels: floats, and bf16 and int8 unconverted if
 * the processor multiplies them. See conv_direct.h. */
hr_status_t conv_prepare_direct(const op_native_target_t *target, const conv_problem_t *problem,
                                op_native_step_t *out);
hr_status_t conv_run_direct(const op_native_run_t *run, const void *plan, void *const *in,
                            void *const *out);

/* Weight gradient with channels innermost, in f32 and f64. */
hr_status_t conv_prepare_weight_grad(const op_native_target_t *target,
                                     const conv_problem_t *problem, op_native_step_t *out);
hr_status_t conv_run_weight_grad(const op_native_run_t *run, const void *plan, void *const *in,
                                 void *const *out);

/* Weight gradient of depthwise convolutions with channels innermost: floats, widened to f32 or f64.
 */
hr_status_t conv_prepare_depthwise_grad(const op_native_target_t *target,
                                        const conv_problem_t *problem, op_native_step_t *out);
hr_status_t conv_run_depthwise_grad(const op_native_run_t *run, const void *plan, void *const *in,
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
