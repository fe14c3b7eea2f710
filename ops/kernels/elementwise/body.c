/* Execution of bodies. A flat body runs as a short program over blocks of up to BODY_LANES elements
 * ("lanes"): parameters are read in place with their stride, constants with stride 0, and results
 * of steps live in a scratch area on the C stack, so that a run for a single element allocates
 * nothing. body_flatten.c makes the program. Other bodies are called once per element. */
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/elementwise/body_plan.h"

enum { BODY_LANES = 256 }; /* elements per block, at most */

/* Arrays whose sizes are all 1 are scalars, too. */
bool body_is_scalar(const hlo_shape_t *shape) {
  if (!hlo_shape_is_array(shape)) return false;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] != 1) return false;
  return true;
}

bool op_body_is_flat(const op_body_t *body) { return body->flat; }
const hlo_computation_t *op_body_computation(const op_body_t *body) { return body->computation; }
int op_body_param_count(const op_body_t *body) { return body->param_count; }
int op_body_result_count(const op_body_t *body) { return body->result_count; }
hr_dtype_t op_body_param_dtype(const op_body_t *body, int k) { return body->param_dtypes[k]; }
hr_dtype_t op_body_result_dtype(const op_body_t *body, int k) { return body->result_dtypes[k]; }

bool op_body_is_binary(const op_body_t *body, hlo_opcode_t *out_op,
                       const ew_kernel_t **out_kernel) {
  if (!body->binary_kernel) return false;
  *out_op = body->binary_op;
  *out_kernel = body->binary_kernel;
  return true;
}

/* Bodies that return a parameter: (a, b) -> b is common in scatter. */
bool op_body_is_parameter(const op_body_t *body, int *out_parameter) {
  if (!body->flat || body->result_count != 1) return false;
  const body_value_t *value = &body->values[body->results[0]];
  if (value->kind != BODY_PARAM || body->param_dtypes[value->number] != body->result_dtypes[0])
    return false;
  *out_parameter = value->number;
  return true;
}

/* --- preparing -------------------------------------------------------------------------------- */

/* Parameters and results must be scalars. Errors: INVALID with the instruction. */
static hr_status_t read_body_types(hr_arena_t *arena, op_body_t *body) {
  const hlo_computation_t *computation = body->computation;
  const hlo_shape_t *root = computation->root->shape;
  hr_dtype_t *params, *results;
  body->param_count = (int)computation->params.count;
  body->result_count = hlo_shape_is_tuple(root) ? root->element_count : 1;
  HR_TRY(HR_NEW_ARRAY(arena, body->param_count, &params));
  HR_TRY(HR_NEW_ARRAY(arena, body->result_count, &results));
  for (int k = 0; k < body->param_count; k++) {
    const hlo_shape_t *shape = computation->params.data[k]->shape;
    if (!body_is_scalar(shape))
      return hlo_error(computation->params.data[k], NULL,
                       "this parameter of a body is not a scalar");
    params[k] = shape->dtype;
  }
  for (int k = 0; k < body->result_count; k++) {
    const hlo_shape_t *shape = hlo_shape_is_tuple(root) ? root->elements[k] : root;
    if (!body_is_scalar(shape))
      return hlo_error(computation->root, NULL, "result %d of a body is not a scalar", k);
    results[k] = shape->dtype;
  }
  body->param_dtypes = params;
  body->result_dtypes = results;
  return NULL;
}

/* Recognises a body of one commutative and associative step on both parameters. */
static hr_status_t recognise_binary(hr_arena_t *arena, op_body_t *body) {
  if (body->param_count != 2 || body->result_count != 1 || body->step_count != 1) return NULL;
  const body_step_t *step = &body->steps[0];
  hlo_opcode_t op = step->instr->op;
  if (step->operand_count != 2 || !hlo_op_is(op, OP_COMMUTATIVE | OP_ASSOCIATIVE)) return NULL;
  const body_value_t *a = &body->values[step->operands[0]], *b = &body->values[step->operands[1]];
  if (a->kind != BODY_PARAM || b->kind != BODY_PARAM || a->number == b->number) return NULL;
  hr_dtype_t type = step->instr->shape->dtype;
  if (body->results[0] != step->result || body->result_dtypes[0] != type) return NULL;
  if (body->param_dtypes[0] != type || body->param_dtypes[1] != type) return NULL;
  body->binary_op = op;
  return ew_kernel_binary(arena, op, type, &body->binary_kernel);
}

