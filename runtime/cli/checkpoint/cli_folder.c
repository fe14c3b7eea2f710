/* File operations relative to the descriptor of an open folder (openat and similar calls). */
#include "cli/checkpoint/cli_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static hr_code_t code_of(int error) {
  if (error == ENOMEM || error == EMFILE || error == ENFILE) return HR_NO_MEMORY;
  if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO) return HR_INVALID;
  return HR_UNAVAILABLE;
}

static hr_status_t failed(const cli_folder_t *folder, const char *name, const char *what) {
  return hr_error(code_of(errno), "%s/%s: %s: %s", folder->path, name, what, strerror(errno));
}

static hr_status_t set_path(cli_folder_t *folder, const char *parent, const char *name) {
  int size = snprintf(folder->path, sizeof folder->path, "%s%s%s", parent, *name ? "/" : "", name);
  if (size < (int)sizeof folder->path) return NULL;
  return hr_error(HR_UNAVAILABLE, "the path of %s is too long", name);
}

/* Flushes the parent folder, without which a new folder may be lost in a crash of the machine. */
static void flush_parent(const cli_folder_t *folder) {
  int parent = openat(folder->fd, "..", FOLDER_FLAGS);
  if (parent < 0) return;
  (void)!fsync(parent);
  close(parent);
}

hr_status_t cli_folder_open(const char *path, cli_folder_t *out_folder) {
  HR_TRY(set_path(out_folder, path, ""));
  bool made = mkdir(path, 0777) == 0;
  if (!made && errno != EEXIST)
    return hr_error(HR_UNAVAILABLE, "cannot make the folder %s: %s", path, strerror(errno));
  out_folder->fd = open(path, FOLDER_FLAGS);
  if (out_folder->fd < 0)
    return hr_error(HR_UNAVAILABLE, "cannot open the folder %s: %s", path, strerror(errno));
  if (made) flush_parent(out_folder);
  return NULL;
}

hr_status_t cli_folder_enter(const cli_folder_t *parent, const char *name,
                             cli_folder_t *out_folder) {
  HR_TRY(set_path(out_folder, parent->path, name));
  out_folder->fd = openat(parent->fd, name, FOLDER_FLAGS | O_NOFOLLOW);
  return out_folder->fd < 0 ? failed(parent, name, "cannot be opened as a folder") : NULL;
}

hr_status_t cli_folder_make(const cli_folder_t *parent, const char *name,
                            cli_folder_t *out_folder) {
  if (mkdirat(parent->fd, name, 0777) && errno != EEXIST)
    return failed(parent, name, "cannot be made");
  return cli_folder_enter(parent, name, out_folder);
}

bool cli_folder_is_in_place(const cli_folder_t *folder) {
  struct stat named, open;
  if (fstat(folder->fd, &open)) return true;
  if (stat(folder->path, &named)) return errno != ENOENT && errno != ENOTDIR;
  return named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

void cli_folder_place(const cli_folder_t *folder, char out_path[PATH_MAX]) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder->fd);
  ssize_t size = readlink(link, out_path, PATH_MAX - 1);
  if (size < 0)
    snprintf(out_path, PATH_MAX, "somewhere else");
  else
    out_path[size] = 0;
}

void cli_folder_close(cli_folder_t *folder) {
  if (folder->fd >= 0) close(folder->fd);
  folder->fd = -1;
}

hr_status_t cli_folder_flush(const cli_folder_t *folder) {
  if (fsync(folder->fd) == 0 || errno == EINVAL || errno == ENOTSUP) return NULL;
  return failed(folder, ".", "cannot be flushed");
}

/* --- names --- */

/* Appends a name to a list in the arena, which doubles as it grows. */
static hr_status_t add_name(hr_arena_t *arena, const char *name, const char ***names,
                            size_t *capacity, int *count) {
  if ((size_t)*count == *capacity) {
    const char **grown;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    HR_TRY(HR_NEW_ARRAY(arena, wanted, &grown));
    if (*count) memcpy(grown, *names, (size_t)*count * sizeof *grown);
    *names = grown;
    *capacity = wanted;
  }
  return hr_arena_cstr(arena, hr_str_from(name), &(*names)[(*count)++]);
}

