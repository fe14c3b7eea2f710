/* Channels and feeds between threads of one process, for interpreter.run_parallel: one queue of
 * messages under one mutex. A send enqueues its value and returns; a recv waits on a condition
 * variable for the first message of its channel that is addressed to it. Matching is first come,
 * first served, linear in the messages queued. Values are retained, not copied, until the
 * receiver copies them.
 *
 * Channels between processes are comm/peers/channel_transfers.c. */
#include "exec/local_channels.h"

#include <stdlib.h>
#include <string.h>

#include "comm/model/participants.h"

/* --- pairs --- */

/* Finds the pair {from,to} of this process in "{{0,1},{1,2}}", by its receiver if `receives`. True
 * if the instruction lists pairs at all; *out_other: the other end, or -1 if no pair contains this
 * process. */
static bool find_pair(const hlo_instr_t *instr, int rank, bool receives, int *out_other) {
  hr_str_t text = hlo_frontend_attribute(instr, "_xla_send_recv_source_target_pairs");
  const char *at = text.data, *end = text.data + text.size;
  *out_other = -1;
  if (!text.size) return false;
  while (at < end) {
    const char *open = memchr(at, '{', (size_t)(end - at));
    if (!open) break;
    char pair[48];
    int from, to;
    at = open + 1;
    snprintf(pair, sizeof pair, "%.*s", (int)(end - at), at);
    if (sscanf(pair, " %d , %d", &from, &to) == 2 && (receives ? to : from) == rank)
      *out_other = receives ? from : to;
  }
  return true;
}

/* --- messages --- */

static void copy_into(hlo_value_t *into, const hlo_value_t *from) {
  for (int i = 0; i < into->element_count; i++) copy_into(into->elements[i], from->elements[i]);
  if (into->data && hlo_value_bytes(into)) memcpy(into->data, from->data, hlo_value_bytes(into));
}

static bool same_shape(const hlo_value_t *a, const hlo_value_t *b) {
  if (a->dtype != b->dtype || a->rank != b->rank || a->element_count != b->element_count)
    return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  for (int i = 0; i < a->element_count; i++)
    if (!same_shape(a->elements[i], b->elements[i])) return false;
  return true;
}

static hr_status_t push_message(local_channels_t *channels, local_message_t message) {
  HR_VEC_PUSH(&channels->messages, message);
  hlo_value_retain(message.value);
  return NULL;
}

/* A process without a receiver does not send. */
static hr_status_t send_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value,
                              uint32_t *out_handle) {
  local_channels_t *channels = env->channels;
  int to;
  *out_handle = 0;
  if (find_pair(instr, env->rank, false, &to) && to < 0) return NULL;
  pthread_mutex_lock(&channels->lock);
  hr_status_t st = push_message(
      channels, (local_message_t){hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID), env->rank, to, value});
  pthread_cond_broadcast(&channels->arrived);
  pthread_mutex_unlock(&channels->lock);
  return st;
}

static bool is_addressed_to(const local_message_t *message, const op_env_t *env) {
  if (message->to >= 0) return message->to == env->rank;
  return check_can_match(env->num_replicas, env->num_partitions, message->channel, message->from,
                         env->rank);
}

static hlo_value_t *take_message(local_channels_t *channels, int64_t channel, const op_env_t *env) {
  for (size_t i = 0; i < channels->messages.count; i++) {
    local_message_t *message = &channels->messages.data[i];
    if (message->channel != channel || !is_addressed_to(message, env)) continue;
    hlo_value_t *value = message->value;
    memmove(message, message + 1, (--channels->messages.count - i) * sizeof *message);
    return value;
  }
  return NULL;
}

