/* HLO whose floats are of several types. XLA lets the operands and the result of elementwise ops,
 * reductions, products and convolutions differ in precision, and products of floats be integers.
 * The rules here allow one type, as StableHLO's do: the op is therefore computed in the widest
 * type, between conversions.
 *
 *   r = bf16[3] add(bf16 a, f32 b)   ->   a.r = f32 convert(a); r.wide = f32 add(a.r, b);
 *                                         r = bf16 convert(r.wide)
 *
 * Reductions of one array by a function that returns a tuple of one value become plain reductions,
 * whose result is put in a tuple. StableHLO's rng has its sizes as a third operand, which repeats
 * the shape and is dropped. The custom call GetRngSeed becomes a draw of rng. Cost: one pass;
 * instructions are made only where types differ. */
#include "read/mixed_types.h"

#include "ops/rules/builder.h"

static bool is_product(const hlo_instr_t *instr) {
  return instr->op == HLO_DOT || instr->op == HLO_CONVOLUTION;
}

static bool is_reduction(const hlo_instr_t *instr) {
  return instr->op == HLO_REDUCE || instr->op == HLO_REDUCE_WINDOW;
}

/* Conversions are between types by nature. */
static bool mixes_nothing(hlo_opcode_t op) {
  return op == HLO_CONVERT || op == HLO_STOCHASTIC_CONVERT || op == HLO_BITCAST_CONVERT ||
         op == HLO_REDUCE_PRECISION || op == HLO_COMPLEX || op == HLO_REAL || op == HLO_IMAG ||
         op == HLO_ABS;
}

/* --- types --- */

/* Floats that XLA:CPU computes in f32 where their types are mixed; mixtures with f64 are left to
 * the verifier, which refuses them. */
static bool is_float_array(const hlo_shape_t *shape) {
  if (!shape || !hlo_shape_is_array(shape)) return false;
  return shape->dtype == HR_F32 || shape->dtype == HR_F16 || shape->dtype == HR_BF16;
}

/* The type in which two floats are computed together. */
static hr_dtype_t wider(hr_dtype_t a, hr_dtype_t b) { return a == b ? a : HR_F32; }

/* Whether the floats among operands and result have more than one type; *out_wide is the type for
 * all of them. */
static bool find_wide(const hlo_instr_t *instr, hr_dtype_t *out_wide) {
  bool any = false, mixed = false;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_shape_t *shape = instr->operands[k]->shape;
    if (!is_float_array(shape)) continue;
    mixed |= any && shape->dtype != *out_wide;
    *out_wide = any ? wider(*out_wide, shape->dtype) : shape->dtype;
    any = true;
  }
  if (!any || !is_float_array(instr->shape)) return mixed;
  mixed |= instr->shape->dtype != *out_wide;
  *out_wide = wider(*out_wide, instr->shape->dtype);
  return mixed;
}

/* Integers of a byte or less, which XLA multiplies with floats. */
static bool is_narrow_integer(const hlo_shape_t *shape) {
  if (!shape || !hlo_shape_is_array(shape)) return false;
  bool is_integer = hr_dtype_is_integer(shape->dtype) || shape->dtype == HR_PRED;
  return is_integer && hr_dtype_bytes(shape->dtype) == 1;
}

/* Integer types that XLA allows as results of products of floats. */
static bool is_integer_result(const hlo_shape_t *shape) {
  return shape && hlo_shape_is_array(shape) &&
         (hr_dtype_is_integer(shape->dtype) || shape->dtype == HR_PRED);
}

/* The float type that a product with operands or a result of mixed types is computed in.
 * Operands of one type may give another float type, which the rules allow. */
static bool find_wide_product(const hlo_instr_t *instr, hr_dtype_t *out_wide) {
  if (instr->operand_count < 2) return false;
  const hlo_shape_t *a = instr->operands[0]->shape, *b = instr->operands[1]->shape;
  bool float_a = is_float_array(a), float_b = is_float_array(b);
  if (!(float_a || is_narrow_integer(a)) || !(float_b || is_narrow_integer(b))) return false;
  if (!float_a && !float_b) return false;
  bool is_integer = is_integer_result(instr->shape);
  if (a->dtype == b->dtype && !is_integer) return false;
  *out_wide = float_a ? a->dtype : b->dtype;
  if (float_a && float_b) *out_wide = wider(a->dtype, b->dtype);
  if (is_integer) *out_wide = wider(*out_wide, HR_F32);
  return true;
}

/* --- conversions --- */

typedef struct mixer {
  hlo_builder_t builder;
  int made; /* conversions of this instruction, for names */
} mixer_t;

