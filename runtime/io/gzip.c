/* Deflates in pieces of PIECE_BYTES, so that memory does not grow with the file. */
#include "io/gzip.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"

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
