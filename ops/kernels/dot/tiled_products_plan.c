/* Plans of native_tiled_products.c, from the body of a fusion that the pass tile_products made.
 *
 * The first product without tiles among its operands determines matrices, rows and columns; every
 * other array of the body that is no operand has these rows. A result of the body is written in
 * place, everything else is a tile. Generated code is planned as for tile fusion
 * (op_native_consumer_t): it must need no more than the same rows of its tiles. A body of any other
 * kind is declined; its instructions are steps of their own then.
 *
 * Tiles are as large as the second-level cache allows (TILE_BYTES), by sizes alone; they have more
 * rows where the packed operands, which are read for each tile, are larger. Where products sum over
 * rows only whole matrices are tasks, and MATRICES_MIN of them are asked for. Not handled:
 * complex numbers, integers, and types that are widened before they are multiplied. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/dot/tiled_mask.h"
#include "ops/kernels/dot/tiled_products.h"
#include "ops/kernels/dot/tiled_zeros.h"
#include "ops/query/codegen_support.h"

#define TILE_BYTES (512 << 10) /* bytes of all tiles of a worker */
#define MASKED_TILE_BYTES \
  (128 << 10) /* the same if rows see other columns: large tiles have few that no row sees */
#define STREAM_ROWS 64 /* least rows of a tile if packed operands are larger than TILE_BYTES */
#define TILE_SLACK 192 /* bytes for alignment, and for vectors that are read beyond the end */
#define TILE_ROWS 8    /* rows of a tile are a multiple of this */
#define TASKS 16       /* least number of tiles, if there are enough rows */
#define TASK_ROWS 64
#define MATRICES_MIN 8

typedef struct tiled_planner {
  const op_native_target_t *target;
  const hlo_computation_t *body;
  tiled_plan_t *plan;
  tiled_value_t ***values; /* by instruction id and leaf; views share theirs */
  bool declined;
} tiled_planner_t;

/* --- values --- */

static hr_status_t new_value(tiled_planner_t *p, const hlo_shape_t *shape, tiled_value_t **out) {
  hr_arena_t *arena = p->target->arena;
  int64_t count;
  HR_TRY(HR_NEW(arena, out));
  HR_TRY(hlo_shape_count(shape, &count));
  int64_t rows = p->plan->matrices * p->plan->rows;
  if (rows) (*out)->row_bytes = count / rows * (int64_t)hr_dtype_bytes(shape->dtype);
  return NULL;
}

/* Lists the values of an instruction, or those of the one that it is a view of. */
static hr_status_t list_values(tiled_planner_t *p, const hlo_instr_t *instr) {
  hr_arena_t *arena = p->target->arena;
  int count = hlo_shape_leaf_count(instr->shape);
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &p->values[instr->id]));
  tiled_value_t **values = p->values[instr->id];
  if (instr->op == HLO_TUPLE) return NULL;
  if (instr->op == HLO_RESHAPE || instr->op == HLO_GET_TUPLE_ELEMENT) {
    int64_t leaf = instr->op == HLO_RESHAPE ? 0 : hlo_attr_int(instr, HLO_ATTR_INDEX);
    values[0] = p->values[instr->operands[0]->id][leaf];
    return NULL;
  }
  for (int i = 0; i < count; i++) HR_TRY(new_value(p, hlo_shape_leaf(instr->shape, i), &values[i]));
  if (instr->op == HLO_PARAMETER) {
    values[0]->place = TILED_OPERAND;
    values[0]->leaf = (int)hlo_parameter_number(instr);
  }
  return NULL;
}

/* Marks the results of the step. False: an array is two results, or an operand is one. */
static bool mark_results(tiled_planner_t *p) {
  const hlo_instr_t *root = p->body->root;
  int count = root->op == HLO_TUPLE ? root->operand_count : 1;
  for (int i = 0; i < count; i++) {
    const hlo_instr_t *result = root->op == HLO_TUPLE ? root->operands[i] : root;
    tiled_value_t *value = p->values[result->id][0];
    if (!value || value->place != TILED_SCRATCH || !hlo_shape_is_array(result->shape)) return false;
    value->place = TILED_RESULT;
    value->leaf = i;
  }
  return true;
}

