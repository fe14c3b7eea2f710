/* dot by the reference engine: matrix products of operands whose dimensions are grouped as batch,
 * free and contracting. An operand is used in place if each of its groups has a single stride;
 * other operands are reordered first. Sums follow the order of the contracting dimensions, in
 * blocks (matmul.c). A complex product is a real one of twice the size.
 *
 * Denormal numbers count as zeros in products of matrices and convolutions, in both engines and in
 * XLA:CPU. Sums of many terms hardly depend on them, and processors take a hundred times as long
 * for them. They are frequent, for example, after a softmax whose masked scores are -100.
 *
 * Source: StableHLO spec, dot_general. */
#include "ops/kernels/reference/dot.h"

/* True if the dimensions of a group have a single stride, that is, the stride of each dimension is
 * that of the next inner one times its size. Dimensions of size 1 do not count. */
bool dot_group_stride(const hlo_shape_t *shape, const int64_t *strides, const dims_group_t *group,
                      int64_t *out_stride) {
  int64_t run = 0; /* stride that the next outer dimension must have; 0: no dimension yet */
  *out_stride = 0;
  for (int i = group->count - 1; i >= 0; i--) {
    int d = group->dims[i];
    if (shape->dims[d] == 1) continue;
    if (run && strides[d] != run) return false;
    if (!run) *out_stride = strides[d];
    run = strides[d] * shape->dims[d];
  }
  return true;
}

/* Plans how an operand is read: in place, if each group has a single stride and `dense` is false;
 * otherwise from a dense copy in the order [group][group][group]. */
hr_status_t dot_plan_side(const hlo_shape_t *shape, const dims_group_t *groups, int group_count,
                          int element_bytes, bool dense, dot_side_t *out_side) {
  int64_t strides[HLO_MAX_RANK], dims[HLO_MAX_RANK], bytes[HLO_MAX_RANK];
  int rank = 0;
  bool one_stride_each = true;
  dot_side_t side = {0};
  HR_TRY(hlo_shape_count(shape, &side.count));
  loop_dense_strides(shape->rank, shape->dims, 1, strides);
  for (int g = 0; g < group_count; g++) {
    side.sizes[g] = 1;
    for (int i = 0; i < groups[g].count; i++, rank++) {
      dims[rank] = shape->dims[groups[g].dims[i]];
      bytes[rank] = strides[groups[g].dims[i]] * element_bytes;
      side.sizes[g] = (int64_t)((uint64_t)side.sizes[g] *
                                (uint64_t)dims[rank]); /* may wrap in an empty array */
    }
    one_stride_each &= dot_group_stride(shape, strides, &groups[g], &side.strides[g]);
  }
  HR_TRY(matmul_order_init(rank, dims, bytes, element_bytes, &side.order));
  if (one_stride_each && !dense)
    side.order.needed = false;
  else
    loop_dense_strides(group_count, side.sizes, 1, side.strides);
  *out_side = side;
  return NULL;
}

/* Reads a list of dimensions and removes them from the mask `free_dims`. */
static hr_status_t read_dims(const hlo_instr_t *instr, hr_ints_t list, int rank,
                             uint32_t *free_dims, dims_group_t *out_group) {
  if (list.count > rank)
    return hlo_error(instr, "dot_general C5", "%ld dimensions of %d", (long)list.count, rank);
  out_group->count = (int)list.count;
  for (int i = 0; i < out_group->count; i++) {
    int64_t d = list.data[i];
    if (d < 0 || d >= rank || !(*free_dims >> d & 1))
      return hlo_error(instr, "dot_general C3", "dimension %ld is out of range or named twice",
                       (long)d);
    *free_dims &= ~(1u << d);
    out_group->dims[i] = (int)d;
  }
  return NULL;
}

/* The group of the dimensions in the mask, ascending. */
static dims_group_t free_group(uint32_t free_dims) {
  dims_group_t group = {0};
  for (int d = 0; d < HLO_MAX_RANK; d++)
    if (free_dims >> d & 1) group.dims[group.count++] = d;
  return group;
}

