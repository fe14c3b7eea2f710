/* Forked processes: a flag that the child's handler sets. Reading it costs less than getpid(),
 * which is a system call. */
#include "pjrt/client/pjrt_fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_bool is_child;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note_child(void) { atomic_store(&is_child, true); }

static void add_handler(void) { pthread_atfork(NULL, NULL, note_child); }

/* A client that a child creates for itself has threads again. */
void pjrt_fork_watch(void) {
  pthread_once(&once, add_handler);
  atomic_store(&is_child, false);
}

bool pjrt_is_forked(void) { return atomic_load_explicit(&is_child, memory_order_relaxed); }

hr_status_t pjrt_check_fork(void) {
  if (!pjrt_is_forked()) return NULL;
  return hr_error(HR_USAGE,
                  "this process was forked from one that uses JAX, and has none of its threads: "
                  "start processes with multiprocessing.set_start_method(\"spawn\")");
}
