/* Reads and writes the wire format of feeds (feed_wire.h). Every read and write first polls the
 * descriptor together with stop_fd, so that a blocked feed can be cancelled. Headers are
 * validated against the program's shapes before memory is allocated. */
#include "feed/feed_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/npy.h"

#define VALUE_MAGIC "HLF1"
#define MAX_IO_BYTES ((size_t)1 << 30)

typedef struct value_header {
  char magic[4];
  uint32_t leaves;
} value_header_t;

typedef struct leaf_header {
  char name[16];
  uint32_t rank, zero;
} leaf_header_t;

/* --- bytes --- */

/* The system's error, with the number of values transferred before. */
static hr_status_t failed(const feed_io_t *io, const char *what) {
  return hr_error(HR_UNAVAILABLE, "%s: %s after %llu values: %s", io->name, what,
                  (unsigned long long)io->values, strerror(errno));
}

/* Waits until the stream is ready. Errors: CANCELLED by stop_fd. */
static hr_status_t wait_ready(const feed_io_t *io, short events) {
  struct pollfd fds[2] = {{.fd = io->fd, .events = events}, {.fd = io->stop_fd, .events = POLLIN}};
  while (poll(fds, 2, -1) < 0)
    if (errno != EINTR) return failed(io, "waiting failed");
  return fds[1].revents ? hr_error(HR_CANCELLED, "%s: stopped", io->name) : NULL;
}

/* Reads exactly so many bytes. The end of the stream is an error, unless out_end is given and no
 * byte was read. */
hr_status_t feed_read(feed_io_t *io, void *into, size_t size_bytes, bool *out_end) {
  size_t done = 0;
  while (done < size_bytes) {
    HR_TRY(wait_ready(io, POLLIN));
    size_t left = size_bytes - done;
    ssize_t got = read(io->fd, (char *)into + done, left < MAX_IO_BYTES ? left : MAX_IO_BYTES);
    if (got < 0 && errno != EINTR && errno != EAGAIN) return failed(io, "reading failed");
    if (got > 0) done += (size_t)got;
    if (got != 0) continue;
    if (out_end && done == 0) {
      *out_end = true;
      return NULL;
    }
    return hr_error(HR_UNAVAILABLE, "%s ends in the middle of value %llu", io->name,
                    (unsigned long long)io->values + 1);
  }
  return NULL;
}

/* Writes exactly so many bytes, in pieces of at most MAX_IO_BYTES, as Linux passes at most 2 GiB
 * at once. */
hr_status_t feed_write(feed_io_t *io, const void *from, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    HR_TRY(wait_ready(io, POLLOUT));
    size_t left = size_bytes - done;
    ssize_t put =
        write(io->fd, (const char *)from + done, left < MAX_IO_BYTES ? left : MAX_IO_BYTES);
    if (put < 0 && errno != EINTR && errno != EAGAIN) return failed(io, "writing failed");
    if (put > 0) done += (size_t)put;
  }
  return NULL;
}

/* --- reading values --- */

/* The number of arrays must be that of some infeed, before a list of them is allocated. */
static hr_status_t check_header(const feed_io_t *io, const value_header_t *header,
                                const feed_shapes_t *shapes) {
  if (memcmp(header->magic, VALUE_MAGIC, sizeof header->magic))
    return hr_error(HR_INVALID, "%s: value %llu does not begin with " VALUE_MAGIC, io->name,
                    (unsigned long long)io->values + 1);
  for (size_t i = 0; i < shapes->count; i++)
    if ((uint32_t)shapes->list[i].leaf_count == header->leaves) return NULL;
  return hr_error(HR_INVALID,
                  "%s: value %llu has %u arrays, which no infeed of the program accepts", io->name,
                  (unsigned long long)io->values + 1, header->leaves);
}

/* True if such an array fits a leaf of an infeed; dynamic sizes may be smaller. */
static bool fits_shape(const hlo_shape_t *want, hr_dtype_t dtype, uint32_t rank,
                       const int64_t *dims) {
  hlo_value_t value = {.dtype = dtype, .rank = (int)rank, .dims = dims};
  return hlo_value_fits(&value, want);
}

/* True if some infeed of `leaves` leaves accepts such an array as leaf k. */
static bool is_expected(const feed_shapes_t *shapes, uint32_t leaves, uint32_t k, hr_dtype_t dtype,
                        uint32_t rank, const int64_t *dims) {
  for (size_t i = 0; i < shapes->count; i++)
    if ((uint32_t)shapes->list[i].leaf_count == leaves &&
        fits_shape(shapes->list[i].leaves[k], dtype, rank, dims))
      return true;
  return false;
}

/* Refuses an array before its bytes are read. */
static hr_status_t unexpected(const feed_io_t *io, uint32_t k, hr_dtype_t dtype, uint32_t rank,
                              const int64_t *dims) {
  char text[HLO_SHAPE_TEXT];
  hlo_shape_t shape = {.dtype = dtype, .rank = (int)rank, .dims = dims};
  return hr_error(HR_INVALID,
                  "%s: array %u of value %llu is %s, which no infeed of the program accepts",
                  io->name, k, (unsigned long long)io->values + 1, hlo_shape_text(&shape, text));
}