/* --- products --- */

static int64_t size_of(const hlo_shape_t *shape, const dims_group_t *group) {
  int64_t size = 1;
  for (int i = 0; i < group->count; i++) size *= shape->dims[group->dims[i]];
  return size;
}

/* True if the dimensions of the groups, one group after the other, are those of the array in order,
 * and have these sizes. */
static bool is_tile_order(const tiled_plan_t *plan, const hlo_shape_t *shape,
                          const dims_group_t *batch, const dims_group_t *rows,
                          const dims_group_t *columns) {
  const dims_group_t *groups[] = {batch, rows, columns};
  int last = -1;
  for (int g = 0; g < 3; g++)
    for (int i = 0; i < groups[g]->count; i++) {
      int d = groups[g]->dims[i];
      if (shape->dims[d] == 1) continue;
      if (d < last) return false;
      last = d;
    }
  return size_of(shape, batch) == plan->matrices && size_of(shape, rows) == plan->rows &&
         size_of(shape, columns) == plan->columns;
}

/* Finds how a product reads the tile, its operand `side`. False: not by rows. */
static bool find_kind(const tiled_plan_t *plan, const op_step_t *step, const dot_groups_t *g,
                      int side, tiled_kind_t *out_kind) {
  const hlo_shape_t *shape = step->in_shapes[side];
  const dims_group_t *batch = side ? &g->rhs_batch : &g->lhs_batch;
  const dims_group_t *free = side ? &g->rhs_free : &g->lhs_free;
  dims_group_t terms = side ? g->rhs_contracting : g->lhs_contracting;
  for (int i = 1; i < terms.count; i++) /* dot_plan_problem takes them in this order */
    for (int j = i; j > 0 && terms.dims[j - 1] > terms.dims[j]; j--) {
      int dim = terms.dims[j];
      terms.dims[j] = terms.dims[j - 1];
      terms.dims[j - 1] = dim;
    }
  if (is_tile_order(plan, shape, batch, free, &terms))
    *out_kind = side ? TILED_RIGHT : TILED_LEFT;
  else if (is_tile_order(plan, shape, batch, &terms, free))
    *out_kind = side ? TILED_RIGHT_SUM : TILED_LEFT_SUM;
  else
    return false;
  return true;
}

static bool has_plain_types(const matmul_types_t *types) {
  return (types->real == HR_F32 || types->real == HR_F64) && !types->is_complex &&
         matmul_is_widened(types, types->lhs) && matmul_is_widened(types, types->rhs) &&
         matmul_is_widened(types, types->out);
}

static hr_status_t fill_step(tiled_planner_t *p, const hlo_instr_t *instr, tiled_step_t *step) {
  hr_arena_t *arena = p->target->arena;
  step->in_count = instr->operand_count;
  step->out_count = hlo_shape_leaf_count(instr->shape);
  HR_TRY(HR_NEW_ARRAY(arena, step->in_count, &step->in));
  HR_TRY(HR_NEW_ARRAY(arena, step->out_count, &step->out));
  for (int k = 0; k < step->in_count; k++) step->in[k] = p->values[instr->operands[k]->id][0];
  for (int k = 0; k < step->out_count; k++) step->out[k] = p->values[instr->id][k];
  return NULL;
}

static bool is_tile(const tiled_value_t *value) { return value->place != TILED_OPERAND; }

