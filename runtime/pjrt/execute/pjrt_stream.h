/* The stream of a device: jobs that run one after the other on a thread of the device. The thread
 * is started by the first job.
 * Thread: any. */
#ifndef PJRT_STREAM_H
#define PJRT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"

typedef struct pjrt_job pjrt_job_t;
/* A job: first member of a struct with the function's data. The stream owns it once it is added. */
struct pjrt_job {
  pjrt_job_t *next;
  void (*run)(pjrt_job_t *job); /* frees the job */
};

typedef struct pjrt_stream {
  pthread_mutex_t mutex;  /* guards all members but `pending` */
  pthread_cond_t changed; /* signals a new job, or `stops` */
  /* signals that nothing waits or runs */
  pthread_cond_t idle;
  pthread_t thread;
  bool has_thread, stops;    /* the thread was started; it ends when the queue is empty */
  pjrt_job_t *first, **last; /* jobs that wait */
  atomic_int pending;        /* jobs that wait or run */
} pjrt_stream_t;

void pjrt_stream_init(pjrt_stream_t *stream);
/* Runs queued jobs and ends the thread; with `forked` there is no thread. */
void pjrt_stream_deinit(pjrt_stream_t *stream, bool forked);
/* Appends a job. Errors: UNAVAILABLE if the thread cannot be started, USAGE in a forked process;
 * the job is not run then. */
hr_status_t pjrt_stream_add(pjrt_stream_t *stream, pjrt_job_t *job);
/* True if no job is queued or runs: then the calling thread may run a job without overtaking
 * others.
 */
bool pjrt_stream_is_free(const pjrt_stream_t *stream);
/* Calls `fn` for the queued jobs in order until it returns true; no job starts meanwhile. Returns
 * true if `fn` did. */
bool pjrt_stream_visit(pjrt_stream_t *stream, bool (*fn)(pjrt_job_t *job, void *context),
                       void *context);
/* Waits until the stream is free. A job of the stream that calls it does not wait for itself. */
void pjrt_stream_drain(pjrt_stream_t *stream);

#endif
