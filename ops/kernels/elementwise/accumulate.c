/* Accumulation by a body. A body that is one binary op runs its elementwise kernel directly.
 * Strided accumulators are computed into a dense row of at most BLOCK elements and copied back,
 * because kernels write dense results only. */
#include "ops/kernels/elementwise/accumulate.h"

#include "base/arith.h"
#include "ops/kernels/common/strided_loops.h"

#define BLOCK 512 /* strided accumulators computed per call */

static bool accumulates_in_f32(hlo_opcode_t op, hr_dtype_t dtype) {
  return (op == HLO_ADD || op == HLO_MULTIPLY) && hr_dtype_is_float(dtype) && dtype != HR_F32 &&
         hr_dtype_table[dtype].compute == HR_F32;
}

/* Sets the kernel of a body that is one op. */
static hr_status_t plan_kernel(hr_arena_t *arena, bool widen, accumulate_plan_t *plan) {
  hlo_opcode_t op;
  if (plan->count != 1 || !op_body_is_binary(plan->body, &op, &plan->kernel)) {
    plan->kernel = NULL;
    return NULL;
  }
  if (!widen || !accumulates_in_f32(op, plan->work)) return NULL;
  plan->work = HR_F32;
  return ew_kernel_binary(arena, op, HR_F32, &plan->kernel);
}

/* The body has count accumulators, then count elements as parameters. Errors: INVALID for another
 * signature. */
hr_status_t accumulate_prepare(hr_arena_t *arena, const hlo_computation_t *body, int count,
                               bool widen, accumulate_plan_t *plan) {
  size_t *bytes;
  HR_TRY(op_body_prepare(arena, body, &plan->body));
  plan->count = count;
  if (op_body_result_count(plan->body) != count || op_body_param_count(plan->body) != 2 * count)
    return hr_error(HR_INVALID, "%%%.*s takes %d elements and returns %d, want %d and %d",
                    HR_STR_ARGS(body->name), op_body_param_count(plan->body),
                    op_body_result_count(plan->body), 2 * count, count);
  plan->work = op_body_param_dtype(plan->body, 0);
  HR_TRY(plan_kernel(arena, widen, plan));
  HR_TRY(HR_NEW_ARRAY(arena, plan->count, &bytes));
  for (int k = 0; k < plan->count; k++)
    bytes[k] = hr_dtype_bytes(plan->kernel ? plan->work : op_body_param_dtype(plan->body, k));
  plan->bytes = bytes;
  return NULL;
}

/* All memory is reserved once for rows of BLOCK elements. */
hr_status_t accumulate_init(accumulate_t *acc, op_env_t *env, const accumulate_plan_t *plan) {
  *acc = (accumulate_t){.plan = plan, .env = env};
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &acc->to));
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &acc->from));
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &acc->rows));
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &acc->in_place_rows));
  HR_TRY(HR_NEW_ARRAY(env->scratch, 2 * plan->count, &acc->ins));
  HR_TRY(HR_NEW_ARRAY(env->scratch, 2 * plan->count, &acc->strides));
  for (int k = 0; k < plan->count; k++)
    HR_TRY(hr_arena_array(env->scratch, BLOCK, plan->bytes[k], &acc->rows[k]));
  return NULL;
}

/* Writes dense accumulators in place, strided ones to acc->rows. */
static hr_status_t run_row(accumulate_t *acc, int64_t count, int64_t to, int64_t to_step,
                           int64_t from, int64_t from_step) {
  const accumulate_plan_t *plan = acc->plan;
  for (int k = 0; k < plan->count; k++) {
    acc->in_place_rows[k] = acc->to[k] + to * (int64_t)plan->bytes[k];
    acc->ins[k] = acc->in_place_rows[k];
    acc->strides[k] = to_step;
    acc->ins[plan->count + k] = acc->from[k] + from * (int64_t)plan->bytes[k];
    acc->strides[plan->count + k] = from_step;
  }
  void **outs = to_step == 1 ? acc->in_place_rows : acc->rows;
  if (!plan->kernel) return op_body_run(acc->env, plan->body, count, acc->ins, acc->strides, outs);
  ew_kernel_run(plan->kernel, count, acc->ins, acc->strides, outs[0]);
  return NULL;
}

/* to[i * to_step] = body(to[i * to_step], from[i * from_step]) for i < count. */
hr_status_t accumulate_row(accumulate_t *acc, int64_t count, int64_t to, int64_t to_step,
                           int64_t from, int64_t from_step) {
  if (count == 1) {
    to_step = 1;
    from_step = 1;
  }
  if (to_step == 1) return run_row(acc, count, to, 1, from, from_step);
  for (int64_t i = 0; i < count; i += BLOCK) {
    int64_t block = hr_min(count - i, BLOCK);
    HR_TRY(run_row(acc, block, to + i * to_step, to_step, from + i * from_step, from_step));
    for (int k = 0; k < acc->plan->count; k++) {
      int64_t bytes = (int64_t)acc->plan->bytes[k];
      loop_copy_row(acc->in_place_rows[k], acc->rows[k], block, to_step * bytes, bytes, (int)bytes);
    }
  }
  return NULL;
}
