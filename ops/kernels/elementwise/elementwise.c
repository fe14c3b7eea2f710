/* Elementwise kernels: look-up of the loop for an instruction, and its execution.
 *
 * Loops exist for compute types only. Other types are converted to one (ew_passage_t): floats of 16
 * bits and fewer are widened to f32 and rounded back in blocks that stay in the L1 cache; integers
 * of fewer than 8 bits are computed in 8 and wrapped. Results reuse the buffer of an operand where
 * the interpreter owns the last reference. */
#include "ops/kernels/elementwise/elementwise.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/elementwise/elementwise_loops.h"
#include "ops/kernels/elementwise/scalar.h"

enum { EW_BLOCK = 512 }; /* most elements converted at a time */

/* The conversion of an operand or result to and from the loop's type. */
typedef enum ew_passage {
  EW_AS_IS,
  EW_BY_F32, /* narrow floats: widened, and rounded on return */
  EW_WRAP    /* integers of fewer than 8 bits: wrapped on return */
} ew_passage_t;

/* A loop with everything that does not change between calls. */
struct ew_kernel {
  ew_loop_fn loop;
  ew_params_t params;
  int operand_count;
  bool plain; /* all passages are EW_AS_IS */
  ew_passage_t operands[EW_MAX_OPERANDS], result;
};

/* The conversion of a type to its compute type. */
static ew_passage_t type_passage(hr_dtype_t type) {
  const hr_dtype_info_t *info = &hr_dtype_table[type];
  if (info->class_ == HR_CLASS_FLOAT && info->compute != type) return EW_BY_F32;
  return hr_dtype_is_integer(type) && info->bits < 8 ? EW_WRAP : EW_AS_IS;
}

/* --- preparing -------------------------------------------------------------------------------- */

/* Families are tried in this order; none has an op for another's types. */
static ew_loop_fn find_loop(hlo_opcode_t op, hr_dtype_t type) {
  static const struct {
    ew_loop_fn (*find)(hlo_opcode_t, hr_dtype_t);
  } families[] = {{ew_integer_loop}, {ew_float_loop}, {ew_math_loop}, {ew_complex_loop}};
  ew_loop_fn loop = NULL;
  for (size_t i = 0; i < sizeof families / sizeof *families && !loop; i++)
    loop = families[i].find(op, type);
  return loop;
}

/* The result type that the operand types determine; otherwise the declared one. */
static hr_dtype_t result_type(hlo_opcode_t op, const ew_params_t *params) {
  switch (op) {
    case HLO_CONVERT:
    case HLO_STOCHASTIC_CONVERT:
      return params->result;
    case HLO_COMPARE:
    case HLO_IS_FINITE:
      return HR_PRED;
    case HLO_ABS:
    case HLO_REAL:
    case HLO_IMAG:
      return hr_dtype_real(params->operands[0]);
    case HLO_COMPLEX:
      return params->operands[0] == HR_F64 ? HR_C128 : HR_C64;
    case HLO_SELECT:
      return params->operands[1];
    default:
      return params->operands[0];
  }
}

/* True if result and operand types are those of the op. */
static bool types_fit(hlo_opcode_t op, const ew_params_t *params, int operand_count) {
  if (params->result != result_type(op, params)) return false;
  if (op == HLO_SELECT)
    return params->operands[0] == HR_PRED && params->operands[1] == params->operands[2];
  if (op == HLO_STOCHASTIC_CONVERT) return true;
  for (int k = 1; k < operand_count; k++)
    if (params->operands[k] != params->operands[0]) return false;
  return true;
}

/* A type of the same size whose copies preserve bits. */
static hr_dtype_t copy_type(hr_dtype_t type) {
  switch (hr_dtype_bytes(type)) {
    case 1:
      return HR_U8;
    case 2:
      return HR_U16;
    case 4:
      return HR_U32;
    case 8:
      return HR_U64;
    default:
      return HR_C128;
  }
}

/* Equal types are copied bit by bit; others convert between their compute types. */
static ew_loop_fn convert_loop(const ew_params_t *params) {
  hr_dtype_t from = params->operands[0], to = params->result;
  if (from == to) return ew_convert_loop(copy_type(from), copy_type(to), false);
  return ew_convert_loop(hr_dtype_table[from].compute, hr_dtype_table[to].compute,
                         type_passage(to) == EW_BY_F32);
}

