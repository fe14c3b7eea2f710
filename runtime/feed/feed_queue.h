/* A bounded queue of values between a program and the thread that reads or writes its feed.
 * Thread: one producer and one consumer. */
#ifndef EXEC_FEED_QUEUE_H
#define EXEC_FEED_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ir/value.h"

#define FEED_QUEUE_VALUES 4

typedef struct feed_item {
  hlo_value_t **leaves; /* infeed: list allocated with hr_alloc */
  int count;
  hlo_value_t *value; /* outfeed */
} feed_item_t;

typedef struct feed_queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  feed_item_t items[FEED_QUEUE_VALUES];
  unsigned first, count;
  bool ended;         /* set by the producer: no more items */
  bool stopped;       /* set by the consumer: items are dropped */
  hr_status_t status; /* status passed by the producer or consumer; owned */
} feed_queue_t;

/* Polled while a caller waits; an error ends the wait. May be NULL. */
typedef hr_status_t (*feed_interrupted_fn)(void *context);

void feed_queue_init(feed_queue_t *queue);
void feed_queue_deinit(feed_queue_t *queue); /* releases what is in it */
/* Waits for room and appends. Owner: consumes the item in any case. *out_stopped: the consumer has
 * stopped and the item was dropped. */
hr_status_t feed_queue_put(feed_queue_t *queue, feed_item_t item, feed_interrupted_fn interrupted,
                           void *context, bool *out_stopped);
/* Waits for an item. *out_ended: there are no more. Errors: the status with which the producer
 * ended, once. */
hr_status_t feed_queue_take(feed_queue_t *queue, feed_interrupted_fn interrupted, void *context,
                            feed_item_t *out_item, bool *out_ended);
/* After the end: waits until the consumer has stopped. `progress`, which may be NULL, counts the
 * items that it takes. Errors: those of `interrupted`. */
hr_status_t feed_queue_await_stop(feed_queue_t *queue, feed_interrupted_fn interrupted,
                                  void *context, atomic_ulong *progress);
void feed_queue_end(feed_queue_t *queue, hr_status_t st);  /* by the producer; consumes st */
void feed_queue_stop(feed_queue_t *queue, hr_status_t st); /* by the consumer; consumes st */
void feed_item_release(feed_item_t *item);

#endif
