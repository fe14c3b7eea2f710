/* The stream of a device: jobs that run one after the other on a thread of the device. The thread
 * is started by the first job.
 * Thread: any. */
#ifndef PJRT_STREAM_H
#define PJRT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"

typedef struct pjrt_job pjrt_job_t;
/* A job is the first member of what its function needs. It belongs to the stream once it is
 * added. */
struct pjrt_job {
  pjrt_job_t *next;
  void (*run)(pjrt_job_t *job); /* frees the job */
};

typedef struct pjrt_stream {
  /* guards all members but `pending` */
  pthread_mutex_t mutex;
  /* signals a new job, or `stops` */
  pthread_cond_t changed;
  /* signals that nothing waits or runs */
  pthread_cond_t idle;
  pthread_t thread;
  /* the thread was started; it ends when the queue is empty */
  bool has_thread, stops;
  pjrt_job_t *first, **last; /* jobs that wait */
  atomic_int pending;        /* jobs that wait or run */
} pjrt_stream_t;

void pjrt_stream_init(pjrt_stream_t *stream);
/* Runs what is queued, and ends the thread; with `forked` there is none. */
void pjrt_stream_deinit(pjrt_stream_t *stream, bool forked);
/* Appends a job. Errors: UNAVAILABLE if the thread cannot be started, USAGE in a forked process;
 * the job is not run then. */
hr_status_t pjrt_stream_add(pjrt_stream_t *stream, pjrt_job_t *job);
/* True if nothing is queued or runs: a job may then be run in the calling thread without overtaking
 * others. */
bool pjrt_stream_is_free(const pjrt_stream_t *stream);
/* Calls `fn` for the jobs that wait, the first one first, until it returns true; none begins
 * meanwhile. True if `fn` was. */
bool pjrt_stream_visit(pjrt_stream_t *stream, bool (*fn)(pjrt_job_t *job, void *context),
                       void *context);
/* Waits until the stream is free. A job of the stream that calls it does not wait for itself. */
void pjrt_stream_drain(pjrt_stream_t *stream);

#endif
