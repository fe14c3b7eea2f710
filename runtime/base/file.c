/* Atomic replacement of files: the bytes go to a temporary file in the target's folder, which is
 * flushed by fsync and renamed over the target. Names of temporary files are random and created
 * with O_EXCL | O_NOFOLLOW, so that nobody can prepare them. Symbolic links to the target are
 * followed only if this user or root owns them. */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/open.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define MOST_LINKS 40 /* as Linux follows */
#define MOST_NAMES 100

/* One file being written, with a buffer of 64 KiB. */
struct hr_file_writer {
  int fd;
  int folder;         /* descriptor of the target's folder; -1: the target is written directly */
  char *path;         /* target's path, symbolic links resolved */
  const char *name;   /* target's name in its folder: the end of `path` */
  char temporary[32]; /* name in the folder; "": not created */
  bool syncs_file, syncs_folder;
  uint64_t offset;
  size_t pending; /* bytes in the buffer */
  char buffer[BUFFER_BYTES];
};

/* UNAVAILABLE with errno's text. */
static hr_status_t file_error(const hr_file_writer_t *writer) {
  return hr_error(HR_UNAVAILABLE, "cannot write %s: %s", writer->path, strerror(errno));
}

static void free_writer(hr_file_writer_t *writer) {
  if (writer->fd >= 0 && writer->fd != STDOUT_FILENO) close(writer->fd);
  if (writer->folder >= 0) close(writer->folder);
  free(writer->path);
  hr_free(writer);
}

/* --- the target --- */

/* Number of the descriptor that the path stands for, -1: none. What was opened for it is written,
 * at its offset and in its mode: opening such a path again would begin at the start of a file. */
static int descriptor_of(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
  if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    size_t size = strlen(folders[i]);
    if (strncmp(path, folders[i], size) || !isdigit((unsigned char)path[size])) continue;
    char *end;
    long number = strtol(path + size, &end, 10);
    if (!*end && number <= INT_MAX) return (int)number;
  }
  return -1;
}

static hr_status_t open_descriptor(hr_file_writer_t *writer, int descriptor) {
  writer->fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  return writer->fd < 0 ? file_error(writer) : NULL;
}

/* True if a rename must not replace the target. */
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Devices and pipes are written directly; the check closes the race with a file of that name. */
static hr_status_t open_special(hr_file_writer_t *writer) {
  struct stat info;
  HR_TRY(hr_open(writer->path, O_WRONLY, &writer->fd));
  if (fstat(writer->fd, &info)) return file_error(writer);
  if (!S_ISREG(info.st_mode)) return NULL;
  return hr_error(HR_UNAVAILABLE, "cannot write %s: it was no regular file and has become one",
                  writer->path);
}

typedef enum link_kind { LINK_NONE, LINK_TRUSTED, LINK_FOREIGN } link_kind_t;

/* A symbolic link is trusted if this user made it, or root: others could choose the file that is
 * overwritten. */
static link_kind_t link_kind(const char *path) {
  struct stat info;
  if (lstat(path, &info) || !S_ISLNK(info.st_mode)) return LINK_NONE;
  return info.st_uid == geteuid() || info.st_uid == 0 ? LINK_TRUSTED : LINK_FOREIGN;
}

/* Where a link leads; a relative one counts from its folder. NULL: it cannot be read, or there is
 * no memory. */
static char *read_link(const char *path) {
  char text[PATH_MAX], *joined;
  ssize_t size = readlink(path, text, sizeof text - 1);
  if (size <= 0) return NULL;
  text[size] = 0;
  const char *slash = strrchr(path, '/');
  int folder_size = text[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
  return asprintf(&joined, "%.*s%s", folder_size, path, text) < 0 ? NULL : joined;
}

/* At most MOST_LINKS, as a loop of links never ends. */
static hr_status_t resolve_links(hr_file_writer_t *writer) {
  for (int links = 0; link_kind(writer->path) == LINK_TRUSTED; links++) {
    char *target = NULL;
    errno = ELOOP;
    if (links < MOST_LINKS) target = read_link(writer->path);
    if (!target) return file_error(writer);
    free(writer->path);
    writer->path = target;
  }
  return NULL;
}

/* --- the temporary file --- */

/* A folder that may be written and not read can be named so, but not synchronised. */
static int open_folder(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == EACCES) folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return folder;
}

/* Opens the folder once; all later names are relative to its descriptor, so that a renamed
 * folder does not matter. */
