/* Dimensions of products in groups (batch, free, contracting), as dot and its kin see their
 * operands. */
#ifndef HLO_OPS_DOT_H
#define HLO_OPS_DOT_H

#include "ops/kernels/gemm/matmul.h"

typedef struct dims_group {
  int count;
  int dims[HLO_MAX_RANK];
} dims_group_t;

#define DOT_MAX_GROUPS 3
typedef struct dot_side {
  int64_t count; /* elements */
  matmul_order_t order;
  int64_t sizes[DOT_MAX_GROUPS];   /* per group, once ordered */
  int64_t strides[DOT_MAX_GROUPS]; /* elements */
} dot_side_t;

typedef struct dot_plan {
  matmul_types_t types;
  int64_t batch, m, n, k;
  dot_side_t lhs, rhs; /* groups: batch, free, contracting; batch, contracting, free */
} dot_plan_t;

typedef struct dot_groups {
  dims_group_t lhs_batch, lhs_free, lhs_contracting, rhs_batch, rhs_free, rhs_contracting;
} dot_groups_t;

/* The roles of all dimensions. `rhs_taken`: a dimension of rhs that has another role already, or
 * -1. Errors: INVALID with the label of the specification. */
hr_status_t dot_read_groups(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                            const hlo_shape_t *rhs, int rhs_taken, dot_groups_t *out_groups);
/* Whether one stride (elements) walks all dimensions of a group, last dimension fastest; 0 if all
 * have size 1. `strides` are those of the shape's dimensions. */
bool dot_group_stride(const hlo_shape_t *shape, const int64_t *strides, const dims_group_t *group,
                      int64_t *out_stride);
/* An operand as its groups in this order; `dense`: without gaps, else as it lies where each group
 * is one run. */
hr_status_t dot_plan_side(const hlo_shape_t *shape, const dims_group_t *groups, int group_count,
                          int element_bytes, bool dense, dot_side_t *out_side);
/* The result must have as many elements as the product. */
hr_status_t dot_check_result(const op_step_t *step, int64_t batch, int64_t m, int64_t n);
/* A plain dot of operands of these types and shapes, which need not be the instruction's own. */
hr_status_t dot_plan_init(const op_step_t *step, const matmul_types_t *types,
                          const hlo_shape_t *lhs, const hlo_shape_t *rhs, dot_plan_t *out_plan);
hr_status_t dot_run_products(op_env_t *env, const dot_plan_t *plan, const void *lhs,
                             const void *rhs, hlo_value_t *out);

/* An operand widened and in order. */
hr_status_t dot_ready_side(hr_arena_t *scratch, const matmul_types_t *types, const dot_side_t *side,
                           hr_dtype_t dtype, const void *from, const void **out_data);
/* Where the products go, the result itself or scratch memory; and from there into the result. */
hr_status_t dot_product_memory(hr_arena_t *scratch, const matmul_types_t *types, hlo_value_t *out,
                               void **out_memory);
void dot_finish_product(const matmul_types_t *types, void *products, hlo_value_t *out);

#endif