/* A body that cannot be flattened (flat stays NULL) is called once per element instead. */
hr_status_t op_body_prepare(hr_arena_t *arena, const hlo_computation_t *computation,
                            const op_body_t **out_body) {
  op_body_t *body;
  HR_TRY(HR_NEW(arena, &body));
  body->computation = computation;
  HR_TRY(read_body_types(arena, body));
  HR_TRY(body_flatten(arena, body));
  if (body->flat) HR_TRY(recognise_binary(arena, body));
  *out_body = body;
  return NULL;
}

/* --- flat bodies ------------------------------------------------------------------------------ */

/* One block of elements while the steps run over it. */
typedef struct lanes {
  const op_body_t *body;
  const void *const *ins;
  const int64_t *strides;
  int64_t base;  /* first element of the block */
  int64_t width; /* lanes per value in the scratch area */
  char *scratch;
} lanes_t;

/* Address of a value's lane 0, and the stride of its lanes in elements. */
static const void *lane_zero(const lanes_t *lanes, int number, int64_t *out_stride) {
  const body_value_t *value = &lanes->body->values[number];
  switch (value->kind) {
    case BODY_PARAM:
      *out_stride = lanes->strides[value->number];
      return (const char *)lanes->ins[value->number] +
             lanes->base * *out_stride * value->element_bytes;
    case BODY_CONSTANT:
      *out_stride = 0;
      return value->data;
    case BODY_STEP:
      break;
  }
  *out_stride = 1;
  return lanes->scratch + value->offset * lanes->width;
}

/* True if the last step may write to the result directly, as nothing of the block is read after
 * it. */
static bool last_step_is_result(const op_body_t *body) {
  int last = body->step_count - 1;
  return body->result_count == 1 && last >= 0 && body->results[0] == body->steps[last].result;
}

/* Runs every step over n lanes; the last step writes to `result`, if given. */
static void run_steps(const lanes_t *lanes, int64_t n, void *result) {
  const op_body_t *body = lanes->body;
  for (int s = 0; s < body->step_count; s++) {
    const body_step_t *step = &body->steps[s];
    const void *in[EW_MAX_OPERANDS];
    int64_t in_steps[EW_MAX_OPERANDS];
    for (int k = 0; k < step->operand_count; k++)
      in[k] = lane_zero(lanes, step->operands[k], &in_steps[k]);
    void *out = lanes->scratch + body->values[step->result].offset * lanes->width;
    ew_kernel_run(step->kernel, n, in, in_steps,
                  s + 1 == body->step_count && result ? result : out);
  }
}

/* Copies n lanes of a value to a dense array. */
static void store_lanes(const lanes_t *lanes, int number, int64_t n, void *to) {
  int bytes = lanes->body->values[number].element_bytes;
  int64_t step;
  const char *from = lane_zero(lanes, number, &step);
  if (step == 1) {
    memmove(to, from, (size_t)(n * bytes));
  } else if (step == 0) {
    loop_fill(to, from, bytes, n);
  } else {
    for (int64_t i = 0; i < n; i++)
      memcpy((char *)to + i * bytes, from + i * step * bytes, (size_t)bytes);
  }
}

/* Element i of result array r. */
static void *result_address(const op_body_t *body, int r, int64_t i, void *const *outs) {
  return (char *)outs[r] + i * (int64_t)hr_dtype_bytes(body->result_dtypes[r]);
}