static bool is_total_order(hlo_opcode_t op, const hlo_instr_t *instr) {
  return op == HLO_COMPARE && instr &&
         hlo_attr_enum(instr, HLO_ATTR_TYPE) == HLO_COMPARISON_TOTALORDER;
}

/* True for ops that move or compare bits of any type. */
static bool is_bitwise_op(hlo_opcode_t op, const hlo_instr_t *instr, const ew_params_t *params) {
  return op == HLO_SELECT || (op == HLO_CONVERT && params->operands[0] == params->result) ||
         is_total_order(op, instr);
}

/* A kernel is plain if its loop runs on the arrays without conversions. */
static void set_passages(ew_kernel_t *kernel, hlo_opcode_t op, const hlo_instr_t *instr) {
  bool on_bits = is_bitwise_op(op, instr, &kernel->params);
  kernel->plain = true;
  for (int k = 0; k < kernel->operand_count; k++) {
    kernel->operands[k] = on_bits ? EW_AS_IS : type_passage(kernel->params.operands[k]);
    if (kernel->operands[k] == EW_BY_F32) kernel->plain = false;
  }
  kernel->result = on_bits ? EW_AS_IS : type_passage(kernel->params.result);
  if (kernel->result != EW_AS_IS) kernel->plain = false;
}

/* Chooses the loop. `instr` is NULL for a bare op without attributes; reduce-precision and compare
 * need them. */
static void set_loop(ew_kernel_t *kernel, hlo_opcode_t op, const hlo_instr_t *instr) {
  const ew_params_t *params = &kernel->params;
  hr_dtype_t type = hr_dtype_table[params->operands[0]].compute;
  if (op == HLO_CONVERT) {
    kernel->loop = convert_loop(params);
  } else if (op == HLO_STOCHASTIC_CONVERT) {
    kernel->loop = ew_stochastic_loop(params);
  } else if (op == HLO_SELECT) {
    kernel->loop = ew_select_loop(hr_dtype_bytes(params->result));
  } else if (op == HLO_REDUCE_PRECISION && instr) {
    kernel->loop = ew_reduce_precision_loop(params->operands[0]);
  } else if (op == HLO_CLAMP) {
    kernel->loop = ew_clamp_loop(type);
  } else if (op == HLO_COMPARE && instr) {
    int direction = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
    int order = hlo_attr_enum(instr, HLO_ATTR_TYPE);
    kernel->loop = ew_compare_loop((hlo_enum_DIRECTION_t)direction, (hlo_enum_COMPARISON_t)order,
                                   params->operands[0]);
  } else {
    kernel->loop = find_loop(op, type);
  }
}

static hr_status_t unsupported(hlo_opcode_t op, const ew_params_t *params) {
  return hr_error(HR_UNSUPPORTED, "%s of %s giving %s is not an operation", hlo_op_name(op),
                  hr_dtype_name(params->operands[0]), hr_dtype_name(params->result));
}

/* Errors: UNSUPPORTED for types that the op does not have. */
static hr_status_t build_kernel(hr_arena_t *arena, ew_kernel_t *kernel, hlo_opcode_t op,
                                const hlo_instr_t *instr, const ew_kernel_t **out_kernel) {
  ew_params_t *params = &kernel->params;
  bool arrays = hr_dtype_is_array(params->result);
  for (int k = 0; k < kernel->operand_count; k++)
    arrays = arrays && hr_dtype_is_array(params->operands[k]);
  if (!arrays || !types_fit(op, params, kernel->operand_count)) return unsupported(op, params);
  bool converts = op == HLO_CONVERT || op == HLO_STOCHASTIC_CONVERT;
  params->bits = hr_dtype_table[converts ? params->result : params->operands[0]].bits;
  const hr_float_format_t *format = hr_float_format(params->operands[0]);
  params->has_minus_zero = format && format->specials != HR_SPECIALS_FNUZ;
  set_loop(kernel, op, instr);
  if (!kernel->loop) return unsupported(op, params);
  set_passages(kernel, op, instr);
  void *memory;
  HR_TRY(hr_arena_copy(arena, kernel, sizeof *kernel, &memory));
  *out_kernel = memory;
  return NULL;
}

/* Reads the attributes of reduce-precision. Exponent bits that are at least the operand's have no
 * effect, even if f32 with its wider exponent is the compute type of a narrower one. */
