/* Outfeed into X.npz: arrays out0, out1, ..., one for each leaf, whose first dimension is the
 * number of the value. Until the end the arrays are in unlinked temporary files, so that memory is
 * bounded.
 * Thread: one at a time. */
#ifndef EXEC_FEED_LIST_H
#define EXEC_FEED_LIST_H

#include "feed/feed_open.h"

typedef struct feed_list_part {
  int fd;
  hr_dtype_t dtype;
  int rank;
  int64_t dims[HLO_MAX_RANK]; /* the first: number of values */
} feed_list_part_t;

typedef struct feed_list {
  const char *path; /* NULL: the outfeed is not an .npz */
  int count;
  feed_list_part_t *parts; /* per leaf; created with the first value */
  int64_t length;
} feed_list_t;

/* Opens the list if the sink is an .npz. Errors: USAGE for an .npy, which holds one array only. */
hr_status_t feed_list_open(feed_list_t *list, const feed_endpoint_t *endpoint);
/* Appends a value. Errors: INVALID for a shape other than that of the first value; UNAVAILABLE;
 * NO_MEMORY. */
hr_status_t feed_list_add(feed_list_t *list, const hlo_value_t *value);
/* Writes the archive, and replaces the file of that name. Errors: UNAVAILABLE. */
hr_status_t feed_list_finish(feed_list_t *list);
void feed_list_close(feed_list_t *list);

#endif
