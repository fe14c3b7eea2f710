/* Calls out of a graph: custom calls, and whole StableHLO modules, as JAX's jax2tf writes them. */
#include "tf/compile/tf_lower.h"

/* --- custom calls --- */

/* A custom call with all inputs as operands; one result, or a tuple of several. */
static hr_status_t build_call(tf_op_t *op, hr_str_t target, hr_str_t config, bool has_effect,
                              int count, const hlo_shape_t *const *shapes, bool is_tuple,
                              expr_t *out) {
  const hlo_shape_t *result = count ? shapes[0] : NULL;
  hlo_extra_t *extra;
  const hlo_extra_t *outer = op->b->extra;
  expr_t *operands;
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &operands));
  for (int k = 0; k < op->input_count; k++) {
    operands[k] = tf_in(op, k);
    if (!operands[k]) return hlo_builder_finish(op->b);
  }
  if (is_tuple) HR_TRY(hlo_shape_tuple(op->arena, count, shapes, &result));
  HR_TRY(HR_NEW(op->arena, &extra));
  if (outer) *extra = *outer;
  extra->backend_config = config;
  hlo_attr_t attrs[] = {hlo_attr_of_str(HLO_ATTR_CUSTOM_CALL_TARGET, target),
                        hlo_attr_of_bool(HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true)};
  op->b->extra = extra;
  *out = hlo_build(op->b, HLO_CUSTOM_CALL, result, op->input_count, operands, has_effect ? 2 : 1,
                   attrs, 0, NULL);
  op->b->extra = outer;
  return hlo_builder_finish(op->b);
}

/* A static shape of a type; rank -1 is unknown. */
static hr_status_t static_shape(tf_op_t *op, hr_dtype_t dtype, int rank, const int64_t *dims,
                                const hlo_shape_t **out) {
  bool known = rank >= 0 && dtype != HR_TUPLE;
  for (int d = 0; d < rank; d++) known &= dims[d] >= 0;
  if (!known) return tf_error(op, "the shape of a result is not known");
  return hlo_shape_array(op->arena, dtype, rank, dims, out);
}

/* XlaCustomCall: attributes target_name, backend_config, dtype and shape of the one result. */
hr_status_t tf_lower_xla_custom_call(tf_op_t *op) {
  hr_str_t target, config;
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK];
  const hlo_shape_t *shape;
  expr_t y;
  HR_TRY(tf_attr_str(op->arena, op->node, "target_name", "", &target));
  HR_TRY(tf_attr_str(op->arena, op->node, "backend_config", "", &config));
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  HR_TRY(tf_attr_shape(op->arena, op->node, "shape", &rank, dims));
  HR_TRY(static_shape(op, dtype, rank, dims, &shape));
  HR_TRY(build_call(op, target, config, false, 1, &shape, false, &y));
  return tf_out(op, 0, y);
}

/* XlaCustomCallV2: attributes call_target_name, backend_config, has_side_effect, and lists of the
 * results' types and shapes. */
hr_status_t tf_lower_xla_custom_call_v2(tf_op_t *op) {
  hr_str_t target, config;
  hr_ints_t types;
  bool has_effect;
  const hlo_shape_t **shapes;
  expr_t y;
  HR_TRY(tf_attr_str(op->arena, op->node, "call_target_name", "", &target));
  HR_TRY(tf_attr_str(op->arena, op->node, "backend_config", "", &config));
  HR_TRY(tf_attr_bool(op->arena, op->node, "has_side_effect", false, &has_effect));
  HR_TRY(tf_attr_types(op->arena, op->node, "result_dtypes", &types));
  HR_TRY(HR_NEW_ARRAY(op->arena, types.count, &shapes));
  for (int k = 0; k < (int)types.count; k++) {
    int rank;
    int64_t dims[HLO_MAX_RANK];
    hr_dtype_t dtype;
    HR_TRY(tf_dtype(types.data[k], &dtype));
    HR_TRY(tf_attr_shape_at(op->arena, op->node, "result_shapes", k, &rank, dims));
    HR_TRY(static_shape(op, dtype, rank, dims, &shapes[k]));
  }
  bool is_tuple = types.count != 1;
  HR_TRY(build_call(op, target, config, has_effect, (int)types.count, shapes, is_tuple, &y));
  if (!is_tuple) return tf_out(op, 0, y);
  for (int k = 0; k < (int)types.count; k++) HR_TRY(tf_out(op, k, hlo_build_element(op->b, y, k)));
  return NULL;
}

