/* Dimensions of matrix products in groups (batch, free, contracting), for dot, ragged-dot and
 * scaled-dot. */
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
  int64_t sizes[DOT_MAX_GROUPS];   /* size per group */
  int64_t strides[DOT_MAX_GROUPS]; /* stride per group after ordering, elements */
} dot_side_t;

typedef struct dot_plan {
  matmul_types_t types;
  int64_t batch, m, n, k;
  dot_side_t lhs, rhs; /* groups: batch, free, contracting; batch, contracting, free */
} dot_plan_t;

typedef struct dot_groups {
  dims_group_t lhs_batch, lhs_free, lhs_contracting, rhs_batch, rhs_free, rhs_contracting;
} dot_groups_t;

/* Assigns all dimensions to groups. rhs_taken: a dimension of rhs that has another role, or -1.
 * Errors: INVALID with the label of the specification (dot_general C3-C10). */
hr_status_t dot_read_groups(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                            const hlo_shape_t *rhs, int rhs_taken, dot_groups_t *out_groups);
/* True if one stride (elements) walks all dimensions of a group, last dimension fastest; the stride
 * is 0 if all have size 1. `strides` are those of the shape's dimensions. */
bool dot_group_stride(const hlo_shape_t *shape, const int64_t *strides, const dims_group_t *group,
                      int64_t *out_stride);
/* Plans the order of an operand: the given groups, one after the other. `dense`: always reordered
 * to contiguous groups; else used in place if each group has one stride. */
hr_status_t dot_plan_side(const hlo_shape_t *shape, const dims_group_t *groups, int group_count,
                          int element_bytes, bool dense, dot_side_t *out_side);
/* Checks that the result has as many elements as the product (dot_general C12). */
hr_status_t dot_check_result(const op_step_t *step, int64_t batch, int64_t m, int64_t n);
/* Plans a plain dot of operands of these types and shapes, which may differ from the
 * instruction's. */
hr_status_t dot_plan_init(const op_step_t *step, const matmul_types_t *types,
                          const hlo_shape_t *lhs, const hlo_shape_t *rhs, dot_plan_t *out_plan);
hr_status_t dot_run_products(op_env_t *env, const dot_plan_t *plan, const void *lhs,
                             const void *rhs, hlo_value_t *out);

/* Widens and reorders an operand. */
hr_status_t dot_prepare_operand(hr_arena_t *scratch, const matmul_types_t *types,
                                const dot_side_t *side, hr_dtype_t dtype, const void *from,
                                const void **out_data);
/* The accumulators: the result's buffer, or scratch memory; dot_finish_product rounds them into
 * the result. */
hr_status_t dot_product_memory(hr_arena_t *scratch, const matmul_types_t *types, hlo_value_t *out,
                               void **out_memory);
void dot_finish_product(const matmul_types_t *types, void *products, hlo_value_t *out);

#endif
