#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define BUFFER_BYTES ((size_t)64 << 10)

struct hr_file_writer {
  int fd;
  char *path;      /* of the target, symbolic links resolved */
  char *temporary; /* NULL: the target is written directly */
  uint64_t offset;
  size_t pending;  /* bytes in the buffer */
  char buffer[BUFFER_BYTES];
};

static hr_status_t file_error(const hr_file_writer_t *writer) {
  return hr_error(HR_UNAVAILABLE, "cannot write %s: %s", writer->path, strerror(errno));
}

static void free_writer(hr_file_writer_t *writer) {
  if (writer->fd >= 0 && writer->fd != STDOUT_FILENO) close(writer->fd);
  free(writer->path);
  free(writer->temporary);
  hr_free(writer);
}

/* Is the target something that a rename must not replace? */
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static hr_status_t open_target(hr_file_writer_t *writer, const char *path) {
  if (strcmp(path, "-") == 0) {
    writer->path = strdup("standard output");
    writer->fd = STDOUT_FILENO;
    return NULL;
  }
  writer->path = realpath(path, NULL);
  if (!writer->path) writer->path = strdup(path);
  if (!writer->path) return hr_error(HR_NO_MEMORY, "cannot allocate a path");
  if (is_special(writer->path)) {
    writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    return writer->fd < 0 ? file_error(writer) : NULL;
  }
  if (asprintf(&writer->temporary, "%s.tmp.%d", writer->path, (int)getpid()) < 0) {
    writer->temporary = NULL;
    return hr_error(HR_NO_MEMORY, "cannot allocate a path");
  }
  writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return writer->fd < 0 ? file_error(writer) : NULL;
}

hr_status_t hr_file_create(const char *path, hr_file_writer_t **out_writer) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(hr_file_writer_t), &memory));
  hr_file_writer_t *writer = memory;
  writer->fd = -1;
  hr_status_t st = open_target(writer, path);
  if (st)
    free_writer(writer);
  else
    *out_writer = writer;
  return st;
}

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

hr_status_t hr_file_write(hr_file_writer_t *writer, const void *bytes, size_t size_bytes) {
  writer->offset += size_bytes;
  if (size_bytes > BUFFER_BYTES - writer->pending) HR_TRY(flush(writer));
  if (size_bytes > BUFFER_BYTES) return write_out(writer, bytes, size_bytes);
  if (size_bytes) memcpy(writer->buffer + writer->pending, bytes, size_bytes);
  writer->pending += size_bytes;
  return NULL;
}

uint64_t hr_file_offset(const hr_file_writer_t *writer) { return writer->offset; }

static hr_status_t put_in_place(hr_file_writer_t *writer) {
  HR_TRY(flush(writer));
  if (writer->fd == STDOUT_FILENO) return NULL;
  int failed = close(writer->fd); /* network file systems report a full disk here */
  writer->fd = -1;
  if (failed) return file_error(writer);
  if (writer->temporary && rename(writer->temporary, writer->path)) return file_error(writer);
  return NULL;
}

hr_status_t hr_file_finish(hr_file_writer_t *writer, hr_status_t status) {
  if (!writer) return status;
  if (!status) status = put_in_place(writer);
  if (status && writer->temporary) unlink(writer->temporary);
  free_writer(writer);
  return status;
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