static hr_status_t plan_product(tiled_planner_t *p, const op_step_t *step, tiled_step_t *to) {
  tiled_plan_t *plan = p->plan;
  dot_problem_t *problem;
  dot_groups_t g;
  int tiles = is_tile(to->in[0]) + is_tile(to->in[1]), side = tiles ? !is_tile(to->in[0]) : -1;
  HR_TRY(HR_NEW(p->target->arena, &problem));
  HR_TRY(dot_plan_problem(p->target->arena, step, side, problem));
  HR_TRY(dot_read_groups(step->instr, step->in_shapes[0], step->in_shapes[1], -1, &g));
  p->declined = tiles > 1 || problem->flops == 0 || !has_plain_types(&problem->types) ||
                hlo_attr_has(step->instr, HLO_ATTR_SPARSITY_CONFIG);
  if (p->declined) return NULL;
  to->problem = problem;
  to->job = dot_gemm_job(problem);
  to->kind = TILED_PRODUCT;
  if (tiles)
    p->declined = !find_kind(plan, step, &g, side, &to->kind);
  else
    p->declined =
        problem->batch != plan->matrices || problem->m != plan->rows || problem->n != plan->columns;
  plan->sums |= to->kind == TILED_LEFT_SUM || to->kind == TILED_RIGHT_SUM;
  return NULL;
}

/* Sizes of the tiled arrays: those of the first product. */
static hr_status_t find_sizes(tiled_planner_t *p) {
  for (size_t i = 0; i < p->body->instrs.count && !p->plan->rows; i++) {
    const hlo_instr_t *instr = p->body->instrs.data[i];
    dot_groups_t g;
    if (instr->op != HLO_DOT) continue;
    const hlo_shape_t *lhs = instr->operands[0]->shape, *rhs = instr->operands[1]->shape;
    HR_TRY(dot_read_groups(instr, lhs, rhs, -1, &g));
    p->plan->matrices = size_of(lhs, &g.lhs_batch);
    p->plan->rows = size_of(lhs, &g.lhs_free);
    p->plan->columns = size_of(rhs, &g.rhs_free);
  }
  return NULL;
}

/* --- generated code --- */

static hr_status_t plan_rows(tiled_planner_t *p, const op_step_t *step, tiled_step_t *to,
                             size_t *out_scratch_bytes) {
  const op_native_target_t *target = p->target;
  const tiled_plan_t *plan = p->plan;
  op_native_step_t made = {0};
  p->declined = true;
  if (!op_can_codegen(step->instr)) return NULL;
  HR_TRY(target->generated->prepare(target, step, &made));
  if (!made.plan || !made.parts.consumer) return NULL;
  for (int k = 0; k < to->in_count; k++) {
    op_native_step_t by_rows = {0};
    op_native_grid_t grid = {plan->matrices * plan->rows, plan->columns, 0, true, true};
    if (!is_tile(to->in[k])) continue;
    HR_TRY(made.parts.consumer->prepare(target, step, made.plan, k, &grid, &by_rows));
    if (!by_rows.plan) return NULL;
    made = by_rows;
    p->declined = false;
  }
  to->kind = TILED_ROWS;
  to->rows = made.parts.consumer;
  to->rows_plan = made.plan;
  *out_scratch_bytes = made.scratch_bytes;
  return NULL;
}

/* --- masks --- */

static bool contains(const tiled_value_t *const *values, int count, const tiled_value_t *value) {
  for (int k = 0; k < count; k++)
    if (values[k] == value) return true;
  return false;
}

/* The product whose result, a tile that is not written to memory, is this operand of generated code
 * and of nothing else; NULL: there is none. */
static tiled_step_t *masked_product(tiled_plan_t *plan, const tiled_step_t *rows, int operand) {
  const tiled_value_t *value = rows->in[operand];
  tiled_step_t *product = NULL;
  if (value->place != TILED_SCRATCH) return NULL;
  for (int i = 0; i < plan->step_count; i++) {
    tiled_step_t *step = &plan->steps[i];
    if (step != rows && contains(step->in, step->in_count, value)) return NULL;
    if (step->kind == TILED_PRODUCT && step->out[0] == value) product = step;
  }
  return product;
}

/* Is the operand of generated code known before the product: an operand of the step, or made by a
 * step before? */
