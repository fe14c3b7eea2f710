/* Custom calls of the test dialects: checks that fail the run with MISMATCH, and calls that show
 * intermediate values. A check is specified by its target and by backend_config ("tolerance",
 * "max_ulp_difference", ...); without a configuration, it has the limits that the StableHLO project
 * uses in its test data. Source: StableHLO's check and interpreter dialects. */
#include <math.h>
#include <string.h>

#include "ir/compare.h"
#include "ir/print.h"
#include "ops/kernels/custom/custom_call.h"
#include "ops/rules/constraint.h"

/* --- differences --- */

/* Limits within which values count as equal. */
typedef struct limits {
  enum { CHECK_EQUAL, CHECK_NEAR, CHECK_ULP } kind;
  double tolerance; /* CHECK_NEAR: largest absolute difference; integers are compared exactly */
  uint64_t min_ulp, max_ulp; /* CHECK_ULP: range of distances; min_ulp tests the check itself */
} limits_t;

/* The element that differs most, for the message, and how many differ. */
typedef struct worst {
  int64_t index, bad_count; /* index -1: nothing differs */
  double error;
  uint64_t ulp;
} worst_t;

/* Bits of number i, zero-extended; parts of complex numbers are numbers of their own. */
static uint64_t bits_at(hr_dtype_t part, const void *parts, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)parts + (size_t)i * hr_dtype_bytes(part), hr_dtype_bytes(part));
  return bits;
}

/* Number of representable values from a to b, where 0 and -0 are the same value; UINT64_MAX if
 * one of them is not finite and the other differs. Sign-magnitude encodings: within one sign the
 * distance is the difference of the encodings, across signs both distances from 0 add up. E8M0
 * has no sign. */
static uint64_t ulp_distance(hr_dtype_t part, uint64_t a, uint64_t b) {
  double x = hr_float_decode(part, a), y = hr_float_decode(part, b);
  if (x == y || (isnan(x) && isnan(y))) return 0;
  if (!isfinite(x) || !isfinite(y)) return UINT64_MAX;
  const hr_float_format_t *format = hr_float_format(part);
  if (format->specials == HR_SPECIALS_E8M0) return a > b ? a - b : b - a;
  uint64_t sign = UINT64_C(1) << (format->bits - 1), p = a & ~sign, q = b & ~sign;
  if ((a ^ b) & sign) return p + q;
  return p > q ? p - q : q - p;
}

/* Measures the distance of two numbers by the check's measure; true if it exceeds the limits. */
static bool differ(hr_dtype_t part, const void *got, const void *want, int64_t i,
                   const limits_t *limits, worst_t *one) {
  uint64_t g = bits_at(part, got, i), w = bits_at(part, want, i);
  if (!hr_dtype_is_float(part)) {
    one->error = g != w;
    return g != w;
  }
  double x = hr_float_decode(part, g), y = hr_float_decode(part, w);
  one->ulp = ulp_distance(part, g, w);
  one->error = limits->kind == CHECK_NEAR ? fabs(x - y) : (double)one->ulp;
  switch (limits->kind) {
    case CHECK_EQUAL:
      return x != y;
    case CHECK_NEAR:
      return x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= limits->tolerance);
    case CHECK_ULP:
      return one->ulp > limits->max_ulp || one->ulp < limits->min_ulp;
  }
  return true;
}

/* Elements with a bad part count once, however many of their parts differ. A NaN error is worse
 * than any number. */
static worst_t compare(const hlo_value_t *got, const hlo_value_t *want, const limits_t *limits) {
  hr_dtype_t part = hr_dtype_real(got->dtype);
  int parts = hr_dtype_is_complex(got->dtype) ? 2 : 1;
  worst_t worst = {.index = -1};
  for (int64_t e = 0; e < got->count; e++) {
    bool bad = false;
    for (int p = 0; p < parts; p++) {
      worst_t one = {.index = e};
      if (!differ(part, got->data, want->data, e * parts + p, limits, &one)) continue;
      bad = true;
      bool worse =
          worst.index < 0 || one.error > worst.error || (isnan(one.error) && !isnan(worst.error));
      one.bad_count = worst.bad_count;
      if (worse) worst = one;
    }
    worst.bad_count += bad;
  }
  return worst;
}

/* --- the report --- */

/* The message shows the worst pair, its distance in ulp for floats, and the number of bad
 * elements. */
