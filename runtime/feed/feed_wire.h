/* The wire format of infeed and outfeed, in files, pipes and sockets alike. All numbers are
 * little-endian.
 *
 *   stream    := [secret] value*            it ends with the end of the file or connection, between
 * two values secret    := "HLK1" u32 size, bytes     only over TCP from other machines, from
 * whoever connects value     := "HLF1" u32 leaves, leaf*   what one infeed takes or one outfeed
 * gives: a tuple flattened, without tokens leaf      := name[16] u32 rank, u32 zero, i64
 * size[rank], data, 0 to 7 zero bytes up to a multiple of 8 name      := element type as HLO spells
 * it ("f32", "bf16", "pred"), filled up with zero bytes data      := the elements in row-major
 * order; types narrower than a byte take one byte an element
 *
 * What arrives is compared with the shapes that the program has before memory is taken for it. */
#ifndef EXEC_FEED_WIRE_H
#define EXEC_FEED_WIRE_H

#include "ir/value.h"

/* A stream of bytes that can be told to stop from outside. */
typedef struct feed_io {
  int fd;
  int stop_fd;      /* readable: give up */
  const char *name; /* for messages: the spec */
  uint64_t values;  /* that have passed */
} feed_io_t;

/* The shapes that values may have: flattened, one list for each infeed of the program. */
typedef struct feed_shape {
  int leaf_count;
  const hlo_shape_t **leaves;
} feed_shape_t;
typedef struct feed_shapes {
  size_t count;
  const feed_shape_t *list;
} feed_shapes_t;

/* All of `size_bytes`, or an error. *out_end (may be NULL: an error then) is set if the stream ends
 * before the first. */
hr_status_t feed_read(feed_io_t *io, void *into, size_t size_bytes, bool *out_end);
hr_status_t feed_write(feed_io_t *io, const void *from, size_t size_bytes);

/* The next value's leaves in a list of `leaf_count` references, allocated with hr_alloc;
 * *out_leaves is NULL at the end of the stream. Errors: INVALID what arrives is no value or none
 * that the program takes; UNAVAILABLE; CANCELLED. */
hr_status_t feed_read_value(feed_io_t *io, const feed_shapes_t *shapes, hlo_value_t ***out_leaves,
                            int *out_count);
hr_status_t feed_write_value(feed_io_t *io, const hlo_value_t *value);

/* Of whoever connects: is what it sends the secret? */
hr_status_t feed_read_secret(feed_io_t *io, const char *secret, bool *out_right);

#endif
