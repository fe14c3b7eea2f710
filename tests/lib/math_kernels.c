/* Kernels of one elementary function each, compiled for tests and measurements. */
#include "math_kernels.h"

#include <math.h>

#include "base/mem.h"

bool math_op_is_binary(hlo_opcode_t op) {
  switch (op) {
    case HLO_ATAN2:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_POWER:
    case HLO_REMAINDER:
      return true;
    default:
      return false;
  }
}

static kir_value_t *element_at(jit_code_t *code, kir_type_t *type, kir_value_t *array,
                               kir_value_t *i) {
  return kir_inbounds_gep(code->builder, type, array, i);
}

static kir_value_t *load(jit_code_t *code, kir_type_t *type, kir_value_t *array, kir_value_t *i) {
  kir_type_t *element = jit_scalar_type(type);
  kir_value_t *value = kir_load(code->builder, type, element_at(code, element, array, i));
  kir_set_align(value, (unsigned)jit_element_bits(type) / 8);
  return value;
}

/* One vector of arguments: load, function, store; truth values are stored as bytes. */
static void write_step(jit_code_t *code, const math_kernel_t *kernel, kir_value_t *function,
                       kir_value_t *i) {
  kir_type_t *element =
      kernel->is_f64 ? kir_double_type(code->module) : kir_float_type(code->module);
  kir_type_t *type = jit_vector_type(element, kernel->lanes);
  kir_value_t *x = load(code, type, kir_param(function, 0), i), *y = NULL;
  if (math_op_is_binary(kernel->op)) y = load(code, type, kir_param(function, 1), i);
  kir_value_t *result = jit_math_emit(code, kernel->op, x, y);
  kir_type_t *kept = element;
  if (kernel->op == HLO_IS_FINITE) {
    kept = kir_int_type(code->module, 8);
    result = kir_zext(code->builder, result, jit_type_like(kept, type));
  }
  kir_value_t *place = element_at(code, kept, kir_param(function, 2), i);
  kir_set_align(kir_store(code->builder, result, place), (unsigned)jit_element_bits(kept) / 8);
}

/* The loop over whole vectors; `count` is a multiple of the lanes. */
static void write_loop(jit_code_t *code, const math_kernel_t *kernel, kir_value_t *function) {
  kir_type_t *i64 = kir_int_type(code->module, 64);
  kir_block_t *entry = kir_append_block(function, "");
  kir_block_t *body = kir_append_block(function, "");
  kir_block_t *end = kir_append_block(function, "");
  kir_value_t *count = kir_param(function, 3), *zero = jit_int(i64, 0);
  kir_position_at_end(code->builder, entry);
  kir_cond_br(code->builder, kir_icmp(code->builder, KIR_ICMP_SGT, count, zero), body, end);
  kir_position_at_end(code->builder, body);
  kir_value_t *i = kir_phi(code->builder, i64);
  write_step(code, kernel, function, i);
  kir_value_t *next = kir_nsw_add(code->builder, i, jit_int(i64, kernel->lanes));
  kir_value_t *from[2] = {zero, next};
  kir_block_t *blocks[2] = {entry, kir_insert_block(code->builder)};
  kir_add_incoming(i, from, blocks, 2);
  kir_cond_br(code->builder, kir_icmp(code->builder, KIR_ICMP_SLT, next, count), body, end);
  kir_position_at_end(code->builder, end);
  kir_ret_void(code->builder);
}

static hr_status_t build_kernel(void *context, int index, jit_code_t *code) {
  const math_kernel_t *kernel = (const math_kernel_t *)context + index;
  kir_type_t *pointer = kir_pointer_type(code->module);
  kir_type_t *in[4] = {pointer, pointer, pointer, kir_int_type(code->module, 64)};
  kir_type_t *signature = kir_function_type(kir_void_type(code->module), in, 4);
  kir_value_t *function = kir_add_function(code->module, "kernel", signature);
  kir_add_attributes(function, KIR_NOUNWIND);
  write_loop(code, kernel, function);
  return NULL;
}

static hr_status_t load_kernel(math_kernel_t *kernel, const hr_buffer_t *bytes) {
  kernel->object_bytes = hr_buffer_size(bytes);
  HR_TRY(jit_object_load(hr_buffer_data(bytes), hr_buffer_size(bytes), &kernel->object));
  return jit_object_find(kernel->object, "kernel", (void **)&kernel->run);
}

