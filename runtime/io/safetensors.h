/* Files of named arrays in the safetensors format: 8 bytes of length, a JSON header with types,
 * shapes and offsets, then the arrays' bytes, row-major and little-endian. Reading maps the file.
 * Errors: INVALID with the file and what is wrong with it; UNAVAILABLE when it cannot be read or
 * written.
 * Source: the format's description, version 0.4 and later. */
#ifndef HR_IO_SAFETENSORS_H
#define HR_IO_SAFETENSORS_H

#include "io/npy.h"

typedef struct safetensors {
  const char *path;
  hr_buffer_t *file;
  hr_arena_t arena;
  hr_map_t by_name;
  size_t count;
  struct safetensor *arrays; /* in the header's order */
} safetensors_t;

/* True if the bytes begin like such a file: a length that fits, then "{". */
bool safetensors_is(hr_str_t bytes);
/* Reads the header; `path` is for messages, the buffer is retained. Deinit also after a failure. */
hr_status_t safetensors_open(const char *path, hr_buffer_t *bytes, safetensors_t *out_file);
void safetensors_deinit(safetensors_t *file);
hr_str_t safetensors_name(const safetensors_t *file, size_t index);
/* The array of this name, over the file's bytes; *out_found false if there is none. */
hr_status_t safetensors_find(const safetensors_t *file, const char *name, bool *out_found,
                             npy_t *out_npy);

/* Appends one entry to a header, with a comma before it unless it is the first. Adds the array's
 * size to *offset_bytes. Errors: USAGE for a type that the format lacks. */
hr_status_t safetensors_add_entry(hr_strbuf_t *header, const char *name, hr_dtype_t dtype, int rank,
                                  const int64_t *dims, uint64_t *offset_bytes);
/* Writes length and header, "{" to "}", padded so that the arrays are aligned. */
hr_status_t safetensors_begin(hr_file_writer_t *file, hr_strbuf_t *header);

#endif