/* A process without a sender receives zeros. */
static hr_status_t recv_value(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *into,
                              uint32_t *out_handle) {
  local_channels_t *channels = env->channels;
  int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  int from;
  *out_handle = 0;
  if (find_pair(instr, env->rank, true, &from) && from < 0) {
    hlo_value_clear(into);
    return NULL;
  }
  pthread_mutex_lock(&channels->lock);
  hlo_value_t *value;
  hr_status_t st = NULL;
  while (!(value = take_message(channels, channel, env)) &&
         !(st = exec_cancel_check(channels->cancel)))
    pthread_cond_wait(&channels->arrived, &channels->lock);
  pthread_mutex_unlock(&channels->lock);
  if (!value) return st;
  bool fits = same_shape(into, value);
  if (fits) copy_into(into, value);
  hlo_value_release(value);
  return fits ? NULL
              : hlo_error(instr, NULL, "channel %ld brought a value of another shape",
                          (long)channel);
}

/* Sends are buffered and recvs block in their start: every transfer is complete by its done. */
static hr_status_t transfer_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle) {
  (void)env, (void)instr, (void)handle;
  return NULL;
}

/* --- feeds --- */

hr_status_t local_channels_feed(local_channels_t *channels, hlo_value_t *value) {
  hr_status_t st = HR_VEC_RESERVE(&channels->infeed, channels->infeed.count + 1);
  if (st)
    hlo_value_release(value);
  else
    channels->infeed.data[channels->infeed.count++] = value;
  return st;
}

static hr_status_t read_infeed(op_env_t *env, const hlo_instr_t *instr, const hlo_shape_t *shape,
                               hlo_value_t **out_value) {
  local_channels_t *channels = env->feeds;
  hlo_value_t *value = NULL, *tuple;
  pthread_mutex_lock(&channels->lock);
  if (channels->next_infeed < channels->infeed.count)
    value = channels->infeed.data[channels->next_infeed++];
  pthread_mutex_unlock(&channels->lock);
  if (!value)
    return hlo_error(instr, NULL, "the infeed is empty: %zu values were taken",
                     channels->infeed.count);
  if (hlo_shape_is_tuple(shape) && shape->element_count == 1 && value->dtype != HR_TUPLE) {
    HR_TRY(hlo_value_tuple(1, &value, &tuple));
    value = tuple;
  } else {
    hlo_value_retain(value);
  }
  bool fits = hlo_value_fits(value, shape);
  if (fits) *out_value = value;
  if (!fits) hlo_value_release(value);
  return fits ? NULL : hlo_error(instr, NULL, "the infeed brought a value of another shape");
}

static hr_status_t write_outfeed(op_env_t *env, const hlo_instr_t *instr, hlo_value_t *value) {
  (void)env, (void)instr, (void)value;
  return NULL;
}

/* --- life cycle --- */

void local_channels_init(local_channels_t *channels, const exec_cancel_t *cancel) {
  *channels = (local_channels_t){.cancel = cancel};
  pthread_mutex_init(&channels->lock, NULL);
  pthread_cond_init(&channels->arrived, NULL);
}

void local_channels_deinit(local_channels_t *channels) {
  for (size_t i = 0; i < channels->messages.count; i++)
    hlo_value_release(channels->messages.data[i].value);
  for (size_t i = 0; i < channels->infeed.count; i++) hlo_value_release(channels->infeed.data[i]);
  HR_VEC_FREE(&channels->messages);
  HR_VEC_FREE(&channels->infeed);
  pthread_mutex_destroy(&channels->lock);
  pthread_cond_destroy(&channels->arrived);
}

void local_channels_wake(local_channels_t *channels) {
  pthread_mutex_lock(&channels->lock);
  pthread_cond_broadcast(&channels->arrived);
  pthread_mutex_unlock(&channels->lock);
}

static const op_channel_ops_t channel_ops = {
    .send = send_value, .recv = recv_value, .transfer_done = transfer_done};
static const op_feed_ops_t feed_ops = {.infeed = read_infeed, .outfeed = write_outfeed};

void local_channels_attach(local_channels_t *channels, op_env_t *env) {
  env->feeds = channels;
  env->channels = channels;
  env->channel_ops = &channel_ops;
  env->feed_ops = &feed_ops;
}
