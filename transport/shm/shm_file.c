/* The file is sparse: address space for all heaps is mapped at once, memory comes by fallocate as
 * it is used. Mappings begin at a multiple of the large page size, so that the kernel can use large
 * pages. A write lock on one byte per process, which the kernel drops when the process ends, tells
 * the others that it lives. */
#include "transport/shm/shm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "transport/shm/shm_heap.h"

#define PAGE_BYTES 4096
/* Address space of a heap; its memory is allocated on use. Under a limit of addresses (ulimit -v,
 * memory limits of batch systems) all heaps together take 1 / LIMIT_SHARE of it, as every process
 * maps them all. */
#define HEAP_BYTES (UINT64_C(1) << 34)
#define LEAST_HEAP_BYTES (UINT64_C(16) << 20)
#define LIMIT_SHARE 2

void tp_shm_file_name(tp_shm_t *shm, uint64_t number, tp_shm_dir_t dir) {
  const char *temporary = getenv("TMPDIR");
  const char *const starts[TP_SHM_DIR_COUNT] = {"", "/dev/shm/",
                                                temporary && *temporary ? temporary : "/tmp"};
  snprintf(shm->name, sizeof shm->name, "%s%shlorun.%d.%016llx", starts[dir],
           dir == TP_SHM_DIR_TEMPORARY ? "/" : "", (int)getuid(), (unsigned long long)number);
}

size_t tp_shm_rank_states_bytes(const tp_shm_t *shm) {
  return (size_t)hr_round_up((int64_t)((size_t)shm->local_size * sizeof(tp_shm_rank_state_t)),
                             PAGE_BYTES);
}
static size_t controls_bytes(const tp_shm_t *shm) {
  return TP_SHM_CONTROL_BLOCKS * shm->control_bytes;
}
/* Heaps begin at a multiple of the large page size. */
static size_t heaps_at(const tp_shm_t *shm) {
  return (size_t)hr_round_up((int64_t)(tp_shm_rank_states_bytes(shm) + controls_bytes(shm)),
                             (int64_t)TP_SHM_LARGE_PAGE);
}
char *tp_shm_heap_start(const tp_shm_t *shm, int local) {
  return shm->base + heaps_at(shm) + (size_t)local * shm->heap_bytes;
}

static size_t choose_heap_bytes(int local_size) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return HEAP_BYTES;
  uint64_t bytes = limit.rlim_cur / LIMIT_SHARE / (uint64_t)local_size;
  bytes = hr_max(hr_min(bytes, HEAP_BYTES), LEAST_HEAP_BYTES);
  return bytes / TP_SHM_LARGE_PAGE * TP_SHM_LARGE_PAGE;
}

void tp_shm_file_choose_sizes(tp_shm_t *shm, int local_size) {
  shm->local_size = local_size;
  size_t bytes = sizeof(tp_shm_control_t) + (size_t)local_size * sizeof(tp_shm_member_t);
  shm->control_bytes = (size_t)hr_round_up((int64_t)bytes, PAGE_BYTES);
  shm->heap_bytes = choose_heap_bytes(local_size);
  shm->mapped_bytes = heaps_at(shm) + (size_t)local_size * shm->heap_bytes;
}

/* The process that created the file chose the size of heaps, by its own limit. */
static bool read_sizes(tp_shm_t *shm) {
  struct stat file;
  if (fstat(shm->fd, &file)) return false;
  shm->mapped_bytes = (size_t)file.st_size;
  if (shm->mapped_bytes < heaps_at(shm)) return false;
  shm->heap_bytes = (shm->mapped_bytes - heaps_at(shm)) / (size_t)shm->local_size;
  return shm->heap_bytes >= LEAST_HEAP_BYTES;
}

static bool reserve_file(const tp_shm_t *shm) {
  return ftruncate(shm->fd, (off_t)shm->mapped_bytes) == 0 &&
         tp_shm_file_reserve(shm->fd, 0, tp_shm_rank_states_bytes(shm)) == 0;
}