static uint32_t all_dims(int rank) { return rank >= 32 ? ~0u : (1u << rank) - 1; }

/* Checks that batch or contracting dimensions form pairs of equal size. */
static hr_status_t check_pairs(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                               const dims_group_t *a, const hlo_shape_t *rhs, const dims_group_t *b,
                               const char *label) {
  if (a->count != b->count)
    return hlo_error(instr, label, "%d dimensions against %d", a->count, b->count);
  for (int i = 0; i < a->count; i++)
    if (lhs->dims[a->dims[i]] != rhs->dims[b->dims[i]])
      return hlo_error(instr, label, "sizes %ld and %ld, want them equal",
                       (long)lhs->dims[a->dims[i]], (long)rhs->dims[b->dims[i]]);
  return NULL;
}

/* Reads batch, contracting and free dimensions of both operands. rhs_taken: a dimension of the
 * right operand that is none of these (the groups of a ragged dot); -1: none. */
hr_status_t dot_read_groups(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                            const hlo_shape_t *rhs, int rhs_taken, dot_groups_t *out_groups) {
  uint32_t lhs_free = all_dims(lhs->rank), rhs_free = all_dims(rhs->rank);
  dot_groups_t *g = out_groups;
  if (rhs_taken >= 0) rhs_free &= ~(1u << rhs_taken);
  HR_TRY(read_dims(instr, hlo_attr_ints(instr, HLO_ATTR_LHS_BATCH_DIMS), lhs->rank, &lhs_free,
                   &g->lhs_batch));
  HR_TRY(read_dims(instr, hlo_attr_ints(instr, HLO_ATTR_RHS_BATCH_DIMS), rhs->rank, &rhs_free,
                   &g->rhs_batch));
  HR_TRY(read_dims(instr, hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS), lhs->rank, &lhs_free,
                   &g->lhs_contracting));
  HR_TRY(read_dims(instr, hlo_attr_ints(instr, HLO_ATTR_RHS_CONTRACTING_DIMS), rhs->rank, &rhs_free,
                   &g->rhs_contracting));
  g->lhs_free = free_group(lhs_free);
  g->rhs_free = free_group(rhs_free);
  HR_TRY(check_pairs(instr, lhs, &g->lhs_batch, rhs, &g->rhs_batch, "dot_general C9"));
  return check_pairs(instr, lhs, &g->lhs_contracting, rhs, &g->rhs_contracting, "dot_general C10");
}

/* Checks that the result has batch x m x n elements. */
hr_status_t dot_check_result(const op_step_t *step, int64_t batch, int64_t m, int64_t n) {
  int64_t count, want;
  if (__builtin_mul_overflow(batch, m, &want) || __builtin_mul_overflow(want, n, &want)) want = -1;
  HR_TRY(hlo_shape_count(step->out_shape, &count));
  if (count != want)
    return hlo_error(step->instr, "dot_general C12", "the result has %ld elements, want %ld",
                     (long)count, (long)want);
  return NULL;
}

/* Plans lhs as [batch][m][k] and rhs as [batch][k][n]. */
hr_status_t dot_plan_init(const op_step_t *step, const matmul_types_t *types,
                          const hlo_shape_t *lhs, const hlo_shape_t *rhs, dot_plan_t *plan) {
  dot_groups_t g;
  plan->types = *types;
  HR_TRY(dot_read_groups(step->instr, lhs, rhs, -1, &g));
  dims_group_t lhs_groups[] = {g.lhs_batch, g.lhs_free, g.lhs_contracting};
  dims_group_t rhs_groups[] = {g.rhs_batch, g.rhs_contracting, g.rhs_free};
  bool dense = types->is_complex;
  HR_TRY(dot_plan_side(lhs, lhs_groups, 3, types->element_bytes, dense, &plan->lhs));
  HR_TRY(dot_plan_side(rhs, rhs_groups, 3, types->element_bytes, dense, &plan->rhs));
  plan->batch = plan->lhs.sizes[0];
  plan->m = plan->lhs.sizes[1];
  plan->k = plan->lhs.sizes[2];
  plan->n = plan->rhs.sizes[2];
  return dot_check_result(step, plan->batch, plan->m, plan->n);
}