/* --- modules --- */

/* The number of the platform "CPU" in the attribute platforms; 0 if there is no list. */
static hr_status_t choose_platform(tf_op_t *op, int *out_index, int *out_count) {
  hr_str_t *names;
  *out_index = 0;
  HR_TRY(tf_attr_strings(op->arena, op->node, "platforms", out_count, &names));
  for (int i = 0; i < *out_count; i++)
    if (hr_str_is(names[i], "CPU") || hr_str_is(names[i], "cpu")) {
      *out_index = i;
      return NULL;
    }
  if (*out_count) return tf_unsupported(op, "a module that is not for CPUs");
  return NULL;
}

/* Fields of a module that stablehlo_import() sets beside its computations. */
typedef struct module_state {
  hr_source_t source;
  hr_str_t name;
  hlo_computation_t *entry;
} module_state_t;

/* Imports the bytes into the module of the compiler; their computations, callees first, are
 * completed ones, and *out_entry is the function that the call stands for. */
static hr_status_t import_module(tf_op_t *op, hr_str_t bytes, int platform, bool is_named,
                                 hlo_computation_t **out_entry) {
  tf_compiler_t *compiler = op->scope->compiler;
  hlo_module_t *module = compiler->module;
  module_state_t before = {module->source, module->name, module->entry};
  size_t first = module->computations.count;
  if (!compiler->import) return tf_unsupported(op, "a StableHLO module within a graph");
  hr_status_t st = compiler->import(module, bytes, is_named ? platform : -1);
  *out_entry = module->entry;
  module->source = before.source;
  module->name = before.name;
  module->entry = before.entry;
  HR_TRY(st);
  for (size_t i = first; i < module->computations.count; i++)
    HR_VEC_PUSH(&compiler->completed, module->computations.data[i]);
  return NULL;
}

/* Whether the arguments are those that the function takes, after `skipped` of its own. */
static hr_status_t check_arguments(tf_op_t *op, const hlo_computation_t *entry,
                                   expr_t const *operands) {
  if ((int)entry->params.count != op->input_count)
    return tf_error(op, "the module takes %zu arguments, %d are given", entry->params.count,
                    op->input_count);
  for (int k = 0; k < op->input_count; k++) {
    const hlo_shape_t *want = entry->params.data[k]->shape;
    char found[HLO_SHAPE_TEXT], text[HLO_SHAPE_TEXT];
    if (!hlo_shape_equal(want, operands[k]->shape))
      return tf_unsupported(op, "argument %d is %s, the module wants %s", k,
                            hlo_shape_text(operands[k]->shape, found), hlo_shape_text(want, text));
  }
  return NULL;
}

/* XlaCallModule: attribute module has the bytes of a StableHLO module with static sizes. */
hr_status_t tf_lower_xla_call_module(tf_op_t *op) {
  hr_str_t bytes;
  int platform, platforms;
  hlo_computation_t *entry;
  expr_t *operands;
  HR_TRY(tf_attr_str(op->arena, op->node, "module", "", &bytes));
  HR_TRY(choose_platform(op, &platform, &platforms));
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &operands));
  for (int k = 0; k < op->input_count; k++) {
    operands[k] = tf_in(op, k);
    if (!operands[k]) return hlo_builder_finish(op->b);
  }
  HR_TRY(import_module(op, bytes, platform, platforms > 1, &entry));
  HR_TRY(check_arguments(op, entry, operands));
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  expr_t y = hlo_build(op->b, HLO_CALL, NULL, op->input_count, operands, 1, &attr, 1, &entry);
  if (!y) return hlo_builder_finish(op->b);
  if (!hlo_shape_is_tuple(y->shape)) return tf_out(op, 0, y);
  HR_TRY(tf_need_outputs(op, y->shape->element_count));
  for (int k = 0; k < y->shape->element_count; k++)
    HR_TRY(tf_out(op, k, hlo_build_element(op->b, y, k)));
  return NULL;
}
