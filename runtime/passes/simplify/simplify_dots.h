/* Functions shared by the families of rules on dots. */
#ifndef PASS_SIMPLIFY_DOTS_H
#define PASS_SIMPLIFY_DOTS_H

#include "passes/simplify/simplify.h"

typedef enum dot_role { FREE, BATCH, CONTRACTING } dot_role_t;

typedef struct dot_side {
  hlo_instr_t *x;
  hr_ints_t batch, contracting;
} dot_side_t;

/* Reads operand 0 with its dimension numbers, then operand 1. */
void dot_sides_read(const hlo_instr_t *dot, dot_side_t sides[2]);
dot_role_t dot_dim_role(const dot_side_t *side, int64_t d);
int dot_free_count(const dot_side_t *side);
/* Would the innermost dimension of the transposed operand's operand be a batch dimension? Each
 * product then reads with a large stride. */
bool dot_makes_batch_innermost(const dot_side_t *side, hr_ints_t permutation);
/* Replaces the transpose `side->x` by its operand; the arrays hold the dimension numbers. */
void dot_side_map(dot_side_t *side, hr_ints_t permutation, int64_t *batch, int64_t *contracting);
/* May the operands be swapped, and with them the free dimensions of the result? */
bool dot_may_swap(const hlo_instr_t *dot);
/* Are the types summed by this rule: floats, or integers of one type? */
bool dot_is_summed(const dot_side_t sides[2], hr_dtype_t dtype);
/* x broadcast to the sizes of `all`, in its type; dimension d of x becomes dims[d]. */
hlo_instr_t *dot_broadcast_operand(pass_rewrite_t *rewrite, hlo_instr_t *x, const int64_t *dims,
                                   const hlo_shape_t *all);
/* The product `like` with other operands and the same precision. NULL if an operand is NULL. */
hlo_instr_t *dot_build(pass_rewrite_t *rewrite, const hlo_instr_t *like, const dot_side_t sides[2],
                       const hlo_shape_t *shape);
/* The product that a convolution is; NULL: it is none. */
hlo_instr_t *dot_of_convolution(pass_rewrite_t *rewrite, hlo_instr_t *conv);
/* The type in which terms are added. */
static inline hr_dtype_t dot_sum_dtype(hr_dtype_t dtype) {
  return dtype == HR_BF16 || dtype == HR_F16 ? HR_F32 : dtype;
}

#endif
