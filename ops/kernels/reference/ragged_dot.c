/* ragged-dot and scaled-dot.
 *
 * ragged-dot: the ragged dimension r of lhs is divided into runs, one per group, of the lengths in
 * group_sizes; x and y are the dimensions of r's group before and after it:
 *
 *   free          rows of a run times the group's matrix    [b,x,r,y,k] x [g,b,k,n] -> [b,x,r,y,n]
 *   contracting   each run is summed into its own result    [b,m,x,r,y] x [b,x,r,y,n] -> [g,b,m,n]
 *   batch         group sizes have no effect: a plain dot
 *
 * Rows outside all runs give 0; see ragged_masked.h for the attribute `masked`. scaled-dot: see
 * below. Source: chlo.ragged_dot; XLA's
 * scaled-dot. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/reference/dot.h"
#include "ops/kernels/reference/ragged_masked.h"

/* The group of dimensions that contains the ragged dimension of lhs. */
typedef enum ragged_kind { RAGGED_FREE, RAGGED_CONTRACTING, RAGGED_BATCH } ragged_kind_t;

typedef struct ragged_plan {
  dot_plan_t dot; /* dense operands; for RAGGED_FREE the first group of rhs is (group, batch) */
  ragged_kind_t kind;
  int64_t groups, outer, ragged, inner; /* sizes of g, x, r, y */
  bool sizes_per_run;                   /* group_sizes is [b, x, g], else [g] */
  bool masked; /* rows are multiplied as zeros by the other groups' matrices */
} ragged_plan_t;

/* Splits the sizes of a group around dimension d; false if d is not in it. */
static bool split_group(const hlo_shape_t *shape, const dims_group_t *group, int64_t d,
                        ragged_plan_t *plan) {
  bool found = false;
  plan->outer = 1;
  plan->inner = 1;
  for (int i = 0; i < group->count; i++) {
    int64_t size = shape->dims[group->dims[i]];
    if (group->dims[i] == d) {
      found = true;
      plan->ragged = size;
    } else if (found)
      plan->inner *= size;
    else
      plan->outer *= size;
  }
  return found;
}

/* Finds which of the left side's three groups contains the ragged dimension; splits its sizes. */
static hr_status_t ragged_kind(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                               const dot_groups_t *g, ragged_plan_t *plan) {
  hr_ints_t ragged = hlo_attr_ints(instr, HLO_ATTR_LHS_RAGGED_DIMS);
  if (ragged.count != 1)
    return hlo_error(instr, NULL, "%ld ragged dimensions, want 1", (long)ragged.count);
  if (split_group(lhs, &g->lhs_free, ragged.data[0], plan))
    plan->kind = RAGGED_FREE;
  else if (split_group(lhs, &g->lhs_contracting, ragged.data[0], plan))
    plan->kind = RAGGED_CONTRACTING;
  else if (split_group(lhs, &g->lhs_batch, ragged.data[0], plan))
    plan->kind = RAGGED_BATCH;
  else
    return hlo_error(instr, NULL, "ragged dimension %ld is out of range", (long)ragged.data[0]);
  return NULL;
}

/* One list for all, or one per batch and outer index. Their sum is not checked: the rest of the
 * ragged dimension is 0, and excess is clipped. */
static hr_status_t check_group_sizes(const op_step_t *step, ragged_plan_t *plan) {
  const hlo_shape_t *sizes = step->in_shapes[2];
  int64_t count;
  if (!hr_dtype_is_integer(sizes->dtype) || sizes->rank < 1)
    return hlo_error(step->instr, NULL, "group sizes must be a list of integers");
  HR_TRY(hlo_shape_count(sizes, &count));
  plan->groups = sizes->dims[sizes->rank - 1];
  plan->sizes_per_run = sizes->rank > 1;
  if (plan->sizes_per_run && plan->kind != RAGGED_BATCH &&
      count != plan->dot.batch * plan->outer * plan->groups)
    return hlo_error(step->instr, NULL,
                     "%ld group sizes, want one per batch, outer index and group", (long)count);
  return NULL;
}

