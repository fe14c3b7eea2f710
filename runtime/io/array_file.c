/* Chooses the reader of a file of arrays; a file that is neither form gets the message of .npz. */
#include "io/array_file.h"

#include <string.h>

#include "base/buffer.h"
#include "io/gzip.h"

#define LISTED_MAX 12
#define NPY_MAGIC "\x93NUMPY"

/* Magic numbers may hold any byte but 0. */
static bool begins(hr_str_t bytes, const char *magic) {
  size_t size = strlen(magic);
  return bytes.size >= size && memcmp(bytes.data, magic, size) == 0;
}

/* The bytes decide, not the name. */
static hr_status_t open_bytes(const char *path, hr_buffer_t *bytes, array_file_t *file) {
  hr_str_t text = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  if (begins(text, NPY_MAGIC)) {
    file->form = ARRAY_FILE_NPY;
    return npy_header(path, bytes, 0, text.size, &file->single);
  }
  if (safetensors_is(text)) {
    file->form = ARRAY_FILE_SAFETENSORS;
    return safetensors_open(path, bytes, &file->safetensors);
  }
  return npz_open_bytes(path, bytes, &file->npz);
}

/* The reader keeps the mapping. */
hr_status_t array_file_open(const char *path, array_file_t *out_file) {
  hr_buffer_t *bytes;
  *out_file = (array_file_t){.path = path};
  HR_TRY(gzip_map_file(path, &bytes));
  hr_status_t st = open_bytes(path, bytes, out_file);
  hr_buffer_release(bytes);
  return st;
}

/* A file that was never opened is an empty archive. */
void array_file_deinit(array_file_t *file) {
  switch (file->form) {
    case ARRAY_FILE_NPZ:
      npz_deinit(&file->npz);
      return;
    case ARRAY_FILE_SAFETENSORS:
      safetensors_deinit(&file->safetensors);
      return;
    case ARRAY_FILE_NPY:
      npy_deinit(&file->single);
  }
}

/* A single array counts as one. */
size_t array_file_count(const array_file_t *file) {
  if (file->form == ARRAY_FILE_NPY) return 1;
  return file->form == ARRAY_FILE_NPZ ? npz_count(&file->npz) : file->safetensors.count;
}

/* The name of a single array is empty. */
hr_str_t array_file_name(const array_file_t *file, size_t index) {
  if (file->form == ARRAY_FILE_NPY) return HR_STR("");
  if (file->form == ARRAY_FILE_NPZ) return npz_name(&file->npz, index);
  return safetensors_name(&file->safetensors, index);
}

/* The caller's reference of the bytes is its own. */
hr_status_t array_file_find(const array_file_t *file, const char *name, bool *out_found,
                            npy_t *out_npy) {
  if (file->form == ARRAY_FILE_NPZ) return npz_find(&file->npz, name, out_found, out_npy);
  if (file->form == ARRAY_FILE_SAFETENSORS)
    return safetensors_find(&file->safetensors, name, out_found, out_npy);
  *out_found = !*name;
  if (!*out_found) return NULL;
  *out_npy = file->single;
  hr_buffer_retain(out_npy->buffer);
  return NULL;
}

/* For messages: some names, and how many there are. */
void array_file_list(const array_file_t *file, hr_strbuf_t *text) {
  size_t count = array_file_count(file);
  if (!count) hr_strbuf_add_str(text, "nothing");
  for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
    hr_str_t name = array_file_name(file, i);
    hr_strbuf_printf(text, "%s%.*s", i ? ", " : "", HR_STR_ARGS(name));
  }
  if (count > LISTED_MAX) hr_strbuf_printf(text, ", ... (%zu)", count);
}
