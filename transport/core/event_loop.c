/* libuv's handles may be used on the loop's thread only. Other threads therefore queue jobs and
 * wake the loop by uv_async_send; tp_loop_call waits for its job on a semaphore. The queue is a
 * linked list under a lock; a job lives on the stack of a caller that waits, or on the heap. The
 * loop ends after a request to end, when all jobs have run and its wake handle is closed. */
#include "transport/core/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/processors.h"

/* Work for the loop thread, first in, first out. */
typedef struct job {
  struct job *next;
  tp_loop_fn fn;
  void *context;
  uv_sem_t
      *done; /* posted after the job, for a caller that waits; NULL: the job is freed instead */
} job_t;

struct tp_loop {
  uv_loop_t uv;
  uv_async_t wake;
  uv_thread_t thread;
  pthread_mutex_t lock; /* guards jobs, last_job, ending */
  job_t *jobs, **last_job;
  bool ending;
};

/* The process's loop and the number of its users, guarded by users_lock. */
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static tp_loop_t *the_loop;
static int user_count;

static hr_status_t uv_failure(int error, const char *what) {
  hr_status_t st = hr_error(HR_UNAVAILABLE, "%s: %s", what, uv_strerror(error));
  if (error != UV_EAGAIN && error != UV_ENOMEM) return st;
  return hr_status_note(
      st, "a limit leaves no room for a thread: ulimit -d, -v or -u, or --max-memory");
}

/* --- the thread --- */

static job_t *dequeue_jobs(tp_loop_t *loop) {
  pthread_mutex_lock(&loop->lock);
  job_t *jobs = loop->jobs;
  loop->jobs = NULL;
  loop->last_job = &loop->jobs;
  pthread_mutex_unlock(&loop->lock);
  return jobs;
}

/* Stops the loop even if a handle was never closed. */
static void on_wake_closed(uv_handle_t *wake) { uv_stop(wake->loop); }

static void run_job(job_t *job) {
  uv_sem_t *done = job->done;
  job->fn(job->context);
  if (done)
    uv_sem_post(done);
  else
    hr_free(job);
}

static void run_jobs(uv_async_t *wake) {
  tp_loop_t *loop = wake->data;
  for (job_t *job; (job = dequeue_jobs(loop));)
    for (job_t *next; job; job = next) {
      next = job->next;
      run_job(job);
    }
  pthread_mutex_lock(&loop->lock);
  bool end = loop->ending && !loop->jobs;
  pthread_mutex_unlock(&loop->lock);
  if (end && !uv_is_closing((uv_handle_t *)wake)) uv_close((uv_handle_t *)wake, on_wake_closed);
}

static cpu_set_t processors;
static atomic_bool processors_are_known;

int tp_loop_note_processors(void) {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine)) return 1;
  if (!atomic_load(&processors_are_known)) processors = mine;
  atomic_store(&processors_are_known, true);
  return hr_processor_limit(CPU_COUNT(&mine));
}

/* A new thread inherits the affinity mask of its creator, which may be bound to few processors. */
static void run_thread(void *argument) {
  if (atomic_load(&processors_are_known)) sched_setaffinity(0, sizeof processors, &processors);
  uv_run(&((tp_loop_t *)argument)->uv, UV_RUN_DEFAULT);
}

bool tp_loop_is_current(const tp_loop_t *loop) {
  uv_thread_t self = uv_thread_self();
  return uv_thread_equal(&self, &loop->thread) != 0;
}

/* --- start and end --- */

/* libuv aborts if it can open its loop's descriptor but not the pipe for its signals. Tests whether
 * both can be opened: 0, or a libuv error. */
static int try_descriptors(void) {
  int ends[2], file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int error = pipe2(ends, O_CLOEXEC) ? uv_translate_sys_error(errno) : 0;
  if (!error) {
    close(ends[0]);
    close(ends[1]);
  }
  if (file >= 0) close(file);
  return error;
}

static hr_status_t start_uv(tp_loop_t *loop) {
  int error = try_descriptors();
  if (!error) error = uv_loop_init(&loop->uv);
  if (error) return uv_failure(error, "cannot make an event loop");
  error = uv_async_init(&loop->uv, &loop->wake, run_jobs);
  loop->wake.data = loop;
  if (!error) error = uv_thread_create(&loop->thread, run_thread, loop);
  if (!error) return NULL;
  if (loop->wake.loop) uv_close((uv_handle_t *)&loop->wake, NULL);
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  uv_loop_close(&loop->uv);
  return uv_failure(error, "cannot start the event loop");
}

