/* Scan: calls a computation for each slice along a dimension, passing carried values from call to
 * call. The body's parameters are the slices (without that dimension), then the carries; it returns
 * slices of the outputs, then the new carries. Carries move into the call, so that the body can
 * update them in place; slices are copied. */
#include <string.h>

#include "ops/kernels/common/outputs.h"

typedef struct scan_plan {
  int64_t dimension;
  int inputs, carries, outputs;
  bool reverse;
} scan_plan_t;

/* XLA's scan: operands are inputs then initial carries, results are outputs then carries. */
static hr_status_t prepare_scan(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  const hlo_instr_t *instr = step->instr;
  scan_plan_t *plan;
  HR_TRY(HR_NEW(arena, &plan));
  plan->dimension = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  plan->carries = (int)hlo_attr_int(instr, HLO_ATTR_NUM_CARRIES);
  plan->inputs = instr->operand_count - plan->carries;
  plan->outputs = op_outputs_count(step) - plan->carries;
  plan->reverse = hlo_attr_bool(instr, HLO_ATTR_IS_REVERSE);
  if (plan->inputs < 1 || plan->outputs < 0)
    return hlo_error(instr, NULL,
                     "num_carries %d, want fewer than operands and at most as many as results",
                     plan->carries);
  *out_plan = plan;
  return NULL;
}

/* Copies slice t along dimension d between `whole` and a dense array. */
static void copy_slice(const hlo_value_t *array, int64_t d, int64_t t, void *slice,
                       bool from_array) {
  int64_t bytes = (int64_t)hr_dtype_bytes(array->dtype), outer = 1, inner = bytes;
  for (int i = 0; i < d; i++) outer *= array->dims[i];
  for (int i = (int)d + 1; i < array->rank; i++) inner *= array->dims[i];
  for (int64_t o = 0; o < outer && inner; o++) {
    char *in_array = (char *)array->data + (o * array->dims[d] + t) * inner,
         *in_slice = (char *)slice + o * inner;
    if (from_array)
      memcpy(in_slice, in_array, (size_t)inner);
    else
      memcpy(in_array, in_slice, (size_t)inner);
  }
}

/* Slice t of a value as an array of its own. */
static hr_status_t extract_slice(const hlo_value_t *value, int64_t d, int64_t t,
                                 hlo_value_t **out_slice) {
  int64_t dims[HLO_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < value->rank; i++)
    if (i != d) dims[rank++] = value->dims[i];
  HR_TRY(hlo_value_array(value->dtype, rank, dims, out_slice));
  copy_slice(value, d, t, (*out_slice)->data, true);
  return NULL;
}

typedef struct scan_run {
  op_env_t *env;
  const op_step_t *step;
  hlo_value_t *const *in;
  hlo_value_t **results; /* outputs, then the current carries */
  hlo_value_t **args;
} scan_run_t;

static hlo_value_t *result_element(hlo_value_t *result, int k) {
  return result->dtype == HR_TUPLE ? result->elements[k] : result;
}

/* Copies the body's output slices into the results and replaces the carries. */
static hr_status_t store_results(scan_run_t *run, int64_t t, hlo_value_t *result) {
  const scan_plan_t *plan = run->step->plan;
  int count = result->dtype == HR_TUPLE ? result->element_count : 1;
  if (count != plan->outputs + plan->carries)
    return hlo_error(run->step->instr, NULL, "the body returns %d values, want %d", count,
                     plan->outputs + plan->carries);
  for (int k = 0; k < plan->outputs; k++) {
    const hlo_value_t *slice = result_element(result, k), *array = run->results[k];
    if (slice->dtype != array->dtype || slice->count * array->dims[plan->dimension] != array->count)
      return hlo_error(run->step->instr, NULL, "output %d of the body does not fit the result", k);
    copy_slice(array, plan->dimension, t, slice->data, false);
  }
  for (int k = plan->outputs; k < count; k++) {
    hlo_value_release(run->results[k]);
    run->results[k] = hlo_value_retain(result_element(result, k));
  }
  return NULL;
}

/* One call, which takes ownership of the carries. */
static hr_status_t scan_step(scan_run_t *run, int64_t t) {
  const scan_plan_t *plan = run->step->plan;
  hlo_value_t *result;
  for (int k = 0; k < plan->inputs; k++) {
    hr_status_t st = extract_slice(run->in[k], plan->dimension, t, &run->args[k]);
    if (!st) continue;
    while (k-- > 0) hlo_value_release(run->args[k]);
    return st;
  }
  for (int c = 0; c < plan->carries; c++) {
    run->args[plan->inputs + c] = run->results[plan->outputs + c];
    run->results[plan->outputs + c] = NULL;
  }
  HR_TRY(run->env->engine_ops->call(run->env, run->step->instr->called[0], run->args,
                                    plan->inputs + plan->carries, &result));
  hr_status_t st = store_results(run, t, result);
  hlo_value_release(result);
  return st;
}

/* Carries start as the operands, outputs as undefined arrays that the steps fill. */
static hr_status_t init_results(scan_run_t *run) {
  const scan_plan_t *plan = run->step->plan;
  for (int c = 0; c < plan->carries; c++)
    run->results[plan->outputs + c] = hlo_value_retain(run->in[plan->inputs + c]);
  for (int k = 0; k < plan->outputs; k++) {
    const hlo_shape_t *shape = op_outputs_shape(run->step, k);
    HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &run->results[k]));
  }
  return NULL;
}

/* One call of the body for each slice; reversed scans begin with the last slice. */
static hr_status_t run_scan(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  const scan_plan_t *plan = step->plan;
  scan_run_t run = {.env = env, .step = step, .in = in};
  int64_t count = in[0]->dims[plan->dimension];
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->outputs + plan->carries, &run.results));
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->inputs + plan->carries, &run.args));
  hr_status_t st = init_results(&run);
  for (int64_t t = 0; t < count && !st; t++) {
    st = env->engine_ops->check_cancelled(env);
    if (!st) st = scan_step(&run, plan->reverse ? count - 1 - t : t);
  }
  return op_outputs_finish(step, st, plan->outputs + plan->carries, run.results, out_value);
}
const op_kernel_t kernel_scan = {prepare_scan, run_scan};