static hr_status_t plan_masks(const hlo_instr_t *instr, const hlo_shape_t *lhs,
                              ragged_plan_t *plan) {
  const matmul_types_t *types = &plan->dot.types;
  plan->masked = hlo_attr_bool(instr, HLO_ATTR_MASKED);
  if (!plan->masked || (lhs->rank == 2 && plan->kind == RAGGED_FREE && types->parts == 1 &&
                        (types->real == HR_F32 || types->real == HR_F64)))
    return NULL;
  return hlo_unsupported(instr, "masked, but for rows of real numbers");
}

/* The group dimension of the right operand becomes its outermost batch dimension.
 *
 *   free:  rhs [g,b,k,n] is read as g * b matrices of k x n; a run of group i in batch entry j
 *          uses matrix i * b + j */
static hr_status_t plan_ragged(const op_step_t *step, ragged_plan_t *plan) {
  const hlo_instr_t *instr = step->instr;
  const hlo_shape_t *lhs = step->in_shapes[0], *rhs = step->in_shapes[1];
  hr_ints_t group_dims = hlo_attr_ints(instr, HLO_ATTR_RHS_GROUP_DIMS);
  int taken = group_dims.count ? (int)group_dims.data[0] : -1;
  if (group_dims.count > 1 ||
      (group_dims.count && (group_dims.data[0] < 0 || group_dims.data[0] >= rhs->rank)))
    return hlo_error(instr, NULL, "group dimensions of the right operand are out of range");
  dot_plan_t *dot = &plan->dot;
  dot_groups_t g;
  HR_TRY(matmul_types_init(instr, lhs->dtype, rhs->dtype, step->out_shape->dtype, &dot->types));
  HR_TRY(dot_read_groups(instr, lhs, rhs, taken, &g));
  HR_TRY(ragged_kind(instr, lhs, &g, plan));
  if ((plan->kind == RAGGED_FREE) != (taken >= 0))
    return hlo_error(
        instr, NULL,
        "a group dimension goes with a ragged dimension that is free, and only with it");
  dims_group_t lhs_groups[] = {g.lhs_batch, g.lhs_free, g.lhs_contracting};
  dims_group_t rhs_groups[] = {g.rhs_batch, g.rhs_contracting, g.rhs_free};
  HR_TRY(dot_plan_side(lhs, lhs_groups, 3, dot->types.element_bytes, true, &dot->lhs));
  dot->batch = dot->lhs.sizes[0];
  dot->m = dot->lhs.sizes[1];
  dot->k = dot->lhs.sizes[2];
  HR_TRY(check_group_sizes(step, plan));
  if (taken >= 0) {
    if (rhs->dims[taken] != plan->groups)
      return hlo_error(instr, NULL, "rhs has not one matrix for each group size");
    memmove(&rhs_groups[0].dims[1], rhs_groups[0].dims,
            sizeof(int) * (size_t)rhs_groups[0].count++);
    rhs_groups[0].dims[0] = taken;
  }
  HR_TRY(dot_plan_side(rhs, rhs_groups, 3, dot->types.element_bytes, true, &dot->rhs));
  dot->n = dot->rhs.sizes[2];
  HR_TRY(plan_masks(instr, lhs, plan));
  return dot_check_result(step,
                          plan->kind == RAGGED_CONTRACTING ? plan->groups * dot->batch : dot->batch,
                          dot->m, dot->n);
}

/* A ragged batch dimension is planned as a plain dot, which reads the operands in place. */
static hr_status_t prepare_ragged_dot(hr_arena_t *arena, const op_step_t *step,
                                      const void **out_plan) {
  ragged_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(plan_ragged(step, plan));
  if (plan->kind == RAGGED_BATCH)
    HR_TRY(
        dot_plan_init(step, &plan->dot.types, step->in_shapes[0], step->in_shapes[1], &plan->dot));
  *out_plan = plan;
  return NULL;
}

