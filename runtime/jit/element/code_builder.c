/* Helpers over the kernel IR's builder: types like those of another value, splats, intrinsics,
 * internal functions, and evaluation of a function by register-sized vectors.
 *
 * jit_by_vectors splits values of many lanes into halves until they fit a register, applies the
 * function, and joins the results, so that long functions are written for legal vectors only. */
#include "jit/element/code_builder.h"

#define LANES_MAX 1024
#define OPERANDS_MAX 3

hr_status_t jit_code_init(jit_code_t *code, const jit_target_t *target,
                          const kir_target_t *lowering, const char *name) {
  *code = (jit_code_t){.target = target};
  HR_TRY(kir_module_create(lowering, name, &code->module));
  code->builder = kir_builder_create(code->module);
  return NULL;
}

void jit_code_deinit(jit_code_t *code) {
  kir_module_destroy(code->module);
  *code = (jit_code_t){0};
}

int jit_lanes(const kir_type_t *type) { return kir_is_vector(type) ? (int)type->lanes : 1; }

kir_type_t *jit_scalar_type(kir_type_t *type) { return kir_is_vector(type) ? type->element : type; }

/* The result is a vector even for one lane, so that all values of a computation have one form. */
kir_type_t *jit_type_like(kir_type_t *element, const kir_type_t *like) {
  return kir_type_like(like, element);
}

kir_type_t *jit_vector_type(kir_type_t *element, int lanes) {
  return lanes > 1 ? kir_vector_type(element, (unsigned)lanes) : element;
}

int jit_element_bits(const kir_type_t *type) { return (int)type->bits; }

kir_type_t *jit_integer_like(const kir_type_t *type) {
  return kir_type_like(type, kir_int_type(type->module, type->bits));
}

/* A vector constant with the same scalar in every lane. */
kir_value_t *jit_splat_constant(kir_type_t *type, kir_value_t *scalar) {
  if (!kir_is_vector(type)) return scalar;
  kir_value_t *lanes[LANES_MAX];
  unsigned count = type->lanes;
  hr_assert(count <= LANES_MAX);
  for (unsigned i = 0; i < count; i++) lanes[i] = scalar;
  return kir_const_vector(lanes, count);
}

kir_value_t *jit_real(kir_type_t *type, double value) {
  return jit_splat_constant(type, kir_const_real(jit_scalar_type(type), value));
}

kir_value_t *jit_int(kir_type_t *type, int64_t value) {
  return jit_splat_constant(type, kir_const_int(jit_scalar_type(type), (unsigned long long)value));
}

/* Emits insert and shuffle, which back ends recognise as a broadcast. */
kir_value_t *jit_splat(jit_code_t *code, kir_type_t *type, kir_value_t *scalar) {
  if (!kir_is_vector(type)) return scalar;
  if (kir_is_constant(scalar)) return jit_splat_constant(type, scalar);
  kir_type_t *i32 = kir_int_type(code->module, 32);
  kir_value_t *none = kir_poison(type);
  kir_value_t *first = kir_insert(code->builder, none, scalar, kir_const_int(i32, 0));
  kir_value_t *zeros = kir_null(kir_vector_type(i32, type->lanes));
  return kir_shuffle(code->builder, first, none, zeros);
}

kir_value_t *jit_intrinsic(jit_code_t *code, kir_op_t op, kir_type_t *type,
                           kir_value_t *const *arguments, int count) {
  return kir_intrinsic(code->builder, op, type, arguments, count);
}

/* *out_inner has a builder of its own, positioned at the function's entry. */
kir_value_t *jit_inner_function(jit_code_t *code, const char *name, kir_type_t *signature,
                                jit_code_t *out_inner) {
  kir_value_t *function = kir_add_function(code->module, name, signature);
  kir_add_attributes(function, KIR_INTERNAL | KIR_NOUNWIND | KIR_NOINLINE);
  *out_inner = *code;
  out_inner->builder = kir_builder_create(code->module);
  kir_position_at_end(out_inner->builder, kir_append_block(function, ""));
  return function;
}

/* --- vectors of register size ----------------------------------------------------------------- */

static unsigned power_of_two_ceil(unsigned count) {
  unsigned power = 1;
  while (power < count) power *= 2;
  return power;
}

/* Takes `lanes` lanes of x from `first` on; lanes beyond the end repeat the last one. */
static kir_value_t *take_lanes(jit_code_t *code, kir_value_t *x, unsigned first, unsigned lanes) {
  kir_type_t *i32 = kir_int_type(code->module, 32), *type = kir_type_of(x);
  unsigned all = type->lanes;
  kir_value_t *order[LANES_MAX];
  for (unsigned i = 0; i < lanes; i++)
    order[i] = jit_int(i32, first + i < all ? first + i : all - 1);
  return kir_shuffle(code->builder, x, kir_poison(type), kir_const_vector(order, lanes));
}

/* The lanes of `low`, then those of `high`. */
static kir_value_t *concatenate(jit_code_t *code, kir_value_t *low, kir_value_t *high) {
  kir_type_t *i32 = kir_int_type(code->module, 32);
  unsigned lanes = 2 * kir_type_of(low)->lanes;
  kir_value_t *order[LANES_MAX];
  for (unsigned i = 0; i < lanes; i++) order[i] = jit_int(i32, i);
  return kir_shuffle(code->builder, low, high, kir_const_vector(order, lanes));
}

/* Splits a power of two of lanes into halves until they fit `vectors` registers. */
static kir_value_t *emit_by_halves(jit_code_t *code, jit_lanes_fn emit, const void *context,
                                   kir_value_t **args, int count, int vectors) {
  kir_type_t *type = kir_type_of(args[0]);
  unsigned lanes = type->lanes;
  int most_bits = 8 * code->target->vector_bytes * vectors;
  if ((int)lanes * jit_element_bits(type) <= most_bits) return emit(code, context, args);
  kir_value_t *halves[2], *in[OPERANDS_MAX];
  for (unsigned h = 0; h < 2; h++) {
    for (int k = 0; k < count; k++) in[k] = take_lanes(code, args[k], h * lanes / 2, lanes / 2);
    halves[h] = emit_by_halves(code, emit, context, in, count, vectors);
  }
  return concatenate(code, halves[0], halves[1]);
}

/* Pads other counts to a power of two with unspecified lanes, which are removed again. */
kir_value_t *jit_by_vectors(jit_code_t *code, jit_lanes_fn emit, const void *context,
                            kir_value_t **args, int count, int vectors) {
  kir_type_t *type = kir_type_of(args[0]);
  if (!kir_is_vector(type)) return emit(code, context, args);
  unsigned lanes = type->lanes, power = power_of_two_ceil(lanes);
  kir_value_t *in[OPERANDS_MAX];
  for (int k = 0; k < count; k++)
    in[k] = power == lanes ? args[k] : take_lanes(code, args[k], 0, power);
  kir_value_t *made = emit_by_halves(code, emit, context, in, count, vectors);
  return power == lanes ? made : take_lanes(code, made, 0, lanes);
}
