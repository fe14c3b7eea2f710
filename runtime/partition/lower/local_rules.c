/* Construction of rules that are wider than those of propagation: factors that propagation keeps
 * whole may be cut here, as the lowering moves or masks elements. */
#include "partition/lower/lower_ops.h"

/* Tensors are the operands, then the leaves of the result. Dimensions without a factor are whole.
 */
hr_status_t spmd_rule_begin(hr_arena_t *arena, const hlo_instr_t *instr, int factor_limit,
                            spmd_rule_maker_t *out_maker) {
  spmd_rule_maker_t maker = {.arena = arena};
  int results = hlo_shape_leaf_count(instr->shape), count = instr->operand_count + results;
  HR_TRY(HR_NEW(arena, &maker.rule));
  HR_TRY(HR_NEW_ARRAY(arena, factor_limit, &maker.factors));
  HR_TRY(HR_NEW_ARRAY(arena, count, &maker.tensors));
  HR_TRY(HR_NEW_ARRAY(arena, count, &maker.dims));
  for (int t = 0; t < count; t++) {
    const hlo_shape_t *shape = t < instr->operand_count
                                   ? instr->operands[t]->shape
                                   : hlo_shape_leaf(instr->shape, t - instr->operand_count);
    HR_TRY(HR_NEW_ARRAY(arena, shape->rank, &maker.dims[t]));
    maker.tensors[t] = (spmd_tensor_factors_t){shape->rank, maker.dims[t]};
  }
  *maker.rule = (spmd_rule_t){.factors = maker.factors,
                              .operand_count = instr->operand_count,
                              .result_count = results,
                              .tensors = maker.tensors};
  *out_maker = maker;
  return NULL;
}

int spmd_rule_factor(spmd_rule_maker_t *maker, int64_t size, spmd_factor_kind_t kind) {
  maker->factors[maker->rule->factor_count] = (spmd_factor_t){.size = size, .kind = kind};
  return maker->rule->factor_count++;
}

/* Allocates a new list for each factor: dimensions have one or two. */
hr_status_t spmd_rule_place(spmd_rule_maker_t *maker, int tensor, int d, int factor) {
  spmd_dim_factors_t *dim = &maker->dims[tensor][d];
  int *factors;
  HR_TRY(HR_NEW_ARRAY(maker->arena, dim->count + 1, &factors));
  for (int i = 0; i < dim->count; i++) factors[i] = dim->factors[i];
  factors[dim->count] = factor;
  *dim = (spmd_dim_factors_t){dim->count + 1, factors};
  return NULL;
}
