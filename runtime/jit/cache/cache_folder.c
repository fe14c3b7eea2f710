/* The folder of the object cache: where it is, whether it may be trusted, and its trimming.
 *
 * Code from the folder is executed, so the folder and every file in it must belong to this user
 * and be writable by nobody else. Trimming removes the files with the oldest last use until the
 * sum of their sizes is within the limit, and temporary files that a crashed process left. */
#include "jit/cache/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"

#define LEFTOVER_SECONDS 3600 /* age from which a temporary file or a lock has no owner */

bool cache_is_private(const struct stat *info) {
  return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

/* Value of an environment variable; NULL if unset or empty. */
static const char *variable(const char *name) {
  const char *text = secure_getenv(name);
  return text && *text ? text : NULL;
}

static const char *asked_for(const char *given) {
  return given && *given ? given : variable("HLORUN_CACHE");
}

/* NULL: no folder. A missing home directory is not created. */
static char *choose_path(const char *given) {
  const char *base, *asked = asked_for(given);
  char *path = NULL;
  if (asked) return strcmp(asked, "none") == 0 ? NULL : strdup(asked);
  if ((base = variable("XDG_CACHE_HOME")) && *base == '/')
    return asprintf(&path, "%s/hlorun", base) < 0 ? NULL : path;
  if ((base = variable("HOME")) && *base == '/' && access(base, F_OK) == 0)
    return asprintf(&path, "%s/.cache/hlorun", base) < 0 ? NULL : path;
  return NULL;
}

/* Failures show up when the folder is opened. */
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
}

int cache_folder_open(const char *given, char **out_path) {
  struct stat info;
  char *path = choose_path(given);
  if (!path) return -1;
  make_folders(path);
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || fstat(folder, &info)) {
    hr_log(HR_LOG_JIT, asked_for(given) ? HR_LOG_WARN : HR_LOG_INFO,
           "compiled code is not kept: %s: %s", path, strerror(errno));
  } else if (!cache_is_private(&info)) {
    hr_log(HR_LOG_JIT, HR_LOG_WARN,
           "compiled code is not kept: %s belongs to another user, or others may write to it",
           path);
  } else {
    *out_path = path;
    return folder;
  }
  if (folder >= 0) close(folder);
  free(path);
  return -1;
}

typedef struct cache_file {
  char name[CACHE_NAME_BYTES];
  struct timespec used;
  uint64_t bytes;
} cache_file_t;

typedef struct cache_list {
  HR_VEC(cache_file_t) files;
  uint64_t bytes, removed;
  time_t now;
} cache_list_t;

static int is_older(const void *a, const void *b) {
  const struct timespec *x = &((const cache_file_t *)a)->used,
                        *y = &((const cache_file_t *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Lists an entry; removes a leftover. Files with other names are ignored. */
static hr_status_t list_file(cache_list_t *list, int folder, const char *name) {
  const char *ending = strrchr(name, '.');
  struct stat info;
  if (!ending || strlen(name) >= CACHE_NAME_BYTES || ending - name != 32 ||
      fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW))
    return NULL;
  if (strcmp(ending, ".o") != 0) {
    if (list->now - info.st_mtime > LEFTOVER_SECONDS)
      list->removed += unlinkat(folder, name, 0) == 0;
    return NULL;
  }
  cache_file_t file = {.used = info.st_mtim, .bytes = (uint64_t)info.st_size};
  strcpy(file.name, name);
  list->bytes += file.bytes;
  HR_VEC_PUSH(&list->files, file);
  return NULL;
}

/* NULL if the folder cannot be read. */
static DIR *open_names(int folder) {
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *names = again < 0 ? NULL : fdopendir(again);
  if (!names && again >= 0) close(again);
  return names;
}

bool cache_folder_is_empty(int folder) {
  DIR *names = open_names(folder);
  struct dirent *entry = NULL;
  while (names && (entry = readdir(names)) && entry->d_name[0] == '.') {
  }
  if (names) closedir(names);
  return !entry;
}

static void list_files(cache_list_t *list, int folder) {
  DIR *names = open_names(folder);
  if (!names) return;
  for (struct dirent *entry = readdir(names); entry; entry = readdir(names))
    hr_status_release(list_file(list, folder, entry->d_name));
  closedir(names);
}

/* Trims to nine tenths of the limit, so that not every start has to trim. */
uint64_t cache_folder_trim(int folder, uint64_t limit_bytes) {
  cache_list_t list = {.now = time(NULL)};
  list_files(&list, folder);
  if (list.bytes > limit_bytes) {
    qsort(list.files.data, list.files.count, sizeof *list.files.data, is_older);
    for (size_t i = 0; i < list.files.count && list.bytes > limit_bytes - limit_bytes / 10; i++) {
      if (unlinkat(folder, list.files.data[i].name, 0) == 0) list.removed++;
      list.bytes -= list.files.data[i].bytes;
    }
  }
  HR_VEC_FREE(&list.files);
  return list.removed;
}
