/* A short queue of values between a program and a thread that reads or writes them. */
#ifndef EXEC_FEED_QUEUE_H
#define EXEC_FEED_QUEUE_H

#include <pthread.h>

#include "ir/value.h"

#define FEED_QUEUE_VALUES 4

typedef struct feed_item {
  hlo_value_t **leaves; /* of an infeed; allocated with hr_alloc */
  int count;
  hlo_value_t *value; /* of an outfeed */
} feed_item_t;

typedef struct feed_queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  feed_item_t items[FEED_QUEUE_VALUES];
  unsigned first, count;
  bool ended;         /* nothing more will be put in */
  bool stopped;       /* nobody takes any more */
  hr_status_t status; /* why it ended; owned */
} feed_queue_t;

/* Asked now and then while a caller waits; may be NULL. */
typedef hr_status_t (*feed_interrupted_fn)(void *context);

void feed_queue_init(feed_queue_t *queue);
void feed_queue_deinit(feed_queue_t *queue); /* releases what is in it */
/* Waits for room. Takes the item over, also when it fails. *out_stopped: nobody takes it. */
hr_status_t feed_queue_put(feed_queue_t *queue, feed_item_t item, feed_interrupted_fn interrupted,
                           void *context, bool *out_stopped);
/* Waits for an item; *out_ended: there will be none. Gives the failure with which it ended, once.
 */
hr_status_t feed_queue_take(feed_queue_t *queue, feed_interrupted_fn interrupted, void *context,
                            feed_item_t *out_item, bool *out_ended);
void feed_queue_end(feed_queue_t *queue, hr_status_t st);  /* takes st over */
void feed_queue_stop(feed_queue_t *queue, hr_status_t st); /* takes st over */
void feed_item_release(feed_item_t *item);

#endif
