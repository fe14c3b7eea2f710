/* Counted buffers over own memory, mapped files or the caller's memory: one header with a function
 * that frees the data. Input that can be read only once (pipes, terminals) is read into memory and
 * remembered by its path, so that a second reader of the path gets the same bytes. Reference counts
 * are atomic; the last release acquires the writes of other threads before theirs. */
#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fence.h"
#include "base/mapped_files.h"
#include "base/mem.h"
#include "base/mem_object.h"
#include "base/open.h"

struct hr_buffer {
  atomic_int references;
  bool writable;
  void *data;
  size_t size_bytes;
  hr_buffer_free_fn free_fn;
  void *context;
};

/* One reference, which is the caller's. */
static hr_status_t new_buffer(hr_buffer_t **out_buffer) {
  void *memory;
  HR_TRY(hr_alloc_object(sizeof(hr_buffer_t), &memory));
  *out_buffer = memory;
  **out_buffer = (hr_buffer_t){.size_bytes = 0};
  atomic_init(&(*out_buffer)->references, 1);
  return NULL;
}

static void free_fenced(void *context, void *data, size_t size_bytes) {
  (void)data, (void)size_bytes;
  hr_fence_destroy(context);
}

static hr_status_t create_fenced(size_t size_bytes, hr_buffer_t **out_buffer) {
  hr_fence_t *fence;
  HR_TRY(hr_fence_create(size_bytes, &fence));
  hr_status_t st =
      hr_buffer_wrap(hr_fence_data(fence), size_bytes, true, free_fenced, fence, out_buffer);
  if (st) hr_fence_destroy(fence);
  return st;
}

/* Data up to this size, in bytes, is placed after a header that is not aligned. */
#define SMALL_BYTES 4096

/* Header and data in one allocation: the data starts at the next alignment boundary. */
hr_status_t hr_buffer_create(size_t size_bytes, hr_buffer_t **out_buffer) {
  if (hr_fence_is_on()) return create_fenced(size_bytes, out_buffer);
  bool is_small = size_bytes <= SMALL_BYTES;
  size_t header = sizeof(hr_buffer_t) + HR_ALIGNMENT - 1;
  if (size_bytes + header < size_bytes)
    return hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes", size_bytes);
  void *memory;
  HR_TRY((is_small ? hr_alloc_object : hr_alloc)(header + size_bytes, &memory));
  uintptr_t data = ((uintptr_t)memory + header) & ~(uintptr_t)(HR_ALIGNMENT - 1);
  hr_buffer_t *buffer = memory;
  *buffer = (hr_buffer_t){.writable = true, .data = (void *)data, .size_bytes = size_bytes};
  atomic_init(&buffer->references, 1);
  *out_buffer = buffer;
  return NULL;
}

/* free_fn is called once, by the last release; NULL: the data outlives the buffer. */
hr_status_t hr_buffer_wrap(void *data, size_t size_bytes, bool writable, hr_buffer_free_fn free_fn,
                           void *context, hr_buffer_t **out_buffer) {
  hr_buffer_t *buffer;
  HR_TRY(new_buffer(&buffer));
  buffer->data = data;
  buffer->size_bytes = size_bytes;
  buffer->writable = writable;
  buffer->free_fn = free_fn;
  buffer->context = context;
  *out_buffer = buffer;
  return NULL;
}

void hr_buffer_disown(hr_buffer_t *buffer) { buffer->free_fn = NULL; }

static void unmap(void *context, void *data, size_t size_bytes) {
  (void)context;
  hr_mapped_file_remove(data);
  munmap(data, size_bytes);
}

#define KERNEL_BYTES_MAX ((size_t)16 << 20)

/* Limit at which a stream is assumed to be endless. It is smaller for devices (/dev/zero) and files
 * of the kernel, whose size is unknown, than for pipes, which may carry arrays: these may use a
 * quarter of the memory, as the buffer doubles and is copied at the end. */
static size_t most_bytes(int fd) {
  struct stat info;
  bool is_known = fstat(fd, &info) == 0;
  bool has_no_size = is_known && S_ISREG(info.st_mode) && info.st_size == 0;
  bool is_of_kernel = has_no_size || (is_known && S_ISCHR(info.st_mode));
  return is_of_kernel ? KERNEL_BYTES_MAX : hr_mem_physical_bytes() / 4;
}

/* Pipes and the like cannot be mapped: read them to their end. */
static hr_status_t read_stream(int fd, const char *path, hr_buffer_t **out_buffer) {
  size_t size = 0, capacity = 0, most = most_bytes(fd);
  void *data = NULL;
  hr_status_t st = NULL;
  for (;;) {
    if (size > most) {
      st = hr_error(HR_INVALID, "cannot read %s: it has no end within %zu MiB", path, most >> 20);
      goto done;
    }
    if (size == capacity) {
      size_t grown = capacity ? capacity * 2 : 65536;
      HR_TRY_GOTO(done, st, hr_realloc(&data, size, grown));
      capacity = grown;
    }
    HR_TRY_GOTO(done, st, hr_open_await_input(fd, path));
    ssize_t got = read(fd, (char *)data + size, capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      st = hr_error(HR_UNAVAILABLE, "cannot read %s: %s", path, strerror(errno));
      goto done;
    }
    if (got == 0) break;
    size += (size_t)got;
  }
  st = hr_buffer_create(size, out_buffer);
  if (!st && size) memcpy(hr_buffer_data(*out_buffer), data, size);
done:
  hr_free(data);
  return st;
}