/* One run: a group's part of the ragged dimension, at one batch and one outer index. */
typedef struct ragged_run {
  int64_t batch, outer, group, start, end; /* rows [start, end) of the ragged dimension */
} ragged_run_t;

/* Adds the products of one run to the result, which starts as zeros. `first` is the run's start
 * among the rows (free) or terms (contracting) of its batch. Complex numbers are expanded to
 * real matrices of twice the terms and columns (matmul_expand_complex), hence `parts`. */
static void multiply_run(const ragged_plan_t *plan, const ragged_run_t *run, const char *a,
                         const char *b, char *c, matmul_space_t *space) {
  const dot_plan_t *dot = &plan->dot;
  int64_t parts = dot->types.parts, bytes = (int64_t)hr_dtype_bytes(dot->types.real);
  int64_t m = dot->m, n = dot->n * parts, k = dot->k * parts;
  int64_t first = (run->outer * plan->ragged + run->start) * plan->inner,
          count = (run->end - run->start) * plan->inner;
  matmul_job_t job = {.real = dot->types.real,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a_row = k,
                      .a_col = 1,
                      .b_row = n,
                      .b_col = 1,
                      .c_row = n,
                      .c_col = 1,
                      .accumulate = true};
  if (plan->kind == RAGGED_FREE) {
    job.m = count;
    job.a = a + (run->batch * m + first) * k * bytes;
    job.b = b + (run->group * dot->batch + run->batch) * k * n * bytes;
    job.c = c + (run->batch * m + first) * n * bytes;
  } else {
    job.k = count * parts;
    job.a = a + (run->batch * m * k + first * parts) * bytes;
    job.b = b + (run->batch * k + first * parts) * n * bytes;
    job.c = c + (run->group * dot->batch + run->batch) * m * n * bytes;
  }
  matmul_run(&job, space);
}

static int64_t clip(int64_t value, int64_t high) { return hr_min(hr_max(value, 0), high); }

/* Groups follow each other along the ragged dimension; sizes that reach beyond it are clipped, and
 * rows after the last group stay zero. */
static void multiply_runs(const ragged_plan_t *plan, const hlo_value_t *sizes, const void *a,
                          const void *b, void *c, matmul_space_t *space) {
  ragged_run_t run;
  for (run.batch = 0; run.batch < plan->dot.batch; run.batch++)
    for (run.outer = 0; run.outer < plan->outer; run.outer++) {
      int64_t list = plan->sizes_per_run ? (run.batch * plan->outer + run.outer) * plan->groups : 0;
      uint64_t end = 0; /* may wrap on invalid sizes, which clipping makes harmless */
      for (run.group = 0; run.group < plan->groups; run.group++) {
        run.start = clip((int64_t)end, plan->ragged);
        end += (uint64_t)hlo_value_int_at(sizes, list + run.group);
        run.end = clip((int64_t)end, plan->ragged);
        if (run.start < run.end) multiply_run(plan, &run, a, b, c, space);
      }
    }
}

/* Multiplies the groups' matrices by the zeros of other groups' rows. */
static void multiply_zeros(const ragged_plan_t *plan, const hlo_value_t *sizes, const char *b,
                           void *c) {
  const dot_plan_t *dot = &plan->dot;
  ragged_masked_t masked = {.real = dot->types.real,
                            .rows = plan->ragged,
                            .terms = dot->k,
                            .columns = dot->n,
                            .term_step = dot->n,
                            .column_step = 1,
                            .result = c};
  uint64_t end = 0;
  for (int64_t g = 0; g < plan->groups; g++) {
    int64_t start = clip((int64_t)end, plan->ragged);
    end += (uint64_t)hlo_value_int_at(sizes, g);
    ragged_masked_multiply_zeros(&masked, b + g * dot->k * dot->n * dot->types.element_bytes, start,
                                 clip((int64_t)end, plan->ragged));
  }
}

/* Operands are made dense and widened once; O(m k n) multiply-adds, for each row's own group
 * only. */
