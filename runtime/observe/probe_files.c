/* Files of probed values: one .npy per visit and a CSV index, both numbered in the order of the
 * visits under one mutex. */
#include "observe/probe_files.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/npy.h"

#define PATH_SIZE 4096

struct exec_probe_files {
  pthread_mutex_t mutex; /* guards all members below: processes of run_parallel are threads */
  regex_t regex;
  char folder[PATH_SIZE - 64];
  int rank;
  int64_t count;
  FILE *index;
};

static hr_status_t compile_pattern(exec_probe_files_t *files, const char *pattern) {
  char text[128];
  int error = regcomp(&files->regex, pattern, REG_EXTENDED | REG_NOSUB);
  if (!error) return NULL;
  regerror(error, &files->regex, text, sizeof text);
  return hr_error(HR_USAGE, "--probe '%s': %s", pattern, text);
}

static void name_file(const exec_probe_files_t *files, const char *stem, const char *ending,
                      char path[PATH_SIZE]) {
  int used = snprintf(path, PATH_SIZE, "%s/%s", files->folder, stem);
  if (files->rank >= 0) used += snprintf(path + used, PATH_SIZE - (size_t)used, "@%d", files->rank);
  snprintf(path + used, PATH_SIZE - (size_t)used, "%s", ending);
}

static hr_status_t open_index(exec_probe_files_t *files, const char *folder) {
  char path[PATH_SIZE];
  if (strlen(folder) >= sizeof files->folder)
    return hr_error(HR_USAGE, "the folder's name is too long");
  snprintf(files->folder, sizeof files->folder, "%s", folder);
  HR_TRY(hr_folder_make(folder));
  name_file(files, "index", ".csv", path);
  int fd;
  HR_TRY(hr_file_open(path, &fd));
  files->index = fdopen(fd, "w");
  if (files->index) return NULL;
  close(fd);
  return hr_error(HR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
}

hr_status_t exec_probe_files_open(const char *folder, const char *pattern, int rank,
                                  exec_probe_files_t **out_files) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(exec_probe_files_t), &memory));
  exec_probe_files_t *files = memory;
  files->rank = rank;
  hr_status_t st = compile_pattern(files, pattern);
  if (st) {
    hr_free(files);
    return st;
  }
  pthread_mutex_init(&files->mutex, NULL);
  st = open_index(files, folder);
  if (st)
    exec_probe_files_close(files);
  else
    *out_files = files;
  return st;
}

void exec_probe_files_close(exec_probe_files_t *files) {
  if (!files) return;
  if (files->index && !files->count && files->rank <= 0)
    hr_log(HR_LOG_EXEC, HR_LOG_WARN, "--probe: no instruction that ran has a name that matches");
  if (files->index) fclose(files->index);
  regfree(&files->regex);
  pthread_mutex_destroy(&files->mutex);
  hr_free(files);
}

/* Adds a CSV field, quoted if it contains a separator. */
static void add_field(hr_strbuf_t *line, hr_str_t field) {
  bool plain = true;
  for (size_t i = 0; i < field.size; i++) plain &= !strchr(",\"\r\n", field.data[i]);
  if (plain) {
    hr_strbuf_add(line, field.data, field.size);
    return;
  }
  hr_strbuf_add_char(line, '"');
  for (size_t i = 0; i < field.size; i++) {
    if (field.data[i] == '"') hr_strbuf_add_char(line, '"');
    hr_strbuf_add_char(line, field.data[i]);
  }
  hr_strbuf_add_char(line, '"');
}

/* id,tensor<2x3xf32>,path */
static void make_line(hr_strbuf_t *line, hr_str_t id, const hlo_value_t *value, const char *path) {
  add_field(line, id);
  hr_strbuf_add_str(line, ",tensor<");
  for (int d = 0; d < value->rank; d++) hr_strbuf_printf(line, "%lldx", (long long)value->dims[d]);
  hr_strbuf_printf(line, "%s>,", hr_dtype_table[value->dtype].mlir_name);
  add_field(line, hr_str_from(path));
  hr_strbuf_add_char(line, '\n');
}

static hr_status_t add_line(exec_probe_files_t *files, hr_str_t id, const hlo_value_t *value,
                            const char *path) {
  hr_strbuf_t line;
  hr_strbuf_init(&line);
  make_line(&line, id, value, path);
  hr_status_t st = hr_strbuf_finish(&line);
  bool written = !st && fwrite(line.data, 1, line.size, files->index) == line.size &&
                 fflush(files->index) == 0;
  if (!st && !written)
    st = hr_error(HR_UNAVAILABLE, "cannot write the index in %s: %s", files->folder,
                  strerror(errno));
  hr_strbuf_deinit(&line);
  return st;
}

static bool matches(const exec_probe_files_t *files, hr_str_t id) {
  char text[1024];
  snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(id));
  return regexec(&files->regex, text, 0, NULL, 0) == 0;
}

static hr_status_t write_files(exec_probe_files_t *files, hr_str_t id, const hlo_value_t *value) {
  char stem[32], path[PATH_SIZE];
  snprintf(stem, sizeof stem, "probe%lld", (long long)++files->count);
  name_file(files, stem, ".npy", path);
  HR_TRY(
      npy_write(path, value->dtype, value->rank, value->dims, value->data, hlo_value_bytes(value)));
  return add_line(files, id, value, path);
}

hr_status_t exec_probe_files_add(exec_probe_files_t *files, hr_str_t id, const hlo_value_t *value) {
  pthread_mutex_lock(&files->mutex);
  hr_status_t st = matches(files, id) ? write_files(files, id, value) : NULL;
  pthread_mutex_unlock(&files->mutex);
  return st;
}