static hr_status_t start_loop(tp_loop_t **out_loop) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_loop_t), &memory));
  tp_loop_t *loop = memory;
  loop->last_job = &loop->jobs;
  pthread_mutex_init(&loop->lock, NULL);
  hr_status_t st = start_uv(loop);
  if (st) {
    pthread_mutex_destroy(&loop->lock);
    hr_free(loop);
  } else {
    *out_loop = loop;
  }
  return st;
}

static void end_loop(tp_loop_t *loop) {
  pthread_mutex_lock(&loop->lock);
  loop->ending = true;
  pthread_mutex_unlock(&loop->lock);
  uv_async_send(&loop->wake);
  uv_thread_join(&loop->thread);
  uv_loop_close(&loop->uv);
  pthread_mutex_destroy(&loop->lock);
  hr_free(loop);
}

hr_status_t tp_loop_acquire(tp_loop_t **out_loop) {
  pthread_mutex_lock(&users_lock);
  hr_status_t st = the_loop ? NULL : start_loop(&the_loop);
  if (!st) {
    user_count++;
    *out_loop = the_loop;
  }
  pthread_mutex_unlock(&users_lock);
  return st;
}

void tp_loop_release(tp_loop_t *loop) {
  if (!loop) return;
  pthread_mutex_lock(&users_lock);
  bool last = --user_count == 0;
  if (last) the_loop = NULL;
  pthread_mutex_unlock(&users_lock);
  if (last) end_loop(loop);
}

/* --- work from other threads --- */

static void add_job(tp_loop_t *loop, job_t *job) {
  pthread_mutex_lock(&loop->lock);
  *loop->last_job = job;
  loop->last_job = &job->next;
  pthread_mutex_unlock(&loop->lock);
  uv_async_send(&loop->wake);
}

hr_status_t tp_loop_post(tp_loop_t *loop, tp_loop_fn fn, void *context) {
  void *memory;
  HR_TRY(hr_alloc(sizeof(job_t), &memory));
  job_t *job = memory;
  *job = (job_t){.fn = fn, .context = context};
  add_job(loop, job);
  return NULL;
}

void tp_loop_call(tp_loop_t *loop, tp_loop_fn fn, void *context) {
  if (tp_loop_is_current(loop)) {
    fn(context);
    return;
  }
  uv_sem_t done;
  int error = uv_sem_init(&done, 0);
  hr_assert(!error);
  job_t job = {.fn = fn, .context = context, .done = &done};
  add_job(loop, &job);
  uv_sem_wait(&done);
  uv_sem_destroy(&done);
}

/* --- sources --- */

typedef enum source_kind { SOURCE_TIMER, SOURCE_SIGNAL, SOURCE_WAKER } source_kind_t;

struct tp_source {
  union {
    uv_handle_t handle;
    uv_timer_t timer;
    uv_signal_t signal;
    uv_async_t async;
  };
  tp_loop_t *loop;
  tp_loop_fn fn;
  void *context;
};

/* Arguments of start_on_loop, on the stack of the thread that waits for it. */
typedef struct start {
  tp_source_t *source;
  source_kind_t kind;
  uint64_t first_ms, repeat_ms;
  int signal_number;
  int error;
} start_t;

static void run_source(tp_source_t *source) {
  if (!uv_is_closing(&source->handle)) source->fn(source->context);
}
static void on_timer(uv_timer_t *timer) { run_source(timer->data); }
static void on_wake(uv_async_t *async) { run_source(async->data); }
static void on_signal(uv_signal_t *signal, int number) {
  (void)number;
  run_source(signal->data);
}

static void free_source(uv_handle_t *handle) { hr_free(handle->data); }

static int start_kind(const start_t *start) {
  tp_source_t *source = start->source;
  uv_loop_t *uv = &source->loop->uv;
  switch (start->kind) {
    case SOURCE_TIMER:
      uv_timer_init(uv, &source->timer);
      return uv_timer_start(&source->timer, on_timer, start->first_ms, start->repeat_ms);
    case SOURCE_SIGNAL:
      uv_signal_init(uv, &source->signal);
      return uv_signal_start(&source->signal, on_signal, start->signal_number);
    default:
      return uv_async_init(uv, &source->async, on_wake);
  }
}

static void start_on_loop(void *context) {
  start_t *start = context;
  start->error = start_kind(start);
  start->source->handle.data = start->source;
  if (start->error) uv_close(&start->source->handle, free_source);
}

static void stop_on_loop(void *context) {
  tp_source_t *source = context;
  if (!uv_is_closing(&source->handle)) uv_close(&source->handle, free_source);
}

