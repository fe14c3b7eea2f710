/* Gzip files, read and written as a whole. Source: RFC 1952. */
#ifndef HR_IO_GZIP_H
#define HR_IO_GZIP_H

#include "base/buffer.h"

/* Compresses the bytes into a file, as hr_file_write_all writes it. Errors: NO_MEMORY; UNAVAILABLE
 * with the path. */
hr_status_t gzip_write_all(const char *path, const void *bytes, size_t size_bytes);

/* Decompresses gzip data; other data are returned unchanged. The caller releases *out_bytes, which
 * may be `bytes` itself. `name` is for messages. Errors: INVALID for damaged or truncated data;
 * NO_MEMORY. */
hr_status_t gzip_unpack(const char *name, hr_buffer_t *bytes, hr_buffer_t **out_bytes);
/* hr_buffer_map_file for a file that may be compressed. */
hr_status_t gzip_map_file(const char *path, hr_buffer_t **out_bytes);

#endif
