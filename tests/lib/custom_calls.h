/* Custom calls on values, for unit tests of their kernels. */
#ifndef HLO_TESTS_CUSTOM_CALLS_H
#define HLO_TESTS_CUSTOM_CALLS_H

#include "ops/kernels/custom/custom_call.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* [batch..., rows, columns], each matrix column by column in memory. */
static const hlo_shape_t *columns_first(kernel_env_t *k, hr_dtype_t dtype, int rank,
                                        const int64_t *dims) {
  const hlo_shape_t *shape = kernel_shape(k, dtype, rank, dims);
  int64_t order[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  if (rank >= 2) order[0] = rank - 2, order[1] = rank - 1;
  hlo_layout_t *layout;
  CHECK_OK(HR_NEW(&k->module->arena, &layout));
  CHECK_OK(hr_arena_ints(&k->module->arena, order, rank, &layout->minor_to_major));
  CHECK_OK(hlo_shape_with_layout(&k->module->arena, shape, layout, &shape));
  return shape;
}

static inline hlo_instr_t *build_call(kernel_env_t *k, const char *target, const char *config,
                                      const hlo_shape_t *result, int count,
                                      hlo_value_t *const *values) {
  const hlo_shape_t **layouts;
  hlo_shapes_t *constraints;
  hlo_extra_t *extra;
  hr_arena_t *arena = &k->module->arena;
  CHECK_OK(HR_NEW_ARRAY(arena, count, &layouts));
  CHECK_OK(HR_NEW(arena, &constraints));
  CHECK_OK(HR_NEW(arena, &extra));
  for (int i = 0; i < count; i++)
    layouts[i] = columns_first(k, values[i]->dtype, values[i]->rank, values[i]->dims);
  *constraints = (hlo_shapes_t){count, layouts};
  extra->backend_config = hr_str_from(config);
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_CUSTOM_CALL_TARGET, .text = hr_str_from(target)},
                        {.key = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .shapes = constraints}};
  hlo_instr_t *instr = kernel_build(k, HLO_CUSTOM_CALL, result, count, values, 2, attrs, 0, NULL);
  instr->extra = extra;
  return instr;
}

static inline hlo_value_t *call(kernel_env_t *k, const char *target, const char *config,
                                const hlo_shape_t *result, int count, hlo_value_t *const *values) {
  hlo_value_t *out = NULL;
  CHECK_OK(kernel_try(k, build_call(k, target, config, result, count, values), values, 0, &out));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  return out;
}

static inline void call_fails(kernel_env_t *k, hr_code_t code, const char *target,
                              const char *config, const hlo_shape_t *result, int count,
                              hlo_value_t *const *values) {
  hlo_value_t *out = NULL;
  CHECK_FAILS(code,
              kernel_try(k, build_call(k, target, config, result, count, values), values, 0, &out));
}

static const hlo_shape_t *tuple_of(kernel_env_t *k, int count, const hlo_shape_t *const *elements) {
  return kernel_tuple_shape(k, count, elements);
}

#define TUPLE(k, ...)                                                                 \
  tuple_of((k), (int)(sizeof((const hlo_shape_t *[]){__VA_ARGS__}) / sizeof(void *)), \
           (const hlo_shape_t *[]){__VA_ARGS__})

static inline hlo_value_t *int_scalar(int32_t value) {
  return kernel_value(HR_S32, KERNEL_SCALAR, &value);
}

#endif