static hr_status_t run_ragged(op_env_t *env, const ragged_plan_t *plan, hlo_value_t *const *in,
                              hlo_value_t *out) {
  const dot_plan_t *dot = &plan->dot;
  const matmul_types_t *types = &dot->types;
  const void *a, *b;
  void *products;
  matmul_space_t *space;
  if (plan->kind == RAGGED_BATCH) return dot_run_products(env, dot, in[0]->data, in[1]->data, out);
  if (out->count == 0) return NULL;
  HR_TRY(dot_prepare_operand(env->scratch, types, &dot->lhs, types->lhs, in[0]->data, &a));
  HR_TRY(dot_prepare_operand(env->scratch, types, &dot->rhs, types->rhs, in[1]->data, &b));
  if (types->parts == 2)
    HR_TRY(matmul_expand_complex(env->scratch, types, b, dot->rhs.sizes[0] * dot->k, dot->n, &b));
  HR_TRY(dot_product_memory(env->scratch, types, out, &products));
  memset(products, 0, (size_t)out->count * (size_t)types->element_bytes);
  HR_TRY(matmul_space_new(env->scratch, types->real, dot->m, dot->n * types->parts,
                          dot->k * types->parts, &space));
  multiply_runs(plan, in[2], a, b, products, space);
  if (plan->masked) multiply_zeros(plan, in[2], b, products);
  dot_finish_product(types, products, out);
  return NULL;
}

