/* Forked processes. A child has the memory of its parent, but none of its threads: earlier launches
 * never end in it, and a lock may be held for ever. It may still read arrays. */
#ifndef PJRT_FORK_H
#define PJRT_FORK_H

#include <stdbool.h>

#include "base/status.h"

/* Called when a client is created: from here on, a child of this process counts as forked. */
void pjrt_fork_watch(void);
/* True in a process that was forked after its client was created. */
bool pjrt_is_forked(void);
/* Errors: USAGE in a forked process, with advice. */
hr_status_t pjrt_check_fork(void);

#endif
