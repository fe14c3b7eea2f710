#include "transport/core/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/event_loop.h"
#include "transport/core/request.h"

#define LOOK_NS 300000 /* how long the loop thread stays with transfers that do not move */
#define IDLE_MS 1      /* and how soon it comes back */

struct tp_progress {
  tp_groups_t *groups;
  tp_loop_t *loop;
  tp_source_t *waker, *timer;
  pthread_mutex_t lock; /* recursive */
  int depth;            /* of the endpoint's thread in the lock */
  atomic_bool awake;    /* the loop thread is on its way */
};

static bool has_work(const tp_groups_t *groups) {
  for (const tp_request_t *request = groups->active; request; request = request->links.next_active)
    if (!request->completion.over && !request->endpoint_thread_only) return true;
  return false;
}

/* As long as something moves; returns whether there is more to come at once. */
static bool move_transfers(tp_groups_t *groups) {
  int64_t moved_ns = (int64_t)hr_clock_ns();
  for (uint32_t polls = 0; has_work(groups); polls++) {
    uint64_t moves = groups->progress_count;
    tp_requests_progress_from(groups, false);
    int64_t now = (int64_t)hr_clock_ns();
    if (groups->progress_count != moves) return true; /* others may want the lock */
    if (now - moved_ns > LOOK_NS) return false;
    if (groups->endpoint->oversubscribed) return false;
  }
  return false;
}

/* On the loop thread. Who finds the lock taken has nothing to do: whoever holds it moves everything
 * on. */
static void look_after(void *context) {
  struct tp_progress *progress = context;
  atomic_store(&progress->awake, false);
  if (pthread_mutex_trylock(&progress->lock)) return;
  bool more = move_transfers(progress->groups);
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

/* --- life --- */

static hr_status_t open_progress(struct tp_progress *progress) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&progress->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  HR_TRY(tp_loop_acquire(&progress->loop));
  HR_TRY(tp_loop_waker(progress->loop, look_after, progress, &progress->waker));
  return tp_loop_timer(progress->loop, IDLE_MS, IDLE_MS, look_after, progress, &progress->timer);
}

static void close_progress(struct tp_progress *progress) {
  tp_source_stop(progress->timer);
  tp_source_stop(progress->waker);
  tp_loop_release(progress->loop);
  pthread_mutex_destroy(&progress->lock);
  hr_free(progress);
}

static bool is_wanted(const char *answer) {
  const char *wanted = getenv("HLORUN_PROGRESS");
  return wanted && !strcmp(wanted, answer);
}

bool tp_progress_is_forced(void) { return is_wanted("1"); }

hr_status_t tp_progress_begin(tp_groups_t *groups) {
  const tp_endpoint_t *endpoint = groups->endpoint;
  if (groups->progress || endpoint->world_size == 1 || endpoint->single_threaded || is_wanted("0"))
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