/* Never returns a standard stream, which may be closed. */
static int file_without_name(const char *title) {
  int fd = memfd_create(title, MFD_CLOEXEC), moved = -1;
  if (fd < 0) return fd;
  moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return moved;
}

void tp_shm_file_create(tp_shm_t *shm, tp_shm_dir_t dir) {
  bool is_named = dir != TP_SHM_DIR_NONE;
  shm->fd = is_named ? open(shm->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                     : file_without_name(shm->name);
  if (shm->fd < 0 || reserve_file(shm)) return;
  close(shm->fd);
  if (is_named) unlink(shm->name);
  shm->fd = -1;
}

/* The descriptor of the creator may be another file by now, or the id another process. */
void tp_shm_file_open(tp_shm_t *shm, tp_shm_dir_t dir, int process, int process_fd) {
  char path[64], found[PATH_MAX] = "", wanted[sizeof shm->name + 32];
  if (dir != TP_SHM_DIR_NONE) {
    shm->fd = open(shm->name, O_RDWR | O_CLOEXEC);
    return;
  }
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, process_fd);
  snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", shm->name);
  ssize_t size = readlink(path, found, sizeof found - 1);
  if (size > 0 && !strcmp(found, wanted)) shm->fd = open(path, O_RDWR | O_CLOEXEC);
}

/* The address is a multiple of the large page size, like the offsets in the file: a condition for
 * large pages. */
static char *map_at_large_page(const tp_shm_t *shm) {
  size_t size = shm->mapped_bytes;
  char *space = mmap(NULL, size + TP_SHM_LARGE_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return NULL;
  size_t head = -(uintptr_t)space % TP_SHM_LARGE_PAGE;
  void *at = mmap(space + head, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, shm->fd, 0);
  if (head) munmap(space, head);
  munmap(space + head + size, TP_SHM_LARGE_PAGE - head);
  if (at != MAP_FAILED) return at;
  munmap(space + head, size);
  return NULL;
}

bool tp_shm_file_map(tp_shm_t *shm) {
  if (!read_sizes(shm)) return false;
  shm->base = map_at_large_page(shm);
  if (!shm->base) return false;
  struct flock alive = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = shm->my_local, .l_len = 1};
  if (fcntl(shm->fd, F_SETLK, &alive)) return false;
  atomic_store(&tp_shm_rank_state(shm, shm->my_local)->state, TP_SHM_HERE);
  return tp_shm_heap_create(shm->fd, shm->base, tp_shm_heap_start(shm, shm->my_local),
                            shm->heap_bytes, &shm->heap);
}

void tp_shm_file_unmap(tp_shm_t *shm) {
  tp_shm_heap_destroy(shm->heap);
  if (shm->base) munmap(shm->base, shm->mapped_bytes);
  if (shm->fd >= 0) close(shm->fd);
  shm->heap = NULL;
  shm->base = NULL;
  shm->fd = -1;
}

hr_status_t tp_shm_file_new(int local_size, int *out_fd) {
  tp_shm_t shm = {.fd = file_without_name("hlorun")};
  tp_shm_file_choose_sizes(&shm, local_size);
  if (shm.fd >= 0 && reserve_file(&shm)) {
    *out_fd = shm.fd;
    return NULL;
  }
  hr_status_t st = hr_error(HR_UNAVAILABLE, "cannot make memory for %d processes to share: %s",
                            local_size, strerror(errno));
  if (shm.fd >= 0) close(shm.fd);
  return st;
}

/* A signal interrupts fallocate, whether or not its handler restarts calls. */
int tp_shm_file_reserve(int fd, uint64_t at, uint64_t size_bytes) {
  int error;
  do error = posix_fallocate(fd, (off_t)at, (off_t)size_bytes);
  while (error == EINTR);
  return error;
}
