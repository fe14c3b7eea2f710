/* Infeed and outfeed of a program: what outside supplies and takes. Values are read ahead, and
 * written behind, on libuv's worker threads, a few at a time: then the infeed's source, or the
 * program, waits for the other. Thread: the program's. */
#ifndef EXEC_FEEDS_H
#define EXEC_FEEDS_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

typedef struct exec_feeds exec_feeds_t;

typedef struct exec_feeds_options {
  const plan_t *plan;
  exec_comm_t *comm;            /* whose endpoint is asked whether waits go on */
  const char *infeed, *outfeed; /* specs as in feed/feed_open.h; NULL: none */
} exec_feeds_options_t;

/* *out_feeds is NULL if there is neither. Errors: USAGE, UNAVAILABLE. */
hr_status_t exec_feeds_create(const exec_feeds_options_t *options, exec_feeds_t **out_feeds);
void exec_feeds_attach(op_env_t *env, exec_feeds_t *feeds); /* accepts NULL */
/* Waits until what was fed out has been written, and ends the outfeed. Nothing can be fed out
 * afterwards. */
hr_status_t exec_feeds_finish(exec_feeds_t *feeds); /* accepts NULL */
void exec_feeds_destroy(exec_feeds_t *feeds);       /* accepts NULL */

#endif
