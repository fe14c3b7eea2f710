/* Channels and feeds between processes that are threads of this one: what one sends on a channel,
 * another receives, first come, first served; all take from one infeed, in turn. What is fed out is
 * let go. Thread: the functions of op_env_t from any; the rest from one. */
#ifndef EXEC_LOCAL_CHANNELS_H
#define EXEC_LOCAL_CHANNELS_H

#include <pthread.h>

#include "base/vec.h"
#include "exec/machine.h"

/* A value under way, for the process `to` (-1: the first to ask of those that may be meant). */
typedef struct local_message {
  int64_t channel;
  int from, to;
  hlo_value_t *value;
} local_message_t;

typedef struct local_channels {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  const exec_cancel_t *cancel;      /* ends waits */
  HR_VEC(local_message_t) messages; /* in the order in which they were sent */
  HR_VEC(hlo_value_t *) infeed;
  size_t next_infeed;
} local_channels_t;

/* `cancel` is the caller's, who wakes the waiting ones with local_channels_wake after raising it.
 */
void local_channels_init(local_channels_t *channels, const exec_cancel_t *cancel);
void local_channels_deinit(local_channels_t *channels);
/* Adds to the infeed; takes the reference over, also when it fails. */
hr_status_t local_channels_feed(local_channels_t *channels, hlo_value_t *value);
void local_channels_wake(local_channels_t *channels);
/* Fills in send, recv, infeed and outfeed of an environment. */
void local_channels_attach(local_channels_t *channels, op_env_t *env);

#endif
