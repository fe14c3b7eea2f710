/* An outfeed into X.npz: the arrays out0, out1, ... are the lists of what each part of the values
 * held, their first dimension counting the values. Until the end they are in files without a name
 * beside it: memory stays bounded. Thread: one at a time. */
#ifndef EXEC_FEED_LIST_H
#define EXEC_FEED_LIST_H

#include "feed/feed_open.h"

typedef struct feed_list_part {
  int fd;
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK]; /* the first: how many values */
} feed_list_part_t;

typedef struct feed_list {
  const char *path; /* NULL: the outfeed is no such list */
  int count;
  feed_list_part_t *parts; /* made with the first value */
  int64_t length;
} feed_list_t;

/* Errors: USAGE for an .npy, which holds one array. */
hr_status_t feed_list_open(feed_list_t *list, const feed_endpoint_t *endpoint);
/* Errors: INVALID a value of another shape than the first; UNAVAILABLE; NO_MEMORY. */
hr_status_t feed_list_add(feed_list_t *list, const hlo_value_t *value);
/* Writes the archive. */
hr_status_t feed_list_finish(feed_list_t *list);
void feed_list_close(feed_list_t *list);

#endif
