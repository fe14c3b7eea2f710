/* The table of reference kernels, and result arrays for all of them. */
#include "ops/kernels/kernel.h"

#include <string.h>

#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  extern const op_kernel_t kernel_##kernel;
#include "ops/table/ops.def"
#undef OP
const op_kernel_t kernel_none = {NULL, NULL};

const op_kernel_t *const op_kernels[HLO_OPCODE_COUNT] = {
#define OP(id, name, stablehlo, operands, traits, attrs, infer, verify, kernel, emit, native) \
  &kernel_##kernel,
#include "ops/table/ops.def"
#undef OP
};

/* True if the preallocated array has the declared sizes; a step whose actual sizes differ
 * allocates. */
static bool takes_offer(const op_env_t *env, const op_step_t *step) {
  return env->hints.out_hint && env->hints.out_hint_instr == step->instr &&
         hlo_value_fits(env->hints.out_hint, step->out_shape);
}

hr_status_t op_output(op_env_t *env, const op_step_t *step, hlo_value_t **out_value) {
  if (takes_offer(env, step)) {
    *out_value = env->hints.out_hint;
    env->hints.out_hint = NULL;
    return NULL;
  }
  return hlo_value_array(step->out_shape->dtype, step->out_shape->rank, step->out_shape->dims,
                         out_value);
}

hr_status_t op_shared_array(op_env_t *env, hr_dtype_t dtype, int rank, const int64_t *dims,
                            hlo_value_t **out_value) {
  int64_t count = 1;
  hr_buffer_t *buffer = NULL;
  for (int d = 0; d < rank; d++) count *= dims[d];
  if (env->comm_ops)
    HR_TRY(env->comm_ops->shared_memory(env, (size_t)count * hr_dtype_bytes(dtype), &buffer));
  if (!buffer) return hlo_value_array(dtype, rank, dims, out_value);
  hr_status_t st = hlo_value_over(dtype, rank, dims, buffer, 0, out_value);
  hr_buffer_release(buffer);
  return st;
}

hr_status_t op_reuse_or_copy(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, int k,
                             hlo_value_t **out_value) {
  (void)env;
  bool is_alone = op_is_last_use(step, k) && hlo_value_is_exclusive(in[k]);
  for (int i = 0; i < step->instr->operand_count && is_alone; i++)
    is_alone = i == k || in[i] != in[k]; /* else another operand reads it while it is written */
  if (is_alone) {
    *out_value = hlo_value_retain(in[k]);
    return NULL;
  }
  HR_TRY(hlo_value_array(in[k]->dtype, in[k]->rank, in[k]->dims, out_value));
  memcpy((*out_value)->data, in[k]->data, hlo_value_bytes(in[k]));
  return NULL;
}