static hr_status_t find_folder(hr_file_writer_t *writer) {
  char *slash = strrchr(writer->path, '/');
  writer->name = slash ? slash + 1 : writer->path;
  if (!slash) {
    writer->folder = open_folder(".");
  } else {
    char first = writer->name[0];
    slash[1] = 0; /* the folder's path, for the moment */
    writer->folder = open_folder(writer->path);
    slash[1] = first;
  }
  return writer->folder < 0 ? file_error(writer) : NULL;
}

/* Copies the permissions of the replaced file, so that a private file stays private. */
static void keep_mode(const hr_file_writer_t *writer) {
  struct stat info;
  if (fstatat(writer->folder, writer->name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
    return;
  if (fchmod(writer->fd, info.st_mode & 0777)) return; /* a file system without modes */
}

/* Creates a file with a random name; an existing file or link is neither opened nor followed. */
static hr_status_t create_temporary(hr_file_writer_t *writer) {
  for (int tries = 0; tries < MOST_NAMES; tries++) {
    uint64_t number;
    char name[sizeof writer->temporary];
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return file_error(writer);
    snprintf(name, sizeof name, ".hlorun.%016llx", (unsigned long long)number);
    writer->fd =
        openat(writer->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (writer->fd < 0 && errno == EEXIST) continue;
    if (writer->fd < 0) return file_error(writer);
    memcpy(writer->temporary, name, sizeof name);
    keep_mode(writer);
    return NULL;
  }
  return file_error(writer);
}

/* Standard output, an open descriptor, a device or pipe, or a regular file by way of a temporary
 * one. */
static hr_status_t open_target(hr_file_writer_t *writer, const char *path) {
  int descriptor = descriptor_of(path);
  writer->path = strdup(strcmp(path, "-") ? path : "standard output");
  if (!writer->path) return hr_error(HR_NO_MEMORY, "cannot allocate a path");
  if (!strcmp(path, "-")) {
    writer->fd = STDOUT_FILENO;
    return NULL;
  }
  if (descriptor >= 0) return open_descriptor(writer, descriptor);
  if (link_kind(path) != LINK_FOREIGN && is_special(path)) return open_special(writer);
  HR_TRY(resolve_links(writer));
  HR_TRY(find_folder(writer));
  return create_temporary(writer);
}

static hr_status_t new_writer(hr_file_writer_t **out_writer) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hr_file_writer_t), &memory));
  *out_writer = memory;
  (*out_writer)->fd = -1;
  (*out_writer)->folder = -1;
  (*out_writer)->syncs_file = true;
  (*out_writer)->syncs_folder = true;
  return NULL;
}

/* Gives the writer to the caller unless it failed. */
static hr_status_t begin(hr_file_writer_t *writer, hr_status_t st, hr_file_writer_t **out_writer) {
  if (st)
    free_writer(writer);
  else
    *out_writer = writer;
  return st;
}

hr_status_t hr_file_create(const char *path, hr_file_writer_t **out_writer) {
  hr_file_writer_t *writer;
  HR_TRY(new_writer(&writer));
  return begin(writer, open_target(writer, path), out_writer);
}

static hr_status_t open_target_in(hr_file_writer_t *writer, int folder, const char *folder_path,
                                  const char *name) {
  if (asprintf(&writer->path, "%s/%s", folder_path, name) < 0) {
    writer->path = NULL;
    return hr_error(HR_NO_MEMORY, "cannot allocate a path");
  }
  writer->name = writer->path + strlen(folder_path) + 1;
  writer->folder = fcntl(folder, F_DUPFD_CLOEXEC, 3);
  if (writer->folder < 0) return file_error(writer);
  return create_temporary(writer);
}

/* Files of a folder that the caller synchronises once, when all are written. */
hr_status_t hr_file_create_in(int folder, const char *folder_path, const char *name, bool lasting,
                              hr_file_writer_t **out_writer) {
  hr_file_writer_t *writer;
  HR_TRY(new_writer(&writer));
  writer->syncs_file = lasting;
  writer->syncs_folder = false;
  return begin(writer, open_target_in(writer, folder, folder_path, name), out_writer);
}

/* --- writing --- */