/* Type name, rank and sizes: 24 bytes and 8 for each dimension. */
static hr_status_t read_leaf_header(feed_io_t *io, uint32_t k, hr_dtype_t *out_dtype,
                                    uint32_t *out_rank, int64_t dims[HLO_MAX_RANK]) {
  leaf_header_t header;
  HR_TRY(feed_read(io, &header, sizeof header, NULL));
  hr_str_t name = {header.name, strnlen(header.name, sizeof header.name)};
  if (!hr_dtype_from_name(name, out_dtype) || !hr_dtype_is_array(*out_dtype) ||
      header.rank > HLO_MAX_RANK)
    return hr_error(HR_INVALID, "%s: array %u of value %llu has an unknown type, or %u dimensions",
                    io->name, k, (unsigned long long)io->values + 1, header.rank);
  *out_rank = header.rank;
  return feed_read(io, dims, header.rank * sizeof *dims, NULL);
}

/* Elements narrower than a byte are stored in whole bytes, whose upper bits would be read, too.
 * Those of integers are ignored, as in files; a pred with another value than 0 or 1 is an error. */
static hr_status_t check_bytes(const feed_io_t *io, hlo_value_t *leaf) {
  const unsigned char *bytes = leaf->data, limit = 1;
  if (leaf->dtype != HR_PRED) {
    npy_normalize(leaf->dtype, leaf->data, leaf->count);
    return NULL;
  }
  for (int64_t i = 0; i < leaf->count; i++)
    if (bytes[i] > limit)
      return hr_error(HR_INVALID, "%s: a pred element is %d, want 0 or 1", io->name, bytes[i]);
  return NULL;
}

/* Header, bytes, padding to a multiple of 8. */
static hr_status_t read_leaf(feed_io_t *io, const feed_shapes_t *shapes, uint32_t leaves,
                             uint32_t k, hlo_value_t **out_leaf) {
  hr_dtype_t dtype;
  uint32_t rank;
  int64_t dims[HLO_MAX_RANK];
  char padding[8];
  HR_TRY(read_leaf_header(io, k, &dtype, &rank, dims));
  if (!is_expected(shapes, leaves, k, dtype, rank, dims))
    return unexpected(io, k, dtype, rank, dims);
  HR_TRY(hlo_value_array(dtype, (int)rank, dims, out_leaf));
  size_t bytes = hlo_value_bytes(*out_leaf);
  HR_TRY(feed_read(io, (*out_leaf)->data, bytes, NULL));
  HR_TRY(feed_read(io, padding, -bytes % 8, NULL));
  return check_bytes(io, *out_leaf);
}

/* *out_leaves NULL: the stream ended in order, between values. The caller owns the list. */
hr_status_t feed_read_value(feed_io_t *io, const feed_shapes_t *shapes, hlo_value_t ***out_leaves,
                            int *out_count) {
  value_header_t header;
  bool end = false;
  void *memory;
  *out_leaves = NULL;
  HR_TRY(feed_read(io, &header, sizeof header, &end));
  if (end) return NULL;
  HR_TRY(check_header(io, &header, shapes));
  HR_TRY(hr_alloc_zeroed((header.leaves + 1) * sizeof(hlo_value_t *), &memory));
  hlo_value_t **leaves = memory;
  hr_status_t st = NULL;
  for (uint32_t k = 0; k < header.leaves && !st; k++)
    st = read_leaf(io, shapes, header.leaves, k, &leaves[k]);
  if (st) {
    for (uint32_t k = 0; k < header.leaves; k++) hlo_value_release(leaves[k]);
    hr_free(leaves);
    return st;
  }
  io->values++;
  *out_leaves = leaves;
  *out_count = (int)header.leaves;
  return NULL;
}

/* --- writing values --- */

/* As read_leaf reads it. */
static hr_status_t write_leaf(feed_io_t *io, const hlo_value_t *leaf) {
  static const char zeros[8];
  leaf_header_t header = {.rank = (uint32_t)leaf->rank};
  size_t bytes = hlo_value_bytes(leaf);
  const char *name = hr_dtype_name(leaf->dtype);
  memcpy(header.name, name, strnlen(name, sizeof header.name));
  HR_TRY(feed_write(io, &header, sizeof header));
  HR_TRY(feed_write(io, leaf->dims, (size_t)leaf->rank * sizeof *leaf->dims));
  HR_TRY(feed_write(io, leaf->data, bytes));
  return feed_write(io, zeros, -bytes % 8);
}

/* Tokens have no bytes and are left out of the count. */
hr_status_t feed_write_value(feed_io_t *io, const hlo_value_t *value) {
  value_header_t header = {VALUE_MAGIC, 0};
  int count = hlo_value_leaf_count(value);
  for (int k = 0; k < count; k++)
    header.leaves += hlo_value_leaf((hlo_value_t *)value, k)->dtype != HR_TOKEN;
  HR_TRY(feed_write(io, &header, sizeof header));
  for (int k = 0; k < count; k++) {
    const hlo_value_t *leaf = hlo_value_leaf((hlo_value_t *)value, k);
    if (leaf->dtype != HR_TOKEN) HR_TRY(write_leaf(io, leaf));
  }
  io->values++;
  return NULL;
}