static bool is_known_before(const tiled_plan_t *plan, const tiled_step_t *product,
                            const tiled_value_t *value) {
  bool is_known = value->place == TILED_OPERAND;
  for (const tiled_step_t *step = plan->steps; step < product; step++)
    for (int k = 0; k < step->out_count; k++) is_known |= step->out[k] == value;
  return is_known;
}

/* The tile whose zeros hide this operand of generated code, a product. */
static hr_status_t find_zeros(tiled_planner_t *p, const hlo_instr_t *fusion,
                              const tiled_step_t *rows, int operand, tiled_step_t *product) {
  tiled_zeros_t zeros;
  HR_TRY(tiled_zeros_find(p->target->arena, fusion, operand, &zeros));
  bool is_known = zeros.tile >= 0 && is_known_before(p->plan, product, rows->in[zeros.tile]);
  for (int i = 0; i < zeros.factor_count && is_known; i++) {
    product->factors[i] = rows->in[zeros.factors[i]];
    is_known = is_known_before(p->plan, product, product->factors[i]);
  }
  if (is_known) product->zeros = rows->in[zeros.tile];
  return NULL;
}

/* Does generated code contain a select? Zeros are then likely to be those of a mask. */
static bool has_select(const hlo_computation_t *body) {
  for (size_t i = 0; i < body->instrs.count; i++)
    if (body->instrs.data[i]->op == HLO_SELECT) return true;
  return false;
}

/* Gives the mask or the zeros of generated code to the products before and after it. */
static hr_status_t plan_masks(tiled_planner_t *p, const hlo_instr_t *fusion,
                              const tiled_step_t *rows) {
  tiled_plan_t *plan = p->plan;
  for (int k = 0; k < rows->in_count; k++) {
    tiled_step_t *product = masked_product(plan, rows, k);
    if (!product) continue;
    HR_TRY(tiled_mask_find(p->target->arena, plan, fusion, rows, k, &product->mask));
    if (!product->mask) HR_TRY(find_zeros(p, fusion, rows, k, product));
    plan->masks_rows |=
        product->zeros ? has_select(fusion->called[0]) : product->mask && product->mask->row_step;
    for (int i = 0; i < plan->step_count; i++) {
      tiled_step_t *step = &plan->steps[i];
      if ((step->kind != TILED_LEFT && step->kind != TILED_LEFT_SUM) || step->mask || step->zeros ||
          !contains(rows->out, rows->out_count, step->in[0]))
        continue;
      step->mask = product->mask;
      step->zeros = product->zeros;
    }
  }
  return NULL;
}

/* --- memory --- */

/* Bytes of a row of all tiles in scratch memory; at least those of one tile. */
static int64_t tile_row_bytes(const tiled_planner_t *p) {
  int64_t bytes = 0;
  for (int i = 0; i < p->plan->step_count; i++)
    for (int k = 0; k < p->plan->steps[i].out_count; k++)
      if (p->plan->steps[i].out[k]->place == TILED_SCRATCH)
        bytes += p->plan->steps[i].out[k]->row_bytes;
  return hr_max(bytes, p->plan->columns * 4);
}

/* Bytes of the largest packed operand that all tiles of a matrix are multiplied by. */
static int64_t largest_operand_bytes(const tiled_plan_t *plan) {
  int64_t largest = 0;
  for (int i = 0; i < plan->step_count; i++) {
    const tiled_step_t *step = &plan->steps[i];
    if (step->kind == TILED_PRODUCT || step->kind == TILED_LEFT)
      largest = hr_max(largest, (int64_t)gemm_packed_bytes(&step->job));
  }
  return largest;
}

static void choose_rows(tiled_planner_t *p) {
  tiled_plan_t *plan = p->plan;
  int64_t bytes = plan->masks_rows ? MASKED_TILE_BYTES : TILE_BYTES;
  int64_t most = hr_max(bytes / tile_row_bytes(p), TILE_ROWS);
  if (largest_operand_bytes(plan) > TILE_BYTES) most = hr_max(most, STREAM_ROWS);
  int64_t blocks = hr_div_ceil(plan->rows, most);
  while (!plan->sums && plan->matrices * blocks < TASKS && plan->rows >= 2 * blocks * TASK_ROWS)
    blocks *= 2;
  plan->block_rows = hr_round_up(hr_div_ceil(plan->rows, blocks), TILE_ROWS);
}

