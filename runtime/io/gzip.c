/* Deflates in pieces of PIECE_BYTES, so that memory does not grow with the file. Inflates into
 * memory that doubles: a file says its size only at its end, only modulo 2^32, and may lie. What
 * does not fit into memory ends by NO_MEMORY. Files of several members are their contents in a row.
 */
#include "io/gzip.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"

#define PIECE_BYTES 65536
#define GZIP_WINDOW (15 + 16) /* largest window, and gzip's header and trailer */
#define INPUT_MAX ((size_t)1 << 30)

/* What is left of the input, up to INPUT_MAX bytes at a time, as zlib counts in 32 bits. */
static hr_status_t deflate_piece(z_stream *stream, const unsigned char **at, size_t *left,
                                 hr_file_writer_t *file, int *out_result) {
  unsigned char piece[PIECE_BYTES];
  if (!stream->avail_in) {
    size_t size = *left < INPUT_MAX ? *left : INPUT_MAX;
    stream->next_in = (unsigned char *)*at;
    stream->avail_in = (unsigned)size;
    *at += size;
    *left -= size;
  }
  stream->next_out = piece;
  stream->avail_out = sizeof piece;
  *out_result = deflate(stream, *left ? Z_NO_FLUSH : Z_FINISH);
  if (*out_result == Z_STREAM_ERROR) return hr_error(HR_INTERNAL, "deflate fails");
  return hr_file_write(file, piece, sizeof piece - stream->avail_out);
}

/* Nothing is left behind if a write fails. */
hr_status_t gzip_write_all(const char *path, const void *bytes, size_t size_bytes) {
  z_stream stream = {0};
  hr_file_writer_t *file;
  const unsigned char *at = bytes;
  int result = Z_OK;
  HR_TRY(hr_file_create(path, &file));
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY))
    return hr_file_finish(file, hr_error(HR_NO_MEMORY, "no memory to compress %s", path));
  hr_status_t st = NULL;
  while (!st && result != Z_STREAM_END)
    st = deflate_piece(&stream, &at, &size_bytes, file, &result);
  deflateEnd(&stream);
  return hr_file_finish(file, st);
}

/* --- reading --- */

#define MAGIC "\x1f\x8b"
#define FIRST_BYTES ((size_t)1 << 16) /* first size of the memory for the result */

/* A result larger than GIVEN_BYTES may have at most LARGEST_RATIO times the compressed bytes.
 * Arrays of numbers have a smaller ratio; a small file that expands to gigabytes is an attack. */
#define GIVEN_BYTES ((size_t)1 << 28)
#define LARGEST_RATIO 64

typedef struct unpacking {
  const char *name;
  z_stream stream;
  const unsigned char *at; /* input that zlib was not given yet */
  size_t left;             /* bytes at `at` */
  size_t most_bytes;       /* limit of the result */
  void *memory;            /* the result so far */
  size_t size_bytes, capacity_bytes;
} unpacking_t;

static bool is_packed(const hr_buffer_t *bytes) {
  return hr_buffer_size(bytes) > 2 && memcmp(hr_buffer_data(bytes), MAGIC, 2) == 0;
}

static size_t at_most(size_t size) { return size < INPUT_MAX ? size : INPUT_MAX; }

static size_t most_unpacked(size_t packed_bytes) {
  if (packed_bytes > SIZE_MAX / LARGEST_RATIO) return SIZE_MAX;
  size_t most = packed_bytes * LARGEST_RATIO;
  return most > GIVEN_BYTES ? most : GIVEN_BYTES;
}

/* Room for more of the result, at least a byte. */
static hr_status_t make_room(unpacking_t *u) {
  size_t wanted = u->capacity_bytes ? u->capacity_bytes * 2 : FIRST_BYTES;
  if (u->size_bytes < u->capacity_bytes) return NULL;
  if (u->size_bytes >= u->most_bytes)
    return hr_error(HR_INVALID,
                    "%s becomes more than %zu MiB when it is unpacked, over %d times its size; if "
                    "that is right, unpack it by gzip -d",
                    u->name, u->size_bytes >> 20, LARGEST_RATIO);
  if (wanted > hr_mem_physical_bytes())
    return hr_error(HR_NO_MEMORY, "%s is too big when it is unpacked: more than %zu bytes", u->name,
                    u->capacity_bytes);
  HR_TRY(hr_realloc(&u->memory, u->capacity_bytes, wanted));
  u->capacity_bytes = wanted;
  return NULL;
}

/* zlib counts in 32 bits, so that input and room are given in parts. */
static hr_status_t inflate_some(unpacking_t *u, int *out_result) {
  HR_TRY(make_room(u));
  if (!u->stream.avail_in) {
    size_t size = at_most(u->left);
    u->stream.next_in = (unsigned char *)u->at;
    u->stream.avail_in = (unsigned)size;
    u->at += size;
    u->left -= size;
  }
  size_t room = at_most(u->capacity_bytes - u->size_bytes);
  u->stream.next_out = (unsigned char *)u->memory + u->size_bytes;
  u->stream.avail_out = (unsigned)room;
  *out_result = inflate(&u->stream, Z_NO_FLUSH);
  u->size_bytes += room - u->stream.avail_out;
  return NULL;
}

/* One member after the other, up to the end of the input. */
static hr_status_t inflate_all(unpacking_t *u) {
  int result = Z_OK;
  while (result != Z_STREAM_END || u->left || u->stream.avail_in) {
    if (result == Z_STREAM_END) inflateReset(&u->stream);
    HR_TRY(inflate_some(u, &result));
    bool is_fine = result == Z_OK || result == Z_STREAM_END;
    bool is_cut = result == Z_BUF_ERROR && !u->left && !u->stream.avail_in;
    if (is_cut) return hr_error(HR_INVALID, "%s is cut off: gzip has no end of it", u->name);
    if (!is_fine && result != Z_BUF_ERROR)
      return hr_error(HR_INVALID, "%s is a damaged file of gzip (%s)", u->name,
                      u->stream.msg ? u->stream.msg : "unknown bytes");
  }
  return NULL;
}

static void free_memory(void *context, void *data, size_t size_bytes) {
  (void)context;
  (void)size_bytes;
  hr_free(data);
}

static hr_status_t unpack(const char *name, const hr_buffer_t *bytes, hr_buffer_t **out_bytes) {
  unpacking_t u = {.name = name, .at = hr_buffer_data(bytes), .left = hr_buffer_size(bytes)};
  u.most_bytes = most_unpacked(u.left);
  if (inflateInit2(&u.stream, GZIP_WINDOW)) return hr_error(HR_NO_MEMORY, "no memory for %s", name);
  hr_status_t st = inflate_all(&u);
  inflateEnd(&u.stream);
  if (!st) st = hr_buffer_wrap(u.memory, u.size_bytes, true, free_memory, NULL, out_bytes);
  if (st) hr_free(u.memory);
  return st;
}

hr_status_t gzip_unpack(const char *name, hr_buffer_t *bytes, hr_buffer_t **out_bytes) {
  if (is_packed(bytes)) return unpack(name, bytes, out_bytes);
  *out_bytes = hr_buffer_retain(bytes);
  return NULL;
}

/* The packed bytes are not kept. */
hr_status_t gzip_map_file(const char *path, hr_buffer_t **out_bytes) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  hr_status_t st = gzip_unpack(path, bytes, out_bytes);
  hr_buffer_release(bytes);
  return st;
}
