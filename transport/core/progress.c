/* The progress thread is the process's event loop (event_loop.h). It is woken when the endpoint's
 * thread leaves the transport with transfers under way, polls them until there was no progress for
 * POLL_NS, and repeats this by a timer every IDLE_MS. On an oversubscribed machine it polls once.
 * If the lock is taken it returns at once, as the lock's holder advances all transfers. */
#include "transport/core/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/event_loop.h"
#include "transport/core/request.h"

#define POLL_NS 300000 /* time without progress after which the loop thread stops polling */
#define IDLE_MS 1      /* period in ms of the timer that resumes polling */

struct tp_progress {
  tp_groups_t *groups;
  tp_loop_t *loop;
  tp_source_t *waker, *timer;
  pthread_mutex_t lock; /* recursive */
  int depth;            /* nesting depth of the lock; guarded by it */
  atomic_bool awake;    /* a wake-up is pending: no second one is sent */
};

static bool has_work(const tp_groups_t *groups) {
  for (const tp_request_t *request = groups->active; request; request = request->links.next_active)
    if (!request->completion.over && !request->endpoint_thread_only) return true;
  return false;
}

/* Polls until there was no progress for POLL_NS. True: some transfer moved, and more progress may
 * follow. The lock is released in between. */
static bool poll_transfers(tp_groups_t *groups) {
  int64_t start_ns = (int64_t)hr_clock_ns();
  for (uint32_t polls = 0; has_work(groups); polls++) {
    uint64_t before = groups->progress_count;
    tp_requests_progress_from(groups, false);
    int64_t now = (int64_t)hr_clock_ns();
    if (groups->progress_count != before) return true;
    if (now - start_ns > POLL_NS) return false;
    if (groups->endpoint->oversubscribed) return false;
  }
  return false;
}

/* Runs on the loop thread. */
static void on_wake_up(void *context) {
  struct tp_progress *progress = context;
  atomic_store(&progress->awake, false);
  if (pthread_mutex_trylock(&progress->lock)) return;
  bool more = poll_transfers(progress->groups);
  pthread_mutex_unlock(&progress->lock);
  if (more && !atomic_exchange(&progress->awake, true)) tp_source_wake(progress->waker);
}

void tp_progress_lock(tp_groups_t *groups) {
  struct tp_progress *progress = groups->progress;
  if (!progress) return;
  pthread_mutex_lock(&progress->lock);
  progress->depth++;
}

void tp_progress_unlock(tp_groups_t *groups) {
  struct tp_progress *progress = groups->progress;
  if (!progress) return;
  bool leaves = --progress->depth == 0 && has_work(groups);
  pthread_mutex_unlock(&progress->lock);
  if (leaves && !atomic_exchange(&progress->awake, true)) tp_source_wake(progress->waker);
}

/* --- start and end --- */

static hr_status_t open_progress(struct tp_progress *progress) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&progress->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  HR_TRY(tp_loop_acquire(&progress->loop));
  HR_TRY(tp_loop_waker(progress->loop, on_wake_up, progress, &progress->waker));
  return tp_loop_timer(progress->loop, IDLE_MS, IDLE_MS, on_wake_up, progress, &progress->timer);
}

static void close_progress(struct tp_progress *progress) {
  tp_source_stop(progress->timer);
  tp_source_stop(progress->waker);
  tp_loop_release(progress->loop);
  pthread_mutex_destroy(&progress->lock);
  hr_free(progress);
}

static bool is_option(const char *value) {
  const char *option = getenv("HLORUN_PROGRESS");
  return option && !strcmp(option, value);
}

bool tp_progress_is_forced(void) { return is_option("1"); }

hr_status_t tp_progress_begin(tp_groups_t *groups) {
  const tp_endpoint_t *endpoint = groups->endpoint;
  if (groups->progress || endpoint->world_size == 1 || endpoint->single_threaded || is_option("0"))
    return NULL;
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(struct tp_progress), &memory));
  struct tp_progress *progress = memory;
  progress->groups = groups;
  hr_status_t st = open_progress(progress);
  if (st)
    close_progress(progress);
  else
    groups->progress = progress;
  return st;
}

void tp_progress_end(tp_groups_t *groups) {
  if (groups->progress) close_progress(groups->progress);
  groups->progress = NULL;
}
