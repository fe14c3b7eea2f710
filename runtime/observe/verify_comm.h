/* `--verify-comm`: checks what the processes say to each other while they say it. The members of a
 * group tell each other what each collective is, and so do the two ends of a message, before its
 * data is waited for. A start that waits for nothing still waits for nothing: what the others say
 * is awaited where the data is. One per program, on top of the communication functions of its
 * environment. Cost:   one more all-gather of some 256 bytes per collective, one more message per
 * message and half of a permute. Thread: that of the machine. */
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

/* All that the options name must outlive it. */
hr_status_t exec_verify_create(const exec_verify_options_t *options, exec_verify_t **out_verify);
void exec_verify_destroy(exec_verify_t *verify); /* accepts NULL; nothing may be under way */
/* Puts itself before the functions that the environment has: after exec_comm_attach and
 * exec_channels_attach. */
void exec_verify_attach(op_env_t *env, exec_verify_t *verify);
/* After each execution: waits for what the program did not ask about, and then for all others to
 * come to their end; gives up what is under way if the execution failed. Accept NULL.
 * exec_channels_end comes between the two. Errors: DISAGREE naming both places: of what differs, or
 * of what was sent and never received. */
hr_status_t exec_verify_end(exec_verify_t *verify, hr_status_t st);
hr_status_t exec_verify_match(exec_verify_t *verify, hr_status_t st);

#endif
