/* A file of named arrays: .npz or .safetensors, recognised by its first bytes. An .npy is a file of
 * one array with an empty name. */
#ifndef HR_IO_ARRAY_FILE_H
#define HR_IO_ARRAY_FILE_H

#include "io/npy.h"
#include "io/safetensors.h"

typedef enum array_file_form {
  ARRAY_FILE_NPZ,
  ARRAY_FILE_SAFETENSORS,
  ARRAY_FILE_NPY
} array_file_form_t;

typedef struct array_file {
  array_file_form_t form;
  const char *path; /* borrowed */
  npz_t npz;
  safetensors_t safetensors;
  npy_t single;
} array_file_t;

/* Errors: UNAVAILABLE; INVALID with the file and what is wrong with it. Deinit also after a
 * failure.
 */
hr_status_t array_file_open(const char *path, array_file_t *out_file);
void array_file_deinit(array_file_t *file);
size_t array_file_count(const array_file_t *file);
hr_str_t array_file_name(const array_file_t *file, size_t index);
/* *out_found false if there is none of this name. The caller deinits *out_npy. */
hr_status_t array_file_find(const array_file_t *file, const char *name, bool *out_found,
                            npy_t *out_npy);
/* "a, b, c, ...": some of the names, for messages. */
void array_file_list(const array_file_t *file, hr_strbuf_t *text);

#endif
