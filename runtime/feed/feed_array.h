/* Infeed from NumPy files. X.npy has the values of an infeed with one array; X.npz has arrays in0,
 * in1, ..., one for each leaf. The first dimension is the number of the value. */
#ifndef EXEC_FEED_ARRAY_H
#define EXEC_FEED_ARRAY_H

#include "feed/feed_open.h"
#include "ir/value_npy.h"

typedef struct feed_array {
  bool is_open, is_npz;
  const char *path;
  npz_t npz;
  int count;
  npy_t *arrays;
  hlo_value_t **lists; /* by leaf: all values, over the file's bytes; NULL until the element types
                          are known */
  int64_t next, length;
} feed_array_t;

bool feed_array_is_named(const feed_endpoint_t *endpoint); /* true for file:*.npy and file:*.npz */
/* Owner:   borrows the path until feed_array_close.
 * Errors:  INVALID for arrays of different lengths; UNAVAILABLE; NO_MEMORY. */
hr_status_t feed_array_open(feed_array_t *array, const char *path);
void feed_array_close(feed_array_t *array);
/* The next value, as feed_read_value. Owner: the caller releases the leaves and the list. */
hr_status_t feed_array_next(feed_array_t *array, const feed_shapes_t *shapes,
                            hlo_value_t ***out_leaves, int *out_count);

#endif
