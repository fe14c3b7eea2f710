/* Wire format of infeed and outfeed, in files, pipes and sockets alike. Numbers are little-endian.
 *
 *   stream  := [secret] value*        ends with the file or connection, between two values
 *   secret  := "HLK1" u32 size, bytes       over TCP, if one is set, from the client
 *   value   := "HLF1" u32 leaves, leaf*     one infeed or outfeed: a flattened tuple, no tokens
 *   leaf    := name[16] u32 rank, u32 zero, i64 size[rank], data, pad
 *   name    := element type as in HLO ("f32", "bf16", "pred"), padded with zero bytes
 *   data    := elements, row-major; types narrower than a byte take one byte per element
 *   pad     := 0 to 7 zero bytes up to a multiple of 8
 *
 * Headers are compared with the program's shapes before memory is allocated. */
#ifndef EXEC_FEED_WIRE_H
#define EXEC_FEED_WIRE_H

#include "ir/value.h"

/* A stream of bytes whose blocking calls another thread can cancel. */
typedef struct feed_io {
  int fd;
  int stop_fd;      /* readable: blocking calls return CANCELLED */
  const char *name; /* for messages: the spec */
  uint64_t values;  /* values transferred so far */
} feed_io_t;

/* Allowed shapes of values: the flattened leaves of each infeed of the program. */
typedef struct feed_shape {
  int leaf_count;
  const hlo_shape_t **leaves;
} feed_shape_t;
typedef struct feed_shapes {
  size_t count;
  const feed_shape_t *list;
} feed_shapes_t;

/* Reads exactly `size_bytes`. *out_end is set if the stream ends before the first byte; with NULL
 * that is an error. Errors: UNAVAILABLE, CANCELLED. */
hr_status_t feed_read(feed_io_t *io, void *into, size_t size_bytes, bool *out_end);
hr_status_t feed_write(feed_io_t *io, const void *from, size_t size_bytes);

/* Reads a value. *out_leaves is NULL at the end of the stream.
 * Owner:  the caller frees the list with hr_free and releases its *out_count references.
 * Errors: INVALID for data that is not a value, or of a shape that no infeed has; UNAVAILABLE;
 *         CANCELLED; NO_MEMORY. */
hr_status_t feed_read_value(feed_io_t *io, const feed_shapes_t *shapes, hlo_value_t ***out_leaves,
                            int *out_count);
hr_status_t feed_write_value(feed_io_t *io, const hlo_value_t *value);

#endif
