/* Streams: a queue under a mutex, and a thread that sleeps while the queue is empty. */
#include "pjrt/execute/pjrt_stream.h"

#include "pjrt/client/pjrt_fork.h"

void pjrt_stream_init(pjrt_stream_t *stream) {
  *stream = (pjrt_stream_t){.first = NULL};
  stream->last = &stream->first;
  pthread_mutex_init(&stream->mutex, NULL);
  pthread_cond_init(&stream->changed, NULL);
  pthread_cond_init(&stream->idle, NULL);
}

/* Waits for the next job. NULL ends the thread: the stream stops, and all its jobs are done. */
static pjrt_job_t *take_job(pjrt_stream_t *stream) {
  pthread_mutex_lock(&stream->mutex);
  while (!stream->first && !stream->stops) pthread_cond_wait(&stream->changed, &stream->mutex);
  pjrt_job_t *job = stream->first;
  if (job) stream->first = job->next;
  if (!stream->first) stream->last = &stream->first;
  pthread_mutex_unlock(&stream->mutex);
  return job;
}

/* The count goes down after the job: a stream is free only when the job's effects are visible. */
static void *stream_thread(void *context) {
  pjrt_stream_t *stream = context;
  for (pjrt_job_t *job; (job = take_job(stream));) {
    job->run(job);
    if (atomic_fetch_sub_explicit(&stream->pending, 1, memory_order_release) > 1) continue;
    pthread_mutex_lock(&stream->mutex);
    pthread_cond_broadcast(&stream->idle);
    pthread_mutex_unlock(&stream->mutex);
  }
  return NULL;
}

/* The thread starts under the mutex, so that two first jobs start one thread. */
hr_status_t pjrt_stream_add(pjrt_stream_t *stream, pjrt_job_t *job) {
  hr_status_t st = NULL;
  HR_TRY(pjrt_check_fork());
  job->next = NULL;
  pthread_mutex_lock(&stream->mutex);
  if (!stream->has_thread) {
    stream->has_thread = !pthread_create(&stream->thread, NULL, stream_thread, stream);
    if (!stream->has_thread) st = hr_error(HR_UNAVAILABLE, "cannot start the thread of a device");
  }
  if (!st) {
    atomic_fetch_add_explicit(&stream->pending, 1, memory_order_relaxed);
    *stream->last = job;
    stream->last = &job->next;
    pthread_cond_signal(&stream->changed);
  }
  pthread_mutex_unlock(&stream->mutex);
  return st;
}

bool pjrt_stream_is_free(const pjrt_stream_t *stream) {
  return !atomic_load_explicit(&stream->pending, memory_order_acquire);
}

bool pjrt_stream_visit(pjrt_stream_t *stream, bool (*fn)(pjrt_job_t *job, void *context),
                       void *context) {
  bool is_found = false;
  pthread_mutex_lock(&stream->mutex);
  for (pjrt_job_t *job = stream->first; job && !is_found; job = job->next)
    is_found = fn(job, context);
  pthread_mutex_unlock(&stream->mutex);
  return is_found;
}

void pjrt_stream_drain(pjrt_stream_t *stream) {
  pthread_mutex_lock(&stream->mutex);
  bool is_own = stream->has_thread && pthread_equal(stream->thread, pthread_self());
  while (!is_own && !pjrt_stream_is_free(stream)) pthread_cond_wait(&stream->idle, &stream->mutex);
  pthread_mutex_unlock(&stream->mutex);
}

/* A forked child has no such thread, and may find the mutex locked for ever: it touches nothing. */
void pjrt_stream_deinit(pjrt_stream_t *stream, bool forked) {
  if (forked) return;
  pthread_mutex_lock(&stream->mutex);
  stream->stops = true;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
  if (stream->has_thread) pthread_join(stream->thread, NULL);
  pthread_cond_destroy(&stream->changed);
  pthread_cond_destroy(&stream->idle);
  pthread_mutex_destroy(&stream->mutex);
}