/* The contents of streams, kept until the process ends. */
typedef struct stream {
  char *path;
  hr_buffer_t *bytes;
  struct stream *next;
} stream_t;

static stream_t *streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static stream_t *find_stream(const char *path) {
  stream_t *stream = streams;
  while (stream && strcmp(stream->path, path) != 0) stream = stream->next;
  return stream;
}

/* The path is copied after the struct. */
static hr_status_t add_stream(int fd, const char *path, stream_t **out_stream) {
  void *memory;
  size_t size = strlen(path) + 1;
  HR_TRY(hr_alloc(sizeof(stream_t) + size, &memory));
  stream_t *stream = memory;
  hr_status_t st = read_stream(fd, path, &stream->bytes);
  if (st) {
    hr_free(stream);
    return st;
  }
  stream->path = memcpy(stream + 1, path, size);
  stream->next = streams;
  *out_stream = streams = stream;
  return NULL;
}

/* Later readers of the same pipe share the bytes of the first. */
static hr_status_t read_once(int fd, const char *path, hr_buffer_t **out_buffer) {
  pthread_mutex_lock(&streams_lock);
  stream_t *stream = find_stream(path);
  hr_status_t st = stream ? NULL : add_stream(fd, path, &stream);
  if (!st) *out_buffer = hr_buffer_retain(stream->bytes);
  pthread_mutex_unlock(&streams_lock);
  return st;
}

/* True if a pipe of this name has been read. To open it again would wait for another writer. */
static bool take_stream(const char *path, hr_buffer_t **out_buffer) {
  pthread_mutex_lock(&streams_lock);
  stream_t *stream = find_stream(path);
  if (stream) *out_buffer = hr_buffer_retain(stream->bytes);
  pthread_mutex_unlock(&streams_lock);
  return stream;
}

/* Files that cannot be mapped are read. */
hr_status_t hr_buffer_map_descriptor(int fd, const char *path, hr_buffer_t **out_buffer) {
  struct stat info;
  if (fstat(fd, &info))
    return hr_error(HR_UNAVAILABLE, "cannot read %s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return read_stream(fd, path, out_buffer);
  void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED && errno == ENOMEM)
    return hr_error(HR_NO_MEMORY, "cannot read %s: no room for its %lld bytes", path,
                    (long long)info.st_size);
  if (data == MAP_FAILED) return read_stream(fd, path, out_buffer);
  hr_status_t st = hr_buffer_wrap(data, (size_t)info.st_size, false, unmap, NULL, out_buffer);
  if (st)
    munmap(data, (size_t)info.st_size);
  else
    hr_mapped_file_add(data, (size_t)info.st_size, path);
  return st;
}

/* Folders, pipes and devices cannot be mapped. */
static hr_status_t map_or_read(int fd, const char *path, hr_buffer_t **out_buffer) {
  struct stat info;
  if (fstat(fd, &info))
    return hr_error(HR_UNAVAILABLE, "cannot read %s: %s", path, strerror(errno));
  if (S_ISDIR(info.st_mode))
    return hr_error(HR_UNAVAILABLE, "cannot read %s: it is a folder", path);
  if (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISSOCK(info.st_mode))
    return read_once(fd, path, out_buffer);
  return hr_buffer_map_descriptor(fd, path, out_buffer);
}

/* "-" is the standard input. */
hr_status_t hr_buffer_map_file(const char *path, hr_buffer_t **out_buffer) {
  int fd = -1;
  if (take_stream(path, out_buffer)) return NULL;
  if (strcmp(path, "-") != 0)
    HR_TRY(hr_open(path, O_RDONLY, &fd));
  else if ((fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) < 0)
    return hr_error(HR_UNAVAILABLE, "cannot open %s: %s", path, strerror(errno));
  hr_status_t st = map_or_read(fd, path, out_buffer);
  close(fd);
  return st;
}

#define COPY_BYTES ((size_t)4 << 20) /* at a time */

/* Drops the pages that lie within the bytes; pages at the ends may hold other data. */
static void forget_pages(char *at, size_t size_bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = ((uintptr_t)at + page - 1) / page * page,
            end = ((uintptr_t)at + size_bytes) / page * page;
  if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}

/* Pages of a large mapped file are dropped again as they are copied, so that a copy does not
 * need memory for both. */
void hr_buffer_copy_out(const hr_buffer_t *buffer, size_t offset_bytes, void *to,
                        size_t size_bytes) {
  char *from = (char *)buffer->data + offset_bytes;
  bool is_mapped = buffer->free_fn == unmap;
  for (size_t done = 0; done < size_bytes;) {
    size_t part = size_bytes - done < COPY_BYTES ? size_bytes - done : COPY_BYTES;
    memcpy((char *)to + done, from + done, part);
    if (is_mapped && size_bytes >= COPY_BYTES) forget_pages(from + done, part);
    done += part;
  }
}

hr_buffer_t *hr_buffer_retain(hr_buffer_t *buffer) {
  if (buffer) atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
  return buffer;
}

/* acq_rel: the last release sees all writes of the others. */
void hr_buffer_release(hr_buffer_t *buffer) {
  if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
    return;
  if (buffer->free_fn) buffer->free_fn(buffer->context, buffer->data, buffer->size_bytes);
  hr_free(buffer);
}

void *hr_buffer_data(const hr_buffer_t *buffer) { return buffer->data; }
size_t hr_buffer_size(const hr_buffer_t *buffer) { return buffer->size_bytes; }

bool hr_buffer_is_exclusive(const hr_buffer_t *buffer) {
  return buffer->writable && atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}
