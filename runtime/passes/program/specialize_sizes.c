/* Specialization of a program for the actual sizes of its arguments: shapes with dynamic dimensions
 * become static, in program order, by the shape functions that steps use at run time:
 *
 *   f32[<=8] p, actual size 3   ->   f32[3] p; get-dimension-size(p) -> 3
 *
 * Refused (pass_can_specialise): programs with feeds, messages or random state, which a copy could
 * not share, and sizes that depend on values. Linear in the module. */
#include "passes/program/specialize_sizes.h"

#include "ops/rules/dynamic_shape.h"
#include "ops/rules/verify.h"

typedef struct specialiser {
  hlo_module_t *module;
  hr_arena_t *arena;
  bool *done; /* per computation: its shapes are static */
} specialiser_t;

/* --- candidates --- */

/* State that a specialization could not share with the program: feeds, messages, random numbers. */
static bool is_bound_to_program(const hlo_instr_t *instr) {
  if (hlo_op_is(instr->op, OP_RANDOM)) return true;
  if (instr->op == HLO_CUSTOM_CALL) return instr->called_count > 0;
  return (hlo_op_is(instr->op, OP_EFFECT) || hlo_op_is(instr->op, OP_COMM)) &&
         !hlo_op_is(instr->op, OP_COLLECTIVE);
}

/* Does the instruction communicate dynamic sizes? All processes must have equal sizes, but their
 * arguments may differ. */
static bool says_dynamic_sizes(const hlo_instr_t *instr) {
  if (!hlo_op_is(instr->op, OP_COMM)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (hlo_shape_is_dynamic(instr->operands[k]->shape)) return true;
  return hlo_shape_is_dynamic(instr->shape);
}

bool pass_can_specialise(const hlo_module_t *module) {
  bool dynamic = false;
  for (size_t p = 0; p < module->entry->params.count; p++)
    dynamic |= hlo_shape_is_dynamic(hlo_entry_param_shape(module, (int)p));
  for (size_t c = 0; dynamic && c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++)
      if (is_bound_to_program(computation->instrs.data[i]) ||
          says_dynamic_sizes(computation->instrs.data[i]))
        return false;
  }
  return dynamic;
}

/* --- shapes --- */

/* Sets a static shape; the declared layout is kept. */
static hr_status_t retype(specialiser_t *pass, hlo_instr_t *instr, const hlo_shape_t *shape) {
  if (hlo_shape_is_dynamic(shape))
    return hlo_unsupported(instr, "its sizes do not follow from those of the arguments");
  const hlo_layout_t *layout = hlo_shape_is_array(shape) ? instr->shape->layout : NULL;
  instr->shape = shape;
  return layout ? hlo_shape_with_layout(pass->arena, shape, layout, &instr->shape) : NULL;
}

static bool finds_sizes_as_it_runs(hlo_opcode_t op) {
  switch (op) {
    case HLO_BITCAST:
    case HLO_CUSTOM_CALL:
    case HLO_DYNAMIC_RESHAPE:
    case HLO_DYNAMIC_PAD:
    case HLO_DYNAMIC_GATHER:
    case HLO_DYNAMIC_CONVOLUTION:
    case HLO_REAL_DYNAMIC_SLICE:
    case HLO_DYNAMIC_IOTA:
    case HLO_DYNAMIC_BROADCAST:
      return true;
    default:
      return hlo_op_is(op, OP_START) || hlo_op_is(op, OP_DONE);
  }
}

/* The actual shape, as the step computes it at run time. */
static hr_status_t follow(specialiser_t *pass, hlo_instr_t *instr) {
  const hlo_shape_t *const *in, *shape;
  if (!hlo_shape_is_dynamic(instr->shape)) return NULL;
  if (finds_sizes_as_it_runs(instr->op))
    return hlo_unsupported(instr, "it finds its sizes out as it runs");
  HR_TRY(hlo_operand_shapes(pass->arena, instr, &in));
  op_step_t step = {.instr = instr, .in_shapes = in, .out_shape = instr->shape};
  HR_TRY(op_actual_shape(pass->arena, &step, NULL, &shape));
  return retype(pass, instr, shape);
}

