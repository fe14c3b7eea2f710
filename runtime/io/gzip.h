/* Files of gzip, written whole. */
#ifndef HR_IO_GZIP_H
#define HR_IO_GZIP_H

#include "base/status.h"

/* Compresses the bytes into a file, as hr_file_write_all writes it. Errors: NO_MEMORY; UNAVAILABLE
 * with the path. Source: RFC 1952. */
hr_status_t gzip_write_all(const char *path, const void *bytes, size_t size_bytes);

#endif