/* Evaluates the steps block by block; a block is as wide as the scratch area allows. */
static void run_flat(const op_body_t *body, int64_t count, const void *const *ins,
                     const int64_t *strides, void *const *outs) {
  char scratch[BODY_SCRATCH_BYTES] __attribute__((aligned(64)));
  int64_t width = body->lane_bytes ? BODY_SCRATCH_BYTES / body->lane_bytes : BODY_LANES;
  if (width > BODY_LANES) width = BODY_LANES;
  if (width > count) width = count;
  lanes_t lanes = {body, ins, strides, 0, width, scratch};
  bool direct = last_step_is_result(body);
  for (; lanes.base < count; lanes.base += width) {
    int64_t n = hr_min(count - lanes.base, width);
    run_steps(&lanes, n, direct ? result_address(body, 0, lanes.base, outs) : NULL);
    for (int r = 0; r < body->result_count && !direct; r++)
      store_lanes(&lanes, body->results[r], n, result_address(body, r, lanes.base, outs));
  }
}

/* --- other bodies ----------------------------------------------------------------------------- */

/* A scalar value with the bytes of one element. */
static hr_status_t make_argument(const hlo_shape_t *shape, const char *element,
                                 hlo_value_t **out_value) {
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value));
  memcpy((*out_value)->data, element, hr_dtype_bytes(shape->dtype));
  return NULL;
}

/* Errors: INTERNAL, since the verifier has checked the body's shapes. */
static hr_status_t store_results(const op_body_t *body, const hlo_value_t *result, int64_t i,
                                 void *const *outs) {
  bool tuple = result->dtype == HR_TUPLE;
  for (int r = 0; r < body->result_count; r++) {
    const hlo_value_t *leaf = result;
    if (tuple) leaf = r < result->element_count ? result->elements[r] : NULL;
    if (!leaf || leaf->dtype != body->result_dtypes[r] || leaf->count != 1)
      return hr_error(HR_INTERNAL, "result %d of the body is not as declared", r);
    memcpy(result_address(body, r, i, outs), leaf->data, hr_dtype_bytes(leaf->dtype));
  }
  return NULL;
}

/* Calls the computation with element i of each input as a scalar value. */
static hr_status_t call_once(op_env_t *env, const op_body_t *body, int64_t i,
                             const void *const *ins, const int64_t *strides, hlo_value_t **args,
                             void *const *outs) {
  hr_status_t st = NULL;
  hlo_value_t *result;
  int made = 0;
  for (; made < body->param_count; made++) {
    const hlo_shape_t *shape = body->computation->params.data[made]->shape;
    int64_t offset = i * strides[made] * (int64_t)hr_dtype_bytes(shape->dtype);
    HR_TRY_GOTO(fail, st, make_argument(shape, (const char *)ins[made] + offset, &args[made]));
  }
  HR_TRY(env->engine_ops->call(env, body->computation, args, body->param_count, &result));
  st = store_results(body, result, i, outs);
  hlo_value_release(result);
  return st;
fail:
  while (made-- > 0) hlo_value_release(args[made]);
  return st;
}

/* One call of the engine per element: slow, for bodies with control flow. Checks every 1,024
 * elements whether the run is cancelled. */
static hr_status_t run_calls(op_env_t *env, const op_body_t *body, int64_t count,
                             const void *const *ins, const int64_t *strides, void *const *outs) {
  void *args;
  HR_TRY(hr_alloc((size_t)body->param_count * sizeof(hlo_value_t *), &args));
  hr_status_t st = NULL;
  for (int64_t i = 0; i < count && !st; i++) {
    st = call_once(env, body, i, ins, strides, args, outs);
    if (!st && i % 1024 == 1023) st = env->engine_ops->check_cancelled(env);
  }
  hr_free(args);
  return st;
}

/* Strides are in elements; flat bodies run in blocks, others by a call per element. */
hr_status_t op_body_run(op_env_t *env, const op_body_t *body, int64_t count, const void *const *ins,
                        const int64_t *strides, void *const *outs) {
  if (count <= 0 || body->result_count == 0) return NULL;
  if (!body->flat) return run_calls(env, body, count, ins, strides, outs);
  run_flat(body, count, ins, strides, outs);
  return NULL;
}