static hr_status_t mismatch(const hlo_instr_t *instr, const hlo_value_t *got,
                            const hlo_value_t *want, const limits_t *limits, const worst_t *worst) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  bool has_ulp = hr_dtype_is_float(hr_dtype_real(got->dtype));
  hlo_pair_print(&text, got, want, worst->index, has_ulp ? worst->ulp : UINT64_MAX);
  hr_strbuf_printf(&text, "; %ld of %ld elements differ", (long)worst->bad_count, (long)got->count);
  if (limits->kind == CHECK_NEAR) hr_strbuf_printf(&text, " by more than %g", limits->tolerance);
  if (limits->kind == CHECK_ULP)
    hr_strbuf_printf(&text, " by other than %lu to %lu ulp", (unsigned long)limits->min_ulp,
                     (unsigned long)limits->max_ulp);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st)
    st = hlo_error_from(__FILE__, __LINE__, HR_MISMATCH, instr, NULL, "%.*s: %s",
                        HR_STR_ARGS(op_custom_call_target(instr)), text.data);
  hr_strbuf_deinit(&text);
  return st;
}

/* Shapes must be equal before elements are compared; both failures have the code MISMATCH. */
static hr_status_t check(const hlo_instr_t *instr, const hlo_value_t *got, const hlo_value_t *want,
                         const limits_t *limits) {
  hlo_shape_t shapes[2] = {{.dtype = got->dtype, .rank = got->rank, .dims = got->dims},
                           {.dtype = want->dtype, .rank = want->rank, .dims = want->dims}};
  if (!hlo_shape_equal(&shapes[0], &shapes[1]))
    return hlo_error_from(__FILE__, __LINE__, HR_MISMATCH, instr, NULL, "%.*s: got %s, want %s",
                          HR_STR_ARGS(op_custom_call_target(instr)), OP_TEXT(&shapes[0]),
                          OP_TEXT(&shapes[1]));
  worst_t worst = compare(got, want, limits);
  return worst.index < 0 ? NULL : mismatch(instr, got, want, limits, &worst);
}

/* --- check.expect_eq, check.expect_almost_eq, check.expect_close: got, want --- */

/* An integer or float entry of the configuration; anything else counts as absent. */
static double config_number(const dict_value_t *config, const char *name, double fallback) {
  const dict_value_t *entry = mlir_dict_find(config, name);
  if (entry && entry->kind == DICT_INT) return (double)entry->integer;
  return entry && entry->kind == DICT_FLOAT ? entry->number : fallback;
}

/* Defaults are those of StableHLO's own test data: 1e-3 for near, 3 ulp for close. */
static hr_status_t prepare_limits(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const dict_value_t *config;
  limits_t *limits;
  hr_str_t target = op_custom_call_target(step->instr);
  HR_TRY(custom_config(arena, step->instr, &config));
  HR_TRY(HR_NEW(arena, &limits));
  limits->kind = hr_str_is(target, "check.expect_close")       ? CHECK_ULP
                 : hr_str_is(target, "check.expect_almost_eq") ? CHECK_NEAR
                                                               : CHECK_EQUAL;
  limits->tolerance = config_number(config, "tolerance", 1e-3);
  limits->max_ulp = (uint64_t)mlir_dict_int(config, "max_ulp_difference", 3);
  limits->min_ulp = (uint64_t)mlir_dict_int(config, "min_ulp_difference", 0);
  *out_plan = limits;
  return NULL;
}

/* got and want: two arrays of one type; their sizes are compared at run time. */
static hr_status_t prepare_check(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_instr_t *instr = step->instr;
  OP_WANT(instr, instr->operand_count == 2, NULL,
          "%d operands, want what is to be checked and what it should be", instr->operand_count);
  for (int k = 0; k < 2; k++)
    OP_WANT(instr, hlo_shape_is_array(step->in_shapes[k]), NULL, "operand %d is %s, want an array",
            k, OP_TEXT(step->in_shapes[k]));
  OP_WANT(instr, step->in_shapes[0]->dtype == step->in_shapes[1]->dtype, NULL,
          "operands %s and %s, want equal types", OP_TEXT(step->in_shapes[0]),
          OP_TEXT(step->in_shapes[1]));
  return prepare_limits(arena, step, out_plan);
}

/* The result is an empty tuple or a token. */
static hr_status_t run_check(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env;
  HR_TRY(check(step->instr, in[0], in[1], step->plan));
  return hlo_value_zeros(step->out_shape, out_value);
}

const op_kernel_t custom_check = {prepare_check, run_check};

/* --- check.eq: got, want -> are they equal? Numbers may differ by 1e-4. --- */