/* Largest packing space of a product of one tile. */
static size_t space_bytes(const tiled_plan_t *plan, const tiled_step_t *step) {
  gemm_job_t job = step->job;
  int64_t columns = plan->columns, rows = plan->block_rows;
  if (step->kind == TILED_PRODUCT || step->kind == TILED_LEFT) job.m = rows;
  if (step->kind == TILED_RIGHT) job.n = rows;
  if (step->kind == TILED_LEFT_SUM || step->kind == TILED_RIGHT_SUM) job.k = rows;
  if (step->kind == TILED_LEFT || step->kind == TILED_LEFT_SUM) {
    job.a_rows = NULL;
    job.a_row = step->kind == TILED_LEFT ? columns : 1;
    job.a_col = step->kind == TILED_LEFT ? 1 : columns;
  }
  return gemm_space_bytes(&job);
}

/* Reserves memory for operands that all tiles of a matrix multiply by: they are packed for the
 * first of them. */
static void plan_packed(tiled_plan_t *plan) {
  plan->packed_matrix_at = scratch_reserve(&plan->worker_bytes, sizeof(int64_t));
  if (plan->rows <= plan->block_rows) return;
  for (int i = 0; i < plan->step_count; i++) {
    tiled_step_t *step = &plan->steps[i];
    step->packs_once = step->kind == TILED_PRODUCT || step->kind == TILED_LEFT;
    if (step->packs_once)
      step->packed_at = scratch_reserve(&plan->worker_bytes, gemm_packed_bytes(&step->job));
    step->finiteness_at =
        scratch_reserve(&plan->worker_bytes, step->mask || step->zeros ? sizeof(int) : 0);
  }
}

/* Lays out a worker's memory: packed operands, tiles, and for generated code its own memory and
 * the addresses of its arrays. */
static void plan_memory(tiled_planner_t *p, const size_t *scratch_bytes) {
  tiled_plan_t *plan = p->plan;
  size_t space = 0;
  plan_packed(plan);
  for (int i = 0; i < plan->step_count; i++)
    if (plan->steps[i].kind != TILED_ROWS)
      space = hr_max(space, space_bytes(plan, &plan->steps[i]));
  plan->space_at = scratch_reserve(&plan->worker_bytes, space);
  for (int i = 0; i < plan->step_count; i++) {
    tiled_step_t *step = &plan->steps[i];
    for (int k = 0; k < step->out_count; k++) {
      tiled_value_t *value = (tiled_value_t *)step->out[k];
      if (value->place != TILED_SCRATCH) continue;
      size_t bytes = (size_t)(plan->block_rows * value->row_bytes) + TILE_SLACK;
      value->at = scratch_reserve(&plan->worker_bytes, bytes);
    }
    if (step->kind != TILED_ROWS) continue;
    step->scratch_at = scratch_reserve(&plan->worker_bytes, scratch_bytes[i]);
    size_t pointers = (size_t)(step->in_count + step->out_count) * sizeof(void *);
    step->pointers_at = scratch_reserve(&plan->worker_bytes, pointers);
  }
}

/* --- the step --- */

static hr_status_t describe_step(tiled_planner_t *p, const hlo_instr_t *instr, op_step_t *step) {
  HR_TRY(hlo_operand_shapes(p->target->arena, instr, &step->in_shapes));
  step->instr = instr;
  step->out_shape = instr->shape;
  return fill_step(p, instr, &p->plan->steps[p->plan->step_count++]);
}