static hr_status_t read_reduced_precision(const hlo_instr_t *instr, ew_params_t *params) {
  int64_t exponent = hlo_attr_int(instr, HLO_ATTR_EXPONENT_BITS);
  int64_t mantissa = hlo_attr_int(instr, HLO_ATTR_MANTISSA_BITS);
  const hr_float_format_t *format = hr_float_format(params->operands[0]);
  if (!format) return unsupported(instr->op, params);
  if (exponent < 1)
    return hlo_error(instr, "reduce_precision C2", "exponent_bits is %lld, want 1 or more",
                     (long long)exponent);
  if (mantissa < 0)
    return hlo_error(instr, "reduce_precision C3", "mantissa_bits is %lld, want 0 or more",
                     (long long)mantissa);
  params->exponent_bits = exponent >= format->exponent_bits ? 64 : (int)exponent;
  params->mantissa_bits = mantissa > 64 ? 64 : (int)mantissa;
  params->least_normal = ldexpf(1, 1 - format->bias);
  return NULL;
}

/* Errors: UNSUPPORTED for other ops or types; INVALID for attributes out of range. */
hr_status_t ew_kernel_prepare(hr_arena_t *arena, const hlo_instr_t *instr,
                              const ew_kernel_t **out_kernel) {
  ew_kernel_t kernel = {.operand_count = instr->operand_count,
                        .params.result = instr->shape->dtype};
  if (!hlo_op_is(instr->op, OP_ELEMENTWISE) || instr->operand_count < 1 ||
      instr->operand_count > EW_MAX_OPERANDS)
    return hr_error(HR_UNSUPPORTED, "%s of %d operands is not elementwise", hlo_op_name(instr->op),
                    instr->operand_count);
  for (int k = 0; k < instr->operand_count; k++)
    kernel.params.operands[k] = instr->operands[k]->shape->dtype;
  if (instr->op == HLO_REDUCE_PRECISION) HR_TRY(read_reduced_precision(instr, &kernel.params));
  return build_kernel(arena, &kernel, instr->op, instr, out_kernel);
}

