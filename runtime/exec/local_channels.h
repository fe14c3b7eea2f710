/* Channels and feeds between threads of one process: the first recv on a channel takes the first
 * send; all share one infeed. Outfed values are dropped.
 * Thread: functions of op_env_t from any; the rest from one. */
#ifndef EXEC_LOCAL_CHANNELS_H
#define EXEC_LOCAL_CHANNELS_H

#include <pthread.h>

#include "base/vec.h"
#include "exec/machine.h"

/* A value sent and not yet received. `to`: -1 for the first eligible receiver. */
typedef struct local_message {
  int64_t channel;
  int from, to;
  hlo_value_t *value;
} local_message_t;

typedef struct local_channels {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  const exec_cancel_t *cancel;      /* ends waits */
  HR_VEC(local_message_t) messages; /* in the order of the sends */
  HR_VEC(hlo_value_t *) infeed;
  size_t next_infeed;
} local_channels_t;

/* Owner: borrows `cancel`; after raising it the caller calls local_channels_wake. */
void local_channels_init(local_channels_t *channels, const exec_cancel_t *cancel);
void local_channels_deinit(local_channels_t *channels);
/* Appends to the infeed.
 * Owner:   consumes the reference, also on failure.
 * Errors:  NO_MEMORY. */
hr_status_t local_channels_feed(local_channels_t *channels, hlo_value_t *value);
void local_channels_wake(local_channels_t *channels);
/* Sets the functions send, recv, infeed and outfeed of an environment. */
void local_channels_attach(local_channels_t *channels, op_env_t *env);

#endif
