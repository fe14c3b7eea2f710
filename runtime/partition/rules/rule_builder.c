/* Building of sharding rules. Lists grow in the arena by doubling; a rule is a few hundred bytes.
 * Cost: linear in the dimensions of all tensors. */
#include "partition/rules/rule_builder.h"

/* Shapes are looked up once, so that rules ask for sizes by tensor and dimension alone. */
hr_status_t rule_begin(hr_arena_t *arena, const hlo_instr_t *instr, rule_builder_t *builder) {
  *builder = (rule_builder_t){.arena = arena, .instr = instr};
  builder->operand_count = instr->operand_count;
  builder->result_count = hlo_shape_leaf_count(instr->shape);
  int count = rule_tensor_count(builder);
  HR_TRY(HR_NEW_ARRAY(arena, count, &builder->shapes));
  HR_TRY(HR_NEW_ARRAY(arena, count, &builder->dims));
  for (int t = 0; t < count; t++) {
    bool is_operand = t < instr->operand_count;
    builder->shapes[t] = is_operand ? instr->operands[t]->shape
                                    : hlo_shape_leaf(instr->shape, t - instr->operand_count);
    HR_TRY(HR_NEW_ARRAY(arena, builder->shapes[t]->rank, &builder->dims[t]));
  }
  return NULL;
}

/* The old list stays in the arena: the sum of all lengths is at most twice the last. */
static hr_status_t grow_ints(hr_arena_t *arena, int count, int *capacity, int **values) {
  int *longer;
  *capacity = *capacity ? 2 * *capacity : 2;
  HR_TRY(HR_NEW_ARRAY(arena, *capacity, &longer));
  for (int i = 0; i < count; i++) longer[i] = (*values)[i];
  *values = longer;
  return NULL;
}

static hr_status_t grow_factors(rule_builder_t *builder) {
  spmd_factor_t *longer;
  int capacity = builder->factor_capacity ? 2 * builder->factor_capacity : 8;
  HR_TRY(HR_NEW_ARRAY(builder->arena, capacity, &longer));
  for (int i = 0; i < builder->factor_count; i++) longer[i] = builder->factors[i];
  builder->factors = longer;
  builder->factor_capacity = capacity;
  return NULL;
}

/* Returns the factor's number; 0 is the letter i of Shardy's text. */
static int add(rule_builder_t *builder, spmd_factor_t factor) {
  if (builder->status) return -1;
  if (builder->factor_count == builder->factor_capacity) builder->status = grow_factors(builder);
  if (builder->status) return -1;
  builder->factors[builder->factor_count] = factor;
  return builder->factor_count++;
}

int rule_add(rule_builder_t *builder, int64_t size, spmd_factor_kind_t kind) {
  return add(builder, (spmd_factor_t){.size = size, .kind = kind});
}
int rule_add_blocked(rule_builder_t *builder, int64_t size, spmd_factor_kind_t kind) {
  return add(builder, (spmd_factor_t){.size = size, .kind = kind, .blocked = true});
}

/* The order of calls is the order of the factors in the dimension, the major first. */
void rule_place(rule_builder_t *builder, int tensor, int dim, int factor) {
  if (builder->status) return;
  rule_dim_t *list = &builder->dims[tensor][dim];
  if (list->count == list->capacity)
    builder->status = grow_ints(builder->arena, list->count, &list->capacity, &list->factors);
  if (!builder->status) list->factors[list->count++] = factor;
}

/* Scalars among the operands (a select's predicate, the bounds of a clamp) have another rank and
 * get no factor. */
void rule_place_all(rule_builder_t *builder, int d, int factor) {
  int rank = rule_rank(builder, builder->operand_count);
  for (int t = 0; t < rule_tensor_count(builder); t++)
    if (rule_rank(builder, t) == rank && hlo_shape_is_array(builder->shapes[t]))
      rule_place(builder, t, d, factor);
}

/* Elementwise ops: add of f32[8,6] has ([i, j], [i, j])->([i, j]) {i=8, j=6}. */
void rule_pointwise(rule_builder_t *builder) {
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, result); d++)
    rule_place_all(builder, d, rule_add(builder, rule_size(builder, result, d), SPMD_PASS_THROUGH));
}

/* Gives each dimension without a factor one, so that projection of a sharding loses no axes. */
static void fill_gaps(rule_builder_t *builder) {
  for (int t = 0; t < rule_tensor_count(builder); t++)
    for (int d = 0; d < rule_rank(builder, t); d++)
      if (!builder->dims[t][d].count)
        rule_place(builder, t, d, rule_add(builder, 1, SPMD_PASS_THROUGH));
}

/* Copies the growing lists of a tensor to the rule. */
static hr_status_t finish_tensor(rule_builder_t *builder, int t, spmd_tensor_factors_t *out) {
  spmd_dim_factors_t *dims;
  HR_TRY(HR_NEW_ARRAY(builder->arena, rule_rank(builder, t), &dims));
  for (int d = 0; d < rule_rank(builder, t); d++)
    dims[d] = (spmd_dim_factors_t){builder->dims[t][d].count, builder->dims[t][d].factors};
  *out = (spmd_tensor_factors_t){rule_rank(builder, t), dims};
  return NULL;
}

hr_status_t rule_finish(rule_builder_t *builder, const spmd_rule_t **out_rule) {
  spmd_rule_t *rule;
  spmd_tensor_factors_t *tensors;
  fill_gaps(builder);
  HR_TRY(builder->status);
  HR_TRY(HR_NEW(builder->arena, &rule));
  HR_TRY(HR_NEW_ARRAY(builder->arena, rule_tensor_count(builder), &tensors));
  for (int t = 0; t < rule_tensor_count(builder); t++)
    HR_TRY(finish_tensor(builder, t, &tensors[t]));
  *rule = (spmd_rule_t){.factor_count = builder->factor_count,
                        .factors = builder->factors,
                        .operand_count = builder->operand_count,
                        .result_count = builder->result_count,
                        .tensors = tensors,
                        .custom = builder->custom};
  *out_rule = rule;
  return NULL;
}