hr_status_t math_kernels_compile(math_kernel_t *kernels, int count, const jit_target_t *target,
                                 hr_workers_t *workers, hr_buffer_t **out_objects) {
  jit_compile_options_t options = {.workers = workers, .target = target};
  return jit_compile_modules(&options, count, build_kernel, kernels, out_objects);
}

hr_status_t math_kernels_make(math_kernel_t *kernels, int count, const jit_target_t *target,
                              hr_workers_t *workers) {
  hr_buffer_t **objects;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof *objects, (void **)&objects));
  hr_status_t st = math_kernels_compile(kernels, count, target, workers, objects);
  for (int i = 0; i < count && !st; i++) st = load_kernel(&kernels[i], objects[i]);
  for (int i = 0; i < count; i++) hr_buffer_release(objects[i]);
  hr_free(objects);
  return st;
}

void math_kernels_free(math_kernel_t *kernels, int count) {
  for (int i = 0; i < count; i++) jit_object_unload(kernels[i].object);
}

/* --- references ------------------------------------------------------------------------------- */

static double logistic(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }
static long double long_logistic(long double x) {
  return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}
static double rsqrt(double x) { return 1 / sqrt(x); }
static long double long_rsqrt(long double x) { return 1 / sqrtl(x); }

#define ONE(op, name) \
  { HLO_##op, #name, name, name##l, NULL, NULL }
#define TWO(op, name) \
  { HLO_##op, #name, NULL, NULL, name, name##l }
const math_reference_t math_references[] = {
    ONE(EXPONENTIAL, exp),
    ONE(EXPONENTIAL_MINUS_ONE, expm1),
    ONE(LOG, log),
    ONE(LOG_PLUS_ONE, log1p),
    {HLO_LOGISTIC, "logistic", logistic, long_logistic, NULL, NULL},
    ONE(TANH, tanh),
    ONE(ERF, erf),
    ONE(SINE, sin),
    ONE(COSINE, cos),
    ONE(TAN, tan),
    ONE(SINH, sinh),
    ONE(COSH, cosh),
    ONE(ASINH, asinh),
    ONE(ACOSH, acosh),
    ONE(ATANH, atanh),
    ONE(ASIN, asin),
    ONE(ACOS, acos),
    ONE(ATAN, atan),
    ONE(CBRT, cbrt),
    {HLO_RSQRT, "rsqrt", rsqrt, long_rsqrt, NULL, NULL},
    TWO(POWER, pow),
    TWO(ATAN2, atan2),
};
const int math_reference_count = sizeof math_references / sizeof *math_references;

/* 0 if both are the same special value, else infinite; -1 if neither is special. */
static double special_error(double got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (got == want && (isinf(want) || want == 0))
    return !signbit(got) == !signbit(want) ? 0 : INFINITY;
  return -1;
}

/* Where a result overflows, infinity and the largest number are one unit apart. */
double math_error_of_f32(double want, float got) {
  double special = special_error(got, (float)want), most = 0x1.fffffep127;
  if (special >= 0) return special;
  if (got == (float)want) return 0.5;
  if (isinf(got) || isinf((float)want))
    return fabs(want) >= most && fabs(got) >= most ? 1 : INFINITY;
  int exponent;
  frexp(want, &exponent);
  return fabs(ldexp(got - want, 24 - (exponent < -125 ? -125 : exponent)));
}

double math_error_f32(const math_reference_t *reference, float x, float y, float got) {
  return math_error_of_f32(reference->of_f32 ? reference->of_f32(x) : reference->of_two_f32(x, y),
                           got);
}

double math_error_f64(const math_reference_t *reference, double x, double y, double got) {
  long double want = reference->of_f64 ? reference->of_f64(x) : reference->of_two_f64(x, y);
  double special = special_error(got, (double)want), most = 0x1.fffffffffffffp1023;
  if (special >= 0) return special;
  if (isinf(got) || isinf((double)want))
    return fabsl(want) >= most && fabs(got) >= most ? 1 : INFINITY;
  int exponent;
  frexpl(want, &exponent);
  return (double)fabsl(ldexpl(got - want, 53 - (exponent < -1021 ? -1021 : exponent)));
}