static hr_status_t make_size_constant(specialiser_t *pass, hlo_instr_t *instr) {
  hlo_value_t *value;
  const hlo_shape_t *operand = instr->operands[0]->shape;
  HR_TRY(hlo_value_array(instr->shape->dtype, 0, NULL, &value));
  HR_TRY(hlo_module_adopt_value(pass->module, value));
  *(int32_t *)value->data =
      (int32_t)operand->dims[hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0]];
  instr->op = HLO_CONSTANT;
  instr->literal = value;
  instr->operand_count = 0;
  instr->attr_count = 0;
  return NULL;
}

/* --- computations --- */

/* The shape of a parameter with the sizes of its argument. */
static hr_status_t take_argument(specialiser_t *pass, hlo_instr_t *param, const hlo_shape_t *arg,
                                 bool again) {
  if (again && !hlo_shape_equal(param->shape, arg))
    return hlo_unsupported(param, "it is called with values of several sizes");
  return hlo_shape_is_dynamic(param->shape) ? retype(pass, param, arg) : NULL;
}

static hr_status_t specialise_body(specialiser_t *pass, hlo_computation_t *body);

static hr_status_t enter(specialiser_t *pass, hlo_computation_t *body, hlo_instr_t *const *args) {
  bool again = pass->done[body->id];
  for (size_t p = 0; p < body->params.count; p++)
    HR_TRY(take_argument(pass, body->params.data[p], args[p]->shape, again));
  pass->done[body->id] = true;
  return again ? NULL : specialise_body(pass, body);
}

/* A loop's state must keep its shape and branches must agree; the verifier checks the whole module
 * at the end. */
static hr_status_t enter_called(specialiser_t *pass, hlo_instr_t *instr) {
  const hlo_shape_t *root;
  for (int c = 0; c < instr->called_count; c++)
    HR_TRY(enter(pass, instr->called[c],
                 instr->operands + (instr->op == HLO_CONDITIONAL ? 1 + c : 0)));
  if (!hlo_shape_is_dynamic(instr->shape)) return NULL;
  root = instr->op == HLO_WHILE ? instr->operands[0]->shape : instr->called[0]->root->shape;
  return retype(pass, instr, root);
}

static hr_status_t specialise_instr(specialiser_t *pass, hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_PARAMETER:
      return NULL;
    case HLO_GET_DIMENSION_SIZE:
      return make_size_constant(pass, instr);
    case HLO_CALL:
    case HLO_FUSION:
    case HLO_WHILE:
    case HLO_CONDITIONAL:
      return enter_called(pass, instr);
    default:
      return follow(pass, instr);
  }
}

static hr_status_t specialise_body(specialiser_t *pass, hlo_computation_t *body) {
  for (size_t i = 0; i < body->instrs.count; i++)
    HR_TRY(specialise_instr(pass, body->instrs.data[i]));
  return NULL;
}

/* `shape` with the leaves from *leaf on; advances *leaf. */
static hr_status_t shape_of_leaves(hr_arena_t *arena, const hlo_shape_t *shape,
                                   const hlo_shape_t *const **leaf, const hlo_shape_t **out_shape) {
  const hlo_shape_t **elements;
  if (!hlo_shape_is_tuple(shape)) {
    const hlo_shape_t *actual = *(*leaf)++;
    *out_shape = shape;
    return actual && hlo_shape_is_dynamic(shape)
               ? hlo_shape_array(arena, shape->dtype, actual->rank, actual->dims, out_shape)
               : NULL;
  }
  HR_TRY(HR_NEW_ARRAY(arena, shape->element_count, &elements));
  for (int i = 0; i < shape->element_count; i++)
    HR_TRY(shape_of_leaves(arena, shape->elements[i], leaf, &elements[i]));
  return hlo_shape_tuple(arena, shape->element_count, elements, out_shape);
}

hr_status_t pass_specialise(hlo_module_t *module, const hlo_shape_t *const *leaves) {
  specialiser_t pass = {.module = module, .arena = &module->arena};
  HR_TRY(HR_NEW_ARRAY(pass.arena, module->computations.count, &pass.done));
  for (size_t p = 0; p < module->entry->params.count; p++) {
    hlo_instr_t *param = module->entry->params.data[p];
    const hlo_shape_t *actual;
    HR_TRY(shape_of_leaves(pass.arena, param->shape, &leaves, &actual));
    HR_TRY(take_argument(&pass, param, actual, false));
  }
  module->has_entry_layout = false;
  HR_TRY(specialise_body(&pass, module->entry));
  return hlo_verify(module);
}
