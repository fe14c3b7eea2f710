#include "cli/cli_manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

#define FIRST_LINE "hlorun checkpoint 1"
#define MOST_RANKS (1 << 24)

static hr_status_t failed(const char *path, const char *what) {
  return hr_error(HR_UNAVAILABLE, "%s: %s: %s", path, what, strerror(errno));
}

hr_status_t cli_sum_of(const char *path, cli_sum_t *sum) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  sum->size_bytes = hr_buffer_size(bytes);
  sum->hash = hr_hash_bytes(hr_buffer_data(bytes), hr_buffer_size(bytes), 17);
  hr_buffer_release(bytes);
  return NULL;
}

hr_status_t cli_flush_path(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(path, "cannot open");
  hr_status_t st = fsync(fd) && errno != EINVAL ? failed(path, "cannot be flushed") : NULL;
  close(fd);
  return st;
}

/* --- writing --- */

hr_status_t cli_manifest_write(const char *folder, const cli_manifest_t *manifest) {
  char path[PATH_MAX];
  hr_text_t text;
  hr_text_init(&text);
  hr_text_printf(&text, FIRST_LINE "\nstep %" PRIu64 "\ngrid %d %d\n", manifest->step, manifest->num_replicas,
                 manifest->num_partitions);
  for (int r = 0; r < manifest->num_replicas * manifest->num_partitions; r++)
    hr_text_printf(&text, "rank%d.npz %" PRIu64 " %016" PRIx64 " %016" PRIx64 "\n", r, manifest->sums[r].size_bytes,
                   manifest->sums[r].hash, manifest->sums[r].values_hash);
  hr_text_printf(&text, "end\n");
  snprintf(path, sizeof path, "%s/manifest", folder);
  hr_status_t st = hr_text_finish(&text);
  if (!st) st = hr_file_write_all(path, text.data, text.size);
  hr_text_deinit(&text);
  return st ? st : cli_flush_path(path);
}

/* --- reading --- */

static hr_status_t not_a_manifest(const char *folder) {
  return hr_error(HR_INVALID, "%s/manifest is torn, or no manifest", folder);
}

static hr_status_t parse(hr_arena_t *arena, const char *folder, const char *text, cli_manifest_t *manifest) {
  int used = 0;
  if (sscanf(text, FIRST_LINE "\nstep %" SCNu64 "\ngrid %d %d\n%n", &manifest->step, &manifest->num_replicas,
             &manifest->num_partitions, &used) != 3 || !used)
    return not_a_manifest(folder);
  int64_t ranks = (int64_t)manifest->num_replicas * manifest->num_partitions;
  if (manifest->num_replicas < 1 || manifest->num_partitions < 1 || ranks > MOST_RANKS) return not_a_manifest(folder);
  HR_TRY(HR_NEW_ARRAY(arena, ranks, &manifest->sums));
  for (int r = 0; r < (int)ranks; r++) {
    cli_sum_t *sum = &manifest->sums[r];
    int rank, size = 0;
    text += used;
    if (sscanf(text, "rank%d.npz %" SCNu64 " %" SCNx64 " %" SCNx64 "\n%n", &rank, &sum->size_bytes, &sum->hash,
               &sum->values_hash, &size) != 4 || rank != r || !size)
      return not_a_manifest(folder);
    used = size;
  }
  return strcmp(text + used, "end\n") ? not_a_manifest(folder) : NULL;
}

static hr_status_t check_file(const char *folder, int rank, const cli_sum_t *want) {
  char path[PATH_MAX];
  cli_sum_t found;
  snprintf(path, sizeof path, "%s/rank%d.npz", folder, rank);
  HR_TRY(cli_sum_of(path, &found));
  if (found.size_bytes == want->size_bytes && found.hash == want->hash) return NULL;
  return hr_error(HR_INVALID, "%s is not what was written: its check sum differs", path);
}

hr_status_t cli_manifest_check(hr_arena_t *arena, const char *folder, cli_manifest_t *out_manifest) {
  char path[PATH_MAX];
  const char *text;
  hr_buffer_t *bytes;
  snprintf(path, sizeof path, "%s/manifest", folder);
  HR_TRY(hr_buffer_map_file(path, &bytes));
  hr_status_t st = hr_arena_cstr(arena, (hr_str_t){hr_buffer_data(bytes), hr_buffer_size(bytes)}, &text);
  hr_buffer_release(bytes);
  HR_TRY(st);
  HR_TRY(parse(arena, folder, text, out_manifest));
  for (int r = 0; r < out_manifest->num_replicas * out_manifest->num_partitions; r++)
    HR_TRY(check_file(folder, r, &out_manifest->sums[r]));
  return NULL;
}

/* --- folders --- */

static int newest_first(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

hr_status_t cli_list_steps(hr_arena_t *arena, const char *folder, uint64_t **out_steps, int *out_count) {
  HR_VEC(uint64_t) steps = {0};
  DIR *dir = opendir(folder);
  *out_count = 0;
  if (!dir) return errno == ENOENT ? NULL : failed(folder, "cannot be read");
  hr_status_t st = NULL;
  for (struct dirent *entry; !st && (entry = readdir(dir));) {
    uint64_t step;
    int size = 0;
    if (sscanf(entry->d_name, "step-%" SCNu64 "%n", &step, &size) != 1 || entry->d_name[size]) continue;
    st = HR_VEC_RESERVE(&steps, steps.count + 1);
    if (!st) steps.data[steps.count++] = step;
  }
  closedir(dir);
  void *kept = NULL;
  if (!st && steps.count) st = hr_arena_copy(arena, steps.data, steps.count * sizeof *steps.data, &kept);
  *out_steps = kept;
  *out_count = st ? 0 : (int)steps.count;
  HR_VEC_FREE(&steps);
  if (*out_count) qsort(*out_steps, (size_t)*out_count, sizeof **out_steps, newest_first);
  return st;
}

bool cli_find_writing(const char *folder, char *path) {
  DIR *dir = opendir(folder);
  bool found = false;
  for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
    found = strncmp(entry->d_name, "writing-", 8) == 0;
    if (found) snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name);
  }
  if (dir) closedir(dir);
  return found;
}

void cli_remove_folder(const char *folder) {
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) unlinkat(dirfd(dir), entry->d_name, 0);
  closedir(dir);
  rmdir(folder);
}