static hr_status_t name_after(hlo_instr_t *instr, hr_str_t of, const char *word, int number) {
  const char *name;
  hr_arena_t *arena = &instr->parent->module->arena;
  HR_TRY(hr_arena_printf(arena, &name, "%.*s.%s%d", HR_STR_ARGS(of), word, number));
  instr->name = hr_str_from(name);
  return NULL;
}

static hr_status_t convert_operand(mixer_t *mixer, hlo_instr_t *instr, int k, hr_dtype_t dtype) {
  hlo_instr_t *from = instr->operands[k];
  if (!from->shape || !hlo_shape_is_array(from->shape) || from->shape->dtype == dtype) return NULL;
  hlo_instr_t *converted = hlo_build_convert(&mixer->builder, from, dtype);
  HR_TRY(hlo_builder_finish(&mixer->builder));
  instr->operands[k] = converted;
  return name_after(converted, instr->name, "as", mixer->made++);
}

/* The instruction itself becomes the last of the new ones, so that its users stay unchanged. */
static hr_status_t split_off(mixer_t *mixer, hlo_instr_t *instr, const hlo_shape_t *shape,
                             hlo_opcode_t last) {
  hlo_computation_t *computation = instr->parent;
  hlo_instr_t *wide, **operands;
  HR_TRY(HR_NEW(&computation->module->arena, &wide));
  HR_TRY(HR_NEW_ARRAY(&computation->module->arena, 1, &operands));
  *wide = *instr;
  wide->shape = shape;
  wide->id = (uint32_t)computation->instrs.count;
  HR_TRY(name_after(wide, instr->name, "wide", mixer->made++));
  HR_TRY(hlo_instr_append(wide));
  operands[0] = wide;
  *instr = (hlo_instr_t){.op = last,
                         .name = instr->name,
                         .shape = instr->shape,
                         .operand_count = 1,
                         .operands = operands,
                         .extra = instr->extra,
                         .parent = computation,
                         .line = instr->line,
                         .column = instr->column};
  return NULL;
}

/* The result is computed in `dtype`, and converted to the declared type. */
static hr_status_t compute_in(mixer_t *mixer, hlo_instr_t *instr, hr_dtype_t dtype) {
  const hlo_shape_t *shape;
  if (instr->shape->dtype == dtype) return NULL;
  HR_TRY(hlo_shape_with_dtype(&instr->parent->module->arena, instr->shape, dtype, &shape));
  return split_off(mixer, instr, shape, HLO_CONVERT);
}

static hr_status_t unify_elementwise(mixer_t *mixer, hlo_instr_t *instr) {
  hr_dtype_t wide = HR_F32;
  if (!find_wide(instr, &wide)) return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    if (is_float_array(instr->operands[k]->shape)) HR_TRY(convert_operand(mixer, instr, k, wide));
  return is_float_array(instr->shape) ? compute_in(mixer, instr, wide) : NULL;
}

static hr_status_t unify_product(mixer_t *mixer, hlo_instr_t *instr) {
  hr_dtype_t wide = HR_F32;
  if (!find_wide_product(instr, &wide)) return NULL;
  HR_TRY(convert_operand(mixer, instr, 0, wide));
  HR_TRY(convert_operand(mixer, instr, 1, wide));
  return is_integer_result(instr->shape) ? compute_in(mixer, instr, wide) : NULL;
}

/* --- reductions --- */

static bool is_single_tuple(const hlo_shape_t *shape) {
  return shape && hlo_shape_is_tuple(shape) && shape->element_count == 1;
}

/* Was the function unwrapped already, for another reduction? Its tuple is then still there,
 * unused. */
static bool was_unwrapped(const hlo_computation_t *function) {
  for (size_t i = 0; i < function->instrs.count; i++) {
    const hlo_instr_t *instr = function->instrs.data[i];
    bool is_tuple = instr->op == HLO_TUPLE && instr->operand_count == 1;
    if (is_tuple && instr->operands[0] == function->root) return true;
  }
  return function->root->op == HLO_GET_TUPLE_ELEMENT &&
         is_single_tuple(function->root->operands[0]->shape);
}

/* Makes a function that returns a tuple of one value return the value itself. */
static hr_status_t unwrap_function(hlo_computation_t *function, bool *out_done) {
  hlo_instr_t *root = function->root;
  *out_done = root && was_unwrapped(function);
  if (*out_done || !root || !is_single_tuple(root->shape)) return NULL;
  hlo_builder_t builder = hlo_builder_at(function, root->line, root->column);
  hlo_instr_t *value =
      root->op == HLO_TUPLE ? root->operands[0] : hlo_build_element(&builder, root, 0);
  HR_TRY(hlo_builder_finish(&builder));
  function->root = value;
  *out_done = true;
  return NULL;
}