/* A bare op on two operands of one type, such as a reducer. */
hr_status_t ew_kernel_binary(hr_arena_t *arena, hlo_opcode_t op, hr_dtype_t dtype,
                             const ew_kernel_t **out_kernel) {
  ew_kernel_t kernel = {.operand_count = 2,
                        .params = {.operands = {dtype, dtype}, .result = dtype}};
  if (!hlo_op_is(op, OP_ELEMENTWISE) || hlo_op_table[op].operands != 2)
    return unsupported(op, &kernel.params);
  return build_kernel(arena, &kernel, op, NULL, out_kernel);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Wraps integers of fewer than 8 bits, computed in 8, into their range. */
static void wrap_narrow_integers(hr_dtype_t type, int64_t count, void *elements) {
  int bits = hr_dtype_table[type].bits;
  int8_t *s = elements;
  uint8_t *u = elements;
  if (hr_dtype_class(type) == HR_CLASS_SIGNED)
    for (int64_t i = 0; i < count; i++) s[i] = s8_low(s[i], bits);
  else
    for (int64_t i = 0; i < count; i++) u[i] = u8_low(u[i], bits);
}

/* Widens `count` elements that are `step` elements apart. */
static void widen_to_f32(hr_dtype_t type, const void *from, int64_t step, int64_t count,
                         float *to) {
  if (step == 1) {
    hr_floats_to_f32(type, from, to, count);
    return;
  }
  int64_t bytes = (int64_t)hr_dtype_bytes(type);
  for (int64_t i = 0; i < count; i++)
    hr_floats_to_f32(type, (const char *)from + i * step * bytes, to + i, 1);
}

/* Runs elements base .. base + n - 1. Operands of narrow types are widened into wide[k]; scalars
 * once. */
static void run_block(const ew_kernel_t *kernel, int64_t base, int64_t n, const void *const *in,
                      const int64_t *in_steps, void *out, float wide[][EW_BLOCK]) {
  const void *at[EW_MAX_OPERANDS];
  int64_t strides[EW_MAX_OPERANDS];
  for (int k = 0; k < kernel->operand_count; k++) {
    hr_dtype_t type = kernel->params.operands[k];
    at[k] = (const char *)in[k] + base * in_steps[k] * (int64_t)hr_dtype_bytes(type);
    strides[k] = in_steps[k];
    if (kernel->operands[k] != EW_BY_F32) continue;
    if (strides[k] != 0)
      widen_to_f32(type, at[k], strides[k], n, wide[k]);
    else if (base == 0)
      widen_to_f32(type, at[k], 1, 1, wide[k]);
    if (strides[k] != 0) strides[k] = 1;
    at[k] = wide[k];
  }
  void *to = (char *)out + base * (int64_t)hr_dtype_bytes(kernel->params.result);
  void *result = kernel->result == EW_BY_F32 ? wide[EW_MAX_OPERANDS] : to;
  kernel->loop(&kernel->params, n, at, strides, result);
  if (kernel->result == EW_BY_F32) hr_floats_from_f32(kernel->params.result, result, to, n);
  if (kernel->result == EW_WRAP) wrap_narrow_integers(kernel->params.result, n, to);
}

/* All operands have stride 0: one element is computed and repeated. */
static bool all_scalars(const ew_kernel_t *kernel, const int64_t *in_steps) {
  for (int k = 0; k < kernel->operand_count; k++)
    if (in_steps[k] != 0) return false;
  return true;
}

/* Non-plain kernels convert EW_BLOCK elements at a time, on the C stack. */
void ew_kernel_run(const ew_kernel_t *kernel, int64_t count, const void *const *in,
                   const int64_t *in_steps, void *out) {
  if (count > 1 && all_scalars(kernel, in_steps)) {
    int bytes = (int)hr_dtype_bytes(kernel->params.result);
    ew_kernel_run(kernel, 1, in, in_steps, out);
    loop_fill((char *)out + bytes, out, bytes, count - 1);
    return;
  }
  if (kernel->plain) {
    kernel->loop(&kernel->params, count, in, in_steps, out);
    return;
  }
  float wide[EW_MAX_OPERANDS + 1][EW_BLOCK];
  for (int64_t base = 0; base < count; base += EW_BLOCK)
    run_block(kernel, base, hr_min(count - base, EW_BLOCK), in, in_steps, out, wide);
}

/* --- the op ----------------------------------------------------------------------------------- */

static hr_status_t elementwise_prepare(hr_arena_t *arena, const op_step_t *step,
                                       const void **out_plan) {
  const ew_kernel_t *kernel;
  HR_TRY(ew_kernel_prepare(arena, step->instr, &kernel));
  *out_plan = kernel;
  return NULL;
}

static bool same_dims(const hlo_value_t *value, const hlo_shape_t *shape) {
  return value->rank == shape->rank &&
         (shape->rank == 0 ||
          memcmp(value->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims) == 0);
}

/* The buffer of an operand at its last use, if it has the same size and no other reference, else a
 * new one. If the operand's type differs, the result is a view of its buffer. */
static hr_status_t result_value(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  const hlo_shape_t *shape = step->out_shape;
  for (int k = 0; k < step->instr->operand_count; k++) {
    if (hr_dtype_bytes(in[k]->dtype) != hr_dtype_bytes(shape->dtype) || !same_dims(in[k], shape))
      continue;
    if (!op_is_last_use(step, k) || !hlo_value_is_exclusive(in[k])) continue;
    if (in[k]->dtype != shape->dtype)
      return hlo_value_view(in[k], shape->dtype, shape->rank, shape->dims, out_value);
    *out_value = hlo_value_retain(in[k]);
    return NULL;
  }
  return op_output(env, step, out_value);
}

/* Scalars among the operands are read with stride 0. A conversion to the same type shares the
 * value. */
static hr_status_t elementwise_run(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  const hlo_instr_t *instr = step->instr;
  const void *data[EW_MAX_OPERANDS];
  int64_t strides[EW_MAX_OPERANDS], count;
  HR_TRY(hlo_shape_count(step->out_shape, &count));
  for (int k = 0; k < instr->operand_count; k++) {
    data[k] = in[k]->data;
    strides[k] = in[k]->count == count ? 1 : 0;
    if (in[k]->count != count && in[k]->count != 1)
      return hlo_error(instr, NULL, "operand %d has %lld elements, want %lld as the result", k,
                       (long long)in[k]->count, (long long)count);
  }
  if (instr->op == HLO_CONVERT && in[0]->dtype == step->out_shape->dtype &&
      same_dims(in[0], step->out_shape)) {
    *out_value = hlo_value_retain(in[0]);
    return NULL;
  }
  hlo_value_t *out;
  HR_TRY(result_value(env, step, in, &out));
  ew_kernel_run(step->plan, count, data, strides, out->data);
  *out_value = out;
  return NULL;
}

const op_kernel_t kernel_elementwise = {elementwise_prepare, elementwise_run};
