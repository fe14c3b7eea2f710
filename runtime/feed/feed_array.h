/* An infeed out of NumPy's files: X.npy is the list of values of an infeed of one array; in X.npz
 * the arrays in0, in1,
 * ... are the lists of each. The first dimension counts the values. */
#ifndef EXEC_FEED_ARRAY_H
#define EXEC_FEED_ARRAY_H

#include "feed/feed_open.h"
#include "io/npy.h"

typedef struct feed_array {
  bool is_open, is_npz;
  const char *path;
  npz_t npz;
  int count;
  npy_t *arrays;
  hlo_value_t *
      *lists; /* all values of each, over the file's bytes; made when the types are known */
  int64_t next, length;
} feed_array_t;

bool feed_array_is_named(const feed_endpoint_t *endpoint); /* does the file end in .npy or .npz? */
/* The path must outlive it. Errors: INVALID, UNAVAILABLE. */
hr_status_t feed_array_open(feed_array_t *array, const char *path);
void feed_array_close(feed_array_t *array);
/* As feed_read_value. */
hr_status_t feed_array_next(feed_array_t *array, const feed_shapes_t *shapes,
                            hlo_value_t ***out_leaves, int *out_count);

#endif