/* Plans products first: if one is declined, no code needs to be generated. */
static hr_status_t plan_steps(tiled_planner_t *p) {
  tiled_plan_t *plan = p->plan;
  op_step_t *steps;
  size_t *scratch_bytes;
  HR_TRY(HR_NEW_ARRAY(p->target->arena, p->body->instrs.count, &plan->steps));
  HR_TRY(HR_NEW_ARRAY(p->target->arena, p->body->instrs.count, &steps));
  HR_TRY(HR_NEW_ARRAY(p->target->arena, p->body->instrs.count, &scratch_bytes));
  for (size_t i = 0; i < p->body->instrs.count; i++) {
    const hlo_instr_t *instr = p->body->instrs.data[i];
    if (instr->op == HLO_DOT || instr->op == HLO_FUSION)
      HR_TRY(describe_step(p, instr, &steps[plan->step_count]));
  }
  for (int i = 0; i < plan->step_count && !p->declined; i++)
    if (steps[i].instr->op == HLO_DOT) HR_TRY(plan_product(p, &steps[i], &plan->steps[i]));
  p->declined |= plan->sums && plan->matrices < MATRICES_MIN;
  for (int i = 0; i < plan->step_count && !p->declined; i++)
    if (steps[i].instr->op == HLO_FUSION)
      HR_TRY(plan_rows(p, &steps[i], &plan->steps[i], &scratch_bytes[i]));
  if (p->declined) return NULL;
  for (int i = 0; i < plan->step_count; i++)
    if (plan->steps[i].kind == TILED_ROWS) HR_TRY(plan_masks(p, steps[i].instr, &plan->steps[i]));
  choose_rows(p);
  plan_memory(p, scratch_bytes);
  return NULL;
}

static bool has_known_ops(const hlo_computation_t *body) {
  for (size_t i = 0; i < body->instrs.count; i++) {
    hlo_opcode_t op = body->instrs.data[i]->op;
    bool plain = op == HLO_PARAMETER || op == HLO_DOT || op == HLO_FUSION || op == HLO_RESHAPE ||
                 op == HLO_GET_TUPLE_ELEMENT || op == HLO_TUPLE;
    if (!plain || hlo_shape_is_dynamic(body->instrs.data[i]->shape)) return false;
    if (op == HLO_PARAMETER && !hlo_shape_is_array(body->instrs.data[i]->shape)) return false;
  }
  return true;
}

static double array_bytes(const hlo_shape_t *shape) {
  return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
}

static void add_cost(const tiled_plan_t *plan, const op_step_t *step, op_native_step_t *out) {
  for (int i = 0; i < plan->step_count; i++)
    if (plan->steps[i].problem) out->flops += plan->steps[i].problem->flops;
  for (int k = 0; k < step->instr->operand_count; k++)
    out->bytes += array_bytes(step->in_shapes[k]);
  for (int k = 0; k < hlo_shape_leaf_count(step->out_shape); k++)
    out->bytes += array_bytes(hlo_shape_leaf(step->out_shape, k));
}

hr_status_t tiled_products_prepare(const op_native_target_t *target, const op_step_t *step,
                                   op_native_step_t *out) {
  const hlo_computation_t *body = step->instr->called[0];
  tiled_planner_t planner = {.target = target, .body = body};
  bool is_custom = hlo_attr_enum(step->instr, HLO_ATTR_KIND) == HLO_FUSION_KIND_CUSTOM;
  if (!is_custom || !target->generated || !has_known_ops(body)) return NULL;
  HR_TRY(HR_NEW(target->arena, &planner.plan));
  HR_TRY(HR_NEW_ARRAY(target->arena, body->instrs.count, &planner.values));
  planner.plan->workers = target->workers;
  HR_TRY(find_sizes(&planner));
  if (!planner.plan->rows) return NULL;
  for (size_t i = 0; i < body->instrs.count; i++)
    HR_TRY(list_values(&planner, body->instrs.data[i]));
  if (!mark_results(&planner)) return NULL;
  HR_TRY(plan_steps(&planner));
  if (planner.declined) return NULL;
  add_cost(planner.plan, step, out);
  out->scratch_bytes = planner.plan->worker_bytes * (size_t)target->workers;
  out->plan = planner.plan;
  return NULL;
}