/* A mismatch is no failure of the run: the result is then false. Other failures are returned. */
static hr_status_t run_check_eq(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  static const limits_t limits = {.kind = CHECK_NEAR, .tolerance = 1e-4};
  (void)env;
  hr_status_t st = check(step->instr, in[0], in[1], &limits);
  if (st && hr_status_code(st) != HR_MISMATCH) return st;
  hr_status_t failure = hlo_value_zeros(step->out_shape, out_value);
  if (!failure && !st && step->out_shape->dtype == HR_PRED)
    memset((*out_value)->data, 1, hlo_value_bytes(*out_value));
  hr_status_release(st);
  return failure;
}

const op_kernel_t custom_check_eq = {prepare_check, run_check_eq};

/* --- interpreter.print: x -> nothing --- */

static hr_status_t prepare_print(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  (void)arena, (void)out_plan;
  OP_WANT(step->instr, step->instr->operand_count == 1 && hlo_shape_is_array(step->in_shapes[0]),
          NULL, "want one array to print");
  return NULL;
}

/* Prints shape and elements to the standard output, at once. */
static hr_status_t run_print(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env;
  hr_strbuf_t text;
  hlo_shape_t shape = {.dtype = in[0]->dtype, .rank = in[0]->rank, .dims = in[0]->dims};
  hr_strbuf_init(&text);
  hlo_shape_print(&text, &shape, false);
  hr_strbuf_add_char(&text, ' ');
  hlo_print_literal(&text, in[0]);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) printf("%s\n", text.data);
  fflush(stdout);
  hr_strbuf_deinit(&text);
  return st ? st : hlo_value_zeros(step->out_shape, out_value);
}

const op_kernel_t custom_print = {prepare_print, run_print};

/* --- interpreter.probe: x -> x. The engine keeps the value for a check.expect_serialized_eq, and
 * writes it to a file at the user's request. --- */

typedef struct probe_plan {
  hr_str_t id;
  int64_t iteration;
  bool is_kept;
} probe_plan_t;

/* A probe has an id and the number of the iteration to be compared. */
static hr_status_t read_probe(hr_arena_t *arena, const hlo_instr_t *instr, probe_plan_t *plan) {
  const dict_value_t *config;
  HR_TRY(custom_config(arena, instr, &config));
  const dict_value_t *id = mlir_dict_find(config, "probe_id");
  OP_WANT(instr, instr->operand_count == 1 && id && id->kind == DICT_STRING, NULL,
          "want one operand and a probe_id");
  plan->id = id->text;
  plan->iteration = mlir_dict_int(config, "iter", 0);
  return NULL;
}

/* True if some check.expect_serialized_eq names this probe: only then are its values kept. */
static hr_status_t is_asked_for(hr_arena_t *arena, const hlo_module_t *module, hr_str_t id,
                                bool *out_asked) {
  *out_asked = false;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count && !*out_asked; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      probe_plan_t asks;
      if (instr->op != HLO_CUSTOM_CALL ||
          !hr_str_is(op_custom_call_target(instr), "check.expect_serialized_eq"))
        continue;
      HR_TRY(read_probe(arena, instr, &asks));
      *out_asked = hr_str_equal(asks.id, id);
    }
  return NULL;
}

static hr_status_t prepare_probe(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  probe_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(read_probe(arena, step->instr, plan));
  *out_plan = plan;
  return is_asked_for(arena, step->instr->parent->module, plan->id, &plan->is_kept);
}

/* The result is the unchanged value; the environment keeps or saves it. */
static hr_status_t run_probe(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  const probe_plan_t *plan = step->plan;
  if (env->probe_ops) HR_TRY(env->probe_ops->probe(env, plan->id, plan->is_kept, in[0]));
  *out_value = hlo_value_retain(in[0]);
  return NULL;
}

const op_kernel_t custom_probe = {prepare_probe, run_probe};

/* check.expect_serialized_eq: compares x with the value of the probe's iter-th visit. */
static hr_status_t run_check_probe(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                   hlo_value_t **out_value) {
  static const limits_t limits = {.kind = CHECK_EQUAL};
  const probe_plan_t *plan = step->plan;
  hlo_value_t *seen = NULL;
  if (!env->probe_ops) return hlo_unsupported(step->instr, "this engine keeps no values of probes");
  HR_TRY(env->probe_ops->probed(env, plan->id, plan->iteration, &seen));
  if (!seen)
    return hlo_error_from(__FILE__, __LINE__, HR_MISMATCH, step->instr, NULL,
                          "probe %.*s has seen no value number %ld", HR_STR_ARGS(plan->id),
                          (long)plan->iteration);
  hr_status_t st = check(step->instr, in[0], seen, &limits);
  hlo_value_release(seen);
  return st ? st : hlo_value_zeros(step->out_shape, out_value);
}

const op_kernel_t custom_check_probe = {prepare_probe, run_check_probe};