/* A separate descriptor is opened for the list, so that its offset is not shared. */
static DIR *open_list(int fd) {
  int own = openat(fd, ".", FOLDER_FLAGS);
  DIR *list = own < 0 ? NULL : fdopendir(own);
  if (own >= 0 && !list) close(own);
  return list;
}

static bool is_dots(const char *name) { return !strcmp(name, ".") || !strcmp(name, ".."); }

hr_status_t cli_folder_list(const cli_folder_t *folder, hr_arena_t *arena, const char ***out_names,
                            int *out_count) {
  size_t capacity = 0;
  *out_names = NULL;
  *out_count = 0;
  DIR *list = open_list(folder->fd);
  if (!list) return failed(folder, ".", "cannot be read");
  hr_status_t st = NULL;
  errno = 0;
  for (struct dirent *entry; !st && (entry = readdir(list)); errno = 0)
    if (!is_dots(entry->d_name))
      st = add_name(arena, entry->d_name, out_names, &capacity, out_count);
  if (!st && errno) st = failed(folder, ".", "cannot be read");
  closedir(list);
  return st;
}

bool cli_folder_has(const cli_folder_t *folder, const char *name) {
  struct stat info;
  return fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

hr_status_t cli_folder_rename(const cli_folder_t *folder, const char *from, const char *to) {
  return renameat(folder->fd, from, folder->fd, to) ? failed(folder, from, "cannot be renamed")
                                                    : NULL;
}

/* --- files --- */

/* Symbolic links and files that are not regular are refused: who can write to the folder must
 * not choose what is read. */
static hr_status_t open_regular(const cli_folder_t *folder, const char *name, int *out_fd,
                                uint64_t *out_bytes) {
  struct stat info;
  hr_status_t st = NULL;
  int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ELOOP)
    return hr_error(HR_INVALID, "%s/%s is a symbolic link, want a file", folder->path, name);
  if (fd < 0) return failed(folder, name, "cannot be opened");
  if (fstat(fd, &info))
    st = failed(folder, name, "cannot be read");
  else if (!S_ISREG(info.st_mode))
    st = hr_error(HR_INVALID, "%s/%s is no regular file", folder->path, name);
  if (st) {
    close(fd);
    return st;
  }
  *out_fd = fd;
  *out_bytes = (uint64_t)info.st_size;
  return NULL;
}

hr_status_t cli_folder_size(const cli_folder_t *folder, const char *name, uint64_t *out_bytes) {
  int fd;
  HR_TRY(open_regular(folder, name, &fd, out_bytes));
  close(fd);
  return NULL;
}

hr_status_t cli_folder_map(const cli_folder_t *folder, const char *name, hr_buffer_t **out_bytes) {
  int fd;
  uint64_t size_bytes;
  HR_TRY(open_regular(folder, name, &fd, &size_bytes));
  hr_status_t st = hr_buffer_map_descriptor(fd, name, out_bytes);
  close(fd);
  return st;
}

hr_status_t cli_folder_create(const cli_folder_t *folder, const char *name, bool lasting,
                              hr_file_writer_t **out_writer) {
  return hr_file_create_in(folder->fd, folder->path, name, lasting, out_writer);
}

hr_status_t cli_folder_write(const cli_folder_t *folder, const char *name, bool lasting,
                             const void *bytes, size_t size_bytes) {
  hr_file_writer_t *writer;
  HR_TRY(cli_folder_create(folder, name, lasting, &writer));
  return hr_file_finish(writer, hr_file_write(writer, bytes, size_bytes));
}

static void remove_files(int fd) {
  DIR *list = fdopendir(fd);
  if (!list) close(fd);
  for (struct dirent *entry; list && (entry = readdir(list));)
    if (!is_dots(entry->d_name) && unlinkat(fd, entry->d_name, 0))
      unlinkat(fd, entry->d_name, AT_REMOVEDIR);
  if (list) closedir(list);
}

void cli_folder_remove(const cli_folder_t *folder, const char *name) {
  int fd = openat(folder->fd, name, FOLDER_FLAGS | O_NOFOLLOW);
  if (fd < 0) {
    unlinkat(folder->fd, name, 0);
    return;
  }
  remove_files(fd);
  unlinkat(folder->fd, name, AT_REMOVEDIR);
}