/* A short write is continued; a signal does not end it. */
static hr_status_t write_out(hr_file_writer_t *writer, const char *bytes, size_t size) {
  while (size) {
    ssize_t done = write(writer->fd, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return file_error(writer);
    bytes += done;
    size -= (size_t)done;
  }
  return NULL;
}

static hr_status_t flush(hr_file_writer_t *writer) {
  size_t size = writer->pending;
  writer->pending = 0;
  return write_out(writer, writer->buffer, size);
}

/* What does not fit the buffer is written at once. */
hr_status_t hr_file_write(hr_file_writer_t *writer, const void *bytes, size_t size_bytes) {
  writer->offset += size_bytes;
  if (size_bytes > BUFFER_BYTES - writer->pending) HR_TRY(flush(writer));
  if (size_bytes > BUFFER_BYTES) return write_out(writer, bytes, size_bytes);
  if (size_bytes) memcpy(writer->buffer + writer->pending, bytes, size_bytes);
  writer->pending += size_bytes;
  return NULL;
}

uint64_t hr_file_offset(const hr_file_writer_t *writer) { return writer->offset; }

/* Brings the written data to the disk, where the file system can. EBADF: of a folder that was
 * opened by name only. */
static bool synchronise(int fd) {
  if (fsync(fd) == 0) return true;
  return errno == EINVAL || errno == ENOTSUP || errno == ENOSYS || errno == EROFS || errno == EBADF;
}

/* The file is on the disk before its name is. */
static hr_status_t close_written(hr_file_writer_t *writer) {
  hr_status_t st = NULL;
  if (writer->temporary[0] && writer->syncs_file && !synchronise(writer->fd))
    st = file_error(writer);
  int failed = close(writer->fd); /* network file systems report a full disk here */
  writer->fd = -1;
  return failed && !st ? file_error(writer) : st;
}

/* Flushes the contents before the rename, and the folder before returning: a crash of the machine
 * leaves the old file or the whole new one. */
static hr_status_t commit_file(hr_file_writer_t *writer) {
  HR_TRY(flush(writer));
  if (writer->fd == STDOUT_FILENO) return NULL;
  HR_TRY(close_written(writer));
  if (!writer->temporary[0]) return NULL;
  if (renameat(writer->folder, writer->temporary, writer->folder, writer->name))
    return file_error(writer);
  writer->temporary[0] = 0;
  return !writer->syncs_folder || synchronise(writer->folder) ? NULL : file_error(writer);
}

/* On any failure the temporary file is removed and the target stays as it was. */
hr_status_t hr_file_finish(hr_file_writer_t *writer, hr_status_t status) {
  if (!writer) return status;
  if (!status) status = commit_file(writer);
  if (status && writer->temporary[0]) unlinkat(writer->folder, writer->temporary, 0);
  free_writer(writer);
  return status;
}

/* The descriptor of a file that is visible from the start, such as a log. */
hr_status_t hr_file_open(const char *path, int *out_fd) {
  hr_file_writer_t *writer;
  HR_TRY(hr_file_create(path, &writer));
  hr_status_t st = NULL;
  if (writer->temporary[0] &&
      renameat(writer->folder, writer->temporary, writer->folder, writer->name)) {
    st = file_error(writer);
    unlinkat(writer->folder, writer->temporary, 0);
  }
  if (!st) {
    *out_fd = writer->fd;
    writer->fd = -1;
  }
  free_writer(writer);
  return st;
}

/* O_NOFOLLOW closes the race with a link that appears in between. */
static hr_status_t open_in_place(hr_file_writer_t *writer, const char *path, int flags) {
  int descriptor = descriptor_of(path);
  writer->path = strdup(path);
  if (!writer->path) return hr_error(HR_NO_MEMORY, "cannot allocate a path");
  if (descriptor >= 0) return open_descriptor(writer, descriptor);
  if (link_kind(path) != LINK_FOREIGN && is_special(path)) return open_special(writer);
  HR_TRY(resolve_links(writer));
  if (link_kind(writer->path) == LINK_FOREIGN)
    return hr_error(HR_UNAVAILABLE, "cannot write %s: it is a link of another user", writer->path);
  return hr_open(writer->path, O_WRONLY | O_CREAT | O_NOFOLLOW | flags, &writer->fd);
}

hr_status_t hr_file_open_in_place(const char *path, int flags, int *out_fd) {
  hr_file_writer_t *writer;
  HR_TRY(new_writer(&writer));
  hr_status_t st = open_in_place(writer, path, flags);
  if (!st) {
    *out_fd = writer->fd;
    writer->fd = -1;
  }
  free_writer(writer);
  return st;
}

hr_status_t hr_folder_make(const char *path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return NULL;
  return hr_error(HR_UNAVAILABLE, "cannot make the folder %s: %s", path, strerror(errno));
}

hr_status_t hr_file_write_all(const char *path, const void *bytes, size_t size_bytes) {
  hr_file_writer_t *writer = NULL;
  HR_TRY(hr_file_create(path, &writer));
  return hr_file_finish(writer, hr_file_write(writer, bytes, size_bytes));
}