/* Releases the result if the products fail. */
static hr_status_t run_ragged_dot(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  hlo_value_t *out;
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = run_ragged(env, step->plan, in, out);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_ragged_dot = {prepare_ragged_dot, run_ragged_dot};

/* scaled-dot (lhs, rhs, lhs_scale, rhs_scale): each scale multiplies a block of elements; a scale's
 * size divides the operand's in every dimension. As in XLA, elements, scales and their products are
 * rounded to bf16. */
typedef struct scaled_plan {
  dot_plan_t dot;
  loop_nest_t nests[2]; /* operand 0: elements, 1: scales; one pair per side */
  int64_t counts[2], scale_counts[2];
} scaled_plan_t;

/* Each operand dimension becomes two, (block, within the block), along which the scale has its
 * stride, or 0.
 *
 *   dimension d   size 8, scale 2:   (block 0..1, within 0..3)   scale strides (s, 0)
 *
 * A scalar scale, or one of size 1, has stride 0 throughout. */
static hr_status_t plan_scale(const hlo_instr_t *instr, const hlo_shape_t *shape,
                              const hlo_shape_t *scale, loop_nest_t *out_nest) {
  int64_t dims[2 * HLO_MAX_RANK], to[2 * HLO_MAX_RANK], from[2 * HLO_MAX_RANK];
  int64_t strides[HLO_MAX_RANK], scale_strides[HLO_MAX_RANK];
  if (scale->rank != 0 && scale->rank != shape->rank)
    return hlo_error(instr, NULL, "a scale of rank %d for an operand of rank %d", scale->rank,
                     shape->rank);
  if (shape->rank > HLO_MAX_RANK / 2)
    return hlo_unsupported(instr, "more than %d dimensions", HLO_MAX_RANK / 2);
  loop_dense_strides(shape->rank, shape->dims, sizeof(float), strides);
  loop_dense_strides(scale->rank, scale->dims, sizeof(float), scale_strides);
  for (int d = 0; d < shape->rank; d++) {
    int64_t blocks = scale->rank ? scale->dims[d] : 1, size = shape->dims[d];
    if (size && (blocks == 0 || size % blocks))
      return hlo_error(instr, NULL, "%ld scales for %ld elements of dimension %d", (long)blocks,
                       (long)size, d);
    int64_t within = size ? size / blocks : 0;
    dims[2 * d] = size ? blocks : 0;
    dims[2 * d + 1] = within;
    to[2 * d] = strides[d] * within;
    to[2 * d + 1] = strides[d];
    from[2 * d] = scale->rank ? scale_strides[d] : 0;
    from[2 * d + 1] = 0;
  }
  const int64_t *all[] = {to, from};
  loop_nest_init(out_nest, 2 * shape->rank, dims, 2, all, LOOP_ANY_ORDER);
  return NULL;
}

/* Operands and scales are floats of at most 32 bits; scaled operands are multiplied as f32. */
static hr_status_t prepare_scaled_dot(hr_arena_t *arena, const op_step_t *step,
                                      const void **out_plan) {
  scaled_plan_t *plan;
  matmul_types_t types;
  HR_TRY(HR_NEW(arena, &plan));
  for (int k = 0; k < 4; k++)
    if (!hr_dtype_is_float(step->in_shapes[k]->dtype) ||
        hr_dtype_bytes(step->in_shapes[k]->dtype) > 4)
      return hlo_unsupported(step->instr, "operand %d of type %s", k,
                             hr_dtype_name(step->in_shapes[k]->dtype));
  HR_TRY(matmul_types_init(step->instr, HR_F32, HR_F32, step->out_shape->dtype, &types));
  if (types.real != HR_F32 || types.is_complex)
    return hlo_unsupported(step->instr, "this result type");
  HR_TRY(dot_plan_init(step, &types, step->in_shapes[0], step->in_shapes[1], &plan->dot));
  for (int s = 0; s < 2; s++) {
    HR_TRY(plan_scale(step->instr, step->in_shapes[s], step->in_shapes[2 + s], &plan->nests[s]));
    HR_TRY(hlo_shape_count(step->in_shapes[s], &plan->counts[s]));
    HR_TRY(hlo_shape_count(step->in_shapes[2 + s], &plan->scale_counts[s]));
  }
  *out_plan = plan;
  return NULL;
}

/* Rounding to nearest even, like all conversions to bf16. */
static float to_bf16(float value) { return hr_bf16_to_f32(hr_f32_to_bf16(value)); }

/* Elements of any float type as f32. */
static hr_status_t widen_to_floats(hr_arena_t *scratch, const hlo_value_t *value, int64_t count,
                                   float **out_floats) {
  HR_TRY(hr_arena_array(scratch, (size_t)count, sizeof(float), (void **)out_floats));
  hr_floats_to_f32(value->dtype, value->data, *out_floats, count);
  return NULL;
}

/* Each element times the scale of its block, rounded to bf16 as in XLA. */
static hr_status_t scale_operand(op_env_t *env, const scaled_plan_t *plan, int side,
                                 hlo_value_t *const *in, const void **out_data) {
  float *elements, *scales;
  const loop_nest_t *nest = &plan->nests[side];
  HR_TRY(widen_to_floats(env->scratch, in[side], plan->counts[side], &elements));
  HR_TRY(widen_to_floats(env->scratch, in[2 + side], plan->scale_counts[side], &scales));
  char *starts[] = {(char *)elements, (char *)scales};
  for (loop_row_t row = loop_first(nest, starts); row.live; loop_next(nest, &row))
    for (int64_t i = 0; i < nest->row_count; i++) {
      float *element = (float *)(row.at[0] + i * nest->row_strides[0]);
      float scale = *(const float *)(row.at[1] + i * nest->row_strides[1]);
      *element = to_bf16(to_bf16(*element) * to_bf16(scale));
    }
  *out_data = elements;
  return NULL;
}

static hr_status_t run_scaled_dot(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t **out_value) {
  const scaled_plan_t *plan = step->plan;
  const void *a, *b;
  hlo_value_t *out;
  HR_TRY(scale_operand(env, plan, 0, in, &a));
  HR_TRY(scale_operand(env, plan, 1, in, &b));
  HR_TRY(op_output(env, step, &out));
  hr_status_t st = dot_run_products(env, &plan->dot, a, b, out);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}

const op_kernel_t kernel_scaled_dot = {prepare_scaled_dot, run_scaled_dot};