/* Gives the operand in the type of the products and in the order of the plan: `from` itself if it
 * has both, else a copy. */
hr_status_t dot_prepare_operand(hr_arena_t *scratch, const matmul_types_t *types,
                                const dot_side_t *side, hr_dtype_t dtype, const void *from,
                                const void **out_data) {
  HR_TRY(matmul_widen(scratch, types, dtype, from, side->count, out_data));
  return matmul_order_run(scratch, &side->order, *out_data, out_data);
}

/* Memory for the products: the result itself, unless the products have a wider type. */
hr_status_t dot_product_memory(hr_arena_t *scratch, const matmul_types_t *types, hlo_value_t *out,
                               void **out_memory) {
  size_t bytes;
  *out_memory = out->data;
  if (matmul_is_widened(types, types->out)) return NULL;
  HR_TRY(hr_size_product((size_t)out->count, (size_t)types->element_bytes, &bytes));
  return hr_arena_alloc(scratch, bytes, out_memory);
}

void dot_finish_product(const matmul_types_t *types, void *products, hlo_value_t *out) {
  if (products != out->data) matmul_narrow(types, products, out->data, out->count);
}

/* Computes one product per batch index. Complex operands: a is read as m x 2k reals, b is expanded
 * to 2k x 2n reals. */
hr_status_t dot_run_products(op_env_t *env, const dot_plan_t *plan, const void *a, const void *b,
                             hlo_value_t *out) {
  const matmul_types_t *types = &plan->types;
  int64_t parts = types->parts, real_bytes = (int64_t)hr_dtype_bytes(types->real);
  if (out->count == 0) return NULL;
  HR_TRY(dot_prepare_operand(env->scratch, types, &plan->lhs, types->lhs, a, &a));
  HR_TRY(dot_prepare_operand(env->scratch, types, &plan->rhs, types->rhs, b, &b));
  if (parts == 2)
    HR_TRY(matmul_expand_complex(env->scratch, types, b, plan->batch * plan->k, plan->n, &b));
  void *products;
  HR_TRY(dot_product_memory(env->scratch, types, out, &products));
  matmul_space_t *space;
  matmul_job_t job = {
      .real = types->real, .m = plan->m, .n = plan->n * parts, .k = plan->k * parts};
  HR_TRY(matmul_space_new(env->scratch, job.real, job.m, job.n, job.k, &space));
  job.a_row = plan->lhs.strides[1] * parts;
  job.a_col = parts == 2 ? 1 : plan->lhs.strides[2];
  job.b_row = parts == 2 ? job.n : plan->rhs.strides[1];
  job.b_col = parts == 2 ? 1 : plan->rhs.strides[2];
  job.c_row = job.n;
  job.c_col = 1;
  for (int64_t i = 0; i < plan->batch; i++) {
    job.a = (const char *)a + i * plan->lhs.strides[0] * parts * real_bytes;
    job.b = (const char *)b + i * (parts == 2 ? job.k * job.n : plan->rhs.strides[0]) * real_bytes;
    job.c = (char *)products + i * job.m * job.n * real_bytes;
    matmul_run(&job, space);
  }
  dot_finish_product(types, products, out);
  return NULL;
}

static hr_status_t prepare_dot(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  dot_plan_t *plan;
  matmul_types_t types;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(matmul_types_init(step->instr, step->in_shapes[0]->dtype, step->in_shapes[1]->dtype,
                           step->out_shape->dtype, &types));
  HR_TRY(dot_plan_init(step, &types, step->in_shapes[0], step->in_shapes[1], plan));
  *out_plan = plan;
  return NULL;
}

static hr_status_t run_dot(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = dot_run_products(env, step->plan, in[0]->data, in[1]->data, out);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_dot = {prepare_dot, run_dot};