static hr_status_t add_source(tp_loop_t *loop, tp_loop_fn fn, void *context, start_t *start,
                              tp_source_t **out_source) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_source_t), &memory));
  start->source = memory;
  start->source->loop = loop;
  start->source->fn = fn;
  start->source->context = context;
  tp_loop_call(loop, start_on_loop, start);
  if (start->error) return uv_failure(start->error, "cannot watch for an event");
  *out_source = start->source;
  return NULL;
}

hr_status_t tp_loop_timer(tp_loop_t *loop, uint64_t first_ms, uint64_t repeat_ms, tp_loop_fn fn,
                          void *context, tp_source_t **out_source) {
  start_t start = {.kind = SOURCE_TIMER, .first_ms = first_ms, .repeat_ms = repeat_ms};
  return add_source(loop, fn, context, &start, out_source);
}

hr_status_t tp_loop_signal(tp_loop_t *loop, int signal_number, tp_loop_fn fn, void *context,
                           tp_source_t **out_source) {
  start_t start = {.kind = SOURCE_SIGNAL, .signal_number = signal_number};
  return add_source(loop, fn, context, &start, out_source);
}

hr_status_t tp_loop_waker(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_source_t **out_source) {
  start_t start = {.kind = SOURCE_WAKER};
  return add_source(loop, fn, context, &start, out_source);
}

void tp_source_wake(tp_source_t *source) { uv_async_send(&source->async); }

void tp_source_stop(tp_source_t *source) {
  if (source) tp_loop_call(source->loop, stop_on_loop, source);
}

/* --- work --- */

#define DEFAULT_POOL_THREADS 4 /* threads of libuv's pool, by its documentation */
#define MAX_POOL_THREADS 1024

static void await_end_of_trial(void *sem) { uv_sem_wait(sem); }

/* Starts as many threads as libuv's pool has, as a test: 0, or a libuv error. */
static int try_threads(int count) {
  uv_thread_t threads[MAX_POOL_THREADS];
  uv_sem_t end;
  int started = 0, error = uv_sem_init(&end, 0);
  if (error) return error;
  while (!error && started < count) {
    error = uv_thread_create(&threads[started], await_end_of_trial, &end);
    started += !error;
  }
  for (int i = 0; i < started; i++) uv_sem_post(&end);
  for (int i = 0; i < started; i++) uv_thread_join(&threads[i]);
  uv_sem_destroy(&end);
  return error;
}

/* libuv creates the threads of its pool with the first work, and aborts if it cannot. */
static hr_status_t ensure_pool(void) {
  static bool is_tried; /* guarded by users_lock */
  const char *size = getenv("UV_THREADPOOL_SIZE");
  int wanted = size ? atoi(size) : DEFAULT_POOL_THREADS;
  int count = (int)hr_max(1, hr_min(wanted, MAX_POOL_THREADS));
  pthread_mutex_lock(&users_lock);
  int error = is_tried ? 0 : try_threads(count);
  is_tried = is_tried || !error;
  pthread_mutex_unlock(&users_lock);
  return error ? uv_failure(error, "cannot start the threads that read and write files") : NULL;
}

struct tp_work {
  uv_work_t request;
  tp_loop_t *loop;
  tp_loop_fn fn;
  void *context;
  uv_sem_t ended;
};

static void run_work(uv_work_t *request) {
  tp_work_t *work = request->data;
  work->fn(work->context);
}

static void on_work_done(uv_work_t *request, int status) {
  (void)status;
  tp_work_t *work = request->data;
  uv_sem_post(&work->ended);
}

/* uv_queue_work fails for invalid arguments only; the work then runs on the loop thread. */
static void start_work(void *context) {
  tp_work_t *work = context;
  if (!uv_queue_work(&work->loop->uv, &work->request, run_work, on_work_done)) return;
  run_work(&work->request);
  on_work_done(&work->request, 0);
}

hr_status_t tp_loop_work(tp_loop_t *loop, tp_loop_fn fn, void *context, tp_work_t **out_work) {
  void *memory;
  HR_TRY(ensure_pool());
  HR_TRY(hr_alloc_zeroed(sizeof(tp_work_t), &memory));
  tp_work_t *work = memory;
  work->request.data = work;
  work->loop = loop;
  work->fn = fn;
  work->context = context;
  int error = uv_sem_init(&work->ended, 0);
  hr_status_t st =
      error ? uv_failure(error, "cannot make a semaphore") : tp_loop_post(loop, start_work, work);
  if (st) {
    if (!error) uv_sem_destroy(&work->ended);
    hr_free(work);
    return st;
  }
  *out_work = work;
  return NULL;
}

void tp_work_wait(tp_work_t *work) {
  if (!work) return;
  uv_sem_wait(&work->ended);
  uv_sem_destroy(&work->ended);
  hr_free(work);
}
