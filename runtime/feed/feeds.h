/* Infeed and outfeed of a program. Worker threads of the event loop read values ahead and write
 * them behind. A queue holds at most FEED_QUEUE_VALUES; a full queue blocks its producer.
 * Thread: the program's. */
#ifndef EXEC_FEEDS_H
#define EXEC_FEEDS_H

#include <stdatomic.h>

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

typedef struct exec_feeds exec_feeds_t;

typedef struct exec_feeds_options {
  const plan_t *plan;
  exec_comm_t *comm; /* comm->endpoint is polled for interruption while the program waits */
  const char *infeed, *outfeed; /* specs as in feed/feed_open.h; NULL: none */
  atomic_ulong *progress; /* counts values taken after the last step, for watchdogs; may be NULL */
} exec_feeds_options_t;

/* Opens both feeds and starts their threads. *out_feeds is NULL if there is neither.
 * Owner:   plan and comm must outlive the feeds.
 * Errors:  USAGE for a malformed spec; UNAVAILABLE; NO_MEMORY. */
hr_status_t exec_feeds_create(const exec_feeds_options_t *options, exec_feeds_t **out_feeds);
void exec_feeds_attach(op_env_t *env, exec_feeds_t *feeds); /* accepts NULL */
/* Waits until all outfed values are written and closes the outfeed. Errors: UNAVAILABLE; those of
 * comm->endpoint's interruption, such as DEADLINE. */
hr_status_t exec_feeds_finish(exec_feeds_t *feeds); /* accepts NULL */
void exec_feeds_destroy(exec_feeds_t *feeds);       /* accepts NULL */

#endif
