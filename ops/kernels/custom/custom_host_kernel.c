/* Kernel of the custom calls that the user supplies (ops/query/custom_host.h): passes the function
 * the addresses of the operands and results in the layouts of the call, tuples as lists of
 * addresses. The function is trusted not to write beyond the results. Functions of XLA's
 * API_VERSION_STATUS_RETURNING have a third argument, in which they leave a message if they fail;
 * others ignore it. */
#include "ops/kernels/custom/custom_guard.h"
#include "ops/kernels/custom/custom_layout.h"
#include "ops/query/custom_host.h"

/* Makes zeros of a shape, tuples recursively; the tuple holds references to its parts. */
static hr_status_t make_result(op_env_t *env, const hlo_shape_t *shape, hlo_value_t **out_value) {
  if (!hlo_shape_is_tuple(shape)) return hlo_value_zeros(shape, out_value);
  hlo_value_t **parts;
  HR_TRY(HR_NEW_ARRAY(env->scratch, shape->element_count, &parts));
  hr_status_t st = NULL;
  for (int k = 0; k < shape->element_count && !st; k++)
    st = make_result(env, shape->elements[k], &parts[k]);
  if (!st) st = hlo_value_tuple(shape->element_count, parts, out_value);
  for (int k = 0; k < shape->element_count; k++) hlo_value_release(parts[k]);
  return st;
}

static const hlo_shape_t *element(const hlo_shape_t *shape, int k) {
  return shape ? shape->elements[k] : NULL;
}

static const hlo_layout_t *layout_of(const hlo_shape_t *shape) {
  return shape ? shape->layout : NULL;
}

/* The bytes of an array in the layout of `shape` (NULL: row-major), or a list of addresses for a
 * tuple's elements. */
static hr_status_t address_of(op_env_t *env, const hlo_shape_t *shape, const hlo_value_t *value,
                              void **out_address) {
  *out_address = value->data;
  if (value->dtype != HR_TUPLE) return custom_in_layout(env, layout_of(shape), value, out_address);
  void **list;
  HR_TRY(HR_NEW_ARRAY(env->scratch, value->element_count + 1, &list));
  for (int k = 0; k < value->element_count; k++)
    HR_TRY(address_of(env, element(shape, k), value->elements[k], &list[k]));
  *out_address = list;
  return NULL;
}

/* Reorders the arrays, which the callee has written in the layouts of `shape`, to row-major. */
static hr_status_t order_results(op_env_t *env, const hlo_shape_t *shape, hlo_value_t *value) {
  if (value->dtype != HR_TUPLE) return custom_from_layout(env, layout_of(shape), value);
  for (int k = 0; k < value->element_count; k++)
    HR_TRY(order_results(env, element(shape, k), value->elements[k]));
  return NULL;
}

/* The third argument: libstdc++'s optional string of C++, 40 bytes. A short text lies in `small`,
 * and `text` points to it. Longer ones are not freed. */
typedef struct host_status {
  const char *text;
  size_t size;
  char small[16];
  bool is_failure;
  char reserve[23];
} host_status_t;

/* Always passes the third argument: by C's calling convention functions without it ignore it. */
static hr_status_t call_host(const op_step_t *step, void *out, void **in) {
  host_status_t status = {.text = NULL};
  void *result, *args[CUSTOM_GUARD_ARGS] = {out, in, &status};
  HR_TRY(custom_guard_call((void (*)(void)) * (const custom_host_fn *)step->plan, args, &result));
  if (!status.is_failure) return NULL;
  return hr_error(HR_INTERNAL, "%.*s", (int)status.size, status.text ? status.text : "");
}

static hr_status_t prepare_host(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  custom_host_fn *plan;
  HR_TRY(HR_NEW(arena, &plan));
  *plan = custom_host_find(op_custom_call_target(step->instr));
  if (!*plan) return hlo_unsupported(step->instr, "its function has been taken away");
  *out_plan = plan;
  return NULL;
}

static hr_status_t run_host(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  void **addresses, *out;
  HR_TRY(HR_NEW_ARRAY(env->scratch, step->instr->operand_count + 1, &addresses));
  for (int k = 0; k < step->instr->operand_count; k++)
    HR_TRY(address_of(env, custom_constrained_operand(step->instr, k), in[k], &addresses[k]));
  HR_TRY(make_result(env, step->out_shape, out_value));
  hr_status_t st = address_of(env, NULL, *out_value, &out);
  if (!st) st = call_host(step, out, addresses);
  if (!st) st = order_results(env, custom_constrained_result(step->instr), *out_value);
  if (st) hlo_value_release(*out_value);
  return st;
}

const op_kernel_t custom_host = {prepare_host, run_host};
