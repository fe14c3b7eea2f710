/* --verify-comm: compares communication operations at run time. Members of a group exchange the
 * signature of each collective, and so do the two ends of a message, before the data is awaited. An
 * asynchronous start stays asynchronous: signatures are compared at its done.
 * Cost:   an all-gather of 256 bytes per collective; one message per message and half of a permute.
 * Owner:  one per program, on top of the communication functions of its environment.
 * Thread: that of the execution. */
#ifndef EXEC_VERIFY_COMM_H
#define EXEC_VERIFY_COMM_H

#include "comm/peers/channel_transfers.h"
#include "observe/deadlock_detector.h"

typedef struct exec_verify exec_verify_t;

typedef struct exec_verify_options {
  const plan_t *plan;
  exec_comm_t *comm;
  exec_channels_t *channels;
  exec_watch_t *watch;
} exec_verify_options_t;

/* Owner:   everything in `options` must outlive it.
 * Errors:  NO_MEMORY. */
hr_status_t exec_verify_create(const exec_verify_options_t *options, exec_verify_t **out_verify);
void exec_verify_destroy(exec_verify_t *verify); /* accepts NULL; no transfer may be in flight */
/* Wraps the communication functions of `env`. Call after exec_comm_attach and
 * exec_channels_attach. */
void exec_verify_attach(op_env_t *env, exec_verify_t *verify);
/* To be called after each execution, with its status `st`, in this order: exec_verify_end,
 * exec_channels_end, exec_verify_match. The first completes exchanges without a done, or cancels
 * them if `st` is a failure; the last waits until all ranks have finished. Accept NULL. Errors:
 * DISAGREE with both source locations of operations that differ, or of a message that is never
 * received. */
hr_status_t exec_verify_end(exec_verify_t *verify, hr_status_t st);
hr_status_t exec_verify_match(exec_verify_t *verify, hr_status_t st);

#endif
