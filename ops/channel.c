/* Feeds and channels: what leaves and enters the program other than through parameters and results. The environment
 * does the work; an engine without feeds or channels leaves the function out. */
#include "ops/op.h"

/* A pair (value, token): the result of infeed and recv-done. Takes `value` over. */
static hr_status_t with_token(hlo_value_t *value, hlo_value_t **out_value) {
  hlo_value_t *pair[2] = {value, NULL};
  hr_status_t st = hlo_value_token(&pair[1]);
  if (!st) st = hlo_value_tuple(2, pair, out_value);
  hlo_value_release(pair[0]);
  hlo_value_release(pair[1]);
  return st;
}

static hr_status_t run_infeed(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)in;
  if (!env->infeed) return hlo_unsupported(step->instr, "nothing feeds this program");
  hlo_value_t *value;
  HR_TRY(env->infeed(env, step->instr, step->instr->shape->elements[0], &value));
  return with_token(value, out_value);
}
const op_kernel_t kernel_infeed = {NULL, run_infeed};

static hr_status_t run_outfeed(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  if (!env->outfeed) return hlo_unsupported(step->instr, "nothing takes what this program feeds out");
  HR_TRY(env->outfeed(env, step->instr, in[0]));
  return hlo_value_token(out_value);
}
const op_kernel_t kernel_outfeed = {NULL, run_outfeed};

/* (data, u32[] context, token): the state between the start and the done. Takes `data` over. */
static hr_status_t make_state(hlo_value_t *data, hlo_value_t **out_value) {
  hlo_value_t *parts[3] = {data, NULL, NULL};
  hr_status_t st = hlo_value_zeros(hlo_shape_scalar(HR_U32), &parts[1]);
  if (!st) st = hlo_value_token(&parts[2]);
  if (!st) st = hlo_value_tuple(3, parts, out_value);
  for (int i = 0; i < 3; i++) hlo_value_release(parts[i]);
  return st;
}

static hr_status_t run_send(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  if (!env->send) return hlo_unsupported(step->instr, "there are no channels to other processes");
  op_request_t *request;
  HR_TRY(env->send(env, step->instr, in[0], &request));
  HR_TRY(env->wait(env, request));
  return make_state(hlo_value_retain(in[0]), out_value);
}
const op_kernel_t kernel_send = {NULL, run_send};

static hr_status_t run_send_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  (void)env, (void)step, (void)in;
  return hlo_value_token(out_value);
}
const op_kernel_t kernel_send_done = {NULL, run_send_done};

static hr_status_t run_recv(op_env_t *env, const op_step_t *step, hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)in;
  if (!env->recv) return hlo_unsupported(step->instr, "there are no channels to other processes");
  hlo_value_t *data;
  HR_TRY(hlo_value_zeros(step->instr->shape->elements[0], &data));
  op_request_t *request;
  hr_status_t st = env->recv(env, step->instr, data, &request);
  if (!st) st = env->wait(env, request);
  if (!st) return make_state(data, out_value);
  hlo_value_release(data);
  return st;
}
const op_kernel_t kernel_recv = {NULL, run_recv};

static hr_status_t run_recv_done(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  (void)env, (void)step;
  return with_token(hlo_value_retain(in[0]->elements[0]), out_value);
}
const op_kernel_t kernel_recv_done = {NULL, run_recv_done};
