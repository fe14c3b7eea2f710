/* A bounded queue with one producer and one consumer, under a mutex. Waits poll an interruption
 * function, so that time-outs and cancellation reach a program that waits for its feed. */
#include "feed/feed_queue.h"

#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define POLL_MS 20 /* period of polls for interruption while waiting */

void feed_item_release(feed_item_t *item) {
  for (int k = 0; k < item->count; k++) hlo_value_release(item->leaves[k]);
  hr_free(item->leaves);
  hlo_value_release(item->value);
  *item = (feed_item_t){0};
}

void feed_queue_init(feed_queue_t *queue) {
  pthread_condattr_t attributes;
  *queue = (feed_queue_t){0};
  pthread_mutex_init(&queue->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&queue->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

void feed_queue_deinit(feed_queue_t *queue) {
  for (unsigned i = 0; i < queue->count; i++)
    feed_item_release(&queue->items[(queue->first + i) % FEED_QUEUE_VALUES]);
  hr_status_release(queue->status);
  pthread_mutex_destroy(&queue->lock);
  pthread_cond_destroy(&queue->changed);
}

/* Waits for a change or a poll period. Call with the lock held; it is released meanwhile. */
static hr_status_t wait_changed(feed_queue_t *queue, feed_interrupted_fn interrupted,
                                void *context) {
  struct timespec until;
  if (!interrupted) {
    pthread_cond_wait(&queue->changed, &queue->lock);
    return NULL;
  }
  until = hr_clock_deadline(CLOCK_MONOTONIC, POLL_MS);
  pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
  pthread_mutex_unlock(&queue->lock);
  hr_status_t st = interrupted(context);
  pthread_mutex_lock(&queue->lock);
  return st;
}

static hr_status_t take_status(feed_queue_t *queue) {
  hr_status_t st = queue->status;
  queue->status = NULL;
  return st;
}

hr_status_t feed_queue_put(feed_queue_t *queue, feed_item_t item, feed_interrupted_fn interrupted,
                           void *context, bool *out_stopped) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&queue->lock);
  while (!st && !queue->stopped && queue->count == FEED_QUEUE_VALUES)
    st = wait_changed(queue, interrupted, context);
  *out_stopped = queue->stopped;
  if (!st && queue->stopped && interrupted) st = take_status(queue);
  if (!st && !queue->stopped) {
    queue->items[(queue->first + queue->count++) % FEED_QUEUE_VALUES] = item;
    item = (feed_item_t){0};
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  feed_item_release(&item);
  return st;
}

hr_status_t feed_queue_take(feed_queue_t *queue, feed_interrupted_fn interrupted, void *context,
                            feed_item_t *out_item, bool *out_ended) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&queue->lock);
  while (!st && !queue->count && !queue->ended && !queue->stopped)
    st = wait_changed(queue, interrupted, context);
  *out_ended = !queue->count || queue->stopped;
  if (!st && *out_ended && !queue->stopped) st = take_status(queue);
  if (!st && !*out_ended) {
    *out_item = queue->items[queue->first];
    queue->first = (queue->first + 1) % FEED_QUEUE_VALUES;
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return st;
}

hr_status_t feed_queue_await_stop(feed_queue_t *queue, feed_interrupted_fn interrupted,
                                  void *context, atomic_ulong *progress) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&queue->lock);
  for (unsigned count = queue->count; !st && !queue->stopped;) {
    st = wait_changed(queue, interrupted, context);
    if (progress) atomic_fetch_add_explicit(progress, count - queue->count, memory_order_relaxed);
    count = queue->count;
  }
  pthread_mutex_unlock(&queue->lock);
  return st;
}

static void close_queue(feed_queue_t *queue, bool *flag, hr_status_t st) {
  pthread_mutex_lock(&queue->lock);
  *flag = true;
  queue->status = hr_status_join(queue->status, st);
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

void feed_queue_end(feed_queue_t *queue, hr_status_t st) { close_queue(queue, &queue->ended, st); }
void feed_queue_stop(feed_queue_t *queue, hr_status_t st) {
  close_queue(queue, &queue->stopped, st);
}