static hr_status_t unwrap_reduction(mixer_t *mixer, hlo_instr_t *instr) {
  bool done;
  if (!is_single_tuple(instr->shape)) return NULL;
  if (instr->operand_count != 2 || instr->called_count != 1) return NULL;
  HR_TRY(unwrap_function(instr->called[0], &done));
  return done ? split_off(mixer, instr, instr->shape->elements[0], HLO_TUPLE) : NULL;
}

/* Operands get the function's types, and its result is converted to the declared type. */
static hr_status_t unify_reduction(mixer_t *mixer, hlo_instr_t *instr) {
  if (instr->called_count != 1 || instr->operand_count != 2) return NULL;
  const hlo_computation_t *function = instr->called[0];
  if (function->params.count != 2 || !function->root) return NULL;
  const hlo_shape_t *takes = function->params.data[0]->shape, *gives = function->root->shape;
  if (!is_float_array(takes) || !is_float_array(gives) || !is_float_array(instr->shape))
    return NULL;
  for (int k = 0; k < instr->operand_count && takes->dtype == HR_F32; k++)
    if (is_float_array(instr->operands[k]->shape)) HR_TRY(convert_operand(mixer, instr, k, HR_F32));
  return compute_in(mixer, instr, gives->dtype);
}

/* --- random numbers --- */

/* XLA's GetRngSeed gives another number at each call: a draw of rng. */
static hr_status_t draw_seed(mixer_t *mixer, hlo_instr_t *instr) {
  static const hlo_attr_t distribution = {.key = HLO_ATTR_DISTRIBUTION,
                                          .integer = HLO_DISTRIBUTION_UNIFORM};
  const hlo_attr_t *target = hlo_attr_find(instr, HLO_ATTR_CUSTOM_CALL_TARGET);
  bool is_seed = target && hr_str_is(target->text, "GetRngSeed") && instr->operand_count == 0;
  const hlo_shape_t *shape = instr->shape;
  if (!is_seed || !shape || !hlo_shape_is_array(shape) || shape->dtype != HR_U64) return NULL;
  hlo_instr_t **ends;
  HR_TRY(HR_NEW_ARRAY(&instr->parent->module->arena, 2, &ends));
  ends[0] = hlo_build_number(&mixer->builder, 0, HR_U64);
  ends[1] = hlo_build_number(&mixer->builder, 0x1p63, HR_U64);
  HR_TRY(hlo_builder_finish(&mixer->builder));
  for (int k = 0; k < 2; k++) HR_TRY(name_after(ends[k], instr->name, "end", mixer->made++));
  instr->op = HLO_RNG;
  instr->operands = ends;
  instr->operand_count = 2;
  instr->attrs = &distribution;
  instr->attr_count = 1;
  return NULL;
}

/* --- the module --- */

static hr_status_t unify_instr(mixer_t *mixer, hlo_instr_t *instr) {
  if (instr->op == HLO_RNG && instr->operand_count == 3) instr->operand_count = 2;
  if (instr->op == HLO_CUSTOM_CALL) return draw_seed(mixer, instr);
  if (is_reduction(instr)) HR_TRY(unwrap_reduction(mixer, instr));
  if (is_reduction(instr)) return unify_reduction(mixer, instr);
  if (is_product(instr)) return unify_product(mixer, instr);
  bool computes = hlo_op_is(instr->op, OP_ELEMENTWISE) && !mixes_nothing(instr->op);
  return computes ? unify_elementwise(mixer, instr) : NULL;
}

/* Most computations mix no types and keep their list. */
static bool may_mix(const hlo_computation_t *computation) {
  hr_dtype_t wide;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    bool plain = is_product(instr) ? find_wide_product(instr, &wide) : find_wide(instr, &wide);
    bool is_tuple = is_reduction(instr) && instr->shape && hlo_shape_is_tuple(instr->shape);
    bool is_call = instr->op == HLO_CUSTOM_CALL && instr->operand_count == 0;
    if (plain || is_tuple || is_call || instr->op == HLO_RNG) return true;
  }
  return false;
}

/* New instructions go into a new list, each before the instruction that needs it. */
static hr_status_t unify_computation(hlo_computation_t *computation) {
  size_t count = computation->instrs.count;
  void *copy;
  if (!may_mix(computation)) return NULL;
  HR_TRY(hr_arena_copy(&computation->module->arena, computation->instrs.data,
                       count * sizeof(hlo_instr_t *), &copy));
  hlo_instr_t **old = copy;
  computation->instrs.count = 0;
  for (size_t i = 0; i < count; i++) {
    mixer_t mixer = {.builder = hlo_builder_at(computation, old[i]->line, old[i]->column)};
    HR_TRY(unify_instr(&mixer, old[i]));
    old[i]->id = (uint32_t)computation->instrs.count;
    HR_VEC_PUSH(&computation->instrs, old[i]);
  }
  return NULL;
}

hr_status_t read_unify_types(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(unify_computation(module->computations.data[c]));
  return NULL;
}
