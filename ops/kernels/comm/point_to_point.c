/* Feeds and channels: data that leaves and enters the program other than through parameters and
 * results. The environment does the work; an engine without feeds or channels leaves the functions
 * NULL. */
#include "ops/kernels/comm/point_to_point.h"

/* A pair (value, token): the result of infeed and recv-done. Takes ownership of `value`. */
static hr_status_t with_token(hlo_value_t *value, hlo_value_t **out_value) {
  hlo_value_t *pair[2] = {value, NULL};
  hr_status_t st = hlo_value_token(&pair[1]);
  if (!st) st = hlo_value_tuple(2, pair, out_value);
  hlo_value_release(pair[0]);
  hlo_value_release(pair[1]);
  return st;
}

static hr_status_t run_infeed(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  (void)in;
  if (!env->feed_ops)
    return hlo_unsupported(step->instr, "nothing feeds this program: --infeed says what does");
  hlo_value_t *value;
  HR_TRY(env->feed_ops->infeed(env, step->instr, step->instr->shape->elements[0], &value));
  return with_token(value, out_value);
}
const op_kernel_t kernel_infeed = {NULL, run_infeed};

static hr_status_t run_outfeed(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  if (!env->feed_ops)
    return hlo_unsupported(step->instr,
                           "nothing takes what this program feeds out: --outfeed says what does");
  HR_TRY(env->feed_ops->outfeed(env, step->instr, in[0]));
  return hlo_value_token(out_value);
}
const op_kernel_t kernel_outfeed = {NULL, run_outfeed};

/* (data, u32[] context, token): the state between the start and the done; the context is the
 * transfer's handle. Takes ownership of `data`. */
static hr_status_t make_state(hlo_value_t *data, uint32_t handle, hlo_value_t **out_value) {
  hlo_value_t *parts[3] = {data, NULL, NULL};
  hr_status_t st = hlo_value_zeros(hlo_shape_scalar(HR_U32), &parts[1]);
  if (!st) *(uint32_t *)parts[1]->data = handle;
  if (!st) st = hlo_value_token(&parts[2]);
  if (!st) st = hlo_value_tuple(3, parts, out_value);
  for (int i = 0; i < 3; i++) hlo_value_release(parts[i]);
  return st;
}

uint32_t op_channel_handle(const hlo_value_t *state) {
  return *(const uint32_t *)state->elements[1]->data;
}

hr_status_t op_channel_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  if (!env->channel_ops) return hlo_unsupported(instr, "there are no channels to other processes");
  return env->channel_ops->transfer_done(env, instr, handle);
}

static hr_status_t run_send(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  if (!env->channel_ops)
    return hlo_unsupported(step->instr, "there are no channels to other processes");
  uint32_t handle;
  HR_TRY(env->channel_ops->send(env, step->instr, in[0], &handle));
  return make_state(hlo_value_retain(in[0]), handle, out_value);
}
const op_kernel_t kernel_send = {NULL, run_send};

static hr_status_t run_send_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  HR_TRY(op_channel_done(env, step->instr, op_channel_handle(in[0])));
  return hlo_value_token(out_value);
}
const op_kernel_t kernel_send_done = {NULL, run_send_done};

/* A value of this static shape with undefined contents; its arrays lie where the engine wants
 * them. */
static hr_status_t make_room(op_env_t *env, const hlo_shape_t *shape, hlo_value_t **out_value) {
  if (shape->dtype == HR_TOKEN) return hlo_value_token(out_value);
  if (!hlo_shape_is_tuple(shape) && env->hints.out_buffers) {
    *out_value = hlo_value_retain(*env->hints.out_buffers++);
    return NULL;
  }
  if (!hlo_shape_is_tuple(shape))
    return hlo_value_array(shape->dtype, shape->rank, shape->dims, out_value);
  hlo_value_t **elements;
  HR_TRY(HR_NEW_ARRAY(env->scratch, shape->element_count, &elements));
  hr_status_t st = NULL;
  for (int i = 0; i < shape->element_count && !st; i++)
    st = make_room(env, shape->elements[i], &elements[i]);
  if (!st) st = hlo_value_tuple(shape->element_count, elements, out_value);
  for (int i = 0; i < shape->element_count; i++) hlo_value_release(elements[i]);
  return st;
}

/* The channel gets the buffer and fills it until the matching recv-done. */
static hr_status_t run_recv(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  (void)in;
  if (!env->channel_ops)
    return hlo_unsupported(step->instr, "there are no channels to other processes");
  hlo_value_t *data;
  uint32_t handle;
  HR_TRY(make_room(env, step->instr->shape->elements[0], &data));
  env->hints.out_buffers = NULL;
  hr_status_t st = env->channel_ops->recv(env, step->instr, data, &handle);
  if (!st) return make_state(data, handle, out_value);
  hlo_value_release(data);
  return st;
}
const op_kernel_t kernel_recv = {NULL, run_recv};

static hr_status_t run_recv_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  HR_TRY(op_channel_done(env, step->instr, op_channel_handle(in[0])));
  return with_token(hlo_value_retain(in[0]->elements[0]), out_value);
}
const op_kernel_t kernel_recv_done = {NULL, run_recv_done};
